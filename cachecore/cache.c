/* SPDX-License-Identifier: MIT */
/*
 * cache: joins the levels. Which bytes make a key and what to do with an entry
 * is the layer's business.
 */
#include "cachecore/cache.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "cachecore/disk/entry_dir_walk.h"
#include "cachecore/disk/level.h"
#include "cachecore/disk/path.h"
#include "cachecore/disk/root.h"
#include "cachecore/disk/space/account.h"
#include "cachecore/memory/programs.h"
#include "cachecore/record/recorder.h"
#include "cachecore/remote/remote.h"
#include "common/clock.h"
#include "common/log_file.h"
#include "common/hash.h"

/* Entries go stale between two looks only when headers are being edited; more than this is a fight. */
#define STALE_RETRIES 3
/* What a program that starts with a log waits at most for the number of entries, and counts at most. */
#define COUNT_NS (50 * UINT64_C(1000000))
#define COUNTED_MAX 1000

/*
 * An entry that a process reads once, as most do, is of no use in memory, and
 * fresh memory to keep it in costs more than reading it again. So, beyond a
 * budget, only short ones are kept when they are read for the first time.
 */
#define KEPT_BUDGET ((size_t)512 << 10)
#define KEPT_LEN ((size_t)16 << 10)
#define SEEN_KEYS 1024

struct cc_cache {
	struct cc_config config;
	struct cmn_log log;
	struct cc_trace *trace;		/* NULL: off */
	struct cc_file_memo *memo;
	struct cc_programs *programs;	/* NULL: level off */
	struct cc_level_switch *levels;
	struct cc_remote *remote;	/* NULL: none */
	atomic_bool announced;
	atomic_bool file_refused;	/* config.log_file, which was said */
	atomic_size_t kept;	/* of the budget; may go over it by one entry a thread */
	atomic_uint_least64_t seen[SEEN_KEYS];	/* keys that were read, each in its slot; see read_level */
};

static void retain_entry(void *value)
{
	(void)cc_entry_ref(value);
}

static void release_entry(void *value)
{
	cc_entry_unref(value);
}

static const struct cc_value_ops entry_ops = { retain_entry, release_entry };

enum cmn_status cc_cache_open(struct cc_cache **ret)
{
	const struct cmn_log log = { .level = CMN_LOG_ERROR };
	struct cc_config config;
	enum cmn_status status = cc_config_load(&log, &config);

	return status == CMN_OK ? cc_cache_open_with(&config, ret) : status;
}

/* The sink of cache->log where it goes to a file. One of no use is named, and stderr gets what is important. */
static void write_to_file(void *ctx, enum cmn_log_level level, const char *message)
{
	const struct cmn_log errors = { .level = CMN_LOG_WARNING };
	struct cc_cache *cache = ctx;
	const char *reason;

	if (cmn_log_file_append(cache->config.log_file, cc_path_program(), message, &reason) == CMN_OK)
		return;
	if (!atomic_exchange(&cache->file_refused, true))
		cmn_log_write(&errors, CMN_LOG_ERROR, "log file %s: %s", cache->config.log_file, reason);
	cmn_log_write(&errors, level, "%s", message);
}

static void begin_log(struct cc_cache *cache)
{
	cache->log.level = cache->config.log_level;
	if (cache->config.log_file) {
		cache->log.sink = write_to_file;
		cache->log.ctx = cache;
	}
}

/* Without its levels. */
static void release(struct cc_cache *cache)
{
	cc_programs_free(cache->programs);
	cc_trace_close(cache->trace);
	cc_file_memo_free(cache->memo);
	cc_remote_free(cache->remote);
	cc_config_release(&cache->config);
	free(cache);
}

enum cmn_status cc_cache_open_with(struct cc_config *config, struct cc_cache **ret)
{
	struct cc_cache *cache = calloc(1, sizeof(*cache));
	enum cmn_status status;

	if (!cache || config->disable) {
		status = cache ? CMN_MISS : CMN_ERR_NOMEM;
		cc_config_release(config);
		free(cache);
		return status;
	}
	cache->config = *config;
	*config = (struct cc_config){ 0 };
	begin_log(cache);
	cache->memo = cc_file_memo_new();
	if (cache->config.in_mem)
		cache->programs = cc_programs_new(cache->config.in_mem_eviction_threshold,
						  &entry_ops, NULL);
	if (!cache->memo || (cache->config.in_mem && !cache->programs)) {
		release(cache);
		return CMN_ERR_NOMEM;
	}
	if (cache->config.trace)
		cache->trace = cc_trace_open(cache->config.trace, &cache->log);
	status = cc_remote_new(&cache->config, &cache->log, &cache->remote);
	if (status == CMN_OK)
		status = cc_level_switch_new(&cache->config, &cache->log, cache->remote, &cache->levels);
	if (status != CMN_OK) {
		release(cache);
		return status;
	}
	*ret = cache;
	return CMN_OK;
}

