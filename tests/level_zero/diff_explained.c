/* SPDX-License-Identifier: MIT */
/*
 * diff_explained: the table. Narrow patterns: a product and the driver's versions as
 * zeDriverGetProperties tells them, lines, and both answers; the rows are the document's.
 */
#include "tests/support/diff_compare.h"

#include <stddef.h>

/* NEO 26.27 is 1.3.39122, and 22.43, where all is alike, 1.3.24595; nothing between was measured. */
#define NEWER_NEO "* 1.3.30000-"
#define NO_POINTERS " [[]* Pointers Not Supported*"

const struct diff_explained diff_explained[] = {
	{ "*", "image-arguments.packed-sint", "0 0x7800000e*", "0 0", 'I' },
	{ NEWER_NEO, "*.function", "* 0x780000*" NO_POINTERS, "* 0x78000012 *", 'J' },
	{ NEWER_NEO, "*.global", "* 0x78000003" NO_POINTERS, "* 0x78000010 *", 'J' },
	{ NULL, NULL, NULL, NULL, 0 },
};
