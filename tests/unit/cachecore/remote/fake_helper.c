/* SPDX-License-Identifier: MIT */
/* fake_helper: a thread that accepts. */
#include "tests/unit/cachecore/remote/fake_helper.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "tests/support/unit.h"

void fake_listen(struct fake *fake, const char *path, int backlog)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	CU_ASSERT_FATAL(strlen(path) < sizeof(address.sun_path));
	memcpy(address.sun_path, path, strlen(path));
	(void)snprintf(fake->path, sizeof(fake->path), "%s", path);
	(void)unlink(path);	/* usually there is none */
	fake->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CU_ASSERT_FATAL(fake->fd >= 0);
	CU_ASSERT_EQUAL_FATAL(bind(fake->fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	CU_ASSERT_EQUAL_FATAL(listen(fake->fd, backlog), 0);
}

static void *serve_all(void *arg)
{
	struct fake *fake = arg;
	int fd;

	while ((fd = accept4(fake->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		atomic_fetch_add(&fake->connections, 1);
		fake->serve(fake, fd);
		(void)close(fd);
	}
	return NULL;
}

void fake_serve(struct fake *fake, void (*serve)(struct fake *fake, int fd), void *ctx)
{
	fake->serve = serve;
	fake->ctx = ctx;
	atomic_store(&fake->connections, 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&fake->thread, NULL, serve_all, fake), 0);
}

void fake_start(struct fake *fake, const char *path, void (*serve)(struct fake *fake, int fd), void *ctx)
{
	fake_listen(fake, path, 16);
	fake_serve(fake, serve, ctx);
}

void fake_stop(struct fake *fake)
{
	CU_ASSERT_EQUAL(shutdown(fake->fd, SHUT_RDWR), 0);	/* accept fails */
	CU_ASSERT_EQUAL(pthread_join(fake->thread, NULL), 0);
	(void)close(fake->fd);
	(void)unlink(fake->path);	/* a test may have done so */
}

bool fake_read(int fd, void *data, size_t len)
{
	uint8_t *at = data;

	while (len) {
		ssize_t got = recv(fd, at, len, 0);

		if (got <= 0)
			return false;
		at += got;
		len -= (size_t)got;
	}
	return true;
}

bool fake_write(int fd, const void *data, size_t len)
{
	const uint8_t *at = data;

	while (len) {
		ssize_t sent = send(fd, at, len, MSG_NOSIGNAL);

		if (sent <= 0)
			return false;
		at += sent;
		len -= (size_t)sent;
	}
	return true;
}

void fake_await_end(int fd)
{
	uint8_t byte;

	while (fake_read(fd, &byte, 1))
		continue;
}
