/* SPDX-License-Identifier: MIT */
/* codec: zlib streams in one call each way. */
#include "cachecore/disk/codec.h"

#include <stdlib.h>

#include <libdeflate.h>

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
