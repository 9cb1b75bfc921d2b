/* SPDX-License-Identifier: MIT */
/* evict: candidates, then their removal in order, and again while that helps. */
#include "cachecore/disk/space/evict.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include "cachecore/disk/space/account.h"
#include "cachecore/disk/space/candidates.h"
#include "cachecore/record/history.h"
#include "cachecore/disk/space/number_file.h"
#include "cachecore/disk/space/overhead.h"
#include "cachecore/disk/root.h"
#include "common/clock.h"
#include "common/file.h"

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_DAY (86400 * NS_PER_S)
/* What an eviction that is to end gets for removing a part of what it has seen: some thousand entries. */
#define LAST_REMOVALS_NS (NS_PER_S / 10)
#define LOCK_WAIT_NS (NS_PER_S / 2)

/* What an eviction that removes little adds to the history itself. */
#define OWN_BYTES 8192
/* So many candidates are looked at between two changes of the account. */
#define GIVE_BACK_EVERY 64

struct eviction {
	int root_fd;
	const struct cc_config *config;
	const struct cc_evict_pace *pace;
	struct cc_candidates candidates;
	struct cc_history_evicted removed;
	bool reducing;		/* the root is full: half of it is to be left */
	uint64_t deadline;	/* monotonic, of removals; 0: none yet */
};

static bool goes_on(struct eviction *eviction)
{
	const struct cc_evict_pace *pace = eviction->pace;

	if (!eviction->deadline && pace && pace->go_on && !pace->go_on(pace->ctx))
		eviction->deadline = cmn_clock_monotonic() + LAST_REMOVALS_NS;
	return !eviction->deadline;
}

/* Who may have to end soon has not long to wait. */
static uint64_t lock_until(struct eviction *eviction)
{
	const struct cc_evict_pace *pace = eviction->pace;
	uint64_t until = pace && pace->lock_until ? pace->lock_until(pace->ctx)
						  : cmn_clock_monotonic() + LOCK_WAIT_NS;

	return eviction->deadline && eviction->deadline < until ? eviction->deadline : until;
}

static bool search_goes_on(void *ctx)
{
	return goes_on(ctx);
}

/* Returns the bytes freed; 0 where somebody works in the leaf or has used the entry meanwhile. */
static uint64_t remove_candidate(int root_fd, const struct cc_candidate *one)
{
	struct cc_leaf_scan scan;
	enum cmn_status status;
	uint64_t freed = 0;
	int fd;

	if (cc_leaf_open(root_fd, one->path, &fd) != CMN_OK)
		return 0;
	status = cc_leaf_lock(fd, 0);
	if (status == CMN_OK || status == CMN_ERR_IO) {
		if (cc_leaf_used_ns(fd, NULL, one->n) == one->access_ns)
			freed = cc_leaf_remove(fd, one->n);
		if (cc_leaf_scan(fd, &scan) == CMN_OK && cc_leaf_empty(&scan))
			cc_leaf_prune(root_fd, one->path);
	}
	cc_root_unlock(fd);
	return freed;
}

/* The bytes that are to go, of those that were seen; total: of all entries. */
static uint64_t excess_of(struct eviction *eviction, uint64_t total)
{
	const struct cc_candidates *candidates = &eviction->candidates;
	uint64_t max_size = eviction->config->max_size, overhead, left = 0, excess;
	uint64_t room = eviction->pace ? eviction->pace->room : 0;

	if (!max_size || !cc_evict_makes_room(eviction->config))
		return 0;
	if (room)
		room += OWN_BYTES;
	overhead = cc_overhead_share(eviction->root_fd, max_size, 0);
	if (max_size > overhead)
		left = max_size - overhead;
	eviction->reducing |= total > left || room > left - total;
	left = left / 2 + room <= left ? left / 2 : left > room ? left - room : 0;
	if (!eviction->reducing || total <= left)
		return 0;
	excess = total - left;
	/* By floating point: a share of a share, where a byte more or less is nothing. */
	return candidates->partial
		? (uint64_t)((double)excess * ((double)candidates->bytes / (double)total))
		: excess;
}

/* What is gone is gone for all: who waits for room need not wait for the rest. */
static enum cmn_status give_back(struct eviction *eviction, uint64_t *freed)
{
	int64_t bytes = (int64_t)*freed;

	*freed = 0;
	return bytes ? cc_account_add(eviction->root_fd, -bytes, lock_until(eviction))
		     : CMN_OK;
}

/* Removes in order until so many bytes are freed and nothing is too old. *ret_freed: the bytes. */
static enum cmn_status remove_excess(struct eviction *eviction, uint64_t excess,
				     uint64_t *ret_freed)
{
	const struct cc_candidates *candidates = &eviction->candidates;
	enum cmn_status status = CMN_OK;
	uint64_t freed = 0, owed = 0, gone;

	for (size_t i = 0; i < candidates->count && status == CMN_OK; i++) {
		const struct cc_candidate *one = &candidates->all[i];

		/* In order: the first that may stay ends it. Rank 0 is too old. */
		if (freed >= excess && one->rank)
			break;
		if (!goes_on(eviction) && cmn_clock_monotonic() >= eviction->deadline)
			break;
		gone = remove_candidate(eviction->root_fd, one);
		if (gone)
			cc_history_add_removal(&eviction->removed,
					       one->rank ? CC_HISTORY_BY_SIZE : CC_HISTORY_BY_AGE,
					       one->path);
		freed += gone;
		owed += gone;
		if (i % GIVE_BACK_EVERY == GIVE_BACK_EVERY - 1)
			status = give_back(eviction, &owed);
	}
	*ret_freed = freed;
	return status == CMN_OK ? give_back(eviction, &owed) : status;
}

