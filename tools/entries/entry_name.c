/* SPDX-License-Identifier: MIT */
/*
 * entry_name: how well a text means an entry; of the best ones there has to be one. What it is called, and what
 * is wrong with it. What shells offer, from three sources: directories below the root whose names go on where the
 * word ends; the history, which knows the kernels and programs of late; and as many of the stored keys as there
 * is time for.
 */
#include "tools/entries/entries.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/kernel_names.h"
#include "cachecore/key.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/hash.h"
#include "common/json.h"
#include "common/listing.h"
#include "tools/arguments.h"
#include "tools/explain/run_history.h"
#include "tools/memory.h"
#include "tools/text.h"
#include "tools/tool.h"

#define MAX_OPTIONS 60		/* of one in a list */
#define HEX_DIGITS "0123456789abcdef"

/* "12" of "12.src"; what has another end is taken as it is. */
static size_t number_len(const char *text, size_t len)
{
	size_t end = sizeof(CC_ENTRY_DIR_SRC_SUFFIX) - 1;

	return len > end && memcmp(text + len - end, CC_ENTRY_DIR_SRC_SUFFIX, end) == 0 ? len - end : len;
}

/* Whether each part of text begins a part of path, from that one on; an entry's number has to be the whole number. */
static bool begins_parts(const char *text, const char *path, unsigned int part)
{
	for (unsigned int i = 0; i < part; i++)
		path += strcspn(path, "/") + 1;
	for (; *text; part++) {
		size_t len = strcspn(text, "/"), path_len = strcspn(path, "/");

		/* A path without the number stands for all of them. */
		if (part == CC_PART_COUNT && !*path)
			return !text[len];
		if (part == CC_PART_COUNT) {
			len = number_len(text, len);
			if (len != number_len(path, path_len) || memcmp(text, path, len) != 0)
				return false;
			return !text[strcspn(text, "/")];
		}
		if (len > path_len || memcmp(text, path, len) != 0)
			return false;
		text += len + (text[len] == '/');
		path += path_len + (path[path_len] == '/');
	}
	return true;
}

/* Whether the text is in a part of the path, or begins parts behind the first. */
static bool is_part(const char *text, const char *path)
{
	const char *found = strspn(text, HEX_DIGITS) == strlen(text) ? strstr(path, text) : NULL;
	size_t entry_dir_len = CC_ENTRY_DIR_PATH_SIZE - 1;
	bool part = found && found + strlen(text) <= path + entry_dir_len;

	for (unsigned int i = 1; i < CC_PART_COUNT && !part; i++)
		part = begins_parts(text, path, i);
	return part;
}

static bool has_kernel(struct cmn_view key, struct cmn_view name)
{
	struct cc_key_field field;
	struct cmn_reader reader;
	bool found = false;

	if (cc_key_read(key, &reader) != CMN_OK)
		return false;
	while (!found && cc_key_next(&reader, &field) == CMN_OK) {
		struct cc_kernel_names names = cc_kernel_names_of(field.value);
		struct cmn_view one = { "", field.part == CC_PART_IMAGE };

		while (one.len && !found) {
			one = cc_kernel_names_next(&names);
			found = one.len && cmn_view_equal(one, name);
		}
	}
	return found;
}

