/* SPDX-License-Identifier: MIT */
/*
 * test_stub: what only a driver that can be told to misbehave can show:
 * refused binaries, missing binaries, asynchronous builds, several devices,
 * a new driver version, a forked client, and leaks of programs.
 */
#include "tests/opencl/driver.h"
#include "tests/support/unit.h"

static struct outcome reference;

static void run_same(const char *scenario)
{
	SAME_AS(&reference, scenario);
}

/* Reference and a filled cache, both made with the setting that is written now. */
static void fill(const char *scenario)
{
	reference = GOOD_CLIENT(BARE, scenario);
	run_same(scenario);
}

static void no_leaks(void)
{
	CU_ASSERT_EQUAL(driver_counted("free-program"),
			driver_counted("create-source") + driver_counted("create-binary"));
}

/* Fills the cache, then refuses its binary in one way; then is good again. */
static void refusal(const char *setting, const char *value, bool created)
{
	unsigned int built;
	struct driver_stats stats;

	driver_begin();
	fill("vector");
	built = driver_counted("build-source");
	driver_stub_setting(setting, value);
	run_same("vector");
	CU_ASSERT_EQUAL(driver_counted("build-source"), built + 1);
	CU_ASSERT(driver_counted("create-binary") >= 1);
	stats = driver_stats();
	CU_ASSERT_EQUAL(stats.hits_disk, 0);
	CU_ASSERT(stats.errors >= 1);
	driver_stub_setting(NULL, NULL);
	run_same("vector");	/* repaired, or removed and built again */
	run_same("vector");
	CU_ASSERT(driver_stats().hits_disk >= 1);
	CU_ASSERT(driver_counted("build-source") <= built + 2);
	if (created)
		no_leaks();
}

/* rusticl's since 26.2 has its kernels when it is loaded. */
TEST(what_is_built_when_it_is_loaded_is_not_built_again)
{
	driver_stub_as("libRusticlOpenCL.so");
	driver_stub_setting("STUB_DRIVER_VERSION", "26.2.6-1");
	driver_setenv("STUB_LOADS_BUILT", "1");
	fill("vector");
	run_same("vector");
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 1);
	CU_ASSERT_EQUAL(driver_counted("build-binary"), 0);
	/* One that is not is built, as with an older driver. */
	driver_setenv("STUB_LOADS_BUILT", NULL);
	run_same("vector");
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 2);
	CU_ASSERT_EQUAL(driver_counted("build-binary"), 1);
	driver_setenv("STUB_LOADS_BUILT", "1");
	driver_stub_setting("STUB_DRIVER_VERSION", "25.0.7");
	fill("vector");
	run_same("vector");
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 3);
	CU_ASSERT_EQUAL(driver_counted("build-binary"), 2);
}

/* It says nothing of the binary, which stays. */
TEST(a_want_of_memory_is_no_refusal)
{
	fill("vector");
	driver_stub_setting("STUB_REFUSE_BINARY", "memory");
	run_same("vector");
	CU_ASSERT_EQUAL(driver_stats().errors, 0);
	driver_stub_setting(NULL, NULL);
	run_same("vector");
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 1);
}

/* As a build that nobody refused: what the refused entry took was given back. */
TEST(out_of_memory_after_a_refusal_is_tried_again)
{
	fill("vector");
	driver_stub_setting("STUB_REFUSE_BINARY", "1\nSTUB_NO_MEMORY=1");
	run_same("vector");
	CU_ASSERT_EQUAL(driver_stats().errors, 1);
	driver_stub_setting(NULL, NULL);
	run_same("vector");
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 1);
}

/* Which may say more than the binary has. */
TEST(binaries_are_built_with_the_options)
{
	driver_stub_setting("STUB_BINARY_WANTS_OPTIONS", "1");
	fill("two-options");
	run_same("two-options");
	EXPECT_STATS("errors 0, hits_disk 2");
}

TEST(binary_refused_at_creation) { refusal("STUB_REFUSE_BINARY", "1", false); }
TEST(binary_refused_at_build) { refusal("STUB_REFUSE_BINARY_BUILD", "1", true); }
TEST(bad_status_with_a_good_error) { refusal("STUB_STATUS_ONLY", "status", true); }
TEST(good_status_with_a_bad_error) { refusal("STUB_STATUS_ONLY", "error", false); }

TEST(driver_without_binaries_stores_nothing)
{
	driver_stub_setting("STUB_NO_BINARY", "1");
	fill("vector");
	run_same("vector");
	CU_ASSERT_EQUAL(driver_stats().entries, 0);
	CU_ASSERT_EQUAL(driver_counted("build-source"), 3);
}

TEST(asynchronous_builds_call_back_once)
{
	driver_stub_setting("STUB_ASYNC", "1");
	fill("callback");
	CU_ASSERT_EQUAL(driver_counted("build-source"), 4);
	run_same("callback");
	CU_ASSERT_EQUAL(driver_counted("build-source"), 4);
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 2);
}

TEST(all_devices_of_a_context)
{
	driver_stub_setting("STUB_DEVICES", "3");
	fill("queries");
	CU_ASSERT_EQUAL(driver_counted("build-source"), 2);
	run_same("queries");
	CU_ASSERT_EQUAL(driver_counted("build-source"), 2);
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 1);
	no_leaks();
}

TEST(one_of_several_devices)
{
	driver_stub_setting("STUB_DEVICES", "2");
	fill("one-device");
	run_same("one-device");
	run_same("one-device");
	no_leaks();
}

/* What could not be built for one device may be kept for another. */
TEST(a_build_that_failed_is_for_no_device)
{
	/* Of the first device's, which is tried twice. */
	driver_stub_setting("STUB_NO_MEMORY", "2\nSTUB_DEVICES=2");
	GOOD_CLIENT(LAYERED, "devices-in-turn");
	EXPECT_STATS("bypass.device-subset 0, entries 2");
}

/* Images and logs of each device are its own, whatever is built for which. */
TEST(each_device_has_its_own)
{
	static const char *const scenarios[] = { "queries", "one-device", "second-device", "devices-in-turn",
						 "binary", "link", "library", "rebuild", "some-binaries",
						 "compile-in-turn" };

	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		unsigned int loaded;

		driver_begin();
		unit_write("settings", "STUB_DEVICES=3\nSTUB_PER_DEVICE=1\n");
		fill(scenarios[i]);
		loaded = driver_stats().errors;
		run_same(scenarios[i]);
		run_same(scenarios[i]);
		CU_ASSERT_EQUAL(driver_stats().errors, loaded);
	}
}

/* A driver may give what is loaded for some devices a place for each of the context's. */
TEST(places_for_devices_that_nothing_was_loaded_for)
{
	static const char *const scenarios[] = { "one-device", "second-device", "devices-in-turn", "some-binaries" };

	for (size_t i = 0; i < 8; i++) {
		driver_begin();
		driver_stub_setting("STUB_WHOLE_CONTEXT", i % 2 ? "places\nSTUB_DEVICES=3\nSTUB_PER_DEVICE=1"
								: "devices\nSTUB_DEVICES=3\nSTUB_PER_DEVICE=1");
		fill(scenarios[i / 2]);
		run_same(scenarios[i / 2]);
		run_same(scenarios[i / 2]);
		CU_ASSERT(driver_stats().hits_disk >= 2);
	}
}

