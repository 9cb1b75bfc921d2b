/* SPDX-License-Identifier: MIT */
/*
 * losses_level_zero: what modules lose when they are made of their own natives: all that
 * level_zero_differential asks. The driver compiles without hardware, as each product given ("tgllp").
 *   losses_level_zero [PRODUCT...]
 */
#include "tests/level_zero/intel.h"
#include "tests/support/losses.h"
#include "tests/support/posix.h"

static const char *command_of(char command[2048], const char *product, const char *argument)
{
	(void)snprintf(command, 2048,
		       "d=$(mktemp -d) && cd $d && env -i PATH=\"$PATH\" " INTEL_WITHOUT_HARDWARE
		       "%s timeout -k 5 600 '" DIFFERENTIAL_PROGRAM "' %s 2>errors </dev/null; "
		       "cd / && rm -rf $d", product, argument);
	return command;
}

static void print_table(const char *product)
{
	char commands[2][2048], title[256], version[64] = "";
	FILE *asked = popen(command_of(commands[0], product, "-v"), "r");

	if (!asked || !fgets(version, sizeof(version), asked) || version[0] < '0' || version[0] > '9')
		losses_give_up("no Level Zero driver");
	(void)pclose(asked);	/* it said its version */
	version[strcspn(version, "\n")] = '\0';
	(void)snprintf(title, sizeof(title), "Intel's driver %s as %s", version, product);
	losses_print(title, command_of(commands[0], product, ""), command_of(commands[1], product, "-n"),
		     false);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		print_table("tgllp");
	for (int i = 1; i < argc; i++)
		print_table(argv[i]);
	return fflush(stdout) ? 1 : 0;
}
