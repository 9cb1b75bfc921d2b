/* SPDX-License-Identifier: MIT */
/* storage_options: the environment, the URL, attributes. */
#include "storage/storage_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/env.h"
#include "storage/backend.h"

#define MAX_ATTRIBUTES 1000
/*
 * A device image of some MB is large. With these a server that lies, or a crowd that stores at once,
 * takes nothing away from the machine's applications.
 */
#define DEFAULT_MAX_VALUE_SIZE (256ULL << 20)
#define DEFAULT_MAX_MEMORY (512ULL << 20)
#define LEAST_MAX_MEMORY (64ULL << 20)
#define MEMORY_PART 8		/* of the machine's */
#define DEFAULT_CONNECT_TIMEOUT 2000
#define DEFAULT_OPERATION_TIMEOUT 10000
#define DEFAULT_REQUEST_TIMEOUT 30000
#define DEFAULT_MAX_CONNECTIONS 16	/* a node's; a storage server has thousands for all nodes */
#define MAX_TIMEOUT 3600000

/* A copy of the variable, which is then gone. NULL: not set, or out of memory. */
static char *take_variable(const char *name)
{
	char *value = secure_getenv(name);
	char *copy = value ? strdup(value) : NULL;

	if (value)
		explicit_bzero(value, strlen(value));
	(void)unsetenv(name);	/* the name is good */
	return copy;
}

/* A copy with %XX decoded. NULL: out of memory, a wrong escape, or a zero byte. */
static char *decode(const char *text, size_t len)
{
	char *copy = strndup(text, len);

	if (!copy || cmn_percent_decode(copy))
		return copy;
	free(copy);
	return NULL;
}

/* host, [host], host:port; all of text. false: makes no sense. */
static bool parse_host(const char *text, size_t len, struct storage_url *url)
{
	const char *end = text + len, *colon;
	uint64_t port = 0;
	char digits[8];

	if (len && text[0] == '[') {
		const char *bracket = memchr(text, ']', len);

		if (!bracket || (bracket + 1 < end && bracket[1] != ':'))
			return false;
		url->host = strndup(text + 1, (size_t)(bracket - text) - 1);
		colon = bracket + 1;
	} else {
		colon = memchr(text, ':', len);
		colon = colon ? colon : end;
		url->host = decode(text, (size_t)(colon - text));
	}
	if (colon + 1 < end) {
		size_t count = (size_t)(end - colon) - 1;

		if (count >= sizeof(digits))
			return false;
		memcpy(digits, colon + 1, count);
		digits[count] = '\0';
		if (cmn_env_parse_number(digits, 1, 65535, &port) != CMN_OK)
			return false;
	}
	url->port = (unsigned int)port;
	return url->host != NULL;
}

/* The part behind "//"; ret_rest: what follows it. */
static bool parse_authority(const char *text, struct storage_url *url, const char **ret_rest)
{
	size_t len = strcspn(text, "/?#");
	const char *at = memrchr(text, '@', len);
	const char *host = at ? at + 1 : text;
	const char *colon = at ? memchr(text, ':', (size_t)(at - text)) : NULL;

	*ret_rest = text + len;
	if (at) {
		url->user = decode(text, (size_t)((colon ? colon : at) - text));
		if (colon)
			url->password = decode(colon + 1, (size_t)(at - colon) - 1);
		if (!url->user || (colon && !url->password))
			return false;
	}
	return parse_host(host, (size_t)(text + len - host), url);
}

static bool parse_url(const char *text, struct storage_url *url)
{
	const char *colon = strchr(text, ':'), *rest, *shown;
	size_t path;

	if (!colon || colon == text || strchr(text, '#'))
		return false;
	for (const char *at = text; *at; at++) {
		if (*at <= ' ' || *at > '~')
			return false;
	}
	url->scheme = strndup(text, (size_t)(colon - text));
	rest = colon + 1;
	if (strncmp(rest, "//", 2) == 0) {
		if (!parse_authority(rest + 2, url, &rest))
			return false;
	} else {
		url->host = strdup("");
	}
	/* Behind the user info, and so behind the last "@" before the path; else behind "//". */
	shown = memrchr(colon, '@', (size_t)(rest - colon));
	shown = shown ? shown + 1 : rest == colon + 1 ? rest : colon + 3;
	path = strcspn(rest, "?");
	url->path = decode(rest, path);
	url->query = strdup(rest[path] ? rest + path + 1 : "");
	if (asprintf(&url->shown, "%.*s:%s%s", (int)(colon - text), text,
		     strncmp(colon + 1, "//", 2) == 0 ? "//" : "", shown) < 0)
		url->shown = NULL;
	return url->scheme && url->host && url->path && url->query && url->shown;
}

