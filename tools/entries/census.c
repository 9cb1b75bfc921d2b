/* SPDX-License-Identifier: MIT */
/* census: one look at the names of images, and one at entries. */
#include "tools/entries/census.h"

#include <stdlib.h>
#include <unistd.h>

#include "cachecore/disk/entry_dir_walk.h"
#include "cachecore/disk/space/account.h"
#include "tools/terminal.h"

/* Counted at once: less than a second where the disk is cold. */
#define MOST_COUNTED 2048
#define SAMPLE 1024
#define PREFIXES 65536	/* of four digits */

struct counting {
	struct census *census;
	uint64_t images, sampled;
	unsigned long below;	/* the prefixes that are in the sample */
	uint64_t seen;
	bool shown;
};

static bool count_image(void *ctx, size_t level, const char *name)
{
	struct counting *counting = ctx;

	(void)name;
	counting->images += level == CC_PART_IMAGE;
	return level != CC_PART_IMAGE;
}

static enum cmn_status visit_nothing(void *ctx, int root_fd, const char *path, int entry_dir_fd)
{
	(void)ctx;
	(void)root_fd;
	(void)path;
	(void)entry_dir_fd;
	return CMN_OK;
}

static bool is_sampled(void *ctx, size_t level, const char *name)
{
	const char digits[] = { name[0], name[1], name[2], name[3], '\0' };
	struct counting *counting = ctx;

	if (level != CC_PART_IMAGE)
		return true;
	if (strtoul(digits, NULL, 16) >= counting->below)
		return false;
	counting->sampled++;
	return true;
}

static bool add_item(void *ctx, const struct cc_store_item *item)
{
	struct counting *counting = ctx;
	struct census *census = counting->census;

	census->bytes += item->bytes;
	if (item->failed) {
		census->failures++;
	} else if (item->status == CMN_OK) {
		census->entries++;
		census->build_ns += item->build_ns;
		if (item->stored_ns < census->oldest_ns)
			census->oldest_ns = item->stored_ns;
	} else {
		census->damaged++;
	}
	if (counting->shown)
		terminal_progress_count("stats", ++counting->seen);
	return true;
}

static void scale(const struct counting *counting, const struct cc_account_mark *account)
{
	double factor = (double)counting->images / (double)counting->sampled;
	struct census *census = counting->census;

	census->entries = (uint64_t)((double)census->entries * factor);
	census->damaged = (uint64_t)((double)census->damaged * factor);
	census->failures = (uint64_t)((double)census->failures * factor);
	census->build_ns = (uint64_t)((double)census->build_ns * factor);
	census->bytes = account->known ? account->total : (uint64_t)((double)census->bytes * factor);
}

/* How many images there are, and what the account says. */
static enum cmn_status look(struct cc_store *store, struct counting *counting,
			    struct cc_account_mark *ret_account)
{
	const struct cc_entry_dir_choice images = { .enter = count_image };
	enum cmn_status status;
	int root_fd;

	status = cc_store_open_root(store, &root_fd);
	if (status != CMN_OK)
		return status;
	cc_account_mark(root_fd, ret_account);
	status = cc_entry_dir_walk_chosen(root_fd, &images, visit_nothing, counting);
	(void)close(root_fd);	/* read only */
	return status;
}

enum cmn_status census_take(const struct tool_cache *cache, bool exact, struct census *ret)
{
	struct counting counting = { .census = ret, .below = PREFIXES, .shown = exact };
	const struct cc_entry_dir_choice sample = { .enter = is_sampled };
	struct cc_account_mark account = { 0 };
	enum cmn_status status = CMN_OK;

	*ret = (struct census){ .oldest_ns = UINT64_MAX };
	if (!exact)
		status = look(cache->store, &counting, &account);
	if (status != CMN_OK)
		return status == CMN_MISS ? CMN_OK : status;
	if (counting.images > MOST_COUNTED) {
		counting.below = (unsigned long)(PREFIXES * (double)SAMPLE / (double)counting.images) + 1;
		ret->estimated = true;
	}
	status = cc_store_walk_chosen(cache->store, &sample, false, add_item, &counting);
	if (ret->estimated && counting.sampled)
		scale(&counting, &account);
	terminal_progress_hide();
	return status;
}
