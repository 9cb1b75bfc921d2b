/* SPDX-License-Identifier: MIT */
/* bytes: views, buffers and readers of encoded data. */
#include "common/bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cmn_view cmn_view_of(const char *text)
{
	return (struct cmn_view){ text, text ? strlen(text) : 0 };
}

bool cmn_view_equal(struct cmn_view a, struct cmn_view b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

void *cmn_array_grow(void *array, size_t count, size_t size)
{
	/* It is full where count is 0 or a power of two, and becomes twice as large. */
	return count & (count - 1) ? array : realloc(array, (count ? 2 * count : 1) * size);
}

void cmn_buffer_release(struct cmn_buffer *buf)
{
	if (buf->slab)
		cmn_slab_unref(buf->slab);
	else
		free(buf->data);
	*buf = (struct cmn_buffer){ 0 };
}

bool cmn_buffer_reserve(struct cmn_buffer *buf, size_t extra)
{
	size_t need, cap;
	uint8_t *data;

	if (buf->failed)
		return false;
	if (extra <= buf->cap - buf->len)
		return true;
	if (extra > SIZE_MAX / 2 - buf->len) {
		buf->failed = true;
		return false;
	}
	need = buf->len + extra;
	/* The first reservation is taken at its word; only growing goes in steps. */
	cap = buf->cap ? buf->cap : need > 256 ? need : 256;
	while (cap < need)
		cap *= 2;
	data = realloc(buf->slab ? NULL : buf->data, cap);
	if (!data) {
		buf->failed = true;
		return false;
	}
	if (buf->slab) {
		memcpy(data, buf->data, buf->len);
		cmn_slab_unref(buf->slab);
		buf->slab = NULL;
	}
	buf->data = data;
	buf->cap = cap;
	return true;
}

bool cmn_buffer_reserve_in(struct cmn_buffer *buf, struct cmn_slabs *slabs, size_t len)
{
	struct cmn_buffer taken = { 0 };

	taken.data = cmn_slabs_take(slabs, len, &taken.cap, &taken.slab);
	if (taken.data)
		*buf = taken;
	return taken.data != NULL;
}

void cmn_buffer_append(struct cmn_buffer *buf, const void *data, size_t len)
{
	if (len == 0 || !cmn_buffer_reserve(buf, len))
		return;
	memcpy(buf->data + buf->len, data, len);
	buf->len += len;
}

void cmn_buffer_append_text(struct cmn_buffer *buf, const char *text)
{
	cmn_buffer_append(buf, text, strlen(text));
}

void cmn_buffer_append_u8(struct cmn_buffer *buf, uint8_t value)
{
	cmn_buffer_append(buf, &value, 1);
}

static void append_le(struct cmn_buffer *buf, uint64_t value, unsigned int width)
{
	uint8_t bytes[8];

	for (unsigned int i = 0; i < width; i++)
		bytes[i] = (uint8_t)(value >> (8 * i));
	cmn_buffer_append(buf, bytes, width);
}

void cmn_buffer_append_u32(struct cmn_buffer *buf, uint32_t value)
{
	append_le(buf, value, 4);
}

void cmn_buffer_append_u64(struct cmn_buffer *buf, uint64_t value)
{
	append_le(buf, value, 8);
}

void cmn_buffer_append_sized(struct cmn_buffer *buf, const void *data, size_t len)
{
	cmn_buffer_append_u64(buf, len);
	cmn_buffer_append(buf, data, len);
}

void cmn_buffer_printf(struct cmn_buffer *buf, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (len < 0) {
		buf->failed = true;
		return;
	}
	if (!cmn_buffer_reserve(buf, (size_t)len + 1))
		return;
	va_start(args, format);
	(void)vsnprintf((char *)buf->data + buf->len, (size_t)len + 1, format, args);
	va_end(args);
	buf->len += (size_t)len;
}

char *cmn_buffer_take_string(struct cmn_buffer *buf)
{
	char *text = NULL;

	/* What lies in a slab is not the caller's to free: growing moves it to malloc. */
	if (buf->slab)
		(void)cmn_buffer_reserve(buf, buf->cap - buf->len + 1);	/* a failure shows below */
	cmn_buffer_append_u8(buf, 0);
	if (!buf->failed) {
		text = (char *)buf->data;
		buf->data = NULL;
	}
	cmn_buffer_release(buf);
	return text;
}

struct cmn_view cmn_buffer_view(const struct cmn_buffer *buf)
{
	return (struct cmn_view){ buf->data, buf->len };
}

struct cmn_reader cmn_reader_of(struct cmn_view view)
{
	return (struct cmn_reader){ view.data, view.len, false };
}

struct cmn_view cmn_reader_bytes(struct cmn_reader *reader, uint64_t len)
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

static uint64_t read_le(struct cmn_reader *reader, unsigned int width)
{
	struct cmn_view view = cmn_reader_bytes(reader, width);
	const uint8_t *bytes = view.data;
	uint64_t value = 0;

	for (unsigned int i = 0; i < view.len; i++)
		value |= (uint64_t)bytes[i] << (8 * i);
	return value;
}

uint8_t cmn_reader_u8(struct cmn_reader *reader)
{
	return (uint8_t)read_le(reader, 1);
}

uint32_t cmn_reader_u32(struct cmn_reader *reader)
{
	return (uint32_t)read_le(reader, 4);
}

uint64_t cmn_reader_u64(struct cmn_reader *reader)
{
	return read_le(reader, 8);
}

struct cmn_view cmn_reader_sized(struct cmn_reader *reader)
{
	return cmn_reader_bytes(reader, cmn_reader_u64(reader));
}
