/* SPDX-License-Identifier: MIT */
/*
 * build_key: what identifies a build, a compilation or a link. Only this module chooses the fields:
 *
 *   device     platform.* device.* driver.* library.* processor.*, for each device
 *   image      kind; source (text or IL), or for a link each input (a hash of
 *              its entry); header.name and header.text of each embedded header
 *   constants  constant: id, size and value of each specialization constant
 *   options    options as given, devices (their number), subset (the indices of
 *              the devices, if not for all), env.* (environment.h)
 *
 * Headers in files are in the entry's manifest instead.
 */
#ifndef OPENCL_KEY_BUILD_KEY_H
#define OPENCL_KEY_BUILD_KEY_H

#include "layers/opencl/key/identity.h"
#include "layers/opencl/key/targets.h"
#include "layers/opencl/program/program.h"

struct ocl_key_request {
	const char *kind;		/* "source", "il", "compile", "link" */
	struct ocl_program *program;	/* NULL: a link */
	bool without_constants;		/* it is known to have none */
	const char *options;		/* may be NULL */
	const struct ocl_targets *targets;
	cl_uint num_headers;
	const struct ocl_header *headers;
	cl_uint num_inputs;
	const struct cmn_hash *inputs;
};

/*
 * Initialises *ret in every case; the caller releases it.
 * CMN_MISS: there can be no key; *ret_reason says why. *ret_identity: the first device's.
 */
CMN_CHECKED enum cmn_status ocl_build_key(const struct ocl_key_request *request,
					  struct cc_key *ret, const struct ocl_identity **ret_identity,
					  const char **ret_reason);

/* Whether the devices' identities are still those in the key; a compiler may have been loaded since. */
bool ocl_build_key_holds(const struct cc_key *key, const struct ocl_targets *targets);

#endif
