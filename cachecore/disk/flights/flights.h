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
 * process. Where the root is on a network file system, the lock is on this machine
 * (flight_lock.h), and other machines build for themselves. Without locks (a
 * directory that cannot be written; no thread for them) every process builds.
 *
 * All locks of a process are one thread's (background.h), which also tells the
 * others that this process still builds, ten times a second. It ends half a
 * second after the last flight. Thread-safe.
 */
#ifndef CACHECORE_DISK_FLIGHTS_FLIGHTS_H
#define CACHECORE_DISK_FLIGHTS_FLIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include "cachecore/disk/flights/flight_lock.h"
#include "common/bytes.h"

struct cc_flights;
struct cc_flight;

struct cc_flights *cc_flights_new(void);	/* NULL: out of memory */
/* When all have ended. What its thread is still at in the file system is left to it. NULL is fine. */
void cc_flights_free(struct cc_flights *flights);

/*
 * Waits for another's flight for at most timeout_ns. *ret_flight is set for CC_FLIGHT_OWN alone.
 */
enum cc_flight_turn cc_flights_begin(struct cc_flights *flights, const char *root,
				     struct cmn_view key, uint64_t timeout_ns,
				     struct cc_flight **ret_flight);
/* From any thread, and without waiting. NULL is fine. */
void cc_flight_end(struct cc_flight *flight);

/* Waits until all that have been ended can be taken by others; false: not within that time. */
bool cc_flights_flush(struct cc_flights *flights, uint64_t timeout_ns);

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
