/* SPDX-License-Identifier: MIT */
/*
 * usage: counts by day and by program, for charts; a part of stats.txt (totals.h). What is counted
 * belongs to the day (UTC) on which it happened, and to the name with which the program was started
 * (the last part of its path). The numbers of days and programs are bounded: the day farthest
 * from today is dropped; the least recently used program is added to "others".
 * What ckcache replay builds counts for the program that will need it. Lines:
 *
 *   day N COUNTS            N: days since the epoch
 *   program NAME N COUNTS   N: the last day of use; NAME: letters, digits and
 *                           "._+-", any other byte as %XX
 *   others COUNTS
 *
 * COUNTS: the members of cc_usage_counts in their order, with blanks between. Pure functions.
 */
#ifndef CACHECORE_RECORD_USAGE_H
#define CACHECORE_RECORD_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"

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

#endif
