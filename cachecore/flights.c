/* SPDX-License-Identifier: MIT */
/* flights: lock files, and waiting for them. */
#include "cachecore/flights.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utlist.h>

#include "cachecore/root.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/hash.h"

#define DIRECTORY "flights"
#define SUFFIX ".lock"
#define NAME_SIZE (CMN_HASH_HEX_SIZE - 1 + sizeof(SUFFIX))
/* Who is between making a file and locking it must not lose it to a sweep. */
#define SWEPT_AGE_NS (UINT64_C(3600) * 1000000000)

struct cc_flight {
	struct cc_flights *flights;
	const char *root;
	int fd;				/* -1: the parent's, in a forked child */
	char name[NAME_SIZE];
	struct cc_flight *prev, *next;
};

struct cc_flights {
	pthread_mutex_t lock;
	struct cc_flight *own;		/* guarded by lock */
	struct cc_flight *inherited;	/* likewise: of the parent, when this process was forked */
};

struct cc_flights *cc_flights_new(void)
{
	struct cc_flights *flights = calloc(1, sizeof(*flights));

	if (!flights)
		return NULL;
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
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int root_fd, fd;

	if (cc_root_make(root, &root_fd) != CMN_OK)
		return false;
	fd = openat(root_fd, DIRECTORY, flags);
	if (fd < 0 && errno == ENOENT &&
	    cmn_file_make_dir(root_fd, DIRECTORY, cc_root_dir_mode(root_fd)) == CMN_OK)
		fd = openat(root_fd, DIRECTORY, flags);
	(void)close(root_fd);	/* a directory: nothing to be lost */
	if (fd >= 0 && cmn_file_is_remote(fd)) {
		(void)close(fd);	/* likewise */
		return false;
	}
	*ret_fd = fd;
	return fd >= 0;
}

/* Whether the file that the lock is on is still the one of that name. */
static bool is_in_place(int dir_fd, const char *name, int fd)
{
	struct stat file, place;

	return fstat(fd, &file) == 0 && fstatat(dir_fd, name, &place, AT_SYMLINK_NOFOLLOW) == 0 &&
	       file.st_dev == place.st_dev && file.st_ino == place.st_ino;
}

/* The lock, waited for until the deadline. CC_FLIGHT_OWN: it is held. */
static enum cc_flight_turn take_lock(int dir_fd, const char *name, uint64_t deadline, int fd)
{
	if (cmn_file_lock(fd, deadline) != CMN_OK)
		return CC_FLIGHT_ALONE;
	/* Who ends a flight removes the file first: this one's result is there, or there is none. */
	return is_in_place(dir_fd, name, fd) ? CC_FLIGHT_OWN : CC_FLIGHT_LANDED;
}

static struct cc_flight *add_flight(struct cc_flights *flights, const char *root, const char *name,
				    int fd)
{
	struct cc_flight *flight = calloc(1, sizeof(*flight));

	if (!flight)
		return NULL;
	flight->flights = flights;
	flight->root = root;
	flight->fd = fd;
	(void)snprintf(flight->name, sizeof(flight->name), "%s", name);	/* it is of this size */
	(void)pthread_mutex_lock(&flights->lock);	/* a default mutex cannot fail here */
	DL_APPEND(flights->own, flight);
	(void)pthread_mutex_unlock(&flights->lock);
	return flight;
}

