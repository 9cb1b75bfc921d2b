/* SPDX-License-Identifier: MIT */
/*
 * history: writes events to the root's history (history_file.h), each in the call that it is about.
 * One that cannot be written is lost, and nobody is told. A part of a key that this process has
 * already written is not written again.
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

/*
 * Whose events these are, and what this process knows of the file: not thread-safe. {0} is one that
 * knows nothing, which only writes more.
 */
struct cc_history {
	const char *program;	/* whose it is; borrowed; NULL: this process's */
	/* Parts that are in the file of that id. */
	uint64_t id;
	struct cmn_hash known[CC_PART_COUNT][CC_HISTORY_KNOWN];
	unsigned int next_known[CC_PART_COUNT];
};

/* Writes one event, as far as it can be written. */
void cc_history_write(struct cc_history *history, const char *root, const struct cc_history_note *note);

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
