/* SPDX-License-Identifier: MIT */
/* remote/budget: what look-ups may still cost. Time is the test's. */
#include "cachecore/remote/budget.h"

#include "tests/support/clock.h"
#include "tests/support/unit.h"

#define MS UINT64_C(1000000)
#define S (1000 * MS)
#define DEADLINE (500 * MS)	/* of a program that nothing is known of */
#define THREADS 4
#define MOST_TIMES 1000000
#define ENOUGH_TURNS 5000

static atomic_uint_least64_t now_ns;
static _Thread_local uint32_t delay;	/* of a thread that must not keep step with others: its last one; else 0 */
uint64_t test_clock(clockid_t id)
{
	if (id != CLOCK_MONOTONIC)
		return machine_clock(id);
	if (delay) {
		delay = delay * 1664525 + 1013904223;
		for (uint32_t i = delay >> 26; i; i--)
			(void)atomic_load(&now_ns);
	}
	return atomic_load(&now_ns);
}

static struct cc_budget budget;

BEFORE_EACH
{
	atomic_store(&now_ns, 1000 * S);
	cc_budget_init(&budget, NULL);
}

static void pass(uint64_t ns)
{
	atomic_fetch_add(&now_ns, ns);
}

TEST(a_program_that_nothing_is_known_of_has_compiles_of_a_second)
{
	cc_budget_add_build(&budget, 0);	/* nor how long this one took */
	CU_ASSERT_EQUAL(cc_budget_build_ns(&budget), S);
	CU_ASSERT_EQUAL(cc_budget_deadline(&budget), DEADLINE);
	CU_ASSERT_EQUAL(cc_budget_left(&budget), DEADLINE);
	CU_ASSERT_EQUAL(cc_budget_claim_ns(&budget), 4 * S);
}

TEST(times_are_shares_of_a_compile_within_bounds)
{
	static const struct {
		uint64_t build_ns, deadline_ns, claim_ns;
	} cases[] = {
		{ 1, 250 * MS, 2 * S }, { 500 * MS, 250 * MS, 2 * S },
		{ 502 * MS, 251 * MS, 2008 * MS }, { 6 * S - 2, 3 * S - 1, 24 * S - 8 },
		{ 6 * S + 2, 3 * S, 24 * S + 8 }, { 15 * S + 1, 3 * S, 60 * S },
		{ 3600 * S, 3 * S, 60 * S },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cc_budget_init(&budget, NULL);
		cc_budget_add_build(&budget, cases[i].build_ns);
		CU_ASSERT_EQUAL(cc_budget_build_ns(&budget), cases[i].build_ns);
		CU_ASSERT_EQUAL(cc_budget_deadline(&budget), cases[i].deadline_ns);
		CU_ASSERT_EQUAL(cc_budget_left(&budget), cases[i].deadline_ns);
		CU_ASSERT_EQUAL(cc_budget_claim_ns(&budget), cases[i].claim_ns);
	}
}

TEST(a_compile_takes_the_mean)
{
	cc_budget_add_build(&budget, S);
	cc_budget_add_build(&budget, 2 * S);
	cc_budget_add_build(&budget, 6 * S);
	CU_ASSERT_EQUAL(cc_budget_build_ns(&budget), 3 * S);
}

/* The mean of this program's compiles, with that stats.txt; NULL: there is none. */
static uint64_t mean_with(const char *totals)
{
	static char root[4200];

	(void)snprintf(root, sizeof(root), "%s/root", unit_dir());
	if (totals)
		unit_write("root/stats.txt", totals);
	cc_budget_init(&budget, root);
	return cc_budget_build_ns(&budget);
}

TEST(earlier_processes_compiles_count)
{
	CU_ASSERT_EQUAL(mean_with(NULL), S);
	CU_ASSERT_EQUAL_FATAL(mkdir("root", 0700), 0);
	unit_mark("root");
	CU_ASSERT_EQUAL(mean_with(NULL), S);
	CU_ASSERT_EQUAL(mean_with("program another 19000 1 2 10 4 90000000000 0 0 0\n"), S);
	CU_ASSERT_EQUAL(mean_with("program test_budget 19000 0 0 10 4 0 0 0 0\n"), S);	/* times that nobody knew */
	CU_ASSERT_EQUAL(mean_with("day 19000 0 0 99 0 99000000000 0 0 0\n"
				  "program another 19000 0 0 10 0 10000000000 0 0 0\n"
				  "program test_budget 19000 5 6 10 7 30000000000 8 0 0\n"
				  "others 0 0 10 0 10000000000 0 0 0\n"), 3 * S);
	/* It is read once, and goes on from there. */
	CU_ASSERT_EQUAL(unlink("root/stats.txt"), 0);
	CU_ASSERT_EQUAL(cc_budget_build_ns(&budget), 3 * S);
	cc_budget_add_build(&budget, 14 * S);
	CU_ASSERT_EQUAL(cc_budget_build_ns(&budget), 4 * S);
	/* Compiles of earlier processes pay for nothing. */
	cc_budget_lose(&budget, 4 * S);
	CU_ASSERT_EQUAL(cc_budget_left(&budget), 0);
}

