/* SPDX-License-Identifier: MIT */
/* kinds: from the manual pages' lists of errors, what may happen to files that were in order. */
#include "tests/fault/kinds.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
	enum fault_function function;
	unsigned int flags;		/* that the call must have */
	int kinds[KINDS_MAX];
} rows[] = {
	{ FAULT_open, FAULT_CREATES, { ENOSPC, EROFS, EDQUOT, EACCES, EMFILE, EINTR, EIO } },
	{ FAULT_openat, FAULT_CREATES, { ENOSPC, EROFS, EDQUOT, EACCES, EMFILE, EINTR, EIO } },
	{ FAULT_open, 0, { EMFILE, EACCES, EIO, EINTR, ENFILE, ENOENT } },
	{ FAULT_openat, 0, { EMFILE, EACCES, EIO, EINTR, ENFILE, ENOENT } },
	{ FAULT_syscall, 0, { EMFILE, EACCES, EIO, EINTR, EAGAIN, ENOSYS, ENOENT } },
	{ FAULT_close, 0, { EIO, ENOSPC, EINTR } },
	{ FAULT_read, 0, { EIO, EINTR, FAULT_SHORT, FAULT_END, EISDIR } },
	{ FAULT_pread, 0, { EIO, EINTR, FAULT_SHORT, FAULT_END } },
	{ FAULT_write, 0, { ENOSPC, EINTR, FAULT_SHORT, EIO, EDQUOT, EFBIG } },
	{ FAULT_pwrite, 0, { ENOSPC, EINTR, FAULT_SHORT, EIO, EDQUOT, EFBIG } },
	{ FAULT_ftruncate, 0, { EIO, EINTR } },
	{ FAULT_fcntl, 0, { EMFILE, EINVAL } },
	{ FAULT_fstat, 0, { EIO } },
	{ FAULT_stat, 0, { EACCES, EIO, ENOENT } },
	{ FAULT_lstat, 0, { EACCES, EIO, ENOENT } },
	{ FAULT_fstatat, 0, { EACCES, EIO, ENOENT } },
	{ FAULT_fstatfs, 0, { EIO } },
	{ FAULT_access, 0, { EACCES, EIO } },
	{ FAULT_faccessat, 0, { EACCES, EIO } },
	{ FAULT_mkdir, 0, { EROFS, ENOSPC, EACCES, EDQUOT, FAULT_DONE } },
	{ FAULT_mkdirat, 0, { EROFS, ENOSPC, EACCES, EDQUOT, FAULT_DONE } },
	{ FAULT_unlinkat, 0, { EROFS, EACCES, EIO, FAULT_DONE } },
	{ FAULT_renameat, 0, { ENOSPC, EROFS, EACCES, EIO, FAULT_DONE } },
	{ FAULT_fchmod, 0, { EPERM, EROFS } },
	{ FAULT_futimens, 0, { EPERM, EROFS } },
	{ FAULT_fchmodat, 0, { EPERM, EROFS } },
	{ FAULT_flock, FAULT_NONBLOCKING, { ENOLCK, EINTR, EWOULDBLOCK } },
	{ FAULT_flock, 0, { ENOLCK, EINTR } },
	{ FAULT_fdopendir, 0, { ENOMEM } },
	{ FAULT_readdir, 0, { EIO } },
	{ FAULT_getdents64, 0, { EIO, ENOENT } },
	{ FAULT_closedir, 0, { EIO } },
	{ FAULT_readlink, 0, { EACCES, EIO } },
	{ FAULT_realpath, 0, { ENOMEM, EACCES } },
	{ FAULT_getcwd, 0, { ENOENT, EACCES } },
	{ FAULT_get_current_dir_name, 0, { ENOMEM, ENOENT, EACCES } },
	{ FAULT_glob, 0, { ENOMEM, EIO } },
	{ FAULT_pthread_create, 0, { EAGAIN } },
	{ FAULT_clock_gettime, 0, { FAULT_BACK, FAULT_FORWARD } },
};

void kinds_of(struct fault_call call, int ret[KINDS_MAX])
{
	memset(ret, 0, KINDS_MAX * sizeof(*ret));
	/* All of memory's, and what the system lends. */
	ret[0] = ENOMEM;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].function == call.function &&
		    (call.flags & rows[i].flags) == rows[i].flags) {
			memcpy(ret, rows[i].kinds, sizeof(rows[i].kinds));
			return;
		}
	}
}

const char *kind_name(int kind, char *buf, size_t size)
{
	static const char *const own[] = {
		[-FAULT_SHORT] = "a short count", [-FAULT_END] = "an early end",
		[-FAULT_DONE] = "done, but EIO", [-FAULT_BACK] = "the clock goes back",
		[-FAULT_FORWARD] = "the clock goes forward",
		[-FAULT_REMOVE] = "the root is removed before",
	};

	if (kind > 0)
		(void)snprintf(buf, size, "%s", strerrorname_np(kind));
	else
		(void)snprintf(buf, size, "%s", own[-kind]);
	return buf;
}

const char *function_name(unsigned int function)
{
	static const char *const names[] = {
		[FAULT_NO_FUNCTION] = "nothing",
#define FUNCTION(name, class) [FAULT_##name] = #name,
#include "tests/fault/functions.def"
#undef FUNCTION
	};

	return function < FAULT_FUNCTION_COUNT ? names[function] : "?";
}
