/* SPDX-License-Identifier: MIT */
/*
 * output: the file that a verb writes: it appears whole or not at all, with
 * the mode that the umask asks for, and never through a link: what is there
 * and no regular file is left alone. "-" is standard output, but no terminal.
 */
#ifndef TOOLS_OUTPUT_H
#define TOOLS_OUTPUT_H

#include <stdbool.h>

struct output {
	const char *file;	/* as given */
	char *temporary;	/* beside it; NULL: standard output */
	int fd;
};

/* what: as "a bundle", for a message. false: complained about. */
bool output_open(const char *file, const char *what, struct output *ret);
/*
 * Makes the file appear if good, else removes what there is of it. false: complained
 * about, or not good before. Standard output is the caller's to flush.
 */
bool output_close(struct output *output, bool good);

#endif