TEST(numbers_of_a_damaged_file_do_no_harm)
{
	CU_ASSERT_EQUAL_FATAL(mkdir("root", 0700), 0);
	unit_mark("root");
	(void)mean_with("program test_budget 1 0 0 18446744073709551615 0 18446744073709551615 0 0 0\n");
	cc_budget_add_build(&budget, S);	/* so many compiles are none */
	CU_ASSERT_EQUAL(cc_budget_build_ns(&budget), S);
	(void)mean_with("program test_budget 1 0 0 1 0 18446744073709551615 0 0 0\n");
	CU_ASSERT_EQUAL(cc_budget_deadline(&budget), 3 * S);
	CU_ASSERT(cc_budget_claim_ns(&budget) >= 2 * S && cc_budget_claim_ns(&budget) <= 60 * S);
}

TEST(what_was_lost_is_missing_for_a_minute)
{
	cc_budget_lose(&budget, 100 * MS);
	CU_ASSERT_EQUAL(cc_budget_left(&budget), 400 * MS);
	pass(30 * S);
	cc_budget_lose(&budget, 200 * MS);
	CU_ASSERT_EQUAL(cc_budget_left(&budget), 200 * MS);
	/* Since the first time. */
	pass(30 * S - 1);
	CU_ASSERT_EQUAL(cc_budget_left(&budget), 200 * MS);
	pass(1);
	CU_ASSERT_EQUAL(cc_budget_left(&budget), DEADLINE);
	cc_budget_lose(&budget, 50 * MS);
	CU_ASSERT_EQUAL(cc_budget_left(&budget), 450 * MS);
	/* The next minute begins with the next loss. */
	pass(59 * S);
	CU_ASSERT_EQUAL(cc_budget_left(&budget), 450 * MS);
}

TEST(a_machine_may_have_started_just_now)
{
	atomic_store(&now_ns, 30 * S);
	CU_ASSERT_EQUAL(cc_budget_left(&budget), DEADLINE);
	cc_budget_lose(&budget, 400 * MS);
	pass(31 * S);
	CU_ASSERT_EQUAL(cc_budget_left(&budget), 100 * MS);
}

TEST(with_less_than_an_eighth_nothing_is_tried)
{
	cc_budget_lose(&budget, DEADLINE - DEADLINE / 8);
	CU_ASSERT_EQUAL(cc_budget_left(&budget), DEADLINE / 8);
	cc_budget_lose(&budget, 1);
	CU_ASSERT_EQUAL(cc_budget_left(&budget), 0);
	cc_budget_lose(&budget, DEADLINE);
	CU_ASSERT_EQUAL(cc_budget_left(&budget), 0);
}

TEST(where_nothing_is_left_a_minute_begins)
{
	cc_budget_lose(&budget, 100 * MS);
	pass(59 * S);
	cc_budget_lose(&budget, 400 * MS);
	CU_ASSERT_EQUAL(cc_budget_left(&budget), 0);
	pass(60 * S - 1);
	CU_ASSERT_EQUAL(cc_budget_left(&budget), 0);
	pass(1);
	CU_ASSERT_EQUAL(cc_budget_left(&budget), DEADLINE);
}

TEST(a_tenth_of_what_is_compiled_meanwhile_may_be_lost_too)
{
	cc_budget_add_build(&budget, S);	/* before: pays for nothing */
	cc_budget_lose(&budget, DEADLINE);
	CU_ASSERT_EQUAL(cc_budget_left(&budget), 0);
	cc_budget_add_build(&budget, S);
	CU_ASSERT_EQUAL(cc_budget_left(&budget), 100 * MS);
	cc_budget_add_build(&budget, S);
	CU_ASSERT_EQUAL(cc_budget_left(&budget), 200 * MS);
	cc_budget_lose(&budget, 50 * MS);
	CU_ASSERT_EQUAL(cc_budget_left(&budget), 150 * MS);
	/* No look-up takes more than a deadline. */
	for (int i = 0; i < 10; i++)
		cc_budget_add_build(&budget, S);
	CU_ASSERT_EQUAL(cc_budget_left(&budget), DEADLINE);
	/* In the next minute they pay for nothing. */
	pass(60 * S);
	cc_budget_lose(&budget, DEADLINE);
	CU_ASSERT_EQUAL(cc_budget_left(&budget), 0);
}

