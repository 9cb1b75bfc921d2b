/* SPDX-License-Identifier: MIT */
/* helper: what is sent, what is taken, how long it may take, and what becomes of the descriptor. */
#include "cachecore/remote/helper.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"
#include "tests/unit/cachecore/remote/fake_helper.h"

#define MS UINT64_C(1000000)
#define PLENTY_NS (60000 * MS)
#define SHORT_NS (10 * MS)
#define SLACK_NS (30000 * MS)		/* of a busy machine */
#define BIG ((size_t)5 << 20)		/* more than any socket buffers */
#define NOBODY 54321

/* Whose process listens, as the kernel says; -1: the truth; -2: it cannot be asked. */
static int peer = -1;
WRAPPED(int, getsockopt, (int fd, int level, int name, void *value, socklen_t *len))
{
	int result = __real_getsockopt(fd, level, name, value, len);

	if (peer >= 0)
		((struct ucred *)value)->uid = (uid_t)peer;
	return peer == -2 ? -1 : result;
}

static int socket_error;
WRAPPED(int, socket, (int domain, int type, int protocol))
{
	errno = socket_error;
	return socket_error ? -1 : __real_socket(domain, type, protocol);
}

static bool no_memory;
WRAPPED(void *, realloc, (void *old, size_t size))
{
	return no_memory ? NULL : __real_realloc(old, size);
}

/* A connection on which a byte comes or goes at each call, for ever; and calls for that after a deadline. */
static bool trickles, receive_trickles;
static atomic_int taken;		/* pieces that were received */
static uint64_t trickle_deadline;
static unsigned int late_calls;
static int receive_error;		/* of the next call, once */
static ssize_t trickle(void)
{
	late_calls += cmn_clock_monotonic() >= trickle_deadline;
	return 1;
}

WRAPPED(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags))
{
	return trickles && message->msg_iov->iov_len ? trickle() : __real_sendmsg(fd, message, flags);
}

/* Not where the fake is: that wants all of it. */
WRAPPED(ssize_t, recv, (int fd, void *data, size_t len, int flags))
{
	if (!(flags & MSG_DONTWAIT))
		return __real_recv(fd, data, len, flags);
	if (receive_error) {
		errno = receive_error;
		receive_error = 0;
		return -1;
	}
	if (!trickles && !receive_trickles) {
		ssize_t got = __real_recv(fd, data, len, flags);

		atomic_fetch_add(&taken, got > 0);
		return got;
	}
	/* An answer that is a long value, whose length has a size_t. */
	*(uint8_t *)data = len > (sizeof(size_t) > 4 ? 1 : 4);
	return trickle();
}

static char path[200];
static struct fake fake;

BEFORE_EACH
{
	(void)snprintf(path, sizeof(path), "%s/sock", unit_dir());
	fake = (struct fake){ 0 };
}

AFTER_EACH
{
	peer = -1;
	socket_error = 0;
	no_memory = trickles = false;
	receive_error = 0;
}

/* Lengths and times have this machine's order. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LENGTH(byte) byte "\0\0\0\0\0\0\0"
#define TIME "\x44\x33\x22\x11\0\0\0\0"
#define GIB { 0, 0, 0, 0, 64 }
#else
#define LENGTH(byte) "\0\0\0\0\0\0\0" byte
#define TIME "\0\0\0\0\x11\x22\x33\x44"
#define GIB { 0, 0, 0, 0, 0, 64 }
#endif

static const uint8_t greeting[] = { 1, 3, 0x00, 0x01, 0x80 };

/* A helper that says what it has been told to, and then goes or stays. */
struct canned {
	const void *greeting, *answer;
	size_t greeting_len, answer_len;
	size_t request_len;	/* what it reads before it answers */
	size_t limit;		/* of what it says in all */
	bool stays;
	uint8_t request[1024];
	size_t more;		/* bytes of requests after that, if it stays */
};

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void serve_canned(struct fake *me, int fd)
{
	struct canned *canned = me->ctx;
	size_t first = least(canned->limit, canned->greeting_len);

	(void)fake_write(fd, canned->greeting, first);	/* it may not be wanted */
	if (canned->limit >= canned->greeting_len && fake_read(fd, canned->request, canned->request_len))
		(void)fake_write(fd, canned->answer, least(canned->limit - first, canned->answer_len));
	for (uint8_t byte; canned->stays && fake_read(fd, &byte, 1);)
		canned->more++;
}

static enum cmn_status connect_now(uint64_t timeout_ns, struct cc_helper *ret)
{
	return cc_helper_connect(path, cmn_clock_deadline(timeout_ns), ret);
}

static struct cc_helper connect_well(void)
{
	struct cc_helper helper;

	CU_ASSERT_EQUAL_FATAL(connect_now(PLENTY_NS, &helper), CMN_OK);
	return helper;
}

/* Of a test with one helper, which says that. */
static struct cc_helper begin(struct canned *canned)
{
	fake_start(&fake, path, serve_canned, canned);
	return connect_well();
}

static void end(struct cc_helper *helper)
{
	cc_helper_close(helper);
	fake_stop(&fake);
}

/* What connecting to one ends with that greets so and then stays; the result's fd is closed. */
static enum cmn_status greeted_by(const void *bytes, size_t len, struct cc_helper *ret)
{
	struct canned canned = { .greeting = bytes, .greeting_len = len, .limit = len, .stays = true,
				 .request_len = 1 };
	enum cmn_status status;

