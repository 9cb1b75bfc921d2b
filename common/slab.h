/* SPDX-License-Identifier: MIT */
/*
 * slab: room for large buffers that live shortly. A fresh page costs several
 * times what filling it does, and malloc gets fresh ones for each large buffer
 * and gives them back; here the pages are used again, from the front of a
 * block, as soon as nobody holds a buffer in it. Huge pages would be cheaper
 * still, but not on virtual machines whose host takes free ones back: 1 to 6
 * ms each (measured).
 *
 * Thread-safe and safe at fork; whoever comes while another thread is inside
 * gets nothing, and takes malloc's.
 */
#ifndef COMMON_SLAB_H
#define COMMON_SLAB_H

#include <stddef.h>

struct cmn_slab;	/* one block */
struct cmn_slabs;

/* For functions that make room for something whose length they find out. */
struct cmn_room {
	struct cmn_slabs *slabs;	/* may be NULL */
	size_t from;			/* shorter ones are malloc's */
};

struct cmn_slabs *cmn_slabs_new(void);		/* NULL: out of memory */
void cmn_slabs_free(struct cmn_slabs *slabs);	/* NULL is fine; buffers outlive it */

/*
 * Room for len bytes, *ret_cap in all, in a block that is the caller's until
 * cmn_slab_unref. NULL: slabs is NULL, or malloc serves this one better (len is
 * small, or too large), or there is no memory. For cmn_buffer_reserve_in.
 */
void *cmn_slabs_take(struct cmn_slabs *slabs, size_t len, size_t *ret_cap,
		     struct cmn_slab **ret_block);
void cmn_slab_unref(struct cmn_slab *block);

#endif
