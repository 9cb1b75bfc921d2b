/* SPDX-License-Identifier: MIT */
/*
 * storage_http: values on an HTTP server that has GET, HEAD, PUT and DELETE, through
 * libcurl. A value's URL is the storage's URL, a slash, and the key: as
 * "ab/cdef01" (backend.h), or with layout=flat as "abcdef01". No claims: HTTP servers
 * do not agree on how one request of many may be the only one to succeed.
 *
 * A value counts only if its end is known: from its length, from chunks, or from
 * HTTP/2's frames. Redirects are followed for GET and HEAD alone, to the same
 * host alone: credentials go nowhere else.
 *
 * URL: http[s]://[user[:password]@]host[:port][/path]
 * Attributes: layout (subdirs, flat), bearer-token, username, password, header
 * ("Name: value", any number), proxy, ca-file. Proxies of the environment count.
 */
#include <curl/curl.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/clock.h"
#include "storage/server.h"

#define MAX_REDIRECTS 3
#define MAX_HEADERS (64ULL * 1024)
#define MAX_DRAINED (64ULL * 1024)	/* of an error's page; a longer one costs the connection */
#define SLOW_BYTES_PER_SECOND (1024 * 1024)	/* a large value may take this much longer */
#define USER_AGENT "ckcache-storage-http/" CKCACHE_VERSION

struct http {
	const char *url;	/* without user and password */
	size_t url_len;		/* without slashes at its end */
	bool flat;
	const char *user, *password, *proxy, *ca_file;	/* NULL: none */
	struct curl_slist *headers, *add_headers;	/* the second with If-None-Match */
	long connect_timeout;				/* milliseconds */
	uint64_t operation_timeout;			/* milliseconds */
	size_t max_value;
};

struct session {
	const struct http *http;
	CURL *curl;
	struct storage_request *request;
	uint64_t start;
	/* Of one transfer: */
	struct transfer {
		size_t sent_len;	/* how much of the value to be stored curl has taken */
		uint64_t drained, headers;	/* bytes */
		bool chunked, encoded, too_large, too_slow, no_room;
	} now;
};

/* A part of the body: of a value's it is kept, of any other page dropped. */
static size_t take_body(char *data, size_t size, size_t count, void *ctx)
{
	struct session *session = ctx;
	struct storage_value *value = session->request->ret_value;
	size_t len = size * count, max = session->http->max_value;
	long code = 0;

	(void)curl_easy_getinfo(session->curl, CURLINFO_RESPONSE_CODE, &code);
	if (code != 200 || !value) {
		session->now.drained += len;
		return session->now.drained > MAX_DRAINED ? 0 : len;
	}
	session->now.too_large = len > max - value->bytes.len;
	session->now.no_room = !session->now.too_large && !storage_value_reserve(value, len, max);
	if (session->now.too_large || session->now.no_room)
		return 0;
	cmn_buffer_append(&value->bytes, data, len);	/* it fits */
	return len;
}

static size_t give_body(char *to, size_t size, size_t count, void *ctx)
{
	struct session *session = ctx;
	size_t left = session->request->value.len - session->now.sent_len;
	size_t len = size * count < left ? size * count : left;

	if (len)
		memcpy(to, (const char *)session->request->value.data + session->now.sent_len, len);
	session->now.sent_len += len;
	return len;
}

/* curl sends a body again where a connection turns out to have ended. */
static int seek_body(void *ctx, curl_off_t offset, int origin)
{
	struct session *session = ctx;

	if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > session->request->value.len)
		return CURL_SEEKFUNC_FAIL;
	session->now.sent_len = (size_t)offset;
	return CURL_SEEKFUNC_OK;
}

static bool is_header(const char *line, size_t len, const char *name, const char *word)
{
	size_t name_len = strlen(name), word_len = strlen(word);

	if (len < name_len || strncasecmp(line, name, name_len) != 0)
		return false;
	for (size_t i = name_len; i + word_len <= len; i++) {
		if (strncasecmp(line + i, word, word_len) == 0)
			return true;
	}
	return false;
}

