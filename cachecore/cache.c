/* SPDX-License-Identifier: MIT */
/*
 * cache: joins the levels. Which bytes make a key and what to do with an entry
 * is the layer's business.
 */
#include "cachecore/cache.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "cachecore/flights.h"
#include "cachecore/programs.h"
#include "cachecore/store.h"
#include "cachecore/writer.h"

/* Entries go stale between two looks only when headers are being edited; more than this is a fight. */
#define STALE_RETRIES 3
/* Nobody waits longer for a process to end. */
#define EXIT_TIMEOUT_NS (UINT64_C(5) * 1000000000)

/*
 * An entry that a process reads once, as most do, is of no use in memory, and
 * fresh memory to keep it in costs more than reading it again. So, beyond a
 * budget, only short ones are kept when they are read for the first time.
 */
#define KEPT_BUDGET ((size_t)512 << 10)
#define KEPT_LEN ((size_t)16 << 10)
#define SEEN_KEYS 1024
#define SEEN_TAIL ((size_t)8 << 10)	/* bytes */

struct cc_cache {
	struct cc_config config;
	struct cmn_log log;
	struct cc_stats *stats;
	struct cc_trace *trace;		/* NULL: off */
	struct cc_file_memo *memo;
	struct cc_programs *programs;	/* NULL: level off */
	struct cc_store *store;		/* NULL: level off */
	struct cc_writer *writer;	/* with store */
	struct cc_flights *flights;	/* with writer; may be NULL */
	atomic_size_t kept;	/* of the budget; may go over it by one entry a thread */
	atomic_uint_least64_t seen[SEEN_KEYS];	/* hashes of keys that were read, each in its slot */
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

static void open_disk_level(struct cc_cache *cache)
{
	const struct cc_config *config = &cache->config;

	if (!config->persistent)
		return;
	if (!config->dir) {
		if (config->dir_problem)
			cmn_log_write(&cache->log, CMN_LOG_WARNING, "no disk cache: %s",
				      config->dir_problem);
		/* What an image or a site brings can be read without a place to write to. */
		if (!config->read_only_dirs || !config->read_only_dirs[0])
			return;
	}
	/* The store itself names the reason in the log. */
	if (cc_store_open(config, &cache->log, &cache->store) != CMN_OK) {
		cache->store = NULL;
		return;
	}
	/* A cache that is only read takes no statistics either. */
	if (config->read_only || !config->dir)
		return;
	cache->writer = cc_writer_new(cache->store, cache->stats, &cache->log);
	if (!cache->writer) {
		cc_store_close(cache->store);
		cache->store = NULL;
		return;
	}
	if (config->admit_all)
		cc_writer_admit_all(cache->writer);
	/* Without, every process builds for itself. */
	if (config->build_wait)
		cache->flights = cc_flights_new(config->dir);
}

enum cmn_status cc_cache_open(struct cc_cache **ret)
{
	struct cc_cache *cache = calloc(1, sizeof(*cache));
	enum cmn_status status;

