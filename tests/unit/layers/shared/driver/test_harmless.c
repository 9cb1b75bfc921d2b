/* SPDX-License-Identifier: MIT */
/* test_harmless: for which options and variables builds may be cached, on which driver. */
#include "layers/shared/driver/harmless.h"

#include "layers/shared/driver/drivers.h"
#include "tests/support/unit.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static bool are_harmless(const char *library, const char *options)
{
	return drv_options_are_harmless(drv_driver_of(library)->options, options);
}

TEST(known_names_are_harmless_on_every_driver)
{
	static const char *const harmless[] = {
		"", " ", "-cl-fast-relaxed-math", "-DX=1 -I dir -cl-std=CL2.0", "-D X=\"a b\"", "-w\t-Werror",
		"-O2 -g -fno-math-errno", "-Wno-unused", "-include x.h", "file.c", "-fdiagnostics-color",
		"-ze-opt-level=2 -ze-opt-disable", "-create-library -enable-link-options", "-isystem/dir", "-m64",
	};

	for (size_t i = 0; i < DRV_DRIVERS; i++) {
		CU_ASSERT(drv_options_are_harmless(drv_drivers[i].options, NULL));
		for (size_t j = 0; j < COUNT(harmless); j++)
			CU_ASSERT(drv_options_are_harmless(drv_drivers[i].options, harmless[j]));
	}
}

TEST(drivers_own_options_are_harmless_on_these)
{
	static const struct {
		const char *library, *option;
	} known[] = {
		{ "libigdrcl.so", "-cl-intel-256-GRF-per-thread" }, { "libigdrcl.so", "-vc-codegen" },
		{ "libze_intel_gpu.so.1", "-ze-intel-no-spill" }, { "libnvidia-opencl.so.1", "-cl-nv-maxrregcount=32" },
		{ "libamdocl64.so", "-mcumode" },
	};

	for (size_t i = 0; i < COUNT(known); i++) {
		CU_ASSERT(are_harmless(known[i].library, known[i].option));
		CU_ASSERT_FALSE(are_harmless("libRusticlOpenCL.so.1", known[i].option));
		CU_ASSERT_FALSE(are_harmless("libpocl.so.2", known[i].option));
	}
}

/* Names that begin as harmless ones do, and the options and files that options can bring. */
static const char *const harmful[] = {
	"-module-dependency-dir dd", "-module-file-info", "-mrelax-all -main-file-name x", "-mllvm", "-march=help",
	"-mcpu=?", "-Wp,-MD,x", "-Wa,x", "-Wl,x", "-gsplit-dwarf", "-g/dir", "-fdiagnostics-format=sarif",
	"-fdiagnostics-add-output=x", "-fdiagnostics-set-output=x", "-fno-such-option", "-opt-record-file x",
	"-opt-bisect-limit=1", "-frandomize-layout-seed-file=x", "-fplugin=x", "-dump-opt-llvm=x", "-save-temps",
	"-save-temps=obj", "-M", "-MD", "-dependency-file x", "--anything", "-fprofile-use=x", "-ftime-trace",
	"-foptimization-record-file=x", "-fsave-optimization-record", "-ftime-report", "-Xclang -emit-llvm",
	"-igc_opts 'ShaderDumpEnable=1'", "-Xfinalizer -dumpcommonisa", "-cl-intel-gtpin-rera", "-ze-gtpin-rera",
	"-zet-profile-flags 0x1", "-ze-emit-visa-only", "-cl-kernel-arg-info2", "-create-library=x", "-wx", "@file",
	"-internal-isystem dir", "-include-pch x", "-header-include-file x", "-stats-file=x", "-o x", "-v",
};

TEST(all_others_are_not)
{
	static const char *const around[] = {
		"%s", "-DX %s", "-DX\t%s", "-DX\n%s -DY", "-DX\r%s", "-DX\v%s", "-DX\f%s", "\"%s\"", "'%s'",
		"\\%s", "-DX=1 -DY=2 %s",
	};
	char text[256];

	for (size_t d = 0; d < DRV_DRIVERS; d++) {
		for (size_t i = 0; i < COUNT(harmful) * COUNT(around); i++) {
			(void)snprintf(text, sizeof(text), around[i % COUNT(around)], harmful[i / COUNT(around)]);
			CU_ASSERT_FALSE(drv_options_are_harmless(drv_drivers[d].options, text));
		}
		for (size_t i = 0; i < COUNT(harmful); i++) {
			const char *word = harmful[i];

			/* With marks within it. */
			(void)snprintf(text, sizeof(text), "%c\"%s", word[0], word + 1);
			CU_ASSERT_FALSE(drv_options_are_harmless(drv_drivers[d].options, text));
			(void)snprintf(text, sizeof(text), "%c\\%s", word[0], word + 1);
			CU_ASSERT_FALSE(drv_options_are_harmless(drv_drivers[d].options, text));
		}
	}
}

