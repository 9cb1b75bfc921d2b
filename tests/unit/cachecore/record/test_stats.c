/* SPDX-License-Identifier: MIT */
/* stats: counting, the root's file, damage, several threads and processes. */
#include "cachecore/record/stats.h"

#include <sys/file.h>
#include <sys/resource.h>

#include "cachecore/record/stats_log.h"
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

WRAPPED(enum cmn_status, cc_stats_log_read, (int root_fd, struct cmn_buffer *ret))
{
	return log_cannot_be_read ? CMN_ERR_IO : __real_cc_stats_log_read(root_fd, ret);
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

static struct cc_stats *stats;

BEFORE_EACH
{
	stats = new_stats();
}

AFTER_EACH
{
	cc_stats_free(stats);
}

TEST(adds_to_the_file_at_each_flush)
{
	cc_stats_add(stats, CC_HITS_DISK, 3);
	cc_stats_add(stats, CC_COMPILE_NS_SAVED, UINT64_C(5000000000));
	CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, UINT64_MAX), CMN_OK);
	check_file(CC_HITS_DISK, 3);
	CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, UINT64_MAX), CMN_OK);
	check_file(CC_HITS_DISK, 3);
	cc_stats_add(stats, CC_HITS_DISK, 2);
	CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, UINT64_MAX), CMN_OK);
	check_file(CC_HITS_DISK, 5);
	check_file(CC_COMPILE_NS_SAVED, UINT64_C(5000000000));
	CU_ASSERT_EQUAL(cc_stats_get(stats, CC_HITS_DISK), 5);
}

TEST(each_counter_goes_to_the_file_and_back)
{
	for (unsigned int i = 0; i < CC_COUNTER_COUNT; i++)
		cc_stats_add(stats, (enum cc_counter)i, i + 1);
	cc_stats_hit(stats, CC_HITS_MEMORY, 70);
	CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, UINT64_MAX), CMN_OK);
	for (unsigned int i = 0; i < CC_COUNTER_COUNT; i++)
		check_file((enum cc_counter)i, i + 1 + (i == CC_HITS_MEMORY) +
					       (i == CC_COMPILE_NS_SAVED ? 70 : 0));
}

TEST(makes_no_root_for_nothing)
{
	struct stat info;

	CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, UINT64_MAX), CMN_OK);
	CU_ASSERT_EQUAL(stat(ROOT, &info), -1);
	CU_ASSERT_EQUAL(cc_stats_load(stats, ROOT), CMN_MISS);
	CU_ASSERT_EQUAL(cc_stats_zero(ROOT), CMN_OK);
	cc_stats_add(stats, CC_MISSES, 1);
	CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, UINT64_MAX), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(stat(ROOT, &info), 0);
	CU_ASSERT_EQUAL(info.st_mode & 0777, 0700);
}

TEST(counts_bypasses_by_reason)
{
	struct cc_stats *file;

	cc_stats_bypass(stats, "has-include");
	cc_stats_bypass(stats, "time");
	cc_stats_bypass(stats, "has-include");
	CU_ASSERT_EQUAL(bypasses(stats, "has-include"), 2);
	CU_ASSERT_EQUAL(bypasses(stats, "time"), 1);
	CU_ASSERT_EQUAL(bypasses(stats, "other"), 0);
	CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, UINT64_MAX), CMN_OK);
	CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, UINT64_MAX), CMN_OK);
	file = loaded();
	CU_ASSERT_EQUAL(bypasses(file, "has-include"), 2);
	CU_ASSERT_EQUAL(bypasses(file, "time"), 1);
	cc_stats_free(file);
}

TEST(puts_strange_and_too_many_reasons_under_other)
{
	struct cc_stats *file;
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
	CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, UINT64_MAX), CMN_OK);
	file = loaded();
	CU_ASSERT_EQUAL(bypasses(file, "other"), 10);
	CU_ASSERT_EQUAL(bypasses(file, "reason-63"), 1);
	cc_stats_free(file);
}