/* What a build leaves of devices that it is not for, a hit leaves. */
TEST(other_devices_are_as_the_build_left_them)
{
	unit_write("settings", "STUB_DEVICES=4\nSTUB_PER_DEVICE=1\nSTUB_OTHERS_HAVE_BINARY=1\n");
	fill("some-binaries");
	run_same("some-binaries");
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 1);
	driver_begin();
	unit_write("settings", "STUB_DEVICES=3\nSTUB_OTHERS_FAIL=1\n");
	fill("one-device");
	run_same("one-device");
	for (int i = 0; i < 2; i++)
		SAME_AS_BARE("one-device", "1");
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 3);
}

/* What is there for the first device alone could not stay beside it. */
TEST(a_build_that_calls_back_is_for_all_its_devices)
{
	driver_stub_setting("STUB_DEVICES", "2");
	GOOD_CLIENT(LAYERED, "one-device");
	for (int i = 0; i < 2; i++)
		SAME_AS_BARE("one-after-all");
	CU_ASSERT_EQUAL(driver_bypasses("device-subset"), 2);
}

/* What cannot be told for want of memory would be missing for ever. */
TEST(an_entry_has_all_answers_or_is_none)
{
	static const char *const names[] = { "log", "options" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		driver_begin();
		driver_stub_setting("STUB_NO_ANSWER", names[i]);
		(void)CLIENT(LAYERED, "vector");	/* whatever it says */
		CU_ASSERT_EQUAL(driver_stats().entries, 0);
	}
	driver_stub_setting(NULL, NULL);
	fill("vector");
	CU_ASSERT_EQUAL(driver_stats().entries, 1);
}

/* An installation and a build of it, by paths; which one works is the loader's order. */
TEST(of_two_copies_one_works)
{
	const char *chosen = getenv("CKCACHE_TEST_LAYER");
	const char *library = chosen ? chosen : LAYER_LIBRARY;
	char command[9000], list[9000];

	(void)snprintf(command, sizeof(command), "mkdir '%s/copy' && cp '%s' '%s/copy/libckcache_opencl.so'",
		       unit_dir(), library, unit_dir());
	CU_ASSERT_EQUAL_FATAL(system(command), 0);
	(void)snprintf(list, sizeof(list), "%s/copy/libckcache_opencl.so:%s", unit_dir(), library);
	CU_ASSERT_EQUAL_FATAL(setenv("CKCACHE_TEST_LAYER", list, 1), 0);
	/* Two active ones would wait for each other. */
	driver_setenv("CKCACHE_BUILD_WAIT", "3");
	fill("vector");
	CU_ASSERT_EQUAL(driver_counted("build-source"), 2);
	CU_ASSERT_EQUAL(driver_stats().misses, 1);
	run_same("vector");
	CU_ASSERT_EQUAL(driver_counted("build-source"), 2);
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 1);
	no_leaks();
	CU_ASSERT_EQUAL(chosen ? setenv("CKCACHE_TEST_LAYER", chosen, 1) :
				 unsetenv("CKCACHE_TEST_LAYER"), 0);
}

TEST(new_driver_version_is_another_key)
{
	fill("vector");
	driver_stub_setting("STUB_DRIVER_VERSION", "2.0");
	run_same("vector");
	EXPECT_STATS("misses 2, hits_disk 0");
	run_same("vector");
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 1);
	driver_stub_setting(NULL, NULL);
	run_same("vector");
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 2);
}

/* Programs that were built from source in one more run of the scenario. */
static unsigned int built_by(const char *scenario)
{
	unsigned int before = driver_counted("build-source");

	GOOD_CLIENT(LAYERED, scenario);
	return driver_counted("build-source") - before;
}

/* Whatever a driver tells of device and platform may be what it compiles for; then it is as it was. */
static void each_changes_the_key(const char *settings, const char *const *properties, size_t count)
{
	char text[512];

	driver_begin();
	unit_write("settings", settings);
	CU_ASSERT_EQUAL(built_by("two-options"), 2);
	for (size_t i = 0; i < count; i++) {
		unsigned int built;

		(void)snprintf(text, sizeof(text), "%sSTUB_CHANGED=%s\n", settings, properties[i]);
		unit_write("settings", text);
		built = built_by("two-options");
		CU_ASSERT_EQUAL(built, 2);
		if (built != 2)
			printf("%s is not in the key\n", properties[i]);
	}
	unit_write("settings", settings);
	CU_ASSERT_EQUAL(built_by("two-options"), 0);
}
#define EACH_CHANGES_THE_KEY(settings, ...)                                     \
	each_changes_the_key(settings, (const char *const[]){ __VA_ARGS__ },    \
			     sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))

TEST(each_property_of_the_device_is_in_the_key)
{
	EACH_CHANGES_THE_KEY("", "vendor", "version", "c_version", "vendor_id", "type", "accelerator", "address_bits",
			     "max_work_group_size", "local_mem_size", "platform_name",
			     "platform_version", "units");
	driver_stub_setting("STUB_DEVICE_NAME", "another");
	CU_ASSERT_EQUAL(built_by("two-options"), 2);
	driver_stub_setting("STUB_EXTENSIONS", "cl_khr_fp16");
	CU_ASSERT_EQUAL(built_by("two-options"), 2);
}

TEST(the_hardware_is_named_as_well_as_it_can_be)
{
	EACH_CHANGES_THE_KEY("STUB_EXTENSIONS=cl_x cl_intel_device_attribute_query\n", "ip_version", "id");
	EACH_CHANGES_THE_KEY("STUB_EXTENSIONS=cl_nv_device_attribute_query\n", "cc_major", "cc_minor");
	EACH_CHANGES_THE_KEY("STUB_EXTENSIONS=cl_khr_device_uuid\n", "uuid");
	/* Boards of one kind share code. */
	unit_write("settings", "STUB_EXTENSIONS=cl_khr_device_uuid cl_nv_device_attribute_query\n");
	CU_ASSERT_EQUAL(built_by("two-options"), 2);
	unit_write("settings", "STUB_EXTENSIONS=cl_khr_device_uuid cl_nv_device_attribute_query\n"
			       "STUB_CHANGED=uuid\n");
	CU_ASSERT_EQUAL(built_by("two-options"), 0);
}

TEST(the_part_that_a_sub_device_is_counts)
{
	EACH_CHANGES_THE_KEY("STUB_PARENT=1\n", "partition", "units", "part_units", "vendor");
	/* And a part is not the whole. */
	unit_write("settings", "");
	CU_ASSERT_EQUAL(built_by("two-options"), 2);
	/* Of which its way of partition says nothing. */
	driver_stub_setting("STUB_CHANGED", "partition");
	CU_ASSERT_EQUAL(built_by("two-options"), 0);
	/* Replay finds a part among the devices, and builds for it. */
	driver_setenv("CKCACHE_CAPTURE", "deferred");
	driver_stub_setting("STUB_PARENT", "1");
	GOOD_CLIENT(LAYERED, "vector");
	CU_ASSERT_EQUAL(driver_stats().recipes, 1);
	driver_setenv("CKCACHE_CAPTURE", NULL);
}

