/* SPDX-License-Identifier: MIT */
/*
 * report_data: one walk over the entries, of which only sums and the first ones are kept; the root's history,
 * counted by what and why.
 */
#include "tools/report/report.h"

#include <stdlib.h>
#include <string.h>

#include "cachecore/key.h"
#include "cachecore/record/events.h"
#include "common/clock.h"
#include "tools/entries/entries.h"
#include "tools/memory.h"
#include "tools/text.h"

#define DAY_NS (UINT64_C(86400) * 1000000000)
/* Of a text that is kept: more is shown nowhere. */
#define MAX_TEXT 240
/* Names of kernels that stand for a program. */
#define MAX_KERNELS 3

/* ---- what an entry is called ---- */

static struct cmn_view cut(struct cmn_view text)
{
	const char *end = text.len ? memchr(text.data, '\0', text.len) : NULL;
	size_t len = end ? (size_t)(end - (const char *)text.data) : text.len;

	return (struct cmn_view){ text.data, len > MAX_TEXT ? MAX_TEXT : len };
}

/* NULL: nothing. */
static char *copy_text(struct cmn_view text)
{
	struct cmn_view shown = cut(text);

	return shown.len ? memory_copy_view(shown) : NULL;
}

/* NULL: it is called nothing. */
static char *name_program(struct cmn_view key)
{
	struct cmn_buffer text = { 0 };

	entry_label_append(&text, key, "", MAX_KERNELS);
	return text.len || text.failed ? memory_string(&text) : NULL;
}

/* "NAME, driver VERSION", as far as the key tells: OpenCL's is a text, Level Zero's a number. */
static char *name_device(struct cmn_view key)
{
	struct cmn_view name = cut(cc_key_find(key, "device.name", 0));
	struct cmn_view text = cut(cc_key_find(key, "device.driver_version", 0));
	struct cmn_view number = cc_key_find(key, "driver.version", 0);
	struct cmn_buffer label = { 0 };

	if (!name.len)
		return NULL;
	cmn_buffer_append(&label, name.data, name.len);
	if (text.len) {
		cmn_buffer_append_text(&label, ", driver ");
		cmn_buffer_append(&label, text.data, text.len);
	} else if (number.len == sizeof(uint64_t)) {
		struct cmn_reader reader = cmn_reader_of(number);

		cmn_buffer_printf(&label, ", driver %llu",
				  (unsigned long long)cmn_reader_u64(&reader));
	}
	return memory_string(&label);
}

static void release_entry(struct report_entry *entry)
{
	free(entry->path);
	free(entry->device);
	free(entry->program);
	free(entry->options);
}

/* ---- sums ---- */

/* By the size, or by the time; of equals, the first path. */
static bool comes_before(const struct report_entry *one, const struct report_entry *two, bool by_size)
{
	uint64_t first = by_size ? one->bytes : one->build_ns;
	uint64_t second = by_size ? two->bytes : two->build_ns;

	if (first != second)
		return first > second;
	return strcmp(one->path, two->path) < 0;
}

static char *copy_string(const char *text)
{
	return text ? memory_copy(text) : NULL;
}

/* entry: its texts are borrowed. */
static void keep_top(struct report_top *top, const struct report_entry *entry, bool by_size)
{
	size_t at = top->count;

	while (at > 0 && comes_before(entry, &top->entries[at - 1], by_size))
		at--;
	if (at == REPORT_TOP)
		return;
	if (top->count == REPORT_TOP)
		release_entry(&top->entries[--top->count]);
	memmove(&top->entries[at + 1], &top->entries[at], (top->count - at) * sizeof(*entry));
	top->entries[at] = (struct report_entry){
		.path = copy_string(entry->path), .bytes = entry->bytes,
		.build_ns = entry->build_ns, .device = copy_string(entry->device),
		.program = copy_string(entry->program), .options = copy_string(entry->options),
	};
	top->count++;
}

static const struct {
	const char *name;
	uint64_t days;	/* fewer than these */
} ages[REPORT_AGES] = {
	{ "less than a day", 1 }, { "1 to 7 days", 7 }, { "7 to 30 days", 30 },
	{ "30 to 90 days", 90 }, { "90 days to a year", 365 }, { "more than a year", UINT64_MAX },
};

const char *report_data_age(size_t age)
{
	return ages[age].name;
}

static void add_sums(struct report_data *data, const struct report_entry *entry, uint64_t access_ns)
{
	const struct report_group one = { .entries = 1, .bytes = entry->bytes, .build_ns = entry->build_ns };
	uint64_t days = data->now_ns > access_ns ? (data->now_ns - access_ns) / DAY_NS : 0;
	size_t age = 0;

	while (days >= ages[age].days)
		age++;
	report_group_add(&data->ages[age], &one);
	report_groups_add(&data->devices.groups, cmn_view_of(entry->device), &one);
	report_groups_add(&data->programs.groups, cmn_view_of(entry->program), &one);
}

static bool add_entry(void *ctx, const struct cc_store_item *item)
{
	struct report_data *data = ctx;
	struct report_entry entry = {
		.path = memory_copy(item->path),
		.bytes = item->bytes,
		.build_ns = item->build_ns,
		.device = name_device(item->key),
		.program = name_program(item->key),
		.options = copy_text(cc_key_find(item->key, "options", 0)),
	};

	add_sums(data, &entry, item->access_ns);
	keep_top(&data->largest, &entry, true);
	keep_top(&data->slowest, &entry, false);
	release_entry(&entry);
	data->count++;
	data->bytes += item->bytes;
	data->sound += item->status == CMN_OK;	/* a failure that is remembered, too */
	data->foreign += item->status == CMN_ERR_VERSION;
	data->damaged += item->status != CMN_OK && item->status != CMN_ERR_VERSION;
	if (item->status == CMN_OK)
		data->build_ns += item->build_ns;
	terminal_progress_count("report", data->count);
	return true;
}

