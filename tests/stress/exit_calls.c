/* SPDX-License-Identifier: MIT */
/*
 * exit_calls: preloaded into soak_client, counts what a process asks the kernel
 * for between soak_exit and its last exit handler, and writes it to the file that
 * EXIT_CALLS names: "calls N proc N threads N". proc: of these, paths in /proc,
 * the first of which costs a process as much as thirty other calls.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/file.h>

#include "tests/stress/soak_watch.h"
#include "tests/support/posix.h"

#define EXPORTED __attribute__((visibility("default")))

static atomic_bool counting;
static atomic_uint calls, proc, threads;

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
WRAP(ssize_t, write, (int fd, const void *from, size_t len), (fd, from, len), NULL)
WRAP(ssize_t, pwrite, (int fd, const void *from, size_t len, off_t at), (fd, from, len, at), NULL)
WRAP(ssize_t, readlink, (const char *path, char *to, size_t len), (path, to, len), path)
WRAP(int, unlinkat, (int fd, const char *path, int flags), (fd, path, flags), path)

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
	if (atomic_load(&counting))
		atomic_fetch_add(&threads, 1);
	return real(thread, how, start, of);
}

EXPORTED void soak_exit(void)
{
	atomic_store(&counting, true);
}

/* Registered before all others, so it runs last. */
static void report(void)
{
	const char *path = getenv("EXIT_CALLS");
	FILE *file;

	atomic_store(&counting, false);
	file = path ? fopen(path, "w") : NULL;
	if (!file)
		return;
	(void)fprintf(file, "calls %u proc %u threads %u\n", atomic_load(&calls), atomic_load(&proc),
		      atomic_load(&threads));
	(void)fclose(file);	/* what is missing is noticed by who reads it */
}

__attribute__((constructor)) static void begin(void)
{
	if (atexit(report) != 0)
		abort();
}
