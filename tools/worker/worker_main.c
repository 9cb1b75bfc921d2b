/* SPDX-License-Identifier: MIT */
/*
 * worker_main: a worker's process: gets names of recipes, builds them one after another, and answers; or
 * asks loaders and drivers. Runs with the environment that is due, and may be killed at any time.
 */
#include "tools/memory.h"
#include "tools/worker/worker_process.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cachecore/disk/writer/recipes.h"
#include "cachecore/manifest.h"
#include "tools/replay/replay.h"
#include "tools/tool.h"

bool worker_is_unwanted(uint64_t size)
{
	struct cc_config config;
	bool unwanted;

	tool_load_config(&config);
	unwanted = size && (size < config.min_device_image_size ||
			    size > config.max_device_image_size ||
			    (config.max_size && size > config.max_size / 2));
	cc_config_release(&config);
	return unwanted;
}

bool worker_enter(struct cmn_view directory)
{
	static int first = -1;	/* where the process began */
	char *path;
	bool done;

	if (first < 0)
		first = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	path = directory.len ? strndup(directory.data, directory.len) : NULL;
	done = directory.len ? path && chdir(path) == 0 : first >= 0 && fchdir(first) == 0;
	if (done && !path)
		path = getcwd(NULL, 0);
	/* Compilers spell the directory so, where it is true. */
	done = done && path && setenv("PWD", path, 1) == 0;
	free(path);
	return done;
}

/* Whether the files that the application's build read are what they were; else which one is not. */
static int check_files(const struct cc_recipe *recipe, struct cc_manifest_change *ret)
{
	struct cc_manifest *manifest;
	enum cmn_status status;

	if (recipe->manifest.len == 0)
		return WORKER_BUILT;
	if (cc_manifest_decode(recipe->manifest, &manifest) != CMN_OK)
		return WORKER_CHANGED;
	status = cc_manifest_compare(manifest, NULL, ret);
	cc_manifest_free(manifest);
	if (status == CMN_OK)
		return WORKER_BUILT;
	return ret->how == CC_MANIFEST_VANISHED || ret->how == CC_MANIFEST_DIRECTORY ?
	       WORKER_GONE : WORKER_CHANGED;
}

struct worker {
	struct cc_config config;
	struct cc_store *store;	/* NULL: none */
	int recipes;		/* their directory */
};

/* One of WORKER_..., and the file that is meant. */
struct answer {
	int code;
	char text[256];
};

static int build(const struct worker *worker, const struct cc_recipe *recipe, struct answer *answer)
{
	struct cc_manifest_change change = { 0 };
	int code;

	/* What a stranger says of it is not believed: it would lead to other programs. */
	if (!cc_recipe_cached_as(recipe) || cc_recipe_is_strangers(recipe))
		(void)unsetenv(CC_CONFIG_CACHED_AS);	/* the name is right */
	else if (setenv(CC_CONFIG_CACHED_AS, cc_recipe_cached_as(recipe), 1) < 0)
		return WORKER_UNABLE;
	if (!worker_enter(recipe->directory)) {
		(void)snprintf(answer->text, sizeof(answer->text), "%.*s",
			       (int)recipe->directory.len, (const char *)recipe->directory.data);
		return WORKER_GONE;
	}
	code = check_files(recipe, &change);
	if (code != WORKER_BUILT)
		(void)snprintf(answer->text, sizeof(answer->text), "%.255s", change.path);
	else if (!replay_key_is_level_zero(recipe->key))
		code = worker_opencl_build(recipe, worker->config.dir, worker->store);
#ifdef CKCACHE_LEVEL_ZERO
	else
		code = worker_level_zero_build(recipe);
#else
	else
		code = WORKER_ABSENT;
#endif
	return code;
}

/* false: what was built is not seen on disk yet; the end of the process tells. */
static bool work(const struct worker *worker, const char *name, struct answer *answer)
{
	struct cmn_buffer file = { 0 };
	struct cc_recipe recipe;

	answer->code = WORKER_UNABLE;
	if (cc_recipes_read(worker->recipes, name, &file, &recipe) == CMN_OK) {
		answer->code = build(worker, &recipe, answer);
		if (answer->code == WORKER_BUILT &&
		    !replay_entries_has(worker->config.dir, &recipe))
			answer->code = WORKER_OTHER;
	}
	cmn_buffer_release(&file);
	return answer->code != WORKER_OTHER;
}

/* Until there is no more to do, or the process must end for what it built to be stored. */
static int serve(const struct worker *worker)
{
	for (;;) {
		char name[CC_RECIPE_NAME_SIZE] = "", code[16];
		struct answer answer = { .code = WORKER_UNABLE };
		ssize_t len = read(WORKER_CHANNEL, name, sizeof(name) - 1);

		if (len < 0 && errno == EINTR)
			continue;
		if (len <= 0 || !channel_say("begun") || !work(worker, name, &answer))
			return WORKER_BUILT;
		(void)snprintf(code, sizeof(code), "%d", answer.code);	/* it fits */
		if (!channel_say("done", code, answer.text))
			return answer.code;	/* which says the same */
	}
}

