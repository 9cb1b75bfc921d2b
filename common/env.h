/* SPDX-License-Identifier: MIT */
/*
 * env: text from the environment or from a settings file, read as typed
 * values. Parsing leaves *ret untouched on failure.
 */
#ifndef COMMON_ENV_H
#define COMMON_ENV_H

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"

/* The variable's value, or NULL; NULL for every name in a privileged program (AT_SECURE). */
const char *cmn_env_get(const char *name);

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
