/* SPDX-License-Identifier: MIT */
/* budget: sums of times, in atomics: what threads add at once may be off by one of them. */
#include "cachecore/remote/budget.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/disk/path.h"
#include "cachecore/disk/root.h"
#include "cachecore/record/totals.h"
#include "common/clock.h"

#define NS_PER_S UINT64_C(1000000000)
#define MINUTE_NS (60 * NS_PER_S)
/* Until it is known: what one of a program's compiles takes. */
#define UNKNOWN_BUILD_NS NS_PER_S
/* A look-up may take a half of a compile, within these bounds: on a busy machine less is often not enough. */
#define LEAST_DEADLINE_NS (NS_PER_S / 4)
#define MOST_DEADLINE_NS (3 * NS_PER_S)
/* With less than this part of a deadline nothing is tried. */
#define LEAST_PART 8
#define COMPILED_PART 10
#define LEAST_CLAIM_NS (2 * NS_PER_S)
#define MOST_CLAIM_NS MINUTE_NS
#define CLAIM_BUILDS 4
#define ALL_NS (UINT64_C(1) << 50)	/* 13 days: threads that add it at once do not overflow */

void cc_budget_init(struct cc_budget *budget, const char *root)
{
	*budget = (struct cc_budget){ .root = root };
}

/* What this program's compiles took in earlier processes. */
static void read_usage(struct cc_budget *budget)
{
	struct cc_totals *totals;
	int root_fd;

	if (atomic_exchange(&budget->usage_read, true) || !budget->root)
		return;
	totals = calloc(1, sizeof(*totals));
	if (!totals || cc_root_open(budget->root, &root_fd) != CMN_OK) {
		free(totals);
		return;
	}
	if (cc_totals_read(root_fd, totals) == CMN_OK) {
		for (size_t i = 0; i < totals->usage.program_count; i++) {
			const struct cc_usage_program *program = &totals->usage.programs[i];

			if (!program->counts.spent_ns || strcmp(program->name, cc_path_program()) != 0)
				continue;
			(void)atomic_fetch_add(&budget->builds, program->counts.misses);
			(void)atomic_fetch_add(&budget->build_ns, program->counts.spent_ns);
		}
	}
	(void)close(root_fd);	/* a directory: nothing to be lost */
	free(totals);
}

uint64_t cc_budget_build_ns(struct cc_budget *budget)
{
	uint64_t builds;

	read_usage(budget);
	builds = atomic_load(&budget->builds);
	return builds ? atomic_load(&budget->build_ns) / builds : UNKNOWN_BUILD_NS;
}

void cc_budget_add_build(struct cc_budget *budget, uint64_t build_ns)
{
	if (!build_ns)
		return;		/* nobody knows how long it took */
	(void)atomic_fetch_add(&budget->builds, 1);
	(void)atomic_fetch_add(&budget->build_ns, build_ns);
	(void)atomic_fetch_add(&budget->compiled_ns, build_ns);
}

static uint64_t bounded(uint64_t value, uint64_t least, uint64_t most)
{
	if (value < least)
		return least;
	return value > most ? most : value;
}

uint64_t cc_budget_deadline(struct cc_budget *budget)
{
	return bounded(cc_budget_build_ns(budget) / 2, LEAST_DEADLINE_NS, MOST_DEADLINE_NS);
}

/* Whether what was lost still counts. */
static bool is_within_minute(const struct cc_budget *budget)
{
	uint64_t minute = atomic_load(&budget->minute);

	return minute && cmn_clock_monotonic() - minute < MINUTE_NS;
}

uint64_t cc_budget_left(struct cc_budget *budget)
{
	uint64_t deadline = cc_budget_deadline(budget), may, lost;

	if (!is_within_minute(budget))
		return deadline;
	may = deadline + atomic_load(&budget->compiled_ns) / COMPILED_PART;
	lost = atomic_load(&budget->lost_ns);
	if (lost > may || may - lost < deadline / LEAST_PART)
		return 0;
	return may - lost < deadline ? may - lost : deadline;
}

uint64_t cc_budget_claim_ns(struct cc_budget *budget)
{
	return bounded(CLAIM_BUILDS * cc_budget_build_ns(budget), LEAST_CLAIM_NS, MOST_CLAIM_NS);
}

void cc_budget_lose(struct cc_budget *budget, uint64_t ns)
{
	uint64_t minute = atomic_load(&budget->minute);

	if (!is_within_minute(budget) &&
	    atomic_compare_exchange_strong(&budget->minute, &minute, cmn_clock_monotonic())) {
		atomic_store(&budget->lost_ns, 0);
		atomic_store(&budget->compiled_ns, 0);
	}
	/* It must not begin anew from 0. */
	if (atomic_load(&budget->lost_ns) < ALL_NS)
		(void)atomic_fetch_add(&budget->lost_ns, ns < ALL_NS ? ns : ALL_NS);
	if (!cc_budget_left(budget))
		atomic_store(&budget->minute, cmn_clock_monotonic());
}

void cc_budget_lose_all(struct cc_budget *budget)
{
	cc_budget_lose(budget, ALL_NS);
}

void cc_budget_win(struct cc_budget *budget, uint64_t ns)
{
	uint64_t lost = atomic_load(&budget->lost_ns);

	while (lost && !atomic_compare_exchange_weak(&budget->lost_ns, &lost,
						     lost > ns ? lost - ns : 0))
		;
}
