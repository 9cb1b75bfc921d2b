/* SPDX-License-Identifier: MIT */
/* spawn: what the program finds, and what the process that started it notices. */
#include "common/spawn.h"

#include <dirent.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "tests/support/wrap.h"

#define THREADS 4
#define SPAWNS 12	/* by each */

/* The program: this one again, with arguments. */

static void report_descriptors(FILE *to)
{
	DIR *all = opendir("/proc/self/fd");
	const struct dirent *item;
	char link[300], path[4200];
	ssize_t len;

	while (all && (item = readdir(all))) {
		if (item->d_name[0] == '.' || atoi(item->d_name) == dirfd(all) || atoi(item->d_name) == fileno(to))
			continue;
		(void)snprintf(link, sizeof(link), "/proc/self/fd/%s", item->d_name);
		len = readlink(link, path, sizeof(path) - 1);
		path[len < 0 ? 0 : len] = '\0';
		(void)fprintf(to, "fd %s=%s\n", item->d_name, path);
	}
	if (all)
		(void)closedir(all);
}

static void report_signals(FILE *to)
{
	FILE *from = fopen("/proc/self/status", "re");
	char line[256];

	while (from && fgets(line, sizeof(line), from)) {
		if (!strncmp(line, "SigBlk:", 7) || !strncmp(line, "SigIgn:", 7) || !strncmp(line, "Umask:", 6))
			(void)fputs(line, to);
	}
	if (from)
		(void)fclose(from);
}

static int report(char **argv, char **envp)
{
	FILE *to = fopen(argv[2], "we");
	cpu_set_t processors;
	char path[4200];

	if (!to)
		return 1;
	report_descriptors(to);
	report_signals(to);
	(void)fprintf(to, "pid %d sid %d pgid %d ppid %d\n", getpid(), getsid(0), getpgrp(), getppid());
	(void)fprintf(to, "cwd %s\n", getcwd(path, sizeof(path)));
	(void)sched_getaffinity(0, sizeof(processors), &processors);
	(void)fprintf(to, "policy %d on %d\n", sched_getscheduler(0), CPU_COUNT(&processors));
	for (int i = 0; argv[i]; i++)
		(void)fprintf(to, "arg %s\n", argv[i]);
	for (int i = 0; envp[i]; i++)
		(void)fprintf(to, "env %s\n", envp[i]);
	return fclose(to) ? 1 : 0;
}

/* Ends when somebody else has opened the FIFO. */
static int hold(const char *fifo)
{
	return open(fifo, O_WRONLY | O_CLOEXEC) < 0;
}

static bool clones_share_memory(void);

int main(int argc, char **argv, char **envp)
{
	if (argc > 2 && !strcmp(argv[1], "report"))
		return report(argv, envp);
	if (argc > 2 && !strcmp(argv[1], "hold"))
		return hold(argv[2]);
	if (argc > 1 && !strcmp(argv[1], "mark"))
		return write(CMN_SPAWN_KEPT_FD, "x", 1) != 1;
	/* valgrind cannot run two clones that share the memory of their parent. */
	if (getenv("LD_PRELOAD") && strstr(getenv("LD_PRELOAD"), "vgpreload"))
		return 0;
	if (!clones_share_memory()) {
		(void)puts("SKIPPED: no clone shares the memory of its parent here");
		return 77;
	}
	unit_count_descriptors();
	return unit_run(NULL);
}

/* A kernel that refuses. */
static int clone_error;
static bool no_memory;
static atomic_int unblocked, mapped;	/* clones made while a handler might have run; stacks that are left */
WRAPPED(int, clone, (int (*run)(void *), void *stack, int flags, void *arg, ...))
{
	sigset_t mine;

	atomic_fetch_add(&unblocked, pthread_sigmask(SIG_SETMASK, NULL, &mine) != 0 ||
			 !sigismember(&mine, SIGTERM) || !sigismember(&mine, SIGUSR1));
	errno = clone_error;
	return clone_error ? -1 : __real_clone(run, stack, flags, arg);
}

static bool shared;

static int share(void *arg)
{
	*(bool *)arg = true;
	return 0;
}

