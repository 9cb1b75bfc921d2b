/* SPDX-License-Identifier: MIT */
/*
 * maps: the in-memory cache that test_programs.c and test_semantics.c use: each test has one of its own,
 * of counted values, whose builds follow a script. Every test ends with no value alive, and none that
 * was given to the other kind's callbacks.
 */
#ifndef TESTS_UNIT_CACHECORE_MEMORY_MAPS_H
#define TESTS_UNIT_CACHECORE_MEMORY_MAPS_H

#include <sched.h>
#include <stdatomic.h>

#include "cachecore/api/api_internal.h"
#include "cachecore/memory/programs_internal.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/unit.h"

#define THREADS 8

enum kind { PROGRAM, KERNEL };

/* As a runtime's handle is. */
struct value {
	enum kind kind;
	atomic_int refs;
};

static struct cc_programs *programs;
static atomic_int alive[2], retained[2], released[2];	/* by kind */
static atomic_int wrong_kind;			/* callbacks that got the other's value */
static void (*in_callbacks)(void);		/* what each build, retain and release begins with, or NULL */

static inline struct value *value_new(enum kind kind)
{
	struct value *value = calloc(1, sizeof(*value));

	if (!value)
		abort();	/* also in threads, where CUnit has no say */
	value->kind = kind;
	atomic_init(&value->refs, 1);
	atomic_fetch_add(&alive[kind], 1);
	return value;
}

/* Without the callback. */
static inline void value_unref(struct value *value)
{
	if (atomic_fetch_sub(&value->refs, 1) == 1) {
		atomic_fetch_sub(&alive[value->kind], 1);
		free(value);
	}
}

static inline int refs_of(const void *value)
{
	return atomic_load(&((const struct value *)value)->refs);
}

static inline void note_call(const struct value *value, enum kind kind, atomic_int calls[2])
{
	if (in_callbacks)
		in_callbacks();
	if (value->kind != kind)
		atomic_fetch_add(&wrong_kind, 1);
	atomic_fetch_add(&calls[kind], 1);
}

static inline void retain(struct value *value, enum kind kind)
{
	note_call(value, kind, retained);
	atomic_fetch_add(&value->refs, 1);
}

static inline void release(struct value *value, enum kind kind)
{
	note_call(value, kind, released);
	value_unref(value);
}

static inline void program_retain(void *value)
{
	retain(value, PROGRAM);
}

static inline void program_release(void *value)
{
	release(value, PROGRAM);
}

static inline void kernel_retain(void *value)
{
	retain(value, KERNEL);
}

static inline void kernel_release(void *value)
{
	release(value, KERNEL);
}

static const struct cc_value_ops program_ops = { program_retain, program_release };
static const struct cc_value_ops kernel_ops = { kernel_retain, kernel_release };

static inline void end(void)
{
	cc_programs_free(programs);
	programs = NULL;
	CU_ASSERT_EQUAL(atomic_load(&alive[PROGRAM]), 0);
	CU_ASSERT_EQUAL(atomic_load(&alive[KERNEL]), 0);
	CU_ASSERT_EQUAL(atomic_load(&wrong_kind), 0);
}

/* Instead of the maps that there are. */
static inline void renew_with(uint64_t threshold, const struct cc_value_ops *kernels)
{
	end();
	programs = cc_programs_new(threshold, &program_ops, kernels);
	CU_ASSERT_PTR_NOT_NULL_FATAL(programs);
}

static inline void renew(uint64_t threshold)
{
	renew_with(threshold, &kernel_ops);
}

BEFORE_EACH
{
	renew(0);
}

AFTER_EACH
{
	end();
}

static inline struct cc_programs_usage usage_of(void)
{
	struct cc_programs_usage usage;

	cc_programs_usage(programs, &usage);
	return usage;
}

/* What a build does: its first `failures` calls fail; it may meet others, wait for a gate, or look around. */
struct script {
	_Atomic(enum kind) kind;	/* told by each caller, and always the same */
	enum cmn_status failure;
	int failures;
	int error_code;
	const char *message;		/* of call number `message_from` on; before, no error is carried */
	int message_from;
	size_t size;
	pthread_barrier_t *meeting;
	atomic_bool closed;		/* a build waits until it is open */
	atomic_bool started;
	atomic_int calls;
	void (*look)(struct script *script);
	struct build_result *result;	/* for look */
};

static inline void wait_for(atomic_bool *flag, bool wanted)
{
	while (atomic_load(flag) != wanted)
		sched_yield();
}

static inline enum cachecore_status run_script(void *ctx, struct cachecore_build_output *ret)
{
	struct script *script = ctx;
	int call = atomic_fetch_add(&script->calls, 1);

	if (in_callbacks)
		in_callbacks();
	atomic_store(&script->started, true);
	if (script->meeting)
		(void)pthread_barrier_wait(script->meeting);	/* fails for a bad barrier alone */
	wait_for(&script->closed, false);
	if (script->look)
		script->look(script);
	if (call < script->failures) {
		ret->error_code = script->error_code;
		if (script->message && call >= script->message_from)
			ret->error_message = strdup(script->message);
		return (enum cachecore_status)script->failure;
	}
	ret->value = value_new(script->kind);
	ret->size = script->size;
	return CACHECORE_OK;
}

