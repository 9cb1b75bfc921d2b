/* SPDX-License-Identifier: MIT */
/* drivers: the table. Each row says where its facts were measured. */
#include "layers/shared/driver/drivers.h"

#include <fnmatch.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "layers/shared/driver/harmless.h"

/* Digits as in the names of files in caches, for fnmatch. */
#define HEX2 "[0-9a-f][0-9a-f]"
#define HEX16 HEX2 HEX2 HEX2 HEX2 HEX2 HEX2 HEX2 HEX2

/* Mesa's: it makes a directory when it has a file to write there, which may be after the build. */
#define MESA_CACHED                                                                \
	"/*/mesa_shader_cache*/" HEX2, "/*/mesa_shader_cache*/" HEX2 "/" HEX16 HEX16 "*", \
	"/*/mesa_shader_cache*/index", "/*/mesa_shader_cache*/marker"

/* pocl's 3.1, 6.0 and 7.1: by hashes in letters, a directory for each program; and where it unpacks a binary. */
#define LETTER2 "[A-P][A-P]"
#define LETTER8 LETTER2 LETTER2 LETTER2 LETTER2
#define POCL_PROGRAM "/*/" LETTER2 "/" LETTER8 LETTER8 LETTER8 LETTER8 "*"
#define POCL_TEMPORARY "_UNCACHED_"
#define POCL_UNPACKED "/*/" POCL_TEMPORARY "*"
#define POCL_CACHED POCL_PROGRAM, POCL_UNPACKED "/*"
#define POCL_CACHED_ALONE                                                          \
	POCL_PROGRAM "/program.bc", POCL_PROGRAM "/pocl.gvar.init", POCL_PROGRAM "/*.so", \
	POCL_UNPACKED "/program.bc", POCL_UNPACKED "/pocl.gvar.init", POCL_UNPACKED "/*.so"

/* What names of LLVM's programs end with: pocl with Level Zero needs 14. */
#define LLVM_VERSIONS "{,-14,-15,-16,-17,-18,-19,-20,-21,-22,-23,-24,-25,-26,-27,-28,-29,-30}"

/* comgr's 7.0, in LLVM's form, by SHA-256 of what was compiled: the code itself, the end of a build. */
#define COMGR_CACHED "*/llvmcache-" HEX16 HEX16 HEX16 HEX16, "*/llvmcache.timestamp"

/* clang's and LLVM's own. Of the paths NEO 22.43, rusticl 22.3 and pocl 3.1 read none. */
#define CLANG_VARIABLES \
	"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "OPENCL_INCLUDE_PATH", "LLVM_", "LIBCLC_", \
	"SOURCE_DATE_EPOCH"
#define INTEL_VARIABLES "IGC_", "NEO", "ONEAPI_", "VC_", "CM_FE_"
#define MESA_VARIABLES \
	"MESA_", "NIR_", "GALLIUM_", "GALLIVM_", "LP_", "DRAW_", "RUSTICL_", "CLOVER_", "CLC_", "AMD_", \
	"AMDGPU_", "RADEON", "RADV_", "R600_", "INTEL_", "IRIS_", "AGX_", "ASAHI_", "FD_", "IR3_", "NV50_", \
	"PAN_", "V3D_", "VC4_", "ZINK_"
/* By the texts in 580's libraries, in which no name begins with NVIDIA_. */
#define NVIDIA_VARIABLES "CUDA_", "NV_OPENCL_", "NV_PIECEMEAL_", "NVVM_", "LLVM_"
#define AMD_VARIABLES "AMD_", "AMDGPU_", "GPU_", "HSA_", "HIP_", "ROC_", "ROCM_"

