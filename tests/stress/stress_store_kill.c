/* SPDX-License-Identifier: MIT */
/*
 * stress_store_kill: what a store promises when its writers are killed, and
 * when many write at once. Prints its seed; exit code 0: all promises held.
 *
 *   stress_store_kill [KILLS [SEED]]           a writer is killed KILLS times
 *   stress_store_kill hammer [PROCESSES THREADS OPERATIONS [SEED]]
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cachecore/account.h"
#include "cachecore/number_file.h"
#include "cachecore/store.h"
#include "common/file.h"

#define KEYS 12
#define MAX_IMAGE 200000
#define MAX_THREADS 64
/* No step takes this long unless a lock of the dead blocks it. */
#define WATCHDOG_S 120

static char root[4096];

static void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
static void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)fputs("FAILED: ", stderr);
	(void)vfprintf(stderr, format, args);
	(void)fputc('\n', stderr);
	va_end(args);
	_exit(1);
}

/* xorshift64 (Marsaglia): repeatable from the printed seed. */
static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint64_t state_of(uint64_t seed, uint64_t stream)
{
	uint64_t state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ (stream + 1) << 20;

	state = state ? state : 1;
	(void)next(&state);
	return state;
}

static struct cc_store *open_store(struct cc_config *config)
{
	static const struct cmn_log log = { .level = CMN_LOG_WARNING };
	struct cc_store *store;

	*config = (struct cc_config){
		.dir = root,
		.max_device_image_size = MAX_IMAGE * 2,
		.max_size = 1 << 30,
		.threshold_days = 90,
		.compression = CC_COMPRESSION_AUTO,
	};
	if (cc_store_open(config, &log, &store) != CMN_OK)
		fail("open");
	return store;
}

static void make_key(struct cc_key *key, unsigned int id)
{
	cc_key_init(key);
	cc_key_add_text(key, CC_PART_DEVICE, "device", "stress");
	cc_key_add_u64(key, CC_PART_IMAGE, "source", id);
	if (cc_key_status(key) != CMN_OK)
		fail("memory");
}

/* An image says whose it is, and every byte follows from what it says. */
struct stamp {
	uint32_t id;
	uint32_t len;
	uint64_t pattern;
};

static void fill(uint8_t *data, const struct stamp *stamp)
{
	uint64_t state = state_of(stamp->pattern, stamp->id);

	memcpy(data, stamp, sizeof(*stamp));
	for (uint32_t i = sizeof(*stamp); i < stamp->len; i++)
		data[i] = (uint8_t)next(&state);
}

static enum cmn_status put(struct cc_store *store, unsigned int id, uint64_t *random)
{
	struct stamp stamp = { .id = id, .pattern = next(random) };
	struct cc_entry *entry = cc_entry_new(1);
	enum cmn_status status;
	struct cc_key key;
	void *room;

	/* Mostly small, some large: a kill finds both the short and the long writes. */
	stamp.len = (uint32_t)(sizeof(stamp) + next(random) % (next(random) % 4 ? 3000 : MAX_IMAGE));
	room = entry ? cc_entry_add_room(entry, CC_TAG_IMAGE, 0, stamp.len) : NULL;
	if (!room)
		fail("memory");
	fill(room, &stamp);
	if (cc_entry_finish(entry, NULL) != CMN_OK)
		fail("finish");
	make_key(&key, id);
	status = cc_store_put(store, &key, entry);
	cc_key_release(&key);
	cc_entry_unref(entry);
	return status;
}

