/* SPDX-License-Identifier: MIT */
/* list_order: one walk over names, and one number of each entry. */
#include "tools/entries/list_order.h"

#include <stdlib.h>
#include <string.h>

#include "cachecore/disk/root.h"
#include "cachecore/disk/entry_dir_walk.h"
#include "common/bytes.h"
#include "tools/terminal.h"

/* Bytes alone, so that no row has a gap. */
struct row {
	uint8_t value[sizeof(uint64_t)];
	struct cmn_hash hashes[CC_PART_COUNT];
	uint8_t n;
};

struct list_order {
	list_order_value *value;
	bool reverse;
	size_t limit;
	struct row *rows;
	size_t count, seen;
	uint32_t *sorted;	/* numbers of rows, the first ones */
	size_t sorted_count, at;
};

uint64_t list_order_used(int entry_dir_fd, unsigned int n)
{
	return cc_entry_dir_used_ns(entry_dir_fd, NULL, n);
}

uint64_t list_order_size(int entry_dir_fd, unsigned int n)
{
	return cc_entry_dir_bytes(entry_dir_fd, n);
}

uint64_t list_order_compile(int entry_dir_fd, unsigned int n)
{
	struct cc_entry_header header;

	return cc_entry_dir_read_bin_header(entry_dir_fd, n, NULL, &header) == CMN_OK ? header.build_ns : 0;
}

static uint64_t value_of(const struct row *row)
{
	uint64_t value;

	memcpy(&value, row->value, sizeof(value));
	return value;
}

static int compare_rows(const struct row *one, const struct row *two)
{
	uint64_t first = value_of(one), second = value_of(two);
	int order = first == second ? memcmp(one->hashes, two->hashes, sizeof(one->hashes)) :
		    first < second ? 1 : -1;

	return order ? order : one->n - two->n;
}

static int compare(const void *a, const void *b, void *ctx)
{
	const struct list_order *order = ctx;
	int result = compare_rows(&order->rows[*(const uint32_t *)a], &order->rows[*(const uint32_t *)b]);

	return order->reverse ? -result : result;
}

/* false: out of memory. */
static bool sort(struct list_order *order)
{
	uint32_t *sorted = calloc(order->count ? order->count : 1, sizeof(*sorted));

	if (!sorted)
		return false;
	for (size_t i = 0; i < order->count; i++)
		sorted[i] = (uint32_t)i;
	qsort_r(sorted, order->count, sizeof(*sorted), compare, order);
	free(order->sorted);
	order->sorted = sorted;
	order->sorted_count = order->limit && order->limit < order->count ? order->limit : order->count;
	return true;
}

/* Only the first ones stay. false: out of memory. */
static bool cut(struct list_order *order)
{
	struct row *kept = NULL;

	if (!sort(order))
		return false;
	for (size_t i = 0; i < order->sorted_count; i++) {
		struct row *grown = cmn_array_grow(kept, i, sizeof(*kept));

		if (!grown) {
			free(kept);
			return false;
		}
		kept = grown;
		kept[i] = order->rows[order->sorted[i]];
	}
	free(order->rows);
	order->rows = kept;
	order->count = order->sorted_count;
	return true;
}

static struct cmn_hash hash_of_hex(const char *hex)
{
	struct cmn_hash hash;

	for (size_t i = 0; i < CMN_HASH_SIZE; i++) {
		const char digits[] = { hex[2 * i], hex[2 * i + 1], '\0' };

		hash.bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return hash;
}

static bool add(struct list_order *order, const char *path, int entry_dir_fd, unsigned int n)
{
	struct row *rows = cmn_array_grow(order->rows, order->count, sizeof(*rows)), *row;
	uint64_t value = order->value(entry_dir_fd, n);

	if (!rows)
		return false;
	order->rows = rows;
	row = &rows[order->count++];
	memcpy(row->value, &value, sizeof(value));
	for (size_t i = 0; i < CC_PART_COUNT; i++)
		row->hashes[i] = hash_of_hex(path + i * CMN_HASH_HEX_SIZE);
	row->n = (uint8_t)n;
	terminal_progress_count("list", ++order->seen);
	/* Sorted now and then, not each time. */
	if (order->limit && order->count / 2 >= order->limit && order->count >= 1024)
		return cut(order);
	return order->count < UINT32_MAX;
}

static enum cmn_status add_entry_dir(void *ctx, int root_fd, const char *path, int entry_dir_fd)
{
	struct list_order *order = ctx;
	struct cc_entry_dir_scan scan;

	(void)root_fd;
	if (cc_entry_dir_scan(entry_dir_fd, &scan) != CMN_OK)
		return CMN_OK;	/* removed meanwhile */
	for (unsigned int n = 0; n < CC_ENTRY_DIR_VARIANTS; n++) {
		if ((scan.present[CC_ENTRY_DIR_SRC] >> n & 1) && !add(order, path, entry_dir_fd, n))
			return CMN_ERR_NOMEM;
	}
	return CMN_OK;
}

enum cmn_status list_order_new(int root_fd, list_order_value *value, bool reverse, size_t limit,
			       struct list_order **ret)
{
	struct list_order *order = calloc(1, sizeof(*order));
	enum cmn_status status = CMN_ERR_NOMEM;

	if (!order)
		return status;
	order->value = value;
	order->reverse = reverse;
	order->limit = limit;
	status = cc_entry_dir_walk(root_fd, false, add_entry_dir, order);
	if (status == CMN_OK && !sort(order))
		status = CMN_ERR_NOMEM;
	if (status == CMN_OK)
		*ret = order;
	else
		list_order_free(order);
	return status;
}

void list_order_free(struct list_order *order)
{
	if (!order)
		return;
	free(order->rows);
	free(order->sorted);
	free(order);
}

bool list_order_next(struct list_order *order, struct cc_store_place *ret)
{
	const struct row *row;

	if (order->at == order->sorted_count)
		return false;
	row = &order->rows[order->sorted[order->at++]];
	cc_entry_dir_path_by(row->hashes, ret->entry_dir);
	ret->n = row->n;
	return true;
}
