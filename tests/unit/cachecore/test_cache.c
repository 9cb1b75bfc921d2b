/* SPDX-License-Identifier: MIT */
/* cache: the facade, with real levels below it and a counting build above it. */
#include <semaphore.h>
#include <sys/resource.h>

#include "cachecore/cache.h"
#include "cachecore/disk/level.h"
#include "cachecore/memory/programs.h"
#include "cachecore/record/totals.h"
#include "cachecore/remote/remote.h"
#include "tests/support/clock.h"
#include "tests/support/file_hash.h"
#include "tests/support/owned.h"
#include "tests/support/build_lock.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

/* Put forward by a test, beyond what the machine's say; or, stopped not 0, that for durations beyond it. */
static struct {
	uint64_t waited_ns, worked_ns, stopped;
	long children_s;
} ahead;

/* A clock that goes on only when it is read. */
static struct {
	bool on;
	uint64_t now_ns, each_ns;
} stepping;

uint64_t test_clock(clockid_t id)
{
	if (id == CLOCK_MONOTONIC && ahead.stopped)
		return ahead.stopped + ahead.waited_ns;
	if (stepping.on && id == CLOCK_MONOTONIC)
		return stepping.now_ns += stepping.each_ns;
	return machine_clock(id) + (id == CLOCK_MONOTONIC ? ahead.waited_ns :
				    id == CLOCK_PROCESS_CPUTIME_ID ? ahead.worked_ns : 0);
}

WRAPPED(int, getrusage, (__rusage_who_t who, struct rusage *ret))
{
	int result = __real_getrusage(who, ret);

	if (who == RUSAGE_CHILDREN && ahead.children_s) {
		ret->ru_utime.tv_sec += ahead.children_s - 1;
		ret->ru_stime.tv_usec += 1000000;	/* the kernel's work for them counts, too */
	}
	return result;
}

struct builder {
	unsigned int calls;
	const char *image;		/* NULL: the build fails */
	const char *header;		/* NULL: depends on nothing */
	enum cmn_status first_status;	/* what the first call answers, if not CMN_OK */
	bool in_memory_only;		/* what it makes is not stored */
	bool fails;			/* what it makes tells how it failed, after all others were stored */
};

static enum cmn_status build(void *ctx, struct cc_entry **ret)
{
	struct builder *by = ctx;
	struct cc_manifest *manifest = NULL;
	struct cmn_hash hash;
	uint64_t size;

	by->calls++;
	if (by->calls == 1 && by->first_status != CMN_OK)
		return by->first_status;
	if (!by->image)
		return CMN_MISS;
	if (by->header) {
		manifest = cc_manifest_new();
		CU_ASSERT_PTR_NOT_NULL_FATAL(manifest);
		CU_ASSERT_EQUAL_FATAL(file_hash(NULL, by->header, &size, &hash), CMN_OK);
		CU_ASSERT_EQUAL_FATAL(cc_manifest_add_file(manifest, by->header, size, &hash), CMN_OK);
	}
	*ret = cc_entry_new(1000000);
	CU_ASSERT_PTR_NOT_NULL_FATAL(*ret);
	cc_entry_add(*ret, CC_TAG_IMAGE, 0, by->image, strlen(by->image));
	if (by->in_memory_only || by->fails)
		cc_entry_set_failed(*ret, by->in_memory_only, UINT64_MAX);
	return cc_entry_finish(*ret, manifest);
}

/* How many are inside of a disk level, which stays open as long as somebody is. */
static _Atomic int inside;

WRAPPED(struct cc_level *, cc_level_switch_enter, (struct cc_level_switch *levels))
{
	inside++;
	return __real_cc_level_switch_enter(levels);
}

WRAPPED(void, cc_level_switch_leave, (struct cc_level_switch *levels, struct cc_level *level))
{
	inside--;
	__real_cc_level_switch_leave(levels, level);
}

static struct cc_cache *cache;
static struct builder builder;

static void close_cache(void)
{
	cc_cache_close(cache);
	cache = NULL;
}

/* As the next process: nothing is in memory. */
static void reopen(void)
{
	close_cache();
	CU_ASSERT_EQUAL_FATAL(cc_cache_open(&cache), CMN_OK);
}

BEFORE_EACH
{
	setenv("CKCACHE_DIR", unit_path("cache"), 1);
	builder = (struct builder){ .image = "native" };
	reopen();
}

AFTER_EACH
{
	CU_ASSERT_EQUAL(inside, 0);
	close_cache();
}

