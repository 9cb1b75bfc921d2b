/* SPDX-License-Identifier: MIT */
/*
 * layers_below: other layers between this one and the driver. Such a layer may
 * change what is built without anything of that in the key. One that is known
 * only to look on is in the key by its file; with any other nothing is cached.
 * Layers between the application and this one do not matter.
 */
#ifndef OPENCL_KEY_LAYERS_BELOW_H
#define OPENCL_KEY_LAYERS_BELOW_H

#include "cachecore/key.h"
#include "layers/opencl/hooks/layer.h"

/*
 * Finds them, once, before the first build. Loaders start layers from the driver
 * upwards, so that those below are there by then. caller: an address in the
 * loader; a function of next that matters for builds and is not of the same
 * object is a layer's. next NULL: there is no table, and each layer that the
 * process has counts. Calls none of their functions. Thread-safe only before others
 * ask; takes some 10 µs, and more where there is one.
 */
void ocl_layers_below_find(const cl_icd_dispatch *next, const void *caller);

/* false: one of them may change builds. Thread-safe. */
bool ocl_layers_below_are_known(void);
/* Adds those that only look on to a key's device part. Thread-safe. */
void ocl_layers_below_add(struct cc_key *key);

#endif
