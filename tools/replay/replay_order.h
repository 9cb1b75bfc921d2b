/* SPDX-License-Identifier: MIT */
/*
 * replay_order: which recipe is next. Those whose results are missed most come
 * first: the longer the build and the more recent its last use, the sooner. One thread.
 */
#ifndef TOOLS_REPLAY_REPLAY_ORDER_H
#define TOOLS_REPLAY_REPLAY_ORDER_H

#include <sys/types.h>
#include <time.h>

#include "tools/replay/replay_process.h"

/* What recipes are worth, where that is known: of recipes that were made of entries. */
struct replay_worth {
	char name[CC_RECIPE_NAME_SIZE];
	double worth;
};
struct replay_worths {
	struct replay_worth *items;
	size_t count;
};
double replay_worth_of(uint64_t build_ns, uint64_t last_use_ns, uint64_t now_ns);
void replay_worths_add(struct replay_worths *worths, const char *name, double worth);
bool replay_worths_has(const struct replay_worths *worths, const char *name);

struct replay_due {
	char *name;
	double worth;
	struct cmn_hash surroundings;
	bool begun;
	/* Of its file, when it was added; zeros: there was none. */
	ino_t inode;
	struct timespec written;
	uid_t uid;
};
struct replay_order {
	struct replay_due *items;	/* grows; those that are begun stay */
	size_t count;
};
/*
 * Adds the recipes of the directory that it does not have yet, also those that were written anew after
 * one of their name had begun. One that nothing
 * is known of counts as a build of a second, used when it was written.
 */
CMN_CHECKED enum cmn_status replay_order_read(struct replay_order *order, int fd,
					      const struct replay_settings *settings,
					      const struct replay_worths *worths);
/* Adds one of the directory, which is not in it yet. */
void replay_order_add(struct replay_order *order, int fd, const struct replay_settings *settings,
		      const char *name, double worth);
void replay_order_release(struct replay_order *order);
/* The one that is next, of these surroundings (NULL: of any), begun from now on. NULL: there is none. */
struct replay_due *replay_order_next(struct replay_order *order,
				     const struct cmn_hash *surroundings);
/* The one that has this name, by its address, has not begun after all. */
void replay_order_put_back(struct replay_order *order, const char *name);

#endif
