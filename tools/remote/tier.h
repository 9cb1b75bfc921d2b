/* SPDX-License-Identifier: MIT */

/* tier: what there is to say about the remote tier without asking it; what verbs begin with that use it; its directory, kept below a size. */
#ifndef TOOLS_REMOTE_TIER_H
#define TOOLS_REMOTE_TIER_H

#include <stdbool.h>
#include <stdint.h>

#include "cachecore/remote/remote.h"
#include "tools/tool.h"

enum tier_state {
	TIER_NONE,		/* not configured */
	TIER_OFF,		/* it cannot be used: problem */
	TIER_AWAY,		/* left alone until then: problem */
	TIER_IN_USE,
};

struct tier {
	enum tier_state state;
	char *address;		/* as people may see it; NULL: it has none */
	char problem[CC_REMOTE_TEXT_SIZE];
	uint64_t until_s;	/* since the epoch */
	uint64_t waiting;	/* entries that are still to be uploaded */
};

/* As people may see it; the caller frees it. */
char *tier_show_address(const struct cc_address *address);
/* To be released. */
void tier_look(const struct cc_config *config, struct tier *ret);
void tier_release(struct tier *tier);
/* "left alone until 12:05:30: …", "off: …", or "": it is in use. Appends. */
void tier_append_problem(const struct tier *tier, struct cmn_buffer *text);

/*
 * The tier of the configuration, and its address as people may see it, which the caller frees. Where there is
 * none, or it cannot be used, the command ends.
 */
char *tier_begin(const struct tool_cache *cache, struct cc_remote_setup *ret_setup);

/*
 * tier_prune: keeps the directory of a file: tier below a size. It knows how
 * storage/storage_file.c lays out a directory and nothing of what the values are, except
 * that lists of entries (index.h) stay. Safe beside readers and writers on any
 * node: it only unlinks, never what it has not just looked at. A reader that has
 * a value open may lose it, which is a miss.
 */

/*
 * Removes the least recently used values of the configured tier until so much is left, and what processes
 * left behind that died. given: --max-size, or NULL: as the address says. Needs no cache. The exit code.
 */
int tier_prune(const char *given, bool json);

#endif
