/* SPDX-License-Identifier: MIT */
/*
 * run_wait: a command as a child that behaves, for who started this process
 * and for the terminal, as if it had taken this process's place: signals reach
 * it, what stops it stops this process too, what ends this process ends it, and
 * it alone holds what both inherited.
 */
#ifndef TOOLS_RUN_RUN_WAIT_H
#define TOOLS_RUN_RUN_WAIT_H

#include <stdbool.h>

/*
 * Runs the command to its end; execute is called in the child, and returns an
 * exit code if it cannot. *ret_state is as from waitpid. Afterwards only stderr
 * is left of this process's descriptors. false: it was not started, complained about.
 */
bool run_wait(char **command, int (*execute)(char **command), int *ret_state);
/* Ends this process as the command ended; returns the exit code, if it returns. */
int run_wait_end_as(int state);

#endif
