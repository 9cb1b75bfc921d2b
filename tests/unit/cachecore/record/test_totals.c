/* SPDX-License-Identifier: MIT */
/* totals: what each event counts as, the root's two files, damage, death between any two steps, several processes. */
#include "cachecore/record/totals.h"

#include <sys/file.h>

#include "cachecore/record/recorder.h"
#include "common/clock.h"
#include "tests/support/clock.h"
#include "tests/support/owned.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

/* The working directory is the test's own. */
#define ROOT "cache/root"
#define LOG ROOT "/" CC_EVENTS_NAME
#define THREADS 8
#define ROUNDS 100

static struct cc_recorder recorder;
static const char *dies_before;	/* it writes, or removes, that: the process */
static bool keeps_names;	/* as a directory with the sticky bit keeps another user's */
static void (*before_removal)(void);	/* the next time */
static unsigned int clock_takes_us;	/* as where other threads run meanwhile */
static bool cannot_be_read;	/* the file of totals, now */

WRAPPED(enum cmn_status, cmn_file_read, (int dir_fd, const char *path, size_t max, bool follow, struct cmn_buffer *ret))
{
	return cannot_be_read ? CMN_ERR_IO : __real_cmn_file_read(dir_fd, path, max, follow, ret);
}

WRAPPED(enum cmn_status, cmn_file_replace, (int dir_fd, const char *name, struct cmn_view view))
{
	if (dies_before && strcmp(dies_before, name) == 0)
		_exit(0);
	return __real_cmn_file_replace(dir_fd, name, view);
}

WRAPPED(int, unlinkat, (int dir_fd, const char *name, int flags))
{
	void (*then)(void) = before_removal;

	if (strcmp(name, CC_EVENTS_NAME) != 0)
		return __real_unlinkat(dir_fd, name, flags);
	before_removal = NULL;
	if (then)
		then();
	if (dies_before && strcmp(dies_before, name) == 0)
		_exit(0);
	errno = EPERM;
	return keeps_names ? -1 : __real_unlinkat(dir_fd, name, flags);
}

uint64_t test_clock(clockid_t id)
{
	if (clock_takes_us)
		(void)usleep(clock_takes_us);
	return machine_clock(id);
}

BEFORE_EACH
{
	clock_takes_us = 0;
	recorder = (struct cc_recorder){ 0 };
	dies_before = NULL;
	keeps_names = false;
}

static void happen(enum cc_event_kind kind, const char *reason, uint64_t build_ns)
{
	const struct cc_event event = { .kind = kind, .reason = reason, .detail = "detail", .build_ns = build_ns };

	cc_recorder_write(&recorder, ROOT, &event);
}

static void miss(void)
{
	happen(CC_EVENT_MISS, NULL, 10);
}

static struct cc_totals *loaded(void)
{
	struct cc_totals *totals;

	CU_ASSERT_EQUAL(cc_totals_load(ROOT, &totals), CMN_OK);
	CU_ASSERT_PTR_NOT_NULL_FATAL(totals);
	return totals;
}

static uint64_t bypasses(const struct cc_totals *totals, const char *reason)
{
	for (size_t i = 0; i < totals->bypass_count; i++) {
		if (strcmp(totals->bypasses[i].reason, reason) == 0)
			return totals->bypasses[i].count;
	}
	return 0;
}

static void check(enum cc_counter counter, uint64_t expected)
{
	struct cc_totals *totals = loaded();

	CU_ASSERT_EQUAL(totals->counters[counter], expected);
	free(totals);
}

