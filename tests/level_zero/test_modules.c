/* SPDX-License-Identifier: MIT */
/* modules: zeModuleCreate under the plugin on stub drivers that count: what hits, what does not, and what no driver may see. */
#include <dlfcn.h>
#include <sched.h>
#include <sys/mount.h>

#include "tests/level_zero/module_run.h"
#include "tests/support/unit.h"

#define BOTH STUB_DRIVER "," STUB2_DRIVER

static struct module_run run, plain;

BEFORE_EACH
{
	module_run_drivers(STUB_DRIVER);
}

/* One module of kernels/one, with its log. */
#define ONE "driver=0 il=one log create"

static void expect_same_output(const char *expected)
{
	CU_ASSERT_STRING_EQUAL(run.client.output, expected);
	if (strcmp(run.client.output, expected))
		(void)fprintf(stderr, "expected:\n%sgot:\n%s", expected, run.client.output);
}

/* A run that compiles and loads so many. */
static void expect_run(const char *arguments, const char *variables, unsigned int compiled, unsigned int loaded)
{
	module_run(&run, arguments, variables);
	module_run_expect(&run, compiled, loaded);
}

/* And answers as the last plain one. */
static void expect_run_like_plain(const char *arguments, const char *variables, unsigned int compiled,
				  unsigned int loaded)
{
	expect_run(arguments, variables, compiled, loaded);
	expect_same_output(plain.client.output);
}

static void expect_like_plain(const char *arguments, const char *variables)
{
	module_run_plain(&plain, arguments, variables);
	module_run(&run, arguments, variables);
	expect_same_output(plain.client.output);
}

/* Runs it plain, cold and warm: the same answers, and no compilation on the warm run. */
static void expect_hit(const char *arguments, const char *variables, unsigned int modules)
{
	slot_run_shell("rm -rf cache");
	expect_like_plain(arguments, variables);
	module_run_expect_clean(&run);
	expect_run_like_plain(arguments, variables, 0, modules);
}

TEST(a_second_process_compiles_nothing)
{
	expect_hit(ONE, "STUB_EMPTY_LOG=1", 1);
	expect_hit(ONE, "", 1);
	CU_ASSERT_EQUAL(module_run_stat("hits_disk"), 1);
	CU_ASSERT_EQUAL(module_run_stat("misses"), 1);
	CU_ASSERT_EQUAL(module_run_stat("stores"), 1);
}

TEST(a_second_module_comes_from_memory)
{
	expect_run("driver=0 il=one log create create nolog create keep create", "", 1, 3);
	CU_ASSERT_EQUAL(module_run_stat("hits_memory"), 3);
	CU_ASSERT(module_run_balanced(&run, "log"));
}

/* At the same place, with the same handles for other devices, and elsewhere. */
TEST(a_loader_that_is_opened_again_is_cached_for)
{
	static const char *const arguments = "driver=0 il=one create pause create close setenv=STUB_EPOCH=2 driver=0 "
					     "create pause create close='" STUB_DRIVER "' driver=0 il=plain create";

	/* A loader of 2026 finds no driver then. */
	module_run_plain_any(&run, arguments, "");
	if (run.client.status) {
		(void)puts("    SKIPPED: the loader cannot be opened again");
		return;
	}
	expect_run(arguments, "", 3, 2);
	expect_run(arguments, "", 0, 5);
	CU_ASSERT_EQUAL(module_run_stat("bypasses"), 0);
}

TEST(the_build_log_is_replayed)
{
	expect_hit("driver=0 il=one flags=-Wstub log create", "", 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(run.client.output, "warning"));
	/* The first one did not ask for it. */
	slot_run_shell("rm -rf cache");
	module_run(&run, "driver=0 il=one flags=-Wstub create", "");
	expect_run_like_plain("driver=0 il=one flags=-Wstub log create", "", 0, 1);
}

/* Loaders newer than 1.8 call it, whether or not there is a genuine layer. */
TEST(the_slot_takes_a_logger_for_nobody)
{
	void *slot = dlopen(SLOT_DIRECTORY "/libze_validation_layer.so.1", RTLD_NOW | RTLD_LOCAL);
	void (*set_logger)(void *) = slot ? (void (*)(void *))dlsym(slot, "zelLoaderSetLogger") : NULL;

	CU_ASSERT_PTR_NOT_NULL_FATAL(set_logger);
	set_logger(&run);
}

/* What is listed later is nearer to the driver, and what it does is not in the key. */
TEST(above_another_layer_nothing_is_cached)
{
	char variables[1024];

	for (unsigned int i = 0; i < 2; i++)
		expect_run(ONE, "ZE_ENABLE_LAYERS='ckcache:" INNER_PLUGIN "'", 1, 0);
	CU_ASSERT_EQUAL(module_run_stat("bypass.layer-below"), 2);
	expect_run(ONE, "ZE_ENABLE_LAYERS='" INNER_PLUGIN ":ckcache'", 1, 0);
	expect_run(ONE, "ZE_ENABLE_LAYERS='" INNER_PLUGIN ":ckcache'", 0, 1);
	expect_run(ONE, "ZE_ENABLE_LAYERS='ckcache:" INNER_PLUGIN "'", 1, 0);
	/* One that has a driver's name. */
	slot_run_shell("cp '" INNER_PLUGIN "' libze_inner.so");
	(void)snprintf(variables, sizeof(variables), "ZE_ENABLE_LAYERS='ckcache:%s/libze_inner.so'", unit_dir());
	for (unsigned int i = 0; i < 2; i++)
		expect_run(ONE, variables, 1, 0);
	/* One that the list does not name by its file. */
	slot_run_shell("cp '" INNER_PLUGIN "' libze_inner_layer.so.1");
	(void)snprintf(variables, sizeof(variables), "LD_LIBRARY_PATH='%s' ZE_ENABLE_LAYERS=ckcache,inner", unit_dir());
	expect_run(ONE, variables, 1, 0);
	CU_ASSERT_EQUAL(module_run_stat("bypass.layer-below"), 6);
}

