/* SPDX-License-Identifier: MIT */
/* scenario: look-ups, stores, evictions and repairs through the facade. */
#include "tests/fault/scenario.h"

#include <stdio.h>
#include <string.h>

#include "cachecore/cache.h"
#include "cachecore/disk/writer/recipes.h"
#include "cachecore/disk/root.h"
#include "cachecore/disk/store.h"
#include "tests/support/file_hash.h"

#define EXPORTED __attribute__((visibility("default")))
/* Longer than what is compared with the file in one piece. */
enum { IMAGE_SIZE = 1500, LARGE_SOURCE = 70000 };

static const char *header = "";

EXPORTED void scenario_set_header(const char *text)
{
	header = text;
}

/* One build that the application wants: of a name that ends in .h with the header. */
struct wish {
	const char *name;
	struct cc_cache *cache;
	struct scenario_outcome *outcome;
	char image[IMAGE_SIZE];
};

static bool includes(const struct wish *wish)
{
	return strchr(wish->name, 'h') != NULL;
}

/* What the driver makes of it: a third that cannot be compressed, and text. */
static void make_image(struct wish *wish)
{
	char line[128];
	int len = snprintf(line, sizeof(line), "native code of %s with [%s]\n", wish->name,
			   includes(wish) ? header : "");
	uint64_t chance = (uint64_t)line[15] + 1;

	for (size_t i = 0; i < IMAGE_SIZE; i++) {
		chance = chance * UINT64_C(6364136223846793005) + 1;
		wish->image[i] = i < IMAGE_SIZE / 3 ? (char)(chance >> 56) : line[i % (size_t)len];
	}
}

static void print(const struct wish *wish, const void *image, size_t len)
{
	size_t used = strlen(wish->outcome->text);
	bool right = len == IMAGE_SIZE && !memcmp(image, wish->image, len);

	(void)snprintf(wish->outcome->text + used, SCENARIO_TEXT - used, "%s %s\n", wish->name,
		       right ? "right" : "WRONG");
}

static enum cmn_status depend(const struct wish *wish, struct cc_manifest *manifest)
{
	struct cc_file_memo *memo = cc_cache_file_memo(wish->cache);
	struct cmn_hash hash;
	uint64_t size;
	enum cmn_status status = file_hash(memo, "x.h", &size, &hash);

	if (status == CMN_OK)
		status = cc_manifest_add_file(manifest, "x.h", size, &hash);
	if (status == CMN_OK)
		status = cc_manifest_add_absent(manifest, "near/x.h");
	return status;
}

static enum cmn_status build(void *ctx, struct cc_entry **ret)
{
	struct wish *wish = ctx;
	struct cc_manifest *manifest = NULL;
	struct cc_entry *entry;
	enum cmn_status status;

	if (includes(wish)) {
		manifest = cc_manifest_new();
		if (!manifest || depend(wish, manifest) != CMN_OK) {
			cc_manifest_free(manifest);
			return CMN_MISS;
		}
	}
	entry = cc_entry_new(1000000);
	if (!entry) {
		cc_manifest_free(manifest);
		return CMN_ERR_NOMEM;
	}
	cc_entry_add(entry, CC_TAG_IMAGE, 0, wish->image, IMAGE_SIZE);
	status = cc_entry_finish(entry, manifest);
	if (status != CMN_OK) {
		cc_entry_unref(entry);
		return status;
	}
	wish->outcome->builds++;
	*ret = entry;
	return CMN_OK;
}

static void make_key(const struct wish *wish, struct cc_key *key)
{
	static char source[LARGE_SOURCE];

	cc_key_init(key);
	cc_key_add_text(key, CC_PART_DEVICE, "device.name", "faulty");
	cc_key_add_text(key, CC_PART_OPTIONS, "options", wish->name);
	if (strchr(wish->name, 'L')) {
		memset(source, wish->name[0], sizeof(source));
		cc_key_add(key, CC_PART_IMAGE, "source", source, sizeof(source));
	} else {
		cc_key_add_text(key, CC_PART_IMAGE, "source", wish->name);
	}
}

