/* SPDX-License-Identifier: MIT */
/*
 * store_put: publication of entries, and removal of a key's. Encoding is done before a
 * lock is taken; names in an entry directory change under its lock only.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/disk/mark.h"
#include "cachecore/disk/space/account.h"
#include "cachecore/disk/root.h"
#include "cachecore/disk/space/days.h"
#include "cachecore/disk/space/evict.h"
#include "cachecore/disk/space/overhead.h"
#include "cachecore/disk/store_internal.h"
#include "common/clock.h"
#include "common/file.h"

/* Of file systems, as a rule; where it is another one the account is corrected afterwards. */
#define BLOCK UINT64_C(4096)
/* An evictor may remove an entry directory under a writer's hands; thrice in a row it does not. */
#define MAKE_ATTEMPTS 3

/* As cc_store_open_root, and makes it. */
static enum cmn_status make_root(struct cc_store *store, int *ret_fd)
{
	enum cmn_status status = cc_store_open_root(store, ret_fd);

	if (status == CMN_OK)
		(void)cc_mark_make(*ret_fd);	/* an entry marks it as well */
	if (status != CMN_MISS || store->config->makes_no_root)
		return status;
	status = cc_root_make(store->config->dir, ret_fd);
	/* As with a service's user, whose home nobody has made. */
	if (status == CMN_ERR_ACCESS)
		cmn_log_once(store->log, &store->access_logged, CMN_LOG_WARNING,
			     "no disk cache: cannot make %s", store->config->dir);
	if (status == CMN_OK && store->config->sharing == CC_SHARING_READERS &&
	    (fchmod(*ret_fd, 0755) < 0 || fchmodat(*ret_fd, CC_MARK_NAME, 0644, 0) < 0)) {
		status = cmn_status_from_errno(errno);	/* the caller closes it */
	}
	return status;
}

/* An entry directory that is locked; fd -1: none. locked false: the file system has no locks. */
struct held_entry_dir {
	int fd;
	bool locked;
};

/* Makes and locks the key's entry directory. CMN_MISS: it was removed each time. */
static enum cmn_status lock_entry_dir(const struct cc_store *store, int root_fd, const char *entry_dir,
				      uint64_t until, struct held_entry_dir *ret)
{
	mode_t mode = store->config->sharing == CC_SHARING_READERS ? 0755
								   : cc_root_dir_mode(root_fd);
	enum cmn_status status = CMN_MISS;
	int fd = -1;

	for (int i = 0; i < MAKE_ATTEMPTS && status == CMN_MISS; i++) {
		status = cc_entry_dir_make(root_fd, entry_dir, mode, &fd);
		if (status != CMN_OK)
			continue;
		status = cc_entry_dir_lock(fd, until);
		/* Without locks files still appear whole: rename is atomic. */
		if (status == CMN_OK || status == CMN_ERR_IO) {
			*ret = (struct held_entry_dir){ fd, status == CMN_OK };
			return CMN_OK;
		}
		cc_root_unlock(fd);
	}
	return status;
}

static void release_entry_dir(struct held_entry_dir *held)
{
	if (held->fd >= 0)
		cc_root_unlock(held->fd);
	held->fd = -1;
}

/* What is to be written, encoded before any lock is taken. */
struct prepared {
	const struct cc_entry *entry;
	int compression;
	enum cmn_file_trust trust;	/* of files that are there already */
	struct cmn_view key;
	struct cmn_buffer src;
	struct cmn_hash src_hash;
	uint8_t bin_header[CC_ENTRY_HEADER_SIZE];
	struct cmn_buffer stored;	/* empty: payload is written as it is */
	struct cmn_view payload;
};

const char *cc_store_bound_of(const struct cc_store *store, const struct cc_entry *entry)
{
	size_t image_size = cc_entry_image_size(entry);

	if (image_size < store->config->min_device_image_size)
		return "min_device_image_size";
	return image_size > store->config->max_device_image_size ? "max_device_image_size" : NULL;
}

static enum cmn_status encode(struct prepared *prepared, const struct cc_witnesses *witnesses)
{
	enum cmn_status status;

	cmn_buffer_release(&prepared->stored);
	status = cc_entry_encode(prepared->entry, prepared->compression, &prepared->src_hash, witnesses,
				 prepared->bin_header, &prepared->stored);
	prepared->payload = prepared->stored.len ? cmn_buffer_view(&prepared->stored)
						 : cc_entry_payload(prepared->entry);
	return status;
}