static void make_key(struct cc_key *key, const char *source)
{
	cc_key_init(key);
	cc_key_add_text(key, CC_PART_DEVICE, "device.name", "test");
	cc_key_add_text(key, CC_PART_IMAGE, "source", source);
	cc_key_add_text(key, CC_PART_OPTIONS, "options", "");
}

/* Looks up, checks the image, and gives the origin back. */
static enum cc_origin expect(const char *source, struct builder *by, const char *image)
{
	struct cc_entry *entry = NULL;
	enum cc_origin origin = CC_ORIGIN_BUILT;
	struct cmn_view found = { 0 };
	OWNED(cc_key_release) struct cc_key key;

	make_key(&key, source);
	CU_ASSERT_EQUAL_FATAL(cc_cache_get_or_build(cache, &key, build, by, &entry, &origin), CMN_OK);
	CU_ASSERT(cc_entry_find(entry, CC_TAG_IMAGE, 0, &found));
	CU_ASSERT(cmn_view_equal(found, cmn_view_of(image)));
	cc_entry_unref(entry);
	return origin;
}

TEST(builds_once_then_hits_memory_then_disk)
{
	CU_ASSERT_EQUAL(expect("a", &builder, "native"), CC_ORIGIN_BUILT);
	CU_ASSERT_EQUAL(expect("a", &builder, "native"), CC_ORIGIN_MEMORY);
	reopen();
	CU_ASSERT_EQUAL(expect("a", &builder, "native"), CC_ORIGIN_DISK);
	CU_ASSERT_EQUAL(expect("a", &builder, "native"), CC_ORIGIN_MEMORY);
	CU_ASSERT_EQUAL(builder.calls, 1);
}