TEST(what_is_saved_is_won_back_and_no_more)
{
	cc_budget_win(&budget, 10 * S);
	cc_budget_lose(&budget, 300 * MS);
	CU_ASSERT_EQUAL(cc_budget_left(&budget), 200 * MS);
	cc_budget_win(&budget, 100 * MS);
	CU_ASSERT_EQUAL(cc_budget_left(&budget), 300 * MS);
	cc_budget_win(&budget, 200 * MS);
	CU_ASSERT_EQUAL(cc_budget_left(&budget), DEADLINE);
	cc_budget_lose(&budget, 300 * MS);
	cc_budget_win(&budget, UINT64_MAX);
	CU_ASSERT_EQUAL(cc_budget_left(&budget), DEADLINE);
	cc_budget_lose(&budget, DEADLINE);
	CU_ASSERT_EQUAL(cc_budget_left(&budget), 0);
}

TEST(all_is_lost_for_a_minute_whatever_is_compiled_or_won)
{
	cc_budget_lose_all(&budget);
	CU_ASSERT_EQUAL(cc_budget_left(&budget), 0);
	cc_budget_add_build(&budget, 3600 * S);
	CU_ASSERT_EQUAL(cc_budget_left(&budget), 0);
	cc_budget_win(&budget, 3600 * S);
	CU_ASSERT_EQUAL(cc_budget_left(&budget), 0);
	pass(60 * S - 1);
	CU_ASSERT_EQUAL(cc_budget_left(&budget), 0);
	pass(1);
	CU_ASSERT(cc_budget_left(&budget) > 0);
}

TEST(no_sum_begins_anew_from_zero)
{
	bool is_lost = true;

	cc_budget_lose(&budget, 1);
	for (int i = 0; i < 3; i++) {
		cc_budget_lose(&budget, UINT64_MAX);
		CU_ASSERT_EQUAL(cc_budget_left(&budget), 0);
		cc_budget_lose(&budget, UINT64_MAX / 2 + 1);
		CU_ASSERT_EQUAL(cc_budget_left(&budget), 0);
	}
	for (int i = 0; i < 20000; i++) {
		cc_budget_lose_all(&budget);
		is_lost = is_lost && !cc_budget_left(&budget);
	}
	CU_ASSERT(is_lost);
	pass(60 * S);
	CU_ASSERT_EQUAL(cc_budget_left(&budget), DEADLINE);
}

static atomic_uint started, last;
static atomic_uint_least64_t turns, times;

/* Until the threads have come between each other often enough, as far as the machine lets them. */
static void *lose_and_win(void *arg)
{
	unsigned int number = atomic_fetch_add(&started, 1);
	uint64_t done = 0;

	delay = number + 1;
	(void)pthread_barrier_wait(arg);
	for (; done < MOST_TIMES && atomic_load(&turns) < ENOUGH_TURNS; done++) {
		cc_budget_lose(&budget, 200);
		cc_budget_win(&budget, 100);
		cc_budget_add_build(&budget, 2 * S);
		if (done % 16 == 0 && atomic_exchange(&last, number) != number)
			atomic_fetch_add(&turns, 1);
	}
	atomic_fetch_add(&times, done);
	return NULL;
}

TEST(threads_lose_and_win_at_once)
{
	pthread_barrier_t barrier;

	CU_ASSERT_EQUAL_FATAL(pthread_barrier_init(&barrier, NULL, THREADS), 0);
	cc_budget_add_build(&budget, 2 * S);
	cc_budget_lose(&budget, 800 * MS);
	unit_run_threads(THREADS, lose_and_win, &barrier, 0);
	(void)pthread_barrier_destroy(&barrier);	/* nobody waits any more */
	CU_ASSERT_EQUAL(cc_budget_build_ns(&budget), 2 * S);
	CU_ASSERT_EQUAL(atomic_load(&budget.lost_ns), 800 * MS + atomic_load(&times) * 100);
	CU_ASSERT_EQUAL(atomic_load(&budget.compiled_ns), atomic_load(&times) * 2 * S);
}
