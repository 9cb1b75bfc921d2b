/* SPDX-License-Identifier: MIT */
/*
 * bytes: borrowed views, growing buffers, and a bounded reader for encoded
 * data. All integers are encoded little-endian. A buffer belongs to one thread
 * at a time.
 */
#ifndef COMMON_BYTES_H
#define COMMON_BYTES_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/slab.h"
#include "common/status.h"

/* Borrowed bytes: valid as long as what they point into. data may be NULL when len is 0. */
struct cmn_view {
	const void *data;
	size_t len;
};

static inline struct cmn_view cmn_view_of(const char *text)	/* without the terminator; NULL is empty */
{
	return (struct cmn_view){ text, text ? strlen(text) : 0 };
}

static inline bool cmn_view_equal(struct cmn_view a, struct cmn_view b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* As words of C and names of files are made of, whatever the locale. */
static inline bool cmn_is_word(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') || byte == '_';
}

/* Two digits a byte, and a terminator. */
void cmn_hex(const void *bytes, size_t len, char *ret);
/* "%XX" in a text becomes that byte, in place. false: it would be a zero byte, or "%" begins none. */
bool cmn_percent_decode(char *text);
/* Of malloc'd strings, and malloc'd itself; NULL ends it. NULL is fine. */
void cmn_strings_free(char **strings);

/*
 * Makes room for one more element in an array of count elements that only this function has grown.
 * Returns the array, which may have moved. NULL: out of memory; the array is unchanged.
 */
static inline void *cmn_array_grow(void *array, size_t count, size_t size)
{
	/* It is full where count is 0 or a power of two, and becomes twice as large. */
	return count & (count - 1) ? array : realloc(array, (count ? 2 * count : 1) * size);
}

/*
 * A growing buffer. An allocation failure sets `failed` and later appends do
 * nothing, so that an encoder checks once, at its end. {0} is a valid empty buffer.
 */
struct cmn_buffer {
	uint8_t *data;
	size_t len;
	size_t cap;
	struct cmn_slab *slab;	/* the block that data lies in; NULL: data is malloc's */
	bool failed;
};

void cmn_buffer_release(struct cmn_buffer *buf);	/* frees, leaves {0} */
bool cmn_buffer_grow(struct cmn_buffer *buf, size_t extra);	/* for cmn_buffer_reserve, where there is no room */

/* Room for extra more bytes. false: it failed, now or earlier. */
static inline bool cmn_buffer_reserve(struct cmn_buffer *buf, size_t extra)
{
	return (!buf->failed && extra <= buf->cap - buf->len) || cmn_buffer_grow(buf, extra);
}

/* Moves a buffer into a block with room for len bytes in all. false: see cmn_slabs_take; it is unchanged. */
bool cmn_buffer_reserve_in(struct cmn_buffer *buf, struct cmn_slabs *slabs, size_t len);

static inline void cmn_buffer_append(struct cmn_buffer *buf, const void *data, size_t len)
{
	if (len == 0 || !cmn_buffer_reserve(buf, len))
		return;
	memcpy(buf->data + buf->len, data, len);
	buf->len += len;
}

static inline void cmn_buffer_append_text(struct cmn_buffer *buf, const char *text)	/* no terminator */
{
	cmn_buffer_append(buf, text, strlen(text));
}

/* The lowest bytes of an integer, up to eight. */
static inline void cmn_buffer_append_number(struct cmn_buffer *buf, uint64_t value,
					    unsigned int width)
{
	uint8_t bytes[8];

	for (unsigned int i = 0; i < width; i++)
		bytes[i] = (uint8_t)(value >> (8 * i));
	cmn_buffer_append(buf, bytes, width);
}

static inline void cmn_buffer_append_u8(struct cmn_buffer *buf, uint8_t value)
{
	cmn_buffer_append_number(buf, value, 1);
}

static inline void cmn_buffer_append_u32(struct cmn_buffer *buf, uint32_t value)
{
	cmn_buffer_append_number(buf, value, 4);
}

static inline void cmn_buffer_append_u64(struct cmn_buffer *buf, uint64_t value)
{
	cmn_buffer_append_number(buf, value, 8);
}

/* u64 length, then the bytes. */
static inline void cmn_buffer_append_sized(struct cmn_buffer *buf, const void *data, size_t len)
{
	cmn_buffer_append_u64(buf, len);
	cmn_buffer_append(buf, data, len);
}

/* vsnprintf in C's locale, whatever the calling thread's is. */
int cmn_format(char *text, size_t size, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));
/* The same into the buffer, without the terminator. */
void cmn_buffer_printf(struct cmn_buffer *buf, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* A terminated string that the caller frees; the buffer becomes {0}. NULL if it failed. */
char *cmn_buffer_take_string(struct cmn_buffer *buf);
static inline struct cmn_view cmn_buffer_view(const struct cmn_buffer *buf)
{
	return (struct cmn_view){ buf->data, buf->len };
}

/* Reads encoded data; the first read past the end sets `failed`, and all later reads give zero. */
struct cmn_reader {
	const uint8_t *data;
	size_t left;
	bool failed;
};

static inline struct cmn_reader cmn_reader_of(struct cmn_view view)
{
	return (struct cmn_reader){ (const uint8_t *)view.data, view.len, false };
}

static inline struct cmn_view cmn_reader_bytes(struct cmn_reader *reader, uint64_t len)	/* borrowed */
{
	struct cmn_view view = { 0 };

	if (reader->failed || len > reader->left) {
		reader->failed = true;
		return view;
	}
	view.data = reader->data;
	view.len = (size_t)len;
	if (len) {
		reader->data += len;
		reader->left -= (size_t)len;
	}
	return view;
}

/* The next len bytes; past the end, zero. */
static inline void cmn_reader_copy(struct cmn_reader *reader, void *ret, size_t len)
{
	struct cmn_view view = cmn_reader_bytes(reader, len);

	if (view.data)
		memcpy(ret, view.data, len);
	else
		memset(ret, 0, len);
}

/* An integer of up to eight bytes. */
static inline uint64_t cmn_reader_number(struct cmn_reader *reader, unsigned int width)
{
	struct cmn_view view = cmn_reader_bytes(reader, width);
	const uint8_t *bytes = (const uint8_t *)view.data;
	uint64_t value = 0;

	for (unsigned int i = 0; i < view.len; i++)
		value |= (uint64_t)bytes[i] << (8 * i);
	return value;
}

static inline uint8_t cmn_reader_u8(struct cmn_reader *reader)
{
	return (uint8_t)cmn_reader_number(reader, 1);
}

static inline uint32_t cmn_reader_u32(struct cmn_reader *reader)
{
	return (uint32_t)cmn_reader_number(reader, 4);
}

static inline uint64_t cmn_reader_u64(struct cmn_reader *reader)
{
	return cmn_reader_number(reader, 8);
}

/* u64 length, then bytes. */
static inline struct cmn_view cmn_reader_sized(struct cmn_reader *reader)
{
	return cmn_reader_bytes(reader, cmn_reader_u64(reader));
}

#endif