/* What lies in the cache directory, where it can be known soon. */
struct holdings {
	uint64_t bytes;			/* 0: not known */
	uint64_t entries;
	bool more;			/* there may be more entries */
	uint64_t until;
};

/* cc_entry_dir_visit_fn */
static enum cmn_status count_entry_dir(void *ctx, int root_fd, const char *path, int entry_dir_fd)
{
	struct holdings *holdings = ctx;
	struct cc_entry_dir_scan scan;

	(void)root_fd;
	(void)path;
	if (holdings->entries >= COUNTED_MAX || cmn_clock_monotonic() > holdings->until)
		return CMN_BUSY;
	if (cc_entry_dir_scan(entry_dir_fd, &scan) == CMN_OK)
		holdings->entries += (uint64_t)__builtin_popcountll(scan.present[CC_ENTRY_DIR_SRC]);
	return CMN_OK;
}

/* Without a look into any file of an entry. */
static void look_at_root(const struct cc_cache *cache, const char *dir, struct holdings *ret)
{
	enum cc_root_kind kind = cache->config.sharing == CC_SHARING_GROUP ? CC_ROOT_GROUP : CC_ROOT_OWN;
	const char *reason;
	int fd;

	if (cc_root_find(dir, kind, &fd, &reason) != CMN_OK)
		return;
	ret->until = cmn_clock_deadline(COUNT_NS);
	(void)!cc_number_file_read(fd, CC_ACCOUNT_NAME, &ret->bytes);	/* 0 else */
	ret->more = cc_entry_dir_walk(fd, false, count_entry_dir, ret) != CMN_OK;
	(void)close(fd);	/* read only */
}

static void say_begin(const struct cc_cache *cache, const char *name, const char *dir)
{
	struct holdings holdings = { 0 };
	struct cmn_buffer bytes = { 0 };
	bool small;

	look_at_root(cache, dir, &holdings);
	small = holdings.bytes < 1 << 20;
	if (holdings.bytes)
		cmn_buffer_printf(&bytes, small ? ", %.0f KiB" : ", %.1f MiB",
				  (double)holdings.bytes / (small ? 1 << 10 : 1 << 20));
	cmn_buffer_append_u8(&bytes, '\0');
	cmn_log_write(&cache->log, CMN_LOG_INFO, "%s %s, %s, %s%" PRIu64 " %s%s", CKCACHE_VERSION, name, dir,
		      holdings.more ? "more than " : "", holdings.entries,
		      holdings.entries == 1 ? "entry" : "entries", bytes.failed ? "" : (const char *)bytes.data);
	cmn_buffer_release(&bytes);
}

void cc_cache_announce(struct cc_cache *cache, const char *name)
{
	char *dir;

	if (cache->config.built_for || cache->log.level < CMN_LOG_INFO ||
	    atomic_exchange(&cache->announced, true))
		return;
	dir = cc_cache_dir(cache);
	if (dir)
		say_begin(cache, name, dir);
	else
		cmn_log_write(&cache->log, CMN_LOG_INFO, "%s %s, no cache directory", CKCACHE_VERSION, name);
	free(dir);
}

void cc_cache_close(struct cc_cache *cache)
{
	if (!cache)
		return;
	cc_level_switch_free(cache->levels);
	release(cache);
}

enum cmn_status cc_cache_set_persistent(struct cc_cache *cache, bool on)
{
	return cc_level_switch_set_on(cache->levels, on);
}

enum cmn_status cc_cache_set_dir(struct cc_cache *cache, const char *dir)
{
	return cc_level_switch_set_dir(cache->levels, dir);
}

enum cmn_status cc_cache_set_capacity(struct cc_cache *cache, uint64_t bytes)
{
	return cc_level_switch_set_capacity(cache->levels, bytes);
}

bool cc_cache_persistent(struct cc_cache *cache)
{
	return cc_level_switch_on(cache->levels);
}

char *cc_cache_dir(struct cc_cache *cache)
{
	return cc_level_switch_dir(cache->levels);
}

