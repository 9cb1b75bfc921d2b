/* SPDX-License-Identifier: MIT */
/*
 * storage_redis: values in Redis, or in what speaks its protocol (Valkey, KeyDB), through
 * hiredis. A value is a string named by a prefix and the key in hex; a claim has
 * "claim:" between the two. Of what a server answers, only the type and the length
 * count, and the first word of an error: the rest may repeat what it was sent.
 *
 *   redis://[[user:]password@]host[:port][/database]    rediss: the same through TLS
 *   redis+unix:/path/to/socket[?db=database]            or redis:///path/to/socket
 *
 * Attributes: key-prefix, ttl (seconds), username, password, database; with TLS: ca-file.
 */
#include <hiredis/hiredis.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "common/env.h"
#ifdef STORAGE_REDIS_TLS
#include "storage/redis_tls.h"
#endif
#include "storage/server.h"

#define DEFAULT_PORT 6379
#define DEFAULT_PREFIX "ckcache:"
#define CLAIM_PREFIX "claim:"
#define MAX_PREFIX 200
#define MAX_DATABASE 1000000
#define SLOW_BYTES_PER_SECOND (1024 * 1024)	/* a large value may take this much longer */
#define REPLY_OVERHEAD 1024			/* of a value, in the reader's memory */
#define KEPT_ROOM ((size_t)1 << 20)		/* of a reply, for the next one */
#define MAX_LINE 4096				/* of what a reply begins with; errors have some hundred bytes */
#define MAX_REPLY ((size_t)32 * 1024)		/* of one that is no value; hiredis reads 16 KiB at once */
#define PIECE ((size_t)64 * 1024)		/* of what is sent at once */

struct redis {
	const char *host, *path;	/* one of them; the other is "" */
	int port;
	const char *user, *password;	/* NULL: none */
	const char *prefix;
	const char *shown;
	char ttl[24], database[24];	/* "": none */
	uint64_t connect_timeout, operation_timeout;	/* milliseconds */
	size_t max_value;
#ifdef STORAGE_REDIS_TLS
	struct storage_redis_tls *tls;	/* NULL: plain */
#endif
};

struct session {
	const struct redis *redis;
	redisContext *context;
	redisReplyObjectFunctions functions;
	/* Of the request: */
	const char *doing;
	struct storage_error *error;
	struct storage_value *value;	/* NULL: the reply is none */
};

/* "prefix[claim:]hex"; its size. */
#define NAME_SIZE (MAX_PREFIX + sizeof(CLAIM_PREFIX) + STORAGE_KEY_HEX_SIZE)

/* The words are borrowed. */
struct command {
	int count;
	struct cmn_view words[7];
};

static void add_word(struct command *command, const char *word)
{
	command->words[command->count++] = cmn_view_of(word);
}

/* The value if it is there, else 1 or 0: whether the claim is the token's. */
static const char claim_script[] =
	"local v = redis.call('GET', KEYS[1]) if v then return v end "
	"if redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end "
	"if redis.call('GET', KEYS[2]) == ARGV[1] then return 1 end return 0";
/* Deletes a claim whose token starts with the helper's. */
static const char release_script[] =
	"local v = redis.call('GET', KEYS[1]) "
	"if v and string.sub(v, 1, #ARGV[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end "
	"return 0";

/* Sentences for the words that errors begin with. */
static const struct {
	const char *word, *sentence;
} refusals[] = {
	{ "OOM", "the server's memory is full" },
	{ "READONLY", "the server is a read-only replica" },
	{ "NOAUTH", "the server wants a password (NOAUTH)" },
	{ "WRONGPASS", "the server refuses this user or password" },
	{ "NOPERM", "the server does not let this user do that" },
	{ "LOADING", "the server is still loading its data" },
	{ "MISCONF", "the server cannot write to its disk" },
	{ "MASTERDOWN", "the server has lost its master" },
	{ "BUSY", "the server runs a long script" },
	{ "WRONGTYPE", "the key is in use for something else" },
	{ "MOVED", "the server is part of a cluster: use a proxy" },
	{ "ASK", "the server is part of a cluster: use a proxy" },
	{ "CLUSTERDOWN", "the server is part of a cluster: use a proxy" },
	{ "CROSSSLOT", "the server is part of a cluster: use a proxy" },
	{ "NOREPLICAS", "the server has too few replicas" },
};

