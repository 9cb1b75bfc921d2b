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

/* Pointers that are read at once; tries. */
enum { BATCH = 128, PAGE = 4096, MAX_COPIES = 8 };
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
	char *variables[BATCH];
	bool asked, filtered;		/* whether system calls are filtered */
	int fd;				/* of the process's memory; -1: not open */
};

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

/* What lies in one page. */
static bool read_piece(struct reader *reader, const void *from, size_t len, void *to)
{
	const struct iovec theirs = { (void *)(uintptr_t)from, len }, own = { to, len };

	/* A filter of system calls may kill who makes a rare one. */
	if (!reader->asked)
		reader->filtered = prctl(PR_GET_SECCOMP) != 0;
	reader->asked = true;
	if (!reader->filtered && process_vm_readv(getpid(), &own, 1, &theirs, 1, 0) == (ssize_t)len)
		return true;
	if (!reader->filtered && errno != ENOSYS)
		return false;
	/* As every program may read files. */
	if (reader->fd < 0)
		open_memory(reader);
	return pread(reader->fd, to, len, (off_t)(uintptr_t)from) == (ssize_t)len;
}

/* The next pointers of an array that does not stay, up to its end. */
static bool read_array(struct reader *reader, char **array)
{
	size_t count = left_in_page(array) / sizeof(*array);

	count = count < BATCH ? count : BATCH;
	if (!read_piece(reader, array, count * sizeof(*array), reader->variables))
		return false;
	/* It may end before a page that is not there. */
	for (size_t i = 0; i < count; i++) {
		if (!reader->variables[i])
			return true;
	}
	return count == BATCH || read_piece(reader, array + count, (BATCH - count) * sizeof(*array),
					    reader->variables + count);
}

/* A text that does not stay, page by page. */
static bool append_read(struct reader *reader, const char *from, struct cmn_buffer *ret)
{
	const char *end = NULL;
	size_t start = ret->len;

	while (!end && !ret->failed) {
		size_t len = left_in_page(from);

		if (ret->len - start > MAX_STACK || !cmn_buffer_reserve(ret, PAGE) ||
		    !read_piece(reader, from, len, ret->data + ret->len))
			return false;
		end = memchr(ret->data + ret->len, '\0', len);
		ret->len += end ? (size_t)(end - (const char *)ret->data) + 1 - ret->len : len;
		from += len;
	}
	return true;
}

/* false: it is not all there. */
static bool copy_all(struct reader *reader, struct cmn_buffer *ret)
{
	char **array = __atomic_load_n(&environ, __ATOMIC_ACQUIRE);
	bool array_stays = stays(reader, array);

	for (size_t i = 0; array; i++) {
		const char *text = NULL;

		if (!array_stays) {
			if (i > MAX_VARIABLES || (i % BATCH == 0 && !read_array(reader, array + i)))
				return false;
			text = reader->variables[i % BATCH];
		} else if (stays(reader, array + i)) {
			text = __atomic_load_n(array + i, __ATOMIC_ACQUIRE);
		}
		if (!text)
			break;
		if (stays(reader, text)) {
			cmn_buffer_append(ret, text, strnlen(text, reader->end - (uintptr_t)text));
			cmn_buffer_append_u8(ret, '\0');
		} else if (!append_read(reader, text, ret)) {
			return false;
		}
	}
	/* An array that was replaced may have been another thing's memory by then. */
	return __atomic_load_n(&environ, __ATOMIC_ACQUIRE) == array;
}

enum cmn_status cmn_env_copy(struct cmn_buffer *ret)
{
	uintptr_t end = (uintptr_t)getauxval(AT_EXECFN);	/* stands after them */
	uintptr_t start = &__libc_stack_end ? (uintptr_t)__libc_stack_end : end;
	struct reader reader = { .end = end, .fd = -1 };
	bool copied = false;

	reader.start = start < end && end - start <= MAX_STACK ? start : end;
	for (int i = 0; i < MAX_COPIES && !copied && !ret->failed; i++) {
		ret->len = 0;
		copied = copy_all(&reader, ret);
	}
	if (reader.fd >= 0)
		(void)close(reader.fd);	/* only read */
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
