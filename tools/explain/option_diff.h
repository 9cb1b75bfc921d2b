/* SPDX-License-Identifier: MIT */
/* option_diff: which words of build options came, went or have another value. */
#ifndef TOOLS_EXPLAIN_OPTION_DIFF_H
#define TOOLS_EXPLAIN_OPTION_DIFF_H

#include "common/bytes.h"

/* "option -DN=4 -> -DN=8, -cl-fast-relaxed-math added", or that only their order or blanks differ. */
void option_diff_append(struct cmn_buffer *text, struct cmn_view was, struct cmn_view is);

#endif
