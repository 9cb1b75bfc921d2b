/* SPDX-License-Identifier: MIT */
/*
 * stats: counts in this process what the cache did. cc_stats_flush adds the
 * counts to this process's record in <root>/stats.log (stats_log.h). Who finds no room there adds
 * all records to <root>/stats.txt ("name value" lines, replaced atomically under the
 * lock of <root>), and by day and by program to usage.txt (usage.h), and
 * removes the log. "merged_bytes" and "merged_hash" say how much of a log was
 * added, so that nothing counts twice if that process dies before it removes the
 * log. A process that is killed loses nothing that was flushed. Every function is thread-safe;
 * counting takes no lock.
 */
#ifndef CACHECORE_RECORD_STATS_H
#define CACHECORE_RECORD_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "cachecore/record/counters.h"
#include "common/status.h"


struct cc_stats;
struct cc_stats *cc_stats_new(void);	/* NULL: out of memory */
void cc_stats_free(struct cc_stats *stats);	/* NULL is fine */
/* Whose counts these are (usage.h), instead of this process's program; borrowed. Before the first flush. */
void cc_stats_set_program(struct cc_stats *stats, const char *program);
void cc_stats_add(struct cc_stats *stats, enum cc_counter counter, uint64_t amount);
/* A hit, counted by one of CC_HITS_…, and what it saved. */
void cc_stats_hit(struct cc_stats *stats, enum cc_counter counter, uint64_t saved_ns);
/*
 * reason: a short fixed word of letters, digits, "-", "_" and ".", as
 * "files-unseen". What is no such word, and every reason after the 64th,
 * counts as "other".
 */
void cc_stats_bypass(struct cc_stats *stats, const char *reason);

struct cc_stats_place;
/*
 * Adds what was counted since the last flush to the root's file; makes the
 * root (0700) if there is something to write. CMN_ERR_ACCESS: the root is not
 * ours alone (root.h). CMN_BUSY: the root stayed locked until that time, as
 * cmn_file_lock has it. On failure nothing is lost: the next flush tries again.
 * root_fd: the root, where the caller has it open, else -1. place: of this process's record, one
 * thread's at a time; NULL: it gets one of its own.
 */
CMN_CHECKED enum cmn_status cc_stats_flush(struct cc_stats *stats, const char *root, int root_fd,
					   struct cc_stats_place *place, uint64_t until);
/* Whether something was counted since the last flush. */
bool cc_stats_pending(const struct cc_stats *stats);
/* Adds the root's files to what cc_stats_get shows, not to what is flushed; CMN_MISS: there is none. A damaged line is skipped. */
CMN_CHECKED enum cmn_status cc_stats_load(struct cc_stats *stats, const char *root);
struct cc_usage;
/* Adds the root's usage.txt and what the log has beside it; CMN_MISS: there is neither. */
CMN_CHECKED enum cmn_status cc_stats_load_usage(struct cc_usage *usage, int root_fd);
/*
 * The last run that compiled nothing, as far as stats.log knows; counts may be zeros. It may have
 * compiled before it was counted the last time, which its pid tells. CMN_MISS: none. Others as
 * cmn_file_read.
 */
struct cc_stats_record;
CMN_CHECKED enum cmn_status cc_stats_load_idle_run(int root_fd, struct cc_stats_record *ret);
/* Removes the root's counts; CMN_OK also where there are none. Fails as cc_stats_flush does. */
CMN_CHECKED enum cmn_status cc_stats_zero(const char *root);
/* What is not flushed yet never will be: in a forked child it is the parent's to flush. */
void cc_stats_forget(struct cc_stats *stats);

uint64_t cc_stats_get(const struct cc_stats *stats, enum cc_counter counter);
/* The i-th bypass reason and its count; NULL: no more. Borrowed. */
const char *cc_stats_bypass_at(const struct cc_stats *stats, unsigned int i, uint64_t *ret_count);

#endif
