/* SPDX-License-Identifier: MIT */
/* background: when the process that builds recipes is due, and how it gets its lock. */
#include "cachecore/disk/writer/background.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "cachecore/disk/writer/recipes.h"
#include "cachecore/remote/launch.h"
#include "common/bytes.h"
#include "common/clock.h"
#include "common/file.h"

/* One that ends at once (on battery, without a loader) is not started again for each build. */
#define PAUSE_NS (UINT64_C(20) * 1000000000)

/* Whether a try is due, which is this thread's then. */
static bool is_due(struct cc_background *background)
{
	uint64_t last = atomic_load(&background->started), now = cmn_clock_monotonic();

	return (!last || now - last >= PAUSE_NS) &&
	       atomic_compare_exchange_strong(&background->started, &last, now);
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
	    cc_recipes_open(root, &fd) != CMN_OK)
		return;
	if (cc_recipes_lock_background(fd, &lock) == CMN_OK)
		launch(config, root, lock);
	(void)close(fd);	/* a directory: nothing to be lost */
}
