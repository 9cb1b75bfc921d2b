/* SPDX-License-Identifier: MIT */
/*
 * flight_lock: one flight's lock file, <root>/flights/<hash>.lock. Where the root
 * is on a network file system, whose locks may block for ever, the file is on
 * this machine: in flights-<root's device>-<inode> below $XDG_RUNTIME_DIR/ckcache, or
 * below /tmp/ckcache-<user> where there is no such directory of this user.
 * None of these functions waits for a lock, and all may wait for the disk. Not
 * thread-safe: one thread has all flights of a process.
 */
#ifndef CACHECORE_DISK_FLIGHTS_FLIGHT_LOCK_H
#define CACHECORE_DISK_FLIGHTS_FLIGHT_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "cachecore/disk/flights/holder.h"
#include "common/bytes.h"
#include "common/hash.h"

#define CC_FLIGHTS_DIRECTORY "flights"
#define CC_FLIGHT_LOCK_NAME_SIZE (CMN_HASH_HEX_SIZE - 1 + sizeof(".lock"))

enum cc_flight_turn {
	CC_FLIGHT_OWN,		/* the caller builds, and ends the flight when its result can be found */
	CC_FLIGHT_LANDED,	/* another process's flight ended: the result may be there now */
	CC_FLIGHT_ALONE,	/* no lock, or the wait was long enough: the caller builds without a flight */
};

/* What is known of who has the lock that is waited for. */
struct cc_flight_watch {
	uint64_t next;			/* monotonic, when to look again */
	enum cc_holder_state state;
	struct cc_holder holder;
	uint64_t changed;		/* monotonic: when the holder was first seen as it is */
};

struct cc_flight_lock {
	const char *root;
	const char *runtime_dir;	/* $XDG_RUNTIME_DIR, or NULL */
	int fd;				/* -1: not open */
	unsigned int attempts;
	uint64_t pause;			/* ns, until it is tried again */
	struct cc_flight_watch watch;
	char name[CC_FLIGHT_LOCK_NAME_SIZE];
};

/* Borrows the paths. */
void cc_flight_lock_init(struct cc_flight_lock *lock, const char *root, const char *runtime_dir,
			 struct cmn_view key);
/*
 * true: *ret_turn is decided; with CC_FLIGHT_OWN it is locked, and signed by self. false: another
 * has the lock, and it is to be tried again at the time that _next says. deadline: monotonic.
 */
bool cc_flight_lock_try(struct cc_flight_lock *lock, const struct cc_holder *self,
			uint64_t deadline, enum cc_flight_turn *ret_turn);
uint64_t cc_flight_lock_next(struct cc_flight_lock *lock, uint64_t deadline);
/* Removes and unlocks what it holds, or stops waiting. */
void cc_flight_lock_end(struct cc_flight_lock *lock);

/*
 * Removes what builders that died an hour ago and more have left, as far as it
 * can, looking at so many names at most: beside this lock, or in a root.
 */
void cc_flight_lock_sweep_beside(const struct cc_flight_lock *lock, unsigned int max);
void cc_flight_locks_sweep(int root_fd, unsigned int max);

#endif
