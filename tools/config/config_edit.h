/* SPDX-License-Identifier: MIT */
/* config_edit: sets or removes a line in a settings file, and leaves every other line as it is; whoever reads it sees the old text or the new one, also after a crash. */
#ifndef TOOLS_CONFIG_CONFIG_EDIT_H
#define TOOLS_CONFIG_CONFIG_EDIT_H

#include <stdbool.h>
#include <sys/types.h>

struct config_edit {
	const char *program;	/* in whose section; NULL: for all programs */
	const char *name;
	const char *value;	/* NULL: the setting goes, wherever it stands in that part */
	bool secret;		/* the value may hold a password */
};

/* Whether a line of a file can hold that value, or a section's head that program's name. */
bool config_edit_fits(const char *name, const char *value);
bool config_edit_names_program(const char *name);

/*
 * Makes the file and its directories (with directory_mode) where they are missing. A link is
 * followed, so that what it leads to changes. Owner and permissions stay, as far as this user can
 * keep them: in another group's file, that group and others get what both had. A new file has
 * file_mode. Where the value is a secret, only the owner can read the file from then on. Where it
 * fails, the command ends.
 */
void config_write(const char *path, const struct config_edit *edit, mode_t directory_mode, mode_t file_mode);

#endif