/* A getOrBuild of a program, or with a name of its kernel. */
static inline enum cmn_status obtain(const char *key, const char *kernel, struct script *script,
				     struct cc_build_taken *taken)
{
	script->kind = kernel ? KERNEL : PROGRAM;
	if (kernel)
		return api_build_kernel(programs, cmn_view_of(key), cmn_view_of(kernel), run_script, script, taken);
	return api_build_program(programs, cmn_view_of(key), run_script, script, false, taken);
}

/* Of a program, whose failure is remembered. */
static inline enum cmn_status obtain_remembered(const char *key, struct script *script, struct cc_build_taken *taken)
{
	return api_build_program(programs, cmn_view_of(key), run_script, script, true, taken);
}

/* An obtain whose build succeeds; gives the reference back. */
static inline enum cc_way use(const char *key, const char *kernel, size_t size)
{
	struct script script = { .size = size };
	struct cc_build_taken taken;

	CU_ASSERT_EQUAL_FATAL(obtain(key, kernel, &script, &taken), CMN_OK);
	value_unref(taken.value);
	return taken.way;
}

/* Takes the reference. */
static inline enum cmn_status put(const char *key, struct value *value, size_t size)
{
	return cc_programs_put(programs, cmn_view_of(key), value, size);
}

static inline bool is_there(const char *key)
{
	void *value;

	if (cc_programs_get(programs, cmn_view_of(key), &value) != CMN_OK)
		return false;
	value_unref(value);
	return true;
}

static inline bool kernel_is_there(const char *key, const char *name)
{
	void *value;

	if (cc_kernels_get(programs, cmn_view_of(key), cmn_view_of(name), &value) != CMN_OK)
		return false;
	value_unref(value);
	return true;
}

/* The BuildResult in the map, without a reference; NULL if there is none. *ret_users: who is between. */
static inline struct build_result *result_of(const char *key, const char *kernel, unsigned int *ret_users)
{
	const struct cmn_view name = cmn_view_of(kernel);
	struct program_record *program;
	struct build_result *result = cc_programs_lock_and_find(programs, cmn_view_of(key),
								kernel ? &name : NULL, &program);

	*ret_users = result ? result->users : 0;
	pthread_mutex_unlock(&programs->lock);
	return result;
}

static inline unsigned int users_of(const char *key, const char *kernel)
{
	unsigned int users;

	(void)result_of(key, kernel, &users);	/* the number is all */
	return users;
}

/* A kernel in the kernels map and in the fast kernel cache; gives its value, borrowed from the cache. */
static inline void *add_fast_kernel(const char *key, const char *name, uint64_t constants)
{
	struct script script = { 0 };
	struct cc_build_taken taken;

	CU_ASSERT_EQUAL_FATAL(obtain(key, name, &script, &taken), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(fast_kernel_put(programs, cmn_view_of(key), constants, programs, cmn_view_of(name),
					      taken.value), CMN_OK);
	value_unref(taken.value);
	return taken.value;
}

/* Borrowed, too; NULL: there is none. */
static inline void *get_fast_kernel(const char *name, uint64_t constants)
{
	void *kernel;

	if (fast_kernel_get(programs, constants, programs, cmn_view_of(name), &kernel) != CMN_OK)
		return NULL;
	value_unref(kernel);
	return kernel;
}

/* An obtain in a thread of its own. */
struct caller {
	pthread_t thread;
	const char *key, *kernel;	/* kernel: NULL for the program itself */
	struct script *script;
	struct cc_build_taken taken;
	enum cmn_status status;
};

static inline void *call(void *arg)
{
	struct caller *caller = arg;

	caller->status = obtain(caller->key, caller->kernel, caller->script, &caller->taken);
	return NULL;
}

static inline void caller_start(struct caller *caller)
{
	CU_ASSERT_EQUAL_FATAL(pthread_create(&caller->thread, NULL, call, caller), 0);
}

static inline void caller_join(struct caller *caller)
{
	CU_ASSERT_EQUAL_FATAL(pthread_join(caller->thread, NULL), 0);
}

/* What it got. */
static inline void caller_drop(struct caller *caller)
{
	if (caller->status == CMN_OK)
		value_unref(caller->taken.value);
	else
		free(caller->taken.error_message);
}

/* Starts the caller, whose script is closed, and returns when it builds. */
static inline void begin_build(struct caller *caller)
{
	caller_start(caller);
	wait_for(&caller->script->started, true);
}

/* Lets it go on to its end, and drops what it got. */
static inline void end_build(struct caller *caller)
{
	atomic_store(&caller->script->closed, false);
	caller_join(caller);
	caller_drop(caller);
}

#endif
