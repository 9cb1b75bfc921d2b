/* SPDX-License-Identifier: MIT */
/*
 * build_lock: a table of the files whose bytes this process locks or waits for, and a look at who
 * has a byte that another process has. The table is the process's, as record locks are.
 */
#include "cachecore/disk/build_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <utlist.h>

#include "cachecore/disk/node_dir.h"
#include "cachecore/disk/root.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/hash.h"
#include "common/mutex.h"
#include "common/worker.h"

/* A process has one root, or two while it changes; who wants more builds without a lock. */
#define MAX_FILES 8
#define FIRST_PAUSE_NS 1000000
#define LAST_PAUSE_NS 10000000

/* Nobody uses it if it has no users. Guarded by lock, all of it. */
struct lock_file {
	dev_t root_device;
	ino_t root_inode;
	unsigned int users;
	bool opening;			/* a thread is at it */
	int fd;				/* -1: it cannot be opened */
	struct stat info;		/* of the file */
	struct cc_build_lock *held;
};

struct cc_build_lock {
	struct cmn_worker owner;		/* who took it; in a child it is the parent's */
	struct lock_file *file;
	off_t at;			/* the next byte is locked, too, while its owner waits for another machine */
	bool waits;			/* so it does; guarded by lock */
	struct cc_build_lock *next;
};

static pthread_mutex_t lock_of_files = PTHREAD_MUTEX_INITIALIZER;
static struct lock_file files[MAX_FILES];
static pid_t parent;		/* in a forked child: it may wait for this process */

/* It is no file of the application's now. */
static bool is_open(const struct lock_file *file)
{
	struct stat info;

	if (file->fd < 0)
		return false;
	if (fstat(file->fd, &info) < 0)
		return errno != EBADF;
	return info.st_dev == file->info.st_dev && info.st_ino == file->info.st_ino;
}

static int open_file(int root_fd, const struct stat *root)
{
	char name[sizeof("build--.lock") + 2 * sizeof("0123456789abcdef")] = CC_BUILD_LOCK_NAME;
	int dir_fd = root_fd, fd = -1;

	if (cmn_file_is_remote(root_fd)) {
		dir_fd = cc_node_dir_open_mine();
		if (dir_fd < 0)
			return -1;
		(void)snprintf(name, sizeof(name), "build-%jx-%jx.lock", (uintmax_t)root->st_dev,
			       (uintmax_t)root->st_ino);	/* it fits */
	}
	/* Something else in its place is replaced, or it would stay. */
	if (cmn_file_open_healed(dir_fd, name, &fd) != CMN_OK)
		fd = -1;
	if (dir_fd != root_fd)
		(void)close(dir_fd);	/* a directory: nothing to be lost */
	return fd;
}

/* With the lock. NULL: there are too many. */
static struct lock_file *find_file(const struct stat *root)
{
	struct lock_file *unused = NULL;

	for (size_t i = 0; i < MAX_FILES; i++) {
		if (!files[i].users)
			unused = &files[i];
		else if (files[i].root_device == root->st_dev && files[i].root_inode == root->st_ino)
			return &files[i];
	}
	if (unused)
		*unused = (struct lock_file){ .root_device = root->st_dev, .root_inode = root->st_ino, .fd = -1 };
	return unused;
}

/* The one who comes first opens it; the others try again until that is done. */
static struct lock_file *enter_file(int root_fd)
{
	struct stat root, info = { 0 };
	struct lock_file *file;
	bool opens;
	int fd;

	if (fstat(root_fd, &root) < 0)
		return NULL;
	cmn_mutex_lock(&lock_of_files);
	file = find_file(&root);
	opens = file && file->users++ == 0;
	if (opens)
		file->opening = true;
	cmn_mutex_unlock(&lock_of_files);
	if (opens) {
		fd = open_file(root_fd, &root);
		if (fd >= 0 && fstat(fd, &info) < 0) {
			(void)close(fd);	/* nothing was written */
			fd = -1;
		}
		cmn_mutex_lock(&lock_of_files);
		file->opening = false;
		file->fd = fd;
		file->info = info;
		cmn_mutex_unlock(&lock_of_files);
	}
	return file;
}

