/* SPDX-License-Identifier: MIT */
/*
 * diff_explained: the differences between the answers with and without the
 * plugin that are expected: the table of docs/TRANSPARENCY.md, "Level Zero". A
 * difference that is not in it fails the test.
 */
#ifndef TESTS_LEVEL_ZERO_DIFF_EXPLAINED_H
#define TESTS_LEVEL_ZERO_DIFF_EXPLAINED_H

struct diff_explained {
	const char *product;	/* pattern of its name */
	const char *line;	/* pattern (fnmatch) of "subject.case" */
	const char *bare;	/* pattern of what follows the colon without the plugin */
	const char *layered;	/* and with it */
	char row;		/* the row of the document's table that says why */
};

/* Ends with a NULL product. */
extern const struct diff_explained diff_explained[];

#endif
