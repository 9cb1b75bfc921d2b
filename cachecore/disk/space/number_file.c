/* SPDX-License-Identifier: MIT */
/* number_file: one decimal number in a file. */
#include "cachecore/disk/space/number_file.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/env.h"
#include "common/file.h"

/* Twenty digits and a newline; anything longer is not ours. */
#define MAX_TEXT 21

enum cmn_status cc_number_file_read(int dir_fd, const char *name, uint64_t *ret)
{
	struct cmn_buffer file;
	enum cmn_status status = cmn_file_read(dir_fd, name, MAX_TEXT, false, &file);

	if (status == CMN_ERR_TOO_LARGE || status == CMN_STALE)
		return CMN_ERR_CORRUPT;
	if (status != CMN_OK)
		return status;
	/* The newline shows that the number is whole. */
	if (file.len < 2 || file.data[file.len - 1] != '\n') {
		status = CMN_ERR_CORRUPT;
	} else {
		file.data[file.len - 1] = '\0';
		if (strlen((const char *)file.data) != file.len - 1 ||
		    cmn_env_parse_number((const char *)file.data, 0, UINT64_MAX, ret) != CMN_OK)
			status = CMN_ERR_CORRUPT;
	}
	cmn_buffer_release(&file);
	return status;
}

enum cmn_status cc_number_file_write(int dir_fd, const char *name, uint64_t value)
{
	char text[MAX_TEXT + 1];
	int len = snprintf(text, sizeof(text), "%" PRIu64 "\n", value);
	struct cmn_view view = { text, (size_t)len };

	return cmn_file_replace(dir_fd, name, &view, 1);
}
