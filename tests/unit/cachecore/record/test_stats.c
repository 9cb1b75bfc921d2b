/* SPDX-License-Identifier: MIT */
/* stats: counting, the root's file, damage, several threads and processes. */
#include "cachecore/record/stats.h"

#include <sys/file.h>
#include <sys/resource.h>

#include "cachecore/record/stats_log.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/hash.h"
#include "tests/support/owned.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

/* The working directory is the test's own. */
#define ROOT "cache/root"
#define LOG ROOT "/" CC_STATS_LOG_NAME
#define THREADS 8
#define ROUNDS 200

static bool log_cannot_be_read;	/* now */
static void (*when_read)(void);	/* the next time */
static bool merge_dies;		/* as soon as it has counted */

WRAPPED(enum cmn_status, cc_stats_log_read, (int root_fd, struct cmn_buffer *ret))
{
	enum cmn_status status = log_cannot_be_read ? CMN_ERR_IO : __real_cc_stats_log_read(root_fd, ret);
	void (*then)(void) = when_read;

	when_read = NULL;
	if (then)
		then();
	return status;
}

WRAPPED(void, cc_stats_log_remove, (int root_fd, int fd, enum cmn_status read, size_t len))
{
	if (!merge_dies)
		__real_cc_stats_log_remove(root_fd, fd, read, len);
}

static struct cc_stats *new_stats(void)
{
	struct cc_stats *file = cc_stats_new();

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	return file;
}

/* What the root's file says. */
static struct cc_stats *loaded(void)
{
	struct cc_stats *file = new_stats();

	CU_ASSERT_EQUAL(cc_stats_load(file, ROOT), CMN_OK);
	return file;
}

static uint64_t bypasses(const struct cc_stats *of, const char *reason)
{
	const char *name;
	uint64_t count;

	for (unsigned int i = 0; (name = cc_stats_bypass_at(of, i, &count)); i++) {
		if (strcmp(name, reason) == 0)
			return count;
	}
	return 0;
}

static void check_file(enum cc_counter counter, uint64_t expected)
{
	struct cc_stats *file = loaded();

	CU_ASSERT_EQUAL(cc_stats_get(file, counter), expected);
	cc_stats_free(file);
}

static void check_reason(const char *reason, uint64_t expected)
{
	struct cc_stats *file = loaded();

	CU_ASSERT_EQUAL(bypasses(file, reason), expected);
	cc_stats_free(file);
}

static struct cc_stats *stats;
static struct cc_stats_place place;

BEFORE_EACH
{
	stats = new_stats();
	place = (struct cc_stats_place){ 0 };
}

AFTER_EACH
{
	cc_stats_free(stats);
}

static void flush_own(void)
{
	CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, &place, UINT64_MAX), CMN_OK);
}

static uint64_t size_of(const char *path)
{
	struct stat info;

	return stat(path, &info) == 0 ? (uint64_t)info.st_size : 0;
}

/* Some hits of this process, whose place is known. */
static void hit(uint64_t amount)
{
	cc_stats_add(stats, CC_HITS_DISK, amount);
	cc_stats_bypass(stats, "time");
	flush_own();
}

/* Another process's, in one flush. */
static void flush(enum cc_counter counter, uint64_t amount)
{
	struct cc_stats *own = new_stats();

	cc_stats_add(own, counter, amount);
	cc_stats_bypass(own, "time");
	CU_ASSERT_EQUAL(cc_stats_flush(own, ROOT, -1, NULL, 0), CMN_OK);
	cc_stats_free(own);
}

/* The log has no place for this. */
static void merge(void)
{
	flush(CC_UNATTENDED, 1);
}

static struct cmn_buffer read_log(void)
{
	struct cmn_buffer log;

	CU_ASSERT_EQUAL_FATAL(cmn_file_read(AT_FDCWD, LOG, 1 << 20, false, &log), CMN_OK);
	return log;
}

/* As another process has it. */
static int lock_of(const char *path, int how)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	CU_ASSERT_EQUAL_FATAL(flock(fd, how | LOCK_NB), 0);
	return fd;
}

