/* SPDX-License-Identifier: MIT */
/*
 * test_idle: what a machine's /proc and /sys mean for the number of workers, and that workers stand
 * still and go on. The directories are the test's own; the processes are real.
 */
#include "common/clock.h"
#include "tests/support/unit.h"
#include "tools/replay/idle.h"
#include "tools/replay/priority.h"

#define S UINT64_C(1000000000)

/* Nothing here is to be slow. */
void priority_lower(void)
{
}

/* A machine with processors 0 to count - 1, all this process's, below the test's directory. */
static struct idle_machine machine_of(unsigned int count)
{
	struct idle_machine machine;

	CU_ASSERT_FATAL(idle_machine_open(&machine));
	idle_machine_close(&machine);
	unit_write("proc/stat", "");
	unit_write("sys/empty", "");
	machine.proc = open("proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	machine.sys = open("sys", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CPU_ZERO_S(sizeof(machine.cpus), machine.cpus);
	for (unsigned int i = 0; i < count; i++)
		CPU_SET_S(i, sizeof(machine.cpus), machine.cpus);
	return machine;
}

static void siblings(unsigned int cpu, const char *list)
{
	char path[120];

	(void)snprintf(path, sizeof(path),
		       "sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", cpu);
	unit_write(path, list);
}

static void supply(const char *name, const char *what, const char *value)
{
	char path[120];

	(void)snprintf(path, sizeof(path), "sys/class/power_supply/%s/%s", name, what);
	unit_write(path, value);
}

TEST(this_machine_can_be_looked_at)
{
	struct idle_machine machine;
	struct idle_sample sample;

	CU_ASSERT_FATAL(idle_machine_open(&machine));
	CU_ASSERT(idle_machine_cores(&machine) >= 1);
	CU_ASSERT_FATAL(idle_machine_sample(&machine, NULL, 0, &sample));
	CU_ASSERT(sample.busy_ns > 0);
	idle_machine_close(&machine);
}

TEST(threads_of_a_core_count_once)
{
	struct idle_machine machine = machine_of(8);

	CU_ASSERT_EQUAL(idle_machine_cores(&machine), 8);	/* nothing is known of them */
	for (unsigned int i = 0; i < 4; i++) {
		char list[20];

		(void)snprintf(list, sizeof(list), "%u,%u\n", i, i + 4);
		siblings(i, list);
		siblings(i + 4, list);
	}
	CU_ASSERT_EQUAL(idle_machine_cores(&machine), 4);
	/* One whose first thread is another's counts by its second. */
	CPU_CLR_S(0, sizeof(machine.cpus), machine.cpus);
	CU_ASSERT_EQUAL(idle_machine_cores(&machine), 4);
	CPU_CLR_S(4, sizeof(machine.cpus), machine.cpus);
	CU_ASSERT_EQUAL(idle_machine_cores(&machine), 3);
	siblings(1, "0-7\n");
	siblings(2, "0-7\n");
	siblings(3, "0-7\n");
	siblings(5, "0-7\n");
	CU_ASSERT_EQUAL(idle_machine_cores(&machine), 1);
	/* Of three the second is ours and counts for the third. */
	siblings(5, "0,3,5\n");
	siblings(3, "3\n");
	siblings(1, "1\n");
	siblings(2, "1,2\n");
	siblings(6, "3,6\n");
	siblings(7, "3,7\n");
	CU_ASSERT_EQUAL(idle_machine_cores(&machine), 2);
	siblings(1, "0-7\n");
	siblings(2, "0-7\n");
	siblings(3, "0-7\n");
	siblings(5, "0-7\n");
	siblings(6, "rubbish");
	siblings(7, "9999999999999999999999-");
	CU_ASSERT_EQUAL(idle_machine_cores(&machine), 3);
	idle_machine_close(&machine);
}

TEST(limit_of_control_groups_counts)
{
	struct idle_machine machine = machine_of(8);

	unit_write("proc/self/cgroup", "1:cpu:/x\n0::/user.slice/app\n");
	CU_ASSERT_EQUAL(idle_machine_cores(&machine), 8);
	unit_write("sys/fs/cgroup/user.slice/app/cpu.max", "max 100000\n");
	CU_ASSERT_EQUAL(idle_machine_cores(&machine), 8);
	unit_write("sys/fs/cgroup/user.slice/cpu.max", "350000 100000\n");
	CU_ASSERT_EQUAL(idle_machine_cores(&machine), 3);
	unit_write("sys/fs/cgroup/cpu.max", "200000 100000\n");
	CU_ASSERT_EQUAL(idle_machine_cores(&machine), 2);
	unit_write("sys/fs/cgroup/user.slice/app/cpu.max", "10000 100000\n");
	CU_ASSERT_EQUAL(idle_machine_cores(&machine), 1);
	/* Of a namespace, or damaged. */
	unit_write("proc/self/cgroup", "0::/\n");
	CU_ASSERT_EQUAL(idle_machine_cores(&machine), 2);
	unit_write("proc/self/cgroup", "0::/../../user.slice\n");
	CU_ASSERT_EQUAL(idle_machine_cores(&machine), 8);
	unit_write("proc/self/cgroup", "0::/user.slice\n");
	unit_write("sys/fs/cgroup/user.slice/cpu.max", "5 0\n");
	CU_ASSERT_EQUAL(idle_machine_cores(&machine), 2);
	idle_machine_close(&machine);
}

TEST(limit_of_control_groups_of_version_1_counts)
{
	struct idle_machine machine = machine_of(8);

	unit_write("proc/self/cgroup", "9:name=systemd:/\n4:cpu,cpuacct:/docker/a\n3:cpuset:/b\n0::/\n");
	unit_write("sys/fs/cgroup/cpu,cpuacct/docker/a/cpu.cfs_quota_us", "-1\n");
	unit_write("sys/fs/cgroup/cpu,cpuacct/docker/a/cpu.cfs_period_us", "100000\n");
	CU_ASSERT_EQUAL(idle_machine_cores(&machine), 8);
	CU_ASSERT_FALSE(idle_machine_is_limited(&machine));
	unit_write("sys/fs/cgroup/cpu,cpuacct/docker/a/cpu.cfs_quota_us", "650000\n");
	CU_ASSERT_EQUAL(idle_machine_cores(&machine), 6);
	CU_ASSERT_TRUE(idle_machine_is_limited(&machine));
	/* The least of all above it; in a container the last one is all that there is. */
	unit_write("sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "200000\n");
	CU_ASSERT_EQUAL(idle_machine_cores(&machine), 6);	/* no period */
	unit_write("sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_period_us", "50000\n");
	CU_ASSERT_EQUAL(idle_machine_cores(&machine), 4);
	unit_write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "30000\n");
	unit_write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "10000\n");
	CU_ASSERT_EQUAL(idle_machine_cores(&machine), 3);
	unit_write("proc/self/cgroup", "4:cpuset,cpu:/docker/a\n");
	CU_ASSERT_EQUAL(idle_machine_cores(&machine), 3);
	/* Of version 2 beside it. */
	unit_write("proc/self/cgroup", "4:memory:/docker/a\n0::/docker/a\n");
	CU_ASSERT_EQUAL(idle_machine_cores(&machine), 8);
	unit_write("sys/fs/cgroup/unified/docker/cpu.max", "200000 100000\n");
	CU_ASSERT_EQUAL(idle_machine_cores(&machine), 2);
	/* Those of another hierarchy, or damaged lines. */
	unit_write("proc/self/cgroup", "4:cpuset:/docker/a\nrubbish\n:\n4:cpu\n4:cpu:\n4:cpu:docker\n4:cpu:/..\n");
	unit_write("sys/fs/cgroup/cpuset/docker/a/cpu.max", "100000 100000\n");
	CU_ASSERT_EQUAL(idle_machine_cores(&machine), 8);
	idle_machine_close(&machine);
}

