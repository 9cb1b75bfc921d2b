/* SPDX-License-Identifier: MIT */
/* level: on a real store: what is there when a call returns, what is noted instead, and how long it takes. */
#include "cachecore/disk/level.h"

#include <dirent.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/statvfs.h>

#include "cachecore/disk/reuse.h"
#include "cachecore/disk/root.h"
#include "cachecore/disk/space/account.h"
#include "cachecore/disk/writer/recipe.h"
#include "cachecore/disk/writer/recipes.h"
#include "cachecore/disk/store.h"
#include "cachecore/record/totals.h"
#include "cachecore/remote/remote.h"
#include "common/file.h"
#include "tests/support/clock.h"
#include "tests/support/owned.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

OWNER(struct cc_entry, cc_entry_unref)

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)

/* A level on the root "<unit_dir>/cache". */
static struct {
	struct cc_config config, opened;	/* as it is to be, and was when the level was opened */
	struct cc_level_switch *levels;
	struct cc_level *level;
	struct cc_store *store;		/* the level's */
	struct cmn_log log;
	uint64_t run;
	uint64_t build_ns;	/* of entries */
	struct cc_build_lock *lock;	/* with which they are put */
	bool remote, claimed;	/* they are */
	unsigned int messages;
	char message[512];	/* the last one */
} bench;

static void keep_message(void *ctx, enum cmn_log_level level, const char *message)
{
	(void)ctx;
	(void)level;
	bench.messages++;
	(void)snprintf(bench.message, sizeof(bench.message), "%s", message);
}

WRAPPED(enum cmn_status, cc_store_open, (const struct cc_config *config, const struct cmn_log *log,
	struct cc_store **ret))
{
	enum cmn_status status = __real_cc_store_open(config, log, ret);

	bench.store = *ret;
	return status;
}

WRAPPED(uint64_t, cc_reuse_run, (void))
{
	return bench.run;
}

static void close_level(void)
{
	if (!bench.levels)
		return;
	cc_level_switch_leave(bench.levels, bench.level);
	cc_level_switch_free(bench.levels);
	bench.levels = NULL;
}

static void open_level(void)
{
	close_level();
	bench.opened = bench.config;
	CU_ASSERT_EQUAL_FATAL(cc_level_switch_new(&bench.config, &bench.log, NULL, &bench.levels), CMN_OK);
	bench.level = cc_level_switch_enter(bench.levels);
	CU_ASSERT_PTR_NOT_NULL_FATAL(bench.level);
}

/* As another process of the program does. */
static void begin_run(void)
{
	bench.run++;
	open_level();
}

/* The monotonic clock stands still; 0: it is the machine's. */
static atomic_ullong stopped_clock;
uint64_t test_clock(clockid_t id)
{
	uint64_t stopped = atomic_load(&stopped_clock);

	return id == CLOCK_MONOTONIC && stopped ? stopped : machine_clock(id);
}

/* What the store answers, instead of storing; 0: it stores. */
static enum cmn_status store_answers;
static atomic_ullong patience, eviction_ns;	/* of the last one that was to be stored */
/* While it is closed, one that comes there waits. */
static atomic_bool gate_closed, gate_reached;

static void pass_the_gate(void)
{
	while (atomic_load(&gate_closed)) {
		atomic_store(&gate_reached, true);
		(void)sched_yield();
	}
}

WRAPPED(enum cmn_status, cc_store_put_within, (struct cc_store *store, const struct cc_key *key,
	const struct cc_entry *entry, uint64_t patience_ns, uint64_t evict_ns))
{
	pass_the_gate();
	patience = patience_ns;
	eviction_ns = evict_ns;
	return store_answers ? store_answers :
			       __real_cc_store_put_within(store, key, entry, patience_ns, evict_ns);
}

static bool disk_full, disk_read_only;
WRAPPED(int, statvfs, (const char *path, struct statvfs *ret))
{
	int result = __real_statvfs(path, ret);

	if (disk_full)
		ret->f_bavail = 0;
	if (disk_read_only)
		ret->f_flag |= ST_RDONLY;
	return result;
}