/*
 * What a server that wants a password says of a large value, before it has read it ("bulk length",
 * "multibulk length"); then it closes the connection.
 */
static bool is_early(const char *reply)
{
	const char said[] = "ERR Protocol error: unauthenticated ";

	return strncmp(reply, said, strlen(said)) == 0;
}

static enum storage_result fail(const struct session *session, enum storage_result result,
				const char *why)
{
	storage_error_set(session->error, "%s: %s", session->doing, why);
	return result;
}

/* After an error that the server has sent. */
static enum storage_result refused(const struct session *session, const char *reply)
{
	enum storage_result result = is_early(reply) ? STORAGE_SPOILT : STORAGE_ERR;
	size_t len;

	if (result == STORAGE_SPOILT)
		reply = "NOAUTH";
	len = strspn(reply, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		if (strlen(refusals[i].word) == len && strncmp(refusals[i].word, reply, len) == 0)
			return fail(session, result, refusals[i].sentence);
	}
	storage_error_set(session->error, "%s: the server answers with an error (%.*s)",
			  session->doing, len < 20 ? (int)len : 20, reply);
	return result;
}

static struct timeval interval(uint64_t milliseconds)
{
	return (struct timeval){ (time_t)(milliseconds / 1000), (long)(milliseconds % 1000) * 1000 };
}

/* After a call of hiredis that failed. */
static enum storage_result failed(const struct session *session, int number)
{
	switch (session->context->err) {
	case REDIS_ERR_EOF:
		return fail(session, STORAGE_LOST, "the server closed the connection");
	case REDIS_ERR_PROTOCOL:
		return fail(session, STORAGE_DOWN, "the server does not speak Redis's protocol");
	case REDIS_ERR_OOM:
		return fail(session, STORAGE_DOWN, "out of memory, or a reply of an unknown kind");
	default:
		break;
	}
	if (number == EAGAIN || number == ETIMEDOUT || number == EINPROGRESS)
		return fail(session, STORAGE_DOWN, "the server did not answer in time");
	return fail(session, number == EPIPE || number == ECONNRESET ? STORAGE_LOST : STORAGE_DOWN,
		    number ? storage_error_phrase(number) : "the connection failed");
}

/* After a write that failed: the server may have said why it reads no more. (Without TLS.) */
static enum storage_result write_failed(const struct session *session, int number)
{
	char said[100];
	ssize_t got = recv(session->context->fd, said, sizeof(said) - 1, MSG_DONTWAIT);

	said[got > 0 ? got : 0] = '\0';
	return said[0] == '-' && is_early(said + 1) ? refused(session, said + 1)
						    : failed(session, number);
}

/* No reply that is asked for is an array: a server that sends one would have us make room for it. */
#if HIREDIS_MAJOR >= 1
static void *refuse_array(const redisReadTask *task, size_t count)
#else
static void *refuse_array(const redisReadTask *task, int count)
#endif
{
	(void)task;
	(void)count;
	return NULL;
}

/* hiredis looks for a line's end from its beginning, whenever something comes: for minutes, if there is none. */
static bool has_long_line(const redisReader *reader)
{
	return reader->len - reader->pos > MAX_LINE &&
	       !memchr(reader->buf + reader->pos, '\n', MAX_LINE);
}

/* Of a value that has begun to come: the bytes that it announces. 0: not known. */
static uint64_t announced(const redisReader *reader)
{
	const char *at = reader->buf + reader->pos;	/* ends with a zero byte */
	size_t digits;

	at += *at == '$';
	digits = strspn(at, "0123456789");
	return digits && at[digits] == '\r' ? strtoull(at, NULL, 10) : 0;
}

/* Whether what has come may go on. A value's bytes are there twice when hiredis hands it over. */
static enum storage_result look_at_reply(struct session *session)
{
	const redisReader *reader = session->context->reader;
	const size_t max = session->redis->max_value;

