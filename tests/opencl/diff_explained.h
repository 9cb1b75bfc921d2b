/* SPDX-License-Identifier: MIT */
/*
 * diff_explained: the differences between the answers with and without the
 * layer that are expected: the table of docs/TRANSPARENCY.md. A difference
 * that is not in it fails the test.
 */
#ifndef TESTS_OPENCL_DIFF_EXPLAINED_H
#define TESTS_OPENCL_DIFF_EXPLAINED_H

struct diff_explained {
	const char *driver;	/* pattern of its name */
	const char *line;	/* pattern (fnmatch) of "subject.case" */
	const char *bare;	/* pattern of what follows the colon without the layer */
	const char *layered;	/* and with it */
	char row;		/* the row of the document's table that says why */
};

/* Ends with a NULL driver. */
extern const struct diff_explained diff_explained[];

#endif
