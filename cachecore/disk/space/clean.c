/* SPDX-License-Identifier: MIT */
/* clean: one walk that remembers every entry, a sort, and removals in that order. */
#include "cachecore/disk/space/clean.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "cachecore/disk/entry_dir_walk.h"
#include "cachecore/disk/root.h"
#include "cachecore/disk/space/account.h"
#include "cachecore/disk/space/evict.h"
#include "cachecore/disk/space/overhead.h"
#include "cachecore/record/recorder.h"
#include "common/bytes.h"
#include "common/clock.h"
#include "common/file.h"

#define LOCK_WAIT_NS UINT64_C(500000000)
/* Entry directories that stay locked until the account is corrected for all of them. */
#define BATCH 64

struct cleaning {
	int root_fd;
	const struct cc_clean_watch *watch;
	struct cc_ranking ranking;
	struct cc_candidate *all;
	size_t count;
	uint64_t bytes;
	bool busy;	/* somebody writes: what is in the account need not be there yet */
};

static void show(const struct cleaning *cleaning)
{
	if (cleaning->watch)
		cleaning->watch->show(cleaning->watch->ctx);
}

static uint64_t lock_until(void)
{
	return cmn_clock_monotonic() + LOCK_WAIT_NS;
}

/* Removes dead writers' leftovers: temporaries, files without a .src, empty directories. Its lock is held. */
static void clear_entry_dir(int root_fd, const char *path, int entry_dir_fd, const struct cc_entry_dir_scan *scan)
{
	uint64_t orphans = (scan->present[CC_ENTRY_DIR_BIN] | scan->present[CC_ENTRY_DIR_FORMER]) &
			   ~scan->present[CC_ENTRY_DIR_SRC];

	if (scan->temporaries)
		cc_entry_dir_sweep(entry_dir_fd, true);
	for (unsigned int n = 0; n < CC_ENTRY_DIR_VARIANTS; n++) {
		if (orphans >> n & 1)
			(void)cc_entry_dir_remove(entry_dir_fd, n);	/* they were not counted */
	}
	if (!scan->present[CC_ENTRY_DIR_SRC])
		cc_entry_dir_prune(root_fd, path);
}

static enum cmn_status visit_entry_dir(void *ctx, int root_fd, const char *path, int entry_dir_fd)
{
	enum cmn_status locked = cc_entry_dir_lock(entry_dir_fd, 0);
	struct cleaning *cleaning = ctx;
	struct cc_candidate *all;
	struct cc_entry_dir_scan scan;

	show(cleaning);
	cleaning->busy |= locked == CMN_BUSY;
	if (cc_entry_dir_scan(entry_dir_fd, &scan) != CMN_OK)
		scan = (struct cc_entry_dir_scan){ 0 };	/* removed meanwhile */
	else if (locked == CMN_OK)
		clear_entry_dir(root_fd, path, entry_dir_fd, &scan);
	else if (locked == CMN_ERR_IO)
		cc_entry_dir_sweep(entry_dir_fd, false);	/* without locks a .bin may be a writer's that is just at it */
	for (unsigned int n = 0; n < CC_ENTRY_DIR_VARIANTS; n++) {
		if (!(scan.present[CC_ENTRY_DIR_SRC] >> n & 1))
			continue;
		all = cmn_array_grow(cleaning->all, cleaning->count, sizeof(*all));
		if (!all)
			return CMN_ERR_NOMEM;
		cleaning->all = all;
		cc_candidate_look(&cleaning->ranking, path, entry_dir_fd, n, &all[cleaning->count]);
		cleaning->bytes += all[cleaning->count++].bytes;
	}
	cc_entry_dir_unlock(entry_dir_fd);
	return CMN_OK;
}

static int by_rank(const void *a, const void *b)
{
	const struct cc_candidate *one = a, *two = b;

	return (one->rank > two->rank) - (one->rank < two->rank);
}

/* What the entries may take afterwards. total: what they take now. */
static uint64_t bytes_to_leave(const struct cleaning *cleaning, uint64_t total)
{
	const struct cc_config *config = cleaning->ranking.config;
	uint64_t overhead, left;

	if (!config->max_size || !cc_evict_makes_room(config))
		return UINT64_MAX;
	overhead = cc_overhead_share(cleaning->root_fd, config->max_size, 0);
	left = config->max_size > overhead ? config->max_size - overhead : 0;
	return total > left ? left / 2 : UINT64_MAX;
}