TEST(loading_is_not_counting)
{
	cc_stats_add(stats, CC_STORES, 4);
	CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, UINT64_MAX), CMN_OK);
	CU_ASSERT_EQUAL(cc_stats_load(stats, ROOT), CMN_OK);
	CU_ASSERT_EQUAL(cc_stats_get(stats, CC_STORES), 8);
	CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, UINT64_MAX), CMN_OK);
	check_file(CC_STORES, 4);
}

TEST(forgets_the_file_on_zero)
{
	cc_stats_add(stats, CC_STORES, 4);
	CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, UINT64_MAX), CMN_OK);
	CU_ASSERT_EQUAL(cc_stats_zero(ROOT), CMN_OK);
	CU_ASSERT_EQUAL(cc_stats_load(stats, ROOT), CMN_MISS);
	cc_stats_add(stats, CC_STORES, 1);
	CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, UINT64_MAX), CMN_OK);
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
	CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, UINT64_MAX), CMN_OK);
	check_file(CC_MISSES, UINT64_MAX);
}

TEST(replaces_a_file_that_is_none)
{
	static const char block[100000];

	unit_mark(ROOT);
	unit_write_bytes("cache/root/stats.txt", block, sizeof(block));
	cc_stats_add(stats, CC_MISSES, 5);
	CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, UINT64_MAX), CMN_OK);
	check_file(CC_MISSES, 5);
}

TEST(refuses_a_root_that_others_can_write)
{
	unit_mark(ROOT);
	unit_write("cache/root/stats.txt", "");
	CU_ASSERT_EQUAL_FATAL(chmod(ROOT, 0777), 0);
	cc_stats_add(stats, CC_MISSES, 5);
	CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, UINT64_MAX), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(cc_stats_zero(ROOT), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL_FATAL(chmod(ROOT, 0700), 0);
	/* What could not be written is not lost. */
	CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, UINT64_MAX), CMN_OK);
	check_file(CC_MISSES, 5);
}

TEST(does_not_wait_for_ever_for_the_lock)
{
	int fd;

	unit_mark(ROOT);
	unit_write("cache/root/stats.txt", "");
	fd = open(ROOT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CU_ASSERT_EQUAL_FATAL(flock(fd, LOCK_EX), 0);
	cc_stats_add(stats, CC_MISSES, 5);
	cc_stats_add(stats, CC_STORES, 1);
	cc_stats_bypass(stats, "time");
	CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, 0), CMN_BUSY);
	CU_ASSERT_EQUAL_FATAL(close(fd), 0);
	CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, UINT64_MAX), CMN_OK);
	check_file(CC_MISSES, 5);
	/* Nobody waits for one that is over, though the root stays open. */
	fd = open(ROOT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cc_stats_add(stats, CC_STORES, 1);
	CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, fd, UINT64_MAX), CMN_OK);
	cc_stats_add(stats, CC_STORES, 1);
	CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, 0), CMN_OK);
	CU_ASSERT_EQUAL(close(fd), 0);
}

static uint64_t size_of(const char *path)
{
	struct stat info;

	return stat(path, &info) == 0 ? (uint64_t)info.st_size : 0;
}

static void flush(enum cc_counter counter, uint64_t amount)
{
	struct cc_stats *own = new_stats();

	cc_stats_add(own, counter, amount);
	cc_stats_bypass(own, "time");
	CU_ASSERT_EQUAL(cc_stats_flush(own, ROOT, -1, 0), CMN_OK);
	cc_stats_free(own);
}

