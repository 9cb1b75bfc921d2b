/* SPDX-License-Identifier: MIT */
/*
 * stress_store_kill: what a store promises when its writers are killed, and
 * when many write at once. Prints its seed; exit code 0: all promises held.
 *
 *   stress_store_kill [KILLS [SEED]]           a writer is killed KILLS times
 *   stress_store_kill hammer [PROCESSES THREADS OPERATIONS [SEED]]
 */
#include <ftw.h>
#include <stdatomic.h>

#include "cachecore/disk/space/account.h"
#include "common/file.h"
#include "tests/stress/stress_store.h"
#include "tests/support/remove_tree.h"

#define KEYS 12
#define MAX_THREADS 64
/* No step takes this long unless a lock of the dead blocks it. */
#define WATCHDOG_S 120

static char root[4096];

static struct cc_store *open_store(struct cc_config *config)
{
	static const struct cmn_log log = { .level = CMN_LOG_WARNING };

	return stress_open(root, STRESS_MAX_IMAGE * 2, 1 << 30, &log, config);
}

/* Nobody damages anything here: a kill alone never does. */
static bool get(struct cc_store *store, unsigned int id)
{
	unsigned int damaged;
	bool found = stress_get(store, id, &damaged);

	if (damaged)
		stress_fail("key %u: %u damaged entries", id, damaged);
	return found;
}

/* One of everything that a process does to a store. */
static void operate(struct cc_store *store, uint64_t *random)
{
	unsigned int id = (unsigned int)(stress_random(random) % KEYS);
	unsigned int what = (unsigned int)(stress_random(random) % 20);
	enum cmn_status status;

	if (what < 9) {
		/*
		 * An evictor can win thrice in a row, or others have a lock: not stored
		 * is a fair outcome, wrong is not.
		 */
		status = stress_put(store, id, STRESS_MAX_IMAGE, random);
		if (status != CMN_OK && status != CMN_ERR_IO && status != CMN_BUSY)
			stress_fail("put %u: %s", id, cmn_status_string(status));
	} else if (what < 15) {
		(void)get(store, id);
	} else if (what < 18) {
		if (what == 17)
			stress_remove(store, id);
		else
			stress_touch(store, id);
	} else {
		status = cc_store_clean(store, NULL);
		if (status != CMN_OK && status != CMN_BUSY)
			stress_fail("evict: %s", cmn_status_string(status));
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

/* After one eviction with nobody else about: no leftovers, and a true account. */
static void check_rest(struct cc_store *store)
{
	uint64_t counted, written;
	int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || cc_store_clean(store, NULL) != CMN_OK)
		stress_fail("last eviction");
	files = temporaries = 0;
	(void)nftw(root, count_file, 16, FTW_PHYS);
	if (temporaries)
		stress_fail("%u temporaries are left", temporaries);
	/* Three of each key; the mark, cache_size.txt, the days of use, the evictor's lock and stamp. */
	if (files > 3 * KEYS + 5)
		stress_fail("%u files of %u keys", files, KEYS);
	if (cc_account_count(fd, &counted, NULL) != CMN_OK ||
	    cc_number_file_read(fd, CC_ACCOUNT_NAME, &written) != CMN_OK || counted != written)
		stress_fail("cache_size.txt is wrong");
	(void)close(fd);
	(void)printf("%u files, %llu bytes\n", files, (unsigned long long)written);
}

static pid_t start_child(void (*run)(void *ctx), void *ctx)
{
	pid_t child = fork();

	if (child < 0)
		stress_fail("fork: %s", strerror(errno));
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
	uint64_t random = stress_state_of(seed, 0);
	struct cc_config config;
	struct cc_store *store = open_store(&config);
	unsigned int hits = 0;

	for (unsigned int i = 0; i < kills; i++) {
		uint64_t child_random = stress_state_of(seed, i + 1);
		struct timespec pause = { .tv_nsec = (long)(stress_random(&random) % 12000000) };
		pid_t child = start_child(store_for_ever, &child_random);
		int how;

		(void)nanosleep(&pause, NULL);
		(void)kill(child, SIGKILL);
		if (waitpid(child, &how, 0) != child || !WIFSIGNALED(how))
			stress_fail("the writer failed before its end, after %u kills", i);
		(void)alarm(WATCHDOG_S);
		for (unsigned int id = 0; id < KEYS; id++)
			hits += get(store, id);
		if (stress_put(store, i % KEYS, STRESS_MAX_IMAGE, &random) != CMN_OK ||
		    !get(store, i % KEYS))
			stress_fail("a put after kill %u", i);
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
					      stress_state_of(team->seed, team->number * MAX_THREADS + i) };
		if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0)
			stress_fail("thread");
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
			stress_fail("a process of the hammer failed");
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
		stress_fail("mkdtemp: %s", strerror(errno));
	(void)printf("seed %llu\n", (unsigned long long)seed);
	(void)fflush(stdout);
	if (hammering) {
		struct team team = {
			.threads = (unsigned int)argument(argc, argv, 3, 8),
			.operations = (unsigned int)argument(argc, argv, 4, 100),
			.seed = seed,
		};

		if (team.threads > MAX_THREADS)
			stress_fail("at most %d threads", MAX_THREADS);
		hammer((unsigned int)argument(argc, argv, 2, 8), team);
	} else {
		kill_writers((unsigned int)argument(argc, argv, 1, 200), seed);
	}
	remove_tree(root);
	return 0;
}