/* With the lock, also while it is closed: that would end the locks of one who opens it then. */
static void leave_file(struct lock_file *file)
{
	/* If the application has closed it, its number may belong to another file. */
	if (--file->users == 0 && is_open(file))
		(void)close(file->fd);	/* nothing was written */
}

static int set(const struct cc_build_lock *lock, bool next, int command, struct flock *range)
{
	range->l_whence = SEEK_SET;
	range->l_start = lock->at + next;
	range->l_len = 1;
	return fcntl(lock->file->fd, command, range);
}

/* With the lock. */
static void unlock_byte(struct cc_build_lock *lock, bool next)
{
	struct flock range = { .l_type = F_UNLCK };

	if (is_open(lock->file))
		(void)set(lock, next, F_SETLK, &range);	/* else it ends with the descriptor */
}

/* With the lock. */
static void give_up(struct cc_build_lock *lock)
{
	LL_DELETE(lock->file->held, lock);
	unlock_byte(lock, false);
}

/* NULL: no thread of this process has it. */
static const struct cc_build_lock *find_held(const struct cc_build_lock *lock)
{
	const struct cc_build_lock *other;

	LL_FOREACH(lock->file->held, other) {
		if (other->at == lock->at)
			return other;
	}
	return NULL;
}

enum attempt { TAKEN, LATER, ANOTHERS, IN_VAIN };

/* *ret_owner: whose it is; *ret_waits: it is to be waited for though it does nothing. */
static enum attempt attempt(struct cc_build_lock *lock, struct cmn_worker *ret_owner, bool *ret_waits)
{
	struct flock range = { .l_type = F_WRLCK };
	const struct cc_build_lock *held;
	enum attempt how = IN_VAIN;

	cmn_mutex_lock(&lock_of_files);
	held = find_held(lock);
	if (lock->file->opening) {
		how = LATER;
	} else if (held && held->owner.thread != lock->owner.thread) {
		*ret_owner = held->owner;
		*ret_waits = held->waits;
		how = ANOTHERS;
	} else if (!held && is_open(lock->file)) {
		if (set(lock, false, F_SETLK, &range) == 0)
			how = TAKEN;
		else if (errno == EACCES || errno == EAGAIN)
			how = ANOTHERS;
	}
	if (how == TAKEN)
		LL_PREPEND(lock->file->held, lock);
	if (how == ANOTHERS && !held && set(lock, false, F_GETLK, &range) == 0 && range.l_type != F_UNLCK) {
		*ret_owner = (struct cmn_worker){ .process = range.l_pid > 0 ? range.l_pid : 0 };
		range.l_type = F_WRLCK;
		*ret_waits = set(lock, true, F_GETLK, &range) == 0 && range.l_type != F_UNLCK;
	}
	cmn_mutex_unlock(&lock_of_files);
	return how;
}

/* Its lock ended with it, and no result. */
static bool is_dead(const struct cmn_worker *owner)
{
	uint64_t ticks;
	char state;

	return owner->process && !owner->thread &&
	       ((kill(owner->process, 0) < 0 && errno == ESRCH) ||
		(cmn_worker_stat(owner, &state, &ticks) && (state == 'Z' || state == 'X')));
}

static enum cc_build_turn wait_for_turn(struct cc_build_lock *lock, uint64_t deadline)
{
	struct timespec pause = { 0, FIRST_PAUSE_NS };
	struct cmn_watch watch = { 0 };
	bool waited = false, waits = false;
	struct cmn_worker owner = { 0 };
	enum attempt how;

