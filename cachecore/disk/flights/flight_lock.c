/* SPDX-License-Identifier: MIT */
/* flight_lock: lock files, looked at from time to time. */
#include "cachecore/disk/flights/flight_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/disk/node_dir.h"
#include "cachecore/disk/root.h"
#include "common/clock.h"
#include "common/descriptor.h"
#include "common/file.h"
#include "common/hash.h"
#include "common/listing.h"

#define SUFFIX ".lock"
/* A lock has no owner that can be asked: after so long it is looked at, and who is found twice is. */
#define LOOK_NS UINT64_C(200000000)
/*
 * From an owner's last new beat, or processor time where that is seen, until it counts as
 * stopped: with looks as above within a second of that, and seven beats that a busy machine may
 * lose.
 */
#define QUIET_NS UINT64_C(750000000)
#define FIRST_PAUSE_NS UINT64_C(500000)
#define LAST_PAUSE_NS UINT64_C(10000000)
/* Of a lock that its dead owner's child has, and of files that others remove. */
#define ATTEMPTS 4
/* Who is between making a file and locking it must not lose it to a sweep. */
#define SWEPT_AGE_NS (UINT64_C(3600) * 1000000000)

void cc_flight_lock_init(struct cc_flight_lock *lock, const char *root, const char *runtime_dir,
			 struct cmn_view key)
{
	struct cmn_hash hash = cmn_hash_of(key.data, key.len);
	char hex[CMN_HASH_HEX_SIZE];

	*lock = (struct cc_flight_lock){ .root = root, .runtime_dir = runtime_dir, .fd = -1,
					 .pause = FIRST_PAUSE_NS };
	cmn_hash_hex(&hash, hex);
	(void)snprintf(lock->name, sizeof(lock->name), "%s" SUFFIX, hex);	/* it fits */
}

/* -1: there is none, and none could be made. */
static int open_below(int dir_fd, const char *name)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
	int fd = cmn_descriptor_open(dir_fd, name, flags);

	if (fd < 0 && errno == ENOENT &&
	    cmn_file_make_dir(dir_fd, name, cc_root_dir_mode(dir_fd)) == CMN_OK)
		fd = cmn_descriptor_open(dir_fd, name, flags);
	return fd;
}

/* The directory of the root's locks on this machine. Processes that name the root otherwise find the same one. */
static int open_roots_local(int root_fd, const char *runtime_dir)
{
	char name[sizeof(CC_FLIGHTS_DIRECTORY) + 2 * sizeof("-0123456789abcdef")];
	struct stat info;
	int local_fd, fd;

	if (fstat(root_fd, &info) < 0)
		return -1;
	local_fd = cc_node_dir_open(runtime_dir, NULL);
	if (local_fd < 0)
		return -1;
	(void)snprintf(name, sizeof(name), CC_FLIGHTS_DIRECTORY "-%jx-%jx", (uintmax_t)info.st_dev,
		       (uintmax_t)info.st_ino);	/* it fits */
	fd = open_below(local_fd, name);
	(void)cmn_descriptor_close(local_fd);	/* a directory: nothing to be lost */
	return fd;
}

/* false: there is none to be used; *ret_fd is -1, or as it was. */
static bool open_directory(const struct cc_flight_lock *lock, int *ret_fd)
{
	int root_fd;

	if (cc_root_make(lock->root, &root_fd) != CMN_OK)
		return false;
	*ret_fd = cmn_file_is_remote(root_fd) ? open_roots_local(root_fd, lock->runtime_dir)
					      : open_below(root_fd, CC_FLIGHTS_DIRECTORY);
	(void)cmn_descriptor_close(root_fd);	/* a directory: nothing to be lost */
	return *ret_fd >= 0;
}

/*
 * UNKNOWN until it was found in that state twice: a lock is taken before it is
 * signed. One that is unseen, or looks as if it works and may be frozen, is
 * stopped when it has not changed its beat for long.
 */
static enum cc_holder_state look(struct cc_flight_lock *lock, const struct cc_holder *self,
				 uint64_t now)
{
	struct cc_flight_watch *watch = &lock->watch;
	enum cc_holder_state state;
	struct cc_holder holder;
	bool again;

	if (now < watch->next)
		return CC_HOLDER_UNKNOWN;
	state = cc_holder_look(lock->fd, self, &holder);
	again = state == watch->state && memcmp(&holder, &watch->holder, sizeof(holder)) == 0;
	*watch = (struct cc_flight_watch){ now + LOOK_NS, state, holder, again ? watch->changed : now };
	if (state == CC_HOLDER_UNSEEN || state == CC_HOLDER_UNKNOWN)
		return holder.beat && now - watch->changed >= QUIET_NS ? CC_HOLDER_STOPPED
								       : CC_HOLDER_UNKNOWN;
	return again ? state : CC_HOLDER_UNKNOWN;
}

static void close_lock(struct cc_flight_lock *lock)
{
	cc_root_unlock(lock->fd);
	lock->fd = -1;
}

/* The file of that name, with a watch of whom it names. */
static bool open_lock(struct cc_flight_lock *lock, int dir_fd)
{
	lock->watch = (struct cc_flight_watch){ .next = cmn_clock_monotonic() + LOOK_NS };
	return lock->attempts++ < ATTEMPTS &&
	       cmn_file_open_own(dir_fd, lock->name, &lock->fd) == CMN_OK;
}

enum attempt { LOCKED, ANOTHERS, OF_THE_DEAD, IN_VAIN };