TEST(adds_to_the_file_at_each_flush)
{
	cc_stats_add(stats, CC_HITS_DISK, 3);
	cc_stats_add(stats, CC_COMPILE_NS_SAVED, UINT64_C(5000000000));
	flush_own();
	check_file(CC_HITS_DISK, 3);
	flush_own();
	check_file(CC_HITS_DISK, 3);
	cc_stats_add(stats, CC_HITS_DISK, 2);
	flush_own();
	check_file(CC_HITS_DISK, 5);
	check_file(CC_COMPILE_NS_SAVED, UINT64_C(5000000000));
	CU_ASSERT_EQUAL(cc_stats_get(stats, CC_HITS_DISK), 5);
}

TEST(each_counter_goes_to_the_file_and_back)
{
	for (unsigned int i = 0; i < CC_COUNTER_COUNT; i++)
		cc_stats_add(stats, (enum cc_counter)i, i + 1);
	cc_stats_hit(stats, CC_HITS_MEMORY, 70);
	flush_own();
	for (unsigned int i = 0; i < CC_COUNTER_COUNT; i++)
		check_file((enum cc_counter)i, i + 1 + (i == CC_HITS_MEMORY) +
					       (i == CC_COMPILE_NS_SAVED ? 70 : 0));
}

TEST(makes_no_root_for_nothing)
{
	struct stat info;

	flush_own();
	CU_ASSERT_EQUAL(stat(ROOT, &info), -1);
	CU_ASSERT_EQUAL(cc_stats_load(stats, ROOT), CMN_MISS);
	CU_ASSERT_EQUAL(cc_stats_zero(ROOT), CMN_OK);
	cc_stats_add(stats, CC_MISSES, 1);
	flush_own();
	CU_ASSERT_EQUAL_FATAL(stat(ROOT, &info), 0);
	CU_ASSERT_EQUAL(info.st_mode & 0777, 0700);
}

TEST(counts_bypasses_by_reason)
{
	cc_stats_bypass(stats, "has-include");
	cc_stats_bypass(stats, "time");
	cc_stats_bypass(stats, "has-include");
	CU_ASSERT_EQUAL(bypasses(stats, "has-include"), 2);
	CU_ASSERT_EQUAL(bypasses(stats, "time"), 1);
	CU_ASSERT_EQUAL(bypasses(stats, "other"), 0);
	flush_own();
	flush_own();
	check_reason("has-include", 2);
	check_reason("time", 1);
}

TEST(puts_strange_and_too_many_reasons_under_other)
{
	char reason[128];

	memset(reason, 'x', sizeof(reason) - 1);
	reason[sizeof(reason) - 1] = '\0';
	cc_stats_bypass(stats, reason);
	cc_stats_bypass(stats, "");
	cc_stats_bypass(stats, "two words");
	cc_stats_bypass(stats, "line\nend");
	CU_ASSERT_EQUAL(bypasses(stats, "other"), 4);
	for (int i = 0; i < 70; i++) {
		(void)snprintf(reason, sizeof(reason), "reason-%d", i);
		cc_stats_bypass(stats, reason);
	}
	CU_ASSERT_EQUAL(bypasses(stats, "reason-63"), 1);
	CU_ASSERT_EQUAL(bypasses(stats, "reason-64"), 0);
	CU_ASSERT_EQUAL(bypasses(stats, "other"), 10);
	flush_own();
	check_reason("other", 10);
	check_reason("reason-63", 1);
}

TEST(loading_is_not_counting)
{
	cc_stats_add(stats, CC_STORES, 4);
	flush_own();
	CU_ASSERT_EQUAL(cc_stats_load(stats, ROOT), CMN_OK);
	CU_ASSERT_EQUAL(cc_stats_get(stats, CC_STORES), 8);
	flush_own();
	check_file(CC_STORES, 4);
}

TEST(forgets_the_file_on_zero)
{
	cc_stats_add(stats, CC_STORES, 4);
	flush_own();
	CU_ASSERT_EQUAL(cc_stats_zero(ROOT), CMN_OK);
	CU_ASSERT_EQUAL(cc_stats_load(stats, ROOT), CMN_MISS);
	cc_stats_add(stats, CC_STORES, 1);
	flush_own();
	check_file(CC_STORES, 1);
}