/* qemu-user makes forks of clones. */
static bool clones_share_memory(void)
{
	static _Alignas(16) char stack[65536];
	pid_t child = __real_clone(share, stack + sizeof(stack), CLONE_VM | CLONE_VFORK, &shared);

	/* One that fails is for the tests to notice. */
	return (child < 0 && errno != EINVAL) || (waitpid(child, NULL, __WALL) == child && shared);
}

/* Those of that size are stacks; no more than some are in use at a time. */
#define STACKS_SIZE ((size_t)128 << 10)
static void *_Atomic stacks[64];

WRAPPED(void *, malloc, (size_t len))
{
	void *made = len == STACKS_SIZE && no_memory ? NULL : __real_malloc(len);
	void *none = NULL;

	if (len != STACKS_SIZE || !made)
		return made;
	atomic_fetch_add(&mapped, 1);
	for (size_t i = 0; !atomic_compare_exchange_strong(&stacks[i % 64], &none, made); i++)
		none = NULL;
	return made;
}

WRAPPED(void, free, (void *data))
{
	for (size_t i = 0; data && i < 64; i++) {
		void *given = data;

		if (atomic_compare_exchange_strong(&stacks[i], &given, NULL))
			atomic_fetch_sub(&mapped, 1);
	}
	__real_free(data);
}

static bool is_init;
WRAPPED(pid_t, getpid, (void))
{
	return is_init ? 1 : __real_getpid();
}

static char self[4200], fifo[4200], result[32768];

BEFORE_EACH
{
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	CU_ASSERT_FATAL(len > 0);
	self[len] = '\0';
	(void)snprintf(fifo, sizeof(fifo), "%s/fifo", unit_dir());
	CU_ASSERT_EQUAL_FATAL(mkfifo(fifo, 0600), 0);
}

AFTER_EACH
{
	clone_error = 0;
	no_memory = is_init = false;
	CU_ASSERT_EQUAL(atomic_load(&unblocked), 0);
	CU_ASSERT_EQUAL(atomic_load(&mapped), 0);
	(void)signal(SIGCHLD, SIG_DFL);
}

static char *const environment[] = { (char[]){ "ONE=1" }, (char[]){ "TWO=two words" }, NULL };

static enum cmn_status spawn(const char *what, int keep_fd)
{
	char *const argv[] = { (char[]){ "a name" }, (char *)what, fifo, NULL };

	return cmn_spawn_detached(self, argv, environment, keep_fd);
}