	if (!cache)
		return CMN_ERR_NOMEM;
	cache->log.level = CMN_LOG_ERROR;
	status = cc_config_load(&cache->log, &cache->config);
	if (status != CMN_OK) {
		free(cache);
		return status;
	}
	if (cache->config.disable) {
		cc_cache_close(cache);
		return CMN_MISS;
	}
	cache->log.level = cache->config.log_level;
	cache->stats = cc_stats_new();
	cache->memo = cc_file_memo_new();
	if (cache->config.in_mem)
		cache->programs = cc_programs_new(cache->config.in_mem_eviction_threshold,
						  &entry_ops, NULL);
	if (!cache->stats || !cache->memo || (cache->config.in_mem && !cache->programs)) {
		cc_cache_close(cache);
		return CMN_ERR_NOMEM;
	}
	if (cache->config.trace)
		cache->trace = cc_trace_open(cache->config.trace, &cache->log);
	open_disk_level(cache);
	*ret = cache;
	return CMN_OK;
}

void cc_cache_close(struct cc_cache *cache)
{
	if (!cache)
		return;
	/* A thread that hangs in the file system still uses what it was given. */
	if (!cc_writer_free(cache->writer, EXIT_TIMEOUT_NS))
		return;
	cc_programs_free(cache->programs);
	cc_flights_free(cache->flights);
	cc_store_close(cache->store);
	cc_trace_close(cache->trace);
	cc_file_memo_free(cache->memo);
	cc_stats_free(cache->stats);
	cc_config_release(&cache->config);
	free(cache);
}

void cc_cache_flush(struct cc_cache *cache)
{
	if (cache && cache->writer && !cc_writer_flush(cache->writer, EXIT_TIMEOUT_NS))
		cmn_log_write(&cache->log, CMN_LOG_INFO, "not everything was stored before exit");
}

const struct cc_config *cc_cache_config(const struct cc_cache *cache)
{
	return &cache->config;
}

const struct cmn_log *cc_cache_log(const struct cc_cache *cache)
{
	return &cache->log;
}

struct cc_file_memo *cc_cache_file_memo(struct cc_cache *cache)
{
	return cache->memo;
}

/*
 * Whether this key was read from disk before, as far as that is remembered: by
 * its length and its end, since taking one for another only keeps an entry in
 * memory that need not be.
 */
static bool was_seen(struct cc_cache *cache, const struct cc_key *key)
{
	struct cmn_view view = cc_key_view(key);
	size_t len = view.len < SEEN_TAIL ? view.len : SEEN_TAIL;
	struct cmn_hash hash = cmn_hash_of((const uint8_t *)view.data + view.len - len, len);
	uint64_t number = cmn_hash_u64(&hash) ^ view.len;

	return atomic_exchange_explicit(&cache->seen[number % SEEN_KEYS], number,
					memory_order_relaxed) == number;
}

/* *ret_keep: the entry belongs into memory. */
static enum cmn_status read_store(struct cc_cache *cache, const struct cc_key *key,
				  struct cc_entry **ret, bool *ret_keep)
{
	struct cc_store_report report;
	size_t kept, kept_len = KEPT_LEN, len;
	enum cmn_status status;

	if (!cache->store || cache->config.recache)
		return CMN_MISS;
	kept = atomic_load_explicit(&cache->kept, memory_order_relaxed);
	if (kept + KEPT_LEN < KEPT_BUDGET)
		kept_len = KEPT_BUDGET - kept;
	if (cache->programs && was_seen(cache, key))
		kept_len = SIZE_MAX;
	status = cc_store_get(cache->store, key, cache->memo, kept_len, ret, &report);
	if (report.damaged)
		cc_stats_add(cache->stats, CC_ERRORS, report.damaged);
	/* Whatever else went wrong, to the caller it is a miss. */
	if (status != CMN_OK)
		return CMN_MISS;
	if (cache->writer && report.place.leaf[0])
		cc_writer_touch(cache->writer, &report.place);
	else if (cache->writer && cache->config.promote)
		(void)cc_writer_put(cache->writer, key, *ret, NULL);	/* the tier has it anyway */
	len = cc_entry_payload_size(*ret) + CC_ENTRY_HEADER_SIZE;
	*ret_keep = len <= kept_len;
	if (*ret_keep && len > KEPT_LEN)
		(void)atomic_fetch_add_explicit(&cache->kept, len, memory_order_relaxed);
	return CMN_OK;
}

/* Takes the flight (may be NULL), which ends when the entry can be found. */
static void write_store(struct cc_cache *cache, const struct cc_key *key, struct cc_entry *entry,
			struct cc_flight *flight)
{
	if (cache->writer && !cc_entry_in_memory_only(entry))
		(void)cc_writer_put(cache->writer, key, entry, flight);	/* dropped: a later run stores it */
	else
		cc_flight_end(flight);
}

/* What the build callback of one look-up needs, and what it found out. */
struct lookup {
	struct cc_cache *cache;
	const struct cc_key *key;
	cc_cache_build_fn build;
	void *ctx;
	enum cc_origin origin;
	bool keep;
};

static enum cmn_status read_disk(struct lookup *lookup, struct cc_entry **ret)
{
	enum cmn_status status = read_store(lookup->cache, lookup->key, ret, &lookup->keep);

	if (status == CMN_OK)
		lookup->origin = CC_ORIGIN_DISK;
	return status;
}

/*
 * Waits while another process builds the same. CMN_OK: that was stored. Else
 * the caller is to build, and to end the flight if it was given one.
 */
static enum cmn_status join_flight(struct lookup *lookup, struct cc_entry **ret,
				   struct cc_flight **ret_flight)
{
	struct cc_cache *cache = lookup->cache;
	struct cmn_view key = cc_key_view(lookup->key);
	enum cc_flight_turn turn;
	enum cmn_status status;