static enum cmn_status prepare(const struct cc_store *store, const struct cc_key *key,
			       const struct cc_entry *entry, struct prepared *prepared)
{
	const struct cc_config *config = store->config;
	enum cmn_status status = cc_key_status(key);

	if (status != CMN_OK)
		return status;
	if (cc_store_bound_of(store, entry))
		return CMN_ERR_TOO_LARGE;
	prepared->entry = entry;
	prepared->compression = config->compression;
	prepared->trust = cc_store_trust(store);
	prepared->key = cc_key_view(key);
	status = cc_src_file_encode(prepared->key, cc_entry_manifest(entry), &prepared->src,
				    &prepared->src_hash);
	if (status == CMN_OK)
		status = encode(prepared, NULL);
	if (status != CMN_OK)
		return status;
	/* One that alone is over half of the root would displace most of the others. */
	if (config->max_size && cc_evict_makes_room(config) &&
	    prepared->src.len + prepared->payload.len + CC_ENTRY_HEADER_SIZE > config->max_size / 2)
		return CMN_ERR_TOO_LARGE;
	return CMN_OK;
}

static void release_prepared(struct prepared *prepared)
{
	cmn_buffer_release(&prepared->src);
	cmn_buffer_release(&prepared->stored);
}

/* Whether somebody's directory has the name of one of the two files: it cannot be replaced. */
static bool is_blocked(int entry_dir_fd, unsigned int n)
{
	static const enum cc_entry_dir_file files[] = { CC_ENTRY_DIR_SRC, CC_ENTRY_DIR_BIN };
	char name[CC_ENTRY_DIR_NAME_SIZE];
	struct stat info;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		cc_entry_dir_name(files[i], n, name);
		if (fstatat(entry_dir_fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISDIR(info.st_mode))
			return true;
	}
	return false;
}

/* Whether the .bin is one that another version of the cache wrote, and may still want. */
static bool is_of_another_version(int entry_dir_fd, unsigned int n)
{
	struct cc_entry_header header;

	return cc_entry_dir_read_bin_header(entry_dir_fd, n, NULL, &header) == CMN_ERR_VERSION;
}

/* The number under which what is prepared goes; *ret_same: its .src is there already, byte by byte. */
static enum cmn_status choose_number(int entry_dir_fd, const struct cc_days *days, const struct prepared *prepared,
				     unsigned int *ret_n, bool *ret_same)
{
	uint64_t oldest = UINT64_MAX;
	unsigned int free_n = CC_ENTRY_DIR_VARIANTS, old_n = 0;
	struct cc_entry_dir_scan scan;
	enum cmn_status status = cc_entry_dir_scan(entry_dir_fd, &scan);

	if (status != CMN_OK)
		return status;
	for (unsigned int n = 0; n < CC_ENTRY_DIR_VARIANTS; n++) {
		struct cmn_buffer file = { 0 };
		struct cc_src src;
		uint64_t rank;
		bool same;

		if (((scan.present[CC_ENTRY_DIR_SRC] | scan.present[CC_ENTRY_DIR_BIN]) >> n & 1) &&
		    is_blocked(entry_dir_fd, n))
			continue;
		if (!(scan.present[CC_ENTRY_DIR_SRC] >> n & 1)) {
			free_n = n < free_n ? n : free_n;
			continue;
		}
		rank = cc_days_rank(days, cc_entry_dir_used_ns(entry_dir_fd, NULL, n));
		if (rank < oldest) {
			oldest = rank;
			old_n = n;
		}
		same = cc_entry_dir_read_src(entry_dir_fd, n, prepared->trust, &file, &src) == CMN_OK &&
		       cmn_view_equal(cmn_buffer_view(&file), cmn_buffer_view(&prepared->src)) &&
		       !is_of_another_version(entry_dir_fd, n);
		cmn_buffer_release(&file);
		if (same) {
			*ret_n = n;
			*ret_same = true;
			return CMN_OK;
		}
	}
	*ret_n = free_n < CC_ENTRY_DIR_VARIANTS ? free_n : old_n;
	*ret_same = false;
	return CMN_OK;
}

/*
 * A failure, where entry n is of the same key and manifest: what it says there, and who is a witness of
 * that now. What runs at the same time may fail for the same passing reason: it is none. CMN_STALE: a build
 * that worked is there, and stays.
 */
static enum cmn_status take_witnesses(int entry_dir_fd, unsigned int n, uint64_t now_ns, struct prepared *prepared)
{
	uint64_t stored_ns = cc_entry_dir_used_ns(entry_dir_fd, NULL, n);
	const struct cc_src src = { .hash = prepared->src_hash };
	struct cc_witnesses witnesses;
	struct cc_entry *former;
	enum cmn_status status = cc_entry_dir_read_bin(entry_dir_fd, NULL, n, prepared->trust, &src, NULL, NULL,
						       &former);

