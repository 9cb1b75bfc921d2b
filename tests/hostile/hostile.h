/* SPDX-License-Identifier: MIT */
/*
 * hostile: a complete store of one entry with everything that the cache puts
 * beside it, a twin of it outside of the root whose entry has other bytes
 * ("poison"), and one round of everything that uses a root. Whatever is done
 * to the store, a round ends in time, a look-up gives the right bytes or
 * nothing, no descriptor is left open, and nothing outside changes.
 */
#ifndef TESTS_HOSTILE_HOSTILE_H
#define TESTS_HOSTILE_HOSTILE_H

#include <stdbool.h>

#include "cachecore/disk/root.h"
#include "cachecore/disk/store.h"

struct hostile {
	char outside[4200];	/* holds file, dir/, fifo, and the twin: store/ */
	char root[4200];
	struct cc_config config;
	struct cmn_log log;
	unsigned int messages;
	struct cc_store *store;
	struct cc_key key;
	char entry_dir[CC_ENTRY_DIR_PATH_SIZE];
	char recipe[64], attempts[64];	/* their paths below the root */
	char *before;		/* what outside was */
	bool poison_is_fine;	/* the entry was replaced by the twin's in a lawful way */
};

#define HOSTILE_IMAGE "the right bytes"
#define HOSTILE_POISON "poison"

/* name tells this one's directories from others' of the same test. */
void hostile_open(struct hostile *hostile, const char *name);
/* Removes both directories; nothing may be left that an owner could not remove. */
void hostile_close(struct hostile *hostile);
/* Absolute path of something below the root; static storage of two paths in turn. */
const char *hostile_path(const struct hostile *hostile, const char *relative);
/* The same below the twin's root. */
const char *hostile_twin_path(const struct hostile *hostile, const char *relative);

/* What a look-up of the key gives: "miss" or the image's text. */
const char *hostile_get(struct hostile *hostile);
enum cmn_status hostile_put(struct hostile *hostile);
/* A round; what: for messages. Fails the test where the promises above are broken. */
void hostile_exercise(struct hostile *hostile, const char *what);
/* ckcache VERB --dir ROOT; the exit code, or 1000 and the signal that ended it. */
int hostile_tool(struct hostile *hostile, const char *verb, const char *option);
/* Everything was cleared: now the entry can be stored and found. */
void hostile_expect_healed(struct hostile *hostile, const char *what);
/* Nothing outside has changed since the opening. */
void hostile_expect_outside_untouched(struct hostile *hostile, const char *what);

/* Prints what is tried and ends the program if it takes longer; 0: no limit any more. */
void hostile_time_limit(unsigned int seconds, const char *what);
/* Fails the test where the command does not end with 0. */
void hostile_shell(const char *pattern, ...) __attribute__((format(printf, 1, 2)));
/* CU_ASSERT with the case's name in the output. */
#define HOSTILE_ASSERT(what, condition) \
	do { \
		if (!(condition)) \
			(void)fprintf(stderr, "  %s: not so: %s\n", (what), #condition); \
		CU_ASSERT(condition); \
	} while (0)

#endif
