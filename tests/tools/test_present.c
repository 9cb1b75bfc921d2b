/* SPDX-License-Identifier: MIT */
/*
 * test_present: which of this machine's devices an old key means; the test says what
 * these are, by probes of its own.
 */
#include "cachecore/disk/store.h"
#include "cachecore/key_device.h"
#include "tests/support/unit.h"
#include "tools/replay/replay.h"
#include "tools/worker/worker_process.h"

static struct {
	unsigned int started;		/* probes */
	int unable;			/* so many find no loader; -1: one crashes */
	int signal;			/* comes before the first one ends */
} probes;

/* No process: a probe that has stored one entry, and named one library, at once. */
void worker_run(const struct worker_start *start, struct worker_result *ret_result)
{
	const bool level_zero = strcmp(start->arguments[0], "level-zero-build") == 0;
	char *no_tiers[] = { NULL };
	struct cc_config config = { .read_only_dirs = no_tiers, .max_device_image_size = 1 << 20 };
	struct cc_entry *entry;
	struct cc_store *store;
	struct cc_key key;

	*ret_result = (struct worker_result){ .end = WORKER_EXITED };
	probes.started++;
	if (probes.signal) {
		ret_result->end = WORKER_INTERRUPTED;
		ret_result->code = probes.signal;
		return;
	}
	for (const struct worker_variable *variable = start->variables; variable->name; variable++) {
		if (strcmp(variable->name, "CKCACHE_DIR") == 0)
			config.dir = (char *)variable->value;
	}
	entry = cc_entry_new(1);
	cc_key_init(&key);
	cc_key_add_text(&key, CC_PART_DEVICE, level_zero ? "api" : "platform.name", "");
	cc_key_add_text(&key, CC_PART_IMAGE, "source", "small");
	cc_entry_add(entry, CC_TAG_IMAGE, 0, "image", 5);
	CU_ASSERT_EQUAL_FATAL(cc_entry_finish(entry, NULL), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(cc_store_open(&config, NULL, &store), CMN_OK);
	CU_ASSERT_EQUAL(cc_store_put(store, &key, entry), CMN_OK);
	cc_store_close(store);
	cc_entry_unref(entry);
	cc_key_release(&key);
	if ((int)probes.started <= probes.unable)
		cmn_buffer_append_text(&ret_result->records, "failed\tloader\twhy\n");
	cmn_buffer_printf(&ret_result->records, "mapped\t%s/%s.so\nmapped\tnothing.so\nmapped\t/no/such.so\n",
			  unit_dir(), level_zero ? "lz" : "cl");
	if (probes.unable < 0)
		ret_result->end = WORKER_SIGNALLED;
}

void worker_result_release(struct worker_result *result)
{
	cmn_buffer_release(&result->records);
}

enum { MAX_DEVICES = 8 };

static struct cc_key keys[MAX_DEVICES + 1];	/* the last one is the old one */
static struct present_device devices[MAX_DEVICES];
static struct present present;

BEFORE_EACH
{
	for (size_t i = 0; i <= MAX_DEVICES; i++)
		cc_key_init(&keys[i]);
	present = (struct present){ .devices = devices };
	memset(&probes, 0, sizeof(probes));
}

AFTER_EACH
{
	for (size_t i = 0; i <= MAX_DEVICES; i++)
		cc_key_release(&keys[i]);
}

/* A device of vendor 1. */
static uint64_t device_id;	/* 0: none */

static struct cmn_view device_of(struct cc_key *key, const char *name, const char *version,
				 const char *driver)
{
	struct cmn_reader reader;
	struct cmn_view fields = { 0 };

	cc_key_add_text(key, CC_PART_DEVICE, "platform.name", "platform");
	cc_key_add_text(key, CC_PART_DEVICE, "device.name", name);
	cc_key_add_u64(key, CC_PART_DEVICE, "device.vendor_id", 1);
	cc_key_add_u64(key, CC_PART_DEVICE, "device.type", 4);
	cc_key_add_text(key, CC_PART_DEVICE, "device.driver_version", version);
	cc_key_add_text(key, CC_PART_DEVICE, "driver.path", driver);
	if (device_id)
		cc_key_add_u64(key, CC_PART_DEVICE, "device.id", device_id);
	CU_ASSERT_EQUAL_FATAL(cc_key_read(cc_key_view(key), &reader), CMN_OK);
	CU_ASSERT_FATAL(cc_key_device_next(&reader, &fields));
	return fields;
}

static void there_is(const char *name, const char *version, const char *driver)
{
	size_t i = present.count++;

	CU_ASSERT_FATAL(i < MAX_DEVICES);
	devices[i].fields = device_of(&keys[i], name, version, driver);
}

/* The number of the device that the old one is now; -1: none. */
static int find(const char *name, const char *version, const char *driver)
{
	struct cc_key *old = &keys[MAX_DEVICES];
	const struct present_device *found;

	cc_key_release(old);
	cc_key_init(old);
	found = present_find(&present, device_of(old, name, version, driver));
	return found ? (int)(found - devices) : -1;
}

/* As the command keeps what was read. */
static struct present kept[8];
static size_t kept_count;

/* What the probes of both APIs say. */
static bool read_present(size_t count)
{
	const struct replay_settings settings = { .timeout_ns = 1 };
	int signal_number = 0;
	bool done;

	unit_write("lz.so", "");
	unit_write("cl.so", "");
	probes.started = 0;
	done = present_read(&settings, &present, &signal_number);
	CU_ASSERT_EQUAL(signal_number, probes.signal);
	CU_ASSERT_EQUAL(probes.started, probes.signal ? 1 : 2);
	CU_ASSERT_EQUAL(present.count, count);
	CU_ASSERT(!done || present.library_count == count);
	for (size_t i = 0; i < count; i++)
		CU_ASSERT(cmn_view_equal(cc_key_device_find(present.devices[i].fields, "source", 0),
					 cmn_view_of("")) && present.devices[i].behind.len);
	kept[kept_count++] = present;
	return done;
}

TEST(both_apis_are_asked)
{
	CU_ASSERT_TRUE(read_present(2));
	/* One without a loader leaves the other; what crashed may have answered. */
	probes.unable = 1;
	CU_ASSERT_TRUE(read_present(2));
	probes.unable = -1;
	CU_ASSERT_TRUE(read_present(2));
	probes.unable = 2;
	CU_ASSERT_FALSE(read_present(0));
	probes.unable = 0;
	probes.signal = 15;
	CU_ASSERT_FALSE(read_present(0));
}

TEST(the_very_same_comes_first)
{
	/* One that has all its fields, and more. */
	there_is("gpu", "2.0", "b.so");
	cc_key_add_text(&keys[0], CC_PART_DEVICE, "driver.path", "c.so");
	devices[0].fields = (struct cmn_view){ (const char *)cc_key_view(&keys[0]).data + 4,
					       cc_key_view(&keys[0]).len - 4 };
	there_is("gpu", "2.0", "b.so");
	CU_ASSERT_EQUAL(find("gpu", "2.0", "b.so"), 1);
	present.count = 0;
	cc_key_release(&keys[0]);
	cc_key_init(&keys[0]);
	cc_key_release(&keys[1]);
	cc_key_init(&keys[1]);
	there_is("gpu", "1.0", "a.so");
	there_is("gpu", "2.0", "b.so");
	CU_ASSERT_EQUAL(find("gpu", "2.0", "b.so"), 1);
	CU_ASSERT_EQUAL(find("gpu", "1.0", "a.so"), 0);
}

TEST(of_one_name_the_one_that_changed_least)
{
	there_is("gpu", "2.0", "a.so");
	there_is("gpu", "2.0", "b.so");
	CU_ASSERT_EQUAL(find("gpu", "1.0", "b.so"), 1);
	CU_ASSERT_EQUAL(find("gpu", "1.0", "a.so"), 0);
}

TEST(a_new_name_is_found_if_there_is_but_one)
{
	there_is("new gpu", "2.0", "a.so");
	CU_ASSERT_EQUAL(find("gpu", "1.0", "a.so"), 0);
	CU_ASSERT_EQUAL(find("gpu", "1.0", "elsewhere.so"), 0);
	/* One has a name, whatever else there is. */
	there_is("gpu", "2.0", "c.so");
	CU_ASSERT_EQUAL(find("gpu", "1.0", "a.so"), 1);
}

TEST(a_new_name_needs_no_other_version)
{
	there_is("new", "1.0", "/b.so");
	CU_ASSERT_EQUAL(find("old", "1.0", "/a.so"), 0);
}

TEST(which_of_two_was_renamed_only_the_driver_tells)
{
	there_is("new gpu", "2.0", "a.so");
	there_is("newest gpu", "2.0", "b.so");
	CU_ASSERT_EQUAL(find("gpu", "1.0", "a.so"), 0);
	CU_ASSERT_EQUAL(find("gpu", "1.0", "b.so"), 1);
	CU_ASSERT_EQUAL(find("gpu", "1.0", "elsewhere.so"), -1);
	there_is("another of it", "2.0", "b.so");
	CU_ASSERT_EQUAL(find("gpu", "1.0", "b.so"), -1);
}

/* As Intel's driver calls what is not there. What was built for the other is left alone. */
TEST(the_only_device_may_have_another_id_with_another_driver)
{
	struct cc_key *old = &keys[MAX_DEVICES];
	char name[] = "a.so";
	struct present_library file = { name, name, 1000 };

	device_id = 2;
	there_is("new gpu", "2.0", "/a.so");
	cc_key_add_text(&keys[0], CC_PART_DEVICE, "library.a.so", "new");
	devices[0].fields = (struct cmn_view){ (const char *)cc_key_view(&keys[0]).data + 4,
					       cc_key_view(&keys[0]).len - 4 };
	present.libraries = &file;
	present.library_count = 1;
	device_id = 1;
	CU_ASSERT_EQUAL(find("gpu", "1.0", "/elsewhere.so"), 0);
	CU_ASSERT_EQUAL(find("gpu", "2.0", "/a.so"), -1);
	CU_ASSERT_EQUAL(find("gpu", "1.0", "/a.so"), 0);
	cc_key_add_text(old, CC_PART_DEVICE, "library.a.so", "old");
	CU_ASSERT_FALSE(present_has_replaced(&present, cc_key_view(old), 999));
	device_id = 3;
	there_is("another gpu", "2.0", "/a.so");
	device_id = 1;
	CU_ASSERT_EQUAL(find("gpu", "1.0", "/a.so"), -1);
	device_id = 0;
}

TEST(one_device_with_several_keys_is_one)
{
	there_is("new gpu", "2.0", "a.so");
	there_is("newest gpu", "2.0", "b.so");
	there_is("new gpu", "2.0", "a.so");
	CU_ASSERT_EQUAL(find("gpu", "1.0", "a.so"), 0);
	CU_ASSERT_EQUAL(find("gpu", "1.0", "b.so"), 1);
	CU_ASSERT_EQUAL(find("gpu", "1.0", "elsewhere.so"), -1);
}

TEST(a_key_is_renewed_for_all_its_devices_or_not_at_all)
{
	struct cc_key *old = &keys[MAX_DEVICES], renewed;

	there_is("gpu", "2.0", "a.so");
	there_is("processor", "1.0", "a.so");
	(void)device_of(old, "gpu", "1.0", "a.so");
	(void)device_of(old, "processor", "1.0", "a.so");
	cc_key_add_text(old, CC_PART_IMAGE, "source", "kernel");
	cc_key_init(&renewed);
	CU_ASSERT_TRUE(present_has_devices(&present, cc_key_view(old)));
	CU_ASSERT_TRUE_FATAL(present_renew_key(&present, cc_key_view(old), &renewed));
	CU_ASSERT(cmn_view_equal(cc_key_find(cc_key_view(&renewed), "device.driver_version", 0),
				 cmn_view_of("2.0")));
	CU_ASSERT(cmn_view_equal(cc_key_find(cc_key_view(&renewed), "device.name", 1),
				 cmn_view_of("processor")));
	CU_ASSERT(cmn_view_equal(cc_key_find(cc_key_view(&renewed), "source", 0),
				 cmn_view_of("kernel")));
	/* It is the one that is due. */
	cc_key_release(old);
	cc_key_init_copy(old, &renewed);
	cc_key_release(&renewed);
	cc_key_init(&renewed);
	CU_ASSERT_FALSE(present_renew_key(&present, cc_key_view(old), &renewed));
	cc_key_release(&renewed);
	/* A second device of the key that is gone. */
	present.count = 1;
	devices[0].fields = device_of(&keys[2], "another", "1.0", "a.so");
	cc_key_init(&renewed);
	cc_key_release(old);
	cc_key_init(old);
	(void)device_of(old, "another", "0.9", "a.so");
	cc_key_add_text(old, CC_PART_DEVICE, "platform.name", "platform");
	cc_key_add_text(old, CC_PART_DEVICE, "device.name", "gone");
	CU_ASSERT_FALSE(present_has_devices(&present, cc_key_view(old)));
	CU_ASSERT_FALSE(present_renew_key(&present, cc_key_view(old), &renewed));
	cc_key_release(&renewed);
}

/* As of one library whose file came at that time. */
static void library(struct present_library *library, char *name, uint64_t changed_ns)
{
	*library = (struct present_library){ name, name, changed_ns };
	present.libraries = library;
	present.library_count = 1;
}

TEST(a_driver_is_replaced_if_nobody_used_an_entry_since_its_file_changed)
{
	struct cc_key *old = &keys[MAX_DEVICES];
	struct present_library file;
	char name[] = "a.so", other[] = "b.so";

	there_is("gpu", "2.0", "/a.so");
	cc_key_add_text(&keys[0], CC_PART_DEVICE, "library.a.so", "new");
	devices[0].fields = (struct cmn_view){ (const char *)cc_key_view(&keys[0]).data + 4,
					       cc_key_view(&keys[0]).len - 4 };
	(void)device_of(old, "gpu", "1.0", "/a.so");
	cc_key_add_text(old, CC_PART_DEVICE, "library.a.so", "old");
	library(&file, name, 1000);
	CU_ASSERT_TRUE(present_has_replaced(&present, cc_key_view(old), 999));
	CU_ASSERT_TRUE(present_has_replaced(&present, cc_key_view(old), 1000 + 9999999));
	CU_ASSERT_FALSE(present_has_replaced(&present, cc_key_view(old), 1000 + 10000000));
	/* When a library came that nobody knows is not known. */
	library(&file, other, 1000);
	CU_ASSERT_FALSE(present_has_replaced(&present, cc_key_view(old), 999));
	/* The very same was not replaced. */
	library(&file, name, 1000);
	CU_ASSERT_FALSE(present_has_replaced(&present, cc_key_view(&keys[0]), 999));
	/* Nor, with one that is known. */
	cc_key_add_text(&keys[0], CC_PART_DEVICE, "library.b.so", "new");
	devices[0].fields.len = cc_key_view(&keys[0]).len - 4;
	devices[0].fields.data = (const char *)cc_key_view(&keys[0]).data + 4;
	CU_ASSERT_FALSE(present_has_replaced(&present, cc_key_view(old), 999));
	cc_key_add_text(old, CC_PART_DEVICE, "library.b.so", "new");
	CU_ASSERT_TRUE(present_has_replaced(&present, cc_key_view(old), 999));
	/* A second device whose driver is as it was. */
	there_is("processor", "1.0", "/a.so");
	(void)device_of(old, "processor", "1.0", "/a.so");
	CU_ASSERT_TRUE(present_has_replaced(&present, cc_key_view(old), 999));
	/* Another driver's file may be used by others. */
	cc_key_release(old);
	cc_key_init(old);
	(void)device_of(old, "gpu", "1.0", "/elsewhere/a.so");
	cc_key_add_text(old, CC_PART_DEVICE, "library.a.so", "old");
	CU_ASSERT_FALSE(present_has_replaced(&present, cc_key_view(old), 999));
}

/* The paths of a list, each in a line. */
static void expect_paths(const struct cmn_buffer *paths, const char *expected)
{
	char said[4096] = "";
	size_t len = 0;

	for (size_t at = 0; at < paths->len; at += strlen((const char *)paths->data + at) + 1)
		len += (size_t)snprintf(said + len, sizeof(said) - len, "%s\n", (const char *)paths->data + at);
	CU_ASSERT_STRING_EQUAL(said, expected);
}

TEST(a_build_may_reach_what_its_drivers_name_and_no_home)
{
	struct present_library file;
	struct confine confine;
	char path[] = "/lib/a.so";
	char *none[] = { NULL }, **before = environ;

	library(&file, path, 1000);
	environ = none;
	CU_ASSERT_EQUAL(setenv("HOME", "/home/u", 1), 0);
	present_confine(&present, "/root/of", "/scratch", &confine);
	expect_paths(&confine.reads, "/lib/a.so\n");
	expect_paths(&confine.writes, "/root/of\n/scratch\n/home/u/.nv\n/home/u/.cache/mesa_shader_cache\n"
		     "/home/u/.cache/mesa_shader_cache_db\n/home/u/.cache/mesa_shader_cache_sf\n"
		     "/home/u/.cache/neo_compiler_cache\n/home/u/.cache/pocl\n/home/u/.cache/comgr\n");
	cmn_buffer_release(&confine.reads);
	cmn_buffer_release(&confine.writes);
	CU_ASSERT_EQUAL(setenv("XDG_CACHE_HOME", "/xdg", 1), 0);
	CU_ASSERT_EQUAL(setenv("POCL_CACHE_DIR", "/cache//", 1), 0);
	CU_ASSERT_EQUAL(setenv("OCL_ICD_VENDORS", "/a/:rel:/:/home/u//:/home:/home/u/v:/home/uv:/b", 1), 0);
	CU_ASSERT_EQUAL(setenv("SOMETHING", "/else", 1), 0);
	present_confine(&present, "/root/of", "/scratch", &confine);
	expect_paths(&confine.reads, "/lib/a.so\n/a\n/home/u/v\n/home/uv\n/b\n");
	expect_paths(&confine.writes, "/root/of\n/scratch\n/home/u/.nv\n/xdg/mesa_shader_cache\n"
		     "/xdg/mesa_shader_cache_db\n/xdg/mesa_shader_cache_sf\n/xdg/neo_compiler_cache\n"
		     "/xdg/pocl\n/xdg/comgr\n/cache\n");
	cmn_buffer_release(&confine.reads);
	cmn_buffer_release(&confine.writes);
	environ = before;
}
