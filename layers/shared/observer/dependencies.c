/* SPDX-License-Identifier: MIT */
/* dependencies: from what a build looked for to what its result depends on. */
#include "layers/shared/observer/dependencies.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "layers/shared/driver/environment.h"
#include "layers/shared/observer/include_names.h"
#include "layers/shared/observer/observation.h"

bool drv_observer_text_names(const struct drv_observer_text *text, const char *path)
{
	return (text->options && strstr(text->options, path)) ||
	       (text->source.len && memmem(text->source.data, text->source.len, path, strlen(path)));
}

/* The path without its last part; false: it has one part only. */
static bool parent_of(const char *path, char ret[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	size_t len;

	if (!slash)
		return false;
	len = slash == path ? 1 : (size_t)(slash - path);
	if (len >= PATH_MAX)
		return false;
	memcpy(ret, path, len);
	ret[len] = '\0';
	return true;
}

/* Whether it lies in a directory of which that is so, however deep. */
static bool is_below(const struct drv_observation *observation, const char *path,
		     bool (*is_so)(const struct lookup *lookup))
{
	char above[PATH_MAX];
	const struct lookup *lookup;

	if (strlen(path) >= sizeof(above))
		return false;
	memcpy(above, path, strlen(path) + 1);
	for (char *slash = strrchr(above, '/'); slash && slash != above; slash = strrchr(above, '/')) {
		*slash = '\0';
		lookup = drv_observation_find(observation, above);
		if (lookup && is_so(lookup))
			return true;
	}
	return false;
}

/* That is a dependency. */
static bool is_absent(const struct lookup *lookup)
{
	return lookup->finding == FOUND_NOTHING && lookup->looked && !lookup->cached;
}

static bool is_made(const struct lookup *lookup)
{
	return lookup->made;
}

static bool is_gone(const struct lookup *lookup)
{
	return lookup->gone;
}

/*
 * Whether it lies in a directory that the build made: nothing was there. Where that is gone, no other build gets
 * there; in one that stays something may come later. What somebody else puts there meanwhile counts by itself.
 */
static bool is_within(const struct drv_observation *observation, const char *path,
		      bool (*is_so)(const struct lookup *lookup))
{
	return !strstr(path, "/../") && is_below(observation, path, is_so);
}

/* Whether the build made that below the directory, or in its cache there. */
static bool is_own_below(const struct lookup *lookup, const char *directory, size_t len)
{
	return (lookup->finding == FOUND_OWN || (lookup->cached && lookup->written)) &&
	       strncmp(lookup->path, directory, len) == 0 &&
	       (directory[len - 1] == '/' || lookup->path[len] == '/');	/* listed: with its slash */
}

/* Whether it made anything there, however deep; or, if is_name, a name of those that it listed. */
static bool has_own_below(const struct drv_observation *observation, const char *directory, bool is_name)
{
	size_t len = strlen(directory);

	for (const struct lookup *lookup = observation->lookups; lookup; lookup = lookup->hh.next) {
		if (is_own_below(lookup, directory, len) && !(is_name && strchr(lookup->path + len, '/')))
			return true;
	}
	return false;
}

/*
 * Whether the driver left a file of its own where this one lies, as in a cache whose files have no
 * names that are known. A header may lie there as well: such a file does not show that a compiler
 * ran, and the build depends on it. Not where everybody may write, nor by names that are relative
 * to the application's directory.
 */
static bool lies_beside_own(const struct drv_observation *observation, const char *path)
{
	char parent[PATH_MAX];
	struct stat info;
	size_t len;

	if (path[0] != '/' || !parent_of(path, parent) || stat(parent, &info) != 0 ||
	    (info.st_mode & S_IWOTH))
		return false;
	len = strlen(parent);
	for (const struct lookup *lookup = observation->lookups; lookup; lookup = lookup->hh.next) {
		if ((lookup->finding == FOUND_OWN || lookup->written) &&
		    strncmp(lookup->path, parent, len) == 0 &&
		    lookup->path[len] == '/' && !strchr(lookup->path + len + 1, '/') &&
		    lstat(lookup->path, &info) == 0 && S_ISREG(info.st_mode))
			return true;
	}
	return false;
}

/*
 * A name alone says nothing: an application's header may have it. No application's file is opened by
 * the driver's own code; where that has its compiler within, the driver keeps files beside its cache's.
 */
static bool is_cached(const struct drv_observation *observation, const struct lookup *lookup)
{
	const struct drv_driver *driver = observation->driver;

	return drv_matches(driver->cached_alone, lookup->path, 0) ||
	       (drv_matches(driver->cached, lookup->path, 0) &&
		(lookup->by_driver || lies_beside_own(observation, lookup->path)));
}

/* Its cache's directory, whether or not it is there yet: some build makes it. */
static bool is_cache_directory(const struct drv_observation *observation, const struct lookup *lookup)
{
	return (lookup->finding == FOUND_NOTHING || lookup->finding == FOUND_DIRECTORY) &&
	       drv_matches(observation->driver->cache_directories, lookup->path, 0);
}

/* A directory in which it keeps files, which may be gone later: what was looked for there counts by itself. */
static bool is_drivers_directory(const struct drv_observation *observation, const struct lookup *lookup)
{
	return lookup->finding == FOUND_DIRECTORY &&
	       (!lookup->by_other || has_own_below(observation, lookup->path, false));
}

void drv_dependencies_judge(struct drv_observation *observation)
{
	bool known = drv_observation_knows_callers(observation);
	struct stat info;

	for (struct lookup *lookup = observation->lookups; lookup; lookup = lookup->hh.next) {
		lookup->gone = lookup->made && lstat(lookup->path, &info) != 0;
		lookup->cached = known && (is_cached(observation, lookup) || is_cache_directory(observation, lookup));
		if (known)
			lookup->kept = lookup->cached || (!lookup->by_other && lookup->written) ||
				       is_drivers_directory(observation, lookup);
		else
			lookup->kept = lies_beside_own(observation, lookup->path);
	}
}

/* What is there makes no difference to a compiler: the driver looked there for what it had built, or wrote it itself. */
static bool is_of_cache(const struct lookup *lookup)
{
	return lookup->cached || (lookup->kept && lookup->written);
}

/* Whether the driver's cache lies there, which another process may have made meanwhile. */
static bool leads_to_cache(const struct drv_observation *observation, const char *directory)
{
	size_t len = strlen(directory);

	for (const struct lookup *lookup = observation->lookups; lookup; lookup = lookup->hh.next) {
		if (is_of_cache(lookup) && strncmp(lookup->path, directory, len) == 0 && lookup->path[len] == '/')
			return true;
	}
	return false;
}

/* What is to be gathered, and what becomes of it. */
struct gathering {
	const struct drv_observation *observation;
	struct cc_manifest *manifest;
	struct cc_file_memo *memo;
	const struct drv_observer_text *text;
	bool moves;	/* what lies below an include path is looked for wherever the options lead */
	enum cmn_status status;
};

/* By its times or else by its content, which a copy has as well: another machine's, or an image's. */
static void add_file_of_driver(struct gathering *gathering, const struct lookup *lookup)
{
	struct cmn_hash hash;
	enum cmn_status status;

	status = cc_manifest_add_seen(gathering->manifest, lookup->path, &lookup->identity, true);
	if (status == CMN_OK) {
		cc_manifest_identify(gathering->manifest, &lookup->identity);
		if (cc_file_memo_hash_same(gathering->memo, lookup->path, &lookup->identity, &hash) == CMN_OK)
			cc_manifest_set_content(gathering->manifest, &hash);
	}
	gathering->status = status;
}

/* Whether it is of a directory that the variable lists. */
static bool leads_to(const char *value, const char *path)
{
	for (size_t len; *value; value += len + (value[len] == ':')) {
		size_t bare = len = strcspn(value, ":");

		while (bare && value[bare - 1] == '/')
			bare--;
		if (bare && value[0] == '/' && strncmp(path, value, bare) == 0 && path[bare] == '/')
			return true;
	}
	return false;
}

/*
 * Whether PATH lists the directory, but did not lead there: a program is looked for in each directory of the
 * list, up to the one that has it (POSIX.1-2017, 8.3), and this name was not. How a driver searches that nobody
 * knows is not known.
 */
static bool is_beside_search(const struct drv_observation *observation, const char *variable,
			     const struct lookup *lookup)
{
	const char *name = strrchr(lookup->path, '/') + 1, *list = variable + strlen("PATH=");
	bool listed = false, searched = true;
	const struct lookup *found;
	char other[PATH_MAX];

	if (strncmp(variable, "PATH=", strlen("PATH=")) != 0 || !*name || !observation->driver->library)
		return false;
	for (size_t len; *list; list += len + (list[len] == ':')) {
		len = strcspn(list, ":");
		if (len + strlen(name) + 3 > sizeof(other))
			continue;
		(void)snprintf(other, sizeof(other), "%.*s/%s", len ? (int)len : 1, len ? list : ".", name);
		listed |= strcmp(other, lookup->path) == 0;
		found = drv_observation_find(observation, other);
		if (found && found->finding != FOUND_NOTHING)
			break;
		/* Of others it is not known how they are spelled then. */
		searched &= found || list[0] != '/' || list[len - 1] == '/';
	}
	return listed && !searched;
}

static bool is_of_include_path(const struct gathering *gathering, const char *path)
{
	const struct cc_include_paths *paths = gathering->text->include_paths;
	bool is = false;

	for (uint32_t i = 0; paths && i < paths->count && !is; i++)
		is = cc_include_path_leads_to(cc_include_path(paths, i), cmn_view_of(path));
	return is;
}

static bool is_named(const char *variable, size_t len, const char *const *names)
{
	while (*names && (strncmp(variable, *names, len) != 0 || (*names)[len]))
		names++;
	return *names;
}

/* Variables that say where to look for such a path: with other values, it is looked for elsewhere. */
static void add_variables(struct gathering *gathering, const struct lookup *lookup)
{
	/* Where one of these is not set, another one counts. */
	static const char *const homes[] = {
		"HOME", "XDG_CACHE_HOME", "POCL_CACHE_DIR", "MESA_SHADER_CACHE_DIR", "MESA_GLSL_CACHE_DIR",
		"NEO_CACHE_DIR", "CUDA_CACHE_PATH", "AMD_COMGR_CACHE_DIR", NULL,
	};
	static const char *const temporary[] = { "TMPDIR", "TMP", "TEMP", "TEMPDIR", NULL };
	static const char *const *const groups[] = { homes, temporary };
	/* The working directory is a dependency of its own. */
	static const char *const directories[] = { "PWD", "OLDPWD", NULL };
	const char *at = NULL, *path = lookup->path;
	char name[256];

	if (gathering->moves && is_of_include_path(gathering, path))
		return;
	while (path[0] == '/' && gathering->status == CMN_OK && (at = drv_environment_next(at))) {
		size_t len = strcspn(at, "=");

		if (!at[len] || len >= sizeof(name) || is_named(at, len, directories) ||
		    !leads_to(at + len + 1, path) || is_beside_search(gathering->observation, at, lookup))
			continue;
		memcpy(name, at, len);
		name[len] = '\0';
		gathering->status = cc_manifest_add_variable(gathering->manifest, name, at + len + 1);
		for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
			for (size_t j = 0; is_named(name, len, groups[i]) && groups[i][j] &&
					   gathering->status == CMN_OK; j++)
				gathering->status = cc_manifest_add_variable(
					gathering->manifest, groups[i][j],
					drv_environment_at_begin(groups[i][j]));
		}
	}
}

