/* SPDX-License-Identifier: MIT */
/*
 * observation: the record of one build, which observer.c fills while the driver
 * builds, and dependencies.c turns into a manifest afterwards.
 */
#ifndef SHARED_OBSERVER_OBSERVATION_H
#define SHARED_OBSERVER_OBSERVATION_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "layers/shared/observer/observer.h"

/* What a build found at a path, at first. */
enum finding {
	FOUND_NOTHING,
	FOUND_DIRECTORY,
	FOUND_FILE,
	FOUND_OWN,	/* made or written by the build */
	FOUND_LISTED,	/* a directory, by its entries; path ends with a slash */
};

struct place {
	enum finding finding;
	bool written;			/* by the build, after it was found */
	bool opened;			/* else only looked at */
	bool by_descriptor;		/* of its directory: the path's beginning was not asked for */
	bool kept;			/* by the driver, as far as can be told */
	bool changed;			/* another answer at a later look */
	struct cc_file_identity identity;	/* of a file or a directory */
	UT_hash_handle hh;
	char path[];
};

struct own_file {
	struct { uint64_t device, inode; } id;
	UT_hash_handle hh;
};

struct drv_observation {
	struct drv_observation *next;	/* of those that are going on */
	struct drv_observation *outer;	/* of the same thread */
	const struct drv_driver *driver;
	bool listed;			/* it was begun, by this process */
	bool in_call;			/* only what the thread does that began it counts */
	struct place *places;		/* by path, in the order of the first looks; guarded by the observer's lock while it goes on, as all below */
	struct own_file *own;		/* what the build made, by its inode */
	const char *unsure;		/* the first reason, or NULL */
	bool asked_directory;
	char *directory;		/* the working directory at the beginning; NULL: unknown */
};

static inline struct place *find_place(const struct drv_observation *observation, const char *path)
{
	struct place *place;

	HASH_FIND_STR(observation->places, path, place);
	return place;
}

static inline bool is_own(const struct drv_observation *observation, uint64_t device, uint64_t inode)
{
	struct own_file key = { .id = { device, inode } }, *found;

	HASH_FIND(hh, observation->own, &key.id, sizeof(key.id), found);
	return found;
}

static inline bool is_absence(int error)
{
	return error == ENOENT || error == ENOTDIR;
}

/* What /proc and /sys tell is the machine's. */
static inline bool is_of_the_system(const char *path)
{
	return strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/sys/", 5) == 0;
}

static inline bool is_named(const struct drv_observer_text *text, const char *path)
{
	return (text->options && strstr(text->options, path)) ||
	       (text->source.len && memmem(text->source.data, text->source.len, path, strlen(path)));
}

/* In a child: whether nobody had it at the fork. It is free then in any case. */
bool drv_observer_free_in_child(pthread_mutex_t *mutex);

/* Which places the driver keeps for itself. It asks the file system: without a lock. */
void drv_dependencies_judge(struct drv_observation *observation);

/*
 * The manifest of an observation that is over, its places judged and in order.
 * As drv_observer_end. seen: the build looked for anything; compiled: for something
 * else than what the driver keeps.
 */
CMN_CHECKED enum cmn_status drv_dependencies_gather(const struct drv_observation *observation,
						    const struct drv_observer_text *text,
						    bool seen, bool compiled,
						    struct cc_file_memo *memo,
						    struct cc_manifest **ret,
						    const char **ret_reason);

#endif
