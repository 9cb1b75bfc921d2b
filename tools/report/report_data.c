/* SPDX-License-Identifier: MIT */
/* report_data: one walk over the entries, then sorting by what is asked of them. */
#include "tools/report/report_data.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/disk/space/evict.h"
#include "cachecore/kernel_names.h"
#include "cachecore/key.h"
#include "cachecore/disk/space/number_file.h"
#include "common/clock.h"
#include "common/hash.h"
#include "common/json.h"
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

/* NULL: nothing, or no memory. */
static char *copy_text(struct report_data *data, struct cmn_view text)
{
	struct cmn_view shown = cut(text);
	char *copy = shown.len ? strndup(shown.data, shown.len) : NULL;

	data->failed |= shown.len && !copy;
	return copy;
}

/* "axpy, dot, scale, …"; what has no kernel is called by its first line, what is no text by its hash. */
static char *name_program(struct report_data *data, struct cmn_view source)
{
	struct cc_kernel_names names = cc_kernel_names_of(source);
	struct cmn_view name = { 0 };
	struct cmn_buffer text = { 0 };
	char hex[CMN_HASH_HEX_SIZE];
	struct cmn_hash hash;
	char *string;

	if (!source.len)
		return NULL;
	name = cc_kernel_names_next(&names);
	for (unsigned int i = 0; name.len && i <= MAX_KERNELS; i++) {
		cmn_buffer_append_text(&text, i ? ", " : "");
		if (i == MAX_KERNELS)
			cmn_buffer_append_text(&text, "…");
		else
			cmn_buffer_append(&text, name.data, cut(name).len);
		name = cc_kernel_names_next(&names);
	}
	if (!text.len && cmn_json_is_text(source)) {
		struct cmn_view line = cut(text_first_line(source));

		cmn_buffer_append(&text, line.data, line.len);
	}
	if (!text.len) {
		hash = cmn_hash_of(source.data, source.len);
		cmn_hash_hex(&hash, hex);
		cmn_buffer_printf(&text, "%.8s (%zu bytes)", hex, source.len);
	}
	string = cmn_buffer_take_string(&text);
	data->failed |= !string;
	return string;
}

/* "NAME, driver VERSION", as far as the key tells: OpenCL's is a text, Level Zero's a number. */
static char *name_device(struct report_data *data, struct cmn_view key)
{
	struct cmn_view name = cut(cc_key_find(key, "device.name", 0));
	struct cmn_view text = cut(cc_key_find(key, "device.driver_version", 0));
	struct cmn_view number = cc_key_find(key, "driver.version", 0);
	struct cmn_buffer label = { 0 };
	char *string;

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
	string = cmn_buffer_take_string(&label);
	data->failed |= !string;
	return string;
}

static bool add_entry(void *ctx, const struct cc_store_item *item)
{
	struct report_data *data = ctx;
	struct report_entry *entries = cmn_array_grow(data->entries, data->count, sizeof(*entries));

	data->failed |= !entries;
	if (!entries)
		return false;
	data->entries = entries;
	entries[data->count++] = (struct report_entry){
		.path = copy_text(data, cmn_view_of(item->path)),
		.bytes = item->bytes,
		.build_ns = item->build_ns,
		.access_ns = item->access_ns,
		.status = item->status,
		.device = name_device(data, item->key),
		.program = name_program(data, cc_key_find(item->key, "source", 0)),
		.options = copy_text(data, cc_key_find(item->key, "options", 0)),
	};
	data->bytes += item->bytes;
	data->sound += item->status == CMN_OK;
	data->foreign += item->status == CMN_ERR_VERSION;
	data->damaged += item->status != CMN_OK && item->status != CMN_ERR_VERSION;
	if (item->status == CMN_OK)
		data->build_ns += item->build_ns;
	return !data->failed;
}

/* ---- sums ---- */

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

/* NULL comes last. */
static int compare_names(const char *a, const char *b)
{
	if (!a || !b)
		return !a - !b;
	return strcmp(a, b);
}

#define ENTRY(pointer) (*(const struct report_entry *const *)(pointer))

static int by_device(const void *a, const void *b)
{
	return compare_names(ENTRY(a)->device, ENTRY(b)->device);
}

static int by_program(const void *a, const void *b)
{
	return compare_names(ENTRY(a)->program, ENTRY(b)->program);
}

static int by_size(const void *a, const void *b)
{
	int order = compare_numbers(ENTRY(a)->bytes, ENTRY(b)->bytes);

	return order ? order : compare_names(ENTRY(a)->path, ENTRY(b)->path);
}

static int by_build(const void *a, const void *b)
{
	int order = compare_numbers(ENTRY(a)->build_ns, ENTRY(b)->build_ns);

	return order ? order : compare_names(ENTRY(a)->path, ENTRY(b)->path);
}

static int by_group_size(const void *a, const void *b)
{
	const struct report_group *one = a, *two = b;
	int order = compare_numbers(one->bytes, two->bytes);

	return order ? order : compare_names(one->name, two->name);
}

typedef int (*compare_fn)(const void *a, const void *b);

static void add_to_group(struct report_group *group, const struct report_entry *entry)
{
	group->entries++;
	group->bytes += entry->bytes;
	group->build_ns += entry->build_ns;
}