static enum cmn_status fold_within(uint64_t until)
{
	int fd = open(ROOT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum cmn_status status;

	CU_ASSERT_FATAL(fd >= 0);
	status = cc_totals_fold(fd, until);
	(void)close(fd);
	return status;
}

static void fold(void)
{
	CU_ASSERT_EQUAL(fold_within(UINT64_MAX), CMN_OK);
}

/* In a process that dies before that step. */
static void fold_and_die(const char *step)
{
	pid_t child = fork();

	if (child == 0) {
		dies_before = step;
		(void)!fold_within(UINT64_MAX);
		_exit(1);
	}
	CU_ASSERT(unit_ended_well(child));
}

/* As if it were ours, to be written by hand. */
static void make_root(void)
{
	miss();
	CU_ASSERT_EQUAL_FATAL(unlink(LOG), 0);
}

TEST(each_kind_of_event_has_its_counters)
{
	static const struct {
		struct cc_event_record event;
		uint64_t counters[CC_COUNTER_COUNT];
		const char *bypass;	/* NULL: none */
	} rows[] = {
		{ { .kind = CC_EVENT_HIT_MEMORY, .count = 3, .build_ns = 5 },
		  { [CC_HITS_MEMORY] = 3, [CC_COMPILE_NS_SAVED] = 5 }, NULL },
		{ { .kind = CC_EVENT_HIT_DISK, .count = 1, .build_ns = 5 },
		  { [CC_HITS_DISK] = 1, [CC_COMPILE_NS_SAVED] = 5 }, NULL },
		{ { .kind = CC_EVENT_HIT_REMOTE, .count = 1 }, { [CC_HITS_REMOTE] = 1 }, NULL },
		{ { .kind = CC_EVENT_MISS, .build_ns = 7 }, { [CC_MISSES] = 1, [CC_COMPILE_NS_SPENT] = 7 }, NULL },
		{ { .kind = CC_EVENT_MISS, .reason = { "deferred", 8 } }, { [CC_MISSES] = 1, [CC_DEFERRED] = 1 }, NULL },
		{ { .kind = CC_EVENT_UNATTENDED, .build_ns = 7 },
		  { [CC_UNATTENDED] = 1, [CC_UNATTENDED_NS] = 7 }, NULL },
		{ { .kind = CC_EVENT_FAILED, .build_ns = 7 },
		  { [CC_MISSES] = 1, [CC_FAILED] = 1, [CC_COMPILE_NS_SPENT] = 7 }, NULL },
		{ { .kind = CC_EVENT_FAILED, .unattended = true }, { [CC_UNATTENDED] = 1 }, NULL },
		{ { .kind = CC_EVENT_FAILED, .uncached = true, .reason = { "date", 4 }, .build_ns = 7 }, { 0 }, "date" },
		{ { .kind = CC_EVENT_FAILED, .uncached = true, .unattended = true }, { 0 }, NULL },
		{ { .kind = CC_EVENT_BYPASS, .reason = { "date", 4 }, .build_ns = 7 }, { 0 }, "date" },
		{ { .kind = CC_EVENT_BYPASS, .reason = { "date", 4 }, .unattended = true }, { 0 }, NULL },
		{ { .kind = CC_EVENT_BYPASS, .reason = { "no word", 7 } }, { 0 }, "other" },
		{ { .kind = CC_EVENT_NOT_STORED, .reason = { "max_size", 8 } }, { 0 }, NULL },
		{ { .kind = CC_EVENT_NOT_STORED, .reason = { "not-reused", 10 } }, { 0 }, "not-reused" },
		{ { .kind = CC_EVENT_NOT_STORED, .reason = { "no-space", 8 }, .count = 1 }, { [CC_ERRORS] = 1 }, NULL },
		{ { .kind = CC_EVENT_STORED, .count = 1 }, { [CC_STORES] = 1 }, NULL },
		{ { .kind = CC_EVENT_ERROR, .count = 1 }, { [CC_ERRORS] = 1 }, NULL },
		{ { .kind = CC_EVENT_REFUSED, .count = 1 }, { [CC_ERRORS] = 1 }, NULL },
		{ { .kind = CC_EVENT_DAMAGED, .count = 1 }, { [CC_ERRORS] = 1 }, NULL },
		{ { .kind = CC_EVENT_REMOTE, .count = 1 }, { 0 }, NULL },
		{ { .kind = CC_EVENT_CLEARED, .count = 1 }, { 0 }, NULL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cc_totals *totals = calloc(1, sizeof(*totals));

		CU_ASSERT_PTR_NOT_NULL_FATAL(totals);
		cc_totals_add(totals, &rows[i].event);
		CU_ASSERT_EQUAL(memcmp(totals->counters, rows[i].counters, sizeof(totals->counters)), 0);
		CU_ASSERT_EQUAL(cc_totals_all_bypasses(totals), rows[i].bypass != NULL);
		CU_ASSERT_EQUAL(bypasses(totals, rows[i].bypass ? rows[i].bypass : ""), rows[i].bypass != NULL);
		free(totals);
	}
}

TEST(the_program_and_the_day_get_theirs)
{
	struct cc_totals *totals;

	recorder.program = "blender";
	miss();
	happen(CC_EVENT_UNATTENDED, NULL, 20);
	happen(CC_EVENT_HIT_REMOTE, NULL, 30);
	happen(CC_EVENT_BYPASS, "time", 0);
	for (int i = 0; i < 2; i++) {
		totals = loaded();
		CU_ASSERT_EQUAL_FATAL(totals->usage.program_count, 1);
		CU_ASSERT_STRING_EQUAL(totals->usage.programs[0].name, "blender");
		CU_ASSERT_EQUAL(totals->usage.programs[0].counts.misses, 1);
		CU_ASSERT_EQUAL(totals->usage.programs[0].counts.unattended_ns, 20);
		CU_ASSERT_EQUAL(totals->usage.programs[0].counts.hits_disk, 1);
		CU_ASSERT_EQUAL(totals->usage.programs[0].counts.saved_ns, 30);
		CU_ASSERT_EQUAL(totals->usage.programs[0].counts.bypasses, 1);
		CU_ASSERT_EQUAL_FATAL(totals->usage.day_count, 1);
		CU_ASSERT_EQUAL(totals->usage.days[0].counts.misses, 1);
		free(totals);
		if (i == 0)
			fold();	/* and so it is in the file */
		CU_ASSERT_EQUAL(access(LOG, F_OK), -1);
	}
}

TEST(each_counter_goes_to_the_file_and_back)
{
	struct cc_totals *totals;
	struct cmn_buffer text = { 0 };

	make_root();
	for (unsigned int i = 0; i < CC_COUNTER_COUNT; i++)
		cmn_buffer_printf(&text, "%s %u\n", cc_counter_name((enum cc_counter)i), i + 1);
	cmn_buffer_append_text(&text, "bypass.time 9\nday 20000 1 2 3 4 5 6 7 8\nothers 0 0 5 0 0 0 0 0\n");
	unit_write_bytes(ROOT "/" CC_STATS_NAME, text.data, text.len);
	cmn_buffer_release(&text);
	happen(CC_EVENT_HIT_MEMORY, NULL, 0);
	fold();
	totals = loaded();
	for (unsigned int i = 0; i < CC_COUNTER_COUNT; i++)
		CU_ASSERT_EQUAL(totals->counters[i], i + 1 + (i == CC_HITS_MEMORY));
	CU_ASSERT_EQUAL(bypasses(totals, "time"), 9);
	CU_ASSERT_EQUAL(totals->usage.days[0].counts.unattended_ns, 8);
	CU_ASSERT_EQUAL(totals->usage.others.misses, 5);
	free(totals);
}

TEST(strange_and_too_many_reasons_are_others)
{
	struct cc_totals *totals;
	char reason[80];

	for (unsigned int i = 0; i < 70; i++) {
		(void)snprintf(reason, sizeof(reason), "reason-%u", i);
		happen(CC_EVENT_BYPASS, reason, 0);
	}
	happen(CC_EVENT_BYPASS, "", 0);
	happen(CC_EVENT_BYPASS, "a b", 0);
	happen(CC_EVENT_BYPASS, "123456789-123456789-123456789-123456789-123456789", 0);
	fold();
	totals = loaded();
	CU_ASSERT_EQUAL(totals->bypass_count, CC_TOTALS_REASONS);
	CU_ASSERT_EQUAL(cc_totals_all_bypasses(totals), 73);
	CU_ASSERT_EQUAL(bypasses(totals, "reason-63"), 1);
	CU_ASSERT_EQUAL(bypasses(totals, "other"), 6 + 3);
	free(totals);
}

TEST(where_nothing_is_there_is_nothing_to_load)
{
	struct cc_totals *totals;

	CU_ASSERT_EQUAL(cc_totals_load(ROOT, &totals), CMN_MISS);
	CU_ASSERT_PTR_NOT_NULL(totals);
	free(totals);
	CU_ASSERT_EQUAL(cc_totals_zero(ROOT), CMN_OK);
	CU_ASSERT_EQUAL(access(ROOT, F_OK), -1);
	make_root();
	CU_ASSERT_EQUAL(fold_within(UINT64_MAX), CMN_MISS);
	CU_ASSERT_EQUAL(cc_totals_zero(ROOT), CMN_OK);
	CU_ASSERT_EQUAL(access(ROOT "/" CC_STATS_NAME, F_OK), -1);
}

TEST(zero_forgets_what_was_counted_and_not_what_happened)
{
	struct stat before, after;

	miss();
	fold();
	miss();
	CU_ASSERT_EQUAL(stat(LOG, &before), 0);
	CU_ASSERT_EQUAL(cc_totals_zero(ROOT), CMN_OK);
	CU_ASSERT_EQUAL(stat(LOG, &after), 0);
	CU_ASSERT_EQUAL(before.st_size, after.st_size);
	CU_ASSERT_EQUAL(before.st_ino, after.st_ino);
	check(CC_MISSES, 0);
	miss();
	check(CC_MISSES, 1);
	fold();
	check(CC_MISSES, 1);
}

TEST(damaged_lines_are_skipped)
{
	struct cc_totals *totals;

	make_root();
	unit_write(ROOT "/stats.txt", "misses\nmisses x\nstores -3\nno_such_thing 5\n"
				      "bypass.a b 5\nbypass. 5\nhits_disk 5\nerrors 99999999999999999999\n"
				      "misses 18446744073709551615\nhits_memory 1");
	happen(CC_EVENT_HIT_DISK, NULL, 0);
	miss();
	totals = loaded();
	CU_ASSERT_EQUAL(totals->counters[CC_HITS_DISK], 6);
	CU_ASSERT_EQUAL(totals->counters[CC_MISSES], UINT64_MAX);	/* sums never wrap */
	CU_ASSERT_EQUAL(totals->counters[CC_STORES], 0);
	CU_ASSERT_EQUAL(totals->counters[CC_ERRORS], 0);
	CU_ASSERT_EQUAL(totals->counters[CC_HITS_MEMORY], 0);	/* it was cut */
	free(totals);
}

TEST(what_is_no_file_of_totals_is_replaced)
{
	char *much = calloc(1, 200000);

	CU_ASSERT_PTR_NOT_NULL_FATAL(much);
	make_root();
	unit_write_bytes(ROOT "/stats.txt", much, 200000);
	miss();
	check(CC_MISSES, 1);
	fold();
	check(CC_MISSES, 1);
	CU_ASSERT_EQUAL_FATAL(unlink(ROOT "/stats.txt"), 0);
	CU_ASSERT_EQUAL_FATAL(mkdir(ROOT "/stats.txt", 0700), 0);
	miss();
	fold();
	check(CC_MISSES, 1);
	free(much);
	/* What merely failed to be read is not. */
	miss();
	cannot_be_read = true;
	CU_ASSERT_EQUAL(fold_within(UINT64_MAX), CMN_ERR_IO);
	cannot_be_read = false;
	check(CC_MISSES, 2);
}

static void damage_the_beginning(void)
{
	int fd = open(LOG, O_RDWR | O_CLOEXEC);

	CU_ASSERT_EQUAL(pwrite(fd, "x", 1, 30), 1);
	(void)close(fd);
}

/* Better lost than counted twice: it may be the one that is in the totals. */
TEST(a_log_whose_beginning_is_damaged_is_not_counted)
{
	miss();
	fold();
	miss();
	miss();
	damage_the_beginning();
	check(CC_MISSES, 1);
	/* A hit does not look; what takes a compile does, and begins another. */
	happen(CC_EVENT_HIT_DISK, NULL, 0);
	check(CC_HITS_DISK, 0);
	miss();
	check(CC_MISSES, 2);
	happen(CC_EVENT_HIT_DISK, NULL, 0);
	check(CC_HITS_DISK, 1);
	fold();
	check(CC_MISSES, 2);
}

TEST(the_first_log_counts_whatever_its_beginning)
{
	miss();
	miss();
	damage_the_beginning();
	check(CC_MISSES, 1);
	fold_and_die(CC_EVENTS_NAME);
	check(CC_MISSES, 1);
	miss();
	check(CC_MISSES, 2);
}

TEST(a_log_that_cannot_be_removed_is_cut)
{
	struct stat info;

	miss();
	keeps_names = true;
	fold();
	CU_ASSERT_EQUAL(stat(LOG, &info), 0);
	CU_ASSERT_EQUAL(info.st_size, 0);
	check(CC_MISSES, 1);
	miss();
	check(CC_MISSES, 2);
	fold();
	check(CC_MISSES, 2);
}

TEST(a_log_that_is_none_makes_room)
{
	static const char *const others[] = { "directory", "link", "pipe" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		make_root();
		unit_write(ROOT "/stats.txt", "misses 5\n");
		CU_ASSERT_EQUAL_FATAL(i == 0 ? mkdir(LOG, 0700) : i == 1 ? symlink("/dev/zero", LOG) : mkfifo(LOG, 0600), 0);
		check(CC_MISSES, 5);
		fold();
		check(CC_MISSES, 5);
		miss();
		check(CC_MISSES, 6);
	}
}

/* At each step, and then once more. */
TEST(who_dies_while_it_adds_up_counts_nothing_twice)
{
	static const char *const steps[] = { CC_STATS_NAME, CC_EVENTS_OLD_NAME, CC_EVENTS_NAME };

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		CU_ASSERT_EQUAL(cc_totals_zero(ROOT), CMN_OK);
		miss();
		miss();
		fold_and_die(steps[i]);
		check(CC_MISSES, 2);
		miss();
		check(CC_MISSES, 3);
		fold_and_die(steps[i]);
		check(CC_MISSES, 3);
		fold();
		check(CC_MISSES, 3);
		miss();
		check(CC_MISSES, 4);
	}
}

/* Each event by a process of its own, so that its log begins with the same parts. */
TEST(a_log_that_begins_with_the_same_program_counts)
{
	OWNED(cc_key_release) struct cc_key key;
	const struct cc_event event = { .kind = CC_EVENT_MISS, .key = &key };

	cc_key_init(&key);
	cc_key_add_text(&key, CC_PART_DEVICE, "device.name", "none");
	for (unsigned int i = 1; i <= 3; i++) {
		recorder = (struct cc_recorder){ 0 };
		cc_recorder_write(&recorder, ROOT, &event);
		check(CC_MISSES, i);
		fold();
		check(CC_MISSES, i);
	}
}

TEST(what_comes_before_the_log_is_removed_is_kept)
{
	miss();
	before_removal = miss;
	fold();
	check(CC_MISSES, 2);
	fold();
	check(CC_MISSES, 2);
}

/* As a full disk leaves it. */
TEST(half_a_record_does_not_begin_the_next_log)
{
	OWNED(cmn_buffer_release) struct cmn_buffer log;
	int fd;

	miss();
	fold();
	miss();
	CU_ASSERT_EQUAL_FATAL(cmn_file_read(AT_FDCWD, LOG, 1 << 20, false, &log), CMN_OK);
	fd = open(LOG, O_WRONLY | O_APPEND | O_CLOEXEC);
	CU_ASSERT_EQUAL(write(fd, log.data, 20), 20);
	(void)close(fd);
	fold();
	happen(CC_EVENT_HIT_DISK, NULL, 1);
	check(CC_HITS_DISK, 1);
	check(CC_MISSES, 2);
}

/* What is there may be half of what another process is writing. */
TEST(a_record_that_is_not_complete_yet_counts_later)
{
	OWNED(cmn_buffer_release) struct cmn_buffer log;
	int fd;

	miss();
	miss();
	CU_ASSERT_EQUAL_FATAL(cmn_file_read(AT_FDCWD, LOG, 1 << 20, false, &log), CMN_OK);
	CU_ASSERT_EQUAL(truncate(LOG, (off_t)log.len - 20), 0);
	CU_ASSERT_EQUAL(cc_totals_zero(ROOT), CMN_OK);
	check(CC_MISSES, 0);
	fd = open(LOG, O_WRONLY | O_APPEND | O_CLOEXEC);
	CU_ASSERT_EQUAL(write(fd, log.data + log.len - 20, 20), 20);
	(void)close(fd);
	check(CC_MISSES, 1);
}

TEST(the_roots_lock_is_waited_for_no_longer_than_asked)
{
	int fd;

	miss();
	fd = open(ROOT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CU_ASSERT_EQUAL_FATAL(flock(fd, LOCK_EX), 0);
	CU_ASSERT_EQUAL(fold_within(0), CMN_BUSY);
	CU_ASSERT_EQUAL(fold_within(cmn_clock_deadline(1000000)), CMN_BUSY);
	CU_ASSERT_EQUAL(cc_totals_zero(ROOT), CMN_BUSY);
	/* Counting and reading need none. */
	miss();
	check(CC_MISSES, 2);
	(void)close(fd);
	fold();
	check(CC_MISSES, 2);
}

static void *count_many(void *arg)
{
	(void)arg;
	for (unsigned int i = 0; i < ROUNDS; i++) {
		happen(CC_EVENT_HIT_MEMORY, NULL, 1);
		happen(CC_EVENT_BYPASS, "time", 0);
	}
	return NULL;
}

static void *count_once(void *arg)
{
	happen(CC_EVENT_HIT_MEMORY, NULL, 1);
	return arg;
}

/* What it is after a fork one of its threads finds out, while others count. */
TEST(nothing_is_lost_when_threads_begin_at_once)
{
	for (unsigned int round = 0; round < ROUNDS; round++) {
		recorder = (struct cc_recorder){ 0 };
		clock_takes_us = 1 + round;
		unit_run_threads(THREADS, count_once, NULL, 0);
	}
	check(CC_HITS_MEMORY, THREADS * ROUNDS);
}

TEST(nothing_is_lost_among_threads_and_processes)
{
	pid_t children[THREADS];
	struct cc_totals *totals;

	for (unsigned int i = 0; i < THREADS; i++) {
		children[i] = fork();
		if (children[i] == 0) {
			(void)count_many(NULL);
			_exit(0);
		}
	}
	unit_run_threads(THREADS, count_many, NULL, 0);
	for (unsigned int i = 0; i < THREADS; i++)
		CU_ASSERT(unit_ended_well(children[i]));
	for (int i = 0; i < 2; i++) {
		totals = loaded();
		CU_ASSERT_EQUAL(totals->counters[CC_HITS_MEMORY], 2 * THREADS * ROUNDS);
		CU_ASSERT_EQUAL(bypasses(totals, "time"), 2 * THREADS * ROUNDS);
		free(totals);
		(void)!fold_within(UINT64_MAX);
	}
}
