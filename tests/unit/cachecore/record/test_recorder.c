/* SPDX-License-Identifier: MIT */
/* recorder: the log's bounds, damage, many writers, fork, and what happens where it cannot be written. */
#include "cachecore/record/recorder.h"

#include <sys/file.h>
#include <sys/resource.h>

#include "cachecore/disk/root.h"
#include "cachecore/record/totals.h"
#include "common/clock.h"
#include "common/file.h"
#include "tests/support/owned.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

struct seen {
	unsigned int parts, events, hits, evictions;
	unsigned int runs;	/* another one than that of the event before */
	uint64_t removed;	/* the entry directory of the first eviction */
	uint64_t saved_ns;	/* by hits */
	struct cc_event_record last;
	char reason[64], detail[600], name[64];
};

static void see_part(void *ctx, const struct cmn_hash *hash, struct cmn_view outline)
{
	struct seen *seen = ctx;

	(void)hash;
	(void)outline;
	seen->parts++;
}

static void copy_text(char *to, size_t size, struct cmn_view text)
{
	(void)snprintf(to, size, "%.*s", (int)text.len, text.len ? (const char *)text.data : "");
}

static void see_event(void *ctx, const struct cc_event_record *event)
{
	struct seen *seen = ctx;

	if (cc_event_is_short(event->kind)) {
		seen->hits += event->count;
		seen->saved_ns += event->build_ns;
		return;
	}
	seen->events++;
	seen->runs += event->start_ns != seen->last.start_ns || event->pid != seen->last.pid;
	seen->last = *event;
	copy_text(seen->reason, sizeof(seen->reason), event->reason);
	copy_text(seen->detail, sizeof(seen->detail), event->detail);
	copy_text(seen->name, sizeof(seen->name), event->name);
}

static void see_eviction(void *ctx, enum cc_removal_cause cause, uint64_t time_ns, uint64_t entry_dir)
{
	struct seen *seen = ctx;

	(void)cause;
	(void)time_ns;
	if (!seen->evictions++)
		seen->removed = entry_dir;
}

static const char *root(void)
{
	return unit_path("cache");
}

static struct seen see(void)
{
	struct seen seen = { 0 };
	const struct cc_events_reader reader = { see_part, see_event, see_eviction, &seen };

	CU_ASSERT_EQUAL(cc_events_read(root(), CMN_FILE_TRUSTED, &reader), CMN_OK);
	return seen;
}

static void make_key(struct cc_key *key, unsigned int number)
{
	char source[64];

	(void)snprintf(source, sizeof(source), "kernel void k%u() {}", number);
	cc_key_init(key);
	cc_key_add_text(key, CC_PART_DEVICE, "device.name", "none");
	cc_key_add_text(key, CC_PART_IMAGE, "source", source);
	cc_key_add_text(key, CC_PART_OPTIONS, "options", "-DN=4");
	CU_ASSERT_EQUAL_FATAL(cc_key_status(key), CMN_OK);
}

static void note(struct cc_recorder *recorder, enum cc_event_kind kind, unsigned int number, const char *reason)
{
	struct cc_event event = { .kind = kind, .reason = reason, .detail = "detail", .build_ns = 11 };
	OWNED(cc_key_release) struct cc_key key;

	make_key(&key, number);
	event.key = &key;
	cc_recorder_write(recorder, root(), &event);
}

static void write_one(struct cc_recorder *recorder, unsigned int number)
{
	note(recorder, CC_EVENT_MISS, number, "because");
}

static off_t size_of(const char *name)
{
	char path[200];
	struct stat info;

	(void)snprintf(path, sizeof(path), "cache/%s", name);
	return stat(path, &info) == 0 ? info.st_size : -1;
}

