/* SPDX-License-Identifier: MIT */
/*
 * history: events of this process that wait to be written to the root's history
 * (history_file.h). Adding one only copies the key; the writer's thread makes
 * records of it. Events beyond a bounded number are lost, and so are records
 * that cannot be written; nobody is told. A part of a key that this process has
 * already written is not written again. Not thread-safe: the writer's lock
 * guards it.
 */
#ifndef CACHECORE_RECORD_HISTORY_H
#define CACHECORE_RECORD_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cachecore/record/history_file.h"
#include "cachecore/key.h"

/* Of each part the last ones that were written. */
#define CC_HISTORY_KNOWN 16

/* What happened. All borrowed. */
struct cc_history_note {
	enum cc_history_kind kind;
	const struct cc_key *key;	/* NULL: none */
	struct cmn_view source;	/* where there is none: what was to be compiled, for its name; may be empty */
	const char *reason, *detail;	/* NULL: none */
	uint64_t start_ns, build_ns;
};

/* One that waits. */
struct cc_history_task;
struct cc_history_task *cc_history_task_new(const struct cc_history_note *note);	/* NULL: no memory */
void cc_history_task_free(struct cc_history_task *task);	/* NULL is fine */

/* {0} is an empty one. */
struct cc_history {
	const char *program;	/* whose it is; borrowed; NULL: this process's */
	struct cc_history_task *tasks;
	size_t count, bytes;
	/* Parts that are in the file of that id. */
	uint64_t id;
	struct cmn_hash known[CC_PART_COUNT][CC_HISTORY_KNOWN];
	unsigned int next_known[CC_PART_COUNT];
};

/* Takes the task, or frees it where too many wait. */
void cc_history_add(struct cc_history *history, struct cc_history_task *task);
/* All that waits, to be written without the lock; history keeps what is known. */
struct cc_history cc_history_take(struct cc_history *history);
/* What was learned by writing. */
void cc_history_learn(struct cc_history *history, const struct cc_history *written);
/* Frees what waits. */
void cc_history_drop(struct cc_history *history);
/* Writes and drops what waits, as far as it can be written. */
void cc_history_write(struct cc_history *history, const char *root);

/* Outside of any cache: that all entries of the root were removed just now. */
void cc_history_note_cleared(const char *root);

/* Entries that are removed: the last ones of many. {0} is an empty one. */
#define CC_HISTORY_EVICTED 4096
struct cc_history_evicted {
	/* By cause; the first of each is not used. */
	uint64_t *leaves[CC_HISTORY_CAUSE_COUNT];	/* CC_HISTORY_EVICTED; NULL: none, or no memory */
	size_t counts[CC_HISTORY_CAUSE_COUNT];	/* of all that were removed */
};
void cc_history_add_removal(struct cc_history_evicted *evicted, enum cc_history_cause cause,
			    const char *path);
/* Writes, unless root_fd is -1, and frees what is held. */
void cc_history_write_removals(struct cc_history_evicted *evicted, int root_fd);

#endif