	fake_start(&fake, path, serve_canned, &canned);
	status = connect_now(PLENTY_NS, ret);
	CU_ASSERT_EQUAL(ret->fd < 0, status != CMN_OK);
	cc_helper_close(ret);
	CU_ASSERT_EQUAL(ret->fd, -1);
	cc_helper_close(ret);
	fake_stop(&fake);
	return status;
}

TEST(a_greeting_says_what_the_helper_can)
{
	uint8_t all[257] = { 1, 255 };
	struct cc_helper helper;

	CU_ASSERT_EQUAL(greeted_by("\1\1\0", 3, &helper), CMN_OK);
	CU_ASSERT(!helper.has_info && !helper.has_claims);
	CU_ASSERT_EQUAL(greeted_by("\1\2\0\1", 4, &helper), CMN_OK);
	CU_ASSERT(helper.has_info && !helper.has_claims);
	CU_ASSERT_EQUAL(greeted_by("\1\2\x80\0", 4, &helper), CMN_OK);
	CU_ASSERT(!helper.has_info && helper.has_claims);
	CU_ASSERT_EQUAL(greeted_by(greeting, sizeof(greeting), &helper), CMN_OK);
	CU_ASSERT(helper.has_info && helper.has_claims);
	for (size_t i = 2; i < sizeof(all) - 1; i++)
		all[i] = 0x7f;
	CU_ASSERT_EQUAL(greeted_by(all, sizeof(all), &helper), CMN_OK);
	CU_ASSERT(!helper.has_info && !helper.has_claims);
	CU_ASSERT_STRING_EQUAL(helper.message, "");
}

TEST(another_protocol_is_not_spoken)
{
	struct cc_helper helper;

	CU_ASSERT_EQUAL(greeted_by("\0\1\0", 3, &helper), CMN_ERR_VERSION);
	CU_ASSERT_EQUAL(greeted_by("\2\1\0", 3, &helper), CMN_ERR_VERSION);
	CU_ASSERT_EQUAL(greeted_by("\377\377", 2, &helper), CMN_ERR_VERSION);
	CU_ASSERT_EQUAL(greeted_by("\1\0", 2, &helper), CMN_ERR_VERSION);
	CU_ASSERT_EQUAL(greeted_by("\1\3\1\x80\2", 5, &helper), CMN_ERR_VERSION);
	CU_ASSERT_EQUAL(greeted_by("HTTP/1.1 400 Bad Request", 24, &helper), CMN_ERR_VERSION);
}

static void bind_socket(int type)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	memcpy(address.sun_path, path, strlen(path));
	CU_ASSERT_EQUAL_FATAL(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	if (type == SOCK_STREAM) {
		(void)close(fd);
		return;
	}
	peer = fd;
}

TEST(where_nobody_listens_is_none)
{
	char longer[300];
	struct cc_helper helper;

	CU_ASSERT_EQUAL(connect_now(PLENTY_NS, &helper), CMN_MISS);
	CU_ASSERT_EQUAL(helper.fd, -1);
	bind_socket(SOCK_STREAM);	/* whoever listened has died */
	CU_ASSERT_EQUAL(connect_now(PLENTY_NS, &helper), CMN_MISS);
	CU_ASSERT_EQUAL(unlink(path), 0);
	unit_write("sock", "");
	CU_ASSERT_EQUAL(connect_now(PLENTY_NS, &helper), CMN_MISS);
	(void)snprintf(longer, sizeof(longer), "%s/x", path);
	CU_ASSERT_EQUAL(cc_helper_connect(longer, cmn_clock_deadline(PLENTY_NS), &helper), CMN_MISS);
	CU_ASSERT_EQUAL(unlink(path), 0);
	bind_socket(SOCK_DGRAM);
	(void)close(peer);
	peer = -1;
	CU_ASSERT(connect_now(PLENTY_NS, &helper) != CMN_OK);
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(((struct sockaddr_un *)0)->sun_path)] = '\0';
	CU_ASSERT_EQUAL(cc_helper_connect(longer, 0, &helper), CMN_ERR_INVALID);
	CU_ASSERT_EQUAL(helper.fd, -1);
	longer[sizeof(((struct sockaddr_un *)0)->sun_path) - 1] = '\0';
	CU_ASSERT_EQUAL(cc_helper_connect(longer, 0, &helper), CMN_MISS);
}

TEST(only_this_users_or_the_superusers_process_is_talked_to)
{
	struct cc_helper helper;

	peer = NOBODY;
	CU_ASSERT_EQUAL(greeted_by(greeting, sizeof(greeting), &helper), CMN_ERR_ACCESS);
	peer = -2;
	CU_ASSERT_EQUAL(greeted_by(greeting, sizeof(greeting), &helper), CMN_ERR_ACCESS);
	peer = 0;
	CU_ASSERT_EQUAL(greeted_by(greeting, sizeof(greeting), &helper), CMN_OK);
	peer = (int)geteuid();
	CU_ASSERT_EQUAL(greeted_by(greeting, sizeof(greeting), &helper), CMN_OK);
}