TEST(other_inputs_are_other_modules)
{
	static const char *const others[] = {
		"driver=0 il=other log create",
		"driver=0 il=one flags=-O log create",
		"driver=0 il=one flags=-Wstub log create",
		"driver=0 inputs=one log create",
		"driver=0 inputs=one,twice log create",
		"driver=0 inputs=twice,one log create",
		"driver=0 inputs=one,other log create",
		"driver=0 flags=-O inputs=one,twice log create",
		"driver=0 inputs=one:-O,twice log create",
		"driver=0 inputs=one,twice:-O log create",
		"driver=0 inputs=one,twice:-O2 log create",
		"driver=0 inputs=constants,one log create",
		"driver=0 constant=32:4:7 inputs=constants*,one log create",
		"driver=0 constant=32:4:8 inputs=constants*,one log create",
		"driver=0 constant=64:8:9 inputs=constants*,precise@ log create",
		"driver=0 constant=64:8:9 inputs=constants,precise@* log create",
		"driver=0 il=constants log create",
		"driver=0 device=0.0 il=one log create",
		"driver=0 device=0.1 il=one log create",
	};

	module_run(&run, ONE, "");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		expect_run(others[i], "", 1, 0);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		module_run_plain(&plain, others[i], "");
		expect_run_like_plain(others[i], "", 0, 1);
	}
	/* No flags, and empty ones. */
	expect_run("driver=0 il=one flags= log create flags create", "", 0, 2);
}

/* Of kernels/constants.spvasm: id 8 is a byte, 32 a word, 64 a long. */
TEST(constants_count_by_value_and_true_width)
{
	expect_run("driver=0 il=constants constant=32:4:7 constant=64:8:9 create", "", 1, 0);
	expect_run("driver=0 il=constants constant=16:2:7 create", "", 1, 0);
	expect_run("driver=0 il=constants constant=17:2:7 create", "", 1, 0);
	/* The order of ids says nothing. */
	expect_run("driver=0 il=constants constant=64:8:9 constant=32:4:7 create", "", 0, 1);
	expect_run("driver=0 il=constants constant=32:4:8 constant=64:8:9 create", "", 1, 0);
	expect_run("driver=0 il=constants constant=32:4:7 create", "", 1, 0);
	/* What lies behind a byte is not its value. */
	expect_run("driver=0 il=constants constant=8:1:0x107 create", "", 1, 0);
	expect_run("driver=0 il=constants constant=8:1:7 create", "", 0, 1);
	expect_run("driver=0 il=constants constant=64:8:0x100000007 create", "", 1, 0);
	expect_run("driver=0 il=constants constant=64:8:7 create", "", 1, 0);
	CU_ASSERT(module_run_balanced(&run, "log"));	/* what nobody asked for is gone */
	/* An id twice, and one that is not there, are the driver's affair. */
	expect_like_plain("driver=0 il=constants constant=4711:4:7 quiet", "");
	CU_ASSERT_EQUAL(module_run_stat("bypass.constants-unknown"), 1);
	module_run(&run, "driver=0 il=constants constant=32:4:7 constant=32:4:8 quiet", "");
	CU_ASSERT_EQUAL(module_run_stat("bypass.constants-unknown"), 2);
}

TEST(threads_share_one_compilation)
{
	module_run_plain(&plain, ONE, "");
	expect_run("driver=0 il=one log threads=8", "STUB_DELAY_MS=300", 1, 7);
	for (const char *line = run.client.output; *line; line = strchr(line, '\n') + 1)
		CU_ASSERT_EQUAL(strncmp(line, plain.client.output, strlen(plain.client.output)), 0);
	expect_run("driver=0 il=one log threads=8", "", 0, 8);
}

TEST(processes_share_one_compilation)
{
	const char *line;
	int lines = 0;

	module_run_plain(&plain, ONE, "");
	module_run_processes(&run, 32, ONE, "STUB_DELAY_MS=300");
	module_run_expect(&run, 1, 31);
	for (line = run.client.output; *line; line = strchr(line, '\n') + 1, lines++)
		CU_ASSERT_EQUAL(strncmp(line, plain.client.output, strlen(plain.client.output)), 0);
	CU_ASSERT_EQUAL(lines, 32);
	slot_run_shell("test -f cache/build.lock && ! test -s cache/build.lock");
	/* Unless they are told not to wait. */
	slot_run_shell("rm -rf cache");
	module_run_processes(&run, 4, ONE, "STUB_MEET=4 CKCACHE_BUILD_WAIT=0");
	CU_ASSERT_EQUAL(module_run_count(&run, "compile"), 4);
	/* What fails is not waited for in turn. */
	slot_run_shell("rm -rf cache");
	module_run_processes(&run, 4, "driver=0 il=one quiet", "STUB_DELAY_MS=100 STUB_FAIL=1");
	CU_ASSERT_EQUAL(module_run_count(&run, "compile"), 4);
}

TEST(failures_are_the_drivers_and_are_not_kept)
{
	module_run_plain(&plain, ONE " quiet", "STUB_FAIL=1");
	for (int i = 0; i < 2; i++) {
		expect_run_like_plain(ONE " quiet", "STUB_FAIL=1", 2, 0);
	}
	module_run_plain(&plain, "driver=0 il=one log threads=4", "STUB_FAIL=1");
	module_run(&run, "driver=0 il=one log threads=4", "STUB_FAIL=1 STUB_DELAY_MS=50");
	expect_same_output(plain.client.output);
	/* Memory may be there the next time. */
	expect_like_plain(ONE, "STUB_FAIL_OOM=1");
	CU_ASSERT_EQUAL(module_run_count(&run, "compile"), 2);
	expect_run(ONE, "", 1, 0);
}

