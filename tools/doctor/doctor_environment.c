/* SPDX-License-Identifier: MIT */
/*
 * doctor_environment: what is around: the drivers' own caches, which run
 * beside this one; variables that drivers compile by, so that a run without
 * them finds nothing of a run with them; and what changes how libraries load.
 */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "layers/shared/driver/environment.h"
#include "tools/doctor/doctor.h"
#include "tools/memory.h"
#include "tools/text.h"

#define MAX_FILES 20000	/* some tenths of a second */

/* A driver's own cache. */
struct vendor_cache {
	const char *owner;
	const char *variable;		/* that names the directory; NULL: none does */
	const char *base;		/* else $XDG_CACHE_HOME/base; NULL: not there */
	const char *home;		/* else $HOME/home; NULL: not there */
	const char *here;		/* else ./here; NULL: not there */
	const char *off;		/* NAME=VALUE that switches it off */
};

static const struct vendor_cache caches[] = {
	{ "Intel's driver (OpenCL)", "NEO_CACHE_DIR", "neo_compiler_cache", ".cache/neo_compiler_cache",
	  "cl_cache", "NEO_CACHE_PERSISTENT=0" },
	{ "Intel's driver (Level Zero)", NULL, NULL, NULL, "l0_cache", "NEO_CACHE_PERSISTENT=0" },
	{ "NVIDIA's driver", "CUDA_CACHE_PATH", NULL, ".nv/ComputeCache", NULL, "CUDA_CACHE_DISABLE=1" },
	{ "Mesa", "MESA_SHADER_CACHE_DIR", "mesa_shader_cache", ".cache/mesa_shader_cache", NULL,
	  "MESA_SHADER_CACHE_DISABLE=true" },
	{ "pocl", "POCL_CACHE_DIR", "pocl/kcache", ".cache/pocl/kcache", NULL, "POCL_KERNEL_CACHE=0" },
	{ "AMD's compiler", "AMD_COMGR_CACHE_DIR", "comgr", ".cache/comgr", NULL, "AMD_COMGR_CACHE=0" },
};

/* nftw knows no context; the verb has one thread. */
static struct {
	uint64_t bytes;
	unsigned int files;
} measured;

static int measure(const char *path, const struct stat *info, int type, struct FTW *place)
{
	(void)path;
	(void)place;
	if (type == FTW_F)
		measured.bytes += (uint64_t)info->st_blocks * 512;	/* stat(2)'s unit */
	return measured.files++ == MAX_FILES;
}

/* base/tail if it is a directory, on the heap. */
static char *find_directory(const char *base, const char *tail)
{
	char *path;

	if (!base || !*base)
		return NULL;
	path = memory_printf("%s%s%s", base, *tail ? "/" : "", tail);
	if (access(path, X_OK) == 0)
		return path;
	free(path);
	return NULL;
}

static char *find_cache(const struct vendor_cache *cache)
{
	const char *xdg = getenv("XDG_CACHE_HOME");
	char *found = NULL;

	if (cache->variable)
		found = find_directory(getenv(cache->variable), "");
	if (!found && cache->base)
		found = find_directory(xdg, cache->base);
	if (!found && cache->home && !(xdg && *xdg && cache->base))
		found = find_directory(getenv("HOME"), cache->home);
	if (!found && cache->here)
		found = find_directory(".", cache->here);
	return found;
}

static bool is_off(const struct vendor_cache *cache)
{
	for (size_t i = 0; environ && environ[i]; i++) {
		if (strcmp(environ[i], cache->off) == 0)
			return true;
	}
	return false;
}

static void look_at_caches(struct doctor *doctor)
{
	for (size_t i = 0; i < sizeof(caches) / sizeof(caches[0]); i++) {
		char *path = is_off(&caches[i]) ? NULL : find_cache(&caches[i]);
		char bytes[TEXT_SIZE];

		if (!path)
			continue;
		measured.bytes = measured.files = 0;
		(void)nftw(path, measure, 16, FTW_PHYS);	/* what cannot be read is not counted */
		doctor_ok(doctor, "%s has a cache of its own, %s (%s%s); %s switches it off", caches[i].owner,
			  path, measured.files > MAX_FILES ? "over " : "", text_bytes(measured.bytes, bytes),
			  caches[i].off);
		free(path);
	}
}

/* Whether the value is worth showing: a path of ours alone is not. */
static bool has_foreign(const char *list, const char *separators, const char *own)
{
	while (list && *list) {
		size_t len = strcspn(list, separators);
		const char *name = list;

		for (const char *at = list; at < list + len; at++)
			name = *at == '/' ? at + 1 : name;
		if (len && (strlen(own) != (size_t)(list + len - name) ||
			    strncmp(name, own, strlen(own)) != 0))
			return true;
		list += len;
		list += strspn(list, separators);
	}
	return false;
}

/* Of any driver that is known. */
static bool counts(const char *variable, size_t len, bool debug_keys)
{
	for (size_t i = 0; i < DRV_DRIVERS && drv_drivers[i].library; i++) {
		if (drv_environment_counts(&drv_drivers[i], variable, len, debug_keys))
			return true;
	}
	return false;
}

static void look_at_key(struct doctor *doctor)
{
	const char *debug = getenv("NEOReadDebugKeys");
	bool debug_keys = debug && strcmp(debug, "0") != 0;

	for (size_t i = 0; environ && environ[i]; i++) {
		size_t len = strcspn(environ[i], "=");

		if (counts(environ[i], len, debug_keys))
			doctor_note(doctor, NULL,
				    "%s: it changes what drivers compile; runs with another value share nothing",
				    environ[i]);
	}
	if (debug_keys)
		doctor_note(doctor, NULL,
			    "NEOReadDebugKeys=%s: every variable written LikeThis may change what the driver compiles",
			    debug);
}

static void look_at_linker(struct doctor *doctor)
{
	static const char *const sanitizers[] = { "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS",
						  "UBSAN_OPTIONS" };
	const char *preload = getenv("LD_PRELOAD"), *path = getenv("LD_LIBRARY_PATH");

	if (has_foreign(preload, ": ", "libckcache_preload.so"))
		doctor_note(doctor, NULL, "LD_PRELOAD=%s: every process loads this, this one too", preload);
	if (path && *path)
		doctor_note(doctor, NULL,
			    "LD_LIBRARY_PATH=%s: programs may get another loader, driver or compiler", path);
	for (size_t i = 0; i < sizeof(sanitizers) / sizeof(sanitizers[0]); i++) {
		const char *value = getenv(sanitizers[i]);

		if (value && *value)
			doctor_note(doctor, NULL, "%s=%s", sanitizers[i], value);
	}
}

/* A process that another one started with more rights gets none of this. */
static void look_at_user(struct doctor *doctor)
{
	const char *user = getenv("SUDO_USER");

	if (user && *user && geteuid() == 0)
		doctor_note(doctor, NULL, "with sudo this is root's cache, not that of %s", user);
}

void doctor_look_at_environment(struct doctor *doctor)
{
	look_at_user(doctor);
	look_at_caches(doctor);
	look_at_key(doctor);
	look_at_linker(doctor);
}
