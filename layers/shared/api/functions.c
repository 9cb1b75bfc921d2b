/* SPDX-License-Identifier: MIT */
/* functions: their names, and that the list of them is whole; statuses in the terms of ckcache.h, and the words for them. */
#include "layers/shared/api/desc.h"

#include <string.h>

static const struct {
	const char *name;
	size_t offset;
} named[] = {
#define FUNCTION(name) { "ckcache_" #name, offsetof(struct ckcache_functions, name) },
#include "layers/shared/api/functions.def"
};

/* The same list as a structure: each member is where the public one has it, and there is no other. */
struct listed {
	size_t struct_size;
#define FUNCTION(name) void (*(name))(void);
#include "layers/shared/api/functions.def"
};

#define FUNCTION(name)                                                                            \
	_Static_assert(offsetof(struct listed, name) == offsetof(struct ckcache_functions, name), \
		       "functions.def has another order than ckcache_ext.h");
#include "layers/shared/api/functions.def"
_Static_assert(sizeof(struct listed) == sizeof(struct ckcache_functions),
	       "functions.def does not have all of ckcache_ext.h");

void *api_function_named(const struct ckcache_functions *functions, const char *name)
{
	void *function = NULL;

	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
		if (strcmp(name, named[i].name) == 0)
			memcpy(&function, (const char *)functions + named[i].offset, sizeof(function));
	}
	return function;
}

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
	static const char *const failures[] = {
		[-CKCACHE_OK] = "success",
		[-CKCACHE_ERROR_OUT_OF_MEMORY] = "out of memory",
		[-CKCACHE_ERROR_INVALID_ARGUMENT] = "invalid argument",
		[-CKCACHE_ERROR_BUFFER_TOO_SMALL] = "the buffer is too small",
		[-CKCACHE_ERROR_DENIED] = "forbidden by settings or permissions",
		[-CKCACHE_ERROR_DAMAGED] = "the blob is damaged",
		[-CKCACHE_ERROR_STALE] =
			"the blob is of another device, driver or compiler, or of other files",
		[-CKCACHE_ERROR_FOREIGN] = "the blob is of another program",
		[-CKCACHE_ERROR_VERSION] = "the blob is of another version of ckcache",
		[-CKCACHE_ERROR_REFUSED] = "the driver refused the binary",
		[-CKCACHE_ERROR_BUILD] = "the program could not be built",
		[-CKCACHE_ERROR_CHANGED] = "the environment or the compiler changed meanwhile",
		[-CKCACHE_ERROR_UNAVAILABLE] = "not available here",
		[-CKCACHE_ERROR_IO] = "reading or writing failed",
		[-CKCACHE_ERROR_DRIVER] = "the driver failed",
	};

	if (status == CKCACHE_MISS)
		return "not there";
	return (int)status <= 0 && (int)status > -(int)(sizeof(failures) / sizeof(failures[0])) ?
		       failures[-(int)status] : "unknown status";
}

int ckcache_version(void)
{
	return CKCACHE_VERSION;
}
