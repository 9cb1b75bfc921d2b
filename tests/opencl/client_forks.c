/* SPDX-License-Identifier: MIT */
/*
 * client_forks: scenarios in which the process forks while the layer has
 * something under way. They print what they find; what is right is known
 * beforehand, since no driver is asked to stand this without the layer.
 */
#include <sched.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "tests/opencl/client.h"

enum { PATIENCE_S = 60 };	/* a process that hangs is killed, and the scenario fails */

static bool is_right(struct client *client, cl_program program, const char *options)
{
	cl_kernel kernel = client_kernel(program, "scale");
	bool right = client_private_size(client, kernel) == client_digest(client_source, options);

	return clReleaseKernel(kernel) == CL_SUCCESS && right;
}

static int wait_for_child(pid_t child)
{
	int status = -1;

	if (waitpid(child, &status, 0) != child)
		client_fail("waitpid", status);
	return status;
}

static pid_t fork_here(void)
{
	pid_t child;

	(void)fflush(stdout);	/* else the child prints it too */
	child = fork();
	if (child < 0)
		client_fail("fork", child);
	(void)alarm(PATIENCE_S);	/* cannot fail; a child inherits none */
	return child;
}

/* exit-forked COUNTS: parent and child both end with a program alive; the child's driver counts into COUNTS. */
SCENARIO(exit_forked)
{
	cl_program program = client_program(client, client_source);
	pid_t child;

	printf("build %d\n", client_build(program, "-DK=5"));
	printf("right %d\n", is_right(client, program, "-DK=5"));
	child = fork_here();
	if (child == 0) {
		if (setenv("STUB_COUNTS", client->arguments[0], 1) ||
		    setenv("STUB_COUNT_QUERIES", "1", 1))
			exit(3);
		exit(0);
	}
	printf("child %d\n", wait_for_child(child));
	exit(fflush(stdout) ? 2 : 0);
}

struct builder {
	pthread_t thread;
	cl_program program;
	const char *options;
	atomic_int id;		/* the kernel's, of the thread; 0: not yet running */
	cl_int error;		/* after it ended */
};

static void *run_builder(void *data)
{
	struct builder *builder = data;

	atomic_store(&builder->id, (int)gettid());
	builder->error = client_build(builder->program, builder->options);
	return NULL;
}

static void start_builder(struct builder *builder)
{
	if (pthread_create(&builder->thread, NULL, run_builder, builder))
		client_fail("pthread_create", 0);
}

static void end_builder(struct builder *builder)
{
	if (pthread_join(builder->thread, NULL))
		client_fail("pthread_join", 0);
	printf("build %d\n", builder->error);
}

static bool is_asleep(int id)
{
	char path[64], text[512] = "";
	const char *state;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat", id);
	file = fopen(path, "r");
	if (!file || !fgets(text, sizeof(text), file))
		client_fail(path, 0);
	(void)fclose(file);	/* only read */
	state = strrchr(text, ')');	/* the name before it may hold anything */
	return state && state[1] && state[2] == 'S';
}

/* Until the thread waits, as it must for another build of its program. */
static void wait_until_asleep(struct builder *builder)
{
	while (!atomic_load(&builder->id) || !is_asleep(atomic_load(&builder->id)))
		(void)sched_yield();	/* cannot fail */
}

/* The driver's builds from source (STUB_GATE), or its loads, stop at this gate, from now on. */
static void make_gate(const char *setting, const char *path)
{
	if (mkfifo(path, 0600) || setenv(setting, path, 1))
		client_fail(path, 0);
}

/* Returns when a build has come to the gate; closing the descriptor opens it. */
static int meet_at_gate(const char *path)
{
	int fd;

	(void)alarm(PATIENCE_S);	/* nobody comes where a hit was a miss, or the reverse; cannot fail */
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		client_fail(path, 0);
	return fd;
}

static void open_gate(int fd)
{
	(void)unsetenv("STUB_LOAD_GATE");
	(void)unsetenv("STUB_GATE");	/* for the builds that follow; cannot fail */
	(void)close(fd);	/* nothing was written */
}

/* One thread builds a program, in the driver, and another waits for it; returns the gate's descriptor. */
static int start_two(struct builder *builders, const char *gate)
{
	int fd;

	make_gate("STUB_GATE", gate);
	start_builder(&builders[0]);
	fd = meet_at_gate(gate);
	start_builder(&builders[1]);
	wait_until_asleep(&builders[1]);
	return fd;
}

static void end_two(struct client *client, struct builder *builders, int fd)
{
	open_gate(fd);
	end_builder(&builders[0]);
	end_builder(&builders[1]);
	printf("right %d\n", is_right(client, builders[1].program, builders[1].options));
}

/* The same program and options as the parent's thread is at, then two threads of its own. */
static void build_in_child(struct client *client, cl_program program)
{
	struct builder builders[2] = { { .program = program, .options = "-DK=3" },
				       { .program = program, .options = "-DK=4" } };

	printf("child's build %d\n", client_build(program, "-DK=1"));
	printf("right %d\n", is_right(client, program, "-DK=1"));
	end_two(client, builders, start_two(builders, "gate-of-child"));
	printf("release %d\n", clReleaseProgram(program));
}

