/* SPDX-License-Identifier: MIT */
/*
 * bench: one store whose changes are recorded, what was put into it, and what
 * must hold in each state that a crash can leave (check.c).
 *
 * Keys are numbers. An image says by each byte which key and which version of
 * it it is. What was stored before bench_sync counts as being on disk.
 */
#ifndef TESTS_CRASH_BENCH_H
#define TESTS_CRASH_BENCH_H

#include "cachecore/disk/store.h"
#include "tests/crash/explore.h"

#define BENCH_KEYS 32		/* the last one is stored after a crash only */
#define BENCH_VERSIONS 70
#define BENCH_ROOT "/a/root"	/* made by the store, both levels */

/* Files beside the entries that a bench uses, and that are looked at then. */
enum {
	BENCH_STATS = 1,
	BENCH_TOKENS = 2,
	BENCH_RECIPES = 4,
	BENCH_BUILDS = 8,
	BENCH_EVENTS = 16,
};

struct bench {
	const char *name;
	struct cc_config config;
	struct cc_store *store;
	char base[4200], root[4300];
	struct tape tape;
	size_t durable;
	bool headers;		/* version v of a key is a hit only beside version v of a header */
	bool full;		/* a put takes the place of the least recently used version */
	bool stored[BENCH_KEYS][BENCH_VERSIONS];	/* ever */
	bool kept[BENCH_KEYS][BENCH_VERSIONS];		/* on disk, and never touched since */
	unsigned int others;
	uint64_t parts[8];	/* that were counted; 0: no more */
	unsigned int recipes;	/* numbers below were put */
	unsigned int attempts;	/* that any of them may have at most */
	unsigned int states;	/* checked */
};

/* Starts to record; others: which files beside the entries. */
void bench_open(struct bench *bench, const char *name, unsigned int others);
/* All that was done is on disk; every version stored since counts as kept. */
void bench_sync(struct bench *bench);
/* Tries the states after what was done since bench_sync, and prints how many. */
void bench_close(struct bench *bench, const struct effort *effort);

void bench_key(struct cc_key *key, unsigned int id);
struct cc_entry *bench_entry(const struct bench *bench, unsigned int id, unsigned int version);
bool bench_is(struct cmn_view image, unsigned int id, unsigned int version);
/* Makes the header that of this version. */
void bench_set_header(unsigned int version);
/* The directory of an entry; the caller closes it. */
int bench_open_entry_dir(const struct bench *bench, unsigned int id);

void bench_put(struct bench *bench, unsigned int id, unsigned int version);
/* It is read, or not: a miss. */
bool bench_get(struct bench *bench, unsigned int id);
void bench_remove(struct bench *bench, unsigned int id);
void bench_forget(struct bench *bench, unsigned int id);	/* it may be lost: nobody needs to find it */
void bench_set_access(struct bench *bench, unsigned int id, uint64_t ns);

/* A recipe's file; the caller releases it. */
struct cmn_buffer bench_recipe(unsigned int number);

/* explore_check_fn; ctx: a bench. */
const char *bench_check(void *ctx, const char *directory);
/* The same of the files beside the entries (check_others.c); config: of the state's root. */
const char *bench_check_others(const struct bench *bench, const struct cc_config *config);

#endif
