/* SPDX-License-Identifier: MIT */
/* drivers: the plugin on the real driver, alone and beside another, with the other layers that a loader may have, and beside OpenCL. */
#include "tests/level_zero/intel.h"
#include "tests/level_zero/module_run.h"
#include "tests/support/unit.h"

enum { SKIPPED = 77 };

#define ALL "driver=0 il=plain log create flags=-ze-opt-disable create il=one flags create"

static struct module_run run, plain;

/*
 * The same was printed, but for the hashes of natives: some bytes of which
 * differ from one compilation to the next.
 */
static void expect_like(const char *expected)
{
	const char *got = run.client.output, *wanted = expected;

	while (*got && *got == *wanted) {
		bool native = !strncmp(got, " native ", 8);

		got++;
		wanted++;
		if (native) {
			got += 7;
			wanted += 7;
			got += strspn(got, "0123456789abcdef");
			wanted += strspn(wanted, "0123456789abcdef");
		}
	}
	CU_ASSERT_EQUAL(*got, *wanted);
	CU_ASSERT_STRING_EQUAL(run.client.errors, plain.client.errors);
	if (*got != *wanted)
		(void)fprintf(stderr, "expected:\n%sgot:\n%s%s", expected, run.client.output,
			      run.client.errors);
}

/* Plain, cold and warm print the same, and so many modules hit the second time. */
static void expect_hits(const char *arguments, const char *variables, unsigned int modules)
{
	static char cold[SLOT_RUN_MAX];
	unsigned long hits;

	module_run_plain(&plain, arguments, variables);
	module_run(&run, arguments, variables);
	expect_like(plain.client.output);
	(void)strcpy(cold, run.client.output);
	hits = module_run_stat("hits_disk") + module_run_stat("hits_memory");
	module_run(&run, arguments, variables);
	/* Made of the very natives of the cold run. */
	CU_ASSERT_STRING_EQUAL(run.client.output, cold);
	CU_ASSERT_EQUAL(module_run_stat("hits_disk") + module_run_stat("hits_memory") - hits,
			modules);
	CU_ASSERT_EQUAL(module_run_stat("errors"), 0);
}

TEST(a_second_process_compiles_nothing)
{
	expect_hits(ALL, "", 3);
	CU_ASSERT_EQUAL(module_run_stat("misses"), 3);
	CU_ASSERT_EQUAL(module_run_stat("stores"), 3);
}

TEST(the_loaders_other_layers_do_no_harm)
{
	static const char *const variables[] = {
		"ZE_ENABLE_VALIDATION_LAYER=1 ZE_ENABLE_PARAMETER_VALIDATION=1 "
		"ZE_ENABLE_HANDLE_LIFETIME=1 ZE_ENABLE_THREADING_VALIDATION=1",
		"ZE_ENABLE_TRACING_LAYER=1",
		"ZE_ENABLE_LOADER_INTERCEPT=1",
		"ZE_ENABLE_LOADER_INTERCEPT=1 ZE_ENABLE_TRACING_LAYER=1 "
		"ZE_ENABLE_VALIDATION_LAYER=1 ZE_ENABLE_PARAMETER_VALIDATION=1",
	};

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		slot_run_shell("rm -rf cache");
		expect_hits("driver=0 il=one log create", variables[i], 1);
	}
	/* A layer's presence is no part of what is compiled. */
	module_run(&run, "driver=0 il=one log create", "");
	CU_ASSERT_EQUAL(module_run_stat("misses"), 1);
}

/* It is outermost: what it refuses, the plugin never sees. */
TEST(errors_of_the_validation_layer_come_through)
{
	static const char variables[] = "ZE_ENABLE_VALIDATION_LAYER=1 "
					"ZE_ENABLE_PARAMETER_VALIDATION=1";

	/* Without an input. */
	module_run_plain(&plain, "driver=0 quiet", variables);
	CU_ASSERT_STRING_EQUAL(plain.client.output, "create 0x78000007\n");
	module_run(&run, "driver=0 quiet il=one create", variables);
	CU_ASSERT_EQUAL(strncmp(run.client.output, plain.client.output,
				strlen(plain.client.output)), 0);
	CU_ASSERT_EQUAL(module_run_stat("misses"), 1);
	CU_ASSERT_EQUAL(module_run_stat("bypass.not-spirv"), 0);
}

