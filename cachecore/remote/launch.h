/* SPDX-License-Identifier: MIT */
/*
 * launch: runs ckcache-remote, the program that starts storage helpers and
 * uploads entries, so that an application does neither. It and the helpers are
 * looked for in the directories of the setting remote_helpers, and in the one
 * where they are installed.
 */
#ifndef CACHECORE_REMOTE_LAUNCH_H
#define CACHECORE_REMOTE_LAUNCH_H

#include "common/status.h"

#define CC_LAUNCH_PROGRAM "ckcache-remote"
/* Where helpers are installed, and trusted as ckcache itself is. */
extern const char cc_launch_directory[];

/*
 * A copy of what these programs may need of the process's environment: settings
 * of ckcache, directories, languages, proxies and certificates. Not the
 * application's own variables, nor those that load libraries. For
 * cmn_strings_free. Fails as cmn_env_copy.
 */
CMN_CHECKED enum cmn_status cc_launch_environment(char ***ret);

/*
 * Runs it with these arguments (its name is put first; NULL ends them), as
 * cmn_spawn_detached does. directories: the setting, NULL-terminated, or NULL.
 * CMN_MISS: it is in none of the directories. CMN_ERR_CORRUPT: others than this
 * user and root could have changed the one that was found first (trusted.h).
 */
CMN_CHECKED enum cmn_status cc_launch(char *const *directories, char *const *environment,
				      const char *const *arguments, int keep_fd);

#endif