/* The first line of a log, where each reading of the clock takes so long. */
static void expect_said(uint64_t each_ns, const char *holdings)
{
	char line[5000] = "", end[5000];
	FILE *log;

	reopen();
	(void)unlink("log");
	stepping.on = true;
	stepping.now_ns = machine_clock(CLOCK_MONOTONIC);
	stepping.each_ns = each_ns;
	cc_cache_announce(cache, "test");
	stepping.on = false;
	log = fopen("log", "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(log);
	CU_ASSERT_PTR_NOT_NULL(fgets(line, sizeof(line), log));
	(void)fclose(log);
	(void)snprintf(end, sizeof(end), " test, %s/cache, %s", unit_dir(), holdings);
	CU_ASSERT_PTR_NOT_NULL(strstr(line, end));
}

TEST(the_log_tells_how_many_entries_it_has_time_to_count)
{
	const uint64_t ms = UINT64_C(1000000);
	char log[4200];

	(void)snprintf(log, sizeof(log), "%s/log", unit_dir());
	setenv("CKCACHE_LOG", "info", 1);
	setenv("CKCACHE_LOG_FILE", log, 1);
	expect_said(0, "0 entries\n");
	CU_ASSERT_EQUAL(expect("a", &builder, "native"), CC_ORIGIN_BUILT);
	expect_said(0, "1 entry, ");
	CU_ASSERT_EQUAL(expect("b", &builder, "native"), CC_ORIGIN_BUILT);
	expect_said(20 * ms, "2 entries, ");
	expect_said(30 * ms, "more than 1 entry, ");
	expect_said(1000 * ms, "more than 0 entries, ");
	unsetenv("CKCACHE_LOG");
	unsetenv("CKCACHE_LOG_FILE");
}

TEST(failed_build_is_not_remembered)
{
	struct cc_entry *entry;
	enum cc_origin origin;
	OWNED(cc_key_release) struct cc_key key;

	builder = (struct builder){ .image = NULL };
	make_key(&key, "bad");
	CU_ASSERT_EQUAL(cc_cache_get_or_build(cache, &key, build, &builder, &entry, &origin), CMN_MISS);
	CU_ASSERT_EQUAL(cc_cache_get_or_build(cache, &key, build, &builder, &entry, &origin), CMN_MISS);
	CU_ASSERT_EQUAL(builder.calls, 2);
}

/* What cc_cache_get gives, if that has this image. */
static enum cc_origin get(const char *source, const char *image)
{
	enum cc_origin origin = CC_ORIGIN_BUILT;
	struct cmn_view found = { 0 };
	struct cc_entry *entry;
	OWNED(cc_key_release) struct cc_key key;

	make_key(&key, source);
	if (cc_cache_get(cache, &key, &entry, &origin) == CMN_OK) {
		CU_ASSERT(cc_entry_find(entry, CC_TAG_IMAGE, 0, &found));
		CU_ASSERT(cmn_view_equal(found, cmn_view_of(image)));
		cc_entry_unref(entry);
	}
	return origin;
}

static uint64_t run;		/* this process's number, among those that saw a failure */
WRAPPED(uint64_t, cc_reuse_run, (void))
{
	return run;
}

/* In a process of its own, which sees what that depends on, or not. Whether it is kept, and found then. */
static bool fail(const char *how, bool sees)
{
	struct builder by = { .image = how, .header = sees ? "x.h" : NULL, .fails = true };
	OWNED(cc_key_release) struct cc_key key;
	struct cc_entry *entry;
	bool kept = true;

	run++;
	reopen();
	CU_ASSERT_EQUAL_FATAL(build(&by, &entry), CMN_OK);
	make_key(&key, "a");
	if (sees)
		cc_cache_put(cache, &key, entry);
	else
		kept = cc_cache_put_again(cache, &key, entry);
	cc_entry_unref(entry);
	reopen();
	return kept && get("a", how) == CC_ORIGIN_DISK;
}

/* Where the driver's own cache had a part in it. */
TEST(what_a_failure_depends_on_another_process_must_have_seen)
{
	unit_write("x.h", "#define V 1\n");
	CU_ASSERT_FALSE(fail("x.h:1", false));
	CU_ASSERT_FALSE(fail("x.h:1", true));	/* kept, until there are two */
	CU_ASSERT_FALSE(fail("x.h:2", false));
	unit_write("x.h", "#define V 2\n");
	CU_ASSERT_FALSE(fail("x.h:1", false));
	unit_write("x.h", "#define V 1\n");
	CU_ASSERT_TRUE(fail("x.h:1", false));
	unit_write("x.h", "#define V 2\n");
	CU_ASSERT_EQUAL(get("a", ""), CC_ORIGIN_BUILT);
}

TEST(changed_header_is_never_a_hit)
{
	builder = (struct builder){ .image = "one", .header = "x.h" };
	unit_write("x.h", "#define V 1\n");
	CU_ASSERT_EQUAL(expect("a", &builder, "one"), CC_ORIGIN_BUILT);
	CU_ASSERT_EQUAL(expect("a", &builder, "one"), CC_ORIGIN_MEMORY);
	unit_write("x.h", "#define V 2\n");
	builder.image = "two";
	CU_ASSERT_EQUAL(expect("a", &builder, "two"), CC_ORIGIN_BUILT);
	CU_ASSERT_EQUAL(expect("a", &builder, "two"), CC_ORIGIN_MEMORY);
	/* Both states are on disk; which one holds is read from the header. */
	reopen();
	CU_ASSERT_EQUAL(expect("a", &builder, "two"), CC_ORIGIN_DISK);
	unit_write("x.h", "#define V 1\n");
	CU_ASSERT_EQUAL(expect("a", &builder, "one"), CC_ORIGIN_DISK);
	CU_ASSERT_EQUAL(builder.calls, 2);
}

/* What is in memory goes, and nobody is given it. */
TEST(a_changed_header_that_cannot_be_built_gives_nothing)
{
	OWNED(cc_key_release) struct cc_key key;
	struct cc_entry *entry = NULL;
	enum cc_origin origin;

	builder = (struct builder){ .image = "one", .header = "x.h" };
	unit_write("x.h", "#define V 1\n");
	CU_ASSERT_EQUAL(expect("a", &builder, "one"), CC_ORIGIN_BUILT);
	unit_write("x.h", "#define V 2\n");
	builder.image = NULL;
	make_key(&key, "a");
	CU_ASSERT_EQUAL(cc_cache_get_or_build(cache, &key, build, &builder, &entry, &origin), CMN_MISS);
	CU_ASSERT_PTR_NULL(entry);
}

static void put(const char *source, const char *image)
{
	struct builder by = { .image = image };
	struct cc_entry *entry = NULL;
	OWNED(cc_key_release) struct cc_key key;

	CU_ASSERT_EQUAL_FATAL(build(&by, &entry), CMN_OK);
	make_key(&key, source);
	cc_cache_put(cache, &key, entry);
	cc_entry_unref(entry);
}

TEST(a_changed_header_is_none_for_get_either)
{
	builder = (struct builder){ .image = "one", .header = "x.h" };
	unit_write("x.h", "#define V 1\n");
	CU_ASSERT_EQUAL(expect("a", &builder, "one"), CC_ORIGIN_BUILT);
	CU_ASSERT_EQUAL(get("a", "one"), CC_ORIGIN_MEMORY);
	unit_write("x.h", "#define V 2\n");
	CU_ASSERT_EQUAL(get("a", ""), CC_ORIGIN_BUILT);
	unit_write("x.h", "#define V 1\n");
	CU_ASSERT_EQUAL(get("a", "one"), CC_ORIGIN_DISK);
}

TEST(what_is_put_is_there_at_once_and_what_is_removed_is_gone)
{
	struct cc_key key;

	put("a", "one");
	CU_ASSERT_EQUAL(get("a", "one"), CC_ORIGIN_MEMORY);
	make_key(&key, "a");
	CU_ASSERT_EQUAL(cc_cache_remove(cache, &key), CMN_OK);
	CU_ASSERT_EQUAL(get("a", ""), CC_ORIGIN_BUILT);
	cc_key_release(&key);
	reopen();
	CU_ASSERT_EQUAL(get("a", ""), CC_ORIGIN_BUILT);
}

TEST(out_of_memory_flushes_and_tries_once_more)
{
	struct builder other = { .image = "other" };

	builder = (struct builder){ .image = "native", .first_status = CMN_ERR_NOMEM };
	CU_ASSERT_EQUAL(expect("other", &other, "other"), CC_ORIGIN_BUILT);
	CU_ASSERT_EQUAL(expect("a", &builder, "native"), CC_ORIGIN_BUILT);
	CU_ASSERT_EQUAL(builder.calls, 2);
	/* It is gone from memory; the disk level, or the driver, makes it again. */
	CU_ASSERT_NOT_EQUAL(expect("other", &other, "other"), CC_ORIGIN_MEMORY);
}

TEST(rejected_entry_is_gone_from_every_level)
{
	struct cc_entry *entry;
	enum cc_origin origin;
	OWNED(cc_key_release) struct cc_key key;

	CU_ASSERT_EQUAL(expect("a", &builder, "native"), CC_ORIGIN_BUILT);
	reopen();
	make_key(&key, "a");
	CU_ASSERT_EQUAL_FATAL(cc_cache_get(cache, &key, &entry, &origin), CMN_OK);
	CU_ASSERT_EQUAL(origin, CC_ORIGIN_DISK);
	cc_cache_reject(cache, &key, entry);
	cc_entry_unref(entry);
	CU_ASSERT_EQUAL(cc_cache_get(cache, &key, &entry, &origin), CMN_MISS);
}

TEST(levels_can_be_switched_off)
{
	setenv("CKCACHE_IN_MEM", "0", 1);
	reopen();
	CU_ASSERT_EQUAL(expect("a", &builder, "native"), CC_ORIGIN_BUILT);
	CU_ASSERT_EQUAL(expect("a", &builder, "native"), CC_ORIGIN_DISK);
	setenv("CKCACHE_PERSISTENT", "0", 1);
	reopen();
	CU_ASSERT_EQUAL(expect("a", &builder, "native"), CC_ORIGIN_BUILT);
	unsetenv("CKCACHE_IN_MEM");
	unsetenv("CKCACHE_PERSISTENT");
}

TEST(unusable_directory_leaves_memory_working)
{
	unit_write("cache", "a file where the directory should be");
	setenv("CKCACHE_LOG", "none", 1);
	reopen();
	unsetenv("CKCACHE_LOG");
	CU_ASSERT_EQUAL(expect("a", &builder, "native"), CC_ORIGIN_BUILT);
	CU_ASSERT_EQUAL(expect("a", &builder, "native"), CC_ORIGIN_MEMORY);
}

/* A text of len times that letter, which the caller frees. */
static char *make_text(size_t len, char letter)
{
	char *text = malloc(len + 1);

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	memset(text, letter, len);
	text[len] = '\0';
	return text;
}

TEST(an_entry_beyond_the_budget_is_kept_when_it_is_read_again)
{
	char *large = make_text((size_t)2 << 20, 'x');
	struct builder small = { .image = "native" };

	builder = (struct builder){ .image = large };
	/* What was built here is kept, whatever its size. */
	CU_ASSERT_EQUAL(expect("a", &builder, large), CC_ORIGIN_BUILT);
	CU_ASSERT_EQUAL(expect("a", &builder, large), CC_ORIGIN_MEMORY);
	CU_ASSERT_EQUAL(expect("b", &small, "native"), CC_ORIGIN_BUILT);
	reopen();
	CU_ASSERT_EQUAL(expect("a", &builder, large), CC_ORIGIN_DISK);
	CU_ASSERT_EQUAL(expect("b", &small, "native"), CC_ORIGIN_DISK);
	CU_ASSERT_EQUAL(expect("b", &small, "native"), CC_ORIGIN_MEMORY);
	CU_ASSERT_EQUAL(expect("a", &builder, large), CC_ORIGIN_DISK);
	CU_ASSERT_EQUAL(expect("a", &builder, large), CC_ORIGIN_MEMORY);
	CU_ASSERT_EQUAL(expect("a", &builder, large), CC_ORIGIN_MEMORY);
	CU_ASSERT_EQUAL(builder.calls, 1);
	free(large);
}

TEST(small_entries_are_kept_when_the_budget_is_spent)
{
	char *middle = make_text((size_t)255 << 10, 'x');	/* four leave less than a small one takes */
	char *little = make_text((size_t)10 << 10, 'y');
	char *names[] = { "a", "b", "c", "d", "e", "f" };
	size_t count = sizeof(names) / sizeof(names[0]);
	struct builder small = { .image = little };
	unsigned int kept = 0;

	builder = (struct builder){ .image = middle };
	for (size_t i = 0; i < count; i++)
		CU_ASSERT_EQUAL(expect(names[i], &builder, middle), CC_ORIGIN_BUILT);
	CU_ASSERT_EQUAL(expect("small", &small, little), CC_ORIGIN_BUILT);
	reopen();
	for (size_t i = 0; i < count; i++)
		CU_ASSERT_EQUAL(expect(names[i], &builder, middle), CC_ORIGIN_DISK);
	CU_ASSERT_EQUAL(expect("small", &small, little), CC_ORIGIN_DISK);
	CU_ASSERT_EQUAL(expect("small", &small, little), CC_ORIGIN_MEMORY);
	/* The first ones fit into the budget, the last ones do not. */
	CU_ASSERT_EQUAL(expect("a", &builder, middle), CC_ORIGIN_MEMORY);
	for (size_t i = 0; i < count; i++)
		kept += expect(names[i], &builder, middle) == CC_ORIGIN_MEMORY;
	CU_ASSERT_TRUE(kept < count);
	for (size_t i = 0; i < count; i++)
		CU_ASSERT_EQUAL(expect(names[i], &builder, middle), CC_ORIGIN_MEMORY);
	free(middle);
	free(little);
}

/* cc_cache_get follows the same rule; what it lends is sound as long as it is held. */
TEST(large_entries_that_were_read_outlive_the_cache)
{
	char *texts[] = { make_text((size_t)2 << 20, 'x'), make_text((size_t)2 << 20, 'y') };
	static const enum cc_origin origins[] = { CC_ORIGIN_DISK, CC_ORIGIN_DISK,
						  CC_ORIGIN_MEMORY };
	static const char *const names[] = { "a", "b" };
	struct cc_entry *entries[3][2];
	enum cc_origin origin;
	struct cmn_view found;
	struct cc_key key;

	for (int i = 0; i < 2; i++) {
		builder.image = texts[i];
		(void)expect(names[i], &builder, texts[i]);
	}
	reopen();
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 2; i++) {
			make_key(&key, names[i]);
			CU_ASSERT_EQUAL_FATAL(cc_cache_get(cache, &key, &entries[round][i], &origin), CMN_OK);
			CU_ASSERT_EQUAL(origin, origins[round]);
			cc_key_release(&key);
		}
	}
	close_cache();
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 2; i++) {
			CU_ASSERT_TRUE(cc_entry_find(entries[round][i], CC_TAG_IMAGE, 0, &found));
			CU_ASSERT_TRUE(cmn_view_equal(found, cmn_view_of(texts[i])));
			cc_entry_unref(entries[round][i]);
		}
	}
	free(texts[0]);
	free(texts[1]);
}

