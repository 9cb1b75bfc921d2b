/* SPDX-License-Identifier: MIT */
/*
 * backend: what a helper program gives to the server, which is the same for all; and what a
 * request is made of: its key as text, its value, and why it failed. The server calls it from many
 * threads, but each session from one thread at a time.
 */
#ifndef STORAGE_BACKEND_H
#define STORAGE_BACKEND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"
#include "storage/storage_options.h"

/*
 * The sentence that says why a request failed. Clients write it to their logs, so it never holds a
 * password, a token, a URL's user info, or text that a storage server sent, which may repeat one of
 * these.
 */
#define STORAGE_ERROR_MAX 255	/* bytes that a message of the protocol holds */

struct storage_error {
	char text[STORAGE_ERROR_MAX + 1];
};

/* Cuts what is too long; bytes outside of printable ASCII become '?'. */
void storage_error_set(struct storage_error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The values on their way take all memory that they may. */
#define STORAGE_NO_ROOM "no memory for the value now (max-memory)"
/* The system's phrase for an errno value. */
const char *storage_error_phrase(int number);

/* A request's key, which is any bytes, as text for a storage. */
#define STORAGE_KEY_MAX 255	/* bytes */
#define STORAGE_KEY_HEX_SIZE (2 * STORAGE_KEY_MAX + 1)
#define STORAGE_KEY_PATH_SIZE (STORAGE_KEY_HEX_SIZE + 16)

/*
 * A path of the first byte's digits as a directory and the rest as a name: "ab/cdef01". A
 * key of less than two bytes is in a directory "_": "_/_" or "_/_ab". Names have at most 200
 * characters: of a longer key, the digits before are directories whose names end in "+".
 */
void storage_key_path(struct cmn_view key, char ret_path[STORAGE_KEY_PATH_SIZE]);

/*
 * The bytes of one value on their way, and the room that all values of a helper share. Small ones
 * always have room: each client may have one of 64 KiB, which is not counted. Whoever finds no room
 * does without: nobody waits for it. The room is for all threads; a value belongs to one of them.
 */
#define STORAGE_VALUE_KEPT ((size_t)64 * 1024)	/* bytes that are not counted, and kept for the next value */

struct storage_room {
	atomic_size_t used;	/* bytes */
	size_t max;
};

struct storage_value {
	struct cmn_buffer bytes;
	struct storage_room *room;
	size_t counted;		/* of the room's bytes */
};

/* The value takes so much memory now, or is about to. false: that is not left, and nothing has changed. */
bool storage_value_count(struct storage_value *value, size_t size);
/*
 * Memory for some bytes more, which grows by what has come: twice as much as before, but not beyond
 * most bytes in all unless they are needed. false: no room, or no memory.
 */
bool storage_value_reserve(struct storage_value *value, size_t extra, size_t most);
/* After a request: gives back what was large. */
void storage_value_end(struct storage_value *value);

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
