/* SPDX-License-Identifier: MIT */
/* memory_public: cachecore.h as a runtime uses it: components in, no bytes of its own making. */
#include <string.h>

#include "cachecore/api/cachecore.h"
#include "tests/bench/memory_items.h"

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

static struct cachecore_program_key key_of(const struct memory_item *item)
{
	if (item->key)
		return (struct cachecore_program_key){ .image_id = { item->key, item->key_len } };
	return (struct cachecore_program_key){
		.image_id = { &item->image, sizeof(item->image) },
		.constants = { item->constants, sizeof(item->constants) },
		.devices = { item->devices, sizeof(item->devices) },
		.device_size = sizeof(item->devices[0]),
		.options = { item->options, strlen(item->options) },
	};
}

static struct cachecore_bytes name_of(const struct memory_item *item)
{
	return (struct cachecore_bytes){ item->name, item->name_len };
}

static struct cachecore_bytes constants_of(const struct memory_item *item)
{
	return (struct cachecore_bytes){ item->constants, sizeof(item->constants) };
}

static enum cachecore_status add(struct cachecore_programs *programs, struct memory_item *item)
{
	const struct cachecore_program_key key = key_of(item);
	struct cachecore_taken taken;
	enum cachecore_status status;

	status = cachecore_programs_get_or_build(programs, &key, give, &item->program, false,
						 &taken);
	if (status == CACHECORE_OK)
		status = cachecore_kernels_get_or_build(programs, &key, name_of(item), give,
							&item->kernel, &taken);
	if (status == CACHECORE_OK)
		status = cachecore_fast_kernel_put(programs, &key, constants_of(item),
						   item->devices[0], name_of(item),
						   &item->kernel);
	return status;
}

static void *fill(struct memory_items *items)
{
	const struct cachecore_value_ops ops = { items->counted ? retain : NULL,
						 items->counted ? release : NULL };
	const struct cachecore_programs_options options = {
		.struct_size = sizeof(options),
		.threshold = MEMORY_THRESHOLD,
		.program_ops = ops,
		.kernel_ops = ops,
	};
	struct cachecore_programs *programs;

	if (cachecore_programs_new(&options, &programs) != CACHECORE_OK)
		return NULL;
	for (size_t i = 0; programs && i < MEMORY_THREADS * MEMORY_ITEMS; i++) {
		if (add(programs, &items->items[i]) != CACHECORE_OK) {
			cachecore_programs_free(programs);
			programs = NULL;
		}
	}
	return programs;
}

static struct memory_value *hit_program(void *maps, struct memory_item *item)
{
	const struct cachecore_program_key key = key_of(item);
	struct cachecore_taken taken;

	if (cachecore_programs_get_or_build(maps, &key, do_not_build, NULL, false, &taken) !=
	    CACHECORE_OK)
		return NULL;
	return taken.value;
}

static struct memory_value *hit_kernel(void *maps, struct memory_item *item)
{
	const struct cachecore_program_key key = key_of(item);
	struct cachecore_taken taken;

	if (cachecore_kernels_get_or_build(maps, &key, name_of(item), do_not_build, NULL,
					   &taken) != CACHECORE_OK)
		return NULL;
	return taken.value;
}

static struct memory_value *hit_fast_kernel(void *maps, struct memory_item *item)
{
	void *value;

	if (cachecore_fast_kernel_get(maps, constants_of(item), item->devices[0], name_of(item),
				      &value) != CACHECORE_OK)
		return NULL;
	return value;
}

static void release_maps(void *maps)
{
	cachecore_programs_free(maps);
}

const struct memory_contender memory_public = {
	.name = "cachecore.h",
	.fill = fill,
	.hit = { hit_program, hit_kernel, hit_fast_kernel },
	.release = release_maps,
};
