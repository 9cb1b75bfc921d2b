/* SPDX-License-Identifier: MIT */
/*
 * events: <root>/events.log, to which each event is appended in the call that it is about, by one
 * write. Who finds it full adds it up (totals.h) and begins another; what it told, but for what is
 * only counted, goes to events.old, which has the last 512 KiB of that.
 *
 *   file    = record*
 *   record  = magic[4] hash[16] version:u32 len:u32 payload[len]
 *   magic   = "cke\n"; hash = hash(all after it)
 *   payload = 1:u32 part_hash[16] outline                       a part of a key (key_summary.h)
 *           | 2:u32 kind:u32 flags:u32 pid:u32 start:u64 time:u64 build:u64
 *             part_hash[16]*4 program reason detail name        an event; texts are len:u64 bytes
 *           | 3:u32 cause:u32 time:u64 entry_dir:u64*                entries that were removed
 *           | 4:u32 kind:u32 count:u32 pid:u32 start:u64 time:u64 build:u64 program    events that are only counted
 *   flags   = 1: ckcache replay did it; 2: of a build that failed: it would not have been cached
 *
 * No lock is taken to append: O_APPEND keeps records apart on a local file system. Nothing that is
 * read is trusted: what is no sound record of this version is skipped. A log's id is the hash of its
 * first record, which has a time. Thread-safe.
 */
#ifndef CACHECORE_RECORD_EVENTS_H
#define CACHECORE_RECORD_EVENTS_H

#include <stddef.h>
#include <sys/types.h>

#include "cachecore/record/event.h"
#include "common/file.h"
#include "common/hash.h"
#include "common/status.h"

#define CC_EVENTS_VERSION 1
#define CC_EVENTS_NAME "events.log"
#define CC_EVENTS_OLD_NAME "events.old"
#define CC_EVENTS_FULL ((size_t)512 << 10)
/* Where nobody can add it up, events are lost from here on. */
#define CC_EVENTS_MAX ((size_t)4 << 20)
#define CC_EVENTS_MAX_RECORD ((size_t)32 << 10)

/* As it is read. All views are borrowed. */
struct cc_event_record {
	enum cc_event_kind kind;
	bool unattended, uncached;	/* as in struct cc_event */
	uint32_t count;		/* 1, but for what is only counted */
	uint32_t pid;
	uint64_t start_ns;	/* when the process began to use the cache; with pid it names the run */
	uint64_t time_ns;	/* since the epoch, as all others */
	uint64_t build_ns;
	struct cmn_hash parts[CC_PART_COUNT];	/* of the key: where its entry lies; zeros: no key */
	struct cmn_view program;	/* name of its file */
	struct cmn_view reason, detail;
	struct cmn_view name;	/* of the first kernel */
};

/* A number for an entry directory's path (root.h), as removals are recorded. */
uint64_t cc_events_entry_dir(const char *path);

/* Append one record to a buffer; one over CC_EVENTS_MAX_RECORD is left out. */
void cc_events_add_part(struct cmn_buffer *records, const struct cmn_hash *hash, struct cmn_view outline);
void cc_events_add(struct cmn_buffer *records, const struct cc_event_record *event);
void cc_events_add_removed(struct cmn_buffer *records, enum cc_removal_cause cause, uint64_t time_ns,
			   const uint64_t *entry_dirs, size_t count);

/* The log, open for one write. */
struct cc_events_log {
	int fd;
	size_t size;
};
/* Made where it is not there. Whatever else has its name is replaced. */
CMN_CHECKED enum cmn_status cc_events_open(int root_fd, struct cc_events_log *ret);
/* Its id, or 0: it is empty, or begins with no sound record. */
uint64_t cc_events_log_id(const struct cc_events_log *log);
/* Appends whole records, if any, and closes the log in any case. false: there are none, or they are lost. */
bool cc_events_append(const struct cc_events_log *log, struct cmn_view records);

/* The first sound record of *rest, which becomes what follows it. false: there is none. */
bool cc_events_next(struct cmn_view *rest, struct cmn_view *ret_record);
/* Whether such a record has events that are only counted. */
bool cc_events_is_short(struct cmn_view record);
/* 0: the file begins with no sound record. */
uint64_t cc_events_id(struct cmn_view file);

/* What a reader finds, oldest first; the members may be NULL. */
struct cc_events_reader {
	void (*part)(void *ctx, const struct cmn_hash *hash, struct cmn_view outline);
	void (*event)(void *ctx, const struct cc_event_record *event);
	void (*removed)(void *ctx, enum cc_removal_cause cause, uint64_t time_ns, uint64_t entry_dir);
	void *ctx;
};
/* Of one file's bytes. */
void cc_events_parse(struct cmn_view file, const struct cc_events_reader *reader);
/* One file, CC_EVENTS_NAME or the old one. Statuses as cmn_file_read_into's; *ret is the caller's in any case. */
CMN_CHECKED enum cmn_status cc_events_load(int root_fd, const char *name, enum cmn_file_trust trust,
					   struct cmn_buffer *ret);
/* Both files. CMN_OK also where there are none; else as cc_root_open. */
CMN_CHECKED enum cmn_status cc_events_read(const char *root, enum cmn_file_trust trust,
					   const struct cc_events_reader *reader);

#endif
