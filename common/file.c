/* SPDX-License-Identifier: MIT */
/* file: whole reads and writes, atomic publication, locks. */
#include "common/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"

/* Supplementary groups beyond this many are not looked through: such a user takes a root for foreign. */
#define MAX_GROUPS 1024
#define SHOWN_CHUNK 256		/* of what the kernel shows: mostly it is a number */
#define OPEN_ATTEMPTS 16	/* of opening and making a file in turns */
/* Between two tries for a lock: short at first, since most are held for microseconds. */
#define FIRST_LOCK_PAUSE_NS 100000
#define LAST_LOCK_PAUSE_NS 5000000

bool cmn_file_is_of_own_group(gid_t group)
{
	gid_t groups[MAX_GROUPS];
	int count;

	if (group == CMN_FILE_OVERFLOW_ID)
		return false;
	if (group == getegid())
		return true;
	count = getgroups(MAX_GROUPS, groups);
	for (int i = 0; i < count; i++) {
		if (groups[i] == group)
			return true;
	}
	return false;
}

enum cmn_status cmn_file_read_open(int fd, size_t max_len, enum cmn_file_trust trust,
				   const struct cmn_room *room, struct cmn_buffer *buf, struct stat *ret_info)
{
	enum cmn_status status = CMN_OK;
	struct stat info;
	size_t want;

	if (fd < 0)
		return cmn_status_from_errno(errno);
	if (fstat(fd, &info) < 0) {
		status = cmn_status_from_errno(errno);
		goto out;
	}
	if (!cmn_file_trusted(&info, trust))
		status = CMN_ERR_ACCESS;
	else if (info.st_size < 0 || (uint64_t)info.st_size > max_len)
		status = CMN_ERR_TOO_LARGE;
	if (status != CMN_OK)
		goto out;
	if (ret_info)
		*ret_info = info;
	want = (size_t)info.st_size;
	buf->len = 0;
	/* What it held is dropped first, since growing would copy it. */
	if (!buf->data || want > buf->cap) {
		cmn_buffer_release(buf);
		if (!(room && want >= room->from && cmn_buffer_reserve_in(buf, room->slabs, want)) &&
		    !cmn_buffer_reserve(buf, want))
			status = CMN_ERR_NOMEM;
	}
	while (status == CMN_OK && buf->len < want) {
		ssize_t got = read(fd, buf->data + buf->len, want - buf->len);

		if (got > 0)
			buf->len += (size_t)got;
		else if (got == 0)
			status = CMN_STALE;	/* it shrank meanwhile */
		else if (errno != EINTR)
			status = cmn_status_from_errno(errno);
	}
out:
	(void)close(fd);	/* nothing was written through it */
	return status;
}

static int open_to_read(int dir_fd, const char *path, int more_flags)
{
	int fd;

	do {
		fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | more_flags);
	} while (fd < 0 && errno == EINTR);
	return fd;
}

enum cmn_status cmn_file_read_into(int dir_fd, const char *path, size_t max_len,
				   enum cmn_file_trust trust, const struct cmn_room *room,
				   struct cmn_buffer *buf)
{
	int fd = open_to_read(dir_fd, path, trust == CMN_FILE_FOLLOW ? 0 : O_NOFOLLOW);

	return cmn_file_read_open(fd, max_len, trust, room, buf, NULL);
}

enum cmn_status cmn_file_read(int dir_fd, const char *path, size_t max_len, bool follow,
			      struct cmn_buffer *ret)
{
	enum cmn_status status;

	*ret = (struct cmn_buffer){ 0 };
	status = cmn_file_read_into(dir_fd, path, max_len,
				    follow ? CMN_FILE_FOLLOW : CMN_FILE_ANY, NULL, ret);
	if (status != CMN_OK)
		cmn_buffer_release(ret);
	return status;
}

/* Up to its end, wherever that is. */
static enum cmn_status read_to_end(int fd, size_t max_len, struct cmn_buffer *ret)
{
	struct stat info;
	ssize_t got;

