/* SPDX-License-Identifier: MIT */
/* flights: one owner of a key at a time, among threads and processes, living and dead. */
#include <glob.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/file.h>

#include "cachecore/disk/flights/flights.h"
#include "cachecore/disk/flights/holder.h"
#include "common/clock.h"
#include "common/descriptor.h"
#include "tests/support/clock.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

#define LONG_NS (UINT64_C(60) * 1000000000)
#define SHORT_NS UINT64_C(20000000)
#define SOME_BEATS_NS UINT64_C(400000000)
#define HALF_SECOND_NS UINT64_C(500000000)
#define SECOND_NS UINT64_C(1100000000)	/* with what the waiter's own thread takes to be woken up */

/* Paths that begin so below the test's directory are on another machine, but for is_local's. NULL: none. */
static const char *_Atomic is_remote, *_Atomic is_local;	/* the flights' own thread asks too */

static bool begins_so(int fd, const char *name)
{
	char link[64], path[4200], wanted[4200];
	ssize_t len;

	(void)snprintf(link, sizeof(link), "/proc/thread-self/fd/%d", fd);
	(void)snprintf(wanted, sizeof(wanted), "%s/%s", unit_dir(), name);
	len = readlink(link, path, sizeof(path) - 1);
	path[len < 0 ? 0 : len] = '\0';
	return strncmp(path, wanted, strlen(wanted)) == 0;
}

WRAPPED(bool, cmn_file_is_remote, (int fd))
{
	const char *remote = is_remote, *local = is_local;

	if (remote && begins_so(fd, remote) && !(local && begins_so(fd, local)))
		return true;
	return __real_cmn_file_is_remote(fd);
}

static void set_runtime_dir(const char *name)
{
	char path[4200];

	(void)snprintf(path, sizeof(path), "%s/%s", unit_dir(), name);
	CU_ASSERT_EQUAL_FATAL(setenv("XDG_RUNTIME_DIR", path, 1), 0);
}

static struct cmn_view key_of(const char *text)
{
	return cmn_view_of(text);
}

static const char *root(void)
{
	static _Thread_local char path[4200];

	(void)snprintf(path, sizeof(path), "%s/root", unit_dir());
	return path;
}

/* Kernels that have no descriptors for one thread, or forbid them. */
static bool shares_descriptors;
static unsigned int late_ms;		/* by so much the thread gets its processor late */
static atomic_uint slow_ms;		/* so long each lock takes, on a slow disk */
static atomic_uint busy;		/* locks that were another's */

static void sleep_ms(unsigned int ms)
{
	const struct timespec pause = { ms / 1000, ms % 1000 * 1000000 };

	if (ms)
		(void)nanosleep(&pause, NULL);
}

WRAPPED(bool, cmn_descriptors_separate, (void))
{
	sleep_ms(late_ms);
	return !shares_descriptors && __real_cmn_descriptors_separate();
}

/* Threads that were started, and that ended by themselves; one cannot be had. */
static atomic_uint started, ended;
static bool has_no_thread;
WRAPPED(bool, cmn_background_start, (void (*work)(void *arg), void *arg, pthread_t *ret))
{
	atomic_fetch_add(&started, 1);
	return !has_no_thread && __real_cmn_background_start(work, arg, ret);
}

WRAPPED(int, pthread_detach, (pthread_t thread))
{
	atomic_fetch_add(&ended, 1);
	return __real_pthread_detach(thread);
}

/* Whether the thread has a processor was asked so often; it has none, if so. */
static unsigned int looks;
static bool has_no_processor;
WRAPPED(bool, cc_holder_thread_runs, (pid_t thread))
{
	looks++;
	if (!atomic_load(&slow_ms) &&
	    unit_in_valgrind("a thread without a processor sleeps, so only disks that a test slows down are slow"))
		return true;
	return has_no_processor || __real_cc_holder_thread_runs(thread);
}

/* What the clock says to all threads, or by how much it is fast for this one; 0: the machine's. */
static atomic_ullong stopped_clock;
static _Thread_local uint64_t fast_ns;
uint64_t test_clock(clockid_t id)
{
	uint64_t stopped = atomic_load(&stopped_clock);

	if (id != CLOCK_MONOTONIC)
		return machine_clock(id);
	return stopped ? stopped : machine_clock(id) + fast_ns;
}

/* On a busy machine, too, the thread is waited for until it ends: else what it has counts as lost. */
static _Thread_local bool is_patient;
uint64_t __wrap_cmn_clock_deadline(uint64_t timeout_ns);
uint64_t __wrap_cmn_clock_deadline(uint64_t timeout_ns)
{
	return machine_clock(CLOCK_MONOTONIC) + (is_patient || timeout_ns > LONG_NS ? LONG_NS : timeout_ns);
}

WRAPPED(void, cc_flights_free, (struct cc_flights *of))
{
	is_patient = true;
	__real_cc_flights_free(of);
	is_patient = false;
}

/* Beats that the file had already. */
static atomic_uint vain_beats;
WRAPPED(void, cc_holder_note, (int fd, const struct cc_holder *self))
{
	static _Thread_local uint64_t last;

	atomic_fetch_add(&vain_beats, self->beat > 1 && self->beat == last);
	last = self->beat;
	__real_cc_holder_note(fd, self);
}

static struct cc_flights *open_flights(void)
{
	struct cc_flights *opened = cc_flights_new();

	CU_ASSERT_PTR_NOT_NULL_FATAL(opened);
	return opened;
}

/* Those of two processes, as it were. */
static struct cc_flights *flights, *others;

BEFORE_EACH
{
	flights = open_flights();
	others = open_flights();
}

/* As new processes. */
static void renew(void)
{
	cc_flights_free(flights);
	cc_flights_free(others);
	flights = open_flights();
	others = open_flights();
}

AFTER_EACH
{
	cc_flights_free(flights);
	cc_flights_free(others);
	is_remote = is_local = NULL;
	shares_descriptors = has_no_thread = has_no_processor = false;
	late_ms = 0;
	fast_ns = 0;
	atomic_store(&stopped_clock, 0);
	atomic_store(&slow_ms, 0);
}

/* When others can have what it had. */
static void end(struct cc_flights *of, struct cc_flight *flight)
{
	cc_flight_end(flight);
	CU_ASSERT(cc_flights_flush(of, LONG_NS));
}