/* There is no remote tier: what it would be told. */
static atomic_uint uploads, releases;
WRAPPED(void, cc_remote_stored, (struct cc_remote *remote, const char *root, const struct cc_key *key))
{
	CU_ASSERT_TRUE(!remote && root && key);
	uploads++;
}

WRAPPED(void, cc_remote_release, (struct cc_remote *remote, const struct cc_key *key))
{
	CU_ASSERT_TRUE(!remote && key);
	releases++;
}

/* Around a call: of it stays no thread, and no descriptor. A thread of the test that has ended may be counted for a while. */
static unsigned int threads, descriptors;

static void before_call(void)
{
	/* A level does not change. */
	if (memcmp(&bench.config, &bench.opened, sizeof(bench.config)) != 0)
		open_level();
	threads = unit_count_in("/proc/self/task");
	descriptors = unit_count_in("/proc/self/fd");
}

static void after_call(void)
{
	CU_ASSERT_TRUE(unit_count_in("/proc/self/task") <= threads);
	CU_ASSERT_EQUAL(unit_count_in("/proc/self/fd"), descriptors);
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
	struct cc_entry *entry = cc_entry_new(bench.build_ns);
	void *room;

	CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
	room = cc_entry_add_room(entry, CC_TAG_IMAGE, 0, len);
	CU_ASSERT_PTR_NOT_NULL_FATAL(room);
	memset(room, 'x', len);
	CU_ASSERT_EQUAL_FATAL(cc_entry_finish(entry, NULL), CMN_OK);
	if (bench.remote)
		entry->remote = true;
	if (bench.claimed)
		entry->claimed = true;
	return entry;
}

static void put_key(const struct cc_key *key, size_t len)
{
	OWNED(owned_cc_entry_unref) struct cc_entry *entry = make_entry(len);

	cc_level_put(bench.level, key, entry, bench.lock);
}

static void put(int number, size_t len)
{
	OWNED(cc_key_release) struct cc_key key;

	make_key(&key, number);
	before_call();
	put_key(&key, len);
	after_call();
}

static bool is_stored(int number)
{
	OWNED(owned_cc_entry_unref) struct cc_entry *entry = NULL;
	OWNED(cc_key_release) struct cc_key key;
	enum cmn_status status;

	make_key(&key, number);
	status = cc_store_get(bench.store, &key, NULL, SIZE_MAX, &entry, NULL);
	return status == CMN_OK;
}

static void put_recipe(int number)
{
	OWNED(cc_key_release) struct cc_key key;
	struct cc_recipe recipe = { 0 };

	make_key(&key, number);
	recipe.key = cc_key_view(&key);
	before_call();
	CU_ASSERT_TRUE(cc_level_put_recipe(bench.level, &recipe));
	after_call();
}

static unsigned long long recipes(void)
{
	struct cc_recipes_count found = { 0 };

	CU_ASSERT_EQUAL(cc_recipes_count(bench.config.dir, &found), CMN_OK);
	return found.recipes;
}

static void note(int number)
{
	struct cc_event miss = { .kind = CC_EVENT_MISS, .reason = "why" };
	OWNED(cc_key_release) struct cc_key key;

	make_key(&key, number);
	miss.key = &key;
	before_call();
	cc_level_note(bench.level, &miss);
	after_call();
}

static uint64_t count_in_files(enum cc_counter counter)
{
	struct cc_totals *totals;
	uint64_t found;

	(void)!cc_totals_load(bench.config.dir, &totals);	/* zeros: there are none */
	CU_ASSERT_PTR_NOT_NULL_FATAL(totals);
	found = totals->counters[counter];
	free(totals);
	return found;
}

/* What the history has. */
static struct {
	unsigned int events, parts;
	char reason[64], detail[64], program[64];	/* the last one's */
} seen;

static void see_part(void *ctx, const struct cmn_hash *hash, struct cmn_view outline)
{
	(void)ctx;
	(void)hash;
	(void)outline;
	seen.parts++;
}

