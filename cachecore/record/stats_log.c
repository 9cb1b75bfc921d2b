/* SPDX-License-Identifier: MIT */
/* stats_log: records of one length, appended by O_APPEND, then written again in their places. */
#include "cachecore/record/stats_log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/file.h"
#include "common/hash.h"

#define VERSION 1
#define HASHED (CC_STATS_LOG_RECORD - CMN_HASH_SIZE)
/* Several that append at once may each find the last free place. */
#define MAX_READ (2 * CC_STATS_LOG_MAX)

static const char magic[4] = { 'c', 'k', 's', '\n' };

static void encode(const struct cc_stats_record *record, struct cmn_buffer *ret)
{
	struct cmn_hash hash;

	cmn_buffer_append(ret, magic, sizeof(magic));
	cmn_buffer_append_u32(ret, VERSION);
	cmn_buffer_append_u32(ret, record->day);
	cmn_buffer_append_u32(ret, record->reason_count);
	cmn_buffer_append_u64(ret, record->pid);
	cmn_buffer_append_u64(ret, record->time_ns);
	for (unsigned int i = 0; i < CC_STATS_LOG_COUNTERS; i++)
		cmn_buffer_append_u64(ret, record->counters[i]);
	cmn_buffer_append(ret, record->program, sizeof(record->program));
	for (unsigned int i = 0; i < CC_STATS_LOG_REASONS; i++) {
		cmn_buffer_append(ret, record->reasons[i].name, CC_STATS_LOG_REASON_SIZE);
		cmn_buffer_append_u64(ret, record->reasons[i].count);
	}
	if (!ret->failed) {
		hash = cmn_hash_of(ret->data, ret->len);
		cmn_buffer_append(ret, hash.bytes, CMN_HASH_SIZE);
	}
}

bool cc_stats_log_is_idle(const struct cc_stats_record *record)
{
	return !record->counters[CC_MISSES] && !record->counters[CC_UNATTENDED] &&
	       !record->reason_count;
}

static bool decode(struct cmn_view bytes, struct cc_stats_record *ret)
{
	struct cmn_reader reader = cmn_reader_of(bytes);
	struct cmn_hash hash = cmn_hash_of(bytes.data, HASHED);
	struct cmn_view text;

	if (memcmp(hash.bytes, (const uint8_t *)bytes.data + HASHED, CMN_HASH_SIZE) != 0)
		return false;
	*ret = (struct cc_stats_record){ 0 };
	(void)cmn_reader_u32(&reader);	/* magic */
	if (cmn_reader_u32(&reader) != VERSION)
		return false;
	ret->day = cmn_reader_u32(&reader);
	ret->reason_count = cmn_reader_u32(&reader);
	ret->pid = cmn_reader_u64(&reader);
	ret->time_ns = cmn_reader_u64(&reader);
	for (unsigned int i = 0; i < CC_STATS_LOG_COUNTERS; i++)
		ret->counters[i] = cmn_reader_u64(&reader);
	text = cmn_reader_bytes(&reader, sizeof(ret->program));
	memcpy(ret->program, text.data, sizeof(ret->program) - 1);
	for (unsigned int i = 0; i < CC_STATS_LOG_REASONS; i++) {
		text = cmn_reader_bytes(&reader, CC_STATS_LOG_REASON_SIZE);
		memcpy(ret->reasons[i].name, text.data, CC_STATS_LOG_REASON_SIZE);
		ret->reasons[i].count = cmn_reader_u64(&reader);
	}
	return ret->reason_count <= CC_STATS_LOG_REASONS;
}

/* The file, made if it is not there; appends: to be appended to, else to be written in place. */
static enum cmn_status open_log(int root_fd, bool appends, int *ret_fd)
{
	const int flags = O_RDWR | (appends ? O_APPEND : 0) | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	enum cmn_status status;
	int fd = cmn_file_open(root_fd, CC_STATS_LOG_NAME, flags);

	if (fd < 0 && errno == ENOENT) {
		status = cmn_file_open_own(root_fd, CC_STATS_LOG_NAME, &fd);
		if (status != CMN_OK)
			return status;
		(void)close(fd);	/* nothing was written through it */
		fd = cmn_file_open(root_fd, CC_STATS_LOG_NAME, flags);
	}
	*ret_fd = fd;
	return fd < 0 ? CMN_STALE : CMN_OK;
}

