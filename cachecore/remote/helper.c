/* SPDX-License-Identifier: MIT */
/* helper: requests and answers over a socket that never blocks. */
#include "cachecore/remote/helper.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/file.h"

#define PROTOCOL_VERSION 1
#define CAPABILITY_GET_PUT_REMOVE 0x00
#define CAPABILITY_INFO 0x01
#define CAPABILITY_CLAIMS 0x80
#define MAX_KEY 255
#define MAX_VIEWS 6
/* A value's buffer grows by what has come, not by what was announced. */
#define FIRST_ROOM ((size_t)256 << 10)
#define NS_PER_S UINT64_C(1000000000)

enum request { GET = 0x00, PUT = 0x01, REMOVE = 0x02, INFO = 0x04,
	       GET_OR_CLAIM = 0x80, RELEASE = 0x81 };
enum answer { OK = 0x00, NOOP = 0x01, ERROR = 0x02 };

/* The errno of a call on the socket. One that the application closed says nothing of the tier. */
static enum cmn_status broken(struct cc_helper *helper)
{
	helper->lost |= errno == EBADF || errno == ENOTSOCK;
	return CMN_ERR_IO;
}

/* CMN_OK: the socket is ready, or broken, which using it will tell. */
static enum cmn_status wait_for(struct cc_helper *helper, short events)
{
	struct pollfd pollfd = { .fd = helper->fd, .events = events };

	for (;;) {
		uint64_t now = cmn_clock_monotonic();
		uint64_t left = helper->deadline > now ? helper->deadline - now : 0;
		const struct timespec time = { (time_t)(left / NS_PER_S), (long)(left % NS_PER_S) };
		int ready;

		ready = ppoll(&pollfd, 1, &time, NULL);
		if (ready > 0)
			return CMN_OK;
		if (ready == 0 && !left)
			return CMN_BUSY;
		if (ready < 0 && errno != EINTR)
			return CMN_ERR_IO;
	}
}

/* After a part of a message: who sends or takes a little at a time must not make it last. */
static bool is_late(const struct cc_helper *helper)
{
	return cmn_clock_monotonic() >= helper->deadline;
}

static enum cmn_status send_views(struct cc_helper *helper, const struct cmn_view *views,
				  size_t count)
{
	struct iovec parts[MAX_VIEWS];
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = count };
	enum cmn_status status;

	for (size_t i = 0; i < count; i++)
		parts[i] = (struct iovec){ (void *)(uintptr_t)views[i].data, views[i].len };
	while (message.msg_iovlen) {
		ssize_t sent = sendmsg(helper->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno == EAGAIN) {
			status = wait_for(helper, POLLOUT);
			if (status != CMN_OK)
				return status;
			continue;
		}
		if (sent < 0 && errno != EINTR)
			return broken(helper);
		for (size_t left = sent > 0 ? (size_t)sent : 0; message.msg_iovlen;) {
			if (left < message.msg_iov->iov_len) {
				message.msg_iov->iov_base = (uint8_t *)message.msg_iov->iov_base + left;
				message.msg_iov->iov_len -= left;
				break;
			}
			left -= message.msg_iov->iov_len;
			message.msg_iov++;
			message.msg_iovlen--;
		}
		if (message.msg_iovlen && is_late(helper))
			return CMN_BUSY;
	}
	return CMN_OK;
}

/* What has come, at least a byte and at most len; *ret: how many. */
static enum cmn_status receive_some(struct cc_helper *helper, void *data, size_t len, size_t *ret)
{
	enum cmn_status status;

	for (;;) {
		ssize_t got = recv(helper->fd, data, len, MSG_DONTWAIT);

		if (got > 0) {
			*ret = (size_t)got;
			return CMN_OK;
		}
		if (got == 0)
			return CMN_ERR_IO;	/* it went away */
		if (errno != EAGAIN && errno != EINTR)
			return broken(helper);
		status = wait_for(helper, POLLIN);
		if (status != CMN_OK)
			return status;
	}
}

/* Exactly len bytes. */
static enum cmn_status receive(struct cc_helper *helper, void *data, size_t len)
{
	enum cmn_status status = CMN_OK;
	uint8_t *at = data;
	size_t got;

	for (; len && status == CMN_OK; at += got, len -= got) {
		got = 0;
		status = receive_some(helper, at, len, &got);
		if (status == CMN_OK && got < len && is_late(helper))
			status = CMN_BUSY;
	}
	return status;
}

/* A message of at most 255 bytes, made printable, terminated. */
static enum cmn_status receive_message(struct cc_helper *helper, char ret[CC_HELPER_MESSAGE_SIZE])
{
	enum cmn_status status;
	uint8_t len;