TEST(builds_leave_a_core)
{
	struct idle_machine machine = machine_of(0);

	CU_ASSERT_EQUAL(idle_machine_cores(&machine), 1);	/* on which this runs */
	CPU_SET_S(0, sizeof(machine.cpus), machine.cpus);
	CU_ASSERT_EQUAL(idle_machine_jobs(&machine), 1);
	for (unsigned int i = 0; i < 300; i++)
		CPU_SET_S(i, sizeof(machine.cpus), machine.cpus);
	CU_ASSERT_EQUAL(idle_machine_jobs(&machine), IDLE_MAX_JOBS);
	CU_ASSERT_FALSE(idle_machine_is_limited(&machine));
	unit_write("proc/self/cgroup", "0::/app\n");
	unit_write("sys/fs/cgroup/app/cpu.max", "max 100000\n");
	CU_ASSERT_FALSE(idle_machine_is_limited(&machine));
	unit_write("sys/fs/cgroup/cpu.max", "800000 100000\n");
	CU_ASSERT_EQUAL(idle_machine_jobs(&machine), 7);
	CU_ASSERT_TRUE(idle_machine_is_limited(&machine));
	idle_machine_close(&machine);
}

TEST(who_is_in_a_hurry_does_not_wait_for_calm)
{
	struct idle idle = { .wanted = true, .most = 7 };

	(void)idle_adjust(&idle, 3);
	CU_ASSERT_EQUAL(idle.allowed, 0);
	idle_hurry(&idle);
	(void)idle_adjust(&idle, 3);
	CU_ASSERT_EQUAL(idle.allowed, 3);
	/* Once others were there, it waits as ever. */
	(void)idle_adjust(&idle, 0);
	(void)idle_adjust(&idle, 3);
	CU_ASSERT_EQUAL(idle.allowed, 0);
}

