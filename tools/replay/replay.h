/* SPDX-License-Identifier: MIT */
/* replay: what becomes of each recipe. One thread, after child_begin. */
#ifndef TOOLS_REPLAY_REPLAY_H
#define TOOLS_REPLAY_REPLAY_H

#include "tools/replay/replay_order.h"
#include "tools/worker/idle.h"

struct replay {
	struct replay_settings settings;
	int fd;			/* the recipes' directory */
	struct replay_order order;
	struct replay_workers workers;
	size_t job_count;
	struct idle *idle;	/* when recipes begin */
	int signal;		/* that asked this process to end; 0: none */
	bool gives_way;		/* begins nothing while another process waits to replay */
	bool failed;		/* something that is not a recipe's fault, it was complained about */
	bool of_pack;		/* recipes that are not begun in time are removed */
	unsigned long long late;	/* of these so many were */
	size_t done;
	/* Recipes by what became of them. */
	unsigned long long built, there, outdated, changed, gone, other, unwanted, absent, inputs,
		wrong, quarantined, damaged;
};
/* Builds all recipes that the directory has and that were not tried yet. With the recipes' lock. */
void replay_all(struct replay *replay, const struct replay_worths *worths);

/*
 * Builds the recipes of these names that settings->root has, as the verb does, but removes those
 * for which idle has no time. false: complained about, or a signal asked this process to end, which
 * *ret says. Of *ret, which is set in any case, only the counts are of use: order has none of them.
 */
bool replay_build(const struct replay_settings *settings, struct idle *idle, size_t jobs,
		  const struct cc_recipes_names *names, struct replay *ret);

#endif
