/* SPDX-License-Identifier: MIT */
/* unit_main: of programs that have none of their own. */
#include "tests/support/unit.h"

int main(void)
{
	return unit_run(NULL);
}
