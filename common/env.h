/* SPDX-License-Identifier: MIT */
/*
 * env: the environment, read so that a thread of the application that changes it
 * meanwhile cannot crash the reader; and text from it or from a settings file,
 * read as typed values. Parsing leaves *ret untouched on failure. Thread-safe.
 */
#ifndef COMMON_ENV_H
#define COMMON_ENV_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"
#include "common/status.h"

/*
 * Fills an empty buffer with the variables, "NAME=value" with its terminator each, in their order. What
 * other threads change meanwhile may be in it or not, or torn. CMN_BUSY: it cannot be read, or is
 * changed all the time; CMN_ERR_NOMEM. The buffer is to be released in any case.
 */
CMN_CHECKED enum cmn_status cmn_env_copy(struct cmn_buffer *ret);
/* The variable of such a copy that follows this one, or NULL; of NULL the first one. */
const char *cmn_env_next(const struct cmn_buffer *copy, const char *variable);
/* The first one's value, or NULL. Borrowed from the copy. */
const char *cmn_env_find(const struct cmn_buffer *copy, const char *name);

/* *ret: the value, for the caller to free; NULL: it is not set, or the program is privileged (AT_SECURE). Fails as cmn_env_copy. */
CMN_CHECKED enum cmn_status cmn_env_get(const char *name, char **ret);

/* "1 true yes on" and "0 false no off", any case. */
CMN_CHECKED enum cmn_status cmn_env_parse_bool(const char *text, bool *ret);
/* A decimal number with min <= value <= max. */
CMN_CHECKED enum cmn_status cmn_env_parse_number(const char *text, uint64_t min, uint64_t max,
						 uint64_t *ret);
/* Bytes: a number with K M G T (powers of 1000) or Ki Mi Gi Ti (powers of 1024), case ignored, optional B. */
CMN_CHECKED enum cmn_status cmn_env_parse_size(const char *text, uint64_t *ret);
/* The same of a bound: below 1 MiB it has a unit ("5G", "5B"), since elsewhere 5 means GiB. */
CMN_CHECKED enum cmn_status cmn_env_parse_bound(const char *text, uint64_t *ret);

#endif