TEST(skips_damaged_lines)
{
	struct cc_stats *file;

	unit_mark(ROOT);
	unit_write("cache/root/stats.txt", "misses\nmisses x\nstores -3\nno_such_thing 5\n"
					   "bypass. 3\nbypass.two words 3\n\n hits_disk 9\n"
					   "hits_memory 12\nbypass.time 2\nhits_disk 7");
	file = loaded();
	CU_ASSERT_EQUAL(cc_stats_get(file, CC_MISSES), 0);
	CU_ASSERT_EQUAL(cc_stats_get(file, CC_STORES), 0);
	CU_ASSERT_EQUAL(cc_stats_get(file, CC_HITS_MEMORY), 12);
	CU_ASSERT_EQUAL(cc_stats_get(file, CC_HITS_DISK), 0);	/* its line was cut */
	CU_ASSERT_EQUAL(bypasses(file, "time"), 2);
	CU_ASSERT_EQUAL(bypasses(file, "other"), 0);
	cc_stats_free(file);
}

TEST(sums_never_wrap)
{
	unit_mark(ROOT);
	unit_write("cache/root/stats.txt", "misses 18446744073709551615\n");
	cc_stats_add(stats, CC_MISSES, 5);
	flush_own();
	check_file(CC_MISSES, UINT64_MAX);
}

TEST(replaces_a_file_that_is_none)
{
	static const char block[100000];

	unit_mark(ROOT);
	unit_write_bytes("cache/root/stats.txt", block, sizeof(block));
	cc_stats_add(stats, CC_MISSES, 5);
	cc_stats_add(stats, CC_HITS_REMOTE, 1);
	flush_own();
	check_file(CC_MISSES, 5);
}

TEST(refuses_a_root_that_others_can_write)
{
	unit_mark(ROOT);
	unit_write("cache/root/stats.txt", "");
	CU_ASSERT_EQUAL_FATAL(chmod(ROOT, 0777), 0);
	cc_stats_add(stats, CC_MISSES, 5);
	CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, &place, UINT64_MAX), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(cc_stats_zero(ROOT), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL_FATAL(chmod(ROOT, 0700), 0);
	/* What could not be written is not lost. */
	flush_own();
	check_file(CC_MISSES, 5);
}

TEST(does_not_wait_for_ever_for_the_lock)
{
	int fd;

	unit_mark(ROOT);
	unit_write("cache/root/stats.txt", "");
	fd = lock_of(ROOT, LOCK_EX);
	cc_stats_add(stats, CC_MISSES, 5);
	cc_stats_add(stats, CC_HITS_REMOTE, 1);
	cc_stats_bypass(stats, "time");
	CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, &place, 0), CMN_BUSY);
	CU_ASSERT_EQUAL_FATAL(close(fd), 0);
	flush_own();
	check_file(CC_MISSES, 5);
	/* Nobody waits for one that is over, though the root stays open. */
	fd = open(ROOT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cc_stats_add(stats, CC_HITS_REMOTE, 1);
	CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, fd, &place, UINT64_MAX), CMN_OK);
	cc_stats_add(stats, CC_HITS_REMOTE, 1);
	CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, &place, 0), CMN_OK);
	CU_ASSERT_EQUAL(close(fd), 0);
}

/* As long as the log has room: whoever holds the root, nobody waits, or replaces a file. */
TEST(counts_need_neither_the_roots_lock_nor_another_file)
{
	int fd;

	unit_mark(ROOT);
	unit_write("cache/root/stats.txt", "hits_disk 10\n");
	fd = lock_of(ROOT, LOCK_EX);
	flush(CC_STORES, 1);
	for (int i = 0; i < 3; i++)
		hit(2);
	(void)close(fd);
	CU_ASSERT_EQUAL(size_of("cache/root/stats.txt"), strlen("hits_disk 10\n"));
	CU_ASSERT_EQUAL(size_of(LOG), 2 * CC_STATS_LOG_RECORD);
	for (int i = 0; i < 2; i++) {
		check_file(CC_HITS_DISK, 16);
		check_file(CC_STORES, 1);
		check_reason("time", 4 + (uint64_t)i);
		merge();
		CU_ASSERT_EQUAL(access(LOG, F_OK), -1);
	}
}

TEST(a_log_that_cannot_be_read_now_stays)
{
	unit_mark(ROOT);
	unit_write("cache/root/stats.txt", "hits_disk 10\n");
	flush(CC_HITS_DISK, 1);
	cc_stats_add(stats, CC_HITS_REMOTE, 1);
	log_cannot_be_read = true;
	CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, &place, UINT64_MAX), CMN_ERR_IO);
	log_cannot_be_read = false;
	CU_ASSERT_EQUAL(size_of(LOG), CC_STATS_LOG_RECORD);
	flush_own();
	check_file(CC_HITS_DISK, 11);
	check_file(CC_HITS_REMOTE, 1);
}

