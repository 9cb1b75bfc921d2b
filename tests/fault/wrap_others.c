/* SPDX-License-Identifier: MIT */
/* wrap_others: libc's functions that lend memory, threads, locks and libraries, and the clock. */
#include <dlfcn.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>

#include "tests/fault/interposer.h"
#include "tests/support/posix.h"

/* dlsym may allocate while it looks for malloc: that comes from here, and is never given back. */
static _Alignas(16) char arena[1 << 16];
static atomic_size_t arena_used;
static _Thread_local bool looking __attribute__((tls_model("initial-exec")));

static void *from_arena(size_t size)
{
	size_t at = atomic_fetch_add(&arena_used, (size + 15) / 16 * 16);

	return at + size <= sizeof(arena) ? arena + at : NULL;
}

static bool is_of_arena(const void *block)
{
	return (const char *)block >= arena && (const char *)block < arena + sizeof(arena);
}

/* As interposer_real; NULL: it is being looked for in this thread. */
static void *find(enum fault_function function)
{
	void *real;

	if (looking)
		return NULL;
	looking = true;
	real = interposer_real(function);
	looking = false;
	return real;
}

#pragma GCC visibility push(default)

void *malloc(size_t size)
{
	void *(*real)(size_t) = find(FAULT_malloc);

	if (!real)
		return from_arena(size);
	if (NEXT(malloc, 0)) {
		errno = ENOMEM;
		return NULL;
	}
	return interposer_note_block(real(size), CALLER);
}

void *calloc(size_t count, size_t size)
{
	void *(*real)(size_t, size_t) = find(FAULT_calloc);

	if (!real)
		return from_arena(count * size);
	if (NEXT(calloc, 0)) {
		errno = ENOMEM;
		return NULL;
	}
	return interposer_note_block(real(count, size), CALLER);
}

void *realloc(void *block, size_t size)
{
	void *(*real)(void *, size_t) = find(FAULT_realloc);
	void *result;

	if (!real || is_of_arena(block)) {
		result = malloc(size);
		if (result && block)
			memcpy(result, block, size < 4096 ? size : 4096);
		return result;
	}
	if (NEXT(realloc, 0)) {
		errno = ENOMEM;
		return NULL;
	}
	result = real(block, size);
	return block ? result : interposer_note_block(result, CALLER);
}

void free(void *block)
{
	void (*real)(void *) = is_of_arena(block) ? NULL : find(FAULT_free);

	if (!real || !block)
		return;
	interposer_drop_block(CALLER);
	real(block);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	if (NEXT(aligned_alloc, 0)) {
		errno = ENOMEM;
		return NULL;
	}
	return interposer_note_block(REAL(aligned_alloc)(alignment, size), CALLER);
}

int mprotect(void *start, size_t len, int protection)
{
	if (NEXT(mprotect, 0)) {
		errno = ENOMEM;
		return -1;
	}
	return REAL(mprotect)(start, len, protection);
}

int asprintf(char **ret, const char *format, ...)
{
	va_list arguments;
	int len;

	if (NEXT(asprintf, 0)) {
		errno = ENOMEM;
		return -1;
	}
	va_start(arguments, format);
	len = vasprintf(ret, format, arguments);
	va_end(arguments);
	if (len >= 0)
		(void)interposer_note_block(*ret, CALLER);
	return len;
}

locale_t newlocale(int mask, const char *name, locale_t base)
{
	if (NEXT(newlocale, 0)) {
		errno = ENOMEM;
		return (locale_t)0;
	}
	return REAL(newlocale)(mask, name, base);
}

char *strdup(const char *text)
{
	if (NEXT(strdup, 0)) {
		errno = ENOMEM;
		return NULL;
	}
	return interposer_note_block(REAL(strdup)(text), CALLER);
}

char *strndup(const char *text, size_t len)
{
	if (NEXT(strndup, 0)) {
		errno = ENOMEM;
		return NULL;
	}
	return interposer_note_block(REAL(strndup)(text, len), CALLER);
}

/* A function that returns an error's number. */
#define NUMBERED(name, parameters, arguments)				\
	int name parameters						\
	{								\
		int kind = NEXT(name, 0);				\
									\
		return kind > 0 ? kind : REAL(name) arguments;		\
	}

NUMBERED(pthread_create, (pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *arg), (thread, attr, run, arg))
NUMBERED(pthread_mutex_init, (pthread_mutex_t *lock, const pthread_mutexattr_t *attr),
	 (lock, attr))
NUMBERED(pthread_cond_init, (pthread_cond_t *condition, const pthread_condattr_t *attr),
	 (condition, attr))
NUMBERED(pthread_condattr_init, (pthread_condattr_t *attr), (attr))
NUMBERED(pthread_attr_init, (pthread_attr_t *attr), (attr))

/* What pthread_atfork calls. */
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *object);
NUMBERED(__register_atfork, (void (*prepare)(void), void (*parent)(void), void (*child)(void),
			     void *object), (prepare, parent, child, object))

/* dlerror says nothing of these; nobody asks it. */
void *dlopen(const char *name, int flags)
{
	return NEXT(dlopen, 0) > 0 ? NULL : REAL(dlopen)(name, flags);
}

int dlinfo(void *handle, int request, void *arg)
{
	return NEXT(dlinfo, 0) > 0 ? -1 : REAL(dlinfo)(handle, request, arg);
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	int result;

	(void)NEXT(clock_gettime, 0);
	result = REAL(clock_gettime)(clock, ret);
	if (result == 0 && clock == CLOCK_REALTIME)
		ret->tv_sec += interposer_clock_shift();
	return result;
}
#pragma GCC visibility pop
