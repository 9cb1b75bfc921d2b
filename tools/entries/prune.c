/* SPDX-License-Identifier: MIT */
/* prune: the verbs that remove entries: prune and clear; of chosen ones, one walk that chooses, an order, removals one by one. */
#include "tools/entries/entries.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/disk/entry_dir_walk.h"
#include "cachecore/disk/reuse.h"
#include "cachecore/disk/root.h"
#include "cachecore/disk/space/account.h"
#include "cachecore/disk/space/days.h"
#include "cachecore/disk/writer/recipes.h"
#include "cachecore/record/recorder.h"
#include "common/clock.h"
#include "common/env.h"
#include "common/file.h"
#include "tools/arguments.h"
#include "tools/explain/run_history.h"
#include "tools/json_output.h"
#include "tools/memory.h"
#include "tools/remote/remote.h"
#include "tools/text.h"
#include "tools/tool.h"

#define NS_PER_S UINT64_C(1000000000)
#define MAX_SECONDS (UINT64_C(36500) * 86400)

/*
 * program and device choose; of what they choose goes what was not used for older_than, then, least
 * recently used first, what is over max_size. Where neither is given, all that is chosen goes.
 */
struct prune_request {
	const char *verb;	/* for messages */
	bool clears;		/* the verb is clear: for the history */
	const char *program;	/* NULL: any; as far as the history knows whose entries are */
	const char *device;	/* a part of its name, in any case; NULL: any */
	const char *older_than;	/* "30d"; NULL: any age */
	const char *max_size;	/* "2G"; NULL: any size */
	bool dry_run, json;
};

struct chosen {
	struct cc_store_place place;
	uint64_t bytes, access_ns;
	uint64_t used_ns;	/* access_ns, by a right clock */
};

struct pruning {
	const struct prune_request *request;
	uint64_t used_before, max_size;	/* UINT64_MAX: not asked for */
	uint64_t now_ns;
	struct cc_days days;		/* of use */
	const struct run_history *history;
	struct chosen *all;
	size_t count;
	uint64_t chosen_bytes;
	struct amount seen;
};

/* "30d", "12h", "5m", "90s". */
static bool parse_age(const char *text, uint64_t *ret_seconds)
{
	static const struct {
		char unit;
		uint64_t seconds;
	} units[] = { { 'd', 86400 }, { 'h', 3600 }, { 'm', 60 }, { 's', 1 } };
	size_t len = strlen(text);
	char digits[24];
	uint64_t value;

	if (!len || len > sizeof(digits))
		return false;
	memcpy(digits, text, len - 1);
	digits[len - 1] = '\0';
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (text[len - 1] != units[i].unit)
			continue;
		if (cmn_env_parse_number(digits, 0, MAX_SECONDS / units[i].seconds, &value) != CMN_OK)
			return false;
		*ret_seconds = value * units[i].seconds;
		return true;
	}
	return false;
}

/* What age and size say; UINT64_MAX: not asked for. */
static void read_request(const struct prune_request *request, uint64_t *ret_age, uint64_t *ret_max_size)
{
	*ret_age = *ret_max_size = UINT64_MAX;
	if (request->older_than && !parse_age(request->older_than, ret_age))
		tool_refuse("--older-than: \"%s\" is no age, such as 30d, 12h, 5m or 90s", request->older_than);
	if (request->max_size && cmn_env_parse_bound(request->max_size, ret_max_size) != CMN_OK)
		tool_refuse("--max-size: \"%s\" is no size with its unit, such as 2G", request->max_size);
	if ((request->program && !*request->program) || (request->device && !*request->device))
		tool_refuse("%s: an empty name is nobody's", request->verb);
}

static uint64_t less(uint64_t before, uint64_t after)
{
	return before > after ? before - after : 0;
}

static bool is_of_device(struct cmn_view key, const char *wanted)
{
	struct cmn_view name = cc_key_find(key, "device.name", 0);
	char *text = memory_copy_view(name);
	bool is = strcasestr(text, wanted) != NULL;

	free(text);
	return is;
}

