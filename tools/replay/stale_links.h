/* SPDX-License-Identifier: MIT */
/*
 * stale_links: the keys that a link of an older driver has now. They name its inputs by their content,
 * which is known when the inputs are built. One thread.
 */
#ifndef TOOLS_REPLAY_STALE_LINKS_H
#define TOOLS_REPLAY_STALE_LINKS_H

#include "tools/replay/replay_entries.h"
#include "tools/replay/present.h"

struct stale_links {
	const struct present *present;
	struct objects objects;		/* the caller's objects_read and objects_release */
	unsigned int depth, parts;	/* of the link that is looked at; begin with 0 */
};

/*
 * Calls use with each key that the same link may have now, until it returns false. CMN_MISS: an input
 * is not there, or it is made of too many; CMN_STALE: use returned false.
 */
CMN_CHECKED enum cmn_status stale_links_renew(struct stale_links *links, struct cmn_view old,
					      bool (*use)(void *ctx, struct cmn_view key),
					      void *ctx);

#endif
