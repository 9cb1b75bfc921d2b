/* SPDX-License-Identifier: MIT */
/* diff_compare: two outputs of `differential`, line by line. */
#ifndef TESTS_LEVEL_ZERO_DIFF_COMPARE_H
#define TESTS_LEVEL_ZERO_DIFF_COMPARE_H

struct diff_counts {
	unsigned int lines, subjects;	/* of the first, where it has more */
	unsigned int differences, unexplained;
};

/* Prints each difference, with its row or as not explained. Both texts are cut apart. */
struct diff_counts diff_compare(const char *product, char *bare, char *layered);

#endif