TEST(without_a_socket_there_is_none)
{
	struct canned canned = { .greeting = greeting, .greeting_len = sizeof(greeting), .limit = 5 };
	struct cc_helper helper;

	fake_start(&fake, path, serve_canned, &canned);
	socket_error = EMFILE;
	CU_ASSERT_EQUAL(connect_now(PLENTY_NS, &helper), CMN_ERR_IO);
	CU_ASSERT(helper.lost);	/* which is not the helper's fault */
	socket_error = ENOMEM;
	CU_ASSERT_EQUAL(connect_now(PLENTY_NS, &helper), CMN_ERR_NOMEM);
	CU_ASSERT_EQUAL(helper.fd, -1);
	socket_error = 0;
	fake_stop(&fake);
}

/* Connections that nobody accepts; how many. */
static int fill_queue(int fds[16])
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int count = 0, error = 0;

	memcpy(address.sun_path, path, strlen(path));
	while (count < 16 && error == 0) {
		fds[count] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		error = connect(fds[count], (const struct sockaddr *)&address, sizeof(address));
		count++;
	}
	return count;
}

TEST(a_helper_with_too_many_waiting_is_tried_again)
{
	struct canned canned = { .greeting = greeting, .greeting_len = sizeof(greeting), .limit = 5 };
	struct cc_helper helper;
	uint64_t start;
	int fds[16], count;

	fake_listen(&fake, path, 0);
	count = fill_queue(fds);
	start = cmn_clock_monotonic();
	CU_ASSERT_EQUAL(connect_now(SHORT_NS, &helper), CMN_BUSY);
	CU_ASSERT(cmn_clock_monotonic() - start < SHORT_NS + SLACK_NS);
	CU_ASSERT(cmn_clock_monotonic() - start >= SHORT_NS);
	fake_serve(&fake, serve_canned, &canned);
	CU_ASSERT_EQUAL(connect_now(PLENTY_NS, &helper), CMN_OK);
	end(&helper);
	while (count--)
		(void)close(fds[count]);
}

/* Every request, by the key "key" and, where there is one, the value "value". */
enum op { GET, CLAIM, PUT, REMOVE, RELEASE, INFO, OPS };
static const struct {
	const char *request;
	size_t request_len;
	const char *answer;	/* a good one */
	size_t answer_len;
	enum cmn_status status;	/* what that means */
} ops[OPS] = {
	[GET] = { "\0\3key", 5, "\0" LENGTH("\5") "value", 14, CMN_OK },
	[CLAIM] = { "\x80\3key" TIME, 13, "\1\1", 2, CMN_MISS },
	[PUT] = { "\1\3key\1" LENGTH("\5") "value", 19, "\0", 1, CMN_OK },
	[REMOVE] = { "\2\3key", 5, "\0", 1, CMN_OK },
	[RELEASE] = { "\x81\3key", 5, "\0", 1, CMN_OK },
	[INFO] = { "\4", 1, "\2id\2\0\3one", 9, CMN_OK },
};

static enum cmn_status get_or_claim(struct cc_helper *helper, struct cmn_view key, size_t max,
				    struct cmn_buffer *ret, bool *ret_claimed)
{
	uint64_t len = 0;
	enum cmn_status status = cc_helper_ask_or_claim(helper, key, 0x11223344, &len, ret_claimed);

	if (status == CMN_OK && len > max)
		return CMN_ERR_TOO_LARGE;
	return status == CMN_OK ? cc_helper_read(helper, (size_t)len, ret) : status;
}

static enum cmn_status ask(enum op op, struct cc_helper *helper, size_t max, struct cmn_buffer *ret,
			   bool *ret_claimed)
{
	const struct cmn_view key = cmn_view_of("key");
	const struct cmn_view views[] = { cmn_view_of("va"), cmn_view_of(""), cmn_view_of("lue") };

	switch (op) {
	case GET:
		return cc_helper_get(helper, key, max, ret);
	case CLAIM:
		return get_or_claim(helper, key, max, ret, ret_claimed);
	case PUT:
		return cc_helper_put(helper, key, views, 3);
	case REMOVE:
		return cc_helper_remove(helper, key);
	case RELEASE:
		return cc_helper_release(helper, key);
	case INFO:
		return cc_helper_info(helper, ret);
	case OPS:
		break;
	}
	return CMN_ERR_INVALID;
}

struct outcome {
	enum cmn_status status;
	struct cmn_buffer value;
	bool claimed;
	char message[CC_HELPER_MESSAGE_SIZE];
	uint8_t request[1024];
	size_t more;
};

/* Asks one that answers so, at most limit bytes of it, and then goes or stays. timeout_ns: of the request. */
static struct outcome ask_limited(enum op op, const void *answer, size_t len, size_t limit, bool stays,
				  uint64_t timeout_ns, size_t max)
{
	struct canned canned = {
		.greeting = greeting, .greeting_len = sizeof(greeting),
		.answer = answer, .answer_len = len, .request_len = ops[op].request_len,
		.limit = sizeof(greeting) + limit, .stays = stays,
	};
	struct outcome outcome = { .claimed = true };
	struct cc_helper helper;

	helper = begin(&canned);
	helper.deadline = cmn_clock_deadline(timeout_ns);
	outcome.status = ask(op, &helper, max, &outcome.value, &outcome.claimed);
	memcpy(outcome.message, helper.message, sizeof(outcome.message));
	end(&helper);
	memcpy(outcome.request, canned.request, sizeof(outcome.request));
	outcome.more = canned.more;
	return outcome;
}

static struct outcome ask_one(enum op op, const void *answer, size_t len)
{
	return ask_limited(op, answer, len, len, true, PLENTY_NS, 1000);
}

