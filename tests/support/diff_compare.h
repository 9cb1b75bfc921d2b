/* SPDX-License-Identifier: MIT */
/*
 * diff_compare: two outputs of a program that asks everything, line by line
 * ("subject.case: answer"), and the differences between the answers with and
 * without the layer that are expected. A difference that is not in the table
 * is for the test to fail on.
 */
#ifndef TESTS_SUPPORT_DIFF_COMPARE_H
#define TESTS_SUPPORT_DIFF_COMPARE_H

/*
 * where is a pattern (fnmatch) of the driver's or the product's name, and the versions that
 * the row was seen on: "rusticl 22" for 22.x, "neo 22.43-26", "pocl 6-", "pocl -3"; all without.
 */
struct diff_explained {
	const char *where;
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
	unsigned int wavering;		/* not compared */
};

/*
 * Prints each difference, with its row or as not explained. Both texts are cut apart.
 * where: the driver's or the product's name, a blank, and its version where one is known.
 */
struct diff_counts diff_compare(const char *where, char *bare, char *layered);

/*
 * One output of two without the layer: the lines in which they differ, or that only one has,
 * answer differently from run to run, and are not compared. Both texts are cut apart; the
 * result is the caller's.
 */
char *diff_steady(char *bare, char *again);

/* Calls act with the lines of both texts, cut apart, that belong together; NULL: one has none. */
void diff_each_pair(char *a, char *b, void (*act)(const char *one, const char *other));

/* Prints the rows for this driver and version that explained nothing in this process. */
void diff_print_unused(const char *where);

#endif
