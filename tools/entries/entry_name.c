/* SPDX-License-Identifier: MIT */
/* entry_name: part by part. */
#include "tools/entries/entry_name.h"

#include <stddef.h>
#include <string.h>

#define LEAF_PARTS 4

/* "12" of "12.src"; what has another end is taken as it is. */
static size_t number_len(const char *text, size_t len)
{
	return len > 4 && memcmp(text + len - 4, ".src", 4) == 0 ? len - 4 : len;
}

bool entry_name_matches(const char *text, const char *path)
{
	if (!*text || !*path)
		return false;
	for (unsigned int part = 0; *text; part++) {
		size_t len = strcspn(text, "/"), path_len = strcspn(path, "/");

		/* A path without the number stands for all of them. */
		if (part == LEAF_PARTS && !*path)
			return strcspn(text, "/") == strlen(text);
		if (part == LEAF_PARTS) {
			len = number_len(text, len);
			if (len != number_len(path, path_len) || memcmp(text, path, len) != 0)
				return false;
			return !text[strcspn(text, "/")];
		}
		if (len > path_len || memcmp(text, path, len) != 0)
			return false;
		text += len + (text[len] == '/');
		path += path_len + (path[path_len] == '/');
	}
	return true;
}
