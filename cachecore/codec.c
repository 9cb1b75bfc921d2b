/* SPDX-License-Identifier: MIT */
/* codec: zlib streams in one call each way. */
#include "cachecore/codec.h"

#include <limits.h>
#include <stdlib.h>

#include <zlib.h>

/*
 * Deflate cannot shrink more than this (zlib's technical notes: 1032 to 1), so
 * a larger claim is false and nothing is allocated for it.
 */
#define MAX_RATIO 1032
/* zlib counts in unsigned int; pieces keep larger data within it. */
#define PIECE ((size_t)1 << 30)

static uInt piece_of(size_t left)
{
	return (uInt)(left < PIECE ? left : PIECE);
}

/* Runs one zlib direction over all of data into out[0..cap); *ret_len: bytes made. */
static int run_stream(z_stream *stream, int (*step)(z_stream *, int), struct cmn_view data,
		      uint8_t *out, size_t cap, size_t *ret_len)
{
	size_t in_left = data.len, out_left = cap;
	int code;

	stream->next_in = (Bytef *)(uintptr_t)data.data;	/* zlib does not write to it */
	stream->next_out = out;
	do {
		uInt in_now = piece_of(in_left), out_now = piece_of(out_left);

		stream->avail_in = in_now;
		stream->avail_out = out_now;
		code = step(stream, in_left <= PIECE ? Z_FINISH : Z_NO_FLUSH);
		in_left -= in_now - stream->avail_in;
		out_left -= out_now - stream->avail_out;
		/* Z_FINISH says Z_BUF_ERROR for "more room, please": only no progress ends it. */
		if (code == Z_BUF_ERROR && (in_now != stream->avail_in || out_now != stream->avail_out))
			code = Z_OK;
	} while (code == Z_OK && out_left > 0);
	*ret_len = cap - out_left;
	if (code == Z_STREAM_END && in_left > 0)
		return Z_DATA_ERROR;	/* bytes after the stream's end */
	return code;
}

enum cmn_status cc_codec_compress(struct cmn_view data, int level, struct cmn_buffer *ret)
{
	z_stream stream = { 0 };
	size_t bound, len;
	int code;

	if (level < 1 || level > 9)
		return CMN_ERR_INVALID;
	if (data.len > ULONG_MAX / 2)
		return CMN_ERR_TOO_LARGE;
	bound = compressBound((uLong)data.len);
	if (!cmn_buffer_reserve(ret, bound))
		return CMN_ERR_NOMEM;
	if (deflateInit(&stream, level) != Z_OK)
		return CMN_ERR_NOMEM;
	code = run_stream(&stream, deflate, data, ret->data + ret->len, bound, &len);
	(void)deflateEnd(&stream);	/* only frees */
	if (code != Z_STREAM_END)
		return CMN_ERR_INVALID;
	ret->len += len;
	return CMN_OK;
}

static enum cmn_status inflate_exactly(struct cmn_view data, size_t len, struct cmn_buffer *ret)
{
	z_stream stream = { 0 };
	size_t got;
	int code;

	if (len / MAX_RATIO > data.len)
		return CMN_ERR_CORRUPT;
	/* One byte more, so that a stream that goes on is told from one that ends. */
	if (!cmn_buffer_reserve(ret, len + 1))
		return CMN_ERR_NOMEM;
	if (inflateInit(&stream) != Z_OK)
		return CMN_ERR_NOMEM;
	code = run_stream(&stream, inflate, data, ret->data + ret->len, len + 1, &got);
	(void)inflateEnd(&stream);	/* only frees */
	if (code == Z_MEM_ERROR)
		return CMN_ERR_NOMEM;
	if (code != Z_STREAM_END || got != len)
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
