/* SPDX-License-Identifier: MIT */
/* root: ownership and permission checks; entry directories: names, reading, scanning, locking, removal. */
#include "cachecore/disk/root.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cachecore/disk/mark.h"
#include "cachecore/manifest.h"
#include "common/file.h"
#include "common/listing.h"

#define NS_PER_S UINT64_C(1000000000)
/* No writer takes an hour for one file: older temporaries are dead even where locks do not work. */
#define TEMPORARY_MAX_AGE (3600 * NS_PER_S)

/* What an almost empty directory takes where it takes blocks at all. */
#define DIRECTORY_BYTES 4096

#define PIECE (CC_ENTRY_DIR_LONG_KEY / 2)	/* what the processor's cache holds beside the key's piece */
/* Of longer files the head is looked at first: no memory for what only claims to be one of ours. */
#define UNSEEN_LEN_MAX ((size_t)16 << 20)

static const char *const suffixes[CC_ENTRY_DIR_FILE_COUNT] = {
	[CC_ENTRY_DIR_SRC] = CC_ENTRY_DIR_SRC_SUFFIX,
	[CC_ENTRY_DIR_BIN] = ".bin",
	[CC_ENTRY_DIR_FORMER] = "_access_time.txt",
};

static enum cmn_status check_info(const struct stat *info, enum cc_root_kind kind,
				  const char **ret_reason)
{
	bool groups = kind == CC_ROOT_GROUP && (info->st_mode & S_IWGRP) && (info->st_mode & S_ISGID) &&
		      !(info->st_mode & S_IWOTH) && cmn_file_is_of_own_group(info->st_gid);
	bool trusted = cmn_file_is_own(info->st_uid) || (kind == CC_ROOT_TIER && info->st_uid == 0);

	if (!S_ISDIR(info->st_mode))
		*ret_reason = "it is not a directory";
	else if (!groups && !trusted)
		*ret_reason = info->st_uid != geteuid()
			? "it belongs to another user"
			: "its owner is the id that stands for every user without a mapping here";
	else if (!groups && (info->st_mode & (S_IWGRP | S_IWOTH)))
		*ret_reason = "others may write to it";
	else
		return CMN_OK;
	return CMN_ERR_ACCESS;
}

/* A directory with files of other programs is no cache, whatever their names are. */
static enum cmn_status check_mark(int fd, enum cc_root_kind kind, const char **ret_reason)
{
	if ((kind != CC_ROOT_OWN && kind != CC_ROOT_GROUP) || cc_mark_may_take(fd))
		return CMN_OK;
	*ret_reason = CC_MARK_FOREIGN;
	return CMN_ERR_ACCESS;
}

mode_t cc_root_dir_mode(int root_fd)
{
	struct stat info;

	if (fstat(root_fd, &info) < 0 || !(info.st_mode & S_IWGRP))
		return 0700;
	return (info.st_mode & (S_ISGID | S_ISVTX | 0770)) | 0700;
}

enum cmn_status cc_root_check(const char *path, enum cc_root_kind kind, const char **ret_reason)
{
	enum cmn_status status;
	struct stat info;
	int fd;

	*ret_reason = "it cannot be examined";
	if (fstatat(AT_FDCWD, path, &info, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno == ENOTDIR)
			*ret_reason = "a part of its path is not a directory";
		else if (errno == EACCES)
			*ret_reason = "a directory above it is closed to this user";
		return errno == ENOENT ? CMN_MISS : CMN_ERR_ACCESS;
	}
	if (S_ISLNK(info.st_mode)) {
		/* A link of one's own is a way to put the cache elsewhere; another's is a trap. */
		if (!cmn_file_is_own(info.st_uid) && info.st_uid != 0) {
			*ret_reason = "it is another user's symbolic link";
			return CMN_ERR_ACCESS;
		}
		if (stat(path, &info) < 0)
			return errno == ENOENT ? CMN_MISS : CMN_ERR_ACCESS;
	}
	status = check_info(&info, kind, ret_reason);
	fd = status == CMN_OK ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (fd >= 0) {
		status = check_mark(fd, kind, ret_reason);
		(void)close(fd);	/* read only */
	}
	return status;
}

