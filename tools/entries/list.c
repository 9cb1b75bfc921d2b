/* SPDX-License-Identifier: MIT */
/*
 * list: one line per entry. The field names are those that the layers put
 * into their keys; a key without them is shown with "-" in their place.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/kernel_names.h"
#include "cachecore/key.h"
#include "common/clock.h"
#include "common/json.h"
#include "tools/arguments.h"
#include "tools/json.h"
#include "tools/terminal.h"
#include "tools/text.h"
#include "tools/tool.h"

#define MAX_DEVICE 32	/* characters of a column */
#define MAX_SHOWN 40

struct row {
	char *path;
	uint64_t bytes, build_ns, access_ns;
	enum cmn_status status;
	char *device, *options, *hint;	/* NULL: the key has none */
};

struct listing {
	struct row *rows;
	size_t count;
	size_t shown;	/* the first of them */
	bool failed;	/* out of memory */
};

static void row_release(struct row *row)
{
	free(row->path);
	free(row->device);
	free(row->options);
	free(row->hint);
}

/* A copy fit for one column: control characters become blanks, and bytes that are no text dots. */
static char *copy_text(struct cmn_view view)
{
	char *text = strndup(view.len ? view.data : "", view.len);
	bool bytes = !cmn_json_is_text(view);

	for (char *at = text; at && *at; at++) {
		if (iscntrl((unsigned char)*at))
			*at = ' ';
		else if (bytes && !isascii((unsigned char)*at))
			*at = '.';
	}
	return text;
}

static char *make_hint(struct cmn_view source)
{
	struct cc_kernel_names names = cc_kernel_names_of(source);
	struct cmn_view kernel = cc_kernel_names_next(&names);
	char *text;

	if (!kernel.len)
		return copy_text(text_first_line(source));
	if (asprintf(&text, "kernel %.*s", (int)(kernel.len < MAX_SHOWN ? kernel.len : MAX_SHOWN),
		     (const char *)kernel.data) < 0)
		return NULL;
	return text;
}

/* false: out of memory. */
static bool describe(struct row *row, struct cmn_view key)
{
	struct cmn_view device = cc_key_find(key, "device.name", 0);
	struct cmn_view options = cc_key_find(key, "options", 0);
	struct cmn_view source = cc_key_find(key, "source", 0);

	if (device.len && !(row->device = copy_text(device)))
		return false;
	if (options.len && !(row->options = copy_text(options)))
		return false;
	return !source.len || (row->hint = make_hint(source));
}

static bool add_row(void *ctx, const struct cc_store_item *item)
{
	struct listing *listing = ctx;
	struct row *rows = cmn_array_grow(listing->rows, listing->count, sizeof(*rows)), *row;

	listing->failed |= !rows;
	if (!rows)
		return false;
	listing->rows = rows;
	row = &rows[listing->count++];
	*row = (struct row){
		.path = strdup(item->path),
		.bytes = item->bytes,
		.build_ns = item->build_ns,
		.access_ns = item->access_ns,
		.status = item->status,
	};
	listing->failed |= !row->path || !describe(row, item->key);
	return !listing->failed;
}

static int compare_path(const void *a, const void *b)
{
	const struct row *one = a, *two = b;

	return strcmp(one->path, two->path);
}

/* The last used first, or the largest, or the slowest. */
#define COMPARE_BY(name, member)                                                 \
	static int compare_##name(const void *a, const void *b)                  \
	{                                                                        \
		const struct row *one = a, *two = b;                             \
										 \
		return one->member == two->member ? compare_path(a, b) :         \
		       one->member < two->member ? 1 : -1;                       \
	}
COMPARE_BY(used, access_ns)
COMPARE_BY(size, bytes)
COMPARE_BY(compile, build_ns)

typedef int (*compare_fn)(const void *a, const void *b);

/* name: of --sort; NULL: it was not given. */
static compare_fn find_order(const char *name)
{
	static const struct {
		const char *name;
		compare_fn compare;
	} orders[] = {
		{ "used", compare_used },
		{ "size", compare_size },
		{ "compile", compare_compile },
		{ "path", compare_path },
	};
	size_t i = 0;

	while (name && strcmp(orders[i].name, name) != 0)
		i++;	/* verbs.c has the same words */
	return orders[i].compare;
}

/* What of the rows is shown, and in which order. */
struct selection {
	bool json, reverse;
	unsigned long limit;	/* 0: all */
	compare_fn compare;
};

