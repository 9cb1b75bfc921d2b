/* SPDX-License-Identifier: MIT */
/* flights: lock files, and waiting for them. */
#include "cachecore/disk/flights/flights.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utlist.h>

#include "cachecore/disk/flights/holder.h"
#include "cachecore/disk/root.h"
#include "common/clock.h"
#include "common/descriptor.h"
#include "common/file.h"
#include "common/hash.h"
#include "common/listing.h"

#define SUFFIX ".lock"
#define NAME_SIZE (CMN_HASH_HEX_SIZE - 1 + sizeof(SUFFIX))
/* A lock has no owner that can be asked: after so long it is looked at, and who is found twice is. */
#define LOOK_NS UINT64_C(200000000)
/*
 * From an owner's last new beat, or processor time where that is seen, until it counts as
 * stopped: with looks as above within a second of that, and seven beats that a busy machine may
 * lose.
 */
#define QUIET_NS UINT64_C(750000000)
/* A process that builds more at once lets the rest be without beats. */
#define BEATS_AT_ONCE 64
/* Of a lock that its dead owner's child has, and of files that others remove. */
#define ATTEMPTS 4
/* Who is between making a file and locking it must not lose it to a sweep. */
#define SWEPT_AGE_NS (UINT64_C(3600) * 1000000000)
/* Names that a build's thread looks at, once in a process: there are as many as builds at a time. */
#define SWEPT_AT_ONCE 256

struct cc_flight {
	struct cc_flights *flights;
	const char *root;
	int fd;				/* -1: none yet */
	bool inherited;			/* the parent's, in a forked child */
	uint64_t beats_until;		/* monotonic; 0: not locked; guarded by the flights' lock */
	char name[NAME_SIZE];
	struct cc_flight *prev, *next;
};

struct cc_flights {
	struct cc_holder self;		/* without a beat */
	atomic_flag swept;
	pthread_mutex_t lock;
	uint64_t beats;			/* guarded by lock */
	struct cc_flight *own;		/* guarded by lock; also those that are waited for */
	struct cc_flight *inherited;	/* likewise: of the parent, when this process was forked */
};

struct cc_flights *cc_flights_new(void)
{
	struct cc_flights *flights = calloc(1, sizeof(*flights));

	if (!flights)
		return NULL;
	flights->self = cc_holder_self();
	atomic_flag_clear(&flights->swept);
	if (pthread_mutex_init(&flights->lock, NULL) == 0)
		return flights;
	free(flights);
	return NULL;
}

void cc_flights_free(struct cc_flights *flights)
{
	struct cc_flight *flight, *next;

	if (!flights)
		return;
	DL_FOREACH_SAFE(flights->inherited, flight, next)
		free(flight);
	(void)pthread_mutex_destroy(&flights->lock);	/* nobody is inside */
	free(flights);
}

/* false: there is none to be used. */
static bool open_directory(const char *root, int *ret_fd)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
	int root_fd, fd;

	if (cc_root_make(root, &root_fd) != CMN_OK)
		return false;
	fd = cmn_descriptor_open(root_fd, CC_FLIGHTS_DIRECTORY, flags);
	if (fd < 0 && errno == ENOENT &&
	    cmn_file_make_dir(root_fd, CC_FLIGHTS_DIRECTORY, cc_root_dir_mode(root_fd)) == CMN_OK)
		fd = cmn_descriptor_open(root_fd, CC_FLIGHTS_DIRECTORY, flags);
	(void)cmn_descriptor_close(root_fd);	/* a directory: nothing to be lost */
	if (fd >= 0 && cmn_file_is_remote(fd)) {
		(void)cmn_descriptor_close(fd);	/* likewise */
		return false;
	}
	*ret_fd = fd;
	return fd >= 0;
}

/* What is known of who has the lock that is waited for. */
struct watch {
	uint64_t next;			/* monotonic, when to look again */
	enum cc_holder_state state;
	struct cc_holder holder;
	uint64_t changed;		/* monotonic: when the holder was first seen as it is */
};

/*
 * UNKNOWN until it was found in that state twice: a lock is taken before it is
 * signed. One that is unseen, or looks as if it works and may be frozen, is
 * stopped when it has not changed its beat for long.
 */
static enum cc_holder_state look(struct watch *watch, const struct cc_flight *flight, uint64_t now)
{
	enum cc_holder_state state;
	struct cc_holder holder;
	bool again;

	if (now < watch->next)
		return CC_HOLDER_UNKNOWN;
	state = cc_holder_look(flight->fd, &flight->flights->self, &holder);
	again = state == watch->state && memcmp(&holder, &watch->holder, sizeof(holder)) == 0;
	*watch = (struct watch){ now + LOOK_NS, state, holder, again ? watch->changed : now };
	if (state == CC_HOLDER_UNSEEN || state == CC_HOLDER_UNKNOWN)
		return holder.beat && now - watch->changed >= QUIET_NS ? CC_HOLDER_STOPPED
								       : CC_HOLDER_UNKNOWN;
	return again ? state : CC_HOLDER_UNKNOWN;
}