static enum cc_flight_turn begin(struct cc_flights *of, const char *key, uint64_t timeout_ns,
				 struct cc_flight **ret)
{
	*ret = NULL;
	return cc_flights_begin(of, root(), key_of(key), timeout_ns, ret);
}

/*
 * How long a wait takes that ends in building alone; a busy machine makes some of them longer.
 * Waits that are over before the bound are enough.
 */
static uint64_t shortest_wait(uint64_t bound_ns)
{
	uint64_t start, shortest = UINT64_MAX, took;
	struct cc_flight *flight;

	for (int i = 0; i < 8 && shortest >= bound_ns; i++) {
		start = cmn_clock_monotonic();
		CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_ALONE);
		took = cmn_clock_monotonic() - start;
		shortest = took < shortest ? took : shortest;
	}
	return shortest;
}

static int count_files(void)
{
	FILE *pipe = popen("ls root/flights | wc -l", "r");
	int count = -1;

	CU_ASSERT_PTR_NOT_NULL_FATAL(pipe);
	CU_ASSERT_EQUAL(fscanf(pipe, "%d", &count), 1);
	(void)pclose(pipe);	/* it was only read */
	return count;
}

TEST(one_at_a_time_and_no_file_stays)
{
	struct cc_flight *flight, *other, *third;

	CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_OWN);
	CU_ASSERT_EQUAL(begin(others, "key", SHORT_NS, &other), CC_FLIGHT_ALONE);
	CU_ASSERT_EQUAL(begin(others, "another key", 0, &third), CC_FLIGHT_OWN);
	CU_ASSERT_EQUAL(count_files(), 2);
	end(flights, flight);
	end(others, third);
	CU_ASSERT_EQUAL(count_files(), 0);
	CU_ASSERT_EQUAL(begin(others, "key", 0, &other), CC_FLIGHT_OWN);
	end(others, other);
	cc_flight_end(NULL);
	cc_flights_free(NULL);
}

struct waiter {
	struct cc_flights *flights;
	uint64_t timeout_ns;
	atomic_bool waiting, done;
	enum cc_flight_turn turn;
	struct cc_flight *flight;
};

static void *wait_for_it(void *arg)
{
	struct waiter *waiter = arg;

	atomic_store(&waiter->waiting, true);
	waiter->turn = begin(waiter->flights, "key", waiter->timeout_ns, &waiter->flight);
	atomic_store(&waiter->done, true);
	return NULL;
}

TEST(waiters_go_on_when_it_has_landed)
{
	struct waiter waiters[4] = { 0 };
	pthread_t threads[4];
	struct cc_flight *flight;

	CU_ASSERT_EQUAL(begin(flights, "key", 0, &flight), CC_FLIGHT_OWN);
	for (int i = 0; i < 4; i++) {
		waiters[i].flights = flights;
		waiters[i].timeout_ns = LONG_NS;
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, wait_for_it, &waiters[i]), 0);
		while (!atomic_load(&waiters[i].waiting))
			(void)sched_yield();
	}
	end(flights, flight);
	for (int i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(pthread_join(threads[i], NULL), 0);
		/* One that came only now has nothing to wait for, and is the next owner. */
		CU_ASSERT(waiters[i].turn == CC_FLIGHT_LANDED || waiters[i].turn == CC_FLIGHT_OWN);
		end(flights, waiters[i].flight);
	}
}

/* In a child: begins, tells so, and is there until it is killed. *ret_child: its own child, or 0. */
static pid_t start_owner(bool with_child, pid_t *ret_child)
{
	int pipe_fds[2];
	pid_t pid, child = 0;

	CU_ASSERT_EQUAL_FATAL(pipe(pipe_fds), 0);
	pid = fork();
	CU_ASSERT_FATAL(pid >= 0);
	if (pid == 0) {
		struct cc_flights *own = cc_flights_new();
		struct cc_flight *flight;

		if (!own || cc_flights_begin(own, root(), key_of("key"), 0, &flight) != CC_FLIGHT_OWN)
			_exit(1);
		if (with_child) {
			cc_flights_fork_prepare(own);
			if (fork() == 0) {
				struct cc_flight *again;

				cc_flights_fork_child(own);
				/* Its parent may wait for it. */
				if (cc_flights_begin(own, root(), key_of("key"), LONG_NS, &again) !=
				    CC_FLIGHT_ALONE)
					_exit(1);
				cc_flight_end(flight);	/* it is the parent's: nothing happens */
				child = getpid();
			} else {
				cc_flights_fork_parent(own);
			}
		}
		/* Once: with a child, that tells. */
		if ((!with_child || child) &&
		    write(pipe_fds[1], &child, sizeof(child)) != (ssize_t)sizeof(child))
			_exit(1);
		(void)pause();
	}
	(void)close(pipe_fds[1]);	/* one that ends without a word is seen so */
	CU_ASSERT_EQUAL_FATAL(read(pipe_fds[0], ret_child, sizeof(*ret_child)),
			      (ssize_t)sizeof(*ret_child));
	(void)close(pipe_fds[0]);
	return pid;
}

TEST(a_dead_builder_frees_the_others)
{
	struct cc_flight *flight;

	for (int with_child = 0; with_child < 2; with_child++) {
		pid_t child, owner = start_owner(with_child, &child);

		renew();
		CU_ASSERT_EQUAL(begin(flights, "key", SHORT_NS, &flight), CC_FLIGHT_ALONE);
		CU_ASSERT_EQUAL(kill(owner, SIGKILL), 0);
		CU_ASSERT_EQUAL(waitpid(owner, NULL, 0), owner);
		/* Also where a child of its own lives on. */
		CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_OWN);
		end(flights, flight);
		if (with_child)
			CU_ASSERT_EQUAL(kill(child, SIGKILL), 0);
	}
	CU_ASSERT_EQUAL(count_files(), 0);
}

