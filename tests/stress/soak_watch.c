/* SPDX-License-Identifier: MIT */
/* soak_watch: wrapped functions of libc, and what they measure and do. */
#include "tests/stress/soak_watch.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/file.h>

#include "tests/support/posix.h"

#define EXPORTED __attribute__((visibility("default")))
#define NS_PER_S INT64_C(1000000000)
/* Shorter ones are not worth a line. */
#define LEAST_NS (NS_PER_S / 1000)
#define REAL(name) (look_up_all(), real.name##_)

/* Another's build that the thread waits for: until it has another owner, is over, or the call ends. */
struct wait {
	bool waits;
	bool pauses;		/* what sleeps next does so for that */
	long owner;
	int64_t start, last, late;
};

static _Thread_local struct {
	bool exiting;
	int64_t asked;		/* in this call, or in exit() */
	int64_t exit_start;
	struct wait wait;
} thread;

static const char *record;
static long first_shift, second_shift, readings;
static atomic_long stop_at, kill_at;
static long slow_ms;

static struct {
	__typeof__(&flock) flock_;
	__typeof__(&fcntl) fcntl_;
	__typeof__(&nanosleep) nanosleep_;
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
	real.fcntl_ = (__typeof__(real.fcntl_))look_up("fcntl");
	real.nanosleep_ = (__typeof__(real.nanosleep_))look_up("nanosleep");
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

/* The thread that waits is the parent's. */
static void forget_waits(void)
{
	thread.wait.waits = false;
}

__attribute__((constructor)) static void begin(void)
{
	const char *jump = getenv("SOAK_CLOCK");

	look_up_all();
	if (pthread_atfork(NULL, NULL, forget_waits) != 0)
		abort();
	record = getenv("SOAK_RECORD");
	slow_ms = number_of("SOAK_SLOW");
	atomic_store(&stop_at, number_of("SOAK_STOP_AT"));
	atomic_store(&kill_at, number_of("SOAK_KILL_AT"));
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
	bool watched = is_product(caller);

	errno = error;
	return watched;
}

static void end_wait(struct wait *wait)
{
	if (!wait->waits)
		return;
	note("build %d %ld %" PRId64 " %" PRId64 "\n", (int)getpid(), wait->owner, wait->start,
	     wait->last - wait->late);
	wait->waits = false;
}

static void path_of(int fd, char *ret_path, size_t size)
{
	char link[64];
	ssize_t len;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, ret_path, size - 1);
	ret_path[len > 0 ? len : 0] = '\0';
}

/* A build's lock that is another's. */
static void note_busy(int fd, const struct flock *wanted)
{
	struct flock range = *wanted;
	struct wait *wait = &thread.wait;
	long owner = REAL(fcntl)(fd, F_GETLK, &range) == 0 && range.l_type != F_UNLCK ? (long)range.l_pid : 0;

	if (!wait->waits || wait->owner != owner) {
		end_wait(wait);
		*wait = (struct wait){ .waits = true, .owner = owner, .start = monotonic() };
	}
	wait->last = monotonic();
	wait->pauses = true;
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
	bool product = is_product(__builtin_return_address(0));
	int64_t start = product ? monotonic() : 0;
	int result = REAL(flock)(fd, operation), error = errno;

	/* One that blocks is waited for, whatever it says. */
	if (product && !(operation & (LOCK_NB | LOCK_UN)))
		thread.asked += monotonic() - start;
	if (product && result == 0 && operation & LOCK_EX)
		note_taken(fd);
	if (slow_ms && product && result == 0) {
		const struct timespec pause = { slow_ms / 1000, slow_ms % 1000 * 1000000 };

		(void)REAL(nanosleep)(&pause, NULL);	/* a signal only makes it shorter */
	}
	errno = error;
	return result;
}

/* Record locks are builds' alone. */
EXPORTED int fcntl(int fd, int command, ...)
{
	bool product = is_product(__builtin_return_address(0));
	const struct flock *range;
	int result, error;
	va_list list;
	void *argument;

	va_start(list, command);
	argument = va_arg(list, void *);	/* whatever it is, if there is one */
	va_end(list);
	result = REAL(fcntl)(fd, command, argument);
	if (!product || command != F_SETLK)
		return result;
	error = errno;
	range = argument;
	if (range->l_type == F_WRLCK && result == 0) {
		end_wait(&thread.wait);
		note_taken(fd);
	} else if (range->l_type == F_WRLCK) {
		note_busy(fd, range);
	}
	errno = error;
	return result;
}

EXPORTED int nanosleep(const struct timespec *time, struct timespec *left)
{
	bool watched = is_watched(__builtin_return_address(0));
	int64_t start = monotonic(), asked = time->tv_sec * NS_PER_S + time->tv_nsec;
	int result = REAL(nanosleep)(time, left);

	/* By so much it was woken up late. */
	if (watched && thread.wait.waits && thread.wait.pauses)
		thread.wait.late += monotonic() - start - asked;
	else if (watched)
		thread.asked += asked;
	thread.wait.pauses = false;
	return result;
}

/* The cache has none. */
EXPORTED int pthread_create(pthread_t *ret_thread, const pthread_attr_t *attributes,
			    void *(*run)(void *data), void *data)
{
	if (is_product(__builtin_return_address(0)))
		note("thread %d\n", (int)getpid());
	return REAL(pthread_create)(ret_thread, attributes, run, data);
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
	end_wait(&thread.wait);
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
	if (thread.exiting)
		note("exit %d %" PRId64 " %" PRId64 "\n", (int)getpid(), thread.asked,
		     monotonic() - thread.exit_start);
}
