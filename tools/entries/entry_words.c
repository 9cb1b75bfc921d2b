/* SPDX-License-Identifier: MIT */
/*
 * entry_words: three sources. Directories below the root whose names go on where the word ends; the
 * history, which knows the kernels and programs of late; and as many of the stored keys as there is
 * time for.
 */
#include "tools/arguments.h"

#include <string.h>
#include <unistd.h>

#include "cachecore/kernel_names.h"
#include "common/clock.h"
#include "common/listing.h"
#include "tools/explain/run_history.h"
#include "tools/memory.h"
#include "tools/tool.h"

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
