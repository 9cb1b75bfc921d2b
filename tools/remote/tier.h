/* SPDX-License-Identifier: MIT */
/* tier: what there is to say about the remote tier without asking it; what verbs begin with that use it. */
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

/* To be released. */
void tier_look(const struct cc_config *config, struct tier *ret);
void tier_release(struct tier *tier);
/* "left alone until 12:05:30: …", "off: …", or "": it is in use. Appends. */
void tier_append_problem(const struct tier *tier, struct cmn_buffer *text);

/*
 * The tier of the configuration. *ret_address: as people may see it; the caller frees it.
 * false: there is none, or it cannot be used; it was complained about.
 */
bool tier_begin(const struct tool_cache *cache, struct cc_remote_setup *ret_setup,
		       char **ret_address);

#endif
