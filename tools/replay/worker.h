/* SPDX-License-Identifier: MIT */
/*
 * worker: what runs in a worker's process, for each API. The driver may end the
 * process at any time, or never return. One thread.
 */
#ifndef TOOLS_REPLAY_WORKER_H
#define TOOLS_REPLAY_WORKER_H

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

/* Builds a small program for each device; what cannot be built says nothing. */
int worker_opencl_probe(void);
int worker_level_zero_probe(void);

/* Whether the settings have the layer not store images of this size. */
bool worker_is_unwanted(uint64_t size);
/* Goes where a program was built (empty: where this process began), for the compilers' eyes, too. false: it is gone. */
bool worker_enter(struct cmn_view directory);

#endif
