/* SPDX-License-Identifier: MIT */
/*
 * api_store: the persistent store of the public interface: a cache without its
 * level in memory, with keys of four fields and the runtime's name. A blob is
 * an entry by a name of its own.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cachecore/api/api_internal.h"
#include "cachecore/cache.h"
#include "common/clock.h"

struct cachecore_store {
	struct cc_cache *cache;
	char *runtime;
	atomic_uint_least64_t hits, misses, rejected, build_ns_saved, build_ns_spent;
};

/* ---- values ---- */

/* Beside CC_TAG_IMAGE; the layers' number for the same. */
enum { BLOB_TAG_LOG = 2 };

static bool value_is_valid(const struct cachecore_store_value *value)
{
	if (!value || !value->images || value->image_count == 0 ||
	    value->image_count > UINT32_MAX || !api_bytes_valid(value->log))
		return false;
	for (size_t i = 0; i < value->image_count; i++) {
		if (!api_bytes_valid(value->images[i]))
			return false;
	}
	return true;
}

/* A copy of a valid value, one reference. */
static enum cmn_status blob_new(const struct cachecore_store_value *value, uint64_t build_ns,
				struct cc_entry **ret)
{
	struct cc_entry *entry = cc_entry_new(build_ns);
	enum cmn_status status;

	if (!entry)
		return CMN_ERR_NOMEM;
	for (size_t i = 0; i < value->image_count; i++)
		cc_entry_add(entry, CC_TAG_IMAGE, (uint32_t)i, value->images[i].data,
			     value->images[i].size);
	if (value->log.data)
		cc_entry_add(entry, BLOB_TAG_LOG, 0, value->log.data, value->log.size);
	status = cc_entry_finish(entry, NULL);
	if (status != CMN_OK) {
		cc_entry_unref(entry);
		return status;
	}
	*ret = entry;
	return CMN_OK;
}

static const struct cc_entry *entry_of(const struct cachecore_blob *blob)
{
	return (const struct cc_entry *)blob;
}

static struct cachecore_bytes find(const struct cachecore_blob *blob, uint32_t tag, uint32_t index)
{
	struct cmn_view found = { 0 };

	if (!cc_entry_find(entry_of(blob), tag, index, &found))
		return (struct cachecore_bytes){ 0 };
	return (struct cachecore_bytes){ found.data, found.len };
}

struct cachecore_bytes cachecore_blob_image(const struct cachecore_blob *blob, size_t i)
{
	if (i > UINT32_MAX)
		return (struct cachecore_bytes){ 0 };
	return find(blob, CC_TAG_IMAGE, (uint32_t)i);
}

size_t cachecore_blob_image_count(const struct cachecore_blob *blob)
{
	uint32_t count = 0;

	while (find(blob, CC_TAG_IMAGE, count).data)
		count++;
	return count;
}

struct cachecore_bytes cachecore_blob_log(const struct cachecore_blob *blob)
{
	return find(blob, BLOB_TAG_LOG, 0);
}

uint64_t cachecore_blob_build_ns(const struct cachecore_blob *blob)
{
	return cc_entry_build_ns(entry_of(blob));
}

struct cachecore_blob *cachecore_blob_ref(struct cachecore_blob *blob)
{
	(void)cc_entry_ref((struct cc_entry *)blob);	/* it is this one */
	return blob;
}

void cachecore_blob_unref(struct cachecore_blob *blob)
{
	cc_entry_unref((struct cc_entry *)blob);
}

/* ---- the store ---- */

/* The configuration with what the options say in its place. CMN_MISS: the user wants no store. */
static enum cmn_status configure(const struct cachecore_store_options *options,
				 struct cc_config *ret)
{
	const struct cmn_log log = { .level = CMN_LOG_ERROR };
	enum cmn_status status = cc_config_load(&log, ret);

	if (status != CMN_OK)
		return status;
	/* What is built stays in the runtime's maps; bytes that were read once are of no use there. */
	ret->in_mem = false;
	if (options->capacity != CACHECORE_CAPACITY_DEFAULT)
		ret->max_size = options->capacity == CACHECORE_CAPACITY_UNBOUNDED ?
				0 : options->capacity;
	if (options->dir) {
		/* It is set, and checked, when the cache is there; until then no other is to be used. */
		free(ret->dir);
		free(ret->dir_problem);
		ret->dir = ret->dir_problem = NULL;
	}
	if (ret->disable || !ret->persistent) {
		cc_config_release(ret);
		return CMN_MISS;
	}
	return CMN_OK;
}

static bool has_tiers(const struct cc_config *config)
{
	return config->read_only_dirs && config->read_only_dirs[0];
}

/* A store that could neither be read nor written is none. */
static enum cmn_status check_place(struct cc_cache *cache, const char *dir)
{
	const struct cc_config *config = cc_cache_config(cache);
	char *used;

