/* SPDX-License-Identifier: MIT */
/*
 * cache: the facade that a layer uses: memory, then disk, then miss. It owns
 * configuration, disk level (level.h), statistics and trace. It never calls a
 * driver: the layer's callbacks do. Thread-safe; a status other than CMN_OK
 * always means "do as if there were no cache".
 */
#ifndef CACHECORE_CACHE_H
#define CACHECORE_CACHE_H

#include "cachecore/config.h"
#include "cachecore/entry.h"
#include "cachecore/key.h"
#include "cachecore/disk/writer/recipe.h"
#include "cachecore/record/stats.h"
#include "cachecore/record/trace.h"
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
/* The same with that configuration (as cc_config_load gives it), which it takes in any case. */
CMN_CHECKED enum cmn_status cc_cache_open_with(struct cc_config *config, struct cc_cache **ret);
/* Writes what is pending within a bound, then frees. NULL is fine. No thread may be inside. */
void cc_cache_close(struct cc_cache *cache);
/* Writes what is pending, within five seconds; threads may be inside. NULL is fine. */
void cc_cache_flush(struct cc_cache *cache);
/* The same within another time: a process that ends has less. */
void cc_cache_flush_within(struct cc_cache *cache, uint64_t timeout_ns);

/* As it was loaded: what the program has set since is known to the getters below alone. */
const struct cc_config *cc_cache_config(const struct cc_cache *cache);
const struct cmn_log *cc_cache_log(const struct cc_cache *cache);
struct cc_file_memo *cc_cache_file_memo(struct cc_cache *cache);

/*
 * The disk level, set by the program at any moment, also while others look up
 * and build: what they have begun ends where it began. What was queued and
 * counted before is written to the old directory before the call returns, as
 * far as that can be done in five seconds. The memory level stays. Whatever is
 * set, read_only, sharing and the rules of root.h hold, and a level that the
 * configuration switches off (persistent) stays off. On failure everything is
 * as it was. Not to be called with a lock that a build callback takes.
 *
 * CMN_ERR_ACCESS: the configuration has the level off, or the directory is not
 * to be trusted. CMN_ERR_INVALID: the path is empty or too long, or a relative
 * one in a privileged program, or there is no directory to be used at all.
 * CMN_ERR_NOMEM.
 */
CMN_CHECKED enum cmn_status cc_cache_set_persistent(struct cc_cache *cache, bool on);
/*
 * A relative path starts at the working directory of now. NULL: the
 * configuration's. It is made (0700) by the first store. While the level is
 * off, the directory is only checked, and used when it is switched on.
 */
CMN_CHECKED enum cmn_status cc_cache_set_dir(struct cc_cache *cache, const char *dir);
/* In bytes, as max_size; 0: no bound. What is over it goes after the next store. */
CMN_CHECKED enum cmn_status cc_cache_set_capacity(struct cc_cache *cache, uint64_t bytes);

/* Whether the level is switched on; it may still have no directory that can be used. */
bool cc_cache_persistent(struct cc_cache *cache);
/* A copy for the caller to free. NULL: no root is in use, or out of memory. */
char *cc_cache_dir(struct cc_cache *cache);
uint64_t cc_cache_capacity(struct cc_cache *cache);

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
/*
 * What is stored under the key goes from both levels, with what is still to be
 * written: it is not wanted any more. CMN_OK also where there was nothing;
 * CMN_ERR_ACCESS: read-only; CMN_BUSY: another process held the entry for more
 * than some ms, and it is still on disk. What this process is just storing goes
 * as soon as it is stored.
 */
CMN_CHECKED enum cmn_status cc_cache_remove(struct cc_cache *cache, const struct cc_key *key);
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