/* By the driver's row: pocl's own cache makes no difference either. */
TEST(parts_of_a_processor_share_its_code_where_the_driver_does)
{
	static const char *const parts[] = {
		"STUB_PROCESSOR=1\nSTUB_PARENT=1\n",
		"STUB_PROCESSOR=1\nSTUB_PARENT=1\nSTUB_CHANGED=part_units\n",
		"STUB_PROCESSOR=1\nSTUB_PARENT=1\nSTUB_CHANGED=partition\n",
	};

	driver_stub_as("libpocl.so.2");
	driver_setenv("CKCACHE_CAPTURE", "eager");
	unit_write("settings", "STUB_PROCESSOR=1\n");
	CU_ASSERT_EQUAL(built_by("two-options"), 2);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		unit_write("settings", parts[i]);
		CU_ASSERT_EQUAL(built_by("two-options"), 0);
	}
	/* What the device itself is still counts, and parts of other hardware are none of that. */
	unit_write("settings", "STUB_PROCESSOR=1\nSTUB_PARENT=1\nSTUB_CHANGED=vendor\n");
	CU_ASSERT_EQUAL(built_by("two-options"), 2);
	unit_write("settings", "STUB_PARENT=1\n");
	CU_ASSERT_EQUAL(built_by("two-options"), 2);
	unit_write("settings", "");
	CU_ASSERT_EQUAL(built_by("two-options"), 2);
	/* Replay would build for the whole, which is not among the devices here. */
	unit_write("settings", parts[0]);
	driver_setenv("CKCACHE_CAPTURE", "deferred");
	GOOD_CLIENT(LAYERED, "vector");
	EXPECT_STATS("recipes 0, bypass.capture-deferred 1");
}

/* Constants of IL, "ID:SIZE:VALUE" in hexadecimal; how often it was built. */
static unsigned int il_built(const char *one, const char *two)
{
	unsigned int before = driver_counted("build-source");
	struct outcome outcome = CLIENT(LAYERED, "il", "core", one, two);
	struct outcome bare = CLIENT(BARE, "il", "core", one, two);

	CU_ASSERT(outcome_same(&bare, &outcome));
	return driver_counted("build-source") - before - 1;	/* the bare run's */
}

