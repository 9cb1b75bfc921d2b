/* SPDX-License-Identifier: MIT */
/*
 * test_stale_links: which links an old link is now. The objects are the test's; a driver has a version. And
 * which entries the store has.
 */
#include "cachecore/disk/store.h"
#include "cachecore/manifest.h"
#include "tests/support/unit.h"
#include "tools/replay/replay.h"

#define MAX_OBJECTS 64

static struct object items[MAX_OBJECTS];
static struct cc_key keys[MAX_OBJECTS + 1];	/* of these; the last one is the link's */
static struct stale_links links;
static struct present none;
static char seen[4096];		/* the inputs of each key that was found, and its version */
static unsigned int found, wanted;	/* keys; more than wanted are refused */

/* An old driver's keys get the new one's version. */
bool present_renew_key(const struct present *present, struct cmn_view old, struct cc_key *ret)
{
	struct cc_key_field field;
	struct cmn_reader reader;
	bool changed = false;

	CU_ASSERT_PTR_EQUAL(present, &none);
	CU_ASSERT_EQUAL_FATAL(cc_key_read(old, &reader), CMN_OK);
	while (cc_key_next(&reader, &field) == CMN_OK) {
		bool version = cmn_view_equal(field.name, cmn_view_of("version"));

		changed |= version && !cmn_view_equal(field.value, cmn_view_of("new"));
		if (version)
			field.value = cmn_view_of("new");
		cc_key_add_field(ret, &field);
	}
	return changed;
}

static struct cmn_hash content_of(const char *name)
{
	return cmn_hash_of(name, strlen(name));
}

/* A key of that kind with these inputs: contents, one letter each. */
static void make(struct cc_key *key, const char *version, const char *kind, const char *source,
		 const char *inputs)
{
	cc_key_init(key);
	cc_key_add_text(key, CC_PART_DEVICE, "version", version);
	cc_key_add_text(key, CC_PART_IMAGE, "kind", kind);
	cc_key_add_text(key, CC_PART_IMAGE, "source", source);
	for (; *inputs; inputs++) {
		struct cmn_hash content = content_of((const char[]){ *inputs, '\0' });

		cc_key_add(key, CC_PART_IMAGE, "input", content.bytes, sizeof(content.bytes));
	}
	CU_ASSERT_EQUAL_FATAL(cc_key_status(key), CMN_OK);
}

/* The store has what that key made. */
static void has(const char *version, const char *kind, const char *source, const char *inputs,
		const char *content)
{
	size_t i = links.objects.count++;

	CU_ASSERT_FATAL(i < MAX_OBJECTS);
	make(&keys[i], version, kind, source, inputs);
	items[i] = (struct object){ .content = content_of(content),
				    .devices = objects_devices(cc_key_view(&keys[i])),
				    .key = cc_key_view(&keys[i]) };
}

/* An object that was compiled from that source, before and after the update. */
static void compiled(const char *source, const char *before, const char *after)
{
	has("old", "compile", source, "", before);
	if (after)
		has("new", "compile", source, "", after);
}

static bool note(void *ctx, struct cmn_view key)
{
	struct cmn_view input;

	CU_ASSERT_PTR_EQUAL(ctx, &links);
	if (found++ == wanted)
		return false;
	CU_ASSERT(replay_key_has(key, "version", "new"));
	for (unsigned int i = 0; replay_key_field(key, "input", i, &input); i++) {
		char letter[2] = "?";

		for (char c = 'A'; c <= 'z'; c++) {
			struct cmn_hash content = content_of((const char[]){ c, '\0' });

			if (input.len == sizeof(content.bytes) && !memcmp(input.data, content.bytes, input.len))
				letter[0] = c;
		}
		(void)strcat(seen, letter);
	}
	(void)strcat(seen, " ");
	return true;
}

/* What a link of these old contents is now. */
static enum cmn_status renewed(const char *inputs)
{
	enum cmn_status status;

	found = 0;
	seen[0] = '\0';
	cc_key_release(&keys[MAX_OBJECTS]);
	make(&keys[MAX_OBJECTS], "old", "link", "", inputs);
	status = stale_links_renew(&links, cc_key_view(&keys[MAX_OBJECTS]), note, &links);
	CU_ASSERT_EQUAL(links.depth, 0);
	return status;
}

