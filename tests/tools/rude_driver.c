/* SPDX-License-Identifier: MIT */
/*
 * rude_driver: a file that loaders take for an OpenCL driver, and that never
 * lets them go on: as it is loaded it aborts, or with RUDE=hang waits for ever.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((constructor)) static void be_rude(void)
{
	const char *how = getenv("RUDE");

	while (how && strcmp(how, "hang") == 0)
		(void)pause();	/* no signal's handler ends it */
	abort();
}
