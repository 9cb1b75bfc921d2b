/* SPDX-License-Identifier: MIT */
/*
 * backend: what a helper program gives to the server, which is the same for all.
 * The server calls it from many threads, but each session from one thread at a time.
 */
#ifndef STORAGE_BACKEND_H
#define STORAGE_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"
#include "storage/error.h"
#include "storage/storage_options.h"
#include "storage/value.h"

/* The protocol's numbers of the requests with a key. */
enum storage_verb {
	STORAGE_GET = 0,
	STORAGE_PUT = 1,
	STORAGE_REMOVE = 2,
	STORAGE_EXISTS = 5,
	/*
	 * Claims say who makes a value, so that others wait for it instead.
	 * claim: STORAGE_OK: the value is there, as in get; STORAGE_NOOP: ret_flag says
	 * whether the caller has the claim now, for ttl milliseconds. token starts with the
	 * helper's own and is different for each request, but not for its repetition.
	 * release: drops a claim that starts with the helper's token. STORAGE_NOOP: has none.
	 * It follows each put, so that nobody waits for what was removed, or refused.
	 */
	STORAGE_CLAIM = 0x80,
	STORAGE_RELEASE = 0x81,
};

struct storage_request {
	enum storage_verb verb;
	const char *doing;		/* the verb, for messages */
	struct cmn_view key;
	struct cmn_view value;		/* put */
	bool overwrite;			/* put; false: STORAGE_NOOP if there is a value; a hint */
	const char *token;		/* claim, release */
	uint64_t ttl;			/* claim */
	struct storage_value *ret_value;	/* get, claim: empty; anything on failure */
	bool ret_flag;			/* exists: is there; claim: has it now */
	struct storage_error error;
};

/* For all but the first two the function has set the error's text. */
enum storage_result {
	STORAGE_OK,
	STORAGE_NOOP,		/* get: not there; put, remove, release: nothing changed */
	STORAGE_ERR,		/* the storage works, but this request does not */
	STORAGE_SPOILT,		/* the same, but the session is of no more use */
	STORAGE_LOST,		/* the connection ended: a new one may work at once */
	STORAGE_DOWN,		/* the storage cannot be reached, or does not answer in time */
};

struct storage_backend {
	const char *identity;	/* name and version */

	/*
	 * Reads URL and attributes, once, before the socket exists. ret_ctx is then passed
	 * to the functions below. false: the settings make no sense, see error.
	 */
	bool (*setup)(struct storage_options *options, void **ret_ctx, struct storage_error *error);
	/*
	 * A session is what is kept between requests: a connection. The server closes it
	 * after STORAGE_SPOILT, STORAGE_LOST and STORAGE_DOWN. close takes no NULL.
	 */
	enum storage_result (*open)(void *ctx, void **ret_session, struct storage_error *error);
	void (*close)(void *session);

	bool has_claims;
	enum storage_result (*perform)(void *session, struct storage_request *request);

	/* A line about the storage, for people: where it is, with which library. */
	void (*describe)(void *ctx, struct storage_error *ret_line);
};

#endif