	ret[0] = '\0';
	status = receive(helper, &len, 1);
	if (status == CMN_OK)
		status = receive(helper, ret, len);
	if (status != CMN_OK)
		return status;
	ret[len] = '\0';
	for (size_t i = 0; i < len; i++) {
		if (ret[i] < ' ' || ret[i] > '~')
			ret[i] = '?';	/* also what is no UTF-8, or controls a terminal */
	}
	return CMN_OK;
}

static enum cmn_status greet(struct cc_helper *helper)
{
	uint8_t head[2], capabilities[UINT8_MAX];
	bool basic = false;
	enum cmn_status status = receive(helper, head, 1);

	/* It was about to end when this connection came. */
	helper->lost |= status == CMN_ERR_IO;
	if (status == CMN_OK)
		status = receive(helper, head + 1, 1);
	if (status == CMN_OK && head[0] != PROTOCOL_VERSION)
		return CMN_ERR_VERSION;
	if (status == CMN_OK)
		status = receive(helper, capabilities, head[1]);
	for (size_t i = 0; status == CMN_OK && i < head[1]; i++) {
		basic |= capabilities[i] == CAPABILITY_GET_PUT_REMOVE;
		helper->has_info |= capabilities[i] == CAPABILITY_INFO;
		helper->has_claims |= capabilities[i] == CAPABILITY_CLAIMS;
	}
	return status == CMN_OK && !basic ? CMN_ERR_VERSION : status;
}

/* A helper that starts just now, or has too many waiting, is tried again. */
static enum cmn_status connect_to(struct cc_helper *helper, const struct sockaddr_un *address)
{
	const struct timespec pause = { 0, 1000000 };

	for (;;) {
		if (connect(helper->fd, (const struct sockaddr *)address, sizeof(*address)) == 0)
			break;
		if (errno == ENOENT || errno == ECONNREFUSED || errno == ENOTDIR)
			return CMN_MISS;
		if (errno == EISCONN)
			break;
		if (errno != EAGAIN && errno != EINTR)
			return cmn_status_from_errno(errno);
		if (cmn_clock_monotonic() >= helper->deadline)
			return CMN_BUSY;
		(void)nanosleep(&pause, NULL);	/* a signal only makes it shorter */
	}
	return CMN_OK;
}