	*ret_flight = NULL;
	if (!cache->flights || cache->config.recache)
		return CMN_MISS;
	turn = cc_flights_begin(cache->flights, key,
				cache->config.build_wait * UINT64_C(1000000000), ret_flight);
	/* Since the first look another one's may have begun and ended. */
	if (turn == CC_FLIGHT_ALONE ||
	    (turn == CC_FLIGHT_OWN && !cc_store_may_have(cache->store, lookup->key)))
		return CMN_MISS;
	status = read_disk(lookup, ret);
	if (status == CMN_OK)
		cc_flight_end(*ret_flight);
	return status;
}

static enum cmn_status read_or_build(struct lookup *lookup, struct cc_entry **ret)
{
	struct cc_flight *flight;
	enum cmn_status status = read_disk(lookup, ret);

	if (status == CMN_OK || join_flight(lookup, ret, &flight) == CMN_OK)
		return CMN_OK;
	lookup->origin = CC_ORIGIN_BUILT;
	lookup->keep = true;
	status = lookup->build(lookup->ctx, ret);
	if (status == CMN_OK)
		write_store(lookup->cache, lookup->key, *ret, flight);
	else
		cc_flight_end(flight);
	return status;
}

static enum cmn_status build_for_memory(void *ctx, struct cc_build_output *ret)
{
	struct lookup *lookup = ctx;
	struct cc_entry *entry;
	enum cmn_status status = read_or_build(lookup, &entry);

	if (status != CMN_OK)
		return status;
	ret->value = entry;
	ret->size = cc_entry_payload_size(entry);
	ret->transient = !lookup->keep;
	return CMN_OK;
}

static bool is_fresh(struct cc_cache *cache, const struct cc_entry *entry)
{
	const struct cc_manifest *manifest = cc_entry_manifest(entry);

	return cc_manifest_count(manifest) == 0 ||
	       cc_manifest_verify(manifest, cache->memo) == CMN_OK;
}

enum cmn_status cc_cache_get_or_build(struct cc_cache *cache, const struct cc_key *key,
				      cc_cache_build_fn build, void *ctx, struct cc_entry **ret,
				      enum cc_origin *ret_origin)
{
	struct lookup lookup = { cache, key, build, ctx, CC_ORIGIN_BUILT, true };
	struct cmn_view view = cc_key_view(key);
	struct cc_entry *entry = NULL;
	enum cmn_status status;

	for (int i = 0; cache->programs && !cache->config.recache && i < STALE_RETRIES; i++) {
		struct cc_build_taken taken = { 0 };

		status = cc_programs_get_or_build(cache->programs, view, build_for_memory, &lookup,
						  false, &taken);
		free(taken.error_message);
		if (status != CMN_OK)
			return status;
		entry = taken.value;
		if (taken.way == CC_WAY_BUILT) {
			*ret_origin = lookup.origin;
			*ret = entry;
			return CMN_OK;
		}
		if (is_fresh(cache, entry)) {
			*ret_origin = CC_ORIGIN_MEMORY;
			*ret = entry;
			return CMN_OK;
		}
		/* A header changed since: this one is of no use to anybody now. */
		cc_programs_remove(cache->programs, view, entry);
		cc_entry_unref(entry);
	}
	status = read_or_build(&lookup, &entry);
	if (status == CMN_OK) {
		*ret_origin = lookup.origin;
		*ret = entry;
	}
	return status;
}

static void remember(struct cc_cache *cache, struct cmn_view key, struct cc_entry *entry)
{
	if (cache->programs && cc_programs_put(cache->programs, key, cc_entry_ref(entry),
					       cc_entry_payload_size(entry)) != CMN_OK)
		cmn_log_write(&cache->log, CMN_LOG_DEBUG, "no memory to keep an entry");
}

enum cmn_status cc_cache_get(struct cc_cache *cache, const struct cc_key *key,
			     struct cc_entry **ret, enum cc_origin *ret_origin)
{
	struct cmn_view view = cc_key_view(key);
	struct cc_entry *entry = NULL;
	void *value;
	bool keep;

