/* SPDX-License-Identifier: MIT */
/* spare: a buffer behind a flag. */
#include "common/spare.h"

/* A larger one is given back: nobody should pay for one huge source for ever. */
#define KEPT_MAX ((size_t)1 << 20)

static bool enter(struct cmn_spare *spare)
{
	return !atomic_exchange_explicit(&spare->busy, true, memory_order_acquire);
}

static void leave(struct cmn_spare *spare)
{
	atomic_store_explicit(&spare->busy, false, memory_order_release);
}

struct cmn_buffer cmn_spare_take(struct cmn_spare *spare)
{
	struct cmn_buffer buf = { 0 };

	if (enter(spare)) {
		buf = spare->buf;
		spare->buf = (struct cmn_buffer){ 0 };
		leave(spare);
	}
	return buf;
}

void cmn_spare_give(struct cmn_spare *spare, struct cmn_buffer *buf)
{
	struct cmn_buffer other = *buf;

	*buf = (struct cmn_buffer){ 0 };
	other.len = 0;
	if (!other.failed && other.cap <= KEPT_MAX && enter(spare)) {
		struct cmn_buffer old = spare->buf;

		if (other.cap > old.cap) {
			spare->buf = other;
			other = old;
		}
		leave(spare);
	}
	cmn_buffer_release(&other);
}

void cmn_spare_release(struct cmn_spare *spare)
{
	cmn_buffer_release(&spare->buf);
}
