/* SPDX-License-Identifier: MIT */
/*
 * record: what the files of `ckcache record` share. record.c runs the command
 * and writes the pack; record_entry.c makes recipes of what the command built.
 */
#ifndef TOOLS_RECIPES_RECORD_H
#define TOOLS_RECIPES_RECORD_H

#include "tools/recipes/pack.h"

#define RECORD_REASONS 16

struct recording {
	struct pack_maker *maker;
	bool any_device;	/* recipes are for all */
	char *environment;	/* of this process, before the cache's variables (argz_add(3)) */
	size_t environment_len;
	const char *scratch;	/* the cache directory; borrowed */
	unsigned long long seen;	/* builds */
	struct left_out {
		const char *reason;	/* static; NULL: no more */
		unsigned long long count;
		char example[80];
	} left_out[RECORD_REASONS];
};

/* Adds a recipe for each entry of a root that another machine can use. false: complained about. */
bool record_entries(struct recording *recording, const char *root);

#endif
