/* SPDX-License-Identifier: MIT */
/* overhead: a look at names that are known; whatever else lies there is not the cache's. */
#include "cachecore/disk/space/overhead.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/disk/build_lock.h"
#include "cachecore/disk/space/account.h"
#include "cachecore/disk/space/days.h"
#include "cachecore/disk/contents.h"
#include "cachecore/disk/mark.h"
#include "cachecore/disk/reuse.h"
#include "cachecore/disk/writer/recipes.h"
#include "cachecore/record/totals.h"
#include "common/file.h"
#include "common/listing.h"

/* Smaller files stay, or a smaller share of the bound: removing them would gain little. */
#define TRIM_FROM (UINT64_C(64) << 10)
#define TRIM_SHARE 16
/* Of the bound, what there is trimmed to; and what the log, reuse.dat and the small files never exceed. */
#define QUARTER 4
#define SMALL_FILES_MAX (UINT64_C(2) << 20)

static uint64_t blocks_of(int dir_fd, const char *name)
{
	struct stat info;

	if (fstatat(dir_fd, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return cmn_file_blocks(&info);
}

/* Of a directory and what is in it, but for other directories' content. */
static uint64_t directory_bytes(int root_fd, const char *path)
{
	const struct dirent64 *item;
	struct cmn_listing listing;
	uint64_t bytes;

	if (!cmn_listing_open(&listing, root_fd, path))
		return 0;
	bytes = blocks_of(listing.fd, ".");
	while ((item = cmn_listing_next(&listing)))
		bytes += blocks_of(listing.fd, item->d_name);
	cmn_listing_close(&listing);
	return bytes;
}

uint64_t cc_overhead_bytes(int root_fd)
{
	static const char *const names[] = {
		".", CC_ACCOUNT_NAME, CC_BUILD_LOCK_NAME, CC_DAYS_NAME, CC_STATS_NAME,
		CC_EVENTS_NAME, CC_EVENTS_OLD_NAME, CC_REUSE_NAME,
		CC_MARK_NAME, CC_CONTENTS_NAME,
	};
	uint64_t bytes = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		bytes += blocks_of(root_fd, names[i]);
	return bytes + directory_bytes(root_fd, CC_RECIPES_DIRECTORY) +
	       directory_bytes(root_fd, CC_RECIPES_DIRECTORY "/" CC_RECIPES_QUARANTINE);
}

uint64_t cc_overhead_share(int root_fd, uint64_t max_size, uint64_t more)
{
	uint64_t bytes = cc_overhead_bytes(root_fd), least = max_size / QUARTER;

	bytes = bytes > UINT64_MAX - more ? UINT64_MAX : bytes + more;
	least = least < SMALL_FILES_MAX ? least : SMALL_FILES_MAX;
	return bytes > least ? bytes : least;
}

void cc_overhead_trim_records(int root_fd, uint64_t max_size)
{
	/* What is in the log is to be counted first, and then old. */
	static const char *const names[] = {
		CC_EVENTS_OLD_NAME, CC_REUSE_NAME, CC_EVENTS_NAME, CC_EVENTS_OLD_NAME,
	};
	uint64_t most = max_size / QUARTER, from = max_size / TRIM_SHARE;

	if (!max_size || cc_overhead_bytes(root_fd) <= most)
		return;
	if (from > TRIM_FROM)
		from = TRIM_FROM;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (blocks_of(root_fd, names[i]) <= from || cc_overhead_bytes(root_fd) <= most)
			continue;
		/* What stays is counted. */
		if (strcmp(names[i], CC_EVENTS_NAME) == 0)
			(void)!cc_totals_fold(root_fd, 0);
		else
			(void)unlinkat(root_fd, names[i], 0);
	}
}

void cc_overhead_trim(int root_fd, uint64_t max_size)
{
	uint64_t most = max_size / QUARTER;

	cc_overhead_trim_records(root_fd, max_size);
	if (max_size && cc_overhead_bytes(root_fd) > most)
		cc_recipes_limit(root_fd, most / 2);
}
