/* SPDX-License-Identifier: MIT */
/*
 * programs_internal: what programs.c and api/ share. Internal to cachecore.
 *
 * The lock of the maps is held for map access only. Lock order: this lock, then one
 * shard of the fast kernel cache at a time. A BuildResult's own mutex is never taken
 * with either held, and no callback is called with any of them.
 */
#ifndef CACHECORE_MEMORY_PROGRAMS_INTERNAL_H
#define CACHECORE_MEMORY_PROGRAMS_INTERNAL_H

#include <pthread.h>

#include "cachecore/memory/build_result.h"
#include "cachecore/memory/fast_kernels.h"
#include "cachecore/memory/programs.h"

struct program_record;

struct cc_programs {
	pthread_mutex_t lock;
	/* Guarded by lock; fast: see there. */
	struct program_record *by_key;
	struct program_record *eviction_list;	/* least recently used first */
	struct cmn_slabs *slabs;	/* of long keys; may be NULL */
	struct fast_kernels fast;
	size_t kernels;
	uint64_t bytes;
	uint64_t threshold;		/* 0: none */
	/* Constant. */
	struct cc_value_ops program_ops;
	struct cc_value_ops kernel_ops;
};

/*
 * Takes the lock and finds the program, or with a name that kernel of it, if the program is
 * built: the BuildResult, borrowed, or NULL. The lock is held in any case.
 */
struct build_result *cc_programs_lock_and_find(struct cc_programs *programs, struct cmn_view key,
					       const struct cmn_view *name,
					       struct program_record **ret_program);

#endif
