/* SPDX-License-Identifier: MIT */
/*
 * replay: builds what applications left for later. A worker has one recipe in
 * work at a time; whatever happens to it, the entry that is there afterwards
 * decides. An attempt is put down before it begins, so that a recipe that takes
 * the whole machine down is not tried for ever.
 */
#include "tools/replay/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "tools/text.h"

enum {
	MAX_ATTEMPTS = 2,	/* that go wrong; then it is quarantined */
	MAX_BY_WORKER = 100,	/* recipes; drivers do not give back all memory */
};

static void complain_about(const char *name, const char *what)
{
	tool_complain("%.8s: %s", name, what);
}

/* What became of a change of the directory. */
static void check(struct replay *replay, const char *name, enum cmn_status status)
{
	if (status != CMN_OK) {
		complain_about(name, cmn_status_string(status));
		replay->failed = true;
	}
}

static void drop(struct replay *replay, const char *name)
{
	check(replay, name, cc_recipes_remove(replay->fd, name));
}

static void set_attempts(struct replay *replay, const char *name, unsigned int count)
{
	check(replay, name, cc_recipes_set_attempts(replay->fd, name, count));
}

/* What was begun does not count as tried. */
static void take_back_attempt(struct replay *replay, struct child *job)
{
	unsigned int attempts = cc_recipes_attempts(replay->fd, job->name);

	set_attempts(replay, job->name, attempts ? attempts - 1 : 0);
	job->name = NULL;
}

static void show_progress(const struct replay *replay)
{
	terminal_progress("replay", replay->done, replay->order.count);
}

/* How a worker ended that left no entry, for people. */
static void describe_end(const struct child *job, int code, char *ret, size_t size)
{
	int state = job->state;

	if (code == WORKER_FAILED)
		(void)snprintf(ret, size, "the driver did not build it");
	else if (job->timed_out)
		(void)snprintf(ret, size, "it timed out");
	else if (WIFSIGNALED(state))
		(void)snprintf(ret, size, "the driver was ended by signal %d", WTERMSIG(state));
	else if (WEXITSTATUS(state) == WORKER_BUILT)
		(void)snprintf(ret, size, "it was built, but nothing was stored");
	else
		(void)snprintf(ret, size, "the driver ended with exit code %d",
			       WEXITSTATUS(state));
}