TEST(a_budget_can_begin_again)
{
	struct idle idle;

	CU_ASSERT_FATAL(idle_init(&idle, false, 0));
	CU_ASSERT_FALSE(idle_is_spent(&idle));
	idle.end = 0;
	idle.ended = true;
	CU_ASSERT_TRUE(idle_is_spent(&idle) && idle_is_over(&idle));
	idle_begin(&idle, 1000);
	CU_ASSERT_FALSE(idle_is_spent(&idle) || idle.ended);
	idle_release(&idle);
}

TEST(battery_is_known_by_supplies)
{
	struct idle_machine machine = machine_of(1);

	CU_ASSERT(!idle_machine_on_battery(&machine));	/* there are none */
	supply("BAT0", "type", "Battery\n");
	supply("BAT0", "status", "Full\n");
	CU_ASSERT(!idle_machine_on_battery(&machine));
	supply("BAT0", "status", "Discharging\n");
	CU_ASSERT(idle_machine_on_battery(&machine));
	supply("AC", "type", "Mains\n");
	supply("AC", "online", "1\n");
	CU_ASSERT(!idle_machine_on_battery(&machine));
	supply("AC", "online", "0\n");
	supply("BAT0", "status", "Unknown\n");
	CU_ASSERT(idle_machine_on_battery(&machine));
	/* Charged by another plug. */
	supply("USBC", "type", "USB\n");
	supply("USBC", "online", "0\n");
	CU_ASSERT(idle_machine_on_battery(&machine));
	supply("USBC", "online", "1\n");
	CU_ASSERT(!idle_machine_on_battery(&machine));
	idle_machine_close(&machine);
}

TEST(battery_of_a_mouse_does_not_count)
{
	struct idle_machine machine = machine_of(1);

	supply("mouse", "type", "Battery\n");
	supply("mouse", "scope", "Device\n");
	supply("mouse", "status", "Discharging\n");
	CU_ASSERT(!idle_machine_on_battery(&machine));
	/* A port of a desktop with nothing in it. */
	supply("USBC", "type", "USB\n");
	supply("USBC", "online", "0\n");
	CU_ASSERT(!idle_machine_on_battery(&machine));
	idle_machine_close(&machine);
}

