/* SPDX-License-Identifier: MIT */
/*
 * history_file: what happened in a root lately, to explain later why something
 * was compiled. Records are appended to <root>/history.dat; when it is full, it
 * is renamed to history.old. The two take some 1 MiB. Both may be removed at any
 * time.
 *
 *   file    = record*
 *   record  = magic[4] version:u32 len:u32 hash[16] payload[len]
 *   magic   = "ckh\n"; hash = hash(hash(the 12 bytes before it) hash(payload))
 *   payload = 1:u32 part_hash[16] outline                       a part of a key
 *           | 2:u32 kind:u32 pid:u32 zero:u32 start:u64 time:u64 build:u64
 *             part_hash[16]*4 program reason detail name        an event; texts are len:u64 bytes
 *           | 3:u32 cause:u32 time:u64 leaf:u64*                entries that were removed
 *
 * Appended under the file's own lock (flock), which is not waited for beyond
 * some ms. Nothing that is read is trusted: what is no sound record of this
 * version is skipped. Thread-safe.
 */
#ifndef CACHECORE_RECORD_HISTORY_FILE_H
#define CACHECORE_RECORD_HISTORY_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "cachecore/key.h"
#include "common/bytes.h"
#include "common/file.h"
#include "common/hash.h"
#include "common/status.h"

#define CC_HISTORY_VERSION 1
#define CC_HISTORY_NAME "history.dat"
#define CC_HISTORY_OLD_NAME "history.old"
/* One that is as long becomes the old one before the next record. */
#define CC_HISTORY_MAX_FILE ((size_t)512 << 10)
#define CC_HISTORY_MAX_RECORD ((size_t)32 << 10)

enum cc_history_kind {
	CC_HISTORY_MISS = 1,	/* reason: "", "deferred", "read-only" */
	CC_HISTORY_BYPASS,	/* reason: why nothing was cached; detail: CC_HISTORY_BY_REPLAY, or "" */
	CC_HISTORY_NOT_STORED,	/* reason, detail: the size of the image */
	CC_HISTORY_REFUSED,	/* by the driver, on a hit */
	CC_HISTORY_DAMAGED,	/* an entry that was found; reason: "access": others may write to it, or it cannot be read */
	CC_HISTORY_CHANGED,	/* reason: "changed", "appeared", "vanished", "directory"; detail: the path */
	CC_HISTORY_CLEARED,	/* all entries were removed */
	/* Of the remote tier. Versions that do not know these skip them, as any other kind. */
	CC_HISTORY_REMOTE,	/* it had the entry; reason: its scheme; detail: who signed it, or "": nobody */
	CC_HISTORY_REMOTE_REFUSED,	/* it had one that is not used; detail: why, a phrase */
	CC_HISTORY_REMOTE_AWAY,	/* it is left alone; detail: why, a phrase */
	/* Compiled by ckcache replay, for the program: nobody waited. */
	CC_HISTORY_UNATTENDED,
	/* It did not compile. reason: as a bypass's, CC_HISTORY_BY_REPLAY, or ""; detail: the driver's code, and what it says. */
	CC_HISTORY_FAILED,
	CC_HISTORY_KIND_COUNT,
};

#define CC_HISTORY_BY_REPLAY "replay"

struct cc_history_event {
	enum cc_history_kind kind;
	uint32_t pid;
	uint64_t start_ns;	/* when the process began to use the cache; with pid it names the run */
	uint64_t time_ns;	/* since the epoch, as all others */
	uint64_t build_ns;	/* what the driver took */
	struct cmn_hash parts[CC_PART_COUNT];	/* of the key: where its entry lies; zeros: no key */
	struct cmn_view program;	/* name of its file; these four are borrowed */
	struct cmn_view reason, detail;
	struct cmn_view name;	/* of the first kernel */
};

/* Why an entry was removed. Readers skip causes that they do not know. */
enum cc_history_cause {
	CC_HISTORY_BY_SIZE = 1,	/* these two by an eviction */
	CC_HISTORY_BY_AGE,
	/* By a command: clear or prune chose it, or replay --stale, as its driver was replaced. */
	CC_HISTORY_BY_CLEAR,
	CC_HISTORY_BY_PRUNE,
	CC_HISTORY_BY_SUCCESSOR,
	CC_HISTORY_CAUSE_COUNT,
};

/* A number for a leaf's path (root.h), as removals are recorded. */
uint64_t cc_history_leaf(const char *path);

/* Append one record to a buffer; one over CC_HISTORY_MAX_RECORD is left out. */
void cc_history_add_part(struct cmn_buffer *records, const struct cmn_hash *hash,
			 struct cmn_view outline);
void cc_history_add_event(struct cmn_buffer *records, const struct cc_history_event *event);
void cc_history_add_evicted(struct cmn_buffer *records, enum cc_history_cause cause,
			    uint64_t time_ns, const uint64_t *leaves, size_t count);

/*
 * Opens the file, locked, for records to be appended: after the old one made
 * room if it is full. *ret_id tells one file from the next. To be closed by
 * cc_root_unlock. CMN_BUSY: others are at it; CMN_ERR_*.
 */
CMN_CHECKED enum cmn_status cc_history_open(int root_fd, int *ret_fd, uint64_t *ret_id);
/* Writes whole records, or nothing. CMN_ERR_NOSPACE and others. */
CMN_CHECKED enum cmn_status cc_history_append(int fd, struct cmn_view records);

/* What a reader finds, oldest first; the members may be NULL. */
struct cc_history_reader {
	void (*part)(void *ctx, const struct cmn_hash *hash, struct cmn_view outline);
	void (*event)(void *ctx, const struct cc_history_event *event);
	void (*evicted)(void *ctx, enum cc_history_cause cause, uint64_t time_ns, uint64_t leaf);
	void *ctx;
};
/* Of one file's bytes. */
void cc_history_parse(struct cmn_view file, const struct cc_history_reader *reader);
/* Both files. CMN_OK also where there are none; else as cc_root_open. */
CMN_CHECKED enum cmn_status cc_history_read(const char *root, enum cmn_file_trust trust,
					    const struct cc_history_reader *reader);

#endif