/*
 * The log, which nobody removes meanwhile; where there are no locks that cannot be helped. One
 * that was just removed has no name, one with a second is a backup's, too. A number
 * that the application took is another file.
 */
static enum cmn_status share_log(int root_fd, bool appends, int *ret_fd, struct stat *ret_info)
{
	enum cmn_status status = open_log(root_fd, appends, ret_fd);

	if (status != CMN_OK)
		return status;
	if (cmn_file_share(*ret_fd) == CMN_BUSY || fstat(*ret_fd, ret_info) < 0 ||
	    !S_ISREG(ret_info->st_mode) || ret_info->st_nlink != 1)
		return CMN_STALE;
	return CMN_OK;
}

static void release_log(int fd)
{
	if (fd < 0)
		return;
	cmn_file_unlock(fd);
	(void)close(fd);	/* what is not written then is lost, or torn */
}

static struct cc_stats_sums sums_of(int root_fd)
{
	struct cc_stats_sums sums = { 0 };
	struct stat info;

	if (fstatat(root_fd, CC_STATS_NAME, &info, AT_SYMLINK_NOFOLLOW) == 0) {
		sums.inode = (uint64_t)info.st_ino;
		sums.time_ns = (uint64_t)info.st_mtim.tv_sec * 1000000000 + (uint64_t)info.st_mtim.tv_nsec;
	}
	return sums;
}

/* false: the log is another one, or was merged, or somebody has written over old, which is there. */
static bool is_at(int root_fd, int fd, const struct stat *info, const struct cc_stats_place *place,
		  struct cmn_view old)
{
	const struct cc_stats_sums sums = sums_of(root_fd);
	uint8_t bytes[CC_STATS_LOG_RECORD];

	return sums.inode == place->sums.inode && sums.time_ns == place->sums.time_ns &&
	       (uint64_t)info->st_dev == place->device && (uint64_t)info->st_ino == place->inode &&
	       pread(fd, bytes, sizeof(bytes), (off_t)place->offset) == (ssize_t)old.len &&
	       memcmp(bytes, old.data, old.len) == 0;
}

/* false: there is no place for one of its reasons, or it is another day's or program's. */
static bool add_record(struct cc_stats_record *sum, const struct cc_stats_record *more)
{
	unsigned int at;

	if (sum->day != more->day || strcmp(sum->program, more->program) != 0)
		return false;
	for (unsigned int i = 0; i < more->reason_count; i++) {
		for (at = 0; at < sum->reason_count; at++) {
			if (strcmp(sum->reasons[at].name, more->reasons[i].name) == 0)
				break;
		}
		if (at == CC_STATS_LOG_REASONS)
			return false;
		if (at == sum->reason_count)
			sum->reasons[sum->reason_count++] = more->reasons[i];
		else
			sum->reasons[at].count += more->reasons[i].count;
	}
	for (unsigned int i = 0; i < CC_STATS_LOG_COUNTERS; i++)
		sum->counters[i] += more->counters[i];
	return true;
}

/* Half of bytes would be neither: what was there is written again then. */
static enum cmn_status write_over(int fd, uint64_t offset, struct cmn_view bytes, struct cmn_view old)
{
	if (cmn_file_write_at(fd, bytes.data, bytes.len, (off_t)offset) == (ssize_t)bytes.len)
		return CMN_OK;
	(void)!cmn_file_write_at(fd, old.data, old.len, (off_t)offset);	/* as far as it came */
	return CMN_ERR_IO;
}

/* CMN_MISS: its place is gone, or of no use for these counts. */
static enum cmn_status update(int root_fd, const struct cc_stats_record *record,
			      struct cc_stats_place *place)
{
	struct cc_stats_record sum = place->record;
	struct cmn_buffer bytes = { 0 }, old = { 0 };
	enum cmn_status status;
	struct stat info;
	int fd = -1;

	if (!sum.pid || sum.pid != (uint64_t)getpid() || !add_record(&sum, record))
		return CMN_MISS;
	encode(&sum, &bytes);
	encode(&place->record, &old);
	status = bytes.failed || old.failed ? CMN_ERR_NOMEM : share_log(root_fd, false, &fd, &info);
	if (status == CMN_OK && !is_at(root_fd, fd, &info, place, cmn_buffer_view(&old)))
		status = CMN_MISS;
	if (status == CMN_OK)
		status = write_over(fd, place->offset, cmn_buffer_view(&bytes), cmn_buffer_view(&old));
	if (status == CMN_OK)
		place->record = sum;
	release_log(fd);
	cmn_buffer_release(&bytes);
	cmn_buffer_release(&old);
	return status;
}

