/* SPDX-License-Identifier: MIT */
/*
 * layer_run: a client program on a stub driver, each run a process of its own,
 * first with a fault in the layer, then twice without. What it must print is
 * what it prints without the layer.
 */
#ifndef TESTS_FAULT_LAYER_RUN_H
#define TESTS_FAULT_LAYER_RUN_H

#include <stdbool.h>

#include "tests/fault/fault.h"
#include "tests/fault/sweep.h"

enum { LAYER_ARGUMENTS = 8, LAYER_VARIABLES = 16 };

struct layer {
	const char *objects;	/* whose calls are points */
	const char *preloaded;	/* beside the interposer; NULL: nothing */
	const char *program;
	/* For the program with and without the layer; the layer's own are the last ones. */
	const char *variables[LAYER_VARIABLES];
	const char *own[LAYER_VARIABLES];
	const char *compiled;	/* what the stub driver notes when it compiles */
};

struct layer_case {
	const char *name;
	const char *arguments[LAYER_ARGUMENTS];
	bool warm;		/* a run without faults comes first */
	bool fails;		/* the build does: nothing is a hit the next time */
};

/* The runs without faults. NULL, or what is wrong already. */
const char *layer_run_prepare(const struct layer *layer, const struct layer_case *one);
const struct fault_control *layer_run_counted(void);

/* A sweep_try_fn, without a context. */
const char *layer_run_try(void *unused, unsigned int worker, const struct fault_task *task);

#endif
