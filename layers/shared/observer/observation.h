/* SPDX-License-Identifier: MIT */
/*
 * observation: the record of one build: which paths were looked at and what was there, and which
 * files the build made. observer.c fills it while the driver builds, and dependencies.c turns it
 * into a manifest afterwards. Not thread-safe: the observer's lock guards a record while its build
 * goes on.
 */
#ifndef SHARED_OBSERVER_OBSERVATION_H
#define SHARED_OBSERVER_OBSERVATION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "cachecore/manifest.h"
#include "layers/shared/driver/drivers.h"

/* What a build found at a path, at first. */
enum finding {
	FOUND_NOTHING,
	FOUND_DIRECTORY,
	FOUND_FILE,
	FOUND_OWN,	/* made or written by the build */
	FOUND_LISTED,	/* a directory, by its entries; path ends with a slash */
};

struct lookup {
	enum finding finding;
	bool written;			/* by the build, after it was found */
	bool made;			/* a directory that was not there before the build made it */
	bool gone;			/* that, and it is gone when the build is over */
	bool opened;			/* else only looked at */
	uint64_t looked;		/* the number of the first look that is not excused; 0: all are */
	bool by_descriptor;		/* of its directory: the path's beginning was not asked for */
	bool by_driver, by_other;	/* whose code looked: the driver's library's, or a compiler's */
	bool cached;			/* in the driver's cache: its library looked, for a name of that form */
	bool kept;			/* perhaps by the driver, in its cache */
	bool changed;			/* another answer at a later look, or perhaps */
	bool has_content;		/* its times would not show every change */
	struct cc_file_identity identity;	/* of a file or a directory */
	struct cmn_hash content;	/* when it was opened first */
	bool listed, has_names;		/* has_names: they are known, and were the same each time */
	struct cc_manifest_names names;
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
	bool in_first_call;		/* the driver's, of a build that may go on after it; guarded by the observer's lock */
	bool ended;			/* by another thread meanwhile: its own frees it; likewise */
	struct lookup *lookups;		/* by path, in the order of the first looks */
	struct own_file *own;		/* what the build made, by its inode */
	const char *unsure;		/* the first reason, or NULL */
	bool missed;			/* it was asked for more than lookups has */
	uint64_t looks, looks_before;	/* so many; at the time when the last file was made */
	bool asked_directory;
	bool spoke;			/* it wrote to standard output or error, a terminal or a pipe */
	bool unwritten;			/* a file could not be made for a reason that may pass */
	char *directory;		/* the working directory at the beginning; NULL: unknown */
	/* The process that its thread has started, and not waited for. */
	struct {
		enum {
			CHILD_NONE,
			CHILD_FORKED,	/* it has yet to tell what it runs */
			CHILD_RUNS,	/* a tool of the driver, with known files */
		} state;
		pid_t pid;		/* 0: not known yet */
		int told;		/* where it tells; valid if it is forked and the pid known */
	} child;
	char *tool;			/* the path of the one that it ran; NULL: none */
};

/* What a call of libc said of a path, or a reason why that is unknown. */
struct drv_answer {
	const char *path;
	bool by_driver;
	bool by_descriptor, opened;
	bool has_content;
	struct cmn_hash content;
	bool made;			/* a directory, and it was not there before */
	const struct cc_manifest_names *names;	/* of a directory that is listed; NULL: unknown */
	int error;			/* 0 or an errno value */
	const struct stat *info;	/* of what is there; NULL: nothing */
	const char *reason;		/* why it is not certain what was read there, or NULL */
	bool *matters;			/* what drv_observation_note_interest tells, and drv_note_is_within's two */
};

/* The result cannot be kept; the first reason counts, and is static. */
void drv_observation_be_unsure(struct drv_observation *observation, const char *reason);
void drv_observation_note_look(struct drv_observation *observation, const struct drv_answer *answer);
/* The build made or wrote what the path names. */
void drv_observation_note_write(struct drv_observation *observation, const struct drv_answer *answer);
/* The build itself did, and not another thread's. */
void drv_observation_note_step(struct drv_observation *observation, const struct drv_answer *answer);
/* Sets *matters where the build may depend on what was opened, since it did not make it itself. */
void drv_observation_note_interest(struct drv_observation *observation, const struct drv_answer *answer);
void drv_observation_note_listing(struct drv_observation *observation, const struct drv_answer *answer);

/* What was looked at since the last file was made, only to run a program that the key names, does not count. */
void drv_observation_excuse(struct drv_observation *observation);

struct lookup *drv_observation_find(const struct drv_observation *observation, const char *path);
/* A path that is not there yet. NULL: there are too many, or no memory; then the build is unsure. */
struct lookup *drv_observation_add(struct drv_observation *observation, const char *path,
				   enum finding finding);
/* Whether the build made that file. */
bool drv_observation_is_own(const struct drv_observation *observation, uint64_t device, uint64_t inode);
/* Whether the driver's row tells its library's own looks, for its cache, from those of its compilers. */
bool drv_observation_knows_callers(const struct drv_observation *observation);
/* By path: the same dependencies are the same bytes, whichever was looked for first. */
void drv_observation_sort(struct drv_observation *observation);
void drv_observation_free(struct drv_observation *observation);

/* Whether an errno value says that nothing is there. */
bool drv_is_absence(int error);
/* What /proc and /sys tell is the machine's. */
bool drv_is_of_system(const char *path);

#endif
