/* SPDX-License-Identifier: MIT */
/* stats: counts from the root's file, entries and bytes from its entries. */
#include "cachecore/record/stats.h"

#include <inttypes.h>
#include <stdio.h>

#include "cachecore/disk/writer/recipes.h"
#include "tools/arguments.h"
#include "tools/json.h"
#include "tools/remote/tier.h"
#include "tools/text.h"
#include "tools/tool.h"

/* What the file cannot say. */
struct holdings {
	uint64_t entries;
	uint64_t bytes;
	uint64_t damaged;
	struct cc_recipes_count recipes;
	struct tier tier;
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

static void append_count(struct cmn_buffer *text, const char *name, uint64_t value)
{
	cmn_buffer_printf(text, "%-26s %12" PRIu64 "\n", name, value);
}

/* With its share of all look-ups, where there are any. */
static void append_lookups(struct cmn_buffer *text, const char *name, uint64_t value, uint64_t all)
{
	char share[TEXT_SIZE];

	cmn_buffer_printf(text, "%-26s %12" PRIu64, name, value);
	if (all)
		cmn_buffer_printf(text, " %9s", text_share(value, all, share));
	cmn_buffer_append_u8(text, '\n');
}

static void append_time(struct cmn_buffer *text, const char *name, uint64_t ns)
{
	char time[TEXT_SIZE];

	cmn_buffer_printf(text, "%-26s %12s\n", name, text_time(ns, time));
}

static void append_bytes(struct cmn_buffer *text, uint64_t bytes, uint64_t bound)
{
	char size[TEXT_SIZE], share[TEXT_SIZE], most[TEXT_SIZE];

	cmn_buffer_printf(text, "%-26s %12s", "size", text_bytes(bytes, size));
	if (bound)
		cmn_buffer_printf(text, " %9s of %s", text_share(bytes, bound, share),
				  text_bytes(bound, most));
	cmn_buffer_append_u8(text, '\n');
}

/* Most machines have no tier: to them nothing of it is shown. */
static void append_tier(struct cmn_buffer *text, const struct tier *tier)
{
	if (tier->state != TIER_NONE)
		cmn_buffer_printf(text, "%-26s %s\n", "remote tier",
				  tier->address ? tier->address : "-");
	if (tier->state == TIER_OFF || tier->state == TIER_AWAY) {
		cmn_buffer_append_text(text, "  ");
		tier_append_problem(tier, text);
		cmn_buffer_append_u8(text, '\n');
	}
	if (tier->state != TIER_NONE || tier->waiting)
		append_count(text, "to be uploaded", tier->waiting);
}

static void append_counts(struct cmn_buffer *text, const struct cc_stats *stats,
			  const struct tier *tier)
{
	uint64_t memory = cc_stats_get(stats, CC_HITS_MEMORY);
	uint64_t disk = cc_stats_get(stats, CC_HITS_DISK);
	uint64_t remote = cc_stats_get(stats, CC_HITS_REMOTE);
	uint64_t misses = cc_stats_get(stats, CC_MISSES), all = memory + disk + remote + misses, count;
	const char *reason;

	append_lookups(text, "hits in memory", memory, all);
	append_lookups(text, "hits on disk", disk, all);
	if (remote || tier->state != TIER_NONE)
		append_lookups(text, "hits in the remote tier", remote, all);
	append_lookups(text, "misses", misses, all);
	append_count(text, "  left for replay", cc_stats_get(stats, CC_DEFERRED));
	append_count(text, "stored", cc_stats_get(stats, CC_STORES));
	append_count(text, "errors", cc_stats_get(stats, CC_ERRORS));
	for (unsigned int i = 0; (reason = cc_stats_bypass_at(stats, i, &count)); i++) {
		char name[80];

		(void)snprintf(name, sizeof(name), "not cached, %s", reason);	/* cut, if at all */
		append_count(text, name, count);
	}
	append_time(text, "compile time spent", cc_stats_get(stats, CC_COMPILE_NS_SPENT));
	append_time(text, "compile time saved", cc_stats_get(stats, CC_COMPILE_NS_SAVED));
}

static int print_plain(const struct cc_stats *stats, const struct holdings *holdings,
		       const struct cc_config *config)
{
	struct cmn_buffer text = { 0 };

	cmn_buffer_printf(&text, "%-26s %s\n", "directory", config->dir);
	append_counts(&text, stats, &holdings->tier);
	append_count(&text, "entries", holdings->entries);
	if (holdings->damaged)
		append_count(&text, "damaged entries", holdings->damaged);
	append_bytes(&text, holdings->bytes, config->max_size);
	append_count(&text, "to be replayed", holdings->recipes.recipes);
	if (holdings->recipes.quarantined)
		append_count(&text, "quarantined", holdings->recipes.quarantined);
	append_tier(&text, &holdings->tier);
	return tool_print(&text);
}

static void add_tier(struct json_object *object, const struct tier *tier)
{
	struct cmn_buffer problem = { 0 };

	json_add_text(object, "remote", tier->address);
	tier_append_problem(tier, &problem);
	if (problem.len)
		json_add_view(object, "remote_problem", cmn_buffer_view(&problem));
	else
		json_add_null(object, "remote_problem");
	cmn_buffer_release(&problem);
	json_add_number(object, "uploads_waiting", tier->waiting);
}

static int print_json(const struct cc_stats *stats, const struct holdings *holdings,
		      const struct cc_config *config)
{
	static const enum cc_counter counts[] = { CC_HITS_MEMORY, CC_HITS_DISK, CC_HITS_REMOTE,
						  CC_MISSES, CC_DEFERRED, CC_STORES, CC_ERRORS };
	struct json_object *object = json_new_object(), *bypasses;
	const char *reason;
	uint64_t count;

	json_add_text(object, "directory", config->dir);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		json_add_number(object, cc_counter_name(counts[i]), cc_stats_get(stats, counts[i]));
	bypasses = json_add_object(object, "bypasses");
	for (unsigned int i = 0; (reason = cc_stats_bypass_at(stats, i, &count)); i++)
		json_add_number(bypasses, reason, count);
	json_add_number(object, "entries", holdings->entries);
	json_add_number(object, "damaged_entries", holdings->damaged);
	json_add_number(object, "bytes", holdings->bytes);
	json_add_number(object, "max_bytes", config->max_size);
	json_add_number(object, "recipes", holdings->recipes.recipes);
	json_add_number(object, "recipes_quarantined", holdings->recipes.quarantined);
	json_add_ms(object, "compile_ms_spent", cc_stats_get(stats, CC_COMPILE_NS_SPENT));
	json_add_ms(object, "compile_ms_saved", cc_stats_get(stats, CC_COMPILE_NS_SAVED));
	add_tier(object, &holdings->tier);
	return json_print(object);
}

static enum cmn_status collect(const struct tool_cache *cache, struct cc_stats *stats,
			       struct holdings *ret)
{
	enum cmn_status status = cc_stats_load(stats, cache->config.dir);

