/* SPDX-License-Identifier: MIT */
/*
 * cache: the facade that a layer uses. It looks in memory, on disk, and in the
 * remote tier; if none has the key, it calls the layer's build callback. It owns
 * configuration, disk level (level.h), the log and the trace. It never calls a
 * driver itself. Thread-safe. Any status but CMN_OK means "do what you would do
 * without a cache".
 */
#ifndef CACHECORE_CACHE_H
#define CACHECORE_CACHE_H

#include "cachecore/config.h"
#include "cachecore/entry.h"
#include "cachecore/key.h"
#include "cachecore/disk/writer/recipe.h"
#include "cachecore/record/trace.h"
#include "common/log.h"
#include "common/status.h"

struct cc_cache;

enum cc_origin {
	CC_ORIGIN_MEMORY,
	CC_ORIGIN_DISK,
	CC_ORIGIN_REMOTE,
	CC_ORIGIN_BUILT,	/* by this call's build callback */
};

/*
 * Loads the configuration and opens the levels. If the disk level cannot be
 * used, it logs that once and does without. CMN_MISS: the configuration
 * switches the cache off.
 */
CMN_CHECKED enum cmn_status cc_cache_open(struct cc_cache **ret);
/* The same with a configuration from cc_config_load, which it takes in any case. */
CMN_CHECKED enum cmn_status cc_cache_open_with(struct cc_config *config, struct cc_cache **ret);
/* NULL is fine. No thread may be inside. */
void cc_cache_close(struct cc_cache *cache);

/*
 * For the log, with CKCACHE_LOG=info: one line that the layer of that name uses it, the first time.
 * No worker of ckcache replay says it.
 */
void cc_cache_announce(struct cc_cache *cache, const char *name);

/* As it was loaded; only the getters below know what the program has set since. */
const struct cc_config *cc_cache_config(const struct cc_cache *cache);
struct cc_file_memo *cc_cache_file_memo(struct cc_cache *cache);

/*
 * Settings of the disk level. A program may change them at any time, also while
 * other threads look up and build: these finish in the level in which they
 * began. The memory level stays. read_only, sharing and the rules of root.h apply to any setting,
 * and a level that the configuration switches off (persistent) stays off. On
 * failure nothing changes. Do not call these with a lock that a build callback
 * takes.
 *
 * CMN_ERR_ACCESS: the configuration switches the level off, or the directory
 * cannot be trusted. CMN_ERR_INVALID: the path is empty or too long, or relative
 * in a privileged program, or there is no directory at all. CMN_ERR_NOMEM.
 */
CMN_CHECKED enum cmn_status cc_cache_set_persistent(struct cc_cache *cache, bool on);
/*
 * A relative path starts at the current working directory. NULL: the
 * directory of the configuration. The first store creates it (0700). While the
 * level is off, the directory is only checked; it is used once the level is on.
 */
CMN_CHECKED enum cmn_status cc_cache_set_dir(struct cc_cache *cache, const char *dir);
/* In bytes, like max_size; 0: no bound. The next store evicts down to a smaller bound. */
CMN_CHECKED enum cmn_status cc_cache_set_capacity(struct cc_cache *cache, uint64_t bytes);

/* Whether the level is switched on; it may still have no directory that can be used. */
bool cc_cache_persistent(struct cc_cache *cache);
/* A copy for the caller to free. NULL: no root is in use, or out of memory. */
char *cc_cache_dir(struct cc_cache *cache);
uint64_t cc_cache_capacity(struct cc_cache *cache);

/*
 * Builds the result in the calling thread, without a lock but the key's build lock. CMN_OK: *ret is a
 * new reference; the cache keeps and stores the entry. CMN_MISS: there is
 * nothing to share (the build failed or was bypassed); waiters build for
 * themselves. CMN_ERR_NOMEM: it may be called once more.
 */
typedef enum cmn_status (*cc_cache_build_fn)(void *ctx, struct cc_entry **ret);

