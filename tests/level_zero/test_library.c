/* SPDX-License-Identifier: MIT */
/*
 * library: ckcache.h for Level Zero, in programs without the plugin and with
 * it: ids, blobs, builds, storage, settings, on stub drivers that count, and
 * with a product's name as the argument on Intel's driver.
 */
#include "tests/level_zero/module_run.h"
#include "tests/support/unit.h"

enum { SKIPPED = 77 };

#define BOTH STUB_DRIVER "," STUB2_DRIVER
#define ONE "driver=0 il=one "
/* Longer than slot_run waits: a program that waits for itself fails. */
#define NO_WAITING "CKCACHE_BUILD_WAIT=600"

static struct module_run run;

static void expect_output(const char *expected)
{
	CU_ASSERT_STRING_EQUAL(run.client.output, expected);
	if (strcmp(run.client.output, expected))
		(void)fprintf(stderr, "expected:\n%sgot:\n%s%s%s", expected, run.client.output,
			      run.client.errors, run.events);
}

static void expect_part(const char *part)
{
	CU_ASSERT_PTR_NOT_NULL(strstr(run.client.output, part));
	if (!strstr(run.client.output, part))
		(void)fprintf(stderr, "expected: %s\ngot:\n%s%s", part, run.client.output, run.events);
}

static void copy_output(char *copy, size_t size)
{
	CU_ASSERT_FATAL(strlen(run.client.output) < size);
	(void)strcpy(copy, run.client.output);
}

/* Alone, or under the plugin. */
enum { ALONE, PLUGIN };
static void run_either(int plugin, const char *arguments, const char *variables)
{
	(plugin ? module_run : module_run_plain)(&run, arguments, variables);
}

/* The same; its output is that, or has that part. */
static void expect_run(int plugin, const char *arguments, const char *variables, const char *output)
{
	run_either(plugin, arguments, variables);
	expect_output(output);
}

static void expect_in_run(int plugin, const char *arguments, const char *variables, const char *part)
{
	run_either(plugin, arguments, variables);
	expect_part(part);
}

/* The same; it compiles and loads so many. */
static void expect_counts(int plugin, const char *arguments, const char *variables, unsigned int compiled,
			  unsigned int loaded)
{
	run_either(plugin, arguments, variables);
	module_run_expect(&run, compiled, loaded);
}

TEST_ON("stub", an_id_tells_what_the_module_would_be)
{
	static const char *const others[][2] = {
		{ "driver=0 il=other desc id", "" },
		{ ONE "byte=0 desc id", "" },
		{ ONE "byte=3 desc id", "" },
		{ ONE "flags=-O desc id", "" },
		{ ONE "device=0.0 desc id", "" },
		{ ONE "device=0.1 desc id", "" },
		{ ONE "add il=other add desc id", "" },
		{ "driver=0 il=other add il=one add desc id", "" },
		{ "driver=0 il=constants desc id", "" },
		{ "driver=0 il=constants constant=32:4:7 desc id", "" },
		{ "driver=0 il=constants constant=32:4:8 desc id", "" },
		{ "driver=0 il=constants constant=64:8:7 desc id", "" },
		{ "driver=0 il=constants constant=8:1:7 desc id", "" },
		{ ONE "desc id", "STUB_EPOCH=b" },
		{ ONE "desc id", "IGC_EnableDPEmulation=1" },
		{ ONE "desc id", "STUB_STEPPING=4" },
	};
	enum { COUNT = 1 + sizeof(others) / sizeof(others[0]) };
	static char ids[COUNT][512];

	expect_in_run(ALONE, ONE "desc id", "", "desc 0\nid 0 88 ");
	copy_output(ids[0], sizeof(ids[0]));
	for (size_t i = 1; i < COUNT; i++) {
		expect_in_run(ALONE, others[i - 1][0], others[i - 1][1], "desc 0\nid 0 88 ");
		copy_output(ids[i], sizeof(ids[i]));
		for (size_t k = 0; k < i; k++)
			CU_ASSERT_STRING_NOT_EQUAL(ids[k], ids[i]);
	}
	/* The same with the plugin, for flags that are none, and for constants in another order. */
	for (int plugin = 0; plugin <= 1; plugin++) {
		expect_run(plugin, ONE "desc id", "", ids[0]);
		expect_run(plugin, ONE "flags= desc id", "UNRELATED=1", ids[0]);
	}
	module_run_plain(&run, "driver=0 il=constants constant=32:4:7 constant=8:1:1 desc id", "");
	copy_output(ids[0], sizeof(ids[0]));
	expect_run(PLUGIN, "driver=0 il=constants constant=8:1:1 constant=32:4:7 desc id", "", ids[0]);
}

