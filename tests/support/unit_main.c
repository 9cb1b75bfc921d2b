/* SPDX-License-Identifier: MIT */
/* unit_main: of programs that have none of their own. */
#include "tests/support/unit.h"

int main(void)
{
	unit_count_descriptors();
	return unit_run(NULL);
}
