/* SPDX-License-Identifier: MIT */
/*
 * store_change: what commands do to single entries: removal, and another compression. `ckcache clear`, which
 * removes everything, is in tools/entries/prune.c; eviction is in space/.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "cachecore/disk/space/account.h"
#include "cachecore/disk/space/overhead.h"
#include "cachecore/disk/store_internal.h"

/* Of file systems, as a rule: fewer bytes in as many blocks gain nothing. */
#define BLOCK UINT64_C(4096)

static bool is_there(int entry_dir_fd, unsigned int n)
{
	char name[CC_ENTRY_DIR_NAME_SIZE];

	cc_entry_dir_name(CC_ENTRY_DIR_SRC, n, name);
	return faccessat(entry_dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

enum cmn_status cc_store_discard(struct cc_store *store, const struct cc_store_place *place,
				 uint64_t access_ns, uint64_t *ret_freed)
{
	uint64_t until = cc_store_lock_until(store);
	struct cc_store_hold held;
	enum cmn_status status;

	*ret_freed = 0;
	if (store->config->read_only)
		return CMN_ERR_ACCESS;
	status = cc_store_enter(store, place->entry_dir, &held);
	if (status == CMN_OK)
		status = cc_store_lock(&held, until);
	if (status == CMN_OK && !is_there(held.entry_dir_fd, place->n))
		status = CMN_MISS;
	if (status == CMN_OK &&
	    cc_entry_dir_used_ns(held.entry_dir_fd, NULL, place->n) != access_ns)
		status = CMN_STALE;
	if (status == CMN_OK) {
		*ret_freed = cc_entry_dir_remove(held.entry_dir_fd, place->n);
		if (is_there(held.entry_dir_fd, place->n))
			status = CMN_ERR_ACCESS;
		cc_store_note_freed(&held, place->entry_dir, *ret_freed, until);
	}
	cc_store_leave(&held);
	return status;
}

/* An entry's .bin as it is, and as it would be. */
struct recoding {
	struct cc_entry_header old;
	uint8_t header[CC_ENTRY_HEADER_SIZE];
	struct cmn_buffer stored;	/* empty: the payload as it is */
	struct cc_entry *entry;
};

static void release_recoding(struct recoding *recoding)
{
	cmn_buffer_release(&recoding->stored);
	cc_entry_unref(recoding->entry);
}

/* Reads and verifies every byte, without a lock: files appear whole. */
static enum cmn_status encode(const struct cc_store *store, const struct cc_store_place *place,
			      int entry_dir_fd, int level, unsigned int load_rate,
			      struct recoding *ret)
{
	struct cmn_buffer file = { 0 };
	struct cc_src src;
	enum cmn_status status = cc_entry_dir_read_src(entry_dir_fd, place->n, cc_store_trust(store),
							 &file, &src);

	if (status == CMN_OK)
		status = cc_entry_dir_read_bin_header(entry_dir_fd, place->n, &src, &ret->old);
	if (status == CMN_OK)
		status = cc_entry_dir_read_bin(entry_dir_fd, NULL, place->n, cc_store_trust(store),
						 &src, NULL, NULL, &ret->entry);
	if (status == CMN_OK) {
		cc_entry_set_load_rate(ret->entry, load_rate);
		status = cc_entry_encode(ret->entry, level, &src.hash, NULL, ret->header, &ret->stored);
	}
	cmn_buffer_release(&file);
	return status == CMN_STALE ? CMN_MISS : status;	/* one file is another's by now */
}

static uint64_t blocks(uint64_t payload_len)
{
	return (payload_len + CC_ENTRY_HEADER_SIZE + BLOCK - 1) / BLOCK * BLOCK;
}

static uint64_t stored_len(const struct recoding *recoding)
{
	return recoding->stored.len ? recoding->stored.len : recoding->old.payload_len;
}

/* Whether to write it: fewer blocks, or what is to be raw and is not. */
static bool is_worth(const struct recoding *recoding, int level)
{
	if (!recoding->stored.len && recoding->old.codec)
		return level == CC_COMPRESSION_NONE || level == CC_COMPRESSION_AUTO;
	return blocks(stored_len(recoding)) < blocks(recoding->old.stored_len);
}

/* As a store does, before it writes. CMN_ERR_TOO_LARGE: the root would take more than it may. */
static enum cmn_status reserve(const struct cc_store *store, int root_fd, uint64_t bytes,
			       uint64_t until)
{
	uint64_t bound = store->config->eviction_disable ? 0 : store->config->max_size, total;
	uint64_t overhead = bound ? cc_overhead_share(root_fd, bound, 0) : 0;
	enum cmn_status status;
	int fd = -1;

	status = cc_account_lock(root_fd, until, &fd);
	if (status != CMN_OK)
		return status;
	status = cc_account_sum(fd, bytes, !bound ? UINT64_MAX : bound > overhead ? bound - overhead : 0,
				&total);
	if (status == CMN_OK)
		status = cc_account_write(fd, total);
	else if (status == CMN_MISS && !bound)
		status = CMN_OK;	/* it is lost, and stays so */
	cc_root_unlock(fd);
	return status == CMN_STALE || status == CMN_MISS ? CMN_ERR_TOO_LARGE : status;
}

/* The entry directory is locked, and its .bin is the one that was read. */
static enum cmn_status publish(const struct cc_store *store, const struct cc_store_hold *held, unsigned int n,
			       const struct recoding *recoding, uint64_t until, int64_t *ret_change)
{
	struct cmn_view bin[2] = { { recoding->header, CC_ENTRY_HEADER_SIZE },
				   recoding->stored.len ? cmn_buffer_view(&recoding->stored)
							: cc_entry_payload(recoding->entry) };
	uint64_t before = cc_entry_dir_bytes(held->entry_dir_fd, n), reserved = 0;
	uint64_t old = blocks(recoding->old.stored_len), new = blocks(stored_len(recoding));
	uint64_t used_ns = cc_entry_dir_used_ns(held->entry_dir_fd, NULL, n);
	char name[CC_ENTRY_DIR_NAME_SIZE];
	enum cmn_status status = CMN_OK;

	if (new > old) {
		reserved = new - old;
		status = reserve(store, held->root_fd, reserved, until);
	}
	if (status != CMN_OK)
		return status;
	cc_entry_dir_name(CC_ENTRY_DIR_BIN, n, name);
	status = cmn_file_publish(held->entry_dir_fd, name, bin, 2);
	cc_entry_dir_note_use(held->entry_dir_fd, NULL, n, used_ns);
	*ret_change = (int64_t)cc_entry_dir_bytes(held->entry_dir_fd, n) - (int64_t)before;
	/* Failing leaves the account a little high; the next clean-up counts. */
	if (*ret_change != (int64_t)reserved)
		(void)!cc_account_add(held->root_fd, *ret_change - (int64_t)reserved, until);
	return status;
}

/* Whether what was read is still what lies there. */
static bool is_same(int entry_dir_fd, unsigned int n, const struct recoding *recoding)
{
	struct cc_entry_header now;

	return is_there(entry_dir_fd, n) &&
	       cc_entry_dir_read_bin_header(entry_dir_fd, n, NULL, &now) == CMN_OK &&
	       cmn_hash_equal(&now.file_hash, &recoding->old.file_hash) &&
	       cmn_hash_equal(&now.key_hash, &recoding->old.key_hash);
}

enum cmn_status cc_store_recompress(struct cc_store *store, const struct cc_store_place *place,
				    const struct cc_recompression *how, int64_t *ret_change)
{
	uint64_t until = cc_store_lock_until(store);
	struct recoding recoding = { 0 };
	struct cc_store_hold held;
	enum cmn_status status;

	*ret_change = 0;
	if (store->config->read_only && !how->dry_run)
		return CMN_ERR_ACCESS;
	status = cc_store_enter(store, place->entry_dir, &held);
	if (status == CMN_OK)
		status = encode(store, place, held.entry_dir_fd, how->level, how->load_rate, &recoding);
	if (status == CMN_OK && !is_worth(&recoding, how->level))
		status = CMN_STALE;
	if (status == CMN_OK && how->dry_run)
		*ret_change = (int64_t)blocks(stored_len(&recoding)) -
			      (int64_t)blocks(recoding.old.stored_len);
	if (status == CMN_OK && !how->dry_run) {
		status = cc_store_lock(&held, until);
		if (status == CMN_OK)
			status = is_same(held.entry_dir_fd, place->n, &recoding)
				 ? publish(store, &held, place->n, &recoding, until, ret_change) : CMN_MISS;
	}
	cc_store_leave(&held);
	release_recoding(&recoding);
	return status;
}
