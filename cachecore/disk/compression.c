/* SPDX-License-Identifier: MIT */
/* compression: zlib streams in one call each way; the rule of CKCACHE_COMPRESSION=auto. Each number is of docs/COMPRESSION.md. */
#include "cachecore/disk/compression.h"

#include <stdint.h>

#include <libdeflate.h>

#include "cachecore/config.h"

/*
 * What a compressed payload costs a hit in a fresh process over a raw one:
 * the decoder's own pages, then a time that goes with what is stored (4 to 6.5
 * ns a byte), since the pages of the payload are fresh ones either way.
 */
#define DECODER_NS 80000
#define DECODE_NS_PER_STORED 7
/* Of the driver's own load a hit may lose so much: a twentieth. Required is 1.2 in all for a large one. */
#define LOAD_SHARE 20
/* Higher levels gain another hundredth, for four times the time; lower ones cost each hit more. */
#define LEVEL 6
/* A quarter must go, or it is not worth anybody's time. */
#define MAX_STORED(len) ((len) - (len) / 4)
/*
 * Of more than four samples' length one is compressed first, at the quickest
 * level (0.3 ms). It has to start without what precedes it, so that its ratio
 * is up to twice the whole's.
 */
#define SAMPLE_LEN ((size_t)64 << 10)
#define SAMPLE_LEVEL 1
#define SAMPLE_MARGIN 2

/*
 * Deflate cannot shrink more than this (zlib's technical notes: 1032 to 1), so
 * a larger claim is false and nothing is allocated for it.
 */
#define MAX_RATIO 1032

enum cmn_status cc_codec_compress(struct cmn_view data, int level, struct cmn_buffer *ret)
{
	struct libdeflate_compressor *state;
	size_t bound, len = 0;

	if (level < 1 || level > 9)
		return CMN_ERR_INVALID;
	if (data.len > SIZE_MAX / 2)
		return CMN_ERR_TOO_LARGE;
	state = libdeflate_alloc_compressor(level);
	if (!state)
		return CMN_ERR_NOMEM;
	bound = libdeflate_zlib_compress_bound(state, data.len);
	if (cmn_buffer_reserve(ret, bound))
		len = libdeflate_zlib_compress(state, data.len ? data.data : "", data.len,
					       ret->data + ret->len, bound);
	libdeflate_free_compressor(state);
	/* Within its bound it cannot fail. */
	if (len == 0)
		return CMN_ERR_NOMEM;
	ret->len += len;
	return CMN_OK;
}

static enum cmn_status inflate_exactly(struct cmn_view data, size_t len, struct cmn_buffer *ret)
{
	struct libdeflate_decompressor *state;
	enum libdeflate_result result;
	size_t used = 0;

	if (len / MAX_RATIO > data.len)
		return CMN_ERR_CORRUPT;
	/* Some place for nothing, too. */
	if (!cmn_buffer_reserve(ret, len ? len : 1))
		return CMN_ERR_NOMEM;
	state = libdeflate_alloc_decompressor();
	if (!state)
		return CMN_ERR_NOMEM;
	/* Without a place for the length that it made, only len is a success. */
	result = libdeflate_zlib_decompress_ex(state, data.len ? data.data : "", data.len,
					       ret->data + ret->len, len, &used, NULL);
	libdeflate_free_decompressor(state);
	if (result != LIBDEFLATE_SUCCESS || used != data.len)
		return CMN_ERR_CORRUPT;
	ret->len += len;
	return CMN_OK;
}

enum cmn_status cc_codec_decompress(enum cc_codec codec, struct cmn_view data, uint64_t len,
				    struct cmn_buffer *ret)
{
	if (len > SIZE_MAX / 2)
		return CMN_ERR_CORRUPT;
	switch (codec) {
	case CC_CODEC_NONE:
		if (len != data.len)
			return CMN_ERR_CORRUPT;
		cmn_buffer_append(ret, data.data, data.len);
		return ret->failed ? CMN_ERR_NOMEM : CMN_OK;
	case CC_CODEC_ZLIB:
		return inflate_exactly(data, (size_t)len, ret);
	}
	return CMN_ERR_CORRUPT;
}

/* How many stored bytes a hit may have to decode, at most; 0: none. */
static uint64_t most_stored(uint64_t payload_len, unsigned int load_rate)
{
	uint64_t budget_ns = payload_len * load_rate / LOAD_SHARE, most;

	if (budget_ns <= DECODER_NS)
		return 0;
	most = (budget_ns - DECODER_NS) / DECODE_NS_PER_STORED;
	return most < MAX_STORED(payload_len) ? most : MAX_STORED(payload_len);
}

/* Compressed to at most so many bytes, or false and nothing. */
static bool compress_within(struct cmn_view data, int level, uint64_t most, struct cmn_buffer *ret)
{
	if (cc_codec_compress(data, level, ret) == CMN_OK && ret->len <= most)
		return true;
	cmn_buffer_release(ret);
	return false;
}

static bool sample_promises(struct cmn_view payload, uint64_t most)
{
	uint64_t most_of_sample = SAMPLE_MARGIN * most / (payload.len / SAMPLE_LEN);
	struct cmn_buffer stored = { 0 };
	struct cmn_view sample = { (const uint8_t *)payload.data + payload.len / 2, SAMPLE_LEN };
	bool promises;

	if (most_of_sample > MAX_STORED(SAMPLE_LEN))
		most_of_sample = MAX_STORED(SAMPLE_LEN);
	promises = compress_within(sample, SAMPLE_LEVEL, most_of_sample, &stored);
	cmn_buffer_release(&stored);
	return promises;
}

bool cc_compression_compress(struct cmn_view payload, int level, unsigned int load_rate,
			 struct cmn_buffer *ret)
{
	uint64_t most;

	if (level == CC_COMPRESSION_NONE || payload.len == 0)
		return false;
	if (level != CC_COMPRESSION_AUTO)
		return compress_within(payload, level, payload.len - 1, ret);
	most = most_stored(payload.len, load_rate ? load_rate : CC_PACKING_QUICKEST_LOAD);
	if (most == 0 || (payload.len > 4 * SAMPLE_LEN && !sample_promises(payload, most)))
		return false;
	return compress_within(payload, LEVEL, most, ret);
}