static void see_event(void *ctx, const struct cc_event_record *event)
{
	(void)ctx;
	if (cc_event_is_short(event->kind))
		return;
	seen.events++;
	(void)snprintf(seen.reason, sizeof(seen.reason), "%.*s", (int)event->reason.len,
		       (const char *)event->reason.data);
	(void)snprintf(seen.detail, sizeof(seen.detail), "%.*s", (int)event->detail.len,
		       (const char *)event->detail.data);
	(void)snprintf(seen.program, sizeof(seen.program), "%.*s", (int)event->program.len,
		       (const char *)event->program.data);
}

static void see(void)
{
	const struct cc_events_reader reader = { .part = see_part, .event = see_event };

	memset(&seen, 0, sizeof(seen));
	CU_ASSERT_EQUAL(cc_events_read(bench.config.dir, CMN_FILE_ANY, &reader), CMN_OK);
}

BEFORE_EACH
{
	static char *no_dirs[] = { NULL };

	bench.config = (struct cc_config){ .persistent = true, .read_only_dirs = no_dirs,
					   .max_device_image_size = UINT64_C(1) << 30 };
	CU_ASSERT_TRUE_FATAL(asprintf(&bench.config.dir, "%s/cache", unit_dir()) > 0);
	bench.log = (struct cmn_log){ .level = CMN_LOG_WARNING, .sink = keep_message };
	bench.messages = 0;
	bench.build_ns = SECOND;
	begin_run();
	uploads = releases = 0;
}

AFTER_EACH
{
	close_level();
	free(bench.config.dir);
}

TEST(what_was_put_is_there_and_counted)
{
	put(1, 100);
	CU_ASSERT_TRUE(is_stored(1));
	put(2, 0);
	CU_ASSERT_TRUE(is_stored(2));
	CU_ASSERT_FALSE(is_stored(3));
	CU_ASSERT_EQUAL(count_in_files(CC_STORES), 2);
	CU_ASSERT_EQUAL(count_in_files(CC_ERRORS), 0);
	put_recipe(3);
	CU_ASSERT_EQUAL(recipes(), 1);
	note(1);
	see();
	CU_ASSERT_EQUAL(seen.events, 1);
	CU_ASSERT_STRING_EQUAL(seen.reason, "why");
	CU_ASSERT_EQUAL(bench.messages, 0);
}

TEST(what_is_told_gets_no_more_of_a_small_root)
{
	static const char tokens[2 << 20];

	bench.config.max_size = 4 << 20;
	begin_run();
	put(1, 100);
	unit_write_bytes("cache/" CC_REUSE_NAME, tokens, sizeof(tokens));
	note(1);
	CU_ASSERT(access("cache/" CC_REUSE_NAME, F_OK) < 0);
}

/* An entry of that length is put, in vain, and the history says why. */
static void expect_refusal(const char *reason, size_t len, bool is_error)
{
	uint64_t stores = count_in_files(CC_STORES), errors = count_in_files(CC_ERRORS);
	char detail[32];

	put(1, len);
	(void)snprintf(detail, sizeof(detail), "%zu", len);
	see();
	CU_ASSERT_STRING_EQUAL(seen.reason, reason);
	CU_ASSERT_STRING_EQUAL(seen.detail, detail);
	CU_ASSERT_EQUAL(count_in_files(CC_STORES), stores);
	CU_ASSERT_EQUAL(count_in_files(CC_ERRORS), errors + is_error);
	CU_ASSERT_FALSE(is_stored(1));
}

TEST(it_is_noted_why_an_entry_is_not_stored)
{
	bench.config.max_device_image_size = 10;
	expect_refusal("max_device_image_size", 11, false);
	bench.config.max_device_image_size = 1 << 30;
	bench.config.min_device_image_size = 10;
	expect_refusal("min_device_image_size", 9, false);
	bench.config.min_device_image_size = 0;
	bench.config.compression = CC_COMPRESSION_NONE;
	bench.config.max_size = 1 << 20;
	expect_refusal("max_size", 1 << 20, false);
	bench.config.eviction_order = CC_EVICTION_NONE;
	expect_refusal("full", 1 << 20, false);
	store_answers = CMN_BUSY;
	expect_refusal("busy", 10, false);
	store_answers = CMN_ERR_ACCESS;
	expect_refusal("access", 10, false);
	disk_read_only = true;
	expect_refusal("read-only-disk", 10, false);
	disk_read_only = false;
	CU_ASSERT_EQUAL(bench.messages, 0);
	store_answers = CMN_ERR_IO;
	expect_refusal("failed", 10, true);
	CU_ASSERT_PTR_NOT_NULL(strstr(bench.message, "cannot write an entry"));
	store_answers = CMN_ERR_NOSPACE;
	expect_refusal("no-space", 10, true);
	store_answers = CMN_OK;
	/* Once. */
	CU_ASSERT_EQUAL(bench.messages, 1);
}