/* The attempt counts against the recipe. */
static void went_wrong(struct replay *replay, const struct child *job, int code)
{
	bool last = cc_recipes_attempts(replay->fd, job->name) >= MAX_ATTEMPTS;
	char how[80];

	describe_end(job, code, how, sizeof(how));
	/* Of a pack, which may be hostile, the first one is enough. */
	if (!replay->of_pack || !replay->wrong)
		tool_complain("%.8s: %s%s", job->name, how, last ?
			      "; it will not be tried again" : "; it is kept for another try");
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

/* What it was for is not what there is now; text: the file that is meant. */
static void is_over(struct replay *replay, const char *name, int code, const char *text)
{
	const bool gone = code == WORKER_GONE;

	tool_complain("%.8s: %s%s", name, *text ? text : "a header",
		      gone ? " is gone" : " is not as it was");
	replay->outdated++;
	replay->gone += gone;
	replay->changed += !gone;
	/* Gone for the process in the background: it may not see all that the program saw. */
	if (gone && replay->gives_way)
		set_attempts(replay, name, 0);
	else
		drop(replay, name);
}

/* code: the worker's answer, or its exit code; -1: it did not end by itself. */
static void judge(struct replay *replay, const struct child *job, const struct cc_recipe *recipe,
		  int code, const char *text)
{
	if (replay_entries_has(replay->settings.root, recipe)) {
		replay->built++;
		drop(replay, job->name);
	} else if (code == WORKER_ABSENT) {
		replay->absent++;
		set_attempts(replay, job->name, 0);
	} else if (code == WORKER_UNABLE) {
		tool_complain("%.8s: no worker could start, or it did not find %s", job->name,
			      replay_key_is_level_zero(recipe->key) ? "libze_loader.so.1" :
								      "libOpenCL.so.1");
		replay->failed = true;
		set_attempts(replay, job->name, 0);
	} else if (code == WORKER_UNWANTED) {
		complain_about(job->name, "built, but not stored, because the settings exclude images of its size");
		replay->unwanted++;
		drop(replay, job->name);
	} else if (code == WORKER_INPUTS) {
		complain_about(job->name, "what it is linked of is not in the cache");
		replay->inputs++;
		drop(replay, job->name);
	} else if (code == WORKER_CHANGED || code == WORKER_GONE) {
		is_over(replay, job->name, code, text);
	} else if (code == WORKER_BUILT && is_outdated(replay, recipe, job->name)) {
		replay->outdated++;
		replay->other++;
		drop(replay, job->name);
	} else {
		went_wrong(replay, job, code);
	}
}

/* The worker has it in work no longer. */
static void finish(struct replay *replay, size_t slot, int code, const char *text)
{
	struct child *job = &replay->workers.children[slot];
	struct cmn_buffer file = { 0 };
	struct cc_recipe recipe;

	/* If it is gone, somebody cleared the directory; what was left meanwhile is another one. */
	if (!replay_order_is_left_anew(replay->workers.slots[slot].due, replay->fd) &&
	    cc_recipes_read(replay->fd, job->name, &file, &recipe) == CMN_OK)
		judge(replay, job, &recipe, code, text);
	cmn_buffer_release(&file);
	job->name = NULL;
	replay->done++;
	show_progress(replay);
}

/* Another user's in a shared root, another program's, or of a pack that another process may be about to build. */
static bool stays(const struct replay *replay, const struct replay_due *due, enum cmn_status status,
		  const struct cc_recipe *recipe)
{
	const char *program = replay->settings.program;

	if (replay->gives_way && due->uid != geteuid())
		return true;
	return status == CMN_OK &&
	       ((program && !cmn_view_equal(cc_recipe_program(recipe), cmn_view_of(program))) ||
		(replay->gives_way && cc_recipe_is_strangers(recipe)));
}

/* A recipe that is due goes to the worker; one for which there is nothing to do is settled. */
static void begin(struct replay *replay, size_t slot, struct replay_due *due)
{
	struct child *job = &replay->workers.children[slot];
	struct cmn_buffer file = { 0 };
	struct cc_recipe recipe;
	enum cmn_status status;

	replay_order_look(due, replay->fd);
	status = cc_recipes_read(replay->fd, due->name, &file, &recipe);
	if (stays(replay, due, status, &recipe)) {
		/* Nothing is done. */
	} else if (status == CMN_ERR_CORRUPT) {
		complain_about(due->name, "the recipe is damaged");
		replay->damaged++;
		drop(replay, due->name);
	} else if (status == CMN_MISS) {
		replay->late += replay->of_pack;	/* another replay removed it before this one had the lock */
	} else if (status != CMN_OK) {
		complain_about(due->name, cmn_status_string(status));
		replay->failed = true;
	} else if (cc_recipe_is_strangers(&recipe) && !replay->settings.confine) {
		/* What was left of a pack, which still has it. That it was tried counts the next time too. */
		if (!cc_recipes_attempts(replay->fd, due->name))
			drop(replay, due->name);
	} else if (replay_entries_has(replay->settings.root, &recipe)) {
		replay->there++;
		drop(replay, due->name);
	} else {
		set_attempts(replay, due->name, cc_recipes_attempts(replay->fd, due->name) + 1);
		replay->workers.slots[slot].due = due;
		if (job->pid || replay_process_start(&replay->workers, slot, &recipe,
						     &replay->settings)) {
			replay_process_give(&replay->workers, slot, due->name, &replay->settings);
		} else {
			set_attempts(replay, due->name, 0);
			replay->failed = true;
		}
	}
	cmn_buffer_release(&file);
	if (!job->name) {
		replay->done++;
		show_progress(replay);
	}
}

/* What is in work counts as not begun. */
static void abandon(struct replay *replay)
{
	for (size_t i = 0; i < replay->workers.count; i++) {
		struct child *job = &replay->workers.children[i];

		if (!job->pid)
			continue;
		replay_process_kill(&replay->workers, i);
		if (job->name)
			take_back_attempt(replay, job);
	}
}

/* Whether a recipe may begin now. */
static bool may_begin(const struct replay *replay)
{
	return idle_lets_begin(replay->idle) && !(replay->gives_way && cc_recipes_is_wanted(replay->fd));
}

/* The slot gets a recipe: its worker one of the same surroundings, else a new worker any. false: there is none. */
static bool fill(struct replay *replay, size_t slot)
{
	const struct child *job = &replay->workers.children[slot];
	const struct replay_slot *worker = &replay->workers.slots[slot];
	struct replay_due *due;

	if (job->name || (job->pid && worker->retired))
		return false;
	due = !may_begin(replay) || (job->pid && worker->done == MAX_BY_WORKER) ?
		      NULL :
		      replay_order_next(&replay->order, job->pid ? &worker->due->surroundings : NULL);
	if (due)
		begin(replay, slot, due);
	else if (job->pid)
		replay_process_retire(&replay->workers, slot, &replay->settings);
	return due != NULL;
}

/* Waits until a recipe is done or a worker ended; by a signal all workers end. */
static void wait_for_one(struct replay *replay)
{
	const struct replay_slot *worker;
	struct replay_answer answer;
	struct child *job;
	size_t slot;

	switch (replay_process_wait(&replay->workers, &slot, &answer, &replay->signal)) {
	case REPLAY_ANSWERED:
		finish(replay, answer.slot, answer.code, answer.text);
		break;
	case REPLAY_ENDED:
		job = &replay->workers.children[slot];
		worker = &replay->workers.slots[slot];
		if (job->name && !worker->begun && worker->done) {
			/* It ended of what it did before: another one is to do this. */
			worker->due->begun = false;
			take_back_attempt(replay, job);
		} else if (job->name) {
			finish(replay, slot, WIFEXITED(job->state) && !job->timed_out ?
			       WEXITSTATUS(job->state) : -1, "");
		}
		break;
	case REPLAY_SIGNALLED:
		abandon(replay);
		break;
	}
}

static bool is_at_work(const struct replay *replay)
{
	for (size_t i = 0; i < replay->workers.count; i++) {
		if (replay->workers.children[i].pid)
			return true;
	}
	return false;
}

static void build_order(struct replay *replay)
{
	bool begun = true;

	show_progress(replay);
	while (begun || is_at_work(replay)) {
		if (!begun)
			wait_for_one(replay);
		begun = false;
		for (size_t i = 0; !replay->signal && i < replay->workers.count; i++)
			begun = fill(replay, i) || begun;
	}
	terminal_progress_hide();
}

void replay_all(struct replay *replay, const struct replay_worths *worths)
{
	enum cmn_status status = replay_order_read(&replay->order, replay->fd, &replay->settings,
						   worths);

	if (status == CMN_OK) {
		build_order(replay);
		return;
	}
	(void)tool_fail(replay->settings.root, status);
	replay->failed = true;
}

bool replay_build(const struct replay_settings *settings, struct idle *idle, size_t jobs,
		  const struct cc_recipes_names *names, struct replay *ret)
{
	const struct replay_due *due;
	enum cmn_status status;
	int lock = -1;

	*ret = (struct replay){ .settings = *settings, .idle = idle, .of_pack = true, .fd = -1 };
	replay_workers_init(&ret->workers, jobs);
	status = cc_recipes_open(settings->root, &ret->fd);
	if (status == CMN_OK)
		status = cc_recipes_lock_before_background(ret->fd, &lock);
	if (status == CMN_OK) {
		for (size_t i = 0; i < names->count; i++)
			replay_order_add(&ret->order, ret->fd, settings, names->names[i], 0);
		build_order(ret);
		/* For these there was no time: whoever made them makes them again. */
		while (!ret->signal && (due = replay_order_next(&ret->order, NULL)))
			drop(ret, due->name);
		cc_root_unlock(lock);
	} else {
		tool_complain("%s: %s", settings->root, status == CMN_BUSY ?
			      "another ckcache replay is running" : cmn_status_string(status));
	}
	if (ret->fd >= 0)
		(void)close(ret->fd);	/* nothing was written through it */
	ret->late += ret->signal ? 0 : ret->order.count - ret->done;
	replay_workers_release(&ret->workers);
	replay_order_release(&ret->order);
	return status == CMN_OK && !ret->signal && !ret->failed;
}
