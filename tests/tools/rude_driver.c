/* SPDX-License-Identifier: MIT */
/*
 * rude_driver: a file that loaders take for an OpenCL driver, and that never
 * lets them go on: as it is loaded it aborts, with RUDE=hang it waits for ever,
 * with RUDE=exit it ends the process as if all were well. RUDE=cache: it aborts
 * where the cache is on. RUDE_SAYS: what it prints before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((constructor)) static void be_rude(void)
{
	const char *how = getenv("RUDE"), *says = getenv("RUDE_SAYS"), *off = getenv("CKCACHE_DISABLE");

	if (how && strcmp(how, "cache") == 0 && off && strcmp(off, "1") == 0)
		return;
	(void)fputs(says ? says : "", stderr);
	while (how && strcmp(how, "hang") == 0)
		(void)pause();	/* no signal's handler ends it */
	if (how && strcmp(how, "exit") == 0)
		_exit(0);
	abort();
}
