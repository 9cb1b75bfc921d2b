/* SPDX-License-Identifier: MIT */
/* entry_files: reads an entry's two files. */
#include "cachecore/disk/entry_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/disk/leaf.h"
#include "common/file.h"

#define PIECE ((size_t)32 << 10)	/* what the processor's cache holds beside the key's piece */
/* Shorter ones are as quickly read whole, in memory that is used again. */
#define MATCHED_LEN_MIN (2 * PIECE)
/* Of longer files the head is looked at first: no memory for what only claims to be one of ours. */
#define UNSEEN_LEN_MAX ((size_t)16 << 20)

/* Whether the head of a file is one of that kind, and speaks of a file of that size. */
static enum cmn_status check_head(int fd, enum cc_leaf_file file)
{
	uint8_t bytes[CC_ENTRY_HEADER_SIZE];
	struct cmn_view view = { bytes, 0 };
	struct cc_entry_header entry;
	struct cc_src_header src;
	enum cmn_status status;
	struct stat info;
	ssize_t got;

	if (fstat(fd, &info) < 0)
		return cmn_status_from_errno(errno);
	if (!S_ISREG(info.st_mode))
		return CMN_ERR_ACCESS;
	/* A regular file gives what it has: a short read is a short file, which the decoder notices. */
	got = pread(fd, bytes, file == CC_LEAF_SRC ? CC_SRC_HEADER_SIZE : sizeof(bytes), 0);
	if (got < 0)
		return cmn_status_from_errno(errno);
	view.len = (size_t)got;
	if (file == CC_LEAF_SRC)
		return cc_src_file_read_header(view, (uint64_t)info.st_size, &src);
	status = cc_entry_read_header(view, &entry);
	if (status == CMN_OK && (uint64_t)info.st_size != CC_ENTRY_HEADER_SIZE + entry.stored_len)
		status = CMN_ERR_CORRUPT;
	return status;
}

enum cmn_status cc_entry_files_read_file(int dir_fd, const char *leaf, enum cc_leaf_file file,
				  unsigned int n, enum cmn_file_trust trust,
				  const struct cmn_room *room, struct cmn_buffer *buf)
{
	const uint64_t max_len = file == CC_LEAF_SRC ? CC_SRC_MAX_FILE
						     : CC_ENTRY_MAX_PAYLOAD + CC_ENTRY_HEADER_SIZE;
	enum cmn_status status;
	int fd = cc_leaf_open_file(dir_fd, leaf, file, n);

	status = cmn_file_read_open(fd, UNSEEN_LEN_MAX, trust, room, buf);
	if (status == CMN_ERR_TOO_LARGE) {
		fd = cc_leaf_open_file(dir_fd, leaf, file, n);
		status = fd < 0 ? cmn_status_from_errno(errno) : check_head(fd, file);
		if (status == CMN_OK)
			status = cmn_file_read_open(fd, (size_t)max_len, trust, room, buf);
		else if (fd >= 0)
			(void)close(fd);	/* read only */
	}
	/* Files appear whole: one that is larger than any of ours or shrinks is not what was written. */
	if (status == CMN_ERR_TOO_LARGE || status == CMN_STALE)
		return CMN_ERR_CORRUPT;
	return status;
}

enum cmn_status cc_entry_files_read_src(int dir_fd, unsigned int n, enum cmn_file_trust trust,
				 struct cmn_buffer *file, struct cc_src *ret)
{
	enum cmn_status status = cc_entry_files_read_file(dir_fd, NULL, CC_LEAF_SRC, n, trust, NULL,
							  file);

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

/* CMN_OK, or anything else: it has to be looked at as a whole. */
static enum cmn_status match_src(int fd, enum cmn_file_trust trust, struct cmn_view key,
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
		return CMN_STALE;
	file->len = 0;
	if (!cmn_buffer_reserve(file, header.manifest_len > PIECE ? header.manifest_len : PIECE) ||
	    !next_bytes_are(fd, key, file->data) ||
	    !read_exactly(fd, file->data, header.manifest_len))
		return CMN_STALE;
	file->len = header.manifest_len;
	return cc_src_file_check(start, key, cmn_buffer_view(file), ret);
}

enum cmn_status cc_entry_files_read_src_of(int dir_fd, const char *leaf, unsigned int n,
				    enum cmn_file_trust trust, struct cmn_view key,
				    struct cmn_buffer *file, struct cc_src *ret)
{
	enum cmn_status status = CMN_STALE;
	int fd = -1;

