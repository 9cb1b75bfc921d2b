/* SPDX-License-Identifier: MIT */
/*
 * stress_store_many: many processes do everything to one store that is much
 * too small for them, while they are killed at random and started again, and
 * while files are damaged and deleted behind the store's back. Nothing wrong
 * may ever be read, nobody may be held up by the dead, and what is left must
 * be clean. Prints its seed; exit code 0: all of it held.
 *
 *   stress_store_many [PROCESSES OPERATIONS KILLS [SEED]]
 *
 * The kills are spread over the whole run; the store lies below TMPDIR.
 */
#include <ftw.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "cachecore/disk/space/account.h"
#include "cachecore/disk/build_lock.h"
#include "common/file.h"
#include "tests/stress/stress_store.h"
#include "tests/support/remove_tree.h"

#define MAX_PROCESSES 256
#define KEYS 300
#define MAX_IMAGE 20000
/* A third of what all keys would take: eviction by size never rests. */
#define MAX_SIZE (KEYS * (uint64_t)MAX_IMAGE / 12)
#define BUILD_WAIT_NS UINT64_C(2000000000)
/* Nobody makes any progress for so long: a lock of the dead blocks them. */
#define WATCHDOG_S 120

static char root[4096];

/* What all processes see. */
static struct {
	atomic_uint done[MAX_PROCESSES];	/* operations, also those that a kill ended */
	atomic_ulong hits, damaged, builds, refused;
} *shared;

static struct cc_store *open_store(struct cc_config *config)
{
	/* A damaged entry is worth a warning, and here there are many. */
	static const struct cmn_log log = { .level = CMN_LOG_NONE };

	return stress_open(root, MAX_IMAGE * 2, MAX_SIZE, &log, config);
}

static bool get(struct cc_store *store, unsigned int id)
{
	unsigned int damaged;
	bool found = stress_get(store, id, &damaged);

	(void)atomic_fetch_add(&shared->hits, found);
	(void)atomic_fetch_add(&shared->damaged, damaged);
	return found;
}

static void put(struct cc_store *store, unsigned int id, uint64_t *random)
{
	enum cmn_status status = stress_put(store, id, MAX_IMAGE, random);

	/*
	 * Who deletes directories can win thrice in a row, or have a lock: not stored
	 * is a fair outcome, and so it is in a full root that another process evicts
	 * from.
	 */
	(void)atomic_fetch_add(&shared->refused, status == CMN_ERR_TOO_LARGE);
	if (status != CMN_OK && status != CMN_ERR_IO && status != CMN_BUSY &&
	    status != CMN_ERR_TOO_LARGE)
		stress_fail("put %u: %s", id, cmn_status_string(status));
}

static void evict(struct cc_store *store)
{
	enum cmn_status status = cc_store_clean(store, NULL);

	/* Others store meanwhile, so it may not be enough. */
	if (status != CMN_OK && status != CMN_BUSY && status != CMN_STALE)
		stress_fail("evict: %s", cmn_status_string(status));
}

/* As a cache does that misses: one builds, the others wait for it. */
static void build(struct cc_store *store, unsigned int id, uint64_t *random)
{
	struct cc_build_lock *lock = NULL;
	struct cc_key key;

	if (get(store, id))
		return;
	stress_make_key(&key, id);
	if (cc_build_lock_take(cc_store_root(store), cc_key_view(&key), BUILD_WAIT_NS, &lock) == CC_BUILD_OWN) {
		put(store, id, random);
		(void)atomic_fetch_add(&shared->builds, 1);
	} else {
		(void)get(store, id);
	}
	cc_build_lock_release(lock);
	cc_key_release(&key);
}

/* One byte changed, the end cut off, something more at the end, or deleted. */
static void damage_file(const char *path, uint64_t *random)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	struct stat info;
	uint8_t byte = (uint8_t)stress_random(random);
	bool done = true;

	if (fd < 0)
		return;	/* it is not there, or no longer */
	if (fstat(fd, &info) != 0 || info.st_size == 0) {
		(void)close(fd);	/* nothing was written */
		return;
	}
	switch (stress_random(random) % 4) {
	case 0:
		done = pwrite(fd, &byte, 1, (off_t)(stress_random(random) % (uint64_t)info.st_size)) == 1;
		break;
	case 1:
		done = ftruncate(fd, (off_t)(stress_random(random) % (uint64_t)info.st_size)) == 0;
		break;
	case 2:
		done = pwrite(fd, &byte, 1, info.st_size) == 1;
		break;
	default:
		done = unlink(path) == 0 || errno == ENOENT;
		break;
	}
	if (!done || close(fd) != 0)
		stress_fail("damaging %s: %s", path, strerror(errno));
}