	while ((how = attempt(lock, &owner, &waits)) == LATER || how == ANOTHERS) {
		uint64_t now = cmn_clock_monotonic();

		waited |= how == ANOTHERS;
		if (now >= deadline || (how == ANOTHERS && ((parent && owner.process == parent) ||
							    cmn_watch_is_idle(&watch, &owner, waits, now))))
			return CC_BUILD_ALONE;
		if ((uint64_t)pause.tv_nsec > deadline - now)
			pause.tv_nsec = (long)(deadline - now);
		(void)nanosleep(&pause, NULL);	/* a signal only makes it shorter */
		if (pause.tv_nsec < LAST_PAUSE_NS)
			pause.tv_nsec += pause.tv_nsec / 2;
	}
	if (how == IN_VAIN)
		return CC_BUILD_ALONE;
	/* If it failed all that have waited build at once, not one after the other. */
	if (!waited || is_dead(&owner))
		return CC_BUILD_OWN;
	cmn_mutex_lock(&lock_of_files);
	give_up(lock);
	cmn_mutex_unlock(&lock_of_files);
	return CC_BUILD_ENDED;
}

/* 61 bits and a zero, so that the byte, the next one and its end are numbers of a file. */
static off_t place_of(struct cmn_view key)
{
	struct cmn_hash hash = cmn_hash_of(key.data, key.len);

	return (off_t)(cmn_hash_u64(&hash) >> (sizeof(off_t) < sizeof(uint64_t) ? 35 : 3) << 1);
}

enum cc_build_turn cc_build_lock_take(const char *root, struct cmn_view key, uint64_t timeout_ns,
				      struct cc_build_lock **ret)
{
	uint64_t deadline = cmn_clock_deadline(timeout_ns);
	struct cc_build_lock *lock = calloc(1, sizeof(*lock));
	enum cc_build_turn turn = CC_BUILD_ALONE;
	int root_fd;

	if (!lock)
		return CC_BUILD_ALONE;
	if (cc_root_make(root, &root_fd) == CMN_OK) {
		lock->file = enter_file(root_fd);
		(void)close(root_fd);	/* a directory: nothing to be lost */
	}
	if (lock->file) {
		lock->owner = (struct cmn_worker){ getpid(), gettid() };
		lock->at = place_of(key);
		turn = wait_for_turn(lock, deadline);
	}
	if (turn == CC_BUILD_OWN) {
		*ret = lock;
		return CC_BUILD_OWN;
	}
	if (lock->file) {
		cmn_mutex_lock(&lock_of_files);
		leave_file(lock->file);
		cmn_mutex_unlock(&lock_of_files);
	}
	free(lock);
	return turn;
}

void cc_build_lock_wait(struct cc_build_lock *lock, bool waits)
{
	struct flock range = { .l_type = F_WRLCK };

	if (!lock || lock->owner.process != getpid())
		return;
	cmn_mutex_lock(&lock_of_files);
	if (!waits)
		unlock_byte(lock, true);
	else if (is_open(lock->file))
		(void)set(lock, true, F_SETLK, &range);	/* without it others build as well */
	lock->waits = waits;
	cmn_mutex_unlock(&lock_of_files);
}

void cc_build_lock_release(struct cc_build_lock *lock)
{
	if (!lock)
		return;
	if (lock->owner.process == getpid()) {
		cmn_mutex_lock(&lock_of_files);
		give_up(lock);
		leave_file(lock->file);
		cmn_mutex_unlock(&lock_of_files);
	}
	free(lock);
}

void cc_build_locks_fork_child(void)
{
	/* A thread of the parent may have had it, which is not here. */
	if (pthread_mutex_trylock(&lock_of_files) != 0) {
		lock_of_files = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
		cmn_mutex_lock(&lock_of_files);
	}
	for (size_t i = 0; i < MAX_FILES; i++) {
		if (files[i].users && is_open(&files[i]))
			(void)close(files[i].fd);	/* the parent's to lock */
	}
	memset(files, 0, sizeof(files));
	parent = getppid();
	cmn_mutex_unlock(&lock_of_files);
}