	if (dir)
		return cc_cache_set_dir(cache, dir);
	if (!config->dir)
		return has_tiers(config) ? CMN_OK : CMN_MISS;
	/* The user's root: what is wrong with it stands in the log. */
	used = cc_cache_dir(cache);
	free(used);
	return used ? CMN_OK : CMN_ERR_ACCESS;
}

enum cachecore_status cachecore_store_open(const struct cachecore_store_options *options,
					   struct cachecore_store **ret)
{
	struct cachecore_store *store;
	struct cc_config config;
	enum cmn_status status;

	if (!ret)
		return CACHECORE_ERR_INVALID;
	*ret = NULL;
	if (!options || options->struct_size != sizeof(*options) || !options->runtime ||
	    !*options->runtime)
		return CACHECORE_ERR_INVALID;
	store = calloc(1, sizeof(*store));
	if (!store)
		return CACHECORE_ERR_NOMEM;
	store->runtime = strdup(options->runtime);
	status = store->runtime ? configure(options, &config) : CMN_ERR_NOMEM;
	if (status == CMN_OK)
		status = cc_cache_open_with(&config, &store->cache);
	if (status == CMN_OK)
		status = check_place(store->cache, options->dir);
	if (status != CMN_OK) {
		cachecore_store_close(store);
		return api_status(status);
	}
	cc_cache_announce(store->cache, store->runtime);
	*ret = store;
	return CACHECORE_OK;
}

void cachecore_store_close(struct cachecore_store *store)
{
	if (!store)
		return;
	cc_cache_close(store->cache);
	free(store->runtime);
	free(store);
}

void cachecore_store_flush(struct cachecore_store *store)
{
	(void)store;	/* whatever it did is written */
}

static void add_field(struct cc_key *key, enum cc_part part, const char *name,
		      struct cachecore_bytes value)
{
	cc_key_add(key, part, name, value.data, value.size);
}

static bool key_is_valid(const struct cachecore_store_key *key)
{
	return key && api_bytes_valid(key->device) && api_bytes_valid(key->image) &&
	       api_bytes_valid(key->constants) && api_bytes_valid(key->options);
}

/* Of a valid one. The caller releases *ret, whatever the status. */
static enum cmn_status encode_key(const struct cachecore_store *store,
				  const struct cachecore_store_key *key, struct cc_key *ret)
{
	cc_key_init(ret);
	cc_key_add_text(ret, CC_PART_DEVICE, "runtime", store->runtime);
	add_field(ret, CC_PART_DEVICE, "device", key->device);
	add_field(ret, CC_PART_IMAGE, "image", key->image);
	add_field(ret, CC_PART_CONSTANTS, "constants", key->constants);
	add_field(ret, CC_PART_OPTIONS, "options", key->options);
	return cc_key_status(ret);
}

static void add(atomic_uint_least64_t *counter, uint64_t amount)
{
	(void)atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
}

static void count_hit(struct cachecore_store *store, const struct cc_key *key,
		      const struct cc_entry *entry, uint64_t took_ns)
{
	uint64_t build_ns = cc_entry_build_ns(entry);

	cc_cache_count_hit(store->cache, key, CC_ORIGIN_DISK, entry, took_ns);
	add(&store->hits, 1);
	add(&store->build_ns_saved, build_ns > took_ns ? build_ns - took_ns : 0);
}

static void count_miss(struct cachecore_store *store, const struct cc_key *key,
		       uint64_t build_ns)
{
	cc_cache_count_miss(store->cache, key, build_ns);
	add(&store->misses, 1);
	add(&store->build_ns_spent, build_ns);
}

enum cachecore_status cachecore_store_get(struct cachecore_store *store,
					  const struct cachecore_store_key *key,
					  struct cachecore_blob **ret)
{
	uint64_t began = cmn_clock_monotonic();
	struct cc_entry *entry;
	enum cc_origin origin;
	enum cmn_status status;
	struct cc_key encoded;

	if (!ret || !key_is_valid(key))
		return CACHECORE_ERR_INVALID;
	if (!store)
		return CACHECORE_MISS;
	status = encode_key(store, key, &encoded);
	if (status == CMN_OK) {
		status = cc_cache_get(store->cache, &encoded, &entry, &origin);
		if (status == CMN_OK) {
			count_hit(store, &encoded, entry,
					    cmn_clock_monotonic() - began);
			*ret = (struct cachecore_blob *)entry;
		} else {
			/* What its build takes is known where it happens, if at all. */
			count_miss(store, &encoded, 0);
		}
	}
	cc_key_release(&encoded);
	return api_status(status);
}

