/* SPDX-License-Identifier: MIT */
/*
 * environment: the variables that change what a driver compiles. Those of
 * known compilers count always; with NEOReadDebugKeys set, Intel's driver
 * reads some 480 more, all in CamelCase, so that every such name counts then.
 * Names that only say where a cache lies or what is logged never count.
 */
#ifndef DRIVER_ENVIRONMENT_H
#define DRIVER_ENVIRONMENT_H

#include <pthread.h>
#include <stdbool.h>

#include "cachecore/key.h"

/*
 * Looking at every variable takes some 10 µs, hashing them all takes one: the
 * fields are made again only when anything changed. Zeroed but for the lock
 * (DRV_ENVIRONMENT_INIT). The lock is only ever tried: after a fork, whatever
 * state it was left in, the child merely does without what was known.
 */
struct drv_environment {
	pthread_mutex_t lock;
	bool known;
	struct cmn_hash hash;
	struct cc_key fields;
};
#define DRV_ENVIRONMENT_INIT { .lock = PTHREAD_MUTEX_INITIALIZER }

/* Whether the variable belongs to the key. */
bool drv_environment_counts(const char *name, size_t len, bool debug_keys);

/* Adds an "env.<NAME>" field for each variable that counts, sorted by name. Thread-safe. */
void drv_environment_add(struct drv_environment *memo, struct cc_key *key);
/* The whole environment that was last seen to fit to a key; zeroed: none yet. */
struct drv_environment_seen {
	bool known;
	struct cmn_hash hash;
};

/*
 * Whether it would add the same fields now as a key has. false also without
 * memory. seen: the caller's, of this key, so that they are compared only where
 * anything changed since; NULL: none.
 */
bool drv_environment_holds(struct drv_environment *memo, const struct cc_key *key,
			   struct drv_environment_seen *seen);

#endif