static enum cmn_status status_of(struct outcome outcome)
{
	cmn_buffer_release(&outcome.value);
	return outcome.status;
}

static bool has_value(struct outcome *outcome, const char *text)
{
	bool right = cmn_view_equal(cmn_buffer_view(&outcome->value), cmn_view_of(text));

	cmn_buffer_release(&outcome->value);
	return right;
}

TEST(requests_are_those_of_the_protocol)
{
	for (enum op op = GET; op < OPS; op++) {
		struct outcome outcome = ask_one(op, ops[op].answer, ops[op].answer_len);

		CU_ASSERT_EQUAL(outcome.status, ops[op].status);
		CU_ASSERT_EQUAL(memcmp(outcome.request, ops[op].request, ops[op].request_len), 0);
		CU_ASSERT_EQUAL(outcome.more, 0);
		CU_ASSERT_STRING_EQUAL(outcome.message, "");
		CU_ASSERT(has_value(&outcome, op == GET ? "value" : op == INFO ? "id\n\none\n" : ""));
	}
}

TEST(a_claim_is_the_callers_or_anothers)
{
	struct outcome outcome = ask_one(CLAIM, "\1\1", 2);

	CU_ASSERT(outcome.status == CMN_MISS && outcome.claimed);
	outcome = ask_one(CLAIM, "\1\0", 2);
	CU_ASSERT(outcome.status == CMN_MISS && !outcome.claimed);
	outcome = ask_one(CLAIM, "\0" LENGTH("\3") "abc", 12);
	CU_ASSERT(outcome.status == CMN_OK && !outcome.claimed);
	CU_ASSERT(has_value(&outcome, "abc"));
	outcome = ask_one(CLAIM, "\2\0", 2);
	CU_ASSERT(outcome.status == CMN_ERR_IO && !outcome.claimed);
}

TEST(what_is_not_there_is_a_miss)
{
	CU_ASSERT_EQUAL(status_of(ask_one(GET, "\1", 1)), CMN_MISS);
	CU_ASSERT_EQUAL(status_of(ask_one(PUT, "\1", 1)), CMN_MISS);
	CU_ASSERT_EQUAL(status_of(ask_one(REMOVE, "\1", 1)), CMN_MISS);
	CU_ASSERT_EQUAL(status_of(ask_one(RELEASE, "\1", 1)), CMN_MISS);
}

TEST(a_failure_has_a_message)
{
	uint8_t answer[2 + 255] = { 2, 255 };

	for (enum op op = GET; op < INFO; op++) {
		struct outcome outcome = ask_one(op, "\2\4oops", 6);

		CU_ASSERT_EQUAL(outcome.status, CMN_ERR_IO);
		CU_ASSERT_STRING_EQUAL(outcome.message, "oops");
		outcome = ask_one(op, "\2\0", 2);
		CU_ASSERT_EQUAL(outcome.status, CMN_ERR_IO);
		CU_ASSERT_STRING_EQUAL(outcome.message, "");
		memset(answer + 2, 'x', 255);
		answer[2] = '[';
		outcome = ask_one(op, answer, sizeof(answer));
		CU_ASSERT_EQUAL(outcome.status, CMN_ERR_IO);
		CU_ASSERT_EQUAL(strlen(outcome.message), 255);
		CU_ASSERT_EQUAL(memcmp(outcome.message, answer + 2, 255), 0);
	}
}

TEST(a_message_is_of_the_last_request)
{
	/* Both answers, after the first request. */
	struct canned canned = { .greeting = greeting, .greeting_len = sizeof(greeting),
				 .answer = "\2\4oops", .answer_len = 7, .request_len = 5, .limit = 12,
				 .stays = true };
	struct cc_helper helper;

	helper = begin(&canned);
	CU_ASSERT_EQUAL(cc_helper_remove(&helper, cmn_view_of("key")), CMN_ERR_IO);
	CU_ASSERT_STRING_EQUAL(helper.message, "oops");
	CU_ASSERT_EQUAL(cc_helper_remove(&helper, cmn_view_of("key")), CMN_OK);
	CU_ASSERT_STRING_EQUAL(helper.message, "");
	end(&helper);
}

TEST(messages_are_printable)
{
	uint8_t answer[2 + 255] = { 2, 255 };
	struct outcome outcome;

	for (unsigned int i = 0; i < 255; i++)
		answer[2 + i] = (uint8_t)i;
	outcome = ask_one(GET, answer, sizeof(answer));
	CU_ASSERT_EQUAL_FATAL(strlen(outcome.message), 255);
	for (unsigned int i = 0; i < 255; i++) {
		CU_ASSERT_EQUAL((uint8_t)outcome.message[i], i < 32 || i > 126 ? '?' : i);
	}
	outcome = ask_one(INFO, "\3\33[m\1\2\r\n", 8);
	CU_ASSERT_EQUAL(outcome.status, CMN_OK);
	CU_ASSERT(has_value(&outcome, "?[m\n??\n"));
}

TEST(information_has_as_many_lines_as_it_says)
{
	static uint8_t answer[2 + 255 * 256];
	struct outcome outcome;

	outcome = ask_one(INFO, "\0\0", 2);
	CU_ASSERT_EQUAL(outcome.status, CMN_OK);
	CU_ASSERT(has_value(&outcome, "\n"));
	memset(answer, 255, sizeof(answer));
	answer[0] = 0;
	outcome = ask_one(INFO, answer, sizeof(answer));
	CU_ASSERT_EQUAL(outcome.status, CMN_OK);
	CU_ASSERT_EQUAL(outcome.value.len, 1 + 255 * 256);
	cmn_buffer_release(&outcome.value);
}

