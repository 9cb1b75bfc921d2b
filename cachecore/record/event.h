/* SPDX-License-Identifier: MIT */
/*
 * event: what happened, once: the log of the root (events.h), the totals (totals.h), the lines of
 * CKCACHE_LOG (event.c) and of CKCACHE_TRACE (trace.h) are all made of it.
 */
#ifndef CACHECORE_RECORD_EVENT_H
#define CACHECORE_RECORD_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "cachecore/key.h"
#include "common/bytes.h"
#include "common/log.h"

enum cc_event_kind {
	CC_EVENT_MISS = 1,	/* reason: "", "deferred", "read-only" */
	CC_EVENT_BYPASS,	/* reason: why nothing was cached */
	CC_EVENT_NOT_STORED,	/* reason; detail: the size of the image; of "not-reused": words (disk/reuse.h) */
	CC_EVENT_REFUSED,	/* by the driver, on a hit */
	CC_EVENT_DAMAGED,	/* an entry that was found; reason: "access": others may write to it, or it cannot be read */
	CC_EVENT_CHANGED,	/* reason: "changed", "appeared", "vanished", "directory"; detail: the path */
	CC_EVENT_CLEARED,	/* all entries were removed */
	/* Of the remote tier. */
	CC_EVENT_REMOTE,	/* it had the entry; reason: its scheme; detail: who signed it, or "": nobody */
	CC_EVENT_REMOTE_REFUSED,	/* it had one that is not used; detail: why, a phrase */
	CC_EVENT_REMOTE_AWAY,	/* it is left alone; detail: why, a phrase */
	/* Compiled by ckcache replay, for the program: nobody waited. */
	CC_EVENT_UNATTENDED,
	/* It did not compile. reason: as a bypass's, if it is one (uncached); detail: the driver's code, and what it says. */
	CC_EVENT_FAILED,
	/* These are only counted: the log has short records of them. */
	CC_EVENT_HIT_MEMORY,
	CC_EVENT_HIT_DISK,
	CC_EVENT_HIT_REMOTE,
	CC_EVENT_STORED,
	CC_EVENT_ERROR,		/* a recipe could not be written */
	CC_EVENT_KIND_COUNT,
};

#define CC_EVENT_MAX_TEXT 512	/* bytes of a text that the history keeps */

static inline bool cc_event_is_hit(enum cc_event_kind kind)
{
	return kind >= CC_EVENT_HIT_MEMORY && kind <= CC_EVENT_HIT_REMOTE;
}

/* What is only counted. */
static inline bool cc_event_is_short(enum cc_event_kind kind)
{
	return kind >= CC_EVENT_HIT_MEMORY;
}

/* All borrowed. */
struct cc_event {
	enum cc_event_kind kind;
	const struct cc_key *key;	/* NULL: none */
	struct cmn_view source;	/* where there is none: what was to be compiled, for its name; may be empty */
	const char *reason, *detail;	/* NULL: none */
	uint64_t build_ns;	/* in the driver; of a hit: what it saved */
	uint64_t lookup_ns;	/* in the cache */
	uint64_t bytes;		/* of the result */
	bool unattended;	/* ckcache replay did it */
	bool uncached;		/* of a build that failed: it is a bypass, too */
	bool again;		/* of a hit: a failure that is remembered */
};

/* Why an entry was removed. Readers skip causes that they do not know. */
enum cc_removal_cause {
	CC_REMOVED_BY_SIZE = 1,	/* these two by an eviction */
	CC_REMOVED_BY_AGE,
	/* By a command: clear or prune chose it, or replay --stale, as its driver was replaced. */
	CC_REMOVED_BY_CLEAR,
	CC_REMOVED_BY_PRUNE,
	CC_REMOVED_BY_SUCCESSOR,
	CC_REMOVED_CAUSE_COUNT,
};

/*
 * Says the line of CKCACHE_LOG: of each build at info, of what a look-up came across at debug; nothing of what
 * the log (NULL: none) does not want. Thread-safe.
 */
void cc_event_say(const struct cmn_log *log, const struct cc_event *event);

#endif