	if (fstat(fd, &info) < 0)
		return cmn_status_from_errno(errno);
	if (!S_ISREG(info.st_mode))
		return CMN_ERR_ACCESS;
	do {
		if (!cmn_buffer_reserve(ret, SHOWN_CHUNK))
			return CMN_ERR_NOMEM;
		got = read(fd, ret->data + ret->len, ret->cap - ret->len);
		if (got > 0)
			ret->len += (size_t)got;
		if (ret->len > max_len)
			return CMN_ERR_TOO_LARGE;
	} while (got > 0 || (got < 0 && errno == EINTR));
	return got < 0 ? cmn_status_from_errno(errno) : CMN_OK;
}

enum cmn_status cmn_file_read_shown(const char *path, size_t max_len, struct cmn_buffer *ret)
{
	int fd = open_to_read(AT_FDCWD, path, 0);
	enum cmn_status status;

	*ret = (struct cmn_buffer){ 0 };
	if (fd < 0)
		return cmn_status_from_errno(errno);
	status = read_to_end(fd, max_len, ret);
	(void)close(fd);	/* read only */
	if (status != CMN_OK)
		cmn_buffer_release(ret);
	return status;
}

/* What the thread's mask and the signals that wait for it were before. */
struct quiet {
	sigset_t mask, waiting;
	bool begun;
};

static void begin_quiet(struct quiet *quiet)
{
	sigset_t both;

	(void)sigemptyset(&both);	/* these cannot fail */
	(void)sigaddset(&both, SIGXFSZ);
	(void)sigaddset(&both, SIGPIPE);
	(void)sigemptyset(&quiet->waiting);
	quiet->begun = pthread_sigmask(SIG_BLOCK, &both, &quiet->mask) == 0;
	/* One can only wait already if the application has blocked it. */
	if (quiet->begun && (sigismember(&quiet->mask, SIGXFSZ) || sigismember(&quiet->mask, SIGPIPE)))
		(void)sigpending(&quiet->waiting);	/* arguments are right */
}

/* Leaves errno alone. */
static void end_quiet(const struct quiet *quiet, bool failed)
{
	const struct timespec at_once = { 0, 0 };
	int error = errno, raised = 0;
	sigset_t one;

	if (!quiet->begun)
		return;
	if (failed && error == EFBIG)
		raised = SIGXFSZ;
	else if (failed && error == EPIPE)
		raised = SIGPIPE;
	if (raised && !sigismember(&quiet->waiting, raised)) {
		(void)sigemptyset(&one);
		(void)sigaddset(&one, raised);
		while (sigtimedwait(&one, NULL, &at_once) < 0 && errno == EINTR)
			continue;	/* none is there if it is ignored */
	}
	(void)pthread_sigmask(SIG_SETMASK, &quiet->mask, NULL);	/* arguments are right */
	errno = error;
}

ssize_t cmn_file_write(int fd, const void *data, size_t len)
{
	struct quiet quiet;
	ssize_t put;

	begin_quiet(&quiet);
	put = write(fd, data, len);
	end_quiet(&quiet, put < 0);
	return put;
}

/* The same pipe or terminal through an open file of our own, which alone does not block. */
static ssize_t write_reopened(int fd, const void *data, size_t len)
{
	ssize_t put;
	char path[64];
	int own;

	(void)snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", fd);	/* it fits */
	own = cmn_file_raise(open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
	if (own < 0)
		return -1;
	put = cmn_file_write(own, data, len);
	(void)close(own);	/* what a pipe took it has */
	return put;
}

ssize_t cmn_file_write_at_once(int fd, const void *data, size_t len)
{
	const struct iovec all = { (void *)(uintptr_t)data, len };
	struct pollfd ready = { .fd = fd, .events = POLLOUT };
	struct quiet quiet;
	struct stat info;
	bool filtered;
	ssize_t put;

	if (fstat(fd, &info) < 0)
		return -1;
	if (S_ISREG(info.st_mode))
		return cmn_file_write(fd, data, len);
	/* A filter of system calls may kill who makes a rare one. */
	filtered = prctl(PR_GET_SECCOMP) != 0;
	if (S_ISSOCK(info.st_mode)) {
		if (!filtered)
			return send(fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
		/* It cannot be opened again, and has room for far more than a message where it says so. */
		errno = EAGAIN;
		return poll(&ready, 1, 0) == 1 && ready.revents == POLLOUT ?
			       cmn_file_write(fd, data, len) : -1;
	}
	put = write_reopened(fd, data, len);
	/* Of another user, as after su: since Linux 6.4, which can write to a pipe so. */
	if (put < 0 && errno == EACCES && !filtered) {
		begin_quiet(&quiet);
		put = pwritev2(fd, &all, 1, -1, RWF_NOWAIT);
		end_quiet(&quiet, put < 0);
	}
	return put;
}

ssize_t cmn_file_write_at(int fd, const void *data, size_t len, off_t at)
{
	struct quiet quiet;
	ssize_t put;

	begin_quiet(&quiet);
	put = pwrite(fd, data, len, at);
	end_quiet(&quiet, put < 0);
	return put;
}

int cmn_file_raise(int fd)
{
	int high;

	if (fd < 0 || fd >= CMN_FILE_FIRST_NUMBER)
		return fd;
	high = fcntl(fd, F_DUPFD_CLOEXEC, CMN_FILE_FIRST_NUMBER);
	if (high < 0)
		return fd;	/* none is free */
	(void)close(fd);	/* the file stays open */
	return high;
}

int cmn_file_open(int dir_fd, const char *path, int flags)
{
	return cmn_file_raise(openat(dir_fd, path, flags | O_CLOEXEC));
}

enum cmn_status cmn_file_write_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len) {
		ssize_t put = cmn_file_write(fd, at, len);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return cmn_status_from_errno(errno);
		if (put == 0)
			return CMN_ERR_IO;
		at += put;
		len -= (size_t)put;
	}
	return CMN_OK;
}