	if (status != CMN_OK && status != CMN_MISS)
		return status;
	if (!tier_look(&cache->config, &ret->tier))
		return CMN_ERR_NOMEM;
	status = cc_recipes_count(cache->config.dir, &ret->recipes);
	if (status != CMN_OK)
		return status;
	status = cc_store_walk(cache->store, false, add_item, ret);
	return status == CMN_MISS ? CMN_OK : status;
}

verb_function verb_stats;

int verb_stats(const struct arguments *arguments)
{
	bool json = arguments_flag(arguments, "json"), zero = arguments_flag(arguments, "zero");
	struct holdings holdings = { 0 };
	struct cc_stats *stats = NULL;
	struct tool_cache cache;
	enum cmn_status status;
	int code = TOOL_FAILED;

	if (!tool_open(&cache))
		return TOOL_FAILED;
	if (zero && !tool_may_write(&cache))
		goto out;
	stats = cc_stats_new();
	status = stats ? collect(&cache, stats, &holdings) : CMN_ERR_NOMEM;
	if (status == CMN_OK)
		code = (json ? print_json : print_plain)(stats, &holdings, &cache.config);
	if (status == CMN_OK && zero)
		status = cc_stats_zero(cache.config.dir);
	if (status != CMN_OK) {
		tool_complain("%s: %s", cache.config.dir, cmn_status_string(status));
		code = TOOL_FAILED;
	}
out:
	cc_stats_free(stats);
	tier_release(&holdings.tier);
	tool_close(&cache);
	return code;
}