enum cmn_status cc_helper_connect(const char *path, uint64_t deadline, struct cc_helper *ret)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(struct ucred);
	struct ucred peer;
	enum cmn_status status;

	*ret = (struct cc_helper){ .fd = -1, .deadline = deadline };
	if (strlen(path) >= sizeof(address.sun_path))
		return CMN_ERR_INVALID;
	memcpy(address.sun_path, path, strlen(path));
	ret->fd = cmn_file_raise(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (ret->fd < 0) {
		ret->lost = true;	/* this process has no more */
		return cmn_status_from_errno(errno) == CMN_ERR_NOMEM ? CMN_ERR_NOMEM : CMN_ERR_IO;
	}
	status = connect_to(ret, &address);
	/* Entries are checked by their signatures, but what is stored need not be shown to others. */
	if (status == CMN_OK &&
	    (getsockopt(ret->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 ||
	     (!cmn_file_is_own(peer.uid) && peer.uid != 0)))
		status = CMN_ERR_ACCESS;
	if (status == CMN_OK)
		status = greet(ret);
	if (status != CMN_OK)
		cc_helper_close(ret);
	return status;
}

void cc_helper_close(struct cc_helper *helper)
{
	if (helper->fd >= 0) {
		(void)shutdown(helper->fd, SHUT_RDWR);	/* a child may have it, too, which was forked meanwhile */
		(void)close(helper->fd);	/* what was sent is sent */
	}
	helper->fd = -1;
}

/* Sends the request with its key and what follows, and reads the first byte of the answer. */
static enum cmn_status ask(struct cc_helper *helper, enum request request, struct cmn_view key,
			   const struct cmn_view *more, size_t count)
{
	uint8_t head[2] = { (uint8_t)request, (uint8_t)key.len };
	struct cmn_view views[MAX_VIEWS] = { { head, 2 }, key };
	enum cmn_status status;
	uint8_t answer;

	helper->message[0] = '\0';
	if (key.len > MAX_KEY || count > MAX_VIEWS - 2)
		return CMN_ERR_INVALID;
	for (size_t i = 0; i < count; i++)
		views[2 + i] = more[i];
	status = send_views(helper, views, 2 + count);
	if (status == CMN_OK)
		status = receive(helper, &answer, 1);
	if (status != CMN_OK)
		return status;
	if (answer == ERROR) {
		status = receive_message(helper, helper->message);
		return status == CMN_OK ? CMN_ERR_IO : status;
	}
	if (answer != OK && answer != NOOP)
		return CMN_ERR_CORRUPT;
	return answer == OK ? CMN_OK : CMN_MISS;
}

static enum cmn_status receive_len(struct cc_helper *helper, uint64_t *ret)
{
	return receive(helper, ret, sizeof(*ret));	/* in this machine's order */
}

enum cmn_status cc_helper_read(struct cc_helper *helper, size_t len, struct cmn_buffer *ret)
{
	const size_t end = ret->len + len;
	enum cmn_status status = CMN_OK;
	size_t got = 0;

	while (ret->len < end && status == CMN_OK) {
		if (ret->len == ret->cap || !ret->data) {
			size_t step = ret->len < FIRST_ROOM ? FIRST_ROOM : ret->len;

			if (!cmn_buffer_reserve(ret, step < end - ret->len ? step : end - ret->len))
				return CMN_ERR_NOMEM;
		}
		status = receive_some(helper, ret->data + ret->len,
				      ret->cap < end ? ret->cap - ret->len : end - ret->len, &got);
		ret->len += status == CMN_OK ? got : 0;
		if (status == CMN_OK && ret->len < end && is_late(helper))
			status = CMN_BUSY;
	}
	return status;
}

enum cmn_status cc_helper_ask(struct cc_helper *helper, struct cmn_view key, uint64_t *ret_len)
{
	enum cmn_status status = ask(helper, GET, key, NULL, 0);

	return status == CMN_OK ? receive_len(helper, ret_len) : status;
}

enum cmn_status cc_helper_get(struct cc_helper *helper, struct cmn_view key, size_t max,
			      struct cmn_buffer *ret)
{
	uint64_t len;
	enum cmn_status status = cc_helper_ask(helper, key, &len);

	if (status == CMN_OK && len > max)
		status = CMN_ERR_TOO_LARGE;
	return status == CMN_OK ? cc_helper_read(helper, (size_t)len, ret) : status;
}

enum cmn_status cc_helper_ask_or_claim(struct cc_helper *helper, struct cmn_view key,
				       uint64_t ttl_ms, uint64_t *ret_len, bool *ret_claimed)
{
	const struct cmn_view ttl = { &ttl_ms, sizeof(ttl_ms) };
	enum cmn_status status = ask(helper, GET_OR_CLAIM, key, &ttl, 1);
	uint8_t claimed = 0;

	*ret_claimed = false;
	if (status == CMN_OK)
		return receive_len(helper, ret_len);
	if (status != CMN_MISS)
		return status;
	status = receive(helper, &claimed, 1);
	*ret_claimed = claimed != 0;
	return status == CMN_OK ? CMN_MISS : status;
}

enum cmn_status cc_helper_release(struct cc_helper *helper, struct cmn_view key)
{
	return ask(helper, RELEASE, key, NULL, 0);
}

enum cmn_status cc_helper_put(struct cc_helper *helper, struct cmn_view key,
			      const struct cmn_view *views, size_t count)
{
	struct cmn_view more[MAX_VIEWS - 2];
	uint8_t head[1 + sizeof(uint64_t)] = { 1 };	/* bit 0: overwrite */
	uint64_t len = 0;

	if (count > sizeof(more) / sizeof(more[0]) - 1)
		return CMN_ERR_INVALID;
	for (size_t i = 0; i < count; i++) {
		more[1 + i] = views[i];
		len += views[i].len;
	}
	memcpy(head + 1, &len, sizeof(len));
	more[0] = (struct cmn_view){ head, sizeof(head) };
	return ask(helper, PUT, key, more, 1 + count);
}

enum cmn_status cc_helper_remove(struct cc_helper *helper, struct cmn_view key)
{
	return ask(helper, REMOVE, key, NULL, 0);
}

/* Its answer has no first byte that says how it went. */
enum cmn_status cc_helper_info(struct cc_helper *helper, struct cmn_buffer *ret)
{
	const uint8_t request = INFO;
	const struct cmn_view view = { &request, 1 };
	char line[CC_HELPER_MESSAGE_SIZE];
	enum cmn_status status = send_views(helper, &view, 1);
	uint8_t count = 0;

	if (status == CMN_OK)
		status = receive_message(helper, line);
	if (status == CMN_OK)
		status = receive(helper, &count, 1);
	if (status == CMN_OK)
		cmn_buffer_printf(ret, "%s\n", line);
	for (; count && status == CMN_OK; count--) {
		status = receive_message(helper, line);
		if (status == CMN_OK)
			cmn_buffer_printf(ret, "%s\n", line);
	}
	return status;
}