static void sum_up(struct report_data *data)
{
	struct report_sums *all[] = { &data->devices, &data->programs };

	for (size_t i = 0; i < 2; i++)
		all[i]->count = report_groups_take(&all[i]->groups, REPORT_TOP, all[i]->largest);
}

/* ---- counts ---- */

uint64_t report_data_lookups(const struct report_data *data)
{
	return data->stats->counters[CC_HITS_MEMORY] + data->stats->counters[CC_HITS_DISK] +
	       data->stats->counters[CC_HITS_REMOTE] + data->stats->counters[CC_MISSES];
}

struct cc_usage_counts report_data_recent(const struct report_data *data, unsigned int days)
{
	uint64_t today = data->now_ns / DAY_NS;
	struct cc_usage_counts counts = { 0 };

	for (size_t i = 0; i < data->stats->usage.day_count; i++) {
		uint64_t day = data->stats->usage.days[i].day;

		if (day <= today && day + days > today)
			cc_usage_add_counts(&counts, &data->stats->usage.days[i].counts);
	}
	return counts;
}

/* In the order of cc_event_kind; NULL: its reason says more than it. */
static const char *const kinds[] = {
	[CC_EVENT_MISS] = "compiled",
	[CC_EVENT_BYPASS] = "not cached",
	[CC_EVENT_NOT_STORED] = "not stored",
	[CC_EVENT_REFUSED] = "the driver refused a stored binary",
	[CC_EVENT_DAMAGED] = "an entry was found damaged",
	[CC_EVENT_CHANGED] = "a header had changed",
	[CC_EVENT_CLEARED] = "the cache was cleared",
	[CC_EVENT_REMOTE] = "came from the remote tier",
	[CC_EVENT_REMOTE_REFUSED] = "an entry of the remote tier was refused",
	[CC_EVENT_REMOTE_AWAY] = "the remote tier was left alone",
	[CC_EVENT_UNATTENDED] = "compiled while nobody waited",
	[CC_EVENT_FAILED] = "did not compile",
};

static struct report_event *find_event(struct report_data *data, const char *what,
				       struct cmn_view word)
{
	struct report_event *found;

	for (size_t i = 0; i < data->event_count; i++) {
		if (data->events[i].what == what &&
		    cmn_view_equal(cmn_view_of(data->events[i].word), word))
			return &data->events[i];
	}
	memory_grow(data->events, data->event_count);
	found = &data->events[data->event_count++];
	*found = (struct report_event){ .what = what, .word = word.len ? memory_copy_view(word) : NULL };
	return found;
}

static void see_time(struct report_data *data, uint64_t time_ns)
{
	if (!data->history_ns || time_ns < data->history_ns)
		data->history_ns = time_ns;
}

static void add_event(void *ctx, const struct cc_event_record *event)
{
	const size_t max_words = 64;	/* there are some fifty; a damaged file has more */
	struct report_data *data = ctx;
	struct cmn_view word = event->reason;
	struct report_event *found;

	if (cc_event_is_short(event->kind))
		return;
	if (data->event_count >= max_words)
		word = (struct cmn_view){ 0 };
	found = find_event(data, kinds[event->kind], word);
	found->count++;
	if (found->last_ns < event->time_ns)
		found->last_ns = event->time_ns;
	see_time(data, event->time_ns);
}

static void add_removed(void *ctx, enum cc_removal_cause cause, uint64_t time_ns, uint64_t entry_dir)
{
	struct report_data *data = ctx;

	(void)entry_dir;
	if ((cause == CC_REMOVED_BY_SIZE || cause == CC_REMOVED_BY_AGE) && data->last_eviction_ns < time_ns)
		data->last_eviction_ns = time_ns;
	data->evicted_by_size += cause == CC_REMOVED_BY_SIZE;
	data->evicted_by_age += cause == CC_REMOVED_BY_AGE;
	see_time(data, time_ns);
}

static int by_count(const void *a, const void *b)
{
	const struct report_event *one = a, *two = b;

	if (one->count != two->count)
		return one->count < two->count ? 1 : -1;
	return one->last_ns < two->last_ns ? 1 : one->last_ns > two->last_ns ? -1 : 0;
}

/* The history's part; what cannot be read is left out. */
static void add_history(struct report_data *data, enum cmn_file_trust trust)
{
	const struct cc_events_reader reader = {
		.event = add_event, .removed = add_removed, .ctx = data,
	};

	/* As far as it can be read; what is there was counted. */
	if (cc_events_read(data->config->dir, trust, &reader) != CMN_OK)
		return;
	if (data->event_count)
		qsort(data->events, data->event_count, sizeof(*data->events), by_count);
}

void report_data_gather(const struct tool_cache *cache, struct report_data *ret)
{
	const char *root = cache->config.dir;
	enum cmn_status status;

	*ret = (struct report_data){ .config = &cache->config, .now_ns = cmn_clock_realtime() };
	status = cc_totals_load(root, &ret->stats);
	tool_check(root, status);
	ret->counted = status == CMN_OK;
	tool_check(root, cc_recipes_count(root, &ret->recipes));
	tool_check(root, cc_store_walk(cache->store, false, add_entry, ret));
	terminal_progress_hide();
	add_history(ret, cc_store_trust(cache->store));
	sum_up(ret);
}
