/* SPDX-License-Identifier: MIT */
/* memory_nothing: no look-up at all, but the count in the value: what two threads on one value cost by themselves. */
#include "tests/bench/memory_items.h"

static void *fill(struct memory_items *items)
{
	return items;
}

static struct memory_value *take(void *maps, struct memory_value *value)
{
	const struct memory_items *items = maps;

	if (items->counted)
		memory_value_retain(value);
	return value;
}

static struct memory_value *hit_program(void *maps, struct memory_item *item)
{
	return take(maps, &item->program);
}

static struct memory_value *hit_kernel(void *maps, struct memory_item *item)
{
	return take(maps, &item->kernel);
}

static void release(void *maps)
{
	(void)maps;	/* the caller's items */
}

const struct memory_contender memory_nothing = {
	.name = "no look-up",
	.fill = fill,
	.hit = { hit_program, hit_kernel, hit_kernel },
	.release = release,
};
