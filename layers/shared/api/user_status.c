/* SPDX-License-Identifier: MIT */
/* user_status: two tables, and the words for them. */
#include "layers/shared/api/user_status.h"

#include <stddef.h>

enum ckcache_status api_status_of(enum cmn_status status)
{
	switch (status) {
	case CMN_OK:
		return CKCACHE_OK;
	case CMN_MISS:
		return CKCACHE_MISS;
	case CMN_ERR_NOMEM:
		return CKCACHE_ERROR_OUT_OF_MEMORY;
	case CMN_ERR_INVALID:
	case CMN_ERR_TOO_LARGE:
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	case CMN_ERR_ACCESS:
		return CKCACHE_ERROR_DENIED;
	case CMN_ERR_DRIVER:
		return CKCACHE_ERROR_DRIVER;
	case CMN_BUSY:
	case CMN_STALE:
	case CMN_ERR_IO:
	case CMN_ERR_CORRUPT:
	case CMN_ERR_VERSION:
	case CMN_ERR_NOSPACE:
		break;
	}
	return CKCACHE_ERROR_IO;
}

enum ckcache_status api_status_of_blob(enum cmn_status status)
{
	switch ((int)status) {
	case CMN_MISS:
		return CKCACHE_ERROR_FOREIGN;
	case CMN_STALE:
		return CKCACHE_ERROR_STALE;
	case CMN_ERR_CORRUPT:
		return CKCACHE_ERROR_DAMAGED;
	case CMN_ERR_VERSION:
		return CKCACHE_ERROR_VERSION;
	default:
		return api_status_of(status);
	}
}

const char *ckcache_status_string(enum ckcache_status status)
{
	switch (status) {
	case CKCACHE_OK:
		return "success";
	case CKCACHE_MISS:
		return "not there";
	case CKCACHE_ERROR_OUT_OF_MEMORY:
		return "out of memory";
	case CKCACHE_ERROR_INVALID_ARGUMENT:
		return "invalid argument";
	case CKCACHE_ERROR_BUFFER_TOO_SMALL:
		return "the buffer is too small";
	case CKCACHE_ERROR_DENIED:
		return "forbidden by settings or permissions";
	case CKCACHE_ERROR_DAMAGED:
		return "the blob is damaged";
	case CKCACHE_ERROR_STALE:
		return "the blob is of another device, driver or compiler, or of other files";
	case CKCACHE_ERROR_FOREIGN:
		return "the blob is of another program";
	case CKCACHE_ERROR_VERSION:
		return "the blob is of another version of ckcache";
	case CKCACHE_ERROR_REFUSED:
		return "the driver refused the binary";
	case CKCACHE_ERROR_BUILD:
		return "the program could not be built";
	case CKCACHE_ERROR_CHANGED:
		return "the environment or the compiler changed meanwhile";
	case CKCACHE_ERROR_UNAVAILABLE:
		return "not available here";
	case CKCACHE_ERROR_IO:
		return "reading or writing failed";
	case CKCACHE_ERROR_DRIVER:
		return "the driver failed";
	}
	return "unknown status";
}

int ckcache_version(void)
{
	return CKCACHE_VERSION;
}
