/* SPDX-License-Identifier: MIT */
/*
 * layers_below: other layers between this one and the driver. Such a layer may change what is built
 * without a trace in the key. If it is known to change nothing, its file is in the key; with any
 * other, nothing is cached. Layers between the application and this one do not matter.
 */
#ifndef OPENCL_KEY_LAYERS_BELOW_H
#define OPENCL_KEY_LAYERS_BELOW_H

#include "cachecore/key.h"
#include "layers/opencl/layer.h"

/*
 * Finds them. To be called once, before the first build and before the functions below. Loaders
 * start layers from the driver upwards, so the layers below are loaded by then. caller: an address
 * in the loader. A function of next that matters for builds and is in another object than the
 * loader is a layer's. next NULL: there is no table, and each layer that the process has counts.
 * Calls none of their functions. Takes about 10 µs, more if there is a layer.
 */
void ocl_layers_below_find(const cl_icd_dispatch *next, const void *caller);

/* false: one of them may change builds. Thread-safe. */
bool ocl_layers_below_are_known(void);
/* Adds the layers that change nothing to a key's device part. Thread-safe. */
void ocl_layers_below_add(struct cc_key *key);

#endif