/* With two drivers handles are the loader's, and each call goes through it. */
TEST(beside_another_driver_it_is_cached_too)
{
	static const char *const lists[] = { "libze_intel_gpu.so.1," STUB_DRIVER,
					     STUB_DRIVER ",libze_intel_gpu.so.1" };

	for (size_t i = 0; i < 2; i++) {
		slot_run_shell("rm -rf cache");
		module_run_drivers(lists[i]);
		expect_hits("driver=0 il=one log create driver=1 create", "", 2);
		module_run_expect_clean(&run);
	}
	module_run_drivers(NULL);
}

TEST(threads_share_one_compilation)
{
	module_run(&run, "driver=0 il=plain log threads=8", "");
	CU_ASSERT_EQUAL(module_run_stat("misses"), 1);
	CU_ASSERT_EQUAL(module_run_stat("hits_memory"), 7);
	CU_ASSERT_EQUAL(module_run_stat("stores"), 1);
}

TEST(initialising_twice_or_never_is_fine)
{
	module_run(&run, "driver=0 driver=0 il=one log create", "");
	module_run(&run, "", "");
	CU_ASSERT_STRING_EQUAL(run.client.output, "");
	module_run(&run, "driver=0 ex il=one log create driver=0 create", "");
	CU_ASSERT_EQUAL(module_run_stat("misses"), 1);
}

/* A driver that is given a corrupt native aborts, hangs, or computes something else. */
TEST(no_damage_reaches_the_driver)
{
	char path[512];
	struct stat info;
	FILE *found;
	int fd;

	module_run_plain(&plain, "driver=0 il=one log create", "");
	module_run(&run, "driver=0 il=one log create", "");
	slot_run_shell("find cache -name '*.bin' >found; cp -a cache good");
	found = fopen("found", "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(found);
	CU_ASSERT_PTR_NOT_NULL(fgets(path, sizeof(path), found));
	(void)fclose(found);	/* it was only read */
	path[strcspn(path, "\n")] = '\0';
	CU_ASSERT_EQUAL_FATAL(stat(path, &info), 0);
	for (off_t at = 90; at < info.st_size; at += info.st_size / 24 + 1) {
		unsigned char byte;

		slot_run_shell("rm -rf cache; cp -a good cache");
		fd = open(path, O_RDWR);
		CU_ASSERT_FATAL(fd >= 0);
		CU_ASSERT_EQUAL(pread(fd, &byte, 1, at), 1);
		byte ^= (unsigned char)(1 << (at % 8));
		CU_ASSERT_EQUAL(pwrite(fd, &byte, 1, at), 1);
		(void)close(fd);
		module_run(&run, "driver=0 il=one log create", "CKCACHE_LOG=none");
		expect_like(plain.client.output);
		CU_ASSERT_EQUAL(module_run_stat("misses"), 2);
	}
}

/* One directory for both, and one list. */
TEST(opencl_and_level_zero_share_the_cache)
{
	module_run(&run, "driver=0 il=one log create", "");
	slot_run_shell("mkdir vendors && echo '" OPENCL_STUB "' >vendors/stub.icd && "
		       "env -i PATH=\"$PATH\" HOME='%s' CKCACHE_DIR='%s/cache' "
		       "CKCACHE_READ_ONLY_DIRS= OCL_ICD_VENDORS='%s/vendors' '" CKCACHE
		       "' run -- '" OPENCL_CLIENT "' -n queries >opencl 2>&1", unit_dir(),
		       unit_dir(), unit_dir());
	slot_run_shell("'" CKCACHE "' list --dir cache >list && "
		       "'" CKCACHE "' verify --dir cache >verified");
	slot_run_shell("grep -q 'kernel one' list && grep -q -i stub list && "
		       "grep -q 'Intel' list && test $(wc -l <list) -gt 2");
	/* And both are found again. */
	module_run(&run, "driver=0 il=one log create", "");
	CU_ASSERT_EQUAL(module_run_stat("hits_disk"), 1);
}

/* The whole of what a user does: ckcache run. */
TEST(run_enables_both_layers)
{
	module_run_plain(&plain, "driver=0 il=one log create", "");
	for (int i = 0; i < 2; i++)
		slot_run_shell("env -i PATH=\"$PATH\" HOME='%s' " INTEL_WITHOUT_HARDWARE "tgllp "
			       "CKCACHE_DIR='%s/cache' CKCACHE_READ_ONLY_DIRS= '" CKCACHE
			       "' run -- '" MODULE_CLIENT "' driver=0 il=one log create >output",
			       unit_dir(), unit_dir());
	CU_ASSERT_EQUAL(module_run_stat("hits_disk"), 1);
	/* Its own list first; what the command starts sees no more than that. */
	slot_run_shell("env -i PATH=\"$PATH\" HOME='%s' ZE_ENABLE_LAYERS=other '" CKCACHE
		       "' run -- sh -c 'test \"$ZE_ENABLE_LAYERS\" = other,ckcache && "
		       "test -z \"$ZE_ENABLE_VALIDATION_LAYER\"'", unit_dir());
}

/* With the compiler's own settings, in a place of this process's alone. */
static void run_with_settings(const char *settings)
{
	char script[1024];

	(void)snprintf(script, sizeof(script),
		       "mount -t tmpfs none /tmp/IntelIGC && mkdir /tmp/IntelIGC/debugFlags || exit; %s "
		       "exec \"$0\" driver=0 il=one log create", settings);
	unit_write("script", script);
	module_run_script(&run, "exec unshare -rm sh -c \"$(cat script)\" \"$0\"", "");
}

#define OPTIONS "/tmp/IntelIGC/debugFlags/Options.txt"

/* IGC 1 reads it at the first module; with it nothing is cached. */
TEST(settings_of_the_compiler_count)
{
	static const char *const rows[] = {
		"", "echo ShaderDumpEnable=0 >" OPTIONS ";", "echo EnableDivergentBarrierCheck=0 >" OPTIONS ";", "",
	};
	unsigned long hits = 0, bypasses = 0;

	if (system("unshare -rm true 2>errors") != 0)
		return;		/* nobody else's compilations are to see the file */
	/* It stays: another run of this may be using it, and an empty one says nothing. */
	slot_run_shell("mkdir -p /tmp/IntelIGC");
	run_with_settings("");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		run_with_settings(rows[i]);
		hits += !rows[i][0];
		bypasses += rows[i][0] != '\0';
		CU_ASSERT_EQUAL(module_run_stat("hits_disk"), hits);
		CU_ASSERT_EQUAL(module_run_stat("bypass.settings-file"), bypasses);
	}
	CU_ASSERT_EQUAL(module_run_stat("misses"), 1);
}