TEST(some_that_are_not_known_can_be_proven)
{
	static const struct {
		const char *options;
		enum drv_options are;
	} cases[] = {
		{ "-cmc -Qxcm_register_file_size=256", DRV_OPTIONS_UNPROVEN }, { "-cl-intel-new", DRV_OPTIONS_UNPROVEN },
		{ "-qcom-accelerate-16-bit", DRV_OPTIONS_UNPROVEN }, { "-DX=1 -cl-new=5 value", DRV_OPTIONS_UNPROVEN },
		{ "-Xclang -fnew", DRV_OPTIONS_UNPROVEN }, { "\"-Xclang\" '-fnew'", DRV_OPTIONS_UNPROVEN },
		{ "-Xclang -fno-math-errno", DRV_OPTIONS_HARMLESS },
		{ "-Xclang value", DRV_OPTIONS_HARMFUL }, { "-Xclang -I -Xclang dir", DRV_OPTIONS_HARMFUL },
		{ "-Xclang -cl-new", DRV_OPTIONS_HARMFUL }, { "-Xclang -w", DRV_OPTIONS_HARMFUL },
		{ "-Xclang -fno-math-errno -fnew", DRV_OPTIONS_HARMFUL }, { "-Xclang value -fnew", DRV_OPTIONS_HARMFUL },
		{ "-cl-new -fnew", DRV_OPTIONS_HARMFUL }, { "-fnew -cl-new", DRV_OPTIONS_HARMFUL },
		{ "-cl-new @file", DRV_OPTIONS_HARMFUL }, { "-mnew", DRV_OPTIONS_HARMFUL },
		{ "-Xclang -mlimit-float-precision", DRV_OPTIONS_HARMFUL }, { "-Xclang -load", DRV_OPTIONS_HARMFUL },
		{ "-Xclang -mllvm", DRV_OPTIONS_HARMFUL }, { "-Xclang -Xclang -emit-pch", DRV_OPTIONS_HARMFUL },
		{ "-Xclang -fplugin=x", DRV_OPTIONS_HARMFUL }, { "-Xclang -ftime-report", DRV_OPTIONS_HARMFUL },
		{ "-Xclang -fdump-record-layouts", DRV_OPTIONS_HARMFUL }, { "-Xclang -o", DRV_OPTIONS_HARMFUL },
		{ "-Xclang -fprofile-instrument=clang", DRV_OPTIONS_HARMFUL }, { "-cl-new=dir/file", DRV_OPTIONS_HARMFUL },
		{ "-cl-DumpNew", DRV_OPTIONS_HARMFUL }, { "-Qxcm_opt_report", DRV_OPTIONS_HARMFUL },
		{ "-Qxcm_jit_option=-dump", DRV_OPTIONS_HARMFUL }, { "-Qnew", DRV_OPTIONS_HARMFUL },
		{ "-cl-intel-gtpin-rera", DRV_OPTIONS_HARMFUL }, { "-cl-nv-verbose", DRV_OPTIONS_HARMFUL },
		{ "-cl-debug-info", DRV_OPTIONS_HARMFUL }, { "-cl-new,-dump", DRV_OPTIONS_HARMFUL },
		/* What is cut off may tell. */
		{ "-cl-a1234567890123456789012345678901234567890123456789012345678901", DRV_OPTIONS_HARMFUL },
		{ "-cl-a123456789012345678901234567890123456789012345678901234567", DRV_OPTIONS_UNPROVEN },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		enum drv_options are = drv_options_judge(NULL, cases[i].options);

		CU_ASSERT_EQUAL(are, cases[i].are);
		if (are != cases[i].are)
			(void)fprintf(stderr, "%s\n", cases[i].options);
		CU_ASSERT_EQUAL(drv_options_are_harmless(NULL, cases[i].options), cases[i].are == DRV_OPTIONS_HARMLESS);
	}
	CU_ASSERT_EQUAL(drv_options_judge(drv_driver_of("libigdrcl.so")->options, "-cmc"), DRV_OPTIONS_HARMLESS);
}

