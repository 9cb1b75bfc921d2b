/* SPDX-License-Identifier: MIT */
/*
 * build_lock: lets one thread of a machine at a time build a key. The others wait until that
 * one has stored its result, up to a bound, and then look again.
 *
 * A lock is a POSIX record lock (fcntl(2), F_SETLK) on one byte of <root>/build.lock; the key's
 * hash says which. Nothing is ever written there. Where the root is on a network file system,
 * whose locks may block for ever, the file is on this machine: build-<root's device>-<inode>.lock in
 * the directory of node_dir.h. Without a file (a root that cannot be written) or locks (the file
 * system has none), every process builds.
 *
 * Why record locks:
 * - They belong to the process. It may die in any way: they end with it, and waiters go on at once.
 * - A forked child has none of them, and can end none of the parent's by closing what it inherited. It
 *   does not wait for its parent, which may wait for it.
 * - They tell who has them. A builder that is stopped or frozen delays others by about a second: as
 *   long as neither it nor a child of it uses processor time. That is seen where the builder's process
 *   is: not from another PID namespace, nor without /proc. There the bound holds. Whoever is
 *   wrong about a builder that only sleeps builds a second time, no more.
 * - They end when the process closes any descriptor of the file. So all threads share one descriptor
 *   for each root, which is open only while one of them has a lock or waits. If the application closes
 *   it, or a second copy of this module in the process does, the locks are lost: others may build
 *   the same. The application's own file, if it then has that number, is neither locked nor closed.
 * - They do not keep threads of a process apart: a table of those that it has does. A thread that does
 *   nothing delays others as a process does. Where a build begins another one of the same key, that
 *   is built without a lock.
 *
 * Thread-safe. None of this runs or is open between take and release but the one descriptor.
 */
#ifndef CACHECORE_DISK_BUILD_LOCK_H
#define CACHECORE_DISK_BUILD_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"

#define CC_BUILD_LOCK_NAME "build.lock"

enum cc_build_turn {
	CC_BUILD_OWN,		/* the caller builds, and releases the lock when its result can be found */
	CC_BUILD_ENDED,		/* another process's build ended: the result may be there now */
	CC_BUILD_ALONE,		/* no lock, or the wait was long enough: the caller builds without one */
};

struct cc_build_lock;

/*
 * Waits for another process's build for at most timeout_ns. *ret is set for CC_BUILD_OWN alone. Sleeps
 * between its tries, 10 ms at most, and holds no lock meanwhile.
 */
enum cc_build_turn cc_build_lock_take(const char *root, struct cmn_view key, uint64_t timeout_ns,
				      struct cc_build_lock **ret);
/*
 * Its owner begins to wait, or has waited, for what another machine builds: though it does nothing
 * meanwhile, others wait for it, unless it is stopped. For waits that end by themselves, and before the lock is
 * released. NULL is fine.
 */
void cc_build_lock_wait(struct cc_build_lock *lock, bool waits);
/* NULL is fine, and so is, in a forked child, a lock of the parent's: that keeps it. */
void cc_build_lock_release(struct cc_build_lock *lock);

/* For pthread_atfork, in the child; may be called several times. No lock is the child's. */
void cc_build_locks_fork_child(void);

#endif