	if (has_long_line(reader) || (!session->value && reader->len > MAX_REPLY))
		return fail(session, STORAGE_DOWN, "the server does not speak Redis's protocol");
	if (!session->value)
		return STORAGE_OK;
	if (reader->len > max + REPLY_OVERHEAD || announced(reader) > max) {
		storage_error_set(session->error, "%s: the value has more than %zu bytes",
				  session->doing, max);
		return STORAGE_SPOILT;
	}
	return storage_value_count(session->value, 2 * reader->len)
		? STORAGE_OK : fail(session, STORAGE_SPOILT, STORAGE_NO_ROOM);
}

static enum storage_result check_time(const struct session *session, uint64_t start, uint64_t bytes)
{
	const uint64_t limit = session->redis->operation_timeout * 1000000 +
			       bytes * (1000000000 / SLOW_BYTES_PER_SECOND);

	return cmn_clock_monotonic() - start > limit ? failed(session, ETIMEDOUT) : STORAGE_OK;
}

/* Sends some bytes, at once if they are many or the last ones. hiredis itself would copy a large value twice. */
static enum storage_result send_bytes(struct session *session, const char *bytes, size_t len, bool last)
{
	const uint64_t start = cmn_clock_monotonic();
	enum storage_result result = STORAGE_OK;
	size_t part;
	int done;

	for (size_t at = 0; at < len && result == STORAGE_OK; at += part) {
		part = len - at < PIECE ? len - at : PIECE;
		errno = 0;
		if (redisAppendFormattedCommand(session->context, bytes + at, part) != REDIS_OK)
			return failed(session, errno);
		done = part < PIECE && !last;
		while (!done && result == STORAGE_OK) {
			if (redisBufferWrite(session->context, &done) != REDIS_OK)
				return write_failed(session, errno);
			result = check_time(session, start, len);
		}
	}
	return result;
}

static enum storage_result send_command(struct session *session, const struct command *command)
{
	char head[32];
	int size = snprintf(head, sizeof(head), "*%d\r\n", command->count);
	enum storage_result result = send_bytes(session, head, (size_t)size, false);

	for (int i = 0; i < command->count && result == STORAGE_OK; i++) {
		const struct cmn_view *word = &command->words[i];

		size = snprintf(head, sizeof(head), "$%zu\r\n", word->len);
		result = send_bytes(session, head, (size_t)size, false);
		if (result == STORAGE_OK)
			result = send_bytes(session, word->data, word->len, false);
		if (result == STORAGE_OK)
			result = send_bytes(session, "\r\n", 2, i == command->count - 1);
	}
	return result;
}

/* Waits for a reply. hiredis has a time-out for each call of the system; a server that sends a byte now and then is dropped here. */
static enum storage_result receive_reply(struct session *session, redisReply **ret)
{
	redisContext *context = session->context;
	const uint64_t start = cmn_clock_monotonic();
	enum storage_result result = STORAGE_OK;
	void *reply = NULL;

	while (!reply) {
		errno = 0;
		if (redisGetReplyFromReader(context, &reply) != REDIS_OK ||
		    (!reply && redisBufferRead(context) != REDIS_OK))
			return failed(session, errno);
		if (!reply)
			result = look_at_reply(session);
		if (!reply && result == STORAGE_OK)
			result = check_time(session, start, context->reader->len);
		if (result != STORAGE_OK)
			return result;
	}
	*ret = reply;
	return STORAGE_OK;
}

/*
 * Whether the server has sent what nobody asked for: it would be taken for the next answer, which
 * is another key's. (TLS has messages of its own.)
 */
