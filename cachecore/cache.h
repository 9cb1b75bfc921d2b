/* SPDX-License-Identifier: MIT */
/*
 * cache: the facade that a layer uses: memory, then disk, then miss. It owns
 * configuration, store, statistics, trace and background writer. It never
 * calls a driver: the layer's callbacks do. Thread-safe; a status other than
 * CMN_OK always means "do as if there were no cache".
 */
#ifndef CACHECORE_CACHE_H
#define CACHECORE_CACHE_H

#include "cachecore/config.h"
#include "cachecore/entry.h"
#include "cachecore/key.h"
#include "cachecore/recipe.h"
#include "cachecore/stats.h"
#include "cachecore/trace.h"
#include "common/log.h"
#include "common/status.h"

struct cc_cache;

enum cc_origin {
	CC_ORIGIN_MEMORY,
	CC_ORIGIN_DISK,
	CC_ORIGIN_BUILT,	/* by this call's build callback */
};

/*
 * Loads the configuration and opens the levels; an unusable disk level is left
 * out and logged once. CMN_MISS: the configuration switches the cache off.
 */
CMN_CHECKED enum cmn_status cc_cache_open(struct cc_cache **ret);
/* Writes what is pending within a bound, then frees. NULL is fine. No thread may be inside. */
void cc_cache_close(struct cc_cache *cache);
/* Writes what is pending within a bound; for process exit, when threads may still be inside. */
void cc_cache_flush(struct cc_cache *cache);

const struct cc_config *cc_cache_config(const struct cc_cache *cache);
const struct cmn_log *cc_cache_log(const struct cc_cache *cache);
struct cc_file_memo *cc_cache_file_memo(struct cc_cache *cache);

/*
 * Builds the result in the calling thread, without locks. CMN_OK: *ret is a
 * new reference, kept and stored. CMN_MISS: there is nothing to share (the
 * build failed, or was bypassed); waiters try themselves.
 */
typedef enum cmn_status (*cc_cache_build_fn)(void *ctx, struct cc_entry **ret);

/*
 * Memory, disk, or build. CMN_OK: *ret is a new reference and *ret_origin
 * says whence. CMN_MISS and failures: build ran in this thread and gave
 * nothing, or (CMN_ERR_*) could not be run at all; *ret is NULL.
 */
CMN_CHECKED enum cmn_status cc_cache_get_or_build(struct cc_cache *cache, const struct cc_key *key,
						  cc_cache_build_fn build, void *ctx,
						  struct cc_entry **ret,
						  enum cc_origin *ret_origin);
/* Memory or disk, without waiting for a build in progress. CMN_MISS: neither. */
CMN_CHECKED enum cmn_status cc_cache_get(struct cc_cache *cache, const struct cc_key *key,
					 struct cc_entry **ret, enum cc_origin *ret_origin);
/* Keeps and stores a result that was built outside of get_or_build (late capture, asynchronous builds). Borrows entry. */
void cc_cache_put(struct cc_cache *cache, const struct cc_key *key, struct cc_entry *entry);
/* The driver refused this entry: it is removed from every level and counted as an error. */
void cc_cache_reject(struct cc_cache *cache, const struct cc_key *key, const struct cc_entry *entry);

/* What it takes to repeat a build, to be written in the background. false: it cannot be (read-only, no disk, no memory). */
bool cc_cache_put_recipe(struct cc_cache *cache, const struct cc_recipe *recipe);

/* Statistics and trace of what only the layer knows. */
void cc_cache_count_hit(struct cc_cache *cache, const struct cc_key *key, enum cc_origin origin,
			const struct cc_entry *entry, uint64_t took_ns);
void cc_cache_count_miss(struct cc_cache *cache, const struct cc_key *key, uint64_t build_ns);
/* A miss whose result ckcache replay is to make. */
void cc_cache_count_deferred(struct cc_cache *cache, const struct cc_key *key, uint64_t build_ns);
void cc_cache_count_bypass(struct cc_cache *cache, const char *reason, const struct cc_key *key);

/* fork handlers for pthread_atfork. */
void cc_cache_fork_prepare(struct cc_cache *cache);
void cc_cache_fork_parent(struct cc_cache *cache);
void cc_cache_fork_child(struct cc_cache *cache);

#endif