/* What came from there without the compiler is good for as long as it is there. */
TEST(nothing_depends_on_the_drivers_own_cache)
{
	static const char module[] = "driver=0 il=one log create";

	slot_run_shell("mkdir l0_cache");
	module_run_plain(&plain, module, "");
	if (system("test -n \"$(ls l0_cache)\"") != 0)
		return;		/* later versions have it elsewhere */
	/* What it has is not kept; it is left to ckcache replay. */
	module_run(&run, module, "");
	CU_ASSERT_EQUAL(module_run_stat("deferred"), 1);
	CU_ASSERT_EQUAL(module_run_stat("stores"), 0);
	slot_run_shell("rm l0_cache/*");
	module_run(&run, module, "");
	CU_ASSERT_EQUAL(module_run_stat("stores"), 1);
	/* What was compiled does not depend on it. */
	slot_run_shell("rm -r l0_cache");
	module_run(&run, module, "");
	CU_ASSERT_EQUAL(module_run_stat("hits_disk"), 1);
	slot_run_shell("mkdir l0_cache");
	module_run(&run, module, "");
	CU_ASSERT_EQUAL(module_run_stat("hits_disk"), 2);
}

/* Both layers watch one compiler, which has each of its slots once. */
TEST(both_layers_see_what_their_builds_read)
{
	static const char *const orders[] = {
		"opencl driver=0 il=one log create", "driver=0 il=one log create opencl",
	};
	char variables[1024];

	if (system("ls /usr/lib/*/intel-opencl/libigdrcl.so >driver.icd 2>errors") != 0)
		return;
	slot_run_shell("mkdir icds && mv driver.icd icds");
	(void)snprintf(variables, sizeof(variables),
		       "OCL_ICD_VENDORS='%s/icds' OPENCL_LAYERS='" OPENCL_LAYER "'", unit_dir());
	for (size_t i = 0; i < 2; i++) {
		slot_run_shell("rm -rf cache");
		module_run(&run, orders[i], variables);
		CU_ASSERT_PTR_NOT_NULL(strstr(run.client.output, "opencl 0\n"));
		CU_ASSERT_EQUAL(module_run_stat("stores"), 2);
		module_run(&run, orders[i], variables);
		CU_ASSERT_EQUAL(module_run_stat("hits_disk"), 2);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1)
		slot_run_product(argv[1]);
	if (!slot_run_has_driver("'" MODULE_CLIENT "' driver=0")) {
		puts("SKIPPED: no Level Zero driver");
		return SKIPPED;
	}
	module_run_drivers(NULL);
	return unit_run(NULL);
}