static void *look_up(void *barrier)
{
	(void)pthread_barrier_wait(barrier);
	(void)expect("shared", &builder, "native");
	return NULL;
}

TEST(eight_threads_build_once)
{
	pthread_barrier_t barrier;

	CU_ASSERT_EQUAL_FATAL(pthread_barrier_init(&barrier, NULL, 8), 0);
	unit_run_threads(8, look_up, &barrier, 0);
	CU_ASSERT_EQUAL(builder.calls, 1);
	(void)pthread_barrier_destroy(&barrier);
}

/* ThreadSanitizer does not follow into threads that a child of several threads starts. */
#if !defined(__SANITIZE_THREAD__)
TEST(forked_child_can_look_up_and_store)
{
	pid_t child;

	(void)expect("a", &builder, "native");
	cc_cache_fork_prepare(cache);
	child = fork();
	if (child == 0) {
		const struct cc_file_memo *parents_memo = cc_cache_file_memo(cache);
		struct builder own = { .image = "child" };

		cc_cache_fork_child(cache);
		/* A thread of the parent may have been inside that one. */
		if (cc_cache_file_memo(cache) == parents_memo)
			_exit(2);
		(void)expect("b", &own, "child");
		_exit(own.calls == 1 ? 0 : 1);
	}
	cc_cache_fork_parent(cache);
	CU_ASSERT(unit_ended_well(child));
	CU_ASSERT_EQUAL(expect("b", &builder, "child"), CC_ORIGIN_DISK);
}

