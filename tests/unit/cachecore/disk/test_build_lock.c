/* SPDX-License-Identifier: MIT */
/* build_lock: one builder of a key at a time, among processes, living and dead; and an application that does what it likes. */
#include <glob.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/worker.h"
#include "tests/support/asked.h"
#include "tests/support/build_lock.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

#define SECOND_NS UINT64_C(1000000000)
#define LONG_NS (60 * SECOND_NS)
#define SHORT_NS (SECOND_NS / 50)
/* A stopped builder's waiters go on within a second. */
#define SOON_NS (2 * SECOND_NS)
#define NOBODY 54321

/* Paths that begin so below the test's directory are on another machine. NULL: none. */
static const char *is_remote;
WRAPPED(bool, cmn_file_is_remote, (int fd))
{
	char link[64], path[4200];
	ssize_t len;

	if (!is_remote)
		return __real_cmn_file_is_remote(fd);
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	path[len < 0 ? 0 : len] = '\0';
	return strncmp(path, unit_path(is_remote), strlen(unit_path(is_remote))) == 0;
}

AFTER_EACH
{
	is_remote = NULL;
}

static enum cc_build_turn take(const char *key, uint64_t timeout_ns, struct cc_build_lock **ret)
{
	*ret = NULL;
	return cc_build_lock_take(unit_path("root"), cmn_view_of(key), timeout_ns, ret);
}

static int anothers_turn(const char *key, uint64_t timeout_ns)
{
	return build_turn_of_another(unit_path("root"), cmn_view_of(key), timeout_ns);
}

/* A process that has the lock of "key". */
struct builder {
	pid_t pid;
	int tell;		/* it releases the lock, and stays, when that is closed */
};

/* What it does meanwhile. */
enum work { SLEEPS, EXPECTS, EXPECTED, WORKS, HAS_A_CHILD_THAT_WORKS, HAS_A_CHILD_THAT_HAS_ONE };

/* Returns when it is told to. */
static void work(enum work what, int told, int ready)
{
	char byte = 0;

	if (what > WORKS && fork() == 0) {
		(void)alarm(20);	/* whoever had it may be killed */
		work(what == HAS_A_CHILD_THAT_HAS_ONE ? HAS_A_CHILD_THAT_WORKS : WORKS, told, -1);
	}
	if (ready >= 0 && write(ready, &byte, 1) != 1)
		_exit(1);
	while (what == WORKS)
		(void)getppid();
	while (read(told, &byte, 1) < 0)
		continue;
}

static struct builder start(enum work what)
{
	struct builder builder;
	int told[2], ready[2];
	char byte = 0;

	CU_ASSERT_EQUAL_FATAL(pipe(told) | pipe(ready), 0);
	builder.pid = fork();
	CU_ASSERT_FATAL(builder.pid >= 0);
	if (builder.pid == 0) {
		struct cc_build_lock *lock;

		(void)setpgid(0, 0);
		(void)close(told[1]);
		cc_build_locks_fork_child();
		if (take("key", 0, &lock) != CC_BUILD_OWN)
			_exit(1);
		if (what == EXPECTS || what == EXPECTED)
			cc_build_lock_wait(lock, true);
		if (what == EXPECTED)
			cc_build_lock_wait(lock, false);
		work(what, told[0], ready[1]);
		cc_build_lock_release(lock);
		for (;;)
			(void)pause();
	}
	(void)setpgid(builder.pid, builder.pid);	/* whoever comes first */
	(void)close(told[0]);
	(void)close(ready[1]);
	CU_ASSERT_EQUAL_FATAL(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	builder.tell = told[1];
	return builder;
}

/* With what it has started. */
static void end(const struct builder *builder)
{
	CU_ASSERT_EQUAL(kill(-builder->pid, SIGKILL), 0);
	CU_ASSERT_EQUAL(waitpid(builder->pid, NULL, 0), builder->pid);
	(void)close(builder->tell);
}

/* How long a wait takes that ends so: by the clock, and what it asked for, to which a busy machine adds nothing. */
struct took {
	uint64_t passed, slept;
};

static struct took time_of_wait(uint64_t timeout_ns, enum cc_build_turn turn)
{
	uint64_t began = cmn_clock_monotonic(), slept = asked->ns;
	struct cc_build_lock *lock;

