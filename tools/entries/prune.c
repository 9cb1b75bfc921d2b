/* SPDX-License-Identifier: MIT */
/* prune: the verbs that remove entries: prune and clear. */
#include <unistd.h>

#include "cachecore/disk/space/account.h"
#include "cachecore/record/recorder.h"
#include "cachecore/disk/nonce.h"
#include "cachecore/disk/writer/recipes.h"
#include "cachecore/disk/root.h"
#include "cachecore/disk/entry_dir_walk.h"
#include "tools/arguments.h"
#include "tools/entries/prune_entries.h"
#include "tools/remote/tier_prune.h"
#include "tools/terminal.h"
#include "tools/tool.h"

/* The exit code, with a complaint where there is something to complain about. */
static int finish(const struct tool_cache *cache, enum cmn_status status)
{
	if (status == CMN_OK)
		return TOOL_OK;
	if (status != CMN_STALE)
		return tool_fail(cache->config.dir, status);
	tool_complain("%s: not enough could be removed", cache->config.dir);
	return TOOL_FAILED;
}

static enum cmn_status count_entry_dir(void *ctx, int root_fd, const char *path, int entry_dir_fd)
{
	uint64_t entries = tool_entries_in(entry_dir_fd);
	struct amount *amount = ctx;

	(void)root_fd;
	(void)path;
	for (; entries; amount->entries++)
		amount->bytes += cc_entry_dir_bytes(entry_dir_fd, tool_next_entry(&entries));
	return CMN_OK;
}

static enum cmn_status count_root(const char *root, struct amount *ret)
{
	enum cmn_status status;
	int fd = -1;

	*ret = (struct amount){ 0 };
	status = cc_root_open(root, &fd);
	if (status != CMN_OK)
		return status == CMN_MISS ? CMN_OK : status;
	status = cc_entry_dir_walk(fd, false, count_entry_dir, ret);
	(void)close(fd);	/* read only */
	return status;
}

static uint64_t less(uint64_t before, uint64_t after)
{
	return before > after ? before - after : 0;
}

/* cc_clean_watch */
static void show_pruning(void *ctx)
{
	uint64_t *count = ctx;

	terminal_progress("prune", ++*count, 0);
}

/* What the cache does by itself, now. */
static int prune_by_settings(struct tool_cache *cache, bool json)
{
	struct amount before, after;
	struct removed removed = { .left = &after };
	uint64_t count = 0;
	const struct cc_clean_watch watch = { .show = show_pruning, .ctx = &count };
	enum cmn_status status = count_root(cache->config.dir, &before);
	int code;

	if (status == CMN_OK)
		status = cc_store_clean(cache->store, &watch);
	terminal_progress_hide();
	code = finish(cache, status);
	/* Of one that could not remove enough, too. */
	if ((status == CMN_OK || status == CMN_STALE) &&
	    count_root(cache->config.dir, &after) == CMN_OK) {
		removed.gone = (struct amount){ less(before.entries, after.entries),
						less(before.bytes, after.bytes) };
		if (removed_print(&removed, json) != TOOL_OK)
			code = TOOL_FAILED;
	}
	return code;
}

typedef int whole_function(struct tool_cache *cache, bool json);

/* whole: what is done with the cache as a whole; NULL: entries are chosen. */
static int prune_or_clear(const struct prune_request *request, whole_function *whole)
{
	struct tool_cache *cache;

	if (!prune_entries_check(request))
		return TOOL_USAGE;
	cache = tool_open();
	if (!request->dry_run && !tool_may_write(cache))
		return TOOL_FAILED;
	return whole ? whole(cache, request->json) : prune_entries(cache, request);
}

verb_function verb_prune;