static void *get_one(void *found)
{
	(void)get("a", "native");
	(void)sem_post(found);
	return NULL;
}

TEST(a_look_up_waits_until_a_fork_is_over)
{
	struct timespec soon;
	pthread_t thread;
	sem_t found;

	(void)expect("a", &builder, "native");
	/* By the lock of each level. */
	for (int in_memory = 0; in_memory < 2; in_memory++) {
		CU_ASSERT_EQUAL(setenv("CKCACHE_IN_MEM", in_memory ? "1" : "0", 1), 0);
		reopen();
		(void)get("a", "native");
		CU_ASSERT_EQUAL_FATAL(sem_init(&found, 0, 0), 0);
		cc_cache_fork_prepare(cache);
		CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, get_one, &found), 0);
		CU_ASSERT_EQUAL(clock_gettime(CLOCK_REALTIME, &soon), 0);
		soon.tv_sec += soon.tv_nsec >= 900000000;
		soon.tv_nsec = (soon.tv_nsec + 100000000) % 1000000000;
		CU_ASSERT_EQUAL(sem_timedwait(&found, &soon), -1);
		cc_cache_fork_parent(cache);
		CU_ASSERT_EQUAL(pthread_join(thread, NULL), 0);
		CU_ASSERT_EQUAL(sem_destroy(&found), 0);
	}
	CU_ASSERT_EQUAL(unsetenv("CKCACHE_IN_MEM"), 0);
}
#endif