TEST(constants_are_in_the_key)
{
	static const char *const constants[][2] = {
		{ NULL, NULL }, { "7:4:5", NULL }, { "7:4:6", NULL }, { "8:4:5", NULL }, { "7:8:5", NULL },
		{ "7:1:5", NULL }, { "7:8:100000005", NULL }, { "107:4:5", NULL }, { "7:4:5", "8:4:5" },
		{ "7:4:5", "8:4:6" },
	};
	static const char *const orders[][3] = {
		{ "7:4:1", "9:4:1", "8:4:1" }, { "9:4:1", "7:4:1", "8:4:1" }, { "9:4:1", "8:4:1", "7:4:1" },
	};

	driver_stub_as("libigdrcl.so");		/* whose binaries have them */
	for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++)
		CU_ASSERT_EQUAL(il_built(constants[i][0], constants[i][1]), 1);
	for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++)
		CU_ASSERT_EQUAL(il_built(constants[i][0], constants[i][1]), 0);
	/* The last value counts, and the order of ids does not. */
	CU_ASSERT_EQUAL(il_built("7:4:6", "7:4:5"), 0);
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		GOOD_CLIENT(LAYERED, "il-order", orders[i][0], orders[i][1], orders[i][2]);
	EXPECT_STATS("misses 11, entries 11");
	/* Wider than any that is known. */
	for (int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(il_built("7:40:5", NULL), 1);
	CU_ASSERT_EQUAL(driver_bypasses("constants-unknown"), 2);
	/* Binaries of others may have their defaults again. */
	driver_stub_as("libRusticlOpenCL.so");
	driver_stub_setting("STUB_DRIVER_VERSION", "25.0");
	for (int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(il_built("7:4:5", NULL), 1);
	CU_ASSERT_EQUAL(driver_bypasses("constants-unknown"), 4);
	CU_ASSERT_EQUAL(il_built(NULL, NULL), 1);
	CU_ASSERT_EQUAL(il_built(NULL, NULL), 0);
}

/* How often it was built, of a file of that name; the answers are those without the layer. */
static unsigned int named_built(const char *file, const char *options)
{
	unsigned int before = driver_counted("build-source");
	struct outcome outcome = CLIENT(LAYERED, "named-il", file, options);
	struct outcome bare = CLIENT(BARE, "named-il", file, options);

	CU_ASSERT_EQUAL(outcome.code, 0);
	CU_ASSERT(outcome_same(&bare, &outcome));
	return driver_counted("build-source") - before - 1;	/* the bare run's */
}

TEST(a_temporary_files_name_in_spirv_is_not_in_the_key)
{
	driver_stub_as("libigdrcl.so");
	CU_ASSERT_EQUAL(named_built("/tmp/tmp.aaaaaa/k.cl", ""), 1);
	CU_ASSERT_EQUAL(named_built("/tmp/tmp.bbbbbb/k.cl", ""), 0);
	CU_ASSERT_EQUAL(named_built("/tmp/tmp.cccccc/k.cl", ""), 0);
	EXPECT_STATS("misses 1, entries 1");
	/* Its length is, and what looks like an argument's type. */
	CU_ASSERT_EQUAL(named_built("/tmp/tmp.aaaaaaa/k.cl", ""), 1);
	CU_ASSERT_EQUAL(named_built("kernel_arg_type.a.int*", ""), 1);
	CU_ASSERT_EQUAL(named_built("kernel_arg_type.a.bit*", ""), 1);
	/* As is the name where debugging is asked for, or for a driver of which nothing is known. */
	CU_ASSERT_EQUAL(named_built("/tmp/tmp.aaaaaa/k.cl", "-g"), 1);
	CU_ASSERT_EQUAL(named_built("/tmp/tmp.bbbbbb/k.cl", "-g"), 1);
	driver_stub_as("libother.so");
	CU_ASSERT_EQUAL(named_built("/tmp/tmp.aaaaaa/k.cl", ""), 1);
	CU_ASSERT_EQUAL(named_built("/tmp/tmp.bbbbbb/k.cl", ""), 1);
}

TEST(a_log_that_names_the_file_is_of_one_module)
{
	driver_stub_as("libigdrcl.so");
	for (unsigned int i = 0; i < 2; i++) {	/* the stub's log begins so */
		CU_ASSERT_EQUAL(named_built("stub:", ""), 1);
		CU_ASSERT_EQUAL(driver_bypasses("random-token"), i + 1);
	}
	driver_stub_setting("STUB_FAIL_LOG", "/tmp/aa/k.cl:1:1: error: no");
	/* A failure is remembered on disk once two processes had it. */
	for (int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(named_built("/tmp/aa/k.cl", ""), 1);
	for (int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(named_built("/tmp/bb/k.cl", ""), i < 2);
}

/* The same bytes in four ways are four. */
TEST(the_kind_of_a_build_is_in_the_key)
{
	static const char *const ways[][2] = {
		{ "source", "build" }, { "il", "build" }, { "source", "compile" }, { "il", "compile" },
	};

	for (size_t i = 0; i < 8; i++) {
		SAME_AS_BARE("text-or-il", ways[i % 4][0], ways[i % 4][1]);
		CU_ASSERT_EQUAL(driver_stats().misses, i < 4 ? i + 1 : 4);
	}
}

/* A header's text is in the key; what a driver makes of another one's bytes nobody knows. */
TEST(headers_are_texts)
{
	for (int i = 0; i < 2; i++) {
		SAME_AS_BARE("text-or-il-included", "source");
		SAME_AS_BARE("text-or-il-included", "il");
	}
	EXPECT_STATS("bypass.header-unknown 2, misses 1, hits_disk 1");
}

/* A link is known by each of its inputs, in their order, and by its options. */
TEST(inputs_of_links_are_in_the_key)
{
	static const char *const rows[][3] = {
		{ "-DONE=1", "-DTWO=1", "" }, { "-DONE=2", "-DTWO=1", "" }, { "-DONE=1", "-DTWO=2", "" },
		{ "-DONE=1", "-DTWO=1", "-cl-denorms-are-zero" }, { "-DONE=1", "-DTWO=1", "-create-library" },
	};
	struct driver_stats stats;
	unsigned int compiled;

	for (size_t i = 0; i < 5; i++)
		SAME_AS_BARE("link-two", rows[i][0], rows[i][1], rows[i][2]);
	stats = driver_stats();
	/* Four objects, five links. */
	CU_ASSERT_EQUAL(stats.misses, 4 + 5);
	for (size_t i = 0; i < 5; i++)
		SAME_AS_BARE("link-two", rows[i][0], rows[i][1], rows[i][2]);
	CU_ASSERT_EQUAL(driver_stats().misses, stats.misses);
	/* What a link looks for itself. */
	unit_write("work/stub_linker.h", "");
	SAME_AS_BARE("link-two", rows[0][0], rows[0][1], rows[0][2]);
	CU_ASSERT_EQUAL(driver_stats().misses, stats.misses + 1);
	unit_remove("work/stub_linker.h");
	SAME_AS_BARE("link-two", rows[0][0], rows[0][1], rows[0][2]);
	CU_ASSERT_EQUAL(driver_stats().misses, stats.misses + 1);
	/* Objects that are hits are linked as they are. */
	compiled = driver_counted("compile");
	SAME_AS_BARE("link-two", rows[0][0], rows[0][1], "-cl-fast-relaxed-math");
	CU_ASSERT_EQUAL(driver_counted("compile"), compiled + 2);	/* the bare run's */
	/* However many they are. */
	for (int i = 0; i < 2; i++)
		SAME_AS_BARE("link-many");
	CU_ASSERT_EQUAL(driver_stats().misses, stats.misses + 4);
	/* What the application brought is not known. */
	SAME_AS_BARE("link-binary", "-DK=1");
	SAME_AS_BARE("link-binary", "-DK=2");
	CU_ASSERT_EQUAL(driver_bypasses("link-input"), 2);
}

TEST(a_link_for_a_device_is_its_own)
{
	static const char *const ways[] = { NULL, "1", "1" };

	driver_stub_setting("STUB_DEVICES", "2");
	for (size_t i = 0; i < 3; i++) {
		SAME_AS_BARE("link-two", "-DONE=1", "-DTWO=1", "", ways[i]);
		CU_ASSERT_EQUAL(driver_stats().misses, i ? 4 : 3);
	}
}

TEST(a_link_that_runs_out_of_memory_is_tried_again)
{
	struct outcome bare, layered;

	bare = CLIENT(BARE, "link-two", "-DONE=1", "-DTWO=1", "");
	driver_stub_setting("STUB_LINK_NO_MEMORY", "1");
	layered = CLIENT(LAYERED, "link-two", "-DONE=1", "-DTWO=1", "");
	CU_ASSERT(outcome_good(&bare) && outcome_same(&bare, &layered));
	EXPECT_STATS("misses 3, entries 3");
}

/* Nothing is linked again of what was only made for the try before. */
TEST(a_link_of_originals_that_runs_out_of_memory_is_tried_again)
{
	struct outcome bare, layered;

	SAME_AS_BARE("link-two", "-DONE=1", "-DTWO=1", "");
	bare = CLIENT(BARE, "link-two", "-DONE=1", "-DTWO=1", "-cl-mad-enable");
	driver_stub_setting("STUB_LINK_NO_MEMORY", "2");
	layered = CLIENT(LAYERED, "link-two", "-DONE=1", "-DTWO=1", "-cl-mad-enable");
	CU_ASSERT(outcome_good(&bare) && outcome_same(&bare, &layered));
}

/* As a failed build: there is nothing whose capture could be deferred. */
TEST(a_failed_link_is_a_miss_whatever_is_deferred)
{
	driver_setenv("CKCACHE_CAPTURE", "deferred");
	SAME_AS_BARE("link-two", "-DONE=unresolved", "-DTWO=1", "");
	EXPECT_STATS("bypass.capture-deferred 0, misses 3");
	driver_setenv("CKCACHE_CAPTURE", NULL);
}

TEST(odd_links_are_the_drivers_affair)
{
	for (int i = 0; i < 3; i++)
		SAME_AS_BARE("link-odd");
	EXPECT_STATS("bypass.link-callback 3, bypass.bad-arguments 6");
	/* Two objects and a link that the driver refuses are gone, each. */
	SAME_AS_BARE("link-two", "-DONE=1", "-DTWO=1", "");
	CU_ASSERT_EQUAL(driver_stats().errors, 0);
	driver_stub_setting("STUB_REFUSE_BINARY", "1");
	SAME_AS_BARE("link-two", "-DONE=1", "-DTWO=1", "");
	CU_ASSERT_EQUAL(driver_stats().errors, 3);
}

TEST(links_that_cannot_be_told_are_not_kept)
{
	driver_stub_setting("STUB_LINK_DATE", "1");
	for (int i = 0; i < 2; i++)
		SAME_AS_BARE("link-two", "-DONE=1", "-DTWO=1", "");
	CU_ASSERT_EQUAL(driver_bypasses("date"), 2);
	/* Nor what would be left to others. */
	driver_setenv("CKCACHE_CAPTURE", "deferred");
	SAME_AS_BARE("link-two", "-DONE=1", "-DTWO=1", "");
	CU_ASSERT_EQUAL(driver_bypasses("date"), 3);
	driver_setenv("CKCACHE_CAPTURE", NULL);
	driver_stub_setting("STUB_LATE_LINKER", PASSING_LIBRARY);
	SAME_AS_BARE("link-two", "-DONE=1", "-DTWO=1", "");
	CU_ASSERT_EQUAL(driver_bypasses("compiler-loaded-late"), 1);
	/* It is no compiler of a driver that is known to load others. */
	driver_stub_as("libnvidia-opencl.so.1");
	SAME_AS_BARE("link-two", "-DONE=1", "-DTWO=1", "");
	CU_ASSERT_EQUAL(driver_bypasses("compiler-loaded-late"), 1);
}

/* A compiler that came with it is that of later builds: others do not have it. */
TEST(a_link_that_passes_may_bring_a_compiler)
{
	driver_stub_setting("STUB_LATE_LINKER", PASSING_LIBRARY);
	SAME_AS_BARE("link-before", "link");
	EXPECT_STATS("bypass.link-callback 1, stores 2");
	SAME_AS_BARE("link-before");
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 1);	/* the object, from before the link */
	CU_ASSERT_EQUAL(driver_stats().stores, 3);
	/* A driver that is known to load others has the same one. */
	driver_stub_as("libnvidia-opencl.so.1");
	SAME_AS_BARE("link-before", "link");
	SAME_AS_BARE("link-before");
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 3);
	/* One that is known to load its compiler late has it from wherever that came. */
	driver_stub_as("libigdrcl.so");
	CU_ASSERT_EQUAL_FATAL(symlink(PASSING_LIBRARY, unit_path("libigc.so.1")), 0);
	driver_stub_setting("STUB_LATE_LINKER", unit_path("libigc.so.1"));
	SAME_AS_BARE("link-before", "link");
	SAME_AS_BARE("link-before");
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 4);	/* the object */
}

static void write_main(const char *before, const char *token, const char *after)
{
	char text[8192];

	(void)snprintf(text, sizeof(text), "kernel void value(global int *out) { out[0] = 5; }\n%s%s%s", before,
		       token, after);
	unit_write("work/main.cl", text);
}

