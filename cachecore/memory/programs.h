/* SPDX-License-Identifier: MIT */
/*
 * programs: the in-memory level (the SYCL KernelProgramCache document,
 * "In-memory cache"): the programs map, the kernels map, the fast kernel
 * cache, and the eviction list that bounds them. Values are opaque, with
 * retain and release callbacks; keys are bytes, compared in full.
 *
 * One lock guards the maps and is held for map access only: builds, waits and
 * value callbacks run outside of it. A look into the fast kernel cache takes a
 * lock of the processor's instead.
 */
#ifndef CACHECORE_MEMORY_PROGRAMS_H
#define CACHECORE_MEMORY_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cachecore/memory/build_result.h"
#include "common/bytes.h"
#include "common/status.h"

struct cc_programs;

/*
 * threshold: bytes; when a program that is added makes the total exceed it,
 * the least recently used programs go until it is no longer exceeded (the new
 * one too, where it is larger alone), but none in progress; 0: no bound. A
 * program is used when it or a kernel is fetched with its key; the fast kernel
 * cache does not count. ops NULL: nothing to call. NULL: out of memory.
 */
struct cc_programs *cc_programs_new(uint64_t threshold, const struct cc_value_ops *program_ops,
				    const struct cc_value_ops *kernel_ops);
void cc_programs_free(struct cc_programs *programs);	/* no thread may be inside; NULL is fine */

/*
 * A build that a thread has claimed. Other threads wait until this thread ends
 * the claim, once, by cc_programs_publish or cc_programs_fail. {0} is a claim
 * that nobody waits for and whose result is not kept; a claim for which the maps
 * have no memory is the same. One without programs, but with a result, has a
 * result in no map, which is borrowed. The thread may use the cache before it ends the
 * claim; asked for the claim's own key, it has the thread build that once more.
 */
struct cc_claim {
	struct cc_programs *programs;
	unsigned int hash;		/* of the program's key: cmn_quick_hash's lower half */
	bool is_kernel;
	bool entered;			/* it is one of result's users */
	struct build_result *result;	/* a reference; NULL: nothing is kept */
};

/*
 * The first step of getOrBuild. CC_WAY_BUILD: the caller must build the program
 * and then end *ret_claim; key must stay valid until then. CC_WAY_WAITED and
 * CC_WAY_FOUND: *ret has the outcome, and there is no claim to end. If another
 * thread is building, waits for it and gets its error; after a failure without
 * an error, claims the build. CC_WAY_BUILD with CMN_BUSY: as cc_build_result_claim has it; the claim is
 * one that keeps nothing.
 */
CMN_CHECKED enum cc_way cc_programs_claim(struct cc_programs *programs, struct cmn_view key,
					  struct cc_claim *ret_claim, struct cc_build_taken *ret);
/* Whether who has the claim waits itself, for another process or machine: who waits for it goes on waiting. */
static inline void cc_programs_wait(struct cc_claim *claim, bool waits)
{
	if (claim->result)
		atomic_store(&claim->result->waits, waits);
}

/*
 * Ends a claim with a value, not NULL, which the cache takes and counts as size
 * bytes; gives a reference for the caller. transient: it is for this thread and
 * those that wait, and is not kept.
 */
CMN_CHECKED void *cc_programs_publish(struct cc_claim *claim, void *value, size_t size,
				      bool transient);
/*
 * Ends a claim without a value. error_message is malloc'd, and taken; NULL: the
 * failure carries no error and may be spurious, so that those that wait try
 * themselves. An error goes to those that wait; with remember it stays in the map
 * until cc_programs_remove or eviction, and counts the bytes of its message.
 */
void cc_programs_fail(struct cc_claim *claim, enum cmn_status status, int error_code,
		      char *error_message, bool remember);
/*
 * Drops everything that is built; what is in progress stays: for a build that
 * ran out of memory, before it is tried once more. NULL is fine.
 */
void cc_programs_make_room(struct cc_programs *programs);
/* The program if it is there and built, without waiting; CMN_MISS else. */
CMN_CHECKED enum cmn_status cc_programs_get(struct cc_programs *programs, struct cmn_view key,
					    void **ret_value);
/*
 * Adds a built value; takes it, whatever the status. A value already there
 * stays and the new one is released; an error or a build in progress makes
 * place (its waiters still get what they wait for). CMN_ERR_NOMEM,
 * CMN_ERR_TOO_LARGE (the key): not kept.
 */
CMN_CHECKED enum cmn_status cc_programs_put(struct cc_programs *programs, struct cmn_view key,
					    void *value, size_t size);
/* Removes the program if its value is this one (NULL: whichever), with its kernels. */
void cc_programs_remove(struct cc_programs *programs, struct cmn_view key, const void *value);
/* Everything goes; builds in progress finish and are not kept. */
void cc_programs_flush(struct cc_programs *programs);

/*
 * The same of the kernels map: program_key must be of a built program in the map,
 * else the kernel is built and not kept; name must stay as well. Ended likewise;
 * a kernel's failure is not remembered.
 */
CMN_CHECKED enum cc_way cc_kernels_claim(struct cc_programs *programs, struct cmn_view program_key,
					 struct cmn_view name, struct cc_claim *ret_claim,
					 struct cc_build_taken *ret);
/* As cc_programs_get, cc_programs_put and cc_programs_remove, of a kernel. CMN_MISS of put: no such program that is built. */
CMN_CHECKED enum cmn_status cc_kernels_get(struct cc_programs *programs,
					   struct cmn_view program_key, struct cmn_view name,
					   void **ret_value);
CMN_CHECKED enum cmn_status cc_kernels_put(struct cc_programs *programs,
					   struct cmn_view program_key, struct cmn_view name,
					   void *value);
void cc_kernels_remove(struct cc_programs *programs, struct cmn_view program_key,
		       struct cmn_view name, const void *value);

/*
 * The fast kernel cache (fast_kernels.h, which has get): specialization constants, device and kernel
 * name to a kernel of the kernels map, for launches in a loop. Connects a kernel of a program that is
 * in the map (instead of what the same three led to), and goes with it; CMN_MISS: the kernels map
 * does not have this kernel under this program and name. kernel stays the caller's.
 */
struct fast_key;
CMN_CHECKED enum cmn_status cc_fast_kernel_put(struct cc_programs *programs,
					       struct cmn_view program_key, void *kernel,
					       const struct fast_key *key);

struct cc_programs_usage {
	size_t programs, kernels, fast_kernels;
	uint64_t bytes;
};
void cc_programs_usage(struct cc_programs *programs, struct cc_programs_usage *ret);

/*
 * For pthread_atfork: no other thread is inside the maps while the process is
 * copied; in the child, builds in progress are forgotten, as who does them is
 * not there. Values are not retained for the child.
 */
void cc_programs_fork_prepare(struct cc_programs *programs);
void cc_programs_fork_parent(struct cc_programs *programs);
void cc_programs_fork_child(struct cc_programs *programs);

#endif