TEST(the_log_is_bounded)
{
	bool merged = false;

	unit_mark(ROOT);
	unit_write("cache/root/stats.txt", "");
	for (unsigned int i = 0; i < 2 * CC_STATS_LOG_MAX / CC_STATS_LOG_RECORD; i++) {
		flush(CC_HITS_DISK, 1);
		CU_ASSERT_TRUE(size_of(LOG) <= CC_STATS_LOG_MAX);
		merged |= access(LOG, F_OK) != 0;
	}
	CU_ASSERT_TRUE(merged);
	check_file(CC_HITS_DISK, 2 * CC_STATS_LOG_MAX / CC_STATS_LOG_RECORD);
}

/* Torn, damaged, of another version: only that is lost, wherever it lies. */
TEST(damaged_records_are_skipped)
{
	OWNED(cmn_buffer_release) struct cmn_buffer file;
	uint8_t *bytes;

	unit_mark(ROOT);
	unit_write("cache/root/stats.txt", "");
	for (int i = 0; i < 4; i++)
		flush(CC_HITS_DISK, 1);
	file = read_log();
	CU_ASSERT_EQUAL_FATAL(file.len, 4 * CC_STATS_LOG_RECORD);
	bytes = file.data;
	for (size_t i = 0; i < CC_STATS_LOG_RECORD; i += 37) {
		bytes[i + CC_STATS_LOG_RECORD] ^= 4;
		unit_write_bytes(LOG, bytes, file.len);
		check_file(CC_HITS_DISK, 3);
		/* The first one's beginning is lost. */
		unit_write_bytes(LOG, bytes + i + 1, file.len - i - 1);
		check_file(CC_HITS_DISK, 2);
		bytes[i + CC_STATS_LOG_RECORD] ^= 4;
	}
}

/* It has added the log to stats.txt, and dies before it removes the log. */
TEST(a_merge_that_dies_counts_nothing_twice)
{
	hit(1);
	flush(CC_HITS_DISK, 2);
	merge_dies = true;
	merge();
	merge_dies = false;
	CU_ASSERT_EQUAL(size_of(LOG), 2 * CC_STATS_LOG_RECORD);
	check_file(CC_HITS_DISK, 3);
	/* What is in there has counted, and is added to no more. The next merge takes what is new alone. */
	hit(4);
	CU_ASSERT_EQUAL(size_of(LOG), 3 * CC_STATS_LOG_RECORD);
	check_file(CC_HITS_DISK, 7);
	hit(8);
	CU_ASSERT_EQUAL(size_of(LOG), 3 * CC_STATS_LOG_RECORD);
	check_file(CC_HITS_DISK, 15);
	merge();
	CU_ASSERT_EQUAL(access(LOG, F_OK), -1);
	check_file(CC_HITS_DISK, 15);
	/* Another log, which begins like none that was merged. */
	hit(16);
	check_file(CC_HITS_DISK, 31);
}

static void grow_and_merge(void)
{
	hit(2);
	merge();
}

/* Its first record is another one then. */
TEST(a_log_that_grows_and_is_merged_while_somebody_reads_counts_once)
{
	hit(1);
	when_read = grow_and_merge;
	check_file(CC_HITS_DISK, 3);
	check_file(CC_HITS_DISK, 3);
}