/* But for a token of PyOpenCL's, word for word. */
TEST(every_byte_of_a_source_is_in_the_key)
{
	static const char *const tokens[] = { "0123456789abcdef0123456789abcdef",
					      "0123456789abcdef0123456789abcde0",
					      "0123456789ABCDEF0123456789ABCDEF" };
	static const char before[] = "\n\n__constant int pyopencl_defeat_cache_";
	static const struct {
		const char *before, *after;
		bool is_token;
	} rows[] = {
		{ before, " = 0;", true }, { before, " = 1;", false }, { before, " = 0; ", false },
		{ "\n\n__constant int pyopencl_defeat_cachE_", " = 0;", false },
		{ "\n \n_constant int pyopencl_defeat_cache_", " = 0;", false },
	};
	char blanks[6000];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (size_t j = 0; j < 3; j++) {
			uint64_t misses = driver_stats().misses;

			write_main(rows[i].before, tokens[j], rows[i].after);
			if (rows[i].is_token) {		/* the stub's answers tell it */

				GOOD_CLIENT(LAYERED, "header", "main.cl", "");
			} else {
				SAME_AS_BARE("header", "main.cl", "");
			}
			CU_ASSERT_EQUAL(driver_stats().misses - misses, !rows[i].is_token || j != 1);
		}
	}
	memset(blanks, ' ', sizeof(blanks));
	blanks[sizeof(blanks) - 1] = '\0';
	for (int i = 0; i < 2; i++) {
		uint64_t misses = driver_stats().misses;

		write_main(blanks, "\n", i ? "// one\n" : "// two\n");
		SAME_AS_BARE("header", "main.cl", "");
		CU_ASSERT_EQUAL(driver_stats().misses - misses, 1);
	}
}

/* The application's own headers by their names and texts; and all devices of a program. */
TEST(names_of_headers_and_all_devices_are_in_the_key)
{
	static const char *const headers[][3] = {
		{ "#define VALUE 4\n", "embedded/value.h" }, { "#define VALUE 4\n", "other/value.h" },
		{ "#define VALUE 5\n", "embedded/value.h" },
		{ "#define VALUE 4\n", "embedded/value.h", "int one;\n" },
		{ "#define VALUE 4\n", "embedded/value.h", "int two;\n" },
	};
	struct driver_stats before, after;

	for (size_t i = 0; i < 5; i++) {
		struct outcome bare = CLIENT(BARE, "embedded", headers[i][0], headers[i][1], headers[i][2]);
		struct outcome layered;

		before = driver_stats();
		layered = CLIENT(LAYERED, "embedded", headers[i][0], headers[i][1], headers[i][2]);
		after = driver_stats();
		CU_ASSERT(outcome_same(&bare, &layered));
		CU_ASSERT(after.misses > before.misses);
		CU_ASSERT_EQUAL(after.hits_disk, before.hits_disk);
	}
	unit_write("settings", "STUB_DEVICES=2\n");
	CU_ASSERT_EQUAL(built_by("queries"), 1);
	unit_write("settings", "STUB_DEVICES=2\nSTUB_CHANGED=second_vendor\n");
	CU_ASSERT_EQUAL(built_by("queries"), 1);
	CU_ASSERT_EQUAL(built_by("queries"), 0);
}

TEST(unknown_options_are_not_cached_for)
{
	unsigned long misses;

	for (int i = 0; i < 2; i++) {
		SAME_AS_BARE("vector", "-fplugin=x");
		SAME_AS_BARE("link-two", "-DONE=1", "-DTWO=1", "-fplugin=x");
	}
	CU_ASSERT_EQUAL(driver_bypasses("option"), 4);
	/* Nor for those that only begin as harmless ones do. */
	SAME_AS_BARE("vector", "-m64 -module-dependency-dir dd");
	SAME_AS_BARE("vector", "-cl-mad-enable -fno-such-option=x");
	CU_ASSERT_EQUAL(driver_bypasses("option"), 6);
	misses = driver_stats().misses;
	SAME_AS_BARE("vector", "-m64 -cl-mad-enable");
	CU_ASSERT_EQUAL(driver_stats().misses, misses + 1);
}

/* Of families that are: if the build is seen to write nothing, as one by other options would not have to be. */
TEST(unknown_options_of_vendors_are_cached_for_once_they_are_proven)
{
	static const char *const unproven[] = {
		"-cl-intel-new", "-cmc -Qxcm_register_file_size=256", "-qcom-accelerate-16-bit", "-Xclang -fnew",
	};
	unsigned long hits = 0, bypasses = 0;

	for (size_t i = 0; i < 4; i++) {
		SAME_AS_BARE("vector", unproven[i]);
		SAME_AS_BARE("vector", unproven[i]);
		CU_ASSERT_EQUAL(driver_stats().hits_disk, ++hits);
	}
	SAME_AS_BARE("vector", "-Xclang -new");
	SAME_AS_BARE("link-two", "-DONE=1", "-DTWO=1", unproven[0]);
	CU_ASSERT_EQUAL(driver_bypasses("option"), 2);
	driver_stub_setting("STUB_SAYS", "stub: note: as you like it");
	for (unsigned int i = 1; i <= 10; i++) {
		struct outcome outcome = CLIENT(LAYERED, "vector", "-cl-new");

		CU_ASSERT_PTR_NOT_NULL(strstr(outcome.errors, "as you like it"));
		CU_ASSERT_EQUAL(driver_bypasses("message-made"), i);
	}
	TOOL_SAYS(0, "wrote a message", "explain");
	SAME_AS_BARE("vector", "-cl-mad-enable");
	SAME_AS_BARE("vector", "-cl-mad-enable");
	CU_ASSERT_EQUAL(driver_stats().hits_disk, ++hits);
	driver_stub_setting("STUB_SAYS", NULL);
	unit_remove("left");
	driver_stub_setting("STUB_LEAVES", "left");
	for (unsigned int i = 1; i <= 2; i++) {
		SAME_AS_BARE("vector", "-cl-newer");
		CU_ASSERT_EQUAL(driver_bypasses("file-made"), i);
	}
	driver_stub_setting("STUB_LEAVES", NULL);
	driver_stub_setting("STUB_UNSEEN", "1");
	bypasses = driver_bypasses("files-unseen");
	SAME_AS_BARE("vector", "-cl-newest");
	CU_ASSERT_EQUAL(driver_bypasses("files-unseen"), bypasses + 1);
	driver_stub_setting("STUB_UNSEEN", NULL);
	driver_setenv("CKCACHE_OBSERVE", "0");
	SAME_AS_BARE("vector", "-cl-newest");
	CU_ASSERT_EQUAL(driver_bypasses("observer-off"), 1);
}

TEST(variables_that_ask_for_files_are_not_cached_for)
{
	static const char *const variables[][2] = {
		{ "POCL_LEAVE_KERNEL_COMPILER_TEMP_FILES", "1" }, { "NIR_DEBUG", "print" },
		{ "MESA_SPIRV_DUMP_PATH", "/nowhere" }, { "IGC_ShaderDumpEnable", "1" },
		{ "POCL_EXTRA_BUILD_FLAGS", "-save-temps" },
	};

	for (size_t i = 0; i < 5; i++) {
		driver_setenv(variables[i][0], variables[i][1]);
		SAME_AS_BARE("vector", "-DK=1");
		CU_ASSERT_EQUAL(driver_bypasses("variable"), i + 1);
		driver_setenv(variables[i][0], "0");
	}
	SAME_AS_BARE("vector", "-DK=1");
	CU_ASSERT_EQUAL(driver_stats().misses, 1);
}