static bool choose(void *ctx, const struct cc_store_item *item)
{
	struct pruning *pruning = ctx;
	const struct prune_request *request = pruning->request;
	uint64_t used_ns = cc_days_date(&pruning->days, item->access_ns, pruning->now_ns);

	pruning->seen.entries++;
	pruning->seen.bytes += item->bytes;
	terminal_progress(request->verb, pruning->seen.entries, 0);
	if ((request->program &&
	     !run_history_came_for(pruning->history, item->path, request->program)) ||
	    (request->device && !is_of_device(item->key, request->device)))
		return true;
	/* Where age alone decides, this one stays: a million of them need no memory. */
	if (pruning->max_size == UINT64_MAX && pruning->used_before != UINT64_MAX &&
	    used_ns > pruning->used_before)
		return true;
	memory_grow(pruning->all, pruning->count);
	pruning->all[pruning->count++] = (struct chosen){
		*item->place, item->bytes, item->access_ns, used_ns,
	};
	pruning->chosen_bytes += item->bytes;
	return true;
}

static int by_use(const void *a, const void *b)
{
	const struct chosen *one = a, *two = b;

	if (one->used_ns != two->used_ns)
		return one->used_ns < two->used_ns ? -1 : 1;
	return strcmp(one->place.entry_dir, two->place.entry_dir);
}

/* Where this process's clock is ahead of the file system's, that one's. */
static void learn_times(struct tool_cache *cache, struct pruning *pruning)
{
	uint64_t files_ns;
	int fd;

	pruning->now_ns = cmn_clock_realtime();
	if (cc_store_open_root(cache->store, &fd) != CMN_OK)
		return;
	cc_days_load(&pruning->days, fd);
	files_ns = cache->config.read_only ? 0 : cmn_file_clock(fd);
	if (files_ns && files_ns < pruning->now_ns)
		pruning->now_ns = files_ns;
	(void)close(fd);	/* a directory: nothing to be lost */
}

static enum cmn_status find(struct tool_cache *cache, struct pruning *pruning)
{
	const struct prune_request *request = pruning->request;
	enum cmn_status status = CMN_OK;
	uint64_t age;

	learn_times(cache, pruning);
	read_request(request, &age, &pruning->max_size);
	pruning->used_before = age == UINT64_MAX ? age :
			       age * NS_PER_S < pruning->now_ns ? pruning->now_ns - age * NS_PER_S : 0;
	if (request->program)
		status = run_history_load(cache->store, &pruning->history);
	if (status == CMN_OK || status == CMN_MISS)
		status = cc_store_walk(cache->store, false, choose, pruning);
	if (pruning->count)
		qsort(pruning->all, pruning->count, sizeof(*pruning->all), by_use);
	return status == CMN_MISS ? CMN_OK : status;
}

/* Whether an entry goes, where so many bytes of what is chosen are left. */
static bool goes(const struct pruning *pruning, const struct chosen *one, uint64_t left)
{
	bool by_age = pruning->used_before != UINT64_MAX, by_size = pruning->max_size != UINT64_MAX;

	return (by_age && one->used_ns <= pruning->used_before) ||
	       (by_size && left > pruning->max_size) || (!by_age && !by_size);
}

static void append_line(struct cmn_buffer *text, const struct chosen *one)
{
	char path[CC_ENTRY_DIR_FILE_PATH_SIZE], size[TEXT_SIZE], date[TEXT_SIZE];

	(void)cc_entry_dir_file_path(one->place.entry_dir, CC_ENTRY_DIR_SRC, one->place.n, path);
	text_append_short_path(text, path);
	cmn_buffer_printf(text, " %10s  last used %s\n", text_bytes(one->bytes, size),
			  text_date(one->used_ns, false, date));
}

/* In order. The first failure that is not one entry's ends it. */
static enum cmn_status remove_them(struct tool_cache *cache, struct pruning *pruning,
				   struct cc_removals *evicted, struct amount *ret_gone)
{
	enum cc_removal_cause cause = pruning->request->clears ? CC_REMOVED_BY_CLEAR : CC_REMOVED_BY_PRUNE;
	uint64_t left = pruning->chosen_bytes, freed;
	enum cmn_status status, worst = CMN_OK;

