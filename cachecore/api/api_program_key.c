/* SPDX-License-Identifier: MIT */
/* api_program_key: lengths first, so that no two keys run together; then the bytes. */
#include "cachecore/api/api_internal.h"

#include <stdlib.h>
#include <string.h>

#define PROGRAM_HEAD (4 * sizeof(uint64_t))

static uint8_t *put_number(uint8_t *at, uint64_t number)
{
	memcpy(at, &number, sizeof(number));
	return at + sizeof(number);
}

static uint8_t *put_bytes(uint8_t *at, struct cachecore_bytes bytes)
{
	if (bytes.size)
		memcpy(at, bytes.data, bytes.size);
	return at + bytes.size;
}

/* Elements of size in order, each once; they are few. */
static uint8_t *put_set(uint8_t *start, struct cachecore_bytes set, size_t size)
{
	uint8_t *end = start;

	for (size_t from = 0; from < set.size; from += size) {
		const uint8_t *element = (const uint8_t *)set.data + from;
		uint8_t *at = end;
		int order = 1;

		while (at > start && (order = memcmp(at - size, element, size)) > 0)
			at -= size;
		if (at > start && order == 0)
			continue;
		memmove(at + size, at, (size_t)(end - at));
		memcpy(at, element, size);
		end += size;
	}
	return end;
}

static enum cmn_status make_room(struct api_key *key, size_t size, uint8_t **ret)
{
	*ret = key->room;
	if (size <= sizeof(key->room))
		return CMN_OK;
	key->heap = malloc(size);
	*ret = key->heap;
	return key->heap ? CMN_OK : CMN_ERR_NOMEM;
}

static bool is_valid(const struct cachecore_program_key *key)
{
	return key && api_bytes_valid(key->image_id) && api_bytes_valid(key->constants) &&
	       api_bytes_valid(key->devices) && api_bytes_valid(key->options) &&
	       (key->device_size == 0 || key->devices.size == key->device_size ||
		key->devices.size % key->device_size == 0);
}

enum cmn_status api_key_of_program(const struct cachecore_program_key *key, struct api_key *ret)
{
	enum cmn_status status;
	uint8_t *start, *at, *devices;
	size_t size;

	ret->heap = NULL;
	if (!is_valid(key))
		return CMN_ERR_INVALID;
	if (__builtin_add_overflow(PROGRAM_HEAD, key->image_id.size, &size) ||
	    __builtin_add_overflow(size, key->constants.size, &size) ||
	    __builtin_add_overflow(size, key->devices.size, &size) ||
	    __builtin_add_overflow(size, key->options.size, &size))
		return CMN_ERR_TOO_LARGE;
	status = make_room(ret, size, &start);
	if (status != CMN_OK)
		return status;
	at = put_bytes(start + PROGRAM_HEAD, key->image_id);
	devices = put_bytes(at, key->constants);
	if (key->device_size == 0 || key->device_size == key->devices.size)
		at = put_bytes(devices, key->devices);
	else
		at = put_set(devices, key->devices, key->device_size);
	put_number(put_number(put_number(put_number(start, key->image_id.size),
					 key->constants.size), (uint64_t)(at - devices)),
		   key->device_size);
	at = put_bytes(at, key->options);
	ret->view = (struct cmn_view){ start, (size_t)(at - start) };
	return CMN_OK;
}

void api_key_release(struct api_key *key)
{
	free(key->heap);
}