static void arrange(struct listing *listing, const struct selection *selection)
{
	size_t count = listing->count;

	if (count)
		qsort(listing->rows, count, sizeof(*listing->rows), selection->compare);
	for (size_t i = 0; selection->reverse && i < count / 2; i++) {
		struct row row = listing->rows[i];

		listing->rows[i] = listing->rows[count - 1 - i];
		listing->rows[count - 1 - i] = row;
	}
	listing->shown = selection->limit && selection->limit < count ? selection->limit : count;
}

/* The time since the last use in its largest unit, as "3d". */
static void append_age(struct cmn_buffer *text, uint64_t access_ns)
{
	static const struct {
		uint64_t seconds;
		char unit;
	} units[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' }, { 1, 's' } };
	uint64_t now = cmn_clock_realtime();
	uint64_t age = now > access_ns ? (now - access_ns) / UINT64_C(1000000000) : 0;
	size_t i = 0;

	while (i < 3 && age < units[i].seconds)
		i++;
	cmn_buffer_printf(text, " %5llu%c", (unsigned long long)(age / units[i].seconds),
			  units[i].unit);
}

static const char *shown(const char *text)
{
	return text && *text ? text : "-";
}

static void append_row(const struct row *row, struct cmn_buffer *text)
{
	char size[TEXT_SIZE], time[TEXT_SIZE];
	size_t start = text->len;

	text_append_short_path(text, row->path);
	while (!text->failed && text->len - start < 38)
		cmn_buffer_append_u8(text, ' ');
	cmn_buffer_printf(text, " %10s", text_bytes(row->bytes, size));
	append_age(text, row->access_ns);
	cmn_buffer_printf(text, " %12s ", text_time(row->build_ns, time));
	text_append_cell(text, shown(row->device), MAX_DEVICE);
	cmn_buffer_append_u8(text, ' ');
	text_append_cell(text, shown(row->hint), MAX_SHOWN);
	cmn_buffer_append_u8(text, ' ');
	text_append_cell(text, shown(row->options), strlen(shown(row->options)));
	while (!text->failed && text->data[text->len - 1] == ' ')
		text->len--;
	if (row->status != CMN_OK)
		cmn_buffer_printf(text, " %s! %s%s", terminal_bad(STDOUT_FILENO),
				  cmn_status_string(row->status), terminal_plain(STDOUT_FILENO));
	cmn_buffer_append_u8(text, '\n');
}

static int print_plain(const struct listing *listing)
{
	struct cmn_buffer text = { 0 };

	cmn_buffer_printf(&text, "%s%-38s %10s %6s %12s %-*s %-*s %s%s\n",
			  terminal_bold(STDOUT_FILENO), "entry", "size", "used", "compile",
			  MAX_DEVICE, "device", MAX_SHOWN, "source", "options", terminal_plain(STDOUT_FILENO));
	for (size_t i = 0; i < listing->shown; i++)
		append_row(&listing->rows[i], &text);
	return tool_print(&text);
}

static int print_json(const struct listing *listing)
{
	struct json_object *array = json_new_array();

	for (size_t i = 0; i < listing->shown; i++) {
		const struct row *row = &listing->rows[i];
		struct json_object *object = json_add_object(array, NULL);

		json_add_text(object, "entry", row->path);
		json_add_number(object, "bytes", row->bytes);
		json_add_number(object, "last_use_ns", row->access_ns);
		json_add_ms(object, "compile_ms", row->build_ns);
		json_add_text(object, "device", row->device);
		json_add_text(object, "source", row->hint);
		json_add_text(object, "options", row->options);
		json_add_text(object, "status", cmn_status_string(row->status));
	}
	return json_print(array);
}

verb_function verb_list;

int verb_list(const struct arguments *arguments)
{
	const struct selection selection = {
		.json = arguments_flag(arguments, "json"),
		.reverse = arguments_flag(arguments, "reverse"),
		.limit = arguments_number(arguments, "limit", 0),
		.compare = find_order(arguments_text(arguments, "sort")),
	};
	struct listing listing = { 0 };
	struct tool_cache cache;
	enum cmn_status status;
	int code = TOOL_FAILED;

	if (!tool_open(&cache))
		return TOOL_FAILED;
	status = cc_store_walk(cache.store, false, add_row, &listing);
	if (listing.failed)
		status = CMN_ERR_NOMEM;
	if (status == CMN_OK || status == CMN_MISS) {
		arrange(&listing, &selection);
		code = (selection.json ? print_json : print_plain)(&listing);
	} else {
		tool_complain("%s: %s", cache.config.dir, cmn_status_string(status));
	}
	for (size_t i = 0; i < listing.count; i++)
		row_release(&listing.rows[i]);
	free(listing.rows);
	tool_close(&cache);
	return code;
}