/*
 * Looks in memory, on disk, and in the remote tier, else builds. CMN_OK: *ret is a new reference,
 * and *ret_origin says where it came from. CMN_MISS and failures: build ran in
 * this thread and gave nothing, or (CMN_ERR_*) could not run; *ret is NULL.
 */
CMN_CHECKED enum cmn_status cc_cache_get_or_build(struct cc_cache *cache, const struct cc_key *key,
						  cc_cache_build_fn build, void *ctx,
						  struct cc_entry **ret,
						  enum cc_origin *ret_origin);
/* Looks in the same places, without waiting for a build in progress. CMN_MISS: in none. */
CMN_CHECKED enum cmn_status cc_cache_get(struct cc_cache *cache, const struct cc_key *key,
					 struct cc_entry **ret, enum cc_origin *ret_origin);
/* Keeps and stores a result that was built outside of get_or_build (asynchronous builds, blobs). Borrows entry. */
void cc_cache_put(struct cc_cache *cache, const struct cc_key *key, struct cc_entry *entry);
/*
 * The same of a failure (cc_entry_set_failed) that the driver's own cache had a part in, so that what it depends
 * on was not seen. false: no other process saw that of the same failure, and nothing is kept.
 */
bool cc_cache_put_again(struct cc_cache *cache, const struct cc_key *key, struct cc_entry *entry);
/*
 * Removes everything under the key from both levels. CMN_OK also if there was nothing.
 * CMN_ERR_ACCESS: read-only. CMN_BUSY: another process held a lock for more than some ms, and the
 * entry is still on disk.
 */
CMN_CHECKED enum cmn_status cc_cache_remove(struct cc_cache *cache, const struct cc_key *key);
/*
 * The driver refused this entry: counted as an error, and removed from memory, and from disk unless that is
 * read-only or another process held a lock for more than some ms.
 */
void cc_cache_reject(struct cc_cache *cache, const struct cc_key *key, const struct cc_entry *entry);

/* Writes a recipe. false: impossible (read-only, no disk, no memory). */
bool cc_cache_put_recipe(struct cc_cache *cache, const struct cc_recipe *recipe);

/* The layer reports outcomes, each in the call that it is about: for the root's log, CKCACHE_LOG and CKCACHE_TRACE. */
void cc_cache_count_hit(struct cc_cache *cache, const struct cc_key *key, enum cc_origin origin,
			const struct cc_entry *entry, uint64_t took_ns);
/*
 * When a build begins, and how long it has taken since: as long as the application waited. A worker
 * of ckcache replay may get no processor, or be stopped: of its time counts what processors worked
 * for it, in whichever thread or child process the driver compiles. cache: may be NULL. began_ns: by the
 * clock that dates files.
 */
struct cc_build_start {
	uint64_t clock_ns, processor_ns, began_ns;
};
struct cc_build_start cc_cache_start_build(const struct cc_cache *cache);
uint64_t cc_cache_build_ns(const struct cc_cache *cache, const struct cc_build_start *start);
void cc_cache_count_miss(struct cc_cache *cache, const struct cc_key *key, uint64_t build_ns);
/* A miss that is left to ckcache replay. */
void cc_cache_count_deferred(struct cc_cache *cache, const struct cc_key *key, uint64_t build_ns);
/* A build of which nothing is kept: it is not cached, or did not compile, or both. */
struct cc_unkept_build {
	const struct cc_key *key;	/* NULL: none was made */
	struct cmn_view source;	/* where there is none: what is to be compiled, for its name */
	const char *bypass;		/* why it is not cached; static; NULL: it would have been */
	const char *failure;		/* the driver's code, and what it says: "-11: error: ..."; NULL: it compiled */
	uint64_t build_ns;		/* in the driver; 0: not known */
};
void cc_cache_count_unkept(struct cc_cache *cache, const struct cc_unkept_build *build);

/* fork handlers for pthread_atfork. */
void cc_cache_fork_prepare(struct cc_cache *cache);
void cc_cache_fork_parent(struct cc_cache *cache);
void cc_cache_fork_child(struct cc_cache *cache);

#endif
