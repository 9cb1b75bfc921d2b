/* SPDX-License-Identifier: MIT */
/* status: names for the codes, and the translation from errno. */
#include "common/status.h"

#include <errno.h>

const char *cmn_status_string(enum cmn_status status)
{
	switch (status) {
	case CMN_OK:
		return "success";
	case CMN_MISS:
		return "not found";
	case CMN_BUSY:
		return "busy";
	case CMN_STALE:
		return "stale";
	case CMN_ERR_NOMEM:
		return "out of memory";
	case CMN_ERR_IO:
		return "input/output error";
	case CMN_ERR_CORRUPT:
		return "corrupt data";
	case CMN_ERR_VERSION:
		return "unknown format version";
	case CMN_ERR_INVALID:
		return "invalid argument";
	case CMN_ERR_ACCESS:
		return "permission denied";
	case CMN_ERR_NOSPACE:
		return "no space left";
	case CMN_ERR_TOO_LARGE:
		return "too large";
	case CMN_ERR_DRIVER:
		return "driver failure";
	}
	return "unknown status";
}

enum cmn_status cmn_status_from_errno(int error)
{
	switch (error) {
	case 0:
		return CMN_OK;
	case ENOENT:
	case ENOTDIR:
		return CMN_MISS;
	case ENOMEM:
		return CMN_ERR_NOMEM;
	case EACCES:
	case EPERM:
	case EROFS:
	case ELOOP:
		return CMN_ERR_ACCESS;
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return CMN_ERR_NOSPACE;
	case EOVERFLOW:
		return CMN_ERR_TOO_LARGE;
	case EWOULDBLOCK:
		return CMN_BUSY;
	case EINVAL:
	case ENAMETOOLONG:
		return CMN_ERR_INVALID;
	default:
		return CMN_ERR_IO;
	}
}
