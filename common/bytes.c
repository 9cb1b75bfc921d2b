/* SPDX-License-Identifier: MIT */
/* bytes: views, buffers and readers of encoded data. */
#include "common/bytes.h"

#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cmn_hex(const void *bytes, size_t len, char *ret)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *at = bytes;

	for (; len; len--, at++) {
		*ret++ = digits[*at >> 4];
		*ret++ = digits[*at & 15];
	}
	*ret = '\0';
}

/* Of a hexadecimal digit; -1: it is none. */
static int value_of(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	digit |= 0x20;
	return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

bool cmn_percent_decode(char *text)
{
	char *to = text;

	for (; *text; text++) {
		int high, low;

		if (*text != '%') {
			*to++ = *text;
			continue;
		}
		high = value_of(text[1]);
		low = high < 0 ? -1 : value_of(text[2]);
		if (low < 0 || high + low == 0)
			return false;
		*to++ = (char)(high * 16 + low);
		text += 2;
	}
	*to = '\0';
	return true;
}

void cmn_strings_free(char **strings)
{
	for (size_t i = 0; strings && strings[i]; i++)
		free(strings[i]);
	free(strings);
}

void cmn_buffer_release(struct cmn_buffer *buf)
{
	if (buf->slab)
		cmn_slab_unref(buf->slab);
	else
		free(buf->data);
	*buf = (struct cmn_buffer){ 0 };
}

bool cmn_buffer_grow(struct cmn_buffer *buf, size_t extra)
{
	size_t need, cap;
	uint8_t *data;

	if (buf->failed)
		return false;
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
	struct cmn_buffer taken = { .len = buf->len, .failed = buf->failed };

	taken.data = cmn_slabs_take(slabs, len, &taken.cap, &taken.slab);
	if (!taken.data)
		return false;
	if (buf->len)
		memcpy(taken.data, buf->data, buf->len);
	cmn_buffer_release(buf);
	*buf = taken;
	return true;
}

int cmn_format(char *text, size_t size, const char *format, va_list args)
{
	/* C's is always there, and takes no memory. */
	locale_t before = uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
	int len = vsnprintf(text, size, format, args);

	(void)uselocale(before);
	return len;
}

void cmn_buffer_printf(struct cmn_buffer *buf, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = cmn_format(NULL, 0, format, args);
	va_end(args);
	if (len < 0) {
		buf->failed = true;
		return;
	}
	if (!cmn_buffer_reserve(buf, (size_t)len + 1))
		return;
	va_start(args, format);
	(void)cmn_format((char *)buf->data + buf->len, (size_t)len + 1, format, args);
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
