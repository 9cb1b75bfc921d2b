/* SPDX-License-Identifier: MIT */
/*
 * stats_log: <root>/stats.log. A process appends a record of its counts there, and then keeps that
 * record up to date, call by call: one write, under a shared lock that it does not wait for,
 * without a temporary file or a rename. Who finds the log full merges it into stats.txt (stats.h),
 * and has it locked for itself meanwhile.
 *
 *   file    = record*, each of CC_STATS_LOG_RECORD bytes
 *   record  = magic[4] version:u32 day:u32 reasons:u32 pid:u64 time:u64 counter:u64*8
 *             program[64] (reason[48] count:u64)*6 hash[16]
 *   magic   = "cks\n"; hash = hash(the bytes before it)
 *
 * counters are the first of enum cc_counter, in its order; texts end with zeros; pid and
 * time make each record unique. Readers skip anything that is not a sound record
 * of this version, such as a torn one. Thread-safe.
 */
#ifndef CACHECORE_RECORD_STATS_LOG_H
#define CACHECORE_RECORD_STATS_LOG_H

#include "cachecore/record/counters.h"
#include "cachecore/record/usage.h"
#include "common/bytes.h"
#include "common/status.h"

#define CC_STATS_LOG_NAME "stats.log"
#define CC_STATS_LOG_RECORD 512
/* Of a record's bytes: pid and time, which stay as they are. */
#define CC_STATS_LOG_OWNER_AT 16
#define CC_STATS_LOG_OWNER_SIZE 16
#define CC_STATS_LOG_COUNTERS 8
/* What would make it longer is for who writes stats.txt. */
#define CC_STATS_LOG_MAX (UINT64_C(64) << 10)
#define CC_STATS_LOG_REASONS 6
#define CC_STATS_LOG_REASON_SIZE 48

struct cc_stats_record {
	uint64_t pid, time_ns;	/* who appended it, and when; to be appended: 0: this process, now */
	uint32_t day;		/* since the epoch */
	uint64_t counters[CC_COUNTER_COUNT];
	char program[CC_USAGE_PROGRAM_SIZE];
	unsigned int reason_count;
	struct {
		char name[CC_STATS_LOG_REASON_SIZE + 1];
		uint64_t count;
	} reasons[CC_STATS_LOG_REASONS];
};

/* Which stats.txt there is: each merge makes another. */
struct cc_stats_sums {
	uint64_t inode, time_ns;	/* zeros: there is none */
};

/*
 * Where this process's record is, and what it says. {0}: there is none yet. A merge that dies before
 * it removes the log leaves records that have counted: what was added to them then would be lost.
 * So the place is of use only as long as stats.txt is that of when the record was appended.
 */
struct cc_stats_place {
	uint64_t device, inode, offset;
	struct cc_stats_sums sums;
	struct cc_stats_record record;
};

/*
 * Adds a record's counts to the one at *place, or appends a new one there. place: not thread-safe;
 * NULL: a new one, nobody's afterwards. CMN_STALE: the log is full, or being merged, or something
 * else has its name, or a record has no place for one of the counts. CMN_ERR_*: nothing of the
 * record will be read.
 */
CMN_CHECKED enum cmn_status cc_stats_log_put(int root_fd, const struct cc_stats_record *record,
					     struct cc_stats_place *place);
/*
 * Who merges it has it alone: puts fail until cc_stats_log_unlock. Where there is no log, makes one,
 * so that nobody else does meanwhile. *ret_fd is -1 where it cannot be opened. CMN_BUSY: others are
 * writing, or one of them is stopped.
 */
CMN_CHECKED enum cmn_status cc_stats_log_lock(int root_fd, uint64_t until, int *ret_fd);
void cc_stats_log_unlock(int fd);
/* All bytes, for cc_stats_log_next. Statuses as cmn_file_read's; *ret is the caller's in any case. */
CMN_CHECKED enum cmn_status cc_stats_log_read(int root_fd, struct cmn_buffer *ret);
/*
 * Whether it is of a run that compiled nothing, which explain asks for: hits alone, or nothing at
 * all, which is what is left of such a record when its counts have gone to stats.txt.
 */
bool cc_stats_log_is_idle(const struct cc_stats_record *record);
/* The first sound record of *rest, which becomes what follows it. false: there is none. */
bool cc_stats_log_next(struct cmn_view *rest, struct cc_stats_record *ret);
/*
 * What cc_stats_log_read found (its status and length) is now in stats.txt: removes
 * the log, unless it has grown since. Also removes a log that could not be read. fd: locked by
 * cc_stats_log_lock; call it under the root's lock, too.
 */
void cc_stats_log_remove(int root_fd, int fd, enum cmn_status read, size_t len);

#endif
