/* SPDX-License-Identifier: MIT */
/* show: one entry, found by its name, with all that is known of it, for people and as JSON. */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "cachecore/kernel_names.h"
#include "common/json.h"
#include "tools/arguments.h"
#include "tools/entries/entries.h"
#include "tools/explain/explain.h"
#include "tools/json_output.h"
#include "tools/text.h"
#include "tools/tool.h"

/* What the names in keys mean. One with "." at its end stands for all that begin so. */
static const char *const meanings[][2] = {
	{ "api", "which interface the program used" },
	{ "platform.name", "the driver's platform" },
	{ "platform.version", "the OpenCL version of the platform" },
	{ "device.name", "the device, as its driver calls it" },
	{ "device.vendor", "who made it" },
	{ "device.vendor_id", "who made it, as a PCI number" },
	{ "device.version", "the OpenCL version of the device" },
	{ "device.driver_version", "the version that the driver reports" },
	{ "device.c_version", "the OpenCL C version that it compiles" },
	{ "device.type", "processor, graphics card or other" },
	{ "device.address_bits", "the size of its pointers" },
	{ "device.max_work_group_size", "a limit of the device" },
	{ "device.local_mem_size", "a limit of the device" },
	{ "device.max_arguments", "a limit of the device" },
	{ "device.printf_buffer", "a limit of the device" },
	{ "device.extensions", "what a kernel may use" },
	{ "device.ip_version", "the exact hardware" },
	{ "device.id", "the exact hardware, as a PCI number" },
	{ "device.cc_major", "the compute capability" },
	{ "device.cc_minor", "the compute capability" },
	{ "device.uuid", "the exact device" },
	{ "device.units", "how many compute units it has" },
	{ "device.partition", "which part of a device this is" },
	{ "device.sub_device", "which part of a device this is" },
	{ "device.sub_devices", "how many parts it has" },
	{ "device.spirv", "the SPIR-V version that it takes" },
	{ "device.native", "the format of its binaries" },
	{ "device.", "a property of the device that compilers see" },
	{ "driver.version", "the version that the driver reports" },
	{ "driver.api", "the Level Zero version of the driver" },
	{ "driver.path", "where the driver's file is" },
	{ "compiler.path", "where its compiler's file is, which looks for others from there" },
	{ "driver.file", "the driver's very file: an update changes it" },
	{ "driver.tool", "a program that the driver runs to compile, with its libraries" },
	{ "driver.linker", "the linker that the driver runs, or a library that it finds by LIBRARY_PATH" },
	{ "processor.features", "what the processor can do, for drivers that compile for it" },
	{ "layer.", "what ckcache or another layer changes in the results" },
	{ "kind", "how it was made: from source, by a compile, by a link" },
	{ "source", "what was compiled" },
	{ "input.options", "the options of one module of several" },
	{ "input", "the hash of a program that was linked" },
	{ "header.name", "a header that the program itself supplied" },
	{ "header.text", "its text" },
	{ "library.name", "the library that stored it for itself" },
	{ "library.version", "the library's version" },
	{ "library.hash", "the library's very code" },
	{ "library.build_id", "the library's very code" },
	{ "library.", "the driver, its compiler or their libraries: an update changes it" },
	{ "constant", "the number and value of a specialization constant" },
	{ "options", "the build options, as the program gave them" },
	{ "include.paths", "how many include paths the options have as <1>, <2>; \"depends on\" has them" },
	{ "devices", "how many devices the program has" },
	{ "subset", "which of these it was built for" },
	{ "env.", "a variable of the environment that the compiler reads" },
};

/* A few words; NULL: a field that this version does not know. */
static const char *field_words(struct cmn_view name)
{
	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++) {
		size_t len = strlen(meanings[i][0]);
		bool prefix = meanings[i][0][len - 1] == '.';

		if ((prefix ? name.len > len : name.len == len) &&
		    memcmp(name.data, meanings[i][0], len) == 0)
			return meanings[i][1];
	}
	return NULL;
}

/* Of a long text these are shown. */
#define FIRST_LINES 5
#define MAX_LINE 100
/* What is shown as it is. */
#define MAX_VALUE 200
#define MAX_KERNELS 1000
#define MAX_KNOWN 64

struct shown_entry {
	const char *path;	/* of the .src, below the root */
	struct cc_store_place place;
	const char *root;
	uint64_t bytes, stored_ns, access_ns;
	struct cmn_buffer file;		/* the .src */
	struct cc_src src;		/* views into it */
	struct cc_manifest *manifest;	/* NULL: none */
	bool has_header;
	struct cc_entry_header header;	/* of the .bin */
	enum cmn_status status;		/* of the pair, every byte of it */
	const char *status_text;	/* static */
};

