/* SPDX-License-Identifier: MIT */
/*
 * run_program: finds a command's file, and says before it runs whether layers can be
 * loaded into it. Layers need the dynamic linker and variables, so they cannot be
 * loaded into static programs or into programs that run with other privileges.
 */
#ifndef TOOLS_RUN_RUN_PROGRAM_H
#define TOOLS_RUN_RUN_PROGRAM_H

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

#endif
