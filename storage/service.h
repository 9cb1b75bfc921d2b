/* SPDX-License-Identifier: MIT */
/*
 * service: what all connections of a helper share, and one request's way to the
 * storage: past the breaker, with a session of the pool, a second time if the
 * session turns out to have ended before. Thread-safe.
 */
#ifndef STORAGE_SERVICE_H
#define STORAGE_SERVICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "storage/backend.h"
#include "storage/breaker.h"
#include "storage/pool.h"

#define STORAGE_TOKEN_SIZE 32	/* digits that tell this helper from all others */

struct storage_service {
	const struct storage_backend *backend;
	void *ctx;
	struct storage_options *options;	/* not changed once clients are served */
	void (*end)(void);			/* ends the process at once */
	struct storage_pool pool;
	struct storage_breaker breaker;
	struct storage_room room;
	char token[STORAGE_TOKEN_SIZE + 1];
	atomic_bool retired;		/* another helper takes over: who stores goes there */
	atomic_uint clients;
	int departures;			/* an eventfd that is readable after a client has left */
	atomic_uint busy;		/* requests whose answer is not known yet */
	atomic_uint_fast64_t last_activity;	/* monotonic */
	atomic_uint_fast64_t requests, errors, claims;
};

/* Does a request; STORAGE_OK, STORAGE_NOOP, or STORAGE_ERR. */
enum storage_result storage_service_do(struct storage_service *service,
				       struct storage_request *request);
/* A client was active. */
void storage_service_touch(struct storage_service *service);
/* The number-th line about this helper, for people; false: there is none. */
bool storage_service_describe(struct storage_service *service, unsigned int number,
			      struct storage_error *ret_line);

#endif
