/* SPDX-License-Identifier: MIT */
/*
 * recent: programs and kernels that were fetched lately, by processor, so that
 * a hit takes no lock that threads on other processors take, and writes no
 * cache line that they use. Internal to cachecore.
 *
 * Each shard has seats of its own, a few for each hash; a seat has a reference
 * to the BuildResult, counts the threads that are taking it, and knows when
 * its program was last used: the eviction list asks when it wants to know. A
 * program has seats only while it is in the map, built, with a key that is
 * the map's own.
 *
 * Locks: the first two take one shard's lock and no other; all others are
 * called with the cache's lock held and take each shard's lock in turn.
 */
#ifndef CACHECORE_MEMORY_RECENT_H
#define CACHECORE_MEMORY_RECENT_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "cachecore/memory/build_result.h"

#define RECENT_SHARDS 16	/* enough that the threads of an application rarely meet */
#define RECENT_LINE 64		/* bytes of a cache line */
#define RECENT_SETS 64		/* with the ways: a few times the programs that a large application uses at once */
#define RECENT_WAYS 4		/* a line of places; where more hash alike, the maps have them all the same */

struct cc_recent_seat;

struct cc_recent_place {
	unsigned int tag;		/* of the hash that leads here */
	struct cc_recent_seat *seat;	/* NULL: free */
};

struct cc_recent_table {
	_Alignas(RECENT_LINE) struct cc_recent_place sets[RECENT_SETS][RECENT_WAYS];
};

struct cc_recent_shard {
	_Alignas(RECENT_LINE) pthread_mutex_t lock;
	struct cc_recent_table *programs, *kernels;	/* guarded by lock; NULL until something is kept */
	unsigned int turn;				/* the way to displace next; guarded by lock */
};

struct recent {
	struct cc_recent_shard shards[RECENT_SHARDS];
	bool ordered;			/* uses are to be told in their order; constant */
};

/* What a program's record has for this module; all but key, sample and hash is this module's. */
struct cc_recent_program {
	struct cmn_view key;		/* constant while the program is kept here, as are the next two */
	unsigned int sample;		/* of cc_recent_key_sample */
	unsigned int hash;		/* of cc_recent_key_hash */
	unsigned int shards;		/* where it has a seat, a bit for each; guarded by the cache's lock */
	uint64_t used;			/* the last use that no seat knows of; likewise; the caller's too */
};

/* What a kernel's record has. */
struct cc_recent_kernel {
	struct cc_recent_program *program;
	struct cmn_view name;		/* constant */
	unsigned int hash;		/* of cc_recent_key_hash; constant */
	unsigned int shards;		/* as a program's */
};

/* Of every byte of a key; takes no lock, as it takes time. */
unsigned int cc_recent_key_hash(struct cmn_view key);
/* Of its end, where options are, and of some bytes before it; of a short key, the same. */
unsigned int cc_recent_key_sample(struct cmn_view key);

/* ordered: false where nobody will ask when something was used, which saves a look at the clock. */
CMN_CHECKED enum cmn_status cc_recent_init(struct recent *recent, bool ordered);
void cc_recent_release(struct recent *recent);	/* when nothing is kept */

/* A new reference to the value; false: not here, which says nothing of the maps. Retain is called without locks. */
bool cc_recent_take_program(struct recent *recent, struct cmn_view key, void **ret_value);
/* The same of a kernel; its program was used, too. */
bool cc_recent_take_kernel(struct recent *recent, struct cmn_view program_key, struct cmn_view name,
			void **ret_value);

/*
 * Gives the program, or the kernel of a program that is kept, a seat in the
 * shard of this processor, if it has none there. Borrows what is given but
 * for result, which is SUCCEEDED, and of which it takes a reference. What is
 * displaced is put in front of *displaced. Without memory nothing is kept.
 */
void cc_recent_keep_program(struct recent *recent, struct cc_recent_program *program,
			 struct build_result *result, struct cc_recent_seat **displaced);
void cc_recent_keep_kernel(struct recent *recent, struct cc_recent_kernel *kernel,
			struct build_result *result, struct cc_recent_seat **displaced);
/* All its seats are put in front of *displaced; a program's kernels are to be forgotten before it. */
void cc_recent_forget_program(struct recent *recent, struct cc_recent_program *program,
			   struct cc_recent_seat **displaced);
void cc_recent_forget_kernel(struct recent *recent, struct cc_recent_kernel *kernel,
			  struct cc_recent_seat **displaced);
/* When the program was used last, by cmn_clock_monotonic; 0 where that is not told. */
uint64_t cc_recent_last_use(struct recent *recent, struct cc_recent_program *program);
/* Drops the references of displaced seats; may release values, so without any lock. */
void cc_recent_drop(struct cc_recent_seat *displaced);

/* Around a fork, with the cache's lock held. */
void cc_recent_lock_all(struct recent *recent);
void cc_recent_unlock_all(struct recent *recent);

#endif