TEST(other_answers_are_none)
{
	for (enum op op = GET; op < INFO; op++) {
		CU_ASSERT_EQUAL(status_of(ask_one(op, "\3", 1)), CMN_ERR_CORRUPT);
		CU_ASSERT_EQUAL(status_of(ask_one(op, "\x80", 1)), CMN_ERR_CORRUPT);
		CU_ASSERT_EQUAL(status_of(ask_one(op, "\xff", 1)), CMN_ERR_CORRUPT);
	}
}

TEST(a_value_is_no_longer_than_the_caller_wants)
{
	static const uint64_t lies[] = { 6, 1000, UINT64_C(1) << 32, UINT64_C(1) << 63, UINT64_MAX };
	const char *answer = ops[GET].answer;
	struct outcome outcome = ask_limited(GET, answer, 14, 14, true, PLENTY_NS, 5);
	uint8_t lie[9] = { 0 };

	CU_ASSERT_EQUAL(outcome.status, CMN_OK);
	CU_ASSERT(has_value(&outcome, "value"));
	CU_ASSERT_EQUAL(status_of(ask_limited(GET, answer, 14, 14, true, PLENTY_NS, 4)), CMN_ERR_TOO_LARGE);
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		memcpy(lie + 1, &lies[i], 8);
		outcome = ask_limited(GET, lie, 9, 9, true, PLENTY_NS, 5);
		CU_ASSERT_EQUAL(outcome.status, CMN_ERR_TOO_LARGE);
		CU_ASSERT_EQUAL(outcome.value.cap, 0);
	}
	/* An empty one. */
	outcome = ask_limited(GET, "\0\0\0\0\0\0\0\0\0", 9, 9, true, PLENTY_NS, 0);
	CU_ASSERT_EQUAL(outcome.status, CMN_OK);
	CU_ASSERT(has_value(&outcome, ""));
}

/* Who announces much gets no memory for it before it comes. */
TEST(memory_is_used_for_what_has_come)
{
	struct {
		uint8_t head[9], bytes[1000];
	} answer = { .head = GIB };
	struct outcome outcome = ask_limited(GET, &answer, sizeof(answer), sizeof(answer), false, PLENTY_NS,
					     (size_t)1 << 31);

	CU_ASSERT_EQUAL(outcome.status, CMN_ERR_IO);
	CU_ASSERT(outcome.value.cap < (1 << 20));
	cmn_buffer_release(&outcome.value);
	no_memory = true;
	outcome = ask_limited(GET, ops[GET].answer, 14, 14, true, PLENTY_NS, 100);
	no_memory = false;
	CU_ASSERT_EQUAL(outcome.status, CMN_ERR_NOMEM);
	cmn_buffer_release(&outcome.value);
}

/* Gives what was put, and takes large values. */
static void serve_echo(struct fake *me, int fd)
{
	uint8_t head[5 + 9], byte = 0;
	uint8_t *value = malloc(BIG);
	uint64_t len = 0;

	(void)me;
	(void)fake_write(fd, greeting, sizeof(greeting));
	while (value && fake_read(fd, head, 5)) {
		if (head[0] == 1 && fake_read(fd, head + 5, 9)) {
			memcpy(&len, head + 6, 8);
			byte = len <= BIG && fake_read(fd, value, (size_t)len) ? 0 : 2;
			(void)fake_write(fd, &byte, 1);
		} else {
			(void)fake_write(fd, &byte, 1);
			(void)fake_write(fd, &len, 8);
			(void)fake_write(fd, value, (size_t)len);
		}
	}
	free(value);
}

TEST(large_values_come_back_as_they_were)
{
	static const size_t sizes[] = { BIG, 0, 1, (256 << 10) - 1, 256 << 10, (256 << 10) + 1, 768 << 10 };
	const struct cmn_view key = cmn_view_of("key");
	uint8_t *value = malloc(BIG);
	struct cc_helper helper;

	CU_ASSERT_PTR_NOT_NULL_FATAL(value);
	for (size_t i = 0; i < BIG; i++)
		value[i] = (uint8_t)(i ^ i >> 8 ^ i >> 16);
	fake_start(&fake, path, serve_echo, NULL);
	helper = connect_well();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t len = sizes[i], third = len / 3;
		const struct cmn_view views[] = { { value, third }, { value + third, third },
						  { value + 2 * third, len - 2 * third } };
		struct cmn_buffer buf = { 0 };

		CU_ASSERT_EQUAL(cc_helper_put(&helper, key, views, 3), CMN_OK);
		CU_ASSERT_EQUAL(cc_helper_get(&helper, key, BIG, &buf), CMN_OK);
		CU_ASSERT_EQUAL(buf.len, len);
		CU_ASSERT(cmn_view_equal(cmn_buffer_view(&buf), (struct cmn_view){ value, len }));
		cmn_buffer_release(&buf);
	}
	end(&helper);
	free(value);
}

