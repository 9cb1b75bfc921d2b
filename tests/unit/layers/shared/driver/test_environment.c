/* SPDX-License-Identifier: MIT */
/* environment: which variables make a build another build, and when none may be cached. */
#include <sys/mman.h>

#include "layers/shared/driver/environment.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

#define NEO "libigdrcl.so"
#define RUSTICL "libRusticlOpenCL.so.1"
#define ZE_INTEL "libze_intel_gpu.so.1"
#define UNKNOWN "libother.so"
#define OPTIONS_FILE "/tmp/IntelIGC/debugFlags/Options.txt"

/* The linker leads access here: one file of the system's is there where a test wants it. */
static const char *there;

WRAPPED(int, access, (const char *path, int mode))
{
	if (path[0] == '/')
		return there && strcmp(path, there) == 0 ? 0 : -1;
	return __real_access(path, mode);
}

static bool counts(const char *driver, const char *name, bool debug_keys)
{
	return drv_environment_counts(drv_driver_of(driver), name, strlen(name), debug_keys);
}

/* The state is the process's: what begins runs in a child of its own. */
static bool in_child(bool (*run)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(run() ? 0 : 1);
	return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

/* NULL: the fields were added, to *key where it is not NULL; or the reason. */
static const char *look(const char *driver, struct cc_key *key)
{
	const char *reason;
	struct cc_key own;

	cc_key_init(&own);
	reason = drv_environment_add(drv_driver_of(driver), key ? key : &own);
	cc_key_release(&own);
	return reason;
}

static bool is_reason(const char *driver, const char *wanted)
{
	const char *reason = look(driver, NULL);

	return reason && strcmp(reason, wanted) == 0 && !drv_environment_holds(drv_driver_of(driver));
}

static bool is_cached(const char *driver)
{
	return !look(driver, NULL) && drv_environment_holds(drv_driver_of(driver));
}

/* Whether NEO's keys have exactly these two fields of such an environment. */
static bool has_fields(char **variables, const char *const fields[2][2])
{
	struct cc_key key, wanted;
	bool equal;

	environ = variables;
	cc_key_init(&key);
	cc_key_init(&wanted);
	for (size_t i = 0; i < 2; i++)
		cc_key_add_text(&wanted, CC_PART_OPTIONS, fields[i][0], fields[i][1]);
	equal = !look(NEO, &key) && cmn_view_equal(cc_key_view(&key), cc_key_view(&wanted));
	cc_key_release(&key);
	cc_key_release(&wanted);
	return equal;
}

static bool has_both_fields(char **variables)
{
	static const char *const fields[2][2] = { { "env.IGC_A", "1" }, { "env.IGC_B", "2" } };

	return has_fields(variables, fields);
}

/* What a thread of the application gave back while it stood in the environment. */
static bool is_cached_again_when_a_text_is_back(void)
{
	char *gone = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static char first[] = "IGC_A=1", second[] = "X=2";
	static char *whole[] = { first, second, NULL };
	static char *torn[] = { first, NULL, NULL };
	bool was;

	if (gone == MAP_FAILED || munmap(gone, 4096))
		return false;
	environ = whole;
	drv_environment_begin();
	torn[1] = gone;
	environ = torn;
	was = is_reason(NEO, "environment-changed");
	environ = whole;
	return was && is_cached(NEO);
}

static bool is_known_to_who_asks_first(void)
{
	return setenv("IGC_X", "1", 1) == 0 && drv_environment_at_begin("IGC_X");
}

TEST(who_asks_first_begins)
{
	CU_ASSERT(in_child(is_known_to_who_asks_first));
}

TEST(an_environment_that_cannot_be_read_is_a_miss)
{
	CU_ASSERT(in_child(is_cached_again_when_a_text_is_back));
}

TEST(each_drivers_own_variables_count)
{
	static const char *const names[][2] = {
		{ NEO, "IGC_EnableOption" }, { NEO, "NEO_FP64_EMULATION" }, { NEO, "SOURCE_DATE_EPOCH" },
		{ "libze_intel_gpu.so.1", "IGC_EnableOption" }, { "libpocl.so.2", "POCL_AFFINITY" },
		{ RUSTICL, "LP_NATIVE_VECTOR_WIDTH" }, { RUSTICL, "CPATH" }, { RUSTICL, "INTEL_DEBUG" },
		{ "libnvidia-opencl.so.1", "CUDA_FORCE_PTX_JIT" },
		{ "libnvidia-opencl.so.1", "NV_OPENCL_DISABLE_UVM" }, { "libamdocl64.so", "AMD_OCL_BUILD_OPTIONS" },
		{ "liboclgrind-rt-icd.so", "OCLGRIND_BUILD_OPTIONS" }, { NEO, "VC_X" }, { ZE_INTEL, "CM_FE_X" },
		{ RUSTICL, "NIR_DEBUG" }, { "libpocl.so.2", "CUDA_X" }, { "libpocl.so.2", "IGC_X" },
		{ "libnvidia-opencl.so.1", "LLVM_X" }, { "libamdocl64.so", "CPATH" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		CU_ASSERT(counts(names[i][0], names[i][1], false));
		CU_ASSERT(counts(UNKNOWN, names[i][1], false));
	}
	CU_ASSERT(!counts(NEO, "LP_NATIVE_VECTOR_WIDTH", false));
	CU_ASSERT(!counts(RUSTICL, "IGC_EnableOption", false));
}

/* What selects devices matters by the devices, for drivers whose devices are known to say what they are. */
TEST(what_selects_devices_does_not_count)
{
	static const char *const names[] = {
		"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "GPU_DEVICE_ORDINAL", "HIP_VISIBLE_DEVICES",
		"ROCR_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_REQUIRE_CUDA", "INTEL_LICENSE_FILE",
		"CUDA_VERSION", "CUDA_HOME", "CUDA_MPS_PIPE_DIRECTORY",
		"ONEAPI_DEVICE_SELECTOR", "ZE_AFFINITY_MASK", "ZE_FLAT_DEVICE_HIERARCHY",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		for (size_t j = 0; j < DRV_DRIVERS - 1; j++)
			CU_ASSERT(!drv_environment_counts(&drv_drivers[j], names[i], strlen(names[i]), true));
	}
	CU_ASSERT(counts(UNKNOWN, "CUDA_VISIBLE_DEVICES", false));
	CU_ASSERT(counts(UNKNOWN, "ZE_AFFINITY_MASK", false));
}

TEST(places_and_loaders_do_not_count)
{
	static const char *const names[] = { "POCL_CACHE_DIR", "MESA_SHADER_CACHE_DIR", "CUDA_CACHE_PATH",
					     "OCL_ICD_VENDORS", "OPENCL_LAYERS", "CKCACHE_DIR", "HOME",
					     "PWD", "TMPDIR", "LANG", "DISPLAY", "LD_LIBRARY_PATH" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		for (size_t j = 0; j < DRV_DRIVERS; j++)
			CU_ASSERT(!drv_environment_counts(&drv_drivers[j], names[i], strlen(names[i]), true));
	}
}

TEST(debug_keys_count_only_where_the_driver_reads_them)
{
	CU_ASSERT(!counts(NEO, "ProductFamilyOverride", false));
	CU_ASSERT(counts(NEO, "ProductFamilyOverride", true));
	CU_ASSERT(counts(ZE_INTEL, "ProductFamilyOverride", true));
	CU_ASSERT(counts(UNKNOWN, "SetCommandStreamReceiver", true));
	CU_ASSERT(!counts(RUSTICL, "SetCommandStreamReceiver", true));
	CU_ASSERT(counts(NEO, "NEO_OCL_ProductFamilyOverride", true));
	CU_ASSERT(!counts(NEO, "OMPI_MCA_orte_ess_node_rank", true));
	CU_ASSERT(!counts(UNKNOWN, "OMPI_MCA_orte_ess_node_rank", true));
}

static bool values_and_order(void)
{
	static char *first[] = { "IGC_B=2", "UNRELATED=1", "IGC_A=1", NULL };
	static char *second[] = { "IGC_A=1", "IGC_B=2", "UNRELATED=2", NULL };
	static char *other[] = { "IGC_A=1", "IGC_B=3", "UNRELATED=2", NULL };

	if (!has_both_fields(first) || !has_both_fields(second))
		return false;
	environ = other;
	return is_reason(NEO, "environment-changed");
}

/* One of which begins as the other does, and sorts before it. */
static bool long_names(void)
{
	static const char *const fields[2][2] = { { "env.IGC_Option1", "1" }, { "env.IGC_Option", "2" } };
	static char *variables[] = { "IGC_Option=2", "IGC_Option1=1", NULL };

	return has_fields(variables, fields);
}

TEST(the_values_of_the_beginning_are_in_the_key)
{
	CU_ASSERT(in_child(values_and_order));
	CU_ASSERT(in_child(long_names));
}

static bool changes(void)
{
	(void)unsetenv("IGC_TestOption");
	drv_environment_begin();
	if (!is_cached(NEO) || setenv("IGC_TestOption", "1", 1) || !is_reason(NEO, "environment-changed") ||
	    !is_reason(UNKNOWN, "environment-changed") || !is_cached(RUSTICL))
		return false;
	if (setenv("UNRELATED_TO_COMPILERS", "1", 1) || unsetenv("IGC_TestOption") || !is_cached(NEO))
		return false;
	/* Debug keys count for who reads them; that they are read at all is one of them. */
	if (setenv("NEOReadDebugKeys", "1", 1) || !is_reason(NEO, "environment-changed") ||
	    unsetenv("NEOReadDebugKeys") || !is_cached(NEO))
		return false;
	if (setenv("ProductFamilyOverride", "x", 1) || !is_cached(NEO) ||
	    setenv("NEOReadDebugKeys", "1", 1) || !is_reason(NEO, "environment-changed") ||
	    !is_cached(RUSTICL))
		return false;
	return setenv("NEOReadDebugKeys", "0", 1) == 0 && is_cached(NEO);
}

static unsigned int sorted;	/* environments were, to be compared by their variables */
WRAPPED(void, qsort, (void *items, size_t count, size_t size, int (*compare)(const void *, const void *)))
{
	sorted++;
	__real_qsort(items, count, size, compare);
}

/* Each variable is looked at once; then it is the same environment, or another one. */
static bool compares_once(void)
{
	unsigned int before;

	drv_environment_begin();
	for (int i = 0; i < 3; i++) {
		char value[2] = { (char)('a' + i), '\0' };

		if (setenv("UNRELATED_TO_COMPILERS", value, 1) || look(NEO, NULL))
			return false;
		before = sorted;
		for (int j = 0; j < 4; j++) {
			if (!is_cached(NEO))
				return false;
		}
		if (sorted != before)
			return false;
	}
	return sorted > 0;
}

TEST(an_environment_that_was_compared_is_known)
{
	CU_ASSERT(in_child(compares_once));
}

TEST(what_changed_since_is_not_cached_until_it_is_back)
{
	CU_ASSERT(in_child(changes));
}

static bool builds_meanwhile(void)
{
	(void)unsetenv("IGC_TestOption");
	drv_environment_begin();
	drv_environment_note_build();
	if (!is_cached(NEO) || setenv("IGC_TestOption", "1", 1))
		return false;
	drv_environment_note_build();
	return unsetenv("IGC_TestOption") == 0 && is_reason(NEO, "environment-changed") &&
	       is_cached(RUSTICL);
}

TEST(a_build_meanwhile_may_have_read_it_for_good)
{
	CU_ASSERT(in_child(builds_meanwhile));
}

static bool equal_twice(void)
{
	static char *twice[] = { "IGC_A=1", "IGC_B=2", "IGC_A=1", NULL };

	return has_both_fields(twice);
}

static bool different_twice(void)
{
	static char *twice[] = { "IGC_A=1", "IGC_B=2", "IGC_A=2", NULL };

	environ = twice;
	return is_reason(NEO, "environment-changed") && is_cached(RUSTICL);
}

TEST(a_variable_that_is_there_twice_counts_once_or_nothing_is_cached)
{
	CU_ASSERT(in_child(equal_twice));
	CU_ASSERT(in_child(different_twice));
}

static const char *settings;

static bool settings_before(void)
{
	unit_write(settings, "");
	return is_reason(NEO, "settings-file") && is_reason(ZE_INTEL, "settings-file") &&
	       is_cached(RUSTICL) && unlink(settings) == 0 && is_reason(NEO, "settings-file");
}

/* In the working directory it is looked for once only. */
static bool settings_afterwards(void)
{
	drv_environment_begin();
	unit_write("igdrcl.config", "");
	drv_environment_note_build();
	return is_cached(NEO) && unlink("igdrcl.config") == 0;
}

/* The compiler's own, at its first build, which may be this one. */
static bool settings_at_a_build(void)
{
	drv_environment_begin();
	drv_environment_note_build();
	if (!is_cached(NEO) || !is_cached(ZE_INTEL))
		return false;
	there = OPTIONS_FILE;
	drv_environment_note_build();
	there = NULL;
	return is_reason(NEO, "settings-file") && is_reason(ZE_INTEL, "settings-file") &&
	       is_cached(RUSTICL);
}

TEST(a_settings_file_counts_when_the_driver_is_loaded)
{
	settings = "neo.config";
	CU_ASSERT(in_child(settings_before));
	settings = "igdrcl.config";
	CU_ASSERT(in_child(settings_before));
	CU_ASSERT(in_child(settings_afterwards));
	CU_ASSERT(in_child(settings_at_a_build));
}

static bool no_environment(void)
{
	return clearenv() == 0 && is_cached(NEO) && setenv("IGC_A", "1", 1) == 0 &&
	       is_reason(NEO, "environment-changed");
}

TEST(an_empty_environment_is_one)
{
	CU_ASSERT(in_child(no_environment));
}

static bool begins_as_at_first(void)
{
	if (unsetenv("IGC_X"))
		return false;
	drv_environment_begin();
	if (setenv("UNRELATED_TO_COMPILERS", "1", 1))
		return false;
	drv_environment_begin();
	return is_cached(NEO) && setenv("IGC_X", "1", 1) == 0 && !is_cached(NEO) &&
	       !drv_environment_at_begin("IGC_X") && unsetenv("IGC_X") == 0 && is_cached(NEO);
}

/* Another driver was loaded, and may have read it. */
static bool begins_changed(void)
{
	if (unsetenv("IGC_X"))
		return false;
	drv_environment_begin();
	if (setenv("IGC_X", "1", 1))
		return false;
	drv_environment_begin();
	return unsetenv("IGC_X") == 0 && !is_cached(NEO) && is_cached(RUSTICL);
}

static bool begins_with_settings(void)
{
	drv_environment_begin();
	unit_write("igdrcl.config", "");
	drv_environment_begin();
	return unlink("igdrcl.config") == 0 && !is_cached(NEO) && is_cached(RUSTICL);
}

/* One by what another asked. */
static bool begins_after_a_question(void)
{
	if (unsetenv("IGC_X") || !is_cached(NEO) || setenv("IGC_X", "1", 1))
		return false;
	drv_environment_begin();
	return unsetenv("IGC_X") == 0 && !is_cached(NEO) && is_cached(RUSTICL);
}

static void *begin_in_thread(void *start)
{
	(void)pthread_barrier_wait(start);
	drv_environment_begin();
	return NULL;
}

static bool both_begin(void)
{
	pthread_barrier_t start;
	pthread_t thread;

	if (setenv("IGC_X", "1", 1) || pthread_barrier_init(&start, NULL, 2) ||
	    pthread_create(&thread, NULL, begin_in_thread, &start))
		return false;
	(void)pthread_barrier_wait(&start);
	drv_environment_begin();
	(void)pthread_join(thread, NULL);
	return is_cached(NEO) && drv_environment_at_begin("IGC_X");
}

TEST(drivers_that_are_loaded_later_have_the_environment_of_the_first)
{
	CU_ASSERT(in_child(both_begin));
	CU_ASSERT(in_child(begins_as_at_first));
	CU_ASSERT(in_child(begins_changed));
	CU_ASSERT(in_child(begins_with_settings));
	CU_ASSERT(in_child(begins_after_a_question));
}
