/* SPDX-License-Identifier: MIT */
/*
 * recompress: stores entries at another level of compression: first all are tried, and what that
 * gains is shown; then those that change are written.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/disk/space/clean.h"
#include "layers/shared/driver/drivers.h"
#include "tools/arguments.h"
#include "tools/json_output.h"
#include "tools/memory.h"
#include "tools/text.h"
#include "tools/tool.h"

struct item {
	struct cc_store_place place;
	unsigned int load_rate;
};

struct recompressing {
	struct item *items;	/* after the trial: those that are to change */
	size_t count;
	int level;
	uint64_t entries, bytes;
	uint64_t left_out;	/* damaged, or of another version */
	int64_t expected;	/* change of bytes */
	uint64_t changed;
	int64_t change;
};

static int parse_level(const char *text)
{
	/* The second is ccache's word. */
	if (strcmp(text, "none") == 0 || strcmp(text, "uncompressed") == 0)
		return CC_COMPRESSION_NONE;
	if (strcmp(text, "auto") == 0)
		return CC_COMPRESSION_AUTO;
	if (text[0] < '1' || text[0] > '9' || text[1])
		tool_refuse("recompress: \"%s\" is no level: none, auto, or 1 to 9", text);
	return text[0] - '0';
}

/*
 * The time that the driver of an OpenCL program takes to load it, as the layer has it when it
 * stores the entry: nothing is known of compiled objects, nor of Level Zero's drivers.
 */
static unsigned int load_rate_of(struct cmn_view key)
{
	struct cmn_view kind = cc_key_find(key, "kind", 0), path, version;
	bool object = kind.len >= 7 && memcmp(kind.data, "compile", 7) == 0;
	unsigned int rate = 0;

	version = cc_key_find(key, "device.driver_version", 0);
	for (unsigned int i = 0; !object && !rate && (path = cc_key_find(key, "driver.path", i)).len; i++) {
		char *name = memory_copy_view(path), *text = memory_copy_view(version);

		rate = drv_driver_at(drv_driver_of(name), text)->load_rate;
		free(name);
		free(text);
	}
	return rate;
}

static bool add_item(void *ctx, const struct cc_store_item *item)
{
	struct recompressing *all = ctx;

	memory_grow(all->items, all->count);
	all->items[all->count++] = (struct item){ *item->place, load_rate_of(item->key) };
	all->entries++;
	all->bytes += item->bytes;
	return true;
}

/* Of one entry. CMN_OK also where it stays as it is, for a reason of its own. */
static enum cmn_status do_one(struct tool_cache *cache, struct recompressing *all, size_t i,
			      bool dry_run, bool *ret_changed)
{
	const struct cc_recompression how = { all->level, all->items[i].load_rate, dry_run };
	int64_t change = 0;
	enum cmn_status status = cc_store_recompress(cache->store, &all->items[i].place, &how, &change);

	*ret_changed = status == CMN_OK;
	if (status == CMN_OK && dry_run)
		all->expected += change;
	else if (status == CMN_OK)
		all->change += change;
	switch (status) {
	case CMN_STALE:
	case CMN_MISS:
		return CMN_OK;
	case CMN_ERR_CORRUPT:
	case CMN_ERR_VERSION:
		all->left_out++;
		return CMN_OK;
	default:
		return status;
	}
}

/* Leaves in items those that would change. */
static enum cmn_status try_all(struct tool_cache *cache, struct recompressing *all)
{
	enum cmn_status status = cc_store_walk(cache->store, false, add_item, all);
	size_t kept = 0;
	bool changes;

	for (size_t i = 0; status == CMN_OK && i < all->count; i++) {
		terminal_progress("try", i, all->count);
		status = do_one(cache, all, i, true, &changes);
		if (status == CMN_ERR_ACCESS) {	/* not readable, or not trusted */
			all->left_out++;
			status = CMN_OK;
		}
		if (changes)
			all->items[kept++] = all->items[i];
	}
	all->count = kept;
	return status;
}

/* Where the account is lost, nothing could be made larger. Only counts: it evicts nothing. */
static void count(struct tool_cache *cache)
{
	struct cc_config config = cache->config;	/* borrows */
	int fd = -1;

	config.eviction_disable = true;
	if (cc_store_open_root(cache->store, &fd) != CMN_OK)
		return;
	(void)!cc_clean(fd, &config, NULL);	/* what it cannot count now is told where it matters */
	(void)close(fd);	/* a directory: nothing to be lost */
}