/*
 * A new file is made for its owner alone, then opened to whom its directory
 * is: the umask of an application says nothing about a shared cache.
 */
static enum cmn_status share_as_directory(int fd, int dir_fd)
{
	struct stat info;

	if (fstatat(dir_fd, ".", &info, 0) < 0)
		return cmn_status_from_errno(errno);
	if (!(info.st_mode & 0066))
		return CMN_OK;
	return fchmod(fd, (info.st_mode & 0066) | 0600) < 0 ? cmn_status_from_errno(errno) : CMN_OK;
}

static const char *why_not_written(const struct stat *info, enum cmn_file_trust trust)
{
	if (!S_ISREG(info->st_mode))
		return "it is not a regular file";
	if (trust == CMN_FILE_TRUSTED && !cmn_file_is_own(info->st_uid))
		return "it belongs to another user";
	if (trust == CMN_FILE_TRUSTED && (info->st_mode & (S_IWGRP | S_IWOTH)))
		return "others may write to it";
	return info->st_nlink <= 1 ? NULL : "it has a second name";
}

int cmn_file_open_to_write(int dir_fd, const char *name, int flags, mode_t mode, enum cmn_file_trust trust,
			   struct stat *ret_info, const char **ret_reason)
{
	const int always = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	int fd = cmn_file_raise(openat(dir_fd, name, flags | always, mode));
	const char *reason = NULL;
	struct stat info;

	if (fd >= 0 && !(flags & O_EXCL)) {
		reason = fstat(fd, &info) < 0 ? "it cannot be examined" : why_not_written(&info, trust);
		if (reason) {
			(void)close(fd);	/* nothing was written through it */
			fd = -1;
			errno = EACCES;
		} else if (ret_info) {
			*ret_info = info;
		}
	}
	if (fd < 0 && ret_reason)
		*ret_reason = reason ? reason : errno == ELOOP ? "it is a symbolic link" :
			      errno == EISDIR ? "it is a directory" :
			      cmn_status_string(cmn_status_from_errno(errno));
	return fd;
}

int cmn_file_make_unique(char *template)
{
	return mkostemp(template, O_CLOEXEC);
}

int cmn_file_make_nameless(const char *directory)
{
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char *path;

	if (fd >= 0)
		return fd;
	/* What ckcache prune would sweep in a root, if this process should die here. */
	if (asprintf(&path, "%s/" CMN_FILE_TEMPORARY_PREFIX "XXXXXX", directory) < 0)
		return -1;
	fd = cmn_file_make_unique(path);
	if (fd >= 0)
		(void)unlink(path);	/* it was made just now */
	free(path);
	return fd;
}

enum cmn_status cmn_file_open_own(int dir_fd, const char *name, int *ret_fd)
{
	enum cmn_status status = CMN_OK;
	bool made = false;
	int fd = -1;

