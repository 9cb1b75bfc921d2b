/* SPDX-License-Identifier: MIT */
/*
 * compression: how a payload goes to disk, raw or compressed, as a zlib stream (RFC 1950). Knows
 * what decoding costs a hit and what a driver takes to load what was decoded; knows nothing of the
 * format. The only file that knows a library for it, which is libdeflate: it decodes twice as fast
 * as zlib does. docs/COMPRESSION.md has the measurements. Pure, thread-safe.
 */
#ifndef CACHECORE_DISK_COMPRESSION_H
#define CACHECORE_DISK_COMPRESSION_H

#include <stdbool.h>

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

/* Nanoseconds a byte of binary that the quickest driver measured takes to load it (Intel's, 3.3 to 5.8). */
#define CC_PACKING_QUICKEST_LOAD 3

/*
 * Appends the compressed payload to ret, which must be empty. false: ret is
 * empty and the payload is to be stored raw, as level (cc_config.compression)
 * says, or since compressing gains too little, costs hits too much or finds no
 * memory. load_rate: nanoseconds a byte that the driver takes at least to load
 * the payload, 0 where it is not known; it counts for CC_COMPRESSION_AUTO.
 */
bool cc_compression_compress(struct cmn_view payload, int level, unsigned int load_rate,
			 struct cmn_buffer *ret);

#endif
