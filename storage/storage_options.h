/* SPDX-License-Identifier: MIT */
/*
 * storage_options: what a helper is started with. The variables are those of ccache's
 * "remote storage helper specification", version 1: CRSH_IPC_ENDPOINT, CRSH_URL,
 * CRSH_IDLE_TIMEOUT, CRSH_NUM_ATTR, CRSH_ATTR_KEY_<i>, CRSH_ATTR_VALUE_<i>.
 * Their values may be secrets. So they are read once, overwritten where they lie,
 * for /proc/PID/environ shows that memory, and removed from the environment.
 */
#ifndef STORAGE_STORAGE_OPTIONS_H
#define STORAGE_STORAGE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct storage_error;

/* Of scheme:[//[user[:password]@]host[:port]]path[?query]. Nothing is NULL but where it says so. */
struct storage_url {
	char *scheme;
	char *user, *password;	/* decoded, secret; NULL: not given */
	char *host;		/* without the brackets of IPv6 */
	unsigned int port;	/* 0: not given */
	char *path;		/* decoded; with its first slash */
	char *query;		/* without the question mark */
	char *shown;		/* the URL without user and password */
};

struct storage_attribute {
	char *key, *value;
	bool known;		/* somebody has asked for it */
};

struct storage_options {
	char *endpoint;
	struct storage_url url;
	uint64_t idle_timeout;	/* seconds; 0: none */
	struct storage_attribute *attributes;
	size_t count;
	/* Of attributes that every helper has. */
	uint64_t max_value_size, max_memory;	/* bytes: of one value, of all at once */
	uint64_t connect_timeout, operation_timeout, request_timeout;	/* milliseconds */
	uint64_t max_connections;	/* to the storage, at once */
};

/*
 * false: they are not complete or make no sense. What they hold stays until the process
 * ends, so that others may point to it.
 */
bool storage_options_read(struct storage_options *ret, struct storage_error *error);

/* The attribute's value, or NULL; the last one that is given counts. */
const char *storage_options_text(struct storage_options *options, const char *key);
/* Leaves *value alone if there is no such attribute. false: it has a value that makes no sense. */
bool storage_options_number(struct storage_options *options, const char *key, uint64_t min,
			    uint64_t max, uint64_t *value, struct storage_error *error);

#endif
