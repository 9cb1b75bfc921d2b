/* SPDX-License-Identifier: MIT */
/*
 * observer: which files a driver's compiler looks for while it builds, and what it is told. Drivers
 * compile within the process and reach the file system by calls of libc, through their slots
 * (got_slots.h). Before the first build of a process that misses the cache, the driver, its
 * compilers and what these are linked with are hooked (hooked_objects.h): their calls of libc go to
 * hooks (libc_hooks.c), which make the same call and note it where a build is being observed. What a
 * driver loads while it builds is hooked on its next call of dlsym, before any of its functions is
 * called. A process without misses is never touched, if its driver has a row, nor are the application's own
 * objects.
 *
 * What is seen: each path that was asked for, as it was spelled, and the answer: nothing there, a
 * directory, or a file with the identity that it had when it was opened; and whose code asked. What the
 * driver itself creates or writes meanwhile is no dependency, nor are the files of its cache, for which
 * its own library looks, not its compilers. What a driver looks for by an absolute path that the application did not name (its
 * settings) may be read once in a process: it is a dependency of all builds after that (settings.h). That it writes
 * to standard output or error counts where an option is not known (observer_text.h). A program that
 * the driver's row names may run, on files that are known (children.h). All other
 * answers, other processes, and ways around libc as far as they can be noticed make the observation
 * unsure.
 *
 * Thread-safe. Builds may overlap. What a thread looks for counts for the build that it began. What a
 * thread looks for that began none counts for all that are going on (rusticl 26 compiles in other
 * threads), but not where the driver is known to compile in the call, nor through libraries that the
 * program itself is linked with, which its own threads use.
 */
#ifndef SHARED_OBSERVER_OBSERVER_H
#define SHARED_OBSERVER_OBSERVER_H

#include <stdbool.h>

#include "layers/shared/driver/libraries.h"
#include "layers/shared/observer/dependencies.h"

struct drv_observer_request {
	const struct drv_driver *driver;
	struct drv_libraries_query libraries;	/* the driver's */
	bool switched_off;	/* by the user: nothing is touched */
	bool goes_on;		/* perhaps, after the driver's call: drv_observer_leave_call is to follow that */
};

/* NULL: out of memory. Sleeps never; some 1 ms for the first one of a process. A driver of
 * which none of the first 8 builds could be kept is not observed any more. */
struct drv_observation *drv_observer_begin(const struct drv_observer_request *request);

/*
 * The same for a build that the layer lets pass, of which nothing is kept: only what a driver without a row may
 * read in it once in the process counts. To be dropped when the driver's call returns. NULL: it need not be
 * observed, or cannot; if it is such a driver's first, no later one in this process can be kept. request: NULL, or
 * without a driver, where that is not known.
 */
struct drv_observation *drv_observer_pass(const struct drv_observer_request *request);
/* For one that goes on after the call, or cannot be observed. */
void drv_observer_miss(void);

/*
 * Ends and frees the observation, in the thread that began it, or any where that has ended or the
 * build goes on; NULL is fine and unsure.
 * CMN_OK: *ret is the caller's, or NULL where nothing was asked for. CMN_MISS: what the build
 * depends on is not known; *ret_reason is a static word, one of "files-unseen",
 * "include-changed", … (docs/CONFIG.md); "driver-cached": the driver's own cache had the result,
 * with nothing of what it was made from. CMN_ERR_NOMEM.
 */
CMN_CHECKED enum cmn_status drv_observer_end(struct drv_observation *observation,
					     const struct drv_observer_text *text,
					     struct cc_file_memo *memo, struct cc_manifest **ret,
					     const char **ret_reason);
/*
 * While it goes on: the name by which the driver's own cache has what is built (drivers.h); "": that is not
 * known, or there are several.
 */
void drv_observer_cached_as(const struct drv_observation *observation, char ret[DRV_CACHED_AS_SIZE]);
/* The same without a result. What a driver without a row has read counts for its later builds all the same. */
void drv_observer_drop(struct drv_observation *observation);
/*
 * In the thread that began the observation of a build that goes on: the driver's call has returned, and what the
 * thread does from now on is no longer the build's. It may have ended meanwhile, in the driver's callback.
 */
void drv_observer_leave_call(struct drv_observation *observation);

/* For pthread_atfork, in the child: it has no observations of its parent's. */
void drv_observer_fork_child(void);

#endif