TEST(without_a_lock_everybody_builds)
{
	struct cc_flight *flight, *other;

	/* A directory where the file should be. */
	CU_ASSERT_EQUAL(begin(flights, "key", 0, &flight), CC_FLIGHT_OWN);
	CU_ASSERT_EQUAL(system("ls root/flights >name"), 0);
	end(flights, flight);
	CU_ASSERT_EQUAL(system("mkdir root/flights/$(cat name)"), 0);
	CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_ALONE);
	/* A link to something of the user's. */
	CU_ASSERT_EQUAL(system("rmdir root/flights/* && echo mine >mine && "
			       "ln -s ../../mine root/flights/$(cat name)"), 0);
	CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_ALONE);
	CU_ASSERT_EQUAL(system("test \"$(cat mine)\" = mine && rm -r root/flights"), 0);
	/* A file where the directory should be. */
	CU_ASSERT_EQUAL(system("echo >root/flights"), 0);
	CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_ALONE);
	/* The root, taken away while it is in use, and made again by others. */
	CU_ASSERT_EQUAL(system("rm -r root"), 0);
	CU_ASSERT_EQUAL(begin(flights, "key", 0, &flight), CC_FLIGHT_OWN);
	CU_ASSERT_EQUAL(system("mv root old"), 0);
	CU_ASSERT_EQUAL(begin(flights, "key", 0, &other), CC_FLIGHT_OWN);
	end(flights, flight);
	CU_ASSERT_EQUAL(count_files(), 1);
	end(flights, other);
	CU_ASSERT_EQUAL(count_files(), 0);
	CU_ASSERT_EQUAL(cc_flights_begin(flights, "/proc/nowhere", key_of("key"), LONG_NS, &flight),
			CC_FLIGHT_ALONE);
	/* A root that others may write to. */
	CU_ASSERT_EQUAL(system("chmod 777 root"), 0);
	CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_ALONE);
}

TEST(what_the_dead_left_is_swept_when_it_is_old)
{
	struct cc_flight *flight, *dead;
	int fd;

	CU_ASSERT_EQUAL(begin(flights, "key", 0, &flight), CC_FLIGHT_OWN);
	fd = open(root(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CU_ASSERT_FATAL(fd >= 0);
	/* As a killed builder's. */
	CU_ASSERT_EQUAL(system("touch root/flights/0123456789abcdef0123456789abcdef.lock && "
			       "touch -d '2 hours ago' root/flights/mine.lock"), 0);
	cc_flight_locks_sweep(fd, 1000);
	CU_ASSERT_EQUAL(count_files(), 3);
	/* And one that was made before the clock was set back. */
	CU_ASSERT_EQUAL(system("touch -d '2 hours ago' root/flights/*.lock && "
			       "touch -d 'now + 2 days' root/flights/0123456789abcdef0123456789abcde0.lock"), 0);
	cc_flight_locks_sweep(fd, 1000);
	/* Not the one that somebody has, nor what is not ours. */
	CU_ASSERT_EQUAL(count_files(), 2);
	CU_ASSERT_EQUAL(begin(flights, "key", 0, &dead), CC_FLIGHT_ALONE);
	end(flights, flight);
	CU_ASSERT_EQUAL(system("rm root/flights/mine.lock && rmdir root/flights"), 0);
	cc_flight_locks_sweep(fd, 1000);
	(void)close(fd);	/* a directory */
}

static pid_t fork_with_handlers(struct cc_flights *of)
{
	pid_t pid;

	cc_flights_fork_prepare(of);
	cmn_descriptors_fork_prepare();
	pid = fork();
	if (pid == 0) {
		cc_flights_fork_child(of);
		cmn_descriptors_fork_child();
	} else {
		cmn_descriptors_fork_parent();
		cc_flights_fork_parent(of);
	}
	return pid;
}

/* The process is forked, with handlers, at the moment when it has the lock: by the thread that has it, if only that can. */
static struct cc_flights *forks_when_locked;
static int forked_pipe[2];

WRAPPED(int, flock, (int fd, int operation))
{
	int result = __real_flock(fd, operation);
	struct cc_flights *of = forks_when_locked;
	pid_t pid;

	sleep_ms(atomic_load(&slow_ms));
	if (result != 0)
		(void)atomic_fetch_add(&busy, 1);
	if (of && result == 0 && (operation & LOCK_EX)) {
		forks_when_locked = NULL;
		pid = fork_with_handlers(of);
		if (pid == 0) {
			pid = getpid();
			if (write(forked_pipe[1], &pid, sizeof(pid)) != (ssize_t)sizeof(pid))
				_exit(1);
			(void)pause();
		}
	}
	return result;
}

enum child { FORKED_AT_THE_LOCK, WITHOUT_HANDLERS, WITH_OWN_DESCRIPTORS };

/* An owner of "key" with a child, which lives when it is dead. Returns the child. */
static pid_t leave_child(enum child how)
{
	pid_t owner, child = -1;
	struct cc_flight *flight;
	int status;

	CU_ASSERT_EQUAL_FATAL(pipe(forked_pipe), 0);
	owner = fork();
	CU_ASSERT_FATAL(owner >= 0);
	if (owner == 0) {
		struct cc_flights *own = cc_flights_new();

		shares_descriptors = how != WITH_OWN_DESCRIPTORS;
		if (how == FORKED_AT_THE_LOCK)
			forks_when_locked = own;
		has_no_processor = true;	/* a fork may take long, and is waited for */
		if (!own || cc_flights_begin(own, root(), key_of("key"), 0, &flight) !=
				CC_FLIGHT_OWN)
			_exit(1);
		if (how != FORKED_AT_THE_LOCK && fork() == 0) {
			child = getpid();
			if (write(forked_pipe[1], &child, sizeof(child)) != (ssize_t)sizeof(child))
				_exit(1);
			(void)pause();
		}
		_exit(0);	/* and nothing is ended */
	}
	(void)close(forked_pipe[1]);	/* as above */
	/* Fatal: without its number, a signal for it would be one for every process. */
	CU_ASSERT_EQUAL_FATAL(read(forked_pipe[0], &child, sizeof(child)), (ssize_t)sizeof(child));
	CU_ASSERT_EQUAL(waitpid(owner, &status, 0), owner);
	CU_ASSERT_EQUAL(status, 0);
	(void)close(forked_pipe[0]);
	return child;
}

TEST(no_fork_comes_between_lock_and_list)
{
	pid_t child = leave_child(FORKED_AT_THE_LOCK);

	/* The lock itself, without what else would free it. */
	CU_ASSERT_EQUAL(system("flock --nonblock root/flights/*.lock true"), 0);
	CU_ASSERT_EQUAL(kill(child, SIGKILL), 0);
}

/* Without handlers, too: no other thread has the lock, and so no child. */
TEST(a_child_has_no_lock)
{
	pid_t child;

	if (UNIT_SHARED_DESCRIPTORS)
		return;
	child = leave_child(WITH_OWN_DESCRIPTORS);

	CU_ASSERT_EQUAL(system("flock --nonblock root/flights/*.lock true"), 0);
	CU_ASSERT_EQUAL(kill(child, SIGKILL), 0);
}

TEST(a_lock_that_outlives_its_builder_is_passed_by)
{
	pid_t child = leave_child(WITHOUT_HANDLERS);
	struct cc_flight *flight, *other;

	CU_ASSERT_NOT_EQUAL(system("flock --nonblock root/flights/*.lock true"), 0);
	CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_OWN);
	/* It is a flight like others. */
	CU_ASSERT_EQUAL(begin(others, "key", SHORT_NS, &other), CC_FLIGHT_ALONE);
	end(flights, flight);
	CU_ASSERT_EQUAL(count_files(), 0);
	CU_ASSERT_EQUAL(kill(child, SIGKILL), 0);
}

TEST(a_stopped_builder_is_not_waited_for)
{
	pid_t child, owner = start_owner(false, &child);
	struct cc_flight *flight;
	int status;

	CU_ASSERT_EQUAL(kill(owner, SIGSTOP), 0);
	CU_ASSERT_EQUAL(waitpid(owner, &status, WUNTRACED), owner);
	CU_ASSERT(shortest_wait(HALF_SECOND_NS) < HALF_SECOND_NS);
	/* Its lock stays: it goes on some time. */
	CU_ASSERT_EQUAL(count_files(), 1);
	CU_ASSERT_EQUAL(kill(owner, SIGKILL), 0);
	CU_ASSERT_EQUAL(waitpid(owner, NULL, 0), owner);
	CU_ASSERT_EQUAL(begin(flights, "key", 0, &flight), CC_FLIGHT_OWN);
	end(flights, flight);
}

/* Who is at work, and whom nobody can judge. */
TEST(a_builder_that_works_is_waited_for)
{
	static const char *const lines[] = { "1 2", "1 2 3\n", "999999999 1 2 0\n", "x y z 0\n" };
	const uint64_t long_enough = UINT64_C(700000000);
	struct cc_flight *flight, *other;
	FILE *file;

	CU_ASSERT_EQUAL(begin(flights, "key", 0, &flight), CC_FLIGHT_OWN);
	CU_ASSERT_EQUAL(system("cp root/flights/*.lock line"), 0);
	CU_ASSERT_EQUAL(begin(flights, "key", long_enough, &other), CC_FLIGHT_ALONE);
	CU_ASSERT_EQUAL(count_files(), 1);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		file = popen("cat >line && cp line root/flights/*.lock", "w");
		CU_ASSERT_PTR_NOT_NULL_FATAL(file);
		CU_ASSERT(fputs(lines[i], file) >= 0);
		CU_ASSERT_EQUAL(pclose(file), 0);
		CU_ASSERT_EQUAL(begin(flights, "key", long_enough, &other), CC_FLIGHT_ALONE);
		CU_ASSERT_EQUAL(count_files(), 1);
	}
	end(flights, flight);
}