TEST(what_is_no_spirv_is_the_drivers_affair)
{
	static const char *const cuts[] = { "cut=0", "cut=1", "cut=4", "cut=16", "cut=19", "cut=20",
					    "cut=60", "cut=61", "cut=101" };
	char arguments[256];

	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		(void)snprintf(arguments, sizeof(arguments), "driver=0 il=one %s log quiet create", cuts[i]);
		module_run_plain(&plain, arguments, "");
		for (int j = 0; j < 2; j++) {
			module_run(&run, arguments, "");
			expect_same_output(plain.client.output);
			module_run_expect_clean(&run);
		}
	}
	unit_write("garbage", "this is no SPIR-V");
	expect_like_plain("driver=0 file=garbage quiet", "");
	CU_ASSERT(module_run_stat("bypass.not-spirv") > 0);
	/* Some drivers end the process: nothing of ours hangs then. */
	module_run_any(&run, "driver=0 il=one create file=garbage quiet", "STUB_GARBAGE_EXITS=1");
	CU_ASSERT_EQUAL(run.client.status, 3);
}

TEST(unknown_extensions_are_the_drivers_affair)
{
	module_run_plain(&plain, "driver=0 il=one next quiet", "");
	module_run(&run, "driver=0 il=one next quiet quiet", "");
	CU_ASSERT_EQUAL(module_run_stat("bypass.unknown-extension"), 2);
	CU_ASSERT_EQUAL(module_run_count(&run, "load-native"), 0);
	CU_ASSERT_EQUAL(strncmp(run.client.output, plain.client.output, strlen(plain.client.output)), 0);
}

/* Also beside one that is known; and other formats, NULL handles. */
TEST(what_is_not_understood_is_the_drivers_affair)
{
	static const char *const calls[] = {
		"driver=0 inputs=one,twice next quiet", "driver=0 il=one format=7 quiet",
		"driver=0 il=one format=1 quiet", "driver=0 il=one device= quiet",
	};

	module_run(&run, "driver=0 il=one create inputs=one,twice create", "");
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		expect_like_plain(calls[i], "");
		CU_ASSERT_STRING_EQUAL(strstr(run.events, "bad-handle") ? strstr(run.events, "bad-handle") : "",
				       strstr(plain.events, "bad-handle") ? strstr(plain.events, "bad-handle") : "");
		CU_ASSERT_EQUAL(module_run_count(&run, "load-native"), module_run_count(&plain, "load-native"));
	}
	CU_ASSERT_EQUAL(module_run_stat("bypass.unknown-extension"), 1);
	CU_ASSERT_EQUAL(module_run_stat("bypass.format"), 1);
}

/* It says nothing of the entry. */
TEST(a_want_of_memory_is_no_refusal)
{
	static const char *const settings[] = {
		"STUB_REFUSE_NATIVE=host-memory", "STUB_REFUSE_NATIVE=device-memory",
		"STUB_REFUSE_NATIVE=device-lost", "STUB_REFUSE_NATIVE=1",
	};

	module_run(&run, ONE, "");
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		CU_ASSERT_EQUAL(module_run_stat("errors"), 0);
		expect_run(ONE, settings[i], 1, 1);
	}
	CU_ASSERT_EQUAL(module_run_stat("errors"), 1);
}

/* They say more than what to compile. */
TEST(natives_are_loaded_with_the_flags)
{
	module_run(&run, "driver=0 il=one flags=-ze-opt-disable create", "");
	expect_run("driver=0 il=one flags=-ze-opt-disable create", "", 0, 1);
	CU_ASSERT_EQUAL(module_run_count(&run, "load-flags -ze-opt-disable"), 1);
}

TEST(without_a_native_binary_nothing_is_kept)
{
	static const char *const settings[] = { "STUB_NO_NATIVE=1", "STUB_NATIVE_FAILS=1" };

	/* Its size is told, and it is not given. */
	module_run(&run, "driver=0 il=one quiet", "STUB_NATIVE_UNREAD=1");
	CU_ASSERT_EQUAL(module_run_stat("bypass.no-binary"), 1);
	expect_run(ONE, "", 1, 0);
	for (size_t i = 0; i < 2; i++) {
		slot_run_shell("rm -rf cache");
		module_run_plain(&plain, ONE, settings[i]);
		for (unsigned int j = 1; j <= 2; j++) {
			expect_run_like_plain(ONE, settings[i], 1, 0);
			CU_ASSERT_EQUAL(module_run_stat("bypass.no-binary"), j);
		}
	}
}

TEST(a_refused_native_is_built_again_and_replaced)
{
	module_run_plain(&plain, ONE, "");
	module_run(&run, ONE, "");
	expect_run_like_plain(ONE, "STUB_REFUSE_NATIVE=1", 1, 1);
	expect_run_like_plain(ONE, "", 0, 1);
	/* Or it is gone, where nothing takes its place. */
	module_run(&run, "driver=0 il=one quiet", "STUB_REFUSE_NATIVE=1 STUB_FAIL=1");
	expect_run(ONE, "", 1, 0);
}

/* As a module that nobody refused. */
TEST(out_of_memory_after_a_refusal_is_tried_again)
{
	module_run_plain(&plain, ONE, "");
	module_run(&run, ONE, "STUB_FIRST_OOM=1");
	expect_same_output(plain.client.output);
	expect_run_like_plain(ONE, "STUB_REFUSE_NATIVE=1 STUB_FIRST_OOM=1", 2, 1);
	expect_run(ONE, "", 0, 1);
}

