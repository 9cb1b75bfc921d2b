/* SPDX-License-Identifier: MIT */
/*
 * stats_verb: counts from the root's file, entries and bytes from its entries, of which one look at the names
 * of images, and one at entries tell; for --verbose and --per-program, entries by device and by program, by a
 * walk of its own.
 */
#include "tools/entries/entries.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cachecore/disk/entry_dir_walk.h"
#include "cachecore/disk/space/account.h"
#include "cachecore/disk/writer/recipes.h"
#include "cachecore/record/totals.h"
#include "tools/arguments.h"
#include "tools/explain/run_history.h"
#include "tools/json_output.h"
#include "tools/memory.h"
#include "tools/remote/remote.h"
#include "tools/replay/waiting.h"
#include "tools/report/report.h"
#include "tools/text.h"
#include "tools/tool.h"

/* Counted at once: less than a second where the disk is cold. */
#define MOST_COUNTED 2048
#define SAMPLE 1024
#define PREFIXES 65536	/* of four digits */

/*
 * How many entries a root has, and what they took. A large root is estimated, so that nobody
 * waits: of its images, about a thousand are looked at, always the same ones, by their hashes; nothing
 * is written that could grow old. Where images have about the same number of entries, and few are
 * damaged, the estimate is off by a few percent at most.
 */
struct census {
	uint64_t entries, damaged;
	uint64_t failures;	/* that are remembered, and no entries to those who count them */
	uint64_t bytes;		/* of all on disk: of an estimate, what the cache's own account says, if it does */
	uint64_t build_ns;	/* of a sound one, on average */
	uint64_t oldest_ns;	/* of those that were looked at, since the epoch; UINT64_MAX: there is none */
	bool estimated;
};

struct counting {
	struct census *census;
	uint64_t images, sampled;
	unsigned long below;	/* the prefixes that are in the sample */
	uint64_t seen;
	bool shown;
};

static bool count_image(void *ctx, size_t level, const char *name)
{
	struct counting *counting = ctx;

	(void)name;
	counting->images += level == CC_PART_IMAGE;
	return level != CC_PART_IMAGE;
}

static enum cmn_status visit_nothing(void *ctx, int root_fd, const char *path, int entry_dir_fd)
{
	(void)ctx;
	(void)root_fd;
	(void)path;
	(void)entry_dir_fd;
	return CMN_OK;
}

static bool is_sampled(void *ctx, size_t level, const char *name)
{
	const char digits[] = { name[0], name[1], name[2], name[3], '\0' };
	struct counting *counting = ctx;

	if (level != CC_PART_IMAGE)
		return true;
	if (strtoul(digits, NULL, 16) >= counting->below)
		return false;
	counting->sampled++;
	return true;
}

static bool count_item(void *ctx, const struct cc_store_item *item)
{
	struct counting *counting = ctx;
	struct census *census = counting->census;

	census->bytes += item->bytes;
	if (item->failed) {
		census->failures++;
	} else if (item->status == CMN_OK) {
		census->entries++;
		census->build_ns += item->build_ns;
		if (item->stored_ns < census->oldest_ns)
			census->oldest_ns = item->stored_ns;
	} else {
		census->damaged++;
	}
	if (counting->shown)
		terminal_progress_count("stats", ++counting->seen);
	return true;
}

static void scale(const struct counting *counting, const struct cc_account_mark *account)
{
	double factor = (double)counting->images / (double)counting->sampled;
	struct census *census = counting->census;

	census->entries = (uint64_t)((double)census->entries * factor);
	census->damaged = (uint64_t)((double)census->damaged * factor);
	census->failures = (uint64_t)((double)census->failures * factor);
	census->bytes = account->known ? account->total : (uint64_t)((double)census->bytes * factor);
}

/* How many images there are, and what the account says. */
static enum cmn_status look(struct cc_store *store, struct counting *counting,
			    struct cc_account_mark *ret_account)
{
	const struct cc_entry_dir_choice images = { .enter = count_image };
	enum cmn_status status;
	int root_fd;

	status = cc_store_open_root(store, &root_fd);
	if (status != CMN_OK)
		return status;
	cc_account_mark(root_fd, ret_account);
	status = cc_entry_dir_walk_chosen(root_fd, &images, visit_nothing, counting);
	(void)close(root_fd);	/* read only */
	return status;
}

