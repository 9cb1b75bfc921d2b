/* SPDX-License-Identifier: MIT */
/* env: a copy of the variables; typed values from text. */
#include "common/env.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>


/* Read at once: as many variables, and so much of each. Most environments and values are smaller. */
enum { BATCH = 128, PIECE = 192, PAGE = 4096, MAX_COPIES = 8 };
#define MAX_STACK ((uintptr_t)8 << 20)	/* of arguments and variables, by exec(2) */
#define MAX_VARIABLES ((size_t)1 << 20)

/* The stack's end as the program began, which only glibc tells. */
extern void *__libc_stack_end __attribute__((weak));

/*
 * setenv and its kin may free the array of the variables, and an application its
 * texts, while they are read. What the kernel gave to the program lies on its
 * stack and stays; all else is read by the kernel, which fails instead of the
 * process.
 */
struct reader {
	uintptr_t start, end;		/* of what stays */
	struct iovec from[BATCH];
	char *variables[BATCH];
	char bytes[BATCH * PIECE];
	bool asked, filtered;		/* whether system calls are filtered */
	int fd;				/* of the process's memory; -1: not open */
	char page[PAGE];		/* the one that was read last */
	uintptr_t page_at;		/* 0: none */
};

static void find_what_stays(struct reader *reader)
{
	uintptr_t end = (uintptr_t)getauxval(AT_EXECFN);	/* stands after them */
	uintptr_t start = &__libc_stack_end ? (uintptr_t)__libc_stack_end : end;

	reader->end = end;
	reader->start = start < end && end - start <= MAX_STACK ? start : end;
}

static bool stays(const struct reader *reader, const void *at)
{
	return (uintptr_t)at >= reader->start && (uintptr_t)at < reader->end;
}

static size_t left_in_page(const void *at)
{
	return PAGE - (uintptr_t)at % PAGE;
}

/* An emulator may give a program other addresses than the kernel knows: qemu-arm does. */
static bool shows_this_memory(int fd)
{
	const uint64_t here = (uint64_t)(uintptr_t)&fd ^ UINT64_C(0x636b6361636865);
	uint64_t seen = ~here;

	return pread(fd, &seen, sizeof(seen), (off_t)(uintptr_t)&here) == sizeof(seen) && seen == here;
}

static void open_memory(struct reader *reader)
{
	reader->fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	if (reader->fd >= 0 && !shows_this_memory(reader->fd)) {
		(void)close(reader->fd);
		reader->fd = -1;
	}
}

/* As every program may read files. Neighbours lie in one page. */
static bool read_by_file(struct reader *reader, const struct iovec *from, size_t count, char *to)
{
	if (reader->fd < 0)
		open_memory(reader);
	for (size_t i = 0; i < count; to += from[i++].iov_len) {
		uintptr_t at = (uintptr_t)from[i].iov_base, page = at - at % PAGE;

		if (reader->page_at != page &&
		    pread(reader->fd, reader->page, PAGE, (off_t)page) != PAGE) {
			reader->page_at = 0;
			return false;
		}
		reader->page_at = page;
		memcpy(to, reader->page + at % PAGE, from[i].iov_len);
	}
	return true;
}

/* No piece goes beyond its page. */
static bool read_pieces(struct reader *reader, const struct iovec *from, size_t count, void *to)
{
	struct iovec all = { .iov_base = to };

	for (size_t i = 0; i < count; i++)
		all.iov_len += from[i].iov_len;
	if (!all.iov_len)
		return true;
	/* A filter of system calls may kill who makes a rare one. */
	if (!reader->asked)
		reader->filtered = prctl(PR_GET_SECCOMP) != 0;
	reader->asked = true;
	if (reader->filtered)
		return read_by_file(reader, from, count, to);
	return process_vm_readv(getpid(), &all, 1, from, count, 0) == (ssize_t)all.iov_len ||
	       (errno == ENOSYS && read_by_file(reader, from, count, to));
}

