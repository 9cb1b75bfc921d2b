/* SPDX-License-Identifier: MIT */
/*
 * service: what all connections of a helper share, and one request's way to the
 * storage: with one of a bounded number of sessions, which are kept open between requests;
 * a second time if the session turns out to have ended before. Clients are spared the wait for a
 * storage that is down: after a failure nothing is tried for a second, then one request; each
 * further failure doubles the pause up to half a minute, a success ends it. Thread-safe.
 */
#ifndef STORAGE_SERVICE_H
#define STORAGE_SERVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "storage/backend.h"

#define STORAGE_TOKEN_SIZE 32	/* digits that tell this helper from all others */

struct storage_service {
	const struct storage_backend *backend;
	void *ctx;
	struct storage_options *options;	/* not changed once clients are served */
	void (*end)(void);			/* ends the process at once */
	struct storage_room room;
	char token[STORAGE_TOKEN_SIZE + 1];
	atomic_bool retired;		/* another helper takes over: who stores goes there */
	atomic_uint clients;
	int departures;			/* an eventfd that is readable after a client has left */
	atomic_uint busy;		/* requests that have begun to come and are not answered yet */
	atomic_uint_fast64_t last_activity;	/* monotonic */
	atomic_uint_fast64_t requests, errors, claims;

	pthread_mutex_t lock;	/* guards what follows */
	pthread_cond_t freed;	/* by the monotonic clock */
	struct storage_session {
		void *session;
		uint64_t since;		/* monotonic time of its last use */
	} *idle;			/* the last used one is last */
	size_t idle_count, session_count;	/* the second counts those in use as well */
	uint64_t pause;			/* nanoseconds; 0: all is well */
	uint64_t pause_end;		/* monotonic */
	bool trying;			/* one request is on its way */
	struct storage_error why;	/* the last failure */
};

/* Of a zeroed one. false: see error. */
bool storage_service_init(struct storage_service *service, struct storage_options *options,
			  const struct storage_backend *backend, struct storage_error *error);
/* Whether the storage is taken for down, and why. */
bool storage_service_is_down(struct storage_service *service, struct storage_error *ret_why);

/* Does a request; STORAGE_OK, STORAGE_NOOP, or STORAGE_ERR. */
enum storage_result storage_service_do(struct storage_service *service,
				       struct storage_request *request);
/* connection.c: one client's requests and their answers, on a thread of its own. */
struct storage_connection;
/* Takes the socket once it serves. NULL: out of memory. Before that, free() drops it. */
struct storage_connection *storage_connection_new(struct storage_service *service, int fd);
/* A thread's function: serves until the client leaves, then closes and frees all. */
void *storage_connection_serve(void *connection);

/* A client was active. */
void storage_service_touch(struct storage_service *service);
/* The number-th line about this helper, for people; false: there is none. */
bool storage_service_describe(struct storage_service *service, unsigned int number,
			      struct storage_error *ret_line);

#endif