TEST_ON("stub", what_cannot_be_told_has_an_empty_id)
{
	/* A constant that the module does not declare: the driver's affair. */
	module_run_plain(&run, "driver=0 il=constants constant=4711:4:7 desc id build", "");
	expect_part("desc 0\nid 0 0 \nbuild -10 ");
	expect_in_run(ALONE, ONE "desc id modules blob=b build", "ZET_ENABLE_PROGRAM_DEBUGGING=1", "desc 0\nid 0 0 \n");
	expect_part("blob 0 empty\n");
	expect_part("build 0 from 0 ");
	CU_ASSERT_EQUAL(module_run_stat("stores"), 0);
	/* There is no blob of it, and so none is anybody's. */
	module_run_plain(&run, ONE "desc modules blob=b", "");
	expect_run(ALONE, ONE "desc create=b", "ZET_ENABLE_PROGRAM_DEBUGGING=1", "desc 0\ncreate -2\n");
	/* Nothing can be said of constants of what is no module. */
	expect_run(ALONE, "driver=0 text=none constant=32:2:7 desc", "", "desc 0\n");
}

TEST_ON("stub", a_description_needs_nothing_of_what_was_given)
{
	static const char constants[] = "driver=0 il=constants constant=32:4:7 constant=8:1:1 desc ";
	char arguments[256];

	(void)snprintf(arguments, sizeof(arguments), "%smodules blob=made", constants);
	module_run_plain(&run, arguments, "");
	(void)snprintf(arguments, sizeof(arguments), "%sbuild blob=built", constants);
	expect_counts(ALONE, arguments, NO_WAITING, 1, 0);
	slot_run_shell("cmp made built");
}

/* For who asks for the size first, the description keeps what it made. */
TEST_ON("stub", a_blob_is_of_the_modules_given)
{
	module_run_plain(&run, ONE "add il=other add il=plain add desc modules sized swap "
			       "blob=swapped swap blob=straight lacking", "");
	expect_part("size 0\nblob 0 bytes\nblob 0 bytes\nblob -2\n");
	slot_run_shell("! cmp -s swapped straight");
	module_run_expect_clean(&run);
}

TEST_ON("stub", a_blob_makes_the_modules_without_a_compiler)
{
	static const char *const programs[] = {
		"driver=0 il=one ",
		"driver=0 il=one flags=-Wno-recompiled-from-ir ",
		"driver=0 il=one add il=other flags=-O add il=constants flags constant=32:4:7 add ",
		"driver=0 device=0.1 il=plain ",
	};
	static char made[SLOT_RUN_MAX];
	char arguments[512];

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		for (int plugin = 0; plugin <= 1; plugin++) {
			slot_run_shell("rm -rf cache");
			(void)snprintf(arguments, sizeof(arguments), "%sdesc modules blob=blob", programs[i]);
			expect_in_run(plugin, arguments, "", "blob 0 bytes\n");
			(void)snprintf(made, sizeof(made), "desc 0\ncreate 0%s",
				       strstr(run.client.output, "modules") + 7);
			*strstr(made, "blob") = '\0';
			(void)snprintf(arguments, sizeof(arguments), "%sdesc create=blob", programs[i]);
			/* The other one makes them. */
			expect_run(!plugin, arguments, "", made);
			module_run_expect(&run, 0, i == 2 ? 3 : 1);
			CU_ASSERT(module_run_balanced(&run, "log"));
		}
	}
}

TEST_ON("stub", a_blob_of_a_module_from_a_blob_is_the_same)
{
	module_run_plain(&run, ONE "desc modules blob=first", "");
	module_run_plain(&run, ONE "desc create=first blob=second", "");
	slot_run_shell("cmp first second");
}

TEST_ON("stub", a_small_room_is_left_alone_and_told)
{
	module_run_plain(&run, ONE "desc modules short=blob blob=other create=blob", "");
	expect_part("blob -3 bytes\nblob 0 bytes\ncreate 0");
	slot_run_shell("cmp blob other");
}

TEST_ON("stub", no_damaged_blob_reaches_the_driver)
{
	module_run_plain(&run, ONE "desc modules blob=blob", "");
	for (int plugin = 0; plugin <= 1; plugin++) {
		expect_run(plugin, ONE "desc flips=blob cuts=blob", "", "desc 0\nrefused all\nrefused all\n");
		module_run_expect(&run, 0, 0);
		CU_ASSERT_EQUAL(module_run_count(&run, "module-create"), 0);
	}
}