/* exact: count all, however many there are, with a progress line. Statuses as cc_store_walk. */
static enum cmn_status take_census(const struct tool_cache *cache, bool exact, struct census *ret)
{
	struct counting counting = { .census = ret, .below = PREFIXES, .shown = exact };
	const struct cc_entry_dir_choice sample = { .enter = is_sampled };
	struct cc_account_mark account = { 0 };
	enum cmn_status status = CMN_OK;

	*ret = (struct census){ .oldest_ns = UINT64_MAX };
	if (!exact)
		status = look(cache->store, &counting, &account);
	if (status != CMN_OK)
		return status == CMN_MISS ? CMN_OK : status;
	if (counting.images > MOST_COUNTED) {
		counting.below = (unsigned long)(PREFIXES * (double)SAMPLE / (double)counting.images) + 1;
		ret->estimated = true;
	}
	status = cc_store_walk_chosen(cache->store, &sample, false, count_item, &counting);
	ret->build_ns /= ret->entries ? ret->entries : 1;
	if (ret->estimated && counting.sampled)
		scale(&counting, &account);
	return status;
}

#define SHOWN_DAYS 7
#define SHOWN_PROGRAMS 10

/* Entries that have something in common; the largest first. */
struct stats_groups {
	struct report_group *all;
	size_t count;
};

struct stats_more {
	bool verbose, per_program;	/* what was asked for */
	struct stats_groups devices, programs;
	uint64_t payload_bytes;		/* of results, uncompressed */
	uint64_t oldest_ns, unused_ns;	/* when the first one was stored, and when the longest unused one was used; 0: none */
};

#define UNKNOWN "(not known)"

struct collecting {
	struct stats_more *more;
	const struct run_history *history;
	struct report_groups devices, programs;
	uint64_t seen;
};

static bool add_item(void *ctx, const struct cc_store_item *item)
{
	struct collecting *collecting = ctx;
	struct stats_more *more = collecting->more;
	struct cmn_view device = cc_key_find(item->key, "device.name", 0);
	const struct run_history_event *arrival = more->per_program ?
		run_history_find_arrival(collecting->history, item->path) : NULL;
	const struct report_group one = { .entries = 1, .bytes = item->bytes };

	terminal_progress_count("stats", ++collecting->seen);
	if (item->status != CMN_OK || item->failed)
		return true;
	more->payload_bytes += item->payload_len;
	if (!more->oldest_ns || item->stored_ns < more->oldest_ns)
		more->oldest_ns = item->stored_ns;
	if (!more->unused_ns || item->access_ns < more->unused_ns)
		more->unused_ns = item->access_ns;
	/* A name with a NUL in it is nobody's. */
	if (!device.len || memchr(device.data, 0, device.len))
		device = cmn_view_of(UNKNOWN);
	report_groups_add(&collecting->devices, device, &one);
	report_groups_add(&collecting->programs, cmn_view_of(arrival ? arrival->program : UNKNOWN), &one);
	return true;
}

static void take_groups(struct report_groups *groups, struct stats_groups *ret)
{
	ret->all = memory_new(groups->count, sizeof(*ret->all));
	ret->count = report_groups_take(groups, groups->count, ret->all);
	report_groups_release(groups);
}

/* Where nothing is asked for, it looks at nothing. */
static void collect_more(struct tool_cache *cache, struct stats_more *more)
{
	static struct collecting collecting;	/* until the command ends */

	if (!more->verbose && !more->per_program)
		return;
	collecting.more = more;
	if (more->per_program)
		tool_check(cache->config.dir, run_history_load(cache->store, &collecting.history));
	tool_check(cache->config.dir, cc_store_walk(cache->store, false, add_item, &collecting));
	take_groups(&collecting.devices, &more->devices);
	take_groups(&collecting.programs, &more->programs);
}

/* Of one program: what it did, what it has. */
struct of_program {
	const char *name;
	struct cc_usage_counts counts;
	struct report_group held;
};

/* Those that were counted, then those that only have entries; the caller frees them. */
static struct of_program *list_programs(const struct stats_more *more, const struct cc_usage *usage, size_t *ret_count)
{
	struct of_program *all = memory_new(usage->program_count + more->programs.count, sizeof(*all));
	size_t count = usage->program_count;

	for (size_t i = 0; i < count; i++)
		all[i] = (struct of_program){ usage->programs[i].name, usage->programs[i].counts, { 0 } };
	for (size_t i = 0; i < more->programs.count; i++) {
		const struct report_group *held = &more->programs.all[i];
		size_t at = 0;

		while (at < usage->program_count && strcmp(all[at].name, held->name) != 0)
			at++;
		if (at == usage->program_count)
			all[at = count++].name = held->name;
		all[at].held = *held;
	}
	*ret_count = count;
	return all;
}

