/* SPDX-License-Identifier: MIT */
/*
 * locks: each lock of a root is held by a process that is stopped, in each
 * state of the root, while an application's thread looks up, stores, counts,
 * rejects and removes. Nothing waits, and nothing that was there is lost.
 */
#include <sys/file.h>
#include <sys/prctl.h>

#include "cachecore/disk/space/account.h"
#include "cachecore/cache.h"
#include "cachecore/disk/root.h"
#include "cachecore/disk/store.h"
#include "tests/support/asked.h"
#include "tests/support/owned.h"
#include "tests/support/unit.h"

OWNER(struct cc_cache, cc_cache_close)

#define MS UINT64_C(1000000)
#define AT_ONCE (500 * MS)
#define MANY 40

enum state { SOUND, DAMAGED, FULL, ABSENT, STATES };
static const char *const state_names[] = { "sound", "damaged", "full", "absent" };
/* The entry directory is that of key 1. */
enum { ROOT, ENTRY_DIR, EVENTS, LOCKS };
static const char *const lock_names[] = { "root", "leaf", "events.log" };

static const char *below(const char *name)
{
	static char path[4300];

	(void)snprintf(path, sizeof(path), "%s/cache/%s", unit_dir(), name);
	return path;
}

static void make_key(struct cc_key *key, unsigned int number)
{
	cc_key_init(key);
	cc_key_add_text(key, CC_PART_DEVICE, "device.name", "test");
	cc_key_add_u64(key, CC_PART_IMAGE, "number", number);
	CU_ASSERT_EQUAL_FATAL(cc_key_status(key), CMN_OK);
}

static uint64_t build_ns = MS;	/* of entries */

static struct cc_entry *make_entry(void)
{
	struct cc_entry *entry = cc_entry_new(build_ns);
	char image[1000] = "image";

	CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
	cc_entry_add(entry, CC_TAG_IMAGE, 0, image, sizeof(image));
	CU_ASSERT_EQUAL_FATAL(cc_entry_finish(entry, NULL), CMN_OK);
	return entry;
}

static struct cc_cache *open_cache(bool full)
{
	struct cc_cache *cache = NULL;

	CU_ASSERT_EQUAL(setenv("CKCACHE_DIR", below(""), 1), 0);
	CU_ASSERT_EQUAL(setenv("CKCACHE_READ_ONLY_DIRS", "", 1), 0);
	CU_ASSERT_EQUAL(setenv("CKCACHE_IN_MEM", "0", 1), 0);
	CU_ASSERT_EQUAL(setenv("CKCACHE_MAX_SIZE", full ? "200Ki" : "1Gi", 1), 0);
	CU_ASSERT_EQUAL_FATAL(cc_cache_open(&cache), CMN_OK);
	return cache;
}

static void put(struct cc_cache *cache, unsigned int number)
{
	struct cc_entry *entry = make_entry();
	OWNED(cc_key_release) struct cc_key key;

	make_key(&key, number);
	cc_cache_put(cache, &key, entry);
	cc_entry_unref(entry);
}

static void put_many(struct cc_cache *cache)
{
	for (unsigned int i = 0; i < MANY; i++)
		put(cache, 100 + i);
}

static enum cmn_status get(struct cc_cache *cache, unsigned int number)
{
	enum cmn_status status;
	struct cc_entry *entry;
	enum cc_origin origin;
	OWNED(cc_key_release) struct cc_key key;

	make_key(&key, number);
	status = cc_cache_get(cache, &key, &entry, &origin);
	if (status == CMN_OK)
		cc_entry_unref(entry);
	return status;
}

static const char *entry_dir_of(unsigned int number)
{
	static char entry_dir[CC_ENTRY_DIR_PATH_SIZE];
	OWNED(cc_key_release) struct cc_key key;

	make_key(&key, number);
	cc_entry_dir_path(cc_key_view(&key), entry_dir);
	return entry_dir;
}

