/* SPDX-License-Identifier: MIT */
/* storage_key: keys as text. */
#include "storage/storage_key.h"

#include <string.h>

#define NAME_DIGITS 200	/* file systems take 255 bytes, of which suffixes want some */

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