static const char *add_file(struct gathering *gathering, const struct lookup *lookup)
{
	struct cmn_hash hash;
	enum cmn_status status;

	if (drv_driver_has_file(gathering->observation->driver, lookup->path)) {
		add_file_of_driver(gathering, lookup);
		return NULL;
	}
	add_variables(gathering, lookup);
	if (gathering->status != CMN_OK)
		return NULL;
	/* What was not opened told that it is there, its size and time. */
	if (!lookup->opened) {
		gathering->status = cc_manifest_add_seen(gathering->manifest, lookup->path,
							 &lookup->identity, false);
		if (gathering->status == CMN_OK)
			cc_manifest_identify(gathering->manifest, &lookup->identity);
		return NULL;
	}
	status = cc_file_memo_hash_same(gathering->memo, lookup->path, &lookup->identity, &hash);
	if (status == CMN_ERR_TOO_LARGE)
		return "header-unreadable";
	if (status != CMN_OK && status != CMN_ERR_NOMEM)
		return "include-changed";
	if (status == CMN_OK && lookup->has_content && !cmn_hash_equal(&hash, &lookup->content))
		return "include-changed";
	if (status == CMN_OK)
		status = cc_manifest_add_file(gathering->manifest, lookup->path, lookup->identity.size,
					      &hash);
	if (status == CMN_OK)
		cc_manifest_identify(gathering->manifest, &lookup->identity);
	gathering->status = status;
	return NULL;
}

