/* SPDX-License-Identifier: MIT */
/* driver_main: main of test programs that run on the driver which the argument names. */
#include "tests/opencl/driver.h"
#include "tests/support/unit.h"

int main(int argc, char **argv)
{
	return unit_run(driver_select(argc, argv)->name);
}
