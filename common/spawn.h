/* SPDX-License-Identifier: MIT */
/*
 * spawn: starts a program that outlives this process and that an application
 * never notices: it is no child of the process (wait() does not see it, and no
 * SIGCHLD comes), it has a session of its own, no signal is blocked or ignored
 * in it, and no handler of the application runs in between. Works from any
 * thread of a process with many, without copying its memory. Only a process to
 * which orphans come (number 1 of a container, PR_SET_CHILD_SUBREAPER) sees it
 * end, as one of these.
 */
#ifndef COMMON_SPAWN_H
#define COMMON_SPAWN_H

#include "common/status.h"

/*
 * Runs path with these arguments and this environment, in "/", with /dev/null
 * as its standard streams and keep_fd (-1: none) as descriptor 3; no other is
 * open. The call returns when the program has been started. CMN_MISS: there is
 * no such file; CMN_ERR_ACCESS: it is none to be run; CMN_ERR_NOMEM;
 * CMN_ERR_IO: the kernel refused.
 */
CMN_CHECKED enum cmn_status cmn_spawn_detached(const char *path, char *const argv[],
					       char *const envp[], int keep_fd);
#define CMN_SPAWN_KEPT_FD 3

#endif
