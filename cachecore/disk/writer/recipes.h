/* SPDX-License-Identifier: MIT */
/*
 * recipes: <root>/recipes, the directory of recipes, one file a key:
 *
 *   <hash>.recipe             see recipe.h
 *   <hash>.attempts           how often repeating it went wrong, decimal
 *   quarantine/<hash>.recipe  one that went wrong too often: never tried again
 *   replay.lock               whoever replays holds flock on it
 *   background.lock           a process in the background builds recipes now and then (background.h)
 *   wanted.lock               somebody waits for replay.lock, which that process is to give up
 *
 * Files appear by rename; damaged files are removed; directories with such names
 * are ignored. Both directories are bounded in number and bytes, more or less:
 * the oldest files are removed, and temporary files of dead writers. Nothing here
 * is an entry, and the store does not look here. Thread-safe, also between
 * processes.
 */
#ifndef CACHECORE_DISK_WRITER_RECIPES_H
#define CACHECORE_DISK_WRITER_RECIPES_H

#include "cachecore/disk/writer/recipe.h"
#include "common/status.h"

#define CC_RECIPES_DIRECTORY "recipes"

/* More programs than anybody builds between two replays. */
#define CC_RECIPES_MAX_COUNT 4096
#define CC_RECIPES_MAX_BYTES (UINT64_C(256) << 20)
#define CC_RECIPES_QUARANTINE "quarantine"
#define CC_RECIPES_MAX_QUARANTINED 1024

/*
 * Writes an encoded recipe into the root, both made if they are not there.
 * CMN_OK also where this key has one with the same manifest or of another
 * version, or is in quarantine: nothing was written then. Else as cc_root_open and file.h.
 */
CMN_CHECKED enum cmn_status cc_recipes_put(const char *root, struct cmn_view encoded);

/* Opens the directory of a root, both made if they are not there. */
CMN_CHECKED enum cmn_status cc_recipes_make(const char *root, int *ret_fd);
/* Opens the directory of a root. CMN_MISS: there is none. CMN_ERR_ACCESS as cc_root_open. */
CMN_CHECKED enum cmn_status cc_recipes_open(const char *root, int *ret_fd);

/* The recipes' names, in any order, the caller's to release whatever the status. */
struct cc_recipes_names {
	char **names;
	size_t count;
};
CMN_CHECKED enum cmn_status cc_recipes_list(int fd, struct cc_recipes_names *ret);
void cc_recipes_names_release(struct cc_recipes_names *names);

/*
 * The views of *ret point into *file, which the caller releases in any case.
 * CMN_MISS: not there; CMN_ERR_CORRUPT; CMN_ERR_VERSION; others: not readable.
 */
CMN_CHECKED enum cmn_status cc_recipes_read(int fd, const char *name, struct cmn_buffer *file,
					    struct cc_recipe *ret);
/* Removes it and its attempts; one that is not there is fine. */
CMN_CHECKED enum cmn_status cc_recipes_remove(int fd, const char *name);
/* How often it went wrong; what cannot be read counts 0. */
unsigned int cc_recipes_attempts(int fd, const char *name);
/* 0 forgets them. */
CMN_CHECKED enum cmn_status cc_recipes_set_attempts(int fd, const char *name, unsigned int count);
CMN_CHECKED enum cmn_status cc_recipes_quarantine(int fd, const char *name);
/* Whether a recipe of this key is in quarantine, so that cc_recipes_put would write none. */
bool cc_recipes_is_quarantined(const char *root, struct cmn_view key);

/* How many there are; zeros where there is no directory. */
struct cc_recipes_count {
	unsigned long long recipes, quarantined;
};
CMN_CHECKED enum cmn_status cc_recipes_count(const char *root, struct cc_recipes_count *ret);
/* Removes everything of the directory but the lock's file; CMN_OK also where there is none. */
CMN_CHECKED enum cmn_status cc_recipes_clear(const char *root);
/* Removes the oldest, in quarantine or not, until some bytes of disk hold what is left; best effort. */
void cc_recipes_limit(int root_fd, uint64_t bytes);
/* One replays at a time. CMN_BUSY: another process does. The lock ends with cc_root_unlock(*ret_fd). */
CMN_CHECKED enum cmn_status cc_recipes_lock(int fd, int *ret_fd);
/* The same, for one that a person or a service starts: one in the background is waited for, 30 s, until it gives way. */
CMN_CHECKED enum cmn_status cc_recipes_lock_before_background(int fd, int *ret_fd);
/* The lock of the process in the background, for its life. CMN_BUSY: there is one. */
CMN_CHECKED enum cmn_status cc_recipes_lock_background(int fd, int *ret_fd);
/* Whether that descriptor is of this lock's file. */
bool cc_recipes_is_background_lock(int fd, int lock_fd);
/* Whether the process in the background is to give up replay.lock. */
bool cc_recipes_is_wanted(int fd);

#endif
