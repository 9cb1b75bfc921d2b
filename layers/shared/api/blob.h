/* SPDX-License-Identifier: MIT */
/*
 * blob: the id of a description, and the bytes that an application stores itself: fields, with the id of the
 * description that they belong to, and a checksum over everything. Never
 * compressed, because the application chooses how to store them.
 *
 *   id      = magic[4] version:u32 device[16] image[16] constants[16] options[16] whole[16]
 *
 * A digest of the description's keys (cachecore/key.h): XXH3-128 of each part of every key, to tell in which
 * part two ids differ, and of all bytes of all keys, with their lengths.
 *
 *   blob    = header payload
 *   header  = magic[8] version:u32 kind:u32 id[88] payload_len:u64 hash[16]
 *
 * payload: the same fields as an entry's (cachecore/entry.h).
 *
 * hash = hash(hash(header before it) hash(payload)), so that every bit counts.
 * All integers are little-endian. kind: enum ckcache_kind; version 1 had none. Pure functions,
 * thread-safe; nothing in the bytes is trusted.
 */
#ifndef SHARED_API_BLOB_H
#define SHARED_API_BLOB_H

#include "cachecore/key.h"
#include "layers/shared/api/ckcache.h"

#define API_ID_VERSION 1
#define API_ID_SIZE 88
#define API_BLOB_VERSION 2
#define API_BLOB_HEADER_SIZE 128
/* No blob is larger (cachecore/entry.h has the same bound for payloads). */
#define API_BLOB_MAX ((size_t)UINT32_MAX)

enum {
	API_FIELD_IMAGE = 1,	/* a device binary; index: the program's place */
	API_FIELD_DATA = 2,	/* a library's own; index 0 */
	API_FIELD_MANIFEST = 3,	/* what the build of an image read (cachecore/manifest.h); index: its place */
};

struct api_id {
	uint8_t bytes[API_ID_SIZE];
};

/* CMN_ERR_NOMEM, also of a key. */
CMN_CHECKED enum cmn_status api_id_make(size_t count, const struct cc_key *keys, struct api_id *ret);

/* Begins a blob in an empty buffer. */
void api_blob_begin(struct cmn_buffer *blob, enum ckcache_kind kind, const struct api_id *id);
void api_blob_add(struct cmn_buffer *blob, uint32_t tag, uint32_t index, struct cmn_view bytes);
/* Room of len bytes for the caller to fill before the next call; NULL: out of memory (shows at the end too). */
void *api_blob_add_room(struct cmn_buffer *blob, uint32_t tag, uint32_t index, size_t len);
/* CMN_ERR_NOMEM. */
CMN_CHECKED enum cmn_status api_blob_end(struct cmn_buffer *blob);

/*
 * Checks every byte. CMN_OK: sound, and of that kind and id. CMN_ERR_CORRUPT: damaged,
 * or no blob; CMN_ERR_VERSION; sound, but of another id: CMN_STALE, of another device, driver or compiler, or
 * CMN_MISS, of another program; CMN_MISS also of another kind.
 */
CMN_CHECKED enum cmn_status api_blob_check(struct cmn_view blob, enum ckcache_kind kind,
					   const struct api_id *id);
/* A field of a blob that was checked; the view lives as long as the blob. CMN_MISS: there is none. */
CMN_CHECKED enum cmn_status api_blob_find(struct cmn_view blob, uint32_t tag, uint32_t index,
					  struct cmn_view *ret);

#endif
