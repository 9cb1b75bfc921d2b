/* SPDX-License-Identifier: MIT */
/*
 * usage: the counts of stats.txt by day and by program, for charts:
 * <root>/usage.txt, which cc_stats_flush replaces atomically, under the root's
 * lock. The counts of a process belong to the day (UTC) on which they are
 * flushed, and to the name with which the program was started (the last part
 * of its path). The numbers of days and programs are bounded: the day farthest
 * from today is dropped; the least recently used program is added to "others".
 * What ckcache replay builds counts for the program that will need it.
 * The sums are less than those of stats.txt if a write failed, or if an older
 * version counted. Lines:
 *
 *   day N COUNTS            N: days since the epoch
 *   program NAME N COUNTS   N: the last day of use; NAME: letters, digits and
 *                           "._+-", any other byte as %XX
 *   others COUNTS
 *   unattended-day N UNATTENDED
 *   unattended-program NAME N UNATTENDED
 *   unattended-others UNATTENDED
 *
 * COUNTS: the first six members of cc_usage_counts in their order, with blanks
 * between; UNATTENDED: the other two, which have lines of their own because older
 * versions read only lines of six counts. A line that is none of these is
 * skipped; what it counts is lost when a version that skips it writes the file.
 */
#ifndef CACHECORE_RECORD_USAGE_H
#define CACHECORE_RECORD_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"
#include "common/status.h"

#define CC_USAGE_NAME "usage.txt"
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

/* Pure; sums stop at the largest number. program: cut, and "?" where it is empty. */
void cc_usage_add(struct cc_usage *usage, uint32_t day, const char *program,
		  const struct cc_usage_counts *counts);
/* Whether anything of it is worth a line. */
bool cc_usage_is_any(const struct cc_usage_counts *counts);
void cc_usage_add_counts(struct cc_usage_counts *to, const struct cc_usage_counts *counts);
void cc_usage_parse(struct cc_usage *usage, struct cmn_view text);

/* Adds the root's file. CMN_MISS: there is none. Others: as cmn_file_read. */
CMN_CHECKED enum cmn_status cc_usage_load(struct cc_usage *usage, int root_fd);
/*
 * Adds more to the root's file; the caller holds the root's lock. On failure
 * nothing was written; it may be ignored, these are no accounts.
 */
enum cmn_status cc_usage_record(int root_fd, const struct cc_usage *more);

#endif