static enum attempt attempt(struct cc_flight_lock *lock, const struct cc_holder *self,
			    uint64_t deadline)
{
	enum cmn_status status = cmn_file_lock(lock->fd, 0);
	uint64_t now = cmn_clock_monotonic();

	if (status == CMN_OK)
		return LOCKED;
	/* The application may have closed it, and locked a file of its own. */
	if (status != CMN_BUSY || now >= deadline || !cmn_descriptor_is_ours(lock->fd))
		return IN_VAIN;
	switch (look(lock, self, now)) {
	case CC_HOLDER_UNKNOWN:
		return ANOTHERS;
	case CC_HOLDER_GONE:
		return OF_THE_DEAD;
	default:
		return IN_VAIN;
	}
}

/* true: decided; false: the file of the dead is gone, and another can be made. */
static bool settle(struct cc_flight_lock *lock, int dir_fd, enum attempt how,
		   const struct cc_holder *self, enum cc_flight_turn *ret_turn)
{
	bool named = cmn_file_is_named(dir_fd, lock->name, lock->fd), gone;

	if (how == LOCKED && named) {
		*ret_turn = CC_FLIGHT_OWN;
		cc_holder_note(lock->fd, self);
		return true;
	}
	/* Who ends a flight removes the file first: its result is there, or there is none. */
	if (how == LOCKED)
		*ret_turn = CC_FLIGHT_LANDED;
	/* At worst it is another one's by now, and two build. */
	gone = how == OF_THE_DEAD && named && unlinkat(dir_fd, lock->name, 0) == 0;
	close_lock(lock);
	return !gone;
}

bool cc_flight_lock_try(struct cc_flight_lock *lock, const struct cc_holder *self,
			uint64_t deadline, enum cc_flight_turn *ret_turn)
{
	enum attempt how = IN_VAIN;
	bool done = true;
	int dir_fd = -1;

	*ret_turn = CC_FLIGHT_ALONE;
	if (lock->fd < 0 && !(open_directory(lock, &dir_fd) && open_lock(lock, dir_fd)))
		goto out;
	how = attempt(lock, self, deadline);
	if (how == ANOTHERS)
		done = false;
	else if (how != IN_VAIN && (dir_fd >= 0 || open_directory(lock, &dir_fd)))
		done = settle(lock, dir_fd, how, self, ret_turn);
	else
		close_lock(lock);
out:
	if (dir_fd >= 0)
		(void)cmn_descriptor_close(dir_fd);	/* a directory: nothing to be lost */
	return done;
}

uint64_t cc_flight_lock_next(struct cc_flight_lock *lock, uint64_t deadline)
{
	uint64_t next = cmn_clock_monotonic() + lock->pause;

	if (lock->pause < LAST_PAUSE_NS)
		lock->pause += lock->pause / 2;
	return next < deadline ? next : deadline;
}

void cc_flight_lock_end(struct cc_flight_lock *lock)
{
	int dir_fd;

	if (lock->fd < 0)
		return;
	/* While it is locked: nobody else's of that name can be met. */
	if (open_directory(lock, &dir_fd)) {
		if (cmn_descriptor_is_ours(lock->fd) &&
		    cmn_file_is_named(dir_fd, lock->name, lock->fd))
			(void)unlinkat(dir_fd, lock->name, 0);	/* else the next one finds it free */
		(void)cmn_descriptor_close(dir_fd);	/* a directory: nothing to be lost */
	}
	close_lock(lock);
}

/* Or of the future: the clock was set back since. */
static bool is_old_lock(int dir_fd, const char *name)
{
	uint64_t now = cmn_clock_realtime(), made;
	size_t len = strlen(name);
	struct stat info;

	if (len != CC_FLIGHT_LOCK_NAME_SIZE - 1 || strcmp(name + len - strlen(SUFFIX), SUFFIX) != 0 ||
	    fstatat(dir_fd, name, &info, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(info.st_mode))
		return false;
	made = info.st_mtim.tv_sec > 0 ? (uint64_t)info.st_mtim.tv_sec * UINT64_C(1000000000) : 0;
	return made + SWEPT_AGE_NS < now || made > now + SWEPT_AGE_NS;
}

/* Only under its lock: a build may take long. */
static void sweep_one(int dir_fd, const char *name)
{
	int fd = cmn_descriptor_open(dir_fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return;
	if (cmn_file_lock(fd, 0) == CMN_OK && cmn_file_is_named(dir_fd, name, fd))
		(void)unlinkat(dir_fd, name, 0);	/* the next sweep tries again */
	cc_root_unlock(fd);
}

static void sweep(int dir_fd, unsigned int max)
{
	const struct dirent64 *item;
	struct cmn_listing listing;

	if (!cmn_listing_open(&listing, dir_fd, "."))
		return;
	for (unsigned int i = 0; i < max && (item = cmn_listing_next(&listing)); i++) {
		if (is_old_lock(dir_fd, item->d_name))
			sweep_one(dir_fd, item->d_name);
	}
	cmn_listing_close(&listing);
}

void cc_flight_lock_sweep_beside(const struct cc_flight_lock *lock, unsigned int max)
{
	int fd;

	if (!open_directory(lock, &fd))
		return;
	sweep(fd, max);
	(void)cmn_descriptor_close(fd);	/* a directory: nothing to be lost */
}

void cc_flight_locks_sweep(int root_fd, unsigned int max)
{
	int fd = cmn_descriptor_open(root_fd, CC_FLIGHTS_DIRECTORY,
				     O_RDONLY | O_DIRECTORY | O_NOFOLLOW);

	if (fd < 0)
		return;
	/* On a network file system there are none, and a lock could block. */
	if (!cmn_file_is_remote(fd))
		sweep(fd, max);
	(void)cmn_descriptor_close(fd);	/* a directory: nothing to be lost */
}
