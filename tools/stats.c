/* SPDX-License-Identifier: MIT */
/* stats: counts from the root's file, entries and bytes from its entries. */
#include "cachecore/stats.h"

#include <stdio.h>
#include <string.h>

#include "cachecore/recipes.h"
#include "common/json.h"
#include "tools/tool.h"

/* What the file cannot say. */
struct holdings {
	uint64_t entries;
	uint64_t bytes;
	uint64_t damaged;
	struct cc_recipes_count recipes;
};

static bool add_item(void *ctx, const struct cc_store_item *item)
{
	struct holdings *holdings = ctx;

	holdings->bytes += item->bytes;
	if (item->status == CMN_OK)
		holdings->entries++;
	else
		holdings->damaged++;
	return true;
}

static void append_row(struct cmn_buffer *text, const char *name, uint64_t value)
{
	cmn_buffer_printf(text, "%-24s %14llu\n", name, (unsigned long long)value);
}

static void append_ms_row(struct cmn_buffer *text, const char *name, uint64_t ns)
{
	cmn_buffer_printf(text, "%-24s %18.3f\n", name, (double)ns / 1e6);
}

static void format_plain(const struct cc_stats *stats, const struct holdings *holdings,
			 const char *root, struct cmn_buffer *text)
{
	const char *reason;
	uint64_t count;

	cmn_buffer_printf(text, "%-24s %s\n", "directory", root);
	append_row(text, "hits in memory", cc_stats_get(stats, CC_HITS_MEMORY));
	append_row(text, "hits on disk", cc_stats_get(stats, CC_HITS_DISK));
	append_row(text, "misses", cc_stats_get(stats, CC_MISSES));
	append_row(text, "deferred", cc_stats_get(stats, CC_DEFERRED));
	append_row(text, "stores", cc_stats_get(stats, CC_STORES));
	append_row(text, "errors", cc_stats_get(stats, CC_ERRORS));
	for (unsigned int i = 0; (reason = cc_stats_bypass_at(stats, i, &count)); i++) {
		char name[80];

		(void)snprintf(name, sizeof(name), "bypassed, %s", reason);
		append_row(text, name, count);
	}
	append_ms_row(text, "compile ms spent", cc_stats_get(stats, CC_COMPILE_NS_SPENT));
	append_ms_row(text, "compile ms saved", cc_stats_get(stats, CC_COMPILE_NS_SAVED));
	append_row(text, "entries", holdings->entries);
	if (holdings->damaged)
		append_row(text, "damaged entries", holdings->damaged);
	append_row(text, "bytes", holdings->bytes);
	append_row(text, "to be replayed", holdings->recipes.recipes);
	if (holdings->recipes.quarantined)
		append_row(text, "quarantined", holdings->recipes.quarantined);
}

static void append_member(struct cmn_buffer *text, const char *name, uint64_t value)
{
	cmn_buffer_printf(text, "  \"%s\": %llu,\n", name, (unsigned long long)value);
}

static void append_bypasses(struct cmn_buffer *text, const struct cc_stats *stats)
{
	const char *reason;
	uint64_t count;

	cmn_buffer_append_text(text, "  \"bypasses\": {");
	for (unsigned int i = 0; (reason = cc_stats_bypass_at(stats, i, &count)); i++) {
		if (i)
			cmn_buffer_append_text(text, ", ");
		cmn_json_append_string(text, cmn_view_of(reason));
		cmn_buffer_printf(text, ": %llu", (unsigned long long)count);
	}
	cmn_buffer_append_text(text, "},\n");
}

static void format_json(const struct cc_stats *stats, const struct holdings *holdings,
			const char *root, struct cmn_buffer *text)
{
	static const enum cc_counter counts[] = { CC_HITS_MEMORY, CC_HITS_DISK, CC_MISSES,
						  CC_DEFERRED, CC_STORES, CC_ERRORS };

	cmn_buffer_append_text(text, "{\n  \"directory\": ");
	cmn_json_append_string(text, cmn_view_of(root));
	cmn_buffer_append_text(text, ",\n");
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		append_member(text, cc_counter_name(counts[i]), cc_stats_get(stats, counts[i]));
	append_bypasses(text, stats);
	append_member(text, "entries", holdings->entries);
	append_member(text, "damaged_entries", holdings->damaged);
	append_member(text, "bytes", holdings->bytes);
	append_member(text, "recipes", holdings->recipes.recipes);
	append_member(text, "recipes_quarantined", holdings->recipes.quarantined);
	cmn_buffer_printf(text, "  \"compile_ms_spent\": %.3f,\n",
			  (double)cc_stats_get(stats, CC_COMPILE_NS_SPENT) / 1e6);
	cmn_buffer_printf(text, "  \"compile_ms_saved\": %.3f\n}\n",
			  (double)cc_stats_get(stats, CC_COMPILE_NS_SAVED) / 1e6);
}

static enum cmn_status collect(const struct tool_cache *cache, struct cc_stats *stats,
			       struct holdings *ret)
{
	enum cmn_status status = cc_stats_load(stats, cache->config.dir);

	if (status != CMN_OK && status != CMN_MISS)
		return status;
	status = cc_recipes_count(cache->config.dir, &ret->recipes);
	if (status != CMN_OK)
		return status;
	status = cc_store_walk(cache->store, false, add_item, ret);
	return status == CMN_MISS ? CMN_OK : status;
}

int verb_stats(int argc, char **argv)
{
	int json = 0, zero = 0, code = TOOL_FAILED;
	const struct option options[] = {
		TOOL_DIR_OPTION,
		{ "json", no_argument, &json, 1 },
		{ "zero", no_argument, &zero, 1 },
		{ 0 },
	};
	struct holdings holdings = { 0 };
	struct cmn_buffer text = { 0 };
	struct cc_stats *stats = NULL;
	struct tool_cache cache;
	enum cmn_status status;

	if (!tool_parse_flags(argc, argv, options))
		return TOOL_USAGE;
	if (!tool_open(&cache))
		return TOOL_FAILED;
	stats = cc_stats_new();
	status = stats ? collect(&cache, stats, &holdings) : CMN_ERR_NOMEM;
	if (status == CMN_OK) {
		(json ? format_json : format_plain)(stats, &holdings, cache.config.dir, &text);
		code = tool_print(&text);
	}
	if (status == CMN_OK && zero)
		status = cc_stats_zero(cache.config.dir);
	if (status != CMN_OK) {
		tool_complain("%s: %s", cache.config.dir, cmn_status_string(status));
		code = TOOL_FAILED;
	}
	cc_stats_free(stats);
	tool_close(&cache);
	return code;
}
