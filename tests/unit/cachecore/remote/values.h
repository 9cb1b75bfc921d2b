/* SPDX-License-Identifier: MIT */
/* values: entries of others, signed or not. */
#ifndef TESTS_UNIT_CACHECORE_REMOTE_VALUES_H
#define TESTS_UNIT_CACHECORE_REMOTE_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "cachecore/key.h"
#include "cachecore/manifest.h"
#include "cachecore/remote/value.h"
#include "common/bytes.h"

/* The keys of RFC 8032's TEST 1 and TEST 2, and of nobody. */
enum who { ONE, TWO, NOBODY };
/* A file of trusted keys has these, each with what follows and a newline. */
#define VALUES_LINE_ONE "ed25519 11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo= one"
#define VALUES_LINE_TWO "ed25519 PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw= two"

/* An entry's two files, as the store writes them. */
struct files {
	struct cmn_buffer src, bin;
};

extern uint64_t values_build_ns;	/* what the entries' compiles took; 1000 at first */
void values_from_hex(const char *text, uint8_t *ret, size_t len);
struct cc_signer values_signer(enum who who);
struct cc_signer values_liar(enum who who, enum who named);	/* who says that another was it */
void values_make_key(struct cc_key *key, const char *options);
struct files values_make_files_of(struct cmn_view key, const char *image, const struct cc_manifest *manifest);
/* Of the key with these options. manifest may be NULL. */
struct files values_make_files(const char *options, const char *image, const struct cc_manifest *manifest);
/* The value of these files, which it takes; unsigned, or signed by one who says that another was it. */
struct cmn_buffer values_make(struct files files, bool is_signed, enum who signer, enum who named);

#endif
