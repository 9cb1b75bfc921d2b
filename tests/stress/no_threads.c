/* SPDX-License-Identifier: MIT */
/*
 * no_threads: preloaded into a client, counts the threads that a process makes, and those that it has at
 * its end, and writes both to the file that NO_THREADS names: "made N there N". With NO_SPACE, a
 * directory, each write to a file below it fails as on a full disk, and is counted: "refused N".
 */
#include <dlfcn.h>
#include <stdatomic.h>

#include "tests/support/posix.h"

#define EXPORTED __attribute__((visibility("default")))

static atomic_uint made, refused;

EXPORTED int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*start)(void *), void *of)
{
	__typeof__(&pthread_create) real = (__typeof__(real))dlsym(RTLD_NEXT, "pthread_create");

	atomic_fetch_add(&made, 1);
	return real(thread, how, start, of);
}

static bool is_full(int fd)
{
	const char *full = getenv("NO_SPACE");
	char link[64], path[4096];
	ssize_t len;

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
	__typeof__(&write) real = (__typeof__(real))dlsym(RTLD_NEXT, "write");

	return is_full(fd) ? -1 : real(fd, from, len);
}

EXPORTED ssize_t pwrite(int fd, const void *from, size_t len, off_t at)
{
	__typeof__(&pwrite) real = (__typeof__(real))dlsym(RTLD_NEXT, "pwrite");

	return is_full(fd) ? -1 : real(fd, from, len, at);
}

/* Registered before all others, so it runs last. */
static void report(void)
{
	const char *path = getenv("NO_THREADS");
	FILE *file = path ? fopen(path, "w") : NULL;
	struct stat tasks;	/* a directory of one for each thread */

	if (!file || stat("/proc/self/task", &tasks) < 0)
		return;
	(void)fprintf(file, "made %u there %u refused %u\n", atomic_load(&made),
		      (unsigned int)tasks.st_nlink - 2, atomic_load(&refused));
	(void)fclose(file);	/* what is missing is noticed by who reads it */
}

__attribute__((constructor)) static void begin(void)
{
	if (atexit(report) != 0)
		abort();
}
