/* SPDX-License-Identifier: MIT */
/*
 * diff_compare: two outputs of a program that asks everything, line by line
 * ("subject.case: answer"), and the differences between the answers with and
 * without the layer that are expected. A difference that is not in the table
 * is for the test to fail on.
 */
#ifndef TESTS_SUPPORT_DIFF_COMPARE_H
#define TESTS_SUPPORT_DIFF_COMPARE_H

struct diff_explained {
	const char *where;	/* pattern (fnmatch) of the driver's or the product's name */
	const char *line;	/* pattern of "subject.case" */
	const char *bare;	/* pattern of what follows the colon without the layer */
	const char *layered;	/* and with it */
	char row;		/* the row of docs/TRANSPARENCY.md that says why */
};

/* Each suite has its own; ends with a NULL where. */
extern const struct diff_explained diff_explained[];

struct diff_counts {
	unsigned int lines, subjects;	/* of the first, where it has more */
	unsigned int differences, unexplained;
};

/* Prints each difference, with its row or as not explained. Both texts are cut apart. */
struct diff_counts diff_compare(const char *where, char *bare, char *layered);

#endif