static enum cmn_status append(int root_fd, const struct cc_stats_record *record,
			      struct cc_stats_place *place)
{
	struct cmn_buffer bytes = { 0 };
	enum cmn_status status;
	struct stat info;
	int fd = -1;

	*place = (struct cc_stats_place){ .record = *record };
	if (!record->pid)
		place->record.pid = (uint64_t)getpid();
	if (!record->time_ns)
		place->record.time_ns = cmn_clock_realtime();
	status = share_log(root_fd, true, &fd, &info);
	encode(&place->record, &bytes);
	if (status == CMN_OK && (uint64_t)info.st_size + bytes.len > CC_STATS_LOG_MAX)
		status = CMN_STALE;
	else if (status == CMN_OK && bytes.failed)
		status = CMN_ERR_NOMEM;
	else if (status == CMN_OK && cmn_file_write(fd, bytes.data, bytes.len) != (ssize_t)bytes.len)
		status = CMN_ERR_IO;
	if (status == CMN_OK) {
		/* Where the write left it; several that append at once have each a position of their own. */
		place->offset = (uint64_t)lseek(fd, 0, SEEK_CUR) - bytes.len;
		place->device = (uint64_t)info.st_dev;
		place->inode = (uint64_t)info.st_ino;
		place->sums = sums_of(root_fd);
	}
	release_log(fd);
	cmn_buffer_release(&bytes);
	return status;
}

enum cmn_status cc_stats_log_put(int root_fd, const struct cc_stats_record *record,
				 struct cc_stats_place *place)
{
	struct cc_stats_place own = { 0 };
	enum cmn_status status = CMN_MISS;

	for (unsigned int i = CC_STATS_LOG_COUNTERS; i < CC_COUNTER_COUNT; i++) {
		if (record->counters[i])
			return CMN_STALE;
	}
	if (place)
		status = update(root_fd, record, place);
	if (status == CMN_MISS)
		status = append(root_fd, record, place ? place : &own);
	return status;
}

enum cmn_status cc_stats_log_lock(int root_fd, uint64_t until, int *ret_fd)
{
	*ret_fd = -1;
	return open_log(root_fd, false, ret_fd) != CMN_OK || cmn_file_lock(*ret_fd, until) != CMN_BUSY ?
	       CMN_OK : CMN_BUSY;
}

void cc_stats_log_unlock(int fd)
{
	release_log(fd);
}

enum cmn_status cc_stats_log_read(int root_fd, struct cmn_buffer *ret)
{
	return cmn_file_read(root_fd, CC_STATS_LOG_NAME, MAX_READ, false, ret);
}

bool cc_stats_log_next(struct cmn_view *rest, struct cc_stats_record *ret)
{
	const uint8_t *at = rest->data, *end = at + rest->len;

	while (at && end - at >= CC_STATS_LOG_RECORD) {
		if (memcmp(at, magic, sizeof(magic)) == 0 &&
		    decode((struct cmn_view){ at, CC_STATS_LOG_RECORD }, ret)) {
			at += CC_STATS_LOG_RECORD;
			*rest = (struct cmn_view){ at, (size_t)(end - at) };
			return true;
		}
		at = memmem(at + 1, (size_t)(end - at) - 1, magic, sizeof(magic));
	}
	return false;
}

/*
 * Unless it has grown, where there are no locks: what stays is known to be merged.
 * Another user's, in a directory with the sticky bit, is cut.
 */
static void remove_merged(int root_fd, int fd, size_t len)
{
	struct stat info;

	if (fd >= 0 && fstat(fd, &info) == 0 && (uint64_t)info.st_size == len &&
	    unlinkat(root_fd, CC_STATS_LOG_NAME, 0) < 0 && info.st_nlink == 1)
		(void)!ftruncate(fd, 0);
}

void cc_stats_log_remove(int root_fd, int fd, enum cmn_status read, size_t len)
{
	struct stat info;

	if (read == CMN_MISS || fstatat(root_fd, CC_STATS_LOG_NAME, &info, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (S_ISDIR(info.st_mode))
		(void)!cmn_file_make_way(root_fd, CC_STATS_LOG_NAME);	/* the next one tries again */
	else if (read != CMN_OK)
		(void)unlinkat(root_fd, CC_STATS_LOG_NAME, 0);	/* likewise */
	else
		remove_merged(root_fd, fd, len);
}