TEST(events_come_back)
{
	const uint64_t begin = cmn_clock_realtime() - UINT64_C(5000000);
	struct cc_recorder recorder = { 0 };
	struct seen seen;

	write_one(&recorder, 3);
	seen = see();
	CU_ASSERT_EQUAL(seen.events, 1);
	CU_ASSERT_EQUAL(seen.parts, CC_PART_COUNT);
	CU_ASSERT_EQUAL(seen.last.kind, CC_EVENT_MISS);
	CU_ASSERT_EQUAL(seen.last.pid, (uint32_t)getpid());
	CU_ASSERT_TRUE(seen.last.start_ns <= seen.last.time_ns && seen.last.start_ns >= begin);
	CU_ASSERT_EQUAL(seen.last.count, 1);
	CU_ASSERT_EQUAL(seen.last.build_ns, 11);
	CU_ASSERT_STRING_EQUAL(seen.reason, "because");
	CU_ASSERT_STRING_EQUAL(seen.detail, "detail");
	CU_ASSERT_STRING_EQUAL(seen.name, "k3");
}

/* What a process has written of a device it does not write again. */
TEST(parts_are_written_once)
{
	struct cc_recorder recorder = { 0 };
	struct seen seen;

	for (unsigned int i = 0; i < 10; i++)
		write_one(&recorder, i);
	seen = see();
	CU_ASSERT_EQUAL(seen.events, 10);
	/* Each its source; device, constants and options once. */
	CU_ASSERT_EQUAL(seen.parts, 10 + 3);
}

/* Of what only says what became of an entry, the key's hashes are enough. */
TEST(other_events_have_no_parts)
{
	struct cc_recorder recorder = { 0 };
	struct seen seen;

	note(&recorder, CC_EVENT_NOT_STORED, 1, "max_size");
	seen = see();
	CU_ASSERT_EQUAL(seen.events, 1);
	CU_ASSERT_EQUAL(seen.parts, 0);
	note(&recorder, CC_EVENT_BYPASS, 1, "time");
	CU_ASSERT_EQUAL(see().parts, CC_PART_COUNT);
}

/* What is only counted does not drive out what is told. */
TEST(the_old_file_has_what_was_told_last)
{
	const struct cc_event hit = { .kind = CC_EVENT_HIT_DISK };
	struct cc_recorder recorder = { 0 };
	struct seen seen;

	for (unsigned int i = 0; i < 20000 && size_of(CC_EVENTS_OLD_NAME) < 0; i++)
		write_one(&recorder, i);
	CU_ASSERT_TRUE(size_of(CC_EVENTS_OLD_NAME) > (off_t)CC_EVENTS_FULL * 9 / 10);
	CU_ASSERT_TRUE(size_of(CC_EVENTS_OLD_NAME) <= (off_t)CC_EVENTS_FULL);
	CU_ASSERT_TRUE(size_of(CC_EVENTS_NAME) < (off_t)CC_EVENTS_FULL / 100);
	seen = see();
	CU_ASSERT_EQUAL(seen.hits, 0);
	for (unsigned int i = 0; i < 20000; i++)
		cc_recorder_write(&recorder, root(), &hit);
	CU_ASSERT_TRUE(size_of(CC_EVENTS_NAME) < (off_t)CC_EVENTS_FULL);
	CU_ASSERT_TRUE(see().hits < 20000);
	/* But for the first ones, for which the one that was in the log made no room. */
	CU_ASSERT_TRUE(see().events <= seen.events && see().events > seen.events - 5);
	/* In the next file the parts are all there again. */
	CU_ASSERT_EQUAL(unlink("cache/" CC_EVENTS_OLD_NAME), 0);
	write_one(&recorder, 1);
	write_one(&recorder, 2);
	CU_ASSERT_EQUAL(see().parts, CC_PART_COUNT + 1);
}

TEST(evictions_are_the_last_ones)
{
	struct cc_removals evicted = { 0 };
	int fd;

	CU_ASSERT_EQUAL_FATAL(mkdir(root(), 0700), 0);
	unit_mark("cache");
	fd = open(root(), O_RDONLY | O_DIRECTORY);
	CU_ASSERT_TRUE_FATAL(fd >= 0);
	for (unsigned int i = 0; i < CC_REMOVALS_MAX + 100; i++) {
		char path[32];

		(void)snprintf(path, sizeof(path), "%u", i);
		cc_removals_add(&evicted, CC_REMOVED_BY_SIZE, path);
	}
	cc_removals_add(&evicted, CC_REMOVED_BY_AGE, "old");
	cc_removals_write(&evicted, fd);
	CU_ASSERT_PTR_NULL(evicted.entry_dirs[CC_REMOVED_BY_SIZE]);
	CU_ASSERT_EQUAL(see().evictions, CC_REMOVALS_MAX + 1);
	/* The last ones took the places of the first. */
	CU_ASSERT_EQUAL(see().removed, cc_events_entry_dir("4096"));
	CU_ASSERT_NOT_EQUAL(cc_events_entry_dir("4095"), cc_events_entry_dir("4096"));
	(void)close(fd);
}