/* Of all these one is of a vendors' family, and none the front end's. */
TEST(harmful_names_are_not_proven)
{
	char text[256];

	for (size_t i = 0; i < COUNT(harmful); i++) {
		bool family = strcmp(harmful[i], "-cl-kernel-arg-info2") == 0;

		CU_ASSERT_EQUAL(drv_options_judge(NULL, harmful[i]),
				family ? DRV_OPTIONS_UNPROVEN : DRV_OPTIONS_HARMFUL);
		(void)snprintf(text, sizeof(text), "-Xclang %s", harmful[i]);
		CU_ASSERT_EQUAL(drv_options_judge(NULL, text), DRV_OPTIONS_HARMFUL);
	}
}

static bool is_harmless(const char *library, const char *name, const char *value)
{
	return drv_variable_is_harmless(drv_driver_of(library)->options, name, strlen(name), value);
}

TEST(variables_that_ask_for_files_or_messages_are_not_harmless)
{
	static const char *const asking[] = {
		"IGC_ShaderDumpEnable", "IGC_DumpToCustomDir", "IGC_PrintToConsole", "IGC_ElfDumpEnable",
		"IGC_QualityMetricsEnable", "DumpKernels", "DumpZEBin", "LogPatchTokens", "NEO_DumpZEBin",
		"MESA_SPIRV_DUMP_PATH", "MESA_SHADER_CAPTURE_PATH", "CLC_DEBUG", "RUSTICL_DEBUG", "NIR_DEBUG",
		"GALLIVM_DEBUG", "LP_DEBUG", "GALLIUM_TRACE", "INTEL_DEBUG", "INTEL_SHADER_BIN_DUMP_PATH", "AMD_DEBUG",
		"RADV_DEBUG", "FD_MESA_DEBUG", "POCL_LEAVE_KERNEL_COMPILER_TEMP_FILES", "OCLGRIND_DUMP_SPIR",
		"IGC_VariableWhoseNameIsAsLongAsAnyOfThoseThatAreComparedWithDump",
		"AMD_COMGR_SAVE_TEMPS", "AMD_COMGR_REDIRECT_LOGS", "GPU_DUMP_CODE_OBJECT", "CL_CONFIG_DUMP_ASM",
	};
	static const char *const shaping[] = {
		"IGC_VectorAlias", "POCL_WORK_GROUP_METHOD", "LP_NATIVE_VECTOR_WIDTH", "MESA_DEBUG", "NEO_CACHE_DIR",
		"OverrideThreadArbitrationPolicy", "AUBDumpCaptureFileName", "RUSTICL_FEATURES",
	};

	for (size_t i = 0; i < COUNT(asking); i++) {
		CU_ASSERT_FALSE(is_harmless("libX.so", asking[i], "1"));
		CU_ASSERT(is_harmless("libX.so", asking[i], "0"));
		CU_ASSERT(is_harmless("libX.so", asking[i], ""));
	}
	for (size_t i = 0; i < COUNT(shaping); i++)
		CU_ASSERT(is_harmless("libX.so", shaping[i], "1"));
}

TEST(options_in_variables_are_judged_as_options)
{
	CU_ASSERT(is_harmless("libpocl.so.2", "POCL_EXTRA_BUILD_FLAGS", "-DX=1 -cl-mad-enable"));
	CU_ASSERT_FALSE(is_harmless("libpocl.so.2", "POCL_EXTRA_BUILD_FLAGS", "-save-temps"));
	CU_ASSERT_FALSE(is_harmless("libamdocl64.so", "AMD_OCL_BUILD_OPTIONS_APPEND", "-save-temps=x"));
	CU_ASSERT(is_harmless("libigdrcl.so", "InjectApiBuildOptions", "-cl-intel-no-spill"));
	CU_ASSERT_FALSE(is_harmless("libigdrcl.so", "InjectInternalBuildOptions", "-igc_opts 'ShaderDumpEnable=1'"));
}
