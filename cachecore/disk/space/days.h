/* SPDX-License-Identifier: MIT */
/*
 * days: on which days the cache was used. Age is counted in these: a cache that nobody uses does not
 * age, and a process whose clock is wrong, by however much, adds a day.
 *
 * <root>/days.txt has a line for each, the days since the epoch by the clock of the process that used
 * the cache, in the order in which these days came, not by number. A day that comes again moves to
 * the end. Thread-safe but for struct cc_days.
 */
#ifndef CACHECORE_DISK_SPACE_DAYS_H
#define CACHECORE_DISK_SPACE_DAYS_H

#include <stddef.h>
#include <stdint.h>

#define CC_DAYS_NAME "days.txt"
#define CC_DAYS_MAX 1000	/* nobody waits longer, and the file stays small */

struct cc_days {
	uint32_t all[CC_DAYS_MAX];	/* the last one last */
	size_t count;
};

/* Where nothing can be read, none. */
void cc_days_load(struct cc_days *ret, int root_fd);
/*
 * Notes that the cache is used now (nanoseconds since the epoch), before a use is dated so. The root's
 * lock is waited for until then (cmn_file_lock). *ret: all. Returns how the use is to be dated: where
 * its day cannot be noted, as the last one that is, if there is one.
 */
uint64_t cc_days_note(int root_fd, uint64_t now_ns, uint64_t until, struct cc_days *ret);
/*
 * On how many days the cache was used after the day of that use. Where that is none of them, as in
 * a copy whose files have new times: on how many later ones.
 */
size_t cc_days_since(const struct cc_days *days, uint64_t used_ns);
/* An order of uses: of two, the later one's is greater. Not 0. */
uint64_t cc_days_rank(const struct cc_days *days, uint64_t used_ns);
/*
 * When that was by a right clock, as far as that is known: not before a day that had come earlier.
 * now_ns: days after it were a wrong clock's.
 */
uint64_t cc_days_date(const struct cc_days *days, uint64_t used_ns, uint64_t now_ns);

#endif
