/* SPDX-License-Identifier: MIT */
/* slot_libraries: finding and loading plugins and the genuine validation layer. */
#include "layers/level_zero/slot/slot_libraries.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "common/log.h"

#define PLUGINS_VARIABLE "ZE_ENABLE_LAYERS"
#define SEPARATORS ",:"
#define VALIDATION_VARIABLE "ZE_ENABLE_VALIDATION_LAYER"

static void complain(const char *plugin, const char *why)
{
	static const struct cmn_log log = { .level = CMN_LOG_ERROR };

	cmn_log_write(&log, CMN_LOG_ERROR, PLUGINS_VARIABLE ": continuing without %s: %s", plugin, why);
}

void *slot_libraries_symbol(void *library, const char *name)
{
	void *symbol = dlsym(library, name);
	struct link_map *asked, *owner;
	Dl_info info;

	if (!symbol || dlinfo(library, RTLD_DI_LINKMAP, &asked) != 0 ||
	    !dladdr1(symbol, &info, (void **)&owner, RTLD_DL_LINKMAP) || owner != asked)
		return NULL;
	return symbol;
}

/* The slot's own file without links; false if it cannot be told. */
static bool own_path(char *path)
{
	Dl_info info;

	return dladdr((void *)own_path, &info) && realpath(info.dli_fname, path);
}

/* The text up to its last slash (cut there); false if it has none. */
static bool cut_last_part(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		*slash = '\0';
	return slash;
}

/* Whether there is a plugin of that name beside the slot, or above it; then path is its file. */
static bool beside_slot(const char *name, char path[PATH_MAX])
{
	char directory[PATH_MAX];
	int len;

	if (!own_path(directory))
		return false;
	/* Twice: as packages put them, and as a build and an installation do. */
	for (int i = 0; i < 2 && cut_last_part(directory); i++) {
		len = snprintf(path, PATH_MAX, "%s/lib%s_level_zero.so", directory, name);
		if (len >= 0 && len < PATH_MAX && access(path, F_OK) == 0)
			return true;
	}
	return false;
}

/* RTLD_NOW: a plugin that lacks a symbol fails here and not in a call. */
static void *open_library(const char *path, bool *ret_there)
{
	*ret_there = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) != NULL;
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* NULL: dlerror says why. *ret_there: it was in the process already. */
static void *open_plugin(const char *name, bool *ret_there)
{
	char path[PATH_MAX];
	void *plugin;

	if (strchr(name, '/'))
		return open_library(name, ret_there);
	if (beside_slot(name, path))
		return open_library(path, ret_there);
	(void)snprintf(path, sizeof(path), "libze_%s_layer.so.1", name);	/* cut: not found */
	plugin = open_library(path, ret_there);
	if (plugin)
		return plugin;
	(void)snprintf(path, sizeof(path), "lib%s_level_zero.so", name);
	return open_library(path, ret_there);
}

static void add_plugin(struct slot_libraries *libraries, const char *name)
{
	bool there;
	void *plugin = open_plugin(name, &there);

	if (!plugin) {
		complain(name, dlerror());
		return;
	}
	if (slot_libraries_symbol(plugin, "ckcache_level_zero_slot")) {
		complain(name, "it is the slot itself");
		return;
	}
	/* Whoever brought it has chained it: this list, or a loader that reads the variable itself. */
	if (there)
		return;
	libraries->plugins[libraries->count++] = plugin;
}

static void load_plugins(struct slot_libraries *libraries, const char *list)
{
	char *copy = strdup(list);
	size_t parts = 1;
	char *rest;

	for (const char *c = list; *c; c++)
		parts += strchr(SEPARATORS, *c) != NULL;
	libraries->plugins = calloc(parts, sizeof(*libraries->plugins));
	for (char *name = copy && libraries->plugins ? strtok_r(copy, SEPARATORS, &rest) : NULL; name;
	     name = strtok_r(NULL, SEPARATORS, &rest))
		add_plugin(libraries, name);
	if (!copy || !libraries->plugins)
		complain(list, "no memory");
	free(copy);
}

/*
 * Whether the loader would have loaded the genuine layer without the slot. The
 * preload shim answers the loader's getenv, and neither the environment nor
 * libc's own secure_getenv, so that this is what the user set. With AT_SECURE
 * there is no shim, and that the loader came here is the answer.
 */
static bool validation_wanted(void)
{
	const char *value = secure_getenv(VALIDATION_VARIABLE);

	return getauxval(AT_SECURE) || (value && strcmp(value, "1") == 0);
}

/* dl_iterate_phdr: stops at the loader, with its file in data (PATH_MAX bytes). */
static int note_loader(struct dl_phdr_info *info, size_t size, void *data)
{
	static const char loader[] = "/libze_loader.so";
	const char *base = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
	int len;

	(void)size;
	if (!base || strncmp(base, loader, sizeof(loader) - 1) != 0)
		return 0;
	len = snprintf(data, PATH_MAX, "%s", info->dlpi_name);
	return len >= 0 && len < PATH_MAX;
}

/*
 * The loader's own flags, so that the genuine layer binds as it would have
 * without the slot. By path: by its soname the dynamic linker would find the
 * slot. A second slot, put in the genuine one's place, is not what is wanted.
 */
static void *open_genuine(const char *directory, const char *name)
{
	char path[PATH_MAX + NAME_MAX];
	void *library;

	(void)snprintf(path, sizeof(path), "%s/%s", directory, name);	/* it fits */
	if (access(path, F_OK) < 0)
		return NULL;
	library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (!library || !slot_libraries_symbol(library, "ckcache_level_zero_slot"))
		return library;
	(void)dlclose(library);		/* never unloads: this drops a count */
	return NULL;
}

static void *load_genuine(void)
{
	/* The second is what dpkg-divert makes of the first. */
	static const char *const names[] = { "libze_validation_layer.so.1",
					     "libze_validation_layer.so.1.distrib" };
	char loader[PATH_MAX], target[PATH_MAX];
	void *library = NULL;

	if (dl_iterate_phdr(note_loader, loader) == 0)
		return NULL;
	if (!realpath(loader, target) || !cut_last_part(target))
		target[0] = '\0';
	if (!cut_last_part(loader))
		loader[0] = '\0';
	for (size_t i = 0; i < 2 && !library; i++) {
		library = open_genuine(loader, names[i]);
		if (!library)
			library = open_genuine(target, names[i]);
	}
	return library;
}

void slot_libraries_load(struct slot_libraries *ret_libraries)
{
	struct slot_libraries libraries = { 0 };
	const char *list = secure_getenv(PLUGINS_VARIABLE);

	if (list && *list)
		load_plugins(&libraries, list);
	if (validation_wanted())
		libraries.genuine = load_genuine();
	*ret_libraries = libraries;
}
