/* SPDX-License-Identifier: MIT */
/*
 * replay_worker: a worker's process: gets names of recipes, builds them one after
 * another, and answers. Also the probes, whose keys say what devices and drivers
 * there are. Runs with the environment that is due, and may be killed at any time.
 */
#include "tools/replay/replay_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "cachecore/manifest.h"
#include "common/clock.h"
#include "common/file.h"
#include "tools/replay/replay_entries.h"
#include "tools/replay/replay_process.h"
#include "tools/replay/worker.h"

#define LOCK_WAIT_NS UINT64_C(1000000000)	/* what holds the root's lock for long is stopped */

bool worker_is_unwanted(uint64_t size)
{
	const struct cmn_log log = { .level = CMN_LOG_NONE };
	struct cc_config config;
	bool unwanted;

	if (cc_config_load(&log, &config) != CMN_OK)
		return false;
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
	struct cmn_log log;
	struct cc_config config;
	struct cc_store *store;	/* NULL: none */
	int recipes;		/* their directory */
	uint32_t slot;
};

static int build(const struct worker *worker, const struct cc_recipe *recipe,
		 struct replay_answer *answer)
{
	struct cc_manifest_change change = { 0 };
	int code;

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
static bool work(const struct worker *worker, struct replay_answer *answer)
{
	struct cmn_buffer file = { 0 };
	struct cc_recipe recipe;

	answer->code = WORKER_UNABLE;
	if (cc_recipes_read(worker->recipes, answer->name, &file, &recipe) == CMN_OK) {
		answer->code = build(worker, &recipe, answer);
		if (answer->code == WORKER_BUILT &&
		    !replay_entries_has(worker->config.dir, &recipe))
			answer->code = WORKER_OTHER;
	}
	cmn_buffer_release(&file);
	return answer->code != WORKER_OTHER;
}

static bool say(int answers, const struct replay_answer *answer)
{
	return write(answers, answer, sizeof(*answer)) == (ssize_t)sizeof(*answer);
}

/* Until there is no more to do, or the process must end for what it built to be stored. */
static int serve(const struct worker *worker, int command, int answers)
{
	for (;;) {
		struct replay_answer answer = { .slot = worker->slot, .code = WORKER_BEGUN };
		ssize_t len = recv(command, answer.name, sizeof(answer.name) - 1, 0);

		if (len < 0 && errno == EINTR)
			continue;
		if (len <= 0)
			return WORKER_BUILT;
		if (!say(answers, &answer) || !work(worker, &answer))
			return WORKER_BUILT;
		if (!say(answers, &answer))
			return answer.code;	/* which says the same */
	}
}

/* What the driver's compilers start gets neither. */
static bool close_in_others(int fd)
{
	return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
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
	limit.rlim_cur = wanted;
	(void)setrlimit(RLIMIT_DATA, &limit);	/* then without */
}

static int serve_recipes(const char *root, uint32_t slot, int command, int answers)
{
	struct worker worker = { .log = { .level = CMN_LOG_NONE }, .recipes = -1, .slot = slot };
	int code = WORKER_UNABLE;

	limit_memory();
	if (!close_in_others(command) || !close_in_others(answers) ||
	    cc_config_load(&worker.log, &worker.config) != CMN_OK)
		return code;
	if (cc_store_open(&worker.config, &worker.log, &worker.store) == CMN_OK &&
	    cc_recipes_open(root, &worker.recipes) == CMN_OK)
		code = serve(&worker, command, answers);
	cc_store_close(worker.store);
	(void)close(worker.recipes);	/* read only */
	cc_config_release(&worker.config);
	return code;
}

static int note_library(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	if (info->dlpi_name && info->dlpi_name[0] == '/')
		cmn_buffer_printf(data, "%s\n", info->dlpi_name);
	return 0;
}

/* Which libraries were loaded for it. */
static void note_libraries(const char *root, const char *kind)
{
	struct cmn_buffer names = { 0 };
	struct cmn_view view;
	int fd;

	(void)dl_iterate_phdr(note_library, &names);	/* its result is the callback's */
	view = cmn_buffer_view(&names);
	if (!names.failed && cc_root_make(root, &fd) == CMN_OK) {
		/* Else the first eviction, which may be another probe's, sweeps the temporary file. */
		(void)!cmn_file_lock(fd, cmn_clock_monotonic() + LOCK_WAIT_NS);
		(void)!cmn_file_publish(fd, kind, &view, 1);	/* without it old entries stay */
		cc_root_unlock(fd);
	}
	cmn_buffer_release(&names);
}

int replay_worker(int argc, char **argv)
{
	const char *root = getenv("CKCACHE_DIR");
	int code = WORKER_UNABLE;

	if (argc != 5 || !root)
		return code;
	if (strcmp(argv[1], "recipes") == 0)
		return serve_recipes(root, (uint32_t)strtoul(argv[2], NULL, 10),
				     (int)strtol(argv[3], NULL, 10),
				     (int)strtol(argv[4], NULL, 10));
	if (strcmp(argv[1], "probe-opencl") == 0)
		code = worker_opencl_probe();
#ifdef CKCACHE_LEVEL_ZERO
	else if (strcmp(argv[1], "probe-level-zero") == 0)
		code = worker_level_zero_probe();
#endif
	if (code == WORKER_BUILT)
		note_libraries(root, argv[1]);
	return code;
}
