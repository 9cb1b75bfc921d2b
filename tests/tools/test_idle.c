/* SPDX-License-Identifier: MIT */
/*
 * test_idle: priorities, power supplies and control groups that are files of the test's own, and budgets;
 * and that a worker of low priority is not one that hangs (child.h), with real processes.
 */
#include <sys/resource.h>
#include <sys/syscall.h>

#include "common/clock.h"
#include "tests/support/unit.h"
#include "tools/run/child.h"
#include "tools/worker/worker_process.h"

#define S UINT64_C(1000000000)

static void supply(const char *name, const char *what, const char *value)
{
	char path[120];

	(void)snprintf(path, sizeof(path), "power/%s/%s", name, what);
	unit_write(path, value);
}

TEST(idle_work_has_the_lowest_priorities)
{
	pid_t child = fork();
	int state;

	if (child == 0) {
		struct idle idle;

		idle_init(&idle, false, 0);
		if (sched_getscheduler(0) != SCHED_OTHER)
			_exit(1);
		idle_init(&idle, true, 0);
		_exit(sched_getscheduler(0) != SCHED_IDLE || getpriority(PRIO_PROCESS, 0) != 19 ||
		      syscall(SYS_ioprio_get, 1, 0) >> 13 != 3);
	}
	CU_ASSERT_EQUAL_FATAL(waitpid(child, &state, 0), child);
	CU_ASSERT(WIFEXITED(state) && WEXITSTATUS(state) == 0);
}

TEST(a_budget_ends_what_may_begin_and_can_begin_again)
{
	struct idle idle;

	idle_init(&idle, false, 0);
	CU_ASSERT(!idle_is_spent(&idle) && idle_lets_begin(&idle));
	idle.end = 0;
	CU_ASSERT(idle_is_spent(&idle) && !idle_lets_begin(&idle));
	idle_begin(&idle, 1000);
	CU_ASSERT(!idle_is_spent(&idle) && idle_lets_begin(&idle));
	idle.on_battery = true;
	CU_ASSERT(!idle_is_spent(&idle) && !idle_lets_begin(&idle));
}

TEST(battery_is_known_by_supplies)
{
	CU_ASSERT(!idle_on_battery("power"));	/* there are none */
	supply("BAT0", "type", "Battery\n");
	supply("BAT0", "status", "Full\n");
	CU_ASSERT(!idle_on_battery("power"));
	supply("BAT0", "status", "Discharging\n");
	CU_ASSERT(idle_on_battery("power"));
	supply("AC", "type", "Mains\n");
	supply("AC", "online", "1\n");
	CU_ASSERT(!idle_on_battery("power"));
	supply("AC", "online", "0\n");
	supply("BAT0", "status", "Unknown\n");
	CU_ASSERT(idle_on_battery("power"));
	/* Charged by another plug. */
	supply("USBC", "type", "USB\n");
	supply("USBC", "online", "0\n");
	CU_ASSERT(idle_on_battery("power"));
	supply("USBC", "online", "1\n");
	CU_ASSERT(!idle_on_battery("power"));
}

TEST(battery_of_a_mouse_does_not_count)
{
	supply("mouse", "type", "Battery\n");
	supply("mouse", "scope", "Device\n");
	supply("mouse", "status", "Discharging\n");
	CU_ASSERT(!idle_on_battery("power"));
	/* A port of a desktop with nothing in it. */
	supply("USBC", "type", "USB\n");
	supply("USBC", "online", "0\n");
	CU_ASSERT(!idle_on_battery("power"));
}

/* Uses the processor that it is on for so long, in ns of its own time. */
static void spin(clockid_t clock, uint64_t ns)
{
	struct timespec used;

	do
		(void)clock_gettime(clock, &used);
	while ((uint64_t)used.tv_sec * S + (uint64_t)used.tv_nsec < ns);
	_exit(0);
}

