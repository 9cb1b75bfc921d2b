/* SPDX-License-Identifier: MIT */
/* board: three small files, each with one hexadecimal number. */
#include "layers/level_zero/plugin/board.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/file.h"

#define MAX_TEXT 32

static bool read_number(const char *devices, const struct lz_board *board, const char *name,
			uint64_t *ret)
{
	struct cmn_buffer text = { 0 };
	char path[512], *end = NULL;
	bool done = false;
	int len;

	len = snprintf(path, sizeof(path), "%s/%04" PRIx32 ":%02" PRIx32 ":%02" PRIx32 ".%" PRIx32 "/%s",
		       devices, board->domain, board->bus, board->device, board->function, name);
	if (len < 0 || (size_t)len >= sizeof(path) ||
	    cmn_file_read_shown(path, MAX_TEXT, &text) != CMN_OK)
		return false;
	/* "0x9a49", and the end of the line. */
	cmn_buffer_append_u8(&text, 0);
	if (!text.failed && text.len > 4 && text.data[0] == '0' && text.data[1] == 'x') {
		*ret = strtoull((const char *)text.data, &end, 16);
		done = *end == '\n' && end[1] == '\0';
	}
	cmn_buffer_release(&text);
	return done;
}

bool lz_board_revision(const char *devices, const struct lz_board *board, uint64_t *ret_revision)
{
	uint64_t vendor_id, device_id;

	return read_number(devices, board, "vendor", &vendor_id) && vendor_id == board->vendor_id &&
	       read_number(devices, board, "device", &device_id) && device_id == board->device_id &&
	       read_number(devices, board, "revision", ret_revision);
}