static const char *const part_names[CC_PART_COUNT] = {
	"device", "device image", "specialization constants", "build options",
};
static const char *const part_words[CC_PART_COUNT] = { "device", "image", "constants", "options" };

/* Calls for each kernel's name, the first ones once each. */
static void each_kernel(struct cmn_view key,
			void (*tell)(void *ctx, struct cmn_view name, size_t place),
			void *ctx)
{
	struct cmn_view known[MAX_KNOWN], name;
	struct cc_key_field field;
	struct cmn_reader reader;
	size_t count = 0;

	if (cc_key_read(key, &reader) != CMN_OK)
		return;
	while (cc_key_next(&reader, &field) == CMN_OK) {
		struct cc_kernel_names names = cc_kernel_names_of(field.value);

		if (field.part != CC_PART_IMAGE)
			continue;
		while (count < MAX_KERNELS && (name = cc_kernel_names_next(&names)).len) {
			size_t i = 0;

			/* A prototype, and what stands in an #if, come twice. */
			while (i < count && i < MAX_KNOWN && !cmn_view_equal(known[i], name))
				i++;
			if (i < count && i < MAX_KNOWN)
				continue;
			if (count < MAX_KNOWN)
				known[count] = name;
			tell(ctx, name, count++);
		}
	}
}

static void tell_kernel(void *ctx, struct cmn_view name, size_t place)
{
	struct cmn_buffer *text = ctx;

	cmn_buffer_append_text(text, place ? ", " : "kernels        ");
	cmn_buffer_append(text, name.data, name.len);
}

static void append_first_lines(struct cmn_buffer *text, struct cmn_view value)
{
	const char *at = value.data, *end = at + value.len;

	for (int i = 0; i < FIRST_LINES && at < end; i++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((newline ? newline : end) - at);

		cmn_buffer_append_text(text, "      | ");
		text_append_clean(text, (struct cmn_view){ at, len }, MAX_LINE);
		cmn_buffer_append_u8(text, '\n');
		at = newline ? newline + 1 : end;
	}
}

static struct cc_key_summary_field summary_of(const struct cc_key_field *field)
{
	return (struct cc_key_summary_field){
		.part = field->part, .name = field->name, .value = field->value,
		.len = field->value.len, .whole = field->value.len <= MAX_VALUE,
		.hash = cmn_hash_of(field->value.data, field->value.len),
	};
}

static void append_key(struct cmn_buffer *text, struct cmn_view key)
{
	for (unsigned int part = 0; part < CC_PART_COUNT; part++) {
		struct cc_key_field field;
		struct cmn_reader reader;
		bool any = false;

		if (cc_key_read(key, &reader) != CMN_OK)
			return;
		while (cc_key_next(&reader, &field) == CMN_OK) {
			struct cc_key_summary_field summary = summary_of(&field);
			size_t start;

			if (field.part != part)
				continue;
			if (!any)
				cmn_buffer_printf(text, "%s\n", part_names[part]);
			any = true;
			start = text->len;
			cmn_buffer_printf(text, "  %-.*s: ", (int)field.name.len,
					  (const char *)field.name.data);
			key_field_append_value(text, &summary, MAX_VALUE);
			if (field_words(field.name))
				cmn_buffer_printf(text, " (%s)", field_words(field.name));
			text_wrap(text, start, 6, terminal_columns(STDOUT_FILENO));
			cmn_buffer_append_u8(text, '\n');
			if (!summary.whole && cmn_json_is_text(field.value))
				append_first_lines(text, field.value);
		}
	}
}

static const char *const kind_words[] = {
	[CC_DEPENDENCY_FILE] = "file", [CC_DEPENDENCY_ABSENT] = "absent", [CC_DEPENDENCY_SEEN] = "file by time",
	[CC_DEPENDENCY_VARIABLE] = "variable", [CC_DEPENDENCY_NAMES] = "names in",
	[CC_DEPENDENCY_PLACE] = "directory", [CC_DEPENDENCY_DIRECTORY] = "working directory",
	[CC_DEPENDENCY_INCLUDE_PATH] = "include path",
};