static size_t take_header(char *line, size_t size, size_t count, void *ctx)
{
	struct session *session = ctx;
	size_t len = size * count;

	if (len >= 5 && strncmp(line, "HTTP/", 5) == 0) {
		session->now.chunked = false;	/* another answer begins: after 100, or of a proxy */
		session->now.encoded = false;
	}
	if (is_header(line, len, "transfer-encoding:", "chunked"))
		session->now.chunked = true;
	if (is_header(line, len, "content-encoding:", "") &&
	    !is_header(line, len, "content-encoding:", "identity"))
		session->now.encoded = true;
	session->now.headers += len;	/* also of answers before the last one, and what follows chunks */
	return session->now.headers > MAX_HEADERS ? 0 : len;
}

/* Whether it takes too long; curl asks about once a second, and when something moves. */
static int watch(void *ctx, curl_off_t down_total, curl_off_t down, curl_off_t up_total,
		 curl_off_t up)
{
	struct session *session = ctx;
	const uint64_t moved = (uint64_t)down + session->request->value.len;

	(void)down_total;
	(void)up_total;
	(void)up;
	session->now.too_slow = cmn_clock_monotonic() - session->start >
				session->http->operation_timeout * 1000000 +
					moved * (1000000000 / SLOW_BYTES_PER_SECOND);
	return session->now.too_slow;
}

static void close_session(void *ctx)
{
	static struct storage_request nothing;
	struct session *session = ctx;

	session->request = &nothing;	/* for callbacks: the last one is over */
	curl_easy_cleanup(session->curl);
	free(session);
}

/* What all requests have in common; each can fail only for want of memory. */
static bool set_options(struct session *session)
{
	const struct http *http = session->http;
	CURL *curl = session->curl;
	bool good = curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
		    curl_easy_setopt(curl, CURLOPT_USERAGENT, USER_AGENT) == CURLE_OK &&
		    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, http->connect_timeout) == CURLE_OK &&
		    curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L) == CURLE_OK &&
		    curl_easy_setopt(curl, CURLOPT_MAXFILESIZE_LARGE,
				     (curl_off_t)http->max_value) == CURLE_OK &&
		    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body) == CURLE_OK &&
		    curl_easy_setopt(curl, CURLOPT_WRITEDATA, session) == CURLE_OK &&
		    curl_easy_setopt(curl, CURLOPT_READFUNCTION, give_body) == CURLE_OK &&
		    curl_easy_setopt(curl, CURLOPT_READDATA, session) == CURLE_OK &&
		    curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, seek_body) == CURLE_OK &&
		    curl_easy_setopt(curl, CURLOPT_SEEKDATA, session) == CURLE_OK &&
		    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header) == CURLE_OK &&
		    curl_easy_setopt(curl, CURLOPT_HEADERDATA, session) == CURLE_OK &&
		    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, watch) == CURLE_OK &&
		    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, session) == CURLE_OK &&
		    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L) == CURLE_OK;

	if (http->user || http->password)
		good = good &&
		       curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC) == CURLE_OK &&
		       curl_easy_setopt(curl, CURLOPT_USERNAME,
					http->user ? http->user : "") == CURLE_OK &&
		       curl_easy_setopt(curl, CURLOPT_PASSWORD,
					http->password ? http->password : "") == CURLE_OK;
	if (http->proxy)
		good = good && curl_easy_setopt(curl, CURLOPT_PROXY, http->proxy) == CURLE_OK;
	if (http->ca_file)
		good = good && curl_easy_setopt(curl, CURLOPT_CAINFO, http->ca_file) == CURLE_OK;
	return good;
}

static enum storage_result open_session(void *ctx, void **ret_session, struct storage_error *error)
{
	struct session *session = calloc(1, sizeof(*session));

	if (session)
		session->curl = curl_easy_init();
	if (!session || !session->curl) {
		free(session);
		storage_error_set(error, "out of memory");
		return STORAGE_ERR;
	}
	session->http = ctx;
	if (!set_options(session)) {
		close_session(session);
		storage_error_set(error, "libcurl refuses the settings, or is out of memory");
		return STORAGE_ERR;
	}
	*ret_session = session;
	return STORAGE_OK;
}

static enum storage_result fail(struct session *session, enum storage_result result, const char *why)
{
	storage_error_set(&session->request->error, "%s: %s", session->request->doing, why);
	return result;
}

