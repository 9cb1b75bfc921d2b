/* SPDX-License-Identifier: MIT */
/*
 * recorder: writes each event to the root's log (events.h) in the call that it is about. One that
 * cannot be written is lost, and nobody is told. A part of a key that this process has already
 * written to the log is not written again.
 */
#ifndef CACHECORE_RECORD_RECORDER_H
#define CACHECORE_RECORD_RECORDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cachecore/record/event.h"
#include "common/hash.h"

/* Of each part the last ones that were written. */
#define CC_RECORDER_KNOWN 16

/* Which parts of keys are in the log. */
struct cc_recorder_known {
	uint64_t id;		/* of the one with that id; 0: of none */
	struct cmn_hash hashes[CC_PART_COUNT][CC_RECORDER_KNOWN];
	unsigned int next[CC_PART_COUNT];
};

/*
 * Of a process, whatever root it uses: what it does after a fork is another's. Thread-safe; {0} is
 * one whose use of the cache begins with its first event.
 */
struct cc_recorder {
	const char *program;	/* whose events these are; borrowed; NULL: this process's */
	bool makes_no_root;	/* config.h */
	_Atomic uint64_t process;	/* its number in the low bits; the others: when its use of the cache began */
	_Atomic uint64_t next_fold;	/* monotonic: a fold failed, and waits until then; 0: none did */
	_Atomic uint64_t next_hits;	/* monotonic: those in memory wait until then; 0: none ever did */
	/* The process that a thread of has what follows; 0: none does. Who finds it taken only writes more. */
	_Atomic uint64_t taken;
	uint64_t owner;		/* the process that what follows is of */
	unsigned int hits;	/* that wait */
	uint64_t hits_ns;
	struct cc_recorder_known known;
};

/* program: NULL: this process's. */
void cc_recorder_begin(struct cc_recorder *recorder, const char *program);
/*
 * Writes the event, as far as it can be written; makes the root if it is not there, but for makes_no_root. A hit in memory
 * waits for the next event, or a second, on a network file system, where an append takes
 * milliseconds; but not while another thread is at it.
 */
void cc_recorder_write(struct cc_recorder *recorder, const char *root, const struct cc_event *event);

/* Outside of any cache: that all entries of the root were removed just now. */
void cc_recorder_note_cleared(const char *root);

/* Entries that are removed: the last ones of many. {0} is an empty one. */
#define CC_REMOVALS_MAX 4096
struct cc_removals {
	/* By cause; the first of each is not used. */
	uint64_t *entry_dirs[CC_REMOVED_CAUSE_COUNT];	/* CC_REMOVALS_MAX; NULL: none, or no memory */
	size_t counts[CC_REMOVED_CAUSE_COUNT];	/* of all that were removed */
};
void cc_removals_add(struct cc_removals *removals, enum cc_removal_cause cause, const char *path);
/* Writes, unless root_fd is -1, and frees what is held. */
void cc_removals_write(struct cc_removals *removals, int root_fd);

#endif