/* From its first read to its last step, a merge has the log alone: also one that it had to make. */
TEST(a_merge_locks_the_log_even_if_there_is_none)
{
	struct cc_stats_record record = { .day = 1, .counters = { 1 } };
	int root_fd, fd = -1;

	unit_mark(ROOT);
	root_fd = open(ROOT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CU_ASSERT_EQUAL(cc_stats_log_lock(root_fd, 0, &fd), CMN_OK);
	CU_ASSERT_EQUAL(cc_stats_log_put(root_fd, &record, &place), CMN_STALE);
	cc_stats_log_unlock(fd);
	CU_ASSERT_EQUAL(cc_stats_log_put(root_fd, &record, &place), CMN_OK);
	CU_ASSERT_EQUAL(cc_stats_log_lock(root_fd, 0, &fd), CMN_OK);
	CU_ASSERT_EQUAL(cc_stats_log_put(root_fd, &record, &place), CMN_STALE);
	cc_stats_log_unlock(fd);
	(void)close(root_fd);
	CU_ASSERT_EQUAL(size_of(LOG), CC_STATS_LOG_RECORD);
}

/* Of each process one record, which it rewrites; what others merge meanwhile is in no place any more. */
TEST(a_process_goes_on_in_a_new_record_after_a_merge)
{
	uint64_t sum = 0;

	unit_mark(ROOT);
	for (uint64_t i = 0; i < 5; i++) {
		hit(1 + i);
		hit(10);
		flush(CC_HITS_DISK, 100);
		CU_ASSERT_EQUAL(size_of(LOG), 2 * CC_STATS_LOG_RECORD);
		sum += 111 + i;
		check_file(CC_HITS_DISK, sum);
		merge();
		check_file(CC_HITS_DISK, sum);
	}
}

/* The inode's number of the log that was removed, and of what lies there now. */
TEST(another_log_with_the_same_inode_is_not_written_over)
{
	for (uint64_t at = 0; at < 2; at++) {
		struct cc_stats_place others = { 0 };

		hit(1);
		merge();
		flush(CC_HITS_DISK, 2);
		cc_stats_add(stats, CC_HITS_DISK, 4);
		CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, &others, 0), CMN_OK);
		place.device = others.device;
		place.inode = others.inode;
		place.sums = others.sums;
		place.offset = at * 2 * CC_STATS_LOG_RECORD;	/* a record of another, or none */
		hit(8);
		CU_ASSERT_EQUAL(size_of(LOG), 3 * CC_STATS_LOG_RECORD);
		check_file(CC_HITS_DISK, 15);
		CU_ASSERT_EQUAL(cc_stats_zero(ROOT), CMN_OK);
	}
}

static struct cc_stats_record record_of(uint32_t day, const char *program, unsigned int first_reason,
					unsigned int reasons)
{
	struct cc_stats_record record = { .day = day, .counters = { 1 }, .reason_count = reasons };

	(void)snprintf(record.program, sizeof(record.program), "%s", program);
	for (unsigned int i = 0; i < reasons; i++) {
		(void)snprintf(record.reasons[i].name, sizeof(record.reasons[i].name), "reason-%u",
			       first_reason + i);
		record.reasons[i].count = 1;
	}
	return record;
}

/* Each of these starts a record, or does not. */
TEST(another_day_or_program_or_a_seventh_reason_starts_a_record)
{
	const struct {
		struct cc_stats_record record;
		unsigned int records;
	} steps[] = {
		{ record_of(1, "a", 0, 4), 1 }, { record_of(1, "a", 2, 4), 1 },	/* six now */
		{ record_of(1, "a", 0, 6), 1 }, { record_of(1, "a", 5, 2), 2 },
		{ record_of(2, "a", 5, 2), 3 }, { record_of(2, "b", 5, 2), 4 }, { record_of(2, "b", 0, 0), 4 },
	};
	OWNED(cmn_buffer_release) struct cmn_buffer log = { 0 };
	uint64_t count = 0, reasons = 0;
	struct cc_stats_record record;
	struct cmn_view rest;
	int root_fd;

	unit_mark(ROOT);
	root_fd = open(ROOT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		CU_ASSERT_EQUAL(cc_stats_log_put(root_fd, &steps[i].record, &place), CMN_OK);
		CU_ASSERT_EQUAL(size_of(LOG), steps[i].records * CC_STATS_LOG_RECORD);
	}
	(void)close(root_fd);
	log = read_log();
	for (rest = cmn_buffer_view(&log); cc_stats_log_next(&rest, &record);) {
		count += record.counters[0];
		for (unsigned int i = 0; i < record.reason_count; i++)
			reasons += record.reasons[i].count;
	}
	CU_ASSERT_EQUAL(count, 7);
	CU_ASSERT_EQUAL(reasons, 4 + 4 + 6 + 2 + 2 + 2);
}

/* What of it is merged cannot be told for sure then: better lost than counted twice. */
TEST(a_merged_log_counts_no_more_when_files_are_damaged)
{
	OWNED(cmn_buffer_release) struct cmn_buffer log, text;
	uint8_t *end;

	flush(CC_HITS_DISK, 1);
	flush(CC_HITS_DISK, 2);
	log = read_log();
	merge();
	for (size_t at = 20; at <= 100; at += 80) {	/* whose it is, and what else it says */
		log.data[at] ^= 4;
		unit_write_bytes(LOG, log.data, log.len);
		check_file(CC_HITS_DISK, 3);
		log.data[at] ^= 4;
	}
	/* A crash of the machine cuts the sums. */
	unit_write_bytes(LOG, log.data, log.len);
	CU_ASSERT_EQUAL_FATAL(cmn_file_read(AT_FDCWD, ROOT "/" CC_STATS_NAME, 1 << 16, false, &text),
			      CMN_OK);
	end = memmem(text.data, text.len, "hits_disk", strlen("hits_disk"));
	CU_ASSERT_PTR_NOT_NULL_FATAL(end);
	unit_write_bytes(ROOT "/" CC_STATS_NAME, text.data, (size_t)(end - text.data));
	check_file(CC_HITS_DISK, 0);
}

