/* SPDX-License-Identifier: MIT */
/*
 * stale: after an update of a Level Zero driver `ckcache replay --stale` builds
 * again a corpus of modules, of one input and several, with flags and constants:
 * the application then compiles nothing.
 */
#include <glob.h>
#include <sched.h>

#include "common/clock.h"
#include "tests/level_zero/module_run.h"
#include "tests/support/unit.h"
#include "tests/support/updated.h"

enum { SKIPPED = 77 };

#define ONE_INPUT                                                                   \
	" il=one quiet flags=-ze-opt-disable quiet flags=-ze-opt-level=1 quiet flags" \
	" il=plain quiet il=other quiet il=twice quiet il=thrice quiet il=fp64 quiet" \
	" il=spilling quiet il=precise quiet il=constants quiet"
#define CONSTANTS                                                                   \
	" constant=32:4:7 quiet constant=64:8:1099511627776 quiet constant=8:1:1 quiet" \
	" constants il=one"
#define SEVERAL_INPUTS                                                           \
	" inputs=one quiet inputs=one,twice quiet inputs=twice,one quiet"         \
	" flags=-ze-opt-disable inputs=one,other quiet flags"                      \
	" inputs=one:-ze-opt-disable,twice quiet inputs=one,twice:-ze-opt-level=1 quiet" \
	" constant=32:4:9 inputs=constants*,one quiet inputs=constants* quiet constants"
#define CORPUS "driver=0 log" ONE_INPUT CONSTANTS SEVERAL_INPUTS

static struct module_run run;
static char real_driver[4096];	/* "": the stub */

/* The driver is another build from now on, in its old place. */
static void update(unsigned char version)
{
	static char path[8192];
	const char *from = *real_driver ? real_driver : STUB_DRIVER;

	slot_run_shell("mkdir -p drivers && ln -sf '" STUB_COMPILER "' drivers/libstub_compiler.so.1");
	(void)snprintf(path, sizeof(path), "%s/drivers/%s", unit_dir(), strrchr(from, '/') + 1);
	updated_library(from, path, version);
	module_run_drivers(path);
}

BEFORE_EACH
{
	update(1);
}

/* What the command says, in one line; the exit code is 0. */
static const char *replay_in(const char *variables)
{
	module_run_script(&run, "\"" CKCACHE "\" replay --stale --json --jobs 1 2>&1 | tr -d \"\\n \"",
			  variables);
	return run.client.output;
}

static bool has(const char *text)
{
	bool found = strstr(run.client.output, text) != NULL;

	if (!found)
		(void)fprintf(stderr, "no %s in: %s%s\n", text, run.client.output, run.client.errors);
	return found;
}

static bool has_count(const char *name, unsigned long count)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "\"%s\":%lu,", name, count);
	return has(text);
}

TEST(corpus_is_built_again_after_an_update)
{
	unsigned long stored, refused, hits;

	module_run(&run, CORPUS, "");
	stored = module_run_stat("stores");
	CU_ASSERT(stored >= 15);
	/* The driver does not build all of them. */
	refused = module_run_stat("misses") - stored;
	hits = module_run_stat("hits_disk");
	update(2);
	(void)replay_in("");
	CU_ASSERT(has_count("stale", stored));
	CU_ASSERT(has_count("built", stored));
	CU_ASSERT(has_count("failed", 0));
	CU_ASSERT(has_count("removed", stored));
	module_run(&run, CORPUS, "");
	/* What the replay compiled is counted apart. */
	CU_ASSERT_EQUAL(module_run_stat("misses"), stored + 2 * refused);
	CU_ASSERT_EQUAL(module_run_stat("unattended"), stored);
	CU_ASSERT_EQUAL(module_run_stat("stores"), 2 * stored);
	CU_ASSERT_EQUAL(module_run_stat("hits_disk"), hits + stored);
	if (!*real_driver)
		CU_ASSERT_EQUAL(module_run_count(&run, "compile"), (unsigned int)refused);
	(void)replay_in("");
	CU_ASSERT(has_count("stale", 0));
	CU_ASSERT(has_count("built", 0));
}