	/* Others may make and remove it at any time. */
	for (int i = 0; i < OPEN_ATTEMPTS && fd < 0; i++) {
		fd = cmn_file_open_to_write(dir_fd, name, i % 2 ? O_RDWR | O_CREAT | O_EXCL : O_RDWR, 0600,
					    CMN_FILE_ANY, NULL, NULL);
		if (fd < 0 && errno != ENOENT && errno != EEXIST)
			break;
		made |= fd >= 0 && i % 2;
		/* Else it was replaced just now. */
		if (fd >= 0 && !cmn_file_is_named(dir_fd, name, fd)) {
			made = false;
			(void)close(fd);	/* nothing was written through it */
			fd = -1;
			errno = EAGAIN;
		}
	}
	if (fd < 0)
		return cmn_status_from_errno(errno);
	if (made)
		status = share_as_directory(fd, dir_fd);
	if (status != CMN_OK) {
		(void)close(fd);	/* nothing was written through it */
		return status;
	}
	*ret_fd = fd;
	return CMN_OK;
}

enum cmn_status cmn_file_make_way(int dir_fd, const char *name)
{
	char aside[NAME_MAX + 1];
	struct stat info;
	int len;

	if (fstatat(dir_fd, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
		return cmn_status_from_errno(errno);
	if (!S_ISDIR(info.st_mode))
		return CMN_MISS;
	if (unlinkat(dir_fd, name, AT_REMOVEDIR) == 0)
		return CMN_OK;
	/* Somebody's, who will find it beside. */
	len = snprintf(aside, sizeof(aside), "%s.aside-%llx", name,
		       (unsigned long long)cmn_clock_realtime());
	if (len < 0 || (size_t)len >= sizeof(aside))
		return CMN_ERR_INVALID;
	return renameat(dir_fd, name, dir_fd, aside) < 0 ? cmn_status_from_errno(errno) : CMN_OK;
}

enum cmn_status cmn_file_open_healed(int dir_fd, const char *name, int *ret_fd)
{
	enum cmn_status status = cmn_file_open_own(dir_fd, name, ret_fd);

	/* A failure that may pass is no reason to drop what is there. */
	if (status != CMN_ERR_ACCESS && (status == CMN_OK || cmn_file_make_way(dir_fd, name) != CMN_OK))
		return status;
	status = cmn_file_publish(dir_fd, name, NULL, 0);
	return status == CMN_OK ? cmn_file_open_own(dir_fd, name, ret_fd) : status;
}

enum cmn_status cmn_file_remove(int dir_fd, const char *name)
{
	return unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT ? cmn_status_from_errno(errno) : CMN_OK;
}

enum cmn_status cmn_file_open_dir(int dir_fd, const char *name, mode_t mode, int *ret_fd)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
	enum cmn_status status;
	int fd = cmn_file_open(dir_fd, name, flags);

	if (fd < 0 && errno == ENOENT && mode) {
		status = cmn_file_make_dir(dir_fd, name, mode);
		if (status != CMN_OK)
			return status;
		fd = cmn_file_open(dir_fd, name, flags);
	}
	if (fd < 0)
		return cmn_status_from_errno(errno);
	*ret_fd = fd;
	return CMN_OK;
}

bool cmn_file_is_named(int dir_fd, const char *name, int fd)
{
	struct stat file, place;

	return fstat(fd, &file) == 0 && fstatat(dir_fd, name, &place, AT_SYMLINK_NOFOLLOW) == 0 &&
	       file.st_dev == place.st_dev && file.st_ino == place.st_ino;
}

static int make_temporary(int dir_fd, char ret_name[64])
{
	static atomic_uint serial;	/* makes names unique within the process; order is irrelevant */

	/*
	 * The time tells apart processes of one number: on two machines, in two
	 * containers, or one after the other.
	 */
	(void)snprintf(ret_name, 64, CMN_FILE_TEMPORARY_PREFIX "%ld-%u-%llx",
		       (long)getpid(), atomic_fetch_add(&serial, 1),
		       (unsigned long long)cmn_clock_realtime());
	return cmn_file_open_to_write(dir_fd, ret_name, O_WRONLY | O_CREAT | O_EXCL, 0600, CMN_FILE_ANY, NULL,
				      NULL);
}

uint64_t cmn_file_clock(int dir_fd)
{
	struct stat info;
	char name[64] = "";
	uint64_t ns = 0;
	int fd = cmn_file_raise(openat(dir_fd, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600));

	/* Not every file system has files without a name. */
	if (fd < 0)
		fd = make_temporary(dir_fd, name);
	if (fd < 0)
		return 0;
	if (fstat(fd, &info) == 0)
		ns = cmn_file_ns(info.st_mtim);
	(void)close(fd);	/* nothing was written */
	if (*name)
		(void)unlinkat(dir_fd, name, 0);	/* else it is swept */
	return ns;
}

bool cmn_file_is_older(int dir_fd, const struct stat *info, uint64_t age_ns)
{
	const uint64_t end = cmn_file_ns(info->st_mtim) + age_ns;

	return end < cmn_clock_realtime() && end < cmn_file_clock(dir_fd);
}

/* As cmn_file_publish. *ret_kept: all is well but that what has the name may not be replaced. */
static enum cmn_status publish(int dir_fd, const char *name, const struct cmn_view *views,
			       size_t count, bool *ret_kept)
{
	char temporary[64];
	enum cmn_status status;
	int fd;

	fd = make_temporary(dir_fd, temporary);
	if (fd < 0)
		return cmn_status_from_errno(errno);
	/* Else the application has closed it, and given the number to a file of its own. */
	status = cmn_file_is_named(dir_fd, temporary, fd) ? share_as_directory(fd, dir_fd)
							  : CMN_ERR_IO;
	for (size_t i = 0; i < count && status == CMN_OK; i++)
		status = cmn_file_write_all(fd, views[i].data, views[i].len);
	/* close reports what the file system could not write (NFS, quotas). */
	if (close(fd) < 0 && status == CMN_OK)
		status = cmn_status_from_errno(errno);
	if (status == CMN_OK && renameat(dir_fd, temporary, dir_fd, name) < 0) {
		*ret_kept = errno == EPERM || errno == EACCES;
		status = cmn_status_from_errno(errno);
	}
	if (status != CMN_OK)
		(void)unlinkat(dir_fd, temporary, 0);
	return status;
}

enum cmn_status cmn_file_publish(int dir_fd, const char *name, const struct cmn_view *views,
				 size_t count)
{
	bool kept;

	return publish(dir_fd, name, views, count, &kept);
}

/* Over what it holds, and cut after that: never empty. */
static enum cmn_status write_in_place(int dir_fd, const char *name, struct cmn_view view)
{
	enum cmn_status status;
	int fd = -1;