TEST(a_device_without_a_platform_is_not_cached_for)
{
	driver_stub_setting("STUB_NO_PLATFORM", "1");
	CU_ASSERT_EQUAL(built_by("vector"), 1);
	CU_ASSERT_EQUAL(built_by("vector"), 1);
	CU_ASSERT_EQUAL(driver_bypasses("device-unidentified"), 2);
}

/* A driver that nobody sees, where it must have read something: by the source, an option, or what is known of it. */
TEST(what_must_have_been_read_and_was_not_seen)
{
	driver_stub_setting("STUB_UNSEEN", "1");
	unit_write("work/value.h", "kernel void value(global int *out) {}\n");
	unit_write("work/main.cl", "#include \"value.h\"\n");
	SAME_AS_BARE("vector", "-DK=1");
	CU_ASSERT_EQUAL(driver_bypasses("files-unseen"), 0);
	SAME_AS_BARE("header", "main.cl", "-I .");
	CU_ASSERT_EQUAL(driver_bypasses("files-unseen"), 1);
	SAME_AS_BARE("vector", "-include value.h");
	CU_ASSERT_EQUAL(driver_bypasses("files-unseen"), 2);
	/* Which is known to look for a file in each build. */
	driver_stub_as("libigdrcl.so");
	SAME_AS_BARE("vector", "-DK=2");
	CU_ASSERT_EQUAL(driver_bypasses("files-unseen"), 3);
}

/* What the build looked for is what it depends on, even as late as when the binary is read. */
TEST(dependencies_count_however_it_is_built)
{
	static const struct {
		const char *scenario, *driver, *settings;
		size_t first;	/* of the files */
	} rows[] = {
		{ "vector", NULL, "1", 0 }, { "callback", NULL, "1", 0 },
		/* One that compiles in the call, but after it where it is to call back. */
		{ "callback", "libigdrcl.so", "1\nSTUB_ASYNC=1", 0 },
		/* Whose build reads nothing. */
		{ "vector", NULL, "1\nSTUB_UNSEEN=1", 1 },
	};
	/* Every build of the stub looks for these: at once, and when it is asked for the binary. */
	static const char *const files[] = { "work/stub_builtins.h", "work/stub_late.h" };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unsigned int cold, warm;

		driver_begin();
		if (rows[i].driver)
			driver_stub_as(rows[i].driver);
		driver_stub_setting("STUB_READS_LATE", rows[i].settings);
		cold = built_by(rows[i].scenario);
		warm = built_by(rows[i].scenario);
		CU_ASSERT(warm < cold);
		for (size_t j = rows[i].first; j < sizeof(files) / sizeof(files[0]); j++) {
			unit_write(files[j], "");
			CU_ASSERT_EQUAL(built_by(rows[i].scenario), cold);
			CU_ASSERT_EQUAL(built_by(rows[i].scenario), warm);
			unit_write(files[j], "\n");
			CU_ASSERT_EQUAL(built_by(rows[i].scenario), cold);
			unit_remove(files[j]);
			CU_ASSERT_EQUAL(built_by(rows[i].scenario), warm);
		}
		unit_remove("cache");
	}
}

/* What is debugged has the working directory's name in it. */
TEST(debugging_depends_on_the_working_directory)
{
	unsigned int built;
	char from[4096], to[4096];

	SAME_AS_BARE("vector", "-DK=1");
	SAME_AS_BARE("vector", "-DK=1 -g");
	built = driver_counted("build-source");
	(void)snprintf(from, sizeof(from), "%s/work", unit_dir());
	(void)snprintf(to, sizeof(to), "%s/moved", unit_dir());
	CU_ASSERT_FATAL(rename(from, to) == 0 && symlink(to, from) == 0);
	SAME_AS_BARE("vector", "-DK=1");
	CU_ASSERT_EQUAL(driver_counted("build-source"), built + 1);	/* the bare one's */
	SAME_AS_BARE("vector", "-DK=1 -g");
	CU_ASSERT_EQUAL(driver_counted("build-source"), built + 3);
	SAME_AS_BARE("vector", "-DK=1 -g");
	CU_ASSERT_EQUAL(driver_counted("build-source"), built + 4);
	CU_ASSERT_FATAL(unlink(from) == 0 && rename(to, from) == 0);
}

/* What a driver has in its own cache may be of headers that were others. */
TEST(what_the_drivers_cache_has_is_left_to_replay)
{
	char path[4096];

	driver_stub_as("libigdrcl.so");
	(void)snprintf(path, sizeof(path), "%s/work/0123456789abcdef.cl_cache", unit_dir());
	driver_stub_setting("STUB_CACHED", path);
	for (int i = 0; i < 2; i++) {
		unit_write("work/0123456789abcdef.cl_cache", i ? "kernel void scale(int three, int two, int one);\n" :
			   "kernel void scale(int one, int two, int three);\n");
		CU_ASSERT_EQUAL(built_by("vector"), 1);
		CU_ASSERT_EQUAL(built_by("vector"), 1);
		CU_ASSERT_EQUAL(driver_stats().entries, 0);
	}
	CU_ASSERT_EQUAL(driver_stats().recipes, 1);
	driver_stub_setting("STUB_LINK_CACHED", path);
	SAME_AS_BARE("link-two", "-DONE=1", "-DTWO=1", "");
	EXPECT_STATS("recipes 2, entries 2");	/* its objects */
}

/* On what an application names, no other program of it depends. */
TEST(what_one_program_names_is_no_setting_of_the_driver)
{
	struct outcome outcome;
	char path[4096];

	for (unsigned int i = 0; i < 4; i++) {
		unsigned int before = driver_counted("build-source");

		(void)snprintf(path, sizeof(path), "%s/named%u", unit_dir(), i / 2);
		unit_write(i / 2 ? "named1/value.h" : "named0/value.h", i % 2 ? "#define X 2\n" : "#define X 1\n");
		outcome = CLIENT(LAYERED, "named", path, i / 2 ? "-DK=3" : NULL);
		CU_ASSERT(strstr(outcome.output, "build 0\nbuild 0\n") != NULL);
		CU_ASSERT_EQUAL(driver_counted("build-source") - before, i % 2 ? 1 : 2);
	}
}

/* The third build of the process finds what the first two did not. */
TEST(a_remembered_failure_ends_with_its_cause)
{
	unsigned int before;

	reference = GOOD_CLIENT(BARE, "failing-until");
	before = driver_counted("build-source");
	run_same("failing-until");
	CU_ASSERT_EQUAL(driver_counted("build-source"), before + 2);
}

/* Nothing is kept of what is not known: neither on disk nor in memory. */
TEST(what_cannot_be_told_is_not_kept)
{
	unit_write("work/main.cl", "kernel void value(global int *out) { out[0] = 5; } // __DATE__\n");
	for (int i = 0; i < 2; i++)
		SAME_AS_BARE("header", "main.cl", "");
	EXPECT_STATS("bypass.date 2, entries 0");
	/* What drivers make of a stranger, or of a device that is listed twice, is their affair. */
	driver_stub_setting("STUB_DEVICES", "3");
	for (int i = 0; i < 2; i++)
		SAME_AS_BARE("odd-list");
	EXPECT_STATS("bypass.devices-unknown 4, bypass.device-subset 2, entries 1");
}

