/* SPDX-License-Identifier: MIT */
/*
 * original: remembers how an object, an executable or a library was made, so that
 * the driver can make it again. After a hit, a program loaded from a binary
 * replaces such an object. If the driver refuses to link that program (rusticl
 * 26), or answers a question differently from an object that it compiled (the
 * error of clCreateKernel), the layer compiles the original and uses it instead.
 * The application's own programs are not touched.
 */
#ifndef OPENCL_PROGRAM_ORIGINAL_H
#define OPENCL_PROGRAM_ORIGINAL_H

#include <stdbool.h>

#include "layers/opencl/program/program_text.h"

struct ocl_original;

/* A header that the application passes to clCompileProgram. */
struct ocl_header {
	const char *name;
	struct ocl_program_text *text;
};

/* What a call was given, as the application gave it. Borrowed. */
struct ocl_original_request {
	cl_uint list_count;
	const cl_device_id *list;
	const char *options;	/* may be NULL */
	size_t constant_count;
	const struct ocl_constant *constants;
	bool compiled;		/* by clCompileProgram; the rest is its own */
	cl_uint header_count;
	const struct ocl_header *headers;
};

/*
 * clCompileProgram's or clBuildProgram's, of arguments that a key could be made
 * of. NULL: out of memory. Calls no driver, so that the caller may hold the
 * layer's lock, which guards a program's constants.
 */
struct ocl_original *ocl_original_of_text(struct ocl_program_text *text,
					  const struct ocl_original_request *request);
/* clLinkProgram's; inputs may be NULL. Takes no references. NULL: out of memory. */
struct ocl_original *ocl_original_of_link(cl_uint count, struct ocl_original *const *inputs,
					  const struct ocl_original_request *request);
struct ocl_original *ocl_original_ref(struct ocl_original *original);	/* NULL is fine */
void ocl_original_unref(struct ocl_original *original);	/* NULL is fine; without a lock */

/* What it made is this entry (retained; once), whose manifest says what it read. */
void ocl_original_set_entry(struct ocl_original *original, struct cc_entry *entry);
/* Whether what it, which was made, reads is as it was for that entry; false also where there is none. */
bool ocl_original_holds(struct ocl_original *original, struct cc_file_memo *memo);

/* The driver's program, made now; the caller releases it. NULL: original is, or the driver would not. Calls the driver. */
cl_program ocl_original_make(const struct ocl_original *original, cl_context context);

#endif
