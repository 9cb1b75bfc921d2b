/* SPDX-License-Identifier: MIT */
/* number_file: one decimal number in a file. */
#include "cachecore/disk/space/number_file.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/env.h"
#include "common/file.h"

/* Twenty digits and a newline; anything longer is not ours. */
#define MAX_TEXT 21

/* What was read, with that status. */
static enum cmn_status parse(enum cmn_status status, const struct cmn_buffer *file, uint64_t *ret)
{
	if (status == CMN_ERR_TOO_LARGE || status == CMN_STALE)
		return CMN_ERR_CORRUPT;
	if (status != CMN_OK)
		return status;
	/* The newline shows that the number is whole. */
	if (file->len < 2 || file->data[file->len - 1] != '\n')
		return CMN_ERR_CORRUPT;
	file->data[file->len - 1] = '\0';
	if (strlen((const char *)file->data) != file->len - 1)
		return CMN_ERR_CORRUPT;
	return cmn_env_parse_number((const char *)file->data, 0, UINT64_MAX, ret) == CMN_OK ? CMN_OK : CMN_ERR_CORRUPT;
}

/* Into an array: nothing that fits is too large for it, and nothing is allocated. */
enum cmn_status cc_number_file_read(int dir_fd, const char *name, uint64_t *ret)
{
	uint8_t text[MAX_TEXT];
	struct cmn_buffer file = { .data = text, .cap = sizeof(text) };

	return parse(cmn_file_read_into(dir_fd, name, MAX_TEXT, CMN_FILE_ANY, NULL, &file), &file, ret);
}

enum cmn_status cc_number_file_write(int dir_fd, const char *name, uint64_t value)
{
	char text[MAX_TEXT + 1];
	int len = snprintf(text, sizeof(text), "%" PRIu64 "\n", value);

	return cmn_file_replace(dir_fd, name, (struct cmn_view){ text, (size_t)len });
}