/* The working directory by its name: only where the application spells it so as well, it is one of its directories. */
static bool is_working_directory(const struct gathering *gathering, const char *path)
{
	const char *directory = gathering->observation->directory;

	return strcmp(path, directory) == 0 && !drv_observer_text_names(gathering->text, directory);
}

static const char *add_directory(struct gathering *gathering, const struct lookup *lookup)
{
	char other[PATH_MAX + 2];
	const char *path = lookup->path;

	if (is_working_directory(gathering, path))
		return NULL;
	/* Its own name is to say that it is the working directory. */
	if (gathering->text->directory && strcmp(path, gathering->observation->directory) == 0) {
		(void)snprintf(other, sizeof(other), "%s/.", path);
		path = other;
	}
	gathering->status = cc_manifest_add_place(gathering->manifest, path);
	if (gathering->status == CMN_OK)
		cc_manifest_identify(gathering->manifest, &lookup->identity);
	return NULL;
}

static const char *add_names(struct gathering *gathering, const struct lookup *lookup)
{
	const struct drv_observation *observation = gathering->observation;
	struct cc_manifest_names now;

	/* Without what the build made itself, it has to be empty. */
	if (is_within(observation, lookup->path, is_made) && (!lookup->has_names || lookup->names.count))
		return "directory-listed";
	/* Where it made a name of those that it listed, the directory is its own. */
	if (is_within(observation, lookup->path, is_gone) || has_own_below(observation, lookup->path, true))
		return NULL;
	if (!lookup->has_names || drv_is_of_system(lookup->path) ||
	    !cc_manifest_read_names(lookup->path, &now) || !cc_manifest_names_equal(&now, &lookup->names))
		return "directory-listed";
	add_variables(gathering, lookup);
	if (gathering->status == CMN_OK)
		gathering->status = cc_manifest_add_names(gathering->manifest, lookup->path, &now);
	return NULL;
}

