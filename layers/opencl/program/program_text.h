/* SPDX-License-Identifier: MIT */
/*
 * program_text: what a program was made from: OpenCL C, or an intermediate language (IL)
 * with its specialization constants. Programs share theirs with the originals
 * (original.h) of what was built from them.
 */
#ifndef OPENCL_PROGRAM_PROGRAM_TEXT_H
#define OPENCL_PROGRAM_PROGRAM_TEXT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "layers/opencl/layer.h"

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

#endif