static void append_program(struct cmn_buffer *text, const struct of_program *program)
{
	const struct cc_usage_counts *counts = &program->counts;
	char size[TEXT_SIZE], spent[TEXT_SIZE], saved[TEXT_SIZE];

	text_append_cell(text, program->name, 20);
	cmn_buffer_printf(text, " %8" PRIu64 " %8" PRIu64 " %10s %10s %8" PRIu64 " %10s\n",
			  counts->hits_memory + counts->hits_disk, counts->misses + counts->unattended,
			  text_time(counts->spent_ns + counts->unattended_ns, spent),
			  text_time(counts->saved_ns, saved), program->held.entries,
			  text_bytes(program->held.bytes, size));
}

static void append_programs(const struct stats_more *more, const struct cc_usage *usage,
			    struct cmn_buffer *text)
{
	const struct of_program others = { .name = "(others)", .counts = usage->others };
	size_t count;
	struct of_program *all = list_programs(more, usage, &count);

	cmn_buffer_printf(text, "\n%s%-20s %8s %8s %10s %10s %8s %10s%s\n", terminal_bold(1), "program",
			  "hits", "compiled", "spent", "saved", "entries", "size", terminal_plain(1));
	for (size_t i = 0; i < count; i++)
		append_program(text, &all[i]);
	if (cc_usage_is_any(&usage->others))
		append_program(text, &others);
	free(all);
}

static void append_devices(const struct stats_more *more, struct cmn_buffer *text)
{
	char size[TEXT_SIZE], date[TEXT_SIZE];

	cmn_buffer_printf(text, "\n%s%-40s %8s %10s%s\n", terminal_bold(1), "device", "entries", "size",
			  terminal_plain(1));
	for (size_t i = 0; i < more->devices.count; i++) {
		text_append_cell(text, more->devices.all[i].name, 40);
		cmn_buffer_printf(text, " %8" PRIu64 " %10s\n", more->devices.all[i].entries,
				  text_bytes(more->devices.all[i].bytes, size));
	}
	cmn_buffer_printf(text, "%-26s %16s\n", "results, uncompressed",
			  text_bytes(more->payload_bytes, size));
	cmn_buffer_printf(text, "%-26s %16s\n", "oldest entry of",
			  text_date(more->oldest_ns, false, date));
	cmn_buffer_printf(text, "%-26s %16s\n", "all used since",
			  text_date(more->unused_ns, false, date));
}

static void append_more(const struct stats_more *more, const struct cc_usage *usage,
		       struct cmn_buffer *text)
{
	if (more->per_program)
		append_programs(more, usage, text);
	if (more->verbose)
		append_devices(more, text);
}

static void add_programs(const struct stats_more *more, const struct cc_usage *usage,
			 struct json_object *object)
{
	struct json_object *array = json_add_array(object, "per_program"), *one;
	size_t count;
	struct of_program *all = list_programs(more, usage, &count);

	for (size_t i = 0; i < count; i++) {
		const struct cc_usage_counts *counts = &all[i].counts;

		one = json_add_object(array, NULL);
		json_add_text(one, "program", all[i].name);
		json_add_number(one, "hits", counts->hits_memory + counts->hits_disk);
		json_add_number(one, "compiled", counts->misses + counts->unattended);
		json_add_number(one, "bypasses", counts->bypasses);
		json_add_ms(one, "spent_ms", counts->spent_ns + counts->unattended_ns);
		json_add_ms(one, "saved_ms", counts->saved_ns);
		json_add_number(one, "entries", all[i].held.entries);
		json_add_number(one, "bytes", all[i].held.bytes);
	}
	free(all);
}

static void add_more(const struct stats_more *more, const struct cc_usage *usage,
		    struct json_object *object)
{
	struct json_object *devices, *one;

	if (more->per_program)
		add_programs(more, usage, object);
	if (!more->verbose)
		return;
	devices = json_add_array(object, "devices");
	for (size_t i = 0; i < more->devices.count; i++) {
		one = json_add_object(devices, NULL);
		json_add_text(one, "device", more->devices.all[i].name);
		json_add_number(one, "entries", more->devices.all[i].entries);
		json_add_number(one, "bytes", more->devices.all[i].bytes);
	}
	json_add_number(object, "payload_bytes", more->payload_bytes);
	json_add_number(object, "oldest_ns", more->oldest_ns);
	json_add_number(object, "unused_since_ns", more->unused_ns);
}