uint64_t cc_cache_capacity(struct cc_cache *cache)
{
	return cc_level_switch_capacity(cache->levels);
}

const struct cc_config *cc_cache_config(const struct cc_cache *cache)
{
	return &cache->config;
}

struct cc_file_memo *cc_cache_file_memo(struct cc_cache *cache)
{
	return cache->memo;
}

/*
 * hash: cmn_quick_hash's, of the key. *ret_keep: the entry belongs into memory. Keys that were read
 * before are remembered by hash and length, since taking one for another only keeps an entry in
 * memory that need not be.
 */
static enum cmn_status read_level(struct cc_cache *cache, struct cc_level *level,
				  const struct cc_key *key, unsigned int hash,
				  struct cc_entry **ret, bool *ret_keep)
{
	const uint64_t number = hash ^ (uint64_t)cc_key_view(key).len << 32;
	size_t kept, kept_len = KEPT_LEN, len;

	if (!level)
		return CMN_MISS;
	kept = atomic_load_explicit(&cache->kept, memory_order_relaxed);
	if (kept + KEPT_LEN < KEPT_BUDGET)
		kept_len = KEPT_BUDGET - kept;
	if (cache->programs && atomic_exchange_explicit(&cache->seen[number % SEEN_KEYS], number,
							memory_order_relaxed) == number)
		kept_len = SIZE_MAX;
	/* Whatever else went wrong, to the caller it is a miss. */
	if (cc_level_get(level, key, cache->memo, kept_len, ret) != CMN_OK)
		return CMN_MISS;
	len = cc_entry_payload_size(*ret) + CC_ENTRY_HEADER_SIZE;
	/* How long a failure is believed, the disk level knows. */
	*ret_keep = len <= kept_len && !(*ret)->failed;
	if (*ret_keep && len > KEPT_LEN)
		(void)atomic_fetch_add_explicit(&cache->kept, len, memory_order_relaxed);
	return CMN_OK;
}

static bool is_fresh(struct cc_cache *cache, const struct cc_key *key, const struct cc_entry *entry)
{
	const struct cc_manifest *manifest = cc_entry_manifest(entry);

	return (cc_manifest_count(manifest) == 0 && !key->include_paths.count) ||
	       cc_manifest_compare_at(manifest, &key->include_paths, cache->memo, NULL) == CMN_OK;
}

/*
 * Whether an entry is in memory and holds. Else the caller builds it, and
 * *ret_claim is what other threads wait for meanwhile.
 */
static bool claim_in_memory(struct cc_cache *cache, const struct cc_key *key,
			    struct cc_claim *ret_claim, struct cc_entry **ret)
{
	struct cc_build_taken taken;

	*ret_claim = (struct cc_claim){ 0 };
	for (int i = 0; cache->programs && i < STALE_RETRIES; i++) {
		if (cc_programs_claim(cache->programs, cc_key_local_view(key), ret_claim, &taken) == CC_WAY_BUILD)
			return false;
		/* Builds fail without an error here, so that nobody is given another's. */
		if (is_fresh(cache, key, taken.value)) {
			*ret = taken.value;
			return true;
		}
		/* A header changed since: this one is of no use to anybody now. */
		cc_programs_remove(cache->programs, cc_key_local_view(key), taken.value);
		cc_entry_unref(taken.value);
		*ret_claim = (struct cc_claim){ 0 };
	}
	return false;
}

/*
 * Waits while another process builds the same. CMN_OK: that was stored. Else
 * the caller is to build, and to release the lock if it was given one.
 */
static enum cmn_status wait_for_build(struct cc_cache *cache, struct cc_level *level,
				      const struct cc_key *key, unsigned int hash,
				      struct cc_entry **ret, bool *ret_keep,
				      struct cc_build_lock **ret_lock)
{
	enum cmn_status status;

	/* Nobody is to wait for a worker, which may have the lowest priority. */
	if (cache->config.built_for || cc_level_lock_build(level, key, ret_lock) != CMN_OK)
		return CMN_MISS;
	status = read_level(cache, level, key, hash, ret, ret_keep);
	if (status == CMN_OK)
		cc_build_lock_release(*ret_lock);
	return status;
}

/* For the trace, the log and the root. */
static void note(struct cc_cache *cache, struct cc_level *level, const struct cc_event *event)
{
	if (cache->trace)
		cc_trace_write(cache->trace, event);
	if (cache->log.level >= CMN_LOG_INFO)
		cc_event_say(&cache->log, event);
	cc_level_note(level, event);
}