static const char *const intel[] = { INTEL_VARIABLES, CLANG_VARIABLES, NULL };
static const char *const mesa[] = { MESA_VARIABLES, CLANG_VARIABLES, NULL };
/* Some of its devices are other drivers. */
static const char *const pocl[] = { "POCL_", "CUDA_", "HSA_", "IGC_", "NEO", CLANG_VARIABLES, NULL };
static const char *const nvidia[] = { NVIDIA_VARIABLES, NULL };
static const char *const oclgrind[] = { "OCLGRIND_", CLANG_VARIABLES, NULL };
static const char *const amd[] = { AMD_VARIABLES, CLANG_VARIABLES, NULL };
static const char *const all[] = {
	INTEL_VARIABLES, MESA_VARIABLES, AMD_VARIABLES, NVIDIA_VARIABLES, CLANG_VARIABLES, "POCL_",
	"OCLGRIND_", "NVIDIA_", "CL_CONFIG_", "OCL_", "ZE_AFFINITY_MASK", "ZE_FLAT_DEVICE_HIERARCHY", NULL,
};

static const char *const level_zero_tools[] = {
	"ZET_ENABLE_PROGRAM_DEBUGGING", "ZET_ENABLE_PROGRAM_INSTRUMENTATION", NULL,
};

/* By strace of 22.43: NEO's when it is loaded, in the working directory; IGC's at its first build. */
static const char *const intel_settings[] = {
	"igdrcl.config", "neo.config", "/tmp/IntelIGC/debugFlags/Options.txt", NULL,
};

/*
 * What all its versions have. load_rate: SPIR-V, parsed again each time: 52 to 150 from 250 kB on. The name
 * of llvmpipe has the width of its vectors, on which the preferred multiple depends.
 */
#define RUSTICL                                                                    \
	.library = "libRusticlOpenCL.so", .capture = CC_CAPTURE_EAGER, .load_rate = 50, \
	.portable_binaries = true, .links_forget_options = true,                       \
	.compiler_looks = true, .cached = { MESA_CACHED }, .linked_compiler = "libLLVM", \
	.skips_file_names = true,                                                      \
	.files = { "/usr/lib/clc/*.spv", "/usr/share/clc/*.spv" }, .variables = mesa

/*
 * What all its versions have. load_rate: 11 to 26; 90 to 140 with its cache empty. Its cache is asked
 * after its preprocessor ran.
 */
#define POCL                                                                       \
	.library = "libpocl.so", .parts_share_code = true, .compiles_in_call = true,   \
	.capture = CC_CAPTURE_DEFERRED, .binaries_lose_answers = true, .loads_race = true, \
	.private_directory = POCL_TEMPORARY, .own_cache = "POCL_KERNEL_CACHE",         \
	.load_rate = 11, .linked_builds_abort = true, .compiler_looks = true,          \
	.links_forget_options = true,                                                  \
	.linker = "ld", .cached = { POCL_CACHED }, .cached_alone = { POCL_CACHED_ALONE }, \
	.caches_binaries = true, .linked_compiler = "libLLVM",                         \
	.compilers = { "libpocl-devices-" }, .skips_file_names = true,                  \
	.files = { "/usr/share/pocl/*.bc", "/usr/share/pocl/include/*.h",              \
		   "/usr/local/share/pocl/*.bc", "/usr/local/share/pocl/include/*.h" }, \
	.variables = pocl