/* What the file cannot say. */
struct holdings {
	struct census census;
	struct cc_recipes_count recipes;
	uint64_t replay_ns;		/* what the recipes may take */
	bool changed;			/* drivers, since replay --stale last looked */
	struct tier tier;
};

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

static void append_counts(struct cmn_buffer *text, const struct cc_totals *stats,
			  const struct tier *tier)
{
	uint64_t memory = stats->counters[CC_HITS_MEMORY];
	uint64_t disk = stats->counters[CC_HITS_DISK];
	uint64_t remote = stats->counters[CC_HITS_REMOTE];
	uint64_t misses = stats->counters[CC_MISSES], all = memory + disk + remote + misses;

	append_lookups(text, "hits in memory", memory, all);
	append_lookups(text, "hits on disk", disk, all);
	if (remote || tier->state != TIER_NONE)
		append_lookups(text, "hits in the remote tier", remote, all);
	append_lookups(text, "misses", misses, all);
	append_count(text, "  left for replay", stats->counters[CC_DEFERRED]);
	if (stats->counters[CC_FAILED])
		append_count(text, "  did not compile", stats->counters[CC_FAILED]);
	append_count(text, "stored", stats->counters[CC_STORES]);
	append_count(text, "errors", stats->counters[CC_ERRORS]);
	for (size_t i = 0; i < stats->bypass_count; i++) {
		char name[80];

		(void)snprintf(name, sizeof(name), "not cached, %s", stats->bypasses[i].reason);	/* cut, if at all */
		append_count(text, name, stats->bypasses[i].count);
	}
	append_time(text, "compile time spent", stats->counters[CC_COMPILE_NS_SPENT]);
	append_time(text, "compile time saved", stats->counters[CC_COMPILE_NS_SAVED]);
}

static void append_compiles(struct cmn_buffer *text, const char *name,
			    const struct cc_usage_counts *counts)
{
	char waited[TEXT_SIZE], unattended[TEXT_SIZE];

	if (!counts->misses && !counts->unattended)
		return;
	text_append_cell(text, name, 26);
	cmn_buffer_printf(text, " %12" PRIu64 " %11s %12" PRIu64 " %11s\n", counts->misses,
			  text_time(counts->spent_ns, waited), counts->unattended,
			  text_time(counts->unattended_ns, unattended));
}

static int by_time(const void *a, const void *b)
{
	const struct cc_usage_program *one = a, *two = b;
	uint64_t first = one->counts.spent_ns + one->counts.unattended_ns;
	uint64_t second = two->counts.spent_ns + two->counts.unattended_ns;

	return first < second ? 1 : first > second ? -1 : strcmp(one->name, two->name);
}

/* What was compiled, by who waited for it: in all, lately, and for which programs most. */
static void append_table(struct cmn_buffer *text, const struct cc_totals *stats)
{
	const struct cc_usage *usage = &stats->usage;
	const struct cc_usage_counts all = {
		.misses = stats->counters[CC_MISSES],
		.spent_ns = stats->counters[CC_COMPILE_NS_SPENT],
		.unattended = stats->counters[CC_UNATTENDED],
		.unattended_ns = stats->counters[CC_UNATTENDED_NS],
	};
	size_t first = usage->day_count > SHOWN_DAYS ? usage->day_count - SHOWN_DAYS : 0;
	char date[REPORT_DATE_SIZE];

	if (!all.misses && !all.unattended)
		return;
	cmn_buffer_printf(text, "\n%-26s %24s %24s\n", "compiled", "while somebody waited",
			  "while nobody waited");
	append_compiles(text, "in all", &all);
	for (size_t i = usage->day_count; i > first; i--)
		append_compiles(text, report_value_date(usage->days[i - 1].day, date),
				&usage->days[i - 1].counts);
	for (size_t i = 0; i < usage->program_count && i < SHOWN_PROGRAMS; i++)
		append_compiles(text, usage->programs[i].name, &usage->programs[i].counts);
}

