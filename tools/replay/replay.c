/* SPDX-License-Identifier: MIT */
/*
 * replay: builds what applications left for later. Each recipe gets a worker;
 * whatever happens to that, the entry that is there afterwards decides. An
 * attempt is put down before it begins, so that a recipe that takes the whole
 * machine down is not tried for ever.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "common/descriptor.h"
#include "tools/arguments.h"
#include "tools/json.h"
#include "tools/replay/replay.h"
#include "tools/terminal.h"

enum {
	MAX_ATTEMPTS = 2,	/* that go wrong; then it is quarantined */
	MAX_JOBS = 256,		/* as verbs.c has it */
	TIMEOUT_S = 600,
};

struct replay {
	struct replay_settings settings;
	int fd;			/* the recipes' directory */
	struct child *jobs;
	size_t job_count;
	int signal;		/* that asked this process to end; 0: none */
	bool failed;		/* something that is not a recipe's fault, it was complained about */
	size_t done, total;
	/* Recipes by what became of them. */
	unsigned long long stale, built, there, outdated, unwanted, absent, wrong, quarantined, damaged;
};

static void complain_about(const char *name, const char *what)
{
	tool_complain("%.8s: %s", name, what);
}

static void drop(struct replay *replay, const char *name)
{
	enum cmn_status status = cc_recipes_remove(replay->fd, name);

	if (status != CMN_OK) {
		complain_about(name, cmn_status_string(status));
		replay->failed = true;
	}
}

static void set_attempts(struct replay *replay, const char *name, unsigned int count)
{
	enum cmn_status status = cc_recipes_set_attempts(replay->fd, name, count);

	if (status != CMN_OK) {
		complain_about(name, cmn_status_string(status));
		replay->failed = true;
	}
}

static void show_progress(const struct replay *replay)
{
	terminal_progress("replay", replay->done, replay->total);
}

/* How a worker ended that left no entry, for people. */
static void describe_end(const struct child *job, char *ret, size_t size)
{
	int state = job->state;

	if (job->timed_out)
		(void)snprintf(ret, size, "it timed out");
	else if (WIFSIGNALED(state))
		(void)snprintf(ret, size, "the driver was ended by signal %d", WTERMSIG(state));
	else if (WEXITSTATUS(state) == WORKER_FAILED)
		(void)snprintf(ret, size, "the driver did not build it");
	else if (WEXITSTATUS(state) == WORKER_BUILT)
		(void)snprintf(ret, size, "it was built, but nothing was stored");
	else
		(void)snprintf(ret, size, "the driver ended with exit code %d",
			       WEXITSTATUS(state));
}

/* The attempt counts against the recipe. */
static void went_wrong(struct replay *replay, const struct child *job)
{
	bool last = cc_recipes_attempts(replay->fd, job->name) >= MAX_ATTEMPTS;
	char how[80];

	describe_end(job, how, sizeof(how));
	tool_complain("%.8s: %s%s", job->name, how,
		      last ? "; it will not be tried again" : "; it is kept for another try");
	replay->wrong++;
	if (!last)
		return;
	if (cc_recipes_quarantine(replay->fd, job->name) == CMN_OK)
		replay->quarantined++;
	else
		drop(replay, job->name);
}

/* It was built without an entry of its key: for a device that is another by now, if the store has that. */
static bool is_outdated(const struct replay *replay, const struct cc_recipe *recipe,
			const char *name)
{
	char *field = replay_entries_difference(replay->settings.root, recipe->key);

	if (field)
		tool_complain("%.8s: the build has another key than the recipe (%s differs)", name, field);
	free(field);
	return field != NULL;
}