/* A process that only had hits does not wait for who holds the lock, and replaces nothing. */
TEST(who_stored_nothing_appends_without_a_lock)
{
	struct cc_stats *file;
	int fd;

	unit_mark(ROOT);
	unit_write("cache/root/stats.txt", "hits_disk 10\n");
	fd = open(ROOT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CU_ASSERT_EQUAL_FATAL(flock(fd, LOCK_EX), 0);
	for (int i = 0; i < 3; i++)
		flush(CC_HITS_DISK, 2);
	CU_ASSERT_EQUAL_FATAL(close(fd), 0);
	CU_ASSERT_EQUAL(size_of("cache/root/stats.txt"), strlen("hits_disk 10\n"));
	check_file(CC_HITS_DISK, 16);
	file = loaded();
	CU_ASSERT_EQUAL(bypasses(file, "time"), 3);
	cc_stats_free(file);
	/* Who stores adds it all to the file. */
	flush(CC_STORES, 1);
	CU_ASSERT_EQUAL(access(LOG, F_OK), -1);
	check_file(CC_HITS_DISK, 16);
	file = loaded();
	CU_ASSERT_EQUAL(bypasses(file, "time"), 4);
	cc_stats_free(file);
}

TEST(a_log_that_cannot_be_read_now_stays)
{
	unit_mark(ROOT);
	unit_write("cache/root/stats.txt", "hits_disk 10\n");
	flush(CC_HITS_DISK, 1);
	cc_stats_add(stats, CC_STORES, 1);
	log_cannot_be_read = true;
	CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, UINT64_MAX), CMN_ERR_IO);
	log_cannot_be_read = false;
	CU_ASSERT_EQUAL(size_of(LOG), CC_STATS_LOG_RECORD);
	CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, UINT64_MAX), CMN_OK);
	check_file(CC_HITS_DISK, 11);
	check_file(CC_STORES, 1);
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
	CU_ASSERT_EQUAL_FATAL(cmn_file_read(AT_FDCWD, LOG, 1 << 20, false, &file), CMN_OK);
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
	OWNED(cmn_buffer_release) struct cmn_buffer log;

	unit_mark(ROOT);
	unit_write("cache/root/stats.txt", "");
	flush(CC_HITS_DISK, 1);
	flush(CC_HITS_DISK, 2);
	CU_ASSERT_EQUAL_FATAL(cmn_file_read(AT_FDCWD, LOG, 1 << 20, false, &log), CMN_OK);
	flush(CC_STORES, 1);
	CU_ASSERT_EQUAL(access(LOG, F_OK), -1);
	unit_write_bytes(LOG, log.data, log.len);
	check_file(CC_HITS_DISK, 3);
	/* What is appended then counts, and the next merge takes that alone. */
	flush(CC_HITS_DISK, 4);
	check_file(CC_HITS_DISK, 7);
	flush(CC_STORES, 1);
	check_file(CC_HITS_DISK, 7);
	/* Another log that begins like none that was merged. */
	flush(CC_HITS_DISK, 5);
	check_file(CC_HITS_DISK, 12);
}

/* What of it is merged cannot be told for sure then: better lost than counted twice. */
TEST(a_merged_log_counts_no_more_when_files_are_damaged)
{
	OWNED(cmn_buffer_release) struct cmn_buffer log, text;
	uint8_t *end;

	unit_mark(ROOT);
	unit_write("cache/root/stats.txt", "");
	flush(CC_HITS_DISK, 1);
	flush(CC_HITS_DISK, 2);
	CU_ASSERT_EQUAL_FATAL(cmn_file_read(AT_FDCWD, LOG, 1 << 20, false, &log), CMN_OK);
	flush(CC_STORES, 1);
	log.data[100] ^= 4;
	unit_write_bytes(LOG, log.data, log.len);
	check_file(CC_HITS_DISK, 3);
	/* A crash of the machine cuts the sums. */
	log.data[100] ^= 4;
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
	CU_ASSERT_EQUAL_FATAL(cmn_file_read(AT_FDCWD, LOG, 1 << 20, false, &log), CMN_OK);
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

/* Several that append at once may each find the last free place. */
TEST(a_log_beyond_its_bound_is_read)
{
	unsigned int count = 3 * CC_STATS_LOG_MAX / 2 / CC_STATS_LOG_RECORD;
	struct cmn_buffer log, many = { 0 };

	unit_mark(ROOT);
	unit_write("cache/root/stats.txt", "");
	flush(CC_HITS_DISK, 1);
	CU_ASSERT_EQUAL_FATAL(cmn_file_read(AT_FDCWD, LOG, 1 << 20, false, &log), CMN_OK);
	for (unsigned int i = 0; i < count; i++)
		cmn_buffer_append(&many, log.data, log.len);
	unit_write_bytes(LOG, many.data, many.len);
	check_file(CC_HITS_DISK, count);
	flush(CC_STORES, 1);
	check_file(CC_HITS_DISK, count);
	cmn_buffer_release(&log);
	cmn_buffer_release(&many);
}

TEST(a_record_that_is_torn_is_not_lost)
{
	struct rlimit old, limit;

	unit_mark(ROOT);
	unit_write("cache/root/stats.txt", "");
	flush(CC_HITS_DISK, 1);
	CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = old;
	limit.rlim_cur = CC_STATS_LOG_RECORD + 300;
	CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
	flush(CC_HITS_DISK, 1);
	CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &old), 0);
	check_file(CC_HITS_DISK, 2);
}