static bool read_attributes(struct storage_options *options, struct storage_error *error)
{
	char *number = take_variable("CRSH_NUM_ATTR");
	uint64_t count = 0;
	bool good = !number || cmn_env_parse_number(number, 0, MAX_ATTRIBUTES, &count) == CMN_OK;

	free(number);
	options->attributes = calloc(count ? count : 1, sizeof(*options->attributes));
	if (!good || !options->attributes) {
		storage_error_set(error, "CRSH_NUM_ATTR must be a number up to %d", MAX_ATTRIBUTES);
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		struct storage_attribute *attribute = &options->attributes[options->count++];
		char name[48];

		(void)snprintf(name, sizeof(name), "CRSH_ATTR_KEY_%zu", i);
		attribute->key = take_variable(name);
		(void)snprintf(name, sizeof(name), "CRSH_ATTR_VALUE_%zu", i);
		attribute->value = take_variable(name);
		if (!attribute->key || !attribute->value) {
			storage_error_set(error, "attribute %zu is not complete", i);
			good = false;	/* and goes on: all must leave the environment */
		}
	}
	return good;
}

static bool read_size(struct storage_options *options, const char *key, uint64_t *value,
		      struct storage_error *error)
{
	const char *size = storage_options_text(options, key);

	if (!size || (cmn_env_parse_size(size, value) == CMN_OK && *value <= SIZE_MAX / 4))
		return true;
	storage_error_set(error, "%s must be a size, such as 1GiB", key);
	return false;
}

/* A value may be in memory twice for a moment, on its way through a library. */
static bool read_sizes(struct storage_options *options, struct storage_error *error)
{
	const bool given = storage_options_text(options, "max-value-size");
	const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);

	options->max_value_size = DEFAULT_MAX_VALUE_SIZE;
	if (!read_size(options, "max-value-size", &options->max_value_size, error))
		return false;
	options->max_memory = DEFAULT_MAX_MEMORY;
	if (pages > 0 && page > 0 && (uint64_t)pages * (uint64_t)page / MEMORY_PART < DEFAULT_MAX_MEMORY)
		options->max_memory = (uint64_t)pages * (uint64_t)page / MEMORY_PART;
	if (options->max_memory < LEAST_MAX_MEMORY)
		options->max_memory = LEAST_MAX_MEMORY;
	if (given && options->max_memory < 2 * options->max_value_size)
		options->max_memory = 2 * options->max_value_size;
	if (!read_size(options, "max-memory", &options->max_memory, error))
		return false;
	if (!given && options->max_value_size > options->max_memory / 2)
		options->max_value_size = options->max_memory / 2;
	return true;
}

/* What every helper has. */
static bool read_common(struct storage_options *options, struct storage_error *error)
{
	options->connect_timeout = DEFAULT_CONNECT_TIMEOUT;
	options->operation_timeout = DEFAULT_OPERATION_TIMEOUT;
	options->request_timeout = DEFAULT_REQUEST_TIMEOUT;
	options->max_connections = DEFAULT_MAX_CONNECTIONS;
	return read_sizes(options, error) &&
	       storage_options_number(options, "connect-timeout", 1, MAX_TIMEOUT,
				      &options->connect_timeout, error) &&
	       storage_options_number(options, "operation-timeout", 1, MAX_TIMEOUT,
				      &options->operation_timeout, error) &&
	       storage_options_number(options, "request-timeout", 1, MAX_TIMEOUT,
				      &options->request_timeout, error) &&
	       storage_options_number(options, "max-connections", 1, 1000,
				      &options->max_connections, error);
}

bool storage_options_read(struct storage_options *ret, struct storage_error *error)
{
	char *url = take_variable("CRSH_URL");
	char *idle = take_variable("CRSH_IDLE_TIMEOUT");
	bool good;

	*ret = (struct storage_options){ .endpoint = take_variable("CRSH_IPC_ENDPOINT") };
	good = read_attributes(ret, error);
	if (good && (!url || !ret->endpoint || !ret->endpoint[0])) {
		storage_error_set(error, "CRSH_IPC_ENDPOINT and CRSH_URL must be set");
		good = false;
	}
	if (good && idle && cmn_env_parse_number(idle, 0, UINT32_MAX, &ret->idle_timeout) != CMN_OK) {
		storage_error_set(error, "CRSH_IDLE_TIMEOUT must be a number of seconds");
		good = false;
	}
	if (good && !parse_url(url, &ret->url)) {
		storage_error_set(error, "CRSH_URL is not a URL");
		good = false;
	}
	free(idle);
	if (url)
		explicit_bzero(url, strlen(url));
	free(url);
	return good && read_common(ret, error);
}

const char *storage_options_text(struct storage_options *options, const char *key)
{
	const char *value = NULL;

	for (size_t i = 0; i < options->count; i++) {
		struct storage_attribute *attribute = &options->attributes[i];

		if (strcmp(attribute->key, key) == 0) {
			attribute->known = true;
			value = attribute->value;
		}
	}
	return value;
}

bool storage_options_number(struct storage_options *options, const char *key, uint64_t min,
			    uint64_t max, uint64_t *value, struct storage_error *error)
{
	const char *text = storage_options_text(options, key);

	if (!text || cmn_env_parse_number(text, min, max, value) == CMN_OK)
		return true;
	storage_error_set(error, "%s must be a number from %llu to %llu", key,
			  (unsigned long long)min, (unsigned long long)max);
	return false;
}
