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

#include "cachecore/disk/entry_dir_walk.h"
#include "cachecore/disk/root.h"
#include "cachecore/key.h"
#include "common/clock.h"
#include "common/printable.h"
#include "tools/arguments.h"
#include "tools/entries/entries.h"
#include "tools/json_output.h"
#include "tools/memory.h"
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
	struct tool_cache *cache;
	unsigned long limit;	/* 0: all */
	bool json;
	struct columns columns;
	struct cmn_buffer text;	/* not printed yet */
	unsigned long count;	/* in it, or printed */
	int code;
};

/* What a key says of its entry; NULL: nothing. */
struct description {
	char *device, *options, *source;
};

/* A copy fit for one column: what is not to be printed becomes blanks. */
static char *describe_field(struct cmn_view value)
{
	char *text = value.len ? memory_copy_view(value) : NULL;

	if (text)
		cmn_printable_clean(text, ' ');
	return text;
}

/* kernel: before a kernel's name. */
static void describe(struct cmn_view key, const char *kernel, struct description *ret)
{
	struct cmn_buffer label = { 0 };

	ret->device = describe_field(cc_key_find(key, "device.name", 0));
	ret->options = describe_field(cc_key_find(key, "options", 0));
	entry_label_append(&label, key, kernel, 1);
	ret->source = describe_field(cmn_buffer_view(&label));
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
	if (item->failed && item->status == CMN_OK)
		cmn_buffer_append_text(text, " (did not compile)");
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
	json_add_bool(object, "failed", item->failed);
	return object;
}

/* false: enough, or it cannot be printed. */
static bool print_item(void *ctx, const struct cc_store_item *item)
{
	struct listing *listing = ctx;
	struct cmn_buffer *text = &listing->text;
	struct description description;
	bool unsafe;
	const char *status = entry_status_text(listing->cache->store, item->place, item->status, &unsafe);

	describe(item->key, !listing->json && listing->columns.short_path ? "" : "kernel ", &description);
	if (listing->json) {
		cmn_buffer_append_text(text, listing->count ? ",\n" : "[\n");
		json_append(text, make_object(item, &description, status));
	} else {
		append_row(&listing->columns, item, &description, status, text);
	}
	if (text->len >= PIECE || text->failed)
		listing->code = tool_print(text);
	description_release(&description);
	listing->count++;
	/* Not into lines that stand there already. */
	if (!isatty(STDOUT_FILENO))
		terminal_progress_count("list", listing->count);
	return listing->code == TOOL_OK && listing->count != listing->limit;
}

/* ---- which entries ---- */

/* What decides where an entry comes: the largest first; of equals, the first path. */
typedef uint64_t order_value(int entry_dir_fd, unsigned int n);

static uint64_t last_use(int entry_dir_fd, unsigned int n)
{
	return cc_entry_dir_used_ns(entry_dir_fd, NULL, n);
}

static uint64_t compile_time(int entry_dir_fd, unsigned int n)
{
	struct cc_entry_header header;

	return cc_entry_dir_read_bin_header(entry_dir_fd, n, NULL, &header) == CMN_OK ? header.build_ns : 0;
}

/* Of each entry only what decides, and where it is: the order of a million fits into 80 MB. */
struct row {
	uint64_t value;
	struct cmn_hash hashes[CC_PART_COUNT];
	unsigned int n;
};

struct order {
	order_value *value;
	struct row *rows;
	size_t count;
};

static struct cmn_hash hash_of_hex(const char *hex)
{
	struct cmn_hash hash;

	for (size_t i = 0; i < CMN_HASH_SIZE; i++) {
		const char digits[] = { hex[2 * i], hex[2 * i + 1], '\0' };

		hash.bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return hash;
}

static enum cmn_status add_entry_dir(void *ctx, int root_fd, const char *path, int entry_dir_fd)
{
	uint64_t entries = tool_entries_in(entry_dir_fd);
	struct order *order = ctx;

	(void)root_fd;
	while (entries) {
		unsigned int n = tool_next_entry(&entries);
		struct row *row;

		memory_grow(order->rows, order->count);
		row = &order->rows[order->count++];
		*row = (struct row){ .value = order->value(entry_dir_fd, n), .n = n };
		for (size_t i = 0; i < CC_PART_COUNT; i++)
			row->hashes[i] = hash_of_hex(path + i * CMN_HASH_HEX_SIZE);
		terminal_progress_count("list", order->count);
	}
	return CMN_OK;
}

static int compare(const void *a, const void *b, void *ctx)
{
	const struct row *one = a, *two = b;
	int order = memcmp(one->hashes, two->hashes, sizeof(one->hashes));

	if (one->value != two->value)
		order = one->value < two->value ? 1 : -1;
	else if (!order)
		order = (int)one->n - (int)two->n;
	return *(const bool *)ctx ? -order : order;
}

/* All are looked at for their order, then those are read that are shown. sort: a word of verbs.c, or NULL. */
static enum cmn_status walk_sorted(struct listing *listing, const char *sort, bool reverse)
{
	static struct order order;	/* until the command ends */
	enum cmn_status status;
	int root_fd;

	order.value = sort && strcmp(sort, "size") == 0 ? cc_entry_dir_bytes :
		      sort && strcmp(sort, "compile") == 0 ? compile_time : last_use;
	status = cc_store_open_root(listing->cache->store, &root_fd);
	if (status != CMN_OK)
		return status;
	status = cc_entry_dir_walk(root_fd, false, add_entry_dir, &order);
	if (order.count)
		qsort_r(order.rows, order.count, sizeof(*order.rows), compare, &reverse);
	for (size_t i = 0; status == CMN_OK && i < order.count; i++) {
		struct cc_store_place place = { .n = order.rows[i].n };

		if (listing->code != TOOL_OK || (listing->limit && i == listing->limit))
			break;
		cc_entry_dir_path_by(order.rows[i].hashes, place.entry_dir);
		/* Whatever is gone by now is not shown. */
		(void)!cc_store_look(listing->cache->store, root_fd, &place, print_item, listing);
	}
	(void)close(root_fd);	/* read only */
	return status;
}

static enum cmn_status walk(struct listing *listing, const char *sort, bool reverse)
{
	bool by_path = sort && strcmp(sort, "path") == 0;
	const struct cc_entry_dir_choice choice = { .order = !by_path ? 0 : reverse ? -1 : 1 };

	/* Without an order any will do, and no more than those are looked at. */
	if (by_path || (!sort && listing->limit))
		return cc_store_walk_chosen(listing->cache->store, &choice, false, print_item, listing);
	return walk_sorted(listing, sort, reverse);
}

verb_function verb_list;

int verb_list(const struct arguments *arguments)
{
	struct listing listing = {
		.cache = tool_open(),
		.json = arguments_flag(arguments, "json"),
		.limit = arguments_number(arguments, "limit", 0),
		.columns = fit(terminal_columns(STDOUT_FILENO)),
	};

	if (!listing.json)
		append_title(&listing.columns, &listing.text);
	tool_check(listing.cache->config.dir,
		   walk(&listing, arguments_text(arguments, "sort"), arguments_flag(arguments, "reverse")));
	if (listing.json)
		cmn_buffer_append_text(&listing.text, listing.count ? "\n]\n" : "[]\n");
	/* What failed was complained about. */
	if (listing.code == TOOL_OK)
		listing.code = tool_print(&listing.text);
	cmn_buffer_release(&listing.text);
	return listing.code;
}
