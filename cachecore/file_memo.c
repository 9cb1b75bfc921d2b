/* SPDX-License-Identifier: MIT */
/*
 * file_memo: contents of files, and hashes that are remembered. A file is
 * always hashed from the bytes of one open descriptor.
 */
#include "cachecore/file_memo.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/clock.h"
#include "common/mutex.h"

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* The memo starts anew beyond this: 64 bytes or so each, and no program has so many headers. */
#define MEMO_MAX_FILES 16384

struct memo_file {
	struct { uint64_t device, inode; } id;	/* the map's key: no padding */
	struct cc_file_identity identity;
	struct cmn_hash hash;
	UT_hash_handle hh;
};

struct cc_file_memo {
	pthread_mutex_t lock;
	struct memo_file *files;	/* guarded by lock */
};

struct cc_file_memo *cc_file_memo_new(void)
{
	struct cc_file_memo *memo = calloc(1, sizeof(*memo));

	if (memo)
		(void)pthread_mutex_init(&memo->lock, NULL);	/* a default mutex does not fail */
	return memo;
}

static void memo_clear(struct cc_file_memo *memo)
{
	struct memo_file *file, *next;

	HASH_ITER(hh, memo->files, file, next) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the analyzer does not follow uthash's links */
		HASH_DEL(memo->files, file);
		free(file);
	}
}

void cc_file_memo_free(struct cc_file_memo *memo)
{
	if (!memo)
		return;
	memo_clear(memo);
	(void)pthread_mutex_destroy(&memo->lock);	/* nobody is inside */
	free(memo);
}

static uint64_t timespec_ns(struct timespec time)
{
	return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

struct cc_file_identity cc_file_identity_of(const struct stat *info)
{
	return (struct cc_file_identity){
		.device = info->st_dev,
		.inode = info->st_ino,
		.size = (uint64_t)info->st_size,
		.mtime_ns = timespec_ns(info->st_mtim),
		.ctime_ns = timespec_ns(info->st_ctim),
	};
}

bool cc_file_identity_equal(const struct cc_file_identity *a, const struct cc_file_identity *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

static bool memo_find(struct cc_file_memo *memo, const struct cc_file_identity *identity,
		      struct cmn_hash *ret)
{
	struct memo_file key, *file;
	bool found = false;

	if (!memo)
		return false;
	memset(&key, 0, sizeof(key));	/* the map hashes bytes */
	key.id.device = identity->device;
	key.id.inode = identity->inode;
	cmn_mutex_lock(&memo->lock);
	HASH_FIND(hh, memo->files, &key.id, sizeof(key.id), file);
	if (file && cc_file_identity_equal(&file->identity, identity)) {
		*ret = file->hash;
		found = true;
	}
	cmn_mutex_unlock(&memo->lock);
	return found;
}

/*
 * Whether the file could change through somebody's mapping while its times stay
 * as they are. These file systems date the first write to a page, and the next
 * one only once the kernel has stored it, which takes some 30 s and with unusual
 * settings minutes. Others date later, or never (in memory, or on what is).
 * Such a file is hashed each time.
 */
static bool may_change_unseen(int fd, const struct stat *info)
{
	const uint64_t stored_ns = UINT64_C(3600) * 1000000000;
	struct statfs system;

	if (fstatfs(fd, &system) != 0)
		return true;
	switch ((uint32_t)system.f_type) {
	case EXT4_SUPER_MAGIC:		/* ext2's and ext3's too */
	case XFS_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case SQUASHFS_MAGIC:
		return timespec_ns(info->st_ctim) + stored_ns > cmn_clock_realtime();
	default:
		return true;
	}
}

/*
 * Whether somebody has the file open for writing, or mapped so, and may change it while it is read: the
 * kernel grants no lease for reading then (fcntl(2)). A granted one is given back at once; who opens the
 * file in between waits that long, and the signal of it is one that programs ignore. false, too, where
 * the kernel does not tell: of others' files, on network file systems, through other mounts.
 */
static bool is_open_for_writing(int fd)
{
	struct statfs system;
	int error = 0;

	if (fcntl(fd, F_SETSIG, SIGURG) != 0)
		return false;
	if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0)
		(void)fcntl(fd, F_SETLEASE, F_UNLCK);	/* it was granted */
	else
		error = errno;
	(void)fcntl(fd, F_SETSIG, 0);	/* as it was */
	/* A network file system grants one only if its server lets it. */
	return error == EAGAIN && fstatfs(fd, &system) == 0 &&
	       (uint32_t)system.f_type != NFS_SUPER_MAGIC && (uint32_t)system.f_type != SMB2_SUPER_MAGIC &&
	       (uint32_t)system.f_type != CIFS_SUPER_MAGIC;
}

/* Best effort: what is not remembered is hashed again. */
static void memo_remember(struct cc_file_memo *memo, const struct cc_file_identity *identity,
			  const struct cmn_hash *hash)
{
	struct memo_file *file, *old;

	if (!memo)
		return;
	file = calloc(1, sizeof(*file));
	if (!file)
		return;
	file->id.device = identity->device;
	file->id.inode = identity->inode;
	file->identity = *identity;
	file->hash = *hash;
	cmn_mutex_lock(&memo->lock);
	HASH_FIND(hh, memo->files, &file->id, sizeof(file->id), old);
	if (old) {
		HASH_DEL(memo->files, old);
		free(old);
	}
	if (HASH_COUNT(memo->files) >= MEMO_MAX_FILES)
		memo_clear(memo);
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): old has left every link, as above */
	HASH_ADD(hh, memo->files, id, sizeof(file->id), file);
	if (!file->hh.tbl)
		free(file);
	cmn_mutex_unlock(&memo->lock);
}

