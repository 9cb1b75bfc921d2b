/* SPDX-License-Identifier: MIT */
/* api_store_build: looks up or builds, one process or thread of the machine at a time. */
#include "cachecore/api/api_internal.h"
#include "cachecore/api/api_store_internal.h"
#include "common/clock.h"

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
	if (call->status == CMN_OK && !api_value_valid(&value))
		call->status = CMN_ERR_INVALID;
	if (call->status == CMN_OK)
		call->status = api_blob_new(&value,
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
		api_store_count_miss(store, key, call->took_ns);
	else if (status == CMN_OK)
		api_store_count_hit(store, key, *ret, cmn_clock_monotonic() - began);
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
	if (!ret || !build || !api_store_key_valid(key))
		return CACHECORE_ERR_INVALID;
	status = store ? api_store_key(store, key, &encoded) : CMN_MISS;
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