TEST_ON("stub", blobs_of_something_else_are_refused)
{
	module_run_plain(&run, ONE "desc modules blob=blob", "");
	expect_run(ALONE, "driver=0 il=other desc create=blob", "", "desc 0\ncreate -7\n");
	expect_run(ALONE, ONE "flags=-O desc create=blob", "", "desc 0\ncreate -7\n");
	expect_run(ALONE, ONE "desc create=blob", "STUB_EPOCH=b", "desc 0\ncreate -6\n");
	expect_run(ALONE, ONE "device=0.0 desc create=blob", "", "desc 0\ncreate -6\n");
	CU_ASSERT_EQUAL(module_run_count(&run, "load-native"), 0);
	/* The version stands behind eight bytes. */
	slot_run_shell("printf '\\001' | dd of=blob bs=1 seek=8 conv=notrunc status=none");
	expect_run(ALONE, ONE "desc create=blob", "", "desc 0\ncreate -8\n");
	unit_write("blob", "some text that never was a blob, and is a bit longer than one's header, "
			   "which has one hundred and twenty-eight bytes and so is not that short");
	expect_run(ALONE, ONE "desc create=blob", "", "desc 0\ncreate -5\n");
	CU_ASSERT_EQUAL(module_run_count(&run, "load-native"), 0);
}

TEST_ON("stub", what_the_driver_refuses_is_said)
{
	module_run_plain(&run, ONE "desc modules blob=blob", "");
	expect_run(ALONE, ONE "desc create=blob", "STUB_REFUSE_NATIVE=1", "desc 0\ncreate -9\n");
	expect_run(ALONE, ONE "desc create=blob", "STUB_RECOMPILES=1", "desc 0\ncreate -9\n");
	CU_ASSERT(module_run_balanced(&run, "module"));
	CU_ASSERT(module_run_balanced(&run, "log"));
	/* But not what it lacks, or lost. */
	expect_run(ALONE, ONE "desc create=blob", "STUB_REFUSE_NATIVE=host-memory", "desc 0\ncreate -1\n");
	expect_run(ALONE, ONE "desc create=blob", "STUB_REFUSE_NATIVE=device-memory", "desc 0\ncreate -1\n");
	expect_run(ALONE, ONE "desc create=blob", "STUB_REFUSE_NATIVE=device-lost", "desc 0\ncreate -14\n");
	/* The modules before it are given back. */
	module_run_plain(&run, ONE "add il=other add desc modules blob=two", "");
	expect_run(ALONE, ONE "add il=other add desc create=two", "STUB_REFUSE_NATIVE=later", "desc 0\ncreate -9\n");
	CU_ASSERT_EQUAL(module_run_count(&run, "load-native"), 2);
	CU_ASSERT_EQUAL(module_run_count(&run, "module-create"), 1);
	CU_ASSERT_EQUAL(module_run_count(&run, "module-destroy"), 1);
	/* Also where the flags keep the driver from telling. */
	module_run_plain(&run, ONE "flags=-Wno-recompiled-from-ir desc modules blob=blob", "");
	expect_run(ALONE, ONE "flags=-Wno-recompiled-from-ir desc create=blob", "STUB_RECOMPILES=1",
		   "desc 0\ncreate -9\n");
}

TEST_ON("stub", without_a_native_binary_the_blob_is_empty)
{
	static const char *const settings[] = { "STUB_NO_NATIVE=1", "STUB_NATIVE_FAILS=1",
						"STUB_NATIVE_UNREAD=1" };

	for (size_t i = 0; i < 3; i++) {
		expect_in_run(ALONE, ONE "desc modules blob=blob build", settings[i], "blob 0 empty\nbuild 0 from 0 ");
		CU_ASSERT_EQUAL(module_run_stat("bypass.no-binary"), i + 1);
	}
}

TEST_ON("stub", what_changed_meanwhile_is_said)
{
	module_run_plain(&run, ONE "desc modules blob=blob", "");
	expect_in_run(ALONE, ONE "desc modules setenv=IGC_EnableDPEmulation=1 blob=b create=blob build", "",
		      "blob -11 empty\ncreate -11\nbuild 0 from 0 ");
	CU_ASSERT_EQUAL(module_run_count(&run, "compile"), 2);
	CU_ASSERT_EQUAL(module_run_count(&run, "load-native"), 0);
	/* And nothing was kept. */
	expect_counts(ALONE, ONE "desc build", "", 1, 0);
	expect_counts(ALONE, ONE "desc build", "IGC_EnableDPEmulation=1", 1, 0);
}

