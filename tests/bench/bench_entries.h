/* SPDX-License-Identifier: MIT */
/*
 * bench_entries: the entries that the store's benchmark is filled with. Each
 * is a function of its number, so that two processes agree on what is right:
 * a key as a layer makes it (device and driver, a source of some kB, options),
 * and an image of 1 to 200 kB. Nineteen images of twenty are for one device,
 * each image has four sets of options. Sizes are such that 100,000 entries
 * fit on a small disk: median 3 kB, mean some 9 kB, on top of as much source.
 */
#ifndef TESTS_BENCH_ENTRIES_H
#define TESTS_BENCH_ENTRIES_H

#include <stdbool.h>
#include <stdint.h>

#include "cachecore/entry.h"
#include "cachecore/key.h"

/* xorshift64 (Marsaglia), from a state that is not 0. */
uint64_t bench_random(uint64_t *state);

/* The caller releases it. Ends the program where memory runs out, as all here do. */
void bench_make_key(uint64_t number, struct cc_key *ret);
size_t bench_length(uint64_t number);	/* of its image in a store */
/* len 0: the length that this entry has in a store. A new reference. */
struct cc_entry *bench_make_entry(uint64_t number, size_t len);
/* Whether it is that entry, by its first bytes and its length, or by each byte. */
bool bench_is_entry(const struct cc_entry *entry, uint64_t number, size_t len, bool whole);

#endif
