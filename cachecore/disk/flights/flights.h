/* SPDX-License-Identifier: MIT */
/*
 * flights: lets only one process of a machine at a time build a key ("single
 * flight"). The first one holds a lock on <root>/flights/<hash>.lock until its
 * result can be found in the store. The others wait for that, up to a bound,
 * and then look again.
 *
 * The lock is a flock and ends with its process, so waiters of a dead builder
 * continue at once. They continue within half a second if the builder is
 * stopped, if a child has inherited a dead builder's lock, or if the file does
 * not name the builder (as on a full disk, where its result would not be found
 * either); and within a second if only the beat can tell, as for a frozen
 * process. Without locks (a network file system, whose locks may block forever;
 * a directory that cannot be written) every process builds. Thread-safe.
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
	CC_FLIGHT_LANDED,	/* another process's flight ended: the result may be there now */
	CC_FLIGHT_ALONE,	/* no lock, or the wait was long enough: the caller builds without a flight */
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
 * Tells waiters that this process still builds. Call it every CC_FLIGHTS_BEAT_NS,
 * from a thread that does nothing else for long. A flight that never beats is
 * waited for until the bound. false: there is no flight.
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
