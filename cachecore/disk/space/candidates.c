/* SPDX-License-Identifier: MIT */
/* candidates: a walk over the tree and a bounded heap whose top is the last to go. */
#include "cachecore/disk/space/candidates.h"

#include <stdlib.h>
#include <string.h>

#include "cachecore/disk/root.h"
#include "cachecore/disk/leaf_walk.h"
#include "common/clock.h"

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_DAY (86400 * NS_PER_S)
/* Half the capacity at first: most caches hold some thousand entries. */
#define FIRST_CAP 256

static bool leaf_has_leftovers(const struct cc_leaf_scan *scan)
{
	uint64_t others = scan->present[CC_LEAF_BIN] | scan->present[CC_LEAF_FORMER];

	return scan->temporaries || !(scan->present[CC_LEAF_SRC] | others) ||
	       (others & ~scan->present[CC_LEAF_SRC]);
}

/* Removes dead writers' leftovers: temporaries, files without a .src, empty directories. */
static void clear_leaf(int root_fd, const char *path, int leaf_fd, struct cc_leaf_scan *scan)
{
	uint64_t orphans;
	enum cmn_status status = cc_leaf_lock(leaf_fd, 0);

	/* Somebody publishes here; what a writer that lives makes is no leftover. */
	if (status == CMN_BUSY || status == CMN_MISS)
		return;
	if (cc_leaf_scan(leaf_fd, scan) != CMN_OK)
		goto out;
	cc_leaf_sweep(leaf_fd, status == CMN_OK);
	/* Without locks, a .bin without .src may be a writer's that is just at it. */
	if (status != CMN_OK)
		goto out;
	orphans = (scan->present[CC_LEAF_BIN] | scan->present[CC_LEAF_FORMER]) &
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

static void swap(struct cc_candidate *a, struct cc_candidate *b)
{
	struct cc_candidate c = *a;

	*a = *b;
	*b = c;
}

/* Restores the heap below i: no candidate goes after its parent. */
static void sift_down(struct cc_candidate *all, size_t count, size_t i)
{
	for (;;) {
		size_t last = i;

		for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < count; child++) {
			if (all[child].rank > all[last].rank)
				last = child;
		}
		if (last == i)
			return;
		swap(&all[i], &all[last]);
		i = last;
	}
}

static void sift_up(struct cc_candidate *all, size_t i)
{
	for (size_t parent; i > 0 && all[i].rank > all[parent = (i - 1) / 2].rank; i = parent)
		swap(&all[i], &all[parent]);
}

/* false: out of memory. */
static bool make_room(struct cc_candidates *found)
{
	size_t cap = found->cap ? found->cap * 2 : FIRST_CAP;
	struct cc_candidate *all;

	if (found->count < found->cap)
		return true;
	all = realloc(found->all, cap * sizeof(*all));
	if (!all)
		return false;
	found->all = all;
	found->cap = cap;
	return true;
}

static bool add_candidate(struct cc_candidates *found, const struct cc_candidate *one)
{
	found->entries++;
	found->bytes += one->bytes;
	if (found->count == found->max) {
		if (one->rank >= found->all[0].rank)
			return true;
		found->all[0] = *one;
		sift_down(found->all, found->count, 0);
		return true;
	}
	if (!make_room(found))
		return false;
	found->all[found->count] = *one;
	sift_up(found->all, found->count++);
	return true;
}

/*
 * The compiler's time that a byte saves, less as it is unused longer: what is
 * quickly compiled, large and old goes first (after the GreedyDual-Size family
 * of web caches, Cao and Irani, USITS 1997, with age instead of inflation).
 */
static uint64_t rank_by_cost(const struct cc_candidates *found, int leaf_fd, const struct cc_candidate *one)
{
	uint64_t age_ns = cc_days_since(&found->days, one->access_ns) * NS_PER_DAY + found->now % NS_PER_DAY;
	struct cc_entry_header header;
	double age_s, rank;

	if (cc_leaf_read_bin_header(leaf_fd, one->n, NULL, &header) != CMN_OK)
		return 0;	/* of no use to anybody */
	age_ns -= age_ns < one->access_ns % NS_PER_DAY ? age_ns : one->access_ns % NS_PER_DAY;
	age_s = (double)age_ns / (double)NS_PER_S + 1;
	rank = (double)header.build_ns / (double)(one->bytes + 1) / age_s;
	/* Differences matter down to a millionth of a nanosecond a byte and second. */
	rank = rank * 1e6 + 1;
	return rank < 1e19 ? (uint64_t)rank : (uint64_t)1e19;
}

static uint64_t rank_of(const struct cc_candidates *found, int leaf_fd, const struct cc_candidate *one)
{
	const struct cc_config *config = found->config;

	if (config->threshold_days && cc_days_since(&found->days, one->access_ns) > config->threshold_days)
		return 0;
	if (config->eviction_order == CC_EVICTION_COST)
		return rank_by_cost(found, leaf_fd, one);
	return cc_days_rank(&found->days, one->access_ns);
}

static enum cmn_status visit_leaf(void *ctx, int root_fd, const char *path, int leaf_fd)
{
	struct cc_candidates *found = ctx;
	struct cc_candidate one;
	struct cc_leaf_scan scan;

	if (found->go_on && !found->go_on(found->ctx)) {
		found->partial = true;
		return CMN_STALE;
	}
	found->busy |= cc_leaf_lock(leaf_fd, 0) == CMN_BUSY;
	cc_leaf_unlock(leaf_fd);
	if (cc_leaf_scan(leaf_fd, &scan) != CMN_OK)
		return CMN_OK;	/* removed meanwhile */
	if (leaf_has_leftovers(&scan))
		clear_leaf(root_fd, path, leaf_fd, &scan);
	memcpy(one.path, path, sizeof(one.path));
	for (one.n = 0; one.n < CC_LEAF_VARIANTS; one.n++) {
		if (!(scan.present[CC_LEAF_SRC] >> one.n & 1))
			continue;
		one.bytes = cc_leaf_bytes(leaf_fd, one.n);
		one.access_ns = cc_leaf_used_ns(leaf_fd, NULL, one.n);
		one.rank = rank_of(found, leaf_fd, &one);
		if (!add_candidate(found, &one))
			return CMN_ERR_NOMEM;
	}
	return CMN_OK;
}


enum cmn_status cc_candidates_find(struct cc_candidates *found, int root_fd)
{
	/* The nanoseconds of a moment are as good as chance. */
	unsigned int first = (unsigned int)(cmn_clock_monotonic() / 7 % 256);
	enum cmn_status status;

	cc_days_load(&found->days, root_fd);
	status = cc_leaf_walk_from(root_fd, first, true, visit_leaf, found);
	if (status == CMN_STALE)
		status = CMN_OK;
	/* In place: the library's qsort would take as much memory again. */
	for (size_t left = found->count; left > 1 && status == CMN_OK; left--) {
		swap(&found->all[0], &found->all[left - 1]);
		sift_down(found->all, left - 1, 0);
	}
	return status;
}

void cc_candidates_release(struct cc_candidates *found)
{
	free(found->all);
	found->all = NULL;
	found->count = found->cap = 0;
}
