/* SPDX-License-Identifier: MIT */
/*
 * golden: the store of which tests/golden/v1 is a copy, made from inputs that
 * never change. What is in it: three entries, one stored raw with a header and
 * an absent one in its manifest, one compressed that depends on the working
 * directory, one without manifest; a recipe with its attempts; a slot of
 * reuse.dat; statistics; a log of a part, two events and two evictions.
 */
#ifndef TESTS_GOLDEN_GOLDEN_H
#define TESTS_GOLDEN_GOLDEN_H

#include "cachecore/entry.h"
#include "cachecore/key.h"
#include "cachecore/disk/root.h"
#include "cachecore/disk/writer/recipe.h"

enum golden_entry {
	GOLDEN_RAW,		/* needs golden.h, of GOLDEN_HEADER, in the working directory, and no absent.h */
	GOLDEN_COMPRESSED,	/* needs "/" as working directory */
	GOLDEN_PLAIN,
	GOLDEN_ENTRY_COUNT,
};

#define GOLDEN_HEADER "#define GOLDEN 1\n"
#define GOLDEN_BUILD_NS UINT64_C(123456789012)
#define GOLDEN_TIME_NS UINT64_C(1700000000000000000)
#define GOLDEN_RUN UINT64_C(0x0123456789abcdef)

/* Each is the caller's. NULL or a failed key: out of memory. */
void golden_key(enum golden_entry which, struct cc_key *ret);
struct cc_entry *golden_entry(enum golden_entry which);
/* The path of its entry directory. */
void golden_entry_dir(enum golden_entry which, char ret[CC_ENTRY_DIR_PATH_SIZE]);
/* Borrows the key, which is GOLDEN_PLAIN's; the rest is static. */
struct cc_recipe golden_recipe(const struct cc_key *key);
/* What stats.txt has of it, by its place among those that its version had. */
uint64_t golden_counter(unsigned int counter);
/* A key whose slot is one of the first, so that the file is short. */
void golden_token_key(struct cc_key *ret);

/* Writes the store into a directory that is not there. 0, or the line of golden.c that failed. */
int golden_make(const char *root);

#endif