TEST(times_are_those_of_the_processors_and_processes)
{
	struct idle_machine machine = machine_of(2);
	struct child workers[2] = { { .pid = 12 } };
	struct idle_sample before, after;
	const uint64_t tick = S / (uint64_t)sysconf(_SC_CLK_TCK);

	CU_ASSERT(!idle_machine_sample(&machine, workers, 2, &before));
	unit_write("proc/stat", "cpu  1 9 9 9 9 9 9 9 9 9\ncpu0 1 2 3 100 200 4 5 6 7 8\n"
				"cpu1 10 0 0 1 1 0 0 0 0 0\ncpu2 5000 0 0 0 0 0 0 0 0 0\nintr 1 2\n");
	unit_write("proc/12/stat", "12 (a) b (c) S 1 1 1 0 -1 4 50 60 70 80 3 4 5 6 39 19 1\n");
	CU_ASSERT_FATAL(idle_machine_sample(&machine, NULL, 0, &before));
	CU_ASSERT_FATAL(idle_machine_sample(&machine, workers, 2, &after));
	/* cpu2 is none of this process's. */
	CU_ASSERT_EQUAL(before.busy_ns, 31 * tick);
	CU_ASSERT(after.own_ns - before.own_ns >= 18 * tick);
	CU_ASSERT(after.own_ns - before.own_ns < 18 * tick + S / 10);
	CU_ASSERT_EQUAL(before.stalled_ns[IDLE_CPU], 0);
	unit_write("proc/pressure/cpu", "some avg10=1.00 avg60=2.00 avg300=3.00 total=44\n"
					"full avg10=0.00 avg60=0.00 avg300=0.00 total=55\n");
	unit_write("proc/pressure/memory", "some avg10=1.00");
	unit_write("proc/pressure/io", "rubbish total=7\n");
	CU_ASSERT_FATAL(idle_machine_sample(&machine, workers, 2, &after));
	CU_ASSERT_EQUAL(after.stalled_ns[IDLE_CPU], 44000);
	CU_ASSERT_EQUAL(after.stalled_ns[IDLE_MEMORY], 0);
	CU_ASSERT_EQUAL(after.stalled_ns[IDLE_IO], 0);
	unit_write("proc/stat", "rubbish\n");
	CU_ASSERT(!idle_machine_sample(&machine, workers, 2, &after));
	idle_machine_close(&machine);
}

static unsigned int room(unsigned int cores, uint64_t busy_ms, uint64_t own_ms,
			 const uint64_t stalled_ms[IDLE_RESOURCES])
{
	const struct idle idle = { .wanted = true, .cores = cores,
				   .most = cores > 1 ? cores - 1 : 1 };
	struct idle_sample before = { .time_ns = 5 * S, .busy_ns = 100 * S, .own_ns = 7 * S },
			   after = before;

	after.time_ns += S;
	after.busy_ns += busy_ms * (S / 1000);
	after.own_ns += own_ms * (S / 1000);
	for (size_t i = 0; stalled_ms && i < IDLE_RESOURCES; i++)
		after.stalled_ns[i] = stalled_ms[i] * (S / 1000);
	return idle_room(&idle, &before, &after);
}

TEST(workers_get_the_cores_that_others_leave)
{
	CU_ASSERT_EQUAL(room(8, 0, 0, NULL), 7);
	CU_ASSERT_EQUAL(room(8, 7000, 7000, NULL), 7);	/* all of it their own */
	CU_ASSERT_EQUAL(room(8, 8000, 7000, NULL), 7);
	CU_ASSERT_EQUAL(room(8, 8000, 5000, NULL), 5);
	CU_ASSERT_EQUAL(room(8, 8000, 20, NULL), 0);
	CU_ASSERT_EQUAL(room(8, 3000, 0, NULL), 5);
	CU_ASSERT_EQUAL(room(2, 1100, 100, NULL), 1);
	CU_ASSERT_EQUAL(room(2, 2000, 100, NULL), 0);
	CU_ASSERT_EQUAL(room(1, 100, 0, NULL), 1);
	CU_ASSERT_EQUAL(room(1, 1000, 900, NULL), 1);
	CU_ASSERT_EQUAL(room(1, 600, 0, NULL), 0);
	/* More processors than cores. */
	CU_ASSERT_EQUAL(room(2, 4000, 0, NULL), 0);
	/* A clock that went back. */
	CU_ASSERT_EQUAL(room(2, 100, 900, NULL), 1);
}

