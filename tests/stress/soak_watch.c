/* SPDX-License-Identifier: MIT */
/* soak_watch: wrapped functions of libc, and what they measure and do. */
#include "tests/stress/soak_watch.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))
#define NS_PER_S INT64_C(1000000000)
/* Shorter ones are not worth a line. */
#define LEAST_NS (NS_PER_S / 1000)
#define REAL(name) (look_up_all(), real.name##_)

/* Of a thread. A flight that is waited for ends with another owner, another lock, or the call. */
static _Thread_local struct {
	bool is_own;		/* the cache's */
	bool exiting;
	int64_t asked;		/* in this call, or in exit() */
	int64_t exit_start;
	bool flight;		/* the last lock that was busy is one */
	long owner;
	int64_t start, last, late;
} thread;

static const char *record;
static long first_shift, second_shift, readings;
static atomic_long stop_at, kill_at;
static long slow_ms;
static bool no_threads;

static struct {
	__typeof__(&flock) flock_;
	__typeof__(&nanosleep) nanosleep_;
	__typeof__(&pthread_cond_timedwait) pthread_cond_timedwait_;
	__typeof__(&pthread_create) pthread_create_;
	__typeof__(&clock_gettime) clock_gettime_;
} real;

static void *look_up(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (!found)
		abort();
	return found;
}

/* Once, and before there are threads: a forked child may find the linker's lock held for ever. */
static void look_up_all(void)
{
	if (real.flock_)
		return;
	real.nanosleep_ = (__typeof__(real.nanosleep_))look_up("nanosleep");
	real.pthread_cond_timedwait_ =
		(__typeof__(real.pthread_cond_timedwait_))look_up("pthread_cond_timedwait");
	real.pthread_create_ = (__typeof__(real.pthread_create_))look_up("pthread_create");
	real.clock_gettime_ = (__typeof__(real.clock_gettime_))look_up("clock_gettime");
	real.flock_ = (__typeof__(real.flock_))look_up("flock");
}

static int64_t monotonic(void)
{
	struct timespec now;

	(void)REAL(clock_gettime)(CLOCK_MONOTONIC, &now);	/* it is there */
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static long number_of(const char *name)
{
	const char *text = getenv(name);

	return text ? atol(text) : 0;
}

__attribute__((constructor)) static void begin(void)
{
	const char *jump = getenv("SOAK_CLOCK");

	look_up_all();
	record = getenv("SOAK_RECORD");
	slow_ms = number_of("SOAK_SLOW");
	atomic_store(&stop_at, number_of("SOAK_STOP_AT"));
	atomic_store(&kill_at, number_of("SOAK_KILL_AT"));
	no_threads = number_of("SOAK_NO_THREADS") != 0;
	if (jump)
		(void)sscanf(jump, "%ld:%ld:%ld", &first_shift, &readings, &second_shift);
}

/* A number that the program closes at any time is not kept. */
__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
	int error = errno, fd;
	char line[512];
	va_list list;
	int len;

	va_start(list, format);
	len = vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	fd = record ? open(record, O_WRONLY | O_NONBLOCK | O_CLOEXEC) : -1;
	if (fd >= 0) {
		(void)!write(fd, line, (size_t)len);	/* where nobody reads any more it is lost */
		(void)close(fd);
	}
	errno = error;
}

/* Whether a call comes from the layer. */
static bool is_product(const void *caller)
{
	struct dl_find_object info;
	const char *name;

	if (_dl_find_object((void *)caller, &info) != 0)
		return false;
	name = strrchr(info.dlfo_link_map->l_name, '/');
	return name && strncmp(name, "/libckcache", 11) == 0;
}

static bool is_watched(const void *caller)
{
	int error = errno;
	bool watched = !thread.is_own && is_product(caller);

	errno = error;
	return watched;
}

static void end_flight(void)
{
	if (thread.flight)
		note("flight %d %ld %" PRId64 " %" PRId64 "\n", (int)getpid(), thread.owner,
		     thread.start, thread.last - thread.late);
	thread.flight = false;
}

static void path_of(int fd, char *ret_path, size_t size)
{
	char link[64];
	ssize_t len;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, ret_path, size - 1);
	ret_path[len > 0 ? len : 0] = '\0';
}

/* A lock that was busy: whether a flight's, and whose. */
static void note_busy(int fd)
{
	char path[300], line[24] = "";
	long owner;

	path_of(fd, path, sizeof(path));
	if (!strstr(path, "/flights/")) {
		end_flight();
		return;
	}
	owner = pread(fd, line, sizeof(line) - 1, 0) > 0 ? atol(line) : 0;
	if (thread.flight && thread.owner == owner) {
		thread.last = monotonic();
		return;
	}
	end_flight();
	thread.flight = true;
	thread.owner = owner;
	thread.start = thread.last = monotonic();
	thread.late = 0;
}

