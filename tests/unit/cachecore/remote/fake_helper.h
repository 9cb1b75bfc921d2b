/* SPDX-License-Identifier: MIT */
/*
 * fake_helper: a storage helper that is a thread of the test, with a socket of
 * its own; one connection at a time. What it says is the test's to choose.
 */
#ifndef TESTS_UNIT_CACHECORE_REMOTE_FAKE_HELPER_H
#define TESTS_UNIT_CACHECORE_REMOTE_FAKE_HELPER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fake {
	char path[200];
	void (*serve)(struct fake *fake, int fd);	/* what it does with a connection, which is closed then */
	void *ctx;
	int fd;			/* the socket that listens */
	pthread_t thread;
	atomic_uint connections;
};

/* Listens at the path; connections wait. */
void fake_listen(struct fake *fake, const char *path, int backlog);
/* Listens, and serves from now on. */
void fake_start(struct fake *fake, const char *path, void (*serve)(struct fake *fake, int fd), void *ctx);
void fake_serve(struct fake *fake, void (*serve)(struct fake *fake, int fd), void *ctx);	/* one that listens */
/* After the connection that it serves. */
void fake_stop(struct fake *fake);

/* Exactly that many bytes. false: the other end is closed. */
bool fake_read(int fd, void *data, size_t len);
bool fake_write(int fd, const void *data, size_t len);
void fake_await_end(int fd);	/* until the other end is closed; what comes is dropped */

#endif
