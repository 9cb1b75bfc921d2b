/* SPDX-License-Identifier: MIT */
/*
 * totals: what the root's events come to, for people: <root>/stats.txt has all that was added up,
 * and events.log (events.h) what came since. Lines: "name value" for each counter and each reason of
 * a bypass ("bypass.REASON"); those of days and programs; and "log_id" and "log_bytes", at the beginning and
 * at the end: so much of that log is in the totals. Whoever adds the log up replaces stats.txt,
 * atomically, under the root's lock, then events.old, and removes the log last, so that nothing
 * counts twice wherever it dies. What is appended to the log in the moment before it is removed may
 * be lost. Thread-safe.
 */
#ifndef CACHECORE_RECORD_TOTALS_H
#define CACHECORE_RECORD_TOTALS_H

#include "cachecore/record/events.h"

#define CC_STATS_NAME "stats.txt"

/*
 * Counts by day and by program, for charts. What is counted belongs to the day (UTC) on which it
 * happened, and to the name with which the program was started (the last part of its path). The
 * numbers of days and programs are bounded: the day farthest from today is dropped; the least
 * recently used program is added to "others". What ckcache replay builds counts for the program that
 * will need it. Lines:
 *
 *   day N COUNTS            N: days since the epoch
 *   program NAME N COUNTS   N: the last day of use; NAME: letters, digits and
 *                           "._+-", any other byte as %XX
 *   others COUNTS
 *
 * COUNTS: the members of cc_usage_counts in their order, with blanks between. Pure functions.
 */
#define CC_USAGE_MAX_DAYS 366		/* the same day of last year is still there */
#define CC_USAGE_MAX_PROGRAMS 64
#define CC_USAGE_PROGRAM_SIZE 64	/* bytes of a name with its NUL; more are cut */

struct cc_usage_counts {
	uint64_t hits_memory, hits_disk, misses, bypasses;
	uint64_t spent_ns, saved_ns;
	uint64_t unattended, unattended_ns;	/* compiled while nobody waited */
};

struct cc_usage_day {
	uint32_t day;
	struct cc_usage_counts counts;
};

struct cc_usage_program {
	char name[CC_USAGE_PROGRAM_SIZE];	/* any bytes but NUL */
	uint32_t last_day;
	struct cc_usage_counts counts;
};

/* Some 30 kB: for the heap. {0} is an empty one. */
struct cc_usage {
	struct cc_usage_day days[CC_USAGE_MAX_DAYS];	/* ascending */
	size_t day_count;
	struct cc_usage_program programs[CC_USAGE_MAX_PROGRAMS];	/* in no order */
	size_t program_count;
	struct cc_usage_counts others;
};

/* Sums stop at the largest number. program: cut, and "?" where it is empty. */
void cc_usage_add(struct cc_usage *usage, uint32_t day, struct cmn_view program,
		  const struct cc_usage_counts *counts);
/* Whether anything of it is worth a line. */
bool cc_usage_is_any(const struct cc_usage_counts *counts);
void cc_usage_add_counts(struct cc_usage_counts *to, const struct cc_usage_counts *counts);

/* Adds what a line says, which it changes; nothing where it is none of these. */
void cc_usage_parse_line(struct cc_usage *usage, char *line);
void cc_usage_encode(const struct cc_usage *usage, struct cmn_buffer *ret);

/* In the order in which the file has them. */
enum cc_counter {
	CC_HITS_MEMORY,
	CC_HITS_DISK,
	CC_HITS_REMOTE,
	CC_MISSES,		/* compiled while a program waited */
	CC_DEFERRED,		/* of the misses: left to ckcache replay */
	CC_FAILED,		/* of the misses: it did not compile */
	CC_STORES,
	CC_ERRORS,		/* damaged entries, refused binaries, failed writes */
	CC_COMPILE_NS_SPENT,	/* in the driver, on misses */
	CC_COMPILE_NS_SAVED,	/* build time of what was hit, less what the hit took */
	CC_UNATTENDED,		/* compiled while nobody waited: by ckcache replay */
	CC_UNATTENDED_NS,	/* in the driver, on these */
	CC_COUNTER_COUNT,
};

const char *cc_counter_name(enum cc_counter counter);	/* as in stats.txt: "hits_memory", … */

/*
 * Reasons are words of letters, digits, "-", "_" and "."; what is none, and what comes after the
 * last that has a place, counts as "other".
 */
#define CC_TOTALS_REASONS 65
#define CC_TOTALS_REASON_SIZE 49

/* For the heap. {0} is an empty one. */
struct cc_totals {
	uint64_t counters[CC_COUNTER_COUNT];
	struct cc_bypasses {
		char reason[CC_TOTALS_REASON_SIZE];
		uint64_t count;
	} bypasses[CC_TOTALS_REASONS];
	size_t bypass_count;
	struct cc_usage usage;
	/* How much of which log they have; 0, 0: of none. */
	uint64_t log_id, log_bytes;
};

/* Pure; sums stop at the largest number. */
void cc_totals_add(struct cc_totals *totals, const struct cc_event_record *event);
uint64_t cc_totals_all_bypasses(const struct cc_totals *totals);

/* What both files say, into empty ones. CMN_MISS: there is neither; others as cmn_file_read. What is damaged is skipped. */
CMN_CHECKED enum cmn_status cc_totals_read(int root_fd, struct cc_totals *totals);
/* The same of a directory. *ret is new, for free, and empty where the status is no CMN_OK; NULL: CMN_ERR_NOMEM. */
CMN_CHECKED enum cmn_status cc_totals_load(const char *root, struct cc_totals **ret);

/*
 * Adds the log up and removes it. root_fd: to be locked, O_RDONLY. CMN_MISS: there is none. CMN_BUSY: the root
 * stayed locked until that time, as cmn_file_lock has it. On failure nothing is lost.
 */
CMN_CHECKED enum cmn_status cc_totals_fold(int root_fd, uint64_t until);
/* What was counted so far counts no more; the log stays. CMN_OK also where there is nothing. As cc_totals_fold. */
CMN_CHECKED enum cmn_status cc_totals_zero(const char *root);

#endif
