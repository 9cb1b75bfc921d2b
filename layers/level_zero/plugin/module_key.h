/* SPDX-License-Identifier: MIT */
/*
 * module_key: what identifies a module. This file alone chooses the fields:
 *
 *   device     see identity.h
 *   image      kind; source: each input, in order
 *   constants  constant: input, id, size and value of each specialization
 *              constant, sorted by input and id
 *   options    options: the build flags; input.options: those of each input
 *              of several; env.*
 */
#ifndef LEVEL_ZERO_MODULE_KEY_H
#define LEVEL_ZERO_MODULE_KEY_H

#include <stdbool.h>

#include "cachecore/key.h"
#include "layers/level_zero/plugin/next.h"

/* One module of intermediate language; borrowed from the application's descriptor. */
struct lz_module_input {
	struct cmn_view il;
	const char *flags;	/* of one among several; NULL: none */
	const ze_module_constants_t *constants;	/* NULL: none */
};

struct lz_module_inputs {
	const char *flags;	/* of the whole module; NULL: none */
	bool program;		/* described as a program of several (ze_module_program_exp_desc_t) */
	uint32_t count;
	struct lz_module_input *items;
	struct lz_module_input one;	/* where there is one */
};

/*
 * The inputs in a descriptor. false: do not cache for it, and *ret_reason says
 * why; NULL: it compiles nothing. Then there is nothing to release.
 */
bool lz_module_inputs_of(const ze_module_desc_t *desc, struct lz_module_inputs *ret,
			 const char **ret_reason);
void lz_module_inputs_release(struct lz_module_inputs *inputs);

/*
 * Initializes *ret in every case; the caller releases it with
 * lz_module_key_release. driver may be NULL: not known. CMN_MISS: there can be
 * no key; *ret_reason says why.
 */
CMN_CHECKED enum cmn_status lz_module_key(struct lz_next *next, ze_driver_handle_t driver,
					  ze_device_handle_t device,
					  const struct lz_module_inputs *inputs,
					  struct cc_key *ret, const char **ret_reason);
/* Leaves the key's room for the next one. */
void lz_module_key_release(struct cc_key *key);

/* Whether the key still describes the device; its compiler may have been loaded since. */
bool lz_module_key_holds(struct lz_next *next, ze_driver_handle_t driver,
			 ze_device_handle_t device, const struct cc_key *key);
/* Whether the variables that compilers read, and those of tools, are what they were when a key was made. */
bool lz_module_key_environment_holds(struct lz_next *next, ze_driver_handle_t driver,
				     ze_device_handle_t device);

#endif
