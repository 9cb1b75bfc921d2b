/* SPDX-License-Identifier: MIT */
/*
 * doctor_settings: what no driver is asked for: whether layers can come into the command that was named;
 * settings; the drivers' own caches, which run beside this one; variables that drivers compile by, so that a run
 * without them finds nothing of a run with them; what changes how libraries load; what the cache did so far, by
 * its counts.
 */
#include "tools/doctor/doctor.h"

#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/disk/writer/recipes.h"
#include "cachecore/record/totals.h"
#include "layers/shared/driver/environment.h"
#include "tools/memory.h"
#include "tools/run/run.h"
#include "tools/text.h"

void doctor_look_at_program(struct doctor *doctor)
{
	const char *command = doctor->program, *obstacle;
	enum program_kind kind;
	char *path;

	if (!command)
		return;
	kind = program_look(command, &path);
	obstacle = program_obstacle(kind);
	if (kind == PROGRAM_ABSENT)
		doctor_problem(doctor, "give its path", "%s was not found", command);
	else if (obstacle)
		doctor_problem(doctor, "build or start the program in another way", "%s: %s", path, obstacle);
	else if (kind == PROGRAM_SCRIPT)
		doctor_ok(doctor, "%s is a script; the programs that it starts get the layers", path);
	else
		doctor_ok(doctor, "layers can be loaded into %s", path);
	free(path);
}

static void complain(void *ctx, enum cmn_log_level level, const char *message)
{
	(void)level;
	doctor_note(ctx, "correct it or remove it", "%s", message);
}

static void look_at_file(struct doctor *doctor, const char *path)
{
	if (access(path, R_OK) == 0)
		doctor_ok(doctor, "%s is in use", path);
}

static void look_at_variables(struct doctor *doctor)
{
	static const char prefix[] = "CKCACHE_";

	for (size_t i = 0; environ && environ[i]; i++) {
		char *name = memory_copy_view((struct cmn_view){ environ[i], strcspn(environ[i], "=") });

		if (strncmp(name, prefix, sizeof(prefix) - 1) == 0) {
			if (strcmp(name, "CKCACHE_REMOTE") == 0)
				doctor_ok(doctor, "%s is set (see the remote tier)", name);	/* it may hold a password */
			else if (cc_config_knows(name))
				doctor_ok(doctor, "%s is set", environ[i]);
			else
				doctor_note(doctor, "look for its name in ckcache.conf(5)",
					    "%s is set, but there is no such setting", name);
		}
		free(name);
	}
}

/* Switches that leave nothing for the next run, or take nothing from the last one. */
static void look_at_switches(struct doctor *doctor)
{
	const struct cc_config *config = &doctor->config;

	if (config->disable)
		doctor_problem(doctor, "unset CKCACHE_DISABLE, or remove disable from ckcache.conf",
			       "the cache is switched off: CKCACHE_DISABLE");
	if (!config->persistent)
		doctor_problem(doctor, "unset CKCACHE_PERSISTENT",
			       "nothing is stored for the next run: CKCACHE_PERSISTENT is 0");
	if (config->read_only)
		doctor_note(doctor, NULL, "nothing new is stored: CKCACHE_READ_ONLY is 1");
	if (config->trace)
		doctor_note(doctor, NULL, "each look-up adds a line to %s: CKCACHE_TRACE", config->trace);
}

void doctor_look_at_settings(struct doctor *doctor)
{
	const struct cmn_log log = { CMN_LOG_WARNING, complain, doctor };
	const size_t before = doctor->finding_count;
	char *user_file = NULL;

	if (cc_config_load(&log, &doctor->config) != CMN_OK || cc_config_user_file(&user_file) != CMN_OK)
		memory_end();
	look_at_file(doctor, CC_CONFIG_SYSTEM_FILE);
	if (user_file)
		look_at_file(doctor, user_file);
	look_at_variables(doctor);
	look_at_switches(doctor);
	if (doctor->finding_count == before)
		doctor_ok(doctor, "all settings have their defaults");
	free(user_file);
}

static void look_at_counts(struct doctor *doctor, const struct cc_totals *stats)
{
	uint64_t hits = stats->counters[CC_HITS_MEMORY] + stats->counters[CC_HITS_DISK] +
			stats->counters[CC_HITS_REMOTE];
	char saved[TEXT_SIZE];

	doctor_ok(doctor,
		  "%" PRIu64 " hits, %" PRIu64 " misses, %" PRIu64 " not cached; %s of compilation saved", hits,
		  stats->counters[CC_MISSES], cc_totals_all_bypasses(stats),
		  text_time(stats->counters[CC_COMPILE_NS_SAVED], saved));
	if (stats->counters[CC_ERRORS])
		doctor_note(doctor, "ckcache verify looks for damage",
			    "%" PRIu64 " errors: damaged entries, refused binaries, failed writes",
			    stats->counters[CC_ERRORS]);
}

void doctor_look_at_history(struct doctor *doctor)
{
	const char *dir = doctor->config.dir;
	struct cc_totals *stats = NULL;
	struct cc_recipes_count recipes;
	enum cmn_status status = dir ? cc_totals_load(dir, &stats) : CMN_MISS;

	if (status == CMN_OK)
		look_at_counts(doctor, stats);
	else if (status == CMN_MISS)
		doctor_ok(doctor, "nothing has been counted yet");
	else
		doctor_note(doctor, NULL, "its counts cannot be read: %s", cmn_status_string(status));
	if (status == CMN_OK && cc_recipes_count(dir, &recipes) == CMN_OK && recipes.recipes)
		doctor_note(doctor, "ckcache replay builds them", "%llu programs were left for later",
			    recipes.recipes);
	free(stats);
}

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
	const char *preload = getenv("LD_PRELOAD"), *path = getenv("LD_LIBRARY_PATH");

	if (preload && *preload)
		doctor_ok(doctor, "LD_PRELOAD=%s: every process loads this, this one too", preload);
	if (path && *path)
		doctor_note(doctor, NULL,
			    "LD_LIBRARY_PATH=%s: programs may get another loader, driver or compiler", path);
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