enum cachecore_status cachecore_store_put(struct cachecore_store *store,
					  const struct cachecore_store_key *key,
					  const struct cachecore_store_value *value)
{
	struct cc_entry *entry;
	enum cmn_status status;
	struct cc_key encoded;

	if (!key_is_valid(key) || !value_is_valid(value))
		return CACHECORE_ERR_INVALID;
	if (!store)
		return CACHECORE_OK;
	status = encode_key(store, key, &encoded);
	if (status == CMN_OK)
		status = blob_new(value, value->build_ns, &entry);
	if (status == CMN_OK) {
		cc_cache_put(store->cache, &encoded, entry);
		cc_entry_unref(entry);
	}
	cc_key_release(&encoded);
	return api_status(status);
}

struct store_build {
	cachecore_store_build_fn build;
	void *ctx;
	const struct cc_cache *cache;	/* NULL: none */
	bool called;
	enum cmn_status status;	/* of the build, or why no blob could be made of it */
	uint64_t took_ns;
};

static enum cmn_status build_entry(void *ctx, struct cc_entry **ret)
{
	struct store_build *call = ctx;
	struct cachecore_store_value value = { 0 };
	struct cc_build_start start = cc_cache_start_build(call->cache);

	call->called = true;
	call->status = (enum cmn_status)call->build(call->ctx, &value);
	call->took_ns = cc_cache_build_ns(call->cache, &start);
	if (call->status == CMN_OK && !value_is_valid(&value))
		call->status = CMN_ERR_INVALID;
	if (call->status == CMN_OK)
		call->status = blob_new(&value,
					    value.build_ns ? value.build_ns : call->took_ns, ret);
	/* Whatever it is, there is nothing to share. */
	return call->status == CMN_OK ? CMN_OK : CMN_MISS;
}

static enum cmn_status look_up_or_build(struct cachecore_store *store, const struct cc_key *key,
					struct store_build *call, struct cc_entry **ret)
{
	uint64_t began = cmn_clock_monotonic();
	enum cc_origin origin;
	enum cmn_status status = cc_cache_get_or_build(store->cache, key, build_entry, call, ret,
						       &origin);

	if (call->called)
		count_miss(store, key, call->took_ns);
	else if (status == CMN_OK)
		count_hit(store, key, *ret, cmn_clock_monotonic() - began);
	return status;
}

enum cachecore_status cachecore_store_get_or_build(struct cachecore_store *store,
						   const struct cachecore_store_key *key,
						   cachecore_store_build_fn build, void *ctx,
						   bool *ret_built, struct cachecore_blob **ret)
{
	struct store_build call = {
		.build = build, .ctx = ctx, .cache = store ? store->cache : NULL,
	};
	struct cc_entry *entry = NULL;
	enum cmn_status status;
	struct cc_key encoded = { 0 };

	if (ret_built)
		*ret_built = false;
	if (!ret || !build || !key_is_valid(key))
		return CACHECORE_ERR_INVALID;
	status = store ? encode_key(store, key, &encoded) : CMN_MISS;
	if (status == CMN_OK)
		status = look_up_or_build(store, &encoded, &call, &entry);
	cc_key_release(&encoded);
	/* No store, or not even the memory to ask it. */
	if (status != CMN_OK && !call.called)
		status = build_entry(&call, &entry);
	if (ret_built)
		*ret_built = call.called;
	if (status != CMN_OK)
		return api_status(call.status);
	*ret = (struct cachecore_blob *)entry;
	return CACHECORE_OK;
}

void cachecore_store_reject(struct cachecore_store *store, const struct cachecore_store_key *key)
{
	struct cc_key encoded;

	if (!store || !key_is_valid(key))
		return;
	/* Without memory the entry stays, and is refused again where it is found again. */
	if (encode_key(store, key, &encoded) == CMN_OK) {
		cc_cache_reject(store->cache, &encoded, NULL);
		add(&store->rejected, 1);
	}
	cc_key_release(&encoded);
}

static uint64_t count_of(const atomic_uint_least64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

void cachecore_store_stats(const struct cachecore_store *store, struct cachecore_store_stats *ret)
{
	*ret = (struct cachecore_store_stats){ 0 };
	if (!store)
		return;
	ret->hits = count_of(&store->hits);
	ret->misses = count_of(&store->misses);
	ret->rejected = count_of(&store->rejected);
	ret->build_ns_saved = count_of(&store->build_ns_saved);
	ret->build_ns_spent = count_of(&store->build_ns_spent);
}

void cachecore_store_fork_prepare(struct cachecore_store *store)
{
	if (store)
		cc_cache_fork_prepare(store->cache);
}

void cachecore_store_fork_parent(struct cachecore_store *store)
{
	if (store)
		cc_cache_fork_parent(store->cache);
}

void cachecore_store_fork_child(struct cachecore_store *store)
{
	if (store)
		cc_cache_fork_child(store->cache);
}