/* Some more after what is there. */
TEST(a_value_may_be_read_in_parts)
{
	static uint8_t answer[9 + 100000];
	struct canned canned = { .greeting = greeting, .greeting_len = sizeof(greeting), .answer = answer,
				 .answer_len = sizeof(answer), .request_len = 5, .limit = SIZE_MAX,
				 .stays = true };
	struct cmn_buffer first = { 0 }, second = { 0 };
	struct cc_helper helper;
	uint64_t len = 100000;

	memcpy(answer + 1, &len, 8);
	for (size_t i = 0; i < len; i++)
		answer[9 + i] = (uint8_t)(i * i >> 7);
	len = 0;
	helper = begin(&canned);
	CU_ASSERT_EQUAL(cc_helper_ask(&helper, cmn_view_of("key"), &len), CMN_OK);
	CU_ASSERT_EQUAL(len, 100000);
	CU_ASSERT_EQUAL(cc_helper_read(&helper, 1, &first), CMN_OK);
	CU_ASSERT_EQUAL(cc_helper_read(&helper, 0, &second), CMN_OK);
	CU_ASSERT_EQUAL(cc_helper_read(&helper, 49, &first), CMN_OK);
	cmn_buffer_append(&second, "before", 6);
	CU_ASSERT_EQUAL(cc_helper_read(&helper, 99950, &second), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(first.len, 50);
	CU_ASSERT_EQUAL(memcmp(first.data, answer + 9, 50), 0);
	CU_ASSERT_EQUAL_FATAL(second.len, 6 + 99950);
	CU_ASSERT_EQUAL(memcmp(second.data, "before", 6), 0);
	CU_ASSERT_EQUAL(memcmp(second.data + 6, answer + 59, 99950), 0);
	end(&helper);
	cmn_buffer_release(&first);
	cmn_buffer_release(&second);
}

TEST(what_no_request_can_hold_is_not_sent)
{
	struct canned canned = { .greeting = greeting, .greeting_len = sizeof(greeting), .answer = "\0\1",
				 .answer_len = 1, .request_len = 257, .limit = 6, .stays = true };
	const struct cmn_view views[4] = { { 0 } };
	char key[256];
	struct cc_helper helper;

	memset(key, 'k', sizeof(key));
	helper = begin(&canned);
	CU_ASSERT_EQUAL(cc_helper_remove(&helper, (struct cmn_view){ key, 256 }), CMN_ERR_INVALID);
	CU_ASSERT_EQUAL(cc_helper_put(&helper, cmn_view_of("key"), views, 4), CMN_ERR_INVALID);
	CU_ASSERT_EQUAL(cc_helper_remove(&helper, (struct cmn_view){ key, 255 }), CMN_OK);
	CU_ASSERT_EQUAL(canned.request[0], 2);
	CU_ASSERT_EQUAL(canned.request[1], 255);
	CU_ASSERT_EQUAL(memcmp(canned.request + 2, key, 255), 0);
	end(&helper);
}

/* One that goes away after each byte that it says. */
TEST(a_helper_may_go_away_at_any_time)
{
	struct canned canned = { .greeting = greeting, .greeting_len = sizeof(greeting) };
	struct cc_helper helper;

	for (canned.limit = 0; canned.limit < sizeof(greeting); canned.limit++) {
		fake_start(&fake, path, serve_canned, &canned);
		CU_ASSERT_EQUAL(connect_now(PLENTY_NS, &helper), CMN_ERR_IO);
		CU_ASSERT_EQUAL(helper.fd, -1);
		/* One that was about to end says nothing. */
		CU_ASSERT_EQUAL(helper.lost, canned.limit == 0);
		fake_stop(&fake);
	}
	for (enum op op = GET; op < OPS; op++) {
		for (size_t limit = 0; limit < ops[op].answer_len; limit++)
			CU_ASSERT_EQUAL(status_of(ask_limited(op, ops[op].answer, ops[op].answer_len, limit,
							      false, PLENTY_NS, 1000)), CMN_ERR_IO);
	}
	for (size_t limit = 1; limit < 4; limit++) {
		struct outcome outcome = ask_limited(REMOVE, "\2\2no", 4, limit, false, PLENTY_NS, 0);

		CU_ASSERT_EQUAL(outcome.status, CMN_ERR_IO);
	}
}

/* One that says no more after each byte. */
TEST(nothing_takes_longer_than_its_deadline)
{
	struct canned canned = { .greeting = greeting, .greeting_len = sizeof(greeting), .stays = true };
	struct cc_helper helper;
	uint64_t start;

	for (canned.limit = 0; canned.limit < sizeof(greeting); canned.limit++) {
		fake_start(&fake, path, serve_canned, &canned);
		start = cmn_clock_monotonic();
		CU_ASSERT_EQUAL(connect_now(SHORT_NS, &helper), CMN_BUSY);
		CU_ASSERT(cmn_clock_monotonic() - start >= SHORT_NS);
		CU_ASSERT(cmn_clock_monotonic() - start < SHORT_NS + SLACK_NS);
		fake_stop(&fake);
	}
	for (enum op op = GET; op < OPS; op++) {
		for (size_t limit = 0; limit < ops[op].answer_len; limit++) {
			start = cmn_clock_monotonic();
			CU_ASSERT_EQUAL(status_of(ask_limited(op, ops[op].answer, ops[op].answer_len, limit,
							      true, SHORT_NS, 1000)), CMN_BUSY);
			CU_ASSERT(cmn_clock_monotonic() - start >= SHORT_NS);
			CU_ASSERT(cmn_clock_monotonic() - start < SHORT_NS + SLACK_NS);
		}
	}
}

/* A value of a GiB without end, in pieces of that size. */
static void serve_stream(struct fake *me, int fd)
{
	static const uint8_t zeros[65536], head[9] = GIB;
	const size_t *piece = me->ctx;
	uint8_t request[5];
	bool wanted = fake_write(fd, greeting, sizeof(greeting)) && fake_read(fd, request, 5) &&
		      fake_write(fd, head, sizeof(head));

	for (size_t sent = 0; wanted && sent < (size_t)1 << 30; sent += *piece)
		wanted = fake_write(fd, zeros, *piece);
}

/* Takes a value in pieces of that size. */
static void serve_drain(struct fake *me, int fd)
{
	static uint8_t bytes[65536];
	const size_t *piece = me->ctx;

	(void)fake_write(fd, greeting, sizeof(greeting));
	while (fake_read(fd, bytes, *piece))
		continue;
}

TEST(a_deadline_holds_while_bytes_come_and_go)
{
	static const size_t pieces[] = { 1, 1000, 65536 };
	const struct cmn_view key = cmn_view_of("key");
	struct cmn_view view = { NULL, (size_t)256 << 20 };
	void *much = calloc(1, view.len);	/* no page of it is written to */
	struct cc_helper helper;
	uint64_t start;

	CU_ASSERT_PTR_NOT_NULL_FATAL(much);
	view.data = much;
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		struct cmn_buffer buf = { 0 };
		size_t piece = pieces[i];

		fake_start(&fake, path, serve_stream, &piece);
		helper = connect_well();
		start = cmn_clock_monotonic();
		helper.deadline = start + 2 * SHORT_NS;
		CU_ASSERT_EQUAL(cc_helper_get(&helper, key, (size_t)1 << 31, &buf), CMN_BUSY);
		CU_ASSERT(cmn_clock_monotonic() - start < 2 * SHORT_NS + SLACK_NS);
		/* What came after the deadline was not waited for. */
		CU_ASSERT(buf.len < (size_t)1 << 30);
		cmn_buffer_release(&buf);
		end(&helper);
		fake_start(&fake, path, serve_drain, &piece);
		helper = connect_well();
		start = cmn_clock_monotonic();
		helper.deadline = start + 2 * SHORT_NS;
		CU_ASSERT_EQUAL(cc_helper_put(&helper, key, &view, 1), CMN_BUSY);
		CU_ASSERT(cmn_clock_monotonic() - start < 2 * SHORT_NS + SLACK_NS);
		end(&helper);
	}
	free(much);
}

