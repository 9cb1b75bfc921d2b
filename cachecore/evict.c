/* SPDX-License-Identifier: MIT */
/* evict: one walk that clears and counts, then removals in order of use. */
#include "cachecore/evict.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/account.h"
#include "cachecore/leaf.h"
#include "cachecore/number_file.h"
#include "cachecore/root.h"
#include "cachecore/tree.h"
#include "common/clock.h"
#include "common/file.h"

#define NS_PER_DAY (UINT64_C(86400) * 1000000000)

struct candidate {
	char path[CC_LEAF_PATH_SIZE];
	unsigned int n;
	uint64_t bytes;
	uint64_t access_ns;
};

struct census {
	struct candidate *all;
	size_t count, cap;
	uint64_t total;		/* bytes */
	uint64_t now;
};

static bool leaf_empty(const struct cc_leaf_scan *scan)
{
	return !(scan->present[CC_LEAF_SRC] | scan->present[CC_LEAF_BIN] |
		 scan->present[CC_LEAF_ACCESS]) && !scan->temporaries;
}

/* Removes dead writers' leftovers: temporaries, files without a .src, empty directories. */
static void clear_leaf(int root_fd, const char *path, int leaf_fd, struct cc_leaf_scan *scan)
{
	uint64_t orphans;
	enum cmn_status status = cc_leaf_lock(leaf_fd, false);

	/* Somebody publishes here; what a writer that lives makes is no leftover. */
	if (status == CMN_BUSY || status == CMN_MISS)
		return;
	if (cc_leaf_scan(leaf_fd, scan) != CMN_OK)
		goto out;
	cc_leaf_sweep(leaf_fd, status == CMN_OK);
	/* Without locks, a .bin without .src may be a writer's that is just at it. */
	if (status != CMN_OK)
		goto out;
	orphans = (scan->present[CC_LEAF_BIN] | scan->present[CC_LEAF_ACCESS]) &
		  ~scan->present[CC_LEAF_SRC];
	for (unsigned int n = 0; n < CC_LEAF_VARIANTS; n++) {
		if (orphans >> n & 1)
			(void)cc_leaf_remove(leaf_fd, n);	/* they were not counted */
	}
	if (!scan->present[CC_LEAF_SRC])
		cc_leaf_prune(root_fd, path);
out:
	cc_leaf_unlock(leaf_fd);
}

static bool append_candidate(struct census *census, const char *path, unsigned int n, int leaf_fd)
{
	struct candidate *one;

	if (census->count == census->cap) {
		size_t cap = census->cap ? census->cap * 2 : 256;
		struct candidate *all = realloc(census->all, cap * sizeof(*all));

		if (!all)
			return false;
		census->all = all;
		census->cap = cap;
	}
	one = &census->all[census->count++];
	memcpy(one->path, path, sizeof(one->path));
	one->n = n;
	one->bytes = cc_leaf_bytes(leaf_fd, n);
	one->access_ns = cc_leaf_access_ns(leaf_fd, n, census->now);
	census->total += one->bytes;
	return true;
}

static enum cmn_status visit_leaf(void *ctx, int root_fd, const char *path, int leaf_fd)
{
	struct census *census = ctx;
	struct cc_leaf_scan scan;

	if (cc_leaf_scan(leaf_fd, &scan) != CMN_OK)
		return CMN_OK;	/* removed meanwhile */
	if (leaf_empty(&scan) || scan.temporaries ||
	    ((scan.present[CC_LEAF_BIN] | scan.present[CC_LEAF_ACCESS]) & ~scan.present[CC_LEAF_SRC]))
		clear_leaf(root_fd, path, leaf_fd, &scan);
	for (unsigned int n = 0; n < CC_LEAF_VARIANTS; n++) {
		if ((scan.present[CC_LEAF_SRC] >> n & 1) &&
		    !append_candidate(census, path, n, leaf_fd))
			return CMN_ERR_NOMEM;
	}
	return CMN_OK;
}