	/* What cannot be read now may have worked: only what is of no use to anybody is written over. */
	if (status != CMN_OK)
		return status == CMN_MISS || status == CMN_STALE || status == CMN_ERR_CORRUPT ? CMN_OK : status;
	if (!former->failed)
		status = CMN_STALE;
	else if (cc_store_failure_lives(stored_ns, now_ns) &&
		 prepared->entry->began_ns > stored_ns &&
		 cc_entry_confirm(prepared->entry, former, &witnesses))
		status = encode(prepared, &witnesses);
	cc_entry_unref(former);
	return status;
}

/*
 * .bin before .src: what has no .src is invisible. The same .src is not
 * written again, so a failure leaves the old pair as it was. Returns by
 * *ret_change how many bytes the entry directory grew, also on failure.
 */
static enum cmn_status publish(int entry_dir_fd, const struct cc_days *days, struct prepared *prepared,
					uint64_t used_ns, int64_t *ret_change)
{
	struct cmn_view src = cmn_buffer_view(&prepared->src), bin[2];
	char name[CC_ENTRY_DIR_NAME_SIZE];
	enum cmn_status status;
	uint64_t before;
	unsigned int n;
	bool same;

	*ret_change = 0;
	status = choose_number(entry_dir_fd, days, prepared, &n, &same);
	if (status == CMN_OK && same && prepared->entry->failed)
		status = take_witnesses(entry_dir_fd, n, used_ns, prepared);
	if (status != CMN_OK)
		return status == CMN_STALE ? CMN_OK : status;
	bin[0] = (struct cmn_view){ prepared->bin_header, CC_ENTRY_HEADER_SIZE };
	bin[1] = prepared->payload;
	before = cc_entry_dir_bytes(entry_dir_fd, n);
	if (!same)
		(void)cc_entry_dir_remove(entry_dir_fd, n);	/* what stays is replaced by rename */
	cc_entry_dir_name(CC_ENTRY_DIR_BIN, n, name);
	status = cmn_file_publish(entry_dir_fd, name, bin, 2);
	/* By the clock whose day was noted, not a server's. */
	if (status == CMN_OK)
		cc_entry_dir_note_use(entry_dir_fd, NULL, n, used_ns | CC_ENTRY_DIR_UNUSED);
	if (status == CMN_OK && !same) {
		cc_entry_dir_name(CC_ENTRY_DIR_SRC, n, name);
		status = cmn_file_publish(entry_dir_fd, name, &src, 1);
	}
	if (status != CMN_OK && !same)
		(void)cc_entry_dir_remove(entry_dir_fd, n);
	*ret_change = (int64_t)cc_entry_dir_bytes(entry_dir_fd, n) - (int64_t)before;
	return status;
}

/* What it will take on disk, as nearly as that is known before. */
static uint64_t prepared_bytes(const struct prepared *prepared, int root_fd)
{
	uint64_t blocks = (prepared->src.len + BLOCK - 1) / BLOCK;

	blocks += (CC_ENTRY_HEADER_SIZE + prepared->payload.len + BLOCK - 1) / BLOCK;
	return blocks * BLOCK + cc_entry_dir_directories(root_fd);
}

/*
 * The entry directory, locked, with the bytes in the account, where these
 * stay within limit. Until that is known nothing is made, and the number never has what
 * nobody with a locked entry directory is to write. Somebody else's entry directory is waited for
 * without the root's lock. A lost number is none that a root without a bound needs: it stays lost.
 * CMN_STALE: over limit, or it is lost; CMN_BUSY.
 */
static enum cmn_status reserve_within(const struct cc_store *store, int root_fd, const char *entry_dir,
				      uint64_t bytes, uint64_t limit, uint64_t until,
				      struct held_entry_dir *held)
{
	bool entry_dir_busy = false, lost;
	enum cmn_status status;
	uint64_t total;
	int fd = -1;

	do {
		if (entry_dir_busy) {
			status = lock_entry_dir(store, root_fd, entry_dir, until, held);
			if (status != CMN_OK)
				return status;
			entry_dir_busy = false;
		}
		status = cc_account_lock(root_fd, until, &fd);
		if (status != CMN_OK)
			break;
		status = cc_account_sum(fd, bytes, limit, &total);
		lost = status == CMN_MISS;
		if (lost)
			status = limit == UINT64_MAX ? CMN_OK : CMN_STALE;
		if (status == CMN_OK && held->fd < 0) {
			status = lock_entry_dir(store, root_fd, entry_dir, 0, held);
			entry_dir_busy = status == CMN_BUSY;
		}
		if (status == CMN_OK && !lost)
			status = cc_account_write(fd, total);
		cc_root_unlock(fd);
	} while (entry_dir_busy);
	if (status != CMN_OK && held->fd >= 0) {
		cc_entry_dir_prune(root_fd, entry_dir);
		release_entry_dir(held);
	}
	return status;
}

