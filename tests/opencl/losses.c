/* SPDX-License-Identifier: MIT */
/*
 * losses: what a driver's own binary loses: all that the differential asks of its corpus, as four kinds of
 * program. layers/shared/driver/drivers.c follows from this table.
 *
 *   losses [-v] [DEVICES]     -v: each difference
 *
 * DEVICES: what the context has, and what is built for: the platform's first device ("one", without an
 * argument), the first two ("two"), or one of them ("first", "second"); or the same of two parts of the
 * first device ("parts", "first-part", "second-part").
 */
#include "tests/support/losses.h"
#include "tests/support/posix.h"

int main(int argc, char **argv)
{
	static const char *const kinds[] = { "executable", "object", "library", "linked" };
	bool each = argc > 1 && !strcmp(argv[1], "-v");
	const char *devices = argc > 1 + each ? argv[argc - 1] : "one";

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		char commands[2][1024], title[256];

		for (int loaded = 0; loaded < 2; loaded++)
			(void)snprintf(commands[loaded], sizeof(commands[loaded]),
				       "'" CLIENT_PROGRAM "' -n differential %s-g corpus -k %s -d %s",
				       loaded ? "-b " : "", kinds[i], devices);
		(void)snprintf(title, sizeof(title), "%s, devices: %s", kinds[i], devices);
		losses_print(title, commands[0], commands[1], each);
	}
	return fflush(stdout) ? 1 : 0;
}
