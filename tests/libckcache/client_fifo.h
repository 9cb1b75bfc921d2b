/* SPDX-License-Identifier: MIT */
/*
 * client_fifo: a small storage of the application's own that drops what came first, as oneDNN's
 * proposal has it, and can be told to lie.
 */
#ifndef TESTS_LIBCKCACHE_CLIENT_FIFO_H
#define TESTS_LIBCKCACHE_CLIENT_FIFO_H

#include "tests/libckcache/client.h"

#define FIFO_SLOTS 2

/* What the callbacks do instead of what they should. */
enum lie {
	LIE_NONE, LIE_EMPTY, LIE_HUGE, LIE_GARBAGE, LIE_GROWS, LIE_GROWS_ONCE, LIE_SHRINKS,
	LIE_OVERFILLED, LIE_OTHER, LIE_DAMAGED, LIE_FAILS, LIE_FAILS_LATE, LIE_STATUS, LIES
};

/* First in, first out. */
struct fifo {
	struct slot {
		struct bytes id, blob;
	} slots[FIFO_SLOTS];
	size_t next;
	unsigned int loads, stores, evictions, dropped;
	enum lie lie;
	enum ckcache_status stores_with, evicts_with;	/* what these callbacks return, if not CKCACHE_OK */
};

struct ckcache_storage fifo_storage(struct fifo *fifo);
/* NULL: there is none of that id. */
struct slot *fifo_find(struct fifo *fifo, size_t id_size, const uint8_t *id);
/* Empty, with all counts 0. */
void fifo_clear(struct fifo *fifo);

#endif
