/* SPDX-License-Identifier: MIT */
/*
 * guard: preloaded into the processes that a test starts, ends them with a complaint where what
 * nobody would see is wrong: a mutex is unlocked that nobody locked, or a descriptor is open at the
 * end that was not at the beginning. The compiler's leak checker is preloaded beside it.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 256, CODE = 24 };

static bool open_before[MOST];
static pid_t first;	/* a child has what its parent's threads had */

/* The leak checker asks. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);

int __lsan_is_turned_off(void)
{
	return getpid() != first;
}

/* Of those not in given, complains of each, or notes it there. The first three may be /dev/null's instead of none. */
static bool look_at_descriptors(bool *given, bool complain)
{
	DIR *all = opendir("/proc/self/fd");
	bool found = false;
	struct dirent *entry;

	while (all && (entry = readdir(all))) {
		char path[PATH_MAX] = "", link[64];
		int fd = (int)strtol(entry->d_name, NULL, 10);

		if (entry->d_name[0] == '.' || fd == dirfd(all) || fd <= STDERR_FILENO || fd >= MOST || given[fd])
			continue;
		if (!complain) {
			given[fd] = true;
			continue;
		}
		(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		if (readlink(link, path, sizeof(path) - 1) < 0)
			continue;
		(void)fprintf(stderr, "guard: descriptor %d is left open: %s\n", fd, path);
		found = true;
	}
	if (all)
		(void)closedir(all);
	return found;
}

__attribute__((constructor)) static void begin(void)
{
	first = getpid();
	(void)look_at_descriptors(open_before, false);
}

__attribute__((destructor)) static void end(void)
{
	const char *files = getenv("GUARD_FILES");	/* 0: some stay open until the end */

	if (getpid() == first && !(files && *files == '0') && look_at_descriptors(open_before, true))
		_exit(CODE);
}

/* GUARD_EXIT: a program that ends so has its leaks looked for, too. */
__attribute__((visibility("default"), noreturn)) void _exit(int code)
{
	void (*look)(void) = NULL;

	if (getpid() == first && getenv("GUARD_EXIT"))
		*(void **)&look = dlsym(RTLD_DEFAULT, "__lsan_do_leak_check");
	if (look)
		look();
	for (;;)
		(void)syscall(SYS_exit_group, code);
}

__attribute__((visibility("default"))) int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	static int (*next)(pthread_mutex_t *mutex);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	/* A recursive one could be had once more. */
	if (mutex->__data.__kind == PTHREAD_MUTEX_NORMAL && pthread_mutex_trylock(mutex) == 0) {
		(void)fprintf(stderr, "guard: a mutex is unlocked that nobody locked\n");
		abort();
	}
	return next(mutex);
}
