/* SPDX-License-Identifier: MIT */
/*
 * id: the identity of a description, as bytes: a digest of its keys
 * (cachecore/key.h). The parts are separate, to tell in which part two ids
 * differ:
 *
 *   id = magic[4] version:u32 device[16] image[16] constants[16] options[16] whole[16]
 *
 * Each is XXH3-128 of that part of every key; whole is of all bytes of all keys,
 * with their lengths. Pure functions, thread-safe.
 */
#ifndef SHARED_API_ID_H
#define SHARED_API_ID_H

#include "cachecore/key.h"

#define API_ID_VERSION 1
#define API_ID_SIZE 88

struct api_id {
	uint8_t bytes[API_ID_SIZE];
};

/* CMN_ERR_NOMEM, also of a key. */
CMN_CHECKED enum cmn_status api_id_make(size_t count, const struct cc_key *const *keys,
					struct api_id *ret);

/*
 * CMN_OK: the same. CMN_STALE: another device, driver or compiler. CMN_MISS:
 * another program.
 */
CMN_CHECKED enum cmn_status api_id_compare(const struct api_id *wanted, const struct api_id *found);

#endif
