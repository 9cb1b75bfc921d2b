/* SPDX-License-Identifier: MIT */
/*
 * slab: memory for short-lived large buffers. A fresh page costs several times
 * as much as filling it, and malloc gets fresh pages for each large buffer and
 * gives them back. Here the pages of a block are reused, from its front, as
 * soon as no buffer is in it. Huge pages would be cheaper still, but not on
 * virtual machines whose host takes free ones back: 1 to 6 ms each (measured).
 *
 * Thread-safe and safe at fork. While one thread is inside, others get nothing
 * and use malloc.
 */
#ifndef COMMON_SLAB_H
#define COMMON_SLAB_H

#include <stdatomic.h>
#include <stddef.h>

struct cmn_slab;	/* one block */

/* {0} has none yet. */
struct cmn_slabs {
	atomic_bool busy;
	struct cmn_slab *current;	/* holds a reference; guarded by busy */
};

/* For functions that only learn the length of a buffer themselves. */
struct cmn_room {
	struct cmn_slabs *slabs;	/* may be NULL */
	size_t from;			/* shorter buffers come from malloc */
};

struct cmn_slabs *cmn_slabs_new(void);		/* NULL: out of memory */
void cmn_slabs_free(struct cmn_slabs *slabs);	/* NULL is fine; buffers outlive it */

/*
 * Returns room for len bytes (*ret_cap is the size) in a block that belongs to
 * the caller until cmn_slab_unref. NULL: use malloc (slabs is NULL, len is too
 * small or too large, another thread is inside), or out of memory. For
 * cmn_buffer_reserve_in.
 */
void *cmn_slabs_take(struct cmn_slabs *slabs, size_t len, size_t *ret_cap,
		     struct cmn_slab **ret_block);
void cmn_slab_unref(struct cmn_slab *block);

#endif