	CU_ASSERT_EQUAL(take("key", timeout_ns, &lock), turn);
	cc_build_lock_release(lock);
	return (struct took){ cmn_clock_monotonic() - began, asked->ns - slept };
}

/* As time_of_wait, in a thread. */
struct waiter {
	pthread_t thread;
	uint64_t timeout_ns;
	struct cc_build_lock *lock;
	enum cc_build_turn turn;
};

static void *wait_for_it(void *arg)
{
	struct waiter *waiter = arg;

	waiter->turn = take("key", waiter->timeout_ns, &waiter->lock);
	return NULL;
}

static int count_descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

TEST(one_process_at_a_time_builds_a_key)
{
	struct cc_build_lock *lock;

	CU_ASSERT_EQUAL(take("key", LONG_NS, &lock), CC_BUILD_OWN);
	CU_ASSERT_EQUAL(anothers_turn("key", 0), CC_BUILD_ALONE);
	CU_ASSERT_EQUAL(anothers_turn("another key", 0), CC_BUILD_OWN);
	cc_build_lock_release(lock);
	CU_ASSERT_EQUAL(anothers_turn("key", 0), CC_BUILD_OWN);
	cc_build_lock_release(NULL);
}

TEST(one_file_serves_all_keys_and_stays_empty)
{
	struct cc_build_lock *locks[20];
	struct stat info;
	char key[16];
	glob_t found;

	for (int i = 0; i < 20; i++) {
		(void)snprintf(key, sizeof(key), "key %d", i);
		CU_ASSERT_EQUAL(take(key, 0, &locks[i]), CC_BUILD_OWN);
	}
	CU_ASSERT_EQUAL_FATAL(glob("root/*", 0, NULL, &found), 0);
	CU_ASSERT_EQUAL(found.gl_pathc, 2);	/* it, and the mark */
	globfree(&found);
	CU_ASSERT_EQUAL(stat("root/build.lock", &info), 0);
	CU_ASSERT_EQUAL(info.st_size, 0);
	CU_ASSERT_EQUAL(info.st_mode & 07777, 0600);
	for (int i = 0; i < 20; i++)
		cc_build_lock_release(locks[i]);
}

TEST(nothing_is_open_between_builds_and_one_file_meanwhile)
{
	struct cc_build_lock *lock, *another, *third;
	int before = count_descriptors();

	CU_ASSERT_EQUAL(take("key", 0, &lock), CC_BUILD_OWN);
	CU_ASSERT_EQUAL(count_descriptors(), before + 1);
	CU_ASSERT_EQUAL(take("another key", 0, &another), CC_BUILD_OWN);
	CU_ASSERT_EQUAL(take("key", 0, &third), CC_BUILD_ALONE);
	CU_ASSERT_EQUAL(count_descriptors(), before + 1);
	cc_build_lock_release(lock);
	cc_build_lock_release(another);
	CU_ASSERT_EQUAL(count_descriptors(), before);
}

TEST(the_end_of_one_threads_lock_ends_no_others)
{
	struct cc_build_lock *lock, *another, *own;

	CU_ASSERT_EQUAL(take("key", 0, &lock), CC_BUILD_OWN);
	CU_ASSERT_EQUAL(take("another key", 0, &another), CC_BUILD_OWN);
	/* What this process has already is not waited for, which might be for ever, nor released with it. */
	CU_ASSERT_EQUAL(take("key", LONG_NS, &own), CC_BUILD_ALONE);
	CU_ASSERT_PTR_NULL(own);
	cc_build_lock_release(another);
	CU_ASSERT_EQUAL(anothers_turn("key", 0), CC_BUILD_ALONE);
	CU_ASSERT_EQUAL(anothers_turn("another key", 0), CC_BUILD_OWN);
	cc_build_lock_release(lock);
	CU_ASSERT_EQUAL(anothers_turn("key", 0), CC_BUILD_OWN);
}

static atomic_uint owned;

static void *take_and_release(void *arg)
{
	char key[16];

	for (int i = 0; i < 200; i++) {
		struct cc_build_lock *lock;

		(void)snprintf(key, sizeof(key), "key %d", *(int *)arg);
		if (take(key, LONG_NS, &lock) == CC_BUILD_OWN)
			(void)atomic_fetch_add(&owned, 1);
		cc_build_lock_release(lock);
	}
	return NULL;
}

/* Also of those that open and close the file for the others. */
TEST(threads_with_keys_of_their_own_all_get_them)
{
	int before = count_descriptors(), numbers[] = { 0, 1, 2, 3, 4, 5, 6, 7 };

	unit_run_threads(8, take_and_release, numbers, sizeof(numbers[0]));
	CU_ASSERT_EQUAL(atomic_load(&owned), 8 * 200);
	CU_ASSERT_EQUAL(count_descriptors(), before);
}

TEST(who_waited_looks_again_when_the_build_has_ended)
{
	struct builder builder = start(EXPECTS);
	struct waiter waiters[4];
	struct cc_build_lock *lock, *another;
	unsigned int before = asked->threads;

	/* Nobody sleeps because a thread is just opening the file. */
	CU_ASSERT_EQUAL(take("another key", 0, &another), CC_BUILD_OWN);
	for (int i = 0; i < 4; i++) {
		waiters[i].timeout_ns = LONG_NS;
		/* Each in a process would be as good: threads wait with each other's descriptor. */
		CU_ASSERT_EQUAL_FATAL(pthread_create(&waiters[i].thread, NULL, wait_for_it, &waiters[i]), 0);
	}
	while (asked->threads < before + 4)
		(void)sched_yield();
	(void)close(builder.tell);
	for (int i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(pthread_join(waiters[i].thread, NULL), 0);
		/* Two that come at the same moment: the other builds alone. */
		CU_ASSERT_NOT_EQUAL(waiters[i].turn, CC_BUILD_OWN);
		CU_ASSERT_PTR_NULL(waiters[i].lock);
	}
	CU_ASSERT_EQUAL(waiters[0].turn, CC_BUILD_ENDED);
	CU_ASSERT_EQUAL(take("key", 0, &lock), CC_BUILD_OWN);
	cc_build_lock_release(lock);
	cc_build_lock_release(another);
	builder.tell = open("/dev/null", O_RDONLY | O_CLOEXEC);
	end(&builder);
}

/* A thread that has the lock of "key", for a compile or for good. */
struct holder {
	pthread_t thread;
	pthread_barrier_t has;
	atomic_bool ends;
	sem_t end;
	bool works, leaves;		/* it ends without a release */
};

static void *hold(void *arg)
{
	struct holder *holder = arg;
	struct cc_build_lock *lock, *other;

	CU_ASSERT_EQUAL(take("key", 0, &lock), CC_BUILD_OWN);
	/* One within it does not wait for it. */
	CU_ASSERT_EQUAL(take("key", LONG_NS, &other), CC_BUILD_ALONE);
	(void)pthread_barrier_wait(&holder->has);
	while (holder->works && !atomic_load(&holder->ends))
		continue;
	while (!holder->leaves && sem_wait(&holder->end) != 0)
		continue;
	if (!holder->leaves)
		cc_build_lock_release(lock);
	return holder->leaves ? lock : NULL;
}

static void start_holder(struct holder *holder)
{
	CU_ASSERT_EQUAL_FATAL(pthread_barrier_init(&holder->has, NULL, 2) | sem_init(&holder->end, 0, 0), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&holder->thread, NULL, hold, holder), 0);
	(void)pthread_barrier_wait(&holder->has);
}

