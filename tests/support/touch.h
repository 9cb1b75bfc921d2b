/* SPDX-License-Identifier: MIT */
/* touch: an entry is used, as by a look-up. */
#ifndef TESTS_SUPPORT_TOUCH_H
#define TESTS_SUPPORT_TOUCH_H

#include "cachecore/disk/space/days.h"
#include "cachecore/disk/store.h"
#include "common/clock.h"

static inline void touch_place(struct cc_store *store, const struct cc_store_place *place)
{
	uint64_t now_ns = cmn_clock_realtime();
	struct cc_days days;
	int root_fd;

	if (cc_store_open_root(store, &root_fd) != CMN_OK)
		return;
	(void)cc_days_note(root_fd, now_ns, cmn_clock_monotonic(), &days);
	cc_entry_dir_note_use(root_fd, place->entry_dir, place->n, now_ns);
	(void)close(root_fd);	/* read only */
}

#endif
