/* SPDX-License-Identifier: MIT */
/*
 * program_map: the three maps of the SYCL KernelProgramCache document
 * ("In-memory cache") and the eviction list: programs by key, each with its
 * kernels by name, each with its entries in the fast kernel cache. Internal to
 * cachecore.
 *
 * It has no lock of its own: every function is called with the cache's lock
 * held. Nothing is released under it: what leaves the maps is collected in a
 * struct doomed, which the caller drops once the lock is free.
 */
#ifndef CACHECORE_MEMORY_PROGRAM_MAP_H
#define CACHECORE_MEMORY_PROGRAM_MAP_H

#include "cachecore/memory/build_result.h"
#include "cachecore/memory/fast_kernels.h"

struct program_record;
struct kernel_record;

struct program_map {
	struct program_record *by_key;
	struct program_record *eviction_list;	/* least recently used first */
	struct cmn_slabs *slabs;	/* of keys; may be NULL */
	struct fast_kernels fast;
	size_t kernels;
	uint64_t bytes;
	uint64_t threshold;			/* 0: none */
};

/* What left the maps and still has references to drop; {0} is empty. */
struct doomed {
	struct program_record *programs;
	struct kernel_record *kernels;
	struct fast_kernel *fast;
};

CMN_CHECKED enum cmn_status cc_program_map_init(struct program_map *map, uint64_t threshold);
void cc_program_map_release(struct program_map *map);	/* when it is empty */

/* Compares the key in full; hash is cmn_quick_hash's. Borrowed, or NULL. */
struct program_record *cc_program_map_find(struct program_map *map, struct cmn_view key,
					unsigned int hash);
/*
 * Adds a key that is not there, at the end of the eviction list; takes a
 * reference to result. With borrow a long key is not copied, and whose it is
 * must call cc_program_map_own_key before it goes.
 */
CMN_CHECKED enum cmn_status cc_program_map_insert(struct program_map *map, struct cmn_view key,
					       unsigned int hash, bool borrow,
					       struct build_result *result,
					       struct program_record **ret);
/* Copies the record's key if it is borrowed. false: out of memory, the record must go. */
bool cc_program_map_own_key(struct program_map *map, struct program_record *program);
struct build_result *program_record_result(const struct program_record *program);	/* borrowed */
/* The program was fetched: it goes to the end of the eviction list. */
void cc_program_map_touch(struct program_map *map, struct program_record *program);
/*
 * The program was built: it counts its result's size from now on, also when
 * told again, and was just used. Where the total exceeds the threshold,
 * programs go from the front of the eviction list until it does not; those in
 * progress stay.
 */
void cc_program_map_account(struct program_map *map, struct program_record *program,
			 struct doomed *doomed);
/* The program goes, with its kernels in both kernel maps. */
void cc_program_map_remove(struct program_map *map, struct program_record *program,
			struct doomed *doomed);
/* All programs go; with built_only, those in progress stay. */
void cc_program_map_clear(struct program_map *map, bool built_only, struct doomed *doomed);
/* Programs and kernels that are not built go: in a forked child nobody will finish them. */
void cc_program_map_drop_unfinished(struct program_map *map, struct doomed *doomed);
size_t cc_program_map_count(const struct program_map *map);

struct kernel_record *program_find_kernel(struct program_record *program, struct cmn_view name);
/* Adds a kernel that is not there; takes a reference to result. */
CMN_CHECKED enum cmn_status program_insert_kernel(struct program_map *map,
						  struct program_record *program,
						  struct cmn_view name,
						  struct build_result *result,
						  struct kernel_record **ret);
struct build_result *kernel_record_result(const struct kernel_record *kernel);	/* borrowed */
/* The kernel goes, also from the fast kernel cache. */
void program_remove_kernel(struct program_map *map, struct program_record *program,
			   struct kernel_record *kernel, struct doomed *doomed);
/* Connects the key to the kernel, instead of what it led to. */
CMN_CHECKED enum cmn_status kernel_connect(struct program_map *map, struct kernel_record *kernel,
					   const struct fast_key *key, struct doomed *doomed);

/* Drops the references: kernels before their programs. Without any lock. */
void doomed_drop(struct doomed *doomed);

#endif
