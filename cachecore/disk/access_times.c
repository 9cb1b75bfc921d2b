/* SPDX-License-Identifier: MIT */
/* access_times: an array that grows. */
#include "cachecore/disk/access_times.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TOUCHES 1024

static bool is_there(const struct cc_access_times *touches, const struct cc_store_place *place)
{
	for (size_t i = 0; i < touches->count; i++) {
		const struct cc_store_place *other = &touches->places[i];

		if (other->n == place->n && strcmp(other->leaf, place->leaf) == 0)
			return true;
	}
	return false;
}

/* false: out of memory. */
static bool make_room(struct cc_access_times *touches)
{
	size_t cap = touches->cap ? 2 * touches->cap : 16;
	struct cc_store_place *places;

	if (touches->count < touches->cap)
		return true;
	places = realloc(touches->places, cap * sizeof(*places));
	if (!places)
		return false;
	touches->places = places;
	touches->cap = cap;
	return true;
}

bool cc_access_times_add(struct cc_access_times *touches, const struct cc_store_place *place)
{
	if (touches->count >= MAX_TOUCHES || is_there(touches, place) || !make_room(touches))
		return false;
	touches->places[touches->count++] = *place;
	return true;
}

bool cc_access_times_take(struct cc_access_times *touches, struct cc_store_place *ret)
{
	if (!touches->count)
		return false;
	*ret = touches->places[--touches->count];
	return true;
}

void cc_access_times_release(struct cc_access_times *touches)
{
	free(touches->places);
	*touches = (struct cc_access_times){ 0 };
}
