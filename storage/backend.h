/* SPDX-License-Identifier: MIT */
/*
 * backend: what a helper program gives to the server, which is the same for all:
 * one function for each kind of request. The server calls them from many
 * threads, but each session from one thread at a time.
 */
#ifndef STORAGE_BACKEND_H
#define STORAGE_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"
#include "storage/error.h"
#include "storage/storage_options.h"
#include "storage/value.h"

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

	/* Fills *value, which is empty and counts what it takes. It holds anything on failure. */
	enum storage_result (*get)(void *session, struct cmn_view key, struct storage_value *value,
				   struct storage_error *error);
	/* overwrite false: STORAGE_NOOP if there is a value already; only a hint. */
	enum storage_result (*put)(void *session, struct cmn_view key, struct cmn_view value,
				   bool overwrite, struct storage_error *error);
	enum storage_result (*remove)(void *session, struct cmn_view key,
				      struct storage_error *error);
	enum storage_result (*exists)(void *session, struct cmn_view key, bool *ret,
				      struct storage_error *error);

	/*
	 * Claims say who makes a value, so that others wait for it instead. NULL: not offered.
	 * claim: STORAGE_OK: the value is there, as in get; STORAGE_NOOP: *ret_claimed says
	 * whether the caller has the claim now, for ttl milliseconds. token starts with the
	 * helper's own and is different for each request, but not for its repetition.
	 * release: drops a claim that starts with the helper's token. STORAGE_NOOP: has none.
	 * It follows each put, so that nobody waits for what was removed, or refused.
	 */
	enum storage_result (*claim)(void *session, struct cmn_view key, const char *token,
				     uint64_t ttl, struct storage_value *value, bool *ret_claimed,
				     struct storage_error *error);
	enum storage_result (*release)(void *session, struct cmn_view key, const char *token,
				       struct storage_error *error);

	/* A line about the storage, for people: where it is, with which library. */
	void (*describe)(void *ctx, struct storage_error *ret_line);
};

#endif