static enum cmn_status kind_status(const struct stat *info)
{
	if (S_ISDIR(info->st_mode))
		return CMN_MISS;
	if (!S_ISREG(info->st_mode))
		return CMN_ERR_ACCESS;
	return (uint64_t)info->st_size > CC_MANIFEST_MAX_FILE ? CMN_ERR_TOO_LARGE : CMN_OK;
}

/* CMN_STALE: its size is another now. The offset stays. */
static enum cmn_status hash_content(int fd, uint64_t len, struct cmn_hash *ret)
{
	struct cmn_hasher *hasher = cmn_hasher_new();
	enum cmn_status status = CMN_OK;
	char block[8192];
	uint64_t sum = 0;
	ssize_t got = 1;

	if (!hasher)
		return CMN_ERR_NOMEM;
	while (status == CMN_OK && got != 0) {
		got = pread(fd, block, sizeof(block), (off_t)sum);
		if (got < 0 && errno != EINTR)
			status = CMN_ERR_IO;
		if (got <= 0)
			continue;
		sum += (uint64_t)got;
		/* Files of special systems say 0 and have content; a growing one is seen here too. */
		if (sum > len)
			status = CMN_STALE;
		cmn_hasher_update(hasher, block, (size_t)got);
	}
	if (status == CMN_OK && sum != len)
		status = CMN_STALE;
	*ret = cmn_hasher_digest(hasher);
	cmn_hasher_free(hasher);
	return status;
}

/* From one descriptor; remembered if the file was the same before and after. */
static enum cmn_status read_file(struct cc_file_memo *memo, const char *path,
				 struct cmn_hash *ret_hash, struct cc_file_identity *ret_identity,
				 bool *ret_written)
{
	struct cc_file_identity before, after;
	enum cmn_status status;
	struct stat info;
	int fd;

	do {
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	} while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return cmn_status_from_errno(errno);
	status = fstat(fd, &info) < 0 ? CMN_ERR_IO : kind_status(&info);
	if (status != CMN_OK)
		goto out;
	before = cc_file_identity_of(&info);
	status = hash_content(fd, (uint64_t)info.st_size, ret_hash);
	if (status != CMN_OK)
		goto out;
	if (fstat(fd, &info) < 0) {
		status = CMN_ERR_IO;
		goto out;
	}
	after = cc_file_identity_of(&info);
	*ret_identity = after;
	if (!cc_file_identity_equal(&before, &after))
		*ret_identity = (struct cc_file_identity){ 0 };
	else if (!may_change_unseen(fd, &info))
		memo_remember(memo, &after, ret_hash);
	else if (ret_written)
		*ret_written = is_open_for_writing(fd);
out:
	(void)close(fd);	/* nothing was written through it */
	return status;
}

enum cmn_status cc_file_memo_hash_open(int fd, const struct stat *info, struct cmn_hash *ret_hash)
{
	if (!may_change_unseen(fd, info))
		return CMN_MISS;
	if (is_open_for_writing(fd))
		return CMN_BUSY;
	return hash_content(fd, (uint64_t)info->st_size, ret_hash);
}

/* stat first: opening a device or a FIFO can have effects. */
static enum cmn_status stat_file(const char *path, struct stat *ret)
{
	if (stat(path, ret) < 0)
		return cmn_status_from_errno(errno);
	return kind_status(ret);
}

enum cmn_status cc_file_memo_hash_same(struct cc_file_memo *memo, const char *path,
				       const struct cc_file_identity *expected,
				       struct cmn_hash *ret_hash)
{
	struct cc_file_identity identity;
	bool written = false;
	struct stat info;
	enum cmn_status status = stat_file(path, &info);

	if (status != CMN_OK)
		return status == CMN_MISS ? CMN_STALE : status;
	identity = cc_file_identity_of(&info);
	if (!cc_file_identity_equal(&identity, expected))
		return CMN_STALE;
	if (memo_find(memo, &identity, ret_hash))
		return CMN_OK;
	status = read_file(memo, path, ret_hash, &identity, &written);
	return status == CMN_OK && (written || !cc_file_identity_equal(&identity, expected)) ?
	       CMN_STALE : status;
}

bool cc_file_memo_holds(struct cc_file_memo *memo, const char *path, uint64_t size,
			const struct cmn_hash *expected, struct stat *ret)
{
	struct cc_file_identity identity;
	struct cmn_hash hash;

	/* A file of another size need not be read. */
	if (stat_file(path, ret) != CMN_OK || (uint64_t)ret->st_size != size)
		return false;
	identity = cc_file_identity_of(ret);
	if (memo_find(memo, &identity, &hash))
		return cmn_hash_equal(&hash, expected);
	/* The hash is of the length, too. */
	return read_file(memo, path, &hash, &identity, NULL) == CMN_OK && cmn_hash_equal(&hash, expected);
}
