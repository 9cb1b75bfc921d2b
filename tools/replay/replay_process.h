/* SPDX-License-Identifier: MIT */
/*
 * replay_process: workers: how they are started, what they are told and what
 * they answer (replay_worker.h is their side). One thread.
 */
#ifndef TOOLS_REPLAY_REPLAY_PROCESS_H
#define TOOLS_REPLAY_REPLAY_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "cachecore/disk/writer/recipes.h"
#include "common/hash.h"
#include "tools/replay/confine.h"
#include "tools/run/child.h"
#include "tools/tool.h"

/* What a worker says of a recipe, or ends with. */
enum {
	WORKER_BEGUN = -1,	/* it has the recipe in work from now on */
	WORKER_BUILT = 0,	/* there is an entry of this key now */
	WORKER_ABSENT = 10,	/* no such platform or device here */
	WORKER_CHANGED = 11,	/* a header, or another file that was looked for, is not as it was */
	WORKER_OTHER = 12,	/* it was built, and there is no entry of this key */
	WORKER_FAILED = 13,	/* the driver did not build it */
	WORKER_UNABLE = 14,	/* no loader, no memory, an unreadable recipe */
	WORKER_UNWANTED = 15,	/* it was built, and is of a size that is not stored */
	WORKER_GONE = 16,	/* a header, or the working directory, is gone */
	WORKER_INPUTS = 17,	/* a link's inputs are not in the store */
};

/*
 * What a worker gets beside the recipe. This process and its workers are in an
 * empty directory of their own, where they build what does not say where it was built.
 */
struct replay_settings {
	const char *root;
	const char *layer;	/* path of the OpenCL layer's library */
	const char *directory;	/* where this process was called; NULL: it has no name */
	const char *program;	/* only what this one had asked for; NULL: everything */
	uint64_t timeout_ns;
	bool idle;		/* workers have the lowest priority, which this process has (tools/worker/idle.h) */
	/* How workers of strangers' recipes run, and their directory for temporary files. NULL: there are none. */
	const struct confine *confine;
	const char *scratch;
};

/* A worker's answer, one write of a pipe. */
struct replay_answer {
	uint32_t slot;			/* the worker's */
	int32_t code;
	char name[CC_RECIPE_NAME_SIZE];	/* of the recipe */
	char text[256];			/* the file that is meant, or "" */
};

/*
 * Workers, each in a slot. A worker is given one recipe at a time, and answers
 * for it, or ends with the answer as its exit code. The child's name is the
 * recipe's while one is in work, else NULL.
 */
struct replay_slot {
	int command;			/* where it reads what to do; -1: it gets no more */
	struct cmn_hash surroundings;	/* of its recipes */
	bool begun;			/* it has said that it has its recipe in work */
	unsigned int done;		/* how many it has done before */
};
struct replay_workers {
	struct child *children;		/* one for each slot */
	struct replay_slot *slots;
	size_t count;
	int answers[2];			/* a pipe, read and write end */
	struct child *ended;		/* one whose end is still to be told */
};
/* false: complained about. The caller releases it in any case, when no worker is left. */
bool replay_workers_init(struct replay_workers *workers, size_t count);
void replay_workers_release(struct replay_workers *workers);

/*
 * Starts a worker for recipes with these surroundings, after child_begin. The probes
 * get this process's environment and do all they do at once. false: complained about.
 */
enum replay_kind { REPLAY_RECIPES, REPLAY_PROBE_OPENCL, REPLAY_PROBE_LEVEL_ZERO };
bool replay_process_start(struct replay_workers *workers, size_t slot, enum replay_kind kind,
			  const struct cc_recipe *recipe, const struct replay_settings *settings);
/* Gives a worker its next recipe, whose name it keeps. It may have died: that is told by waiting. */
void replay_process_give(struct replay_workers *workers, size_t slot, char *name,
			 const struct replay_settings *settings);
/* It has no more to do. */
void replay_process_retire(struct replay_workers *workers, size_t slot,
			   const struct replay_settings *settings);
/* Kills it and waits for it; nothing is told. */
void replay_process_kill(struct replay_workers *workers, size_t slot);

/* Waits until something happens. Answers come before the end of the worker that gave them. */
enum replay_event {
	REPLAY_ANSWERED,	/* *ret_answer; of that slot's recipe */
	REPLAY_ENDED,		/* *ret_slot: by itself or since its time was up */
	REPLAY_SIGNALLED,	/* *ret_signal asked this process to end */
};
enum replay_event replay_process_wait(struct replay_workers *workers, size_t *ret_slot,
				      struct replay_answer *ret_answer, int *ret_signal);

/* Equal for recipes whose workers get the same environment and directory. CMN_ERR_NOMEM. */
CMN_CHECKED enum cmn_status replay_surroundings(const struct cc_recipe *recipe,
						const struct replay_settings *settings,
						struct cmn_hash *ret);

#endif
