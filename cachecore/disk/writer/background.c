/* SPDX-License-Identifier: MIT */
/* background: when the process that builds recipes is due, and how it gets its lock. */
#include "cachecore/disk/writer/background.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "cachecore/disk/writer/recipes.h"
#include "cachecore/remote/launch.h"
#include "common/bytes.h"
#include "common/clock.h"
#include "common/file.h"

/* One that ends at once (on battery, without a loader) is not started again for each build. */
#define PAUSE_NS (UINT64_C(1000000000) * CC_BACKGROUND_LINGER_S)
#define MAX_STATUS 16384
#define FEW_PROCESSES 1000	/* and threads, of all that the user runs */

/* Whether a try is due, which is this thread's then. */
static bool is_due(struct cc_background *background)
{
	uint64_t last = atomic_load(&background->started), now = cmn_clock_monotonic();

	return (!last || now - last >= PAUSE_NS) &&
	       atomic_compare_exchange_strong(&background->started, &last, now);
}

/* As /proc/<process>/status has them: the mode of seccomp and the number of filters. false: they cannot be read. */
static bool read_filters(const char *path, unsigned long ret[2])
{
	static const char *const names[2] = { "\nSeccomp:", "\nSeccomp_filters:" };	/* the second since Linux 5.9 */
	struct cmn_buffer status = { 0 };
	char *text = NULL;
	bool found = false;

	if (cmn_file_read_shown(path, MAX_STATUS, &status) == CMN_OK && (text = cmn_buffer_take_string(&status))) {
		found = true;
		for (size_t i = 0; i < 2; i++) {
			const char *at = strstr(text, names[i]);

			found = found && at;
			ret[i] = at ? strtoul(at + strlen(names[i]), NULL, 10) : 0;
		}
		found = found || !ret[0];
	}
	free(text);
	cmn_buffer_release(&status);
	return found;
}

/* Whether process 1 is another program. false also: that cannot be seen. */
static bool is_not_first(void)
{
	struct stat own, first;

	return stat("/proc/self/exe", &own) == 0 && stat("/proc/1/exe", &first) == 0 &&
	       (own.st_ino != first.st_ino || own.st_dev != first.st_dev);
}

/*
 * A filter may end the process that starts another. Believed are those alone that a container's process 1
 * has too, which lets others start programs; not what a program sets for itself or for its workers.
 */
static bool may_start_programs(void)
{
	unsigned long own[2] = { 1 }, firsts[2] = { 0 };

	if (!read_filters("/proc/thread-self/status", own))
		return false;
	return !own[0] || (read_filters("/proc/1/status", firsts) && own[0] == firsts[0] &&
			   own[1] == firsts[1] && is_not_first());
}

/* Another process counts against the same bound of the user's. */
static bool may_have_few_processes(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur < FEW_PROCESSES;
}

/* Takes the lock. Nobody needs to know whether it worked: the next one tries again, and ckcache replay can be typed. */
static void launch(const struct cc_config *config, const char *root, int lock)
{
	const char *const arguments[] = { "replay", root, NULL };
	char **environment = NULL;

	if (cc_launch_environment(&environment) != CMN_OK) {
		cc_root_unlock(lock);
		return;
	}
	(void)!cc_launch(config->remote_helpers, environment, arguments, lock);
	cmn_strings_free(environment);
	cmn_file_leave_lock(lock);	/* it is the program's */
}

void cc_background_start(struct cc_background *background, const struct cc_config *config, const char *root)
{
	int fd, lock;

	if (!config->replay || config->built_for || getauxval(AT_SECURE) || !is_due(background) ||
	    may_have_few_processes() || !may_start_programs() || cc_recipes_open(root, &fd) != CMN_OK)
		return;
	if (cc_recipes_lock_background(fd, &lock) == CMN_OK)
		launch(config, root, lock);
	(void)close(fd);	/* a directory: nothing to be lost */
}
