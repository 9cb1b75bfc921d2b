/* SPDX-License-Identifier: MIT */
/* value: counts what values take. */
#include "storage/value.h"

#include <stdlib.h>

bool storage_value_count(struct storage_value *value, size_t size)
{
	struct storage_room *room = value->room;
	size_t wanted = size > STORAGE_VALUE_KEPT ? size : 0, used = atomic_load(&room->used), more;

	if (wanted <= value->counted) {
		atomic_fetch_sub(&room->used, value->counted - wanted);
	} else {
		more = wanted - value->counted;
		do {
			if (more > room->max || used > room->max - more)
				return false;
		} while (!atomic_compare_exchange_weak(&room->used, &used, used + more));
	}
	value->counted = wanted;
	return true;
}

bool storage_value_reserve(struct storage_value *value, size_t extra, size_t most)
{
	struct cmn_buffer *bytes = &value->bytes;
	size_t cap = bytes->cap ? 2 * bytes->cap : extra;
	uint8_t *data;

	if (extra <= bytes->cap - bytes->len)
		return true;
	cap = cap < most ? cap : most;
	cap = cap < bytes->len + extra ? bytes->len + extra : cap;
	if (!storage_value_count(value, cap))
		return false;
	data = realloc(bytes->data, cap);
	if (!data)
		return false;
	bytes->data = data;
	bytes->cap = cap;
	return true;
}

void storage_value_end(struct storage_value *value)
{
	if (value->bytes.cap > STORAGE_VALUE_KEPT || value->bytes.failed)
		cmn_buffer_release(&value->bytes);
	(void)storage_value_count(value, 0);	/* less is always left */
}

void storage_value_release(struct storage_value *value)
{
	cmn_buffer_release(&value->bytes);
	(void)storage_value_count(value, 0);	/* less is always left */
}