TEST(no_more_is_sent_or_received_after_a_deadline)
{
	struct canned canned = { .greeting = greeting, .greeting_len = sizeof(greeting), .limit = 5,
				 .request_len = 1000 };
	const struct cmn_view key = cmn_view_of("key");
	struct cmn_view view = { NULL, (size_t)256 << 20 };
	struct cmn_buffer buf = { 0 };
	void *much = calloc(1, view.len);	/* no page of it is written to */
	struct cc_helper helper;

	CU_ASSERT_PTR_NOT_NULL_FATAL(much);
	view.data = much;
	helper = begin(&canned);
	helper.deadline = trickle_deadline = cmn_clock_deadline(SHORT_NS);
	trickles = true;
	late_calls = 0;
	CU_ASSERT_EQUAL(cc_helper_put(&helper, key, &view, 1), CMN_BUSY);
	CU_ASSERT(late_calls <= 1);
	helper.deadline = trickle_deadline = cmn_clock_deadline(SHORT_NS);
	late_calls = 0;
	CU_ASSERT_EQUAL(cc_helper_get(&helper, key, SIZE_MAX, &buf), CMN_BUSY);
	CU_ASSERT(late_calls <= 1);
	/* In a short part, too: the request goes at once, then come the answer's first byte and one more. */
	trickles = false;
	cc_helper_close(&helper);
	helper = connect_well();
	helper.deadline = trickle_deadline = cmn_clock_monotonic();
	receive_trickles = true;
	late_calls = 0;
	CU_ASSERT_EQUAL(cc_helper_get(&helper, key, SIZE_MAX, &buf), CMN_BUSY);
	CU_ASSERT_EQUAL(late_calls, 2);
	receive_trickles = false;
	end(&helper);
	cmn_buffer_release(&buf);
	free(much);
}

/* A byte at a time. */
static void serve_pieces(struct fake *me, int fd)
{
	const char *answer = "\1\3\0\1\x80\0" LENGTH("\5") "value\2\4oops";
	uint8_t request[5];

	(void)me;
	for (size_t i = 0; i < 25; i++) {
		if (((i == 5 || i == 19) && !fake_read(fd, request, 5)) || !fake_write(fd, answer + i, 1))
			return;
		while (!atomic_load(&taken) && i < 24)
			(void)sched_yield();
		atomic_fetch_sub(&taken, 1);
	}
	fake_await_end(fd);
}

TEST(answers_may_come_in_pieces)
{
	struct cmn_buffer buf = { 0 };
	struct cc_helper helper;

	atomic_store(&taken, 0);
	fake_start(&fake, path, serve_pieces, NULL);
	helper = connect_well();
	CU_ASSERT(helper.has_info && helper.has_claims);
	CU_ASSERT_EQUAL(cc_helper_get(&helper, cmn_view_of("key"), 100, &buf), CMN_OK);
	CU_ASSERT(cmn_view_equal(cmn_buffer_view(&buf), cmn_view_of("value")));
	CU_ASSERT_EQUAL(cc_helper_remove(&helper, cmn_view_of("key")), CMN_ERR_IO);
	CU_ASSERT_STRING_EQUAL(helper.message, "oops");
	end(&helper);
	cmn_buffer_release(&buf);
}

