/* SPDX-License-Identifier: MIT */
/*
 * connection: the protocol. Lengths that a client states are never believed:
 * memory grows with the bytes that arrive.
 */
#include "storage/service.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>


#define CHUNK ((size_t)64 * 1024)	/* by which a value's memory begins to grow */

enum { VERSION = 1 };
enum { OK = 0, NOOP = 1, ERR = 2 };
enum { CAN_GET_PUT_REMOVE = 0, CAN_INFO = 1, CAN_EXISTS = 2, CAN_CLAIM = 0x80 };
enum { STOP = 3, INFO = 4 };	/* beside those with a key */
enum { OVERWRITE = 1 };

struct storage_connection {
	struct storage_service *service;
	int fd;
	size_t at, len;			/* what is unread of in */
	unsigned char in[4096];
	unsigned char key[STORAGE_KEY_MAX];
	struct storage_value value;
};

struct storage_connection *storage_connection_new(struct storage_service *service, int fd)
{
	struct storage_connection *connection = calloc(1, sizeof(*connection));

	if (connection) {
		connection->service = service;
		connection->fd = fd;
		connection->value.room = &service->room;
	}
	return connection;
}

/* What has arrived, at least one byte. false: the client left or stalls. */
static bool receive(struct storage_connection *connection, void *to, size_t max, size_t *ret)
{
	ssize_t got;

	do {
		got = recv(connection->fd, to, max, 0);
	} while (got < 0 && errno == EINTR);
	if (got <= 0)
		return false;
	storage_service_touch(connection->service);
	*ret = (size_t)got;
	return true;
}

/* Bytes of the request; to NULL: drops them. */
static bool take(struct storage_connection *connection, void *to, uint64_t len)
{
	unsigned char *next = to;

	while (len) {
		size_t part = connection->len - connection->at;

		if (!part) {
			connection->at = 0;
			connection->len = 0;
			if (!receive(connection, connection->in, sizeof(connection->in),
				     &connection->len))
				return false;
			continue;
		}
		part = part < len ? part : (size_t)len;
		if (next) {
			memcpy(next, connection->in + connection->at, part);
			next += part;
		}
		connection->at += part;
		len -= part;
	}
	return true;
}

/* false: the client left. *ret_fits false: what it sends was dropped, for there is no memory for it now. */
static bool take_value(struct storage_connection *connection, uint64_t len, bool *ret_fits)
{
	struct cmn_buffer *bytes = &connection->value.bytes;

	*ret_fits = true;
	bytes->len = 0;
	while (bytes->len < len) {
		size_t left = (size_t)len - bytes->len, part = connection->len - connection->at;
		uint8_t *to;

		*ret_fits = storage_value_reserve(&connection->value, left < CHUNK ? left : CHUNK,
						  (size_t)len);
		if (!*ret_fits) {
			storage_value_end(&connection->value);
			return take(connection, NULL, left);
		}
		to = bytes->data + bytes->len;
		left = bytes->cap - bytes->len < left ? bytes->cap - bytes->len : left;
		part = part < left ? part : left;
		if (part ? !take(connection, to, part) : !receive(connection, to, left, &part))
			return false;
		bytes->len += part;
	}
	return true;
}

