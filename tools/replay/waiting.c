/* SPDX-License-Identifier: MIT */
/* waiting: compares the mark with what replay noted. */
#include "tools/replay/waiting.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/disk/space/number_file.h"
#include "cachecore/disk/store.h"
#include "cachecore/disk/writer/recipes.h"
#include "common/clock.h"
#include "tools/tool.h"

#define LOOKED "looked_ns"
#define MENTIONED "mentioned_ns"
#define NS_PER_S UINT64_C(1000000000)
#define MAX_JOBS 256	/* as verbs.c has it */
/* Who typed a command waits for this; some ten thousand entries. */
#define COUNT_NS (NS_PER_S / 5)

/* 0: there is none. */
static uint64_t mark_ns(void)
{
	struct stat info;

	if (stat(WAITING_MARK, &info) < 0 || !S_ISREG(info.st_mode))
		return 0;
	return (uint64_t)info.st_mtim.tv_sec * NS_PER_S + (uint64_t)info.st_mtim.tv_nsec;
}

/* Also where a clock that was ahead noted it. */
static bool is_newer(int recipes_fd, const char *noted, uint64_t mark)
{
	uint64_t before;

	return cc_number_file_read(recipes_fd, noted, &before) != CMN_OK || before < mark ||
	       (before > mark && before > cmn_clock_realtime());
}

bool waiting_changed(const char *root, uint64_t oldest_ns)
{
	uint64_t mark = mark_ns();
	bool changed = oldest_ns < mark;
	int fd;

	if (changed && cc_recipes_open(root, &fd) == CMN_OK) {
		changed = is_newer(fd, LOOKED, mark);
		(void)close(fd);	/* read only */
	}
	return changed;
}

void waiting_note_look(int recipes_fd, uint64_t realtime_ns)
{
	/* Without it, the next look comes sooner. */
	(void)!cc_number_file_write(recipes_fd, LOOKED, realtime_ns);
}

/* Half the processors: this is not what the machine is for. */
unsigned long waiting_jobs(void)
{
	long jobs = sysconf(_SC_NPROCESSORS_ONLN) / 2;

	return jobs > MAX_JOBS ? MAX_JOBS : jobs ? (unsigned long)jobs : 1;
}

uint64_t waiting_time(uint64_t recipes, uint64_t build_ns)
{
	return recipes * build_ns / waiting_jobs();
}

/* The timer and the path unit are enabled together. */
static bool is_served(void)
{
	static const char *const places[][2] = {
		{ "XDG_RUNTIME_DIR", "/systemd/generator" }, { "XDG_CONFIG_HOME", "/systemd/user" },
		{ "HOME", "/.config/systemd/user" }, { NULL, "/etc/systemd/user" },
	};
	char path[4096];

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const char *start = places[i][0] ? getenv(places[i][0]) : "";
		int len = snprintf(path, sizeof(path), "%s%s/timers.target.wants/ckcache-replay.timer",
				   start ? start : "", places[i][1]);

		if (start && len < (int)sizeof(path) && access(path, F_OK) == 0)
			return true;
	}
	return false;
}

struct counting {
	uint64_t mark, until;
	unsigned long long count;
	bool all;
};

static bool count_one(void *ctx, const struct cc_store_item *item)
{
	struct counting *counting = ctx;

	if (item->status == CMN_OK && item->stored_ns < counting->mark)
		counting->count++;
	counting->all = cmn_clock_monotonic() < counting->until;
	return counting->all;
}

static void mention(const struct cc_config *config, int recipes_fd, uint64_t mark)
{
	struct counting counting = { .mark = mark, .until = cmn_clock_deadline(COUNT_NS),
				     .all = true };
	struct cc_store *store;

	/* What cannot be noted would be told each time. */
	if (!is_newer(recipes_fd, LOOKED, mark) || !is_newer(recipes_fd, MENTIONED, mark) ||
	    cc_number_file_write(recipes_fd, MENTIONED, mark) != CMN_OK ||
	    cc_store_open(config, &tool_silent, &store) != CMN_OK)
		return;
	if (cc_store_walk(store, false, count_one, &counting) == CMN_OK && counting.count)
		tool_complain("a driver or compiler has changed: %s%llu kernels may wait for it; "
			      "\"ckcache replay --stale\" builds them",
			      counting.all ? "" : "more than ", counting.count);
	cc_store_close(store);
}

void waiting_mention(void)
{
	uint64_t mark = mark_ns();
	struct cc_config config;
	int fd;

	if (!mark || !isatty(STDERR_FILENO) || is_served())
		return;
	if (cc_config_load(&tool_silent, &config) != CMN_OK)
		return;	/* the layer will complain */
	if (config.dir && !config.disable && !config.read_only && access(config.dir, F_OK) == 0 &&
	    cc_recipes_make(config.dir, &fd) == CMN_OK) {
		mention(&config, fd, mark);
		(void)close(fd);	/* nothing was written through it */
	}
	cc_config_release(&config);
}