static bool has_unasked(const struct session *session)
{
	const redisContext *context = session->context;
	char byte;

	if (context->reader->len != context->reader->pos)
		return true;
#ifdef STORAGE_REDIS_TLS
	if (session->redis->tls)
		return false;
#endif
	return recv(context->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* Sends a command and waits for its reply. */
static enum storage_result ask(struct session *session, const struct command *command, redisReply **ret)
{
	redisReply *reply = NULL;
	enum storage_result result;

	if (has_unasked(session))
		return fail(session, STORAGE_LOST, "the server sends what nobody asked for");
	result = send_command(session, command);
	if (result == STORAGE_OK)
		result = receive_reply(session, &reply);
	if (!reply)
		return result != STORAGE_OK ? result : STORAGE_DOWN;	/* it never is */
	*ret = reply;
	if (reply->type != REDIS_REPLY_ERROR)
		return STORAGE_OK;
	result = refused(session, reply->str);
	freeReplyObject(reply);
	return result;
}

/* For words whose reply does not matter. */
static enum storage_result tell(struct session *session, const char *doing, const struct command *command)
{
	redisReply *reply = NULL;
	enum storage_result result;

	session->doing = doing;
	result = ask(session, command, &reply);
	if (result == STORAGE_OK)
		freeReplyObject(reply);
	return result;
}

static enum storage_result log_in(struct session *session)
{
	const struct redis *redis = session->redis;
	enum storage_result result = STORAGE_OK;
	struct command auth = { 0 }, select = { 0 };

	add_word(&auth, "AUTH");
	if (redis->user)
		add_word(&auth, redis->user);
	add_word(&auth, redis->password);
	add_word(&select, "SELECT");
	add_word(&select, redis->database);
	if (redis->password)
		result = tell(session, "logging in", &auth);
	if (result == STORAGE_OK && redis->database[0])
		result = tell(session, "choosing the database", &select);
	return result;
}

static void close_session(void *ctx)
{
	struct session *session = ctx;

	if (session->context)
		redisFree(session->context);
	free(session);
}

/* What a new connection wants before its first command. */
static enum storage_result prepare(struct session *session)
{
	redisContext *context = session->context;

	(void)fcntl(context->fd, F_SETFD, FD_CLOEXEC);	/* nothing is executed anyway */
	session->functions = *context->reader->fn;
	session->functions.createArray = refuse_array;
	context->reader->fn = &session->functions;
	/* How long a silent server's end goes unnoticed; the operation's time-out is the limit. */
	if (!session->redis->path[0])
		(void)redisEnableKeepAlive(context);
#ifdef STORAGE_REDIS_TLS
	if (session->redis->tls &&
	    !storage_redis_tls_begin(session->redis->tls, context, session->redis->host))
		return fail(session, STORAGE_DOWN, "no TLS, or the certificate is not good");
#endif
	return log_in(session);
}

static enum storage_result open_session(void *ctx, void **ret_session, struct storage_error *error)
{
	const struct redis *redis = ctx;
	struct session *session = calloc(1, sizeof(*session));
	const struct timeval connect = interval(redis->connect_timeout);
	enum storage_result result;

	if (!session) {
		storage_error_set(error, "out of memory");
		return STORAGE_ERR;
	}
	session->redis = redis;
	session->doing = "connecting";
	session->error = error;
	errno = 0;
	session->context = redis->path[0] ? redisConnectUnixWithTimeout(redis->path, connect)
					  : redisConnectWithTimeout(redis->host, redis->port, connect);
	if (!session->context) {
		storage_error_set(error, "out of memory");
		result = STORAGE_ERR;
	} else if (session->context->err && session->context->err != REDIS_ERR_IO) {
		result = fail(session, STORAGE_DOWN, "the server's address is not known");
	} else if (session->context->err ||
		   redisSetTimeout(session->context, interval(redis->operation_timeout)) != REDIS_OK) {
		result = failed(session, errno);
	} else {
		result = prepare(session);
	}
	if (result == STORAGE_OK)
		*ret_session = session;
	else
		close_session(session);
	return result;
}

static void make_name(const struct session *session, const char *kind, struct cmn_view key,
		      char ret_name[NAME_SIZE])
{
	char hex[STORAGE_KEY_HEX_SIZE];

	cmn_hex(key.data, key.len, hex);
	(void)snprintf(ret_name, NAME_SIZE, "%s%s%s", session->redis->prefix, kind, hex);
}

/* hiredis keeps the room that a large reply took until the next one comes. */
static void give_room_back(struct session *session)
{
	redisContext *context = session->context;
	redisReader *reader = context->reader->len == context->reader->pos ? redisReaderCreate() : NULL;

	if (!reader)
		return;
	reader->fn = &session->functions;
	redisReaderFree(context->reader);
	context->reader = reader;
}

static enum storage_result take_value(struct session *session, redisReply *reply)
{
	struct storage_value *value = session->value;

	if (reply->len > KEPT_ROOM)
		give_room_back(session);
	if (reply->len > session->redis->max_value || !storage_value_count(value, reply->len))
		return fail(session, STORAGE_ERR, "the value is too large");
	/* hiredis takes memory from malloc, as the buffer does, unless it is told otherwise. */
	cmn_buffer_release(&value->bytes);
	value->bytes = (struct cmn_buffer){ .data = (uint8_t *)reply->str, .len = reply->len,
					    .cap = reply->len };
	reply->str = NULL;
	return STORAGE_OK;
}

/* What the request's command answers with. Any other reply is none of its. */
static enum storage_result take_reply(struct session *session, struct storage_request *request,
				      redisReply *reply)
{
	const enum storage_verb verb = request->verb;

	if (reply->type == REDIS_REPLY_STRING && session->value)
		return take_value(session, reply);
	if (reply->type == REDIS_REPLY_NIL &&
	    (verb == STORAGE_GET || (verb == STORAGE_PUT && !request->overwrite)))
		return STORAGE_NOOP;
	if (reply->type == REDIS_REPLY_STATUS && verb == STORAGE_PUT)
		return STORAGE_OK;
	if (reply->type != REDIS_REPLY_INTEGER || verb == STORAGE_GET || verb == STORAGE_PUT)
		return fail(session, STORAGE_DOWN, "the server answers with a wrong type");
	request->ret_flag = reply->integer > 0;
	if (verb == STORAGE_EXISTS)
		return STORAGE_OK;
	return verb == STORAGE_CLAIM || !request->ret_flag ? STORAGE_NOOP : STORAGE_OK;
}

static enum storage_result perform(void *ctx, struct storage_request *request)
{
	static const char *const simple[] = {
		[STORAGE_GET] = "GET", [STORAGE_PUT] = "SET", [STORAGE_REMOVE] = "DEL",
		[STORAGE_EXISTS] = "EXISTS",
	};
	struct session *session = ctx;
	char name[NAME_SIZE], claim_name[NAME_SIZE], milliseconds[24];
	bool claims = request->verb == STORAGE_CLAIM;
	struct command command = { 0 };
	redisReply *reply = NULL;
	enum storage_result result;

	session->doing = request->doing;
	session->error = &request->error;
	session->value = request->ret_value;
	make_name(session, "", request->key, name);
	make_name(session, CLAIM_PREFIX, request->key, claim_name);
	/* Redis wants a positive number, and adds the time of day to it. */
	(void)snprintf(milliseconds, sizeof(milliseconds), "%" PRIu64,
		       !request->ttl ? 1 : request->ttl < UINT32_MAX ? request->ttl : UINT32_MAX);
	if (claims || request->verb == STORAGE_RELEASE) {
		add_word(&command, "EVAL");
		add_word(&command, claims ? claim_script : release_script);
		add_word(&command, claims ? "2" : "1");
		if (claims)
			add_word(&command, name);
		add_word(&command, claim_name);
		add_word(&command, request->token);
		if (claims)
			add_word(&command, milliseconds);
	} else {
		add_word(&command, simple[request->verb]);
		add_word(&command, name);
	}
	if (request->verb == STORAGE_PUT) {
		command.words[command.count++] = request->value;
		if (session->redis->ttl[0]) {
			add_word(&command, "EX");
			add_word(&command, session->redis->ttl);
		}
		if (!request->overwrite)
			add_word(&command, "NX");
	}
	result = ask(session, &command, &reply);
	if (result == STORAGE_OK) {
		result = take_reply(session, request, reply);
		freeReplyObject(reply);
	}
	return result;
}

static void describe(void *ctx, struct storage_error *ret_line)
{
	const struct redis *redis = ctx;

	storage_error_set(ret_line, "%s, keys %s*, hiredis %d.%d.%d", redis->shown, redis->prefix,
			  HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH);
}

/* Where the server is: host and port, or a socket; which database the URL names. */
static bool read_place(struct redis *redis, struct storage_options *options, uint64_t *database,
		       struct storage_error *error)
{
	const struct storage_url *url = &options->url;
	const char *number = "";

	redis->host = url->host;
	redis->port = url->port ? (int)url->port : DEFAULT_PORT;
	redis->path = "";
	if (strcmp(url->scheme, "redis+unix") == 0 || !url->host[0]) {
		redis->path = url->path;
		number = strncmp(url->query, "db=", 3) == 0 ? url->query + 3 : url->query;
		if (url->path[0] != '/' || !url->path[1]) {
			storage_error_set(error, "the URL names neither a host nor a socket");
			return false;
		}
	} else if (url->path[0]) {
		number = url->path + 1;
	}
	if (number[0] && cmn_env_parse_number(number, 0, MAX_DATABASE, database) != CMN_OK) {
		storage_error_set(error, "the URL's database must be a number");
		return false;
	}
	return true;
}

static bool set_up_tls(struct redis *redis, struct storage_options *options,
		       struct storage_error *error)
{
	const char *scheme = options->url.scheme;

	if (strcmp(scheme, "redis") == 0 || strcmp(scheme, "redis+unix") == 0)
		return true;
	if (strcmp(scheme, "rediss") != 0) {
		storage_error_set(error, "%.40s: URLs are redis://, rediss:// and redis+unix:", scheme);
		return false;
	}
#ifdef STORAGE_REDIS_TLS
	if (redis->path[0]) {
		storage_error_set(error, "rediss: the URL must name a host");
		return false;
	}
	redis->tls = storage_redis_tls_new(storage_options_text(options, "ca-file"));
	if (redis->tls)
		return true;
	storage_error_set(error, "rediss: ca-file cannot be read, or TLS not be set up");
#else
	(void)redis;
	storage_error_set(error, "rediss: this build has no TLS, since its hiredis has none");
#endif
	return false;
}

static bool setup(struct storage_options *options, void **ret_ctx, struct storage_error *error)
{
	static struct redis redis;
	const char *prefix = storage_options_text(options, "key-prefix");
	const char *user = storage_options_text(options, "username");
	const char *password = storage_options_text(options, "password");
	uint64_t ttl = 0, database = 0;

	redis.prefix = prefix ? prefix : DEFAULT_PREFIX;
	redis.shown = options->url.shown;
	redis.connect_timeout = options->connect_timeout;
	redis.operation_timeout = options->operation_timeout;
	redis.max_value = (size_t)options->max_value_size;
	/* As in ccache: what stands alone before the "@" is the password. */
	redis.password = options->url.password ? options->url.password : options->url.user;
	redis.user = options->url.password ? options->url.user : NULL;
	redis.password = password ? password : redis.password;
	redis.user = user ? user : redis.user;
	if (redis.user && !redis.user[0])
		redis.user = NULL;
	if (strlen(redis.prefix) > MAX_PREFIX) {
		storage_error_set(error, "key-prefix has more than %d bytes", MAX_PREFIX);
		return false;
	}
	if (!read_place(&redis, options, &database, error) ||
	    !storage_options_number(options, "database", 0, MAX_DATABASE, &database, error) ||
	    !storage_options_number(options, "ttl", 1, UINT32_MAX, &ttl, error) ||
	    !set_up_tls(&redis, options, error))
		return false;
	if (ttl)
		(void)snprintf(redis.ttl, sizeof(redis.ttl), "%" PRIu64, ttl);
	if (database)
		(void)snprintf(redis.database, sizeof(redis.database), "%" PRIu64, database);
	*ret_ctx = &redis;
	return true;
}

int main(int argc, char **argv)
{
	static const struct storage_backend backend = {
		.identity = "ckcache-storage-redis " CKCACHE_VERSION,
		.setup = setup,
		.open = open_session,
		.close = close_session,
		.has_claims = true,
		.perform = perform,
		.describe = describe,
	};

	return storage_server_main(&backend, argc, argv);
}
