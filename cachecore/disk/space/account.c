/* SPDX-License-Identifier: MIT */
/* account: the size of all entries. */
#include "cachecore/disk/space/account.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "cachecore/disk/entry_dir_walk.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/listing.h"

/*
 * What nobody removes within one count of the tree: a share of what is there, or
 * these bytes. By so much the number may stay too high where it always changes.
 */
#define DRIFT_SHARE 8
#define DRIFT_BYTES (UINT64_C(64) << 20)
#define LOCK_MOST_NS UINT64_C(1000000000)

/* A descriptor of its own, so that a lock on it also excludes this process's other threads. */
enum cmn_status cc_account_lock(int root_fd, uint64_t until, int *ret_fd)
{
	int fd = cmn_file_open(root_fd, ".", O_RDONLY | O_DIRECTORY);
	enum cmn_status status;

	if (fd < 0)
		return cmn_status_from_errno(errno);
	status = cmn_file_lock(fd, until);
	/* Without locks the number may drift, until ckcache prune counts. */
	if (status == CMN_BUSY) {
		(void)close(fd);	/* a directory: nothing to be lost */
		return status;
	}
	*ret_fd = fd;
	return CMN_OK;
}

static uint64_t sum_of(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Whether there is no directory that could have entries: a root that is new has no number. */
static bool has_no_entries(int root_fd)
{
	const struct dirent64 *item;
	struct cmn_listing listing;
	bool any = false;

	if (!cmn_listing_open(&listing, root_fd, "."))
		return false;
	while (!any && (item = cmn_listing_next(&listing)))
		any = strlen(item->d_name) == CMN_HASH_HEX_SIZE - 1;
	cmn_listing_close(&listing);
	return !any;
}

/* By how it was read; what failed in another way may be read the next time. */
static bool is_lost(enum cmn_status status)
{
	return status == CMN_MISS || status == CMN_ERR_CORRUPT || status == CMN_ERR_ACCESS ||
	       status == CMN_ERR_TOO_LARGE;
}

enum cmn_status cc_account_sum(int locked_fd, uint64_t bytes, uint64_t limit, uint64_t *ret_total)
{
	uint64_t total = 0;
	enum cmn_status status = cc_number_file_read(locked_fd, CC_ACCOUNT_NAME, &total);

	if (status != CMN_OK && !is_lost(status))
		return status;
	if (status != CMN_OK) {
		total = 0;
		if (!has_no_entries(locked_fd))
			return CMN_MISS;
	}
	total = sum_of(total, bytes);
	if (total > limit)
		return CMN_STALE;
	*ret_total = total;
	return CMN_OK;
}

enum cmn_status cc_account_write(int locked_fd, uint64_t total)
{
	return cc_number_file_write(locked_fd, CC_ACCOUNT_NAME, total);
}

enum cmn_status cc_account_add(int root_fd, int64_t bytes, uint64_t until)
{
	uint64_t total = 0, less = bytes < 0 ? (uint64_t)-bytes : 0;
	enum cmn_status status;
	int fd = -1;

	status = cc_account_lock(root_fd, until, &fd);
	if (status != CMN_OK)
		return status;
	status = cc_number_file_read(fd, CC_ACCOUNT_NAME, &total);
	if (status == CMN_OK) {
		total = less ? (total > less ? total - less : 0) : sum_of(total, (uint64_t)bytes);
		status = cc_account_write(fd, total);
	} else if (is_lost(status)) {
		status = CMN_OK;
	}
	cc_root_unlock(fd);
	return status;
}

void cc_account_mark(int root_fd, struct cc_account_mark *ret)
{
	struct stat info;

	*ret = (struct cc_account_mark){ 0 };
	/* In this order: a number that is newer than its file's inode shows as a change. */
	if (fstatat(root_fd, CC_ACCOUNT_NAME, &info, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	ret->inode = (uint64_t)info.st_ino;
	ret->changed_ns = cmn_file_ns(info.st_ctim);
	ret->known = cc_number_file_read(root_fd, CC_ACCOUNT_NAME, &ret->total) == CMN_OK;
}

static bool is_same(const struct cc_account_mark *a, const struct cc_account_mark *b)
{
	return a->known == b->known && a->total == b->total && a->inode == b->inode &&
	       a->changed_ns == b->changed_ns;
}

enum cmn_status cc_account_correct(int root_fd, const struct cc_account_mark *before,
				   uint64_t counted, bool busy, uint64_t until, uint64_t *ret_total)
{
	struct cc_account_mark now;
	uint64_t total = counted, drift;
	enum cmn_status status;
	int fd = -1;

	status = cc_account_lock(root_fd, until, &fd);
	if (status != CMN_OK)
		return status;
	cc_account_mark(fd, &now);
	if (now.known && (busy || !is_same(before, &now))) {
		drift = now.total / DRIFT_SHARE > DRIFT_BYTES ? now.total / DRIFT_SHARE : DRIFT_BYTES;
		/* What was added may have been counted too. */
		if (now.total > before->total)
			drift = sum_of(drift, now.total - before->total);
		total = now.total > counted ? now.total : counted;
		if (!busy && before->known && total > sum_of(counted, drift))
			total = sum_of(counted, drift);
	}
	status = now.known && now.total == total ? CMN_OK : cc_account_write(fd, total);
	cc_root_unlock(fd);
	if (status == CMN_OK)
		*ret_total = total;
	return status;
}

/* Who has the root's lock may be stopped, however much time there is for counting. */
static uint64_t at_most(uint64_t until)
{
	uint64_t most = cmn_clock_deadline(LOCK_MOST_NS);

	return until < most ? until : most;
}

/* Whatever the time: it takes less than a millisecond, but a busy machine may take longer to get there. */
#define COUNTED_AT_LEAST 64

struct count {
	uint64_t total, until;
	unsigned int entry_dirs;
	bool busy;
};

static enum cmn_status count_entry_dir(void *ctx, int root_fd, const char *path, int entry_dir_fd)
{
	struct cc_entry_dir_scan scan;
	struct count *count = ctx;

	(void)root_fd;
	(void)path;
	if (count->entry_dirs++ >= COUNTED_AT_LEAST && cmn_clock_monotonic() >= count->until)
		return CMN_BUSY;
	count->busy |= cc_entry_dir_lock(entry_dir_fd, 0) == CMN_BUSY;
	cc_entry_dir_unlock(entry_dir_fd);
	if (cc_entry_dir_scan(entry_dir_fd, &scan) != CMN_OK)
		return CMN_OK;	/* removed meanwhile */
	/* What a dead writer left takes blocks until somebody sweeps. */
	count->busy |= scan.temporaries;
	for (unsigned int n = 0; n < CC_ENTRY_DIR_VARIANTS; n++) {
		if (scan.present[CC_ENTRY_DIR_SRC] >> n & 1)
			count->total += cc_entry_dir_bytes(entry_dir_fd, n);
	}
	return CMN_OK;
}

enum cmn_status cc_account_count(int root_fd, uint64_t *ret_total, bool *ret_busy)
{
	struct count count = { .until = UINT64_MAX };
	enum cmn_status status = cc_entry_dir_walk(root_fd, false, count_entry_dir, &count);

	if (status == CMN_OK) {
		*ret_total = count.total;
		if (ret_busy)
			*ret_busy = count.busy;
	}
	return status;
}

enum cmn_status cc_account_find(int root_fd, uint64_t full, uint64_t until)
{
	struct count count = { .until = until };
	enum cmn_status status = cc_entry_dir_walk(root_fd, false, count_entry_dir, &count);
	uint64_t total = status == CMN_OK || count.total > full ? count.total : full;
	int fd = -1;

	status = cc_account_lock(root_fd, at_most(until), &fd);
	if (status != CMN_OK)
		return status;
	/* Another one may have been faster. */
	status = cc_number_file_read(fd, CC_ACCOUNT_NAME, &count.total);
	if (is_lost(status))
		status = cc_account_write(fd, total);
	cc_root_unlock(fd);
	return status;
}

enum cmn_status cc_account_recount(int root_fd, uint64_t until)
{
	struct count count = { .until = until };
	struct cc_account_mark before;
	enum cmn_status status;
	uint64_t total;

	cc_account_mark(root_fd, &before);
	status = cc_entry_dir_walk(root_fd, false, count_entry_dir, &count);
	return status != CMN_OK ? status :
		cc_account_correct(root_fd, &before, count.total, count.busy, at_most(until), &total);
}
