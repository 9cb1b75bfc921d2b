/* SPDX-License-Identifier: MIT */
/* touch: an entry is used, as by a look-up. */
#ifndef TESTS_SUPPORT_TOUCH_H
#define TESTS_SUPPORT_TOUCH_H

#include "cachecore/disk/store.h"

static inline void touch_place(struct cc_store *store, const struct cc_store_place *place)
{
	int root_fd;

	if (cc_store_open_root(store, &root_fd) != CMN_OK)
		return;
	(void)cc_store_touch(store, root_fd, place, 1);
	(void)close(root_fd);	/* read only */
}

#endif
