/* SPDX-License-Identifier: MIT */
/* bench_samples: an array, a clock and what the kernel counts of a thread. */
#include "tests/bench/bench_samples.h"

#include "tests/bench/bench_run.h"

#define MAX_SAMPLES ((size_t)8 << 20)

static struct {
	uint32_t ns[MAX_SAMPLES];
	uint8_t how[MAX_SAMPLES];
	size_t count;
} samples;

enum { RAN, PREEMPTED, SLEPT };	/* what became of the thread meanwhile */

void bench_start(struct bench_watch *watch)
{
	if (getrusage(RUSAGE_THREAD, &watch->before) != 0)
		bench_fail("getrusage");
	watch->start = bench_now();
}

void bench_stop(const struct bench_watch *watch)
{
	uint64_t ns = bench_now() - watch->start;
	struct rusage after;

	if (getrusage(RUSAGE_THREAD, &after) != 0)
		bench_fail("getrusage");
	if (samples.count == MAX_SAMPLES)
		return;
	samples.how[samples.count] = after.ru_nvcsw != watch->before.ru_nvcsw ? SLEPT :
				     after.ru_nivcsw != watch->before.ru_nivcsw ? PREEMPTED : RAN;
	samples.ns[samples.count++] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

static int compare(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return left < right ? -1 : left > right;
}

void bench_print_samples(void)
{
	uint32_t *ns = samples.ns, longest[SLEPT + 1] = { 0 };
	size_t count = samples.count, slow[SLEPT + 1] = { 0 };
	uint32_t *sorted = malloc(count * sizeof(*sorted));

	if (!count || !sorted)
		bench_fail("nothing was measured");
	memcpy(sorted, ns, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), compare);
	for (size_t i = 0; i < count; i++) {
		uint8_t how = samples.how[i];

		slow[how] += ns[i] > 2 * sorted[count / 2];
		longest[how] = ns[i] > longest[how] ? ns[i] : longest[how];
	}
	(void)printf("{\"count\": %zu, \"median\": %u, \"p99\": %u, \"p999\": %u, \"max\": %u, "
		     "\"slow_ran\": %zu, \"slow_preempted\": %zu, \"slow_slept\": %zu, "
		     "\"max_ran\": %u, \"max_slept\": %u}\n",
		     count, sorted[count / 2], sorted[count * 99 / 100], sorted[count * 999 / 1000],
		     sorted[count - 1], slow[RAN], slow[PREEMPTED], slow[SLEPT], longest[RAN],
		     longest[SLEPT]);
	free(sorted);
}

void bench_forget_samples(void)
{
	memset(&samples, 0, sizeof(samples));
}
