/* SPDX-License-Identifier: MIT */
/* replay_verb: `ckcache replay`: what is due, with --stale in which order, and what is said of it. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "cachecore/disk/writer/background.h"
#include "common/clock.h"
#include "common/spawn.h"
#include "tools/arguments.h"
#include "tools/json_output.h"
#include "tools/replay/replay.h"
#include "tools/replay/waiting.h"

#define TIMEOUT_S 600

struct call {
	struct replay replay;
	struct replay_stale stale;	/* zeros without --stale */
	struct confine confine;		/* of workers for what no program here is known to have asked for */
	char *scratch;
	bool with_stale, json, background;
	int lock;			/* of background.h; -1: another process may have it */
};

/* What a driver update made useless, and what is due anyway; links when what they need is there. */
static bool build_stale(struct call *call)
{
	struct replay_stale *stale = &call->stale;
	struct replay *replay = &call->replay;
	bool (*const record[])(struct replay_stale *stale, size_t *ret_count) = {
		replay_stale_record, replay_stale_record_links,
	};
	bool over = false;

	for (size_t i = 0; i < sizeof(record) / sizeof(record[0]) && !replay->signal && !over; i++) {
		size_t count;

		do {
			if (!record[i](stale, &count))
				return false;
			replay_all(replay, &stale->worths);
			/* Recipes that are not built now would take the place of others. */
			over = !idle_lets_begin(replay->idle);
		} while (count && !replay->signal && !over);
	}
	if (!replay->signal)
		replay_stale_remove(stale);
	return true;
}

static int print(const struct call *call)
{
	const struct replay_stale *stale = &call->stale;
	const struct replay *replay = &call->replay;
	const struct {
		const char *name, *text;
		unsigned long long count;
	} rows[] = {
		{ "stale", "entries of old drivers", stale->recorded },
		{ "built", "built", replay->built },
		{ "there", "already there", replay->there },
		{ "outdated", "outdated", replay->outdated },
		{ "outdated_changed", "  a file has changed", replay->changed },
		{ "outdated_gone", "  a file is gone", replay->gone },
		{ "outdated_driver", "  the driver has changed", replay->other },
		{ "unwanted", "size excluded", replay->unwanted },
		{ "absent", "device absent", replay->absent },
		{ "inputs_absent", "linked of what is gone", replay->inputs },
		{ "failed", "failed", replay->wrong },
		{ "quarantined", "of these, quarantined", replay->quarantined },
		{ "damaged", "damaged", replay->damaged },
		{ "left_device", "left: device absent", stale->left[REPLAY_LEFT_DEVICE] },
		{ "left_sub_device", "left: sub-device", stale->left[REPLAY_LEFT_SUB_DEVICE] },
		{ "left_kind", "left: unknown kind", stale->left[REPLAY_LEFT_KIND] },
		{ "left_input", "left: inputs not there", stale->left[REPLAY_LEFT_INPUT] },
		{ "left_directory", "left: directory unknown", stale->left[REPLAY_LEFT_DIRECTORY] },
		{ "left_size", "left: too large", stale->left[REPLAY_LEFT_SIZE] },
		{ "removed", "old entries removed", stale->removed },
		{ "postponed", "left for the next time", replay->order.count - replay->done },
	};
	struct json_object *object = call->json ? json_new_object() : NULL;
	struct cmn_buffer text = { 0 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (call->json)
			json_add_number(object, rows[i].name, rows[i].count);
		else if (rows[i].count || strcmp(rows[i].name, "built") == 0)
			cmn_buffer_printf(&text, "%-24s %14llu\n", rows[i].text, rows[i].count);
	}
	return call->json ? json_print(object) : tool_print(&text);
}

static bool note_one(void *ctx, const struct cc_store_item *item)
{
	(void)item;
	*(bool *)ctx = true;
	return false;
}

/* Without any, nothing can be stale, and no driver need be asked. */
static bool has_entries(struct cc_store *store)
{
	bool has = false;

	/* What cannot be read is complained about later. */
	return cc_store_walk(store, false, note_one, &has) != CMN_OK || has;
}

