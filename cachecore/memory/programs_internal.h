/* SPDX-License-Identifier: MIT */
/*
 * programs_internal: what programs.c, kernels.c and api/ share. Internal to
 * cachecore.
 *
 * The lock is held for map access only. Lock order: this lock, then one shard
 * of the fast kernel cache at a time. A BuildResult's own mutex is never taken
 * with either held, and no callback is called with any of them.
 */
#ifndef CACHECORE_MEMORY_PROGRAMS_INTERNAL_H
#define CACHECORE_MEMORY_PROGRAMS_INTERNAL_H

#include <pthread.h>

#include "cachecore/memory/program_map.h"
#include "cachecore/memory/programs.h"

struct cc_programs {
	pthread_mutex_t lock;
	struct program_map map;		/* guarded by lock; map.fast see there */
	struct cc_value_ops program_ops;
	struct cc_value_ops kernel_ops;
};

/* Takes the lock and finds the program, or NULL. The lock is held in any case; *ret_hash is the key's. */
struct program_record *programs_lock_and_find(struct cc_programs *programs, struct cmn_view key,
					      unsigned int *ret_hash);
/* Gives the lock back and drops what left the maps. */
void programs_unlock_and_drop(struct cc_programs *programs, struct doomed *doomed);
/*
 * The second half of a claim, when the maps have given its result or none:
 * claims that, waits for it, or takes it and ends.
 */
enum cc_way programs_claim_result(struct cc_claim *claim, struct cc_build_taken *ret);
/* One user of a kernel's result less, which may be the end of its place in the map. */
void kernels_leave(const struct cc_claim *claim);

#endif
