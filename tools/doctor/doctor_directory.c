/* SPDX-License-Identifier: MIT */
/*
 * doctor_directory: the root, or where it would be made: whose it is, what it
 * lies on, whether a file can be written and locked there; and the read-only
 * tiers. What it writes has no name, so that nothing can stay behind.
 */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "cachecore/disk/mark.h"
#include "cachecore/disk/space/account.h"
#include "cachecore/disk/root.h"
#include "common/file.h"
#include "tools/doctor/doctor.h"
#include "tools/text.h"

#define PROBE_BYTES 65536	/* an ordinary entry */
#define FEW_BYTES (UINT64_C(64) << 20)
#define FEW_INODES 1000

/* Whether path is base/tail. */
static bool is_below(const char *path, const char *base, const char *tail)
{
	size_t len = base ? strlen(base) : 0;

	return len && strncmp(path, base, len) == 0 && path[len] == '/' &&
	       strcmp(path + len + 1, tail) == 0;
}

/* What made it the root: the order of docs/CONFIG.md. */
static const char *why(const char *dir)
{
	const char *variable = getenv("CKCACHE_DIR"), *base = getenv("XDG_CACHE_HOME");

	if (variable && *variable)
		return "CKCACHE_DIR";
	if (is_below(dir, base, "ckcache"))
		return "XDG_CACHE_HOME";
	if (is_below(dir, getenv("HOME"), ".cache/ckcache"))
		return "HOME";
	return "ckcache.conf";
}

static const char *owner_of(const struct stat *info, char ret[32])
{
	const struct passwd *user = getpwuid(info->st_uid);

	if (user)
		(void)snprintf(ret, 32, "%s", user->pw_name);	/* cut, if at all */
	else
		(void)snprintf(ret, 32, "user %u", info->st_uid);	/* it fits */
	return ret;
}

static void look_at_space(struct doctor *doctor, int fd)
{
	char free_text[TEXT_SIZE], all_text[TEXT_SIZE];
	struct statvfs space;
	struct statfs type;
	uint64_t left;

	if (fstatvfs(fd, &space) < 0 || fstatfs(fd, &type) < 0) {
		doctor_note(doctor, NULL, "the size of its file system is unknown: %s", strerror(errno));
		return;
	}
	left = (uint64_t)space.f_bavail * space.f_frsize;
	doctor_ok(doctor, "its file system has %s of %s free", text_bytes(left, free_text),
		  text_bytes((uint64_t)space.f_blocks * space.f_frsize, all_text));
	if ((uint32_t)type.f_type == TMPFS_MAGIC || (uint32_t)type.f_type == RAMFS_MAGIC)
		doctor_note(doctor, NULL, "it is in memory: restarting the machine empties it");
	if (cmn_file_is_remote(fd))
		doctor_note(doctor, "set CKCACHE_DIR to a directory on a local disk, which is faster and safer",
			    "it may be on another machine: only processes of this machine wait for each other's builds");
	if (left < FEW_BYTES)
		doctor_problem(doctor, "free some space there, or set CKCACHE_DIR", "almost no space is left");
	if (space.f_files && space.f_favail < FEW_INODES)
		doctor_problem(doctor, "remove files there, or set CKCACHE_DIR",
			       "only %llu more files can be created there", (unsigned long long)space.f_favail);
}

/* Whether a lock is seen by whoever opens the file anew, as another process does. */
static void look_at_locks(struct doctor *doctor, int fd)
{
	char path[64];
	bool works;
	int other;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);	/* it fits */
	other = open(path, O_RDWR | O_CLOEXEC);
	works = cmn_file_lock(fd, 0) == CMN_OK &&
		(other < 0 || cmn_file_lock(other, 0) == CMN_BUSY);
	if (other >= 0)
		(void)close(other);	/* nothing was written through it */
	if (works)
		doctor_ok(doctor, "a file can be written and locked there");
	else
		doctor_problem(doctor, "set CKCACHE_DIR to a directory on a local disk",
			       "files cannot be locked there (flock): nothing is stored");
}

static void look_at_writing(struct doctor *doctor, const char *dir)
{
	const enum doctor_mark mark = doctor->config.read_only ? DOCTOR_NOTE : DOCTOR_PROBLEM;
	static const char bytes[PROBE_BYTES];
	enum cmn_status status;
	int fd = cmn_file_make_nameless(dir);

	if (fd < 0) {
		doctor_say(doctor, mark, "make it writable for this user, or set CKCACHE_DIR",
			   "cannot create a file in %s: %s", dir, strerror(errno));
		return;
	}
	status = cmn_file_write_all(fd, bytes, PROBE_BYTES);
	if (status == CMN_OK)
		look_at_locks(doctor, fd);
	else
		doctor_say(doctor, mark,
			   "free some space there (also check quotas and ulimit -f), or set CKCACHE_DIR",
			   "cannot write a file of %d bytes in %s: %s", PROBE_BYTES, dir,
			   cmn_status_string(status));
	(void)close(fd);	/* it goes with this */
}