const struct drv_driver drv_drivers[] = {
	{
		/*
		 * Intel NEO 22.43: reading a binary takes 0.01 to 7 ms. IGC is
		 * opened with dlopen when the platform is made; later versions
		 * do it when they first compile.
		 */
		.library = "libigdrcl",	/* beside the newest, "_legacy1" for older devices */
		.compiles_in_call = true,
		.capture = CC_CAPTURE_EAGER,
		.binaries_keep_constants = true,
		.links_forget_options = true,
		.compiler_looks = true,
		.cached = { "*/" HEX16 ".cl_cache", "*/cl_cache.??????", "*/config.file" },
		.caches_binaries = true,
		.leaves_dumps = true,
		.compilers = { "libigc.so", "libigdfcl.so", "libopencl-clang.so", "libclangFEWrapper.so" },
		/* The last one at the first build with -cmc. */
		.late_compilers = { "libigdfcl.so.2", "libigdfcl.so.1", "libigc.so.2",
				    "libigc.so.1", "libclangFEWrapper.so" },
		.variables = intel,
		.skips_file_names = true,
		.options = drv_intel_options,
		.debug_keys = true,
		.settings = intel_settings,
	},
	{
		/*
		 * The same for Level Zero, 22.43 and 26.27: from SPIR-V it needs no frontend. With strace:
		 * one thread; 22.43 looks for IGC's Options.txt at a process's first module, 26.27 for
		 * nothing; both for their own cache, where it is on.
		 */
		.library = "libze_intel_gpu",
		.compiles_in_call = true,
		.capture = CC_CAPTURE_EAGER,
		.cached = { "*/" HEX16 ".l0_cache", "*/l0_cache.??????", "*/config.file" },
		.caches_binaries = true,
		.leaves_dumps = true,
		.compilers = { "libigc.so" },
		.late_compilers = { "libigc.so.2", "libigc.so.1" },
		.variables = intel,
		.instrumented = level_zero_tools,
		.skips_file_names = true,
		.options = drv_intel_options,
		.debug_keys = true,
		.settings = intel_settings,
	},
	{
		/*
		 * rusticl 22.3: its binary is SPIR-V, read in 0.01 ms; libclc
		 * comes from files. A kernel is compiled when it is created:
		 * 61 ms, or 0.15 ms from Mesa's own cache; a clone takes 0.04.
		 * (NEO: 0.7 us created, 0.8 cloned. pocl: 0.1 us both.)
		 */
		RUSTICL,
		.compiles_in_call = true,
		.clones_kernels = true,
	},
	{
		/*
		 * rusticl 25.0 and 26.2: kernels are compiled with their program, and
		 * creating one takes 0.02 ms. The answer to CL_KERNEL_ATTRIBUTES
		 * is empty for a program that was loaded. 25.0's binary is the SPIR-V
		 * before specialization. It compiles in a thread of its own. Versions from 23 to 24
		 * were not measured.
		 */
		RUSTICL,
		.since = "23",
		.binaries_lose_answers = true,
		.objects_as_unbuilt = true,
	},
	{
		/*
		 * rusticl 26.2: its binary is specialized. It refuses to link some
		 * objects that were loaded, and hangs where a forked child compiles.
		 */
		RUSTICL,
		.since = "26.2",
		.loads_built = true,
		.binaries_lose_answers = true,
		.binaries_keep_constants = true,
		.objects_as_unbuilt = true,
	},
	{
		/*
		 * pocl 3.1: asking for the binary compiles every kernel once
		 * more, 80 ms to 30 s, and holds up the first enqueue. Attributes are
		 * lost; in 7.1 the preferred multiple of kernels with local
		 * variables is 0 after a load. 6.0 aborts when it is asked for a binary with
		 * specialization constants.
		 * The hash of its own cache has the processor's type, not its cores. To
		 * unpack a file that another process has just unpacked it removes that first.
		 */
		POCL,
		.unpacking_races = true,
	},
	{
		/* 6.0 and 7.1 put such a file in the other's place. */
		POCL,
		.since = "6",
		.eager_vendor = 0x8086,	/* Level Zero's in 7.1: 0.6 ms for 40 kernels, as SPIR-V */
		/* 7.1's devices of Level Zero, for SPIR-V. By strace it reads its arguments' files alone. */
		.tools = { { "/usr{,/local}/bin/llvm-spirv" LLVM_VERSIONS, "-o" },
			   { "/usr/lib/llvm*/bin/llvm-spirv", "-o" } },
		.debug_keys = true,
	},
	{
		/*
		 * NVIDIA 580: 0.01 ms. Its compilers are loaded by the first
		 * build and carry the driver's version, which is in the key. Asked
		 * for the names of kernels, it ends the process where there are
		 * none, and writes beyond a buffer of its own where one has 512
		 * characters or more.
		 */
		.library = "libnvidia-opencl.so",
		.compiles_in_call = true,
		.compiler_looks = true,
		.unasked = DRV_KERNEL_NAMES,
		.capture = CC_CAPTURE_EAGER,
		.compiles_with_kernels = true,
		.variables = nvidia,
		.options = drv_nvidia_options,
	},
	{
		/* oclgrind 21.10: its binary is LLVM bitcode. */
		.library = "liboclgrind-rt-icd.so",
		.compiles_in_call = true,
		.compiler_looks = true,
		.capture = CC_CAPTURE_EAGER,
		.compiles_with_kernels = true,
		.compilers = { "liboclgrind" },
		.variables = oclgrind,
	},
	{
		/*
		 * AMD 6.4, without hardware: its compiler (comgr 7.0, with clang, lld and all bitcode within
		 * it) is opened when the platform is made. Reading a binary takes 0.01 ms, loading it 0.2 and
		 * building it 100. comgr's own cache has only what comes after the front end.
		 */
		.library = "libamdocl64.so",
		.capture = CC_CAPTURE_EAGER,
		.unbuilt_ends_process = true,
		.compiler_looks = true,
		.cached = { COMGR_CACHED },
		.cached_alone = { COMGR_CACHED },
		.cache_directories = { "*/.cache/comgr" },
		.within = { "*/ld.lld", "*-ld.lld" },
		.leaves_dumps = true,
		.compilers = { "libamd_comgr" },
		.compilers_by_place = true,
		.late_compilers = { "libamd_comgr.so.3", "libamd_comgr.so.2" },
		.variables = amd,
		.options = drv_amd_options,
	},
	{
		/* Any other: Intel's CPU runtime is known to open these. */
		.library = NULL,
		.capture = CC_CAPTURE_EAGER,
		.compilers = { "libamd_comgr", "libcommon_clang", "libOclCpuBackEnd", "libigc.so" },
		.variables = all,
		.instrumented = level_zero_tools,
		.debug_keys = true,
	},
};

