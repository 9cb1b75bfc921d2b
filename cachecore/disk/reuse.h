/* SPDX-License-Identifier: MIT */
/*
 * reuse: whether what is stored of a kind of program is ever asked for again. Some programs differ
 * in each run by a time, an address or a random name; their results would only fill the disk.
 *
 * Kinds are told apart by their shape: the key with all that a name may change left out. Of texts that
 * is what words consist of, of SPIR-V all but the instructions' opcodes, and of other bytes everything.
 * Of each run the first build of a shape counts, by what the last run's build had in that place:
 * EVIDENCE_NAME if chance may have made the one or the other (five bytes that differ and are no number,
 * or ten decimal digits), EVIDENCE_OTHER if not, as of a program that is built in many sizes. When that
 * amounts to EVIDENCE_ENOUGH, and the last eight results are all there and were never used, nothing of
 * the shape is stored any more, until one of what was refused is built once more, or one of the eight
 * results is used. From then on it takes twice as much.
 *
 * <root>/reuse.dat holds a slot for each shape, found by its hash; two shapes that share a slot displace
 * each other, which only loses evidence:
 *
 *   slot   = evidence:u32 enough:u32 stored:u32 refusals:u32 shape[16] run:u64 result[72]*8
 *            refused:u64*49 hash[16]
 *   result = stored_ns:u64 entry_dir[64], the four hashes of a run's first key;
 *            result number `stored mod 8` is the oldest one
 *   refused = hash of such a key, not stored; number `refusals mod 49` is the oldest one. refusals is 0
 *            while the shape is stored
 *   hash   = hash(all before it)
 */
#ifndef CACHECORE_DISK_REUSE_H
#define CACHECORE_DISK_REUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"
#include "common/status.h"

#define CC_REUSE_NAME "reuse.dat"
#define CC_REUSE_RUNS 8
#define CC_REUSE_WORDS_SIZE 128

/*
 * A number of this process's own, as far as chance goes. A child has its parent's: what chance made before the
 * fork, or went wrong when a driver was loaded, is the same in both.
 */
uint64_t cc_reuse_run(void);
/*
 * Whether a result of this key (its encoding) may be used again, and is to be stored. run: the process's;
 * now_ns: since the epoch. Reads and writes the root's file; where that cannot be had, everything is to be
 * stored. *ret_words: if it is not, "old -> new", the words in which the key differs first from that of
 * the result that was stored last; "" where that cannot be told. Thread-safe.
 */
bool cc_reuse_is_likely(const char *root, struct cmn_view key, uint64_t run, uint64_t now_ns,
			char ret_words[CC_REUSE_WORDS_SIZE]);
/* The words around the first byte in which two values differ; borrowed. Empty where no word is. Pure. */
void cc_reuse_differing_words(struct cmn_view old, struct cmn_view now, struct cmn_view *ret_old,
			      struct cmn_view *ret_now);
/* Forgets everything. CMN_OK also where there is nothing; else as cc_root_open and unlink. */
CMN_CHECKED enum cmn_status cc_reuse_clear(const char *root);

#endif