TEST(a_recompiled_native_is_built_again_and_replaced)
{
	module_run_plain(&plain, ONE, "");
	module_run(&run, ONE, "");
	/* The driver changed what it compiles, and says nothing of it but in the log. */
	module_run(&run, ONE, "STUB_RECOMPILES=1");
	expect_same_output(plain.client.output);
	CU_ASSERT_EQUAL(module_run_count(&run, "compile"), 1);
	module_run_expect_clean(&run);
	CU_ASSERT(module_run_balanced(&run, "module"));
	CU_ASSERT(module_run_balanced(&run, "log"));
	expect_run(ONE, "", 0, 1);
}

/* Not even where the application wants to hear nothing of it. */
TEST(a_silently_recompiled_native_is_noticed_too)
{
	static const char silent[] = "driver=0 il=one log "
		"flags=-Wno-recompiled-from-ir-Wno-recompiled-from-ir create";

	module_run_plain(&plain, silent, "");
	module_run(&run, silent, "");
	module_run(&run, silent, "STUB_RECOMPILES=1");
	expect_same_output(plain.client.output);
	CU_ASSERT_EQUAL(module_run_count(&run, "compile"), 1);
	expect_run(silent, "", 0, 1);
}

TEST(another_driver_version_is_another_module)
{
	module_run(&run, ONE, "STUB_EPOCH=a");
	expect_run(ONE, "STUB_EPOCH=b", 1, 0);
	expect_run(ONE, "STUB_EPOCH=a", 0, 1);
}

/* Whatever a driver tells of its device may be what it compiles for. */
TEST(each_property_of_the_device_is_in_the_key)
{
	static const char *const properties[] = {
		"api", "type", "vendor_id", "id", "flags", "threads", "simd_width", "eus", "subslices",
		"slices", "name", "uuid", "sub_devices", "spirv", "module_flags", "fp16", "fp32", "fp64",
		"max_arguments", "printf_buffer", "native",
	};
	char variables[64];

	module_run(&run, ONE, "");
	for (size_t i = 0; i < sizeof(properties) / sizeof(properties[0]); i++) {
		(void)snprintf(variables, sizeof(variables), "STUB_CHANGED=%s", properties[i]);
		expect_run(ONE, variables, 1, 0);
	}
	expect_run(ONE, "", 0, 1);
}

/* It says more than a uuid, which tells boards of one kind apart. */
TEST(a_stepping_takes_the_place_of_the_uuid)
{
	static const char sub[] = "driver=0 device=0.0 il=one log create";

	module_run(&run, ONE, "");
	expect_run(ONE, "STUB_STEPPING=4", 1, 0);
	expect_run(ONE, "STUB_STEPPING=5", 1, 0);
	expect_run(ONE, "STUB_STEPPING=4 STUB_CHANGED=uuid", 0, 1);
	/* Two halves of a device are two. */
	expect_run(sub, "STUB_STEPPING=4", 1, 0);
	expect_run("driver=0 device=0.1 il=one log create", "STUB_STEPPING=4", 1, 0);
	expect_run(sub, "STUB_STEPPING=4", 0, 1);
	/* In one process, too. */
	slot_run_shell("rm -rf cache");
	expect_run("driver=0 il=one create device=0.0 create device=0.1 create", "STUB_STEPPING=4", 3, 0);
}

/* A board on that bus; the stub's own ids. */
static void make_board(int bus, int revision)
{
	char script[400];

	(void)snprintf(script, sizeof(script), "mkdir -p pci/0000:%02x:00.0 && cd pci/0000:%02x:00.0 && "
		       "echo 0x5755 > vendor && echo 0x5701 > device && echo 0x%02x > revision", bus, bus, revision);
	slot_run_shell("%s", script);
}

/* The test's own /sys/bus/pci/devices, for itself and its children; false: that is not allowed here. */
static bool mount_boards(void)
{
	slot_run_shell("mkdir -p pci");
	return geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("pci", "/sys/bus/pci/devices", NULL, MS_BIND, NULL) == 0;
}

/* Intel's driver 22.43 does not tell the version; its uuid only says where a board is plugged in. */
TEST(boards_of_one_revision_share_and_others_do_not)
{
	static const char sub[] = "driver=0 device=0.0 il=one log create";

	if (!mount_boards())
		return;
	make_board(3, 4);
	make_board(7, 4);
	make_board(8, 5);
	expect_run(ONE, "STUB_PCI=3", 1, 0);
	expect_run(ONE, "STUB_PCI=7 STUB_CHANGED=uuid", 0, 1);
	expect_run(ONE, "STUB_PCI=8", 1, 0);
	/* On another machine, with the same board in another slot. */
	make_board(3, 5);
	expect_run(ONE, "STUB_PCI=3", 0, 1);
	/* Nothing is there, or something else: by the uuid as ever. */
	expect_run(ONE, "STUB_PCI=9", 1, 0);
	expect_run(ONE, "STUB_PCI=9 STUB_CHANGED=uuid", 1, 0);
	expect_run(ONE, "STUB_PCI=7 STUB_CHANGED=id", 1, 0);
	expect_run(ONE, "", 0, 1);
	/* What the driver itself tells is better, and halves are two. */
	expect_run(ONE, "STUB_PCI=3 STUB_STEPPING=4", 1, 0);
	expect_run(sub, "STUB_PCI=3", 1, 0);
	expect_run("driver=0 device=0.1 il=one log create", "STUB_PCI=3", 1, 0);
	CU_ASSERT_EQUAL(umount2("/sys/bus/pci/devices", MNT_DETACH), 0);
}