/* Gives the lock back by itself: a child that the application forked meanwhile may share it. */
static void close_lock(int fd)
{
	cmn_file_unlock(fd);
	(void)close(fd);	/* nothing was written through it */
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

enum cc_flight_turn cc_flights_begin(struct cc_flights *flights, const char *root,
				     struct cmn_view key, uint64_t timeout_ns,
				     struct cc_flight **ret_flight)
{
	uint64_t deadline = cmn_clock_monotonic() + timeout_ns;
	struct cmn_hash hash = cmn_hash_of(key.data, key.len);
	enum cc_flight_turn turn = CC_FLIGHT_ALONE;
	char hex[CMN_HASH_HEX_SIZE], name[NAME_SIZE];
	int dir_fd, fd = -1;

	cmn_hash_hex(&hash, hex);
	(void)snprintf(name, sizeof(name), "%s" SUFFIX, hex);	/* it fits */
	if (is_inherited(flights, name) || !open_directory(root, &dir_fd))
		return CC_FLIGHT_ALONE;
	if (cmn_file_open_own(dir_fd, name, &fd) == CMN_OK)
		turn = take_lock(dir_fd, name, deadline, fd);
	if (turn == CC_FLIGHT_OWN) {
		*ret_flight = add_flight(flights, root, name, fd);
		/* Without memory for it the others find the file, and nobody who holds it. */
		if (!*ret_flight)
			turn = CC_FLIGHT_ALONE;
	}
	if (fd >= 0 && turn != CC_FLIGHT_OWN)
		close_lock(fd);
	(void)close(dir_fd);	/* a directory: nothing to be lost */
	return turn;
}

void cc_flight_end(struct cc_flight *flight)
{
	struct cc_flights *flights;
	int dir_fd;

	if (!flight)
		return;
	flights = flight->flights;
	(void)pthread_mutex_lock(&flights->lock);	/* a default mutex cannot fail here */
	if (flight->fd >= 0)
		DL_DELETE(flights->own, flight);
	else
		DL_DELETE(flights->inherited, flight);
	(void)pthread_mutex_unlock(&flights->lock);
	if (flight->fd >= 0) {
		/* While it is locked: nobody else's of that name can be met. */
		if (open_directory(flight->root, &dir_fd)) {
			if (is_in_place(dir_fd, flight->name, flight->fd))
				(void)unlinkat(dir_fd, flight->name, 0);	/* else the next one finds it free */
			(void)close(dir_fd);	/* a directory: nothing to be lost */
		}
		close_lock(flight->fd);
	}
	free(flight);
}

static bool is_old_lock(int dir_fd, const char *name)
{
	uint64_t now = cmn_clock_realtime();
	size_t len = strlen(name);
	struct stat info;

	return len == NAME_SIZE - 1 && strcmp(name + len - strlen(SUFFIX), SUFFIX) == 0 &&
	       fstatat(dir_fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode) &&
	       info.st_mtim.tv_sec >= 0 &&
	       (uint64_t)info.st_mtim.tv_sec * UINT64_C(1000000000) + SWEPT_AGE_NS < now;
}

/* Only under its lock: a build may take long. */
static void sweep_one(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (cmn_file_lock(fd, 0) == CMN_OK && is_in_place(dir_fd, name, fd))
		(void)unlinkat(dir_fd, name, 0);	/* the next sweep tries again */
	close_lock(fd);
}

void cc_flights_sweep(int root_fd)
{
	struct dirent *item;
	DIR *dir;
	int fd = openat(root_fd, DIRECTORY, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	/* On a network file system there are none, and a lock could block. */
	if (fd < 0 || cmn_file_is_remote(fd)) {
		if (fd >= 0)
			(void)close(fd);	/* a directory: nothing to be lost */
		return;
	}
	dir = fdopendir(fd);
	if (!dir) {
		(void)close(fd);	/* likewise */
		return;
	}
	while ((item = readdir(dir))) {
		if (is_old_lock(fd, item->d_name))
			sweep_one(fd, item->d_name);
	}
	(void)closedir(dir);	/* read only */
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

	DL_FOREACH(flights->own, flight) {
		(void)close(flight->fd);	/* the lock is the parent's as long as that has it */
		flight->fd = -1;
	}
	DL_CONCAT(flights->inherited, flights->own);
	flights->own = NULL;
	(void)pthread_mutex_unlock(&flights->lock);	/* taken before the fork, by this thread */
}
