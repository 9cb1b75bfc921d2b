/* SPDX-License-Identifier: MIT */
/*
 * memory: what the command allocates. Out of memory ends it at once, after a message, with exit code 1:
 * what it writes appears whole or not at all, locks go with the process, and a temporary directory
 * stays. Whatever is needed until a verb ends is never freed.
 */
#ifndef TOOLS_MEMORY_H
#define TOOLS_MEMORY_H

#include "common/bytes.h"

_Noreturn void memory_end(void);
/* The exit code of that. */
void memory_end_with(int code);
/* What an allocation gave; NULL ends the command. */
void *memory_of(void *made) __attribute__((returns_nonnull));
/* Each returns what is freed with free. */
void *memory_new(size_t count, size_t size) __attribute__((returns_nonnull));	/* zeros */
char *memory_copy(const char *text) __attribute__((returns_nonnull));
char *memory_copy_view(struct cmn_view text) __attribute__((returns_nonnull));	/* up to a NUL in it */
struct cmn_view memory_copy_bytes(struct cmn_view bytes);
char *memory_printf(const char *format, ...) __attribute__((format(printf, 1, 2), returns_nonnull));
/* An array that only this has grown gets room for one more element than count. */
#define memory_grow(array, count) ((array) = memory_grown((array), (count), sizeof(*(array))))
void *memory_grown(void *array, size_t count, size_t size) __attribute__((returns_nonnull));
/* As cmn_buffer_take_string. */
char *memory_string(struct cmn_buffer *buf) __attribute__((returns_nonnull));

#endif