/* A child is forked while one thread builds a program and another waits to build it. */
SCENARIO(fork_building)
{
	cl_program program = client_program(client, client_source);
	struct builder builders[2] = { { .program = program, .options = "-DK=1" },
				       { .program = program, .options = "-DK=2" } };
	int fd = start_two(builders, "gate");
	pid_t child = fork_here();

	if (child == 0) {
		open_gate(fd);
		build_in_child(client, program);
		exit(fflush(stdout) ? 2 : 0);
	}
	printf("child %d\n", wait_for_child(child));
	end_two(client, builders, fd);
	printf("release %d\n", clReleaseProgram(program));
}

static _Noreturn void end_child(struct client *client, cl_program program, const char *options, int gate)
{
	open_gate(gate);
	printf("child's build %d\n", client_build(program, options));
	printf("right %d\n", is_right(client, program, options));
	exit(fflush(stdout) ? 2 : 0);
}

/* A child is forked, and loads what one thread of its parent is loading. */
SCENARIO(fork_loading)
{
	struct builder builder = { .program = client_program(client, client_source), .options = "-DK=1" };
	pid_t child;
	int fd;

	make_gate("STUB_LOAD_GATE", "gate");
	start_builder(&builder);
	fd = meet_at_gate("gate");
	child = fork_here();
	if (child == 0)
		end_child(client, client_program(client, client_source), "-DK=1", fd);
	printf("child %d\n", wait_for_child(child));
	open_gate(fd);
	end_builder(&builder);
	printf("release %d\n", clReleaseProgram(builder.program));
}

static void CL_CALLBACK post(cl_program program, void *data)
{
	(void)program;
	(void)sem_post(data);	/* cannot overflow */
}

/* A child is forked while the driver builds a program of which it will call back. */
SCENARIO(fork_called_back)
{
	cl_program program = client_program(client, client_source);
	pid_t child;
	sem_t built;
	int fd;

	if (sem_init(&built, 0, 0))
		client_fail("sem_init", 0);
	make_gate("STUB_GATE", "gate");
	printf("build %d\n", clBuildProgram(program, 0, NULL, "-DK=1", post, &built));
	fd = meet_at_gate("gate");
	child = fork_here();
	if (child == 0)
		end_child(client, program, "-DK=3", fd);
	printf("child %d\n", wait_for_child(child));
	open_gate(fd);
	while (sem_wait(&built))
		;	/* a signal */
	printf("right %d\n", is_right(client, program, "-DK=1"));
	printf("release %d\n", clReleaseProgram(program));
}

static char *const sleeper[] = { (char *)"sleep", (char *)"900", NULL };

/* A child that lives on, made in one of the ways that there are. */
static pid_t make_child(const char *way)
{
	pid_t child = -1;

	if (!strcmp(way, "fork")) {
		child = fork();
	} else if (!strcmp(way, "clone")) {
		child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);	/* no handlers run */
	} else if (!strcmp(way, "vfork")) {
		child = vfork();	/* NOLINT(clang-analyzer-security.insecureAPI.vfork): it is the subject */
		if (child == 0) {
			(void)execvp(sleeper[0], sleeper);
			_exit(127);
		}
	} else if (posix_spawnp(&child, sleeper[0], NULL, NULL, sleeper, environ)) {
		client_fail("posix_spawn", 0);
	}
	if (child < 0)
		client_fail(way, child);
	while (child == 0)
		(void)pause();
	return child;
}

/* leave-children WAY: as a daemon does, it ends without an end, and its children live. */
SCENARIO(leave_children)
{
	FILE *pids = fopen("children", "w");

	if (!pids)
		client_fail("children", 0);
	for (int i = 0; i < 12; i++) {
		cl_program program = client_program(client, client_source);
		char options[32];

		(void)snprintf(options, sizeof(options), "-DK=%d", 100 + i);
		if (client_build(program, options))
			client_fail(options, 0);
		/* While the writer is at it, each time a little further. */
		(void)usleep((useconds_t)(40 * i));
		(void)fprintf(pids, "%d\n", (int)make_child(client->arguments[0]));
	}
	if (fclose(pids))
		client_fail("children", 0);
	_exit(0);
}

/* close-all: closes everything while the cache writes, and has files of its own by the same numbers. */
SCENARIO(close_all)
{
	enum { FILES = 64 };
	static const char text[] = "the application's";
	char name[32], got[sizeof(text) + 1];
	unsigned int damaged = 0;
	int fds[FILES];

	for (int i = 0; i < 12; i++) {
		cl_program program = client_program(client, client_source);

		(void)snprintf(name, sizeof(name), "-DK=%d", 200 + i);
		if (client_build(program, name))
			client_fail(name, 0);
		(void)usleep((useconds_t)(40 * i));
		if (close_range(3, ~0U, 0))
			client_fail("close_range", 0);
		for (int j = 0; j < FILES; j++) {
			(void)snprintf(name, sizeof(name), "own-%d-%d", i, j);
			fds[j] = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
			if (fds[j] < 0 || pwrite(fds[j], text, sizeof(text), 0) != sizeof(text))
				client_fail(name, 0);
		}
		(void)usleep(5000);
		for (int j = 0; j < FILES; j++)
			damaged += pread(fds[j], got, sizeof(got), 0) != sizeof(text) ||
				   memcmp(got, text, sizeof(text)) != 0;
	}
	printf("damaged %u\n", damaged);
}
