/* SPDX-License-Identifier: MIT */
/* memory: the C library's functions, which here cannot fail. */
#include "tools/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int end_code = EXIT_FAILURE;

void memory_end_with(int code)
{
	end_code = code;
}

void memory_end(void)
{
	(void)fputs("ckcache: out of memory\n", stderr);	/* there is nobody else to tell */
	/* Neither destructors of a driver that has no memory, nor a forked child's copy of what is to be printed. */
	_exit(end_code);
}

void *memory_of(void *made)
{
	if (!made)
		memory_end();
	return made;
}

void *memory_new(size_t count, size_t size)
{
	return memory_of(calloc(count ? count : 1, size));
}

char *memory_copy(const char *text)
{
	return memory_of(strdup(text));
}

char *memory_copy_view(struct cmn_view text)
{
	return memory_of(strndup(text.len ? text.data : "", text.len));
}

struct cmn_view memory_copy_bytes(struct cmn_view bytes)
{
	void *copy = memory_new(bytes.len, 1);

	if (bytes.len)
		memcpy(copy, bytes.data, bytes.len);
	return (struct cmn_view){ copy, bytes.len };
}

char *memory_printf(const char *format, ...)
{
	char *text = NULL;
	va_list args;
	int len;

	va_start(args, format);
	len = vasprintf(&text, format, args);
	va_end(args);
	return memory_of(len < 0 ? NULL : text);
}

void *memory_grown(void *array, size_t count, size_t size)
{
	return memory_of(cmn_array_grow(array, count, size));
}

char *memory_string(struct cmn_buffer *buf)
{
	return memory_of(cmn_buffer_take_string(buf));
}
