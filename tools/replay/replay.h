/* SPDX-License-Identifier: MIT */
/*
 * replay: what the files of `ckcache replay` share. replay.c decides what is
 * repeated and what becomes of each recipe; replay_process.c starts and ends
 * the processes; replay_worker.c is what runs in one; replay_entries.c looks
 * into the store; replay_stale.c turns entries of an older driver into recipes.
 */
#ifndef TOOLS_REPLAY_REPLAY_H
#define TOOLS_REPLAY_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "cachecore/disk/writer/recipes.h"
#include "tools/run/child.h"
#include "tools/tool.h"

/* Exit codes of a worker. */
enum {
	WORKER_BUILT = 0,	/* there is an entry of this key now */
	WORKER_ABSENT = 10,	/* no such platform or device here */
	WORKER_STALE = 11,	/* a header changed, or the working directory is gone */
	WORKER_OTHER = 12,	/* it was built, and there is no entry of this key */
	WORKER_FAILED = 13,	/* the driver did not build it */
	WORKER_UNABLE = 14,	/* no loader, no memory, an unreadable recipe */
	WORKER_UNWANTED = 15,	/* it was built, and is of a size that is not stored */
};

/* What a worker gets beside the recipe. */
struct replay_settings {
	const char *root;
	const char *layer;	/* path of the OpenCL layer's library */
	uint64_t timeout_ns;
};

/*
 * Starts a worker on the recipe of its name, at low priority, after child_begin. NULL with the name
 * REPLAY_PROBE: the probe, with this process's environment. false: complained about.
 */
#define REPLAY_PROBE "-"
bool replay_process_start(struct child *worker, const struct cc_recipe *recipe,
			  const struct replay_settings *settings);
/*
 * Waits until a worker ended, by itself or since its time was up. NULL: a signal asked this process
 * to end, *ret_signal says which.
 */
struct child *replay_process_wait(struct child *workers, size_t count, int *ret_signal);

/*
 * Whether the root has a whole entry of the recipe's key that is for the files as they are, or as they
 * were for the recipe. Changes into the recipe's directory meanwhile.
 */
bool replay_entries_has(const char *root, const struct cc_recipe *recipe);
/*
 * Of the entries of the same program and options for another device or
 * driver, the one last used: the first field in which it differs, as text
 * that the caller frees. NULL: there is none, or no memory.
 */
char *replay_entries_difference(const char *root, struct cmn_view key);

/* The field of that name, the i-th of them; false: there is none. */
bool replay_key_field(struct cmn_view key, const char *name, unsigned int i, struct cmn_view *ret);

/*
 * Writes a recipe for each entry of the root that a driver or compiler of this
 * machine made before it changed, and that it would make again. false:
 * complained about, or a signal asked this process to end, *ret_signal says which.
 */
bool replay_stale_record(const struct replay_settings *settings, struct cc_store *store,
			 unsigned long long *ret_count, int *ret_signal);

/* The verb that is run in a process of its own; not for people. */
int replay_worker(int argc, char **argv);

#endif
