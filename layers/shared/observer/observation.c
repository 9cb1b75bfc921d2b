/* SPDX-License-Identifier: MIT */
/* observation: two hash tables, of the paths that were looked at and of the files that the build made. */
#include "layers/shared/observer/observation.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
	MAX_PATHS = 65536,	/* of one build */
	MAJOR_MEMORY = 1,	/* /dev/null, /dev/urandom: no file's content */
	MAJOR_DRM = 226,
	MAJOR_NVIDIA = 195,
};

bool drv_is_absence(int error)
{
	return error == ENOENT || error == ENOTDIR;
}

bool drv_is_of_system(const char *path)
{
	return strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/sys/", 5) == 0;
}

void drv_observation_be_unsure(struct drv_observation *observation, const char *reason)
{
	if (!observation->unsure)
		observation->unsure = reason;
}

struct lookup *drv_observation_find(const struct drv_observation *observation, const char *path)
{
	struct lookup *lookup;

	HASH_FIND_STR(observation->lookups, path, lookup);
	return lookup;
}

bool drv_observation_is_own(const struct drv_observation *observation, uint64_t device, uint64_t inode)
{
	struct own_file key, *found;

	memset(&key, 0, sizeof(key));	/* the map hashes bytes */
	key.id.device = device;
	key.id.inode = inode;
	HASH_FIND(hh, observation->own, &key.id, sizeof(key.id), found);
	return found;
}

struct lookup *drv_observation_add(struct drv_observation *observation, const char *path,
				   enum finding finding)
{
	size_t len = strlen(path);
	struct lookup *lookup = HASH_COUNT(observation->lookups) < MAX_PATHS ?
			      calloc(1, sizeof(*lookup) + len + 1) : NULL;

	if (lookup) {
		lookup->finding = finding;
		lookup->looked = ++observation->looks;
		memcpy(lookup->path, path, len + 1);
		HASH_ADD_STR(observation->lookups, path, lookup);
		if (lookup->hh.tbl)
			return lookup;
		free(lookup);
	}
	drv_observation_be_unsure(observation, "too-many-files");
	observation->missed = true;
	return NULL;
}

bool drv_observation_knows_callers(const struct drv_observation *observation)
{
	return observation->driver && observation->driver->cached[0];
}

static void add_own(struct drv_observation *observation, const struct stat *info)
{
	struct own_file *own;

	if (drv_observation_is_own(observation, info->st_dev, info->st_ino))
		return;
	own = calloc(1, sizeof(*own));
	if (!own)
		return;		/* then it is a dependency, which only costs hits */
	own->id.device = info->st_dev;
	own->id.inode = info->st_ino;
	HASH_ADD(hh, observation->own, id, sizeof(own->id), own);
	if (!own->hh.tbl)
		free(own);
}

/* What is no file is the machine's, or cannot be told. */
static bool is_device(const struct stat *info)
{
	unsigned int number = major(info->st_rdev);

	return (S_ISCHR(info->st_mode) || S_ISBLK(info->st_mode)) &&
	       (number == MAJOR_MEMORY || number == MAJOR_DRM || number == MAJOR_NVIDIA);
}

static void note_absence(struct drv_observation *observation, const char *path)
{
	struct lookup *lookup = drv_observation_find(observation, path);

	if (!lookup)
		(void)drv_observation_add(observation, path, FOUND_NOTHING);
	else if (!lookup->written &&
		 (lookup->finding == FOUND_FILE || lookup->finding == FOUND_DIRECTORY))
		lookup->changed = true;
}

/* Whether the build made that file, or wrote what the path names. */
static bool has_made(const struct drv_observation *observation, const char *path, const struct stat *info)
{
	const struct lookup *lookup;

	if (drv_observation_is_own(observation, info->st_dev, info->st_ino))
		return true;
	lookup = drv_observation_find(observation, path);
	return lookup && (lookup->finding == FOUND_OWN || lookup->written);
}

static void note_presence(struct drv_observation *observation, const char *path,
			  const struct stat *info)
{
	struct cc_file_identity identity = cc_file_identity_of(info);
	enum finding finding = S_ISDIR(info->st_mode) ? FOUND_DIRECTORY : FOUND_FILE;
	struct lookup *lookup = drv_observation_find(observation, path);

	if (has_made(observation, path, info)) {
		/* Somebody removed it and made another one. */
		if (lookup && lookup->made && !drv_observation_is_own(observation, info->st_dev, info->st_ino))
			lookup->changed = true;
		return;
	}
	if (!lookup) {
		lookup = drv_observation_add(observation, path, finding);
		if (lookup)
			lookup->identity = identity;
		return;
	}
	/* A directory's times change with what is made in it. */
	if (lookup->finding != finding || identity.device != lookup->identity.device ||
	    identity.inode != lookup->identity.inode ||
	    (finding == FOUND_FILE && !cc_file_identity_equal(&identity, &lookup->identity)))
		lookup->changed = true;
}

