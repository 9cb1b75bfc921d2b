/* SPDX-License-Identifier: MIT */
/* access_times: an array that grows. */
#include "cachecore/disk/writer/access_times.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PLACES 1024

/* false: out of memory. */
static bool make_room(struct cc_access_times *times)
{
	size_t cap = times->cap ? 2 * times->cap : 16;
	struct cc_store_place *places;

	if (times->count < times->cap)
		return true;
	places = realloc(times->places, cap * sizeof(*places));
	if (!places)
		return false;
	times->places = places;
	times->cap = cap;
	return true;
}

bool cc_access_times_add(struct cc_access_times *times, const struct cc_store_place *place)
{
	for (size_t i = 0; i < times->count; i++) {
		struct cc_store_place *there = &times->places[i];

		if (there->n != place->n || strcmp(there->leaf, place->leaf) != 0)
			continue;
		if (there->used_ns < place->used_ns)
			there->used_ns = place->used_ns;
		return false;
	}
	if (times->count >= MAX_PLACES || !make_room(times))
		return false;
	times->places[times->count++] = *place;
	return true;
}

struct cc_access_times cc_access_times_take(struct cc_access_times *times)
{
	struct cc_access_times taken = *times;

	*times = (struct cc_access_times){ 0 };
	return taken;
}

void cc_access_times_release(struct cc_access_times *times)
{
	free(times->places);
	*times = (struct cc_access_times){ 0 };
}