static struct cc_build_lock *end_holder(struct holder *holder)
{
	void *lock = NULL;

	atomic_store(&holder->ends, true);
	CU_ASSERT_EQUAL(sem_post(&holder->end), 0);
	CU_ASSERT_EQUAL(pthread_join(holder->thread, &lock), 0);
	(void)pthread_barrier_destroy(&holder->has);	/* nobody waits at them */
	(void)sem_destroy(&holder->end);
	return lock;
}

TEST(threads_wait_for_each_other_as_processes_do)
{
	struct holder works = { .works = true }, sleeps = { 0 };
	struct waiter waiter = { .timeout_ns = LONG_NS };
	uint64_t before = asked->ns;
	struct took took;

	start_holder(&works);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&waiter.thread, NULL, wait_for_it, &waiter), 0);
	while (asked->ns < before + 3 * SECOND_NS / 2)
		(void)sched_yield();
	CU_ASSERT_PTR_NULL(end_holder(&works));
	CU_ASSERT_EQUAL(pthread_join(waiter.thread, NULL), 0);
	CU_ASSERT_EQUAL(waiter.turn, CC_BUILD_ENDED);
	start_holder(&sleeps);
	took = time_of_wait(LONG_NS, CC_BUILD_ALONE);
	CU_ASSERT(took.passed > SECOND_NS / 2 && took.slept < 2 * SECOND_NS);
	CU_ASSERT_PTR_NULL(end_holder(&sleeps));
}

