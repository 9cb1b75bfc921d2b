/* SPDX-License-Identifier: MIT */
/* kept_buffer: a buffer behind a flag. */
#include "common/kept_buffer.h"

/* A larger one is given back: nobody should pay for one huge source for ever. */
#define KEPT_MAX ((size_t)1 << 20)

struct cmn_buffer cmn_kept_buffer_take(struct cmn_kept_buffer *spare)
{
	struct cmn_buffer buf = { 0 };

	if (!atomic_exchange_explicit(&spare->busy, true, memory_order_acquire)) {
		buf = spare->buf;
		spare->buf = (struct cmn_buffer){ 0 };
		atomic_store_explicit(&spare->busy, false, memory_order_release);
	}
	return buf;
}

void cmn_kept_buffer_give(struct cmn_kept_buffer *spare, struct cmn_buffer *buf)
{
	struct cmn_buffer other = *buf;

	*buf = (struct cmn_buffer){ 0 };
	other.len = 0;
	if (!other.failed && other.cap <= KEPT_MAX &&
	    !atomic_exchange_explicit(&spare->busy, true, memory_order_acquire)) {
		struct cmn_buffer old = spare->buf;

		if (other.cap > old.cap) {
			spare->buf = other;
			other = old;
		}
		atomic_store_explicit(&spare->busy, false, memory_order_release);
	}
	cmn_buffer_release(&other);
}

void cmn_kept_buffer_release(struct cmn_kept_buffer *spare)
{
	cmn_buffer_release(&spare->buf);
}
