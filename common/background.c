/* SPDX-License-Identifier: MIT */
/*
 * background: two threads. A process ends when its last thread returns, and that one calls exit(),
 * with the application's handlers and the buffers of its streams: it must have the application's
 * descriptors. So a thread that has these starts the one that works, and outlives it.
 */
#include "common/background.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "common/descriptor.h"

/* Path buffers and libdeflate's frames need a tenth of it; the rest is for the C library's thread-local data. */
#define STACK_SIZE ((size_t)512 << 10)

extern void __tsan_init(void) __attribute__((weak));

/*
 * ThreadSanitizer gives up where a thread of a forked child lies where one of the parent's did. The C
 * library does not take a smaller stack that is left over.
 */
static size_t stack_size(void)
{
	static atomic_size_t threads;

	/* It rounds sizes up to two megabytes. */
	return STACK_SIZE + (__tsan_init ? (atomic_fetch_add(&threads, 1) % 64 + 1) << 22 : 0);
}

struct job {
	void (*work)(void *arg);
	void *arg;
	bool done;
};

static bool create(void *(*run)(void *), struct job *job, pthread_t *ret)
{
	pthread_attr_t attr;
	int error;

	if (pthread_attr_init(&attr) != 0)
		return false;
	error = pthread_attr_setstacksize(&attr, stack_size());
	if (error == 0)
		error = pthread_create(ret, &attr, run, job);
	(void)pthread_attr_destroy(&attr);	/* cannot fail on an initialised one */
	/* A program with much thread-local data needs more than our size for that alone. */
	if (error == EINVAL)
		error = pthread_create(ret, NULL, run, job);
	return error == 0;
}

static void *work(void *arg)
{
	struct job *job = arg;

	if (!cmn_descriptors_separate())
		return NULL;
	job->work(job->arg);
	job->done = true;
	return NULL;
}

static void *keep(void *arg)
{
	const struct sched_param param = { .sched_priority = 0 };
	struct job *job = arg;
	pthread_t worker;

	/*
	 * Inherited by the one that works. When that is woken it does not take the
	 * processor from who woke it. Without, it only costs the application some
	 * of its time. Filters of system calls often kill whoever sets a policy
	 * (SystemCallFilter=~@resources), so not where there is one.
	 */
	if (prctl(PR_GET_SECCOMP) == 0)
		(void)pthread_setschedparam(pthread_self(), SCHED_BATCH, &param);
	if (cmn_descriptors_may_separate() && create(work, job, &worker))
		(void)pthread_join(worker, NULL);	/* it is joinable, and not this one */
	if (!job->done)
		job->work(job->arg);
	free(job);
	return NULL;
}

bool cmn_background_start(void (*work_fn)(void *arg), void *arg, pthread_t *ret)
{
	struct job *job = malloc(sizeof(*job));
	sigset_t all, old;
	bool created;

	if (!job)
		return false;
	*job = (struct job){ work_fn, arg, false };
	(void)sigfillset(&all);	/* cannot fail */
	if (pthread_sigmask(SIG_SETMASK, &all, &old) != 0) {
		free(job);
		return false;
	}
	created = create(keep, job, ret);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);	/* arguments are right */
	if (!created)
		free(job);
	return created;
}
