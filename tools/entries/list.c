/* SPDX-License-Identifier: MIT */
/*
 * list: one line per entry. The field names are those that the layers put
 * into their keys; a key without them is shown with "-" in their place. Lines
 * appear as entries are read, so that a million need no memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/key.h"
#include "common/clock.h"
#include "common/printable.h"
#include "tools/arguments.h"
#include "tools/entries/entry_label.h"
#include "tools/entries/entry_status.h"
#include "tools/entries/list_order.h"
#include "tools/json_output.h"
#include "tools/terminal.h"
#include "tools/text.h"
#include "tools/tool.h"

#define MAX_DEVICE 32	/* characters of a column */
#define MAX_SHOWN 40
#define LEAST_SHOWN 28	/* of the name, before other columns get room */
#define PIECE ((size_t)1 << 16)	/* bytes that are printed together */

/* How wide the columns are that may be narrow; 0: left out. */
struct columns {
	size_t source, device, options;	/* options SIZE_MAX: as long as they are */
	bool short_path;
	bool figures;		/* size and time to compile */
};

struct listing {
	struct tool_cache cache;
	unsigned long limit;	/* 0: all */
	bool json;
	struct columns columns;
	struct cmn_buffer text;	/* not printed yet */
	struct json_stream stream;
	unsigned long count;	/* printed */
	int code;
};

/* A copy fit for one column: what is not to be printed becomes blanks. */
static char *copy_text(struct cmn_view view)
{
	char *text = strndup(view.len ? view.data : "", view.len);

	if (text)
		cmn_printable_clean(text, ' ');
	return text;
}

/* What a key says of its entry; NULL: nothing. */
struct description {
	char *device, *options, *source;
	bool failed;	/* out of memory */
};

static char *describe_field(struct cmn_view value, struct description *ret)
{
	char *text = value.len ? copy_text(value) : NULL;

	ret->failed |= value.len && !text;
	return text;
}

/* kernel: before a kernel's name. */
static void describe(struct cmn_view key, const char *kernel, struct description *ret)
{
	struct cmn_buffer label = { 0 };

	*ret = (struct description){ 0 };
	ret->device = describe_field(cc_key_find(key, "device.name", 0), ret);
	ret->options = describe_field(cc_key_find(key, "options", 0), ret);
	entry_label_append(&label, key, kernel, 1);
	ret->source = describe_field(cmn_buffer_view(&label), ret);
	ret->failed |= label.failed;
	cmn_buffer_release(&label);
}

static void description_release(struct description *description)
{
	free(description->device);
	free(description->options);
	free(description->source);
}

/* ---- lines ---- */

/* What fits beside the columns that everybody gets; 0 columns: it is no terminal, all is shown. */
static struct columns fit(unsigned int width)
{
	const struct columns all = { MAX_SHOWN, MAX_DEVICE, SIZE_MAX, false, true };
	const size_t least = 21 + 1 + 4, figures = 1 + 10 + 1 + 10;
	struct columns some = { .short_path = true, .figures = width > least + figures + 11 };
	size_t fixed = least + (some.figures ? figures : 0);
	size_t room = width > fixed + 9 ? width - fixed - 1 : 8;

	if (!width)
		return all;
	/* One more: the blank before it. */
	some.source = room < LEAST_SHOWN ? room : LEAST_SHOWN;
	room -= some.source;
	some.device = room > 12 ? (room - 1 < MAX_DEVICE ? room - 1 : MAX_DEVICE) : 0;
	room -= some.device ? some.device + 1 : 0;
	some.options = room > 6 ? room - 1 : 0;
	room -= some.options ? some.options + 1 : 0;
	some.source += room;
	return some;
}

/* The time since the last use in its largest unit, as "3d". */
static void append_age(struct cmn_buffer *text, int width, uint64_t access_ns)
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
	cmn_buffer_printf(text, " %*llu%c", width, (unsigned long long)(age / units[i].seconds),
			  units[i].unit);
}

static const char *shown(const char *text)
{
	return text && *text ? text : "-";
}

/* Its beginnings, enough to find it among thousands: "9b/349ce1c0/4f/7ba0/0". */
static void append_narrow_path(struct cmn_buffer *text, const char *path)
{
	static const int digits[CC_PART_COUNT] = { 2, 8, 2, 4 };

	for (size_t i = 0; i < CC_PART_COUNT; i++)
		cmn_buffer_printf(text, "%.*s/", digits[i], path + i * CMN_HASH_HEX_SIZE);
	path += CC_ENTRY_DIR_PATH_SIZE;
	cmn_buffer_append(text, path, strcspn(path, "."));
}

static void append_column(struct cmn_buffer *text, const char *value, size_t width)
{
	if (!width)
		return;
	cmn_buffer_append_u8(text, ' ');
	text_append_cell(text, value, width == SIZE_MAX ? strlen(value) : width);
}

static void append_row(const struct columns *columns, const struct cc_store_item *item,
		       const struct description *description, const char *status,
		       struct cmn_buffer *text)
{
	char size[TEXT_SIZE], time[TEXT_SIZE];
	size_t start = text->len;

	if (columns->short_path)
		append_narrow_path(text, item->path);
	else
		text_append_short_path(text, item->path);
	while (!text->failed && text->len - start < (columns->short_path ? 21 : 38))
		cmn_buffer_append_u8(text, ' ');
	if (columns->figures)
		cmn_buffer_printf(text, " %10s", text_bytes(item->bytes, size));
	append_age(text, columns->short_path ? 3 : 5, item->access_ns);
	if (columns->figures)
		cmn_buffer_printf(text, columns->short_path ? " %10s" : " %12s",
				  text_time(item->build_ns, time));
	if (item->status == CMN_OK || !columns->short_path) {
		append_column(text, shown(description->source), columns->source);
		append_column(text, shown(description->device), columns->device);
		append_column(text, shown(description->options), columns->options);
	}
	while (!text->failed && text->data[text->len - 1] == ' ')
		text->len--;
	if (item->status != CMN_OK)
		cmn_buffer_printf(text, " %s! %s%s", terminal_bad(STDOUT_FILENO),
				  status, terminal_plain(STDOUT_FILENO));
	cmn_buffer_append_u8(text, '\n');
}

