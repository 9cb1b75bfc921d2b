/* SPDX-License-Identifier: MIT */
/*
 * idle: workers run at a priority below everybody's (priority.h), so what they use of the
 * processors takes nothing from others; but they share caches, memory and disks with them. So the
 * first question is how much processor time others use: workers get the cores that are left. What
 * others use is everybody's time less the workers' own, and does not depend on the workers, which
 * yield. Pressure stall information says what processor time does not: that somebody waits for
 * memory or a disk, or, beside others, for processors in short bursts. Kernels without it leave the
 * first question.
 */
#include "tools/replay/idle.h"

#include "common/clock.h"
#include "tools/replay/priority.h"

/* Until the next look, a program that begins to use all cores loses up to a sixth. */
#define LOOK_NS UINT64_C(250000000)
#define BATTERY_LOOKS 40	/* asking some machines for their battery takes milliseconds */

/*
 * How much of the time somebody may wait, in percent. The workers wait too: for the disk when they
 * load a compiler, and for processors behind others.
 */
static const uint64_t bearable[IDLE_RESOURCES] = {
	[IDLE_CPU] = 50, [IDLE_MEMORY] = 10, [IDLE_IO] = 50,
};

void idle_begin(struct idle *idle, unsigned long budget_s)
{
	idle->end = budget_s ? cmn_clock_deadline(budget_s * UINT64_C(1000000000)) : UINT64_MAX;
	idle->ended = false;
}

void idle_hurry(struct idle *idle)
{
	idle->calm = IDLE_CALM_LOOKS;
}

bool idle_init(struct idle *ret, bool wanted, unsigned long budget_s)
{
	*ret = (struct idle){ .wanted = wanted };
	idle_begin(ret, budget_s);
	if (!wanted)
		return true;
	if (!idle_machine_open(&ret->machine))
		return false;
	if (!idle_machine_sample(&ret->machine, NULL, 0, &ret->last)) {
		idle_machine_close(&ret->machine);
		return false;
	}
	priority_lower();
	ret->cores = idle_machine_cores(&ret->machine);
	ret->most = idle_machine_jobs(&ret->machine);
	ret->on_battery = idle_machine_on_battery(&ret->machine);
	return true;
}

void idle_release(struct idle *idle)
{
	idle_unwatch();
	if (idle->wanted)
		idle_machine_close(&idle->machine);
}

static uint64_t since(uint64_t before, uint64_t after)
{
	return after > before ? after - before : 0;
}

unsigned int idle_room(const struct idle *idle, const struct idle_sample *before,
		       const struct idle_sample *after)
{
	uint64_t time = since(before->time_ns, after->time_ns);
	uint64_t busy = since(before->busy_ns, after->busy_ns);
	uint64_t own = since(before->own_ns, after->own_ns);
	uint64_t others = since(own, busy), all = idle->cores * time, room;

	if (!time)
		return 0;
	for (size_t i = 0; i < IDLE_RESOURCES; i++) {
		uint64_t stalled = since(before->stalled_ns[i], after->stalled_ns[i]);

		/* Alone on the machine, workers wait for each other's threads. */
		if (stalled * 100 > bearable[i] * time && (i != IDLE_CPU || others > time / 2))
			return 0;
	}
	room = (since(others, all) + time / 2) / time;
	return room < idle->most ? (unsigned int)room : idle->most;
}

bool idle_adjust(struct idle *idle, unsigned int room)
{
	unsigned int before = idle->allowed;

	idle->calm = room ? idle->calm + 1 : 0;
	if (room < idle->allowed || idle->calm >= IDLE_CALM_LOOKS)
		idle->allowed = room;
	return idle->allowed != before;
}

/* The first ones go on, the others stand still. */
static void settle(const struct idle *idle)
{
	unsigned int running = 0;

	for (size_t i = 0; i < idle->count; i++) {
		struct child *worker = &idle->workers[i];

		if (!worker->pid)
			continue;
		if (running++ < idle->allowed)
			child_continue(worker);
		else
			child_stop(worker);
	}
}

bool idle_is_spent(const struct idle *idle)
{
	return cmn_clock_monotonic() >= idle->end;
}

/* As child_tick has it. */
static bool look(void *ctx)
{
	struct idle *idle = ctx;
	struct idle_sample now;
	bool changed = false;

	if (idle->wanted && idle->looks++ % BATTERY_LOOKS == 0)
		idle->on_battery = idle_machine_on_battery(&idle->machine);
	if (idle->wanted &&
	    idle_machine_sample(&idle->machine, idle->workers, idle->count, &now)) {
		unsigned int room = idle_room(idle, &idle->last, &now);

		changed = idle_adjust(idle, idle->on_battery ? 0 : room);
		idle->last = now;
		settle(idle);
	}
	if (!idle->ended && idle_is_spent(idle))
		changed = idle->ended = true;
	return changed;
}

void idle_watch(struct idle *idle, struct child *workers, size_t count)
{
	idle->workers = workers;
	idle->count = count;
	/* The workers of before have ended: their time is in what children have used. */
	if (idle->wanted && !idle_machine_sample(&idle->machine, workers, count, &idle->last))
		idle->last = (struct idle_sample){ .time_ns = cmn_clock_monotonic() };
	if (idle->wanted || idle->end != UINT64_MAX)
		child_tick(LOOK_NS, look, idle);
}

void idle_unwatch(void)
{
	child_tick(0, NULL, NULL);
}

bool idle_wait(struct idle *idle, int *ret_signal)
{
	struct signalfd_siginfo info = { 0 };

	idle_watch(idle, NULL, 0);
	while (idle->wanted && !idle->allowed && !idle_is_spent(idle) && !info.ssi_signo)
		(void)child_wait(NULL, 0, NULL, &info);	/* there is no child to end */
	idle_unwatch();
	*ret_signal = (int)info.ssi_signo;
	return !info.ssi_signo && !idle_is_spent(idle);
}

static unsigned int running(const struct idle *idle)
{
	unsigned int count = 0;

	for (size_t i = 0; i < idle->count; i++)
		count += idle->workers[i].pid > 0 && !idle->workers[i].stopped;
	return count;
}

bool idle_lets_begin(const struct idle *idle, const struct child *worker)
{
	unsigned int there = 0;

	for (size_t i = 0; i < idle->count; i++)
		there += idle->workers[i].pid > 0;
	return !idle_is_spent(idle) && !worker->stopped &&
	       (!idle->wanted || worker->pid > 0 || there < idle->allowed);
}

bool idle_holds_up(const struct idle *idle)
{
	return idle->wanted && !idle_is_spent(idle);
}

bool idle_is_over(const struct idle *idle)
{
	return idle_is_spent(idle) && !running(idle);
}
