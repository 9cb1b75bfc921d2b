/* SPDX-License-Identifier: MIT */
/*
 * address: the setting that names a remote tier, written as ccache's remote_storage:
 *
 *   URL [PROPERTY=VALUE | @ATTRIBUTE=VALUE]...
 *
 * separated by blanks; %20 and the like in a value stand for bytes. A property
 * is ckcache's own: read-only=true (looks up, never stores), write-only=true
 * (stores, never looks up). Attributes go to the storage helper as they are.
 * Pure.
 */
#ifndef CACHECORE_REMOTE_ADDRESS_H
#define CACHECORE_REMOTE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/bytes.h"
#include "common/status.h"

#define CC_ADDRESS_MAX_ATTRIBUTES 32
#define CC_ADDRESS_SCHEME_SIZE 16
#define CC_ADDRESS_MAX_VALUE ((size_t)256 << 20)	/* as in ckcache's storage helpers */

struct cc_address {
	char *url;
	char scheme[CC_ADDRESS_SCHEME_SIZE];	/* in small letters: "redis", "file", … */
	char *attributes[CC_ADDRESS_MAX_ATTRIBUTES];	/* "NAME=VALUE" each, without the "@" */
	size_t attribute_count;
	bool read_only, write_only;
};

/*
 * CMN_ERR_INVALID: *ret_problem (static) says what is wrong, without any part of
 * the text, which may hold a password. CMN_ERR_NOMEM. On failure *ret is {0}.
 */
CMN_CHECKED enum cmn_status cc_address_parse(const char *text, struct cc_address *ret,
					     const char **ret_problem);
void cc_address_release(struct cc_address *address);	/* {0} is fine */
/* Adds "NAME=VALUE" for the helper. CMN_ERR_TOO_LARGE: too many; CMN_ERR_NOMEM. */
CMN_CHECKED enum cmn_status cc_address_add(struct cc_address *address, struct cmn_view attribute);
/* Larger values are not taken: bytes, of "@max-value-size=", else CC_ADDRESS_MAX_VALUE. */
size_t cc_address_max_value(const struct cc_address *address);
/*
 * The URL as people may see it: without user name, password, query and attributes; "..." in place
 * of what may be part of a password.
 */
void cc_address_show(const struct cc_address *address, struct cmn_buffer *ret);
/* Whether the URL or an attribute may hold a password or the like: a user, a query, a token. */
bool cc_address_has_secret(const struct cc_address *address);

#endif
