/* SPDX-License-Identifier: MIT */
/*
 * record: every change that this program makes below one directory, in its
 * order. The functions of the C library by which cachecore and common change
 * files are wrapped at link time (--wrap; the list is in CMakeLists.txt, and
 * mutators.py fails when they use one that is not in it). Of one thread.
 */
#ifndef TESTS_CRASH_RECORD_H
#define TESTS_CRASH_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/crash/names.h"

enum operation_kind {
	OPERATION_MAKE_DIRECTORY,
	OPERATION_CREATE,
	OPERATION_WRITE,
	OPERATION_TRUNCATE,	/* to `offset` bytes */
	OPERATION_RENAME,
	OPERATION_UNLINK,
	OPERATION_REMOVE_DIRECTORY,
	OPERATION_SYNC,		/* of a file or a directory */
};

struct operation {
	enum operation_kind kind;
	unsigned int inode;		/* what is made, written, renamed, removed */
	unsigned int directory;		/* where its name is; not of writes, truncations, syncs */
	char name[NAMES_SIZE];
	unsigned int to_directory;	/* of a rename */
	char to_name[NAMES_SIZE];
	uint64_t offset;
	uint8_t *data;
	size_t len;
};

struct tape {
	struct operation *operations;
	size_t count, cap;
	unsigned int inodes;	/* numbers given; 0 is the directory itself */
};

/* Starts an empty tape for what happens below an empty directory; its path must outlive it. */
void record_start(const char *directory, struct tape *tape);
void record_stop(void);
void tape_release(struct tape *tape);
/* Whether an operation changes a name, not a content. */
bool operation_names(const struct operation *operation);
/* One line about it, for a report. */
void operation_print(const struct operation *operation);

#endif