static void use_and_die(void)
{
	struct cc_entry *entry = NULL;
	enum cc_origin origin;
	struct cc_key key;

	(void)expect("a", &builder, "native");
	make_key(&key, "a");
	cc_cache_count_miss(cache, &key, 1000);
	if (cc_cache_get(cache, &key, &entry, &origin) == CMN_OK)
		cc_cache_count_hit(cache, &key, origin, entry, 10);
	put("b", "put");
	(void)kill(getpid(), SIGKILL);
}

TEST(a_process_that_is_killed_between_two_calls_has_lost_nothing)
{
	struct cc_totals *totals;
	pid_t child;

	setenv("CKCACHE_BUILD_WAIT", "0", 1);	/* which takes a thread */
	reopen();
	unsetenv("CKCACHE_BUILD_WAIT");
	child = fork();
	if (child == 0)
		use_and_die();
	CU_ASSERT_EQUAL(waitpid(child, NULL, 0), child);
	CU_ASSERT_EQUAL(cc_totals_load(unit_path("cache"), &totals), CMN_OK);
	CU_ASSERT_EQUAL(totals->counters[CC_MISSES], 1);
	CU_ASSERT_EQUAL(totals->counters[CC_STORES], 2);
	CU_ASSERT_EQUAL(totals->counters[CC_HITS_MEMORY], 1);
	CU_ASSERT_EQUAL(totals->counters[CC_COMPILE_NS_SPENT], 1000);
	CU_ASSERT_EQUAL(get("a", "native"), CC_ORIGIN_DISK);
	free(totals);
}

/* The remote tier: what it answers, and what it was asked for. */
static struct {
	const char *image;	/* NULL: it has none */
	enum cc_remote_event event;
	bool claims;
	unsigned int asked, released;
	bool others_wait;	/* whether it was asked to let other machines wait for the last build */
} tier;

WRAPPED(enum cmn_status, cc_remote_get, (struct cc_remote *remote, const struct cc_key *key,
	struct cc_file_memo *memo, struct cc_entry **ret, bool *ret_claimed,
	struct cc_remote_report *ret_report))
{
	enum cmn_status status = __real_cc_remote_get(remote, key, memo, ret, ret_claimed, ret_report);
	struct builder by = { .image = tier.image };

	tier.asked++;
	tier.others_wait = ret_claimed != NULL;
	ret_report->event = tier.event;
	if (ret_claimed)
		*ret_claimed = tier.claims;
	return tier.image ? build(&by, ret) : status;
}

WRAPPED(void, cc_remote_release, (struct cc_remote *remote, const struct cc_key *key))
{
	(void)remote;	/* there is none */
	(void)key;
	tier.released++;
}

