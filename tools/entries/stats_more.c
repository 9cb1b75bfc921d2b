/* SPDX-License-Identifier: MIT */
/* stats_more: one walk of its own; a handful of names, so that searching them is quick. */
#include "tools/entries/stats_more.h"

#include <inttypes.h>
#include <string.h>

#include "tools/explain/run_history.h"
#include "tools/memory.h"
#include "tools/terminal.h"
#include "tools/text.h"

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
	if (item->status != CMN_OK)
		return true;
	more->seen.entries++;
	more->seen.bytes += item->bytes;
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

static void take(struct report_groups *groups, struct stats_groups *ret)
{
	ret->all = memory_new(groups->count, sizeof(*ret->all));
	ret->count = report_groups_take(groups, groups->count, ret->all);
	report_groups_release(groups);
}

enum cmn_status stats_more_collect(struct tool_cache *cache, struct stats_more *more)
{
	struct collecting collecting = { .more = more };
	enum cmn_status status = CMN_OK;

	if (!more->verbose && !more->per_program)
		return CMN_OK;
	if (more->per_program)
		status = run_history_load(cache->config.dir, cc_store_trust(cache->store),
					  &collecting.history);
	if (status == CMN_OK || status == CMN_MISS)
		status = cc_store_walk(cache->store, false, add_item, &collecting);
	terminal_progress_hide();
	take(&collecting.devices, &more->devices);
	take(&collecting.programs, &more->programs);
	return status == CMN_MISS ? CMN_OK : status;
}

static struct report_group held_by(const struct stats_more *more, const char *program)
{
	for (size_t i = 0; i < more->programs.count; i++) {
		if (strcmp(more->programs.all[i].name, program) == 0)
			return more->programs.all[i];
	}
	return (struct report_group){ 0 };
}

static bool is_counted(const struct cc_usage *usage, const char *program)
{
	for (size_t i = 0; i < usage->program_count; i++) {
		if (strcmp(usage->programs[i].name, program) == 0)
			return true;
	}
	return false;
}

static void append_program(struct cmn_buffer *text, const char *name, struct report_group held,
			   const struct cc_usage_counts *counts)
{
	char size[TEXT_SIZE], spent[TEXT_SIZE], saved[TEXT_SIZE];

	text_append_cell(text, name, 20);
	cmn_buffer_printf(text, " %8" PRIu64 " %8" PRIu64 " %10s %10s %8" PRIu64 " %10s\n",
			  counts->hits_memory + counts->hits_disk, counts->misses + counts->unattended,
			  text_time(counts->spent_ns + counts->unattended_ns, spent),
			  text_time(counts->saved_ns, saved), held.entries,
			  text_bytes(held.bytes, size));
}

static void append_programs(const struct stats_more *more, const struct cc_usage *usage,
			    struct cmn_buffer *text)
{
	const struct cc_usage_counts none = { 0 };

	cmn_buffer_printf(text, "\n%s%-20s %8s %8s %10s %10s %8s %10s%s\n", terminal_bold(1), "program",
			  "hits", "compiled", "spent", "saved", "entries", "size", terminal_plain(1));
	for (size_t i = 0; i < usage->program_count; i++)
		append_program(text, usage->programs[i].name, held_by(more, usage->programs[i].name),
			       &usage->programs[i].counts);
	for (size_t i = 0; i < more->programs.count; i++) {
		if (!is_counted(usage, more->programs.all[i].name))
			append_program(text, more->programs.all[i].name, more->programs.all[i], &none);
	}
	if (cc_usage_is_any(&usage->others))
		append_program(text, "(others)", (struct report_group){ 0 }, &usage->others);
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

void stats_more_append(const struct stats_more *more, const struct cc_usage *usage,
		       struct cmn_buffer *text)
{
	if (more->per_program)
		append_programs(more, usage, text);
	if (more->verbose)
		append_devices(more, text);
}

static void add_program(struct json_object *array, const char *name, struct report_group held,
			const struct cc_usage_counts *counts)
{
	struct json_object *one = json_add_object(array, NULL);

	json_add_text(one, "program", name);
	json_add_number(one, "hits", counts->hits_memory + counts->hits_disk);
	json_add_number(one, "compiled", counts->misses + counts->unattended);
	json_add_number(one, "bypasses", counts->bypasses);
	json_add_ms(one, "spent_ms", counts->spent_ns + counts->unattended_ns);
	json_add_ms(one, "saved_ms", counts->saved_ns);
	json_add_number(one, "entries", held.entries);
	json_add_number(one, "bytes", held.bytes);
}

static void add_programs(const struct stats_more *more, const struct cc_usage *usage,
			 struct json_object *object)
{
	struct json_object *array = json_add_array(object, "per_program");
	const struct cc_usage_counts none = { 0 };

	for (size_t i = 0; i < usage->program_count; i++)
		add_program(array, usage->programs[i].name, held_by(more, usage->programs[i].name),
			    &usage->programs[i].counts);
	for (size_t i = 0; i < more->programs.count; i++) {
		if (!is_counted(usage, more->programs.all[i].name))
			add_program(array, more->programs.all[i].name, more->programs.all[i], &none);
	}
}

void stats_more_add(const struct stats_more *more, const struct cc_usage *usage,
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
