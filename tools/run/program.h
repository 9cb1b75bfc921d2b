/* SPDX-License-Identifier: MIT */
/*
 * program: what is known of a command's file before it runs: whether layers
 * can come into it at all. They come in through the dynamic linker and by
 * variables, so not into static programs, nor with rights of their own.
 */
#ifndef TOOLS_RUN_PROGRAM_H
#define TOOLS_RUN_PROGRAM_H

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