/* Groups of entries that are equal by an order; of all, in a new array. */
static struct report_group *make_groups(struct report_data *data, struct report_entry **all,
					compare_fn compare, bool devices, size_t *ret_count)
{
	struct report_group *groups = calloc(data->count ? data->count : 1, sizeof(*groups));
	size_t count = 0;

	if (!groups) {
		data->failed = true;
		return NULL;
	}
	if (data->count)
		qsort(all, data->count, sizeof(*all), compare);
	for (size_t i = 0; i < data->count; i++) {
		if (i == 0 || compare(&all[i - 1], &all[i]) != 0)
			groups[count++].name = devices ? all[i]->device : all[i]->program;
		add_to_group(&groups[count - 1], all[i]);
	}
	if (count)
		qsort(groups, count, sizeof(*groups), by_group_size);
	*ret_count = count;
	return groups;
}

static void take_top(struct report_data *data, struct report_entry **all, compare_fn compare,
		     struct report_entry *ret[REPORT_TOP])
{
	if (data->count)
		qsort(all, data->count, sizeof(*all), compare);
	for (size_t i = 0; i < REPORT_TOP; i++)
		ret[i] = i < data->count ? all[i] : NULL;
}

static void sum_ages(struct report_data *data)
{
	static const struct {
		const char *name;
		uint64_t days;	/* fewer than these */
	} ages[REPORT_AGES] = {
		{ "less than a day", 1 }, { "1 to 7 days", 7 }, { "7 to 30 days", 30 },
		{ "30 to 90 days", 90 }, { "90 days to a year", 365 }, { "more than a year", UINT64_MAX },
	};

	for (size_t i = 0; i < REPORT_AGES; i++)
		data->ages[i].name = ages[i].name;
	for (size_t i = 0; i < data->count; i++) {
		const struct report_entry *entry = &data->entries[i];
		uint64_t days = data->now_ns > entry->access_ns ?
			(data->now_ns - entry->access_ns) / DAY_NS : 0;
		size_t age = 0;

		while (days >= ages[age].days)
			age++;
		add_to_group(&data->ages[age], entry);
	}
}

static void sum_up(struct report_data *data)
{
	struct report_entry **all = calloc(data->count ? data->count : 1, sizeof(struct report_entry *));

	if (!all) {
		data->failed = true;
		return;
	}
	for (size_t i = 0; i < data->count; i++)
		all[i] = &data->entries[i];
	data->devices = make_groups(data, all, by_device, true, &data->device_count);
	data->programs = make_groups(data, all, by_program, false, &data->program_count);
	take_top(data, all, by_size, data->largest);
	take_top(data, all, by_build, data->slowest);
	sum_ages(data);
	free(all);
}

/* ---- counts ---- */

static enum cmn_status load_counts(struct report_data *data, const char *root)
{
	enum cmn_status status = cc_stats_load(data->stats, root);
	int fd;

	if (status != CMN_OK && status != CMN_MISS)
		return status;
	data->counted = status == CMN_OK;
	status = cc_recipes_count(root, &data->recipes);
	fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return status;
	/* Without these two the page tells less. */
	if (cc_stats_load_usage(data->usage, fd) != CMN_OK)
		memset(data->usage, 0, sizeof(*data->usage));
	if (cc_number_file_read(fd, CC_EVICT_STAMP_NAME, &data->last_eviction_ns) != CMN_OK)
		data->last_eviction_ns = 0;
	(void)close(fd);	/* read only */
	return status;
}

enum cmn_status report_data_gather(const struct tool_cache *cache, struct report_data *ret)
{
	enum cmn_status status;

	*ret = (struct report_data){
		.config = &cache->config,
		.now_ns = cmn_clock_realtime(),
		.stats = cc_stats_new(),
		.usage = calloc(1, sizeof(struct cc_usage)),
	};
	if (!ret->stats || !ret->usage)
		return CMN_ERR_NOMEM;
	status = load_counts(ret, cache->config.dir);
	if (status != CMN_OK)
		return status;
	status = cc_store_walk(cache->store, false, add_entry, ret);
	if (status != CMN_OK && status != CMN_MISS)
		return status;
	report_history_add(ret, cc_store_trust(cache->store));
	sum_up(ret);
	return ret->failed ? CMN_ERR_NOMEM : CMN_OK;
}

uint64_t report_data_lookups(const struct report_data *data)
{
	return cc_stats_get(data->stats, CC_HITS_MEMORY) + cc_stats_get(data->stats, CC_HITS_DISK) +
	       cc_stats_get(data->stats, CC_HITS_REMOTE) + cc_stats_get(data->stats, CC_MISSES);
}

void report_data_release(struct report_data *data)
{
	for (size_t i = 0; i < data->count; i++) {
		free(data->entries[i].path);
		free(data->entries[i].device);
		free(data->entries[i].program);
		free(data->entries[i].options);
	}
	for (size_t i = 0; i < data->event_count; i++)
		free(data->events[i].word);
	free(data->entries);
	free(data->devices);
	free(data->programs);
	free(data->events);
	free(data->usage);
	cc_stats_free(data->stats);
}
