/* SPDX-License-Identifier: MIT */
/*
 * spare: one buffer that is kept between two uses of the same kind, since
 * giving its pages back and getting fresh ones costs more than filling them.
 * Thread-safe and safe at fork: who finds it taken gets an empty buffer.
 * A zeroed structure is a valid empty one.
 */
#ifndef COMMON_SPARE_H
#define COMMON_SPARE_H

#include <stdatomic.h>

#include "common/bytes.h"

struct cmn_spare {
	atomic_bool busy;
	struct cmn_buffer buf;	/* guarded by busy */
};

struct cmn_buffer cmn_spare_take(struct cmn_spare *spare);	/* the caller's; of length 0 */
/* Keeps the buffer or releases it; leaves {0}. */
void cmn_spare_give(struct cmn_spare *spare, struct cmn_buffer *buf);
void cmn_spare_release(struct cmn_spare *spare);	/* nobody is inside */

#endif