/* Where an entry came from, or why it did not. */
static void note_remote(struct cc_cache *cache, struct cc_level *level, const struct cc_key *key,
			const struct cc_remote_report *report)
{
	static const enum cc_event_kind kinds[] = {
		[CC_REMOTE_USED] = CC_EVENT_REMOTE,
		[CC_REMOTE_REFUSED] = CC_EVENT_REMOTE_REFUSED,
		[CC_REMOTE_AWAY] = CC_EVENT_REMOTE_AWAY,
	};
	const struct cc_event event = {
		.kind = kinds[report->event], .key = key, .reason = report->scheme,
		.detail = report->text,
	};

	if (report->event != CC_REMOTE_NOTHING)
		note(cache, level, &event);
}

/* *ret_claimed: as cc_remote_get. The entry is stored on disk too, which releases the lock. */
static enum cmn_status get_remote(struct cc_cache *cache, struct cc_level *level,
				  const struct cc_key *key, struct cc_entry **ret,
				  struct cc_build_lock *lock, bool *ret_claimed)
{
	struct cc_remote_report report;
	enum cmn_status status;

	if (cache->remote)
		cc_build_lock_wait(lock, true);
	status = cc_remote_get(cache->remote, key, cache->memo, ret, ret_claimed, &report);
	if (cache->remote)
		cc_build_lock_wait(lock, false);
	note_remote(cache, level, key, &report);
	if (status == CMN_OK)
		cc_level_put(level, key, *ret, lock);
	return status;
}

/* Of an entry on disk that is a failure, instead: what others have built. Returns where *entry is from. */
static enum cc_origin outrank(struct cc_cache *cache, struct cc_level *level, const struct cc_key *key,
			      struct cc_entry **entry, bool *keep)
{
	struct cc_entry *result;

	if (get_remote(cache, level, key, &result, NULL, NULL) != CMN_OK)
		return CC_ORIGIN_DISK;
	cc_entry_unref(*entry);
	*entry = result;
	*keep = true;
	return CC_ORIGIN_REMOTE;
}

/* With what there is by now: other threads and processes wait for it. */
static enum cmn_status build_entry(struct cc_level *level, const struct cc_key *key,
				   cc_cache_build_fn build, void *ctx,
				   const struct cc_claim *claim, struct cc_build_lock *lock,
				   bool others_wait, struct cc_entry **ret)
{
	enum cmn_status status = build(ctx, ret);

	if (status == CMN_ERR_NOMEM && claim->programs) {
		cc_programs_make_room(claim->programs);
		status = build(ctx, ret);
	}
	if (status == CMN_OK && others_wait && !(*ret)->failed)
		(*ret)->claimed = true;
	if (status == CMN_OK)
		cc_level_put(level, key, *ret, lock);
	else
		cc_build_lock_release(lock);
	return status;
}

enum cmn_status cc_cache_get_or_build(struct cc_cache *cache, const struct cc_key *key,
				      cc_cache_build_fn build, void *ctx, struct cc_entry **ret,
				      enum cc_origin *ret_origin)
{
	enum cc_origin origin = CC_ORIGIN_DISK;
	struct cc_entry *entry = NULL;
	struct cc_build_lock *lock = NULL;
	struct cc_claim claim;
	struct cc_level *level;
	enum cmn_status status;
	bool keep = true, others_wait = false;

	if (claim_in_memory(cache, key, &claim, ret)) {
		*ret_origin = CC_ORIGIN_MEMORY;
		return CMN_OK;
	}
	/* What begins in one disk level ends there, whichever is in use then. */
	level = cc_level_switch_enter(cache->levels);
	status = read_level(cache, level, key, claim.hash, &entry, &keep);
	if (status != CMN_OK) {
		cc_programs_wait(&claim, true);
		status = wait_for_build(cache, level, key, claim.hash, &entry, &keep, &lock);
	}
	if (status == CMN_OK && entry->failed) {
		origin = outrank(cache, level, key, &entry, &keep);
	} else if (status != CMN_OK) {
		origin = CC_ORIGIN_REMOTE;
		/* What is not stored is not uploaded: nobody is to wait for it, nor for a worker. */
		status = get_remote(cache, level, key, &entry, lock,
				    cc_level_stores(level) && !cache->config.built_for ? &others_wait : NULL);
	}
	if (status != CMN_OK) {
		origin = CC_ORIGIN_BUILT;
		cc_programs_wait(&claim, false);
		status = build_entry(level, key, build, ctx, &claim, lock, others_wait, &entry);
		if (others_wait && (status != CMN_OK || entry->failed))
			cc_remote_release(cache->remote, key);
	}
	cc_level_switch_leave(cache->levels, level);
	if (status != CMN_OK) {
		cc_programs_fail(&claim, status, 0, NULL, false);
		return status;
	}
	/* The map has a copy of the key, in which a source may be longer than its binary. */
	*ret = cc_programs_publish(&claim, entry, cc_key_local_view(key).len + cc_entry_payload_size(entry), !keep);
	*ret_origin = origin;
	return CMN_OK;
}