/* In the place of what the builder has written there, which is never empty meanwhile. */
static void sign(const char *line)
{
	size_t len = strlen(line);
	glob_t locks;
	int fd;

	CU_ASSERT_EQUAL_FATAL(glob("root/flights/*.lock", 0, NULL, &locks), 0);
	fd = open(locks.gl_pathv[0], O_WRONLY | O_CLOEXEC);
	CU_ASSERT_EQUAL(pwrite(fd, line, len, 0), (ssize_t)len);
	CU_ASSERT_EQUAL(ftruncate(fd, (off_t)len), 0);
	CU_ASSERT_EQUAL(close(fd), 0);
	globfree(&locks);
}

TEST(an_unseen_builder_is_waited_for_while_it_beats)
{
	struct waiter waiter = { .timeout_ns = UINT64_C(1500000000) };
	struct cc_flight *flight, *other;
	char line[32];
	pthread_t thread;
	uint64_t start;

	CU_ASSERT_EQUAL(begin(flights, "key", 0, &flight), CC_FLIGHT_OWN);
	sign("1 1 1 7\n");
	CU_ASSERT(shortest_wait(SECOND_NS) < SECOND_NS);
	/* One that could have no thread, or is of a process without /proc. */
	sign("0 0 0 0\n");
	start = cmn_clock_monotonic();
	CU_ASSERT_EQUAL(begin(flights, "key", waiter.timeout_ns, &other), CC_FLIGHT_ALONE);
	CU_ASSERT_TRUE(cmn_clock_monotonic() - start >= waiter.timeout_ns);
	waiter.flights = flights;
	start = cmn_clock_monotonic();
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, wait_for_it, &waiter), 0);
	for (unsigned int beat = 8; !atomic_load(&waiter.done); beat++) {
		(void)snprintf(line, sizeof(line), "1 1 1 %u\n", beat);
		sign(line);
		(void)sched_yield();
	}
	CU_ASSERT_EQUAL(pthread_join(thread, NULL), 0);
	CU_ASSERT_EQUAL(waiter.turn, CC_FLIGHT_ALONE);
	CU_ASSERT_TRUE(cmn_clock_monotonic() - start >= waiter.timeout_ns);
	end(flights, flight);
}

/* A child that has the flight and beats for that time; it sleeps, or works. */
static pid_t start_beating(uint64_t time_ns, bool works)
{
	struct cc_flights *own;
	struct cc_flight *flight;
	pid_t child = fork();

	CU_ASSERT_TRUE_FATAL(child >= 0);
	if (child == 0) {
		own = cc_flights_new();
		if (!own || begin(own, "key", time_ns, &flight) != CC_FLIGHT_OWN)
			_exit(1);
		while (works)
			(void)getppid();
		for (;;)
			(void)pause();
	}
	while (system("grep -q ' [1-9][0-9]*$' root/flights/*.lock 2>/dev/null") != 0)
		CU_ASSERT_EQUAL(usleep(10000), 0);
	return child;
}

/* Waits for its flight; returns the nanoseconds. */
static uint64_t wait_for_child(uint64_t timeout_ns)
{
	struct cc_flights *own = open_flights();
	uint64_t start = cmn_clock_monotonic();
	struct cc_flight *flight;

	CU_ASSERT_EQUAL(begin(own, "key", timeout_ns, &flight), CC_FLIGHT_ALONE);
	cc_flights_free(own);
	return cmn_clock_monotonic() - start;
}

static void end_child(pid_t child)
{
	CU_ASSERT_EQUAL(kill(child, SIGKILL), 0);
	CU_ASSERT_EQUAL(waitpid(child, NULL, 0), child);
}