/* Of four on one processor each has a quarter of it. */
TEST(time_of_waiting_for_a_processor_is_not_the_workers)
{
	struct signalfd_siginfo info;
	struct child worker = { 0 };
	struct rlimit core;
	pid_t others[3];
	cpu_set_t all, one;

	CU_ASSERT_FATAL(sched_getaffinity(0, sizeof(all), &all) == 0);
	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++) {
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &one);
	}
	CU_ASSERT_FATAL(sched_setaffinity(0, sizeof(one), &one) == 0);
	for (size_t i = 0; i < 3; i++) {
		others[i] = fork();
		if (others[i] == 0)
			spin(CLOCK_PROCESS_CPUTIME_ID, 60 * S);
	}
	child_begin(CHILD_WORKERS);
	child_limit(&worker, S);
	if (child_fork(&worker) == 0) {
		if (getrlimit(RLIMIT_CORE, &core) < 0 || core.rlim_max)
			_exit(1);
		spin(CLOCK_PROCESS_CPUTIME_ID, S / 2);
	}
	CU_ASSERT(child_wait(&worker, 1, NULL, 0, &info) == &worker);
	CU_ASSERT(!worker.timed_out && worker.state == 0);
	/* Its own time counts. */
	child_limit(&worker, S / 10);
	if (child_fork(&worker) == 0)
		spin(CLOCK_PROCESS_CPUTIME_ID, 60 * S);
	CU_ASSERT(child_wait(&worker, 1, NULL, 0, &info) == &worker);
	CU_ASSERT(worker.timed_out);
	for (size_t i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(kill(others[i], SIGKILL), 0);
		CU_ASSERT_EQUAL(waitpid(others[i], NULL, 0), others[i]);
	}
	CU_ASSERT_EQUAL(sched_setaffinity(0, sizeof(all), &all), 0);
	child_over();
}

static bool is_limited(void)
{
	return idle_is_limited("own", "groups");
}

BEFORE_EACH
{
	unit_write("own", "1:cpu:/c\n0::/a/b\n");
}

TEST(what_is_not_there_or_has_no_bound_limits_nothing)
{
	CU_ASSERT_FALSE(is_limited());
	CU_ASSERT_FALSE(idle_is_limited("none", "groups"));
	unit_write("groups/a/b/cpu.max", "max 100000\n");
	unit_write("groups/a/b/memory.max", "max\n");
	unit_write("groups/a/b/memory.high", "max\n");
	unit_write("groups/a/b/pids.max", "max\n");
	CU_ASSERT_FALSE(is_limited());
	unit_write("own", "4:memory:/a\n");
	unit_write("groups/a/memory.max", "1000000\n");
	CU_ASSERT_FALSE(is_limited());
}

TEST(a_bound_of_its_group_or_of_one_above_limits_it)
{
	static const char *const places[][2] = {
		{ "groups/a/b/cpu.max", "50000 100000\n" }, { "groups/a/memory.max", "1000000\n" },
		{ "groups/memory.high", "0\n" },
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		unit_write(places[i][0], places[i][1]);
		CU_ASSERT_TRUE(is_limited());
		CU_ASSERT_EQUAL(unlink(places[i][0]), 0);
		CU_ASSERT_FALSE(is_limited());
	}
	unit_write("own", "0::/\n");
	CU_ASSERT_FALSE(is_limited());
	unit_write("groups/memory.max", "1000000\n");
	CU_ASSERT_TRUE(is_limited());
}

TEST(processes_are_limited_where_few_more_may_start)
{
	unit_write("groups/a/pids.max", "20000\n");
	unit_write("groups/a/pids.current", "300\n");
	CU_ASSERT_FALSE(is_limited());
	unit_write("groups/a/pids.current", "19500\n");
	CU_ASSERT_TRUE(is_limited());
	unit_write("groups/a/pids.max", "100\n");
	unit_write("groups/a/pids.current", "3\n");
	CU_ASSERT_TRUE(is_limited());
}
