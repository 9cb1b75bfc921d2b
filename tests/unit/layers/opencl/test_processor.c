/* SPDX-License-Identifier: MIT */
/* processor: machines that differ in what they can do differ; others do not. */
#include "layers/opencl/key/processor.h"

#include "tests/support/unit.h"

#define ARM(number, mhz, features, part)                                                      \
	"processor\t: " number "\nBogoMIPS\t: " mhz "\nFeatures\t: " features "\n"             \
	"CPU implementer\t: 0x41\nCPU part\t: " part "\n\n"
#define ARM_LINES "Features\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"

static void expect(const char *cpuinfo, const char *lines)
{
	struct cmn_buffer text = { 0 };

	ocl_processor_describe(cmn_view_of(cpuinfo), &text);
	CU_ASSERT_FALSE(text.failed);
	CU_ASSERT_TRUE(cmn_view_equal(cmn_buffer_view(&text), cmn_view_of(lines)));
	cmn_buffer_release(&text);
}

TEST(cores_of_one_kind_are_said_once)
{
	expect(ARM("0", "50.00", "fp asimd", "0xd0c"), ARM_LINES);
	expect(ARM("0", "50.00", "fp asimd", "0xd0c") ARM("1", "243.75", "fp asimd", "0xd0c"), ARM_LINES);
	expect("processor\t: 0\ncpu MHz\t\t: 800.1\nflags\t\t: fpu avx\ncore id\t\t: 3\n", "flags\t\t: fpu avx\n");
}

TEST(cores_of_two_kinds_are_both_said)
{
	expect(ARM("0", "50.00", "fp asimd", "0xd0c") ARM("1", "50.00", "fp asimd sve", "0xd40"),
	       ARM_LINES "Features\t: fp asimd sve\nCPU part\t: 0xd40\n");
}

TEST(what_is_not_known_counts)
{
	expect("processors\t: 1\nisa", "processors\t: 1\nisa");
	expect("cpu\t\t: POWER9\nclock\t\t: 2166MHz\n", "cpu\t\t: POWER9\n");
	expect("hart isa\t: rv64imac\nhart\t: 2\n", "hart isa\t: rv64imac\n");
	expect("Processor\t: ARMv7\n\n\n", "Processor\t: ARMv7\n");
	expect("", "");
}