/* A miss, or exactly what somebody put; whether it was found. */
static bool get(struct cc_store *store, unsigned int id)
{
	static _Thread_local uint8_t expected[MAX_IMAGE + 4096];
	struct cc_entry *entry;
	struct cc_store_report report;
	enum cmn_status status;
	struct cmn_view view;
	struct stamp stamp;
	struct cc_key key;

	make_key(&key, id);
	status = cc_store_get(store, &key, NULL, SIZE_MAX, &entry, &report);
	cc_key_release(&key);
	if (report.damaged)
		fail("key %u: %u damaged entries", id, report.damaged);
	if (status == CMN_MISS)
		return false;
	if (status != CMN_OK || !cc_entry_find(entry, CC_TAG_IMAGE, 0, &view))
		fail("key %u: status %d", id, status);
	if (view.len < sizeof(stamp))
		fail("key %u: %zu bytes", id, view.len);
	memcpy(&stamp, view.data, sizeof(stamp));
	if (stamp.id != id || stamp.len != view.len || view.len > sizeof(expected))
		fail("key %u got %u, %u of %zu bytes", id, stamp.id, stamp.len, view.len);
	fill(expected, &stamp);
	if (memcmp(expected, view.data, view.len) != 0)
		fail("key %u: other bytes", id);
	cc_entry_unref(entry);
	return true;
}

static void remove_or_touch(struct cc_store *store, unsigned int id, bool remove)
{
	struct cc_store_place place = { .n = 0 };
	struct cc_key key;

	make_key(&key, id);
	cc_leaf_path(cc_key_view(&key), place.leaf);
	if (!remove)
		cc_store_touch(store, &place);
	else if (cc_store_remove(store, &key) != CMN_OK)
		fail("remove %u", id);
	cc_key_release(&key);
}

/* One of everything that a process does to a store. */
static void operate(struct cc_store *store, uint64_t *random)
{
	unsigned int id = (unsigned int)(next(random) % KEYS);
	unsigned int what = (unsigned int)(next(random) % 20);
	enum cmn_status status;

	if (what < 9) {
		/* An evictor can win thrice in a row: not stored is a fair outcome, wrong is not. */
		status = put(store, id, random);
		if (status != CMN_OK && status != CMN_ERR_IO)
			fail("put %u: %s", id, cmn_status_string(status));
	} else if (what < 15) {
		(void)get(store, id);
	} else if (what < 18) {
		remove_or_touch(store, id, what == 17);
	} else {
		status = cc_store_evict(store);
		if (status != CMN_OK && status != CMN_BUSY)
			fail("evict: %s", cmn_status_string(status));
	}
}

static unsigned int files, temporaries;

static int count_file(const char *path, const struct stat *info, int kind, struct FTW *where)
{
	(void)info;
	if (kind == FTW_F) {
		files++;
		temporaries += strncmp(path + where->base, CMN_FILE_TEMPORARY_PREFIX,
				       strlen(CMN_FILE_TEMPORARY_PREFIX)) == 0;
	}
	return 0;
}

static int remove_file(const char *path, const struct stat *info, int kind, struct FTW *where)
{
	(void)info;
	(void)kind;
	(void)where;
	return remove(path);
}

/* After one eviction with nobody else about: no leftovers, and a true account. */
static void check_rest(struct cc_store *store)
{
	uint64_t counted, written;
	int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || cc_store_evict(store) != CMN_OK)
		fail("last eviction");
	files = temporaries = 0;
	(void)nftw(root, count_file, 16, FTW_PHYS);
	if (temporaries)
		fail("%u temporaries are left", temporaries);
	/* Three of each key; cache_size.txt, the evictor's lock and stamp. */
	if (files > 3 * KEYS + 3)
		fail("%u files of %u keys", files, KEYS);
	if (cc_account_count(fd, &counted) != CMN_OK ||
	    cc_number_file_read(fd, CC_ACCOUNT_NAME, &written) != CMN_OK || counted != written)
		fail("cache_size.txt is wrong");
	(void)close(fd);
	(void)printf("%u files, %llu bytes\n", files, (unsigned long long)written);
}

static pid_t start_child(void (*run)(void *ctx), void *ctx)
{
	pid_t child = fork();

	if (child < 0)
		fail("fork: %s", strerror(errno));
	if (child == 0) {
		run(ctx);
		_exit(0);
	}
	return child;
}

static void store_for_ever(void *ctx)
{
	struct cc_config config;
	struct cc_store *store = open_store(&config);

	for (;;)
		operate(store, ctx);
}