TEST(a_limit_of_files_is_told_from_a_full_disk)
{
	bench.config.compression = CC_COMPRESSION_NONE;
	unit_limit_files(100000);
	expect_refusal("file-limit", 200000, true);
	CU_ASSERT_PTR_NOT_NULL(strstr(bench.message, "RLIMIT_FSIZE"));
	disk_full = true;
	expect_refusal("no-space", 200000, true);
	disk_full = false;
	CU_ASSERT_EQUAL(bench.messages, 1);
	/* What is small enough is stored. */
	put(1, 1000);
	CU_ASSERT_TRUE(is_stored(1));
	unit_limit_files(10);
	begin_run();
	put_recipe(1);
	unit_limit_files(RLIM_INFINITY);
	CU_ASSERT_EQUAL(recipes(), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(bench.message, "cannot write a recipe"));
	CU_ASSERT_EQUAL(count_in_files(CC_ERRORS), 2);	/* nor can the log grow then */
}

/* Only the store says so, once. */
TEST(in_a_root_that_is_not_ones_own_nothing_is_written)
{
	CU_ASSERT_EQUAL_FATAL(mkdir("cache", 0700), 0);
	unit_mark("cache");
	CU_ASSERT_EQUAL(chmod("cache", 0777), 0);
	put(1, 10);
	put_recipe(1);
	note(1);
	CU_ASSERT_EQUAL(count_in_files(CC_ERRORS), 0);
	CU_ASSERT_EQUAL(bench.messages, 0);
	CU_ASSERT_EQUAL(unit_count_in("cache"), 3);	/* ., .. and the mark */
	CU_ASSERT_EQUAL(chmod("cache", 0700), 0);
	CU_ASSERT_EQUAL(count_in_files(CC_MISSES), 0);
}

/* When those who wait for an entry are told: whether it is there. */
static struct {
	unsigned int ends;
	bool stored;
} told;
static int lock_of_the_test;

WRAPPED(void, cc_build_lock_release, (struct cc_build_lock *lock))
{
	if (!lock)
		return;
	told.ends++;
	told.stored = is_stored(1);
}

/* Stores under a name that is chance, in eight runs and one more. */
static void put_tokens(uint64_t stores)
{
	for (unsigned int i = 1; i <= 9; i++) {
		OWNED(cc_key_release) struct cc_key key;
		char source[64];

		begin_run();
		cc_key_init(&key);
		(void)snprintf(source, sizeof(source), "f_%08x", i * 0x9e3779b9U);
		cc_key_add_text(&key, CC_PART_IMAGE, "source", source);
		put_key(&key, 10);
	}
	CU_ASSERT_EQUAL(count_in_files(CC_STORES), stores);
}

