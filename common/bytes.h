/* SPDX-License-Identifier: MIT */
/*
 * bytes: borrowed views, growing buffers, and a bounded reader for encoded
 * data. All integers are encoded little-endian. Nothing here is thread-safe;
 * a buffer belongs to one thread at a time.
 */
#ifndef COMMON_BYTES_H
#define COMMON_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/slab.h"
#include "common/status.h"

/* Borrowed bytes: valid as long as what they point into. data may be NULL when len is 0. */
struct cmn_view {
	const void *data;
	size_t len;
};

struct cmn_view cmn_view_of(const char *text);	/* without the terminator; NULL is empty */
bool cmn_view_equal(struct cmn_view a, struct cmn_view b);

/*
 * Room for one more in an array of count elements, each of which was added by this: the array, moved
 * perhaps. NULL: out of memory, and it is as it was.
 */
void *cmn_array_grow(void *array, size_t count, size_t size);

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
bool cmn_buffer_reserve(struct cmn_buffer *buf, size_t extra);	/* room for extra more bytes */
/* Gives a buffer that owns nothing room for len bytes in a block of slabs. false: as cmn_slabs_take; it is as it was. */
bool cmn_buffer_reserve_in(struct cmn_buffer *buf, struct cmn_slabs *slabs, size_t len);
void cmn_buffer_append(struct cmn_buffer *buf, const void *data, size_t len);
void cmn_buffer_append_text(struct cmn_buffer *buf, const char *text);	/* no terminator */
void cmn_buffer_append_u8(struct cmn_buffer *buf, uint8_t value);
void cmn_buffer_append_u32(struct cmn_buffer *buf, uint32_t value);
void cmn_buffer_append_u64(struct cmn_buffer *buf, uint64_t value);
/* u64 length, then the bytes. */
void cmn_buffer_append_sized(struct cmn_buffer *buf, const void *data, size_t len);
/* printf into the buffer, without the terminator. */
void cmn_buffer_printf(struct cmn_buffer *buf, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* A terminated string that the caller frees; the buffer becomes {0}. NULL if it failed. */
char *cmn_buffer_take_string(struct cmn_buffer *buf);
struct cmn_view cmn_buffer_view(const struct cmn_buffer *buf);

/* Reads encoded data; the first read past the end sets `failed`, and all later reads give zero. */
struct cmn_reader {
	const uint8_t *data;
	size_t left;
	bool failed;
};

struct cmn_reader cmn_reader_of(struct cmn_view view);
uint8_t cmn_reader_u8(struct cmn_reader *reader);
uint32_t cmn_reader_u32(struct cmn_reader *reader);
uint64_t cmn_reader_u64(struct cmn_reader *reader);
struct cmn_view cmn_reader_bytes(struct cmn_reader *reader, uint64_t len);	/* borrowed */
struct cmn_view cmn_reader_sized(struct cmn_reader *reader);	/* u64 length, then bytes */

#endif
