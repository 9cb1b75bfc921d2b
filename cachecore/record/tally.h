/* SPDX-License-Identifier: MIT */
/*
 * tally: what a process's log says of its use of the cache: one line when it begins, one when it
 * ends, and, for who debugs, one for each build with its reason. Counts this process alone, and only
 * where the log wants it. Thread-safe, without a lock, so that a fork leaves nothing locked.
 */
#ifndef CACHECORE_RECORD_TALLY_H
#define CACHECORE_RECORD_TALLY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cachecore/key.h"
#include "cachecore/record/history.h"
#include "common/log.h"

enum cc_tally_count {
	CC_TALLY_MEMORY, CC_TALLY_DISK, CC_TALLY_REMOTE,	/* hits */
	CC_TALLY_MISSES, CC_TALLY_FAILED, CC_TALLY_BYPASSED,
	CC_TALLY_SPENT_NS, CC_TALLY_SAVED_NS,
	CC_TALLY_COUNTS,
};

/* Look-ups whose findings wait for the build that follows; more at a time lose some. */
#define CC_TALLY_FINDINGS 16

struct cc_tally_finding;
struct cc_tally {
	const struct cmn_log *log;
	_Atomic(const char *) name;	/* of the layer; NULL: it was not announced */
	atomic_int pid;			/* whose it is: a child of a bare clone has it too */
	atomic_bool forked;		/* its beginning was its parent's to announce */
	atomic_bool ended;
	_Atomic uint64_t counts[CC_TALLY_COUNTS];
	_Atomic(struct cc_tally_finding *) findings[CC_TALLY_FINDINGS];
};

/* The log outlives it. {0} is one that says nothing. */
void cc_tally_begin(struct cc_tally *tally, const struct cmn_log *log);
void cc_tally_release(struct cc_tally *tally);
/* For a forked child: what its parent did is the parent's to tell. */
void cc_tally_fork_child(struct cc_tally *tally);

/* true once: the line of the beginning is due. name outlives the tally. */
bool cc_tally_announces(struct cc_tally *tally, const char *name);
/* What lies in the cache directory, where it can be known soon. */
struct cc_tally_root {
	const char *dir;		/* NULL: none is used */
	uint64_t bytes;			/* 0: not known */
	uint64_t entries;
	bool more;			/* there may be more entries */
};
void cc_tally_say_begin(const struct cc_tally *tally, const struct cc_tally_root *root);
/* The line of the end, once, if it was announced; a forked child's only if there is something to tell. */
void cc_tally_say_end(struct cc_tally *tally);

/* count: CC_TALLY_MEMORY, _DISK or _REMOTE. again: it is a failure that is remembered. */
void cc_tally_hit(struct cc_tally *tally, enum cc_tally_count count, const struct cc_key *key,
		  uint64_t took_ns, uint64_t saved_ns, bool again);
/* What a look-up came across, for the line of the build that follows. */
void cc_tally_find(struct cc_tally *tally, const struct cc_history_note *found);
/* A build: CC_HISTORY_MISS, CC_HISTORY_UNATTENDED, CC_HISTORY_BYPASS or CC_HISTORY_FAILED, as the history has it. */
void cc_tally_build(struct cc_tally *tally, const struct cc_history_note *build);

#endif
