/* SPDX-License-Identifier: MIT */
/*
 * output: the file that a verb writes. It appears whole or not at all, with the
 * mode that the umask allows, and never through a link; something with its name
 * that is not a regular file is left alone. "-" is standard output, which must
 * not be a terminal.
 */
#ifndef TOOLS_OUTPUT_H
#define TOOLS_OUTPUT_H

#include <stdbool.h>

struct output {
	const char *file;	/* as given */
	char *temporary;	/* beside it; NULL: standard output */
	int fd;
};

/* what: for a message, such as "a bundle". false: a message was printed. */
bool output_open(const char *file, const char *what, struct output *ret);
/*
 * Makes the file appear if good, else removes it. false: it failed, and a message
 * was printed, or good was false. The caller flushes standard output.
 */
bool output_close(struct output *output, bool good);

#endif
