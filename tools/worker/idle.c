/* SPDX-License-Identifier: MIT */
/*
 * idle: what the kernel offers for work that nobody waits for, best effort: all of it is allowed, as
 * a rule. The services' units have the same for their control groups (tools/service).
 */
#include "tools/worker/worker_process.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/file.h"
#include "common/listing.h"
#include "tools/memory.h"

#define NS_PER_S UINT64_C(1000000000)
#define SUPPLIES "/sys/class/power_supply"
/* Asking some machines for their battery takes milliseconds. */
#define LOOK_NS (10 * NS_PER_S)
#define MAX_TEXT 4096
#define FEW_PROCESSES 1000	/* a worker, its compilers, and their threads */
/* Of ioprio_set(2), which the C library does not have. */
#define THIS_PROCESS 1
#define IDLE_CLASS (3 << 13)

static void lower_process(void)
{
	const struct sched_param none = { 0 };

	(void)setpriority(PRIO_PROCESS, 0, 19);
	(void)sched_setscheduler(0, SCHED_IDLE, &none);
	(void)syscall(SYS_ioprio_set, THIS_PROCESS, 0, IDLE_CLASS);
}

void idle_lower_session(void)
{
	/* Without privileges one process of the machine in 0.1 s may do this; not all start at once. */
	const struct timespec moment = { .tv_nsec = 110000000 };
	int fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);

	for (unsigned int i = 0; fd >= 0 && i < 4 && write(fd, "19", 2) < 0 && errno == EAGAIN; i++)
		(void)nanosleep(&moment, NULL);
	if (fd >= 0)
		(void)close(fd);	/* it was done, or cannot be */
}

/* What the kernel shows in a file, whose path it takes. NULL: it cannot be read. For free. */
static char *read_shown(char *path)
{
	struct cmn_buffer shown = { 0 };
	char *text = NULL;

	if (cmn_file_read_shown(path, MAX_TEXT, &shown) == CMN_OK)
		text = memory_string(&shown);
	cmn_buffer_release(&shown);
	free(path);
	return text;
}

static bool supply_says(const char *supplies, const char *name, const char *what, const char *value)
{
	char *text = read_shown(memory_printf("%s/%s/%s", supplies, name, what));
	size_t len = strlen(value);
	bool says = text && strlen(text) == len + 1 && memcmp(text, value, len) == 0;

	free(text);
	return says;
}

bool idle_on_battery(const char *supplies)
{
	bool plugged = false, drained = false;
	struct cmn_listing listing = { 0 };
	const struct dirent64 *item;

	if (!cmn_listing_open(&listing, AT_FDCWD, supplies))
		return false;
	while ((item = cmn_listing_next(&listing))) {
		const char *name = item->d_name;

		/* A mouse has a battery too. */
		if (supply_says(supplies, name, "scope", "Device"))
			continue;
		if (supply_says(supplies, name, "type", "Battery"))
			drained |= supply_says(supplies, name, "status", "Discharging");
		else if (supply_says(supplies, name, "online", "1"))
			plugged = true;
		else if (supply_says(supplies, name, "type", "Mains"))
			drained = true;
	}
	cmn_listing_close(&listing);
	return drained && !plugged;
}

void idle_init(struct idle *ret, bool wanted, unsigned long budget_s)
{
	*ret = (struct idle){ .wanted = wanted };
	idle_begin(ret, budget_s);
	if (wanted)
		lower_process();
	(void)idle_lets_begin(ret);	/* looks at the power */
}

void idle_begin(struct idle *idle, unsigned long budget_s)
{
	idle->end = budget_s ? cmn_clock_deadline(budget_s * NS_PER_S) : UINT64_MAX;
}

bool idle_is_spent(const struct idle *idle)
{
	return cmn_clock_monotonic() >= idle->end;
}

bool idle_lets_begin(struct idle *idle)
{
	uint64_t now = cmn_clock_monotonic();

	if (idle->wanted && now >= idle->next_look) {
		idle->on_battery = idle_on_battery(SUPPLIES);
		idle->next_look = now + LOOK_NS;
	}
	return !idle->on_battery && !idle_is_spent(idle);
}

/* systemd bounds processes nearly everywhere, high; the other bounds are set by people. */
static bool is_limited(const char *group)
{
	static const struct {
		const char *bound, *used;	/* NULL: any bound counts */
	} rows[] = {
		{ "/cpu.max", NULL }, { "/memory.max", NULL }, { "/memory.high", NULL },
		{ "/pids.max", "/pids.current" },
	};
	bool limited = false;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *bound = read_shown(memory_printf("%s%s", group, rows[i].bound));
		char *used = rows[i].used ? read_shown(memory_printf("%s%s", group, rows[i].used)) : NULL;

		if (bound && strncmp(bound, "max", strlen("max")) != 0)
			limited = limited || !rows[i].used ||
				  strtol(bound, NULL, 10) - strtol(used ? used : "0", NULL, 10) < FEW_PROCESSES;
		free(bound);
		free(used);
	}
	return limited;
}

bool idle_is_limited(const char *own, const char *root)
{
	char *groups = read_shown(memory_copy(own)), *group = NULL;
	const char *at = groups ? strstr(groups, "0::/") : NULL;
	bool limited = false;

	if (at)
		group = memory_printf("%s%.*s", root, (int)strcspn(at + 3, "\n"), at + 3);
	/* Up to the root, which a namespace or a container shows with bounds of its own. */
	for (char *end = group ? group + strlen(group) : NULL; end && end >= group + strlen(root) && !limited;
	     end = strrchr(group, '/')) {
		*end = '\0';
		limited = is_limited(group);
	}
	free(group);
	free(groups);
	return limited;
}