	if (cache->config.recache)
		return CMN_MISS;
	if (cache->programs && cc_programs_get(cache->programs, view, &value) == CMN_OK) {
		if (is_fresh(cache, value)) {
			*ret_origin = CC_ORIGIN_MEMORY;
			*ret = value;
			return CMN_OK;
		}
		cc_programs_remove(cache->programs, view, value);
		cc_entry_unref(value);
	}
	if (read_store(cache, key, &entry, &keep) != CMN_OK)
		return CMN_MISS;
	if (keep)
		remember(cache, view, entry);
	*ret_origin = CC_ORIGIN_DISK;
	*ret = entry;
	return CMN_OK;
}

void cc_cache_put(struct cc_cache *cache, const struct cc_key *key, struct cc_entry *entry)
{
	remember(cache, cc_key_view(key), entry);
	write_store(cache, key, entry, NULL);
}

void cc_cache_reject(struct cc_cache *cache, const struct cc_key *key,
		     const struct cc_entry *entry)
{
	struct cc_trace_event event = { .what = "error", .reason = "driver-refused", .key = key };

	cc_stats_add(cache->stats, CC_ERRORS, 1);
	cc_trace_write(cache->trace, &event);
	if (cache->programs)
		cc_programs_remove(cache->programs, cc_key_view(key), entry);
	if (cache->store && !cache->config.read_only &&
	    cc_store_remove(cache->store, key) != CMN_OK)
		cmn_log_write(&cache->log, CMN_LOG_WARNING,
			      "an entry that the driver refused could not be removed");
}

void cc_cache_count_hit(struct cc_cache *cache, const struct cc_key *key, enum cc_origin origin,
			const struct cc_entry *entry, uint64_t took_ns)
{
	bool memory = origin == CC_ORIGIN_MEMORY;
	uint64_t build_ns = cc_entry_build_ns(entry);
	uint64_t saved = build_ns > took_ns ? build_ns - took_ns : 0;
	struct cc_trace_event event = {
		.what = memory ? "hit-memory" : "hit-disk",
		.key = key,
		.lookup_ns = took_ns,
		.build_ns = saved,
		.bytes = cc_entry_payload_size(entry),
	};

	cc_stats_add(cache->stats, memory ? CC_HITS_MEMORY : CC_HITS_DISK, 1);
	cc_stats_add(cache->stats, CC_COMPILE_NS_SAVED, saved);
	cc_trace_write(cache->trace, &event);
}

bool cc_cache_put_recipe(struct cc_cache *cache, const struct cc_recipe *recipe)
{
	struct cmn_buffer encoded;

	if (!cache->writer || cc_recipe_encode(recipe, &encoded) != CMN_OK)
		return false;
	return cc_writer_put_recipe(cache->writer, &encoded);
}

static void count_miss(struct cc_cache *cache, const struct cc_key *key, uint64_t build_ns,
		       const char *reason)
{
	struct cc_trace_event event = {
		.what = "miss",
		.reason = reason,
		.key = key,
		.build_ns = build_ns,
	};

	cc_stats_add(cache->stats, CC_MISSES, 1);
	cc_stats_add(cache->stats, CC_COMPILE_NS_SPENT, build_ns);
	cc_trace_write(cache->trace, &event);
}

void cc_cache_count_miss(struct cc_cache *cache, const struct cc_key *key, uint64_t build_ns)
{
	count_miss(cache, key, build_ns, NULL);
}

void cc_cache_count_deferred(struct cc_cache *cache, const struct cc_key *key, uint64_t build_ns)
{
	cc_stats_add(cache->stats, CC_DEFERRED, 1);
	count_miss(cache, key, build_ns, "deferred");
}

void cc_cache_count_bypass(struct cc_cache *cache, const char *reason, const struct cc_key *key)
{
	struct cc_trace_event event = { .what = "bypass", .reason = reason, .key = key };

	cc_stats_bypass(cache->stats, reason);
	cc_trace_write(cache->trace, &event);
}

void cc_cache_fork_prepare(struct cc_cache *cache)
{
	if (cache->writer)
		cc_writer_fork_prepare(cache->writer);
	if (cache->programs)
		cc_programs_fork_prepare(cache->programs);
	if (cache->flights)
		cc_flights_fork_prepare(cache->flights);
}

void cc_cache_fork_parent(struct cc_cache *cache)
{
	if (cache->flights)
		cc_flights_fork_parent(cache->flights);
	if (cache->programs)
		cc_programs_fork_parent(cache->programs);
	if (cache->writer)
		cc_writer_fork_parent(cache->writer);
}

void cc_cache_fork_child(struct cc_cache *cache)
{
	/* First: what the others drop may hold flights. */
	if (cache->flights)
		cc_flights_fork_child(cache->flights);
	if (cache->programs)
		cc_programs_fork_child(cache->programs);
	if (cache->writer)
		cc_writer_fork_child(cache->writer);
	/*
	 * A thread of the parent may have been inside the memo; it is left as
	 * it is. Without memory for another, headers are hashed each time.
	 */
	cache->memo = cc_file_memo_new();
}
