/* SPDX-License-Identifier: MIT */
/*
 * value_il: a SPIR-V module whose kernel "value" stores its specialization
 * constant 7 (42 unless it is set) in out[0]. Assembled (spirv-as
 * --target-env opencl1.2) from:
 *
 *               OpCapability Addresses
 *               OpCapability Kernel
 *               OpCapability Linkage
 *               OpMemoryModel Physical64 OpenCL
 *               OpEntryPoint Kernel %value "value"
 *               OpSource OpenCL_C 120000
 *               OpName %out "out"
 *               OpDecorate %seven SpecId 7
 *       %uint = OpTypeInt 32 0
 *       %void = OpTypeVoid
 *    %pointer = OpTypePointer CrossWorkgroup %uint
 *       %kind = OpTypeFunction %void %pointer
 *      %seven = OpSpecConstant %uint 42
 *      %value = OpFunction %void None %kind
 *        %out = OpFunctionParameter %pointer
 *      %entry = OpLabel
 *               OpStore %out %seven Aligned 4
 *               OpReturn
 *               OpFunctionEnd
 */
#ifndef TESTS_OPENCL_VALUE_IL_H
#define TESTS_OPENCL_VALUE_IL_H

#include <stdint.h>

static const uint32_t value_il[] = {
	0x07230203, 0x00010000, 0x00070000, 0x00000009, 0x00000000, 0x00020011,
	0x00000004, 0x00020011, 0x00000006, 0x00020011, 0x00000005, 0x0003000e,
	0x00000002, 0x00000002, 0x0005000f, 0x00000006, 0x00000001, 0x756c6176,
	0x00000065, 0x00030003, 0x00000003, 0x0001d4c0, 0x00030005, 0x00000002,
	0x0074756f, 0x00040047, 0x00000003, 0x00000001, 0x00000007, 0x00040015,
	0x00000004, 0x00000020, 0x00000000, 0x00020013, 0x00000005, 0x00040020,
	0x00000006, 0x00000005, 0x00000004, 0x00040021, 0x00000007, 0x00000005,
	0x00000006, 0x00040032, 0x00000004, 0x00000003, 0x0000002a, 0x00050036,
	0x00000005, 0x00000001, 0x00000000, 0x00000007, 0x00030037, 0x00000006,
	0x00000002, 0x000200f8, 0x00000008, 0x0005003e, 0x00000002, 0x00000003,
	0x00000002, 0x00000004, 0x000100fd, 0x00010038,
};

#endif