/* What the program wrote, in result. */
static void read_report(void)
{
	int fd = open(fifo, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t got;

	CU_ASSERT_FATAL(fd >= 0);
	while ((got = read(fd, result + len, sizeof(result) - 1 - len)) > 0)
		len += (size_t)got;
	result[len] = '\0';
	(void)close(fd);
}

static bool has(const char *line)
{
	char wanted[4400];

	(void)snprintf(wanted, sizeof(wanted), "%s\n", line);
	for (const char *at = result; (at = strstr(at, wanted)); at++) {
		if (at == result || at[-1] == '\n')
			return true;
	}
	return false;
}

static int count(const char *word)
{
	int found = 0;

	for (const char *at = result; (at = strstr(at, word)); at++)
		found += at == result || at[-1] == '\n';
	return found;
}

/* The report is one of a program that has nothing of whoever started it. */
static void check_clean(int descriptors)
{
	int pid = 0, sid = 0, pgid = 0, ppid = 0;
	const char *ids = strstr(result, "pid ");

	CU_ASSERT(has("fd 0=/dev/null") && has("fd 1=/dev/null") && has("fd 2=/dev/null"));
	CU_ASSERT_EQUAL(count("fd "), descriptors);
	CU_ASSERT(has("SigBlk:\t0000000000000000") && has("SigIgn:\t0000000000000000"));
	CU_ASSERT(has("Umask:\t0077"));
	CU_ASSERT(has("cwd /"));
	CU_ASSERT(has("arg a name") && has("arg report") && count("arg ") == 3);
	CU_ASSERT(has("env ONE=1") && has("env TWO=two words") && count("env ") == 2);
	CU_ASSERT_FATAL(ids && sscanf(ids, "pid %d sid %d pgid %d ppid %d", &pid, &sid, &pgid, &ppid) == 4);
	CU_ASSERT(pid == sid && pid == pgid && pid != getpid() && ppid != getpid());
}

static bool has_children(void)
{
	return waitpid(-1, NULL, WNOHANG | __WALL) != -1 || errno != ECHILD;
}

static atomic_int signals;

static void note_signal(int number)
{
	(void)number;
	atomic_fetch_add(&signals, 1);
}

TEST(a_program_has_nothing_of_whoever_starts_it)
{
	int pipe_fds[2], file = open("file", O_RDWR | O_CREAT, 0600);
	const struct sched_param none = { 0 };
	cpu_set_t all, one = { 0 };
	char line[64];

	memset(&all, 0xff, sizeof(all));
	CU_ASSERT(sched_setaffinity(0, sizeof(all), &all) == 0 && sched_getaffinity(0, sizeof(all), &all) == 0);
	CPU_SET((unsigned int)sched_getcpu(), &one);
	CU_ASSERT(sched_setaffinity(0, sizeof(one), &one) == 0 && sched_setscheduler(0, SCHED_BATCH, &none) == 0);
	CU_ASSERT_EQUAL_FATAL(pipe(pipe_fds), 0);	/* no close-on-exec */
	CU_ASSERT_EQUAL_FATAL(spawn("report", -1), CMN_OK);
	read_report();
	check_clean(3);
	(void)snprintf(line, sizeof(line), "policy %d on %d", SCHED_OTHER, CPU_COUNT(&all));
	CU_ASSERT(has(line));
	CU_ASSERT_EQUAL(sched_setaffinity(0, sizeof(all), &all), 0);
	/* A high number, as a program with many files has. */
	CU_ASSERT_EQUAL(fcntl(pipe_fds[1], F_DUPFD, 900), 900);
	CU_ASSERT_EQUAL_FATAL(spawn("report", file), CMN_OK);
	read_report();
	check_clean(4);
	CU_ASSERT_PTR_NOT_NULL(strstr(result, "/file\n"));
	CU_ASSERT_EQUAL(count("fd 3="), 1);
	(void)close(900);
	(void)close(file);
	(void)close(pipe_fds[0]);
	(void)close(pipe_fds[1]);
}

TEST(it_is_no_child_and_sends_no_signal)
{
	int pipe_fds[2];
	char byte;

	atomic_store(&signals, 0);
	(void)signal(SIGCHLD, note_signal);
	CU_ASSERT_EQUAL_FATAL(pipe2(pipe_fds, O_CLOEXEC), 0);
	CU_ASSERT_EQUAL_FATAL(spawn("mark", pipe_fds[1]), CMN_OK);
	CU_ASSERT_FALSE(has_children());
	(void)close(pipe_fds[1]);
	CU_ASSERT_EQUAL(read(pipe_fds[0], &byte, 1), 1);
	CU_ASSERT_EQUAL(read(pipe_fds[0], &byte, 1), 0);	/* it has ended */
	CU_ASSERT_FALSE(has_children());
	CU_ASSERT_EQUAL(atomic_load(&signals), 0);
	(void)close(pipe_fds[0]);
}

/* Where children are not waited for, and where a child of the application's waits to be. */
TEST(the_applications_own_children_are_left_to_it)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0)
		_exit(7);
	CU_ASSERT_EQUAL_FATAL(spawn("report", -1), CMN_OK);
	read_report();
	CU_ASSERT_EQUAL(waitpid(-1, &status, 0), child);
	CU_ASSERT_EQUAL(WEXITSTATUS(status), 7);
	(void)signal(SIGCHLD, SIG_IGN);
	CU_ASSERT_EQUAL_FATAL(spawn("report", -1), CMN_OK);
	read_report();
	check_clean(3);
	CU_ASSERT_FALSE(has_children());
}

