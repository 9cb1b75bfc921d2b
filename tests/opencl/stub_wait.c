/* SPDX-License-Identifier: MIT */
/*
 * stub_wait: builds and queries that wait for what a test does meanwhile, so
 * that calls meet in one certain order: the gates and STUB_SUPERSEDED.
 */
#include "tests/opencl/stub_driver.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* Of a thread that calls back: the program whose binaries it may not read yet. */
static _Thread_local cl_program held_back;
static _Thread_local unsigned int held_until;

void stub_wait_gate(const char *setting)
{
	char path[4096], byte;
	int fd;

	if (!stub_setting(setting, path, sizeof(path)))
		return;
	fd = stub_unseen_open(path, O_RDONLY | O_CLOEXEC, 0);	/* lets the test go on that opens it for writing */
	if (fd < 0 && errno == ENOENT)
		return;
	if (fd < 0 || read(fd, &byte, 1) != 0)	/* until the test closes it */
		abort();	/* a test driver has nothing better to do */
	(void)close(fd);	/* only read */
}

bool stub_wait_is_set(void)
{
	return stub_is_set("STUB_SUPERSEDED");
}

void stub_wait_note_build(cl_program program)
{
	if (!stub_wait_is_set())
		return;
	(void)pthread_mutex_lock(&lock);	/* a default mutex does not fail */
	program->builds_done++;
	(void)pthread_cond_broadcast(&changed);	/* as above */
	(void)pthread_mutex_unlock(&lock);	/* as above */
}

/* With the lock. */
static void wait_for_another(cl_program program, unsigned int builds_done)
{
	while (program->builds_done <= builds_done)
		(void)pthread_cond_wait(&changed, &lock);	/* does not fail */
}

/*
 * With the lock. The same, but no longer than it takes to see that the other
 * build waits for this call.
 */
static void wait_for_another_a_while(cl_program program, unsigned int builds_done)
{
	struct timespec until;

	(void)clock_gettime(CLOCK_REALTIME, &until);	/* it is there */
	until.tv_sec++;
	while (program->builds_done <= builds_done &&
	       pthread_cond_timedwait(&changed, &lock, &until) == 0)
		continue;
}

/* With the lock. */
static void let_start_return(cl_program program)
{
	program->callback_waits = true;
	(void)pthread_cond_broadcast(&changed);	/* does not fail */
}

struct late {
	cl_program program;
	unsigned int builds_done;
	void (*end)(void *data);
	void *data;
};

static void *late_thread(void *data)
{
	struct late *late = data;
	char mode[16];

	(void)stub_setting("STUB_SUPERSEDED", mode, sizeof(mode));
	if (!strcmp(mode, "binary")) {
		held_back = late->program;
		held_until = late->builds_done;
	} else {
		(void)pthread_mutex_lock(&lock);	/* does not fail */
		let_start_return(late->program);
		wait_for_another(late->program, late->builds_done);
		(void)pthread_mutex_unlock(&lock);	/* does not fail */
	}
	late->end(late->data);
	held_back = NULL;
	(void)pthread_mutex_lock(&lock);	/* does not fail */
	let_start_return(late->program);	/* nobody asked for its binaries */
	(void)pthread_mutex_unlock(&lock);	/* does not fail */
	(void)stub_clReleaseProgram(late->program);	/* retained below */
	free(late);
	return NULL;
}

void stub_wait_start(cl_program program, void (*end)(void *data), void *data)
{
	struct late *late = calloc(1, sizeof(*late));
	pthread_t thread;

	if (!late)
		abort();
	(void)stub_clRetainProgram(program);	/* twice: for the thread, and for here */
	(void)stub_clRetainProgram(program);
	(void)pthread_mutex_lock(&lock);	/* a default mutex does not fail */
	*late = (struct late){ program, program->builds_done, end, data };
	program->callback_waits = false;
	(void)pthread_mutex_unlock(&lock);	/* as above */
	if (pthread_create(&thread, NULL, late_thread, late))
		abort();
	(void)pthread_detach(thread);	/* it was just made */
	(void)pthread_mutex_lock(&lock);	/* does not fail */
	while (!program->callback_waits)
		(void)pthread_cond_wait(&changed, &lock);	/* does not fail */
	(void)pthread_mutex_unlock(&lock);	/* does not fail */
	(void)stub_clReleaseProgram(program);	/* retained above */
}

void stub_wait_read(cl_program program)
{
	if (held_back != program)
		return;
	held_back = NULL;
	(void)pthread_mutex_lock(&lock);	/* does not fail */
	let_start_return(program);
	wait_for_another_a_while(program, held_until);
	(void)pthread_mutex_unlock(&lock);	/* does not fail */
}
