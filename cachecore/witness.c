/* SPDX-License-Identifier: MIT */
/* witness: gathers what stat says into one hash. */
#include "cachecore/witness.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/clock.h"

#define NS_PER_S UINT64_C(1000000000)
/* Linux stamps files with the time of its last tick, which is at most 10 ms old. */
#define TICK_NS UINT64_C(20000000)
/* FAT's; file systems with whole seconds are finer. */
#define COARSE_NS (2 * NS_PER_S)
#define PATH_SIZE 4096

enum {
	MAX_WAITS = 2,
	MAX_LINKS = 40,		/* as Linux follows */
};

struct gathering {
	struct cmn_buffer records;
	uint64_t youngest_ns;	/* the latest change */
	uint64_t youngest_coarse_ns;	/* the same of files whose times are whole seconds */
	char last[PATH_SIZE];	/* directory of an absent file that was looked at last */
	char last_home[PATH_SIZE];	/* directory of a header likewise */
};

static uint64_t ns_of(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * NS_PER_S + (uint64_t)time->tv_nsec;
}

/* Through a descriptor: opening makes network file systems ask their server. */
static bool examine(const char *path, int flags, struct stat *ret)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | flags);
	bool found;

	if (fd < 0)
		return errno == EACCES && stat(path, ret) == 0;
	found = fstat(fd, ret) == 0;
	(void)close(fd);	/* read only */
	return found;
}

static void note_age(struct gathering *gathering, const struct stat *info)
{
	uint64_t ctime = ns_of(&info->st_ctim);
	uint64_t *youngest = info->st_mtim.tv_nsec || info->st_ctim.tv_nsec ?
				     &gathering->youngest_ns : &gathering->youngest_coarse_ns;

	if (ctime > *youngest)
		*youngest = ctime;
}

static void add_identity(struct gathering *gathering, const struct stat *info)
{
	cmn_buffer_append_u64(&gathering->records, info->st_dev);
	cmn_buffer_append_u64(&gathering->records, info->st_ino);
}

/* Where the link at path leads, in place of path; false: it is too long. */
static bool follow(char path[PATH_SIZE])
{
	char target[PATH_SIZE];
	ssize_t len = readlink(path, target, sizeof(target));
	char *slash = strrchr(path, '/');
	size_t at = len > 0 && target[0] != '/' && slash ? (size_t)(slash - path) + 1 : 0;

	if (len <= 0 || at + (size_t)len >= PATH_SIZE)
		return false;
	memcpy(path + at, target, (size_t)len);
	path[at + (size_t)len] = '\0';
	return true;
}

/* What stands at path and, as long as it is a link, where that leads: none of these links was made anew. */
static void add_links(struct gathering *gathering, const char *path)
{
	char place[PATH_SIZE];
	struct stat info;

	if (strlen(path) >= sizeof(place))
		return;
	memcpy(place, path, strlen(path) + 1);
	for (int i = 0; i < MAX_LINKS && lstat(place, &info) == 0 && S_ISLNK(info.st_mode); i++) {
		note_age(gathering, &info);
		add_identity(gathering, &info);
		cmn_buffer_append_u64(&gathering->records, ns_of(&info.st_ctim));
		if (!follow(place))
			break;
	}
}

static void add_file(struct gathering *gathering, const char *path)
{
	struct stat info;

	add_links(gathering, path);
	if (!examine(path, 0, &info)) {
		cmn_buffer_append_u8(&gathering->records, 0);
		return;
	}
	note_age(gathering, &info);
	add_identity(gathering, &info);
	cmn_buffer_append_u64(&gathering->records, (uint64_t)info.st_size);
	cmn_buffer_append_u64(&gathering->records, ns_of(&info.st_mtim));
	cmn_buffer_append_u64(&gathering->records, ns_of(&info.st_ctim));
}

/* Cuts the last component: "a/b" to "a", "/a" to "/", "a" to ".". false: there is none. */
static bool cut(char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		path[--len] = '\0';
	if (strcmp(path, ".") == 0 || strcmp(path, "/") == 0)
		return false;
	while (len && path[len - 1] != '/')
		path[--len] = '\0';
	while (len > 1 && path[len - 1] == '/')
		path[--len] = '\0';
	if (len == 0)
		memcpy(path, ".", 2);
	return true;
}

