/* SPDX-License-Identifier: MIT */
/*
 * macros: every definition of every macro that a build may see, as a set of
 * alternatives per name, since which of them holds at a given line is not
 * known. Expansion of one is in expansion.h. Borrows all texts.
 */
#ifndef OPENCL_MACROS_H
#define OPENCL_MACROS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/bytes.h"
#include "common/status.h"
#include "layers/opencl/tokens.h"

struct ocl_definition {
	bool function_like;
	bool variadic;
	struct ocl_tokens parameters;	/* names only; a variadic's last is its own */
	struct ocl_tokens body;
	struct ocl_definition *next;
};

struct ocl_macro;
struct ocl_macros;

/* cplusplus: C++ for OpenCL, where __cplusplus may be defined. NULL: out of memory. */
struct ocl_macros *ocl_macros_new(bool cplusplus);
void ocl_macros_free(struct ocl_macros *macros);	/* NULL is fine */

/*
 * Adds a #define's text. from_options: it stands before the source in every
 * reading of the build options. CMN_ERR_INVALID: no driver would take it.
 */
CMN_CHECKED enum cmn_status ocl_macros_define(struct ocl_macros *macros, struct cmn_view text,
					      bool from_options);
CMN_CHECKED enum cmn_status ocl_macros_undefine(struct ocl_macros *macros, struct cmn_view text);

/* NULL: no definition. */
const struct ocl_macro *ocl_macros_find(const struct ocl_macros *macros, struct cmn_view name);
const struct ocl_definition *ocl_macro_definitions(const struct ocl_macro *macro);
/* There are so many different ones that only the first are kept. */
bool ocl_macro_has_more(const struct ocl_macro *macro);
/* It may also be undefined where it is used. */
bool ocl_macro_may_be_undefined(const struct ocl_macro *macro);

enum ocl_knowledge {
	OCL_UNKNOWN,		/* defined or not */
	OCL_UNDEFINED,		/* certainly not defined, anywhere */
	OCL_DEFINED,		/* certainly defined, value unknown */
	OCL_VALUE,		/* certainly defined, as one definition says */
};
/* What is certain of a name at every line of the closure. */
enum ocl_knowledge ocl_macros_knowledge(const struct ocl_macros *macros, struct cmn_view name,
					const struct ocl_definition **ret_definition);
/* An OpenCL compiler could define this name itself. */
bool ocl_macros_is_predefinable(struct cmn_view name);

#endif