static void count_cause(void *ctx, enum cc_removal_cause cause, uint64_t time_ns, uint64_t entry_dir)
{
	unsigned int *counts = ctx;

	(void)time_ns;
	(void)entry_dir;
	counts[cause < CC_REMOVED_CAUSE_COUNT ? cause : 0]++;
}

TEST(every_cause_of_a_removal_is_told_and_no_other)
{
	unsigned int counts[CC_REMOVED_CAUSE_COUNT] = { 0 };
	const struct cc_events_reader reader = { .removed = count_cause, .ctx = counts };
	struct cc_removals evicted = { 0 };
	struct cmn_buffer records = { 0 };
	const uint64_t entry_dir = 1;

	CU_ASSERT_EQUAL_FATAL(mkdir(root(), 0700), 0);
	unit_mark("cache");
	for (unsigned int cause = CC_REMOVED_BY_SIZE; cause < CC_REMOVED_CAUSE_COUNT; cause++) {
		int fd = open(root(), O_RDONLY | O_DIRECTORY);

		for (unsigned int i = 0; i < cause; i++)
			cc_removals_add(&evicted, (enum cc_removal_cause)cause, "leaf");
		cc_removals_write(&evicted, fd);
		(void)close(fd);
	}
	CU_ASSERT_EQUAL(cc_events_read(root(), CMN_FILE_TRUSTED, &reader), CMN_OK);
	for (unsigned int cause = 0; cause < CC_REMOVED_CAUSE_COUNT; cause++)
		CU_ASSERT_EQUAL(counts[cause], cause);
	/* Of a later version; and without a root nothing is written. */
	cc_events_add_removed(&records, (enum cc_removal_cause)0, 1, &entry_dir, 1);
	cc_events_add_removed(&records, CC_REMOVED_CAUSE_COUNT, 1, &entry_dir, 1);
	cc_events_parse(cmn_buffer_view(&records), &reader);
	CU_ASSERT_EQUAL(counts[0], 0);
	cmn_buffer_release(&records);
	cc_removals_add(&evicted, CC_REMOVED_BY_PRUNE, "leaf");
	cc_removals_write(&evicted, -1);
	CU_ASSERT_PTR_NULL(evicted.entry_dirs[CC_REMOVED_BY_PRUNE]);
}

static struct cmn_buffer read_log(void)
{
	struct cmn_buffer file;

	CU_ASSERT_EQUAL_FATAL(cmn_file_read(AT_FDCWD, "cache/" CC_EVENTS_NAME, 1 << 24, false, &file), CMN_OK);
	return file;
}

static unsigned int events_in(const struct cmn_buffer *file, size_t len)
{
	struct seen seen = { 0 };
	const struct cc_events_reader reader = { see_part, see_event, see_eviction, &seen };

	cc_events_parse((struct cmn_view){ file->data, len }, &reader);
	return seen.events;
}

/* One record is lost by a changed byte; the others are found behind it. */
TEST(damage_costs_one_record)
{
	struct cc_recorder recorder = { 0 };
	OWNED(cmn_buffer_release) struct cmn_buffer file;

	for (unsigned int i = 0; i < 3; i++)
		write_one(&recorder, i);
	file = read_log();
	CU_ASSERT_EQUAL(events_in(&file, file.len), 3);
	for (size_t i = 0; i < file.len; i++) {
		file.data[i] ^= 0x20;
		CU_ASSERT_TRUE(events_in(&file, file.len) >= 2);
		file.data[i] ^= 0x20;
		CU_ASSERT_TRUE(events_in(&file, i) <= 3);
	}
	file.data[4] ^= 0x20;	/* of the first record's hash: an event's */
	CU_ASSERT_EQUAL(events_in(&file, file.len), 2);
}