TEST(signals_are_as_if_nobody_had_touched_them)
{
	struct sigaction action = { .sa_handler = note_signal }, before[65] = { { .sa_handler = SIG_DFL } }, after;
	enum cmn_status status;
	sigset_t all, mine, old;

	atomic_store(&signals, 0);
	for (int number = 1; number <= 64; number++) {
		action.sa_handler = number % 2 ? SIG_IGN : note_signal;
		(void)sigaction(number, &action, &before[number]);	/* not all can be set */
	}
	(void)sigfillset(&all);
	CU_ASSERT_EQUAL(pthread_sigmask(SIG_SETMASK, &all, &old), 0);
	status = spawn("report", -1);
	CU_ASSERT_EQUAL(pthread_sigmask(SIG_SETMASK, NULL, &mine), 0);
	for (int number = 1; number <= 64; number++) {
		CU_ASSERT_EQUAL(sigismember(&mine, number), sigismember(&all, number) &&
				number != SIGKILL && number != SIGSTOP);
		if (sigaction(number, NULL, &after) == 0 && number != SIGKILL && number != SIGSTOP)
			CU_ASSERT_EQUAL(after.sa_handler, number % 2 ? SIG_IGN : note_signal);
		if (number != SIGKILL && number != SIGSTOP)
			(void)sigaction(number, &before[number], NULL);
	}
	CU_ASSERT_EQUAL(pthread_sigmask(SIG_SETMASK, &old, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(status, CMN_OK);
	read_report();
	check_clean(3);
	CU_ASSERT_EQUAL(pthread_sigmask(SIG_SETMASK, NULL, &mine), 0);
	CU_ASSERT_EQUAL(sigismember(&mine, SIGTERM), 0);
	CU_ASSERT_EQUAL(atomic_load(&signals), 0);
}

/* In a child that has closed its standard streams, with the kept file as number. */
static void spawn_without_streams(int number)
{
	int file = open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	pid_t child;

	CU_ASSERT_FATAL(file >= 0);
	child = fork();
	if (child == 0) {
		if (number < 0)
			number = file;
		else if (dup2(file, number) != number)
			_exit(1);
		for (int fd = 0; fd < 3; fd++) {
			if (fd != number)
				(void)close(fd);
		}
		_exit(spawn("report", number) == CMN_OK && fcntl(number, F_GETFD) >= 0 &&
		      ((number == 0 || fcntl(0, F_GETFD) < 0)) ? 0 : 1);
	}
	CU_ASSERT(unit_ended_well(child));
	read_report();
	check_clean(4);
	CU_ASSERT_PTR_NOT_NULL(strstr(result, "/file\n"));
	(void)close(file);
}

TEST(the_process_may_have_closed_its_streams)
{
	spawn_without_streams(-1);
	for (int number = 0; number < 6; number++)
		spawn_without_streams(number);
}

/* The lock of a file that was passed on. */
TEST(what_is_kept_stays_locked_until_the_program_ends)
{
	int file = open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0600), other, end;

	CU_ASSERT_EQUAL_FATAL(flock(file, LOCK_EX | LOCK_NB), 0);
	CU_ASSERT_EQUAL_FATAL(spawn("hold", file), CMN_OK);
	(void)close(file);
	other = open("file", O_RDWR | O_CLOEXEC);
	CU_ASSERT_EQUAL(flock(other, LOCK_EX | LOCK_NB), -1);
	end = open(fifo, O_RDONLY | O_CLOEXEC);
	CU_ASSERT_EQUAL(flock(other, LOCK_EX), 0);
	(void)close(end);
	(void)close(other);
}

struct many {
	int keep_fd;
	atomic_bool *go;
	atomic_int *wrong;
};

static void wait_to_go(const struct many *many)
{
	while (!atomic_load(many->go))
		(void)sched_yield();
}

static void *spawn_many(void *arg)
{
	const struct many *many = arg;

	wait_to_go(many);
	for (int i = 0; i < SPAWNS; i++)
		atomic_fetch_add(many->wrong, spawn("mark", many->keep_fd) != CMN_OK);
	return NULL;
}

static void *fork_many(void *arg)
{
	const struct many *many = arg;
	int status;

	wait_to_go(many);
	for (int i = 0; i < SPAWNS; i++) {
		pid_t child = fork();

		if (child == 0)
			_exit(i);
		status = -1;
		atomic_fetch_add(many->wrong, child < 0 || waitpid(child, &status, 0) != child ||
				 !WIFEXITED(status) || WEXITSTATUS(status) != i);
	}
	return NULL;
}

TEST(many_threads_may_start_some_while_others_fork)
{
	pthread_t threads[2 * THREADS];
	atomic_int wrong = 0;
	atomic_bool go = false;
	struct many many = { .go = &go, .wrong = &wrong };
	int pipe_fds[2], marks = 0;
	char byte;

	CU_ASSERT_EQUAL_FATAL(pipe2(pipe_fds, O_CLOEXEC), 0);
	many.keep_fd = pipe_fds[1];
	for (int i = 0; i < 2 * THREADS; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, i % 2 ? spawn_many : fork_many, &many), 0);
	atomic_store(&go, true);
	for (int i = 0; i < 2 * THREADS; i++)
		CU_ASSERT_EQUAL(pthread_join(threads[i], NULL), 0);
	(void)close(pipe_fds[1]);
	while (read(pipe_fds[0], &byte, 1) == 1)
		marks++;
	(void)close(pipe_fds[0]);
	CU_ASSERT_EQUAL(marks, THREADS * SPAWNS);
	CU_ASSERT_EQUAL(atomic_load(&wrong), 0);
	CU_ASSERT_FALSE(has_children());
}