static void note_content(struct lookup *lookup, const struct drv_answer *answer)
{
	if (!answer->has_content)
		return;
	if (lookup->has_content && !cmn_hash_equal(&lookup->content, &answer->content))
		lookup->changed = true;
	if (!lookup->has_content)
		lookup->content = answer->content;
	lookup->has_content = true;
}

static void note_who(struct lookup *lookup, const struct drv_answer *answer)
{
	lookup->by_driver |= answer->by_driver;
	lookup->by_other |= !answer->by_driver;
}

void drv_observation_note_look(struct drv_observation *observation, const struct drv_answer *answer)
{
	mode_t mode = answer->error ? 0 : answer->info->st_mode;
	struct lookup *lookup;

	if (answer->error && drv_is_absence(answer->error))
		note_absence(observation, answer->path);
	else if (S_ISREG(mode) || S_ISDIR(mode))
		note_presence(observation, answer->path, answer->info);
	else if (answer->error || !is_device(answer->info))
		drv_observation_be_unsure(observation, "header-unreadable");
	lookup = drv_observation_find(observation, answer->path);
	if (lookup) {
		note_who(lookup, answer);
		if (!lookup->looked)
			lookup->looked = ++observation->looks;
		lookup->by_descriptor |= answer->by_descriptor;
		lookup->opened |= answer->opened;
		note_content(lookup, answer);
		lookup->changed |= answer->reason != NULL;
	}
	if (answer->reason)
		drv_observation_be_unsure(observation, answer->reason);
}

void drv_observation_note_interest(struct drv_observation *observation, const struct drv_answer *answer)
{
	*answer->matters |= !has_made(observation, answer->path, answer->info);
}

void drv_observation_note_write(struct drv_observation *observation, const struct drv_answer *answer)
{
	struct lookup *lookup = drv_observation_find(observation, answer->path);

	/* What was read before it was written is a dependency, which will be found to have changed, or kept by the driver. */
	if (answer->info && (!lookup || lookup->finding == FOUND_NOTHING))
		add_own(observation, answer->info);
	if (!lookup)
		lookup = drv_observation_add(observation, answer->path, FOUND_OWN);
	else if (lookup->finding == FOUND_NOTHING)
		lookup->finding = FOUND_OWN;
	if (!lookup)
		return;
	note_who(lookup, answer);
	lookup->written = true;
	lookup->made |= answer->made && lookup->finding == FOUND_OWN;
}

void drv_observation_note_step(struct drv_observation *observation, const struct drv_answer *answer)
{
	(void)answer;
	observation->looks_before = observation->looks;
}

/* As the first listing had them, and all others. */
static void note_names(struct lookup *lookup, const struct cc_manifest_names *names)
{
	bool first = !lookup->listed;

	lookup->listed = true;
	if (first && names)
		lookup->names = *names;
	if (first)
		lookup->has_names = names;
	else if (!names || !cc_manifest_names_equal(names, &lookup->names))
		lookup->has_names = false;
}

void drv_observation_note_listing(struct drv_observation *observation, const struct drv_answer *answer)
{
	struct lookup *lookup = drv_observation_find(observation, answer->path);

	if (!lookup)
		lookup = drv_observation_add(observation, answer->path, FOUND_LISTED);
	else if (!lookup->looked)
		lookup->looked = ++observation->looks;
	if (lookup) {
		note_who(lookup, answer);
		note_names(lookup, answer->names);
	}
}

void drv_observation_excuse(struct drv_observation *observation)
{
	for (struct lookup *lookup = observation->lookups; lookup; lookup = lookup->hh.next) {
		if (lookup->looked > observation->looks_before)
			lookup->looked = 0;
	}
}

void drv_observation_free(struct drv_observation *observation)
{
	struct lookup *lookup = observation->lookups, *next;
	struct own_file *own = observation->own, *next_own;

	/* The tables, and not what was in them, which is still a list. */
	HASH_CLEAR(hh, observation->lookups);
	HASH_CLEAR(hh, observation->own);
	for (; lookup; lookup = next) {
		next = lookup->hh.next;
		free(lookup);
	}
	for (; own; own = next_own) {
		next_own = own->hh.next;
		free(own);
	}
	if (observation->child.state == CHILD_FORKED && observation->child.pid)
		(void)close(observation->child.told);	/* only read from */
	free(observation->tool);
	free(observation->directory);
	free(observation);
}

static int compare_lookups(const struct lookup *a, const struct lookup *b)
{
	return strcmp(a->path, b->path);
}

void drv_observation_sort(struct drv_observation *observation)
{
	HASH_SORT(observation->lookups, compare_lookups);
}