static void append_title(const struct columns *columns, struct cmn_buffer *text)
{
	cmn_buffer_append_text(text, terminal_bold(STDOUT_FILENO));
	if (columns->figures)
		cmn_buffer_printf(text, columns->short_path ? "%-21s %10s %4s %10s" : "%-38s %10s %6s %12s",
				  "entry", "size", "used", "compile");
	else
		cmn_buffer_printf(text, "%-21s %4s", "entry", "used");
	append_column(text, "source", columns->source);
	append_column(text, "device", columns->device);
	append_column(text, "options", columns->options);
	while (!text->failed && text->data[text->len - 1] == ' ')
		text->len--;
	cmn_buffer_printf(text, "%s\n", terminal_plain(STDOUT_FILENO));
}

static struct json_object *make_object(const struct cc_store_item *item,
				       const struct description *description, const char *status)
{
	struct json_object *object = json_new_object();

	json_add_text(object, "entry", item->path);
	json_add_number(object, "bytes", item->bytes);
	json_add_number(object, "last_use_ns", item->access_ns);
	json_add_ms(object, "compile_ms", item->build_ns);
	json_add_text(object, "device", description->device);
	json_add_text(object, "source", description->source);
	json_add_text(object, "options", description->options);
	json_add_text(object, "status", status);
	return object;
}

/* false: enough, or it cannot be printed. */
static bool print_item(void *ctx, const struct cc_store_item *item)
{
	struct listing *listing = ctx;
	struct description description;
	bool unsafe;
	const char *status = entry_status_text(listing->cache.store, item->place, item->status, &unsafe);

	describe(item->key, !listing->json && listing->columns.short_path ? "" : "kernel ", &description);
	if (description.failed) {
		tool_complain("out of memory");
		listing->code = TOOL_FAILED;
	} else if (listing->json) {
		listing->code = json_stream_add(&listing->stream, make_object(item, &description, status));
	} else {
		append_row(&listing->columns, item, &description, status, &listing->text);
		if (listing->text.len >= PIECE || listing->text.failed)
			listing->code = tool_print(&listing->text);
	}
	description_release(&description);
	listing->count++;
	/* Not into lines that stand there already. */
	if (!isatty(STDOUT_FILENO))
		terminal_progress_count("list", listing->count);
	return listing->code == TOOL_OK && listing->count != listing->limit;
}

/* ---- which entries ---- */

/* name: of --sort, one of the words that verbs.c has; NULL: it was not given. */
static list_order_value *find_order(const char *name)
{
	if (name && strcmp(name, "size") == 0)
		return list_order_size;
	return name && strcmp(name, "compile") == 0 ? list_order_compile : list_order_used;
}

/* All are looked at for their order, then those are read that are shown. */
static enum cmn_status walk_sorted(struct listing *listing, list_order_value *value, bool reverse)
{
	struct list_order *order = NULL;
	struct cc_store_place place;
	enum cmn_status status;
	int root_fd;

	status = cc_store_open_root(listing->cache.store, &root_fd);
	if (status != CMN_OK)
		return status;
	status = list_order_new(root_fd, value, reverse, listing->limit, &order);
	while (status == CMN_OK && listing->code == TOOL_OK && list_order_next(order, &place)) {
		/* Whatever is gone by now is not shown. */
		(void)!cc_store_look(listing->cache.store, root_fd, &place, print_item, listing);
	}
	list_order_free(order);
	(void)close(root_fd);	/* read only */
	return status;
}

static enum cmn_status walk(struct listing *listing, const char *sort, bool reverse)
{
	bool by_path = sort && strcmp(sort, "path") == 0;
	const struct cc_entry_dir_choice choice = { .order = !by_path ? 0 : reverse ? -1 : 1 };

	/* Without an order any will do, and no more than those are looked at. */
	if (by_path || (!sort && listing->limit))
		return cc_store_walk_chosen(listing->cache.store, &choice, false, print_item, listing);
	return walk_sorted(listing, find_order(sort), reverse);
}

verb_function verb_list;

int verb_list(const struct arguments *arguments)
{
	struct listing listing = {
		.json = arguments_flag(arguments, "json"),
		.limit = arguments_number(arguments, "limit", 0),
		.columns = fit(terminal_columns(STDOUT_FILENO)),
	};
	enum cmn_status status;
	int ended;

	if (!tool_open(&listing.cache))
		return TOOL_FAILED;
	if (!listing.json)
		append_title(&listing.columns, &listing.text);
	status = walk(&listing, arguments_text(arguments, "sort"), arguments_flag(arguments, "reverse"));
	if (status == CMN_OK || status == CMN_MISS) {
		/* What failed was complained about. */
		ended = listing.code != TOOL_OK ? listing.code : listing.json ?
			json_stream_end(&listing.stream) : tool_print(&listing.text);
		listing.code = ended;
	} else {
		tool_complain("%s: %s", listing.cache.config.dir, cmn_status_string(status));
		listing.code = TOOL_FAILED;
	}
	cmn_buffer_release(&listing.text);
	cmn_buffer_release(&listing.stream.text);
	tool_close(&listing.cache);
	return listing.code;
}