/* As a frozen one: no signal has stopped it, and nothing of it runs. Not waited for longer than a second after that. */
TEST(a_builder_that_beats_no_more_is_not_waited_for)
{
	uint64_t shortest = UINT64_MAX, took;
	pid_t child;

	for (int i = 0; i < 8 && shortest >= SOME_BEATS_NS + SECOND_NS; i++) {
		child = start_beating(SOME_BEATS_NS, false);
		took = wait_for_child(LONG_NS);
		shortest = took < shortest ? took : shortest;
		end_child(child);
		CU_ASSERT_EQUAL(system("rm root/flights/*.lock"), 0);
	}
	CU_ASSERT(shortest < SOME_BEATS_NS + SECOND_NS);
}

/* The thread that beats may be at something else, or get no processor. */
TEST(one_that_works_without_a_beat_is_waited_for)
{
	const uint64_t long_enough = UINT64_C(2000000000);
	pid_t child = start_beating(SOME_BEATS_NS, true);

	CU_ASSERT_TRUE(wait_for_child(long_enough) >= long_enough);
	end_child(child);
}

/* "" where there is no freezer that may be used. */
static void make_freezer(char ret[128])
{
	static const char *const parents[] = { "/sys/fs/cgroup/freezer", "/sys/fs/cgroup" };
	static const char *const files[] = { "freezer.state", "cgroup.freeze" };
	char path[160];

	for (size_t i = 0; i < 2; i++) {
		(void)snprintf(ret, 128, "%s/ckcache-test-%d", parents[i], (int)getpid());
		if (mkdir(ret, 0755) != 0)
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", ret, files[i]);
		if (access(path, W_OK) == 0)
			return;
		(void)rmdir(ret);
	}
	ret[0] = '\0';
}

static void tell_freezer(const char *freezer, const char *one, const char *other)
{
	char command[400];

	(void)snprintf(command, sizeof(command), "cd %s && if test -e freezer.state; then echo %s >freezer.state; "
		       "else echo %s >cgroup.freeze; fi", freezer, one, other);
	CU_ASSERT_EQUAL(system(command), 0);
}

TEST(a_frozen_builder_is_not_waited_for)
{
	char freezer[128], command[300];
	pid_t child;

	make_freezer(freezer);
	if (!freezer[0]) {
		(void)printf("    SKIPPED: no freezer of cgroups that may be written to\n");
		return;
	}
	child = start_beating(LONG_NS, false);
	(void)snprintf(command, sizeof(command), "echo %d >%s/cgroup.procs", (int)child, freezer);
	CU_ASSERT_EQUAL(system(command), 0);
	tell_freezer(freezer, "FROZEN", "1");
	CU_ASSERT_TRUE(wait_for_child(LONG_NS) < LONG_NS / 2);
	tell_freezer(freezer, "THAWED", "0");
	/* It is at work again. */
	CU_ASSERT_TRUE(wait_for_child(UINT64_C(1500000000)) >= UINT64_C(1500000000));
	end_child(child);
	CU_ASSERT_EQUAL(rmdir(freezer), 0);
}

/* It was stopped before it signed, or the disk is full, and then there is nothing to wait for. */
TEST(a_builder_that_has_not_signed_is_not_waited_for)
{
	struct cc_flight *flight;

	CU_ASSERT_EQUAL(begin(flights, "key", 0, &flight), CC_FLIGHT_OWN);
	CU_ASSERT_EQUAL(system("for lock in root/flights/*.lock; do : >$lock; done"), 0);
	CU_ASSERT(shortest_wait(HALF_SECOND_NS) < HALF_SECOND_NS);
	CU_ASSERT_EQUAL(count_files(), 1);
	end(flights, flight);
}

/* The sum of the beats in all files of flights; *ret_count: of files, but for those that are written just now. */
static unsigned long long beats(int *ret_count)
{
	FILE *pipe = popen("grep -hxE '[0-9]+( [0-9]+){3}' root/flights/*.lock 2>/dev/null", "r");
	unsigned long long beat, sum = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(pipe);
	*ret_count = 0;
	while (fscanf(pipe, "%*u %*u %*u %llu", &beat) == 1) {
		sum += beat;
		++*ret_count;
	}
	(void)pclose(pipe);	/* it was only read */
	return sum;
}

static void wait_for_beats(int count)
{
	uint64_t deadline = cmn_clock_monotonic() + LONG_NS;
	unsigned long long first, now;
	int there;

	do
		first = beats(&there);
	while (there != count && cmn_clock_monotonic() < deadline);
	CU_ASSERT_EQUAL(there, count);
	do
		now = beats(&there);
	while (now < first + 3ull * (unsigned int)count && cmn_clock_monotonic() < deadline);
	CU_ASSERT(cmn_clock_monotonic() < deadline);
}

TEST(each_flight_has_the_beat)
{
	enum { MANY = 80 };
	struct cc_flight *all[MANY], *other, *silent;
	unsigned long long before;
	char key[16];
	int count;

	for (int i = 0; i < MANY; i++) {
		(void)snprintf(key, sizeof(key), "key %d", i);
		CU_ASSERT_EQUAL(begin(flights, key, LONG_NS, &all[i]), CC_FLIGHT_OWN);
	}
	wait_for_beats(MANY);
	/* It is the flight's, and closes nothing of it. */
	CU_ASSERT_EQUAL(begin(flights, "key 0", 0, &other), CC_FLIGHT_ALONE);
	end(flights, all[0]);
	wait_for_beats(MANY - 1);
	for (int i = 1; i < MANY; i++)
		end(flights, all[i]);
	CU_ASSERT_EQUAL(count_files(), 0);
	/* Nobody waits for longer than its builder would wait for others. */
	CU_ASSERT_EQUAL(begin(flights, "key", 0, &silent), CC_FLIGHT_OWN);
	CU_ASSERT_EQUAL(begin(flights, "key 1", LONG_NS, &other), CC_FLIGHT_OWN);
	CU_ASSERT_EQUAL(system("grep -qx '.* 0' root/flights/*.lock"), 0);
	before = beats(&count);
	while (beats(&count) < before + 3)
		continue;
	CU_ASSERT_EQUAL(system("grep -qx '.* 0' root/flights/*.lock"), 0);
	end(flights, silent);
	end(flights, other);
}