/*
 * Half the machine's memory, beside what is mapped already (a sanitizer's shadow): a driver that takes
 * more than that is to fail before others are swapped out. Counts what is mapped privately to be
 * written (getrlimit(2), RLIMIT_DATA). Address space is no measure, since drivers reserve a GPU's.
 */
static void limit_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	FILE *file = fopen("/proc/self/statm", "re");
	struct rlimit limit;
	rlim_t wanted;
	char line[256];
	char *at = file && fgets(line, sizeof(line), file) ? line : NULL;

	if (file)
		(void)fclose(file);	/* read only */
	/* size resident shared text lib data dt */
	for (unsigned int i = 0; at && i < 5; i++)
		at = strchr(at + 1, ' ');
	if (!at || pages <= 0 || size <= 0 || getrlimit(RLIMIT_DATA, &limit) < 0)
		return;
	wanted = (strtoul(at, NULL, 10) + (rlim_t)pages / 2) * (rlim_t)size;
	if (wanted >= limit.rlim_cur)
		return;
	limit.rlim_cur = limit.rlim_max = wanted;
	(void)setrlimit(RLIMIT_DATA, &limit);	/* then without */
}

static int serve_recipes(int argc, char **argv)
{
	struct worker worker = { .recipes = -1 };
	const char *root = getenv("CKCACHE_DIR");
	int code = WORKER_UNABLE;

	(void)argc;
	(void)argv;
	limit_memory();
	if (!root)
		return code;
	tool_load_config(&worker.config);
	if (cc_store_open(&worker.config, &tool_silent, &worker.store) == CMN_OK &&
	    cc_recipes_open(root, &worker.recipes) == CMN_OK)
		code = serve(&worker);
	cc_store_close(worker.store);
	(void)close(worker.recipes);	/* read only */
	cc_config_release(&worker.config);
	return code;
}

const char *worker_load(const char *library, const struct worker_function *functions, size_t count, void *ret,
			const char *lack)
{
	void *handle = dlopen(library, RTLD_NOW);

	if (!handle)
		return dlerror();
	for (size_t i = 0; i < count; i++) {
		void *found = dlsym(handle, functions[i].name);

		if (!found && functions[i].needed)
			return lack;
		/* ISO C knows no cast from it to a function. */
		memcpy((char *)ret + functions[i].offset, &found, sizeof(found));
	}
	return NULL;
}

static int say_layer(struct dl_phdr_info *info, size_t size, void *data)
{
	static const char *const names[] = { TOOL_OPENCL_LIBRARY, TOOL_LEVEL_ZERO_LIBRARY };
	/* The file itself: a loader may know it by a link. */
	char *path = info->dlpi_name ? realpath(info->dlpi_name, NULL) : NULL;
	const char *slash = path ? strrchr(path, '/') : NULL;

	(void)size;
	(void)data;
	for (size_t i = 0; slash && i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(slash + 1, names[i]) == 0)
			(void)channel_say("layer", path);
	}
	free(path);
	return 0;
}

bool worker_say_loader(const char *problem, const void *function)
{
	Dl_info info;

	if (problem)
		(void)channel_say("failed", "loader", problem);
	else if (dladdr(function, &info))
		(void)channel_say("loader", info.dli_fname);
	return !problem;
}

void worker_say_layers(void)
{
	(void)dl_iterate_phdr(say_layer, NULL);	/* its result is the callback's */
}

static int say_mapped(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	(void)data;
	if (info->dlpi_name && info->dlpi_name[0] == '/')
		(void)channel_say("mapped", info->dlpi_name);
	return 0;
}

void worker_say_mapped(void)
{
	(void)dl_iterate_phdr(say_mapped, NULL);	/* its result is the callback's */
}

/* What the driver's compilers start does not get it. Whoever gave none is told nothing, and no other file is. */
static bool hold_channel(void)
{
	int null;

	if (fcntl(WORKER_CHANNEL, F_SETFD, FD_CLOEXEC) == 0)
		return true;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	return null == WORKER_CHANNEL || (null >= 0 && dup3(null, WORKER_CHANNEL, O_CLOEXEC) >= 0);
}

int worker_main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv);
	} works[] = {
		{ "recipes", serve_recipes },
		{ "opencl", probe_opencl },
		{ "opencl-build", probe_opencl_build },
#ifdef CKCACHE_LEVEL_ZERO
		{ "level-zero", probe_level_zero },
		{ "level-zero-build", probe_level_zero_build },
#endif
	};

	memory_end_with(WORKER_UNABLE);
	(void)prctl(PR_SET_NAME, "ckcache-worker");	/* for who looks what runs: it was executed as "exe" */
	if (!hold_channel())
		return WORKER_UNABLE;
	for (size_t i = 0; argc > 1 && i < sizeof(works) / sizeof(works[0]); i++) {
		if (strcmp(argv[1], works[i].name) == 0) {
			int code = works[i].run(argc - 1, argv + 1);

			(void)channel_say("end");
			return code;
		}
	}
	return TOOL_USAGE;
}
