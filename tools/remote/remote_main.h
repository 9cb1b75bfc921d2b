/* SPDX-License-Identifier: MIT */
/* remote_main: what the two purposes of ckcache-remote share with its main function. */
#ifndef TOOLS_REMOTE_REMOTE_MAIN_H
#define TOOLS_REMOTE_REMOTE_MAIN_H

#include "cachecore/config.h"
#include "cachecore/remote/remote.h"

/*
 * Becomes two processes: the storage helper, which listens on that socket and
 * keeps descriptor 3 with its lock; and this one, which sees it start, else says
 * why not (node.h). The exit code.
 */
int remote_start_helper(const struct cc_config *config, const struct cc_remote_setup *setup,
			const char *socket);

/* Uploads what is noted in the root until nothing is noted for a while. The exit code. */
int remote_upload(const struct cc_config *config, const struct cc_remote_setup *setup,
		  const char *root);

#endif
