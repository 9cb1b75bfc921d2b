/* SPDX-License-Identifier: MIT */
/* writer: the queue in front of a real store, its bounds, its thread, fork. */
#include "cachecore/disk/writer/writer.h"

#include <dirent.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/prctl.h>

#include "cachecore/disk/root.h"
#include "cachecore/disk/space/evict.h"
#include "cachecore/record/history_file.h"
#include "common/clock.h"
#include "common/file.h"
#include "tests/support/no_memory.h"
#include "tests/support/clock.h"
#include "tests/support/owned.h"
#include "tests/support/build_lock.h"
#include "tests/support/unit.h"
#include "tests/support/used_days.h"
#include "tests/support/wrap.h"

OWNER(struct cc_entry, cc_entry_unref)

#define SECOND UINT64_C(1000000000)
#define LONG_ENOUGH (60 * SECOND)	/* never reached unless something hangs */

/* A writer with what it borrows, on the root "<unit_dir>/cache". */
struct bench {
	struct cc_config config;
	struct cc_store *store;
	struct cc_stats *stats;
	struct cc_writer *writer;
};

static void bench_open(struct bench *bench)
{
	static char *no_dirs[] = { NULL };

	*bench = (struct bench){ .config = { .persistent = true, .read_only_dirs = no_dirs } };
	bench->config.max_device_image_size = UINT64_C(1) << 30;
	CU_ASSERT_TRUE_FATAL(asprintf(&bench->config.dir, "%s/cache", unit_dir()) > 0);
	CU_ASSERT_EQUAL_FATAL(cc_store_open(&bench->config, NULL, &bench->store), CMN_OK);
	/* Locks that a test holds are waited for. */
	cc_store_set_patience(bench->store, LONG_ENOUGH);
	bench->stats = cc_stats_new();
	CU_ASSERT_PTR_NOT_NULL_FATAL(bench->stats);
	bench->writer = cc_writer_new(bench->store, bench->stats, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(bench->writer);
}

static void bench_close(struct bench *bench)
{
	CU_ASSERT_TRUE(cc_writer_free(bench->writer, LONG_ENOUGH));
	cc_store_close(bench->store);
	cc_stats_free(bench->stats);
	free(bench->config.dir);
}

static void make_key(struct cc_key *key, int number)
{
	cc_key_init(key);
	cc_key_add_text(key, CC_PART_DEVICE, "device.name", "none");
	cc_key_add_u64(key, CC_PART_IMAGE, "number", (uint64_t)number);
	CU_ASSERT_EQUAL_FATAL(cc_key_status(key), CMN_OK);
}

static struct cc_entry *make_entry(size_t len)
{
	struct cc_entry *entry = cc_entry_new(SECOND);
	void *room;

	CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
	room = cc_entry_add_room(entry, CC_TAG_IMAGE, 0, len);
	CU_ASSERT_PTR_NOT_NULL_FATAL(room);
	memset(room, 'x', len);
	CU_ASSERT_EQUAL_FATAL(cc_entry_finish(entry, NULL), CMN_OK);
	return entry;
}

static bool put(struct cc_writer *writer, int number, size_t len)
{
	OWNED(owned_cc_entry_unref) struct cc_entry *entry = make_entry(len);
	OWNED(cc_key_release) struct cc_key key;

	make_key(&key, number);
	return cc_writer_put(writer, &key, entry, NULL);
}

static bool is_stored(struct cc_store *store, int number)
{
	OWNED(owned_cc_entry_unref) struct cc_entry *entry = NULL;
	OWNED(cc_key_release) struct cc_key key;
	enum cmn_status status;

	make_key(&key, number);
	status = cc_store_get(store, &key, NULL, SIZE_MAX, &entry, NULL);
	return status == CMN_OK;
}

static uint64_t count_in_file(const char *root, enum cc_counter counter)
{
	struct cc_stats *stats = cc_stats_new();
	uint64_t count;

	CU_ASSERT_PTR_NOT_NULL_FATAL(stats);
	CU_ASSERT_EQUAL(cc_stats_load(stats, root), CMN_OK);
	count = cc_stats_get(stats, counter);
	cc_stats_free(stats);
	return count;
}

static uint64_t stores_in_file(const char *root)
{
	return count_in_file(root, CC_STORES);
}

static unsigned int count_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	unsigned int count = 0;
	struct dirent *entry;

	CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
	while ((entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	(void)closedir(dir);
	return count;
}

/* Threads without any of a writer. One that an earlier test has left is at its end, and may still be counted. */
static unsigned int usual_threads;
static unsigned int count_usual_threads(void)
{
	uint64_t deadline = cmn_clock_monotonic() + SECOND;

	while (usual_threads && count_threads() > usual_threads && cmn_clock_monotonic() < deadline)
		(void)sched_yield();
	return usual_threads = count_threads();
}

/* Stores entry `number` and then locks its directory, so that storing it again waits. */
static int hold_leaf(struct bench *bench, int number)
{
	char leaf[CC_LEAF_PATH_SIZE], *path;
	struct cc_key key;
	int fd;

	CU_ASSERT_TRUE(put(bench->writer, number, 10));
	CU_ASSERT_TRUE(cc_writer_flush(bench->writer, LONG_ENOUGH));
	make_key(&key, number);
	cc_leaf_path(cc_key_view(&key), leaf);
	cc_key_release(&key);
	CU_ASSERT_TRUE_FATAL(asprintf(&path, "%s/%s", bench->config.dir, leaf) > 0);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(path);
	CU_ASSERT_TRUE_FATAL(fd >= 0);
	CU_ASSERT_EQUAL_FATAL(cmn_file_lock(fd, 0), CMN_OK);
	return fd;
}

static struct bench bench;

/* Whose thread cannot be made, as where a process may have no more. */
static struct cc_writer *threadless;
WRAPPED(bool, cmn_background_start, (void (*work)(void *arg), void *arg, pthread_t *ret))
{
	return arg != threadless && __real_cmn_background_start(work, arg, ret);
}

/* This thread's clock stands still; 0: the machine's. */
static _Thread_local uint64_t stopped_clock;
uint64_t test_clock(clockid_t id)
{
	return id == CLOCK_MONOTONIC && stopped_clock ? stopped_clock : machine_clock(id);
}

/* While it is closed nothing is stored; reached: somebody would. */
static atomic_bool gate_closed, gate_reached;
WRAPPED(enum cmn_status, cc_store_add, (struct cc_store *store, const struct cc_key *key,
	const struct cc_entry *entry, bool *ret_evict))
{
	while (atomic_load(&gate_closed)) {
		atomic_store(&gate_reached, true);
		(void)sched_yield();
	}
	return __real_cc_store_add(store, key, entry, ret_evict);
}

static void wait_at_the_gate(void)
{
	while (!atomic_load(&gate_reached))
		(void)sched_yield();
}

/* Of this thread; a wait opens the gate, or, in a child, is one that never would end. */
static _Thread_local unsigned int waits;
static _Thread_local bool opens_the_gate, waits_for_nobody;
WRAPPED(bool, cmn_condition_wait, (pthread_cond_t *condition, pthread_mutex_t *lock,
	uint64_t deadline))
{
	waits++;
	if (opens_the_gate)
		atomic_store(&gate_closed, false);
	return !waits_for_nobody && __real_cmn_condition_wait(condition, lock, deadline);
}

static atomic_uint detached;
WRAPPED(int, pthread_detach, (pthread_t thread))
{
	atomic_fetch_add(&detached, 1);
	return __real_pthread_detach(thread);
}

/* Of evictions: how many there were, and how many would have ended an hour later. */
static atomic_uint evictions, ended_early;
WRAPPED(enum cmn_status, cc_store_evict_paced, (struct cc_store *store,
	const struct cc_evict_pace *pace))
{
	uint64_t clock = stopped_clock;
	bool goes_on = true;

	stopped_clock = machine_clock(CLOCK_MONOTONIC) + 3600 * SECOND;
	/* More leaves than one looks at in any case. */
	for (int i = 0; i < 100 && goes_on; i++)
		goes_on = pace->go_on(pace->ctx);
	stopped_clock = clock;
	atomic_fetch_add(&ended_early, !goes_on);
	atomic_fetch_add(&evictions, 1);
	return __real_cc_store_evict_paced(store, pace);
}

/* Of a touch of many: it comes to the first one only. */
static bool touches_one;
WRAPPED(size_t, cc_store_touch, (struct cc_store *store, int root_fd,
	const struct cc_store_place *places, size_t count))
{
	return __real_cc_store_touch(store, root_fd, places, touches_one && count ? 1 : count);
}

/* How long the last flush of statistics would have waited for the lock. */
static atomic_llong stats_patience;
WRAPPED(enum cmn_status, cc_stats_flush, (struct cc_stats *stats, const char *root, int root_fd,
	uint64_t until))
{
	atomic_store(&stats_patience, (long long)(until - machine_clock(CLOCK_MONOTONIC)));
	return __real_cc_stats_flush(stats, root, root_fd, until);
}

BEFORE_EACH
{
	/* No writer has this address. */
	threadless = (struct cc_writer *)&threadless;
	stopped_clock = 0;
	if (!usual_threads)
		(void)count_usual_threads();
	bench_open(&bench);
}

AFTER_EACH
{
	bench_close(&bench);
}

TEST(stores_what_was_put_and_counts_it)
{
	CU_ASSERT_TRUE(put(bench.writer, 1, 100));
	CU_ASSERT_TRUE(put(bench.writer, 2, 0));
	CU_ASSERT_TRUE(cc_writer_flush(bench.writer, LONG_ENOUGH));
	CU_ASSERT_TRUE(is_stored(bench.store, 1));
	CU_ASSERT_TRUE(is_stored(bench.store, 2));
	CU_ASSERT_FALSE(is_stored(bench.store, 3));
	CU_ASSERT_EQUAL(cc_stats_get(bench.stats, CC_STORES), 2);
	CU_ASSERT_EQUAL(cc_stats_get(bench.stats, CC_ERRORS), 0);
	CU_ASSERT_EQUAL(stores_in_file(bench.config.dir), 2);
}

TEST(drains_when_freed)
{
	for (int i = 0; i < 20; i++)
		CU_ASSERT_TRUE(put(bench.writer, i, 1000));
	CU_ASSERT_TRUE(cc_writer_free(bench.writer, LONG_ENOUGH));
	bench.writer = NULL;
	for (int i = 0; i < 20; i++)
		CU_ASSERT_TRUE(is_stored(bench.store, i));
	CU_ASSERT_EQUAL(stores_in_file(bench.config.dir), 20);
}

TEST(does_not_count_what_is_too_large_as_an_error)
{
	bench.config.max_device_image_size = 10;
	CU_ASSERT_TRUE(put(bench.writer, 1, 11));
	CU_ASSERT_TRUE(cc_writer_flush(bench.writer, LONG_ENOUGH));
	CU_ASSERT_FALSE(is_stored(bench.store, 1));
	CU_ASSERT_EQUAL(cc_stats_get(bench.stats, CC_STORES), 0);
	CU_ASSERT_EQUAL(cc_stats_get(bench.stats, CC_ERRORS), 0);
}

static void touch(struct cc_writer *writer, int id)
{
	struct cc_store_place place = { .n = 0 };
	OWNED(cc_key_release) struct cc_key key;

	make_key(&key, id);
	cc_leaf_path(cc_key_view(&key), place.leaf);
	cc_writer_touch(writer, &place, false);
}

TEST(has_no_thread_before_the_first_store)
{
	unsigned int before = count_usual_threads();

	touch(bench.writer, 1);
	CU_ASSERT_TRUE(cc_writer_flush(bench.writer, LONG_ENOUGH));
	CU_ASSERT_EQUAL(count_threads(), before);
	CU_ASSERT_TRUE(put(bench.writer, 1, 10));
	CU_ASSERT(count_threads() > before);
}

static bool keep_access(void *ctx, const struct cc_store_item *item)
{
	*(uint64_t *)ctx = item->access_ns;
	return true;
}

static uint64_t only_access(struct cc_store *store)
{
	uint64_t access_ns = 0;

	CU_ASSERT_EQUAL(cc_store_walk(store, false, keep_access, &access_ns), CMN_OK);
	return access_ns;
}

static void wait_for_threads(unsigned int count)
{
	uint64_t deadline = cmn_clock_monotonic() + LONG_ENOUGH;

	while (count_threads() != count && cmn_clock_monotonic() < deadline)
		(void)sched_yield();
	CU_ASSERT_EQUAL(count_threads(), count);
}

TEST(thread_ends_when_idle_and_a_store_starts_another)
{
	unsigned int before = count_usual_threads();

	atomic_store(&detached, 0);
	for (unsigned int i = 1; i <= 2; i++) {
		CU_ASSERT_TRUE(put(bench.writer, (int)i, 10));
		wait_for_threads(before);
		/* Nothing of it is left. */
		CU_ASSERT_EQUAL(atomic_load(&detached), i);
		/* What was put is stored, and counted on disk, without a flush. */
		CU_ASSERT_TRUE(is_stored(bench.store, (int)i));
		CU_ASSERT_EQUAL(stores_in_file(bench.config.dir), i);
		/* Nobody wanted it just then: it waited for no other's lock for long. */
		CU_ASSERT_TRUE(atomic_load(&stats_patience) < (long long)SECOND);
	}
	/* What comes without a thread is the caller's to write, as before the first store. */
	touch(bench.writer, 1);
	cc_stats_add(bench.stats, CC_STORES, 1);
	CU_ASSERT_TRUE(cc_writer_flush(bench.writer, LONG_ENOUGH));
	CU_ASSERT_EQUAL(stores_in_file(bench.config.dir), 3);
	CU_ASSERT_EQUAL(count_threads(), before);
	CU_ASSERT_TRUE(put(bench.writer, 3, 10));
	CU_ASSERT_TRUE(cc_writer_flush(bench.writer, LONG_ENOUGH));
	CU_ASSERT_TRUE(is_stored(bench.store, 3));
}

/* Stores under a name that is chance, in eight runs and one more. */
static void put_tokens(bool admit_all, uint64_t stores)
{
	struct bench own;
	struct cc_key key;

	bench_open(&own);
	for (unsigned int i = 1; i <= 9; i++) {
		OWNED(owned_cc_entry_unref) struct cc_entry *entry = make_entry(10);
		char source[64];

		CU_ASSERT_TRUE(cc_writer_free(own.writer, LONG_ENOUGH));
		own.writer = cc_writer_new(own.store, own.stats, NULL);
		CU_ASSERT_PTR_NOT_NULL_FATAL(own.writer);
		if (admit_all)
			cc_writer_admit_all(own.writer);
		cc_key_init(&key);
		(void)snprintf(source, sizeof(source), "f_%08x", i * 0x9e3779b9U);
		cc_key_add_text(&key, CC_PART_IMAGE, "source", source);
		CU_ASSERT_TRUE(cc_writer_put(own.writer, &key, entry, NULL));
		cc_key_release(&key);
	}
	CU_ASSERT_TRUE(cc_writer_flush(own.writer, LONG_ENOUGH));
	CU_ASSERT_EQUAL(cc_stats_get(own.stats, CC_STORES), stores);
	bench_close(&own);
}

TEST(random_words_are_refused) { put_tokens(false, 8); }
TEST(random_words_are_admitted_where_asked_for) { put_tokens(true, 9); }

/* Where nothing is stored no eviction ever would make it fit. */
TEST(history_stays_within_a_quarter_of_the_bound)
{
	static const char block[200000];
	const struct cc_history_note note = { .kind = CC_HISTORY_BYPASS, .reason = "time" };
	struct stat info;

	bench.config.max_size = 400000;
	CU_ASSERT_EQUAL_FATAL(mkdir("cache", 0700), 0);
	unit_mark("cache");
	unit_write_bytes("cache/" CC_HISTORY_NAME, block, sizeof(block));
	cc_writer_note(bench.writer, &note);
	CU_ASSERT_TRUE(cc_writer_flush(bench.writer, LONG_ENOUGH));
	CU_ASSERT_EQUAL(stat("cache/" CC_HISTORY_NAME, &info), 0);
	CU_ASSERT_TRUE(info.st_size > 0 && info.st_size < 10000);
}

TEST(touches_mark_entries_as_used)
{
	char leaf[CC_LEAF_PATH_SIZE], name[CC_LEAF_NAME_SIZE], path[600];
	OWNED(cc_key_release) struct cc_key key;

	make_key(&key, 1);
	CU_ASSERT_TRUE(put(bench.writer, 1, 10));
	CU_ASSERT_TRUE(cc_writer_free(bench.writer, LONG_ENOUGH));
	cc_leaf_path(cc_key_view(&key), leaf);
	cc_leaf_name(CC_LEAF_ACCESS, 0, name);
	(void)snprintf(path, sizeof(path), "cache/%s/%s", leaf, name);
	unit_write(path, "1000\n");
	CU_ASSERT_EQUAL(only_access(bench.store), 1000);
	/* Without a thread, by the flush; with one, by it. */
	bench.writer = cc_writer_new(bench.store, bench.stats, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(bench.writer);
	touch(bench.writer, 1);
	CU_ASSERT_EQUAL(only_access(bench.store), 1000);
	CU_ASSERT_TRUE(cc_writer_flush(bench.writer, LONG_ENOUGH));
	CU_ASSERT_TRUE(only_access(bench.store) > 1000);
	CU_ASSERT_TRUE(put(bench.writer, 1, 20));
	CU_ASSERT_TRUE(cc_writer_flush(bench.writer, LONG_ENOUGH));
	unit_write(path, "1000\n");
	touch(bench.writer, 1);
	CU_ASSERT_TRUE(cc_writer_flush(bench.writer, LONG_ENOUGH));
	CU_ASSERT_TRUE(only_access(bench.store) > 1000);
}

static void use_at(int id, uint64_t used_ns)
{
	struct cc_store_place place = { .used_ns = used_ns };
	OWNED(cc_key_release) struct cc_key key;

	make_key(&key, id);
	cc_leaf_path(cc_key_view(&key), place.leaf);
	cc_writer_touch(bench.writer, &place, false);
}

static bool keep_oldest(void *ctx, const struct cc_store_item *item)
{
	uint64_t *oldest = ctx;

	if (item->access_ns < *oldest)
		*oldest = item->access_ns;
	return true;
}

/* Not when they are written, which is later and in another order. */
TEST(entries_count_as_used_when_they_were_used_last)
{
	uint64_t now, oldest = UINT64_MAX;

	CU_ASSERT_TRUE(put(bench.writer, 1, 10));
	CU_ASSERT_TRUE(put(bench.writer, 2, 10));
	CU_ASSERT_TRUE(cc_writer_flush(bench.writer, LONG_ENOUGH));
	now = cmn_clock_realtime();
	use_at(1, now);
	use_at(2, now + 1);
	use_at(1, now + 2);
	CU_ASSERT_TRUE(cc_writer_flush(bench.writer, LONG_ENOUGH));
	CU_ASSERT_EQUAL(cc_store_walk(bench.store, false, keep_oldest, &oldest), CMN_OK);
	CU_ASSERT_EQUAL(oldest, now + 1);
}

/* Makes it an entry that was used long ago. */
static void age(int number)
{
	char leaf[CC_LEAF_PATH_SIZE], path[600];
	OWNED(cc_key_release) struct cc_key key;

	make_key(&key, number);
	cc_leaf_path(cc_key_view(&key), leaf);
	(void)snprintf(path, sizeof(path), "cache/%s/0_access_time.txt", leaf);
	unit_write(path, "1000\n");
}

/* Where the process may be killed: nobody flushes, and nothing is stored. */
TEST(a_use_that_is_due_needs_no_flush)
{
	struct cc_store_place place = { .n = 0 };
	OWNED(cc_key_release) struct cc_key key;
	uint64_t deadline;

	make_key(&key, 1);
	cc_leaf_path(cc_key_view(&key), place.leaf);
	CU_ASSERT_TRUE(put(bench.writer, 1, 10));
	CU_ASSERT_TRUE(cc_writer_free(bench.writer, LONG_ENOUGH));
	age(1);
	bench.writer = cc_writer_new(bench.store, bench.stats, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(bench.writer);
	cc_writer_touch(bench.writer, &place, false);
	CU_ASSERT_EQUAL(count_threads(), count_usual_threads());
	cc_writer_touch(bench.writer, &place, true);
	deadline = cmn_clock_monotonic() + LONG_ENOUGH;
	while (only_access(bench.store) == 1000 && cmn_clock_monotonic() < deadline)
		(void)sched_yield();
	CU_ASSERT_TRUE(only_access(bench.store) > 1000);
}

static bool count_aged(void *ctx, const struct cc_store_item *item)
{
	*(unsigned int *)ctx += item->access_ns == 1000;
	return true;
}

static unsigned int aged(void)
{
	unsigned int count = 0;

	CU_ASSERT_EQUAL(cc_store_walk(bench.store, false, count_aged, &count), CMN_OK);
	return count;
}

TEST(touches_of_which_there_was_no_time_come_later)
{
	threadless = bench.writer;
	for (int i = 1; i <= 3; i++)
		CU_ASSERT_TRUE(put(bench.writer, i, 10));
	CU_ASSERT_TRUE(cc_writer_flush(bench.writer, LONG_ENOUGH));
	for (int i = 1; i <= 3; i++) {
		age(i);
		touch(bench.writer, i);
	}
	touches_one = true;
	CU_ASSERT_FALSE(cc_writer_flush(bench.writer, LONG_ENOUGH));
	touches_one = false;
	CU_ASSERT_EQUAL(aged(), 2);
	CU_ASSERT_TRUE(cc_writer_flush(bench.writer, LONG_ENOUGH));
	CU_ASSERT_EQUAL(aged(), 0);
}

TEST(an_eviction_knows_what_was_used)
{
	threadless = bench.writer;
	CU_ASSERT_TRUE(put(bench.writer, 1, 10));
	CU_ASSERT_TRUE(cc_writer_flush(bench.writer, LONG_ENOUGH));
	age(1);
	touch(bench.writer, 1);
	/* All that was not used in this year goes. */
	bench.config.threshold_days = 365;
	used_days("cache", 400);
	CU_ASSERT_EQUAL(unlink("cache/" CC_EVICT_STAMP_NAME), 0);
	CU_ASSERT_TRUE(put(bench.writer, 2, 10));
	/* A busy machine may take the eviction's time for what comes before it. */
	stopped_clock = cmn_clock_monotonic();
	CU_ASSERT_TRUE(cc_writer_flush(bench.writer, LONG_ENOUGH));
	stopped_clock = 0;
	CU_ASSERT_TRUE(is_stored(bench.store, 1));
	CU_ASSERT_EQUAL(aged(), 0);
}

static void count_message(void *ctx, enum cmn_log_level level, const char *message)
{
	(void)level;
	(void)message;
	++*(unsigned int *)ctx;
}

/* The store says so. */
TEST(of_a_root_that_is_not_ones_own_the_writer_says_nothing)
{
	unsigned int messages = 0;
	const struct cmn_log log = { CMN_LOG_DEBUG, count_message, &messages };

	CU_ASSERT_TRUE(cc_writer_free(bench.writer, LONG_ENOUGH));
	bench.writer = cc_writer_new(bench.store, bench.stats, &log);
	CU_ASSERT_PTR_NOT_NULL_FATAL(bench.writer);
	CU_ASSERT_EQUAL_FATAL(mkdir("cache", 0700), 0);
	CU_ASSERT_EQUAL(chmod("cache", 0777), 0);
	cc_stats_add(bench.stats, CC_MISSES, 1);
	(void)cc_writer_flush(bench.writer, LONG_ENOUGH);
	CU_ASSERT_EQUAL(messages, 0);
}

TEST(touches_beyond_the_bound_do_no_harm)
{
	for (int i = 0; i < 5000; i++)
		touch(bench.writer, i % 2500);
	CU_ASSERT_TRUE(cc_writer_flush(bench.writer, LONG_ENOUGH));
}

TEST(drops_what_exceeds_the_queue)
{
	const size_t large = (size_t)40 << 20;
	int fd;

	bench.config.compression = CC_COMPRESSION_NONE;
	fd = hold_leaf(&bench, 1);
	/* The thread is kept by entry 1, or entry 1 is still in the queue. */
	CU_ASSERT_TRUE(put(bench.writer, 1, 20));
	CU_ASSERT_TRUE(put(bench.writer, 2, large));
	CU_ASSERT_FALSE(put(bench.writer, 3, large));
	CU_ASSERT_TRUE(put(bench.writer, 4, 10));
	CU_ASSERT_FALSE(cc_writer_flush(bench.writer, 0));
	(void)flock(fd, LOCK_UN);
	(void)close(fd);
	CU_ASSERT_TRUE(cc_writer_flush(bench.writer, LONG_ENOUGH));
	CU_ASSERT_TRUE(is_stored(bench.store, 2));
	CU_ASSERT_FALSE(is_stored(bench.store, 3));
	CU_ASSERT_TRUE(is_stored(bench.store, 4));
}

TEST(gives_up_on_a_thread_that_is_stuck)
{
	/* Static, since the thread goes on using it after the test: nothing of it is freed. */
	static struct bench own;
	uint64_t start;
	int fd;

	bench_open(&own);
	fd = hold_leaf(&own, 1);
	CU_ASSERT_TRUE(put(own.writer, 1, 20));
	/* More than the queue takes goes only into an empty one: the thread has taken entry 1. */
	while (!put(own.writer, 2, (size_t)65 << 20))
		(void)sched_yield();
	start = cmn_clock_monotonic();
	CU_ASSERT_FALSE(cc_writer_free(own.writer, 0));
	CU_ASSERT_TRUE(cmn_clock_monotonic() - start < 30 * SECOND);
	(void)flock(fd, LOCK_UN);
	(void)close(fd);
}

/* As what others wait for. */
static void put_locked(struct bench *of, int number)
{
	OWNED(owned_cc_entry_unref) struct cc_entry *entry = make_entry(20);
	struct cc_build_lock *lock = NULL;
	OWNED(cc_key_release) struct cc_key key;

	make_key(&key, number);
	CU_ASSERT_EQUAL(cc_build_lock_take(of->config.dir, cc_key_view(&key), 0, &lock), CC_BUILD_OWN);
	CU_ASSERT_TRUE(cc_writer_put(of->writer, &key, entry, lock));
}

/* Whether others wait no longer for entry `number`. */
static bool can_be_built(struct bench *of, int number)
{
	OWNED(cc_key_release) struct cc_key key;

	make_key(&key, number);
	return build_turn_of_another(of->config.dir, cc_key_view(&key), 0) == CC_BUILD_OWN;
}

/* It is stored when the process ends, which may be hours later. */
TEST(without_a_thread_nobody_waits_for_what_is_queued)
{
	threadless = bench.writer;
	put_locked(&bench, 1);
	CU_ASSERT_TRUE(can_be_built(&bench, 1));
	CU_ASSERT_FALSE(is_stored(bench.store, 1));
	CU_ASSERT_TRUE(cc_writer_flush(bench.writer, LONG_ENOUGH));
	CU_ASSERT_TRUE(is_stored(bench.store, 1));
}

TEST(what_others_wait_for_is_stored_when_they_go_on)
{
	put_locked(&bench, 1);
	CU_ASSERT_TRUE(is_stored(bench.store, 1));
	CU_ASSERT_TRUE(can_be_built(&bench, 1));
}

TEST(nobody_waits_for_what_there_was_no_memory_to_queue)
{
	OWNED(owned_cc_entry_unref) struct cc_entry *entry = make_entry(20);
	struct cc_build_lock *lock = NULL;
	OWNED(cc_key_release) struct cc_key key;

	make_key(&key, 1);
	CU_ASSERT_EQUAL(cc_build_lock_take(bench.config.dir, cc_key_view(&key), 0, &lock), CC_BUILD_OWN);
	calloc_fails = true;
	CU_ASSERT_FALSE(cc_writer_put(bench.writer, &key, entry, lock));
	CU_ASSERT_FALSE(calloc_fails);
	CU_ASSERT_TRUE(can_be_built(&bench, 1));
}

/* After a flush that the caller did, others may be waited for as long as before. */
TEST(the_hurry_of_a_flush_ends_with_it)
{
	CU_ASSERT_TRUE(cc_store_lock_until(bench.store) > cmn_clock_monotonic() + LONG_ENOUGH / 2);
	touch(bench.writer, 1);
	CU_ASSERT_TRUE(cc_writer_flush(bench.writer, LONG_ENOUGH));
	CU_ASSERT_TRUE(cc_store_lock_until(bench.store) > cmn_clock_monotonic() + LONG_ENOUGH / 2);
}

TEST(without_a_thread_what_fits_after_the_eviction_is_stored)
{
	uint64_t total = 0;
	char text[32] = "";
	FILE *account;

	threadless = bench.writer;
	for (int i = 0; i < 10; i++)
		CU_ASSERT_TRUE(put(bench.writer, i, 10000));
	CU_ASSERT_TRUE(cc_writer_flush(bench.writer, LONG_ENOUGH));
	account = fopen("cache/cache_size.txt", "re");
	CU_ASSERT_PTR_NOT_NULL_FATAL(account);
	CU_ASSERT_PTR_NOT_NULL(fgets(text, sizeof(text), account));
	(void)fclose(account);
	total = strtoull(text, NULL, 10);
	CU_ASSERT_TRUE_FATAL(total > 100000);
	/* A quarter is for the root's other files: what is left is full. */
	bench.config.max_size = total * 4 / 3;
	CU_ASSERT_TRUE(put(bench.writer, 10, 10000));
	/* A busy machine may take the eviction's time for what comes before it. */
	stopped_clock = cmn_clock_monotonic();
	CU_ASSERT_TRUE(cc_writer_flush(bench.writer, LONG_ENOUGH));
	stopped_clock = 0;
	CU_ASSERT_TRUE(is_stored(bench.store, 10));
	CU_ASSERT_FALSE(is_stored(bench.store, 0) && is_stored(bench.store, 1) &&
			is_stored(bench.store, 2));
}

static void *flush_in_thread(void *arg)
{
	return cc_writer_flush(arg, LONG_ENOUGH) ? arg : NULL;
}

/* Who flushes may end the process then. */
TEST(without_a_thread_a_flush_waits_for_what_another_has_taken)
{
	pthread_t thread;
	void *done = NULL;

	threadless = bench.writer;
	atomic_store(&gate_reached, false);
	atomic_store(&gate_closed, true);
	CU_ASSERT_TRUE(put(bench.writer, 1, 10));
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, flush_in_thread, bench.writer), 0);
	wait_at_the_gate();
	/* One that has no time says so, and what it did itself is not taken for the other's end. */
	CU_ASSERT_FALSE(cc_writer_flush(bench.writer, 0));
	CU_ASSERT_FALSE(cc_writer_flush(bench.writer, 0));
	waits = 0;
	opens_the_gate = true;
	CU_ASSERT_TRUE(cc_writer_flush(bench.writer, LONG_ENOUGH));
	opens_the_gate = false;
	CU_ASSERT_TRUE(waits > 0);
	CU_ASSERT_TRUE(waits == 0 || is_stored(bench.store, 1));
	atomic_store(&gate_closed, false);
	CU_ASSERT_EQUAL_FATAL(pthread_join(thread, &done), 0);
	CU_ASSERT_PTR_EQUAL(done, bench.writer);
}

/* A flush hurries the eviction that it waits for, and no later one. */
TEST(an_eviction_after_a_flush_takes_its_time)
{
	uint64_t deadline = cmn_clock_monotonic() + LONG_ENOUGH;
	unsigned int before;

	CU_ASSERT_TRUE(put(bench.writer, 1, 10));
	CU_ASSERT_TRUE(cc_writer_flush(bench.writer, LONG_ENOUGH));
	before = atomic_load(&evictions);
	CU_ASSERT_TRUE(before > 0);
	atomic_store(&ended_early, 0);
	CU_ASSERT_EQUAL(unlink("cache/" CC_EVICT_STAMP_NAME), 0);
	CU_ASSERT_TRUE(put(bench.writer, 2, 10));
	while (atomic_load(&evictions) == before && cmn_clock_monotonic() < deadline)
		(void)sched_yield();
	CU_ASSERT_EQUAL(atomic_load(&evictions), before + 1);
	CU_ASSERT_EQUAL(atomic_load(&ended_early), 0);
}

TEST(what_was_forgotten_makes_room_in_the_queue)
{
	const size_t large = (size_t)40 << 20;
	struct cc_key key;
	int fd;

	bench.config.compression = CC_COMPRESSION_NONE;
	fd = hold_leaf(&bench, 1);
	CU_ASSERT_TRUE(put(bench.writer, 1, 20));
	CU_ASSERT_TRUE(put(bench.writer, 2, large));
	make_key(&key, 2);
	CU_ASSERT_FALSE(cc_writer_forget(bench.writer, &key, 0));
	cc_key_release(&key);
	/* An empty queue would take anything. */
	CU_ASSERT_TRUE(put(bench.writer, 4, 20));
	CU_ASSERT_TRUE(put(bench.writer, 3, large));
	make_key(&key, 3);
	CU_ASSERT_FALSE(cc_writer_forget(bench.writer, &key, 0));
	cc_key_release(&key);
	(void)flock(fd, LOCK_UN);
	(void)close(fd);
	CU_ASSERT_TRUE(cc_writer_flush(bench.writer, LONG_ENOUGH));
	CU_ASSERT_FALSE(is_stored(bench.store, 2) || is_stored(bench.store, 3));
}

/* Who waits for what cannot be stored now waits for no lock, which somebody stopped may have. */
TEST(builds_end_while_a_lock_is_held)
{
	struct bench own;
	int fd;

	bench_open(&own);
	fd = hold_leaf(&own, 1);
	/* What is being stored, and what is queued behind it. */
	for (int i = 1; i <= 3; i++) {
		put_locked(&own, i);
		CU_ASSERT_TRUE(can_be_built(&own, i));
	}
	(void)flock(fd, LOCK_UN);
	(void)close(fd);
	CU_ASSERT_TRUE(cc_writer_flush(own.writer, LONG_ENOUGH));
	for (int i = 1; i <= 3; i++)
		CU_ASSERT_TRUE(is_stored(own.store, i));
	bench_close(&own);
}

/* Not waited for any longer, it goes as soon as it is stored. */
TEST(what_is_being_stored_can_be_forgotten)
{
	struct cc_key key;
	int fd;

	bench.config.compression = CC_COMPRESSION_NONE;
	fd = hold_leaf(&bench, 1);
	CU_ASSERT_TRUE(put(bench.writer, 1, 20));
	/* As above: the thread has taken entry 1. */
	while (!put(bench.writer, 2, (size_t)65 << 20))
		(void)sched_yield();
	make_key(&key, 1);
	cc_writer_forget(bench.writer, &key, 0);
	cc_key_release(&key);
	(void)flock(fd, LOCK_UN);
	(void)close(fd);
	CU_ASSERT_TRUE(cc_writer_flush(bench.writer, LONG_ENOUGH));
	CU_ASSERT_FALSE(is_stored(bench.store, 1));
	CU_ASSERT_TRUE(is_stored(bench.store, 2));
}

/* Whether one of this process's threads is of that policy. */
static bool has_thread_of(int policy)
{
	DIR *dir = opendir("/proc/self/task");
	bool found = false;
	struct dirent *item;

	CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
	while ((item = readdir(dir)))
		found |= item->d_name[0] != '.' && sched_getscheduler(atoi(item->d_name)) == policy;
	(void)closedir(dir);
	return found;
}

TEST(the_thread_does_not_push_others_aside)
{
	uint64_t deadline = cmn_clock_monotonic() + LONG_ENOUGH;
	int fd;

	CU_ASSERT_FALSE(has_thread_of(SCHED_BATCH));
	if (prctl(PR_GET_SECCOMP) != 0)
		return;	/* a filter of system calls may forbid it */
	/* It cannot be through with entry 1 before it was looked at. */
	fd = hold_leaf(&bench, 1);
	CU_ASSERT_TRUE(put(bench.writer, 1, 10));
	while (!has_thread_of(SCHED_BATCH) && cmn_clock_monotonic() < deadline)
		(void)sched_yield();
	CU_ASSERT_TRUE(has_thread_of(SCHED_BATCH));
	(void)flock(fd, LOCK_UN);
	(void)close(fd);
	CU_ASSERT_NOT_EQUAL(sched_getscheduler(0), SCHED_BATCH);
}

TEST(signals_stay_with_the_application)
{
	const struct timespec limit = { 60, 0 };
	sigset_t set, old;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR1);
	CU_ASSERT_TRUE(put(bench.writer, 1, 10));
	/* Blocked here only now: the thread has not inherited it. */
	CU_ASSERT_EQUAL_FATAL(pthread_sigmask(SIG_BLOCK, &set, &old), 0);
	CU_ASSERT_EQUAL(sigismember(&old, SIGUSR1), 0);
	CU_ASSERT_EQUAL(kill(getpid(), SIGUSR1), 0);
	CU_ASSERT_TRUE(cc_writer_flush(bench.writer, LONG_ENOUGH));
	CU_ASSERT_EQUAL(sigtimedwait(&set, NULL, &limit), SIGUSR1);
	CU_ASSERT_EQUAL_FATAL(pthread_sigmask(SIG_SETMASK, &old, NULL), 0);
}

TEST(a_forked_child_forgets_the_queue)
{
	int fd, state;
	pid_t child;

	fd = hold_leaf(&bench, 1);
	CU_ASSERT_TRUE(put(bench.writer, 1, 20));
	CU_ASSERT_TRUE(put(bench.writer, 2, 20));
	cc_stats_add(bench.stats, CC_MISSES, 1);
	cc_writer_fork_prepare(bench.writer);
	child = fork();
	if (child == 0) {
		cc_writer_fork_child(bench.writer);
		/* No thread and nothing to do: neither hangs nor stores. */
		_exit(cc_writer_flush(bench.writer, LONG_ENOUGH) && !is_stored(bench.store, 2)
			      ? 0 : 1);
	}
	cc_writer_fork_parent(bench.writer);
	CU_ASSERT_TRUE_FATAL(child > 0);
	CU_ASSERT_EQUAL_FATAL(waitpid(child, &state, 0), child);
	CU_ASSERT_EQUAL(state, 0);
	(void)flock(fd, LOCK_UN);
	(void)close(fd);
	CU_ASSERT_TRUE(cc_writer_flush(bench.writer, LONG_ENOUGH));
	CU_ASSERT_TRUE(is_stored(bench.store, 2));
	CU_ASSERT_EQUAL(stores_in_file(bench.config.dir), 3);
	CU_ASSERT_EQUAL(count_in_file(bench.config.dir, CC_MISSES), 1);
}

TEST(a_forked_child_does_not_wait_for_what_its_parents_thread_is_at)
{
	int state;
	pid_t child;

	atomic_store(&gate_reached, false);
	atomic_store(&gate_closed, true);
	CU_ASSERT_TRUE(put(bench.writer, 1, 10));
	wait_at_the_gate();
	cc_writer_fork_prepare(bench.writer);
	child = fork();
	if (child == 0) {
		cc_writer_fork_child(bench.writer);
		waits = 0;
		waits_for_nobody = true;
		_exit(cc_writer_flush(bench.writer, LONG_ENOUGH) && waits == 0 ? 0 : 1);
	}
	cc_writer_fork_parent(bench.writer);
	atomic_store(&gate_closed, false);
	CU_ASSERT_TRUE_FATAL(child > 0);
	CU_ASSERT_EQUAL_FATAL(waitpid(child, &state, 0), child);
	CU_ASSERT_EQUAL(state, 0);
}

TEST(a_child_can_store_for_itself)
{
	int state;
	pid_t child;

	cc_writer_fork_prepare(bench.writer);
	child = fork();
	if (child == 0) {
		cc_writer_fork_child(bench.writer);
		_exit(put(bench.writer, 7, 20) && cc_writer_flush(bench.writer, LONG_ENOUGH) ? 0 : 1);
	}
	cc_writer_fork_parent(bench.writer);
	CU_ASSERT_TRUE_FATAL(child > 0);
	CU_ASSERT_EQUAL_FATAL(waitpid(child, &state, 0), child);
	CU_ASSERT_EQUAL(state, 0);
	CU_ASSERT_TRUE(is_stored(bench.store, 7));
}

struct worker {
	struct cc_writer *writer;
	int first;
	unsigned int dropped;
};

static void *put_some(void *ctx)
{
	struct worker *worker = ctx;

	for (int i = 0; i < 20; i++) {
		worker->dropped += !put(worker->writer, worker->first + i, 500);
		touch(worker->writer, i);
		if (i == 10)
			worker->dropped += !cc_writer_flush(worker->writer, LONG_ENOUGH);
	}
	return NULL;
}

TEST(serves_many_threads)
{
	struct worker workers[8];
	pthread_t threads[8];

	for (int i = 0; i < 8; i++) {
		workers[i] = (struct worker){ bench.writer, 100 * i, 0 };
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, put_some, &workers[i]), 0);
	}
	for (int i = 0; i < 8; i++) {
		CU_ASSERT_EQUAL_FATAL(pthread_join(threads[i], NULL), 0);
		CU_ASSERT_EQUAL(workers[i].dropped, 0);
	}
	CU_ASSERT_TRUE(cc_writer_flush(bench.writer, LONG_ENOUGH));
	CU_ASSERT_EQUAL(cc_stats_get(bench.stats, CC_STORES), 160);
	for (int i = 0; i < 8; i++)
		CU_ASSERT_TRUE(is_stored(bench.store, 100 * i + 19));
}