static void look_at_bound(struct doctor *doctor, int fd)
{
	const struct cc_config *config = &doctor->config;
	char used_text[TEXT_SIZE], bound_text[TEXT_SIZE];
	uint64_t used = 0;

	if (cc_number_file_read(fd, CC_ACCOUNT_NAME, &used) != CMN_OK)
		used = 0;	/* nothing was stored yet, or the next one counts anew */
	if (config->max_size)
		doctor_ok(doctor, "%s of at most %s are in use", text_bytes(used, used_text),
			  text_bytes(config->max_size, bound_text));
	else
		doctor_note(doctor, NULL, "%s are in use, without a bound: CKCACHE_MAX_SIZE is 0",
			    text_bytes(used, used_text));
}

static void look_at_root(struct doctor *doctor, const char *dir, int fd)
{
	struct stat info;
	char owner[32];

	if (fstat(fd, &info) < 0)
		return;	/* an open directory: it does not happen */
	doctor_ok(doctor, "%s (from %s), owned by %s, mode %04o", dir, why(dir), owner_of(&info, owner),
		  info.st_mode & 07777);
	look_at_space(doctor, fd);
	look_at_bound(doctor, fd);
	look_at_writing(doctor, dir);
}

/* Where it would be made: the nearest directory that is there. */
static void look_at_absent(struct doctor *doctor, const char *dir)
{
	char *parent = tool_find_parent(dir);
	int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0) {
		doctor_problem(doctor, "set CKCACHE_DIR", "%s (from %s) cannot be created: %s", dir, why(dir),
			       strerror(errno));
	} else {
		doctor_ok(doctor, "%s (from %s) will be created when something is stored", dir, why(dir));
		look_at_space(doctor, fd);
		look_at_writing(doctor, parent);
		(void)close(fd);	/* nothing was written through it */
	}
	free(parent);
}

static void look_at_refused(struct doctor *doctor, const char *dir, const char *reason)
{
	const char *advice = strcmp(reason, CC_MARK_FOREIGN) == 0 ?
		"set CKCACHE_DIR to another directory, such as one in this one" :
		"if only its owner could write to it so far, chown it and chmod go-w it; else remove it; or set "
		"CKCACHE_DIR (docs/SECURITY.md says why)";
	struct stat info;
	char owner[32];

	if (stat(dir, &info) < 0) {
		doctor_problem(doctor, "set CKCACHE_DIR to a directory of this user",
			       "%s (from %s) is not used: %s", dir, why(dir), reason);
		return;
	}
	(void)owner_of(&info, owner);
	doctor_problem(doctor, advice, "%s (from %s), owned by %s, is not used: %s", dir, why(dir), owner, reason);
}

static void look_at_tiers(struct doctor *doctor)
{
	char **dirs = doctor->config.read_only_dirs;

	for (size_t i = 0; dirs && dirs[i]; i++) {
		const char *reason;
		enum cmn_status status = cc_root_check(dirs[i], CC_ROOT_TIER, &reason);

		if (status == CMN_OK)
			doctor_ok(doctor, "%s is a read-only tier", dirs[i]);
		else if (status != CMN_MISS)
			doctor_note(doctor, NULL, "%s, a read-only tier, is not used: %s", dirs[i], reason);
		else if (getenv("CKCACHE_READ_ONLY_DIRS"))
			doctor_note(doctor, NULL, "%s, from CKCACHE_READ_ONLY_DIRS, does not exist", dirs[i]);
	}
}

void doctor_look_at_directory(struct doctor *doctor)
{
	const struct cc_config *config = &doctor->config;
	const char *reason = "it cannot be opened";
	enum cmn_status status;
	int fd = -1;

	if (config->dir) {
		enum cc_root_kind kind = config->sharing == CC_SHARING_GROUP ? CC_ROOT_GROUP :
									       CC_ROOT_OWN;

		status = cc_root_check(config->dir, kind, &reason);
		if (status == CMN_OK)
			status = cc_root_open_as(config->dir, kind, &fd);
		if (status == CMN_OK) {
			look_at_root(doctor, config->dir, fd);
			(void)close(fd);	/* nothing was written through it */
		} else if (status == CMN_MISS) {
			look_at_absent(doctor, config->dir);
		} else {
			look_at_refused(doctor, config->dir, reason);
		}
	} else if (config->dir_problem) {
		doctor_problem(doctor, "set CKCACHE_DIR", "there is no cache directory: %s",
			       config->dir_problem);
	}
	look_at_tiers(doctor);
}