/* The directory of path; false: the path is too long to be one. */
static bool directory_of(const char *path, char ret[PATH_SIZE])
{
	size_t len = strlen(path);

	if (len >= PATH_SIZE)
		return false;
	memcpy(ret, path, len + 1);
	return cut(ret);
}

/* The links among a directory and those above it. */
static void add_links_above(struct gathering *gathering, const char *directory)
{
	char path[PATH_SIZE];

	memcpy(path, directory, strlen(directory) + 1);	/* it comes from one of this size */
	do {
		add_links(gathering, path);
	} while (cut(path));
}

/*
 * The directory of a header that is there: was it moved? A new entry in it sets
 * both times to the same, and says nothing of the header.
 */
static void add_home(struct gathering *gathering, const char *path)
{
	char directory[PATH_SIZE];
	struct stat info;

	if (!directory_of(path, directory) || strcmp(directory, gathering->last_home) == 0)
		return;
	memcpy(gathering->last_home, directory, sizeof(directory));
	add_links_above(gathering, directory);
	if (!examine(directory, O_DIRECTORY, &info)) {
		cmn_buffer_append_u8(&gathering->records, 0);
		return;
	}
	add_identity(gathering, &info);
	cmn_buffer_append_u64(&gathering->records,
			      ns_of(&info.st_ctim) == ns_of(&info.st_mtim) ? 0 :
									     ns_of(&info.st_ctim));
}

/* The nearest directory there is: nothing appeared in it. */
static void add_absent(struct gathering *gathering, const char *path)
{
	char directory[PATH_SIZE];
	struct stat info;
	bool found;

	if (!directory_of(path, directory) || strcmp(directory, gathering->last) == 0)
		return;
	memcpy(gathering->last, directory, sizeof(directory));
	do {
		found = examine(directory, O_DIRECTORY, &info);
	} while (!found && cut(directory));
	if (!found)
		return;
	add_links_above(gathering, directory);
	note_age(gathering, &info);
	add_identity(gathering, &info);
	cmn_buffer_append_u64(&gathering->records, ns_of(&info.st_mtim));
	cmn_buffer_append_u64(&gathering->records, ns_of(&info.st_ctim));
}

static enum cmn_status gather(const struct cc_manifest *manifest, struct gathering *ret,
			      struct cmn_hash *ret_hash)
{
	enum cmn_status status = CMN_ERR_NOMEM;

	*ret = (struct gathering){ 0 };
	for (size_t i = 0; i < cc_manifest_count(manifest); i++) {
		struct cc_manifest_item item = cc_manifest_get(manifest, i);

		if (item.kind == CC_DEPENDENCY_FILE) {
			add_file(ret, item.path);
			add_home(ret, item.path);
		} else if (item.kind == CC_DEPENDENCY_ABSENT) {
			add_absent(ret, item.path);
		}
	}
	if (!ret->records.failed) {
		*ret_hash = cmn_hash_of(ret->records.data, ret->records.len);
		status = CMN_OK;
	}
	cmn_buffer_release(&ret->records);
	return status;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec left = { (time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S) };

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		continue;
}

enum cmn_status cc_witness_take(const struct cc_manifest *manifest, struct cc_file_memo *memo,
				struct cmn_hash *ret)
{
	struct gathering gathering;
	struct cmn_hash witness = { { 0 } };

	for (int i = 0; cc_manifest_count(manifest); i++) {
		enum cmn_status status = gather(manifest, &gathering, &witness);
		uint64_t now = cmn_clock_realtime();

		if (status != CMN_OK)
			return status;
		if (gathering.youngest_ns + TICK_NS <= now &&
		    gathering.youngest_coarse_ns + COARSE_NS <= now)
			break;
		if (i == MAX_WAITS || gathering.youngest_ns > now + TICK_NS ||
		    gathering.youngest_coarse_ns + COARSE_NS > now)
			return CMN_STALE;
		sleep_ns(gathering.youngest_ns + TICK_NS - now);
	}
	if (cc_manifest_verify(manifest, memo) != CMN_OK)
		return CMN_STALE;
	*ret = witness;
	return CMN_OK;
}

bool cc_witness_holds(const struct cc_manifest *manifest, const struct cmn_hash *witness)
{
	struct gathering gathering;
	struct cmn_hash now = { { 0 } };

	if (!cc_manifest_count(manifest))
		return true;
	return gather(manifest, &gathering, &now) == CMN_OK && cmn_hash_equal(&now, witness);
}
