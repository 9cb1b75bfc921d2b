/* SPDX-License-Identifier: MIT */
/*
 * error: the sentence that says why a request failed. Clients write it to their
 * logs, so it never holds a password, a token, a URL's user info, or text that a
 * storage server sent, which may repeat one of these.
 */
#ifndef STORAGE_ERROR_H
#define STORAGE_ERROR_H

#include "common/bytes.h"

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

#endif