TEST(a_thread_that_has_ended_is_not_waited_for)
{
	struct holder holder = { .leaves = true };
	struct cc_build_lock *lock;

	start_holder(&holder);
	lock = end_holder(&holder);
	CU_ASSERT(time_of_wait(LONG_NS, CC_BUILD_ALONE).slept < SECOND_NS / 2);
	cc_build_lock_release(lock);
	CU_ASSERT(time_of_wait(LONG_NS, CC_BUILD_OWN).slept < SECOND_NS / 2);
}

static void *own_thread(void *arg)
{
	*(struct cmn_worker *)arg = (struct cmn_worker){ getpid(), gettid() };
	return NULL;
}

/* Who learned of it before it ended may find another builder, or a result. */
TEST(a_thread_is_gone_when_it_is_looked_for_once_more)
{
	struct cmn_watch watch = { 0 };
	struct cmn_worker ended, other;

	unit_run_threads(1, own_thread, &ended, sizeof(ended));
	(void)own_thread(&other);
	/* Who has waited for a thread may be a little before the kernel. */
	for (int i = 0; i < 1000 && tgkill(ended.process, ended.thread, 0) == 0; i++)
		(void)usleep(1000);
	errno = ESRCH;		/* of a call before */
	CU_ASSERT_FALSE(cmn_watch_is_idle(&watch, &other, false, SECOND_NS - 2));
	CU_ASSERT_FALSE(cmn_watch_is_idle(&watch, &other, false, SECOND_NS - 1));
	CU_ASSERT_FALSE(cmn_watch_is_idle(&watch, &ended, false, SECOND_NS));
	CU_ASSERT_FALSE(cmn_watch_is_idle(&watch, &other, false, SECOND_NS + 1));
	CU_ASSERT_FALSE(cmn_watch_is_idle(&watch, &ended, false, SECOND_NS + 2));
	CU_ASSERT_TRUE(cmn_watch_is_idle(&watch, &ended, false, SECOND_NS + 3));
}

TEST(a_killed_builders_lock_is_free_at_once)
{
	struct builder builder = start(EXPECTS);
	struct waiter waiter = { .timeout_ns = LONG_NS };
	unsigned int before = asked->threads;
	struct cc_build_lock *lock;
	uint64_t slept;

	CU_ASSERT_EQUAL_FATAL(pthread_create(&waiter.thread, NULL, wait_for_it, &waiter), 0);
	while (asked->threads == before)
		(void)sched_yield();
	CU_ASSERT_EQUAL(kill(builder.pid, SIGKILL), 0);
	slept = asked->ns;
	CU_ASSERT_EQUAL(pthread_join(waiter.thread, NULL), 0);
	CU_ASSERT(asked->ns - slept < SECOND_NS / 2);
	/* As who may build in its place, unless it was seen before it was quite dead. */
	CU_ASSERT(waiter.turn == CC_BUILD_OWN || waiter.turn == CC_BUILD_ENDED);
	cc_build_lock_release(waiter.lock);
	CU_ASSERT_EQUAL(waitpid(builder.pid, NULL, 0), builder.pid);
	(void)close(builder.tell);
	CU_ASSERT_EQUAL(take("key", 0, &lock), CC_BUILD_OWN);
	cc_build_lock_release(lock);
}

/* Also where it has children, which have its descriptors. */
TEST(a_dead_builders_children_have_no_lock)
{
	struct builder builder = start(HAS_A_CHILD_THAT_WORKS);
	struct cc_build_lock *lock;

	CU_ASSERT_EQUAL(kill(builder.pid, SIGKILL), 0);
	CU_ASSERT_EQUAL(waitpid(builder.pid, NULL, 0), builder.pid);
	CU_ASSERT_EQUAL(take("key", 0, &lock), CC_BUILD_OWN);
	cc_build_lock_release(lock);
	CU_ASSERT_EQUAL(kill(-builder.pid, SIGKILL), 0);
	(void)close(builder.tell);
}

TEST(a_stopped_builder_is_not_waited_for)
{
	struct builder builder = start(WORKS);
	struct cc_build_lock *lock;
	int status;

	CU_ASSERT_EQUAL(kill(builder.pid, SIGSTOP), 0);
	CU_ASSERT_EQUAL(waitpid(builder.pid, &status, WUNTRACED), builder.pid);
	CU_ASSERT(time_of_wait(LONG_NS, CC_BUILD_ALONE).slept < SOON_NS);
	/* Its lock stays: it goes on some time. */
	CU_ASSERT_EQUAL(kill(builder.pid, SIGCONT), 0);
	CU_ASSERT_EQUAL(take("key", 0, &lock), CC_BUILD_ALONE);
	end(&builder);
}