/* Of another version it is left alone, and more is written behind it. */
TEST(other_versions_are_skipped)
{
	struct cc_recorder recorder = { 0 };
	OWNED(cmn_buffer_release) struct cmn_buffer file;

	note(&recorder, CC_EVENT_DAMAGED, 1, NULL);
	file = read_log();
	file.data[4]++;
	unit_write_bytes("cache/" CC_EVENTS_NAME, file.data, file.len);
	CU_ASSERT_EQUAL(see().events, 0);
	recorder = (struct cc_recorder){ 0 };
	write_one(&recorder, 2);
	CU_ASSERT_EQUAL(see().events, 1);
}

TEST(what_is_no_file_makes_room)
{
	struct cc_recorder recorder = { 0 };
	struct stat info;

	CU_ASSERT_EQUAL_FATAL(mkdir(root(), 0700), 0);
	unit_mark("cache");
	CU_ASSERT_EQUAL(mkfifo("cache/" CC_EVENTS_NAME, 0600), 0);
	write_one(&recorder, 1);
	CU_ASSERT_EQUAL(see().events, 1);
	/* Of a second name's bytes nothing is changed. */
	CU_ASSERT_EQUAL(link("cache/" CC_EVENTS_NAME, "other"), 0);
	CU_ASSERT_EQUAL(stat("other", &info), 0);
	write_one(&recorder, 2);
	CU_ASSERT_EQUAL(see().events, 1);
	CU_ASSERT_EQUAL(size_of("../other"), info.st_size);
	/* A directory makes way, in silence. */
	CU_ASSERT_EQUAL(unlink("cache/" CC_EVENTS_NAME), 0);
	CU_ASSERT_EQUAL(mkdir("cache/" CC_EVENTS_NAME, 0700), 0);
	write_one(&recorder, 3);
	CU_ASSERT_EQUAL(see().events, 1);
}

TEST(a_directory_in_place_of_the_old_one)
{
	struct cc_recorder recorder = { 0 };
	char *much = calloc(1, CC_EVENTS_FULL);

	CU_ASSERT_PTR_NOT_NULL_FATAL(much);
	CU_ASSERT_EQUAL_FATAL(mkdir(root(), 0700), 0);
	unit_mark("cache");
	unit_write_bytes("cache/" CC_EVENTS_NAME, much, CC_EVENTS_FULL);
	CU_ASSERT_EQUAL(mkdir("cache/" CC_EVENTS_OLD_NAME, 0700), 0);
	write_one(&recorder, 1);
	CU_ASSERT_TRUE(size_of(CC_EVENTS_NAME) < 4096);
	CU_ASSERT_EQUAL(see().events, 1);
	free(much);
}

/* Who has it is adding the log up, or is stopped: then the log grows. */
TEST(the_roots_lock_is_not_waited_for)
{
	struct cc_recorder recorder = { 0 };
	char *much = calloc(1, CC_EVENTS_MAX);
	int fd;

	CU_ASSERT_PTR_NOT_NULL_FATAL(much);
	write_one(&recorder, 1);
	fd = open(root(), O_RDONLY | O_DIRECTORY);
	CU_ASSERT_EQUAL_FATAL(flock(fd, LOCK_EX), 0);
	unit_write_bytes("cache/" CC_EVENTS_NAME, much, CC_EVENTS_FULL);
	write_one(&recorder, 2);
	CU_ASSERT_TRUE(size_of(CC_EVENTS_NAME) > (off_t)CC_EVENTS_FULL);
	CU_ASSERT_EQUAL(see().events, 1);
	/* But not for ever. */
	unit_write_bytes("cache/" CC_EVENTS_NAME, much, CC_EVENTS_MAX);
	write_one(&recorder, 3);
	CU_ASSERT_EQUAL(size_of(CC_EVENTS_NAME), (off_t)CC_EVENTS_MAX);
	(void)close(fd);
	write_one(&recorder, 4);
	CU_ASSERT_TRUE(size_of(CC_EVENTS_NAME) < 4096);
	CU_ASSERT_EQUAL(see().events, 1);
	free(much);
}