TEST(zero_forgets_the_log_whatever_it_is)
{
	unit_mark(ROOT);
	unit_write("cache/root/stats.txt", "");
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
	unit_mark(ROOT);
	unit_write("cache/root/stats.txt", "");
	flush(CC_HITS_DISK, 1);
	flush(CC_HITS_DISK, 2);
	check_usage(3);
	flush(CC_STORES, 1);
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

/* Who appends shares it; who removes it has it alone. */
TEST(the_log_is_not_removed_under_who_appends)
{
	int fd;

	unit_mark(ROOT);
	unit_write("cache/root/stats.txt", "hits_disk 10\n");
	flush(CC_HITS_DISK, 1);
	fd = open(LOG, O_RDONLY | O_CLOEXEC);
	CU_ASSERT_EQUAL_FATAL(flock(fd, LOCK_SH | LOCK_NB), 0);
	flush(CC_STORES, 1);
	CU_ASSERT_EQUAL(size_of(LOG), CC_STATS_LOG_RECORD);
	check_file(CC_HITS_DISK, 11);
	flush(CC_HITS_DISK, 1);
	CU_ASSERT_EQUAL(size_of(LOG), 2 * CC_STATS_LOG_RECORD);
	check_file(CC_HITS_DISK, 12);
	CU_ASSERT_EQUAL_FATAL(flock(fd, LOCK_EX | LOCK_NB), 0);
	flush(CC_HITS_DISK, 1);
	CU_ASSERT_EQUAL(size_of(LOG), 2 * CC_STATS_LOG_RECORD);
	check_file(CC_HITS_DISK, 13);
	CU_ASSERT_EQUAL(flock(fd, LOCK_UN), 0);
	flush(CC_STORES, 1);
	CU_ASSERT_NOT_EQUAL(access(LOG, F_OK), 0);
	check_file(CC_HITS_DISK, 13);
	(void)close(fd);
}

TEST(a_forked_child_leaves_its_parents_counts)
{
	struct cc_stats *file;
	pid_t child;

	cc_stats_add(stats, CC_MISSES, 5);
	cc_stats_bypass(stats, "time");
	child = fork();
	CU_ASSERT_TRUE_FATAL(child >= 0);
	if (child == 0) {
		enum cmn_status status;

		cc_stats_forget(stats);
		cc_stats_add(stats, CC_MISSES, 1);
		status = cc_stats_flush(stats, ROOT, -1, UINT64_MAX);
		cc_stats_free(stats);
		_exit(status == CMN_OK ? 0 : 1);
	}
	CU_ASSERT(unit_ended_well(child));
	check_file(CC_MISSES, 1);
	file = loaded();
	CU_ASSERT_EQUAL(bypasses(file, "time"), 0);
	cc_stats_free(file);
	CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, UINT64_MAX), CMN_OK);
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
		if (i % 50 == 0 && cc_stats_flush(stats, ROOT, -1, UINT64_MAX) < 0)
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
	CU_ASSERT_EQUAL(cc_stats_flush(stats, ROOT, -1, UINT64_MAX), CMN_OK);
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
		children[i] = fork();
		CU_ASSERT_TRUE_FATAL(children[i] >= 0);
		if (children[i] == 0) {
			for (int j = 0; j < 25; j++) {
				cc_stats_add(stats, CC_STORES, 1);
				if (cc_stats_flush(stats, ROOT, -1, UINT64_MAX) < 0)
					_exit(1);
			}
			_exit(cc_stats_flush(stats, ROOT, -1, UINT64_MAX) == CMN_OK ? 0 : 1);
		}
	}
	for (int i = 0; i < 4; i++) {
		CU_ASSERT(unit_ended_well(children[i]));
	}
	check_file(CC_STORES, 100);
}