static void damage(unsigned int number)
{
	char path[4400];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/0.bin", below(entry_dir_of(number)));
	fd = open(path, O_WRONLY);
	CU_ASSERT_EQUAL(pwrite(fd, "damage", 6, 60), 6);
	CU_ASSERT_EQUAL(close(fd), 0);
}

/* A root with entries 1 and 2 and all of its files; what is there more is the state. */
static void make_root(enum state state)
{
	struct cc_cache *cache;

	unit_remove(below(""));
	if (state == ABSENT) {
		CU_ASSERT_EQUAL_FATAL(mkdir(below(""), 0700), 0);
		unit_mark(below(""));
		return;
	}
	cache = open_cache(false);
	for (unsigned int i = 1; i <= (state == FULL ? 14 : 2); i++) {
		(void)get(cache, i);
		put(cache, i);
	}
	cc_cache_close(cache);
	if (state == DAMAGED) {
		damage(1);
		damage(2);
	}
}

/* A process that has the lock and is stopped; 0: there is nothing to lock. */
static pid_t hold(int lock)
{
	const char *path = below(lock == ROOT ? "" : lock == ENTRY_DIR ? entry_dir_of(1) : lock_names[lock]);
	int flags = lock == ROOT || lock == ENTRY_DIR ? O_RDONLY : O_RDWR | O_CREAT, state, fd;
	pid_t pid;

	fd = open(path, flags, 0600);
	if (fd < 0)
		return 0;
	pid = fork();
	CU_ASSERT_TRUE_FATAL(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		fd = open(path, flags, 0600);	/* not one that the parent has too */
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			(void)raise(SIGSTOP);
		_exit(1);
	}
	CU_ASSERT_EQUAL(close(fd), 0);
	CU_ASSERT_EQUAL_FATAL(waitpid(pid, &state, WUNTRACED), pid);
	CU_ASSERT_TRUE_FATAL(WIFSTOPPED(state));
	return pid;
}

static void let_go(pid_t pid)
{
	CU_ASSERT_EQUAL(kill(pid, SIGKILL), 0);
	CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), pid);
}

/* Fails where more was slept since then; returns now. */
static uint64_t in_time(uint64_t since, uint64_t limit, enum state state, int lock, const char *what)
{
	uint64_t took = asked->ns - since;

	if (took > limit)
		(void)printf("\n    %s, %s locked: %s slept for %.0f ms\n", state_names[state],
			     lock_names[lock], what, (double)took / 1e6);
	CU_ASSERT_TRUE(took <= limit);
	return asked->ns;
}

static void use(enum state state, int lock)
{
	struct cc_cache *cache = open_cache(state == FULL);
	uint64_t time = asked->ns;
	enum cmn_status status;
	struct cc_key key;

	status = get(cache, 1);
	time = in_time(time, AT_ONCE, state, lock, "a look-up");
	CU_ASSERT_EQUAL(status, state == SOUND || state == FULL ? CMN_OK : CMN_MISS);
	put(cache, 1);
	time = in_time(time, AT_ONCE, state, lock, "a store");
	/* Each may evict, too. */
	put_many(cache);
	time = in_time(time, 4 * AT_ONCE, state, lock, "many stores");
	make_key(&key, 1);
	cc_cache_count_miss(cache, &key, 1000000);
	time = in_time(time, AT_ONCE, state, lock, "a miss");
	cc_cache_reject(cache, &key, NULL);
	time = in_time(time, AT_ONCE, state, lock, "a rejection");
	cc_key_release(&key);
	make_key(&key, 2);
	status = cc_cache_remove(cache, &key);
	cc_key_release(&key);
	time = in_time(time, AT_ONCE, state, lock, "a removal");
	/* The other entry directory nobody holds, and the account alone keeps nothing. */
	CU_ASSERT_EQUAL(status, CMN_OK);
	CU_ASSERT_EQUAL(get(cache, 2), CMN_MISS);
	cc_cache_close(cache);
	(void)in_time(time, AT_ONCE, state, lock, "closing");
}