static void damage(unsigned int id, uint64_t *random)
{
	char path[sizeof(root) + CC_ENTRY_DIR_PATH_SIZE + CC_ENTRY_DIR_NAME_SIZE + 2];
	char entry_dir[CC_ENTRY_DIR_PATH_SIZE], name[CC_ENTRY_DIR_NAME_SIZE];
	struct cc_key key;

	stress_make_key(&key, id);
	cc_entry_dir_path(cc_key_view(&key), entry_dir);
	cc_key_release(&key);
	if (stress_random(random) % 20 == 0) {
		(void)snprintf(path, sizeof(path), "%s/%s", root, CC_ACCOUNT_NAME);
	} else {
		cc_entry_dir_name((enum cc_entry_dir_file)(stress_random(random) % CC_ENTRY_DIR_FILE_COUNT), 0, name);
		(void)snprintf(path, sizeof(path), "%s/%s/%s", root, entry_dir, name);
	}
	damage_file(path, random);
}

static void operate(struct cc_store *store, uint64_t *random)
{
	unsigned int id = (unsigned int)(stress_random(random) % KEYS);
	unsigned int what = (unsigned int)(stress_random(random) % 200);

	if (what < 50) {
		put(store, id, random);
	} else if (what < 70) {
		put(store, id, random);
		(void)get(store, id);
	} else if (what < 140) {
		(void)get(store, id);
	} else if (what < 160) {
		build(store, id, random);
	} else if (what < 178) {
		stress_touch(store, id);
	} else if (what < 188) {
		stress_remove(store, id);
	} else if (what < 198) {
		damage(id, random);
	} else {
		evict(store);
	}
}

static void work(unsigned int number, unsigned int operations, uint64_t seed)
{
	struct cc_config config;
	struct cc_store *store = open_store(&config);
	unsigned int at = atomic_load(&shared->done[number]);
	uint64_t random = stress_state_of(seed, (uint64_t)number << 32 | at);

	while (at < operations) {
		/* Counted before: one that was killed is not done again. */
		atomic_store(&shared->done[number], ++at);
		operate(store, &random);
	}
	cc_store_close(store);
}

struct team {
	unsigned int processes, operations, kills;
	uint64_t seed;
	pid_t members[MAX_PROCESSES];	/* 0: through */
};

static void start(struct team *team, unsigned int number)
{
	pid_t parent = getpid(), child = fork();

	if (child < 0)
		stress_fail("fork: %s", strerror(errno));
	if (child == 0) {
		/* A failure of the parent's is the end of all. */
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
			_exit(2);
		work(number, team->operations, team->seed);
		_exit(0);
	}
	team->members[number] = child;
}

/* After one of them has ended. true: it was killed. */
static bool note_end(struct team *team, unsigned int number, int how)
{
	team->members[number] = 0;
	if (WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL) {
		start(team, number);
		return true;
	}
	if (!WIFEXITED(how) || WEXITSTATUS(how) != 0)
		stress_fail("a process failed: %#x", (unsigned int)how);
	return false;
}

static unsigned long progress_of(const struct team *team)
{
	unsigned long all = 0;

	for (unsigned int i = 0; i < team->processes; i++)
		all += atomic_load(&shared->done[i]);
	return all;
}

/* Those that ended by themselves; how many work. */
static unsigned int collect(struct team *team)
{
	unsigned int working = 0;
	int how;

	for (unsigned int i = 0; i < team->processes; i++) {
		if (team->members[i] && waitpid(team->members[i], &how, WNOHANG) > 0)
			(void)note_end(team, i, how);
		working += team->members[i] != 0;
	}
	return working;
}

/* Whoever it hits, in whatever it is at. true: it was killed before it was through. */
static bool kill_one(struct team *team, unsigned int number)
{
	int how;

	if (!team->members[number])
		return false;
	(void)kill(team->members[number], SIGKILL);	/* it may have ended just now */
	if (waitpid(team->members[number], &how, 0) != team->members[number])
		stress_fail("waitpid: %s", strerror(errno));
	return note_end(team, number, how);
}