static void count(const struct wish *wish, const struct cc_key *key, enum cc_origin origin,
		  const struct cc_entry *entry)
{
	if (origin == CC_ORIGIN_BUILT) {
		cc_cache_count_miss(wish->cache, key, 1000000);
		return;
	}
	wish->outcome->disk += origin == CC_ORIGIN_DISK;
	wish->outcome->memory += origin == CC_ORIGIN_MEMORY;
	cc_cache_count_hit(wish->cache, key, origin, entry, 1000);
}

/* As a layer does it; without a cache, or where it fails, the driver alone. */
static void get(struct cc_cache *cache, const char *name, struct scenario_outcome *outcome)
{
	struct wish wish = { .name = name, .cache = cache, .outcome = outcome };
	enum cmn_status status = CMN_MISS;
	struct cc_entry *entry = NULL;
	struct cmn_view image = { 0 };
	enum cc_origin origin;
	struct cc_key key;

	make_image(&wish);
	if (cache) {
		make_key(&wish, &key);
		status = cc_key_status(&key);
		if (status == CMN_OK)
			status = cc_cache_get_or_build(cache, &key, build, &wish, &entry, &origin);
		if (status == CMN_OK)
			count(&wish, &key, origin, entry);
	}
	if (status == CMN_OK) {
		(void)cc_entry_find(entry, CC_TAG_IMAGE, 0, &image);
		print(&wish, image.data, image.len);
		cc_entry_unref(entry);
	} else {
		outcome->builds++;
		print(&wish, wish.image, IMAGE_SIZE);
	}
	if (cache)
		cc_key_release(&key);
}

/* The driver does not take what the cache has. */
static void reject(struct cc_cache *cache, const char *name, struct scenario_outcome *outcome)
{
	struct wish wish = { .name = name, .outcome = outcome };
	struct cc_entry *entry;
	enum cc_origin origin;
	struct cc_key key;

	if (!cache)
		return;
	make_key(&wish, &key);
	if (cc_key_status(&key) == CMN_OK && cc_cache_get(cache, &key, &entry, &origin) == CMN_OK) {
		cc_cache_reject(cache, &key, entry);
		cc_entry_unref(entry);
	}
	cc_key_release(&key);
}

static void record(struct cc_cache *cache, const char *name)
{
	struct wish wish = { .name = name };
	struct cc_recipe recipe = { .directory = cmn_view_of("/") };
	struct cc_key key;

	if (!cache)
		return;
	make_key(&wish, &key);
	recipe.key = cc_key_view(&key);
	if (cc_key_status(&key) == CMN_OK)
		(void)cc_cache_put_recipe(cache, &recipe);	/* best effort, in a layer too */
	cc_key_release(&key);
}

/* No cache is NULL. */
static struct cc_cache *open_cache(void)
{
	struct cc_cache *cache;

	return cc_cache_open(&cache) == CMN_OK ? cache : NULL;
}

static void build_some(struct scenario_outcome *outcome)
{
	struct cc_cache *cache = open_cache();

	get(cache, "a", outcome);
	get(cache, "a", outcome);
	get(cache, "h", outcome);
	get(cache, "L", outcome);
	record(cache, "r");
	cc_cache_close(cache);
}

static void build_many(struct scenario_outcome *outcome)
{
	static const char *const names[] = { "b", "c", "d", "e", "f", "g" };
	struct cc_cache *cache = open_cache();

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		get(cache, names[i], outcome);
	cc_cache_close(cache);
}

static void build_one(struct scenario_outcome *outcome)
{
	struct cc_cache *cache = open_cache();

	get(cache, "a", outcome);
	cc_cache_close(cache);
}

static void read_twice(struct scenario_outcome *outcome)
{
	struct cc_cache *cache = open_cache();

	get(cache, "h", outcome);
	get(cache, "h", outcome);
	cc_cache_close(cache);
}

static void reject_one(struct scenario_outcome *outcome)
{
	struct cc_cache *cache = open_cache();

	reject(cache, "a", outcome);
	get(cache, "a", outcome);
	cc_cache_close(cache);
}

/* What fails here leaves the level as it was, which is right too. */
static void change_level(struct scenario_outcome *outcome)
{
	struct cc_cache *cache = open_cache();
	enum cmn_status status = CMN_OK;

	get(cache, "a", outcome);
	if (cache)
		status = cc_cache_set_dir(cache, "other");
	get(cache, "h", outcome);
	if (cache && status == CMN_OK)
		status = cc_cache_set_capacity(cache, 1 << 20);
	if (cache && status == CMN_OK)
		status = cc_cache_set_persistent(cache, false);
	get(cache, "a", outcome);
	if (cache && status == CMN_OK)
		status = cc_cache_set_persistent(cache, true);
	if (cache && status == CMN_OK)
		status = cc_cache_set_dir(cache, NULL);
	get(cache, "a", outcome);
	cc_cache_close(cache);
}

