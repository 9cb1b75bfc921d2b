/* SPDX-License-Identifier: MIT */
/* prune_entries: one walk that chooses, an order, removals one by one. */
#include "tools/entries/prune_entries.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/disk/space/days.h"
#include "cachecore/record/recorder.h"
#include "common/clock.h"
#include "common/env.h"
#include "common/file.h"
#include "tools/explain/run_history.h"
#include "tools/json_output.h"
#include "tools/memory.h"
#include "tools/terminal.h"
#include "tools/text.h"

#define NS_PER_S UINT64_C(1000000000)
#define MAX_SECONDS (UINT64_C(36500) * 86400)
#define PIECE ((size_t)1 << 16)	/* bytes that are printed together */

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

bool prune_entries_check(const struct prune_request *request)
{
	uint64_t value;

	if (request->older_than && !parse_age(request->older_than, &value))
		tool_complain("--older-than: \"%s\" is no age, such as 30d, 12h, 5m or 90s",
			      request->older_than);
	else if (request->max_size && cmn_env_parse_bound(request->max_size, &value) != CMN_OK)
		tool_complain("--max-size: \"%s\" is no size with its unit, such as 2G", request->max_size);
	else if ((request->program && !*request->program) || (request->device && !*request->device))
		tool_complain("%s: an empty name is nobody's", request->verb);
	else
		return true;
	return false;
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
	pruning->used_before = pruning->max_size = UINT64_MAX;
	if (request->older_than && parse_age(request->older_than, &age))
		pruning->used_before = age * NS_PER_S < pruning->now_ns ? pruning->now_ns - age * NS_PER_S : 0;
	if (request->max_size)
		(void)!cmn_env_parse_bound(request->max_size, &pruning->max_size);	/* it was checked */
	if (request->program)
		status = run_history_load(cache->config.dir, cc_store_trust(cache->store),
					  &pruning->history);
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

	cc_entry_dir_file_path(one->place.entry_dir, CC_ENTRY_DIR_SRC, one->place.n, path);
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
	terminal_progress_hide();
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
		if (!pruning->request->json)
			append_line(&text, &pruning->all[i]);
		if (text.len >= PIECE || text.failed)
			code = tool_print(&text);
	}
	if (text.len && code == TOOL_OK)
		code = tool_print(&text);
	cmn_buffer_release(&text);
	return code;
}

static void note_removals(const struct tool_cache *cache, struct cc_removals *evicted)
{
	int fd = -1;

	if (cc_store_open_root(cache->store, &fd) != CMN_OK)
		fd = -1;
	cc_removals_write(evicted, fd);	/* frees it in any case */
	if (fd >= 0)
		(void)close(fd);	/* a directory: nothing to be lost */
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

int prune_entries(struct tool_cache *cache, const struct prune_request *request)
{
	struct pruning pruning = { .request = request };
	struct cc_removals evicted = { 0 };
	struct amount left = { 0 };
	struct removed removed = { .left = &left, .dry_run = request->dry_run };
	enum cmn_status status = find(cache, &pruning);
	int code = TOOL_OK;

	if (status != CMN_OK) {
		code = tool_fail(cache->config.dir, status);
		goto out;
	}
	if (request->dry_run) {
		code = list_them(&pruning, &removed.gone);
	} else {
		status = remove_them(cache, &pruning, &evicted, &removed.gone);
		note_removals(cache, &evicted);
	}
	if (status != CMN_OK)
		code = tool_fail(cache->config.dir, status);
	left = (struct amount){ pruning.seen.entries - removed.gone.entries,
				pruning.seen.bytes > removed.gone.bytes
				? pruning.seen.bytes - removed.gone.bytes : 0 };
	if (code == TOOL_OK || !request->dry_run)
		code = removed_print(&removed, request->json) == TOOL_OK ? code : TOOL_FAILED;
out:
	terminal_progress_hide();
	free(pruning.all);
	return code;
}