/* What passes by itself is tried again: by what the compiler says. */
TEST(only_failures_of_the_source_are_remembered)
{
	static const struct {
		const char *log;
		unsigned int built;	/* of two builds */
	} rows[] = {
		{ "x.cl:1: error: use of undeclared identifier", 1 }, { "something is wrong", 2 },
		{ "error: out of memory", 2 }, { "error: No space left on device", 2 },
		{ "error: cannot open the file", 2 }, { "error: Permission denied", 2 },
		{ "error: killed by a signal", 2 }, { "Internal error", 2 },
		/* A want of resources, at which each build is tried twice. */
		{ "x.cl:1: error: use of undeclared identifier\nSTUB_FAIL_ERROR=-5", 4 },
		/* An error that does not say that the source is wrong. */
		{ "x.cl:1: error: use of undeclared identifier\nSTUB_FAIL_ERROR=-34", 2 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		driver_begin();
		driver_stub_setting("STUB_FAIL_LOG", rows[i].log);
		CU_ASSERT_EQUAL(built_by("failing-again"), rows[i].built);
	}
}

/* What comes with a build may be its compiler: then the key did not have it. */
TEST(a_compiler_that_comes_with_a_build_is_noticed)
{
	driver_stub_setting("STUB_LATE_LIBRARY", PASSING_LIBRARY);
	CU_ASSERT_EQUAL(built_by("vector"), 1);
	EXPECT_STATS("bypass.compiler-loaded-late 1, entries 0");
	SAME_AS_BARE("link-two", "-DONE=1", "-DTWO=1", "");
	CU_ASSERT_EQUAL(driver_bypasses("compiler-loaded-late"), 2);	/* of its first object alone */
	/* Nobody takes it for one of a driver that is known to load others. */
	driver_stub_as("libnvidia-opencl.so.1");
	CU_ASSERT_EQUAL(built_by("vector"), 1);
	CU_ASSERT_EQUAL(driver_bypasses("compiler-loaded-late"), 2);
	CU_ASSERT_EQUAL(built_by("vector"), 0);
	/* One that is known by its compiler's name has that in its key from then on. */
	driver_stub_as("libpocl.so.2");
	CU_ASSERT_EQUAL_FATAL(symlink(PASSING_LIBRARY, unit_path("libpocl-devices-late.so")), 0);
	driver_stub_setting("STUB_LATE_LIBRARY", unit_path("libpocl-devices-late.so"));
	CU_ASSERT_EQUAL(built_by("vector"), 1);
	CU_ASSERT_EQUAL(driver_bypasses("compiler-loaded-late"), 3);
}

/* Intel's for CM, which comes with the first build that wants it. */
TEST(a_front_end_that_comes_late_is_in_the_key)
{
	driver_stub_as("libigdrcl.so");
	unit_write("late/other", "");
	driver_setenv("LD_LIBRARY_PATH", unit_path("late"));
	for (unsigned int there = 0; there < 2; there++) {
		if (there)
			CU_ASSERT_EQUAL_FATAL(symlink(PASSING_LIBRARY, unit_path("late/libclangFEWrapper.so")), 0);
		CU_ASSERT_EQUAL(built_by("vector"), 1);
		CU_ASSERT_EQUAL(built_by("vector"), 0);
	}
	unit_remove("late/libclangFEWrapper.so");
	CU_ASSERT_EQUAL(built_by("vector"), 0);
}

/* They are as finished as they will be, and quickly read. */
TEST(objects_are_stored_at_once)
{
	driver_setenv("CKCACHE_CAPTURE", "deferred");
	SAME_AS_BARE("text-or-il", "source", "compile");
	CU_ASSERT_EQUAL(driver_stats().stores, 1);
	SAME_AS_BARE("text-or-il", "source", "compile");
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 1);
}

/* A device that compiles for the machine's own processor. */
TEST(the_processor_is_in_the_key)
{
	char paths[1][4096], command[4200];

	driver_stub_setting("STUB_CHANGED", "type");
	CU_ASSERT_EQUAL(built_by("vector"), 1);
	CU_ASSERT_EQUAL_FATAL(driver_cache_files(".src", paths, 1), 1);
	(void)snprintf(command, sizeof(command), "grep -q processor.features '%s'", paths[0]);
	CU_ASSERT_EQUAL(system(command), 0);
}

/* rusticl's binary is SPIR-V, also for a processor. */
TEST(the_processor_is_in_no_key_of_portable_binaries)
{
	char paths[1][4096], command[4200];

	driver_stub_as("libRusticlOpenCL.so.1");
	driver_stub_setting("STUB_CHANGED", "type");
	CU_ASSERT_EQUAL(built_by("vector"), 1);
	CU_ASSERT_EQUAL_FATAL(driver_cache_files(".src", paths, 1), 1);
	(void)snprintf(command, sizeof(command), "grep -q processor.features '%s'", paths[0]);
	CU_ASSERT_NOT_EQUAL(system(command), 0);
}