/* Nor one whose children work at something else meanwhile. */
TEST(a_stopped_builder_with_a_child_at_work_is_not_waited_for)
{
	struct builder builder = start(HAS_A_CHILD_THAT_WORKS);
	int status;

	CU_ASSERT_EQUAL(kill(builder.pid, SIGSTOP), 0);
	CU_ASSERT_EQUAL(waitpid(builder.pid, &status, WUNTRACED), builder.pid);
	CU_ASSERT(time_of_wait(LONG_NS, CC_BUILD_ALONE).slept < SOON_NS);
	end(&builder);
}

/* As one that a cgroup has frozen, or that hangs: no signal has stopped it, and nothing of it runs. */
TEST(a_builder_that_does_nothing_is_not_waited_for)
{
	/* Also when it has had another machine's answer. */
	const enum work works[] = { SLEEPS, EXPECTED };

	for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++) {
		struct builder builder = start(works[i]);
		struct took took = time_of_wait(LONG_NS, CC_BUILD_ALONE);

		CU_ASSERT(took.slept < SOON_NS);
		CU_ASSERT(took.passed > SECOND_NS / 2);
		end(&builder);
	}
}

TEST(a_builder_that_waits_for_another_machine_is_waited_for)
{
	struct builder builder = start(EXPECTS);
	struct cc_build_lock *lock, *other;

	CU_ASSERT(time_of_wait(3 * SECOND_NS / 2, CC_BUILD_ALONE).passed >= 3 * SECOND_NS / 2);
	CU_ASSERT_EQUAL(kill(builder.pid, SIGSTOP), 0);
	CU_ASSERT(time_of_wait(LONG_NS, CC_BUILD_ALONE).slept < SOON_NS);
	end(&builder);
	/* When it has had its answer, it works like others. */
	CU_ASSERT_EQUAL(take("key", 0, &lock), CC_BUILD_OWN);
	cc_build_lock_wait(lock, true);
	cc_build_lock_wait(lock, false);
	cc_build_lock_release(lock);
	CU_ASSERT_EQUAL(take("key", 0, &other), CC_BUILD_OWN);
	cc_build_lock_release(other);
	cc_build_lock_wait(NULL, true);
}

TEST(a_builder_that_works_is_waited_for_up_to_the_bound)
{
	const enum work works[] = { WORKS, HAS_A_CHILD_THAT_WORKS, HAS_A_CHILD_THAT_HAS_ONE };

	for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++) {
		struct builder builder = start(works[i]);
		struct took took = time_of_wait(2 * SECOND_NS, CC_BUILD_ALONE);

		CU_ASSERT(took.passed >= 2 * SECOND_NS);
		CU_ASSERT(took.slept <= 2 * SECOND_NS);
		end(&builder);
	}
}

TEST(a_short_bound_is_kept)
{
	struct builder builder = start(WORKS);

	CU_ASSERT(time_of_wait(SHORT_NS, CC_BUILD_ALONE).passed >= SHORT_NS);
	CU_ASSERT(time_of_wait(0, CC_BUILD_ALONE).slept < SECOND_NS / 2);
	end(&builder);
}