/* After a transfer that failed. The texts of curl_easy_strerror name no URL. */
static enum storage_result failed(struct session *session, CURLcode failure)
{
	const struct transfer *now = &session->now;

	if (now->too_large || failure == CURLE_FILESIZE_EXCEEDED) {
		storage_error_set(&session->request->error, "%s: the value has more than %zu bytes",
				  session->request->doing, session->http->max_value);
		return STORAGE_SPOILT;
	}
	if (now->no_room)
		return fail(session, STORAGE_SPOILT, STORAGE_NO_ROOM);
	if (now->drained > MAX_DRAINED || now->headers > MAX_HEADERS)
		return fail(session, STORAGE_SPOILT, "the server answers with a long page");
	if (now->too_slow)
		return fail(session, STORAGE_DOWN, "the server did not answer in time");
	switch (failure) {
	case CURLE_PARTIAL_FILE:
	case CURLE_OUT_OF_MEMORY:
	case CURLE_WRITE_ERROR:
		return fail(session, STORAGE_SPOILT, curl_easy_strerror(failure));
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_GOT_NOTHING:
		return fail(session, STORAGE_LOST, curl_easy_strerror(failure));
	default:
		return fail(session, STORAGE_DOWN, curl_easy_strerror(failure));
	}
}

/* Copies one part of a URL; the caller frees it with curl_free. NULL: it has none. */
static char *part_of(CURLU *url, CURLUPart part, unsigned int flags)
{
	char *text = NULL;

	return curl_url_get(url, part, &text, flags) == CURLUE_OK ? text : NULL;
}

/*
 * Whether a redirect stays with the server: the same scheme, host and port, or from HTTP to
 * HTTPS on the usual ports.
 */
static bool stays(const char *from, const char *to)
{
	CURLU *urls[2] = { curl_url(), curl_url() };
	char *schemes[2] = { NULL }, *hosts[2] = { NULL }, *ports[2] = { NULL };
	bool good = urls[0] && urls[1] && curl_url_set(urls[0], CURLUPART_URL, from, 0) == CURLUE_OK &&
		    curl_url_set(urls[1], CURLUPART_URL, to, 0) == CURLUE_OK;

	for (int i = 0; good && i < 2; i++) {
		schemes[i] = part_of(urls[i], CURLUPART_SCHEME, 0);
		hosts[i] = part_of(urls[i], CURLUPART_HOST, 0);
		ports[i] = part_of(urls[i], CURLUPART_PORT, CURLU_DEFAULT_PORT);
	}
	for (int i = 0; i < 2; i++)
		good = good && schemes[i] && hosts[i] && ports[i];
	good = good && strcasecmp(hosts[0], hosts[1]) == 0 &&
	       ((strcmp(schemes[0], schemes[1]) == 0 && strcmp(ports[0], ports[1]) == 0) ||
		(strcmp(schemes[0], "http") == 0 && strcmp(ports[0], "80") == 0 &&
		 strcmp(schemes[1], "https") == 0 && strcmp(ports[1], "443") == 0));
	for (int i = 0; i < 2; i++) {
		curl_free(schemes[i]);
		curl_free(hosts[i]);
		curl_free(ports[i]);
		curl_url_cleanup(urls[i]);
	}
	return good;
}

/* One transfer. *ret_code: the status that the server answered with. */
static enum storage_result transfer(struct session *session, const char *url, long *ret_code)
{
	CURLcode failure = curl_easy_setopt(session->curl, CURLOPT_URL, url);

	session->now = (struct transfer){ 0 };
	if (failure == CURLE_OK)
		failure = curl_easy_perform(session->curl);
	if (failure == CURLE_OK)
		failure = curl_easy_getinfo(session->curl, CURLINFO_RESPONSE_CODE, ret_code);
	return failure == CURLE_OK ? STORAGE_OK : failed(session, failure);
}

/* The same, of the request's URL and after redirects. */
static enum storage_result follow(struct session *session, bool may_move, long *ret_code)
{
	const struct http *http = session->http;
	const struct cmn_view key = session->request->key;
	char path[STORAGE_KEY_PATH_SIZE];
	enum storage_result result;
	char *url, *next = NULL;
	int moves = 0;

