/* SPDX-License-Identifier: MIT */
/*
 * run_layers: sets the variables by which a command's loaders find the layers.
 * Programs that the command starts inherit these variables, and no others.
 */
#ifndef TOOLS_RUN_RUN_LAYERS_H
#define TOOLS_RUN_RUN_LAYERS_H

#include <stdbool.h>

/*
 * OpenCL's layer, and Level Zero's where it was built. Layers that the
 * environment has already are kept. false: complained about.
 */
bool run_layers_enable(void);
/* Level Zero's alone. */
bool run_layers_enable_level_zero(void);

#endif