/*
 * The lock, waited for until the deadline. CC_FLIGHT_OWN: it is held.
 * *ret_gone, with CC_FLIGHT_ALONE: its owner is dead, and a process that
 * inherited the lock has it.
 */
static enum cc_flight_turn take_lock(int dir_fd, const struct cc_flight *flight, uint64_t deadline,
				     bool *ret_gone)
{
	struct watch watch = { .next = cmn_clock_monotonic() + LOOK_NS };
	enum cc_holder_state state;
	enum cmn_status status;
	uint64_t now;

	while ((status = cmn_file_lock(flight->fd, watch.next < deadline ? watch.next : deadline)) != CMN_OK) {
		now = cmn_clock_monotonic();
		/* The application may close it meanwhile, and lock a file of its own. */
		if (status != CMN_BUSY || now >= deadline || !cmn_descriptor_is_ours(flight->fd))
			return CC_FLIGHT_ALONE;
		state = look(&watch, flight, now);
		*ret_gone = state == CC_HOLDER_GONE;
		if (state != CC_HOLDER_UNKNOWN)
			return CC_FLIGHT_ALONE;
	}
	/* Who ends a flight removes the file first: this one's result is there, or there is none. */
	return cmn_file_is_named(dir_fd, flight->name, flight->fd) ? CC_FLIGHT_OWN : CC_FLIGHT_LANDED;
}

/* In the list before it has any lock: a child that is forked meanwhile knows of it. */
static struct cc_flight *add_flight(struct cc_flights *flights, const char *root,
				    struct cmn_view key)
{
	struct cc_flight *flight = calloc(1, sizeof(*flight));
	struct cmn_hash hash = cmn_hash_of(key.data, key.len);
	char hex[CMN_HASH_HEX_SIZE];

	if (!flight)
		return NULL;
	flight->flights = flights;
	flight->root = root;
	flight->fd = -1;
	cmn_hash_hex(&hash, hex);
	(void)snprintf(flight->name, sizeof(flight->name), "%s" SUFFIX, hex);	/* it fits */
	(void)pthread_mutex_lock(&flights->lock);	/* a default mutex cannot fail here */
	DL_APPEND(flights->own, flight);
	(void)pthread_mutex_unlock(&flights->lock);
	return flight;
}

static void drop_flight(struct cc_flight *flight)
{
	struct cc_flights *flights = flight->flights;

	(void)pthread_mutex_lock(&flights->lock);	/* a default mutex cannot fail here */
	if (flight->inherited)
		DL_DELETE(flights->inherited, flight);
	else
		DL_DELETE(flights->own, flight);
	(void)pthread_mutex_unlock(&flights->lock);
	free(flight);
}

/* The parent may wait for this process: that would be for ever. */
static bool is_inherited(struct cc_flights *flights, const char *name)
{
	struct cc_flight *flight;
	bool found = false;

	(void)pthread_mutex_lock(&flights->lock);	/* a default mutex cannot fail here */
	DL_FOREACH(flights->inherited, flight)
		found |= strcmp(flight->name, name) == 0;
	(void)pthread_mutex_unlock(&flights->lock);
	return found;
}

static enum cc_flight_turn join(struct cc_flight *flight, int dir_fd, uint64_t deadline)
{
	enum cc_flight_turn turn = CC_FLIGHT_ALONE;
	bool gone = true;

	for (int i = 0; i < ATTEMPTS && gone; i++) {
		gone = false;
		if (cmn_file_open_own(dir_fd, flight->name, &flight->fd) != CMN_OK)
			return CC_FLIGHT_ALONE;
		turn = take_lock(dir_fd, flight, deadline, &gone);
		if (turn == CC_FLIGHT_OWN) {
			cc_holder_note(flight->fd, &flight->flights->self);
			return turn;
		}
		/* At worst it is another one's by now, and two build. */
		if (gone && cmn_file_is_named(dir_fd, flight->name, flight->fd))
			(void)unlinkat(dir_fd, flight->name, 0);	/* if it stays, this one builds alone */
		cc_root_unlock(flight->fd);
		flight->fd = -1;
	}
	return turn;
}

