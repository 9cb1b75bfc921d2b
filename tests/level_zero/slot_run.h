/* SPDX-License-Identifier: MIT */
/*
 * slot_run: runs a client program on the real loader and the Intel driver, which
 * compiles without hardware, and keeps what it printed.
 */
#ifndef TESTS_LEVEL_ZERO_SLOT_RUN_H
#define TESTS_LEVEL_ZERO_SLOT_RUN_H

#include <stdbool.h>

#define SLOT_RUN_MAX (256 * 1024)

struct slot_run {
	int status;			/* the exit code; -1: a signal, or never started */
	char output[SLOT_RUN_MAX];
	char errors[SLOT_RUN_MAX];
	char calls[SLOT_RUN_MAX];	/* what the plugins saw, one line each */
};

/* What the driver pretends to be in all further runs: a name that the driver knows. */
void slot_run_product(const char *product);
/*
 * Whether the command ends well with the driver as that product, outside of any test.
 * Else nothing is tested: skipped, unless all drivers are said to be there. Older
 * drivers do not know newer products.
 */
bool slot_run_has_driver(const char *command);

/*
 * Runs a program in unit_dir with no other variables than the driver's, PATH
 * and those given ("A=1 B=2", in the shell's words). A run of over two minutes
 * is ended and counts as failed.
 */
void slot_run(struct slot_run *run, const char *client, const char *mode, const char *variables);

/* A shell command in unit_dir that must succeed. */
void slot_run_shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