static void remember(struct cc_cache *cache, struct cmn_view key, struct cc_entry *entry)
{
	/* Without memory it is on disk alone. */
	if (cache->programs)
		(void)!cc_programs_put(cache->programs, key, cc_entry_ref(entry),
				       key.len + cc_entry_payload_size(entry));
}

enum cmn_status cc_cache_get(struct cc_cache *cache, const struct cc_key *key,
			     struct cc_entry **ret, enum cc_origin *ret_origin)
{
	enum cc_origin origin = CC_ORIGIN_DISK;
	struct cmn_view view = cc_key_local_view(key);
	struct cc_entry *entry = NULL;
	enum cmn_status status;
	struct cc_level *level;
	bool keep = true;
	void *value;

	if (cache->programs && cc_programs_get(cache->programs, view, &value) == CMN_OK) {
		if (is_fresh(cache, key, value)) {
			*ret_origin = CC_ORIGIN_MEMORY;
			*ret = value;
			return CMN_OK;
		}
		cc_programs_remove(cache->programs, view, value);
		cc_entry_unref(value);
	}
	level = cc_level_switch_enter(cache->levels);
	/* Only the level in memory asks for the hash. */
	status = read_level(cache, level, key,
			    cache->programs ? (unsigned int)cmn_quick_hash(view) : 0, &entry, &keep);
	if (status == CMN_OK && entry->failed) {
		origin = outrank(cache, level, key, &entry, &keep);
	} else if (status != CMN_OK) {
		origin = CC_ORIGIN_REMOTE;
		status = get_remote(cache, level, key, &entry, NULL, NULL);
	}
	cc_level_switch_leave(cache->levels, level);
	if (status != CMN_OK)
		return CMN_MISS;
	if (keep)
		remember(cache, view, entry);
	*ret_origin = origin;
	*ret = entry;
	return CMN_OK;
}

void cc_cache_put(struct cc_cache *cache, const struct cc_key *key, struct cc_entry *entry)
{
	struct cc_level *level = cc_level_switch_enter(cache->levels);

	remember(cache, cc_key_local_view(key), entry);
	cc_level_put(level, key, entry, NULL);
	cc_level_switch_leave(cache->levels, level);
}

bool cc_cache_put_again(struct cc_cache *cache, const struct cc_key *key, struct cc_entry *entry)
{
	struct cc_level *level = cc_level_switch_enter(cache->levels);
	bool done = cc_level_put_again(level, key, cache->memo, entry);

	cc_level_switch_leave(cache->levels, level);
	return done;
}

void cc_cache_reject(struct cc_cache *cache, const struct cc_key *key,
		     const struct cc_entry *entry)
{
	const struct cc_event refused = { .kind = CC_EVENT_REFUSED, .key = key };
	struct cc_level *level = cc_level_switch_enter(cache->levels);

	if (cache->programs)
		cc_programs_remove(cache->programs, cc_key_local_view(key), entry);
	note(cache, level, &refused);
	if (!cache->config.read_only && cc_level_remove(level, key) != CMN_OK)
		cmn_log_write(&cache->log, CMN_LOG_WARNING,
			      "an entry that the driver refused could not be removed");
	cc_level_switch_leave(cache->levels, level);
}

enum cmn_status cc_cache_remove(struct cc_cache *cache, const struct cc_key *key)
{
	struct cc_level *level;
	enum cmn_status status;

	if (cache->programs)
		cc_programs_remove(cache->programs, cc_key_local_view(key), NULL);
	level = cc_level_switch_enter(cache->levels);
	status = cc_level_remove(level, key);
	cc_level_switch_leave(cache->levels, level);
	return status;
}

static void tell(struct cc_cache *cache, const struct cc_event *event)
{
	struct cc_level *level = cc_level_switch_enter(cache->levels);

	note(cache, level, event);
	cc_level_switch_leave(cache->levels, level);
}