enum cmn_status cc_root_open_by(const char *path, enum cc_root_kind kind, int access, int *ret_fd,
				const char **ret_reason)
{
	const int flags = access | O_DIRECTORY | O_CLOEXEC;
	enum cmn_status status;
	struct stat info;
	/* Look-ups close theirs at once, on the application's own threads. */
	int fd = access == O_PATH ? open(path, flags | O_NOFOLLOW)
				  : cmn_file_open(AT_FDCWD, path, flags | O_NOFOLLOW);

	/* A link, perhaps, which may be one's own. */
	if (fd < 0) {
		status = cc_root_check(path, kind, ret_reason);
		if (status != CMN_OK)
			return status;
		fd = access == O_PATH ? open(path, flags)
				      : cmn_file_open(AT_FDCWD, path, flags);
	}
	*ret_reason = "it cannot be opened";
	if (fd < 0)
		return errno == ENOENT ? CMN_MISS : CMN_ERR_ACCESS;
	status = fstat(fd, &info) < 0 ? CMN_ERR_ACCESS : check_info(&info, kind, ret_reason);
	if (status != CMN_OK) {
		(void)close(fd);	/* nothing was written through it */
		return status;
	}
	*ret_fd = fd;
	return CMN_OK;
}

enum cmn_status cc_root_make(const char *path, int *ret_fd)
{
	const char *reason;
	int fd = -1;
	enum cmn_status status = cc_root_open(path, &fd);

	if (status == CMN_MISS) {
		status = cmn_file_make_dirs(path, 0700);
		if (status == CMN_OK)
			status = cc_root_open(path, &fd);
	}
	/* A parent that is no directory reads as "not there". */
	if (status != CMN_OK)
		return status == CMN_MISS ? CMN_ERR_ACCESS : status;
	status = check_mark(fd, CC_ROOT_OWN, &reason);
	if (status == CMN_OK && !cc_mark_make(fd))
		status = CMN_ERR_IO;
	if (status == CMN_OK)
		*ret_fd = fd;
	else
		(void)close(fd);	/* nothing was written through it */
	return status;
}

void cc_root_unlock(int fd)
{
	cmn_file_unlock(fd);
	(void)close(fd);	/* a directory: nothing to be lost */
}

void cc_entry_dir_path_by(const struct cmn_hash hashes[CC_PART_COUNT], char ret[CC_ENTRY_DIR_PATH_SIZE])
{
	for (size_t i = 0; i < CC_PART_COUNT; i++) {
		cmn_hash_hex(&hashes[i], ret + i * CMN_HASH_HEX_SIZE);
		ret[(i + 1) * CMN_HASH_HEX_SIZE - 1] = i + 1 < CC_PART_COUNT ? '/' : '\0';
	}
}

void cc_entry_dir_path(struct cmn_view key, char ret[CC_ENTRY_DIR_PATH_SIZE])
{
	struct cmn_hash hashes[CC_PART_COUNT];

	cc_key_part_hashes(key, hashes);
	cc_entry_dir_path_by(hashes, ret);
}

const char *cc_entry_dir_file_path(const char *path, enum cc_entry_dir_file file, unsigned int n, char *ret)
{
	size_t len = path ? strlen(path) : 0;
	char *name = path ? ret + len + 1 : ret, *at = name;

	if (path) {
		memcpy(ret, path, len);
		ret[len] = '/';
	}
	/* At most two digits; printf would be the look-up's only use of it. */
	if (n >= 10)
		*at++ = (char)('0' + n / 10);
	*at++ = (char)('0' + n % 10);
	memcpy(at, suffixes[file], strlen(suffixes[file]) + 1);
	return name;
}