/* Temporaries of cache_size.txt and its like, under the lock that their writers hold; else old ones. */
static void sweep_root(int root_fd)
{
	int fd = cmn_file_open(root_fd, ".", O_RDONLY | O_DIRECTORY);

	if (fd < 0)
		return;	/* the next eviction sweeps */
	cc_leaf_sweep(fd, cmn_file_lock(fd, 0) == CMN_OK);
	cc_root_unlock(fd);
}

/*
 * One search for candidates and their removal. *ret_again: there is more to go than one search
 * holds. CMN_STALE: what is left is too much, and another round would not help.
 */
static enum cmn_status evict_once(struct eviction *eviction, bool *ret_again)
{
	struct cc_candidates *candidates = &eviction->candidates;
	const struct cc_config *config = eviction->config;
	const struct cc_evict_pace *pace = eviction->pace;
	uint64_t total = 0, excess, freed = 0;
	struct cc_account_mark before;
	enum cmn_status status;

	*candidates = (struct cc_candidates){
		.config = config, .now = cmn_clock_realtime(),
		.max = pace && pace->max_candidates ? pace->max_candidates : CC_CANDIDATES_MAX,
		.go_on = search_goes_on, .ctx = eviction,
	};
	cc_account_mark(eviction->root_fd, &before);
	status = cc_candidates_find(candidates, eviction->root_fd);
	/* Of a part of the tree nothing follows but that there is as much. */
	if (status == CMN_OK)
		status = cc_account_correct(eviction->root_fd, &before, candidates->bytes,
					    candidates->busy || candidates->partial, lock_until(eviction),
					    &total);
	if (status != CMN_OK || config->eviction_disable)
		goto out;
	excess = excess_of(eviction, total);
	status = remove_excess(eviction, excess, &freed);
	/* What others have stored meanwhile is the next eviction's, or this one might never end. */
	if (status == CMN_OK && freed < excess) {
		*ret_again = freed && !candidates->partial && !eviction->deadline;
		status = CMN_STALE;
	}
out:
	cc_candidates_release(candidates);
	return status;
}

static enum cmn_status evict_locked(struct eviction *eviction)
{
	enum cmn_status status;
	uint64_t stamp;
	bool again;

	sweep_root(eviction->root_fd);
	if (!eviction->config->eviction_disable)
		cc_overhead_trim(eviction->root_fd, eviction->config->max_size);
	do {
		again = false;
		status = evict_once(eviction, &again);
	} while (again);
	cc_history_write_removals(&eviction->removed, eviction->root_fd);
	if (status == CMN_OK && eviction->deadline)
		return CMN_STALE;
	if (status != CMN_OK)
		return status;
	/* One that only counts leaves the next look at ages due as it was. */
	if (!eviction->config->eviction_disable)
		status = cc_number_file_write(eviction->root_fd, CC_EVICT_STAMP_NAME,
					      cmn_clock_realtime());
	else if (cc_number_file_read(eviction->root_fd, CC_EVICT_STAMP_NAME, &stamp) != CMN_OK)
		status = cc_number_file_write(eviction->root_fd, CC_EVICT_STAMP_NAME, 0);
	return status;
}

enum cmn_status cc_evict_run(int root_fd, const struct cc_config *config,
			     const struct cc_evict_pace *pace)
{
	struct eviction eviction = { .root_fd = root_fd, .config = config, .pace = pace };
	enum cmn_status status;
	int fd = -1;

	/* Without the file, as where the file system has no locks, two evictors only do the same work twice. */
	status = cc_evict_lock(root_fd, 0, &fd);
	if (status != CMN_BUSY)
		status = evict_locked(&eviction);
	if (fd >= 0)
		cc_root_unlock(fd);
	return status;
}

enum cmn_status cc_evict_lock(int root_fd, uint64_t until, int *ret_fd)
{
	enum cmn_status status;

	*ret_fd = -1;
	status = cmn_file_open_healed(root_fd, CC_EVICT_LOCK_NAME, ret_fd);
	return status == CMN_OK ? cmn_file_lock(*ret_fd, until) : status;
}

bool cc_evict_due(int root_fd, const struct cc_config *config)
{
	uint64_t last, now = cmn_clock_realtime();

	if (cc_number_file_read(root_fd, CC_EVICT_STAMP_NAME, &last) != CMN_OK)
		return true;
	if (config->eviction_disable || !config->threshold_days)
		return false;
	/* A stamp from the future was made before the clock was set back. */
	return last > now || now - last >= NS_PER_DAY;
}

bool cc_evict_makes_room(const struct cc_config *config)
{
	return !config->eviction_disable && config->eviction_order != CC_EVICTION_NONE;
}