static void judge(struct replay *replay, const struct child *job, const struct cc_recipe *recipe)
{
	int code = WIFEXITED(job->state) && !job->timed_out ? WEXITSTATUS(job->state) : -1;

	if (replay_entries_has(replay->settings.root, recipe)) {
		replay->built++;
		drop(replay, job->name);
	} else if (code == WORKER_ABSENT) {
		replay->absent++;
		set_attempts(replay, job->name, 0);
	} else if (code == WORKER_UNABLE) {
		tool_complain("%.8s: no worker could start, or it did not find libOpenCL.so.1", job->name);
		replay->failed = true;
		set_attempts(replay, job->name, 0);
	} else if (code == WORKER_UNWANTED) {
		complain_about(job->name, "built, but not stored, because the settings exclude images of its size");
		replay->unwanted++;
		drop(replay, job->name);
	} else if (code == WORKER_STALE ||
		   (code == WORKER_BUILT && is_outdated(replay, recipe, job->name))) {
		replay->outdated++;
		drop(replay, job->name);
	} else {
		went_wrong(replay, job);
	}
}

static void finish(struct replay *replay, struct child *job)
{
	struct cmn_buffer file = { 0 };
	struct cc_recipe recipe;

	/* If it is gone, somebody cleared the directory. */
	if (cc_recipes_read(replay->fd, job->name, &file, &recipe) == CMN_OK)
		judge(replay, job, &recipe);
	cmn_buffer_release(&file);
	replay->done++;
	show_progress(replay);
}

/* Waits for one worker; false: this process is to end. */
static bool wait_for_one(struct replay *replay)
{
	struct child *job = replay_process_wait(replay->jobs, replay->job_count, &replay->signal);

	if (job)
		finish(replay, job);
	return job != NULL;
}

static struct child *free_job(struct replay *replay)
{
	for (size_t i = 0; i < replay->job_count; i++) {
		if (!replay->jobs[i].pid)
			return &replay->jobs[i];
	}
	return NULL;
}

/* Starts the recipe's worker, or finds that none is due. */
static void start(struct replay *replay, struct child *job, char *name)
{
	struct cmn_buffer file = { 0 };
	struct cc_recipe recipe;
	enum cmn_status status = cc_recipes_read(replay->fd, name, &file, &recipe);

	job->name = name;
	if (status == CMN_ERR_CORRUPT) {
		complain_about(name, "the recipe is damaged");
		replay->damaged++;
		drop(replay, name);
	} else if (status != CMN_OK && status != CMN_MISS) {
		complain_about(name, cmn_status_string(status));
		replay->failed = true;
	} else if (status == CMN_OK &&
		   replay_entries_has(replay->settings.root, &recipe)) {
		replay->there++;
		drop(replay, name);
	} else if (status == CMN_OK) {
		set_attempts(replay, name, cc_recipes_attempts(replay->fd, name) + 1);
		if (!replay_process_start(job, &recipe, &replay->settings)) {
			set_attempts(replay, name, 0);
			replay->failed = true;
		}
	}
	cmn_buffer_release(&file);
	if (!job->pid) {
		replay->done++;
		show_progress(replay);
	}
}

/* What is in work counts as not begun. */
static void abandon(struct replay *replay)
{
	for (size_t i = 0; i < replay->job_count; i++) {
		struct child *job = &replay->jobs[i];
		unsigned int attempts;

		if (!job->pid)
			continue;
		child_kill(job);
		(void)waitpid(job->pid, NULL, 0);	/* it is dead */
		job->pid = 0;
		attempts = cc_recipes_attempts(replay->fd, job->name);
		set_attempts(replay, job->name, attempts ? attempts - 1 : 0);
	}
}

static void build_all(struct replay *replay, const struct cc_recipes_names *names)
{
	size_t next = 0;

	replay->total = names->count;
	show_progress(replay);
	while (!replay->signal && (replay->done < replay->total)) {
		struct child *job = next < names->count ? free_job(replay) : NULL;

		if (job)
			start(replay, job, names->names[next++]);
		else if (!wait_for_one(replay))
			abandon(replay);
	}
	terminal_progress_hide();
}