/* Returns the bytes freed; 0 where somebody works in the leaf or has used the entry meanwhile. */
static uint64_t remove_candidate(int root_fd, const struct candidate *one, uint64_t now)
{
	struct cc_leaf_scan scan;
	enum cmn_status status;
	uint64_t freed = 0;
	int fd;

	if (cc_leaf_open(root_fd, one->path, &fd) != CMN_OK)
		return 0;
	status = cc_leaf_lock(fd, false);
	if (status == CMN_OK || status == CMN_ERR_IO) {
		if (cc_leaf_access_ns(fd, one->n, now) <= one->access_ns)
			freed = cc_leaf_remove(fd, one->n);
		if (cc_leaf_scan(fd, &scan) == CMN_OK && leaf_empty(&scan))
			cc_leaf_prune(root_fd, one->path);
	}
	cc_root_unlock(fd);
	return freed;
}

static int compare_access(const void *a, const void *b)
{
	uint64_t x = ((const struct candidate *)a)->access_ns;
	uint64_t y = ((const struct candidate *)b)->access_ns;

	return x < y ? -1 : x > y;
}

static void remove_excess(int root_fd, const struct cc_config *config, struct census *census)
{
	uint64_t keep = UINT64_MAX, oldest = 0;

	if (config->max_size && census->total > config->max_size)
		keep = config->max_size / 2;
	if (config->threshold_days && config->threshold_days < census->now / NS_PER_DAY)
		oldest = census->now - config->threshold_days * NS_PER_DAY;
	qsort(census->all, census->count, sizeof(*census->all), compare_access);
	for (size_t i = 0; i < census->count; i++) {
		const struct candidate *one = &census->all[i];
		uint64_t freed;

		/* In order of use: the first that may stay ends it. */
		if (census->total <= keep && one->access_ns >= oldest)
			break;
		freed = remove_candidate(root_fd, one, census->now);
		census->total -= freed < census->total ? freed : census->total;
	}
}

/* Temporaries of cache_size.txt and its like, under the lock that their writers hold. */
static void sweep_root(int root_fd)
{
	int fd = openat(root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;	/* the next eviction sweeps */
	cc_leaf_sweep(fd, cmn_file_lock(fd, true) == CMN_OK);
	cc_root_unlock(fd);
}

static enum cmn_status evict_locked(int root_fd, const struct cc_config *config)
{
	struct census census = { .now = cmn_clock_realtime() };
	enum cmn_status status;

	sweep_root(root_fd);
	status = cc_tree_walk(root_fd, true, visit_leaf, &census);
	if (status == CMN_OK && census.count && !config->eviction_disable)
		remove_excess(root_fd, config, &census);
	/* What others stored since the walk is missed: the number is a little low until the next one. */
	if (status == CMN_OK)
		status = cc_account_set(root_fd, census.total);
	if (status == CMN_OK)
		status = cc_number_file_write(root_fd, CC_EVICT_STAMP_NAME, census.now);
	free(census.all);
	return status;
}

enum cmn_status cc_evict_run(int root_fd, const struct cc_config *config)
{
	enum cmn_status status;
	int fd = openat(root_fd, CC_EVICT_LOCK_NAME,
			O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);

	if (fd < 0)
		return cmn_status_from_errno(errno);
	/* Where the file system has no locks, two evictors only do the same work twice. */
	status = cmn_file_lock(fd, false);
	if (status != CMN_BUSY)
		status = evict_locked(root_fd, config);
	cc_root_unlock(fd);
	return status;
}

bool cc_evict_due(int root_fd, const struct cc_config *config)
{
	uint64_t last, now = cmn_clock_realtime();

	if (config->eviction_disable || !config->threshold_days)
		return false;
	if (cc_number_file_read(root_fd, CC_EVICT_STAMP_NAME, &last) != CMN_OK)
		return true;
	/* A stamp from the future was made before the clock was set back. */
	return last > now || now - last >= NS_PER_DAY;
}
