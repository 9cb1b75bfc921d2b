/* SPDX-License-Identifier: MIT */
/*
 * expansion: what a macro-computed #include can come to, for every
 * combination of the definitions that its macros may have (ISO C99 6.10.3,
 * with # and ##).
 */
#ifndef OPENCL_EXPANSION_H
#define OPENCL_EXPANSION_H

#include "common/bytes.h"
#include "common/status.h"
#include "layers/opencl/macros.h"

/*
 * Calls found with each header name that operand can expand to, quotes or
 * angle brackets included; what no driver takes as a name is left out, for
 * such a build fails. CMN_OK, what found returned if not CMN_OK, CMN_ERR_NOMEM;
 * CMN_MISS: it cannot be bounded (a name that compilers may define, too many
 * combinations, too long).
 */
CMN_CHECKED enum cmn_status
ocl_expansion_each_header(const struct ocl_macros *macros, struct cmn_view operand,
			  enum cmn_status (*found)(void *ctx, struct cmn_view name), void *ctx);

#endif