/* Signed as the version that wrote it would. */
static void sign(uint8_t *record)
{
	struct cmn_hash hash = cmn_hash_of(record, CC_STATS_LOG_RECORD - CMN_HASH_SIZE);

	memcpy(record + CC_STATS_LOG_RECORD - CMN_HASH_SIZE, hash.bytes, CMN_HASH_SIZE);
}

TEST(sound_records_of_other_versions_are_skipped)
{
	enum { VERSION_AT = 4, REASONS_AT = 12 };
	static const struct {
		size_t at;
		uint8_t value;
	} cases[] = { { VERSION_AT, 2 }, { REASONS_AT, CC_STATS_LOG_REASONS + 1 }, { REASONS_AT, 255 } };
	OWNED(cmn_buffer_release) struct cmn_buffer log;

	unit_mark(ROOT);
	unit_write("cache/root/stats.txt", "");
	flush(CC_HITS_DISK, 1);
	log = read_log();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t was = log.data[cases[i].at];

		log.data[cases[i].at] = cases[i].value;
		sign(log.data);
		unit_write_bytes(LOG, log.data, log.len);
		check_file(CC_HITS_DISK, 0);
		log.data[cases[i].at] = was;
	}
	sign(log.data);
	unit_write_bytes(LOG, log.data, log.len);
	check_file(CC_HITS_DISK, 1);
}

/* As the same file. */
static void write_over(const void *data, size_t len)
{
	int fd = open(LOG, O_WRONLY | O_CLOEXEC);

	CU_ASSERT_EQUAL_FATAL(pwrite(fd, data, len, 0), (ssize_t)len);
	(void)close(fd);
}

/* Torn by a crash, or another's: whatever lies in its place stays, and it gets another. */
TEST(what_lies_in_its_place_is_not_written_over)
{
	enum { PID_AT = 16, TIME_AT = 24 };
	static const struct {
		size_t at;
		bool is_signed;
	} cases[] = { { 0, true }, { PID_AT, true }, { TIME_AT, true }, { 100, false },
		      { CC_STATS_LOG_RECORD - 1, false } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cmn_buffer before, after;

		hit(1);
		before = read_log();
		before.data[cases[i].at] ^= 4;
		if (cases[i].is_signed)
			sign(before.data);
		write_over(before.data, before.len);
		hit(2);
		after = read_log();
		CU_ASSERT_EQUAL(after.len, 2 * CC_STATS_LOG_RECORD);
		CU_ASSERT_EQUAL(memcmp(after.data, before.data, before.len), 0);
		cmn_buffer_release(&before);
		cmn_buffer_release(&after);
		CU_ASSERT_EQUAL(cc_stats_zero(ROOT), CMN_OK);
	}
}

/* Several that append at once may each find the last free place. */
TEST(a_log_beyond_its_bound_is_read)
{
	unsigned int count = 3 * CC_STATS_LOG_MAX / 2 / CC_STATS_LOG_RECORD;
	struct cmn_buffer log, many = { 0 };

	flush(CC_HITS_DISK, 1);
	log = read_log();
	for (unsigned int i = 0; i < count; i++)
		cmn_buffer_append(&many, log.data, log.len);
	unit_write_bytes(LOG, many.data, many.len);
	check_file(CC_HITS_DISK, count);
	merge();
	check_file(CC_HITS_DISK, count);
	cmn_buffer_release(&log);
	cmn_buffer_release(&many);
}

/* Where a file may not grow: neither what was counted just now, nor what the record had. */
TEST(a_record_that_is_torn_is_not_lost)
{
	for (int rewritten = 0; rewritten < 2; rewritten++) {
		struct rlimit old, limit;

		hit(1);
		CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &old), 0);
		limit = old;
		limit.rlim_cur = rewritten ? 400 : CC_STATS_LOG_RECORD + 300;
		CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
		if (rewritten)
			hit(1);
		else
			flush(CC_HITS_DISK, 1);
		CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &old), 0);
		check_file(CC_HITS_DISK, 2);
		hit(1);
		check_file(CC_HITS_DISK, 3);
		CU_ASSERT_EQUAL(cc_stats_zero(ROOT), CMN_OK);
	}
}

