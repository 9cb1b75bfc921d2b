/* SPDX-License-Identifier: MIT */
/*
 * config_edit: the text of a settings file with one setting changed. Comments, the order and
 * every other line stay byte by byte. Pure.
 */
#ifndef TOOLS_CONFIG_CONFIG_EDIT_H
#define TOOLS_CONFIG_CONFIG_EDIT_H

#include <stdbool.h>

#include "common/bytes.h"

struct config_edit {
	const char *program;	/* in whose section; NULL: for all programs */
	const char *name;
	const char *value;	/* NULL: the setting goes, wherever it stands in that part */
	bool secret;		/* the value may hold a password */
};

/*
 * Appends the new text to ret. The last line of the setting gets the value, because the last one
 * counts; a new line goes behind the last setting of its part, and a new section to the end.
 * false: nothing had to be changed.
 */
bool config_edit(struct cmn_view text, const struct config_edit *edit, struct cmn_buffer *ret);
/* Whether a line of a file can hold that value, or a section's head that program's name. */
bool config_edit_fits(const char *name, const char *value);
bool config_edit_names_program(const char *name);

#endif
