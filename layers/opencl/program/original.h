/* SPDX-License-Identifier: MIT */
/*
 * original: what a program was made from, and how an object, an executable or a library was made, so that
 * the driver can make it again. After a hit, a program loaded from a binary
 * replaces such an object. If the driver refuses to link that program (rusticl
 * 26), or answers a question differently from an object that it compiled (the
 * error of clCreateKernel), the layer compiles the original and uses it instead.
 * The application's own programs are not touched.
 */
#ifndef OPENCL_PROGRAM_ORIGINAL_H
#define OPENCL_PROGRAM_ORIGINAL_H

#include <stdatomic.h>
#include <stdbool.h>

#include "layers/opencl/layer.h"

/* What a program was made from: OpenCL C, or an intermediate language (IL). Programs share theirs with their originals. */
struct ocl_program_text {
	atomic_uint refs;
	bool is_il;	/* the rest is immutable once it is filled */
	size_t len;
	char data[];	/* with a terminator */
};

/* A specialization constant (OpenCL 3.0, clSetProgramSpecializationConstant). */
struct ocl_constant {
	cl_uint id;
	size_t size;
	uint8_t value[8];	/* the largest scalar has eight bytes; larger ones are not cached */
};

/* len bytes for the caller to fill. NULL: out of memory. */
struct ocl_program_text *ocl_program_text_new(bool is_il, size_t len);
void ocl_program_text_unref(struct ocl_program_text *text);	/* NULL is fine */

static inline struct ocl_program_text *ocl_program_text_ref(struct ocl_program_text *text)	/* NULL is fine */
{
	if (text)
		atomic_fetch_add_explicit(&text->refs, 1, memory_order_relaxed);
	return text;
}

/* NULL, of a program that was linked, is none and has no bytes. */
static inline bool ocl_program_text_is_source(const struct ocl_program_text *text)
{
	return text && !text->is_il;
}

static inline struct cmn_view ocl_program_text_view(const struct ocl_program_text *text)	/* borrowed */
{
	return text ? (struct cmn_view){ text->data, text->len } : (struct cmn_view){ NULL, 0 };
}

/*
 * Another program of it, with these constants, that the application does not
 * know. NULL: the driver would not. Calls the driver.
 */
cl_program ocl_program_text_make_program(const struct ocl_program_text *text, cl_context context,
					 const struct ocl_constant *constants,
					 size_t constant_count, cl_int *ret_error);

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