BEFORE_EACH
{
	memset(keys, 0, sizeof(keys));
	wanted = 1000;
	links = (struct stale_links){ .present = &none, .objects.items = items };
}

AFTER_EACH
{
	for (size_t i = 0; i <= MAX_OBJECTS; i++)
		cc_key_release(&keys[i]);
}

TEST(each_input_becomes_what_its_source_is_now)
{
	compiled("one", "a", "A");
	compiled("two", "b", "B");
	CU_ASSERT_EQUAL(renewed("ab"), CMN_OK);
	CU_ASSERT_STRING_EQUAL(seen, "AB ");
	CU_ASSERT_EQUAL(renewed("bab"), CMN_OK);
	CU_ASSERT_STRING_EQUAL(seen, "BAB ");
}

TEST(without_an_input_there_is_no_link)
{
	compiled("one", "a", "A");
	compiled("two", "b", NULL);
	CU_ASSERT_EQUAL(renewed("ab"), CMN_MISS);
	CU_ASSERT_EQUAL(renewed("ac"), CMN_MISS);
	CU_ASSERT_EQUAL(renewed(""), CMN_MISS);
	CU_ASSERT_EQUAL(found, 0);
	/* Of another device it is none. */
	has("older", "compile", "three", "", "d");
	has("new", "compile", "three", "", "D");
	CU_ASSERT_EQUAL(renewed("d"), CMN_MISS);
}

TEST(what_the_old_compiler_made_equal_the_new_one_tells_apart)
{
	compiled("one", "a", "A");
	compiled("two", "a", "B");
	compiled("three", "a", "A");
	compiled("four", "c", "C");
	CU_ASSERT_EQUAL(renewed("a"), CMN_OK);
	CU_ASSERT_STRING_EQUAL(seen, "A B ");
	CU_ASSERT_EQUAL(renewed("ca"), CMN_OK);
	CU_ASSERT_STRING_EQUAL(seen, "CA CB ");
	CU_ASSERT_EQUAL(renewed("aa"), CMN_OK);
	CU_ASSERT_STRING_EQUAL(seen, "AA BA AB BB ");
	/* Not all of sixteen, nor of nine. */
	CU_ASSERT_EQUAL(renewed("aaaa"), CMN_OK);
	CU_ASSERT_EQUAL(found, 8);
	compiled("five", "a", "D");
	CU_ASSERT_EQUAL(renewed("aa"), CMN_OK);
	CU_ASSERT_EQUAL(found, 8);
	/* A library had the same content, and is not built. */
	has("old", "link", "library", "z", "c");
	CU_ASSERT_EQUAL(renewed("c"), CMN_OK);
	CU_ASSERT_STRING_EQUAL(seen, "C ");
}

TEST(what_only_begins_as_an_input_is_none)
{
	const struct cc_key_field odd = { CC_PART_IMAGE, { "input\0", 6 }, { "", 0 } };

	compiled("one", "a", "A");
	CU_ASSERT_EQUAL(renewed("a"), CMN_OK);
	for (size_t i = 0; i < 1000; i++)
		cc_key_add_field(&keys[MAX_OBJECTS], &odd);
	CU_ASSERT_EQUAL(stale_links_renew(&links, cc_key_view(&keys[MAX_OBJECTS]), note, &links), CMN_OK);
	CU_ASSERT_STRING_EQUAL(seen, "A A ");
}

TEST(libraries_are_links_too)
{
	compiled("one", "a", "A");
	has("old", "link", "library", "a", "l");
	has("new", "link", "library", "A", "L");
	has("old", "link", "library of it", "l", "m");
	CU_ASSERT_EQUAL(renewed("la"), CMN_OK);
	CU_ASSERT_STRING_EQUAL(seen, "LA ");
	/* It is not built yet. */
	CU_ASSERT_EQUAL(renewed("m"), CMN_MISS);
	has("new", "link", "library of it", "L", "M");
	CU_ASSERT_EQUAL(renewed("m"), CMN_OK);
	CU_ASSERT_STRING_EQUAL(seen, "M ");
}