TEST_ON("stub", modules_of_another_device_are_left)
{
	module_run(&run, "driver=0 il=one quiet", "");
	module_run_drivers(STUB2_DRIVER);
	(void)replay_in("");
	CU_ASSERT(has_count("stale", 0));
	CU_ASSERT(has_count("left_device", 1));
	CU_ASSERT(has_count("removed", 0));
}

TEST_ON("stub", two_drivers_keep_what_each_has)
{
	char both[8192 + sizeof(STUB2_DRIVER)];

	(void)snprintf(both, sizeof(both), "%s/drivers/%s,%s", unit_dir(),
		       strrchr(STUB_DRIVER, '/') + 1, STUB2_DRIVER);
	module_run_drivers(both);
	module_run(&run, "driver=0 il=one quiet driver=1 il=one quiet", "");
	CU_ASSERT_EQUAL(module_run_stat("stores"), 2);
	(void)replay_in("");
	CU_ASSERT(has_count("stale", 0));
	/* Keys have all drivers that were loaded: an update of one is one for both. */
	update(2);
	module_run_drivers(both);
	(void)replay_in("");
	CU_ASSERT(has_count("stale", 2));
	CU_ASSERT(has_count("built", 2));
	module_run(&run, "driver=0 il=one quiet driver=1 il=one quiet", "");
	module_run_expect(&run, 0, 1);
}

/* Since a known driver had it in its own cache. Of these two the driver is there as it was then. */
TEST_ON("stub", what_was_left_is_built_by_its_driver_for_its_sub_device)
{
	static const char *const then[] = {
		"STUB_CACHED=l0_cache/0123456789abcdef.l0_cache",
		"STUB_EPOCH=other STUB_CACHED=l0_cache/fedcba9876543210.l0_cache",
	};
	static char known[8192];

	slot_run_shell("mkdir l0_cache && mv drivers/libze* drivers/libze_intel_gpu.so.1");
	(void)snprintf(known, sizeof(known), "%s/drivers/libze_intel_gpu.so.1", unit_dir());
	module_run_drivers(known);
	for (size_t i = 0; i < 2; i++) {
		module_run_plain(&run, "driver=0 device=0.1 il=one quiet", then[i]);
		module_run(&run, "driver=0 device=0.1 il=one quiet", then[i]);
	}
	CU_ASSERT_EQUAL(module_run_stat("deferred"), 2);
	module_run_script(&run, "\"" CKCACHE "\" replay --json 2>&1 | tr -d \"\\n \"", "");
	CU_ASSERT(has_count("built", 1));
	CU_ASSERT(has_count("absent", 1));
	module_run(&run, "driver=0 device=0.1 il=one quiet", "");
	CU_ASSERT_EQUAL(module_run_count(&run, "compile"), 0);
}

TEST_ON("stub", environment_of_the_key_is_restored)
{
	module_run(&run, "driver=0 il=one quiet", "IGC_Example=5");
	update(2);
	(void)replay_in("");
	module_run(&run, "driver=0 il=one quiet", "IGC_Example=5");
	CU_ASSERT_EQUAL(module_run_count(&run, "compile"), 0);
}

int main(int argc, char **argv)
{
	glob_t found;

	if (argc > 1) {
		slot_run_product(argv[1]);
		module_run_drivers(NULL);
		if (!slot_run_has_driver("'" MODULE_CLIENT "' driver=0") ||
		    glob("/usr/lib/*/libze_intel_gpu.so.1", 0, NULL, &found)) {
			puts("SKIPPED: no Level Zero driver");
			return SKIPPED;
		}
		(void)snprintf(real_driver, sizeof(real_driver), "%s", found.gl_pathv[0]);
		globfree(&found);
	}
	return unit_run(argc > 1 ? "intel" : "stub");
}