/* Or of the future: the clock was set back since. */
static bool is_old_lock(int dir_fd, const char *name)
{
	uint64_t now = cmn_clock_realtime(), made;
	size_t len = strlen(name);
	struct stat info;

	if (len != NAME_SIZE - 1 || strcmp(name + len - strlen(SUFFIX), SUFFIX) != 0 ||
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

void cc_flights_sweep(int root_fd)
{
	int fd = cmn_descriptor_open(root_fd, CC_FLIGHTS_DIRECTORY,
				     O_RDONLY | O_DIRECTORY | O_NOFOLLOW);

	if (fd < 0)
		return;
	/* On a network file system there are none, and a lock could block. */
	if (!cmn_file_is_remote(fd))
		sweep(fd, UINT_MAX);
	(void)cmn_descriptor_close(fd);	/* a directory: nothing to be lost */
}

static void set_beats(struct cc_flight *flight, uint64_t until)
{
	struct cc_flights *flights = flight->flights;

	(void)pthread_mutex_lock(&flights->lock);	/* a default mutex cannot fail here */
	flight->beats_until = until;
	(void)pthread_mutex_unlock(&flights->lock);
}

enum cc_flight_turn cc_flights_begin(struct cc_flights *flights, const char *root,
				     struct cmn_view key, uint64_t timeout_ns,
				     struct cc_flight **ret_flight)
{
	uint64_t deadline = cmn_clock_monotonic() + timeout_ns;
	struct cc_flight *flight = add_flight(flights, root, key);
	enum cc_flight_turn turn = CC_FLIGHT_ALONE;
	int dir_fd;

	if (!flight)
		return CC_FLIGHT_ALONE;
	if (!is_inherited(flights, flight->name) && open_directory(root, &dir_fd)) {
		turn = join(flight, dir_fd, deadline);
		if (turn == CC_FLIGHT_OWN && !atomic_flag_test_and_set(&flights->swept))
			sweep(dir_fd, SWEPT_AT_ONCE);
		(void)cmn_descriptor_close(dir_fd);	/* a directory: nothing to be lost */
	}
	if (turn == CC_FLIGHT_OWN) {
		set_beats(flight, cmn_clock_monotonic() + timeout_ns);
		*ret_flight = flight;
	} else {
		drop_flight(flight);
	}
	return turn;
}

void cc_flight_end(struct cc_flight *flight)
{
	int dir_fd;

	if (!flight)
		return;
	if (!flight->inherited) {
		set_beats(flight, 0);
		/* While it is locked: nobody else's of that name can be met. */
		if (open_directory(flight->root, &dir_fd)) {
			if (cmn_descriptor_is_ours(flight->fd) &&
			    cmn_file_is_named(dir_fd, flight->name, flight->fd))
				(void)unlinkat(dir_fd, flight->name, 0);	/* else the next one finds it free */
			(void)cmn_descriptor_close(dir_fd);	/* a directory: nothing to be lost */
		}
		cc_root_unlock(flight->fd);
	}
	drop_flight(flight);
}

bool cc_flights_beat(struct cc_flights *flights)
{
	uint64_t now = cmn_clock_monotonic();
	int fds[BEATS_AT_ONCE], fd, count = 0;
	unsigned int forks = cmn_descriptor_forks();
	struct cc_flight *flight;
	struct cc_holder self = flights->self;
	bool any = false;

	(void)pthread_mutex_lock(&flights->lock);	/* a default mutex cannot fail here */
	self.beat = ++flights->beats;
	DL_FOREACH(flights->own, flight) {
		if (now >= flight->beats_until)
			continue;
		any = true;
		if (count == BEATS_AT_ONCE || !cmn_descriptor_is_ours(flight->fd))
			continue;
		/* To be written to without the lock, while the flight may end. */
		fd = fcntl(flight->fd, F_DUPFD_CLOEXEC, 0);
		fds[count++] = cmn_descriptor_keep(fd, forks);
	}
	(void)pthread_mutex_unlock(&flights->lock);
	for (int i = 0; i < count; i++) {
		if (fds[i] < 0)
			continue;	/* the next beat tries again */
		cc_holder_note(fds[i], &self);
		(void)cmn_descriptor_close(fds[i]);	/* best effort */
	}
	return any;
}

void cc_flights_fork_prepare(struct cc_flights *flights)
{
	(void)pthread_mutex_lock(&flights->lock);	/* a default mutex cannot fail here */
}

void cc_flights_fork_parent(struct cc_flights *flights)
{
	(void)pthread_mutex_unlock(&flights->lock);	/* likewise */
}

void cc_flights_fork_child(struct cc_flights *flights)
{
	struct cc_flight *flight;

	/* The locks are the parent's as long as that has them. */
	DL_FOREACH(flights->own, flight) {
		if (flight->fd >= 0)
			(void)cmn_descriptor_close(flight->fd);	/* nothing was written through it */
		flight->inherited = true;
	}
	flights->self = cc_holder_self();
	DL_CONCAT(flights->inherited, flights->own);
	flights->own = NULL;
	(void)pthread_mutex_unlock(&flights->lock);	/* taken before the fork, by this thread */
}
