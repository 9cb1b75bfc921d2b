/* SPDX-License-Identifier: MIT */
/* prune: the verbs that remove entries: prune and clear. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/disk/space/account.h"
#include "cachecore/record/recorder.h"
#include "cachecore/disk/nonce.h"
#include "cachecore/disk/writer/recipes.h"
#include "cachecore/disk/root.h"
#include "cachecore/disk/entry_dir_walk.h"
#include "cachecore/remote/address.h"
#include "common/env.h"
#include "tools/arguments.h"
#include "tools/entries/prune_entries.h"
#include "tools/memory.h"
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
	struct amount *amount = ctx;
	struct cc_entry_dir_scan scan;

	(void)root_fd;
	(void)path;
	if (cc_entry_dir_scan(entry_dir_fd, &scan) != CMN_OK)
		return CMN_OK;	/* removed meanwhile */
	for (unsigned int n = 0; n < CC_ENTRY_DIR_VARIANTS; n++) {
		if (!(scan.present[CC_ENTRY_DIR_SRC] >> n & 1))
			continue;
		amount->entries++;
		amount->bytes += cc_entry_dir_bytes(entry_dir_fd, n);
	}
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

/* The size that a tier's directory may have: as given, else by the attribute of its address. 0: complained about. */
static uint64_t tier_bound(const struct cc_address *address, const char *given)
{
	static const char attribute[] = "max-size=";
	uint64_t size;

	for (size_t i = 0; !given && i < address->attribute_count; i++) {
		if (strncmp(address->attributes[i], attribute, sizeof(attribute) - 1) == 0)
			given = address->attributes[i] + sizeof(attribute) - 1;
	}
	if (!given)
		tool_complain("prune: --max-size says which size may be left, or @max-size=SIZE in "
			      "CKCACHE_REMOTE");
	else if (cmn_env_parse_bound(given, &size) != CMN_OK || !size)
		tool_complain("prune: %s is no size with its unit, such as 50G", given);
	else
		return size;
	return 0;
}

/* Others evict by themselves. */
static int complain_of_scheme(const struct cc_address *address)
{
	struct cmn_buffer text = { 0 };
	char *shown;

	cc_address_show(address, &text);
	shown = memory_string(&text);
	tool_complain("%s: this server evicts by itself: %s", shown,
		      strncmp(address->scheme, "redis", 5) == 0
		      ? "set maxmemory and maxmemory-policy allkeys-lru there, or the attribute @ttl here"
		      : "bound its storage there");
	free(shown);
	return TOOL_FAILED;
}

static int prune_directory(const struct cc_address *address, const char *given, bool json)
{
	uint64_t bound = tier_bound(address, given);
	char *directory = bound ? tier_prune_directory(address) : NULL;
	struct removed removed;
	struct amount left;
	struct tier_pruned pruned;
	int code;
	bool done;

	if (!bound)
		return TOOL_USAGE;
	if (!directory) {
		tool_complain("prune: the URL must be file:/absolute/directory");
		return TOOL_FAILED;
	}
	done = tier_prune(directory, bound, &pruned);
	free(directory);
	if (!done && !pruned.left && !pruned.removed)
		return TOOL_FAILED;	/* it is not there */
	left = (struct amount){ pruned.left, pruned.left_bytes };
	removed = (struct removed){ { pruned.removed, pruned.removed_bytes }, &left, false };
	code = removed_print(&removed, json);
	return done ? code : TOOL_FAILED;
}

/* Needs no cache on this machine. */
static int prune_remote(const char *given, bool json)
{
	struct cc_config config;
	struct cc_address address;
	const char *problem = "no remote tier is set (CKCACHE_REMOTE)";
	int code = TOOL_FAILED;

	tool_load_config(&config);
	if (!config.remote || cc_address_parse(config.remote, &address, &problem) != CMN_OK) {
		tool_complain("%s", problem);
	} else {
		if (strcmp(address.scheme, "file") != 0)
			code = complain_of_scheme(&address);
		else if (address.read_only || config.read_only)
			tool_complain("the remote tier is read-only");
		else
			code = prune_directory(&address, given, json);
		cc_address_release(&address);
	}
	cc_config_release(&config);
	return code;
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
	struct tool_cache *cache;

	if (arguments_flag(arguments, "remote") && (conditions || request.dry_run)) {
		tool_complain("prune: --remote goes with --max-size alone");
		return TOOL_USAGE;
	}
	if (arguments_flag(arguments, "remote"))
		return prune_remote(request.max_size, request.json);
	if (request.dry_run && !conditions && !request.max_size) {
		tool_complain("prune: --dry-run goes with --older-than, --max-size, --program or --device");
		return TOOL_USAGE;
	}
	if (!prune_entries_check(&request))
		return TOOL_USAGE;
	cache = tool_open();
	if (!request.dry_run && !tool_may_write(cache))
		return TOOL_FAILED;
	return conditions || request.max_size ? prune_entries(cache, &request) :
						prune_by_settings(cache, request.json);
}

/*
 * A writer that is at an entry directory is waited for: its entry goes too. CMN_BUSY also: the account stays
 * locked, and is too high by this entry directory until the next eviction counts.
 */
static enum cmn_status clear_entry_dir(void *ctx, int root_fd, const char *path, int entry_dir_fd)
{
	enum cmn_status status = cc_entry_dir_lock(entry_dir_fd, tool_lock_until()), counted = CMN_OK;
	struct amount *removed = ctx;
	struct cc_entry_dir_scan scan;
	uint64_t all = 0;

	if (status == CMN_MISS)
		return CMN_OK;	/* another process was faster */
	if (status != CMN_OK && status != CMN_ERR_IO)
		return status;
	if (cc_entry_dir_scan(entry_dir_fd, &scan) != CMN_OK)
		scan = (struct cc_entry_dir_scan){ 0 };
	for (unsigned int n = 0; n < CC_ENTRY_DIR_VARIANTS; n++) {
		uint64_t freed = cc_entry_dir_remove(entry_dir_fd, n);

		/* Neither half an entry counts nor one that stays. */
		removed->entries += (scan.present[CC_ENTRY_DIR_SRC] >> n & 1) && freed;
		removed->bytes += freed;
		if (scan.present[CC_ENTRY_DIR_SRC] >> n & 1)
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
	struct tool_cache *cache;

	if (!prune_entries_check(&request))
		return TOOL_USAGE;
	cache = tool_open();
	if (!request.dry_run && !tool_may_write(cache))
		return TOOL_FAILED;
	return request.program || request.dry_run ? prune_entries(cache, &request) :
						    clear_all(cache, request.json);
}
