/* SPDX-License-Identifier: MIT */
/* client_lives: scenarios about processes and threads that end or begin. */
#include <dlfcn.h>
#include <semaphore.h>

#include "tests/opencl/client.h"
#include "tests/opencl/digest.h"

static void *last_thread(void *data)
{
	struct client *client = data;
	cl_program program = client_program(client, client_source);

	printf("last thread's build %d\n", client_build(program, "-DK=15"));
	return NULL;
}

/*
 * The main thread ends before another; when that has ended, too, the process has.
 * glibc opens libgcc_s for that: while the other thread's program is built, it would
 * be a compiler that nobody foresaw, and the program would not be stored.
 */
SCENARIO(pthread_exit)
{
	static struct client kept;	/* the main thread's stack may go */
	cl_program program = client_program(client, client_source);
	pthread_t thread;

	(void)dlopen("libgcc_s.so.1", RTLD_NOW);	/* without it, pthread_exit has none either */
	printf("build %d\n", client_build(program, "-DK=14"));
	kept = *client;
	if (pthread_create(&thread, NULL, last_thread, &kept))
		client_fail("pthread_create", 0);
	pthread_exit(NULL);
}

struct cancelled {
	cl_program program;
	sem_t wanted;
};

static void *cancelled_thread(void *data)
{
	struct cancelled *cancelled = data;
	int ignored;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);	/* the argument is right */
	while (sem_wait(&cancelled->wanted) != 0)
		continue;
	(void)pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &ignored);	/* likewise */
	printf("build %d\n", client_build(cancelled->program, "-DK=15"));
	pthread_testcancel();
	return NULL;
}

/* A thread that is to end builds; then others do. */
SCENARIO(cancelled)
{
	struct cancelled cancelled = { .program = client_program(client, client_source) };
	void *result = NULL;
	pthread_t thread;

	(void)dlopen("libgcc_s.so.1", RTLD_NOW);	/* as above */
	if (sem_init(&cancelled.wanted, 0, 0) ||
	    pthread_create(&thread, NULL, cancelled_thread, &cancelled))
		client_fail("pthread_create", 0);
	(void)pthread_cancel(thread);	/* it lives */
	(void)sem_post(&cancelled.wanted);	/* its first */
	(void)pthread_join(thread, &result);	/* it is joinable */
	printf("cancelled %d\n", result == PTHREAD_CANCELED);
	printf("build again %d\n", client_build(cancelled.program, "-DK=15"));
	printf("build another %d\n", client_build(client_program(client, client_source), "-DK=15"));
}

/* Builds before, in and after a forked child that uses its own copy of the session. */
SCENARIO(fork)
{
	int status = -1;
	pid_t child;

	client_run(client, "vector");
	(void)fflush(stdout);	/* else the child prints it too */
	child = fork();
	if (child < 0)
		client_fail("fork", child);
	if (child == 0) {
		client_run(client, "two-options");
		exit(fflush(stdout) ? 2 : 0);
	}
	if (waitpid(child, &status, 0) != child)
		client_fail("waitpid", status);
	printf("child %d\n", status);
	client_run(client, "rebuild");
}

/* threads THREADS PROGRAMS: all threads build all programs at once, each in another order. */
struct crowd {
	struct client *client;
	unsigned int first, programs;
	unsigned int wrong;
	pthread_barrier_t *start;
};

static bool one_of_many(struct client *client, unsigned int number)
{
	char source[256], name[32], image[512], options[32];
	cl_long expected, value;
	cl_program program;
	cl_kernel kernel;
	bool good;

	(void)snprintf(name, sizeof(name), "work_%u", number);
	(void)snprintf(options, sizeof(options), "-DK=%u", number % 3);
	(void)snprintf(source, sizeof(source),
		       "kernel void %s(global int *out)\n{ out[get_global_id(0)] = %u + K; }\n",
		       name, number * 10);
	(void)snprintf(image, sizeof(image), "%s\n%s", options, source);
	expected = client->executes ? (cl_long)(number * 10 + number % 3) :
				      (cl_long)digest_of(image);
	program = client_program(client, source);
	if (client_build(program, options))
		return false;
	kernel = client_kernel(program, name);
	/* Each thread has its own kernel and buffer; the queue is safe to share. */
	value = client_value(client, kernel);
	good = value == expected && client_references(program) >= 1;
	return !clReleaseKernel(kernel) && !clReleaseProgram(program) && good;
}

static void *crowd_thread(void *data)
{
	struct crowd *crowd = data;

	(void)pthread_barrier_wait(crowd->start);	/* only fails if not made */
	for (unsigned int i = 0; i < crowd->programs; i++)
		crowd->wrong += !one_of_many(crowd->client, (crowd->first + i) % crowd->programs);
	return NULL;
}

SCENARIO(threads)
{
	enum { MAX_THREADS = 64 };
	unsigned int threads = (unsigned int)atoi(client->arguments[0]);
	unsigned int programs = (unsigned int)atoi(client->arguments[1]), wrong = 0;
	struct crowd crowds[MAX_THREADS];
	pthread_t ids[MAX_THREADS];
	pthread_barrier_t start;

	if (!threads || threads > MAX_THREADS || !programs ||
	    pthread_barrier_init(&start, NULL, threads))
		client_fail("threads", 0);
	for (unsigned int i = 0; i < threads; i++) {
		crowds[i] = (struct crowd){ client, i * programs / threads, programs, 0, &start };
		if (pthread_create(&ids[i], NULL, crowd_thread, &crowds[i]))
			client_fail("pthread_create", 0);
	}
	for (unsigned int i = 0; i < threads; i++) {
		if (pthread_join(ids[i], NULL))
			client_fail("pthread_join", 0);
		wrong += crowds[i].wrong;
	}
	(void)pthread_barrier_destroy(&start);	/* nobody waits any more */
	printf("wrong %u\n", wrong);
}