/* Two drivers, two products: each with its own modules, and the loader with handles of its own. */
TEST(two_drivers_keep_apart)
{
	static const char arguments[] = "driver=0 il=one log create driver=1 create";

	module_run_drivers(BOTH);
	expect_hit(arguments, "", 1);
	CU_ASSERT_EQUAL(module_run_count(&run, "stub2 load-native"), 1);
	CU_ASSERT_EQUAL(module_run_count(&run, "stub2 compile"), 0);
	CU_ASSERT_EQUAL(module_run_count(&run, "stub2 foreign-native"), 0);
	/* A refused native's log must not be touched here: the loader has not wrapped it. */
	module_run(&run, arguments, "STUB_REFUSE_NATIVE=1");
	module_run_expect_clean(&run);
	CU_ASSERT_EQUAL(module_run_count(&run, "stub2 compile"), 1);
	module_run(&run, "driver=0 il=one log quiet driver=1 quiet", "STUB_FAIL=1");
	module_run_expect_clean(&run);
}

TEST(contexts_of_both_kinds_are_known)
{
	module_run(&run, ONE, "");
	expect_run("driver=0 ex il=one log create ex create", "", 0, 2);
}

TEST(forked_children_use_the_cache_too)
{
	expect_hit("driver=0 il=one log fork", "", 2);
}

TEST(instrumented_modules_are_not_cached)
{
	module_run(&run, ONE, "");
	expect_run(ONE, "ZET_ENABLE_PROGRAM_INSTRUMENTATION=1", 1, 0);
	expect_run(ONE, "ZET_ENABLE_PROGRAM_DEBUGGING=1", 1, 0);
	CU_ASSERT_EQUAL(module_run_stat("bypass.instrumented"), 2);
	expect_run(ONE, "ZET_ENABLE_PROGRAM_DEBUGGING=0", 0, 1);
	/* Drivers look at it when they are loaded. */
	expect_run("driver=0 il=one setenv=ZET_ENABLE_PROGRAM_DEBUGGING=0 create",
		   "ZET_ENABLE_PROGRAM_DEBUGGING=1", 1, 0);
}

/* What a flag or variable makes the driver write beside the module, a hit would not write. */
TEST(modules_with_side_outputs_are_not_cached)
{
	static const struct {
		const char *flags, *variables, *reason;
	} rows[] = {
		{ "-dump-opt-llvm=x", "", "bypass.option" }, { "-zet-profile-flags", "", "bypass.option" },
		{ "-O", "IGC_ShaderDumpEnable=1", "bypass.variable" }, { "-O", "IGC_DumpToCustomDir=x", "bypass.variable" },
	};
	char arguments[128];

	for (size_t i = 0; i < 4; i++) {
		(void)snprintf(arguments, sizeof(arguments), "driver=0 il=one flags=%s create", rows[i].flags);
		expect_run(arguments, rows[i].variables, 1, 0);
		expect_run(arguments, rows[i].variables, 1, 0);
		CU_ASSERT_EQUAL(module_run_stat(rows[i].reason), 2 * (i % 2 + 1));
	}
	CU_ASSERT_EQUAL(module_run_stat("misses"), 0);
}

TEST(the_compilers_variables_are_in_the_key)
{
	module_run(&run, ONE, "");
	expect_run(ONE, "IGC_EnableDPEmulation=1", 1, 0);
	expect_run(ONE, "NEO_FP64_EMULATION=1", 1, 0);
	expect_run(ONE, "UNRELATED=1", 0, 1);
	/* Of a driver that is not known everything counts. */
	expect_run(ONE, "ZE_AFFINITY_MASK=0 CUDA_VISIBLE_DEVICES=0", 1, 0);
}

/* IGC reads them at its first build, for good: whether it has the old value or the new one is not known. */
TEST(variables_that_change_after_loading_are_not_cached_for)
{
	module_run(&run, ONE, "");
	expect_run("driver=0 il=one setenv=IGC_EnableDPEmulation=1 create create", "", 2, 0);
	CU_ASSERT_EQUAL(module_run_stat("bypass.environment-changed"), 2);
	expect_run(ONE, "IGC_EnableDPEmulation=1", 1, 0);
	/* Back before anything was built. */
	expect_run("driver=0 il=one setenv=IGC_EnableDPEmulation=0 setenv=IGC_EnableDPEmulation=1 create",
		   "IGC_EnableDPEmulation=1", 0, 1);
	/* Back afterwards. */
	expect_run("driver=0 il=one setenv=IGC_EnableDPEmulation=0 create setenv=IGC_EnableDPEmulation=1 create",
		   "IGC_EnableDPEmulation=1", 2, 0);
	expect_run("driver=0 il=one setenv=UNRELATED=1 create", "IGC_EnableDPEmulation=1", 0, 1);
	/* During a build. */
	expect_run(ONE, "IGC_X=1 STUB_SETENV=IGC_X=2", 1, 0);
	CU_ASSERT_EQUAL(module_run_stat("bypass.environment-changed"), 5);
	expect_run(ONE, "IGC_X=1", 1, 0);
	/* And back after that build, by which the driver may have read it for good. */
	expect_run("driver=0 il=constants create setenv=IGC_X=1 il=one create", "IGC_X=1 STUB_SETENV=IGC_X=2", 2, 0);
}