static int count_descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 100; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* A program that closes all, and opens its own, while there is a flight. */
static void close_all_during_a_flight(void)
{
	struct cc_flight *flight, *another, *last;
	unsigned long long before;
	int left, count, own = open("own", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct stat info;

	CU_ASSERT_FATAL(own >= 0);
	/* The first one sweeps, with files open. */
	CU_ASSERT_EQUAL(begin(flights, "first key", LONG_NS, &flight), CC_FLIGHT_OWN);
	end(flights, flight);
	CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_OWN);
	count = count_descriptors();
	for (int fd = own + 1; fd < 100; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			CU_ASSERT_EQUAL(dup2(own, fd), fd);
	}
	CU_ASSERT_EQUAL(flock(own, LOCK_EX), 0);
	/* A beat of both, if the first has any. */
	CU_ASSERT_EQUAL(begin(flights, "another key", LONG_NS, &another), CC_FLIGHT_OWN);
	before = beats(&left);
	while (beats(&left) < before + 3)
		continue;
	end(flights, another);
	end(flights, flight);
	CU_ASSERT_NOT_EQUAL(system("flock --nonblock own true"), 0);
	CU_ASSERT_EQUAL(fstat(own, &info), 0);
	CU_ASSERT_EQUAL(info.st_size, 0);
	CU_ASSERT_EQUAL(count_descriptors(), count);
	/* The flight's own lock went when it was closed, or ended: nobody waits for it. */
	CU_ASSERT_EQUAL(begin(others, "key", LONG_NS, &last), CC_FLIGHT_OWN);
	end(others, last);
	renew();
	for (int fd = own; fd < 100; fd++)
		(void)close(fd);
}

TEST(a_programs_own_file_is_neither_locked_nor_written_nor_closed)
{
	close_all_during_a_flight();
	shares_descriptors = true;
	close_all_during_a_flight();
}

TEST(a_program_that_closes_all_keeps_its_flights)
{
	struct cc_flight *flight, *other;

	CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_OWN);
	for (int fd = 3; fd < 1000 && !UNIT_SHARED_DESCRIPTORS; fd++)
		(void)close(fd);
	CU_ASSERT_EQUAL(begin(others, "key", SHORT_NS, &other), CC_FLIGHT_ALONE);
	wait_for_beats(1);
	end(flights, flight);
	CU_ASSERT_EQUAL(count_files(), 0);
}

/* The locks are on this machine: below the user's runtime directory. */
TEST(on_a_network_file_system_a_machine_builds_once)
{
	struct cc_flight *flight, *other;
	glob_t found;

	shares_descriptors = true;	/* so that none is left open unseen */
	CU_ASSERT_EQUAL_FATAL(mkdir("run", 0700), 0);
	set_runtime_dir("run");
	renew();
	is_remote = "root";
	CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_OWN);
	CU_ASSERT_EQUAL(begin(others, "key", SHORT_NS, &other), CC_FLIGHT_ALONE);
	CU_ASSERT_EQUAL(glob("run/ckcache/flights-*/*.lock", 0, NULL, &found), 0);
	globfree(&found);
	end(flights, flight);
	CU_ASSERT_EQUAL(glob("run/ckcache/flights-*/*.lock", 0, NULL, &found), GLOB_NOMATCH);
	CU_ASSERT_EQUAL(begin(others, "key", LONG_NS, &other), CC_FLIGHT_OWN);
	end(others, other);
	CU_ASSERT_EQUAL(access("root/flights", F_OK), -1);
	is_remote = NULL;
}

/* Each root has its own, whatever name it is called by. */
TEST(locks_of_roots_on_network_file_systems_are_apart)
{
	struct cc_flight *flight, *other;
	char path[4200];

	CU_ASSERT_EQUAL_FATAL(mkdir("run", 0700) | mkdir("root", 0700) | mkdir("another", 0700), 0);
	CU_ASSERT_EQUAL_FATAL(symlink("root", "by-another-name"), 0);
	set_runtime_dir("run");
	renew();
	is_remote = "";
	is_local = "run";
	CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_OWN);
	(void)snprintf(path, sizeof(path), "%s/another", unit_dir());
	CU_ASSERT_EQUAL(cc_flights_begin(others, path, key_of("key"), LONG_NS, &other), CC_FLIGHT_OWN);
	end(others, other);
	(void)snprintf(path, sizeof(path), "%s/by-another-name", unit_dir());
	CU_ASSERT_EQUAL(cc_flights_begin(others, path, key_of("key"), SHORT_NS, &other), CC_FLIGHT_ALONE);
	end(flights, flight);
}

/* Where the directory is another's too, or on another machine, everybody builds. */
TEST(what_is_no_runtime_directory_is_not_used)
{
	static const struct {
		mode_t mode;		/* of what has its name already, if anything */
		const char *remote;
		enum cc_flight_turn turn;
	} rows[] = {
		{ 0, "root", CC_FLIGHT_OWN },
		{ 0777, "root", CC_FLIGHT_ALONE },
		{ 02770, "root", CC_FLIGHT_ALONE },
		{ 0, "", CC_FLIGHT_ALONE },
	};
	struct cc_flight *flight;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CU_ASSERT_EQUAL_FATAL(mkdir("run", 0700), 0);
		if (rows[i].mode)
			CU_ASSERT_EQUAL_FATAL(mkdir("run/ckcache", 0700) | chmod("run/ckcache", rows[i].mode), 0);
		set_runtime_dir("run");
		renew();
		is_remote = rows[i].remote;
		CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), rows[i].turn);
		if (rows[i].turn == CC_FLIGHT_OWN)
			end(flights, flight);
		is_remote = NULL;
		unit_remove("run");
	}
}

/* Others may write to the runtime directory, or it is named from where the process happens to be. */
TEST(an_untrusted_runtime_directory_is_left_alone)
{
	char usual[64], of_root[128];
	struct cc_flight *flight;
	struct stat info;

	CU_ASSERT_EQUAL_FATAL(mkdir("root", 0700) | stat("root", &info), 0);
	(void)snprintf(usual, sizeof(usual), "/tmp/ckcache-%u", geteuid());
	(void)snprintf(of_root, sizeof(of_root), "%s/flights-%jx-%jx", usual, (uintmax_t)info.st_dev,
		       (uintmax_t)info.st_ino);
	CU_ASSERT_EQUAL_FATAL(mkdir("run", 0700) | chmod("run", 0777), 0);
	for (int i = 0; i < 2; i++) {
		if (i == 0)
			set_runtime_dir("run");
		else
			CU_ASSERT_EQUAL_FATAL(setenv("XDG_RUNTIME_DIR", "run", 1) | chmod("run", 0700), 0);
		renew();
		is_remote = "root";
		CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_OWN);
		CU_ASSERT_EQUAL(access(of_root, F_OK), 0);
		end(flights, flight);
		is_remote = NULL;
		CU_ASSERT_EQUAL(access("run/ckcache", F_OK), -1);
		CU_ASSERT_EQUAL(rmdir(of_root), 0);
	}
	(void)rmdir(usual);	/* unless it is in use */
}