TEST(random_words_are_refused)
{
	struct cc_totals *totals;

	memset(&told, 0, sizeof(told));
	bench.claimed = true;
	bench.lock = (struct cc_build_lock *)&lock_of_the_test;
	put_tokens(8);
	bench.claimed = false;
	bench.lock = NULL;
	CU_ASSERT_EQUAL(told.ends, 9);
	see();
	CU_ASSERT_STRING_EQUAL(seen.reason, "not-reused");
	CU_ASSERT_EQUAL(cc_totals_load(bench.config.dir, &totals), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(totals->bypass_count, 1);
	CU_ASSERT_STRING_EQUAL(totals->bypasses[0].reason, "not-reused");
	CU_ASSERT_EQUAL(totals->bypasses[0].count, 1);
	free(totals);
	CU_ASSERT_EQUAL(bench.messages, 1);
	/* Other machines were waiting for it. */
	CU_ASSERT_EQUAL(releases, 1);
}

TEST(a_worker_stores_programs_with_random_words)
{
	char program[] = "";

	bench.config.built_for = program;
	put_tokens(9);
	bench.config.built_for = NULL;
}

TEST(what_is_stored_is_uploaded_unless_it_came_from_there)
{
	put(1, 10);
	CU_ASSERT_EQUAL(uploads, 1);
	bench.remote = true;
	put(2, 10);
	bench.remote = false;
	CU_ASSERT_EQUAL(uploads, 1);
	bench.config.max_device_image_size = 1;
	put(3, 10);
	CU_ASSERT_EQUAL(uploads, 1);
	CU_ASSERT_EQUAL(releases, 0);
	bench.claimed = true;
	put(3, 10);
	bench.claimed = false;
	CU_ASSERT_EQUAL(releases, 1);
}

static void put_locked(size_t len)
{
	memset(&told, 0, sizeof(told));
	bench.lock = (struct cc_build_lock *)&lock_of_the_test;
	put(1, len);
	bench.lock = NULL;
	CU_ASSERT_EQUAL(told.ends, 1);
}

TEST(who_waits_for_an_entry_is_told_when_it_is_there)
{
	put_locked(10);
	CU_ASSERT_TRUE(told.stored);
	bench.config.compression = CC_COMPRESSION_NONE;
	bench.config.max_size = 400000;
	put(2, 60000);
	put(3, 60000);
	put_locked(150000);
	CU_ASSERT_TRUE(told.stored);
	store_answers = CMN_ERR_IO;
	put_locked(10);
	store_answers = CMN_OK;
}

/* By the clock that stands still: what an eviction, and waiting for locks, may take after a build of that time. */
static void expect_shares(uint64_t build_ns, uint64_t evicts_ns, uint64_t waits_ns)
{
	bench.build_ns = build_ns;
	patience = eviction_ns = 0;
	unit_remove("cache");
	put(1, 10);
	CU_ASSERT_EQUAL(eviction_ns, evicts_ns);
	CU_ASSERT_EQUAL(patience, waits_ns);
}

TEST(it_takes_a_share_of_the_compile)
{
	atomic_store(&stopped_clock, machine_clock(CLOCK_MONOTONIC));
	expect_shares(0, 5 * MS, 250 * MS);
	expect_shares(4 * SECOND, 200 * MS, 500 * MS);
	expect_shares(3600 * SECOND, 250 * MS, 1000 * MS);
	/* Nobody waits for a worker of ckcache replay. */
	bench.config.built_for = "program";
	expect_shares(0, 0, 0);
	atomic_store(&stopped_clock, 0);
}

TEST(the_bound_holds_after_each_put)
{
	bench.config.compression = CC_COMPRESSION_NONE;
	bench.config.max_size = 400000;
	for (int i = 0; i < 40; i++) {
		uint64_t counted = 0, written = 0;
		int fd;

		put(i, 20000);
		CU_ASSERT_TRUE(is_stored(i));
		fd = open("cache", O_RDONLY | O_DIRECTORY);
		CU_ASSERT_EQUAL(cc_account_count(fd, &counted, NULL), CMN_OK);
		CU_ASSERT_EQUAL(cc_number_file_read(fd, CC_ACCOUNT_NAME, &written), CMN_OK);
		(void)close(fd);
		CU_ASSERT_EQUAL(counted, written);
		CU_ASSERT_TRUE(counted > 0 && counted <= bench.config.max_size);
	}
	CU_ASSERT_FALSE(is_stored(0));
	/* Nor does a recipe take an entry's room. */
	bench.config.max_size = 50000;
	put_recipe(1);
	CU_ASSERT_EQUAL(recipes(), 0);
}

/* Where nothing is stored no eviction ever would make it fit. */
TEST(the_log_stays_within_a_quarter_of_the_bound)
{
	static const char block[200000];
	struct stat info;

	bench.config.max_size = 400000;
	CU_ASSERT_EQUAL_FATAL(mkdir("cache", 0700), 0);
	unit_mark("cache");
	unit_write_bytes("cache/" CC_EVENTS_NAME, block, sizeof(block));
	note(1);
	CU_ASSERT_EQUAL(stat("cache/" CC_EVENTS_NAME, &info), 0);
	CU_ASSERT_TRUE(info.st_size > 0 && info.st_size < 10000);
}

TEST(events_are_the_programs_and_have_each_part_of_a_key_once)
{
	bench.config.built_for = "program";
	begin_run();
	note(1);
	note(2);
	see();
	CU_ASSERT_EQUAL(seen.events, 2);
	CU_ASSERT_STRING_EQUAL(seen.program, "program");
	/* All of the first one, and the image of the second. */
	CU_ASSERT_EQUAL(seen.parts, CC_PART_COUNT + 1);
}

static void *put_at_the_gate(void *arg)
{
	(void)arg;
	put_key(arg, 10);
	return NULL;
}

static pthread_t start_at_the_gate(void *(*work)(void *arg), void *arg)
{
	pthread_t thread;

	atomic_store(&gate_reached, false);
	atomic_store(&gate_closed, true);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, work, arg), 0);
	while (!atomic_load(&gate_reached))
		(void)sched_yield();
	return thread;
}

