/* SPDX-License-Identifier: MIT */
/* account: sums of times, in atomics: what threads add at once may be off by one of them. */
#include "cachecore/remote/account.h"

#include <stdlib.h>
#include <string.h>

#include "cachecore/disk/path.h"
#include "cachecore/disk/root.h"
#include "cachecore/record/stats.h"
#include "cachecore/record/usage.h"
#include "common/clock.h"
#include "common/descriptor.h"

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

void cc_account_init(struct cc_account *account, const char *root)
{
	*account = (struct cc_account){ .root = root };
}

/* What this program's compiles took in earlier processes. */
static void read_usage(struct cc_account *account)
{
	struct cc_usage *usage;
	int root_fd;

	if (atomic_exchange(&account->usage_read, true) || !account->root)
		return;
	usage = calloc(1, sizeof(*usage));
	if (!usage || cc_root_open(account->root, &root_fd) != CMN_OK) {
		free(usage);
		return;
	}
	if (cc_stats_load_usage(usage, root_fd) == CMN_OK) {
		for (size_t i = 0; i < usage->program_count; i++) {
			const struct cc_usage_program *program = &usage->programs[i];

			if (strcmp(program->name, cc_path_program()) != 0)
				continue;
			(void)atomic_fetch_add(&account->builds, program->counts.misses);
			(void)atomic_fetch_add(&account->build_ns, program->counts.spent_ns);
		}
	}
	(void)cmn_descriptor_close(root_fd);	/* a directory: nothing to be lost */
	free(usage);
}

uint64_t cc_account_build_ns(struct cc_account *account)
{
	uint64_t builds;

	read_usage(account);
	builds = atomic_load(&account->builds);
	return builds ? atomic_load(&account->build_ns) / builds : UNKNOWN_BUILD_NS;
}

void cc_account_add_build(struct cc_account *account, uint64_t build_ns)
{
	(void)atomic_fetch_add(&account->builds, 1);
	(void)atomic_fetch_add(&account->build_ns, build_ns);
	(void)atomic_fetch_add(&account->compiled_ns, build_ns);
}

static uint64_t bounded(uint64_t value, uint64_t least, uint64_t most)
{
	if (value < least)
		return least;
	return value > most ? most : value;
}

uint64_t cc_account_deadline(struct cc_account *account)
{
	return bounded(cc_account_build_ns(account) / 2, LEAST_DEADLINE_NS, MOST_DEADLINE_NS);
}

/* Whether what was lost still counts. */
static bool is_within_minute(const struct cc_account *account)
{
	uint64_t minute = atomic_load(&account->minute);

	return minute && cmn_clock_monotonic() - minute < MINUTE_NS;
}

uint64_t cc_account_left(struct cc_account *account)
{
	uint64_t deadline = cc_account_deadline(account), may, lost;

	if (!is_within_minute(account))
		return deadline;
	may = deadline + atomic_load(&account->compiled_ns) / COMPILED_PART;
	lost = atomic_load(&account->lost_ns);
	if (lost > may || may - lost < deadline / LEAST_PART)
		return 0;
	return may - lost < deadline ? may - lost : deadline;
}

uint64_t cc_account_claim_ns(struct cc_account *account)
{
	return bounded(CLAIM_BUILDS * cc_account_build_ns(account), LEAST_CLAIM_NS, MOST_CLAIM_NS);
}

void cc_account_lose(struct cc_account *account, uint64_t ns)
{
	uint64_t minute = atomic_load(&account->minute);

	if (!is_within_minute(account) &&
	    atomic_compare_exchange_strong(&account->minute, &minute, cmn_clock_monotonic())) {
		atomic_store(&account->lost_ns, 0);
		atomic_store(&account->compiled_ns, 0);
	}
	/* It must not begin anew from 0. */
	if (atomic_load(&account->lost_ns) < ALL_NS)
		(void)atomic_fetch_add(&account->lost_ns, ns < ALL_NS ? ns : ALL_NS);
	if (!cc_account_left(account))
		atomic_store(&account->minute, cmn_clock_monotonic());
}

void cc_account_lose_all(struct cc_account *account)
{
	cc_account_lose(account, ALL_NS);
}

void cc_account_win(struct cc_account *account, uint64_t ns)
{
	uint64_t lost = atomic_load(&account->lost_ns);

	while (lost && !atomic_compare_exchange_weak(&account->lost_ns, &lost,
						     lost > ns ? lost - ns : 0))
		;
}