TEST(a_link_is_not_the_directory)
{
	struct cc_flight *flight;

	CU_ASSERT_EQUAL_FATAL(mkdir("root", 0700) | mkdir("elsewhere", 0700), 0);
	CU_ASSERT_EQUAL_FATAL(symlink("../elsewhere", "root/flights"), 0);
	CU_ASSERT_EQUAL(begin(flights, "key", 0, &flight), CC_FLIGHT_ALONE);
	CU_ASSERT_EQUAL(rmdir("elsewhere"), 0);
}

TEST(a_forked_child_signs_as_itself)
{
	struct cc_flight *flight;
	long signed_by = 0;
	int state = 77;
	pid_t child;

	cc_flights_fork_prepare(flights);
	child = fork();
	CU_ASSERT_FATAL(child >= 0);
	if (child == 0) {
		FILE *file;

		cc_flights_fork_child(flights);
		if (begin(flights, "key", LONG_NS, &flight) != CC_FLIGHT_OWN)
			_exit(1);
		file = popen("cat root/flights/*", "r");
		_exit(file && fscanf(file, "%ld", &signed_by) == 1 && signed_by == (long)getpid() ? 0 : 2);
	}
	cc_flights_fork_parent(flights);
	CU_ASSERT_EQUAL(waitpid(child, &state, 0), child);
	CU_ASSERT_EQUAL(state, 0);
}

TEST(a_first_flight_sweeps)
{
	struct cc_flight *flight;

	CU_ASSERT_EQUAL(begin(flights, "key", 0, &flight), CC_FLIGHT_OWN);
	end(flights, flight);
	CU_ASSERT_EQUAL(system("touch -d '2 hours ago' root/flights/0123456789abcdef0123456789abcdef.lock"),
			0);
	/* A process's later ones look at nothing. */
	CU_ASSERT_EQUAL(begin(flights, "key", 0, &flight), CC_FLIGHT_OWN);
	end(flights, flight);
	CU_ASSERT_EQUAL(count_files(), 1);
	renew();
	CU_ASSERT_EQUAL(begin(flights, "key", 0, &flight), CC_FLIGHT_OWN);
	end(flights, flight);
	CU_ASSERT_EQUAL(count_files(), 0);
}

TEST(who_only_waited_does_not_sweep)
{
	struct cc_flight *flight, *other;

	CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_OWN);
	CU_ASSERT_EQUAL(system("touch -d '2 hours ago' root/flights/0123456789abcdef0123456789abcdef.lock"),
			0);
	CU_ASSERT_EQUAL(begin(others, "key", 0, &other), CC_FLIGHT_ALONE);
	CU_ASSERT(cc_flights_flush(others, LONG_NS));
	CU_ASSERT_EQUAL(count_files(), 2);
	end(flights, flight);
}

TEST(each_beat_is_another)
{
	struct cc_flight *flight;

	atomic_store(&vain_beats, 0);
	CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_OWN);
	wait_for_beats(1);
	end(flights, flight);
	CU_ASSERT_EQUAL(atomic_load(&vain_beats), 0);
}

TEST(without_a_thread_nothing_is_left_to_do)
{
	struct cc_flight *flight;

	has_no_thread = true;
	CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_ALONE);
	CU_ASSERT(cc_flights_flush(flights, 0));
	has_no_thread = false;
	CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_OWN);
	end(flights, flight);
}

TEST(one_thread_serves_what_comes_soon_and_another_what_comes_late)
{
	uint64_t deadline = cmn_clock_monotonic() + LONG_NS;
	struct cc_flight *flight;

	atomic_store(&started, 0);
	atomic_store(&ended, 0);
	atomic_store(&stopped_clock, cmn_clock_monotonic());
	for (int i = 0; i < 100; i++) {
		CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_OWN);
		end(flights, flight);
	}
	CU_ASSERT_EQUAL(atomic_load(&started), 1);
	CU_ASSERT_EQUAL(atomic_load(&ended), 0);
	atomic_store(&stopped_clock, 0);
	while (!atomic_load(&ended) && cmn_clock_monotonic() < deadline)
		(void)sched_yield();
	CU_ASSERT_EQUAL_FATAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_OWN);
	end(flights, flight);
	CU_ASSERT_EQUAL(atomic_load(&started), 2);
}

TEST(flights_that_are_over_end_before_the_thread)
{
	enum { MANY = 20 };
	struct cc_flight *all[MANY];
	char key[16];

	for (int i = 0; i < MANY; i++) {
		(void)snprintf(key, sizeof(key), "key %d", i);
		CU_ASSERT_EQUAL(begin(flights, key, LONG_NS, &all[i]), CC_FLIGHT_OWN);
	}
	atomic_store(&slow_ms, 2);
	for (int i = 0; i < MANY; i++)
		cc_flight_end(all[i]);
	renew();
	CU_ASSERT_EQUAL(count_files(), 0);
}

/* It would, if it had a thread. */
TEST(a_child_that_ended_its_parents_flight_begins_one_of_its_own)
{
	struct cc_flight *flight, *own;
	int state = -1;
	pid_t child;

	CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_OWN);
	child = fork_with_handlers(flights);
	CU_ASSERT_FATAL(child >= 0);
	if (child == 0) {
		has_no_thread = true;
		atomic_store(&started, 0);
		(void)begin(flights, "key", LONG_NS, &own);
		if (atomic_load(&started))
			_exit(1);	/* it might wait for itself */
		cc_flight_end(flight);
		(void)begin(flights, "key", LONG_NS, &own);
		_exit(atomic_load(&started) ? 0 : 2);
	}
	CU_ASSERT_EQUAL(waitpid(child, &state, 0), child);
	CU_ASSERT_EQUAL(state, 0);
	end(flights, flight);
}

