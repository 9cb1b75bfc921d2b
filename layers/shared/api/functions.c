/* SPDX-License-Identifier: MIT */
/* functions: their names, and that the list of them is whole. */
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
