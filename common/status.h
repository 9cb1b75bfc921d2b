/* SPDX-License-Identifier: MIT */
/*
 * status: the one enum that every fallible function of this project returns.
 * 0 is success, positive values are expected outcomes, negative ones failures.
 * It knows nothing of errno beyond the translation below.
 */
#ifndef COMMON_STATUS_H
#define COMMON_STATUS_H

#define CMN_CHECKED __attribute__((warn_unused_result))

enum cmn_status {
	CMN_OK = 0,
	CMN_MISS = 1,		/* looked for, not there */
	CMN_BUSY = 2,		/* another thread or process holds it */
	CMN_STALE = 3,		/* there, but no longer what was asked for */
	CMN_ERR_NOMEM = -1,	/* out of memory */
	CMN_ERR_IO = -2,	/* a system call failed */
	CMN_ERR_CORRUPT = -3,	/* bytes that are not what was written */
	CMN_ERR_VERSION = -4,	/* a format version that this build does not know */
	CMN_ERR_INVALID = -5,	/* an argument or a setting makes no sense */
	CMN_ERR_ACCESS = -6,	/* permission denied, or not ours to touch */
	CMN_ERR_NOSPACE = -7,	/* disk or quota full, or a file may not grow so large */
	CMN_ERR_TOO_LARGE = -8,	/* over a bound that the caller or a format sets */
	CMN_ERR_DRIVER = -9,	/* the compute driver failed */
};

/* A short English phrase, never NULL, static storage. */
const char *cmn_status_string(enum cmn_status status);

/* The status that an errno value means; ENOENT and ENOTDIR are CMN_MISS. */
enum cmn_status cmn_status_from_errno(int error);

#endif
