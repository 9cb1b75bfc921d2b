/* SPDX-License-Identifier: MIT */
/*
 * flights: one build of a key at a time on a machine ("single flight"). Who
 * starts first holds a lock on <root>/flights/<hash>.lock until its result can
 * be found in the store; the others wait for that, within a bound, and look
 * again. The lock is flock's and dies with its process, so that a dead builder
 * frees its waiters at once; where a child has inherited the lock, and where
 * the builder is stopped, within half a second, or within a second where it can
 * only be told by its beat, as of one that is frozen. Nor is one waited for longer who could not be noted,
 * as on a full disk, where its result would not be found either. Where there is
 * no lock to be had (a network file system, whose locks may block for ever; a
 * directory that cannot be written) everybody builds. Thread-safe.
 */
#ifndef CACHECORE_DISK_FLIGHTS_FLIGHTS_H
#define CACHECORE_DISK_FLIGHTS_FLIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"
#include "common/status.h"

#define CC_FLIGHTS_DIRECTORY "flights"

struct cc_flights;
struct cc_flight;

struct cc_flights *cc_flights_new(void);	/* NULL: out of memory */
void cc_flights_free(struct cc_flights *flights);	/* when all have ended; NULL is fine */

enum cc_flight_turn {
	CC_FLIGHT_OWN,		/* the caller builds, and ends the flight when its result can be found */
	CC_FLIGHT_LANDED,	/* somebody else's ended: the result may be there now */
	CC_FLIGHT_ALONE,	/* nobody can be waited for, or the wait was long enough: the caller builds */
};

/*
 * Waits for at most timeout_ns; the root's path must outlive the flight. *ret_flight is set for
 * CC_FLIGHT_OWN alone.
 */
enum cc_flight_turn cc_flights_begin(struct cc_flights *flights, const char *root,
				     struct cmn_view key, uint64_t timeout_ns,
				     struct cc_flight **ret_flight);
void cc_flight_end(struct cc_flight *flight);	/* from any thread; NULL is fine */

/*
 * Tells who waits that this process still builds; so often,
 * by a thread that does nothing else for long. Without it they wait as long as
 * they may. false: there is nothing to tell.
 */
bool cc_flights_beat(struct cc_flights *flights);
#define CC_FLIGHTS_BEAT_NS UINT64_C(100000000)

/*
 * Removes what builders that died an hour ago and more have left, as far as it
 * can. A process's first flight does so, too, with some hundred files at most.
 */
void cc_flights_sweep(int root_fd);

/*
 * For pthread_atfork, with descriptor.h's: in the child the flights are the parent's. It keeps none
 * of their locks, also when the parent dies, and does not wait for them, since
 * the parent may wait for it. The child's pointers to them may still be given
 * to cc_flight_end.
 */
void cc_flights_fork_prepare(struct cc_flights *flights);
void cc_flights_fork_parent(struct cc_flights *flights);
void cc_flights_fork_child(struct cc_flights *flights);

#endif
