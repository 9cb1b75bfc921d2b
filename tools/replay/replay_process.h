/* SPDX-License-Identifier: MIT */
/*
 * replay_process: the workers that build recipes (tools/worker): their environments, what they are told
 * and what they answer. One thread.
 */
#ifndef TOOLS_REPLAY_REPLAY_PROCESS_H
#define TOOLS_REPLAY_REPLAY_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "cachecore/disk/writer/recipes.h"
#include "common/hash.h"
#include "tools/run/child.h"
#include "tools/tool.h"
#include "tools/worker/channel.h"
#include "tools/worker/confine.h"

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

/* What the driver's own cache has is not built (layers/shared/observer/observer.h). The names in small letters are NEO 22's. */
#define REPLAY_NO_OWN_CACHES                                                      \
	{ "MESA_SHADER_CACHE_DISABLE", "true" }, { "NEO_CACHE_PERSISTENT", "0" }, \
	{ "cl_cache_dir", "/nonexistent" }, { "l0_cache_dir", "/nonexistent" },   \
	{ "POCL_KERNEL_CACHE", "0" }

/* A worker's answer for the recipe that it has in work. */
struct replay_answer {
	size_t slot;		/* the worker's */
	int code;		/* one of WORKER_... */
	char text[256];		/* the file that is meant, or "" */
};

/*
 * Workers, each in a slot. A worker is given one recipe at a time, and answers
 * for it, or ends with the answer as its exit code. The child's name is the
 * recipe's while one is in work, else NULL.
 */
struct replay_slot {
	int channel;			/* -1: there is no worker */
	bool retired;			/* it gets no more */
	bool silent;			/* it says no more */
	struct cmn_hash surroundings;	/* of its recipes */
	bool begun;			/* it has said that it has its recipe in work */
	unsigned int done;		/* how many it has done before */
};
struct replay_workers {
	struct child *children;		/* one for each slot */
	struct replay_slot *slots;
	size_t count;
	struct child *ended;		/* one whose end is still to be told */
};
/* Appends the variables of this process that recipes carry. */
void replay_carry_environment(struct cmn_buffer *ret);
/* The OpenCL layer's library, until the command ends. NULL: complained about. */
const char *replay_find_layer(void);

/* The caller releases it, when no worker is left. */
void replay_workers_init(struct replay_workers *workers, size_t count);
void replay_workers_release(struct replay_workers *workers);

/* Starts a worker for recipes with these surroundings, after child_begin. false: complained about. */
bool replay_process_start(struct replay_workers *workers, size_t slot, const struct cc_recipe *recipe,
			  const struct replay_settings *settings);
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

/* Equal for recipes whose workers get the same environment and directory. */
struct cmn_hash replay_surroundings(const struct cc_recipe *recipe, const struct replay_settings *settings);

#endif