TEST(pressure_leaves_no_room)
{
	CU_ASSERT_EQUAL(room(8, 0, 0, (uint64_t[]){ 0, 90, 0 }), 7);
	CU_ASSERT_EQUAL(room(8, 0, 0, (uint64_t[]){ 0, 110, 0 }), 0);
	CU_ASSERT_EQUAL(room(8, 0, 0, (uint64_t[]){ 0, 0, 490 }), 7);
	CU_ASSERT_EQUAL(room(8, 0, 0, (uint64_t[]){ 0, 0, 510 }), 0);
	/* For processors only beside others. */
	CU_ASSERT_EQUAL(room(8, 7000, 7000, (uint64_t[]){ 900, 0, 0 }), 7);
	CU_ASSERT_EQUAL(room(8, 7000, 6000, (uint64_t[]){ 900, 0, 0 }), 0);
	CU_ASSERT_EQUAL(room(8, 7000, 6000, (uint64_t[]){ 400, 0, 0 }), 7);
}

/* Looks that find that room, and change nothing. */
static void looks(struct idle *idle, unsigned int count, unsigned int found)
{
	for (unsigned int i = 0; i < count; i++)
		CU_ASSERT(!idle_adjust(idle, found));
}

TEST(room_is_given_up_at_once_and_taken_after_calm)
{
	struct idle idle = { .wanted = true, .cores = 8, .most = 7 };

	looks(&idle, IDLE_CALM_LOOKS - 1, 7);
	CU_ASSERT_EQUAL(idle.allowed, 0);
	CU_ASSERT(idle_adjust(&idle, 7));
	CU_ASSERT_EQUAL(idle.allowed, 7);
	CU_ASSERT(idle_adjust(&idle, 3));
	CU_ASSERT_EQUAL(idle.allowed, 3);
	CU_ASSERT(idle_adjust(&idle, 5));
	CU_ASSERT(idle_adjust(&idle, 0));
	CU_ASSERT_EQUAL(idle.allowed, 0);
	looks(&idle, 1, 7);
	looks(&idle, 1, 0);
	looks(&idle, IDLE_CALM_LOOKS - 1, 7);
	CU_ASSERT_EQUAL(idle.allowed, 0);
	CU_ASSERT(idle_adjust(&idle, 7));
}

/* The letter of a process's state. */
static char state_of(pid_t pid)
{
	char path[40], line[256] = "";
	FILE *file;
	char *at;

	(void)snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	file = fopen(path, "r");
	CU_ASSERT_FATAL(file != NULL);
	CU_ASSERT(fgets(line, sizeof(line), file) != NULL);
	(void)fclose(file);
	at = strrchr(line, ')');
	return at ? at[2] : '?';
}

static void expect_state(pid_t pid, char state, bool is)
{
	uint64_t until = cmn_clock_monotonic() + 30 * S;

	while ((state_of(pid) == state) != is && cmn_clock_monotonic() < until)
		(void)sched_yield();
	CU_ASSERT_EQUAL(state_of(pid) == state, is);
}

static void start(struct child *worker, uint64_t deadline)
{
	worker->deadline = deadline;
	if (child_fork(worker) == 0) {
		for (;;)
			(void)pause();
	}
	CU_ASSERT_FATAL(worker->pid > 0);
}

static unsigned int ticks;

static bool end_after_some(void *ctx)
{
	(void)ctx;
	return ++ticks == 3;
}

static bool act_continue(void *ctx)
{
	child_continue(ctx);
	return false;
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
	if (child_fork(&worker) == 0)
		spin(CLOCK_PROCESS_CPUTIME_ID, S / 2);
	CU_ASSERT(child_wait(&worker, 1, NULL, &info) == &worker);
	CU_ASSERT(!worker.timed_out && WIFEXITED(worker.state));
	/* Its own time counts. */
	child_limit(&worker, S / 10);
	if (child_fork(&worker) == 0)
		spin(CLOCK_PROCESS_CPUTIME_ID, 60 * S);
	CU_ASSERT(child_wait(&worker, 1, NULL, &info) == &worker);
	CU_ASSERT(worker.timed_out);
	for (size_t i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(kill(others[i], SIGKILL), 0);
		CU_ASSERT_EQUAL(waitpid(others[i], NULL, 0), others[i]);
	}
	CU_ASSERT_EQUAL(sched_setaffinity(0, sizeof(all), &all), 0);
	child_over();
}

