/* SPDX-License-Identifier: MIT */
/*
 * list_order: where a root's entries are, in an order. Reads of each entry only what decides on its
 * place, and keeps some 75 bytes of it: the order of a million fits into 80 MB.
 */
#ifndef TOOLS_ENTRIES_LIST_ORDER_H
#define TOOLS_ENTRIES_LIST_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cachecore/disk/store.h"

/* What decides: the largest comes first; of equals, the first path. */
typedef uint64_t list_order_value(int entry_dir_fd, unsigned int n);
list_order_value list_order_used, list_order_size, list_order_compile;

struct list_order;
/*
 * limit: so many of the first ones are kept; 0: all. reverse: the smallest comes first; of equals,
 * the last path. *ret is the caller's to free, also where there are no entries. CMN_ERR_NOMEM; others as
 * cc_entry_dir_walk.
 */
CMN_CHECKED enum cmn_status list_order_new(int root_fd, list_order_value *value, bool reverse,
					   size_t limit, struct list_order **ret);
void list_order_free(struct list_order *order);	/* NULL is fine */
/* The next one, once each; false: no more. */
bool list_order_next(struct list_order *order, struct cc_store_place *ret);

#endif
