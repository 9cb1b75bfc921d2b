/* SPDX-License-Identifier: MIT */
/*
 * stub_layer: the layer's hooks above the stub driver, without a loader, so that a test can put functions of
 * its own below them. The layer is the process's: a program runs its tests apart (unit_run_apart).
 */
#ifndef TESTS_UNIT_LAYERS_OPENCL_STUB_LAYER_H
#define TESTS_UNIT_LAYERS_OPENCL_STUB_LAYER_H

#include "layers/opencl/hooks/dispatch.h"

extern cl_icd_dispatch driver;		/* its own functions; ocl_layer.next has them until a test changes some */
extern cl_device_id device;
extern cl_context context;

/* With a cache in the test's directory, and entries at once. The process ends if its test takes 20 s. */
void stub_layer_begin(void);
/* Made by the layer, and built with these options. */
cl_program stub_layer_build(const char *source, const char *options);
/* Such a program, which is loaded where anything can be observed: an earlier one was built. */
cl_program stub_layer_load(const char *source);
/* Whether programs are loaded here; says so where they are not. */
bool stub_layer_loads(void);

#endif
