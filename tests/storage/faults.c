/* SPDX-License-Identifier: MIT */
/*
 * faults: preloaded into a storage helper; makes happen in one of its calls what otherwise
 * happens once in a million. STORAGE_FAULT says what:
 *
 *   stale   nothing can be removed, since the file server has forgotten the directory (ESTALE);
 *           from then on no path can be resolved. A close of what is not open aborts, always.
 *   swap    after a path was resolved, the link $STORAGE_SWAP_TO becomes $STORAGE_SWAP_FROM.
 *   stop    stops the process just before it takes its socket's name away.
 *   old     the kernel has no close_range.
 *   clock   the clocks are as many seconds ahead as the file $STORAGE_CLOCK has bytes, and are
 *           looked at ten times a second; that for durations stands still else.
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_bool is_stale, has_stopped;

static bool wants(const char *fault)
{
	const char *wanted = getenv("STORAGE_FAULT");

	return wanted && strcmp(wanted, fault) == 0;
}

static void stop_once(void)
{
	if (wants("stop") && !atomic_exchange(&has_stopped, true))
		(void)raise(SIGSTOP);
}

long syscall(long number, ...)
{
	long (*real)(long, ...);
	long args[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		args[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_close_range && wants("old")) {
		errno = ENOSYS;
		return -1;
	}
	*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	return real(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}

int unlinkat(int dir_fd, const char *name, int flags)
{
	if (wants("stale")) {
		atomic_store(&is_stale, true);
		errno = ESTALE;
		return -1;
	}
	stop_once();
	return (int)syscall(SYS_unlinkat, dir_fd, name, flags);
}

int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	stop_once();
	return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, 0);
}

char *realpath(const char *path, char *resolved)
{
	char *(*real)(const char *, char *);
	const char *from = getenv("STORAGE_SWAP_FROM"), *to = getenv("STORAGE_SWAP_TO");
	char *result;

	if (atomic_load(&is_stale)) {
		errno = ESTALE;
		return NULL;
	}
	*(void **)&real = dlsym(RTLD_NEXT, "realpath");
	result = real(path, resolved);
	if (wants("swap") && from && to)
		(void)rename(from, to);	/* the second time there is none */
	return result;
}

int close(int fd)
{
	int result = (int)syscall(SYS_close, fd);

	if (result < 0 && errno == EBADF && wants("stale"))
		abort();
	return result;
}

static struct timespec begun;
__attribute__((constructor)) static void begin(void)
{
	(void)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &begun);
}

int clock_gettime(clockid_t id, struct timespec *now)
{
	const char *path = getenv("STORAGE_CLOCK");
	struct stat info;
	int result = (int)syscall(SYS_clock_gettime, id, now);

	if (result == 0 && path && wants("clock") && stat(path, &info) == 0) {
		if (id == CLOCK_MONOTONIC)
			*now = begun;
		now->tv_sec += info.st_size;
	}
	return result;
}

int poll(struct pollfd *wanted, nfds_t count, int timeout)
{
	const struct timespec tenth = { 0, 100000000 };
	const struct timespec time = { timeout / 1000, timeout % 1000 * 1000000L };
	const struct timespec *until = timeout < 0 ? NULL : &time;

	if (timeout > 100 && wants("clock"))
		until = &tenth;
	return (int)syscall(SYS_ppoll, wanted, count, until, NULL, 0);
}