struct batch {
	const struct cc_candidate *all[BATCH];
	int entry_dirs[BATCH];
	size_t count;
	uint64_t freed;
};

static void end_batch(const struct cleaning *cleaning, struct batch *batch)
{
	/* Failing leaves the account too high. */
	if (batch->freed)
		(void)!cc_account_add(cleaning->root_fd, -(int64_t)batch->freed, lock_until());
	for (size_t i = 0; i < batch->count; i++)
		cc_candidate_leave(batch->all[i], cleaning->root_fd, batch->entry_dirs[i]);
	batch->count = 0;
	batch->freed = 0;
}

/* Returns the bytes freed. */
static uint64_t remove_one(const struct cleaning *cleaning, struct batch *batch, const struct cc_candidate *one)
{
	uint64_t freed = cc_candidate_remove(one, cleaning->root_fd, &batch->entry_dirs[batch->count]);

	/* Perhaps it is in an entry directory of the batch. */
	if (!freed && batch->count) {
		end_batch(cleaning, batch);
		freed = cc_candidate_remove(one, cleaning->root_fd, &batch->entry_dirs[0]);
	}
	if (freed) {
		batch->all[batch->count++] = one;
		batch->freed += freed;
	}
	if (batch->count == BATCH)
		end_batch(cleaning, batch);
	return freed;
}

/* In order, until what is left is little enough and not too old. */
static enum cmn_status remove_excess(const struct cleaning *cleaning, uint64_t total)
{
	uint64_t left = bytes_to_leave(cleaning, total), freed = 0, excess = total > left ? total - left : 0, gone;
	struct cc_removals removed = { 0 };
	struct batch batch = { .count = 0 };

	for (size_t i = 0; i < cleaning->count && (freed < excess || !cleaning->all[i].rank); i++) {
		const struct cc_candidate *one = &cleaning->all[i];

		show(cleaning);
		gone = remove_one(cleaning, &batch, one);
		if (gone)
			cc_removals_add(&removed, one->rank ? CC_REMOVED_BY_SIZE : CC_REMOVED_BY_AGE,
					       one->path);
		else if (!cc_entry_dir_used_ns(cleaning->root_fd, one->path, one->n))
			gone = one->bytes;	/* another one was faster */
		freed += gone;
	}
	end_batch(cleaning, &batch);
	cc_removals_write(&removed, cleaning->root_fd);
	return freed < excess ? CMN_STALE : CMN_OK;
}

/* Temporaries of cache_size.txt and its like, under the lock that their writers hold; else old ones. */
static void sweep_root(int root_fd)
{
	int fd = cmn_file_open(root_fd, ".", O_RDONLY | O_DIRECTORY);

	if (fd < 0)
		return;	/* the next one sweeps */
	cc_entry_dir_sweep(fd, cmn_file_lock(fd, 0) == CMN_OK);
	cc_root_unlock(fd);
}

enum cmn_status cc_clean(int root_fd, const struct cc_config *config, const struct cc_clean_watch *watch)
{
	struct cleaning cleaning = { .root_fd = root_fd, .watch = watch };
	struct cc_account_mark before;
	enum cmn_status status;
	uint64_t total = 0;

	sweep_root(root_fd);
	if (!config->eviction_disable)
		cc_overhead_trim(root_fd, config->max_size);
	cc_ranking_load(&cleaning.ranking, root_fd, config);
	cc_account_mark(root_fd, &before);
	status = cc_entry_dir_walk(root_fd, true, visit_entry_dir, &cleaning);
	if (status == CMN_OK)
		status = cc_account_correct(root_fd, &before, cleaning.bytes, cleaning.busy, lock_until(), &total);
	if (status == CMN_OK && !config->eviction_disable) {
		if (cleaning.count)
			qsort(cleaning.all, cleaning.count, sizeof(*cleaning.all), by_rank);
		status = remove_excess(&cleaning, total);
	}
	free(cleaning.all);
	return status;
}