static void write_old(const char *path, const char *text, long ns)
{
	const struct timespec times[2] = { { 1000, ns }, { 1000, ns } };

	unit_write(path, text);
	CU_ASSERT_EQUAL_FATAL(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* What pocl compiles into programs. */
TEST(files_of_the_driver_are_in_the_key)
{
	char directory[4096];

	driver_stub_as("libpocl.so.2");
	driver_setenv("CKCACHE_CAPTURE", "eager");
	(void)snprintf(directory, sizeof(directory), "%s/files", unit_dir());
	driver_setenv("CLIENT_DRIVER_FILES", directory);
	write_old("files/a.bc", "one", 1);
	write_old("files/b.bc", "one", 1);
	CU_ASSERT_EQUAL(built_by("vector"), 1);
	CU_ASSERT_EQUAL(built_by("vector"), 0);
	write_old("files/a.bc", "longer", 1);
	CU_ASSERT_EQUAL(built_by("vector"), 1);
	write_old("files/b.bc", "longer", 1);
	CU_ASSERT_EQUAL(built_by("vector"), 1);
	/* A copy has other times. */
	write_old("files/b.bc", "longer", 2);
	CU_ASSERT_EQUAL(built_by("vector"), 0);
	write_old("files/include/c.h", "one", 1);
	CU_ASSERT_EQUAL(built_by("vector"), 1);
	write_old("files/c.other", "one", 1);
	CU_ASSERT_EQUAL(built_by("vector"), 0);
}

TEST(forked_client)
{
	fill("fork");
	run_same("fork");
}

TEST(hits_read_no_binary)
{
	unsigned int read;

	fill("two-options");
	read = driver_counted("read-binary");
	run_same("two-options");
	CU_ASSERT_EQUAL(driver_counted("read-binary"), read);
}

/* Of one layered run of such words: how often the driver compiled. */
static unsigned int compiled_by(const char *const *words)
{
	unsigned int before;
	struct outcome bare = driver_client(BARE, words), layered;

	before = driver_counted("build-source") + driver_counted("compile");
	layered = driver_client(LAYERED, words);
	CU_ASSERT(outcome_good(&layered));
	CU_ASSERT(outcome_same(&bare, &layered));
	return driver_counted("build-source") + driver_counted("compile") - before;
}
#define COMPILED_BY(...) compiled_by((const char *const[]){ "variables", __VA_ARGS__, NULL })

static void begin_as(const char *driver)
{
	driver_begin();
	driver_stub_as(driver);
	CU_ASSERT_EQUAL(COMPILED_BY("build"), 1);
	CU_ASSERT_EQUAL(COMPILED_BY("build"), 0);
}

/* IGC reads variables at its first build, for good: which value it has is not known after a change. */
TEST(variables_that_change_after_loading_are_not_cached_for)
{
	begin_as("libigdrcl.so");
	CU_ASSERT_EQUAL(COMPILED_BY("IGC_X=1", "build", "build"), 2);
	EXPECT_STATS("bypass.environment-changed 2, entries 1");
	/* Back before anything was built, and afterwards. */
	CU_ASSERT_EQUAL(COMPILED_BY("IGC_X=1", "-IGC_X", "build"), 0);
	CU_ASSERT_EQUAL(COMPILED_BY("IGC_X=1", "build", "-IGC_X", "build"), 2);
	CU_ASSERT_EQUAL(COMPILED_BY("IGC_X=1", "callback", "-IGC_X", "build"), 3);
	CU_ASSERT_EQUAL(COMPILED_BY("IGC_X=1", "link", "-IGC_X", "build"), 3);
	/* A driver may have to compile what was loaded from a binary. */
	CU_ASSERT_EQUAL(COMPILED_BY("image", "IGC_X=1", "image-again", "-IGC_X", "build"), 1);
	CU_ASSERT_EQUAL(driver_stats().entries, 1);
	CU_ASSERT_EQUAL(COMPILED_BY("object", "IGC_X=1", "object-again", "-IGC_X", "build"), 2);
	CU_ASSERT_EQUAL(COMPILED_BY("object", "build"), 0);
	/* Before the layer is asked for anything but its being there. */
	driver_setenv("CLIENT_SETENV", "IGC_X=1");
	CU_ASSERT_EQUAL(COMPILED_BY("build"), 1);
	driver_setenv("CLIENT_SETENV", NULL);
	/* What the driver does not read, changes nothing. */
	CU_ASSERT_EQUAL(COMPILED_BY("UNRELATED=1", "POCL_X=1", "CUDA_VISIBLE_DEVICES=0", "build"), 0);
	/* From the start it is another program's. */
	driver_setenv("IGC_X", "1");
	CU_ASSERT_EQUAL(COMPILED_BY("build"), 1);
	CU_ASSERT_EQUAL(COMPILED_BY("-IGC_X", "build"), 1);
	CU_ASSERT_EQUAL(COMPILED_BY("build"), 0);
}

/* Another thread's change, which is seen when the driver is done. */
TEST(variables_that_change_during_a_build_are_not_cached_for)
{
	static const struct {
		const char *way, *setting;
		unsigned int compiled, stored, again;
	} builds[] = {
		{ "build", "STUB_SETENV", 1, 0, 1 },
		{ "callback", "STUB_SETENV", 2, 0, 2 },
		{ "link", "STUB_SETENV", 2, 0, 2 },
		{ "link", "STUB_LINK_SETENV", 2, 2, 0 },
	};

	for (size_t i = 0; i < sizeof(builds) / sizeof(builds[0]); i++) {
		driver_begin();
		unit_remove(driver_cache());
		driver_stub_as("libigdrcl.so");
		driver_stub_setting(builds[i].setting, "IGC_X=1");
		CU_ASSERT_EQUAL(COMPILED_BY(builds[i].way), builds[i].compiled);
		CU_ASSERT_EQUAL(driver_stats().entries, builds[i].stored);
		CU_ASSERT(driver_bypasses("environment-changed") > 0);
		driver_stub_setting(NULL, NULL);
		CU_ASSERT_EQUAL(COMPILED_BY(builds[i].way), builds[i].again);
		CU_ASSERT_EQUAL(driver_stats().entries, builds[i].compiled + (builds[i].way[0] == 'l'));
		CU_ASSERT_EQUAL(COMPILED_BY(builds[i].way), 0);
		/* The driver may have read it for good. */
		driver_setenv("IGC_Y", "1");
		driver_stub_setting(builds[i].setting, "IGC_X=1");
		CU_ASSERT_EQUAL(COMPILED_BY(builds[i].way, "-IGC_X", "build", "build"),
				builds[i].compiled + 2);
		CU_ASSERT_EQUAL(driver_stats().entries, builds[i].compiled +
				(builds[i].way[0] == 'l') + builds[i].stored);
		driver_setenv("IGC_Y", NULL);
	}
}

/* Each driver has its own; of one that is not known all count. */
TEST(only_what_the_driver_reads_splits_the_cache)
{
	static const char *const others[][2] = {
		{ "CUDA_VISIBLE_DEVICES", "0" }, { "INTEL_LICENSE_FILE", "/x" }, { "NVIDIA_REQUIRE_CUDA", "1" },
		{ "GPU_DEVICE_ORDINAL", "0" }, { "ZE_AFFINITY_MASK", "0.0" }, { "LP_NATIVE_VECTOR_WIDTH", "128" },
	};

	begin_as("libigdrcl.so");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		driver_setenv(others[i][0], others[i][1]);
		CU_ASSERT_EQUAL(COMPILED_BY("build"), 0);
	}
	driver_setenv("NEO_X", "1");
	CU_ASSERT_EQUAL(COMPILED_BY("build"), 1);
	driver_setenv("NEO_X", NULL);
	driver_stub_as("libother.so");
	CU_ASSERT_EQUAL(COMPILED_BY("build"), 1);
	driver_setenv("CUDA_VISIBLE_DEVICES", NULL);
	CU_ASSERT_EQUAL(COMPILED_BY("build"), 1);
}

TEST(a_settings_file_keeps_from_the_cache)
{
	begin_as("libigdrcl.so");
	unit_write("work/neo.config", "X = 1\n");
	CU_ASSERT_EQUAL(COMPILED_BY("build", "build"), 2);
	CU_ASSERT_EQUAL(driver_bypasses("settings-file"), 2);
	unit_remove("work/neo.config");
	CU_ASSERT_EQUAL(COMPILED_BY("build"), 0);
	/* Other drivers have nothing to do with it. */
	begin_as("libother.so");
	unit_write("work/neo.config", "X = 1\n");
	CU_ASSERT_EQUAL(COMPILED_BY("build"), 0);
}

/* What could not be told once is neither empty nor remembered. */
TEST(a_device_that_cannot_answer_now_is_asked_again)
{
	static const char *const properties[] = {
		"0x102b", "0x102d", "0x103d", "0x1023", "0x1042", "0x1000",	/* up to the parent and the type */
	};

	begin_as("libigdrcl.so");
	for (unsigned int i = 0; i < sizeof(properties) / sizeof(properties[0]); i++) {
		uint64_t bypasses = driver_stats().bypasses;

		driver_stub_setting("STUB_NO_DEVICE_ANSWER", properties[i]);
		CU_ASSERT_EQUAL(COMPILED_BY("build", "build"), 1);
		CU_ASSERT_EQUAL(driver_stats().bypasses, bypasses + 1);
	}
	CU_ASSERT_EQUAL(driver_stats().entries, 1);
}

/* Nothing is cached for some of a program's devices; what such a build loads is part of the next one's compiler. */
TEST(a_compiler_that_comes_with_an_uncached_build_is_in_later_keys)
{
	static const char *const settings[] = { PASSING_LIBRARY "\nSTUB_DEVICES=2", NULL };

	for (unsigned int i = 0; i < 2; i++) {
		driver_stub_setting(settings[i] ? "STUB_LATE_LIBRARY" : "STUB_DEVICES",
				    settings[i] ? settings[i] : "2");
		GOOD_CLIENT(LAYERED, "compile-in-turn");
		CU_ASSERT_EQUAL(driver_bypasses("device-subset"), 2 * (i + 1));
		CU_ASSERT_EQUAL(driver_stats().misses, i + 1);
	}
}
