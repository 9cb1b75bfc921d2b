/* SPDX-License-Identifier: MIT */
/*
 * test_settings: what a driver that no row knows may have read once in the process counts for its later builds,
 * whatever became of the one that read it. Each test is a child, of which nothing is learned.
 */
#include "tests/unit/layers/shared/observer/observing.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "layers/shared/driver/loaded.h"
#include "layers/shared/observer/observer_notes.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

static bool ends_meanwhile;	/* another build, while one that is over is judged */

static struct drv_observation *begin_unknown(void)
{
	return begin_as(drv_driver_of("libother.so"), false);
}

static enum cmn_status end_unknown(struct drv_observation *observation)
{
	observed("stat", "absent.h");
	return end_with(observation, NULL, false);
}

void __real_drv_dependencies_judge(struct drv_observation *observation);
WRAPPED(void, drv_dependencies_judge, (struct drv_observation *observation))
{
	if (ends_meanwhile) {
		ends_meanwhile = false;
		EXPECT_UNKNOWN(end_unknown(begin_unknown()), "observer-blind");
	}
	__real_drv_dependencies_judge(observation);
}

static void in_child(void (*test)(void))
{
	pid_t child = fork();

	if (child == 0) {
		test();
		_exit(CU_get_number_of_failures() != 0);
	}
	CU_ASSERT(unit_ended_well(child));
}

static void drop(void)
{
	struct drv_observation *observation = begin_unknown();

	observed("access", unit_path("deep/settings"));
	drv_observer_drop(observation);
	EXPECT_DEPENDS(end_unknown(begin_unknown()), CC_DEPENDENCY_ABSENT, unit_path("deep/settings"));
}

TEST(what_a_dropped_build_read_counts)
{
	in_child(drop);
}

static void go_on(void)
{
	struct drv_observation *first = begin_unknown(), *second;

	observed("access", unit_path("deep/settings"));
	second = begin_unknown();
	EXPECT_DEPENDS(end_unknown(second), CC_DEPENDENCY_ABSENT, unit_path("deep/settings"));
	/* What it has not learned yet, since it may be of the driver's cache, nobody knows. */
	ends_meanwhile = true;
	CU_ASSERT_EQUAL(end_unknown(first), CMN_OK);
	CU_ASSERT_FALSE(ends_meanwhile);
	EXPECT_DEPENDS(end_unknown(begin_unknown()), CC_DEPENDENCY_ABSENT, unit_path("deep/settings"));
}

static void go_on_in_parent(void)
{
	struct drv_observation *going_on = begin_unknown();
	pid_t child;

	observed("access", unit_path("deep/settings"));
	child = fork();
	if (child == 0) {
		EXPECT_DEPENDS(end_unknown(begin_unknown()), CC_DEPENDENCY_ABSENT, unit_path("deep/settings"));
		_exit(CU_get_number_of_failures() != 0);
	}
	CU_ASSERT(unit_ended_well(child));
	CU_ASSERT_EQUAL(end_unknown(going_on), CMN_OK);
}

TEST(what_a_build_that_goes_on_read_counts)
{
	in_child(go_on);
	in_child(go_on_in_parent);
}

/* One that the layer lets pass: of a driver that is told, or of one that has built before. */
static void pass_seen(void)
{
	struct drv_observation *observation = drv_observer_pass(&(struct drv_observer_request){
		.driver = drv_driver_of("libother.so"), .libraries = { .address = (const void *)observed } });

	observed("access", unit_path("deep/settings"));
	drv_observer_drop(observation);
	observation = drv_observer_pass(NULL);
	observed("access", unit_path("deep/more-settings"));
	drv_observer_drop(observation);
	drv_observer_miss();	/* one that cannot be observed is not the first */
	EXPECT_DEPENDS(end_unknown(begin_unknown()), CC_DEPENDENCY_ABSENT, unit_path("deep/settings"));
	CU_ASSERT(depends_on(CC_DEPENDENCY_ABSENT, unit_path("deep/more-settings")));
}

TEST(what_a_build_without_a_key_read_counts)
{
	in_child(pass_seen);
}

/* What changed while it was read may be what was read, whatever it is now. */
static void change(void)
{
	struct drv_observation *observation = begin_unknown();

	observed("access", unit_path("deep/settings"));
	unit_write("deep/settings", "");
	observed("access", unit_path("deep/settings"));
	CU_ASSERT_EQUAL(unlink("deep/settings"), 0);
	EXPECT_UNKNOWN(end_unknown(observation), "include-changed");
	EXPECT_UNKNOWN(end_unknown(begin_unknown()), "include-changed");
	observation = begin_unknown();
	observed("access", unit_path("deep/settings"));
	EXPECT_DEPENDS(end_unknown(observation), CC_DEPENDENCY_ABSENT, unit_path("deep/settings"));
	EXPECT_DEPENDS(end_unknown(begin_unknown()), CC_DEPENDENCY_ABSENT, unit_path("deep/settings"));
}

TEST(a_setting_that_changed_meanwhile_is_not_certain)
{
	in_child(change);
}

/* Those that come after it, and one that goes on meanwhile; drivers with rows are known to read nothing. */
static void expect_blind(struct drv_observation *going_on)
{
	EXPECT_UNKNOWN(end_unknown(going_on), "observer-blind");
	EXPECT_UNKNOWN(end_unknown(begin_unknown()), "observer-blind");
	CU_ASSERT_EQUAL(watch("stat", "absent.h"), CMN_OK);
}

static void switch_off(void)
{
	struct drv_observation *going_on = begin_unknown();

	drv_observer_drop(drv_observer_begin(&(struct drv_observer_request){
		.driver = drv_driver_of("libother.so"), .switched_off = true }));
	expect_blind(going_on);
}

static void miss(void)
{
	struct drv_observation *going_on = begin_unknown();

	drv_observer_miss();
	expect_blind(going_on);
}

static void pass(void)
{
	struct drv_observation *going_on = begin_unknown();

	CU_ASSERT_PTR_NULL(drv_observer_pass(NULL));
	expect_blind(going_on);
}

/* A name below a directory that is not open. */
static void miss_a_look(void)
{
	struct drv_observation *going_on = begin_unknown(), *missing = begin_unknown();

	drv_note_look(1000000, "settings", ENOENT, NULL, -1);
	EXPECT_UNKNOWN(end_unknown(missing), "header-unreadable");
	expect_blind(going_on);
}

TEST(what_nobody_saw_is_not_known_later)
{
	in_child(switch_off);
	in_child(miss);
	in_child(pass);
	in_child(miss_a_look);
}

int main(int argc, char **argv)
{
	if (argc != 2 || !observing_load(argv[1]) || !observing_fork())
		return 2;
	return unit_run(NULL);
}
