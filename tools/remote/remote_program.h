/* SPDX-License-Identifier: MIT */
/* remote_program: which programs the remote tier needs, where they are, and the secrets that they get. */
#ifndef TOOLS_REMOTE_REMOTE_PROGRAM_H
#define TOOLS_REMOTE_REMOTE_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

#include "cachecore/config.h"
#include "cachecore/remote/remote.h"

/* ckcache-remote, as the cache looks for it. false: it is nowhere. */
bool remote_find_starter(const struct cc_config *config, char ret[PATH_MAX]);
/*
 * The storage helper: ckcache's own, or else ccache's; for unsigned entries ckcache's own, which
 * then is not looked for in $PATH. false: it is nowhere.
 */
bool remote_find_helper(const struct cc_config *config, const struct cc_remote_setup *setup,
			char ret[PATH_MAX]);
/*
 * Adds a helper's secrets to its attributes, from a file of lines "NAME=VALUE". NULL, or why they
 * cannot be used (static), without any part of them.
 */
const char *remote_read_secrets(const char *path, struct cc_address *address);

#endif