/* Half a record is skipped. */
TEST(a_full_disk_costs_what_is_written_then)
{
	struct cc_recorder recorder = { 0 };

	write_one(&recorder, 1);
	unit_limit_files((rlim_t)size_of(CC_EVENTS_NAME) + 20);
	write_one(&recorder, 2);
	write_one(&recorder, 2);
	unit_limit_files(RLIM_INFINITY);
	CU_ASSERT_EQUAL(see().events, 1);
	/* What did not arrive is written with the next one. */
	write_one(&recorder, 2);
	CU_ASSERT_EQUAL(see().events, 2);
	CU_ASSERT_EQUAL(see().parts, CC_PART_COUNT + CC_PART_COUNT);
}

TEST(of_no_directory_nothing_is_written)
{
	const struct cc_events_reader reader = { NULL, NULL, NULL, NULL };

	CU_ASSERT_EQUAL(cc_events_read(root(), CMN_FILE_TRUSTED, &reader), CMN_OK);
	cc_recorder_note_cleared(root());
	CU_ASSERT_EQUAL(access(root(), F_OK), -1);
	CU_ASSERT_EQUAL_FATAL(mkdir(root(), 0700), 0);
	unit_mark("cache");
	cc_recorder_note_cleared(root());
	CU_ASSERT_EQUAL(see().events, 1);
	CU_ASSERT_EQUAL(see().last.kind, CC_EVENT_CLEARED);
}

TEST(long_texts_and_names_are_cut)
{
	char reason[2001], source[1100];
	struct cc_event event = { .kind = CC_EVENT_MISS, .reason = reason };
	struct cc_recorder recorder = { 0 };
	struct seen seen;
	struct cc_key key;

	memset(reason, 'r', sizeof(reason) - 1);
	reason[sizeof(reason) - 1] = '\0';
	(void)snprintf(source, sizeof(source), "kernel void %.1000s() {}", reason);
	cc_key_init(&key);
	cc_key_add_text(&key, CC_PART_IMAGE, "source", source);
	event.key = &key;
	cc_recorder_write(&recorder, root(), &event);
	cc_key_release(&key);
	seen = see();
	CU_ASSERT_EQUAL_FATAL(seen.events, 1);
	CU_ASSERT_EQUAL(seen.last.reason.len, 512);
	CU_ASSERT_EQUAL(seen.last.name.len, 512);
}

/* The number of a file that was removed may be that of a new one. */
TEST(an_empty_file_gets_all_parts)
{
	struct cc_recorder recorder = { 0 };

	write_one(&recorder, 1);
	CU_ASSERT_EQUAL_FATAL(truncate("cache/" CC_EVENTS_NAME, 0), 0);
	write_one(&recorder, 1);
	CU_ASSERT_EQUAL(see().parts, CC_PART_COUNT);
}

/* As a later version writes it: sound, and none of these. */
TEST(sound_records_of_other_versions_and_kinds_are_skipped)
{
	enum { HASHED_AT = 4 + CMN_HASH_SIZE };
	struct cc_event_record event = { .kind = CC_EVENT_KIND_COUNT };
	OWNED(cmn_buffer_release) struct cmn_buffer file = { 0 };
	struct cmn_hash hash;

	cc_events_add(&file, &event);
	CU_ASSERT_EQUAL(events_in(&file, file.len), 0);
	file.len = 0;
	event.kind = CC_EVENT_MISS;
	cc_events_add(&file, &event);
	CU_ASSERT_EQUAL(events_in(&file, file.len), 1);
	for (int newer = 1; newer >= 0; newer--) {
		file.data[HASHED_AT] = (uint8_t)(CC_EVENTS_VERSION + newer);
		hash = cmn_hash_of(file.data + HASHED_AT, file.len - HASHED_AT);
		memcpy(file.data + 4, hash.bytes, CMN_HASH_SIZE);
		CU_ASSERT_EQUAL(events_in(&file, file.len), newer ? 0 : 1);
	}
}

