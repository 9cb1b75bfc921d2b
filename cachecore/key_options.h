/* SPDX-License-Identifier: MIT */
/* key_options: a key's build options, in which include paths have numbers (include_paths.h), and the options as they were. */
#ifndef CACHECORE_KEY_OPTIONS_H
#define CACHECORE_KEY_OPTIONS_H

#include "cachecore/key.h"
#include "cachecore/manifest.h"

/* When all fields are there: what cc_key_local_view has. */
void cc_key_add_local(struct cc_key *ret);
/* Adds the options (NULL: none), which ret->include_paths borrows. */
void cc_key_add_options(const char *options, struct cc_key *ret);

/*
 * For commands, which ask a driver again, or show what was asked: the key with the options as an application
 * gives them, from a key and its entry's manifest (NULL: none). And the reverse: *ret's include paths borrow
 * *ret_options, on the heap. Callers check and release *ret in any case.
 */
void cc_key_put_options_back(struct cmn_view key, const struct cc_manifest *manifest, struct cc_key *ret);
void cc_key_take_options(struct cmn_view key, struct cc_key *ret, char **ret_options);

#endif