	for (size_t i = 0; i < pruning->count; i++) {
		const struct chosen *one = &pruning->all[i];

		if (!goes(pruning, one, left))
			break;	/* in order of use: no later one goes either */
		terminal_progress(pruning->request->verb, i, pruning->count);
		status = cc_store_discard(cache->store, &one->place, one->access_ns, &freed);
		if (status == CMN_OK) {
			ret_gone->entries++;
			ret_gone->bytes += freed;
			cc_removals_add(evicted, cause, one->place.entry_dir);
		}
		if (status == CMN_OK || status == CMN_MISS)
			left -= one->bytes;
		else if (status != CMN_STALE)
			worst = status;
	}
	return worst;
}

/* The exit code. */
static int list_them(const struct pruning *pruning, struct amount *ret_gone)
{
	uint64_t left = pruning->chosen_bytes;
	struct cmn_buffer text = { 0 };
	int code = TOOL_OK;

	for (size_t i = 0; i < pruning->count && code == TOOL_OK; i++) {
		if (!goes(pruning, &pruning->all[i], left))
			break;
		ret_gone->entries++;
		ret_gone->bytes += pruning->all[i].bytes;
		left -= pruning->all[i].bytes;
		if (pruning->request->json)
			continue;
		append_line(&text, &pruning->all[i]);
		code = tool_print(&text);
	}
	return code;
}

static int print_json(const struct removed *removed)
{
	struct json_object *object = json_new_object();

	if (removed->dry_run)
		json_add_bool(object, "dry_run", true);
	json_add_number(object, "removed_entries", removed->gone.entries);
	json_add_number(object, "removed_bytes", removed->gone.bytes);
	if (removed->left) {
		json_add_number(object, "entries", removed->left->entries);
		json_add_number(object, "bytes", removed->left->bytes);
	}
	return json_print(object);
}

int removed_print(const struct removed *removed, bool json)
{
	struct cmn_buffer text = { 0 };
	char size[TEXT_SIZE];

	if (json)
		return print_json(removed);
	cmn_buffer_printf(&text, "%" PRIu64 " entries %s, %s", removed->gone.entries,
			  removed->dry_run ? "would be removed" : "removed",
			  text_bytes(removed->gone.bytes, size));
	if (removed->left)
		cmn_buffer_printf(&text, "; %" PRIu64 " left, %s", removed->left->entries,
				  text_bytes(removed->left->bytes, size));
	cmn_buffer_append_u8(&text, '\n');
	return tool_print(&text);
}

/* The exit code. An entry that is used meanwhile stays. */
static int prune_entries(struct tool_cache *cache, const struct prune_request *request)
{
	static struct pruning pruning;	/* until the command ends */
	struct cc_removals evicted = { 0 };
	struct amount left = { 0 };
	struct removed removed = { .left = &left, .dry_run = request->dry_run };
	enum cmn_status status;
	int code = TOOL_OK, root_fd = -1;

	pruning.request = request;
	status = find(cache, &pruning);
	terminal_progress_hide();
	if (status != CMN_OK)
		return tool_fail(cache->config.dir, status);
	if (request->dry_run) {
		code = list_them(&pruning, &removed.gone);
	} else {
		status = remove_them(cache, &pruning, &evicted, &removed.gone);
		if (cc_store_open_root(cache->store, &root_fd) != CMN_OK)
			root_fd = -1;
		cc_removals_write(&evicted, root_fd);	/* frees it in any case */
		if (root_fd >= 0)
			(void)close(root_fd);	/* a directory: nothing to be lost */
	}
	if (status != CMN_OK)
		code = tool_fail(cache->config.dir, status);
	left = (struct amount){ pruning.seen.entries - removed.gone.entries,
				less(pruning.seen.bytes, removed.gone.bytes) };
	if ((code == TOOL_OK || !request->dry_run) && removed_print(&removed, request->json) != TOOL_OK)
		code = TOOL_FAILED;
	return code;
}

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
	uint64_t unused;

	read_request(request, &unused, &unused);
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

	if (arguments_flag(arguments, "remote") && (conditions || request.dry_run))
		tool_refuse("prune: --remote goes with --max-size alone");
	if (arguments_flag(arguments, "remote"))
		return tier_prune(request.max_size, request.json);
	if (request.dry_run && !conditions && !request.max_size)
		tool_refuse("prune: --dry-run goes with --older-than, --max-size, --program or --device");
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
		status = cc_reuse_clear(cache->config.dir);
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