/* Where the kernel can. Without it they build as they did for whoever had asked. */
static void confine_strangers(struct call *call)
{
	struct replay_settings *settings = &call->replay.settings;

	if (!confine_is_possible())
		return;
	present_confine(&call->stale.present, settings->root, call->scratch, &call->confine);
	settings->confine = &call->confine;
	settings->scratch = call->scratch;
}

/* Since it was read last. */
static bool has_changed(const struct stat *now, const struct stat *before)
{
	const struct cc_file_identity a = cc_file_identity_of(now), b = cc_file_identity_of(before);

	return !cc_file_identity_equal(&a, &b);
}

/*
 * Whether something changed in the directory, which was like that when it was read last, before
 * nothing had for a while. A signal to this process ends it.
 */
static bool wait_for_more(struct replay *replay, const struct stat *before)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };	/* blocked (child.h) */
	const struct timespec pause = { .tv_sec = 1 };
	struct stat now;
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
		(void)sigaddset(&set, ending[i]);
	for (int i = 0; i < CC_BACKGROUND_LINGER_S; i++) {
		int number = sigtimedwait(&set, NULL, &pause);

		if (number > 0)
			replay->signal = number;
		/* The root is gone, with its directories; or there is no time for more. */
		if (number > 0 || fstat(replay->fd, &now) < 0 || !now.st_nlink || !idle_lets_begin(replay->idle))
			return false;
		if (has_changed(&now, before))
			return true;
	}
	return false;
}

/* Gives the lock back. Whoever left something since the last look found it taken: then it is taken again. */
static bool is_needed_still(struct call *call, const struct stat *before)
{
	struct stat now;

	cc_root_unlock(call->lock);
	call->lock = -1;
	return fstat(call->replay.fd, &now) == 0 && has_changed(&now, before) &&
	       idle_lets_begin(call->replay.idle) &&
	       cc_recipes_lock_background(call->replay.fd, &call->lock) == CMN_OK;
}

static void build_in_background(struct call *call)
{
	static const struct replay_worths none;
	struct replay *replay = &call->replay;
	bool more = true;

	while (more && !replay->signal && !replay->failed) {
		size_t known = replay->order.count;
		struct stat before;
		int lock;

		more = fstat(replay->fd, &before) == 0;
		/* Whoever has it builds the same; what that leaves is built later. */
		if (more && cc_recipes_lock(replay->fd, &lock) == CMN_OK) {
			replay_all(replay, &none);
			cc_root_unlock(lock);
		}
		more = more && !replay->signal &&
		       (replay->order.count > known || wait_for_more(replay, &before) ||
			is_needed_still(call, &before));
	}
}

/* With the lock, in a directory where nothing is. */
static void run(struct call *call, struct cc_store *store)
{
	static const struct replay_worths none;
	struct replay *replay = &call->replay;
	uint64_t began = cmn_clock_realtime();

	child_begin(CHILD_WORKERS);
	child_over();	/* nothing is to be cleared up */
	if (call->background) {
		build_in_background(call);
		return;
	}
	if (!call->with_stale || !has_entries(store)) {
		replay_all(replay, &none);
		return;
	}
	if (!replay_stale_begin(&replay->settings, store, &call->stale, &replay->signal)) {
		replay->failed = true;
		return;
	}
	confine_strangers(call);
	if (!build_stale(call))
		replay->failed = true;
	/* Without a device, or where there was no time for all, somebody is still to look. */
	else if (call->stale.present.count && !replay->signal && idle_lets_begin(replay->idle))
		waiting_note_look(replay->fd, began);
}

static void run_in_scratch(struct call *call, struct cc_store *store)
{
	char *directory = getcwd(NULL, 0);

	call->scratch = tool_make_scratch();
	call->replay.settings.directory = directory;
	if (call->scratch && chdir(call->scratch) == 0) {
		run(call, store);
		(void)!chdir("/");	/* this process looks for nothing any more */
	} else {
		call->replay.failed = true;
	}
	tool_remove_scratch(call->scratch);
	confine_release(&call->confine);
	free(directory);
}

