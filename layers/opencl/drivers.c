/* SPDX-License-Identifier: MIT */
/* drivers: the table. Each row says where its facts were measured. */
#include "layers/opencl/drivers.h"

#include <stddef.h>
#include <string.h>

static const struct ocl_driver drivers[] = {
	{
		/*
		 * Intel NEO 22.43: reading a binary takes 0.01 to 7 ms. IGC is
		 * opened with dlopen when the platform is made.
		 */
		.library = "libigdrcl.so",
		.capture = CC_CAPTURE_EAGER,
		.quotes_group = true,
		.compilers = { "libigc.so", "libigdfcl.so", "libopencl-clang.so" },
	},
	{
		/*
		 * rusticl 22.3: its binary is SPIR-V, read in 0.01 ms; libclc
		 * comes from files. A kernel is compiled when it is created:
		 * 61 ms, or 0.15 ms from Mesa's own cache; a clone takes 0.04.
		 * (NEO: 0.7 us created, 0.8 cloned. pocl: 0.1 us both.)
		 */
		.library = "libRusticlOpenCL.so",
		.capture = CC_CAPTURE_EAGER,
		.clones_kernels = true,
		.files = { "/usr/lib/clc/*.spv", "/usr/share/clc/*.spv" },
	},
	{
		/*
		 * pocl 3.1: asking for the binary compiles every kernel once
		 * more, 80 ms to 30 s, and holds up the first enqueue.
		 */
		.library = "libpocl.so",
		.capture = CC_CAPTURE_DEFERRED,
		.binaries_lose_attributes = true,
		.linked_builds_abort = true,
		.compilers = { "libpocl-devices-" },
		.files = { "/usr/share/pocl/*.bc", "/usr/share/pocl/include/*.h",
			   "/usr/local/share/pocl/*.bc", "/usr/local/share/pocl/include/*.h" },
	},
	{
		/*
		 * NVIDIA 580: 0.01 ms. Its compilers are loaded by the first
		 * build and carry the driver's version, which is in the key.
		 */
		.library = "libnvidia-opencl.so",
		.capture = CC_CAPTURE_EAGER,
		.compiles_with_kernels = true,
	},
	{
		/* oclgrind 21.10: its binary is LLVM bitcode. */
		.library = "liboclgrind-rt-icd.so",
		.capture = CC_CAPTURE_EAGER,
		.compiles_with_kernels = true,
		.compilers = { "liboclgrind" },
	},
	{
		/* Any other: AMD's and Intel's CPU runtime are known to open these. */
		.library = NULL,
		.capture = CC_CAPTURE_EAGER,
		.compilers = { "libamd_comgr", "libcommon_clang", "libOclCpuBackEnd", "libigc.so" },
	},
};

const struct ocl_driver *ocl_driver_of(const char *library)
{
	const char *slash = strrchr(library, '/');
	const char *name = slash ? slash + 1 : library;
	const struct ocl_driver *driver = drivers;

	while (driver->library && strncmp(name, driver->library, strlen(driver->library)) != 0)
		driver++;
	return driver;
}