static int print(const struct replay *replay, bool json)
{
	const struct {
		const char *name, *text;
		unsigned long long count;
	} rows[] = {
		{ "stale", "entries of old drivers", replay->stale },
		{ "built", "built", replay->built },
		{ "there", "already there", replay->there },
		{ "outdated", "outdated", replay->outdated },
		{ "unwanted", "size excluded", replay->unwanted },
		{ "absent", "device absent", replay->absent },
		{ "failed", "failed", replay->wrong },
		{ "quarantined", "of these, quarantined", replay->quarantined },
		{ "damaged", "damaged", replay->damaged },
	};
	struct json_object *object = json ? json_new_object() : NULL;
	struct cmn_buffer text = { 0 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (json)
			json_add_number(object, rows[i].name, rows[i].count);
		else if (rows[i].count || strcmp(rows[i].name, "built") == 0)
			cmn_buffer_printf(&text, "%-24s %14llu\n", rows[i].text, rows[i].count);
	}
	return json ? json_print(object) : tool_print(&text);
}

/* With the lock. */
static void run(struct replay *replay, struct cc_store *store, bool stale)
{
	struct cc_recipes_names names = { 0 };
	enum cmn_status status;

	child_begin(CHILD_WORKERS);
	child_over();	/* nothing is to be cleared up */
	if (stale && !replay_stale_record(&replay->settings, store, &replay->stale,
					  &replay->signal)) {
		replay->failed = true;
		return;
	}
	status = cc_recipes_list(replay->fd, &names);
	if (status == CMN_OK) {
		build_all(replay, &names);
	} else {
		tool_complain("%s: %s", replay->settings.root, cmn_status_string(status));
		replay->failed = true;
	}
	cc_recipes_names_release(&names);
}

static int run_locked(struct replay *replay, struct cc_store *store, bool stale, bool json)
{
	enum cmn_status status;
	int lock, code;

	status = cc_recipes_lock(replay->fd, &lock);
	if (status != CMN_OK) {
		tool_complain("%s: %s", replay->settings.root, status == CMN_BUSY ?
			      "another ckcache replay is running" : cmn_status_string(status));
		return TOOL_FAILED;
	}
	run(replay, store, stale);
	cc_root_unlock(lock);
	code = print(replay, json);
	if (replay->signal) {
		child_end_by(replay->signal);
		return 128 + replay->signal;
	}
	return replay->failed || replay->wrong ? TOOL_FAILED : code;
}

static int replay_cache(struct replay *replay, const struct tool_cache *cache, bool stale,
			bool json)
{
	char *layer = tool_find_library(TOOL_OPENCL_LIBRARY);
	enum cmn_status status;
	int code = TOOL_FAILED;

	replay->settings.root = cache->config.dir;
	replay->settings.layer = layer;
	replay->jobs = calloc(replay->job_count, sizeof(*replay->jobs));
	if (!layer || !replay->jobs) {
		tool_complain("%s", layer ? "out of memory" : TOOL_OPENCL_LIBRARY
			      " is not where this command's installation should have it");
		goto out;
	}
	if (!tool_may_write(cache))
		goto out;
	status = stale ? cc_recipes_make(cache->config.dir, &replay->fd) :
			 cc_recipes_open(cache->config.dir, &replay->fd);
	if (status == CMN_MISS) {
		code = print(replay, json);
	} else if (status != CMN_OK) {
		tool_complain("%s: %s", cache->config.dir, cmn_status_string(status));
	} else {
		code = run_locked(replay, cache->store, stale, json);
		(void)cmn_descriptor_close(replay->fd);	/* nothing was written through it */
	}
out:
	free(replay->jobs);
	free(layer);
	return code;
}

/* Half the processors: this is not what the machine is for. */
static unsigned long usual_jobs(void)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	return processors > 2L * MAX_JOBS ? MAX_JOBS :
	       processors > 2 ? (unsigned long)processors / 2 : 1;
}

verb_function verb_replay;

int verb_replay(const struct arguments *arguments)
{
	unsigned long timeout_s = arguments_number(arguments, "timeout", TIMEOUT_S);
	struct replay replay = {
		.fd = -1, .job_count = arguments_number(arguments, "jobs", usual_jobs()),
		.settings.timeout_ns = (uint64_t)timeout_s * UINT64_C(1000000000),
	};
	struct tool_cache cache;
	int code;

	if (!tool_open(&cache))
		return TOOL_FAILED;
	code = replay_cache(&replay, &cache, arguments_flag(arguments, "stale"),
			    arguments_flag(arguments, "json"));
	tool_close(&cache);
	return code;
}