	if (http->flat && key.len)
		cmn_hex(key.data, key.len, path);
	else
		storage_key_path(key, path);
	if (asprintf(&url, "%.*s/%s", (int)http->url_len, http->url, path) < 0)
		return fail(session, STORAGE_ERR, "out of memory");
	session->start = cmn_clock_monotonic();
	result = transfer(session, url, ret_code);
	while (result == STORAGE_OK && may_move && *ret_code >= 300 && *ret_code < 400 &&
	       curl_easy_getinfo(session->curl, CURLINFO_REDIRECT_URL, &next) == CURLE_OK && next) {
		if (++moves > MAX_REDIRECTS || !stays(url, next)) {
			result = fail(session, STORAGE_ERR,
				      moves > MAX_REDIRECTS ? "the server redirects too often"
							    : "the server redirects to another one");
			break;
		}
		free(url);
		url = strdup(next);	/* curl's own is gone with the next transfer */
		if (!url)
			return fail(session, STORAGE_ERR, "out of memory");
		result = transfer(session, url, ret_code);
	}
	free(url);
	return result;
}

/* Where credentials to read are wrong it is down: another helper, later, may have better ones. */
static enum storage_result refused(struct session *session, long code)
{
	const bool unknown = code == 401 || code == 407;
	const char *why = "";

	if (unknown)
		why = ": credentials are wanted, or wrong";
	else if (code == 403)
		why = ": not permitted";
	else if (code == 413)
		why = ": too large for the server";
	else if (code == 507)
		why = ": the server's disk is full";
	storage_error_set(&session->request->error, "%s: HTTP status %ld%s", session->request->doing,
			  code, why);
	return unknown && (session->request->verb == STORAGE_GET || session->request->verb == STORAGE_EXISTS) ?
	       STORAGE_DOWN : STORAGE_ERR;
}

/* Prepares the handle for the request's method; what the one before had set goes. */
static void set_method(struct session *session)
{
	const struct storage_request *request = session->request;
	CURL *curl = session->curl;

	/* These set numbers and pointers: they cannot fail. HTTPGET undoes the others. */
	(void)curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, NULL);
	(void)curl_easy_setopt(curl, CURLOPT_UPLOAD, 0L);
	(void)curl_easy_setopt(curl, CURLOPT_NOBODY, 0L);
	(void)curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
	if (request->verb == STORAGE_PUT) {
		(void)curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
		(void)curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)request->value.len);
	} else if (request->verb == STORAGE_EXISTS) {
		(void)curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
	} else if (request->verb == STORAGE_REMOVE) {
		(void)curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, "DELETE");
	}
	(void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, request->verb == STORAGE_PUT && !request->overwrite
			       ? session->http->add_headers : session->http->headers);
}

