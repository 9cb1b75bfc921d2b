/* SPDX-License-Identifier: MIT */
/*
 * corpus: OpenCL C of many kinds, for programs that compare what a driver
 * answers about the same source in two ways.
 */
#ifndef TESTS_OPENCL_CORPUS_H
#define TESTS_OPENCL_CORPUS_H

#include <stddef.h>

struct corpus_source {
	const char *name;
	const char *options;
	const char *text;
	const char *second;	/* with text an executable; NULL: text is one alone */
};

extern const struct corpus_source corpus[];
extern const size_t corpus_count;

#endif