static bool is_now(atomic_long *countdown)
{
	return atomic_load(countdown) > 0 && atomic_fetch_sub(countdown, 1) == 1;
}

static void note_taken(int fd)
{
	bool kills = is_now(&kill_at), stops = is_now(&stop_at);
	char path[300];

	if (!kills && !stops)
		return;
	path_of(fd, path, sizeof(path));
	note("held %d %s\n", (int)getpid(), path);
	(void)kill(getpid(), kills ? SIGKILL : SIGSTOP);	/* all threads; cannot fail */
}

EXPORTED int flock(int fd, int operation)
{
	bool product = is_product(__builtin_return_address(0)), watched = product && !thread.is_own;
	int64_t start = watched ? monotonic() : 0;
	int result = REAL(flock)(fd, operation), error = errno;

	/* One that blocks is waited for, whatever it says. */
	if (watched && !(operation & (LOCK_NB | LOCK_UN)))
		thread.asked += monotonic() - start;
	if (product && result == 0 && operation & LOCK_EX)
		note_taken(fd);
	if (slow_ms && thread.is_own && result == 0) {
		const struct timespec pause = { slow_ms / 1000, slow_ms % 1000 * 1000000 };

		(void)REAL(nanosleep)(&pause, NULL);	/* a signal only makes it shorter */
	}
	if (watched && operation & LOCK_EX) {
		if (result != 0)
			note_busy(fd);
		else
			end_flight();
	}
	errno = error;
	return result;
}

EXPORTED int nanosleep(const struct timespec *time, struct timespec *left)
{
	bool watched = is_watched(__builtin_return_address(0));
	int64_t start = watched ? monotonic() : 0, asked = time->tv_sec * NS_PER_S + time->tv_nsec;
	int result = REAL(nanosleep)(time, left), error = errno;

	if (watched && thread.flight) {
		thread.last = monotonic();
		thread.late += thread.last - start > asked ? thread.last - start - asked : 0;
	} else if (watched) {
		thread.asked += asked;
	}
	errno = error;
	return result;
}

/* The layer's conditions are on the monotonic clock. */
EXPORTED int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
				    const struct timespec *until)
{
	bool watched = is_watched(__builtin_return_address(0));
	int64_t start = watched ? monotonic() : 0, most, took;
	int result = REAL(pthread_cond_timedwait)(condition, mutex, until);

	if (watched) {
		took = monotonic() - start;
		most = until->tv_sec * NS_PER_S + until->tv_nsec - start;
		thread.asked += took < most ? took : most > 0 ? most : 0;
	}
	return result;
}

struct beginning {
	void *(*run)(void *data);
	void *data;
};

static void *run_own(void *data)
{
	struct beginning beginning = *(struct beginning *)data;

	free(data);
	thread.is_own = true;
	return beginning.run(beginning.data);
}

EXPORTED int pthread_create(pthread_t *ret_thread, const pthread_attr_t *attributes,
			    void *(*run)(void *data), void *data)
{
	struct beginning *beginning;
	int error;

	if (!is_watched(__builtin_return_address(0)))
		return REAL(pthread_create)(ret_thread, attributes, run, data);
	if (no_threads)
		return EAGAIN;
	beginning = malloc(sizeof(*beginning));
	if (!beginning)
		return EAGAIN;
	*beginning = (struct beginning){ run, data };
	error = REAL(pthread_create)(ret_thread, attributes, run_own, beginning);
	if (error)
		free(beginning);
	return error;
}

EXPORTED int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	static atomic_long count;
	int result = REAL(clock_gettime)(clock, ret_time);

	if (clock == CLOCK_REALTIME && result == 0)
		ret_time->tv_sec += atomic_fetch_add(&count, 1) < readings ? first_shift : second_shift;
	return result;
}

EXPORTED void soak_call(void)
{
	thread.asked = 0;
}

EXPORTED void soak_called(void)
{
	end_flight();
	if (thread.asked > LEAST_NS)
		note("call %d %" PRId64 "\n", (int)getpid(), thread.asked);
	thread.asked = 0;
}

EXPORTED void soak_exit(void)
{
	thread.asked = 0;
	thread.exit_start = monotonic();
	thread.exiting = true;
}

/* After the layer's, which was loaded later. */
__attribute__((destructor)) static void end(void)
{
	end_flight();
	if (thread.exiting)
		note("exit %d %" PRId64 " %" PRId64 "\n", (int)getpid(), thread.asked,
		     monotonic() - thread.exit_start);
}
