/* SPDX-License-Identifier: MIT */
/* storage_key: a request's key, which is any bytes, as text for a storage. */
#ifndef STORAGE_STORAGE_KEY_H
#define STORAGE_STORAGE_KEY_H

#include "common/bytes.h"

#define STORAGE_KEY_MAX 255	/* bytes */
#define STORAGE_KEY_HEX_SIZE (2 * STORAGE_KEY_MAX + 1)
#define STORAGE_KEY_PATH_SIZE (STORAGE_KEY_HEX_SIZE + 16)

/*
 * A path of the first byte's digits as a directory and the rest as a name: "ab/cdef01". A
 * key of less than two bytes is in a directory "_": "_/_" or "_/_ab". Names have at most 200
 * characters: of a longer key, the digits before are directories whose names end in "+".
 */
void storage_key_path(struct cmn_view key, char ret_path[STORAGE_KEY_PATH_SIZE]);

#endif