/* What was stored meanwhile is counted, and what was not is not there; it all goes on. */
static void goes_on(void)
{
	OWNED(owned_cc_cache_close) struct cc_cache *cache = open_cache(false);
	struct cc_config *config = (struct cc_config *)(uintptr_t)cc_cache_config(cache);
	struct cc_store *store = NULL;

	put(cache, 1);
	put(cache, 3);
	CU_ASSERT_EQUAL(get(cache, 1), CMN_OK);
	CU_ASSERT_EQUAL(get(cache, 3), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(cc_store_open(config, NULL, &store), CMN_OK);
	CU_ASSERT_EQUAL(cc_store_clean(store, NULL), CMN_OK);
	cc_store_close(store);
}

TEST(nothing_waits_for_a_lock_that_is_held)
{
	for (int state = 0; state < STATES; state++) {
		for (int lock = 0; lock < LOCKS; lock++) {
			pid_t holder;

			make_root((enum state)state);
			holder = hold(lock);
			if (!holder)
				continue;
			use((enum state)state, lock);
			let_go(holder);
			goes_on();
		}
	}
}

static enum cmn_status remove_number(struct cc_cache *cache, unsigned int number)
{
	OWNED(cc_key_release) struct cc_key key;

	make_key(&key, number);
	return cc_cache_remove(cache, &key);
}

TEST(a_removal_does_not_wait_for_the_entry_dir)
{
	OWNED(owned_cc_cache_close) struct cc_cache *cache;
	pid_t holder;

	make_root(SOUND);
	holder = hold(ENTRY_DIR);
	cache = open_cache(false);
	CU_ASSERT_EQUAL(remove_number(cache, 1), CMN_BUSY);
	CU_ASSERT_EQUAL(get(cache, 1), CMN_OK);
	let_go(holder);
	CU_ASSERT_EQUAL(remove_number(cache, 1), CMN_OK);
	CU_ASSERT_EQUAL(get(cache, 1), CMN_MISS);
}

static void account_is_right(void)
{
	uint64_t counted = 1, written = 0;
	int fd = open(below(""), O_RDONLY | O_DIRECTORY);

	CU_ASSERT_EQUAL(cc_account_count(fd, &counted, NULL), CMN_OK);
	CU_ASSERT_EQUAL(cc_number_file_read(fd, CC_ACCOUNT_NAME, &written), CMN_OK);
	CU_ASSERT_EQUAL(counted, written);
	CU_ASSERT_EQUAL(close(fd), 0);
}

/* The account would be less than what is there, and the bound would not hold. */
TEST(what_cannot_be_counted_is_not_kept)
{
	struct cc_cache *cache;
	pid_t holder;

	make_root(SOUND);
	holder = hold(ROOT);
	cache = open_cache(false);
	put(cache, 7);
	CU_ASSERT_EQUAL(get(cache, 7), CMN_MISS);
	CU_ASSERT_EQUAL(get(cache, 1), CMN_OK);
	let_go(holder);
	put(cache, 7);
	CU_ASSERT_EQUAL(get(cache, 7), CMN_OK);
	cc_cache_close(cache);
	account_is_right();
}

/* It was counted before its directory's lock was waited for. */
TEST(what_is_not_stored_counts_no_longer)
{
	OWNED(owned_cc_cache_close) struct cc_cache *cache;
	pid_t holder;

	make_root(SOUND);
	holder = hold(ENTRY_DIR);
	cache = open_cache(false);
	put(cache, 1);
	account_is_right();
	let_go(holder);
}

/* Locks that stay taken are waited for once, for a second at most, and not for each entry. */
TEST(many_entries_wait_once)
{
	OWNED(owned_cc_cache_close) struct cc_cache *cache;
	uint64_t time;
	pid_t holder;

	make_root(SOUND);
	holder = hold(ROOT);
	cache = open_cache(false);
	build_ns = 3600 * 1000 * MS;
	time = asked->ns;
	put_many(cache);
	(void)in_time(time, 3 * AT_ONCE, SOUND, ROOT, "storing");
	build_ns = MS;
	let_go(holder);
}
