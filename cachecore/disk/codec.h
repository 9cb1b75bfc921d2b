/* SPDX-License-Identifier: MIT */
/*
 * codec: compression of payloads as zlib streams (RFC 1950). The only file
 * that knows a library for it, which is libdeflate: it decodes twice as fast
 * as zlib does (docs/COMPRESSION.md). Pure functions, thread-safe.
 */
#ifndef CACHECORE_DISK_CODEC_H
#define CACHECORE_DISK_CODEC_H

#include "common/bytes.h"
#include "common/status.h"

enum cc_codec {
	CC_CODEC_NONE = 0,
	CC_CODEC_ZLIB = 1,
};

/* Appends the compressed form of data to ret; level 1 to 9. */
CMN_CHECKED enum cmn_status cc_codec_compress(struct cmn_view data, int level,
					      struct cmn_buffer *ret);
/*
 * Appends exactly len decoded bytes to ret, or fails: CMN_ERR_CORRUPT for
 * anything else, also for data that would decode to more (a bomb is cut at len).
 */
CMN_CHECKED enum cmn_status cc_codec_decompress(enum cc_codec codec, struct cmn_view data,
						uint64_t len, struct cmn_buffer *ret);

#endif