static int compare_entry_dirs(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Paths of entries go on behind the entry directory's. */
static int compare_path(const void *a, const void *b)
{
	return strncmp(a, *(const char *const *)b, CC_ENTRY_DIR_PATH_SIZE - 1);
}

static enum entry_match match(const struct entry_search *search, const struct entry_offer *offer)
{
	struct cmn_view text = cmn_view_of(search->text);

	if (!text.len || strlen(offer->path) < CC_ENTRY_DIR_PATH_SIZE - 1)
		return ENTRY_MATCH_NONE;
	if (begins_parts(search->text, offer->path, 0))
		return ENTRY_MATCH_PATH;
	if (cmn_view_equal(offer->kernel, text) || has_kernel(offer->key, text) ||
	    (search->entry_dir_count && bsearch(offer->path, search->entry_dirs, search->entry_dir_count,
						sizeof(*search->entry_dirs), compare_path)))
		return ENTRY_MATCH_NAME;
	return is_part(search->text, offer->path) ? ENTRY_MATCH_PART : ENTRY_MATCH_NONE;
}

struct search_walk {
	const struct entry_search *search;
	const char *verb;
	cc_store_visit_fn visit;
	void *ctx;
	uint64_t seen;
};

/* Whether a directory of an entry directory's path may lead to what begins as the text does (cc_entry_dir_choice). */
static bool may_begin(void *ctx, size_t level, const char *name)
{
	const struct entry_search *search = ((const struct search_walk *)ctx)->search;
	const char *text = search->text;

	for (size_t i = 0; i < level && *text; i++) {
		text += strcspn(text, "/");
		text += *text == '/';
	}
	return strncmp(text, name, strcspn(text, "/")) == 0;
}

static bool visit_one(void *ctx, const struct cc_store_item *item)
{
	struct search_walk *walk = ctx;

	terminal_progress_count(walk->verb, ++walk->seen);
	return walk->visit(walk->ctx, item);
}

enum cmn_status entry_search_store(struct entry_search *search, struct cc_store *store, const char *verb,
				   cc_store_visit_fn visit, void *ctx)
{
	const struct cc_entry_dir_choice beginning = { .enter = may_begin };
	struct search_walk walk = { .search = search, .verb = verb, .visit = visit, .ctx = ctx };
	enum cmn_status status = cc_store_walk_chosen(store, &beginning, false, visit_one, &walk);

	if (status == CMN_OK && search->best != ENTRY_MATCH_PATH)
		status = cc_store_walk(store, false, visit_one, &walk);
	return status;
}

void entry_search_begin(struct entry_search *search, const char *text, const char *root,
			const struct run_history *history)
{
	size_t root_len = strlen(root);

	*search = (struct entry_search){ .text = text };
	if (strncmp(text, root, root_len) == 0 && text[root_len] == '/')
		search->text = text + root_len + strspn(text + root_len, "/");
	for (size_t i = 0; i < history->event_count; i++) {
		const struct run_history_event *one = &history->events[i];

		if (!*one->entry_dir || strcmp(one->program, text) != 0)
			continue;
		memory_grow(search->entry_dirs, search->entry_dir_count);
		search->entry_dirs[search->entry_dir_count++] = one->entry_dir;
	}
	if (search->entry_dir_count)
		qsort(search->entry_dirs, search->entry_dir_count, sizeof(*search->entry_dirs), compare_entry_dirs);
}

static void forget_found(struct entry_search *search)
{
	while (search->count)
		free(search->found[--search->count].what);
}

static char *describe(const struct entry_offer *offer)
{
	struct cmn_view kernel = offer->kernel, options = offer->options;
	struct cmn_buffer text = { 0 };

	if (offer->key.len) {
		kernel = cc_kernel_names_of_key(offer->key);
		options = cc_key_find(offer->key, "options", 0);
	}
	if (kernel.len) {
		cmn_buffer_append_text(&text, "kernel ");
		text_append_clean(&text, kernel, MAX_OPTIONS);
	}
	if (options.len) {
		cmn_buffer_append_text(&text, kernel.len ? ", " : "");
		text_append_clean(&text, options, MAX_OPTIONS);
	}
	return memory_string(&text);
}

void entry_search_offer(struct entry_search *search, const struct entry_offer *offer)
{
	enum entry_match how = match(search, offer);

	if (how == ENTRY_MATCH_NONE || how < search->best)
		return;
	if (how > search->best)
		forget_found(search);
	search->best = how;
	for (size_t i = 0; i < search->count; i++) {
		if (strcmp(search->found[i].path, offer->path) == 0)
			return;
	}
	if (search->count > ENTRY_NAME_SHOWN)
		return;
	(void)snprintf(search->found[search->count].path, sizeof(search->found[0].path), "%s",
		       offer->path);	/* it fits */
	search->found[search->count++].what = describe(offer);
}

static void complain_of_several(const struct entry_search *search)
{
	tool_complain("\"%s\" is the name of several entries; give more of the path:", search->text);
	for (size_t i = 0; i < search->count && i < ENTRY_NAME_SHOWN; i++) {
		struct cmn_buffer line = { 0 };
		char *text;

		text_append_short_path(&line, search->found[i].path);
		if (*search->found[i].what)
			cmn_buffer_printf(&line, "  %s", search->found[i].what);
		text = memory_string(&line);
		tool_complain("  %s", text);
		free(text);
	}
	if (search->count > ENTRY_NAME_SHOWN)
		tool_complain("  and more (see ckcache list)");
}

const char *entry_search_end(const struct entry_search *search)
{
	if (!search->count)
		tool_complain("there is no entry \"%s\" (see ckcache list)", search->text);
	else if (search->count > 1)
		complain_of_several(search);
	return search->count == 1 ? search->found[0].path : NULL;
}

/* Of one name or line: more is shown nowhere. */
#define MAX_NAME 240

static void append_cut(struct cmn_buffer *text, struct cmn_view name)
{
	cmn_buffer_append(text, name.data, name.len < MAX_NAME ? name.len : MAX_NAME);
}

/* How many there were, at most one more than may be appended. */
static unsigned int append_kernels(struct cmn_buffer *text, struct cmn_view source, const char *first,
				   unsigned int count, unsigned int most)
{
	struct cc_kernel_names names = cc_kernel_names_of(source);
	struct cmn_view name = cc_kernel_names_next(&names);

	/* Of one alone there is no more to say. */
	for (; name.len && count < most + (most > 1); count++) {
		cmn_buffer_append_text(text, count ? ", " : first);
		if (count == most)
			cmn_buffer_append_text(text, "…");
		else
			append_cut(text, name);
		name = cc_kernel_names_next(&names);
	}
	return count;
}

static void append_hash(struct cmn_buffer *text, struct cmn_view source)
{
	struct cmn_hash hash = cmn_hash_of(source.data, source.len);
	char hex[CMN_HASH_HEX_SIZE];

	cmn_hash_hex(&hash, hex);
	cmn_buffer_printf(text, "%.8s (%zu bytes)", hex, source.len);
}

void entry_label_append(struct cmn_buffer *text, struct cmn_view key, const char *first,
			unsigned int kernels)
{
	struct cmn_view source = cc_key_find(key, "source", 0);
	unsigned int count = 0, inputs = 0;
	struct cc_key_field field;
	struct cmn_reader reader;

	if (cc_key_read(key, &reader) != CMN_OK)
		return;
	while (count < kernels + (kernels > 1) && cc_key_next(&reader, &field) == CMN_OK) {
		if (field.part == CC_PART_IMAGE)
			count = append_kernels(text, field.value, first, count, kernels);
		inputs += cmn_view_equal(field.name, cmn_view_of("input"));
	}
	if (count)
		return;
	if (!source.len && inputs)
		cmn_buffer_printf(text, "link of %u program%s", inputs, inputs == 1 ? "" : "s");
	else if (source.len && cmn_json_is_text(source) && text_first_line(source).len)
		append_cut(text, text_first_line(source));
	else if (source.len)
		append_hash(text, source);
}

/* Why a file is not read; NULL: it would be. */
static const char *distrust(const struct stat *info, bool *ret_unsafe)
{
	bool own = cmn_file_is_own(info->st_uid) || info->st_uid == 0;

	if (!S_ISREG(info->st_mode))
		return "it is not a regular file";
	*ret_unsafe = !own || (info->st_mode & (S_IWGRP | S_IWOTH)) != 0;
	if (!own)
		return "it belongs to another user";
	return *ret_unsafe ? "others may write to it" : NULL;
}

const char *entry_status_text(struct cc_store *store, const struct cc_store_place *place,
			      enum cmn_status status, bool *ret_unsafe)
{
	static const enum cc_entry_dir_file files[] = { CC_ENTRY_DIR_SRC, CC_ENTRY_DIR_BIN };
	const char *text = NULL;
	int root_fd = -1;

	*ret_unsafe = false;
	if (status == CMN_STALE)
		return "files of two entries";
	if (status != CMN_ERR_ACCESS || cc_store_open_root(store, &root_fd) != CMN_OK)
		return cmn_status_string(status);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && !text; i++) {
		char path[CC_ENTRY_DIR_FILE_PATH_SIZE];
		struct stat info;

		(void)cc_entry_dir_file_path(place->entry_dir, files[i], place->n, path);
		if (fstatat(root_fd, path, &info, AT_SYMLINK_NOFOLLOW) == 0)
			text = distrust(&info, ret_unsafe);
	}
	(void)close(root_fd);	/* read only */
	return text ? text : cmn_status_string(status);
}

