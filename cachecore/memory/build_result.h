/* SPDX-License-Identifier: MIT */
/*
 * build_result: the BuildResult of the SYCL KernelProgramCache document
 * ("Thread-safety", "Core of caching mechanism"): what the maps hold instead
 * of a bare value. It knows the state of the build, lets one thread build and
 * the others wait, and is shared by reference counts, so that one that was
 * evicted stays valid for whoever waits for it. Internal to cachecore.
 *
 * States: UNCLAIMED -> IN_PROGRESS -> SUCCEEDED | FAILED | UNCLAIMED. The
 * first step is a compare-and-swap; the thread that wins it builds. SUCCEEDED
 * and FAILED are final: what they publish never changes again and is read
 * without the mutex. A failure that carries no error goes back to UNCLAIMED.
 */
#ifndef CACHECORE_MEMORY_BUILD_RESULT_H
#define CACHECORE_MEMORY_BUILD_RESULT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/status.h"

/* What the cache does with a value. Each may be NULL; called without any lock held, from any thread. */
struct cc_value_ops {
	void (*retain)(void *value);
	void (*release)(void *value);
};

enum cc_way {
	CC_WAY_BUILD,		/* A: this thread is to build it */
	CC_WAY_WAITED,		/* B: another thread was building it */
	CC_WAY_FOUND,		/* C: it was there */
};

/* What getOrBuild gives to a taker. */
struct cc_build_taken {
	enum cmn_status status;	/* of the build, in ways B and C */
	void *value;		/* a new reference, on CMN_OK */
	enum cc_way way;
	int error_code;		/* of a failed build, also of another thread's */
	char *error_message;	/* malloc'd copy for the caller to free, or NULL */
};

enum build_state {
	BUILD_UNCLAIMED,
	BUILD_IN_PROGRESS,
	BUILD_SUCCEEDED,
	BUILD_FAILED,
};

struct build_result {
	const struct cc_value_ops *ops;
	atomic_uint refs;
	_Atomic(enum build_state) state;
	_Atomic(pid_t) builder;		/* its thread while IN_PROGRESS, from soon after its beginning; else 0 */
	atomic_bool waits;		/* so does the builder, and gets on with it without processor time */
	_Atomic(void *) value;		/* constant once SUCCEEDED; one reference is this result's */
	size_t size;			/* constant once SUCCEEDED or FAILED; an error's is its message's */
	bool transient;			/* not to stay in the map; constant once SUCCEEDED */
	enum cmn_status status;		/* these four are constant once FAILED */
	int error_code;
	char *error_message;
	bool remember_error;		/* its builder asked to */
	pthread_mutex_t lock;		/* for built alone */
	pthread_cond_t built;
	/* Guarded by the lock of the maps. */
	unsigned int users;		/* threads between the beginning and the end of a claim */
	bool in_map;
};

/*
 * UNCLAIMED, with one reference, at the front of size zeroed bytes, which go with it.
 * ops is borrowed and outlives the result. NULL: out of memory.
 */
void *cc_build_result_new(const struct cc_value_ops *ops, size_t size);
void cc_build_result_free(struct build_result *result);	/* when nobody refers to it */

static inline struct build_result *cc_build_result_ref(struct build_result *result)
{
	/* The caller's reference keeps it alive, so nothing has to be ordered. */
	atomic_fetch_add_explicit(&result->refs, 1, memory_order_relaxed);
	return result;
}

/* The last one releases the value: never call it with a lock held. NULL is fine. */
static inline void cc_build_result_unref(struct build_result *result)
{
	/* Release: our use comes before; acquire: everybody's use comes before the end. */
	if (result && atomic_fetch_sub_explicit(&result->refs, 1, memory_order_acq_rel) == 1)
		cc_build_result_free(result);
}

static inline enum build_state cc_build_result_state(const struct build_result *result)
{
	return atomic_load_explicit(&result->state, memory_order_acquire);
}

/* A new reference to the value of a SUCCEEDED result that the caller holds; no lock is taken. */
static inline void *cc_build_result_take(struct build_result *result)
{
	void *value = atomic_load_explicit(&result->value, memory_order_acquire);

	if (result->ops->retain)
		result->ops->retain(value);
	return value;
}

/*
 * Ways A, B and C (as cc_programs_claim has them): claims the build, waits for
 * another thread's, or takes what is there. Who claims it ends it by one of the
 * other two, as cc_programs_publish and cc_programs_fail. The caller holds a
 * reference and no lock. NULL is claimed: there is nobody to share it with.
 * CC_WAY_BUILD with CMN_BUSY: this thread builds it already, or who does gets on with
 * nothing (common/worker.h) and may wait for what this thread holds. It builds for itself: it
 * claimed nothing.
 */
CMN_CHECKED enum cc_way cc_build_result_claim(struct build_result *result,
					      struct cc_build_taken *ret);
void cc_build_result_publish(struct build_result *result, void *value, size_t size, bool transient);
void cc_build_result_fail(struct build_result *result, enum cmn_status status, int error_code,
			  char *error_message, bool remember);

#endif