/* "" where there is no freezer that may be used. */
static void make_freezer(char ret[128])
{
	static const char *const parents[] = { "/sys/fs/cgroup/freezer", "/sys/fs/cgroup" };
	static const char *const file_names[] = { "freezer.state", "cgroup.freeze" };
	char path[160];

	for (size_t i = 0; i < 2; i++) {
		(void)snprintf(ret, 128, "%s/ckcache-test-%d", parents[i], (int)getpid());
		if (mkdir(ret, 0755) != 0)
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", ret, file_names[i]);
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
	struct builder builder;

	make_freezer(freezer);
	if (!freezer[0]) {
		(void)printf("    SKIPPED: no freezer of cgroups that may be written to\n");
		return;
	}
	builder = start(WORKS);
	(void)snprintf(command, sizeof(command), "echo %d >%s/cgroup.procs", (int)builder.pid, freezer);
	CU_ASSERT_EQUAL(system(command), 0);
	tell_freezer(freezer, "FROZEN", "1");
	CU_ASSERT(time_of_wait(LONG_NS, CC_BUILD_ALONE).slept < SOON_NS);
	tell_freezer(freezer, "THAWED", "0");
	end(&builder);
	CU_ASSERT_EQUAL(rmdir(freezer), 0);
}

TEST(a_forked_child_has_no_lock_and_ends_none)
{
	struct cc_build_lock *lock, *own;
	int before = count_descriptors();
	pid_t child;

	CU_ASSERT_EQUAL(take("key", 0, &lock), CC_BUILD_OWN);
	child = fork();
	CU_ASSERT_FATAL(child >= 0);
	if (child == 0) {
		cc_build_locks_fork_child();
		cc_build_locks_fork_child();	/* as for another cache */
		if (count_descriptors() != before)
			_exit(2);
		/* It is the parent's: nothing happens. */
		cc_build_lock_release(lock);
		if (take("key", 0, &own) != CC_BUILD_ALONE || take("another key", 0, &own) != CC_BUILD_OWN)
			_exit(3);
		cc_build_lock_release(own);
		_exit(count_descriptors() == before ? 0 : 4);
	}
	CU_ASSERT(unit_ended_well(child));
	CU_ASSERT_EQUAL(anothers_turn("key", 0), CC_BUILD_ALONE);
	cc_build_lock_release(lock);
	CU_ASSERT_EQUAL(anothers_turn("key", 0), CC_BUILD_OWN);
}

/* The parent waits for it. */
TEST(a_forked_child_does_not_wait_for_its_parent)
{
	struct cc_build_lock *lock;
	uint64_t slept = asked->ns;

	CU_ASSERT_EQUAL(take("key", 0, &lock), CC_BUILD_OWN);
	CU_ASSERT_EQUAL(anothers_turn("key", LONG_NS), CC_BUILD_ALONE);
	CU_ASSERT(asked->ns - slept < SECOND_NS / 2);
	cc_build_lock_release(lock);
}

/* Though it uses processor time. */
TEST(a_child_that_waits_is_no_work_of_its_parents)
{
	struct cc_build_lock *lock, *own;
	uint64_t slept = asked->ns;
	int state = -1;
	pid_t child;

	CU_ASSERT_EQUAL(take("key", 0, &lock), CC_BUILD_OWN);
	child = fork();
	CU_ASSERT_FATAL(child >= 0);
	if (child == 0) {
		/* Its own child knows it alone as its parent. */
		if (fork() == 0) {
			cc_build_locks_fork_child();
			_exit(take("key", LONG_NS, &own) == CC_BUILD_ALONE ? 0 : 1);
		}
		_exit(wait(&state) < 0 || state != 0);
	}
	CU_ASSERT(unit_ended_well(child));
	CU_ASSERT(asked->ns - slept < SOON_NS);
	cc_build_lock_release(lock);
}

/* No handlers run there, as in one of a bare clone. */
TEST(a_child_without_handlers_ends_none)
{
	struct cc_build_lock *lock;
	pid_t child;

	CU_ASSERT_EQUAL(take("key", 0, &lock), CC_BUILD_OWN);
	child = fork();
	CU_ASSERT_FATAL(child >= 0);
	if (child == 0) {
		cc_build_lock_release(lock);
		for (int fd = 3; fd < 256; fd++)
			(void)close(fd);
		_exit(0);
	}
	CU_ASSERT(unit_ended_well(child));
	CU_ASSERT_EQUAL(anothers_turn("key", 0), CC_BUILD_ALONE);
	cc_build_lock_release(lock);
}

/* A fork while another thread waits, and looks at the list all the time. */
TEST(a_child_of_a_process_that_waits_takes_locks)
{
	struct waiter waiter = { .timeout_ns = SECOND_NS / 2 };
	struct builder builder;

	/* ThreadSanitizer misses the thread in each child; in qemu-user 7.2 some wait for ever for a mutex of its own. */
	if (!unit_vfork_shares()) {
		(void)printf("    SKIPPED: forks beside a thread, which go wrong in what runs this program\n");
		return;
	}
	builder = start(WORKS);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&waiter.thread, NULL, wait_for_it, &waiter), 0);
	for (int i = 0; i < 50; i++) {
		pid_t child = fork();

		CU_ASSERT_FATAL(child >= 0);
		if (child == 0) {
			struct cc_build_lock *own;

			cc_build_locks_fork_child();
			(void)alarm(20);
			_exit(take("another key", LONG_NS, &own) == CC_BUILD_ALONE);
		}
		CU_ASSERT(unit_ended_well(child));
	}
	CU_ASSERT_EQUAL(pthread_join(waiter.thread, NULL), 0);
	CU_ASSERT_EQUAL(waiter.turn, CC_BUILD_ALONE);
	end(&builder);
}

