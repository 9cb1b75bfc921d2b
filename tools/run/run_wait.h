/* SPDX-License-Identifier: MIT */
/*
 * run_wait: runs a command as a child. For the parent of this process and for
 * the terminal, it looks as if the command had replaced this process: signals
 * reach the command, if it stops so does this process, if this process is ended
 * so is the command, and only the command has the inherited descriptors.
 */
#ifndef TOOLS_RUN_RUN_WAIT_H
#define TOOLS_RUN_RUN_WAIT_H

#include <stdbool.h>

/* Executes it; returns the exit code only if it could not, which was complained about. */
int run_wait_execute(char **command);
/*
 * Runs the command to its end. aside: what it prints on stdout goes to stderr. *ret_state is as from waitpid.
 * Afterwards stderr, and with keep_output stdout, are the only descriptors left open in this process. false:
 * the command was not started; a message was printed.
 */
bool run_wait(char **command, bool aside, bool keep_output, int *ret_state);
/* Ends this process as the command ended; returns the exit code, if it returns. */
int run_wait_end_as(int state);

#endif