const struct drv_driver *drv_driver_of(const char *library)
{
	const char *name = basename(library);
	const struct drv_driver *driver = drv_drivers;

	while (driver->library && strncmp(name, driver->library, strlen(driver->library)) != 0)
		driver++;
	return driver;
}

bool drv_driver_has_compiler(const struct drv_driver *driver, const char *file_name)
{
	for (size_t i = 0; i < DRV_LISTS && driver->compilers[i]; i++) {
		if (strncmp(file_name, driver->compilers[i], strlen(driver->compilers[i])) == 0)
			return true;
	}
	return false;
}

bool drv_matches(const char *const patterns[DRV_LISTS], const char *path, int flags)
{
	for (size_t i = 0; i < DRV_LISTS && patterns[i]; i++) {
		if (fnmatch(patterns[i], path, flags) == 0)
			return true;
	}
	return false;
}

bool drv_is_cached_as(const char *text)
{
	static const char letters[] = "ABCDEFGHIJKLMNOP";

	return text && strspn(text, letters) == 2 && text[2] == '/' &&
	       strspn(text + 3, letters) == DRV_CACHED_AS_SIZE - 1 - 3;
}

const struct drv_driver *drv_driver_at(const struct drv_driver *driver, const char *version)
{
	const struct drv_driver *found = driver;

	/* A driver's rows stand together, the oldest version first. */
	for (const struct drv_driver *row = driver + 1; version && driver->library && row->library &&
	     strcmp(row->library, driver->library) == 0; row++) {
		if (strverscmp(version, row->since) >= 0)
			found = row;
	}
	return found;
}

/* pocl's headers and libraries are 15 MB, which nobody reads for each hit; they are in the key, too. */
bool drv_driver_has_file(const struct drv_driver *driver, const char *path)
{
	char *real = driver->files[0] ? realpath(path, NULL) : NULL;
	bool found = real && drv_matches(driver->files, real, FNM_PATHNAME);

	free(real);
	return found;
}