bool cc_entry_dir_parse(const char *name, enum cc_entry_dir_file *ret_file, unsigned int *ret_n)
{
	unsigned int n = 0, digits = 0;

	for (; name[digits] >= '0' && name[digits] <= '9' && digits < 3; digits++)
		n = n * 10 + (unsigned int)(name[digits] - '0');
	/* One spelling a number. */
	if (digits == 0 || n >= CC_ENTRY_DIR_VARIANTS || (name[0] == '0' && digits > 1))
		return false;
	for (int i = 0; i < CC_ENTRY_DIR_FILE_COUNT; i++) {
		if (strcmp(name + digits, suffixes[i]) == 0) {
			*ret_file = (enum cc_entry_dir_file)i;
			*ret_n = n;
			return true;
		}
	}
	return false;
}

/* The first levels of a path. */
static void cut_path(const char *path, size_t levels, char ret[CC_ENTRY_DIR_PATH_SIZE])
{
	memcpy(ret, path, levels * CMN_HASH_HEX_SIZE);
	ret[levels * CMN_HASH_HEX_SIZE - 1] = '\0';
}

/* Opens a directory; what is a link to one is none. */
static int open_directory(int dir_fd, const char *name, int access)
{
	int flags = access | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

	return access == O_PATH ? openat(dir_fd, name, flags) : cmn_file_open(dir_fd, name, flags);
}

/*
 * One of O_PATH that was open for a moment. If the program closed it meanwhile, its number is that of
 * another file by now, which is hardly such a one.
 * Keeps errno.
 */
static void close_path(int fd)
{
	int error = errno, flags = fcntl(fd, F_GETFL);

	if (flags >= 0 && flags & O_PATH)
		(void)close(fd);	/* nothing was written through it */
	errno = error;
}

/* As openat2 below, for kernels before 5.6 and sandboxes that do not know it. */
static int open_level_by_level(int root_fd, const char *path, int access)
{
	size_t levels = (strlen(path) + 1) / CMN_HASH_HEX_SIZE;
	char part[CC_ENTRY_DIR_PATH_SIZE];
	int fd = root_fd, next;

	for (size_t i = 1; i <= levels; i++) {
		cut_path(path, i, part);
		next = open_directory(fd, part + (i - 1) * CMN_HASH_HEX_SIZE, i == levels ? access : O_PATH);
		if (fd != root_fd)
			close_path(fd);
		if (next < 0)
			return -1;
		fd = next;
	}
	return fd;
}

