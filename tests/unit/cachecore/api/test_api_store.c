/* SPDX-License-Identifier: MIT */
/* api_store: the public persistent store, on a directory of each test's own. */
#include "cachecore/api/cachecore.h"

#include <stdatomic.h>

#include "tests/support/owned.h"
#include "tests/support/unit.h"

OWNER(struct cachecore_store, cachecore_store_close)

static struct cachecore_bytes text(const char *from)
{
	return (struct cachecore_bytes){ from, strlen(from) };
}

/* Nothing of the user's own is read or written. */
BEFORE_EACH
{
	static const char *const names[] = {
		"CKCACHE_DISABLE", "CKCACHE_PERSISTENT", "CKCACHE_READ_ONLY", "CKCACHE_MAX_SIZE",
		"CKCACHE_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
	setenv("CKCACHE_READ_ONLY_DIRS", "", 1);
	setenv("HOME", unit_dir(), 1);
	setenv("CKCACHE_LOG", "none", 1);
}

static struct cachecore_store_options options_of(const char *dir)
{
	return (struct cachecore_store_options){ .struct_size = sizeof(struct cachecore_store_options),
						 .runtime = "test", .dir = dir };
}

static struct cachecore_store *open_store(void)
{
	const struct cachecore_store_options options = options_of(unit_path("cache"));
	struct cachecore_store *store = NULL;

	CU_ASSERT_EQUAL_FATAL(cachecore_store_open(&options, &store), CACHECORE_OK);
	return store;
}

static struct cachecore_store_key key_of(const char *image)
{
	return (struct cachecore_store_key){ .device = text("device"), .image = text(image) };
}

static enum cachecore_status put_image(struct cachecore_store *store,
				       const struct cachecore_store_key *key, const char *image)
{
	const struct cachecore_bytes bytes = text(image);
	const struct cachecore_store_value value = { .images = &bytes, .image_count = 1,
						     .build_ns = 1000000000 };

	return cachecore_store_put(store, key, &value);
}

static bool equals(struct cachecore_bytes bytes, const char *expected)
{
	return bytes.data && bytes.size == strlen(expected) &&
	       !memcmp(bytes.data, expected, bytes.size);
}

/* Whether it is there, with this image. */
static bool has(struct cachecore_store *store, const struct cachecore_store_key *key, const char *image)
{
	struct cachecore_blob *blob;
	enum cachecore_status status = cachecore_store_get(store, key, &blob);

	if (status != CACHECORE_OK) {
		CU_ASSERT_EQUAL(status, CACHECORE_MISS);
		return false;
	}
	CU_ASSERT(equals(cachecore_blob_image(blob, 0), image));
	cachecore_blob_unref(blob);
	return true;
}

TEST(what_is_put_is_got_by_another_process)
{
	const struct cachecore_bytes images[] = { text("first"), { NULL, 0 }, text("third") };
	const struct cachecore_store_value value = { .images = images, .image_count = 3,
						     .log = text("warning: none"),
						     .build_ns = 77 };
	struct cachecore_store_key key = key_of("source");
	struct cachecore_store *store;
	struct cachecore_blob *blob = NULL;

	store = open_store();
	CU_ASSERT_EQUAL(cachecore_store_put(store, &key, &value), CACHECORE_OK);
	cachecore_store_close(store);
	store = open_store();
	CU_ASSERT_EQUAL_FATAL(cachecore_store_get(store, &key, &blob), CACHECORE_OK);
	CU_ASSERT_EQUAL(cachecore_blob_image_count(blob), 3);
	CU_ASSERT(equals(cachecore_blob_image(blob, 0), "first"));
	CU_ASSERT(equals(cachecore_blob_image(blob, 1), ""));
	CU_ASSERT(equals(cachecore_blob_image(blob, 2), "third"));
	CU_ASSERT_PTR_NULL(cachecore_blob_image(blob, 3).data);
	CU_ASSERT_PTR_NULL(cachecore_blob_image(blob, SIZE_MAX).data);
	CU_ASSERT(equals(cachecore_blob_log(blob), "warning: none"));
	CU_ASSERT_EQUAL(cachecore_blob_build_ns(blob), 77);
	/* Bytes outlive the store, and every reference but the last. */
	cachecore_store_close(store);
	CU_ASSERT_PTR_EQUAL(cachecore_blob_ref(blob), blob);
	cachecore_blob_unref(blob);
	CU_ASSERT(equals(cachecore_blob_image(blob, 2), "third"));
	cachecore_blob_unref(blob);
	cachecore_blob_unref(NULL);
}

TEST(each_part_of_a_key_counts)
{
	const char *const parts[][4] = {
		{ "ab", "", "", "" }, { "a", "b", "", "" }, { "", "ab", "", "" },
		{ "", "a", "b", "" }, { "", "", "ab", "" }, { "", "", "a", "b" },
		{ "", "", "", "ab" }, { "", "", "", "" },
	};
	const size_t count = sizeof(parts) / sizeof(parts[0]);
	struct cachecore_store_key keys[sizeof(parts) / sizeof(parts[0])];
	OWNED(owned_cachecore_store_close) struct cachecore_store *store;
	char image[2] = "0";

	store = open_store();
	for (size_t i = 0; i < count; i++) {
		keys[i] = (struct cachecore_store_key){
			text(parts[i][0]), text(parts[i][1]), text(parts[i][2]), text(parts[i][3]),
		};
		CU_ASSERT(!has(store, &keys[i], ""));
		image[0] = (char)('0' + i);
		CU_ASSERT_EQUAL(put_image(store, &keys[i], image), CACHECORE_OK);
		cachecore_store_flush(store);
	}
	for (size_t i = 0; i < count; i++) {
		image[0] = (char)('0' + i);
		CU_ASSERT(has(store, &keys[i], image));
	}
}

TEST(runtimes_keep_apart_in_one_root)
{
	struct cachecore_store_options options;
	struct cachecore_store_key key = key_of("source");
	struct cachecore_store *store, *other = NULL;

	store = open_store();
	options = options_of(unit_path("cache"));
	options.runtime = "another";
	CU_ASSERT_EQUAL_FATAL(cachecore_store_open(&options, &other), CACHECORE_OK);
	CU_ASSERT_EQUAL(put_image(store, &key, "binary"), CACHECORE_OK);
	cachecore_store_flush(store);
	CU_ASSERT(has(store, &key, "binary"));
	CU_ASSERT(!has(other, &key, "binary"));
	cachecore_store_close(other);
	cachecore_store_close(store);
}

TEST(directory_comes_from_the_options_or_the_environment)
{
	struct cachecore_store_options options = options_of(NULL);
	struct cachecore_store_key key = key_of("source");
	struct cachecore_store *store = NULL;

	setenv("CKCACHE_DIR", unit_path("from-environment"), 1);
	CU_ASSERT_EQUAL_FATAL(cachecore_store_open(&options, &store), CACHECORE_OK);
	CU_ASSERT_EQUAL(put_image(store, &key, "one"), CACHECORE_OK);
	cachecore_store_close(store);
	CU_ASSERT_EQUAL(access("from-environment", F_OK), 0);
	options.dir = "relative/from-options";
	unit_write("relative/file", "");
	CU_ASSERT_EQUAL_FATAL(cachecore_store_open(&options, &store), CACHECORE_OK);
	CU_ASSERT(!has(store, &key, "one"));
	CU_ASSERT_EQUAL(put_image(store, &key, "two"), CACHECORE_OK);
	cachecore_store_close(store);
	CU_ASSERT_EQUAL(access("relative/from-options", F_OK), 0);
	/* Nowhere to be, and nowhere to look. */
	options.dir = NULL;
	unsetenv("CKCACHE_DIR");
	unsetenv("HOME");
	CU_ASSERT_EQUAL(cachecore_store_open(&options, &store), CACHECORE_MISS);
	CU_ASSERT_PTR_NULL(store);
	/* To look is enough. The log says who does. */
	setenv("CKCACHE_READ_ONLY_DIRS", unit_path("from-environment"), 1);
	setenv("CKCACHE_LOG", "info", 1);
	setenv("CKCACHE_LOG_FILE", unit_path("log"), 1);
	CU_ASSERT_EQUAL_FATAL(cachecore_store_open(&options, &store), CACHECORE_OK);
	unsetenv("CKCACHE_LOG_FILE");
	CU_ASSERT(has(store, &key, "one"));
	cachecore_store_close(store);
	CU_ASSERT_EQUAL(system("grep -q ' test, no cache directory$' log"), 0);
}

TEST(the_users_word_stands)
{
	static const char *const switches[][2] = {
		{ "CKCACHE_DISABLE", "1" }, { "CKCACHE_PERSISTENT", "0" },
	};
	struct cachecore_store_key key = key_of("source");
	struct cachecore_store_options options;
	struct cachecore_store *store;

	options = options_of(unit_path("cache"));
	for (int i = 0; i < 2; i++) {
		setenv(switches[i][0], switches[i][1], 1);
		store = (struct cachecore_store *)&key;
		CU_ASSERT_EQUAL(cachecore_store_open(&options, &store), CACHECORE_MISS);
		CU_ASSERT_PTR_NULL(store);
		unsetenv(switches[i][0]);
	}
	store = open_store();
	CU_ASSERT_EQUAL(put_image(store, &key, "binary"), CACHECORE_OK);
	cachecore_store_close(store);
	setenv("CKCACHE_READ_ONLY", "1", 1);
	store = open_store();
	CU_ASSERT(has(store, &key, "binary"));
	key = key_of("other");
	CU_ASSERT_EQUAL(put_image(store, &key, "other"), CACHECORE_OK);
	cachecore_store_flush(store);
	CU_ASSERT(!has(store, &key, "other"));
	key = key_of("source");
	cachecore_store_reject(store, &key);
	CU_ASSERT(has(store, &key, "binary"));
	cachecore_store_close(store);
	unsetenv("CKCACHE_READ_ONLY");
}

TEST(directory_that_others_may_write_to_is_refused)
{
	struct cachecore_store_options options;
	struct cachecore_store *store = NULL;

	CU_ASSERT_EQUAL_FATAL(mkdir(unit_path("open"), 0700), 0);
	CU_ASSERT_EQUAL_FATAL(chmod(unit_path("open"), 0777), 0);
	options = options_of(unit_path("open"));
	CU_ASSERT_EQUAL(cachecore_store_open(&options, &store), CACHECORE_ERR_ACCESS);
	CU_ASSERT_PTR_NULL(store);
	setenv("CKCACHE_DIR", unit_path("open"), 1);
	options.dir = NULL;
	CU_ASSERT_EQUAL(cachecore_store_open(&options, &store), CACHECORE_ERR_ACCESS);
	CU_ASSERT_PTR_NULL(store);
}

struct script {
	enum cachecore_status status;
	struct cachecore_store_value value;
	atomic_int calls;
};

static enum cachecore_status build(void *ctx, struct cachecore_store_value *ret)
{
	struct script *script = ctx;

	atomic_fetch_add(&script->calls, 1);
	if (ret->images || ret->image_count || ret->log.data || ret->build_ns)
		return CACHECORE_ERR_CORRUPT;	/* it should have been all zero */
	*ret = script->value;
	return script->status;
}

TEST(builds_once_and_stores)
{
	const struct cachecore_bytes image = text("binary");
	struct script script = { .value = { .images = &image, .image_count = 1 } };
	struct cachecore_store_key key = key_of("source");
	struct cachecore_store_stats stats;
	struct cachecore_store *store;

	for (int i = 0; i < 3; i++) {
		struct cachecore_blob *blob = NULL;
		bool built = false;

		store = open_store();
		CU_ASSERT_EQUAL_FATAL(cachecore_store_get_or_build(store, &key, build, &script,
								   &built, &blob), CACHECORE_OK);
		CU_ASSERT_EQUAL(built, i == 0);
		CU_ASSERT(equals(cachecore_blob_image(blob, 0), "binary"));
		CU_ASSERT_PTR_NULL(cachecore_blob_log(blob).data);
		/* Measured, as the callback did not say. */
		CU_ASSERT(cachecore_blob_build_ns(blob) > 0);
		cachecore_blob_unref(blob);
		cachecore_store_stats(store, &stats);
		CU_ASSERT_EQUAL(stats.misses, i == 0);
		CU_ASSERT_EQUAL(stats.hits, i != 0);
		cachecore_store_close(store);
	}
	CU_ASSERT_EQUAL(atomic_load(&script.calls), 1);
}

TEST(time_of_builds_is_counted_as_spent_and_as_saved)
{
	static const uint64_t times[] = { UINT64_C(1000000000000000), 1 };
	const struct cachecore_bytes image = text("binary");

	for (int t = 0; t < 2; t++) {
		struct script script = { .value = { .images = &image, .image_count = 1, .build_ns = times[t] } };
		struct cachecore_store_key key = key_of(t ? "short" : "long");

		for (int i = 0; i < 2; i++) {
			struct cachecore_store *store = open_store();
			struct cachecore_store_stats stats;
			struct cachecore_blob *blob = NULL;
			bool built;

			CU_ASSERT_EQUAL_FATAL(cachecore_store_get_or_build(store, &key, build, &script,
									   &built, &blob), CACHECORE_OK);
			cachecore_blob_unref(blob);
			cachecore_store_stats(store, &stats);
			/* Spent is what was measured, whatever the callback says. */
			CU_ASSERT_EQUAL(stats.build_ns_spent > 0, i == 0);
			CU_ASSERT_TRUE(stats.build_ns_spent < times[0]);
			/* Less what the look-up took; never less than nothing. */
			CU_ASSERT_TRUE(stats.build_ns_saved < times[t]);
			CU_ASSERT_EQUAL(stats.build_ns_saved > 0, i && !t);
			cachecore_store_close(store);
		}
	}
}

TEST(failed_build_is_not_stored)
{
	const struct cachecore_bytes image = text("binary"), bad = { NULL, 5 };
	struct script script = { .status = CACHECORE_ERR_BUILD,
				 .value = { .images = &image, .image_count = 1 } };
	struct cachecore_store_key key = key_of("source");
	OWNED(owned_cachecore_store_close) struct cachecore_store *store;
	struct cachecore_blob *blob = NULL;
	bool built = false;

	store = open_store();
	CU_ASSERT_EQUAL(cachecore_store_get_or_build(store, &key, build, &script, &built, &blob),
			CACHECORE_ERR_BUILD);
	CU_ASSERT(built);
	CU_ASSERT_PTR_NULL(blob);
	/* A build that is well and gives nothing to keep. */
	script.status = CACHECORE_OK;
	script.value.image_count = 0;
	CU_ASSERT_EQUAL(cachecore_store_get_or_build(store, &key, build, &script, &built, &blob),
			CACHECORE_ERR_INVALID);
	script.value = (struct cachecore_store_value){ .images = &bad, .image_count = 1 };
	CU_ASSERT_EQUAL(cachecore_store_get_or_build(store, &key, build, &script, NULL, &blob),
			CACHECORE_ERR_INVALID);
	CU_ASSERT_EQUAL(atomic_load(&script.calls), 3);
	CU_ASSERT(!has(store, &key, ""));
}

TEST(without_a_store_everything_is_built)
{
	const struct cachecore_bytes image = text("binary");
	struct script script = { .value = { .images = &image, .image_count = 1 } };
	struct cachecore_store_key key = key_of("source");
	struct cachecore_store_stats stats = { .hits = 1 };
	struct cachecore_blob *blob = NULL;
	bool built = false;

	for (int i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL_FATAL(cachecore_store_get_or_build(NULL, &key, build, &script,
								   &built, &blob), CACHECORE_OK);
		CU_ASSERT(built);
		CU_ASSERT(equals(cachecore_blob_image(blob, 0), "binary"));
		cachecore_blob_unref(blob);
	}
	CU_ASSERT_EQUAL(atomic_load(&script.calls), 2);
	CU_ASSERT_EQUAL(cachecore_store_get(NULL, &key, &blob), CACHECORE_MISS);
	CU_ASSERT_EQUAL(put_image(NULL, &key, "binary"), CACHECORE_OK);
	cachecore_store_reject(NULL, &key);
	cachecore_store_flush(NULL);
	cachecore_store_close(NULL);
	cachecore_store_stats(NULL, &stats);
	CU_ASSERT_EQUAL(stats.hits, 0);
	cachecore_store_fork_prepare(NULL);
	cachecore_store_fork_parent(NULL);
	cachecore_store_fork_child(NULL);
}

TEST(refused_binary_is_gone)
{
	struct cachecore_store_key key = key_of("source"), other = key_of("other");
	struct cachecore_store_stats stats;
	OWNED(owned_cachecore_store_close) struct cachecore_store *store;

	store = open_store();
	CU_ASSERT_EQUAL(put_image(store, &key, "binary"), CACHECORE_OK);
	CU_ASSERT_EQUAL(put_image(store, &other, "other"), CACHECORE_OK);
	cachecore_store_flush(store);
	CU_ASSERT(has(store, &key, "binary"));
	cachecore_store_reject(store, &key);
	CU_ASSERT(!has(store, &key, "binary"));
	CU_ASSERT(has(store, &other, "other"));
	CU_ASSERT_EQUAL(put_image(store, &key, "better"), CACHECORE_OK);
	cachecore_store_flush(store);
	CU_ASSERT(has(store, &key, "better"));
	cachecore_store_stats(store, &stats);
	CU_ASSERT_EQUAL(stats.hits, 3);
	CU_ASSERT_EQUAL(stats.misses, 1);
	CU_ASSERT_EQUAL(stats.rejected, 1);
	/* Three look-ups took less than three seconds' builds. */
	CU_ASSERT(stats.build_ns_saved > 0 && stats.build_ns_saved <= UINT64_C(3000000000));
}

/* How many of so many entries of 10 kB are there. */
static unsigned int fill(uint64_t capacity, unsigned int count)
{
	struct cachecore_store_options options = options_of(unit_path("cache"));
	static char image[10001];
	OWNED(owned_cachecore_store_close) struct cachecore_store *store = NULL;
	unsigned int there = 0;

	memset(image, 'x', sizeof(image) - 1);
	options.capacity = capacity;
	CU_ASSERT_EQUAL_FATAL(cachecore_store_open(&options, &store), CACHECORE_OK);
	for (unsigned int i = 0; i < 2 * count; i++) {
		char name[16];
		struct cachecore_store_key key;

		(void)snprintf(name, sizeof(name), "%u", i % count);
		key = key_of(name);
		if (i < count) {
			CU_ASSERT_EQUAL(put_image(store, &key, image), CACHECORE_OK);
			cachecore_store_flush(store);
		} else {
			there += has(store, &key, image);
		}
	}
	return there;
}

TEST(capacity_of_the_options_counts)
{
	setenv("CKCACHE_COMPRESSION", "none", 1);
	setenv("CKCACHE_MAX_SIZE", "45000B", 1);
	CU_ASSERT_EQUAL(fill(CACHECORE_CAPACITY_UNBOUNDED, 10), 10);
	CU_ASSERT(fill(CACHECORE_CAPACITY_DEFAULT, 10) < 5);
	CU_ASSERT_EQUAL(fill(1000000, 10), 10);
	unsetenv("CKCACHE_COMPRESSION");
}

TEST(bad_arguments_do_nothing)
{
	struct cachecore_store_options options;
	const struct cachecore_bytes bad = { NULL, 1 }, image = text("binary");
	struct cachecore_store_key good = key_of("source"), key;
	struct cachecore_store_value value = { .images = &image, .image_count = 1 };
	struct script script = { .value = value };
	OWNED(owned_cachecore_store_close) struct cachecore_store *store = NULL;
	struct cachecore_blob *blob;

	options = options_of(unit_path("cache"));
	CU_ASSERT_EQUAL(cachecore_store_open(&options, NULL), CACHECORE_ERR_INVALID);
	CU_ASSERT_EQUAL(cachecore_store_open(NULL, &store), CACHECORE_ERR_INVALID);
	options.struct_size = 0;
	CU_ASSERT_EQUAL(cachecore_store_open(&options, &store), CACHECORE_ERR_INVALID);
	options = options_of("");
	CU_ASSERT_EQUAL(cachecore_store_open(&options, &store), CACHECORE_ERR_INVALID);
	options = options_of(unit_path("cache"));
	options.runtime = "";
	CU_ASSERT_EQUAL(cachecore_store_open(&options, &store), CACHECORE_ERR_INVALID);
	options.runtime = NULL;
	CU_ASSERT_EQUAL(cachecore_store_open(&options, &store), CACHECORE_ERR_INVALID);
	store = open_store();
	for (int i = 0; i < 5; i++) {
		const struct cachecore_store_key *used = i < 4 ? &key : NULL;

		key = good;
		*(i == 0 ? &key.device : i == 1 ? &key.image : i == 2 ? &key.constants : &key.options) = bad;
		CU_ASSERT_EQUAL(cachecore_store_get(store, used, &blob), CACHECORE_ERR_INVALID);
		CU_ASSERT_EQUAL(cachecore_store_put(store, used, &value), CACHECORE_ERR_INVALID);
		CU_ASSERT_EQUAL(cachecore_store_get_or_build(store, used, build, &script, NULL,
							     &blob), CACHECORE_ERR_INVALID);
		cachecore_store_reject(store, used);
	}
	CU_ASSERT_EQUAL(cachecore_store_get(store, &good, NULL), CACHECORE_ERR_INVALID);
	CU_ASSERT_EQUAL(cachecore_store_get_or_build(store, &good, NULL, NULL, NULL, &blob), CACHECORE_ERR_INVALID);
	CU_ASSERT_EQUAL(cachecore_store_get_or_build(store, &good, build, &script, NULL, NULL),
			CACHECORE_ERR_INVALID);
	CU_ASSERT_EQUAL(cachecore_store_put(store, &good, NULL), CACHECORE_ERR_INVALID);
	value.log = bad;
	CU_ASSERT_EQUAL(cachecore_store_put(store, &good, &value), CACHECORE_ERR_INVALID);
	value = (struct cachecore_store_value){ .images = NULL, .image_count = 1 };
	CU_ASSERT_EQUAL(cachecore_store_put(store, &good, &value), CACHECORE_ERR_INVALID);
	CU_ASSERT_EQUAL(atomic_load(&script.calls), 0);
}

static void in_child(struct cachecore_store *store)
{
	struct cachecore_store_key key = key_of("source"), other = key_of("of the child");
	bool good;

	cachecore_store_fork_child(store);
	good = has(store, &key, "binary") &&
	       put_image(store, &other, "child") == CACHECORE_OK;
	cachecore_store_flush(store);
	_exit(good ? 0 : 1);
}

TEST(store_serves_a_forked_child)
{
	struct cachecore_store_key key = key_of("source"), other = key_of("of the child");
	OWNED(owned_cachecore_store_close) struct cachecore_store *store;
	pid_t pid;

	store = open_store();
	CU_ASSERT_EQUAL(put_image(store, &key, "binary"), CACHECORE_OK);
	cachecore_store_flush(store);
	cachecore_store_fork_prepare(store);
	pid = fork();
	if (pid == 0)
		in_child(store);
	cachecore_store_fork_parent(store);
	CU_ASSERT(unit_ended_well(pid));
	CU_ASSERT(has(store, &other, "child"));
}
