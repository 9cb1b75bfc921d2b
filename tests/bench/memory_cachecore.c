/* SPDX-License-Identifier: MIT */
/*
 * memory_cachecore: cachecore as a runtime uses it: it puts the key together
 * at every look-up, and asks for what it wants to have built.
 */
#include "cachecore/api/api_internal.h"
#include "tests/bench/memory_items.h"
#include "tests/support/fast_kernel.h"

static void retain(void *value)
{
	memory_value_retain(value);
}

static void release(void *value)
{
	memory_value_release(value);
}

static enum cachecore_status give(void *value, struct cachecore_build_output *ret)
{
	ret->value = value;
	ret->size = 1;
	return CACHECORE_OK;
}

static enum cachecore_status do_not_build(void *ctx, struct cachecore_build_output *ret)
{
	(void)ctx;
	(void)ret;
	return CACHECORE_ERR_INVALID;
}

static enum cmn_status add(struct cc_programs *programs, struct memory_item *item)
{
	struct memory_key room;
	struct cc_build_taken taken;
	enum cmn_status status;
	struct cmn_view key;

	memory_key_make(item, &room);
	key = (struct cmn_view){ room.data, room.len };
	status = api_build_program(programs, key, give, &item->program, false, &taken);
	if (status == CMN_OK)
		status = api_build_kernel(programs, key, cmn_view_of(item->name), give, &item->kernel,
						 &taken);
	if (status == CMN_OK)
		status = fast_kernel_put(programs, key, item->constants_hash,
					    item->devices[0],
					    (struct cmn_view){ item->name, item->name_len },
					    &item->kernel);
	return status;
}

static void *fill(struct memory_items *items)
{
	const struct cc_value_ops ops = { items->counted ? retain : NULL,
					  items->counted ? release : NULL };
	struct cc_programs *programs = cc_programs_new(MEMORY_THRESHOLD, &ops, &ops);

	for (size_t i = 0; programs && i < MEMORY_THREADS * MEMORY_ITEMS; i++) {
		if (add(programs, &items->items[i]) != CMN_OK) {
			cc_programs_free(programs);
			programs = NULL;
		}
	}
	return programs;
}

static struct memory_value *hit_program(void *maps, struct memory_item *item)
{
	struct cc_build_taken taken;
	struct memory_key key;

	memory_key_make(item, &key);
	if (api_build_program(maps, (struct cmn_view){ key.data, key.len }, do_not_build,
				     NULL, false, &taken) != CMN_OK)
		return NULL;
	return taken.value;
}

static struct memory_value *hit_kernel(void *maps, struct memory_item *item)
{
	struct cc_build_taken taken;
	struct memory_key key;

	memory_key_make(item, &key);
	if (api_build_kernel(maps, (struct cmn_view){ key.data, key.len },
				    cmn_view_of(item->name),
				    do_not_build, NULL, &taken) != CMN_OK)
		return NULL;
	return taken.value;
}

static struct memory_value *hit_fast_kernel(void *maps, struct memory_item *item)
{
	void *value;

	if (fast_kernel_get(maps, item->constants_hash, item->devices[0],
			       (struct cmn_view){ item->name, item->name_len }, &value) != CMN_OK)
		return NULL;
	return value;
}

static void release_maps(void *maps)
{
	cc_programs_free(maps);
}

const struct memory_contender memory_cachecore = {
	.name = "cachecore",
	.fill = fill,
	.hit = { hit_program, hit_kernel, hit_fast_kernel },
	.release = release_maps,
};