	status = cmn_file_open_own(dir_fd, name, &fd);
	if (status != CMN_OK)
		return status;
	status = cmn_file_write_all(fd, view.data, view.len);
	if (status == CMN_OK && ftruncate(fd, (off_t)view.len) < 0)
		status = CMN_ERR_IO;
	if (close(fd) < 0 && status == CMN_OK)
		status = cmn_status_from_errno(errno);
	return status;
}

enum cmn_status cmn_file_replace(int dir_fd, const char *name, struct cmn_view view)
{
	bool kept = false;
	enum cmn_status status = publish(dir_fd, name, &view, 1, &kept);

	if (kept)
		return write_in_place(dir_fd, name, view);
	if (status == CMN_OK || cmn_file_make_way(dir_fd, name) != CMN_OK)
		return status;
	return cmn_file_publish(dir_fd, name, &view, 1);
}

enum cmn_status cmn_file_make_dir(int dir_fd, const char *path, mode_t mode)
{
	if (mkdirat(dir_fd, path, 0700) < 0)
		return errno == EEXIST ? CMN_OK : cmn_status_from_errno(errno);
	if (mode != 0700) {
		/* By descriptor: where a filter forbids to change the modes of names (tools/worker/confine.c). */
		int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		bool failed = fd < 0 || fchmod(fd, mode) < 0;
		enum cmn_status status = failed ? cmn_status_from_errno(errno) : CMN_OK;

		if (fd >= 0)
			(void)close(fd);	/* nothing was written */
		return status;
	}
	return CMN_OK;
}

enum cmn_status cmn_file_make_dirs(const char *path, mode_t mode)
{
	enum cmn_status status = CMN_OK;
	char *copy;
	char *at;