TEST(a_reader_need_not_want_anything)
{
	const struct cc_events_reader reader = { 0 };
	struct cc_recorder recorder = { 0 };
	struct cc_removals evicted = { 0 };
	int fd;

	write_one(&recorder, 1);
	fd = open(root(), O_RDONLY | O_DIRECTORY);
	cc_removals_add(&evicted, CC_REMOVED_BY_AGE, "old");
	cc_removals_write(&evicted, fd);
	(void)close(fd);
	CU_ASSERT_EQUAL(cc_events_read(root(), CMN_FILE_TRUSTED, &reader), CMN_OK);
}

TEST(the_old_file_is_read_first)
{
	struct cc_recorder recorder = { 0 };
	struct seen seen;

	write_one(&recorder, 1);
	CU_ASSERT_EQUAL_FATAL(rename("cache/" CC_EVENTS_NAME, "cache/" CC_EVENTS_OLD_NAME), 0);
	write_one(&recorder, 2);
	seen = see();
	CU_ASSERT_EQUAL(seen.events, 2);
	CU_ASSERT_STRING_EQUAL(seen.name, "k2");
}

/* Without a lock, in a moment in which the log is removed. */
TEST(a_log_that_was_removed_is_begun_anew)
{
	struct cc_recorder recorder = { 0 };

	write_one(&recorder, 1);
	CU_ASSERT_EQUAL_FATAL(unlink("cache/" CC_EVENTS_NAME), 0);
	write_one(&recorder, 1);
	CU_ASSERT_EQUAL(see().events, 1);
	CU_ASSERT_EQUAL(see().parts, CC_PART_COUNT);
}

static bool remote;

WRAPPED(bool, cmn_file_is_remote, (int fd))
{
	return remote || __real_cmn_file_is_remote(fd);
}

/* Where an append takes milliseconds. */
TEST(hits_in_memory_wait_on_a_network_file_system)
{
	const struct cc_event hit = { .kind = CC_EVENT_HIT_MEMORY, .build_ns = 5 };
	const struct cc_event disk = { .kind = CC_EVENT_HIT_DISK };
	struct cc_recorder recorder = { 0 };

	for (unsigned int i = 0; i < 3; i++)
		cc_recorder_write(&recorder, root(), &hit);
	CU_ASSERT_EQUAL(see().hits, 3);
	remote = true;
	for (unsigned int i = 0; i < 5; i++)
		cc_recorder_write(&recorder, root(), &hit);
	CU_ASSERT_EQUAL(see().hits, 4);
	/* Whatever is written next takes them along. */
	cc_recorder_write(&recorder, root(), &disk);
	CU_ASSERT_EQUAL(see().hits, 3 + 5 + 1);
	cc_recorder_write(&recorder, root(), &hit);
	write_one(&recorder, 1);
	CU_ASSERT_EQUAL(see().hits, 3 + 5 + 1 + 1);
	cc_recorder_write(&recorder, root(), &hit);
	atomic_store(&recorder.next_hits, 1);	/* a second later */
	cc_recorder_write(&recorder, root(), &hit);
	CU_ASSERT_EQUAL(see().hits, 3 + 5 + 1 + 1 + 2);
	CU_ASSERT_EQUAL(see().saved_ns, 5 * (3 + 5 + 1 + 2));	/* the one from disk saved nothing */
	remote = false;
}

/* What a child did not do is not the child's to write. */
TEST(a_forked_child_has_none_of_its_parents_hits)
{
	const struct cc_event hit = { .kind = CC_EVENT_HIT_MEMORY };
	struct cc_recorder recorder = { 0 };
	pid_t child;

	remote = true;
	cc_recorder_write(&recorder, root(), &hit);
	cc_recorder_write(&recorder, root(), &hit);
	child = fork();
	if (child == 0) {
		write_one(&recorder, 1);
		_exit(see().hits != 1);
	}
	CU_ASSERT(unit_ended_well(child));
	write_one(&recorder, 1);
	CU_ASSERT_EQUAL(see().hits, 2);
	CU_ASSERT_EQUAL(see().runs, 2);
	remote = false;
}
