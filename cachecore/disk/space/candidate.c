/* SPDX-License-Identifier: MIT */
/* candidate: ranks, and removal under the entry directory's lock. */
#include "cachecore/disk/space/candidate.h"

#include <string.h>

#include "cachecore/disk/root.h"
#include "common/clock.h"

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_DAY (86400 * NS_PER_S)

void cc_ranking_load(struct cc_ranking *ret, int root_fd, const struct cc_config *config)
{
	ret->config = config;
	ret->now = cmn_clock_realtime();
	cc_days_load(&ret->days, root_fd);
}

/*
 * The compiler's time that a byte saves, less as it is unused longer: what is
 * quickly compiled, large and old goes first (after the GreedyDual-Size family
 * of web caches, Cao and Irani, USITS 1997, with age instead of inflation).
 */
static uint64_t rank_by_cost(const struct cc_ranking *ranking, int entry_dir_fd, const struct cc_candidate *one)
{
	uint64_t age_ns = cc_days_since(&ranking->days, one->used_ns) * NS_PER_DAY + ranking->now % NS_PER_DAY;
	struct cc_entry_header header;
	double age_s, rank;

	if (cc_entry_dir_read_bin_header(entry_dir_fd, one->n, NULL, &header) != CMN_OK)
		return 1;	/* of no use to this version; 0 is for age */
	age_ns -= age_ns < one->used_ns % NS_PER_DAY ? age_ns : one->used_ns % NS_PER_DAY;
	age_s = (double)age_ns / (double)NS_PER_S + 1;
	rank = (double)header.build_ns / (double)(one->bytes + 1) / age_s;
	/* Differences matter down to a millionth of a nanosecond a byte and second. */
	rank = rank * 1e6 + 1;
	return rank < 1e19 ? (uint64_t)rank : (uint64_t)1e19;
}

void cc_candidate_look(const struct cc_ranking *ranking, const char *path, int entry_dir_fd, unsigned int n,
		       struct cc_candidate *ret)
{
	const struct cc_config *config = ranking->config;

	memcpy(ret->path, path, sizeof(ret->path));
	ret->n = n;
	ret->bytes = cc_entry_dir_bytes(entry_dir_fd, n);
	ret->used_ns = cc_entry_dir_used_ns(entry_dir_fd, NULL, n);
	if (config->threshold_days && cc_days_since(&ranking->days, ret->used_ns) > config->threshold_days)
		ret->rank = 0;
	else if (config->eviction_order == CC_EVICTION_COST)
		ret->rank = rank_by_cost(ranking, entry_dir_fd, ret);
	else
		ret->rank = cc_days_rank(&ranking->days, ret->used_ns);
}

uint64_t cc_candidate_remove(const struct cc_candidate *one, int root_fd, int *ret_entry_dir_fd)
{
	enum cmn_status status;
	uint64_t freed = 0;
	int fd;

	*ret_entry_dir_fd = -1;
	if (cc_entry_dir_open(root_fd, one->path, &fd) != CMN_OK)
		return 0;
	status = cc_entry_dir_lock(fd, 0);
	if ((status == CMN_OK || status == CMN_ERR_IO) && cc_entry_dir_used_ns(fd, NULL, one->n) == one->used_ns)
		freed = cc_entry_dir_remove(fd, one->n);
	if (freed)
		*ret_entry_dir_fd = fd;
	else
		cc_root_unlock(fd);
	return freed;
}

void cc_candidate_leave(const struct cc_candidate *one, int root_fd, int entry_dir_fd)
{
	if (entry_dir_fd < 0)
		return;
	/* Only now: who counts does not see the lock of a directory that is gone. */
	cc_entry_dir_prune(root_fd, one->path);
	cc_root_unlock(entry_dir_fd);
}