/* Nobody waits longer for a shell's answer, nor reads more. */
#define TIME_NS UINT64_C(100000000)
#define MAX_WORDS 500
/* So many are looked at in any case: a busy machine has time for them, too. */
#define MIN_VISITS 64
#define SHOWN_DIGITS ((size_t)8)

struct words {
	struct tool_cache *cache;
	const char *beginning;
	uint64_t deadline;
	char **all;
	size_t count;
	size_t visits;		/* of what one source has */
};

/* Asked once before each of a source's. */
static bool is_over(struct words *words)
{
	return words->count >= MAX_WORDS ||
	       (words->visits++ >= MIN_VISITS && cmn_clock_monotonic() >= words->deadline);
}

/* Nothing that a shell would expand. */
static bool is_harmless(struct cmn_view word)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-";
	const char *at = word.data;
	bool harmless = word.len && at[0] != '-';

	for (size_t i = 0; i < word.len && harmless; i++)
		harmless = at[i] && strchr(letters, at[i]);
	return harmless;
}

static void add(struct words *words, struct cmn_view word)
{
	size_t len = strlen(words->beginning);

	if (words->count >= MAX_WORDS || !is_harmless(word) || word.len < len ||
	    memcmp(word.data, words->beginning, len) != 0)
		return;
	for (size_t i = 0; i < words->count; i++) {
		if (cmn_view_equal(cmn_view_of(words->all[i]), word))
			return;
	}
	memory_grow(words->all, words->count);
	words->all[words->count++] = memory_copy_view(word);
}