/* A program that closes all, and opens its own. */
TEST(a_programs_own_file_is_neither_locked_nor_closed)
{
	int own = open("own", O_RDWR | O_CREAT | O_CLOEXEC, 0600), count;
	struct flock range = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct cc_build_lock *lock, *another;
	pid_t child;

	CU_ASSERT_FATAL(own >= 0);
	CU_ASSERT_EQUAL(take("key", 0, &lock), CC_BUILD_OWN);
	count = count_descriptors();
	for (int fd = own + 1; fd < 256; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			CU_ASSERT_EQUAL(dup2(own, fd), fd);
	}
	CU_ASSERT_EQUAL(fcntl(own, F_SETLK, &range), 0);
	/* The lock has gone, and another one cannot be had while the file counts as open. */
	CU_ASSERT_EQUAL(anothers_turn("key", 0), CC_BUILD_OWN);
	CU_ASSERT_EQUAL(take("another key", LONG_NS, &another), CC_BUILD_ALONE);
	cc_build_lock_release(lock);
	CU_ASSERT_EQUAL(count_descriptors(), count);
	/* The program's own lock, of all its file, is there. */
	child = fork();
	if (child == 0)
		_exit(fcntl(own, F_SETLK, &range) == 0);
	CU_ASSERT(unit_ended_well(child));
	for (int fd = own; fd < 256; fd++)
		(void)close(fd);
	/* And the next ones are like the first. */
	CU_ASSERT_EQUAL(take("key", 0, &lock), CC_BUILD_OWN);
	CU_ASSERT_EQUAL(anothers_turn("key", 0), CC_BUILD_ALONE);
	cc_build_lock_release(lock);
}

TEST(without_a_root_everybody_builds)
{
	struct cc_build_lock *lock = NULL, *other;

	CU_ASSERT_EQUAL(cc_build_lock_take("/proc/nowhere", cmn_view_of("key"), LONG_NS, &lock), CC_BUILD_ALONE);
	CU_ASSERT_PTR_NULL(lock);
	/* The root, taken away while it is in use, and made again by others. */
	CU_ASSERT_EQUAL(take("key", 0, &lock), CC_BUILD_OWN);
	CU_ASSERT_EQUAL(system("mv root old"), 0);
	CU_ASSERT_EQUAL(take("key", 0, &other), CC_BUILD_OWN);
	CU_ASSERT_EQUAL(anothers_turn("key", 0), CC_BUILD_ALONE);
	cc_build_lock_release(other);
	cc_build_lock_release(lock);
	/* A root that others may write to. */
	CU_ASSERT_EQUAL(chmod("root", 0777), 0);
	CU_ASSERT_EQUAL(take("key", LONG_NS, &lock), CC_BUILD_ALONE);
}

TEST(a_root_that_cannot_be_written_has_no_locks)
{
	pid_t child;

	CU_ASSERT_EQUAL_FATAL(mkdir("root", 0700), 0);
	unit_mark("root");
	if (!unit_is_root())
		return;
	/* Somebody to whom modes apply. */
	CU_ASSERT_EQUAL(chown("root", NOBODY, NOBODY) | chmod("root", 0500) | chmod(unit_dir(), 0755), 0);
	child = fork();
	if (child == 0) {
		struct cc_build_lock *lock;

		cc_build_locks_fork_child();
		if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
			_exit(2);
		_exit(take("key", LONG_NS, &lock) == CC_BUILD_ALONE ? 0 : 1);
	}
	CU_ASSERT(unit_ended_well(child));
	CU_ASSERT(access("root/build.lock", F_OK) < 0);
}

/* What has the name of the file is not followed, waited for or written: it makes way. */
TEST(what_is_in_the_files_place_makes_way)
{
	static const char *const commands[] = {
		"ln -s ../mine root/build.lock", "ln mine root/build.lock", "mkfifo root/build.lock",
		"mkdir root/build.lock", "mkdir -p root/build.lock/inner", "touch root/build.lock && chmod 0 root/build.lock",
	};
	struct cc_build_lock *lock;

	CU_ASSERT_EQUAL_FATAL(mkdir("root", 0700), 0);
	unit_mark("root");
	unit_write("mine", "mine");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		CU_ASSERT_EQUAL_FATAL(system(commands[i]), 0);
		CU_ASSERT_EQUAL(take("key", LONG_NS, &lock), CC_BUILD_OWN);
		CU_ASSERT_EQUAL(anothers_turn("key", 0), CC_BUILD_ALONE);
		cc_build_lock_release(lock);
		CU_ASSERT_EQUAL(system("test \"$(cat mine)\" = mine && test -f root/build.lock && rm root/build.lock"), 0);
	}
}

