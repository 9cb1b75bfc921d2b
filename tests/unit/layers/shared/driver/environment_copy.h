/* SPDX-License-Identifier: MIT */
/* environment_copy: what a library shows of its copy (environment.h), by that name. */
#ifndef TESTS_UNIT_ENVIRONMENT_COPY_H
#define TESTS_UNIT_ENVIRONMENT_COPY_H

#include <stdbool.h>

struct environment_copy {
	void (*begin)(void);
	const char *(*at_begin)(const char *name);
	void (*note_build)(void);
	bool (*is_cached)(const char *driver);
};

#endif
