/* SPDX-License-Identifier: MIT */
/*
 * kept_buffer: keeps one buffer between two uses of the same kind, because
 * giving its pages back and getting fresh ones costs more than filling them.
 * Thread-safe and safe at fork: if the buffer is taken, the caller gets an empty one.
 * A zeroed structure is a valid empty one.
 */
#ifndef COMMON_KEPT_BUFFER_H
#define COMMON_KEPT_BUFFER_H

#include <stdatomic.h>

#include "common/bytes.h"

struct cmn_kept_buffer {
	atomic_bool busy;
	struct cmn_buffer buf;	/* guarded by busy */
};

struct cmn_buffer cmn_kept_buffer_take(struct cmn_kept_buffer *spare);	/* the caller's; of length 0 */
/* Keeps the buffer or releases it; leaves {0}. */
void cmn_kept_buffer_give(struct cmn_kept_buffer *spare, struct cmn_buffer *buf);
void cmn_kept_buffer_release(struct cmn_kept_buffer *spare);	/* nobody is inside */

#endif
