/* SPDX-License-Identifier: MIT */
/* remote_verb: what the verbs that use the remote tier begin with. */
#ifndef TOOLS_REMOTE_REMOTE_VERB_H
#define TOOLS_REMOTE_REMOTE_VERB_H

#include <stdbool.h>

#include "cachecore/remote/remote.h"
#include "tools/tool.h"

/*
 * The tier of the configuration. *ret_address: as people may see it; the caller frees it.
 * false: there is none, or it cannot be used; it was complained about.
 */
bool remote_verb_begin(const struct tool_cache *cache, struct cc_remote_setup *ret_setup,
		       char **ret_address);

#endif
