/* SPDX-License-Identifier: MIT */
/* make_golden DIRECTORY: writes the golden store there; see README.md before using it. */
#include <stdio.h>

#include "tests/golden/golden.h"

int main(int argc, char **argv)
{
	int line;

	if (argc != 2) {
		(void)fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
		return 2;
	}
	line = golden_make(argv[1]);
	if (line)
		(void)fprintf(stderr, "%s: golden.c:%d failed\n", argv[1], line);
	return line != 0;
}