int verb_prune(const struct arguments *arguments)
{
	const struct prune_request request = {
		.verb = "prune",
		.program = arguments_text(arguments, "program"),
		.device = arguments_text(arguments, "device"),
		.older_than = arguments_text(arguments, "older-than"),
		.max_size = arguments_text(arguments, "max-size"),
		.dry_run = arguments_flag(arguments, "dry-run"),
		.json = arguments_flag(arguments, "json"),
	};
	bool conditions = request.program || request.device || request.older_than;

	if (arguments_flag(arguments, "remote") && (conditions || request.dry_run)) {
		tool_complain("prune: --remote goes with --max-size alone");
		return TOOL_USAGE;
	}
	if (arguments_flag(arguments, "remote"))
		return tier_prune(request.max_size, request.json);
	if (request.dry_run && !conditions && !request.max_size) {
		tool_complain("prune: --dry-run goes with --older-than, --max-size, --program or --device");
		return TOOL_USAGE;
	}
	return prune_or_clear(&request, conditions || request.max_size ? NULL : prune_by_settings);
}

/*
 * A writer that is at an entry directory is waited for: its entry goes too. CMN_BUSY also: the account stays
 * locked, and is too high by this entry directory until the next eviction counts.
 */
static enum cmn_status clear_entry_dir(void *ctx, int root_fd, const char *path, int entry_dir_fd)
{
	enum cmn_status status = cc_entry_dir_lock(entry_dir_fd, tool_lock_until()), counted = CMN_OK;
	struct amount *removed = ctx;
	uint64_t all = 0, entries;

	if (status == CMN_MISS)
		return CMN_OK;	/* another process was faster */
	if (status != CMN_OK && status != CMN_ERR_IO)
		return status;
	entries = tool_entries_in(entry_dir_fd);
	for (unsigned int n = 0; n < CC_ENTRY_DIR_VARIANTS; n++) {
		uint64_t freed = cc_entry_dir_remove(entry_dir_fd, n);

		/* Neither half an entry counts nor one that stays. */
		removed->entries += (entries >> n & 1) && freed;
		removed->bytes += freed;
		if (entries >> n & 1)
			all += freed;
	}
	/* Before others may count here. */
	if (all)
		counted = cc_account_add(root_fd, -(int64_t)all, tool_lock_until());
	cc_entry_dir_sweep(entry_dir_fd, status == CMN_OK);
	cc_entry_dir_prune(root_fd, path);
	terminal_progress("clear", removed->entries, 0);
	/* Waiting as long at each entry directory would take hours. */
	return counted == CMN_BUSY ? CMN_BUSY : CMN_OK;
}

static enum cmn_status clear_root(const char *root, struct amount *removed)
{
	struct cc_account_mark before;
	enum cmn_status status;
	uint64_t left = 0;
	int fd = -1;
	bool busy;

	status = cc_root_open(root, &fd);
	if (status == CMN_MISS)
		return CMN_OK;
	if (status != CMN_OK)
		return status;
	status = cc_entry_dir_walk(fd, true, clear_entry_dir, removed);
	/* What killed writers left in the account. */
	if (status == CMN_OK) {
		cc_account_mark(fd, &before);
		status = cc_account_count(fd, &left, &busy);
		if (status == CMN_OK)
			status = cc_account_correct(fd, &before, left, busy, tool_lock_until(), &left);
	}
	cc_root_unlock(fd);
	return status;
}

/* Everything, also what is no entry. */
static int clear_all(struct tool_cache *cache, bool json)
{
	struct removed removed = { 0 };
	enum cmn_status status = clear_root(cache->config.dir, &removed.gone);
	int code;

	if (status == CMN_OK)
		status = cc_recipes_clear(cache->config.dir);
	if (status == CMN_OK)
		status = cc_nonce_clear(cache->config.dir);
	if (status == CMN_OK && removed.gone.entries)
		cc_recorder_note_cleared(cache->config.dir);
	code = finish(cache, status);
	return removed_print(&removed, json) == TOOL_OK ? code : TOOL_FAILED;
}

verb_function verb_clear;

int verb_clear(const struct arguments *arguments)
{
	const struct prune_request request = {
		.verb = "clear",
		.clears = true,
		.program = arguments_text(arguments, "program"),
		.dry_run = arguments_flag(arguments, "dry-run"),
		.json = arguments_flag(arguments, "json"),
	};

	return prune_or_clear(&request, request.program || request.dry_run ? NULL : clear_all);
}