/* A compiler that comes with the first module was in nobody's id; what else comes is not. */
TEST_ON("stub", a_compiler_that_comes_late_is_noticed)
{
	module_run_plain(&run, ONE "desc modules blob=blob desc blob=blob", "STUB_LAZY_COMPILER=1");
	expect_part("blob -11 empty\ndesc 0\nblob 0 bytes\n");
	slot_run_shell("rm -rf cache");
	expect_in_run(ALONE, ONE "desc build build desc build build", "STUB_LAZY_COMPILER=1", "build 0 from 0 ");
	CU_ASSERT_EQUAL(module_run_stat("bypass.compiler-loaded-late"), 1);
	CU_ASSERT_EQUAL(module_run_count(&run, "compile"), 3);
	CU_ASSERT_EQUAL(module_run_count(&run, "load-native"), 1);
	slot_run_shell("rm -rf cache && cp '" STUB_DRIVER "' libze_intel_gpu.so.1 && cp '" STUB_COMPILER "' .");
	module_run_drivers(unit_path("libze_intel_gpu.so.1"));
	expect_in_run(ALONE, ONE "desc open=libanl.so.1 build build", "",
		      "build 0 from 0 one\nbuild 0 from 1 one\n");
	module_run_drivers(STUB_DRIVER);
}

TEST_ON("stub", a_build_is_kept_for_the_process_and_the_machine)
{
	for (int plugin = 0; plugin <= 1; plugin++) {
		slot_run_shell("rm -rf cache");
		expect_in_run(plugin, ONE "desc build build", NO_WAITING, "build 0 from 0 one\nbuild 0 from 1 one\n");
		module_run_expect(&run, 1, 1);
		run_either(plugin, ONE "desc build desc build", NO_WAITING);
		expect_part("build 0 from 2 one\ndesc 0\nbuild 0 from 1 one\n");
		module_run_expect(&run, 0, 2);
		run_either(!plugin, ONE "desc build evict build", NO_WAITING);
		expect_part("build 0 from 2 one\nevict 0\nbuild 0 from 0 one\n");
		module_run_expect(&run, 1, 1);
		CU_ASSERT(module_run_balanced(&run, "log"));
	}
	CU_ASSERT_EQUAL(module_run_stat("errors"), 0);
}

TEST_ON("stub", builds_are_shared_with_programs_that_know_nothing_of_it)
{
	/* The application's own module, under the plugin. */
	expect_counts(PLUGIN, "driver=0 il=one flags=-Wstub modules", "", 1, 0);
	for (int plugin = 0; plugin <= 1; plugin++) {
		expect_in_run(plugin, "driver=0 il=one flags=-Wstub desc build", NO_WAITING, "build 0 from 2 one\n");
		module_run_expect(&run, 0, 1);
	}
	/* And the other way round. */
	for (int plugin = 0; plugin <= 1; plugin++) {
		slot_run_shell("rm -rf cache");
		expect_counts(plugin, "driver=0 il=constants constant=32:4:7 desc build", NO_WAITING, 1, 0);
		expect_counts(PLUGIN, "driver=0 il=constants constant=32:4:7 modules", "", 0, 1);
	}
	/* In one process, too. */
	expect_in_run(PLUGIN, ONE "modules desc build modules", NO_WAITING, "build 0 from 1 one\n");
	module_run_expect(&run, 1, 2);
}

/* As in the machine's cache. */
TEST_ON("stub", files_of_the_compiler_count_in_a_storage)
{
	for (int plugin = 0; plugin <= 1; plugin++) {
		slot_run_shell("rm -rf cache shelf stub.options");
		run_either(plugin, ONE "desc built=shelf built=shelf", NO_WAITING);
		expect_part("build 0 from 3 load 1 store 0 evict 0 one\n");
		unit_write("stub.options", "one\n");
		run_either(plugin, ONE "desc built=shelf built=shelf", NO_WAITING);
		expect_part("build 0 from 0 load 1 store 1 evict 1 one\n"
			    "build 0 from 3 load 1 store 0 evict 0 one\n");
		module_run_expect(&run, 1, 1);
		slot_run_shell("rm -rf shelf");
		run_either(plugin, ONE "desc built=shelf", NO_WAITING " CKCACHE_OBSERVE=0");
		expect_part("build 0 from 0 load 0 store 0 evict 0 one\n");
	}
	slot_run_shell("rm stub.options");
}

