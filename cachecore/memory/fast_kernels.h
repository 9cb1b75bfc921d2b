/* SPDX-License-Identifier: MIT */
/*
 * fast_kernels: the Fast Kernel Cache of the SYCL KernelProgramCache document:
 * (specialization constants, device, kernel name) to a kernel's BuildResult.
 * Internal to cachecore.
 *
 * It is read at every launch, so every shard has the whole table: a reader
 * takes only the lock of the shard of its processor, and counts its use in
 * that shard's copy of the entry; readers on two processors write no common
 * cache line. Writers are rare and write every shard.
 *
 * Locks: insert, find and remove are called with the cache's lock held and
 * take each shard's lock in turn; get takes one shard's lock and no other.
 */
#ifndef CACHECORE_MEMORY_FAST_KERNELS_H
#define CACHECORE_MEMORY_FAST_KERNELS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "cachecore/memory/build_result.h"
#include "common/bytes.h"

/* Enough that the threads of a launching application rarely meet; each costs 64 bytes per entry. */
#define FAST_KERNEL_SHARDS 16
#define FAST_KERNEL_LINE 64	/* bytes of a cache line */

struct fast_key {
	uint64_t constants_hash;	/* a caller's that has no more; else 0 */
	const void *device;
	struct cmn_view name;
	struct cmn_view constants;	/* compared in full */
};

struct fast_kernel;
struct fast_copy;

struct fast_shard {
	_Alignas(FAST_KERNEL_LINE) pthread_mutex_t lock;
	struct fast_copy *table;	/* written with this lock and the cache's, read with either */
};

struct fast_kernels {
	struct fast_shard shards[FAST_KERNEL_SHARDS];
	size_t count;			/* guarded by the cache's lock */
};

void fast_kernels_init(struct fast_kernels *fast);
void fast_kernels_release(struct fast_kernels *fast);	/* when it is empty */

/* A new reference to the kernel, or CMN_MISS. Takes no lock but one shard's, and calls retain without it. */
CMN_CHECKED enum cmn_status fast_kernels_get(struct fast_kernels *fast, const struct fast_key *key,
					     void **ret_kernel);

/* The entry of this key, borrowed, or NULL. */
struct fast_kernel *fast_kernels_find(struct fast_kernels *fast, const struct fast_key *key);
/*
 * Adds an entry that the table does not have; copies the key and takes a
 * reference to result. The entry is put in front of *list, its kernel's.
 */
CMN_CHECKED enum cmn_status fast_kernels_insert(struct fast_kernels *fast,
						const struct fast_key *key,
						struct build_result *result,
						struct fast_kernel **list);
/* Takes the entry out of the table and out of its kernel's list, and puts it in front of *doomed. */
void fast_kernels_remove(struct fast_kernels *fast, struct fast_kernel *kernel,
			 struct fast_kernel **doomed);
/* Drops the table's references to removed entries; may release values, so without any lock. */
void fast_kernels_drop(struct fast_kernel *doomed);

/* Around a fork, with the cache's lock held. */
void fast_kernels_lock_all(struct fast_kernels *fast);
void fast_kernels_unlock_all(struct fast_kernels *fast);

#endif