/* The waiting makes the moment of the kill random; nothing depends on its length. */
static void kill_writers(unsigned int kills, uint64_t seed)
{
	uint64_t random = state_of(seed, 0);
	struct cc_config config;
	struct cc_store *store = open_store(&config);
	unsigned int hits = 0;

	for (unsigned int i = 0; i < kills; i++) {
		uint64_t child_random = state_of(seed, i + 1);
		struct timespec pause = { .tv_nsec = (long)(next(&random) % 12000000) };
		pid_t child = start_child(store_for_ever, &child_random);
		int how;

		(void)nanosleep(&pause, NULL);
		(void)kill(child, SIGKILL);
		if (waitpid(child, &how, 0) != child || !WIFSIGNALED(how))
			fail("the writer failed before its end, after %u kills", i);
		(void)alarm(WATCHDOG_S);
		for (unsigned int id = 0; id < KEYS; id++)
			hits += get(store, id);
		if (put(store, i % KEYS, &random) != CMN_OK || !get(store, i % KEYS))
			fail("a put after kill %u", i);
	}
	(void)printf("%u kills, %u hits: ", kills, hits);
	check_rest(store);
	cc_store_close(store);
}

struct worker {
	struct cc_store *store;
	unsigned int operations;
	uint64_t random;
};

static void *work(void *ctx)
{
	struct worker *worker = ctx;

	for (unsigned int i = 0; i < worker->operations; i++)
		operate(worker->store, &worker->random);
	return NULL;
}

struct team {
	unsigned int threads, operations;
	uint64_t seed;
	unsigned int number;
};

static void run_team(void *ctx)
{
	const struct team *team = ctx;
	struct worker workers[MAX_THREADS];
	pthread_t threads[MAX_THREADS];
	struct cc_config config;
	struct cc_store *store = open_store(&config);

	for (unsigned int i = 0; i < team->threads; i++) {
		workers[i] = (struct worker){ store, team->operations,
					      state_of(team->seed, team->number * MAX_THREADS + i) };
		if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0)
			fail("thread");
	}
	for (unsigned int i = 0; i < team->threads; i++)
		(void)pthread_join(threads[i], NULL);
	cc_store_close(store);
}

static void hammer(unsigned int processes, struct team team)
{
	struct cc_config config;
	struct cc_store *store;
	int how;

	for (team.number = 0; team.number < processes; team.number++)
		(void)start_child(run_team, &team);
	for (unsigned int i = 0; i < processes; i++) {
		if (wait(&how) < 0 || !WIFEXITED(how) || WEXITSTATUS(how) != 0)
			fail("a process of the hammer failed");
	}
	store = open_store(&config);
	(void)printf("%u x %u x %u operations: ", processes, team.threads, team.operations);
	check_rest(store);
	cc_store_close(store);
}

static uint64_t argument(int argc, char **argv, int i, uint64_t otherwise)
{
	return i < argc ? strtoull(argv[i], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
	bool hammering = argc > 1 && strcmp(argv[1], "hammer") == 0;
	uint64_t seed = argument(argc, argv, hammering ? 5 : 2, 20260101);
	const char *base = getenv("TMPDIR");

	(void)snprintf(root, sizeof(root), "%s/ckcache-stress-XXXXXX", base ? base : "/tmp");
	if (!mkdtemp(root))
		fail("mkdtemp: %s", strerror(errno));
	(void)printf("seed %llu\n", (unsigned long long)seed);
	(void)fflush(stdout);
	if (hammering) {
		struct team team = {
			.threads = (unsigned int)argument(argc, argv, 3, 8),
			.operations = (unsigned int)argument(argc, argv, 4, 100),
			.seed = seed,
		};

		if (team.threads > MAX_THREADS)
			fail("at most %d threads", MAX_THREADS);
		hammer((unsigned int)argument(argc, argv, 2, 8), team);
	} else {
		kill_writers((unsigned int)argument(argc, argv, 1, 200), seed);
	}
	(void)nftw(root, remove_file, 16, FTW_PHYS | FTW_DEPTH);
	return 0;
}
