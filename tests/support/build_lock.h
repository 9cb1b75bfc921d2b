/* SPDX-License-Identifier: MIT */
/* build_lock: what another process gets that wants to build a key; locks do not keep one process's threads apart. */
#ifndef TESTS_SUPPORT_BUILD_LOCK_H
#define TESTS_SUPPORT_BUILD_LOCK_H

#include <sys/wait.h>
#include <unistd.h>

#include "cachecore/disk/build_lock.h"

/* Its turn (enum cc_build_turn), after timeout_ns at most; -1: it fails. It builds nothing. */
static inline int build_turn_of_another(const char *root, struct cmn_view key, uint64_t timeout_ns)
{
	struct cc_build_lock *lock = NULL;
	int state = -1;
	pid_t child = fork();

	if (child == 0) {
		cc_build_locks_fork_child();
		_exit((int)cc_build_lock_take(root, key, timeout_ns, &lock));
	}
	if (child < 0 || waitpid(child, &state, 0) != child || !WIFEXITED(state))
		return -1;
	return WEXITSTATUS(state);
}

#endif
