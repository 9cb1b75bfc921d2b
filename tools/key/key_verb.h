/* SPDX-License-Identifier: MIT */
/* key_verb: what the actions of `ckcache key` are asked for, and what they share. */
#ifndef TOOLS_KEY_KEY_VERB_H
#define TOOLS_KEY_KEY_VERB_H

#include <stdbool.h>

#include "cachecore/remote/trust.h"

struct key_request {
	const char *operand;	/* a file, or for trust a line; NULL: none */
	const char *name;	/* NULL: not given */
	const char *until;	/* the same */
	const char *remove;	/* the same */
	bool system, json;
};

/* The action: the exit code. */
int key_trust(const struct key_request *request);

/*
 * The key in a PEM file, private or public, as a line has it; its name: as asked
 * for, else for a private key user@host and for a public one the file's, without
 * what follows a dot. false: complained about.
 */
bool key_read(const char *file, const char *name, struct cc_trust_key *ret);
/* The same of 32 bytes, with user@host if name is NULL. */
bool key_of(const uint8_t bytes[CC_SODIUM_KEY_SIZE], const char *name, struct cc_trust_key *ret);

#endif
