/* SPDX-License-Identifier: MIT */
/* backend: messages for clients' logs, keys as text, and what values take. */
#include "storage/backend.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_DIGITS 200	/* file systems take 255 bytes, of which suffixes want some */

void storage_error_set(struct storage_error *error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(error->text, sizeof(error->text), format, args);	/* fails for wide text only */
	va_end(args);
	for (char *at = error->text; *at; at++) {
		if (*at < ' ' || *at > '~')
			*at = '?';
	}
}

const char *storage_error_phrase(int number)
{
	return strerror(number);	/* of glibc and musl: safe in threads */
}

void storage_key_path(struct cmn_view key, char ret_path[STORAGE_KEY_PATH_SIZE])
{
	char hex[STORAGE_KEY_HEX_SIZE];
	size_t len = 2 * key.len;
	const char *rest = hex + 2;
	char *to = ret_path;

	cmn_hex(key.data, key.len, hex);
	if (key.len < 2) {
		memcpy(to, "_/_", 3);
		memcpy(to + 3, hex, len + 1);
		return;
	}
	memcpy(to, hex, 2);
	to[2] = '/';
	to += 3;
	for (len -= 2; len > NAME_DIGITS; len -= NAME_DIGITS) {
		memcpy(to, rest, NAME_DIGITS);
		memcpy(to + NAME_DIGITS, "+/", 2);
		to += NAME_DIGITS + 2;
		rest += NAME_DIGITS;
	}
	memcpy(to, rest, len + 1);
}

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
	size_t cap = 2 * bytes->cap < most ? 2 * bytes->cap : most;
	uint8_t *data;

	if (extra <= bytes->cap - bytes->len)
		return true;
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