/* Whether the value's end was known before it came, so that a cut would have been seen. */
static bool has_known_end(const struct session *session)
{
	curl_off_t length = -1;
	long version = 0;

	(void)curl_easy_getinfo(session->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
	(void)curl_easy_getinfo(session->curl, CURLINFO_HTTP_VERSION, &version);
	return session->now.chunked || length >= 0 || version >= CURL_HTTP_VERSION_2_0;
}

static enum storage_result perform(void *ctx, struct storage_request *request)
{
	/* With which statuses it is done. */
	static const long done[][3] = {
		[STORAGE_GET] = { 200, 200, 200 }, [STORAGE_PUT] = { 200, 201, 204 },
		[STORAGE_REMOVE] = { 200, 202, 204 }, [STORAGE_EXISTS] = { 200, 204, 204 },
	};
	const bool exists = request->verb == STORAGE_EXISTS, get = request->verb == STORAGE_GET;
	struct session *session = ctx;
	enum storage_result result;
	long code = 0;

	session->request = request;
	set_method(session);
	result = follow(session, get || exists, &code);
	if (result != STORAGE_OK)
		return result;
	if (request->verb == STORAGE_PUT ? code == 412 && !request->overwrite : code == 404 || code == 410)
		return exists ? STORAGE_OK : STORAGE_NOOP;
	request->ret_flag = code == done[request->verb][0] || code == done[request->verb][1] ||
			    code == done[request->verb][2];
	if (!request->ret_flag)
		return refused(session, code);
	if (get && session->now.encoded)
		return fail(session, STORAGE_ERR, "the server encodes the value");
	if (get && !has_known_end(session))
		return fail(session, STORAGE_ERR, "the server does not say how long the value is");
	return STORAGE_OK;
}

static void describe(void *ctx, struct storage_error *ret_line)
{
	const struct http *http = ctx;

	storage_error_set(ret_line, "%s, libcurl %s", http->url,
			  curl_version_info(CURLVERSION_NOW)->version);
}

static bool append_header(struct curl_slist **list, const char *line)
{
	struct curl_slist *longer = curl_slist_append(*list, line);

	if (longer)
		*list = longer;
	return longer != NULL;
}

static bool append_both(struct http *http, const char *line)
{
	return append_header(&http->headers, line) && append_header(&http->add_headers, line);
}

/* "Name: value" or "Name=value", one line of printable text. */
static bool append_setting(struct http *http, const char *name, const char *value)
{
	char *line;
	bool good;

	for (const char *at = value; *at; at++) {
		if (iscntrl((unsigned char)*at))
			return false;
	}
	if (asprintf(&line, "%s%s", name, value) < 0)
		return false;
	if (!name[0]) {
		char *separator = line + strcspn(line, ":=");

		good = *separator && separator > line;
		if (good)
			*separator = ':';
	} else {
		good = value[0];
	}
	good = good && append_both(http, line);
	free(line);
	return good;
}

static bool set_headers(struct http *http, struct storage_options *options,
			struct storage_error *error)
{
	const char *token = storage_options_text(options, "bearer-token");
	bool good = append_header(&http->add_headers, "If-None-Match: *");

	(void)storage_options_text(options, "header");	/* so that it is known */
	/* A server that does not answer "Expect" would cost a second for each large value. */
	good = good && append_both(http, "Expect:") &&
	       append_both(http, "Content-Type: application/octet-stream");
	if (token && !append_setting(http, "Authorization: Bearer ", token)) {
		storage_error_set(error, "bearer-token is not one line of text");
		return false;
	}
	for (size_t i = 0; i < options->count; i++) {
		if (strcmp(options->attributes[i].key, "header") == 0 &&
		    !append_setting(http, "", options->attributes[i].value)) {
			storage_error_set(error, "header is not \"Name: value\"");
			return false;
		}
	}
	if (!good)
		storage_error_set(error, "out of memory");
	return good;
}

static bool setup(struct storage_options *options, void **ret_ctx, struct storage_error *error)
{
	static struct http http;
	const struct storage_url *url = &options->url;
	const char *layout = storage_options_text(options, "layout");
	const char *user = storage_options_text(options, "username");
	const char *password = storage_options_text(options, "password");

	if ((strcmp(url->scheme, "http") != 0 && strcmp(url->scheme, "https") != 0) || !url->host[0] ||
	    url->query[0]) {
		storage_error_set(error, "the URL must be http[s]://host[:port][/path]");
		return false;
	}
	if (layout && strcmp(layout, "subdirs") != 0 && strcmp(layout, "flat") != 0) {
		storage_error_set(error, "layout must be subdirs or flat");
		return false;
	}
	http.url = url->shown;
	http.url_len = strlen(http.url);
	while (http.url[http.url_len - 1] == '/')
		http.url_len--;
	http.flat = layout && strcmp(layout, "flat") == 0;
	http.user = user ? user : url->user;
	http.password = password ? password : url->password;
	http.proxy = storage_options_text(options, "proxy");
	http.ca_file = storage_options_text(options, "ca-file");
	http.connect_timeout = (long)options->connect_timeout;
	http.operation_timeout = options->operation_timeout;
	http.max_value = (size_t)options->max_value_size;
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		storage_error_set(error, "libcurl cannot be set up");
		return false;
	}
	*ret_ctx = &http;
	return set_headers(&http, options, error);
}

int main(int argc, char **argv)
{
	static const struct storage_backend backend = {
		.identity = "ckcache-storage-http " CKCACHE_VERSION,
		.setup = setup,
		.open = open_session,
		.close = close_session,
		.perform = perform,
		.describe = describe,
	};

	return storage_server_main(&backend, argc, argv);
}