/* How long a store may take for what others have left to it: monotonic. */
struct limits {
	uint64_t locks, eviction;
};

/* Room for so many bytes, where that can be made in time. CMN_STALE: it cannot. */
static enum cmn_status make_room(const struct cc_config *config, int root_fd, uint64_t bytes, uint64_t bound,
				 uint64_t until)
{
	enum cmn_status status;
	uint64_t total;

	if (cc_number_file_read(root_fd, CC_ACCOUNT_NAME, &total) != CMN_OK)
		return cc_account_find(root_fd, bound, until);
	/* What never fits displaces nothing, but in a root whose bound became smaller. */
	status = cc_evict_until(root_fd, config, bytes > bound ? bound : bound - bytes, until);
	return bytes > bound ? CMN_STALE : status;
}

/*
 * As reserve_within, by the configuration's bound: several that store at once
 * stay within it together, and what cannot be counted does not appear.
 * CMN_ERR_TOO_LARGE: they would not, and nothing goes for it in time.
 */
static enum cmn_status reserve(struct cc_store *store, int root_fd, const char *entry_dir, uint64_t bytes,
			       const struct limits *limits, struct held_entry_dir *held)
{
	const struct cc_config *config = store->config;
	uint64_t bound = config->eviction_disable ? 0 : config->max_size, overhead, left;
	enum cmn_status status = CMN_STALE, made = CMN_OK;
	bool late = false;

	if (!bound)
		return reserve_within(store, root_fd, entry_dir, bytes, UINT64_MAX, limits->locks, held);
	/* Measuring lists the recipes: not where it cannot matter. */
	if (bound > CC_OVERHEAD_USUAL_MAX)
		status = reserve_within(store, root_fd, entry_dir, bytes, bound - CC_OVERHEAD_USUAL_MAX,
					limits->locks, held);
	if (status == CMN_STALE)
		cc_overhead_trim(root_fd, bound);
	while (status == CMN_STALE && made == CMN_OK) {
		overhead = cc_overhead_share(root_fd, bound, 0);
		left = bound > overhead ? bound - overhead : 0;
		status = reserve_within(store, root_fd, entry_dir, bytes, left, limits->locks, held);
		/* Others may take the room before this one does. */
		if (status == CMN_STALE)
			made = late ? CMN_STALE : make_room(config, root_fd, bytes, left, limits->eviction);
		late = cmn_clock_monotonic() >= limits->eviction;
	}
	if (status == CMN_STALE)
		return made < 0 || made == CMN_BUSY ? made : CMN_ERR_TOO_LARGE;
	return status;
}

bool cc_store_is_full(struct cc_store *store, size_t len)
{
	const struct cc_config *config = store->config;
	uint64_t total = 0, more = (len + BLOCK - 1) / BLOCK * BLOCK;
	int root_fd = -1;
	bool full;

	if (!config->max_size || config->eviction_disable ||
	    cc_store_open_root(store, &root_fd) != CMN_OK)
		return false;
	(void)!cc_number_file_read(root_fd, CC_ACCOUNT_NAME, &total);	/* 0 else: it is being counted */
	full = total > config->max_size ||
	       (config->max_size - total < CC_OVERHEAD_USUAL_MAX + more &&
		cc_overhead_share(root_fd, config->max_size, more) > config->max_size - total);
	(void)close(root_fd);	/* read only */
	return full;
}

void cc_store_trim(struct cc_store *store)
{
	const struct cc_config *config = store->config;
	int root_fd;

	/* In a large one it never matters. */
	if (config->eviction_disable || config->max_size / 4 > CC_OVERHEAD_USUAL_MAX ||
	    cc_store_open_root(store, &root_fd) != CMN_OK)
		return;
	cc_overhead_trim_records(root_fd, config->max_size);
	(void)close(root_fd);	/* read only */
}

static enum cmn_status put_in_entry_dir(struct cc_store *store, int root_fd,
					struct prepared *prepared, const struct limits *limits)
{
	struct held_entry_dir held = { .fd = -1 };
	char entry_dir[CC_ENTRY_DIR_PATH_SIZE];
	enum cmn_status status = CMN_MISS;
	uint64_t reserved = prepared_bytes(prepared, root_fd), used_ns;
	struct cc_days days;
	int64_t change;

