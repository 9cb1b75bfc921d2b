/* SPDX-License-Identifier: MIT */
/*
 * run: what `ckcache run` and the verbs that run a command share: the variables by which a command's loaders
 * find the layers, which programs that the command starts inherit, and no others; the command's file, and
 * whether layers can be loaded into it; and the command as a child.
 */
#ifndef TOOLS_RUN_RUN_H
#define TOOLS_RUN_RUN_H

#include <stdbool.h>

/*
 * run_layers: sets the variables by which a command's loaders find the layers, which programs that the command
 * starts inherit, and no others; finds a command's file, and says before it runs whether layers can be loaded
 * into it.
 */
/*
 * OpenCL's layer, and Level Zero's where it was built. Layers that the
 * environment has already are kept. false: complained about.
 */
bool run_layers_enable(void);
/* Level Zero's alone. */
void run_layers_enable_level_zero(void);

/*
 * run_program: finds a command's file, and says before it runs whether layers can be
 * loaded into it. Layers need the dynamic linker and variables, so they cannot be
 * loaded into static programs or into programs that run with other privileges.
 */
enum program_kind {
	PROGRAM_USUAL,		/* nothing speaks against it; also what cannot be read */
	PROGRAM_ABSENT,		/* there is no such file, in PATH either */
	PROGRAM_SCRIPT,		/* begins with #!: its interpreter decides */
	PROGRAM_STATIC,
	PROGRAM_PRIVILEGED,	/* set-user-ID, set-group-ID or with capabilities */
	PROGRAM_FOREIGN,	/* of another class or machine than this command and its layers */
};

/* As execvp finds it. *ret_path (may be NULL): the file, the caller's to free, or NULL. */
enum program_kind program_look(const char *command, char **ret_path);
/* "it is linked statically", …; NULL: nothing speaks against it. */
const char *program_obstacle(enum program_kind kind);

/*
 * run_wait: runs a command as a child. For the parent of this process and for
 * the terminal, it looks as if the command had replaced this process: signals
 * reach the command, if it stops so does this process, if this process is ended
 * so is the command, and only the command has the inherited descriptors.
 */
/*
 * Runs the command to its end. aside: what it prints on stdout goes to stderr. *ret_state is as from waitpid.
 * Afterwards stderr, and with keep_output stdout, are the only descriptors left open in this process. false:
 * the command was not started; a message was printed.
 */
bool run_wait(char **command, bool aside, bool keep_output, int *ret_state);

#endif