TEST(zero_forgets_the_log_whatever_it_is)
{
	flush(CC_HITS_DISK, 1);
	CU_ASSERT_EQUAL(cc_stats_zero(ROOT), CMN_OK);
	CU_ASSERT_EQUAL(cc_stats_load(stats, ROOT), CMN_MISS);
	unit_write(LOG "/inside", "a directory stands there");
	CU_ASSERT_EQUAL(cc_stats_zero(ROOT), CMN_OK);
	CU_ASSERT_NOT_EQUAL(access(LOG, F_OK), 0);
}

TEST(a_bypass_alone_is_pending)
{
	CU_ASSERT_FALSE(cc_stats_pending(stats));
	cc_stats_bypass(stats, "time");
	CU_ASSERT_TRUE(cc_stats_pending(stats));
}

static void check_usage(uint64_t hits)
{
	struct cc_usage *usage = calloc(1, sizeof(*usage));
	int fd = open(ROOT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	CU_ASSERT_PTR_NOT_NULL_FATAL(usage);
	CU_ASSERT_EQUAL(cc_stats_load_usage(usage, fd), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(usage->program_count, 1);
	CU_ASSERT_EQUAL(usage->programs[0].counts.hits_disk, hits);
	CU_ASSERT_EQUAL(close(fd), 0);
	free(usage);
}

/* By day and program: before and after it is merged. */
TEST(the_log_counts_for_the_usage)
{
	flush(CC_HITS_DISK, 1);
	flush(CC_HITS_DISK, 2);
	check_usage(3);
	merge();
	check_usage(3);
	flush(CC_HITS_DISK, 3);
	check_usage(6);
}

TEST(whatever_is_in_the_logs_place_goes)
{
	for (int i = 0; i < 5; i++) {
		unit_mark(ROOT);
		unit_write("cache/root/stats.txt", "hits_disk 10\n");
		unit_write("cache/root/target", "theirs");
		CU_ASSERT_EQUAL_FATAL(i == 0 ? mkdir(LOG, 0700) : i == 1 ? symlink("target", LOG) :
				      i == 2 ? mkfifo(LOG, 0600) : i == 3 ? link("cache/root/target", LOG) :
				      truncate("cache/root/target", 1 << 30) + rename("cache/root/target", LOG),
				      0);
		flush(CC_HITS_DISK, 1);
		check_file(CC_HITS_DISK, 11);
		flush(CC_HITS_DISK, 1);
		check_file(CC_HITS_DISK, 12);
		CU_ASSERT_EQUAL(size_of(LOG), CC_STATS_LOG_RECORD);
		CU_ASSERT_TRUE(i == 4 || size_of("cache/root/target") == strlen("theirs"));
		CU_ASSERT_EQUAL(unlink(LOG), 0);
	}
}

/* Who counts shares the log, who merges has it alone. Either may be stopped, and have it for ever. */
TEST(a_log_that_others_hold_delays_nobody_beyond_the_deadline)
{
	const uint64_t patience = 20000000, much = 250 * patience;

	unit_mark(ROOT);
	unit_write("cache/root/stats.txt", "hits_disk 10\n");
	hit(1);
	for (int i = 0; i < 2; i++) {
		uint64_t begin = cmn_clock_monotonic();
		int fd = lock_of(LOG, i ? LOCK_EX : LOCK_SH);
		enum cmn_status expected = i ? CMN_BUSY : CMN_OK;

		cc_stats_add(stats, CC_HITS_DISK, 1);
		CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, &place, begin + patience), expected);
		CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, NULL, begin + patience), expected);
		cc_stats_add(stats, CC_HITS_REMOTE, 1);
		cc_stats_bypass(stats, "time");
		CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, &place, begin + patience), CMN_BUSY);
		CU_ASSERT_TRUE(cmn_clock_monotonic() < begin + much);
		CU_ASSERT_EQUAL(size_of(LOG), CC_STATS_LOG_RECORD);
		check_file(CC_HITS_DISK, 12);
		(void)close(fd);
	}
	/* Nothing is lost. */
	flush_own();
	CU_ASSERT_NOT_EQUAL(access(LOG, F_OK), 0);
	check_file(CC_HITS_DISK, 13);
	check_file(CC_HITS_REMOTE, 2);
}