	if (key.len >= MATCHED_LEN_MIN)
		fd = cc_leaf_open_file(dir_fd, leaf, CC_LEAF_SRC, n);
	if (fd >= 0) {
		status = match_src(fd, trust, key, file, ret);
		(void)close(fd);	/* read only */
	}
	if (status == CMN_OK)
		return CMN_OK;
	status = cc_entry_files_read_file(dir_fd, leaf, CC_LEAF_SRC, n, trust, NULL, file);
	if (status == CMN_OK)
		status = cc_src_file_decode(cmn_buffer_view(file), ret);
	if (status == CMN_OK && !cmn_view_equal(ret->key, key))
		return CMN_MISS;
	return status;
}

enum cmn_status cc_entry_files_read_bin(int dir_fd, const char *leaf, unsigned int n,
				 enum cmn_file_trust trust, const struct cc_src *src,
				 const struct cmn_room *room, struct cc_manifest *manifest,
				 struct cc_entry **ret)
{
	struct cmn_buffer file = { 0 };
	enum cmn_status status = cc_entry_files_read_file(dir_fd, leaf, CC_LEAF_BIN, n, trust, room,
							  &file);

	if (status != CMN_OK) {
		cmn_buffer_release(&file);
		return status;
	}
	return cc_entry_decode(&file, &src->hash, room, manifest, ret);
}

enum cmn_status cc_entry_files_read_bin_header(int dir_fd, unsigned int n, const struct cc_src *src,
					struct cc_entry_header *ret)
{
	uint8_t bytes[CC_ENTRY_HEADER_SIZE];
	struct cmn_view view = { bytes, 0 };
	struct cc_entry_header header;
	enum cmn_status status;
	struct stat info;
	ssize_t got;
	int fd = cc_leaf_open_file(dir_fd, NULL, CC_LEAF_BIN, n);

	if (fd < 0)
		return cmn_status_from_errno(errno);
	if (fstat(fd, &info) < 0) {
		status = cmn_status_from_errno(errno);
		goto out;
	}
	status = S_ISREG(info.st_mode) ? CMN_OK : CMN_ERR_ACCESS;
	if (status != CMN_OK)
		goto out;
	/* A regular file gives what it has: a short read is a short file, which the decoder notices. */
	got = pread(fd, bytes, sizeof(bytes), 0);
	if (got < 0) {
		status = cmn_status_from_errno(errno);
		goto out;
	}
	view.len = (size_t)got;
	status = cc_entry_read_header(view, &header);
	if (status != CMN_OK)
		goto out;
	if ((uint64_t)info.st_size != CC_ENTRY_HEADER_SIZE + header.stored_len)
		status = CMN_ERR_CORRUPT;
	else if (src && !cmn_hash_equal(&header.key_hash, &src->hash))
		status = CMN_STALE;
	if (status == CMN_OK)
		*ret = header;
out:
	(void)close(fd);	/* read only */
	return status;
}

bool cc_entry_files_status_damaged(enum cmn_status status)
{
	return status == CMN_ERR_CORRUPT || status == CMN_ERR_ACCESS;
}

enum cmn_status cc_entry_files_judge(int dir_fd, unsigned int n, enum cmn_file_trust trust)
{
	struct cmn_buffer file = { 0 };
	struct cc_manifest *manifest = NULL;
	struct cc_entry *entry = NULL;
	struct cc_src src;
	enum cmn_status status = cc_entry_files_read_src(dir_fd, n, trust, &file, &src);

	if (status == CMN_OK && src.manifest.len)
		status = cc_manifest_decode(src.manifest, &manifest);
	if (status == CMN_OK) {
		status = cc_entry_files_read_bin(dir_fd, NULL, n, trust, &src, NULL, NULL, &entry);
		if (status == CMN_MISS || status == CMN_STALE)
			status = CMN_ERR_CORRUPT;
	}
	cc_entry_unref(entry);
	cc_manifest_free(manifest);
	cmn_buffer_release(&file);
	return status;
}
