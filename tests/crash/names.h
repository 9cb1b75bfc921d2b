/* SPDX-License-Identifier: MIT */
/*
 * names: which name in which directory means which file. Files and
 * directories are numbers, as inodes are: a name may be lost and its file be
 * there, and the other way round. 0 is the directory that everything lies in.
 */
#ifndef TESTS_CRASH_NAMES_H
#define TESTS_CRASH_NAMES_H

#include <limits.h>
#include <stddef.h>

#define NAMES_SIZE 80	/* of one name, with its terminator */
#define NAMES_NONE UINT_MAX

struct name {
	unsigned int directory, inode;
	char text[NAMES_SIZE];
};

/* {0} is an empty one. */
struct names {
	struct name *all;
	size_t count, cap;
};

void names_release(struct names *names);
unsigned int names_find(const struct names *names, unsigned int directory, const char *text);
void names_set(struct names *names, unsigned int directory, const char *text, unsigned int inode);
/* Nothing happens where the name means another file by now. */
void names_remove(struct names *names, unsigned int directory, const char *text,
		  unsigned int inode);

#endif