static pid_t forked(void)
{
	pid_t child = fork();

	CU_ASSERT_TRUE_FATAL(child >= 0);
	return child;
}

/* Also where nobody has told it that it is one. */
TEST(a_forked_child_gets_a_record_of_its_own)
{
	pid_t child;

	hit(1);
	child = forked();
	if (child == 0) {
		hit(10);
		hit(20);
		_exit(0);
	}
	CU_ASSERT(unit_ended_well(child));
	CU_ASSERT_EQUAL(size_of(LOG), 2 * CC_STATS_LOG_RECORD);
	hit(2);
	CU_ASSERT_EQUAL(size_of(LOG), 2 * CC_STATS_LOG_RECORD);
	check_file(CC_HITS_DISK, 33);
}

TEST(what_was_flushed_before_a_kill_counts)
{
	int how;
	pid_t child;

	unit_mark(ROOT);
	child = forked();
	if (child == 0) {
		hit(1);
		hit(2);
		(void)kill(getpid(), SIGKILL);
	}
	CU_ASSERT_EQUAL(waitpid(child, &how, 0), child);
	CU_ASSERT_TRUE(WIFSIGNALED(how));
	check_file(CC_HITS_DISK, 3);
	merge();
	check_file(CC_HITS_DISK, 3);
}

TEST(a_forked_child_leaves_its_parents_counts)
{
	pid_t child;

	cc_stats_add(stats, CC_MISSES, 5);
	cc_stats_bypass(stats, "time");
	child = forked();
	if (child == 0) {
		enum cmn_status status;

		cc_stats_forget(stats);
		cc_stats_add(stats, CC_MISSES, 1);
		status = cc_stats_flush(stats, ROOT, -1, &place, UINT64_MAX);
		cc_stats_free(stats);
		_exit(status == CMN_OK ? 0 : 1);
	}
	CU_ASSERT(unit_ended_well(child));
	check_file(CC_MISSES, 1);
	check_reason("time", 0);
	flush_own();
	check_file(CC_MISSES, 6);
}

static void *count_and_flush(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		char reason[24];

		(void)snprintf(reason, sizeof(reason), "reason-%d", i % 10);
		cc_stats_add(stats, CC_HITS_MEMORY, 1);
		cc_stats_bypass(stats, reason);
		/* Busy is fine: the next one, or the last, does it. */
		if (i % 50 == 0 && cc_stats_flush(stats, ROOT, -1, NULL, UINT64_MAX) < 0)
			return stats;
	}
	return NULL;
}

TEST(loses_nothing_among_threads)
{
	struct cc_stats *file;
	pthread_t threads[THREADS];
	void *failed;

	for (int i = 0; i < THREADS; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, count_and_flush, NULL), 0);
	for (int i = 0; i < THREADS; i++) {
		CU_ASSERT_EQUAL_FATAL(pthread_join(threads[i], &failed), 0);
		CU_ASSERT_PTR_NULL(failed);
	}
	flush_own();
	file = loaded();
	CU_ASSERT_EQUAL(cc_stats_get(file, CC_HITS_MEMORY), THREADS * ROUNDS);
	for (int i = 0; i < 10; i++) {
		char reason[24];

		(void)snprintf(reason, sizeof(reason), "reason-%d", i);
		CU_ASSERT_EQUAL(bypasses(file, reason), THREADS * ROUNDS / 10);
	}
	cc_stats_free(file);
}

TEST(loses_nothing_among_processes)
{
	pid_t children[4];

	for (int i = 0; i < 4; i++) {
		children[i] = forked();
		if (children[i] == 0) {
			for (int j = 0; j < 25; j++) {
				cc_stats_add(stats, CC_STORES, 1);
				cc_stats_add(stats, CC_HITS_REMOTE, j % 3 == i % 3);	/* merges */
				if (cc_stats_flush(stats, ROOT, -1, &place, UINT64_MAX) < 0)
					_exit(1);
			}
			_exit(cc_stats_flush(stats, ROOT, -1, &place, UINT64_MAX) == CMN_OK ? 0 : 1);
		}
	}
	for (int i = 0; i < 4; i++) {
		CU_ASSERT(unit_ended_well(children[i]));
	}
	check_file(CC_STORES, 100);
}