/* As root's, from a program that ran with sudo. */
TEST(another_users_file_is_none_of_ours)
{
	struct stat info;
	int state = -1;
	pid_t child;

	if (!unit_is_root())
		return;
	CU_ASSERT_EQUAL_FATAL(mkdir("root", 0700), 0);
	unit_mark("root");
	unit_write("root/build.lock", "");
	CU_ASSERT_EQUAL(chmod("root/build.lock", 0600) | chown("root", NOBODY, NOBODY) | chmod(unit_dir(), 0755), 0);
	child = fork();
	if (child == 0) {
		struct cc_build_lock *lock;

		cc_build_locks_fork_child();
		if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
			_exit(2);
		if (access(unit_path("root"), W_OK) < 0)
			_exit(77);
		_exit(take("key", LONG_NS, &lock) == CC_BUILD_OWN ? 0 : 1);
	}
	CU_ASSERT_EQUAL(waitpid(child, &state, 0), child);
	if (WIFEXITED(state) && WEXITSTATUS(state) == 77) {
		(void)printf("    SKIPPED: nobody else may enter %s\n", unit_dir());
		return;
	}
	CU_ASSERT_EQUAL(state, 0);
	CU_ASSERT_EQUAL(stat("root/build.lock", &info), 0);
	CU_ASSERT_EQUAL(info.st_uid, NOBODY);
}

TEST(members_of_a_group_share_the_file)
{
	struct stat info;

	CU_ASSERT_EQUAL_FATAL(mkdir("root", 0700) | chmod("root", 02770), 0);
	unit_mark("root");
	CU_ASSERT_EQUAL(anothers_turn("key", 0), CC_BUILD_OWN);
	CU_ASSERT_EQUAL(stat("root/build.lock", &info), 0);
	CU_ASSERT_EQUAL(info.st_mode & 07777, 0660);
}

/* Its locks are on this machine, each root's apart, whatever name it is called by. */
TEST(on_a_network_file_system_a_machine_builds_once)
{
	struct cc_build_lock *lock, *other = NULL;
	glob_t found;

	CU_ASSERT_EQUAL_FATAL(mkdir("run", 0700) | mkdir("root", 0700) | mkdir("root2", 0700), 0);
	CU_ASSERT_EQUAL_FATAL(symlink("root", "by-another-name") | setenv("XDG_RUNTIME_DIR", unit_path("run"), 1), 0);
	is_remote = "root";
	CU_ASSERT_EQUAL(take("key", LONG_NS, &lock), CC_BUILD_OWN);
	CU_ASSERT_EQUAL(anothers_turn("key", 0), CC_BUILD_ALONE);
	CU_ASSERT_EQUAL(build_turn_of_another(unit_path("by-another-name"), cmn_view_of("key"), 0), CC_BUILD_ALONE);
	CU_ASSERT_EQUAL(cc_build_lock_take(unit_path("root2"), cmn_view_of("key"), 0, &other), CC_BUILD_OWN);
	CU_ASSERT_EQUAL(glob("run/ckcache/build-*.lock", 0, NULL, &found), 0);
	CU_ASSERT_EQUAL(found.gl_pathc, 2);
	globfree(&found);
	cc_build_lock_release(lock);
	cc_build_lock_release(other);
	CU_ASSERT(access("root/build.lock", F_OK) < 0);
	/* Where this one is on another machine too, everybody builds. */
	is_remote = "";
	CU_ASSERT_EQUAL(take("key", LONG_NS, &lock), CC_BUILD_ALONE);
	CU_ASSERT_EQUAL(unsetenv("XDG_RUNTIME_DIR"), 0);
}

TEST(more_roots_than_there_is_room_for_are_built_in_all_the_same)
{
	struct cc_build_lock *locks[12] = { NULL };
	unsigned int alone = 0;
	char name[16];

	for (int i = 0; i < 12; i++) {
		(void)snprintf(name, sizeof(name), "root%d", i);
		alone += cc_build_lock_take(unit_path(name), cmn_view_of("key"), LONG_NS, &locks[i]) == CC_BUILD_ALONE;
	}
	CU_ASSERT_EQUAL(alone, 4);
	for (int i = 0; i < 12; i++)
		cc_build_lock_release(locks[i]);
}
