/* SPDX-License-Identifier: MIT */
/*
 * nonce: recognizes programs whose text differs in each run by a number or a
 * name made from the time, an address or a random number. Their results would
 * fill the disk and never be a hit.
 *
 * Evidence: in run after run, something is stored that differs from what the
 * previous run stored in only one word (however often it occurs); the word has
 * a part with too many digits for a counter, a date or a size; and nothing of
 * it was ever a hit. After eight such runs, builds of that shape are not stored
 * for a week; then they get another chance. The part has at least eight digits
 * and nothing else between underscores or the word's ends, where a letter
 * behind a digit, or 0x, in either of the two words makes the digits
 * hexadecimal; or it has ten decimal digits in a row. What both words begin or
 * end with does not count as such a part.
 *
 * <root>/tokens.dat holds a slot for each shape (the key with every word that
 * has a digit taken for the same), found by its hash; two shapes that share a
 * slot displace each other, which only loses evidence:
 *
 *   slot = count:u32 zero:u32 shape[16] run:u64 stored_ns:u64 since_ns:u64
 *          entry_dir[64] hash[16]
 *   entry_dir = the four hashes of the last run's key; hash = hash(all before it)
 */
#ifndef CACHECORE_DISK_NONCE_H
#define CACHECORE_DISK_NONCE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"
#include "common/status.h"

#define CC_NONCE_NAME "tokens.dat"
#define CC_NONCE_RUNS 8
#define CC_NONCE_PAUSE_NS (UINT64_C(7) * 86400 * 1000000000)

/*
 * A number of this process's own, as far as chance goes. A child has its parent's: what chance made before the
 * fork, or went wrong when a driver was loaded, is the same in both.
 */
uint64_t cc_nonce_run(void);
/*
 * Whether a build of this key (its encoding) is to be stored. run: the
 * process's; now_ns: since the epoch. Reads and writes the root's
 * file; where that cannot be had, everything is to be stored. Thread-safe.
 */
bool cc_nonce_admits(const char *root, struct cmn_view key, uint64_t run, uint64_t now_ns);
/*
 * Whether two keys (encodings) differ in their texts by one word alone, and
 * that as if chance, a clock or an address had made it. *ret_old and *ret_now:
 * the word, borrowed. Pure.
 */
bool cc_nonce_differs(struct cmn_view old, struct cmn_view now, struct cmn_view *ret_old,
			     struct cmn_view *ret_now);
/* Forgets everything. CMN_OK also where there is nothing; else as cc_root_open and unlink. */
CMN_CHECKED enum cmn_status cc_nonce_clear(const char *root);

#endif