static struct {
	enum cc_event_kind kind;	/* of the last one */
	unsigned int count;
} noted;

WRAPPED(void, cc_level_note, (struct cc_level *level, const struct cc_event *note))
{
	noted.kind = note->kind;
	noted.count++;
	__real_cc_level_note(level, note);
}

/* By another process of the root. */
static bool is_locked(const struct cc_key *key)
{
	return build_turn_of_another(unit_path("cache"), cc_key_view(key), 0) == CC_BUILD_ALONE;
}

struct worker {
	const struct cc_key *key;
	bool waited_for;	/* by other processes, while it builds */
};

static enum cmn_status build_and_look(void *ctx, struct cc_entry **ret)
{
	struct worker *worker = ctx;

	worker->waited_for = is_locked(worker->key);
	*ret = cc_entry_new(1000000);
	CU_ASSERT_PTR_NOT_NULL_FATAL(*ret);
	cc_entry_add(*ret, CC_TAG_IMAGE, 0, "native", 6);
	return cc_entry_finish(*ret, NULL);
}

TEST(nobody_waits_for_a_worker_of_replay)
{
	enum cc_origin origin = CC_ORIGIN_MEMORY;
	struct cc_entry *entry = NULL;
	struct cc_key key;

	for (int is_worker = 0; is_worker < 2; is_worker++) {
		struct worker worker = { &key, is_worker };

		CU_ASSERT_EQUAL(is_worker ? setenv(CC_CONFIG_BUILT_FOR, "program", 1) : 0, 0);
		reopen();
		make_key(&key, is_worker ? "a" : "b");
		CU_ASSERT_EQUAL_FATAL(cc_cache_get_or_build(cache, &key, build_and_look, &worker, &entry,
							    &origin), CMN_OK);
		CU_ASSERT_EQUAL(worker.waited_for, !is_worker);
		CU_ASSERT_EQUAL(tier.others_wait, !is_worker);
		cc_entry_unref(entry);
		cc_key_release(&key);
	}
	CU_ASSERT_EQUAL(unsetenv(CC_CONFIG_BUILT_FOR), 0);
}

#define SECONDS(count) ((count) * UINT64_C(1000000000))

/* In seconds, of a build during which clocks went on by so much. */
static uint64_t seconds_of_build(uint64_t waited, uint64_t worked, long by_children)
{
	struct cc_build_start start;
	uint64_t took;

	ahead.stopped = machine_clock(CLOCK_MONOTONIC);
	start = cc_cache_start_build(cache);
	ahead.waited_ns += SECONDS(waited);
	ahead.worked_ns += SECONDS(worked);
	ahead.children_s += by_children;
	took = cc_cache_build_ns(cache, &start);
	ahead.stopped = 0;
	return took / SECONDS(1);
}

TEST(an_application_waits_for_a_build_and_a_worker_works_for_it)
{
	CU_ASSERT_EQUAL(seconds_of_build(600, 10, 0), 600);
	CU_ASSERT_EQUAL(setenv(CC_CONFIG_BUILT_FOR, "program", 1), 0);
	reopen();
	/* It was stopped, or got no processor. */
	CU_ASSERT_EQUAL(seconds_of_build(600, 10, 0), 10);
	CU_ASSERT_EQUAL(seconds_of_build(600, 0, 10), 10);
	CU_ASSERT_EQUAL(seconds_of_build(600, 10, 20), 30);
	/* By several threads at once. */
	CU_ASSERT_EQUAL(seconds_of_build(600, 700, 0), 600);
	CU_ASSERT_EQUAL(unsetenv(CC_CONFIG_BUILT_FOR), 0);
	close_cache();
	CU_ASSERT_EQUAL(seconds_of_build(600, 10, 0), 600);
}

TEST(a_cache_that_is_switched_off_is_none)
{
	close_cache();
	CU_ASSERT_EQUAL(setenv("CKCACHE_DISABLE", "1", 1), 0);
	CU_ASSERT_EQUAL(cc_cache_open(&cache), CMN_MISS);
	CU_ASSERT_PTR_NULL(cache);
	CU_ASSERT_EQUAL(unsetenv("CKCACHE_DISABLE"), 0);
}