	if (mkdir(path, mode) == 0 || errno == EEXIST)
		return CMN_OK;
	if (errno != ENOENT)
		return cmn_status_from_errno(errno);
	copy = strdup(path);
	if (!copy)
		return CMN_ERR_NOMEM;
	for (at = copy + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		if (mkdir(copy, mode) < 0 && errno != EEXIST)
			status = cmn_status_from_errno(errno);
		*at = '/';
		if (status != CMN_OK)
			break;
	}
	if (status == CMN_OK && mkdir(path, mode) < 0 && errno != EEXIST)
		status = cmn_status_from_errno(errno);
	free(copy);
	return status;
}

/* By the numbers of Linux's <linux/magic.h> and of the file systems' own sources. */
bool cmn_file_is_remote(int fd)
{
	static const uint32_t types[] = {
		0x6969,			/* NFS */
		0x517b, 0xff534d42, 0xfe534d42,	/* SMB */
		0x01021997,		/* 9P */
		0x00c36400,		/* Ceph */
		0x0bd00bd0,		/* Lustre */
		0x47504653,		/* GPFS */
		0x19830326,		/* BeeGFS */
		0xaad7aaea,		/* PanFS */
		0x5346414f, 0x6b414653,	/* AFS */
		0x73757245,		/* Coda */
		0x01161970,		/* GFS2 */
		0x7461636f,		/* OCFS2 */
		0x65735546,		/* FUSE, which may be any of them */
	};
	struct statfs info;

	if (fstatfs(fd, &info) < 0)
		return true;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if ((uint32_t)info.f_type == types[i])
			return true;
	}
	return false;
}

/* What this process has locked, or is about to: a lock belongs to the open file, which a child shares. */
static struct locked {
	atomic_int number;	/* and one; 0: free; BUSY: a thread changes it */
	dev_t device;
	ino_t inode;
} locked[32];
enum { BUSY = -1 };

static struct locked *claim(int number)
{
	for (size_t i = 0; i < sizeof(locked) / sizeof(locked[0]); i++) {
		int was = number;

		if (atomic_compare_exchange_strong(&locked[i].number, &was, BUSY))
			return &locked[i];
	}
	return NULL;
}

static void note_lock(int fd)
{
	struct locked *slot = claim(fd + 1);	/* one of that number, which was closed with its lock */
	struct stat info;

	if (!slot)
		slot = claim(0);
	if (!slot)
		return;
	if (fstat(fd, &info) == 0) {
		slot->device = info.st_dev;
		slot->inode = info.st_ino;
	}
	atomic_store(&slot->number, fd + 1);
}

static void forget_lock(int fd)
{
	struct locked *slot = claim(fd + 1);

	if (slot)
		atomic_store(&slot->number, 0);
}

void cmn_file_locks_fork_child(void)
{
	struct stat info;
	int fd;

	for (size_t i = 0; i < sizeof(locked) / sizeof(locked[0]); i++) {
		fd = atomic_load(&locked[i].number) - 1;
		if (fd >= 0 && fstat(fd, &info) == 0 && info.st_dev == locked[i].device &&
		    info.st_ino == locked[i].inode)
			(void)close(fd);	/* the parent's to write */
		atomic_store(&locked[i].number, 0);
	}
}

enum cmn_status cmn_file_lock(int fd, uint64_t until)
{
	struct timespec pause = { 0, FIRST_LOCK_PAUSE_NS };
	enum cmn_status status = CMN_OK;

	note_lock(fd);
	/* Never blocking: that has no time limit, and need not end at all on remote file systems. */
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno == EINTR)
			continue;
		if (errno != EWOULDBLOCK)
			status = CMN_ERR_IO;
		else if (!until || cmn_clock_monotonic() >= until)
			status = CMN_BUSY;
		if (status != CMN_OK) {
			forget_lock(fd);
			break;
		}
		(void)nanosleep(&pause, NULL);	/* a signal only makes it shorter */
		if (pause.tv_nsec < LAST_LOCK_PAUSE_NS)
			pause.tv_nsec += pause.tv_nsec / 2;
	}
	return status;
}

void cmn_file_unlock(int fd)
{
	(void)flock(fd, LOCK_UN);	/* fails only where locking did */
	forget_lock(fd);
}

void cmn_file_leave_lock(int fd)
{
	forget_lock(fd);
	(void)close(fd);	/* nothing was written */
}
