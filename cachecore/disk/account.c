/* SPDX-License-Identifier: MIT */
/* account: the size of all entries. */
#include "cachecore/disk/account.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "cachecore/disk/evict.h"
#include "cachecore/disk/leaf.h"
#include "cachecore/disk/number_file.h"
#include "cachecore/disk/root.h"
#include "cachecore/disk/leaf_walk.h"
#include "common/descriptor.h"
#include "common/file.h"

/* A descriptor of its own, so that a lock on it also excludes this process's other threads. */
static enum cmn_status lock_root(int root_fd, uint64_t until, int *ret_fd)
{
	int fd = cmn_descriptor_open(root_fd, ".", O_RDONLY | O_DIRECTORY);
	enum cmn_status status;

	if (fd < 0)
		return cmn_status_from_errno(errno);
	status = cmn_file_lock(fd, until);
	/* Without locks the number may drift, which the next eviction mends. */
	if (status == CMN_BUSY) {
		(void)cmn_descriptor_close(fd);	/* a directory: nothing to be lost */
		return status;
	}
	*ret_fd = fd;
	return CMN_OK;
}

static enum cmn_status count_leaf(void *ctx, int root_fd, const char *path, int leaf_fd)
{
	struct cc_leaf_scan scan;
	uint64_t *total = ctx;

	(void)root_fd;
	(void)path;
	if (cc_leaf_scan(leaf_fd, &scan) != CMN_OK)
		return CMN_OK;	/* removed meanwhile */
	for (unsigned int n = 0; n < CC_LEAF_VARIANTS; n++) {
		if (scan.present[CC_LEAF_SRC] >> n & 1)
			*total += cc_leaf_bytes(leaf_fd, n);
	}
	return CMN_OK;
}

enum cmn_status cc_account_count(int root_fd, uint64_t *ret_total)
{
	uint64_t total = 0;
	enum cmn_status status = cc_leaf_walk(root_fd, false, count_leaf, &total);

	if (status == CMN_OK)
		*ret_total = total;
	return status;
}

enum cmn_status cc_account_set(int root_fd, uint64_t total, uint64_t until)
{
	enum cmn_status status;
	int fd = -1;

	status = lock_root(root_fd, until, &fd);
	if (status != CMN_OK)
		return status;
	status = cc_number_file_write(fd, CC_ACCOUNT_NAME, total);
	cc_root_unlock(fd);
	return status;
}

enum cmn_status cc_account_correct(int root_fd, uint64_t before, uint64_t counted,
				   uint64_t until, uint64_t *ret_total)
{
	uint64_t total = counted, now;
	enum cmn_status status;
	int fd = -1;

	status = lock_root(root_fd, until, &fd);
	if (status != CMN_OK)
		return status;
	if (cc_number_file_read(fd, CC_ACCOUNT_NAME, &now) != CMN_OK)
		now = before;
	if (now > before)
		total = counted > UINT64_MAX - (now - before) ? UINT64_MAX : counted + (now - before);
	status = cc_number_file_write(fd, CC_ACCOUNT_NAME, total);
	cc_root_unlock(fd);
	if (status == CMN_OK)
		*ret_total = total;
	return status;
}

/*
 * Adds bytes where the sum stays within limit. A number that is lost begins
 * anew by what is added, and an eviction is due, which counts the tree without
 * the root's lock and corrects the number by what it was before and after.
 */
static enum cmn_status change(int root_fd, int64_t bytes, uint64_t limit, uint64_t until,
			      uint64_t *ret_total)
{
	uint64_t total = 0, less = bytes < 0 ? (uint64_t)-bytes : 0;
	enum cmn_status status;
	int fd = -1;

	status = lock_root(root_fd, until, &fd);
	if (status != CMN_OK)
		return status;
	if (cc_number_file_read(fd, CC_ACCOUNT_NAME, &total) != CMN_OK) {
		total = 0;
		(void)unlinkat(fd, CC_EVICT_STAMP_NAME, 0);	/* if it stays, that is a day later */
	}
	if (less)
		total = total > less ? total - less : 0;
	else
		total = total > UINT64_MAX - (uint64_t)bytes ? UINT64_MAX : total + (uint64_t)bytes;
	if (total > limit)
		status = CMN_STALE;
	else
		status = cc_number_file_write(fd, CC_ACCOUNT_NAME, total);
	cc_root_unlock(fd);
	if (status == CMN_OK && ret_total)
		*ret_total = total;
	return status;
}

enum cmn_status cc_account_add(int root_fd, int64_t bytes, uint64_t until, uint64_t *ret_total)
{
	return change(root_fd, bytes, UINT64_MAX, until, ret_total);
}

enum cmn_status cc_account_reserve(int root_fd, uint64_t bytes, uint64_t limit, uint64_t until,
				   uint64_t *ret_total)
{
	return change(root_fd, bytes < INT64_MAX ? (int64_t)bytes : INT64_MAX, limit, until,
		      ret_total);
}
