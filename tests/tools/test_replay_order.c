/* SPDX-License-Identifier: MIT */
/* test_replay_order: which recipe is next, by what is known of them. */
#include "cachecore/key.h"
#include "common/clock.h"
#include "tests/support/unit.h"
#include "tools/replay/replay.h"

#define S UINT64_C(1000000000)
#define DAY (86400 * S)

static struct replay_order order;
static struct replay_worths worths;
static const struct replay_settings settings;
static char names[8][CC_RECIPE_NAME_SIZE];	/* of the recipes that were left */
static int fd = -1;

/* A recipe's directory is all that a worker here depends on. */
struct cmn_hash replay_surroundings(const struct cc_recipe *recipe, const struct replay_settings *given)
{
	CU_ASSERT_PTR_EQUAL(given, &settings);
	return cmn_hash_of(recipe->directory.data, recipe->directory.len);
}

/* The i-th recipe, for that directory, of that age. */
static void leave(unsigned int i, const char *directory, unsigned int age_s)
{
	const uint64_t now_s = cmn_clock_realtime() / S;
	struct timespec times[2] = { { .tv_sec = (time_t)(now_s - age_s) }, { .tv_sec = (time_t)(now_s - age_s) } };
	struct cc_recipe recipe = { .directory = cmn_view_of(directory) };
	struct cmn_buffer encoded = { 0 };
	char root[4096];
	struct cc_key key;

	(void)snprintf(root, sizeof(root), "%s/root", unit_dir());
	cc_key_init(&key);
	cc_key_add_u64(&key, CC_PART_IMAGE, "source", i);
	recipe.key = cc_key_view(&key);
	cc_recipe_name(recipe.key, names[i]);
	CU_ASSERT_EQUAL_FATAL(cc_recipe_encode(&recipe, &encoded), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(cc_recipes_put(root, cmn_buffer_view(&encoded)), CMN_OK);
	cmn_buffer_release(&encoded);
	cc_key_release(&key);
	if (fd < 0)
		CU_ASSERT_EQUAL_FATAL(cc_recipes_open(root, &fd), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(utimensat(fd, names[i], times, 0), 0);
}

static void read_order(void)
{
	CU_ASSERT_EQUAL_FATAL(replay_order_read(&order, fd, &settings, &worths), CMN_OK);
}

/* The number of the next one of that directory (NULL: of any); -1: none. */
static int next(const char *directory)
{
	struct cmn_hash surroundings;
	const struct replay_due *due;

	if (directory)
		surroundings = cmn_hash_of(directory, strlen(directory));
	due = replay_order_next(&order, directory ? &surroundings : NULL);
	for (int i = 0; due && i < 8; i++) {
		if (strcmp(names[i], due->name) == 0)
			return i;
	}
	CU_ASSERT_PTR_NULL(due);
	return -1;
}

BEFORE_EACH
{
	memset(names, 0, sizeof(names));
	order = (struct replay_order){ 0 };
	worths = (struct replay_worths){ 0 };
}

AFTER_EACH
{
	replay_order_release(&order);
	free(worths.items);
	if (fd >= 0)
		(void)close(fd);	/* nothing was written through it */
	fd = -1;
}

TEST(long_builds_and_late_uses_are_worth_most)
{
	CU_ASSERT(replay_worth_of(2 * S, 10 * DAY, 11 * DAY) > replay_worth_of(S, 10 * DAY, 11 * DAY));
	CU_ASSERT(replay_worth_of(S, 10 * DAY, 11 * DAY) > replay_worth_of(S, 9 * DAY, 11 * DAY));
	CU_ASSERT_DOUBLE_EQUAL(replay_worth_of(2 * S, 10 * DAY, 11 * DAY),
			       replay_worth_of(S, 11 * DAY, 11 * DAY), 1.0);
	/* Clocks may go back. */
	CU_ASSERT_DOUBLE_EQUAL(replay_worth_of(S, 20 * DAY, 11 * DAY), (double)S, 1e-6);
}

TEST(unknown_ones_are_due_by_their_age)
{
	leave(0, "/a", 4000);
	leave(1, "/a", 0);
	leave(2, "/a", 90000);
	read_order();
	CU_ASSERT_EQUAL(next(NULL), 1);
	CU_ASSERT_EQUAL(next(NULL), 0);
	CU_ASSERT_EQUAL(next(NULL), 2);
	CU_ASSERT_EQUAL(next(NULL), -1);
}

TEST(known_ones_are_due_by_their_worth)
{
	leave(0, "/a", 0);
	leave(1, "/a", 50);
	leave(2, "/a", 0);
	replay_worths_add(&worths, names[0], 1.0);
	replay_worths_add(&worths, names[2], 1e18);
	CU_ASSERT_TRUE(replay_worths_has(&worths, names[2]));
	CU_ASSERT_FALSE(replay_worths_has(&worths, names[1]));
	read_order();
	CU_ASSERT_EQUAL(next(NULL), 2);
	CU_ASSERT_EQUAL(next(NULL), 1);
	CU_ASSERT_EQUAL(next(NULL), 0);
}

TEST(equal_ones_are_due_by_name)
{
	int first;

	leave(0, "/a", 100);
	leave(1, "/a", 100);
	replay_worths_add(&worths, names[0], 5.0);
	replay_worths_add(&worths, names[1], 5.0);
	read_order();
	first = strcmp(names[0], names[1]) < 0 ? 0 : 1;
	CU_ASSERT_EQUAL(next(NULL), first);
	CU_ASSERT_EQUAL(next(NULL), 1 - first);
}

TEST(a_worker_gets_those_of_its_surroundings)
{
	leave(0, "/a", 10);
	leave(1, "/b", 5000);
	leave(2, "/a", 10000);
	read_order();
	CU_ASSERT_EQUAL(next("/b"), 1);
	CU_ASSERT_EQUAL(next("/b"), -1);
	CU_ASSERT_EQUAL(next("/a"), 0);
	CU_ASSERT_EQUAL(next("/a"), 2);
	CU_ASSERT_EQUAL(next("/a"), -1);
}

TEST(later_ones_come_beside_those_that_are_begun)
{
	leave(0, "/a", 1000);
	read_order();
	CU_ASSERT_EQUAL(next(NULL), 0);
	leave(1, "/a", 0);
	read_order();
	read_order();
	CU_ASSERT_EQUAL(order.count, 2);
	CU_ASSERT_EQUAL(next(NULL), 1);
	CU_ASSERT_EQUAL(next(NULL), -1);
	/* One is put back, the other is not. */
	order.items[0].begun = false;
	CU_ASSERT_EQUAL(next(NULL), 0);
	CU_ASSERT_EQUAL(next(NULL), -1);
}

TEST(one_that_is_left_anew_is_due_again)
{
	leave(0, "/a", 1000);
	read_order();
	leave(0, "/a", 900);
	read_order();
	CU_ASSERT_EQUAL(order.count, 1);
	CU_ASSERT_EQUAL(next(NULL), 0);
	read_order();
	CU_ASSERT_EQUAL(order.count, 2);	/* another file than when it was added */
	CU_ASSERT_EQUAL(next(NULL), 0);
	leave(0, "/a", 800);
	read_order();
	read_order();
	CU_ASSERT_EQUAL(order.count, 3);
	CU_ASSERT_EQUAL(next(NULL), 0);
	CU_ASSERT_EQUAL(next(NULL), -1);
	order.items[2].begun = false;
	CU_ASSERT_EQUAL(next(NULL), 0);
	CU_ASSERT_EQUAL(next(NULL), -1);
}

TEST(one_of_the_directory_can_be_chosen)
{
	leave(0, "/a", 0);
	leave(1, "/b", 0);
	replay_order_add(&order, fd, &settings, names[1], 0);
	CU_ASSERT_EQUAL(next("/b"), 1);
	CU_ASSERT_EQUAL(next(NULL), -1);
}
