/* SPDX-License-Identifier: MIT */
/*
 * program_key: how a program's key of the public interface becomes the bytes
 * that the maps compare:
 *
 *   key = image_id_size:u64 constants_size:u64 devices_size:u64 device_size:u64
 *         image_id constants devices options
 *
 * in the machine's byte order, as it never leaves the process. devices of a
 * device_size are sorted, each once. An encoding belongs to one thread.
 */
#ifndef CACHECORE_API_PROGRAM_KEY_H
#define CACHECORE_API_PROGRAM_KEY_H

#include <stdint.h>

#include "cachecore/api/cachecore.h"
#include "common/bytes.h"
#include "common/status.h"

/* A few times what runtimes have (ids, some constants, a line of options): beyond, malloc. */
#define API_KEY_ROOM 1024

struct api_key {
	struct cmn_view view;	/* the encoding: in room, or in heap */
	uint8_t *heap;		/* NULL: not used */
	uint8_t room[API_KEY_ROOM];
};

/*
 * The caller calls api_key_release, whatever the status. CMN_ERR_INVALID: NULL, bytes
 * without an address, or a device_size that does not divide; CMN_ERR_NOMEM;
 * CMN_ERR_TOO_LARGE: larger than an address space.
 */
CMN_CHECKED enum cmn_status api_key_of_program(const struct cachecore_program_key *key,
					       struct api_key *ret);
void api_key_release(struct api_key *key);

#endif
