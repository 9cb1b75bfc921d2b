/* SPDX-License-Identifier: MIT */
/*
 * layers: calls of a layer that fail, in whole programs on the stub drivers.
 * The program prints what it does without the layer, the next one too, and for
 * the one after that nothing is compiled. The argument names the layer.
 */
#include "tests/fault/layer_run.h"
#include "tests/support/unit.h"

static const struct layer opencl = {
	.objects = "libckcache_opencl.so,libdeflate.so",
	.program = OPENCL_CLIENT,
	.variables = { "HOME=home", "OCL_ICD_VENDORS=vendors", "STUB_COUNTS=counts",
		       "STUB_SETTINGS=settings" },
	.own = { "OPENCL_LAYERS=" OPENCL_LAYER, "CKCACHE_DIR=cache", "CKCACHE_READ_ONLY_DIRS=" },
	.compiled = "build-source",
};

static const struct layer level_zero = {
	.objects = "libckcache.so,libckcache_level_zero.so,libckcache_preload.so,libze_validation_layer.so,"
		   "libdeflate.so",
	.preloaded = LEVEL_ZERO_SHIM,
	.program = LEVEL_ZERO_CLIENT,
	.variables = { "HOME=home", "ZE_ENABLE_ALT_DRIVERS=" LEVEL_ZERO_STUB, "STUB_COUNTS=counts",
		       "STUB_SETTINGS=settings" },
	.own = { "ZE_ENABLE_LAYERS=ckcache", "CKCACHE_DIR=cache", "CKCACHE_READ_ONLY_DIRS=" },
	.compiled = "compile",
};

static const struct layer *layer;

/* What is the plainest is always tried whole, the rest where time is given. */
static void sweep(const struct layer_case *one, bool whole)
{
	enum sweep_plan plan = whole || sweep_is_full() ? SWEEP_ALL : SWEEP_SITES;
	const char *wrong = layer_run_prepare(layer, one);
	struct fault_task *tasks;
	size_t count;

	if (wrong)
		(void)fprintf(stderr, "\n    %s: %s\n", one->name, wrong);
	CU_ASSERT_FATAL(wrong == NULL);
	count = sweep_make_plan(layer_run_counted(), plan, &tasks);
	(void)printf("%zu runs ... ", count);
	CU_ASSERT(count > 50);
	CU_ASSERT_EQUAL(sweep_run(one->name, tasks, count, layer_run_try, NULL), 0);
	sweep_count(atomic_load(&layer_run_counted()->count), count);
	free(tasks);
}

#define SWEEP(api, function, whole, is_warm, is_failing, ...)				\
	TEST_ON(#api, function)								\
	{										\
		sweep(&(struct layer_case){ .name = #function, .warm = is_warm,	\
					    .fails = is_failing, .arguments = { __VA_ARGS__ } }, whole);	\
	}

SWEEP(opencl, opencl_first_build, true, false, false, "-n", "vector")
SWEEP(opencl, opencl_second_build, true, true, false, "-n", "vector")
SWEEP(opencl, opencl_queries, false, true, false, "-n", "queries")
SWEEP(opencl, opencl_failing_build, false, false, true, "-n", "failing")
SWEEP(opencl, opencl_first_link, false, false, false, "-n", "link")
SWEEP(opencl, opencl_second_link, false, true, false, "-n", "link")
SWEEP(opencl, opencl_binaries, false, true, false, "-n", "binary")
SWEEP(opencl, opencl_callback, false, false, false, "-n", "callback")
SWEEP(opencl, opencl_callback_again, false, true, false, "-n", "callback")
SWEEP(opencl, opencl_live_kernels, false, true, false, "-n", "live-kernels")
SWEEP(opencl, opencl_rebuild, false, true, false, "-n", "rebuild")
SWEEP(opencl, opencl_compile_built, false, false, false, "-n", "compile-built")
SWEEP(opencl, opencl_many_threads, false, true, false, "-n", "threads", "4", "2")
SWEEP(level_zero, level_zero_first_module, true, false, false, "driver=0", "il=one", "log", "create")
SWEEP(level_zero, level_zero_second_module, true, true, false, "driver=0", "il=one", "log", "create")
SWEEP(level_zero, level_zero_constants, false, false, false, "driver=0", "il=constants", "constant=32:4:7", "create",
      "create")
SWEEP(level_zero, level_zero_inputs, false, true, false, "driver=0", "inputs=one,twice", "log", "create")
SWEEP(level_zero, level_zero_many_threads, false, true, false, "driver=0", "il=one", "threads=8")

int main(int argc, char **argv)
{
	bool is_opencl = argc > 1 && !strcmp(argv[1], "opencl");
	int result;

	/* Memory, where there is some: nothing here needs a disk. */
	if (access("/dev/shm", W_OK) == 0)
		(void)setenv("TMPDIR", "/dev/shm", 0);
	layer = is_opencl ? &opencl : &level_zero;
	result = unit_run(is_opencl ? "opencl" : "level_zero");
	sweep_print(is_opencl ? "fault.opencl" : "fault.level_zero");
	return result;
}