void cc_cache_count_hit(struct cc_cache *cache, const struct cc_key *key, enum cc_origin origin,
			const struct cc_entry *entry, uint64_t took_ns)
{
	uint64_t build_ns = cc_entry_build_ns(entry);
	const struct cc_event hit = {
		.kind = origin == CC_ORIGIN_MEMORY ? CC_EVENT_HIT_MEMORY :
			origin == CC_ORIGIN_DISK ? CC_EVENT_HIT_DISK : CC_EVENT_HIT_REMOTE,
		.key = key, .lookup_ns = took_ns, .bytes = cc_entry_payload_size(entry),
		.build_ns = build_ns > took_ns ? build_ns - took_ns : 0,
		.again = entry->failed,
	};

	struct cc_level *level = cc_level_switch_enter(cache->levels);

	note(cache, level, &hit);
	cc_level_switch_leave(cache->levels, level);
}

bool cc_cache_put_recipe(struct cc_cache *cache, const struct cc_recipe *recipe)
{
	struct cc_level *level = cc_level_switch_enter(cache->levels);
	bool done = cc_level_put_recipe(level, recipe);

	cc_level_switch_leave(cache->levels, level);
	return done;
}

static bool is_worker(const struct cc_cache *cache)
{
	return cache && cache->config.built_for;
}

struct cc_build_start cc_cache_start_build(const struct cc_cache *cache)
{
	return (struct cc_build_start){
		.clock_ns = cmn_clock_monotonic(),
		.processor_ns = is_worker(cache) ? cmn_clock_processor() : 0,
		.began_ns = cmn_clock_realtime(),
	};
}

uint64_t cc_cache_build_ns(const struct cc_cache *cache, const struct cc_build_start *start)
{
	uint64_t waited = cmn_clock_monotonic() - start->clock_ns;
	uint64_t worked = is_worker(cache) ? cmn_clock_processor() - start->processor_ns : waited;

	return worked < waited ? worked : waited;
}

/* Of a miss. */
static const char *miss_reason(const struct cc_cache *cache)
{
	return cache->config.read_only ? "read-only" : NULL;
}

static void count_miss(struct cc_cache *cache, const struct cc_key *key, uint64_t build_ns,
		       const char *reason)
{
	bool unattended = is_worker(cache);
	const struct cc_event miss = {
		.kind = unattended ? CC_EVENT_UNATTENDED : CC_EVENT_MISS, .key = key,
		.reason = unattended ? NULL : reason, .build_ns = build_ns, .unattended = unattended,
	};

	cc_remote_note_build(cache->remote, build_ns);
	tell(cache, &miss);
}

void cc_cache_count_miss(struct cc_cache *cache, const struct cc_key *key, uint64_t build_ns)
{
	count_miss(cache, key, build_ns, miss_reason(cache));
}

void cc_cache_count_deferred(struct cc_cache *cache, const struct cc_key *key, uint64_t build_ns)
{
	count_miss(cache, key, build_ns, "deferred");
}

void cc_cache_count_unkept(struct cc_cache *cache, const struct cc_unkept_build *build)
{
	const struct cc_event event = {
		.kind = build->failure ? CC_EVENT_FAILED : CC_EVENT_BYPASS, .key = build->key,
		.source = build->source, .build_ns = build->build_ns,
		.reason = build->bypass ? build->bypass : miss_reason(cache), .detail = build->failure,
		.unattended = is_worker(cache), .uncached = build->bypass != NULL,
	};

	if (!build->bypass)
		cc_remote_note_build(cache->remote, build->build_ns);
	tell(cache, &event);
}

void cc_cache_fork_prepare(struct cc_cache *cache)
{
	cc_level_switch_fork_prepare(cache->levels);
	if (cache->programs)
		cc_programs_fork_prepare(cache->programs);
}

void cc_cache_fork_parent(struct cc_cache *cache)
{
	if (cache->programs)
		cc_programs_fork_parent(cache->programs);
	cc_level_switch_fork_parent(cache->levels);
}

void cc_cache_fork_child(struct cc_cache *cache)
{
	if (cache->programs)
		cc_programs_fork_child(cache->programs);
	cc_level_switch_fork_child(cache->levels);
	/*
	 * A thread of the parent may have been inside the memo; it is left as
	 * it is. Without memory for another, headers are hashed each time.
	 */
	cache->memo = cc_file_memo_new();
}