/* As many kills as the share of all operations that is done asks for. */
static unsigned int run(struct team *team)
{
	unsigned long all = (unsigned long)team->processes * team->operations, done, seen = 0;
	uint64_t random = stress_state_of(team->seed, UINT64_MAX >> 8);
	unsigned int killed = 0;

	for (unsigned int i = 0; i < team->processes; i++)
		start(team, i);
	while (collect(team)) {
		const struct timespec pause = { .tv_nsec = (long)(stress_random(&random) % 1000000) };

		(void)nanosleep(&pause, NULL);	/* its length is part of the chance */
		done = progress_of(team);
		if (done != seen)
			(void)alarm(WATCHDOG_S);
		seen = done;
		for (unsigned int i = 0; i < team->processes && killed < done * team->kills / all; i++)
			killed += kill_one(team, (unsigned int)(stress_random(&random) %
								team->processes));
	}
	return killed;
}

static struct {
	unsigned int entries, temporaries;
} left;

/* Everything that can be locked is free. */
static int look_at_file(const char *path, const struct stat *info, int kind, struct FTW *where)
{
	const char *name = path + where->base, *end = strrchr(name, '.');
	bool lock_file = end && !strcmp(end, ".lock");
	struct flock range = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd;

	(void)info;
	left.entries += end && !strcmp(end, ".src");
	left.temporaries += strncmp(name, CMN_FILE_TEMPORARY_PREFIX,
				    strlen(CMN_FILE_TEMPORARY_PREFIX)) == 0;
	if (kind != FTW_D && !lock_file)
		return 0;
	fd = open(path, (lock_file ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0 || (lock_file && fcntl(fd, F_SETLK, &range) != 0))
		stress_fail("%s is locked by a dead process", path);
	(void)close(fd);	/* it was only locked */
	return 0;
}

/* cache_size.txt against the files; how far it is off. */
static uint64_t account_error(void)
{
	uint64_t counted, written = 0;
	int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || cc_account_count(fd, &counted, NULL) != CMN_OK)
		stress_fail("counting");
	if (cc_number_file_read(fd, CC_ACCOUNT_NAME, &written) != CMN_OK)
		written = 0;	/* damaged: the next store counts */
	(void)close(fd);	/* only read */
	return counted > written ? counted - written : written - counted;
}

static void check_rest(void)
{
	struct cc_config config;
	struct cc_store *store = open_store(&config);
	uint64_t before = account_error();

	(void)nftw(root, look_at_file, 16, FTW_PHYS);
	if (cc_store_clean(store, NULL) != CMN_OK)
		stress_fail("last eviction");
	left.entries = left.temporaries = 0;
	(void)nftw(root, look_at_file, 16, FTW_PHYS);
	(void)printf("left: %u entries, %u temporaries; the account was off by %llu, is by %llu\n",
		     left.entries, left.temporaries, (unsigned long long)before,
		     (unsigned long long)account_error());
	if (left.temporaries || account_error())
		stress_fail("it is not clean");
	for (unsigned int id = 0; id < KEYS; id++)
		(void)get(store, id);
	cc_store_close(store);
}

static uint64_t argument(int argc, char **argv, int i, uint64_t otherwise)
{
	return i < argc ? strtoull(argv[i], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
	static struct team team;
	const char *base = getenv("TMPDIR");
	unsigned int killed;

	team.processes = (unsigned int)argument(argc, argv, 1, 16);
	team.operations = (unsigned int)argument(argc, argv, 2, 200);
	team.kills = (unsigned int)argument(argc, argv, 3, 200);
	team.seed = argument(argc, argv, 4, 20260101);
	if (team.processes < 1 || team.processes > MAX_PROCESSES || team.operations < 1)
		stress_fail("1 to %d processes", MAX_PROCESSES);
	(void)snprintf(root, sizeof(root), "%s/ckcache-stress-XXXXXX", base ? base : "/tmp");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || !mkdtemp(root))
		stress_fail("%s: %s", root, strerror(errno));
	(void)printf("seed %llu\n", (unsigned long long)team.seed);
	(void)fflush(stdout);
	(void)alarm(WATCHDOG_S);
	killed = run(&team);
	(void)alarm(WATCHDOG_S);
	(void)printf("%u x %u operations, %u kills: %lu hits, %lu damaged, %lu builds, %lu refused\n",
		     team.processes, team.operations, killed, atomic_load(&shared->hits),
		     atomic_load(&shared->damaged), atomic_load(&shared->builds),
		     atomic_load(&shared->refused));
	check_rest();
	remove_tree(root);
	return 0;
}
