/* SPDX-License-Identifier: MIT */
/*
 * store_run: a scenario in a directory of a worker's own: with a fault, then
 * twice without, and what may not be wrong after each.
 */
#ifndef TESTS_FAULT_STORE_RUN_H
#define TESTS_FAULT_STORE_RUN_H

#include "tests/fault/fault.h"
#include "tests/fault/scenario.h"
#include "tests/fault/sweep.h"

/* To be called in main, first. */
void store_run_begin(char **argv);

/*
 * The directory to begin with, and a run without faults, which gives what is
 * right. Points are those of the classes. NULL, or what is wrong already.
 */
const char *store_run_prepare(const struct scenario *scenario, unsigned int classes);
/* What that run did, and counted. */
const struct fault_control *store_run_counted(void);
const struct scenario_outcome *store_run_reference(void);

/* A sweep_try_fn, without a context. */
const char *store_run_try(void *unused, unsigned int worker, const struct fault_task *task);

/* The same with one of setrlimit's resources limited in place of a fault. */
const char *store_run_limited(int resource, unsigned long limit);

#endif
