/* SPDX-License-Identifier: MIT */
/* effort: reads arguments, chooses where the states are made (in memory, where there is such a place), runs. */
#include "tests/crash/effort.h"

#include "tests/support/unit.h"

#define SAMPLES 100
#define SEED 20260101
#define MEMORY "/dev/shm"

struct effort effort;

int main(int argc, char **argv)
{
	effort = (struct effort){ .samples = SAMPLES, .seed = SEED, .thorough = argc > 1 };

	if (argc > 1)
		effort.samples = strtoull(argv[1], NULL, 10);
	if (argc > 2)
		effort.seed = strtoull(argv[2], NULL, 10);
	/* Ten thousands of small trees are nothing for a disk. */
	if (access(MEMORY, W_OK) == 0)
		(void)setenv("TMPDIR", MEMORY, 0);
	(void)printf("seed %llu, %llu samples\n", (unsigned long long)effort.seed,
		     (unsigned long long)effort.samples);
	return unit_run(NULL);
}