TEST(what_the_remote_tier_had_is_noted_and_stored_here)
{
	noted.count = 0;
	tier.image = "far";
	tier.event = CC_REMOTE_USED;
	CU_ASSERT_EQUAL(expect("a", &builder, "far"), CC_ORIGIN_REMOTE);
	CU_ASSERT_EQUAL(get("b", "far"), CC_ORIGIN_REMOTE);
	CU_ASSERT_EQUAL(noted.count, 2);
	CU_ASSERT_EQUAL(noted.kind, CC_EVENT_REMOTE);
	tier.image = NULL;
	tier.event = CC_REMOTE_NOTHING;
	reopen();
	CU_ASSERT_EQUAL(expect("a", &builder, "far"), CC_ORIGIN_DISK);
	CU_ASSERT_EQUAL(get("b", "far"), CC_ORIGIN_DISK);
	CU_ASSERT_EQUAL(builder.calls, 0);
	CU_ASSERT_EQUAL(expect("c", &builder, "native"), CC_ORIGIN_BUILT);
	CU_ASSERT_EQUAL(noted.count, 2);
}

/* What a build that other machines may wait for gives. */
static enum cmn_status build_waited_for(const char *source, bool *ret_claimed)
{
	struct cc_entry *entry = NULL;
	enum cc_origin origin;
	enum cmn_status status;
	OWNED(cc_key_release) struct cc_key key;

	make_key(&key, source);
	status = cc_cache_get_or_build(cache, &key, build, &builder, &entry, &origin);
	*ret_claimed = status == CMN_OK && entry->claimed;
	if (status == CMN_OK)
		cc_entry_unref(entry);
	return status;
}

TEST(other_machines_wait_only_for_what_is_stored)
{
	bool claimed;

	tier.released = 0;
	CU_ASSERT_EQUAL(build_waited_for("a", &claimed), CMN_OK);
	CU_ASSERT_FALSE(claimed);
	tier.claims = true;
	CU_ASSERT_EQUAL(build_waited_for("b", &claimed), CMN_OK);
	CU_ASSERT_TRUE(claimed);
	CU_ASSERT_EQUAL(tier.released, 0);
	builder.in_memory_only = true;
	CU_ASSERT_EQUAL(build_waited_for("c", &claimed), CMN_OK);
	CU_ASSERT_FALSE(claimed);
	CU_ASSERT_EQUAL(tier.released, 1);
	builder.image = NULL;
	CU_ASSERT_EQUAL(build_waited_for("d", &claimed), CMN_MISS);
	CU_ASSERT_EQUAL(tier.released, 2);
	tier.claims = false;
	CU_ASSERT_EQUAL(build_waited_for("e", &claimed), CMN_MISS);
	CU_ASSERT_EQUAL(tier.released, 2);
}

static bool is_being_built(const char *source)
{
	OWNED(cc_key_release) struct cc_key key;

	make_key(&key, source);
	return is_locked(&key);
}

TEST(nobody_waits_for_a_build_that_is_over)
{
	struct builder failing = { .image = NULL };
	bool claimed;

	CU_ASSERT_EQUAL(build_waited_for("a", &claimed), CMN_OK);
	CU_ASSERT_FALSE(is_being_built("a"));
	builder.in_memory_only = true;
	CU_ASSERT_EQUAL(build_waited_for("b", &claimed), CMN_OK);
	CU_ASSERT_FALSE(is_being_built("b"));
	builder = failing;
	CU_ASSERT_EQUAL(build_waited_for("c", &claimed), CMN_MISS);
	CU_ASSERT_FALSE(is_being_built("c"));
	tier.image = "far";
	CU_ASSERT_EQUAL(build_waited_for("d", &claimed), CMN_OK);
	tier.image = NULL;
	CU_ASSERT_FALSE(is_being_built("d"));
}

static bool is_put_again;	/* what a thread removes from memory, as if by another thread at once */

WRAPPED(void, cc_programs_remove, (struct cc_programs *programs, struct cmn_view key, const void *value))
{
	if (!is_put_again)
		__real_cc_programs_remove(programs, key, value);
}

TEST(what_goes_stale_again_and_again_is_built_at_last)
{
	builder = (struct builder){ .image = "one", .header = "x.h" };
	unit_write("x.h", "#define V 1\n");
	CU_ASSERT_EQUAL(expect("a", &builder, "one"), CC_ORIGIN_BUILT);
	unit_write("x.h", "#define V 2\n");
	is_put_again = true;
	builder.image = "two";
	CU_ASSERT_EQUAL(expect("a", &builder, "two"), CC_ORIGIN_BUILT);
	is_put_again = false;
	CU_ASSERT_EQUAL(expect("a", &builder, "two"), CC_ORIGIN_DISK);
	CU_ASSERT_EQUAL(expect("a", &builder, "two"), CC_ORIGIN_MEMORY);
	CU_ASSERT_EQUAL(builder.calls, 2);
}