/* What ckcache replay does with the recipes of a root. */
static void go_through_recipes(struct scenario_outcome *outcome)
{
	struct cc_recipes_names names = { 0 };
	struct cmn_buffer file = { 0 };
	struct cc_recipe recipe;
	int fd, lock = -1;

	(void)outcome;
	if (cc_recipes_open("cache", &fd) != CMN_OK)
		return;
	if (cc_recipes_lock(fd, &lock) == CMN_OK && cc_recipes_list(fd, &names) == CMN_OK) {
		for (size_t i = 0; i < names.count; i++) {
			const char *name = names.names[i];
			unsigned int attempts = cc_recipes_attempts(fd, name);
			enum cmn_status status = cc_recipes_read(fd, name, &file, &recipe);

			status = status != CMN_OK || attempts ?
				 cc_recipes_quarantine(fd, name) :
				 cc_recipes_set_attempts(fd, name, attempts + 1);
			(void)status;	/* the next replay tries again */
			cmn_buffer_release(&file);
		}
	}
	cc_recipes_names_release(&names);
	if (lock >= 0)
		cc_root_unlock(lock);
	cc_root_unlock(fd);
}

static bool visit(void *ctx, const struct cc_store_item *item)
{
	struct scenario_outcome *outcome = ctx;

	if (item->status == CMN_OK)
		outcome->good++;
	else
		outcome->damaged++;
	return true;
}

EXPORTED void scenario_walk(struct scenario_outcome *outcome)
{
	struct cc_config config;
	struct cc_store *store;

	if (cc_config_load(NULL, &config) != CMN_OK)
		return;
	if (cc_store_open(&config, NULL, &store) == CMN_OK) {
		outcome->damaged += cc_store_walk(store, true, visit, outcome) != CMN_OK;
		cc_store_close(store);
	}
	cc_config_release(&config);
}

EXPORTED const struct scenario scenarios[] = {
	{ .name = "cold", .settings = { "CKCACHE_TRACE=trace" }, .header = "one", .run = build_some },
	{ .name = "warm", .prepare = build_some, .header = "one", .run = build_some },
	{ .name = "stale", .prepare = build_some, .header = "two", .run = read_twice },
	/* As a worker of ckcache replay, for which no eviction takes too long: on a busy machine, too. */
	{ .name = "evicting", .settings = { "CKCACHE_MAX_SIZE=75000B", "CKCACHE_BUILT_FOR=program" },
	  .prepare = build_many, .run = build_one },
	{ .name = "damaged", .prepare = build_one, .run = build_one,
	  .shell = "for f in cache/*/*/*/*/0.bin; do printf x | "
		   "dd of=$f bs=1 seek=100 conv=notrunc status=none; done" },
	{ .name = "tier", .prepare = build_one,
	  .shell = "mv cache tier", .run = build_one },
	{ .name = "read-only", .prepare = build_some, .settings = { "CKCACHE_READ_ONLY=1" },
	  .header = "one", .run = read_twice },
	{ .name = "rejected", .prepare = build_one, .run = reject_one, .builds_always = true },
	{ .name = "shared", .settings = { "CKCACHE_SHARED=group" },
	  .shell = "mkdir -m 2770 cache", .run = build_one },
	{ .name = "changing", .header = "one", .run = change_level },
	{ .name = "recipes", .prepare = build_some, .header = "one", .run = go_through_recipes },
	/* Beside those of test_store: files whose times are far from now. */
	{ .name = "future", .prepare = build_some, .header = "one", .run = build_some,
	  .shell = "find cache -exec touch -d 2100-01-01 {} +" },
	{ .name = "past", .prepare = build_some, .header = "one", .run = build_some,
	  .settings = { "CKCACHE_MAX_SIZE=100000B", "CKCACHE_THRESHOLD=0" },
	  .shell = "find cache -exec touch -d 1970-01-02 {} +" },
	{ .name = NULL },
};