static void append_manifest(struct cmn_buffer *text, const struct cc_manifest *manifest)
{
	if (!cc_manifest_count(manifest))
		return;
	cmn_buffer_append_text(text, "depends on\n");
	for (size_t i = 0; i < cc_manifest_count(manifest); i++) {
		struct cc_manifest_item item = cc_manifest_get(manifest, i);
		char hex[CMN_HASH_HEX_SIZE];

		cmn_buffer_printf(text, "  %s %s", kind_words[item.kind], item.path);
		cmn_hash_hex(&item.hash, hex);
		if (item.kind == CC_DEPENDENCY_FILE)
			cmn_buffer_printf(text, " (%" PRIu64 " bytes, hash %.8s)", item.size, hex);
		else if (item.kind == CC_DEPENDENCY_INCLUDE_PATH)
			cmn_buffer_append_text(text, item.size ? " (the result may name it)" : " (or another one with the same files)");
		cmn_buffer_append_u8(text, '\n');
	}
}

static void append_entry(const struct shown_entry *entry, struct cmn_buffer *text)
{
	const struct cc_entry_header *header = &entry->header;
	char stored[TEXT_SIZE], used[TEXT_SIZE];
	size_t before;

	cmn_buffer_printf(text, "%-14s %s\n%-14s %s/%s\n%-14s %s\n", "entry", entry->path, "file",
			  entry->root, entry->path, "status",
			  entry->status == CMN_OK ? "sound" : entry->status_text);
	cmn_buffer_printf(text, "%-14s %" PRIu64 "\n", "bytes on disk", entry->bytes);
	if (entry->has_header && header->failed)
		cmn_buffer_printf(text, "%-14s %s\n", "remembered", "it did not compile; two processes have to see "
				  "that, and it counts for a day");
	if (entry->has_header) {
		cmn_buffer_printf(text, "%-14s %" PRIu64 " bytes, stored as %" PRIu64 "%s\n", "result",
				  header->payload_len, header->stored_len,
				  header->codec ? " (compressed)" : "");
		cmn_buffer_printf(text, "%-14s %.1f ms\n", "compile time",
				  (double)header->build_ns / 1e6);
	}
	cmn_buffer_printf(text, "%-14s %s\n", "stored", text_date(entry->stored_ns, true, stored));
	cmn_buffer_printf(text, "%-14s %s\n", "last used", text_date(entry->access_ns, true, used));
	before = text->len;
	each_kernel(entry->src.key, tell_kernel, text);
	if (text->len > before)
		cmn_buffer_append_u8(text, '\n');
	append_key(text, entry->src.key);
	append_manifest(text, entry->manifest);
}

static int print(const struct shown_entry *entry)
{
	struct cmn_buffer text = { 0 };

	append_entry(entry, &text);
	return tool_print(&text);
}

static void add_kernel(void *array, struct cmn_view name, size_t place)
{
	(void)place;
	json_add_view(array, NULL, name);
}

static void add_key(struct json_object *array, struct cmn_view key)
{
	struct cc_key_field field;
	struct cmn_reader reader;
	char hex[CMN_HASH_HEX_SIZE];

	if (cc_key_read(key, &reader) != CMN_OK)
		return;
	while (cc_key_next(&reader, &field) == CMN_OK) {
		struct cc_key_summary_field summary = summary_of(&field);
		struct json_object *object = json_add_object(array, NULL);

		json_add_text(object, "part", part_words[field.part]);
		json_add_view(object, "field", field.name);
		json_add_number(object, "size", field.value.len);
		cmn_hash_hex(&summary.hash, hex);
		json_add_text(object, "hash", hex);
		key_field_add_value(object, "value", &summary, MAX_VALUE);
		json_add_text(object, "meaning", field_words(field.name));
	}
}

static void add_manifest(struct json_object *array, const struct cc_manifest *manifest)
{
	for (size_t i = 0; i < cc_manifest_count(manifest); i++) {
		struct cc_manifest_item item = cc_manifest_get(manifest, i);
		struct json_object *object = json_add_object(array, NULL);

		json_add_text(object, "kind", kind_words[item.kind]);
		json_add_text(object, "path", item.path);
		json_add_number(object, "size", item.size);
	}
}

static int print_json(const struct shown_entry *entry)
{
	static const char *const of_header[] = { "result_bytes", "stored_bytes", "compressed", "compile_ms", "failed" };
	const struct cc_entry_header *header = entry->has_header ? &entry->header : NULL;
	struct json_object *object = json_new_object();

	json_add_text(object, "entry", entry->path);
	json_add_text(object, "root", entry->root);
	json_add_text(object, "status", entry->status_text);
	json_add_number(object, "bytes", entry->bytes);
	for (size_t i = 0; !header && i < sizeof(of_header) / sizeof(of_header[0]); i++)
		json_add_null(object, of_header[i]);
	if (header) {
		json_add_number(object, of_header[0], header->payload_len);
		json_add_number(object, of_header[1], header->stored_len);
		json_add_bool(object, of_header[2], header->codec);
		json_add_ms(object, of_header[3], header->build_ns);
		json_add_bool(object, of_header[4], header->failed);
	}
	json_add_number(object, "stored_ns", entry->stored_ns);
	json_add_number(object, "last_use_ns", entry->access_ns);
	each_kernel(entry->src.key, add_kernel, json_add_array(object, "kernels"));
	add_key(json_add_array(object, "key"), entry->src.key);
	add_manifest(json_add_array(object, "depends_on"), entry->manifest);
	return json_print(object);
}