TEST(time_of_standing_still_is_not_the_workers)
{
	struct signalfd_siginfo info;
	struct child worker = { 0 };
	uint64_t deadline;

	child_begin(CHILD_WORKERS);
	/* Its time is up as soon as it may run. */
	start(&worker, cmn_clock_monotonic() + S / 5);
	child_stop(&worker);
	deadline = worker.deadline;
	expect_state(worker.pid, 'T', true);
	child_tick(S / 10, end_after_some, NULL);
	ticks = 0;
	CU_ASSERT(child_wait(&worker, 1, NULL, &info) == NULL);	/* three times 0.1 s */
	CU_ASSERT_EQUAL(info.ssi_signo, 0);
	CU_ASSERT_EQUAL(ticks, 3);
	CU_ASSERT(!worker.timed_out);
	child_continue(&worker);
	CU_ASSERT(worker.deadline >= deadline + 3 * (S / 10));
	expect_state(worker.pid, 'T', false);
	child_continue(&worker);	/* it goes already */
	child_tick(0, NULL, NULL);
	/* And then it is up. */
	CU_ASSERT(child_wait(&worker, 1, NULL, &info) == &worker);
	CU_ASSERT(worker.timed_out);
	CU_ASSERT_EQUAL(worker.pid, 0);
	child_stop(&worker);	/* nobody */
	child_continue(&worker);
}

TEST(stopped_worker_can_be_killed)
{
	struct signalfd_siginfo info;
	struct child worker = { 0 };

	child_begin(CHILD_WORKERS);
	start(&worker, UINT64_MAX);
	child_stop(&worker);
	expect_state(worker.pid, 'T', true);
	child_kill(&worker);
	CU_ASSERT(child_wait(&worker, 1, NULL, &info) == &worker);
	CU_ASSERT(WIFSIGNALED(worker.state) && WTERMSIG(worker.state) == SIGKILL);
}

TEST(worker_without_a_deadline_keeps_none)
{
	struct signalfd_siginfo info;
	struct child worker = { 0 };

	child_begin(CHILD_WORKERS);
	start(&worker, UINT64_MAX);
	child_stop(&worker);
	CU_ASSERT_EQUAL(kill(worker.pid, SIGTERM), 0);	/* it comes when the worker goes on */
	child_tick(S / 100, act_continue, &worker);
	CU_ASSERT(child_wait(&worker, 1, NULL, &info) == &worker);
	child_tick(0, NULL, NULL);
	CU_ASSERT_EQUAL(worker.deadline, UINT64_MAX);
	CU_ASSERT(WIFSIGNALED(worker.state) && WTERMSIG(worker.state) == SIGTERM);
}

TEST(budget_ends_what_may_begin)
{
	const struct child fresh = { 0 }, there = { .pid = 5 }, still = { .pid = 6, .stopped = 7 };
	int signal_number = 0;
	struct idle idle;

	CU_ASSERT_FATAL(idle_init(&idle, false, 0));
	CU_ASSERT(idle_lets_begin(&idle, &fresh) && idle_lets_begin(&idle, &there));
	CU_ASSERT(!idle_holds_up(&idle));
	CU_ASSERT(!idle_is_over(&idle));
	CU_ASSERT(idle_wait(&idle, &signal_number));
	idle_release(&idle);
	CU_ASSERT_FATAL(idle_init(&idle, false, 1000));
	CU_ASSERT(idle_lets_begin(&idle, &fresh));
	CU_ASSERT(!idle_lets_begin(&idle, &still));
	idle.end = cmn_clock_monotonic();	/* 1000 s later */
	CU_ASSERT(!idle_lets_begin(&idle, &fresh) && !idle_lets_begin(&idle, &there));
	CU_ASSERT(idle_is_over(&idle));
	CU_ASSERT(!idle_wait(&idle, &signal_number));
	CU_ASSERT_EQUAL(signal_number, 0);
	idle_release(&idle);
}