/* The next pointers of the array. */
static bool read_array(struct reader *reader, char **array)
{
	size_t size = sizeof(reader->variables), first = left_in_page(array);

	if (stays(reader, array)) {
		for (size_t i = 0; i < BATCH; i++) {
			reader->variables[i] = stays(reader, array + i) ?
				__atomic_load_n(array + i, __ATOMIC_ACQUIRE) : NULL;
			if (!reader->variables[i])
				return true;
		}
		return true;
	}
	first = first < size ? first : size;
	reader->from[0] = (struct iovec){ array, first };
	reader->from[1] = (struct iovec){ (char *)array + first, size - first };
	if (read_pieces(reader, reader->from, size > first ? 2 : 1, reader->variables))
		return true;
	/* It may end before a page that is not there. */
	if (!read_pieces(reader, reader->from, 1, reader->variables))
		return false;
	for (size_t i = 0; i < first / sizeof(*array); i++) {
		if (!reader->variables[i])
			return true;
	}
	return false;
}

/* A text from here on, page by page. */
static bool append_rest(struct reader *reader, const char *from, struct cmn_buffer *ret)
{
	const char *end = NULL;

	while (!end && !ret->failed) {
		struct iovec piece = { (void *)(uintptr_t)from, left_in_page(from) };

		if (ret->len > MAX_STACK || !cmn_buffer_reserve(ret, PAGE) ||
		    !read_pieces(reader, &piece, 1, ret->data + ret->len))
			return false;
		end = memchr(ret->data + ret->len, '\0', piece.iov_len);
		ret->len += end ? (size_t)(end - (const char *)ret->data) + 1 - ret->len : piece.iov_len;
		from += piece.iov_len;
	}
	return true;
}

/* So many variables of the batch. */
static bool append_batch(struct reader *reader, size_t count, struct cmn_buffer *ret)
{
	const char *at = reader->bytes, *end;
	size_t pieces = 0, piece = 0, len;

	for (size_t i = 0; i < count; i++) {
		char *from = reader->variables[i];

		len = left_in_page(from);
		if (!stays(reader, from))
			reader->from[pieces++] = (struct iovec){ from, len < PIECE ? len : PIECE };
	}
	if (!read_pieces(reader, reader->from, pieces, reader->bytes))
		return false;
	for (size_t i = 0; i < count; i++) {
		const char *from = reader->variables[i];

		if (stays(reader, from)) {
			cmn_buffer_append(ret, from, strnlen(from, reader->end - (uintptr_t)from));
			cmn_buffer_append_u8(ret, '\0');
			continue;
		}
		len = reader->from[piece++].iov_len;
		end = memchr(at, '\0', len);
		cmn_buffer_append(ret, at, end ? (size_t)(end - at) + 1 : len);
		if (!end && !append_rest(reader, from + len, ret))
			return false;
		at += len;
	}
	return true;
}

/* false: it is not all there. */
static bool copy_all(struct reader *reader, struct cmn_buffer *ret)
{
	char **array = __atomic_load_n(&environ, __ATOMIC_ACQUIRE);
	size_t count = array ? BATCH : 0;

	memset(reader->variables, 0, sizeof(reader->variables));
	for (char **at = array; count == BATCH; at += BATCH) {
		if (!read_array(reader, at))
			return false;
		for (count = 0; count < BATCH && reader->variables[count];)
			count++;
		if ((size_t)(at - array) > MAX_VARIABLES || !append_batch(reader, count, ret))
			return false;
	}
	/* An array that was replaced may have been another thing's memory by then. */
	return __atomic_load_n(&environ, __ATOMIC_ACQUIRE) == array;
}

enum cmn_status cmn_env_copy(struct cmn_buffer *ret)
{
	struct reader *reader = malloc(sizeof(*reader));
	bool copied = false;