/* What the compiler looks for beside its input. */
TEST_ON("stub", files_of_the_compiler_count)
{
	for (int plugin = 0; plugin <= 1; plugin++) {
		slot_run_shell("rm -rf cache stub.options");
		run_either(plugin, ONE "desc build", NO_WAITING);
		expect_counts(plugin, ONE "desc build", NO_WAITING, 0, 1);
		unit_write("stub.options", "one\n");
		expect_counts(plugin, ONE "desc build", NO_WAITING, 1, 0);
		expect_counts(plugin, ONE "desc build", NO_WAITING, 0, 1);
	}
	slot_run_shell("rm stub.options");
}

TEST_ON("stub", what_the_driver_may_have_read_otherwise_is_not_kept)
{
	static const struct {
		const char *variables, *statistic;
	} rows[] = {
#ifndef __SANITIZE_THREAD__	/* whose runtime counts at most 64 locks around a fork */
		{ NO_WAITING " STUB_FORKS=1", "bypass.other-process" },
#endif
		{ NO_WAITING " CKCACHE_OBSERVE=0", "bypass.observer-off" },
		{ NO_WAITING " IGC_X=1 STUB_SETENV=IGC_X=2", "bypass.environment-changed" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		expect_counts(ALONE, ONE "desc build", rows[i].variables, 1, 0);
		CU_ASSERT_EQUAL(module_run_stat(rows[i].statistic), 1);
	}
	CU_ASSERT_EQUAL(module_run_stat("stores"), 0);
	expect_counts(ALONE, ONE "desc build", NO_WAITING " IGC_X=1", 1, 0);
}

#ifndef __SANITIZE_THREAD__	/* as above */
TEST_ON("stub", parents_and_children_go_on_after_a_fork)
{
	for (int plugin = 0; plugin <= 1; plugin++) {
		slot_run_shell("rm -rf cache");
		expect_run(plugin, ONE "desc build children build", NO_WAITING, "desc 0\nbuild 0 from 0 one\n"
			   "build 0 from 1 one\nbuild 0 from 1 one\nbuild 0 from 1 one\n"
			   "children\nbuild 0 from 1 one\n");
		module_run_expect(&run, 1, 4);
	}
}
#endif

TEST_ON("stub", an_entry_has_the_log)
{
	module_run_plain(&run, "driver=0 il=one flags=-Wstub desc build", "");
	slot_run_shell("grep -rlq 'warning: stub' cache");
}

TEST_ON("stub", a_plugin_of_another_name_is_found_too)
{
	slot_run_shell("cp '" PLUGIN_LIBRARY "' another.so");
	module_run_plain(&run, ONE "desc build build",
			 NO_WAITING " LD_PRELOAD='" SLOT_DIRECTORY "/libckcache_preload.so' "
				    "ZE_ENABLE_LAYERS=./another.so");
	expect_part("build 0 from 0 one\nbuild 0 from 1 one\n");
	module_run_expect(&run, 1, 1);
	CU_ASSERT_EQUAL(module_run_stat("misses"), 1);
}

/* Loaded by somebody, but in no loader's tables. */
TEST_ON("stub", a_plugin_that_nobody_uses_is_left_alone)
{
	module_run_plain(&run, "open=" PLUGIN_LIBRARY " " ONE "desc build build", NO_WAITING);
	expect_part("build 0 from 0 one\nbuild 0 from 1 one\n");
	module_run_expect(&run, 1, 1);
}

TEST_ON("stub", switched_off_the_driver_does_all)
{
	for (int plugin = 0; plugin <= 1; plugin++) {
		expect_in_run(plugin, ONE "desc id build build modules blob=blob create=blob",
			      "CKCACHE_DISABLE=1", "id 0 88 ");
		expect_part("build 0 from 0 one\nbuild 0 from 0 one\n");
		expect_part("blob 0 bytes\ncreate 0 one\n");
		module_run_expect(&run, 3, 1);
	}
	CU_ASSERT_NOT_EQUAL(access("cache", F_OK), 0);
}

TEST_ON("stub", two_drivers_keep_apart)
{
	static const char arguments[] = "found=0 describe=library found=1 describe=library "
					"driver=0 il=one desc build driver=1 desc build";

	module_run_drivers(BOTH);
	for (int plugin = 0; plugin <= 1; plugin++) {
		slot_run_shell("rm -rf cache");
		expect_run(plugin, arguments, NO_WAITING,
			   "device 0\ndevice 0\ndesc 0\nbuild 0 from 0 one\ndesc 0\nbuild 0 from 0 one\n");
		expect_run(!plugin, arguments, NO_WAITING,
			   "device 0\ndevice 0\ndesc 0\nbuild 0 from 2 one\ndesc 0\nbuild 0 from 2 one\n");
		module_run_expect(&run, 0, 1);
		CU_ASSERT_EQUAL(module_run_count(&run, "stub2 load-native"), 1);
		run_either(plugin, arguments, "STUB_REFUSE_NATIVE=1 " NO_WAITING);
		module_run_expect_clean(&run);
	}
	module_run_drivers(STUB_DRIVER);
}

TEST_ON("stub", a_refused_entry_is_built_again_and_replaced)
{
	static const char *const settings[] = { "STUB_REFUSE_NATIVE=1", "STUB_RECOMPILES=1" };

	for (size_t i = 0; i < 2; i++) {
		module_run_plain(&run, ONE "desc build", "");
		expect_in_run(ALONE, ONE "desc build", settings[i], "build 0 from 0 one\n");
		CU_ASSERT_EQUAL(module_run_count(&run, "compile"), 1);
		expect_in_run(ALONE, ONE "desc build", "", "build 0 from 2 one\n");
		module_run_expect(&run, 0, 1);
	}
	/* Also where the driver first runs out of memory, or nothing takes its place. */
	expect_in_run(ALONE, ONE "desc build", "STUB_REFUSE_NATIVE=1 STUB_FIRST_OOM=1", "build 0 from 0 one\n");
	module_run_plain(&run, ONE "desc build", "STUB_REFUSE_NATIVE=1 STUB_FAIL=1");
	expect_in_run(ALONE, ONE "desc build", "", "build 0 from 0 one\n");
	module_run_expect(&run, 1, 0);
}

TEST_ON("stub", failures_are_the_drivers)
{
	for (int plugin = 0; plugin <= 1; plugin++) {
		run_either(plugin, ONE "add il=other add desc build", "STUB_FAIL=1 " NO_WAITING);
		expect_output("desc 0\nbuild -10 from 9\n");
		module_run_expect_clean(&run);
		expect_run(plugin, ONE "desc build", "STUB_FAIL_OOM=1 " NO_WAITING, "desc 0\nbuild -1 from 9\n");
		/* Of two the second: the first one goes. */
		expect_run(plugin, ONE "add il=constants constant=4711:4:7 add desc build",
			   NO_WAITING, "desc 0\nbuild -10 from 9\n");
		CU_ASSERT(module_run_balanced(&run, "module"));
	}
}

TEST_ON("stub", a_storage_of_the_applications_own_is_asked)
{
	for (int plugin = 0; plugin <= 1; plugin++) {
		slot_run_shell("rm -rf cache shelf");
		run_either(plugin, ONE "add il=other add desc built=shelf built=shelf", NO_WAITING);
		expect_output("desc 0\nbuild 0 from 0 load 0 store 1 evict 0 one other\n"
			      "build 0 from 3 load 1 store 0 evict 0 one other\n");
		module_run_expect(&run, 2, 2);
		run_either(!plugin, ONE "add il=other add desc built=shelf evicted=shelf built=shelf", NO_WAITING);
		expect_output("desc 0\nbuild 0 from 3 load 1 store 0 evict 0 one other\n"
			      "evict 0 load 0 store 0 evict 1\n"
			      "build 0 from 0 load 0 store 1 evict 0 one other\n");
		/* What is built in another environment is not what was described. */
		slot_run_shell("rm -rf shelf");
		run_either(plugin, ONE "add il=other add desc setenv=IGC_EnableDPEmulation=1 built=shelf", NO_WAITING);
		CU_ASSERT_PTR_NOT_NULL(strstr(run.client.output, "store 0"));
		/* The machine's cache has nothing to do with it. */
		CU_ASSERT_EQUAL(module_run_stat("stores"), 0);
	}
}

TEST_ON("stub", damaged_and_refused_blobs_are_evicted_and_built_again)
{
	module_run_plain(&run, ONE "desc built=shelf", "");
	slot_run_shell("for f in shelf/*; do printf x | dd of=$f bs=1 seek=200 conv=notrunc status=none; done");
	expect_run(ALONE, ONE "desc built=shelf", "", "desc 0\nbuild 0 from 0 load 1 store 1 evict 1 one\n");
	module_run_expect(&run, 1, 0);
	module_run_plain(&run, ONE "desc built=shelf", "STUB_REFUSE_NATIVE=1");
	expect_output("desc 0\nbuild 0 from 0 load 1 store 1 evict 1 one\n");
	module_run_expect(&run, 1, 1);
	module_run_plain(&run, ONE "desc built=shelf", "STUB_RECOMPILES=1");
	expect_output("desc 0\nbuild 0 from 0 load 1 store 1 evict 1 one\n");
	expect_run(ALONE, ONE "desc built=shelf", "", "desc 0\nbuild 0 from 3 load 1 store 0 evict 0 one\n");
}

TEST_ON("stub", threads_share_a_description_and_one_build)
{
	for (int plugin = 0; plugin <= 1; plugin++) {
		slot_run_shell("rm -rf cache");
		expect_counts(plugin, ONE "desc threads=8", "STUB_DELAY_MS=300 " NO_WAITING, 1, 7);
		expect_counts(plugin, ONE "desc threads=8", NO_WAITING, 0, 8);
	}
}

TEST_ON("stub", processes_share_one_build)
{
	module_run_processes(&run, 4, ONE "desc build", "STUB_DELAY_MS=300");
	module_run_expect(&run, 1, 3);
}

TEST_ON("stub", settings_reach_a_plugin_that_comes_later)
{
	char expected[1024];

	/* Before zeInit, and the application's own module: the library is not called again. */
	expect_run(PLUGIN, "dir=elsewhere capacity=12345 " ONE "modules", "", "dir 0\ncapacity 0\nmodules one\n");
	CU_ASSERT_NOT_EQUAL(access("cache", F_OK), 0);
	CU_ASSERT_EQUAL(access("elsewhere/cache_size.txt", F_OK), 0);
	expect_in_run(PLUGIN, "persistent=0 " ONE "modules settings", "", "persistent 0\nmodules one\nsettings 0 ");
	CU_ASSERT_NOT_EQUAL(access("cache", F_OK), 0);
	/* And while it is there. */
	module_run(&run, ONE "dir=third modules settings dir= settings", "");
	CU_ASSERT_EQUAL(access("third/cache_size.txt", F_OK), 0);
	(void)snprintf(expected, sizeof(expected), "settings 1 8589934592 %s/third\n", unit_dir());
	expect_part(expected);
	(void)snprintf(expected, sizeof(expected), "settings 1 8589934592 %s/cache\n", unit_dir());
	expect_part(expected);
	/* What the user forbids there, he forbids here. */
	for (int plugin = 0; plugin <= 1; plugin++) {
		run_either(plugin, "persistent=1 " ONE "persistent=1 modules", "CKCACHE_PERSISTENT=0");
		expect_output("persistent -4\npersistent -4\nmodules one\n");
	}
}

TEST_ON("stub", settings_hold_without_the_plugin)
{
	module_run_plain(&run, "dir=elsewhere " ONE "desc build", "");
	CU_ASSERT_EQUAL(access("elsewhere/cache_size.txt", F_OK), 0);
	CU_ASSERT_NOT_EQUAL(access("cache", F_OK), 0);
	expect_in_run(ALONE, ONE "persistent=0 desc build build", "", "build 0 from 0 one\nbuild 0 from 1 one\n");
	CU_ASSERT_NOT_EQUAL(access("cache", F_OK), 0);
}

TEST_ON("stub", what_a_library_learns_of_a_device_is_kept)
{
	for (int plugin = 0; plugin <= 1; plugin++) {
		slot_run_shell("rm -rf cache");
		run_either(plugin, "driver=0 describe=library load store=learned load", "");
		expect_output("device 0\nload 1 \nstore 0\nload 0 learned\n");
		run_either(!plugin, "driver=0 describe=library load describe=library:2 load "
				    "describe=other load device=0.0 describe=library load", "");
		expect_output("device 0\nload 0 learned\ndevice 0\nload 1 \ndevice 0\nload 1 \n"
			      "device 0\nload 1 \n");
		expect_run(plugin, "driver=0 describe=library load", "STUB_EPOCH=b", "device 0\nload 1 \n");
		/* A device that does not answer. Newer loaders ask it themselves, and then have no driver. */
		module_run_plain_any(&run, "driver=0", "STUB_SILENT=1");
		if (run.client.status == 0)
			expect_run(plugin, "driver=0 describe=library", "STUB_SILENT=1", "device -12\n");
		run_either(plugin, "driver=0 describe=library wrap=blob unwrap=blob describe=library:2 "
				   "unwrap=blob", "");
		expect_output("device 0\nwrap\nunwrap 0 data\ndevice 0\nunwrap -7 \n");
	}
}

TEST_ON("stub", wrong_arguments_are_refused)
{
	for (int plugin = 0; plugin <= 1; plugin++) {
		expect_run(plugin, "driver=0 il=constants desc invalid", "", "desc 0\ninvalid: 0 wrong\n");
		module_run_expect(&run, 0, 0);
	}
}

TEST_ON("stub", the_functions_can_be_fetched_by_name)
{
	expect_run(PLUGIN, "driver=0 extension", "", "extension yes yes no no\n");
	expect_run(ALONE, "driver=0 extension", "", "extension no no no no\n");
	expect_run(PLUGIN, "driver=0 extension", "CKCACHE_DISABLE=1", "extension no no no no\n");
	module_run_drivers(BOTH);
	module_run(&run, "driver=0 extension driver=1 extension", "");
	expect_output("extension yes yes no no\nextension yes yes no no\n");
	module_run_drivers(STUB_DRIVER);
}

/* One that the program has for itself, under a name that nobody looks for. */
TEST_ON("stub", a_loader_of_the_programs_own_is_no_hindrance)
{
	slot_run_shell("sed 's/libze_loader\\.so\\.1/libxx_loader.so.1/' '" LOADER "' >loader.so");
	module_run_plain(&run, "loader=./loader.so " ONE "desc build build", NO_WAITING);
	expect_part("build 0 from 0 one\nbuild 0 from 1 one\n");
	module_run_expect(&run, 1, 1);
	module_run_plain(&run, "loader=./loader.so " ONE "desc build build",
			 NO_WAITING " LD_LIBRARY_PATH='" SLOT_DIRECTORY "' "
				    "ZE_ENABLE_VALIDATION_LAYER=1 ZE_ENABLE_LAYERS=ckcache");
	expect_part("build 0 from 2 one\nbuild 0 from 1 one\n");
	module_run_expect(&run, 0, 2);
}

TEST_ON("stub", settings_bring_no_loader)
{
	module_run_plain(&run, "settings dir=elsewhere", "");
	CU_ASSERT_PTR_NOT_NULL(strstr(run.client.output, "dir 0\n"));
	CU_ASSERT_EQUAL(module_run_count(&run, "init"), 0);
}

/* On Intel's driver: the same, without counts. */

static void expect_real(int plugin, const char *arguments, const char *part)
{
	expect_in_run(plugin, arguments, NO_WAITING, part);
	CU_ASSERT_STRING_EQUAL(run.client.errors, "");
}

TEST_ON("real", a_blob_makes_the_real_drivers_modules)
{
	for (int plugin = 0; plugin <= 1; plugin++) {
		slot_run_shell("rm -rf cache");
		expect_real(plugin, "driver=0 il=plain add il=one flags=-ze-opt-disable add desc id "
				    "modules short=blob", "blob -3 bytes\n");
		expect_real(!plugin, "driver=0 il=plain add il=one flags=-ze-opt-disable add desc "
				     "create=blob", "create 0 ");
		expect_real(plugin, "driver=0 il=one add il=plain add desc create=blob", "create -7");
		expect_real(plugin, "driver=0 il=plain add il=one flags=-ze-opt-disable add desc "
				    "cuts=blob", "refused all");
	}
}

TEST_ON("real", the_real_drivers_builds_are_shared)
{
	unsigned long misses;

	for (int plugin = 0; plugin <= 1; plugin++) {
		slot_run_shell("rm -rf cache");
		expect_real(plugin, "driver=0 il=constants constant=32:4:7 desc build build", "build 0 from 1 ");
		misses = module_run_stat("misses");
		CU_ASSERT_EQUAL(misses, 1);
		expect_real(!plugin, "driver=0 il=constants constant=32:4:7 desc build", "build 0 from 2 ");
		/* By a program that knows nothing of it. */
		expect_real(1, "driver=0 il=constants constant=32:4:7 modules", "modules ");
		CU_ASSERT_EQUAL(module_run_stat("misses"), misses);
		CU_ASSERT_EQUAL(module_run_stat("errors"), 0);
	}
}

TEST_ON("real", the_real_device_is_known_again)
{
	expect_real(0, "driver=0 describe=library store=learned", "store 0");
	expect_real(1, "driver=0 describe=library load il=one desc build describe=library load",
		    "load 0 learned\ndesc 0\nbuild 0 from 0 one\ndevice 0\nload 0 learned\n");
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return unit_run("stub");
	if (system("ldconfig -p | grep -q libze_intel_gpu") != 0) {
		puts("SKIPPED: no Level Zero driver");
		return SKIPPED;
	}
	slot_run_product(argv[1]);
	module_run_drivers(NULL);
	return unit_run("real");
}