/* The drivers of both APIs have one compiler: what changed since the first layer came changed for both. */
TEST(both_layers_have_the_environment_of_the_first)
{
	static const struct {
		const char *does, *variables;
		unsigned int bypassed, stores;
	} rows[] = {
		{ "opencl setenv=IGC_X=1 " ONE, "", 1, 1 },
		{ ONE " setenv=IGC_X=1 opencl", "", 1, 1 },
		{ "opencl setenv=OTHER=1 " ONE, "", 0, 2 },
		/* Back again, after the second layer's drivers were loaded, or one of the first's had built. */
		{ "opencl setenv=IGC_X=2 driver=0 il=one setenv=IGC_X=1 create", "IGC_X=1", 1, 1 },
		{ ONE " opencl setenv=IGC_X=2 opencl setenv=IGC_X=1 il=constants create", "IGC_X=1", 2, 2 },
		{ "opencl " ONE " setenv=IGC_X=2 create setenv=IGC_X=1 opencl", "IGC_X=1", 2, 2 },
	};

	slot_run_shell("mkdir -p icds && echo '" OPENCL_STUB "' >icds/stub.icd");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char variables[2048];

		(void)snprintf(variables, sizeof(variables),
			       "OCL_ICD_VENDORS='%s/icds' OPENCL_LAYERS='" OPENCL_LAYER "' %s",
			       unit_dir(), rows[i].variables);
		slot_run_shell("rm -rf cache");
		module_run(&run, rows[i].does, variables);
		CU_ASSERT_PTR_NOT_NULL(strstr(run.client.output, "opencl 0\n"));
		CU_ASSERT_EQUAL(module_run_stat("bypass.environment-changed"), rows[i].bypassed);
		CU_ASSERT_EQUAL(module_run_stat("stores"), rows[i].stores);
	}
}

TEST(switched_off_it_does_nothing)
{
	module_run_plain(&plain, ONE, "");
	for (int i = 0; i < 2; i++) {
		expect_run_like_plain(ONE, "CKCACHE_DISABLE=1", 1, 0);
	}
	CU_ASSERT_NOT_EQUAL(access("cache", F_OK), 0);
}

