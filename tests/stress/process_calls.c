/* SPDX-License-Identifier: MIT */
/*
 * process_calls: preloaded into a client, counts what a process does, and writes it at its end to the
 * file that PROCESS_CALLS names:
 *
 *   exit N     what it asks the kernel for between soak_exit and its last exit handler
 *   proc N     of these, paths in /proc, the first of which costs as much as thirty other calls
 *   late N     threads made in that time
 *   made N     threads made in all
 *   there N    threads at its end
 *   refused N  writes to files below the directory NO_SPACE, each of which fails as on a full disk
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/file.h>

#include "tests/stress/soak_watch.h"
#include "tests/support/posix.h"

#define EXPORTED __attribute__((visibility("default")))

static atomic_bool counting;
static atomic_uint calls, proc, late, made, refused;

static void note(const char *path)
{
	if (!atomic_load(&counting))
		return;
	atomic_fetch_add(&calls, 1);
	if (path && strncmp(path, "/proc/", 6) == 0)
		atomic_fetch_add(&proc, 1);
}

/* The next library's function of that name, looked up once. */
#define REAL(name) \
	static __typeof__(&name) real; \
	if (!real) \
		real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#define WRAP(type, name, parameters, arguments, path) \
	EXPORTED type name parameters \
	{ \
		REAL(name); \
		note(path); \
		return real arguments; \
	}

WRAP(int, close, (int fd), (fd), NULL)
WRAP(int, fstat, (int fd, struct stat *info), (fd, info), NULL)
WRAP(int, stat, (const char *path, struct stat *info), (path, info), path)
WRAP(int, lstat, (const char *path, struct stat *info), (path, info), path)
WRAP(int, fstatat, (int fd, const char *path, struct stat *info, int flags), (fd, path, info, flags), path)
WRAP(int, flock, (int fd, int how), (fd, how), NULL)
WRAP(ssize_t, read, (int fd, void *to, size_t len), (fd, to, len), NULL)
WRAP(ssize_t, readlink, (const char *path, char *to, size_t len), (path, to, len), path)
WRAP(int, unlinkat, (int fd, const char *path, int flags), (fd, path, flags), path)

static bool is_full(int fd)
{
	const char *full = getenv("NO_SPACE");
	char link[64], path[4096];
	ssize_t len;

	note(NULL);
	if (!full)
		return false;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (len < 0 || (size_t)len < strlen(full) || strncmp(path, full, strlen(full)) != 0)
		return false;
	atomic_fetch_add(&refused, 1);
	errno = ENOSPC;
	return true;
}

EXPORTED ssize_t write(int fd, const void *from, size_t len)
{
	REAL(write);
	return is_full(fd) ? -1 : real(fd, from, len);
}

EXPORTED ssize_t pwrite(int fd, const void *from, size_t len, off_t at)
{
	REAL(pwrite);
	return is_full(fd) ? -1 : real(fd, from, len, at);
}

EXPORTED int open(const char *path, int flags, ...)
{
	va_list rest;
	mode_t mode;

	REAL(open);
	va_start(rest, flags);
	mode = va_arg(rest, mode_t);	/* not looked at where there is none */
	va_end(rest);
	note(path);
	return real(path, flags, mode);
}

EXPORTED int openat(int fd, const char *path, int flags, ...)
{
	va_list rest;
	mode_t mode;

	REAL(openat);
	va_start(rest, flags);
	mode = va_arg(rest, mode_t);
	va_end(rest);
	note(path);
	return real(fd, path, flags, mode);
}

EXPORTED int fcntl(int fd, int command, ...)
{
	va_list rest;
	void *argument;

	REAL(fcntl);
	va_start(rest, command);
	argument = va_arg(rest, void *);
	va_end(rest);
	note(NULL);
	return real(fd, command, argument);
}

EXPORTED long syscall(long number, ...)
{
	long arguments[6];
	va_list rest;

	REAL(syscall);
	va_start(rest, number);
	for (int i = 0; i < 6; i++)
		arguments[i] = va_arg(rest, long);
	va_end(rest);
	note(NULL);
	return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}

EXPORTED int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*start)(void *), void *of)
{
	REAL(pthread_create);
	atomic_fetch_add(&made, 1);
	if (atomic_load(&counting))
		atomic_fetch_add(&late, 1);
	return real(thread, how, start, of);
}

EXPORTED void soak_exit(void)
{
	atomic_store(&counting, true);
}

/* Registered before all others, so it runs last. */
static void report(void)
{
	const char *path = getenv("PROCESS_CALLS");
	struct stat tasks;	/* a directory of one for each thread */
	FILE *file;

	atomic_store(&counting, false);
	file = path ? fopen(path, "w") : NULL;
	if (!file || stat("/proc/self/task", &tasks) < 0)
		return;
	(void)fprintf(file, "exit %u proc %u late %u made %u there %u refused %u\n", atomic_load(&calls),
		      atomic_load(&proc), atomic_load(&late), atomic_load(&made),
		      (unsigned int)tasks.st_nlink - 2, atomic_load(&refused));
	(void)fclose(file);	/* what is missing is noticed by who reads it */
}

__attribute__((constructor)) static void begin(void)
{
	if (atexit(report) != 0)
		abort();
}