/* What one entry's lock or size hinders, others may do. */
static enum cmn_status change_all(struct tool_cache *cache, struct recompressing *all)
{
	enum cmn_status status, worst = CMN_OK;
	bool changed;

	if (all->count)
		count(cache);
	for (size_t i = 0; i < all->count; i++) {
		terminal_progress("recompress", i, all->count);
		status = do_one(cache, all, i, false, &changed);
		all->changed += changed;
		if (status != CMN_OK)
			worst = status;
		if (status == CMN_ERR_NOSPACE || status == CMN_ERR_NOMEM)
			break;
	}
	return worst;
}

static uint64_t after(const struct recompressing *all, int64_t change)
{
	int64_t bytes = (int64_t)all->bytes + change;

	return bytes > 0 ? (uint64_t)bytes : 0;
}

static int print_gain(const struct recompressing *all)
{
	uint64_t bytes = after(all, all->expected);
	char size[TEXT_SIZE], now[TEXT_SIZE], difference[TEXT_SIZE];
	struct cmn_buffer text = { 0 };

	cmn_buffer_printf(&text, "%zu of %" PRIu64 " entries would change: %s now, %s then, %s %s\n",
			  all->count, all->entries, text_bytes(all->bytes, now), text_bytes(bytes, size),
			  text_bytes(bytes > all->bytes ? bytes - all->bytes : all->bytes - bytes,
				     difference), bytes > all->bytes ? "more" : "less");
	if (all->left_out)
		cmn_buffer_printf(&text, "%" PRIu64 " left as they are: damaged, or of another version\n",
				  all->left_out);
	return tool_print(&text);
}

static int print_done(const struct recompressing *all)
{
	uint64_t bytes = after(all, all->change);
	char size[TEXT_SIZE];
	struct cmn_buffer text = { 0 };

	cmn_buffer_printf(&text, "%" PRIu64 " entries changed, %s %s\n", all->changed,
			  text_bytes(bytes > all->bytes ? bytes - all->bytes : all->bytes - bytes, size),
			  bytes > all->bytes ? "more" : "freed");
	return tool_print(&text);
}

static int print_json(const struct recompressing *all, bool dry_run)
{
	struct json_object *object = json_new_object();

	json_add_bool(object, "dry_run", dry_run);
	json_add_number(object, "entries", all->entries);
	json_add_number(object, "bytes_before", all->bytes);
	json_add_number(object, "to_change", all->count);
	json_add_number(object, "bytes_expected", after(all, all->expected));
	json_add_number(object, "changed", all->changed);
	json_add_number(object, "bytes", after(all, all->change));
	json_add_number(object, "left_out", all->left_out);
	return json_print(object);
}

/* The exit code. */
static int recompress(struct tool_cache *cache, struct recompressing *all, bool dry_run, bool json)
{
	enum cmn_status status = try_all(cache, all);
	int code = TOOL_OK;

	if (status == CMN_OK && !json)
		code = print_gain(all);
	/* A reader that has left has not seen what would follow. */
	if (status == CMN_OK && code == TOOL_OK && !dry_run) {
		status = change_all(cache, all);
		if (!json)
			code = print_done(all);
	}
	if (status == CMN_ERR_TOO_LARGE)
		tool_complain("%s: more would not fit into max_size", cache->config.dir);
	else if (status != CMN_OK)
		(void)tool_fail(cache->config.dir, status);
	if (json && print_json(all, dry_run) != TOOL_OK)
		code = TOOL_FAILED;
	return status == CMN_OK ? code : TOOL_FAILED;
}

verb_function verb_recompress;

int verb_recompress(const struct arguments *arguments)
{
	bool dry_run = arguments_flag(arguments, "dry-run"), json = arguments_flag(arguments, "json");
	struct recompressing all = { 0 };
	struct tool_cache *cache;
	int code = TOOL_FAILED;

	if (arguments->operand)
		all.level = parse_level(arguments->operand);
	cache = tool_open();
	if (!arguments->operand)
		all.level = cache->config.compression;
	if (dry_run || tool_may_write(cache))
		code = recompress(cache, &all, dry_run, json);
	free(all.items);
	return code;
}
