/* SPDX-License-Identifier: MIT */
/*
 * worker: what runs in a worker's process, for each API, and what it answers (channel.h). The driver may
 * end the process at any time, or never return. One thread.
 */
#ifndef TOOLS_WORKER_WORKER_H
#define TOOLS_WORKER_WORKER_H

#include "cachecore/disk/writer/recipe.h"
#include "cachecore/disk/store.h"

/*
 * Builds a recipe's program as the application did, through the loader and with the layer, which
 * stores the result under the key that it finds itself; that is on disk when the call returns, as far
 * as the layer can say. root: where the entry is
 * to be. store: where the inputs of links are. One of WORKER_….
 */
int worker_opencl_build(const struct cc_recipe *recipe, const char *root, struct cc_store *store);
int worker_level_zero_build(const struct cc_recipe *recipe);

/* Questions to loaders and drivers, with a verb's arguments; the exit code. */
int probe_opencl(int argc, char **argv);		/* [LIBRARY...]: of the drivers' files */
int probe_opencl_build(int argc, char **argv);		/* [PLATFORM DEVICE]: else all */
int probe_level_zero(int argc, char **argv);
int probe_level_zero_build(int argc, char **argv);	/* [DRIVER DEVICE] */

/* Functions of a loader's, and where the pointer to each is in a structure, which is zeroed by the caller. */
struct worker_function {
	const char *name;
	size_t offset;
	bool needed;
};
/* Loads a library, which stays, and finds its functions. NULL, or why not; lack: one is missing. */
const char *worker_load(const char *library, const struct worker_function *functions, size_t count, void *ret,
			const char *lack);

/* Says why a loader cannot be used (false), or where this function of its came from. */
bool worker_say_loader(const char *problem, const void *function);
/* Says which files of ours this process has; which files it has at all. */
void worker_say_layers(void);
void worker_say_mapped(void);

/* The verb that is run in a process of its own; not for people: what to do, then its arguments. */
int worker_main(int argc, char **argv);

/* Whether the settings have the layer not store images of this size. */
bool worker_is_unwanted(uint64_t size);
/* Goes where a program was built (empty: where this process began), for the compilers' eyes, too. false: it is gone. */
bool worker_enter(struct cmn_view directory);

#endif
