/* SPDX-License-Identifier: MIT */
/*
 * no_memory: preloaded, it lets one allocation of a process fail, the NO_MEMORY-th. Who ends without having made
 * so many ends with 99.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size), *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

static long left = -1;

static int fails(void)
{
	if (left < 0) {
		left = getenv("NO_MEMORY") ? strtol(getenv("NO_MEMORY"), NULL, 10) : 0;
		(void)unsetenv("NO_MEMORY");	/* children have enough */
	}
	if (left > 0 && --left == 0) {
		errno = ENOMEM;
		return 1;
	}
	return 0;
}

__attribute__((visibility("default"))) void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t size)
{
	return fails() ? NULL : __libc_calloc(count, size);
}

__attribute__((visibility("default"))) void *realloc(void *old, size_t size)
{
	return fails() ? NULL : __libc_realloc(old, size);
}

__attribute__((destructor)) static void tell(void)
{
	if (left > 0)
		_exit(99);
}