/* A file that the driver left, and not in its cache: a hit would not write it. */
static bool is_dump(const struct gathering *gathering, const struct lookup *lookup)
{
	struct stat info;

	return (gathering->observation->driver->leaves_dumps || gathering->text->unproven) && !lookup->cached &&
	       (lookup->finding == FOUND_OWN || lookup->written) &&
	       stat(lookup->path, &info) == 0 && S_ISREG(info.st_mode);
}

/*
 * Whether it told only how to run the linker, which the key names. That it was not in a directory which
 * comes before those of PATH counts.
 */
static bool is_excused(const struct drv_observation *observation, const struct lookup *lookup)
{
	const char *slash = strrchr(lookup->path, '/');
	struct drv_linker_variables variables;

	if (lookup->looked)
		return false;
	variables = drv_environment_linker();
	return lookup->finding != FOUND_NOTHING || !slash ||
	       strcmp(slash + 1, observation->driver->linker) != 0 ||
	       drv_linker_is_in_path(&variables, lookup->path);
}

/* All that a compiler can reproduce of it is where the compiler lies. */
static bool is_own_place(const struct drv_observation *observation, const char *path)
{
	return observation->driver->compilers_by_place && strcmp(path, "/proc/self/maps") == 0;
}

/* Whether the application may have its headers there: text, options or a variable have the name. */
static bool is_named_directory(const struct gathering *gathering, const struct lookup *lookup)
{
	const char *name = strrchr(lookup->path, '/'), *at = NULL, *value;

	if (!is_cache_directory(gathering->observation, lookup))
		return false;
	while ((at = drv_environment_next(at))) {
		value = strchr(at, '=');
		if (value && strstr(value, name))
			return true;
	}
	return drv_observer_text_names(gathering->text, name);
}