/* The file of the only entry with that ending. */
static void entry_file(const char *ending, char path[512])
{
	FILE *found;

	slot_run_shell("find cache -name '*%s' >found; test $(wc -l <found) = 1", ending);
	found = fopen("found", "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(found);
	CU_ASSERT_PTR_NOT_NULL(fgets(path, 512, found));
	path[strcspn(path, "\n")] = '\0';
	(void)fclose(found);	/* it was only read */
}

static void damage(const char *path, off_t at, unsigned char bits)
{
	unsigned char byte;
	int fd = open(path, O_RDWR);

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(pread(fd, &byte, 1, at), 1);
	byte ^= bits;
	CU_ASSERT_EQUAL(pwrite(fd, &byte, 1, at), 1);
	(void)close(fd);
}

/* What the other tests rely on where they see none of these events. */
TEST(the_stub_tells_what_no_driver_may_see)
{
	static const char load[] = "driver=0 file=native format=1 quiet";

	module_run_plain(&plain, ONE, "STUB_CACHED=native");
	module_run_plain(&plain, load, "");
	CU_ASSERT_EQUAL(module_run_count(&plain, "load-native"), 1);
	CU_ASSERT_EQUAL(module_run_count(&plain, "corrupt-native") + module_run_count(&plain, "foreign-native"), 0);
	damage("native", 40, 1);
	module_run_plain_any(&plain, load, "");
	CU_ASSERT_EQUAL(module_run_count(&plain, "corrupt-native"), 1);
	damage("native", 40, 1);
	module_run_drivers(STUB2_DRIVER);
	module_run_plain(&plain, load, "");
	CU_ASSERT_EQUAL(module_run_count(&plain, "stub2 foreign-native"), 1);
}

/* Every seventh byte of both files, a bit each, and cuts: never a corrupt native, always the right answer. */
TEST(no_damage_reaches_the_driver)
{
	static const char *const endings[] = { ".bin", ".src" };
	char path[512];
	struct stat info;

	module_run_plain(&plain, ONE, "");
	module_run(&run, ONE, "");
	slot_run_shell("cp -a cache good");
	for (size_t i = 0; i < 2; i++) {
		entry_file(endings[i], path);
		CU_ASSERT_EQUAL_FATAL(stat(path, &info), 0);
		for (off_t at = 0; at < info.st_size; at += info.st_size / 60 + 1) {
			slot_run_shell("rm -rf cache; cp -a good cache");
			damage(path, at, (unsigned char)(1 << (at % 8)));
			expect_run_like_plain(ONE, "CKCACHE_LOG=none", 1, 0);
		}
		for (off_t len = 0; len < info.st_size; len += info.st_size / 10 + 1) {
			slot_run_shell("rm -rf cache; cp -a good cache");
			CU_ASSERT_EQUAL(truncate(path, len), 0);
			expect_run_like_plain(ONE, "CKCACHE_LOG=none", 1, 0);
		}
	}
	/* And what it wrote then is good. */
	expect_run(ONE, "", 0, 1);
}

/*
 * A driver that loads its compiler when it first compiles, under the name of
 * one that is known to: made of the stub by putting that name and its
 * compiler's into it, at the length that they have there.
 */
static void make_lazy_driver(void)
{
	slot_run_shell("mkdir -p lazy && for f in '" STUB_DRIVER "' '" STUB_COMPILER "' '" STUB_COMPILER2 "'; do sed "
		       "'s/libstub_compiler\\.so\\.1/libigc.so.1\\x00\\x00\\x00\\x00\\x00"
		       "\\x00\\x00\\x00\\x00\\x00/g' \"$f\" >lazy/$(basename $f); done; cd lazy && "
		       "mv $(basename '" STUB_DRIVER "') libze_intel_gpu.so.1 && "
		       "mv $(basename '" STUB_COMPILER "') libigc.so.1 && chmod 755 *");
}

TEST(a_compiler_that_is_loaded_late_is_in_the_key_before)
{
	char driver[512], variables[1024];

	make_lazy_driver();
	(void)snprintf(driver, sizeof(driver), "%s/lazy/libze_intel_gpu.so.1", unit_dir());
	(void)snprintf(variables, sizeof(variables), "STUB_LAZY_COMPILER=1 LD_LIBRARY_PATH='%s/lazy'", unit_dir());
	module_run_drivers(driver);
	module_run_plain(&plain, ONE, variables);
	CU_ASSERT_EQUAL(module_run_count(&plain, "compiler-load"), 1);
	expect_run(ONE, variables, 1, 0);
	CU_ASSERT_EQUAL(module_run_stat("bypass.compiler-loaded-late"), 0);
	expect_run_like_plain(ONE, variables, 0, 1);
	CU_ASSERT_EQUAL(module_run_count(&run, "compiler-load"), 0);
	/* Another module makes it come; the first one's key is still the same. */
	expect_run("driver=0 il=other create il=one log create", variables, 1, 1);
	/* An update of the compiler alone. */
	slot_run_shell("mv lazy/$(basename '" STUB_COMPILER2 "') lazy/libigc.so.1");
	expect_run(ONE, variables, 1, 0);
	expect_run(ONE, variables, 0, 1);
}

/* The stub under the name of a driver that has a row. */
static void use_known_driver(void)
{
	static char driver[512];	/* it is borrowed */

	slot_run_shell("mkdir -p known && cp '" STUB_DRIVER "' known/libze_intel_gpu.so.1 && "
		       "cp '" STUB_COMPILER "' known/libstub_compiler.so.1");
	(void)snprintf(driver, sizeof(driver), "%s/known/libze_intel_gpu.so.1", unit_dir());
	module_run_drivers(driver);
}

/* Where all drivers are known ones (here by name), what selects devices does not count, nor what others read. */
TEST(a_known_drivers_variables_are_its_own)
{
	static const char *const others[] = {
		"CUDA_VISIBLE_DEVICES=0", "INTEL_LICENSE_FILE=/x", "NVIDIA_REQUIRE_CUDA=1", "GPU_DEVICE_ORDINAL=0",
		"ZE_AFFINITY_MASK=0", "ZE_AFFINITY_MASK=0.0", "ZE_AFFINITY_MASK=", "ZE_FLAT_DEVICE_HIERARCHY=FLAT",
		"POCL_X=1",
	};
	static char both[1024];		/* it is borrowed */

	use_known_driver();
	expect_run(ONE, "", 1, 0);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		expect_run(ONE, others[i], 0, 1);
	expect_run(ONE, "IGC_EnableDPEmulation=1", 1, 0);
	/* Which of two drivers a handle is of is not known: what either reads counts. */
	(void)snprintf(both, sizeof(both), "%s/known/libze_intel_gpu.so.1," STUB2_DRIVER, unit_dir());
	module_run_drivers(both);
	expect_run(ONE, "", 1, 0);
	expect_run(ONE, "CUDA_VISIBLE_DEVICES=0", 1, 0);
}

TEST(a_temporary_files_name_is_not_in_a_known_drivers_key)
{
	static const char *const same[] = { "aaaaaa", "bbbbbb", "cccccc" };
	char arguments[256];

	use_known_driver();
	for (size_t i = 0; i < 3; i++) {
		(void)snprintf(arguments, sizeof(arguments), "driver=0 il=one named=/tmp/%s.cl log create", same[i]);
		expect_run(arguments, "", i == 0, i != 0);
		(void)snprintf(arguments, sizeof(arguments), "driver=0 il=one named=/tmp/%s.cl flags=-g log create", same[i]);
		expect_run(arguments, "", 1, 0);
		(void)snprintf(arguments, sizeof(arguments), "driver=0 il=one named=kernel_arg_type.%s log create", same[i]);
		expect_run(arguments, "", 1, 0);
	}
	/* A log that names it is of that module alone. */
	for (unsigned long i = 0; i < 2; i++) {
		expect_run("driver=0 il=one named=warning: flags=-Wstub log create", "", 1, 0);
		CU_ASSERT_EQUAL(module_run_stat("bypass.random-token"), i + 1);
	}
	module_run_drivers(STUB_DRIVER);
	for (size_t i = 0; i < 3; i++) {
		(void)snprintf(arguments, sizeof(arguments), "driver=0 il=one named=/tmp/%s.cl log create", same[i]);
		expect_run(arguments, "", 1, 0);
	}
}

TEST(a_settings_file_keeps_a_known_driver_from_the_cache)
{
	use_known_driver();
	module_run(&run, ONE, "");
	unit_write("igdrcl.config", "");
	expect_run(ONE, "", 1, 0);
	CU_ASSERT_EQUAL(module_run_stat("bypass.settings-file"), 1);
	CU_ASSERT_EQUAL(unlink("igdrcl.config"), 0);
	expect_run(ONE, "", 0, 1);
}

/* A context that nobody was seen to create (zerGetDefaultContext). */
TEST(a_module_in_the_default_context_is_cached)
{
	expect_hit("driver=0 default il=one log create create threads=4 fork", "", 8);
}

/* A driver that nobody knows, with a compiler that nobody could have foreseen. */
TEST(a_compiler_that_was_not_foreseen_is_not_cached_for)
{
	module_run(&run, "driver=0 il=one log create create", "STUB_LAZY_COMPILER=1");
	CU_ASSERT_EQUAL(module_run_count(&run, "compile"), 2);
	CU_ASSERT_EQUAL(module_run_stat("bypass.compiler-loaded-late"), 1);
	module_run_expect_clean(&run);
	/* The second one was stored under a key that has it, which nobody has before it came. */
	expect_run(ONE, "STUB_LAZY_COMPILER=1", 1, 0);
}

/* Drivers that loaders know by a list alone, without build-ids: path, size and time tell them apart. */
TEST(listed_drivers_are_in_the_key)
{
	static const char *const names[] = { "first", "second" };
	static char drivers[1100];	/* it is borrowed */

	slot_run_shell("mkdir odd && objcopy -R .note.gnu.build-id '" STUB_DRIVER "' odd/first.so && "
		       "objcopy -R .note.gnu.build-id '" STUB2_DRIVER "' odd/second.so && "
		       "cp '" STUB_COMPILER "' odd/libstub_compiler.so.1");
	(void)snprintf(drivers, sizeof(drivers), "%s/odd/first.so,%s/odd/second.so", unit_dir(), unit_dir());
	module_run_drivers(drivers);
	expect_hit(ONE, "", 1);
	for (size_t i = 0; i < 2; i++) {
		/* A copy has other times. */
		slot_run_shell("touch -d '2001-02-03 04:05:06.%zu' odd/%s.so", i + 1, names[i]);
		expect_run(ONE, "", 0, 1);
		slot_run_shell("printf x >>odd/%s.so && touch -d '2001-02-03 04:05:06.%zu' odd/%s.so",
			       names[i], i + 1, names[i]);
		expect_run(ONE, "", 1, 0);
		expect_run(ONE, "", 0, 1);
	}
}

TEST(a_device_that_tells_nothing_is_not_cached_for)
{
	/* Loaders since 1.20 or so ask it themselves, and leave its driver out. */
	module_run_plain_any(&plain, ONE, "STUB_SILENT=1");
	if (plain.client.status)
		return (void)printf("the loader leaves it out; ");
	for (int i = 0; i < 2; i++)
		expect_run(ONE, "STUB_SILENT=1", 1, 0);
	CU_ASSERT_EQUAL(module_run_stat("bypass.device-unidentified"), 2);
}

/* What the compiler looks for beside its input, with a driver that is known and one that is not. */
TEST(files_of_the_compiler_count)
{
	for (int known = 0; known < 2; known++) {
		if (known)
			use_known_driver();
		slot_run_shell("rm -rf cache stub.options");
		module_run(&run, ONE, "");
		expect_run(ONE, "", 0, 1);
		unit_write("stub.options", "one\n");
		expect_run(ONE, "", 1, 0);
		unit_write("stub.options", "two\n");
		expect_run(ONE, "", 1, 0);
		module_run_plain(&plain, ONE, "");
		expect_run_like_plain(ONE, "", 0, 1);
		slot_run_shell("rm stub.options");
		expect_like_plain(ONE, "");
	}
}

/* What came from there without the compiler is good for as long as it is there. */
/* It had the module already: nothing is kept, but a recipe for ckcache replay. */
TEST(nothing_depends_on_the_drivers_own_cache)
{
	static const char cached[] = "STUB_CACHED=l0_cache/0123456789abcdef.l0_cache";

	use_known_driver();
	slot_run_shell("mkdir l0_cache");
	module_run_plain(&plain, ONE, cached);
	for (unsigned int i = 0; i < 2; i++) {
		expect_run(ONE, cached, 0, 0);
		CU_ASSERT_EQUAL(module_run_count(&run, "cached"), 1);
		expect_same_output(plain.client.output);
	}
	CU_ASSERT_EQUAL(module_run_stat("deferred"), 2);
	slot_run_shell("rm l0_cache/*");
	expect_run(ONE, cached, 1, 0);
	/* What was compiled does not depend on it. */
	slot_run_shell("rm l0_cache/*");
	expect_run(ONE, cached, 0, 1);
}

/* Both of them: the loader's functions stand between, which tell nothing of whose a device is. */
TEST(files_of_both_compilers_count)
{
	static const char both[] = "driver=0 il=one log create driver=1 create";

	module_run_drivers(BOTH);
	module_run(&run, both, "");
	unit_write("stub.options", "one\n");
	module_run(&run, both, "");
	CU_ASSERT_EQUAL(module_run_count(&run, "compile"), 1);
	CU_ASSERT_EQUAL(module_run_count(&run, "stub2 compile"), 1);
	module_run(&run, both, "");
	CU_ASSERT_EQUAL(module_run_count(&run, "compile"), 0);
	CU_ASSERT_EQUAL(module_run_count(&run, "stub2 compile"), 0);
}

TEST(what_cannot_be_seen_is_not_kept)
{
	static const struct {
		const char *variables, *statistic;
	} rows[] = {
		{ "STUB_FORKS=1", "bypass.other-process" },
		{ "CKCACHE_OBSERVE=0", "bypass.observer-off" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (unsigned long j = 1; j <= 2; j++) {
			expect_run(ONE, rows[i].variables, 1, 0);
			CU_ASSERT_EQUAL(module_run_stat(rows[i].statistic), j);
		}
	}
	CU_ASSERT_EQUAL(module_run_stat("stores"), 0);
}

/* Also one that comes with a module that is not cached for. */
TEST(a_compiler_that_came_with_another_module_is_in_the_key)
{
	static const char after[] = "driver=0 file=garbage quiet il=one create";
	static char driver[512];	/* it is borrowed */
	char variables[1024];

	slot_run_shell("mkdir other && cp '" STUB_DRIVER "' other/libze_other.so && "
		       "cp '" STUB_COMPILER "' other/libstub_compiler.so.1");
	(void)snprintf(driver, sizeof(driver), "%s/other/libze_other.so", unit_dir());
	(void)snprintf(variables, sizeof(variables), "STUB_LAZY_COMPILER=1 LD_LIBRARY_PATH='%s/other'", unit_dir());
	module_run_drivers(driver);
	unit_write("garbage", "this is no SPIR-V");
	module_run(&run, after, variables);
	module_run(&run, after, variables);
	CU_ASSERT_EQUAL(module_run_stat("hits_disk"), 1);
	slot_run_shell("cp '" STUB_COMPILER2 "' other/libstub_compiler.so.1");
	module_run(&run, after, variables);
	CU_ASSERT_EQUAL(module_run_stat("hits_disk"), 1);
}