	if (!reader)
		return CMN_ERR_NOMEM;
	find_what_stays(reader);
	reader->asked = false;
	reader->fd = -1;
	for (int i = 0; i < MAX_COPIES && !copied && !ret->failed; i++) {
		ret->len = 0;
		reader->page_at = 0;
		copied = copy_all(reader, ret);
	}
	if (reader->fd >= 0)
		(void)close(reader->fd);	/* only read */
	free(reader);
	return ret->failed ? CMN_ERR_NOMEM : copied ? CMN_OK : CMN_BUSY;
}

const char *cmn_env_next(const struct cmn_buffer *copy, const char *variable)
{
	const char *start = (const char *)copy->data;

	variable = variable ? variable + strlen(variable) + 1 : start;
	return variable && variable < start + copy->len ? variable : NULL;
}

const char *cmn_env_find(const struct cmn_buffer *copy, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = cmn_env_next(copy, NULL); at; at = cmn_env_next(copy, at)) {
		if (strncmp(at, name, len) == 0 && at[len] == '=')
			return at + len + 1;
	}
	return NULL;
}

enum cmn_status cmn_env_get(const char *name, char **ret)
{
	struct cmn_buffer copy = { 0 };
	enum cmn_status status = getauxval(AT_SECURE) ? CMN_OK : cmn_env_copy(&copy);
	const char *value = status == CMN_OK ? cmn_env_find(&copy, name) : NULL;
	char *own = value ? strdup(value) : NULL;

	cmn_buffer_release(&copy);
	if (value && !own)
		status = CMN_ERR_NOMEM;
	if (status == CMN_OK)
		*ret = own;
	return status;
}

enum cmn_status cmn_env_parse_bool(const char *text, bool *ret)
{
	static const char *const yes[] = { "1", "true", "yes", "on" };
	static const char *const no[] = { "0", "false", "no", "off" };

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		if (strcasecmp(text, yes[i]) == 0) {
			*ret = true;
			return CMN_OK;
		}
		if (strcasecmp(text, no[i]) == 0) {
			*ret = false;
			return CMN_OK;
		}
	}
	return CMN_ERR_INVALID;
}

/* strtoull takes signs and leading blanks; a setting may have neither. */
static enum cmn_status parse_digits(const char *text, const char **ret_end, uint64_t *ret)
{
	char *end;
	unsigned long long value;

	if (!isdigit((unsigned char)text[0]))
		return CMN_ERR_INVALID;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno)
		return CMN_ERR_INVALID;
	*ret_end = end;
	*ret = value;
	return CMN_OK;
}

enum cmn_status cmn_env_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret)
{
	const char *end;
	uint64_t value;

	if (parse_digits(text, &end, &value) != CMN_OK || *end || value < min || value > max)
		return CMN_ERR_INVALID;
	*ret = value;
	return CMN_OK;
}

enum cmn_status cmn_env_parse_size(const char *text, uint64_t *ret)
{
	static const char letters[] = "KMGT";
	const char *end, *letter;
	uint64_t value, factor = 1;

	if (parse_digits(text, &end, &value) != CMN_OK)
		return CMN_ERR_INVALID;
	letter = *end ? strchr(letters, toupper((unsigned char)*end)) : NULL;
	if (letter) {
		uint64_t base = 1000;

		end++;
		if (*end == 'i' || *end == 'I') {
			base = 1024;
			end++;
		}
		for (const char *step = letters; step <= letter; step++)
			factor *= base;
	}
	if (*end == 'B' || *end == 'b')
		end++;
	if (*end || (value && factor > UINT64_MAX / value))
		return CMN_ERR_INVALID;
	*ret = value * factor;
	return CMN_OK;
}

enum cmn_status cmn_env_parse_bound(const char *text, uint64_t *ret)
{
	uint64_t value;

	if (cmn_env_parse_size(text, &value) != CMN_OK ||
	    (value && value < 1 << 20 && isdigit((unsigned char)text[strlen(text) - 1])))
		return CMN_ERR_INVALID;
	*ret = value;
	return CMN_OK;
}
