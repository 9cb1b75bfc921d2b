/* SPDX-License-Identifier: MIT */
/* pair: reads an entry's two files. */
#include "cachecore/pair.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/leaf.h"
#include "common/file.h"

static enum cmn_status read_file(int dir_fd, const char *prefix, enum cc_leaf_file file,
				 unsigned int n, size_t max_len, const struct cmn_room *room,
				 struct cmn_buffer *buf)
{
	size_t prefix_len = strlen(prefix);
	char path[CC_PAIR_PATH_SIZE];
	enum cmn_status status;

	if (prefix_len > sizeof(path) - CC_LEAF_NAME_SIZE)
		return CMN_ERR_INVALID;
	memcpy(path, prefix, prefix_len);
	cc_leaf_name(file, n, path + prefix_len);
	status = cmn_file_read_into(dir_fd, path, max_len, false, room, buf);
	/* Files appear whole: one that is larger than any of ours or shrinks is not what was written. */
	if (status == CMN_ERR_TOO_LARGE || status == CMN_STALE)
		return CMN_ERR_CORRUPT;
	return status;
}

enum cmn_status cc_pair_read_src(int dir_fd, const char *prefix, unsigned int n,
				 struct cmn_buffer *file, struct cc_src *ret)
{
	enum cmn_status status = read_file(dir_fd, prefix, CC_LEAF_SRC, n, CC_SRC_MAX_FILE, NULL,
					   file);

	return status == CMN_OK ? cc_src_file_decode(cmn_buffer_view(file), ret) : status;
}

enum cmn_status cc_pair_read_bin(int dir_fd, const char *prefix, unsigned int n,
				 const struct cc_src *src, const struct cmn_room *room,
				 struct cc_manifest *manifest, struct cc_entry **ret)
{
	size_t max_len = (size_t)(CC_ENTRY_MAX_PAYLOAD + CC_ENTRY_HEADER_SIZE);
	struct cmn_buffer file = { 0 };
	enum cmn_status status = read_file(dir_fd, prefix, CC_LEAF_BIN, n, max_len, room, &file);

	if (status != CMN_OK) {
		cmn_buffer_release(&file);
		return status;
	}
	return cc_entry_decode(&file, &src->hash, manifest, ret);
}

enum cmn_status cc_pair_read_bin_header(int dir_fd, unsigned int n, const struct cc_src *src,
					struct cc_entry_header *ret)
{
	uint8_t bytes[CC_ENTRY_HEADER_SIZE];
	struct cmn_view view = { bytes, 0 };
	struct cc_entry_header header;
	char name[CC_LEAF_NAME_SIZE];
	enum cmn_status status;
	struct stat info;
	ssize_t got;
	int fd;

	cc_leaf_name(CC_LEAF_BIN, n, name);
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
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
	else if (!cmn_hash_equal(&header.key_hash, &src->hash))
		status = CMN_STALE;
	if (status == CMN_OK)
		*ret = header;
out:
	(void)close(fd);	/* read only */
	return status;
}

bool cc_pair_status_damaged(enum cmn_status status)
{
	return status == CMN_ERR_CORRUPT || status == CMN_ERR_ACCESS;
}

bool cc_pair_damaged(int dir_fd, unsigned int n)
{
	struct cmn_buffer file = { 0 };
	struct cc_manifest *manifest = NULL;
	struct cc_entry *entry = NULL;
	struct cc_src src;
	enum cmn_status status = cc_pair_read_src(dir_fd, "", n, &file, &src);

	if (status == CMN_OK && src.manifest.len)
		status = cc_manifest_decode(src.manifest, &manifest);
	if (status == CMN_OK)
		status = cc_pair_read_bin(dir_fd, "", n, &src, NULL, NULL, &entry);
	cc_entry_unref(entry);
	cc_manifest_free(manifest);
	cmn_buffer_release(&file);
	return cc_pair_status_damaged(status);
}