/*
 * Adds what is below the directory, whose path as it is offered is in path[0..at]. rest: what of the
 * beginning is still to be found.
 */
static void add_paths(struct words *words, int dir_fd, const char *name, char *path, size_t at,
		      unsigned int part, const char *rest)
{
	size_t len = strcspn(rest, "/"), shown = len > SHOWN_DIGITS || rest[len] ? len : SHOWN_DIGITS;
	struct cmn_listing listing = { 0 };
	const struct dirent64 *item;

	if (!cmn_listing_open(&listing, dir_fd, name))
		return;
	while (!is_over(words) && (item = cmn_listing_next(&listing))) {
		size_t size = strlen(item->d_name);

		if (size != CMN_HASH_HEX_SIZE - 1 || strncmp(item->d_name, rest, len) != 0)
			continue;
		memcpy(path + at, item->d_name, shown < size ? shown : size);
		size = at + (shown < size ? shown : size);
		path[size] = '\0';
		if (part + 1 == CC_PART_COUNT) {
			add(words, cmn_view_of(path));
			continue;
		}
		path[size++] = '/';
		add_paths(words, listing.fd, item->d_name, path, size, part + 1,
			  rest[len] ? rest + len + 1 : "");
	}
	cmn_listing_close(&listing);
}

static void add_entries(struct words *words)
{
	char path[CC_ENTRY_DIR_PATH_SIZE];
	int root_fd = -1;

	if (strlen(words->beginning) >= sizeof(path) ||
	    cc_store_open_root(words->cache->store, &root_fd) != CMN_OK)
		return;
	add_paths(words, root_fd, ".", path, 0, 0, words->beginning);
	(void)close(root_fd);	/* read only */
}

static void add_history(struct words *words)
{
	const struct run_history *history;

	if (run_history_load(words->cache->store, &history) != CMN_OK)
		return;
	for (size_t i = history->event_count; i-- > 0 && !is_over(words);) {
		if (!*history->events[i].entry_dir)
			continue;
		add(words, cmn_view_of(history->events[i].name));
		add(words, cmn_view_of(history->events[i].program));
	}
}

static bool add_kernels(void *ctx, const struct cc_store_item *item)
{
	struct words *words = ctx;
	struct cc_key_field field;
	struct cmn_reader reader;

	if (cc_key_read(item->key, &reader) != CMN_OK)
		return !is_over(words);
	while (cc_key_next(&reader, &field) == CMN_OK) {
		struct cc_kernel_names names = cc_kernel_names_of(field.value);
		struct cmn_view name = { "", field.part == CC_PART_IMAGE };

		while (name.len) {
			name = cc_kernel_names_next(&names);
			add(words, name);
		}
	}
	return !is_over(words);
}

/* Where the command line has the last --dir; NULL: nowhere. The shell takes "=" for a word. */
static const char *find_directory(int argc, char **argv)
{
	const char *dir = NULL;

	for (int i = 2; i < argc; i++) {
		if (strncmp(argv[i], "--dir=", 6) == 0)
			dir = argv[i] + 6;
		if (strcmp(argv[i], "--dir") != 0)
			continue;
		i += i + 1 < argc && strcmp(argv[i + 1], "=") == 0;
		dir = i + 1 < argc ? argv[i + 1] : dir;
	}
	return dir;
}

int entry_words_print(int argc, char **argv)
{
	static struct words words;	/* until the command ends */
	const char *dir = find_directory(argc, argv);
	struct cmn_buffer text = { 0 };

	if (argc < 2)
		return TOOL_USAGE;
	if (dir && !tool_set_path("CKCACHE_DIR", dir))
		return TOOL_FAILED;
	words.cache = tool_open();
	words.deadline = cmn_clock_monotonic() + TIME_NS;
	words.beginning = argv[1];
	add_history(&words);
	words.visits = 0;
	add_entries(&words);
	words.visits = 0;
	/* What cannot be read is not offered. */
	(void)!cc_store_walk(words.cache->store, false, add_kernels, &words);
	for (size_t i = 0; i < words.count; i++)
		cmn_buffer_printf(&text, "%s\n", words.all[i]);
	return tool_print(&text);
}