TEST(a_library_of_itself_is_no_hang)
{
	has("old", "link", "library", "l", "l");
	CU_ASSERT_EQUAL(renewed("l"), CMN_MISS);
	CU_ASSERT(links.parts < 32);
	has("old", "link", "another", "ll", "l");
	CU_ASSERT_EQUAL(renewed("l"), CMN_MISS);
	CU_ASSERT(links.parts <= 4096);
	/* The next one is looked at for itself. */
	compiled("one", "a", "A");
	CU_ASSERT_EQUAL(renewed("a"), CMN_OK);
	CU_ASSERT_EQUAL(links.parts, 1);
}

TEST(whoever_has_enough_gets_no_more)
{
	compiled("one", "a", "A");
	compiled("two", "a", "B");
	wanted = 0;
	CU_ASSERT_EQUAL(renewed("a"), CMN_STALE);
	CU_ASSERT_EQUAL(found, 1);
}

TEST(libraries_and_compiled_objects_are_linked_again)
{
	static const char *const rows[][3] = {
		{ "link", "-create-library", "link library object" }, { "link", "-w", "link" }, { "link", NULL, "link" },
		{ "compile", "", "object" }, { "compile-il", NULL, "object" }, { "source", "-create-library", "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cc_key *key = &keys[i];

		make(key, "old", rows[i][0], "", "");
		if (rows[i][1])
			cc_key_add_text(key, CC_PART_OPTIONS, "options", rows[i][1]);
		CU_ASSERT_EQUAL(objects_is_link(cc_key_view(key)), strstr(rows[i][2], "link") != NULL);
		CU_ASSERT_EQUAL(objects_is_library(cc_key_view(key)), strstr(rows[i][2], "library") != NULL);
		CU_ASSERT_EQUAL(objects_is_object(cc_key_view(key)), strstr(rows[i][2], "object") != NULL);
	}
}

/* The store has what that key made, or how it failed, for these files. */
static void put(const struct cc_key *key, bool failed, struct cc_manifest *manifest)
{
	char *no_tiers[] = { NULL }, root[] = "root";
	const struct cc_config config = { .dir = root, .read_only_dirs = no_tiers, .max_device_image_size = 99 };
	struct cc_entry *entry = cc_entry_new(1);
	struct objects objects;
	struct cc_store *store;

	cc_entry_add(entry, CC_TAG_IMAGE, 0, "image", 5);
	if (failed)
		cc_entry_set_failed(entry, false, 0);
	CU_ASSERT_EQUAL_FATAL(cc_entry_finish(entry, manifest), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(cc_store_open(&config, NULL, &store), CMN_OK);
	CU_ASSERT_EQUAL(cc_store_put(store, key, entry), CMN_OK);
	CU_ASSERT_EQUAL(objects_read(store, &objects), CMN_OK);
	CU_ASSERT_EQUAL(objects_find_key(&objects, cc_key_view(key), 0) != NULL, !failed);
	objects_release(&objects);
	cc_store_close(store);
	cc_entry_unref(entry);
}

static bool is_there(const struct cc_key *key, const char *directory)
{
	const struct cc_recipe recipe = { .key = cc_key_view(key), .directory = cmn_view_of(directory) };

	return replay_entries_has("root", &recipe);
}

TEST(an_entry_is_there_if_it_is_a_whole_one_for_the_files_as_they_are)
{
	static const char *const names[] = { "good", "failed", "with header", "never built" };
	struct cc_manifest *manifest = cc_manifest_new();
	const struct cmn_hash hash = content_of("header");

	CU_ASSERT_EQUAL_FATAL(chdir(unit_dir()), 0);
	CU_ASSERT_EQUAL(cc_manifest_add_file(manifest, "a.h", strlen("header"), &hash), CMN_OK);
	unit_write("here/a.h", "header");
	unit_write("there/a.h", "another");
	for (size_t i = 0; i < 4; i++) {
		make(&keys[i], "old", "compile", names[i], "");
		if (i < 3)
			put(&keys[i], i == 1, i == 2 ? manifest : NULL);
		CU_ASSERT_EQUAL(is_there(&keys[i], "no such directory"), i == 0);
	}
	CU_ASSERT_TRUE(is_there(&keys[2], "here"));
	CU_ASSERT_FALSE(is_there(&keys[2], "there"));
	CU_ASSERT_FALSE(is_there(&keys[2], ""));
	CU_ASSERT_EQUAL(system("find root -name '*.bin' -delete"), 0);
	CU_ASSERT_FALSE(is_there(&keys[0], ""));
	CU_ASSERT_EQUAL(chdir("/"), 0);
}
