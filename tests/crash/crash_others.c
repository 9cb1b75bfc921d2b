/* SPDX-License-Identifier: MIT */
/* crash_others: statistics, tokens, events, recipes and build locks, cut at every point. */
#include "cachecore/disk/build_lock.h"
#include "cachecore/disk/reuse.h"
#include "cachecore/disk/writer/recipes.h"
#include "cachecore/record/totals.h"
#include "tests/crash/bench.h"
#include "tests/crash/effort.h"
#include "tests/crash/others.h"
#include "tests/support/unit.h"

static struct bench bench;

static void know(uint64_t ns)
{
	unsigned int i = 0;

	while (bench.parts[i])
		i++;
	bench.parts[i] = ns;
}

/* Of many digits, of which some can be lost. */
static void count(uint64_t ns, bool folds)
{
	CU_ASSERT_TRUE(others_count(bench.root, ns, folds));
	know(ns);
}

TEST(the_first_statistics)
{
	bench_open(&bench, "first_statistics", BENCH_STATS);
	count(7777777, false);
	bench_close(&bench, &effort);
}

/* What earlier logs came to. */
static void begin_with(uint64_t ns)
{
	CU_ASSERT_TRUE(others_begin(bench.root, ns));
	know(ns);
	bench_sync(&bench);
}

TEST(statistics_that_grow)
{
	bench_open(&bench, "statistics", BENCH_STATS);
	begin_with(95000001);
	count(10000009, true);
	CU_ASSERT_EQUAL(cc_totals_zero(bench.root), CMN_OK);
	count(34567891, true);
	bench_close(&bench, &effort);
}

/* Nothing counts twice. Any part that was not synced may be lost. */
TEST(statistics_that_are_added_up)
{
	bench_open(&bench, "added_statistics", BENCH_STATS);
	begin_with(95000001);
	count(10000009, false);
	count(20000000, false);
	count(34567891, true);
	bench_close(&bench, &effort);
}

/* In place, a slot of one file. */
TEST(tokens)
{
	bench_open(&bench, "tokens", BENCH_TOKENS);
	for (unsigned int run = 0; run < 2; run++)
		CU_ASSERT_TRUE(others_admit(bench.root, run));
	bench_sync(&bench);
	for (unsigned int run = 2; run < 5; run++)
		CU_ASSERT_TRUE(others_admit(bench.root, run));
	CU_ASSERT_EQUAL(cc_reuse_clear(bench.root), CMN_OK);
	CU_ASSERT_TRUE(others_admit(bench.root, 5));
	bench_close(&bench, &effort);
}

/* Records at the end of one file. */
TEST(events)
{
	bench_open(&bench, "events", BENCH_EVENTS);
	for (unsigned int i = 0; i < 2; i++)
		others_note(bench.root, i);
	bench_sync(&bench);
	for (unsigned int i = 2; i < 5; i++)
		others_note(bench.root, i);
	bench_close(&bench, &effort);
}

static void put_recipe(unsigned int number)
{
	struct cmn_buffer recipe = bench_recipe(number);

	CU_ASSERT_EQUAL(cc_recipes_put(bench.root, cmn_buffer_view(&recipe)), CMN_OK);
	bench.recipes = number >= bench.recipes ? number + 1 : bench.recipes;
	cmn_buffer_release(&recipe);
}

TEST(the_first_recipes)
{
	bench_open(&bench, "first_recipes", BENCH_RECIPES);
	put_recipe(0);
	put_recipe(1);
	bench_close(&bench, &effort);
}

static void attempt(int fd, unsigned int number, unsigned int attempts)
{
	struct cmn_buffer file = bench_recipe(number);
	struct cc_recipe recipe;
	char name[CC_RECIPE_NAME_SIZE];

	CU_ASSERT_EQUAL_FATAL(cc_recipe_decode(cmn_buffer_view(&file), &recipe), CMN_OK);
	cc_recipe_name(recipe.key, name);
	CU_ASSERT_EQUAL(attempts > 2 ? cc_recipes_quarantine(fd, name)
				     : cc_recipes_set_attempts(fd, name, attempts), CMN_OK);
	bench.attempts = attempts > bench.attempts ? attempts : bench.attempts;
	cmn_buffer_release(&file);
}

/* As replay does: tried, tried again, given up; and one that worked is removed. */
TEST(recipes_that_are_tried)
{
	struct cmn_buffer file = bench_recipe(1);
	struct cc_recipe recipe;
	char name[CC_RECIPE_NAME_SIZE];
	int fd = -1;

	bench_open(&bench, "recipes", BENCH_RECIPES);
	for (unsigned int i = 0; i < 3; i++)
		put_recipe(i);
	bench_sync(&bench);
	CU_ASSERT_EQUAL_FATAL(cc_recipes_open(bench.root, &fd), CMN_OK);
	for (unsigned int i = 1; i <= 3; i++)
		attempt(fd, 0, i);
	CU_ASSERT_EQUAL_FATAL(cc_recipe_decode(cmn_buffer_view(&file), &recipe), CMN_OK);
	cc_recipe_name(recipe.key, name);
	CU_ASSERT_EQUAL(cc_recipes_remove(fd, name), CMN_OK);
	put_recipe(3);
	(void)close(fd);
	cmn_buffer_release(&file);
	bench_close(&bench, &effort);
}

/* A build with a store in it, and one that the crash ends. */
TEST(builds_and_a_store)
{
	struct cc_build_lock *first = NULL, *second = NULL;
	struct cc_key key;

	bench_open(&bench, "builds", BENCH_BUILDS);
	bench_key(&key, 0);
	CU_ASSERT_EQUAL(cc_build_lock_take(bench.root, cc_key_view(&key), 0, &first), CC_BUILD_OWN);
	bench_put(&bench, 0, 0);
	cc_build_lock_release(first);
	CU_ASSERT_EQUAL(cc_build_lock_take(bench.root, cc_key_view(&key), 0, &second), CC_BUILD_OWN);
	cc_key_release(&key);
	bench_close(&bench, &effort);
	cc_build_lock_release(second);
}

/* What a process leaves that builds, stores, counts and evicts, all unsynced. */
TEST(everything_with_nothing_on_disk)
{
	bench_open(&bench, "everything",
		   BENCH_STATS | BENCH_TOKENS | BENCH_RECIPES | BENCH_BUILDS);
	CU_ASSERT_TRUE(others_admit(bench.root, 0));
	put_recipe(0);
	bench_put(&bench, 0, 0);
	count(21222324, false);
	bench_put(&bench, 1, 0);
	CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
	count(21222324, true);
	bench_remove(&bench, 0);
	bench_close(&bench, &effort);
}
