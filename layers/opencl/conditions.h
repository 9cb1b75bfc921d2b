/* SPDX-License-Identifier: MIT */
/*
 * conditions: #if and its kin in three-valued logic: true, false, or not
 * certain. Understands integer literals, defined, comparisons, !, &&, || and
 * parentheses; everything else is not certain. Pure functions.
 */
#ifndef OPENCL_CONDITIONS_H
#define OPENCL_CONDITIONS_H

#include "common/status.h"
#include "layers/opencl/macros.h"
#include "layers/opencl/source_text.h"

enum ocl_truth {
	OCL_FALSE,
	OCL_TRUE,
	OCL_MAYBE,
};

/* Of one branch's own condition, whatever encloses it. Out of memory reads as OCL_MAYBE. */
enum ocl_truth ocl_conditions_evaluate(const struct ocl_branch *branch,
				       const struct ocl_macros *macros);

/*
 * For each branch of the text: 1 if a preprocessor could enter it, else 0.
 * ret has room for text->branch_count.
 */
void ocl_conditions_open_branches(const struct ocl_source_text *text,
				  const struct ocl_macros *macros, unsigned char *ret);

#endif
