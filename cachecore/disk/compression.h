/* SPDX-License-Identifier: MIT */
/*
 * compression: how a payload goes to disk, raw or compressed. Knows what decoding
 * costs a hit and what a driver takes to load what was decoded; knows nothing
 * of the format. docs/COMPRESSION.md has the measurements. Pure, thread-safe.
 */
#ifndef CACHECORE_DISK_COMPRESSION_H
#define CACHECORE_DISK_COMPRESSION_H

#include <stdbool.h>

#include "common/bytes.h"

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
