/* SPDX-License-Identifier: MIT */
/*
 * module_run: runs the client under the plugin, on the stub drivers or the
 * real one, with a cache of the test's own, and tells what the drivers did.
 */
#ifndef TESTS_LEVEL_ZERO_MODULE_RUN_H
#define TESTS_LEVEL_ZERO_MODULE_RUN_H

#include "tests/level_zero/slot_run.h"

/* What a run printed, and what the stub driver counted, one event per line. */
struct module_run {
	struct slot_run client;
	char events[SLOT_RUN_MAX];
};

/*
 * Which drivers further runs have: paths with commas between, or NULL: the real
 * one as this machine has it. The stub is what each test begins with.
 */
void module_run_drivers(const char *drivers);

/* Under the plugin: the client's arguments, and variables as shell words ("A=1 B=2"). Ends well, or the test fails. */
void module_run(struct module_run *run, const char *arguments, const char *variables);
/* The same without the plugin. */
void module_run_plain(struct module_run *run, const char *arguments, const char *variables);
/* So many processes at once; they share the output. */
void module_run_processes(struct module_run *run, unsigned int count, const char *arguments,
			  const char *variables);
/* A shell's script, without ', in which $0 is the client. */
void module_run_script(struct module_run *run, const char *script, const char *variables);
/* Under the plugin, however it ends. */
void module_run_any(struct module_run *run, const char *arguments, const char *variables);
/* Without the plugin, whatever comes of it. */
void module_run_plain_any(struct module_run *run, const char *arguments, const char *variables);

/* How often the stub wrote this very event. */
unsigned int module_run_count(const struct module_run *run, const char *event);
/* Whether it destroyed as many of these ("log", "module") as it created. */
bool module_run_balanced(const struct module_run *run, const char *what);
/* A number of the cache's statistics ("hits_disk", "bypass.no-binary"); 0: not there. */
unsigned long module_run_stat(const char *name);

/* The stub saw no handle, no binary and no buffer that it should not have seen. */
void module_run_expect_clean(const struct module_run *run);
/* So many compilations and loads of natives, and nothing unclean. */
void module_run_expect(const struct module_run *run, unsigned int compiled, unsigned int loaded);

#endif