static void open_the_gate(pthread_t thread)
{
	atomic_store(&gate_closed, false);
	CU_ASSERT_EQUAL(pthread_join(thread, NULL), 0);
}

/* As a child while another thread of its parent stores. */
static int work_as_child(void)
{
	atomic_store(&gate_closed, false);
	put(7, 20);
	note(7);
	see();
	return !is_stored(7) || count_in_files(CC_STORES) != 1 || seen.events != 1;
}

TEST(a_child_waits_for_nothing_that_its_parents_threads_are_at)
{
	OWNED(cc_key_release) struct cc_key key;
	pthread_t thread;
	pid_t child;

	make_key(&key, 1);
	thread = start_at_the_gate(put_at_the_gate, &key);
	child = fork();
	if (child == 0)
		_exit(work_as_child());
	CU_ASSERT_TRUE_FATAL(child > 0);
	CU_ASSERT_TRUE(unit_ended_well(child));
	open_the_gate(thread);
	CU_ASSERT_TRUE(is_stored(7));
	CU_ASSERT_TRUE(is_stored(1));
	/* Its own, and its child's. */
	CU_ASSERT_EQUAL(count_in_files(CC_STORES), 2);
}

static void *use_it(void *arg)
{
	const int *first = arg;

	for (int i = 0; i < 20; i++) {
		struct cc_event miss = { .kind = CC_EVENT_MISS };
		OWNED(cc_key_release) struct cc_key key;

		make_key(&key, *first + i);
		miss.key = &key;
		put_key(&key, 500);
		cc_level_note(bench.level, &miss);
	}
	return NULL;
}

static void use_by_eight(uint64_t *ret_stored)
{
	int firsts[] = { 0, 100, 200, 300, 400, 500, 600, 700 };

	unit_remove("cache");
	unit_run_threads(8, use_it, firsts, sizeof(firsts[0]));
	CU_ASSERT_EQUAL(count_in_files(CC_MISSES), 160);
	CU_ASSERT_EQUAL(count_in_files(CC_ERRORS), 0);
	*ret_stored = 0;
	for (int i = 0; i < 160; i++)
		*ret_stored += is_stored(i / 20 * 100 + i % 20);
}

TEST(serves_many_threads)
{
	uint64_t stored, all;

	/* While there is time. */
	atomic_store(&stopped_clock, machine_clock(CLOCK_MONOTONIC));
	use_by_eight(&stored);
	atomic_store(&stopped_clock, 0);
	CU_ASSERT_EQUAL(stored, 160);
	CU_ASSERT_EQUAL(count_in_files(CC_STORES), 160);
	/* With patience, as a worker has it. */
	bench.config.built_for = "program";
	begin_run();
	cc_store_set_patience(bench.store, 60 * SECOND);
	use_by_eight(&all);
	CU_ASSERT_EQUAL(all, 160);
	CU_ASSERT_EQUAL(count_in_files(CC_STORES), 160);
}
