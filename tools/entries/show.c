/* SPDX-License-Identifier: MIT */
/* show: one entry, found by its name, with all that is known of it. */
#include "tools/entries/show.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "tools/arguments.h"
#include "tools/entries/entry_name.h"
#include "tools/entries/entry_status.h"
#include "tools/tool.h"

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
		(void)strncpy(search->found->path, item->path, sizeof(search->found->path) - 1);
		search->found->place = *item->place;
		search->found->bytes = item->bytes;
		search->found->stored_ns = item->stored_ns;
		search->found->access_ns = item->access_ns;
	}
	return !search->names.failed;
}

/* false: complained about. */
static bool find(const struct tool_cache *cache, const char *name, struct shown_entry *ret)
{
	struct search search = { .found = ret };
	struct run_history history = { 0 };
	enum cmn_status status = run_history_load(cache->config.dir, cc_store_trust(cache->store),
						  &history);
	bool found = false;

	/* Without one, no program has entries. */
	if (status != CMN_ERR_NOMEM) {
		entry_search_begin(&search.names, name, cache->config.dir, &history);
		status = entry_search_store(&search.names, cache->store, "show", visit, &search);
	}
	if (status == CMN_OK)
		found = entry_search_end(&search.names) != NULL;
	else
		tool_complain("%s: %s", cache->config.dir, cmn_status_string(status));
	entry_search_release(&search.names);
	run_history_release(&history);
	return found;
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
		code = (source ? print_source : json ? show_print_json : show_print)(&entry);
	}
	cc_manifest_free(entry.manifest);
	cmn_buffer_release(&entry.file);
	return code;
}

verb_function verb_show;

int verb_show(const struct arguments *arguments)
{
	bool json = arguments_flag(arguments, "json"), source = arguments_flag(arguments, "source");
	struct tool_cache cache;
	int code;

	if (json && source) {
		tool_complain("show: --json and --source exclude each other");
		return TOOL_USAGE;
	}
	if (!tool_open(&cache))
		return TOOL_FAILED;
	code = show(&cache, arguments->operand, json, source);
	tool_close(&cache);
	return code;
}