	cc_entry_dir_path(prepared->key, entry_dir);
	used_ns = cc_days_note(root_fd, cmn_clock_realtime(), limits->locks, &days);
	/*
	 * One in several layers of overlayfs never tells that it was removed,
	 * but then nothing can be made in it.
	 */
	for (int i = 0; i < MAKE_ATTEMPTS && status == CMN_MISS; i++) {
		status = reserve(store, root_fd, entry_dir, reserved, limits, &held);
		if (status != CMN_OK)
			break;
		cc_entry_dir_sweep(held.fd, held.locked);
		status = publish(held.fd, &days, prepared, used_ns, &change);
		if (status != CMN_OK)
			cc_entry_dir_prune(root_fd, entry_dir);
		change -= (int64_t)reserved;
		/* Failing leaves the account a little high; the next clean-up counts. */
		if (change)
			(void)!cc_account_add(root_fd, change, limits->locks);
		release_entry_dir(&held);
	}
	return status == CMN_MISS ? CMN_ERR_IO : status;
}

enum cmn_status cc_store_put_within(struct cc_store *store, const struct cc_key *key,
				    const struct cc_entry *entry, uint64_t patience_ns, uint64_t evict_ns)
{
	struct limits limits;
	uint64_t near;
	struct prepared prepared = { 0 };
	enum cmn_status status;
	int root_fd = -1;

	if (store->config->read_only || !store->config->dir)
		return CMN_ERR_ACCESS;
	status = prepare(store, key, entry, &prepared);
	if (status == CMN_OK)
		status = make_root(store, &root_fd);
	if (status != CMN_OK)
		goto out;
	near = cmn_clock_deadline(patience_ns);
	limits.locks = cc_store_lock_until(store);
	limits.locks = near < limits.locks ? near : limits.locks;
	limits.eviction = cmn_clock_deadline(evict_ns);
	status = put_in_entry_dir(store, root_fd, &prepared, &limits);
	atomic_store(&store->stuck, status == CMN_BUSY);
	if (status == CMN_OK)
		cc_evict_aged(root_fd, store->config, limits.eviction);
out:
	if (root_fd >= 0)
		(void)close(root_fd);	/* a directory: nothing to be lost */
	release_prepared(&prepared);
	return status;
}

enum cmn_status cc_store_put(struct cc_store *store, const struct cc_key *key,
			     const struct cc_entry *entry)
{
	return cc_store_put_within(store, key, entry, atomic_load(&store->patience), UINT64_MAX);
}

static bool src_has_key(int entry_dir_fd, unsigned int n, struct cmn_view key)
{
	struct cmn_buffer file = { 0 };
	struct cc_src src;
	bool same = cc_entry_dir_read_src(entry_dir_fd, n, CMN_FILE_ANY, &file, &src) == CMN_OK &&
		    cmn_view_equal(src.key, key);

	cmn_buffer_release(&file);
	return same;
}

static uint64_t remove_key(int entry_dir_fd, struct cmn_view key)
{
	struct cc_entry_dir_scan scan;
	uint64_t freed = 0;

	if (cc_entry_dir_scan(entry_dir_fd, &scan) != CMN_OK)
		return 0;
	for (unsigned int n = 0; n < CC_ENTRY_DIR_VARIANTS; n++) {
		if ((scan.present[CC_ENTRY_DIR_SRC] >> n & 1) && src_has_key(entry_dir_fd, n, key))
			freed += cc_entry_dir_remove(entry_dir_fd, n);
	}
	return freed;
}

enum cmn_status cc_store_remove(struct cc_store *store, const struct cc_key *key)
{
	uint64_t until = cmn_clock_monotonic() + CC_STORE_LOOKUP_PATIENCE_NS;
	enum cmn_status status = cc_key_status(key);
	char entry_dir[CC_ENTRY_DIR_PATH_SIZE];
	struct cc_store_hold hold;

	if (status == CMN_OK && store->config->read_only)
		status = CMN_ERR_ACCESS;
	if (status != CMN_OK)
		return status;
	cc_entry_dir_path_of(key, entry_dir);
	status = cc_store_enter(store, entry_dir, &hold);
	if (status == CMN_OK)
		status = cc_store_lock(&hold, until);
	if (status == CMN_OK)
		cc_store_note_freed(&hold, entry_dir, remove_key(hold.entry_dir_fd, cc_key_view(key)), until);
	cc_store_leave(&hold);
	return status == CMN_MISS ? CMN_OK : status;
}
