/* SPDX-License-Identifier: MIT */
/*
 * module_key: what identifies a module. This file alone chooses the fields:
 *
 *   device     see driver_identity.h
 *   image      kind; source: each input, in order
 *   constants  constant: input, id, size and value of each specialization
 *              constant, sorted by input and id
 *   options    options: the build flags; input.options: those of each input
 *              of several; env.*
 */
#ifndef LEVEL_ZERO_MODULE_KEY_H
#define LEVEL_ZERO_MODULE_KEY_H

#include <stdbool.h>

#include "layers/level_zero/plugin/driver_identity.h"

/*
 * Adds a module's fields to a key without any, and identifies the target. CMN_MISS: there can be no
 * key, and *ret_reason says why; NULL: the descriptor compiles nothing. If there is SPIR-V in the
 * descriptor, *ret_il is the module, or the first of several, borrowed.
 */
CMN_CHECKED enum cmn_status lz_module_key(struct lz_target *target, const ze_module_desc_t *desc,
					  struct cc_key *key, struct cmn_view *ret_il,
					  const char **ret_reason);

/* Whether the key still describes the device; its compiler may have been loaded since. */
bool lz_module_key_holds(const struct lz_target *target, const struct cc_key *key);

#endif
