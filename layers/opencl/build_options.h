/* SPDX-License-Identifier: MIT */
/*
 * build_options: what OpenCL build options say about files and macros.
 * Drivers cut the string in their own ways (quotes, backslashes), so it is
 * read in each plausible way and the union is kept, except where it is known
 * how the driver takes this string. Options that read files
 * in other ways are refused. Variables by which drivers take further options
 * count as well. Not thread-safe; an object belongs to one thread.
 */
#ifndef OPENCL_BUILD_OPTIONS_H
#define OPENCL_BUILD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/status.h"

struct ocl_option_macro {
	char *text;		/* as after #define or #undef */
	bool undefine;
	bool certain;		/* in every reading */
	unsigned int readings;	/* a bit for each reading that has it */
};

struct ocl_build_options {
	char **directories;	/* -I and its kin, each once, as first seen */
	size_t directory_count;
	bool ordered;		/* all are -I, in one reading: every driver searches in this order */
	struct ocl_option_macro *macros;	/* in order, each once */
	size_t macro_count;
	bool cplusplus;		/* C++ for OpenCL */
	bool debug;		/* -g: the working directory may be in the result */
};

/*
 * CMN_MISS: an option that is refused. options may be NULL. quotes_group: for
 * this driver double quotes group and go (see drivers.h). *ret is released in
 * any case.
 */
CMN_CHECKED enum cmn_status ocl_build_options_read(struct ocl_build_options *ret,
						   const char *options, bool quotes_group);
void ocl_build_options_release(struct ocl_build_options *options);

#endif
