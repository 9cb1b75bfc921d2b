/* SPDX-License-Identifier: MIT */
/*
 * completion: what shells have to know of the verbs, in their own languages; for the build
 * alone.
 */
#ifndef TOOLS_COMPLETION_COMPLETION_H
#define TOOLS_COMPLETION_COMPLETION_H

/* "completion SHELL" (bash, zsh, fish): prints the script; the exit code. */
int completion_print(int argc, char **argv);

#endif