static int print_plain(const struct cc_totals *stats, const struct holdings *holdings,
		       const struct cc_config *config, const struct stats_more *more)
{
	const struct census *census = &holdings->census;
	struct cmn_buffer text = { 0 };

	cmn_buffer_printf(&text, "%-26s %s\n", "directory", config->dir);
	append_counts(&text, stats, &holdings->tier);
	append_count(&text, census->estimated ? "entries, about" : "entries", census->entries);
	if (census->damaged)
		append_count(&text, census->estimated ? "damaged entries, about" : "damaged entries",
			     census->damaged);
	if (census->failures)
		append_count(&text, census->estimated ? "remembered failures, about" : "remembered failures",
			     census->failures);
	append_bytes(&text, census->bytes, config->max_size);
	append_count(&text, "to be replayed", holdings->recipes.recipes);
	if (holdings->replay_ns)
		append_time(&text, "  will take about", holdings->replay_ns);
	if (holdings->changed)
		cmn_buffer_append_text(&text, "a driver or compiler has changed since the last ckcache "
				       "replay --stale\n");
	if (holdings->recipes.quarantined)
		append_count(&text, "quarantined", holdings->recipes.quarantined);
	append_tier(&text, &holdings->tier);
	append_table(&text, stats);
	append_more(more, &stats->usage, &text);
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

static void add_compiles(struct json_object *object, const struct cc_usage_counts *counts)
{
	json_add_number(object, "attended", counts->misses);
	json_add_ms(object, "attended_ms", counts->spent_ns);
	json_add_number(object, "unattended", counts->unattended);
	json_add_ms(object, "unattended_ms", counts->unattended_ns);
}

static void add_table(struct json_object *object, const struct cc_usage *usage)
{
	struct json_object *days = json_add_array(object, "days"), *one;
	struct json_object *programs = json_add_array(object, "programs");
	char date[REPORT_DATE_SIZE];

	for (size_t i = 0; i < usage->day_count; i++) {
		one = json_add_object(days, NULL);
		json_add_text(one, "day", report_value_date(usage->days[i].day, date));
		add_compiles(one, &usage->days[i].counts);
	}
	for (size_t i = 0; i < usage->program_count; i++) {
		one = json_add_object(programs, NULL);
		json_add_text(one, "program", usage->programs[i].name);
		add_compiles(one, &usage->programs[i].counts);
	}
}

static int print_json(const struct cc_totals *stats, const struct holdings *holdings,
		      const struct cc_config *config, const struct stats_more *more)
{
	struct json_object *object = json_new_object();

	json_add_text(object, "directory", config->dir);
	report_json_add_totals(object, stats);
	json_add_number(object, "entries", holdings->census.entries);
	json_add_number(object, "damaged_entries", holdings->census.damaged);
	json_add_number(object, "remembered_failures", holdings->census.failures);
	json_add_number(object, "bytes", holdings->census.bytes);
	json_add_bool(object, "estimated", holdings->census.estimated);
	json_add_number(object, "max_bytes", config->max_size);
	json_add_number(object, "recipes", holdings->recipes.recipes);
	json_add_number(object, "recipes_quarantined", holdings->recipes.quarantined);
	json_add_ms(object, "recipes_ms", holdings->replay_ns);
	json_add_bool(object, "drivers_changed", holdings->changed);
	add_tier(object, &holdings->tier);
	add_table(object, &stats->usage);
	add_more(more, &stats->usage, object);
	return json_print(object);
}

static struct cc_totals *collect(const struct tool_cache *cache, bool exact, struct holdings *ret)
{
	const struct census *census = &ret->census;
	struct cc_totals *stats;

	tool_check(cache->config.dir, cc_totals_load(cache->config.dir, &stats));
	if (stats->usage.program_count)
		qsort(stats->usage.programs, stats->usage.program_count, sizeof(*stats->usage.programs), by_time);
	tier_look(&cache->config, &ret->tier);
	tool_check(cache->config.dir, cc_recipes_count(cache->config.dir, &ret->recipes));
	tool_check(cache->config.dir, take_census(cache, exact, &ret->census));
	ret->replay_ns = waiting_time(ret->recipes.recipes, census->build_ns);
	ret->changed = waiting_changed(cache->config.dir, census->oldest_ns);
	return stats;
}

verb_function verb_stats;

int verb_stats(const struct arguments *arguments)
{
	bool json = arguments_flag(arguments, "json"), zero = arguments_flag(arguments, "zero");
	static struct holdings holdings;	/* until the command ends, as all */
	static struct cc_totals *stats;
	static struct stats_more more;
	struct tool_cache *cache = tool_open();
	int code;

	if (zero && !tool_may_write(cache))
		return TOOL_FAILED;
	more.verbose = arguments_flag(arguments, "verbose");
	more.per_program = arguments_flag(arguments, "per-program");
	stats = collect(cache, arguments_flag(arguments, "exact"), &holdings);
	collect_more(cache, &more);
	code = (json ? print_json : print_plain)(stats, &holdings, &cache->config, &more);
	if (zero)
		tool_check(cache->config.dir, cc_totals_zero(cache->config.dir));
	return code;
}
