/* SPDX-License-Identifier: MIT */
/*
 * replay_stale: `ckcache replay --stale`. Entries that a driver or compiler of
 * this machine made before it changed become recipes for what is there now;
 * they go when their successors are there. One thread.
 */
#ifndef TOOLS_REPLAY_REPLAY_STALE_H
#define TOOLS_REPLAY_REPLAY_STALE_H

#include "tools/explain/run_history.h"
#include "tools/replay/present.h"
#include "tools/replay/replay_order.h"

/* Why an entry of an old driver is not built again. */
enum replay_left {
	REPLAY_LEFT_DEVICE,	/* its device is not here */
	REPLAY_LEFT_SUB_DEVICE,	/* it is for a part of a device that the application chose */
	REPLAY_LEFT_KIND,	/* its key does not say how it was made */
	REPLAY_LEFT_INPUT,	/* a link whose inputs are not in the store, or were not built */
	REPLAY_LEFT_DIRECTORY,	/* it read files by relative names, and nobody knows where */
	REPLAY_LEFT_SIZE,	/* longer than a recipe may be */
	REPLAY_LEFT_COUNT,
};

struct replay_stale {
	const struct replay_settings *settings;
	struct cc_store *store;
	struct present present;
	struct cmn_buffer environment;		/* of the recipes */
	const struct run_history *history;	/* says which program asked for an entry */
	struct replay_worths worths;		/* of what became recipes */
	unsigned long long recorded;		/* entries that became recipes */
	unsigned long long left[REPLAY_LEFT_COUNT];
	unsigned long long removed;		/* entries */
};

/* Looks what is there now. Until the command ends. false: complained about, or a signal. */
bool replay_stale_begin(const struct replay_settings *settings, struct cc_store *store,
			struct replay_stale *ret, int *ret_signal);

/*
 * Makes recipes of all but links, which need these built first; of so many at a time that the
 * directory of recipes has room for: to be called again, when these are built, while *ret_count, the
 * number of new ones, is not 0. Sets the counts of what is left. false: complained about.
 */
bool replay_stale_record(struct replay_stale *stale, size_t *ret_count);
/*
 * The same of links whose inputs are built by now; a library that is built is an input of others.
 */
bool replay_stale_record_links(struct replay_stale *stale, size_t *ret_count);
/* Removes the old entries that nobody on this machine can use, and whose successors are there. */
void replay_stale_remove(struct replay_stale *stale);

#endif
