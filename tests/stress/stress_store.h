/* SPDX-License-Identifier: MIT */
/*
 * stress_store: what the stress programs of the store share. An image says
 * whose it is and which one, and every byte follows from what it says, so that
 * nothing wrong can be read unnoticed, whoever wrote it and when.
 */
#ifndef TESTS_STRESS_STRESS_STORE_H
#define TESTS_STRESS_STRESS_STORE_H

#include "cachecore/disk/store.h"
#include "tests/support/posix.h"

#define STRESS_MAX_IMAGE 200000

/* Ends this process alone, with exit code 1. */
void stress_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* xorshift64 (Marsaglia): repeatable from a printed seed. */
uint64_t stress_random(uint64_t *state);
uint64_t stress_state_of(uint64_t seed, uint64_t stream);

/* config: of the caller, for as long as the store is open. */
struct cc_store *stress_open(char *root, uint64_t max_image, uint64_t max_size, const struct cmn_log *log,
			     struct cc_config *config);
void stress_make_key(struct cc_key *key, unsigned int id);
/* An image of chance, of at most max_image bytes; mostly small ones. */
enum cmn_status stress_put(struct cc_store *store, unsigned int id, uint32_t max_image,
			   uint64_t *random);
/* A miss, or exactly what somebody put; whether it was found. *ret_damaged: entries met. */
bool stress_get(struct cc_store *store, unsigned int id, unsigned int *ret_damaged);
void stress_remove(struct cc_store *store, unsigned int id);
void stress_touch(struct cc_store *store, unsigned int id);

#endif