/* A head and a body. false: the client left, or does not read. */
static bool answer(struct storage_connection *connection, const void *head, size_t head_len,
		   const void *body, size_t body_len)
{
	struct iovec parts[2] = { { (void *)head, head_len }, { (void *)body, body_len } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

	while (parts[0].iov_len + parts[1].iov_len) {	/* an empty one may be NULL */
		ssize_t sent = sendmsg(connection->fd, &message, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return false;
		for (int i = 0; i < 2; i++) {
			size_t part = (size_t)sent < parts[i].iov_len ? (size_t)sent : parts[i].iov_len;

			if (part)
				parts[i].iov_base = (char *)parts[i].iov_base + part;
			parts[i].iov_len -= part;
			sent -= (ssize_t)part;
		}
	}
	storage_service_touch(connection->service);
	return true;
}

static bool answer_bytes(struct storage_connection *connection, const void *bytes, size_t len)
{
	return answer(connection, bytes, len, NULL, 0);
}

static bool answer_error(struct storage_connection *connection, const struct storage_error *error)
{
	unsigned char head[2] = { ERR, (unsigned char)strlen(error->text) };

	return answer(connection, head, sizeof(head), error->text, head[1]);
}

static bool answer_value(struct storage_connection *connection)
{
	const struct cmn_buffer *value = &connection->value.bytes;
	uint64_t len = value->len;
	unsigned char head[1 + sizeof(len)] = { OK };

	memcpy(head + 1, &len, sizeof(len));	/* the host's byte order */
	return answer(connection, head, sizeof(head), value->data, value->len);
}

static void append_message(struct cmn_buffer *buf, const char *text)
{
	cmn_buffer_append_u8(buf, (uint8_t)strlen(text));
	cmn_buffer_append_text(buf, text);
}

static bool answer_info(struct storage_connection *connection)
{
	struct cmn_buffer head = { 0 }, lines = { 0 };
	struct storage_error line;
	unsigned char count = 0;
	bool good;

	while (count < UINT8_MAX && storage_service_describe(connection->service, count, &line)) {
		append_message(&lines, line.text);
		count++;
	}
	append_message(&head, connection->service->backend->identity);
	cmn_buffer_append_u8(&head, count);
	good = !head.failed && !lines.failed &&
	       answer(connection, head.data, head.len, lines.data, lines.len);
	cmn_buffer_release(&head);
	cmn_buffer_release(&lines);
	return good;
}

/* Does the request and answers it. */
static bool perform(struct storage_connection *connection, struct storage_request *request)
{
	enum storage_result result = storage_service_do(connection->service, request);
	unsigned char bytes[2] = { OK };

	if (result == STORAGE_ERR)
		return answer_error(connection, &request->error);
	bytes[0] = result == STORAGE_OK ? OK : NOOP;
	bytes[1] = request->ret_flag;
	if (request->ret_value && result == STORAGE_OK)
		return answer_value(connection);
	return answer_bytes(connection, bytes, request->verb == STORAGE_EXISTS ||
					       request->verb == STORAGE_CLAIM ? 2 : 1);
}

static bool take_key(struct storage_connection *connection, struct cmn_view *ret)
{
	unsigned char len;

	*ret = (struct cmn_view){ connection->key, 0 };
	if (!take(connection, &len, 1) || !take(connection, connection->key, len))
		return false;
	ret->len = len;
	return true;
}

static bool serve_put(struct storage_connection *connection, struct storage_request *request)
{
	const uint64_t max = connection->service->options->max_value_size;
	unsigned char flags;
	uint64_t len;
	bool fits;

	if (!take(connection, &flags, 1) || !take(connection, &len, sizeof(len)))
		return false;
	if (len > max) {
		if (!take(connection, NULL, len))
			return false;
		storage_error_set(&request->error, "the value has more than %llu bytes",
				  (unsigned long long)max);
		return answer_error(connection, &request->error);
	}
	if (!take_value(connection, len, &fits))
		return false;
	if (!fits) {
		storage_error_set(&request->error, "put: " STORAGE_NO_ROOM);
		return answer_error(connection, &request->error);
	}
	request->overwrite = flags & OVERWRITE;
	request->value = cmn_buffer_view(&connection->value.bytes);
	/* The next value is another helper's to store. */
	return perform(connection, request) && !atomic_load(&connection->service->retired);
}

/* false: the connection ends. */
static bool serve_key_request(struct storage_connection *connection, enum storage_verb verb,
			      const char *doing)
{
	struct storage_request request = { .verb = verb, .doing = doing };

	if (!take_key(connection, &request.key))
		return false;
	if (verb == STORAGE_PUT)
		return serve_put(connection, &request);
	if (verb == STORAGE_CLAIM && !take(connection, &request.ttl, sizeof(request.ttl)))
		return false;
	if (verb == STORAGE_CLAIM || verb == STORAGE_GET)
		request.ret_value = &connection->value;
	return perform(connection, &request);
}

static bool serve_request(struct storage_connection *connection)
{
	static const struct {
		enum storage_verb verb;
		const char *doing;
	} verbs[] = {
		{ STORAGE_GET, "get" }, { STORAGE_PUT, "put" }, { STORAGE_REMOVE, "remove" },
		{ STORAGE_EXISTS, "exists" }, { STORAGE_CLAIM, "claim" }, { STORAGE_RELEASE, "release" },
	};
	/* The last two are for claims. */
	const size_t count = connection->service->backend->has_claims ? 6 : 4;
	static const unsigned char ok = OK;
	struct storage_error error;
	unsigned char type;

	if (!take(connection, &type, 1))
		return false;
	if (type == STOP) {
		(void)answer_bytes(connection, &ok, 1);	/* the client may not wait for it */
		connection->service->end();
		return false;
	}
	if (type == INFO)
		return answer_info(connection);
	for (size_t i = 0; i < count; i++) {
		if (type == verbs[i].verb)
			return serve_key_request(connection, verbs[i].verb, verbs[i].doing);
	}
	/* Where the next request begins is not known. */
	storage_error_set(&error, "unknown request 0x%02x", type);
	(void)answer_error(connection, &error);
	return false;
}

/* Between requests a client may be silent for as long as it likes. */
static bool wait_for_request(struct storage_connection *connection)
{
	struct pollfd wanted = { .fd = connection->fd, .events = POLLIN };

	if (connection->at < connection->len)
		return true;
	while (poll(&wanted, 1, -1) < 0) {
		if (errno != EINTR)
			return false;
	}
	return true;
}

void *storage_connection_serve(void *ctx)
{
	struct storage_connection *connection = ctx;
	struct storage_service *service = connection->service;
	const uint64_t timeout = service->options->request_timeout;
	const struct timeval wait = { (time_t)(timeout / 1000), (long)(timeout % 1000) * 1000 };
	const unsigned char greeting[] = { VERSION, service->backend->has_claims ? 4 : 3,
					   CAN_GET_PUT_REMOVE, CAN_INFO, CAN_EXISTS, CAN_CLAIM };
	bool good = setsockopt(connection->fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) == 0 &&
		    setsockopt(connection->fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) == 0 &&
		    answer_bytes(connection, greeting, 2U + greeting[1]);

	while (good && wait_for_request(connection)) {
		atomic_fetch_add(&service->busy, 1);
		good = serve_request(connection);
		atomic_fetch_sub(&service->busy, 1);
		storage_value_end(&connection->value);
	}
	(void)close(connection->fd);	/* all is sent that could be */
	cmn_buffer_release(&connection->value.bytes);
	free(connection);
	atomic_fetch_sub(&service->clients, 1);
	(void)eventfd_write(service->departures, 1);	/* fails if it is readable anyway */
	return NULL;
}