/* Opens what no link leads to, where the kernel has a call for that. Sets errno. */
static int open_beneath(int root_fd, const char *path, int flags)
{
	const struct open_how how = {
		.flags = (uint64_t)(flags | O_NOFOLLOW | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};

	/* A filter of system calls may kill who makes a rare one. */
	if (prctl(PR_GET_SECCOMP) != 0) {
		errno = ENOSYS;
		return -1;
	}
	return (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
}

/* Opens some levels of an entry directory's path, none of them through a link. Sets errno. */
static int open_levels(int root_fd, const char *path, int access)
{
	int fd = open_beneath(root_fd, path, access | O_DIRECTORY);

	if (access != O_PATH)
		fd = cmn_file_raise(fd);
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		return open_level_by_level(root_fd, path, access);
	if (fd < 0 && errno == ELOOP)
		errno = ENOTDIR;
	return fd;
}

enum cmn_status cc_entry_dir_open_by(int root_fd, const char *path, int access, int *ret_fd)
{
	int fd = open_levels(root_fd, path, access);

	if (fd < 0)
		return cmn_status_from_errno(errno);
	*ret_fd = fd;
	return CMN_OK;
}

int cc_entry_dir_open_file(int dir_fd, const char *path, enum cc_entry_dir_file file, unsigned int n)
{
	const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
	char whole[CC_ENTRY_DIR_FILE_PATH_SIZE];
	const char *name = cc_entry_dir_file_path(path, file, n, whole);
	int fd, entry_dir_fd = dir_fd;

	if (path) {
		fd = open_beneath(dir_fd, whole, flags);
		if (fd >= 0 || errno == ENOENT || errno == ENOTDIR)
			return fd;
		/* Whether the entry directory is in the way or the file. */
		entry_dir_fd = open_levels(dir_fd, path, O_PATH);
		errno = ENOENT;
		if (entry_dir_fd < 0)
			return -1;
	}
	do {
		fd = openat(entry_dir_fd, name, flags | O_NOFOLLOW | O_CLOEXEC);
	} while (fd < 0 && errno == EINTR);
	if (path)
		close_path(entry_dir_fd);
	return fd;
}

/* What the head of a file of that kind says, if it speaks of a file of that size. Of a .src: nothing. */
static enum cmn_status read_head(int fd, enum cc_entry_dir_file file, struct cc_entry_header *ret)
{
	uint8_t bytes[CC_ENTRY_HEADER_SIZE];
	struct cmn_view view = { bytes, 0 };
	struct cc_src_header src;
	enum cmn_status status;
	struct stat info;
	ssize_t got;

	if (fstat(fd, &info) < 0)
		return cmn_status_from_errno(errno);
	if (!S_ISREG(info.st_mode))
		return CMN_ERR_ACCESS;
	/* A regular file gives what it has: a short read is a short file, which the decoder notices. */
	got = pread(fd, bytes, file == CC_ENTRY_DIR_SRC ? CC_SRC_HEADER_SIZE : sizeof(bytes), 0);
	if (got < 0)
		return cmn_status_from_errno(errno);
	view.len = (size_t)got;
	if (file == CC_ENTRY_DIR_SRC)
		return cc_src_file_read_header(view, (uint64_t)info.st_size, &src);
	status = cc_entry_read_header(view, ret);
	if (status == CMN_OK && (uint64_t)info.st_size != CC_ENTRY_HEADER_SIZE + ret->stored_len)
		status = CMN_ERR_CORRUPT;
	return status;
}

enum cmn_status cc_entry_dir_read_file(int dir_fd, const char *path, enum cc_entry_dir_file file,
				       unsigned int n, enum cmn_file_trust trust,
				       const struct cmn_room *room, struct cmn_buffer *buf,
				       uint64_t *ret_used_ns)
{
	const uint64_t max_len = file == CC_ENTRY_DIR_SRC ? CC_SRC_MAX_FILE
						     : CC_ENTRY_MAX_PAYLOAD + CC_ENTRY_HEADER_SIZE;
	struct cc_entry_header header;
	enum cmn_status status;
	struct stat info;
	int fd = cc_entry_dir_open_file(dir_fd, path, file, n);

	status = cmn_file_read_open(fd, UNSEEN_LEN_MAX, trust, room, buf, &info);
	if (status == CMN_ERR_TOO_LARGE) {
		fd = cc_entry_dir_open_file(dir_fd, path, file, n);
		status = fd < 0 ? cmn_status_from_errno(errno) : read_head(fd, file, &header);
		if (status == CMN_OK)
			status = cmn_file_read_open(fd, (size_t)max_len, trust, room, buf, &info);
		else if (fd >= 0)
			(void)close(fd);	/* read only */
	}
	/* Files appear whole: one that is larger than any of ours or shrinks is not what was written. */
	if (status == CMN_ERR_TOO_LARGE || status == CMN_STALE)
		return CMN_ERR_CORRUPT;
	if (status == CMN_OK && ret_used_ns)
		*ret_used_ns = cmn_file_ns(info.st_mtim);
	return status;
}

enum cmn_status cc_entry_dir_read_src(int dir_fd, unsigned int n, enum cmn_file_trust trust,
				      struct cmn_buffer *file, struct cc_src *ret)
{
	enum cmn_status status = cc_entry_dir_read_file(dir_fd, NULL, CC_ENTRY_DIR_SRC, n, trust, NULL,
							file, NULL);

	return status == CMN_OK ? cc_src_file_decode(cmn_buffer_view(file), ret) : status;
}

/* false: it has fewer, or cannot be read. */
static bool read_exactly(int fd, void *data, size_t len)
{
	uint8_t *at = data;

	while (len) {
		ssize_t got = read(fd, at, len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		len -= (size_t)got;
	}
	return true;
}

/* Whether the next bytes of the file are these; buf has room for PIECE. */
static bool next_bytes_are(int fd, struct cmn_view bytes, uint8_t *buf)
{
	const uint8_t *at = bytes.data, *end = at + bytes.len;

	while (at < end) {
		size_t len = (size_t)(end - at) < PIECE ? (size_t)(end - at) : PIECE;

		if (!read_exactly(fd, buf, len) || memcmp(buf, at, len) != 0)
			return false;
		at += len;
	}
	return true;
}

static bool match_open(int fd, enum cmn_file_trust trust, struct cmn_view key,
		       struct cmn_buffer *file, struct cc_src *ret)
{
	uint8_t bytes[CC_SRC_HEADER_SIZE];
	const struct cmn_view start = { bytes, sizeof(bytes) };
	struct cc_src_header header;
	struct stat info;

	if (fstat(fd, &info) < 0 || !cmn_file_trusted(&info, trust) ||
	    !read_exactly(fd, bytes, sizeof(bytes)) ||
	    cc_src_file_read_header(start, (uint64_t)info.st_size, &header) != CMN_OK ||
	    header.key_len != key.len || header.manifest_len > CC_SRC_MAX_FILE)
		return false;
	file->len = 0;
	if (!cmn_buffer_reserve(file, header.manifest_len > PIECE ? header.manifest_len : PIECE) ||
	    !next_bytes_are(fd, key, file->data) ||
	    !read_exactly(fd, file->data, header.manifest_len))
		return false;
	file->len = header.manifest_len;
	return cc_src_file_check(start, key, cmn_buffer_view(file), ret) == CMN_OK;
}

bool cc_entry_dir_match_src(int dir_fd, const char *path, unsigned int n, enum cmn_file_trust trust,
			    struct cmn_view key, struct cmn_buffer *file, struct cc_src *ret)
{
	int fd = cc_entry_dir_open_file(dir_fd, path, CC_ENTRY_DIR_SRC, n);
	bool matches = fd >= 0 && match_open(fd, trust, key, file, ret);

	if (fd >= 0)
		(void)close(fd);	/* read only */
	return matches;
}

enum cmn_status cc_entry_dir_read_bin(int dir_fd, const char *path, unsigned int n,
				      enum cmn_file_trust trust, const struct cc_src *src,
				      const struct cmn_room *room, struct cc_manifest *manifest,
				      struct cc_entry **ret)
{
	struct cmn_buffer file = { 0 };
	enum cmn_status status = cc_entry_dir_read_file(dir_fd, path, CC_ENTRY_DIR_BIN, n, trust, room, &file,
							NULL);

	if (status != CMN_OK) {
		cmn_buffer_release(&file);
		return status;
	}
	return cc_entry_decode(&file, &src->hash, room, manifest, ret);
}

enum cmn_status cc_entry_dir_read_bin_header(int dir_fd, unsigned int n, const struct cc_src *src,
					     struct cc_entry_header *ret)
{
	int fd = cc_entry_dir_open_file(dir_fd, NULL, CC_ENTRY_DIR_BIN, n);
	struct cc_entry_header header;
	enum cmn_status status;

	if (fd < 0)
		return cmn_status_from_errno(errno);
	status = read_head(fd, CC_ENTRY_DIR_BIN, &header);
	(void)close(fd);	/* read only */
	if (status == CMN_OK && src && !cmn_hash_equal(&header.key_hash, &src->hash))
		status = CMN_STALE;
	if (status == CMN_OK)
		*ret = header;
	return status;
}

bool cc_entry_dir_status_damaged(enum cmn_status status)
{
	return status == CMN_ERR_CORRUPT || status == CMN_ERR_ACCESS;
}

enum cmn_status cc_entry_dir_judge(int dir_fd, unsigned int n, enum cmn_file_trust trust)
{
	struct cmn_buffer file = { 0 };
	struct cc_manifest *manifest = NULL;
	struct cc_entry *entry = NULL;
	struct cc_src src;
	enum cmn_status status = cc_entry_dir_read_src(dir_fd, n, trust, &file, &src);

	if (status == CMN_OK && src.manifest.len)
		status = cc_manifest_decode(src.manifest, &manifest);
	if (status == CMN_OK) {
		status = cc_entry_dir_read_bin(dir_fd, NULL, n, trust, &src, NULL, NULL, &entry);
		if (status == CMN_MISS || status == CMN_STALE)
			status = CMN_ERR_CORRUPT;
	}
	cc_entry_unref(entry);
	cc_manifest_free(manifest);
	cmn_buffer_release(&file);
	return status;
}

/* Opens the directory, made if it is not there. */
static enum cmn_status make_level(int dir_fd, const char *name, mode_t mode, int *ret_fd)
{
	enum cmn_status status = cmn_file_open_dir(dir_fd, name, mode, ret_fd);

	if (status != CMN_MISS)
		return status;
	(void)unlinkat(dir_fd, name, 0);	/* what else has its name makes room, or the next step fails */
	return cmn_file_open_dir(dir_fd, name, mode, ret_fd);
}

enum cmn_status cc_entry_dir_make(int root_fd, const char *path, mode_t mode, int *ret_fd)
{
	enum cmn_status status = cc_entry_dir_open(root_fd, path, ret_fd);
	char part[CC_ENTRY_DIR_PATH_SIZE];
	int fd = root_fd, next = -1;

	if (status != CMN_MISS)
		return status;
	for (size_t i = 1; i <= CC_PART_COUNT; i++) {
		cut_path(path, i, part);
		status = make_level(fd, part + (i - 1) * CMN_HASH_HEX_SIZE, mode, &next);
		if (fd != root_fd)
			(void)close(fd);	/* nothing was written through it */
		if (status != CMN_OK)
			return status;
		fd = next;
	}
	*ret_fd = fd;
	return CMN_OK;
}

enum cmn_status cc_entry_dir_lock(int entry_dir_fd, uint64_t until)
{
	enum cmn_status status = cmn_file_lock(entry_dir_fd, until);
	struct stat info;

	if (status == CMN_BUSY)
		return status;
	/* Who held it before us may have removed it. */
	if (fstat(entry_dir_fd, &info) < 0)
		return cmn_status_from_errno(errno);
	return info.st_nlink == 0 ? CMN_MISS : status;
}

void cc_entry_dir_unlock(int entry_dir_fd)
{
	cmn_file_unlock(entry_dir_fd);
}

static bool is_temporary(const char *name)
{
	return strncmp(name, CMN_FILE_TEMPORARY_PREFIX, strlen(CMN_FILE_TEMPORARY_PREFIX)) == 0;
}

enum cmn_status cc_entry_dir_scan(int entry_dir_fd, struct cc_entry_dir_scan *ret)
{
	struct cc_entry_dir_scan scan = { 0 };
	const struct dirent64 *item;
	struct cmn_listing listing;
	enum cc_entry_dir_file file;
	unsigned int n;

	if (!cmn_listing_open(&listing, entry_dir_fd, "."))
		return cmn_status_from_errno(errno);
	while ((item = cmn_listing_next(&listing))) {
		if (cc_entry_dir_parse(item->d_name, &file, &n))
			scan.present[file] |= UINT64_C(1) << n;
		else if (is_temporary(item->d_name))
			scan.temporaries = true;
	}
	cmn_listing_close(&listing);
	*ret = scan;
	return CMN_OK;
}

uint64_t cc_entry_dir_directories(int dir_fd)
{
	uint64_t least = DIRECTORY_BYTES, blocks;
	struct stat info;

	if (fstat(dir_fd, &info) < 0)
		return 0;
	/*
	 * The least that one has: what many names need more is little for each,
	 * and overlayfs gives one a second block when it copies it, at a hit.
	 */
	if (info.st_blksize > 0 && (uint64_t)info.st_blksize < least)
		least = (uint64_t)info.st_blksize;
	blocks = cmn_file_blocks(&info);
	return CC_PART_COUNT * (blocks < least ? blocks : least);
}

uint64_t cc_entry_dir_bytes(int entry_dir_fd, unsigned int n)
{
	char name[CC_ENTRY_DIR_NAME_SIZE];
	struct stat info;
	uint64_t bytes = 0, blocks, size;

	for (int i = 0; i < CC_ENTRY_DIR_OWN_COUNT; i++) {
		cc_entry_dir_name((enum cc_entry_dir_file)i, n, name);
		if (fstatat(entry_dir_fd, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		blocks = cmn_file_blocks(&info);
		size = info.st_size > 0 && S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
		bytes += blocks > size ? blocks : size;
	}
	return bytes ? bytes + cc_entry_dir_directories(entry_dir_fd) : 0;
}

uint64_t cc_entry_dir_used_ns(int dir_fd, const char *path, unsigned int n)
{
	char name[CC_ENTRY_DIR_FILE_PATH_SIZE];
	struct stat info;

	(void)cc_entry_dir_file_path(path, CC_ENTRY_DIR_BIN, n, name);
	return fstatat(dir_fd, name, &info, AT_SYMLINK_NOFOLLOW) < 0 ? 0 : cmn_file_ns(info.st_mtim);
}

void cc_entry_dir_note_use(int dir_fd, const char *path, unsigned int n, uint64_t used_ns)
{
	const struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ (time_t)(used_ns / NS_PER_S), (long)(used_ns % NS_PER_S) },
	};
	int fd = cmn_file_raise(cc_entry_dir_open_file(dir_fd, path, CC_ENTRY_DIR_BIN, n));
	struct stat info;

	if (fd < 0)
		return;
	/* A second name's owner need not expect that. */
	if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink == 1 &&
	    futimens(fd, times) < 0 && errno == EPERM)
		(void)!futimens(fd, NULL);	/* best effort */
	(void)close(fd);	/* nothing was written through it */
}

uint64_t cc_entry_dir_remove(int entry_dir_fd, unsigned int n)
{
	uint64_t before = cc_entry_dir_bytes(entry_dir_fd, n), after;
	char name[CC_ENTRY_DIR_NAME_SIZE];
	bool gone = true;

	for (int i = 0; i < CC_ENTRY_DIR_FILE_COUNT; i++) {
		cc_entry_dir_name((enum cc_entry_dir_file)i, n, name);
		/* While .src stays, so must .bin. What stays is counted as not freed. */
		gone = unlinkat(entry_dir_fd, name, 0) == 0 || errno == ENOENT;
		if (!gone)
			break;
	}
	after = gone ? 0 : cc_entry_dir_bytes(entry_dir_fd, n);
	return before > after ? before - after : 0;
}

void cc_entry_dir_sweep(int dir_fd, bool locked)
{
	const struct dirent64 *item;
	struct cmn_listing listing;
	struct stat info;

	if (!cmn_listing_open(&listing, dir_fd, "."))
		return;	/* the next writer sweeps */
	while ((item = cmn_listing_next(&listing))) {
		if (!is_temporary(item->d_name) ||
		    fstatat(dir_fd, item->d_name, &info, AT_SYMLINK_NOFOLLOW) < 0 ||
		    S_ISDIR(info.st_mode))
			continue;
		if (locked || cmn_file_is_older(dir_fd, &info, TEMPORARY_MAX_AGE))
			(void)unlinkat(dir_fd, item->d_name, 0);	/* the next writer tries again */
	}
	cmn_listing_close(&listing);
}

void cc_entry_dir_prune(int root_fd, const char *path)
{
	char part[CC_ENTRY_DIR_PATH_SIZE];

	for (size_t i = CC_PART_COUNT; i > 0; i--) {
		int fd = root_fd, failed;

		if (i > 1) {
			cut_path(path, i - 1, part);
			fd = open_levels(root_fd, part, O_RDONLY);
			if (fd < 0)
				return;	/* somebody else is at it */
		}
		cut_path(path, i, part);
		failed = unlinkat(fd, part + (i - 1) * CMN_HASH_HEX_SIZE, AT_REMOVEDIR);
		if (fd != root_fd)
			(void)close(fd);	/* read only */
		if (failed)
			return;	/* not empty, as a rule */
	}
}