/* With the lock of background.h, which whoever started this has handed over. */
static int run_background(struct call *call, struct cc_store *store)
{
	call->lock = CMN_SPAWN_KEPT_FD;
	if (cc_recipes_is_background_lock(call->replay.fd, call->lock))
		(void)fcntl(call->lock, F_SETFD, FD_CLOEXEC);	/* it is open; no worker is to have it */
	else if (cc_recipes_lock_background(call->replay.fd, &call->lock) != CMN_OK)
		return TOOL_OK;
	run_in_scratch(call, store);
	if (call->lock >= 0)
		cc_root_unlock(call->lock);
	return TOOL_OK;
}

static int run_locked(struct call *call, struct cc_store *store)
{
	struct replay *replay = &call->replay;
	int lock, code;
	enum cmn_status status = cc_recipes_lock_before_background(replay->fd, &lock);

	if (status != CMN_OK) {
		tool_complain("%s: %s", replay->settings.root, status == CMN_BUSY ?
			      "another ckcache replay is running" : cmn_status_string(status));
		return TOOL_FAILED;
	}
	run_in_scratch(call, store);
	cc_root_unlock(lock);
	code = print(call);
	if (replay->signal) {
		child_end_by(replay->signal);
		return 128 + replay->signal;
	}
	return replay->failed || replay->wrong ? TOOL_FAILED : code;
}

static int replay_cache(struct call *call, const struct tool_cache *cache)
{
	struct replay *replay = &call->replay;
	enum cmn_status status;
	int code = TOOL_FAILED;

	replay->settings.root = cache->config.dir;
	replay->settings.layer = replay_find_layer();
	if (!tool_may_write(cache))
		return TOOL_FAILED;
	replay_workers_init(&replay->workers, replay->job_count);
	status = call->with_stale ? cc_recipes_make(cache->config.dir, &replay->fd) :
			 cc_recipes_open(cache->config.dir, &replay->fd);
	if (status == CMN_MISS) {
		code = call->background ? TOOL_OK : print(call);
	} else if (status != CMN_OK) {
		code = tool_fail(cache->config.dir, status);
	} else {
		code = call->background ? run_background(call, cache->store) :
					  run_locked(call, cache->store);
		(void)close(replay->fd);	/* nothing was written through it */
	}
	replay_workers_release(&replay->workers);
	return code;
}

verb_function verb_replay;

int verb_replay(const struct arguments *arguments)
{
	static struct call call;	/* until the command ends */
	struct idle idle;

	call.replay = (struct replay){
		.fd = -1, .idle = &idle, .gives_way = arguments_flag(arguments, "background"),
		.settings.idle = arguments_flag(arguments, "idle") || arguments_flag(arguments, "background"),
		.settings.timeout_ns = (uint64_t)arguments_number(arguments, "timeout", TIMEOUT_S) *
				       UINT64_C(1000000000),
		.settings.program = arguments_text(arguments, "program"),
	};
	call.with_stale = arguments_flag(arguments, "stale");
	call.json = arguments_flag(arguments, "json");
	call.background = call.replay.gives_way;
	if (call.background && (call.with_stale || call.json))
		tool_refuse("replay: --background goes with neither --stale nor --json");
	idle_init(&idle, call.replay.settings.idle, arguments_number(arguments, "budget", 0));
	call.replay.job_count = arguments_number(arguments, "jobs", call.background ? 1 : waiting_jobs());
	if (call.background && (idle.on_battery || idle_is_limited("/proc/self/cgroup", "/sys/fs/cgroup")))
		return TOOL_OK;
	if (idle.on_battery) {
		tool_complain("on battery power: nothing is built");
		return print(&call);
	}
	return replay_cache(&call, tool_open());
}