/* An application that gets others' children might wait for the program. */
TEST(who_gets_orphans_starts_nothing)
{
	is_init = true;
	CU_ASSERT_EQUAL(spawn("report", -1), CMN_ERR_INVALID);
	is_init = false;
	CU_ASSERT_EQUAL_FATAL(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	CU_ASSERT_EQUAL(spawn("report", -1), CMN_ERR_INVALID);
	CU_ASSERT_EQUAL_FATAL(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
	CU_ASSERT_FALSE(has_children());
	CU_ASSERT_EQUAL_FATAL(spawn("report", -1), CMN_OK);
	read_report();
}

static enum cmn_status spawn_path(const char *name)
{
	char *path = unit_path(name), *const argv[] = { path, NULL };

	return cmn_spawn_detached(path, argv, environment, -1);
}

TEST(what_cannot_be_run_says_why)
{
	unit_write("plain", "");
	unit_write("text", "no program");
	unit_write("directory/file", "");
	unit_write("script", "#!/no/such/interpreter\n");
	CU_ASSERT_EQUAL(chmod("text", 0700), 0);
	CU_ASSERT_EQUAL(chmod("script", 0700), 0);
	CU_ASSERT_EQUAL(spawn_path("missing"), CMN_MISS);
	CU_ASSERT_EQUAL(spawn_path("plain/missing"), CMN_MISS);
	CU_ASSERT_EQUAL(spawn_path("plain"), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(spawn_path("directory"), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(spawn_path("text"), CMN_ERR_IO);
	CU_ASSERT_EQUAL(spawn_path("script"), CMN_MISS);
	CU_ASSERT_EQUAL(spawn("report", 12345), CMN_ERR_IO);	/* no such descriptor */
	CU_ASSERT_FALSE(has_children());
}

TEST(a_kernel_that_refuses_is_an_error)
{
	static const struct {
		int error;
		enum cmn_status status;
	} cases[] = { { EAGAIN, CMN_ERR_IO }, { ENOMEM, CMN_ERR_NOMEM }, { EINVAL, CMN_ERR_IO },
		      { ENOSYS, CMN_ERR_IO }, { EPERM, CMN_ERR_ACCESS } };
	sigset_t mine;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		clone_error = cases[i].error;
		CU_ASSERT_EQUAL(spawn("report", -1), cases[i].status);
	}
	CU_ASSERT_EQUAL(pthread_sigmask(SIG_SETMASK, NULL, &mine), 0);
	CU_ASSERT_EQUAL(sigismember(&mine, SIGTERM), 0);
	clone_error = 0;
	no_memory = true;
	CU_ASSERT_EQUAL(spawn("report", -1), CMN_ERR_NOMEM);
}