/* A reason not to keep the build, or NULL. */
static const char *add_dependency(struct gathering *gathering, const struct lookup *lookup)
{
	const struct drv_observation *observation = gathering->observation;
	struct cc_file_identity now;
	struct stat info;
	bool there, named, of_cache;

	if (is_excused(observation, lookup))
		return NULL;
	named = is_named_directory(gathering, lookup);
	of_cache = is_of_cache(lookup) && !named;
	/* Processes that share the driver's cache find what others left there meanwhile. */
	if (lookup->changed && !of_cache)
		return "include-changed";
	if (is_dump(gathering, lookup))
		return "file-made";
	if (lookup->finding == FOUND_OWN)
		gathering->status = cc_manifest_add_made(gathering->manifest, lookup->path);
	if (lookup->finding == FOUND_OWN || (of_cache && lookup->finding != FOUND_LISTED))
		return NULL;
	/* On its way to its cache. */
	if (lookup->finding == FOUND_DIRECTORY && lookup->kept && !named)
		return NULL;
	/* is_out_of_cache tells of those of its cache. */
	if (lookup->finding == FOUND_LISTED)
		return lookup->cached ? NULL : add_names(gathering, lookup);
	if (drv_is_of_system(lookup->path) && lookup->finding != FOUND_NOTHING)
		return lookup->finding == FOUND_FILE && !is_own_place(observation, lookup->path) ? "header-unreadable" : NULL;
	there = stat(lookup->path, &info) == 0;
	if (lookup->finding == FOUND_NOTHING) {
		if (there)
			return drv_observation_is_own(observation, info.st_dev, info.st_ino) ||
			       (S_ISDIR(info.st_mode) && leads_to_cache(observation, lookup->path)) ?
			       NULL : "include-changed";
		if (!drv_is_absence(errno))
			return "include-changed";
		if (is_within(observation, lookup->path, is_gone))
			return NULL;
		/* What an include path leads to may be there although what is above this one is not. */
		if ((gathering->moves && is_of_include_path(gathering, lookup->path)) ||
		    !is_below(observation, lookup->path, is_absent))
			gathering->status = cc_manifest_add_absent(gathering->manifest, lookup->path);
		add_variables(gathering, lookup);
		return NULL;
	}
	if (!there || info.st_dev != lookup->identity.device || info.st_ino != lookup->identity.inode)
		return "include-changed";
	if (lookup->finding == FOUND_DIRECTORY)
		return add_directory(gathering, lookup);
	now = cc_file_identity_of(&info);
	if (!cc_file_identity_equal(&now, &lookup->identity))
		return "include-changed";
	return add_file(gathering, lookup);
}

/*
 * Whether the driver asked for the working directory's name, or looked whether $PWD is it, and
 * then looked for something by a path that begins so, though the application did not.
 */
static bool uses_directory_name(const struct gathering *gathering)
{
	const struct drv_observation *observation = gathering->observation;
	const struct lookup *by_name = drv_observation_find(observation, observation->directory);
	size_t len = strlen(observation->directory);

	if (!(observation->asked_directory ||
	      (by_name && by_name->finding == FOUND_DIRECTORY)) ||
	    drv_observer_text_names(gathering->text, observation->directory))
		return false;
	for (const struct lookup *lookup = observation->lookups; lookup; lookup = lookup->hh.next) {
		if ((lookup->finding == FOUND_NOTHING || lookup->finding == FOUND_FILE) &&
		    strncmp(lookup->path, observation->directory, len) == 0 &&
		    lookup->path[len] == '/' && !is_of_cache(lookup) &&
		    !is_within(observation, lookup->path, is_gone))
			return true;
	}
	return false;
}

