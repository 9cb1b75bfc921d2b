/* SPDX-License-Identifier: MIT */
/*
 * budget: what a program's compiles take, and what the remote tier may cost this
 * process: within a minute one deadline, which is a share of a compile, and a tenth of
 * what it compiled meanwhile. What look-ups took in vain is lost, what hits saved is
 * won back. Where nothing is left, the tier is left alone for a minute.
 * Thread-safe; in a forked child it goes on. All times are in nanoseconds.
 */
#ifndef CACHECORE_REMOTE_BUDGET_H
#define CACHECORE_REMOTE_BUDGET_H

#include <stdatomic.h>
#include <stdint.h>

struct cc_budget {
	const char *root;	/* whose usage says what compiles took; NULL: none. Borrowed */
	atomic_bool usage_read;
	atomic_uint_least64_t builds, build_ns;	/* of this program, here and earlier */
	atomic_uint_least64_t minute;	/* monotonic: when something was lost first, or the rest; 0: never */
	atomic_uint_least64_t lost_ns, compiled_ns;	/* in that minute */
};

void cc_budget_init(struct cc_budget *budget, const char *root);
/* What one of this program's compiles takes. */
uint64_t cc_budget_build_ns(struct cc_budget *budget);
void cc_budget_add_build(struct cc_budget *budget, uint64_t build_ns);

/* In so much time a look-up is to be answered. */
uint64_t cc_budget_deadline(struct cc_budget *budget);
/* The same, or what is left of it; 0: the tier is to be left alone. */
uint64_t cc_budget_left(struct cc_budget *budget);
/* So long another machine's compile is waited for: some of this program's, since compiles differ and it may be busy. */
uint64_t cc_budget_claim_ns(struct cc_budget *budget);

void cc_budget_lose(struct cc_budget *budget, uint64_t ns);
void cc_budget_lose_all(struct cc_budget *budget);
void cc_budget_win(struct cc_budget *budget, uint64_t ns);

#endif
