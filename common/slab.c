/* SPDX-License-Identifier: MIT */
/* slab: blocks that are filled from the front. */
#include "common/slab.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define BLOCK_SIZE ((size_t)4 << 20)
#define SHARE_MIN ((size_t)32 << 10)	/* malloc has pages for such, and they may be kept for long */
#define SHARE_MAX (BLOCK_SIZE - ALIGNMENT)
#define ALIGNMENT ((size_t)64)	/* a cache line */
#define HUGE_PAGE ((size_t)2 << 20)
#define HUGE_MIN (HUGE_PAGE / 4)	/* the kernel clears one huge page sooner than so many small ones */

struct cmn_slab {
	_Alignas(ALIGNMENT) atomic_uint refs;
	size_t used;	/* of the block; guarded by the slabs' busy */
};

struct cmn_slabs *cmn_slabs_new(void)
{
	return calloc(1, sizeof(struct cmn_slabs));
}

void cmn_slabs_free(struct cmn_slabs *slabs)
{
	if (!slabs)
		return;
	cmn_slab_unref(slabs->current);
	free(slabs);
}

void cmn_slab_unref(struct cmn_slab *slab)
{
	/* Who uses the block next, or frees it, comes after all who used it before. */
	if (slab && atomic_fetch_sub_explicit(&slab->refs, 1, memory_order_acq_rel) == 1)
		free(slab);
}

static struct cmn_slab *new_block(size_t first_len)
{
	bool huge = first_len >= HUGE_MIN;
	struct cmn_slab *slab = aligned_alloc(huge ? HUGE_PAGE : ALIGNMENT, BLOCK_SIZE);

	if (!slab)
		return NULL;
	if (huge)
		(void)madvise(slab, BLOCK_SIZE, MADV_HUGEPAGE);	/* without it: the same, slower */
	atomic_init(&slab->refs, 1);
	slab->used = sizeof(*slab);
	return slab;
}

/* A block with room for len bytes, or NULL. */
static struct cmn_slab *block_for(struct cmn_slabs *slabs, size_t len)
{
	struct cmn_slab *slab = slabs->current;

	if (slab && atomic_load_explicit(&slab->refs, memory_order_acquire) == 1)
		slab->used = sizeof(*slab);
	if (slab && BLOCK_SIZE - slab->used >= len)
		return slab;
	slab = new_block(len);
	if (slab) {
		cmn_slab_unref(slabs->current);
		slabs->current = slab;
	}
	return slab;
}

void *cmn_slabs_take(struct cmn_slabs *slabs, size_t len, size_t *ret_cap,
		     struct cmn_slab **ret_block)
{
	size_t share = (len + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	struct cmn_slab *slab;
	uint8_t *room = NULL;

	if (!slabs || len < SHARE_MIN || len > SHARE_MAX ||
	    atomic_exchange_explicit(&slabs->busy, true, memory_order_acquire))
		return NULL;
	slab = block_for(slabs, share);
	if (slab) {
		room = (uint8_t *)slab + slab->used;
		slab->used += share;
		atomic_fetch_add_explicit(&slab->refs, 1, memory_order_relaxed);
		*ret_cap = share;
		*ret_block = slab;
	}
	atomic_store_explicit(&slabs->busy, false, memory_order_release);
	return room;
}