static const char *gather(struct gathering *gathering)
{
	const struct drv_observation *observation = gathering->observation;
	char *directory = cc_manifest_working_directory();
	const char *reason = observation->unsure;

	if (!reason && (!directory || !observation->directory ||
			strcmp(directory, observation->directory) != 0))
		reason = "directory-changed";
	/* What a tool says was not seen either. */
	if (!reason && gathering->text->unproven && (observation->spoke || observation->tool))
		reason = "message-made";
	if (!reason && gathering->text->include_paths && gathering->text->include_paths->count) {
		gathering->moves = !drv_include_names_count(observation, gathering->text);
		gathering->status = cc_manifest_add_include_paths(gathering->manifest, gathering->text->include_paths,
								  !gathering->moves);
	}
	for (const struct lookup *lookup = observation->lookups;
	     lookup && !reason && gathering->status == CMN_OK; lookup = lookup->hh.next) {
		reason = add_dependency(gathering, lookup);
	}
	if (!reason && gathering->status == CMN_OK &&
	    (gathering->text->directory || uses_directory_name(gathering)))
		gathering->status = cc_manifest_add_directory(gathering->manifest, directory);
	free(directory);
	return reason;
}

/*
 * Whether the result is out of the driver's own cache: then its log is lost, nobody knows what it was
 * made from, and how long that took. Some caches also have what is made of the program later.
 */
static bool is_out_of_cache(const struct drv_observation *observation,
			    const struct drv_observer_text *text, bool compiled)
{
	bool read = false;

	for (const struct lookup *lookup = observation->lookups; lookup; lookup = lookup->hh.next) {
		if (!lookup->cached)
			continue;
		/* pocl's binary has what it lists there, whoever made it. */
		if (lookup->finding == FOUND_LISTED && !has_own_below(observation, lookup->path, false))
			return true;
		read |= lookup->finding == FOUND_FILE && lookup->opened && !lookup->written &&
			!(text->before && cc_manifest_was_made(text->before, lookup->path));
	}
	return read && (observation->driver->caches_binaries || (text->source.len && !compiled));
}

/* What an earlier build left to a thread of the driver may be written just when this one reads it. */
static bool opened_cache(const struct drv_observation *observation)
{
	for (const struct lookup *lookup = observation->lookups; lookup; lookup = lookup->hh.next) {
		if (lookup->cached && lookup->opened)
			return true;
	}
	return false;
}

enum cmn_status drv_dependencies_gather(const struct drv_observation *observation,
					const struct drv_observer_text *text, bool compiled,
					struct cc_file_memo *memo,
					struct cc_manifest **ret, const char **ret_reason)
{
	struct drv_observer_text moved = *text;
	struct gathering gathering = {
		.observation = observation,
		.manifest = cc_manifest_new(),
		.memo = memo,
		.text = &moved,
	};
	struct cmn_buffer options = { 0 };
	struct cc_include_paths paths;
	const char *reason;

	/* What only an include path names the options do not name. */
	if (text->include_paths && text->include_paths->count) {
		cc_include_paths_take(text->options, &options, &paths);
		cmn_buffer_append_u8(&options, 0);
		moved.options = (const char *)options.data;
	}
	if (!gathering.manifest || options.failed) {
		cc_manifest_free(gathering.manifest);
		cmn_buffer_release(&options);
		return CMN_ERR_NOMEM;
	}
	reason = gather(&gathering);
	if (!reason && is_out_of_cache(observation, text, compiled))
		reason = "driver-cached";
	else if (!reason && text->reads && !compiled)
		reason = opened_cache(observation) ? "driver-cached" : "files-unseen";
	if (reason) {
		*ret_reason = reason;
		gathering.status = CMN_MISS;
	} else if (gathering.status == CMN_OK) {
		*ret = cc_manifest_count(gathering.manifest) ? gathering.manifest : NULL;
		gathering.manifest = *ret ? NULL : gathering.manifest;
	}
	cmn_buffer_release(&options);
	cc_manifest_free(gathering.manifest);
	return gathering.status;
}