/* The lock of a dead builder, which its child has, as who looks at it for the second time sees it. */
static pid_t look_twice_at_the_dead(struct cc_flight_lock *lock, const struct cc_holder *self)
{
	pid_t child = leave_child(WITHOUT_HANDLERS);
	enum cc_flight_turn turn;

	cc_flight_lock_init(lock, root(), NULL, key_of("key"));
	for (int i = 0; i < 2; i++) {
		CU_ASSERT_FALSE(cc_flight_lock_try(lock, self, UINT64_MAX, &turn));
		CU_ASSERT_EQUAL(count_files(), 1);
		lock->watch.next = 0;	/* it is time */
	}
	CU_ASSERT_TRUE(lock->fd >= 0);
	return child;
}

TEST(who_is_dead_is_seen_so_twice)
{
	const struct cc_holder self = cc_holder_self();
	struct cc_flight_lock lock;
	enum cc_flight_turn turn;
	pid_t child = look_twice_at_the_dead(&lock, &self);

	CU_ASSERT_FALSE(cc_flight_lock_try(&lock, &self, UINT64_MAX, &turn));
	CU_ASSERT_EQUAL(count_files(), 0);
	CU_ASSERT_TRUE(cc_flight_lock_try(&lock, &self, UINT64_MAX, &turn));
	CU_ASSERT_EQUAL(turn, CC_FLIGHT_OWN);
	cc_flight_lock_end(&lock);
	CU_ASSERT_EQUAL(kill(child, SIGKILL), 0);
}

TEST(what_has_the_name_of_a_dead_ones_lock_by_then_stays)
{
	const struct cc_holder self = cc_holder_self();
	struct cc_flight_lock lock;
	enum cc_flight_turn turn;
	pid_t child = look_twice_at_the_dead(&lock, &self);

	CU_ASSERT_EQUAL(system("mv root/flights/*.lock . && cp *.lock root/flights"), 0);
	CU_ASSERT_TRUE(cc_flight_lock_try(&lock, &self, UINT64_MAX, &turn));
	CU_ASSERT_EQUAL(turn, CC_FLIGHT_ALONE);
	CU_ASSERT_EQUAL(count_files(), 1);
	cc_flight_lock_end(&lock);
	CU_ASSERT_EQUAL(kill(child, SIGKILL), 0);
}

TEST(tries_come_after_a_pause_and_not_after_the_deadline)
{
	uint64_t now = cmn_clock_monotonic();
	struct cc_flight_lock lock;

	cc_flight_lock_init(&lock, root(), NULL, key_of("key"));
	CU_ASSERT_EQUAL(cc_flight_lock_next(&lock, now), now);
	lock.pause = LONG_NS;
	CU_ASSERT(cc_flight_lock_next(&lock, UINT64_MAX) >= now + LONG_NS);
}

/* Begins so often on a disk that is as slow as that: the shortest time of some tries. */
static uint64_t time_on_a_slow_disk(int count)
{
	uint64_t start, took, least = UINT64_MAX, bound = HALF_SECOND_NS / 4;
	struct cc_flight *flight;

	for (int i = 0; i < 8 && least >= bound; i++) {
		atomic_store(&slow_ms, 2000);
		start = cmn_clock_monotonic();
		for (int k = 0; k < count; k++)
			CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_ALONE);
		took = cmn_clock_monotonic() - start;
		least = took < least ? took : least;
		atomic_store(&slow_ms, 0);
		/* What it gets afterwards goes at once. */
		CU_ASSERT(cc_flights_flush(flights, LONG_NS));
		CU_ASSERT_EQUAL(count_files(), 0);
	}
	return least;
}

TEST(a_slow_disk_is_not_waited_for)
{
	struct cc_flight *flight;

	CU_ASSERT(time_on_a_slow_disk(1) < HALF_SECOND_NS / 4);
	CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_OWN);
	end(flights, flight);
}

TEST(a_slow_disk_is_not_waited_for_again)
{
	CU_ASSERT(time_on_a_slow_disk(50) < HALF_SECOND_NS / 4);
}

TEST(a_disk_is_slow_when_it_was_so_thrice_and_for_a_while)
{
	struct cc_flight *flight;

	atomic_store(&slow_ms, 2000);
	looks = 0;
	CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_ALONE);
	CU_ASSERT(looks >= 3);
	looks = 0;
	CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_ALONE);
	CU_ASSERT_EQUAL(looks, 0);
	fast_ns = LONG_NS;
	CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_ALONE);
	CU_ASSERT(looks >= 3);
	fast_ns = 0;
	atomic_store(&slow_ms, 0);
	CU_ASSERT(cc_flights_flush(flights, LONG_NS));
}

TEST(a_processor_is_waited_for)
{
	struct cc_flight *flight;

	late_ms = 200;
	CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_OWN);
	end(flights, flight);
	/* Also by a thread that is at a file. */
	atomic_store(&slow_ms, 100);
	has_no_processor = true;
	CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_OWN);
	end(flights, flight);
}

/* The disk gets slow while another's flight is waited for: how long that was. */
static uint64_t wait_on_a_slow_disk(unsigned int ms, uint64_t timeout_ns)
{
	struct waiter waiter = { .timeout_ns = timeout_ns };
	struct cc_flight *flight;
	pthread_t thread;
	uint64_t took;

	renew();
	waiter.flights = others;
	CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_OWN);
	atomic_store(&busy, 0);
	took = cmn_clock_monotonic();
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, wait_for_it, &waiter), 0);
	while (!atomic_load(&busy))
		(void)sched_yield();
	atomic_store(&slow_ms, ms);
	CU_ASSERT_EQUAL(pthread_join(thread, NULL), 0);
	took = cmn_clock_monotonic() - took;
	CU_ASSERT_EQUAL(waiter.turn, CC_FLIGHT_ALONE);
	atomic_store(&slow_ms, 0);
	end(flights, flight);
	CU_ASSERT(cc_flights_flush(others, LONG_NS));
	return took;
}

TEST(a_disk_that_is_slow_then_is_waited_for)
{
	CU_ASSERT(wait_on_a_slow_disk(2, HALF_SECOND_NS) >= HALF_SECOND_NS);
}

TEST(a_disk_that_hangs_then_is_not_waited_for)
{
	uint64_t took = UINT64_MAX;

	for (int i = 0; i < 8 && took >= HALF_SECOND_NS / 4; i++)
		took = wait_on_a_slow_disk(2000, LONG_NS);
	CU_ASSERT(took < HALF_SECOND_NS / 4);
}