struct search {
	struct entry_search names;
	struct shown_entry *found;
};

static bool visit(void *ctx, const struct cc_store_item *item)
{
	const struct entry_offer offer = { .path = item->path, .key = item->key };
	struct search *search = ctx;

	entry_search_offer(&search->names, &offer);
	/* Of one alone all is wanted: it may be the one that is meant. */
	if (search->names.count == 1 && strcmp(search->names.found[0].path, item->path) == 0) {
		search->found->place = *item->place;
		search->found->bytes = item->bytes;
		search->found->stored_ns = item->stored_ns;
		search->found->access_ns = item->access_ns;
	}
	return true;
}

/* false: complained about. */
static bool find(const struct tool_cache *cache, const char *name, struct shown_entry *ret)
{
	static struct search search;	/* until the command ends */
	const struct run_history *history;
	enum cmn_status status;

	search.found = ret;
	/* As far as it can be read: without one, no program has entries. */
	(void)!run_history_load(cache->store, &history);
	entry_search_begin(&search.names, name, cache->config.dir, history);
	status = entry_search_store(&search.names, cache->store, "show", visit, &search);
	if (status != CMN_OK)
		tool_end(tool_fail(cache->config.dir, status));
	ret->path = entry_search_end(&search.names);
	return ret->path != NULL;
}

static enum cmn_status read_files(const struct tool_cache *cache, struct shown_entry *entry)
{
	enum cmn_file_trust trust = cc_store_trust(cache->store);
	bool unsafe;
	int root_fd, entry_dir_fd;
	enum cmn_status status = cc_root_open(cache->config.dir, &root_fd);

	if (status != CMN_OK)
		return status;
	status = cc_entry_dir_open(root_fd, entry->place.entry_dir, &entry_dir_fd);
	(void)close(root_fd);	/* read only */
	if (status != CMN_OK)
		return status;
	status = cc_entry_dir_read_src(entry_dir_fd, entry->place.n, trust, &entry->file, &entry->src);
	if (status == CMN_OK) {
		entry->has_header = cc_entry_dir_read_bin_header(entry_dir_fd, entry->place.n, &entry->src,
								   &entry->header) == CMN_OK;
		if (entry->src.manifest.len)
			status = cc_manifest_decode(entry->src.manifest, &entry->manifest);
	}
	entry->status = cc_entry_dir_judge(entry_dir_fd, entry->place.n, trust);
	entry->status_text = entry_status_text(cache->store, &entry->place, entry->status, &unsafe);
	(void)close(entry_dir_fd);	/* read only */
	return status;
}

/* All texts of the image, one after the other, as they are. */
static int print_source(const struct shown_entry *entry)
{
	struct cmn_buffer text = { 0 };
	struct cc_key_field field;
	struct cmn_reader reader;

	for (bool read = cc_key_read(entry->src.key, &reader) == CMN_OK;
	     read && cc_key_next(&reader, &field) == CMN_OK;) {
		if (cmn_view_equal(field.name, cmn_view_of("source")))
			cmn_buffer_append(&text, field.value.data, field.value.len);
	}
	return tool_print(&text);
}

static int show(const struct tool_cache *cache, const char *name, bool json, bool source)
{
	struct shown_entry entry = { .root = cache->config.dir };
	enum cmn_status status;
	int code = TOOL_FAILED;
	bool unsafe;

	if (!find(cache, name, &entry))
		return TOOL_FAILED;
	status = read_files(cache, &entry);
	if (status != CMN_OK) {
		tool_complain("%s/%s: %s", entry.root, entry.path,
			      entry_status_text(cache->store, &entry.place, status, &unsafe));
	} else {
		code = (source ? print_source : json ? print_json : print)(&entry);
	}
	cc_manifest_free(entry.manifest);
	cmn_buffer_release(&entry.file);
	return code;
}

verb_function verb_show;

int verb_show(const struct arguments *arguments)
{
	bool json = arguments_flag(arguments, "json"), source = arguments_flag(arguments, "source");

	if (json && source)
		tool_refuse("show: --json and --source exclude each other");
	return show(tool_open(), arguments->operand, json, source);
}
