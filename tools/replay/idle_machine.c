/* SPDX-License-Identifier: MIT */
/* idle_machine: a few small files of the kernel, each of which may be missing. */
#include "tools/replay/idle_machine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/listing.h"

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_US UINT64_C(1000)
#define MAX_GROUP 4096	/* of a path */

bool idle_machine_open(struct idle_machine *ret)
{
	CPU_ZERO_S(sizeof(ret->cpus), ret->cpus);
	ret->sys = -1;
	ret->proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ret->proc >= 0)
		ret->sys = open("/sys", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* Without /sys it is only not known what there is beside processors. */
	if (ret->proc >= 0 && sched_getaffinity(0, sizeof(ret->cpus), ret->cpus) == 0)
		return true;
	idle_machine_close(ret);
	return false;
}

void idle_machine_close(struct idle_machine *machine)
{
	if (machine->proc >= 0)
		(void)close(machine->proc);	/* only names */
	if (machine->sys >= 0)
		(void)close(machine->sys);
}

/* NULL: it is not there, or too much is open. */
static FILE *open_file(int dir_fd, const char *path)
{
	int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;

	if (fd >= 0 && !file)
		(void)close(fd);	/* nothing was written */
	return file;
}

/* The first line, without its end; false: there is none that fits. */
static bool read_line(int dir_fd, const char *path, char *ret, int size)
{
	FILE *file = open_file(dir_fd, path);
	bool done = file && fgets(ret, size, file);

	if (file)
		(void)fclose(file);	/* likewise */
	if (done)
		ret[strcspn(ret, "\n")] = '\0';
	return done;
}

static bool may_use(const struct idle_machine *machine, unsigned long cpu)
{
	return cpu < IDLE_MAX_CPUS && CPU_ISSET_S(cpu, sizeof(machine->cpus), machine->cpus);
}

/* Whether it is the first of its core's threads that may be used. */
static bool is_core(const struct idle_machine *machine, unsigned long cpu)
{
	char path[80], line[256];
	char *at = line, *end;

	(void)snprintf(path, sizeof(path), "devices/system/cpu/cpu%lu/topology/thread_siblings_list",
		       cpu);
	if (!read_line(machine->sys, path, line, sizeof(line)))
		return true;
	/* "0,8" or "0-1" */
	for (;;) {
		unsigned long first = strtoul(at, &end, 10), last = first;

		if (end == at)
			return true;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (; first <= last && first < cpu; first++) {
			if (may_use(machine, first))
				return false;
		}
		if (*end != ',')
			return true;
		at = end + 1;
	}
}

/* The number in a control group's file, and the one behind it; false: there are none, as with "max" or "-1". */
static bool read_limit(const struct idle_machine *machine, const char *group, const char *file,
		       long ret[2])
{
	char path[MAX_GROUP + 80], line[80], *end;

	if (snprintf(path, sizeof(path), "fs/cgroup%s/%s", group, file) >= (int)sizeof(path) ||
	    !read_line(machine->sys, path, line, sizeof(line)))
		return false;
	ret[0] = strtol(line, &end, 10);
	ret[1] = strtol(end, NULL, 10);
	return ret[0] > 0;
}

/* Processors' time that one control group, of version 2 or 1, may use, in processors; 0: no limit. */
static unsigned long quota_of(const struct idle_machine *machine, const char *group)
{
	long limit[2], period[2];

	if (!read_limit(machine, group, "cpu.max", limit)) {
		if (!read_limit(machine, group, "cpu.cfs_quota_us", limit) ||
		    !read_limit(machine, group, "cpu.cfs_period_us", period))
			return 0;
		limit[1] = period[0];
	}
	if (limit[1] <= 0)
		return 0;
	return limit[0] < limit[1] ? 1 : (unsigned long)(limit[0] / limit[1]);
}

static unsigned long least_of(unsigned long a, unsigned long b)
{
	return !a || (b && b < a) ? b : a;
}

/*
 * The least that a group and those above it may use, in the hierarchy of that name below /sys/fs/cgroup.
 * In a container the group's name may be that of the host: then only the topmost one is there.
 */
static unsigned long quota_in(const struct idle_machine *machine, const char *hierarchy,
			      const char *group)
{
	char path[MAX_GROUP + 40];
	size_t top = strlen(hierarchy), len = top + strlen(group);
	unsigned long least = 0;

	if (snprintf(path, sizeof(path), "%s%s", hierarchy, group) >= (int)sizeof(path))
		return 0;
	for (;;) {
		while (len > top && path[len - 1] == '/')
			len--;
		path[len] = '\0';
		least = least_of(least, quota_of(machine, path));
		if (len == top)
			return least;
		while (path[len - 1] != '/')	/* the group begins with one */
			len--;
	}
}

/* "0::/group" of version 2; "4:cpu,cpuacct:/group" of version 1, whose directory mostly has that name. */
static unsigned long quota_by_line(const struct idle_machine *machine, char *line)
{
	char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;
	char hierarchy[40], *rest = hierarchy, *name;
	unsigned long least = 0;

	if (!group || group[1] != '/' || strstr(group, ".."))
		return 0;
	*names++ = *group++ = '\0';
	if (!*names)
		return least_of(quota_in(machine, "", group), quota_in(machine, "/unified", group));
	if (snprintf(hierarchy, sizeof(hierarchy), "/%s", names) < (int)sizeof(hierarchy))
		least = quota_in(machine, hierarchy, group);
	(void)snprintf(hierarchy, sizeof(hierarchy), "%s", names);	/* "cpu" stands in front */
	while ((name = strsep(&rest, ","))) {
		if (strcmp(name, "cpu") == 0)
			return least_of(least, quota_in(machine, "/cpu", group));
	}
	return 0;
}