TEST(an_error_of_the_kernels_ends_a_connection)
{
	struct canned canned = { .greeting = greeting, .greeting_len = sizeof(greeting), .answer = "\0",
				 .answer_len = 1, .limit = 6, .request_len = 5, .stays = true };
	struct cc_helper helper;

	helper = begin(&canned);
	receive_error = EIO;
	CU_ASSERT_EQUAL(cc_helper_remove(&helper, cmn_view_of("key")), CMN_ERR_IO);
	cc_helper_close(&helper);
	helper = connect_well();
	receive_error = EINTR;
	CU_ASSERT_EQUAL(cc_helper_remove(&helper, cmn_view_of("key")), CMN_OK);
	end(&helper);
}

/* It reads nothing. */
static void serve_deaf(struct fake *me, int fd)
{
	const atomic_bool *over = me->ctx;

	(void)fake_write(fd, greeting, sizeof(greeting));
	while (!atomic_load(over))
		(void)sched_yield();
}

TEST(a_helper_that_reads_nothing_is_not_waited_for)
{
	const struct cmn_view key = cmn_view_of("key");
	struct cmn_view view = { calloc(1, BIG), BIG };
	atomic_bool over = false;
	struct cc_helper helper;
	uint64_t start;

	CU_ASSERT_PTR_NOT_NULL_FATAL(view.data);
	fake_start(&fake, path, serve_deaf, &over);
	helper = connect_well();
	start = cmn_clock_monotonic();
	helper.deadline = cmn_clock_deadline(SHORT_NS);
	CU_ASSERT_EQUAL(cc_helper_put(&helper, key, &view, 1), CMN_BUSY);
	CU_ASSERT(cmn_clock_monotonic() - start >= SHORT_NS);
	CU_ASSERT(cmn_clock_monotonic() - start < SHORT_NS + SLACK_NS);
	/* It goes: no SIGPIPE. */
	atomic_store(&over, true);
	fake_stop(&fake);
	helper.deadline = cmn_clock_deadline(PLENTY_NS);
	CU_ASSERT_EQUAL(cc_helper_remove(&helper, key), CMN_ERR_IO);
	cc_helper_close(&helper);
	free((void *)(uintptr_t)view.data);
}

static atomic_uint alarms;
static void note_alarm(int number)
{
	(void)number;
	atomic_fetch_add(&alarms, 1);
}

static void serve_after_alarms(struct fake *me, int fd)
{
	sigset_t all;

	(void)sigfillset(&all);
	CU_ASSERT_EQUAL(pthread_sigmask(SIG_SETMASK, &all, NULL), 0);
	while (atomic_load(&alarms) < 5)
		(void)sched_yield();
	serve_canned(me, fd);
}

TEST(signals_are_not_in_the_way)
{
	struct canned canned = { .greeting = greeting, .greeting_len = sizeof(greeting),
				 .answer = ops[GET].answer, .answer_len = 14, .request_len = 5, .limit = 19 };
	const struct itimerval often = { { 0, 2000 }, { 0, 2000 } }, never = { { 0, 0 }, { 0, 0 } };
	const struct sigaction action = { .sa_handler = note_alarm };
	struct cmn_buffer buf = { 0 };
	struct cc_helper helper;

	atomic_store(&alarms, 0);
	CU_ASSERT_EQUAL(sigaction(SIGALRM, &action, NULL), 0);
	fake_start(&fake, path, serve_after_alarms, &canned);
	CU_ASSERT_EQUAL(setitimer(ITIMER_REAL, &often, NULL), 0);
	helper = connect_well();
	CU_ASSERT_EQUAL(cc_helper_get(&helper, cmn_view_of("key"), 100, &buf), CMN_OK);
	CU_ASSERT_EQUAL(setitimer(ITIMER_REAL, &never, NULL), 0);
	CU_ASSERT_EQUAL(buf.len, 5);
	cmn_buffer_release(&buf);
	end(&helper);
}

TEST(a_connection_that_the_application_closed_says_nothing_of_the_tier)
{
	struct canned canned = { .greeting = greeting, .greeting_len = sizeof(greeting), .answer = "\0",
				 .answer_len = 1, .request_len = 5, .limit = 6, .stays = true };
	struct cc_helper helper = begin(&canned);

	CU_ASSERT_EQUAL(close(helper.fd), 0);
	CU_ASSERT_EQUAL(cc_helper_remove(&helper, cmn_view_of("key")), CMN_ERR_IO);
	CU_ASSERT(helper.lost);
	end(&helper);
}

/* A child that was forked meanwhile has the same socket. */
TEST(a_connection_ends_though_a_child_has_it)
{
	struct canned canned = { .greeting = greeting, .greeting_len = sizeof(greeting), .answer = "\0",
				 .answer_len = 1, .request_len = 5, .limit = 6, .stays = true };
	struct cc_helper helper = begin(&canned);
	int childs = dup(helper.fd);
	char byte;

	CU_ASSERT_FATAL(childs >= 0);
	cc_helper_close(&helper);
	CU_ASSERT_EQUAL(recv(childs, &byte, 1, MSG_DONTWAIT), 0);
	(void)close(childs);
	end(&helper);
}
