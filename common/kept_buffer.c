/* SPDX-License-Identifier: MIT */
/* kept_buffer: a buffer behind a flag. */
#include "common/kept_buffer.h"

/* A larger one is given back: nobody should pay for one huge source for ever. */
#define KEPT_MAX ((size_t)1 << 20)

static bool enter(struct cmn_kept_buffer *spare)
{
	return !atomic_exchange_explicit(&spare->busy, true, memory_order_acquire);
}

static void leave(struct cmn_kept_buffer *spare)
{
	atomic_store_explicit(&spare->busy, false, memory_order_release);
}

struct cmn_buffer cmn_kept_buffer_take(struct cmn_kept_buffer *spare)
{
	struct cmn_buffer buf = { 0 };

	if (enter(spare)) {
		buf = spare->buf;
		spare->buf = (struct cmn_buffer){ 0 };
		leave(spare);
	}
	return buf;
}

void cmn_kept_buffer_give(struct cmn_kept_buffer *spare, struct cmn_buffer *buf)
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

void cmn_kept_buffer_release(struct cmn_kept_buffer *spare)
{
	cmn_buffer_release(&spare->buf);
}