TEST(new_workers_need_room)
{
	struct child workers[3] = { { .pid = 5 }, { .pid = 6, .stopped = 7 } };
	struct idle idle = { .wanted = true, .allowed = 2, .workers = workers, .count = 3,
			     .end = UINT64_MAX };

	CU_ASSERT(idle_lets_begin(&idle, &workers[0]));
	CU_ASSERT(!idle_lets_begin(&idle, &workers[1]));
	CU_ASSERT(!idle_lets_begin(&idle, &workers[2]));
	CU_ASSERT(idle_holds_up(&idle));
	idle.allowed = 3;
	CU_ASSERT(idle_lets_begin(&idle, &workers[2]));
	idle.end = 0;
	CU_ASSERT(!idle_holds_up(&idle));
}

TEST(over_is_when_none_runs)
{
	struct child workers[2] = { { .pid = 5 }, { .pid = 6, .stopped = 7 } };
	struct idle idle = { .workers = workers, .count = 2, .end = 0 };

	CU_ASSERT(!idle_is_over(&idle));
	workers[0].stopped = 7;
	CU_ASSERT(idle_is_over(&idle));
	workers[0].stopped = 0;
	workers[0].pid = 0;
	CU_ASSERT(idle_is_over(&idle));
}

/* Until a look tells something. */
static void wait_for_look(struct idle *idle, struct child *workers, size_t count)
{
	struct signalfd_siginfo info;

	CU_ASSERT(child_wait(workers, count, NULL, &info) == NULL);
	CU_ASSERT_EQUAL(info.ssi_signo, 0);
	CU_ASSERT_EQUAL(idle->workers, workers);
}

TEST(workers_stand_still_and_go_on_by_what_a_look_finds)
{
	struct child workers[3] = { 0 };	/* the first one has ended */
	struct idle idle = { .wanted = true, .machine = machine_of(4), .cores = 4, .most = 3,
			     .allowed = 1, .end = cmn_clock_deadline(S / 100) };
	struct signalfd_siginfo info;
	unsigned int looks;

	unit_write("proc/stat", "cpu  0\ncpu0 0 0 0 0 0 0 0 0\n");
	child_begin(CHILD_WORKERS);
	/* If nothing is told, their time is up one day. */
	start(&workers[1], cmn_clock_deadline(30 * S));
	start(&workers[2], cmn_clock_deadline(30 * S));
	idle_watch(&idle, workers, 3);
	/* The budget ends: there is room for one. */
	wait_for_look(&idle, workers, 3);
	CU_ASSERT(idle.ended && idle.allowed == 1);
	CU_ASSERT(!workers[1].stopped && workers[2].stopped);
	expect_state(workers[2].pid, 'T', true);
	CU_ASSERT_FALSE(idle_is_over(&idle));
	/* That was told once; after some calm looks there is room for all. */
	idle.calm = IDLE_CALM_LOOKS - 3;
	looks = idle.looks;
	wait_for_look(&idle, workers, 3);
	CU_ASSERT(idle.looks - looks >= 3);
	CU_ASSERT_EQUAL(idle.allowed, 3);
	CU_ASSERT(!workers[1].stopped && !workers[2].stopped);
	expect_state(workers[2].pid, 'T', false);
	/* Others have worked since the last look; and at the next one no more. */
	idle_begin(&idle, 30);
	unit_write("proc/stat", "cpu  0\ncpu0 9000000 0 0 0 0 0 0 0\n");
	wait_for_look(&idle, workers, 3);
	CU_ASSERT_EQUAL(idle.allowed, 0);
	idle_hurry(&idle);
	wait_for_look(&idle, workers, 3);
	CU_ASSERT_EQUAL(idle.allowed, 3);
	/* The plug is pulled. */
	supply("AC", "type", "Mains\n");
	supply("AC", "online", "0\n");
	idle.looks = 4000;	/* it is looked at now and then, and now again */
	wait_for_look(&idle, workers, 3);
	CU_ASSERT(idle.on_battery && !idle.allowed);
	CU_ASSERT(workers[1].stopped && workers[2].stopped);
	expect_state(workers[1].pid, 'T', true);
	idle_unwatch();
	for (size_t i = 1; i < 3; i++) {
		if (!workers[i].pid)
			continue;
		child_kill(&workers[i]);
		CU_ASSERT(child_wait(&workers[i], 1, NULL, &info) == &workers[i]);
	}
	idle_release(&idle);
}