/* The least that the process's groups and those above them may use; 0: no limit. */
static unsigned long quota(const struct idle_machine *machine)
{
	FILE *file = open_file(machine->proc, "self/cgroup");
	char line[MAX_GROUP];
	unsigned long least = 0;

	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		least = least_of(least, quota_by_line(machine, line));
	}
	if (file)
		(void)fclose(file);	/* nothing was written */
	return least;
}

unsigned int idle_machine_cores(const struct idle_machine *machine)
{
	unsigned long limit = quota(machine);
	unsigned int cores = 0;

	for (unsigned long cpu = 0; cpu < IDLE_MAX_CPUS; cpu++) {
		if (may_use(machine, cpu) && is_core(machine, cpu))
			cores++;
	}
	if (limit && limit < cores)
		cores = (unsigned int)limit;
	return cores ? cores : 1;
}

unsigned int idle_machine_jobs(const struct idle_machine *machine)
{
	unsigned int cores = idle_machine_cores(machine);

	return cores > IDLE_MAX_JOBS ? IDLE_MAX_JOBS : cores > 1 ? cores - 1 : 1;
}

bool idle_machine_is_limited(const struct idle_machine *machine)
{
	return quota(machine) != 0;
}

static bool supply_says(int supplies, const char *name, const char *what, const char *value)
{
	char path[400], line[80];

	return snprintf(path, sizeof(path), "%s/%s", name, what) < (int)sizeof(path) &&
	       read_line(supplies, path, line, sizeof(line)) && strcmp(line, value) == 0;
}

bool idle_machine_on_battery(const struct idle_machine *machine)
{
	int supplies = openat(machine->sys, "class/power_supply", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool plugged = false, drained = false;
	struct cmn_listing listing = { 0 };
	const struct dirent64 *item;

	if (supplies < 0)
		return false;
	if (cmn_listing_open(&listing, supplies, ".")) {
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
	}
	(void)close(supplies);	/* only a name */
	return drained && !plugged;
}

static uint64_t ticks_ns(unsigned long long ticks)
{
	long per_second = sysconf(_SC_CLK_TCK);

	return per_second > 0 ? ticks * (NS_PER_S / (uint64_t)per_second) : 0;
}

/* "cpu3 user nice system idle iowait irq softirq steal ...": the time that was used or taken away. */
static uint64_t busy_of(const char *line)
{
	unsigned long long field[8] = { 0 };
	char *end = (char *)line + strcspn(line, " ");

	for (size_t i = 0; i < sizeof(field) / sizeof(field[0]); i++)
		field[i] = strtoull(end, &end, 10);
	return ticks_ns(field[0] + field[1] + field[2] + field[5] + field[6] + field[7]);
}

static bool add_busy(const struct idle_machine *machine, uint64_t *sum)
{
	FILE *file = open_file(machine->proc, "stat");
	bool found = false;
	char line[512];

	/* The first line is the sum of those of the processors, which follow it. */
	while (file && fgets(line, sizeof(line), file) && strncmp(line, "cpu", 3) == 0) {
		if (line[3] >= '0' && line[3] <= '9' && may_use(machine, strtoul(line + 3, NULL, 10))) {
			*sum += busy_of(line);
			found = true;
		}
	}
	if (file)
		(void)fclose(file);	/* nothing was written */
	return found;
}

static uint64_t usage_ns(int whose)
{
	struct rusage usage;

	if (getrusage(whose, &usage) < 0)
		return 0;
	return ((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * NS_PER_S +
	       ((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * NS_PER_US;
}

/* What it has used, with those of its children that it has waited for. */
static uint64_t process_ns(const struct idle_machine *machine, pid_t pid)
{
	unsigned long long field[4] = { 0 };
	char path[40], line[1024];
	char *at;

	(void)snprintf(path, sizeof(path), "%ld/stat", (long)pid);
	if (!read_line(machine->proc, path, line, sizeof(line)))
		return 0;
	at = strrchr(line, ')');	/* of the name, which may be anything */
	/* state, then 10 numbers before the times */
	for (unsigned int i = 0; at && i < 12; i++)
		at = strchr(at + 1, ' ');
	for (size_t i = 0; at && i < sizeof(field) / sizeof(field[0]); i++)
		field[i] = strtoull(at, &at, 10);
	return ticks_ns(field[0] + field[1] + field[2] + field[3]);
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=123", in microseconds. */
static uint64_t stalled_ns(const struct idle_machine *machine, const char *resource)
{
	char path[40], line[256];
	const char *total;

	(void)snprintf(path, sizeof(path), "pressure/%s", resource);
	if (!read_line(machine->proc, path, line, sizeof(line)) || strncmp(line, "some ", 5) != 0)
		return 0;
	total = strstr(line, " total=");
	return total ? strtoull(total + 7, NULL, 10) * NS_PER_US : 0;
}

bool idle_machine_sample(const struct idle_machine *machine, const struct child *workers,
			 size_t count, struct idle_sample *ret)
{
	static const char *const resources[IDLE_RESOURCES] = { "cpu", "memory", "io" };
	struct idle_sample sample = { .time_ns = cmn_clock_monotonic() };

	if (!add_busy(machine, &sample.busy_ns))
		return false;
	sample.own_ns = usage_ns(RUSAGE_SELF) + usage_ns(RUSAGE_CHILDREN);
	for (size_t i = 0; i < count; i++) {
		if (workers[i].pid > 0)
			sample.own_ns += process_ns(machine, workers[i].pid);
	}
	for (size_t i = 0; i < IDLE_RESOURCES; i++)
		sample.stalled_ns[i] = stalled_ns(machine, resources[i]);
	*ret = sample;
	return true;
}
