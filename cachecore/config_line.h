/* SPDX-License-Identifier: MIT */
/*
 * config_line: the grammar of a settings file, line by line. Knows no setting. Pure.
 *
 *   line    = [ section | setting ] [ comment ]
 *   section = "[program " NAME "]"     what follows, up to the next section, is for that program
 *   setting = NAME "=" VALUE           blanks around NAME and VALUE are not part of them
 *   comment = "#", at the line's start or after a blank, and the rest of the line
 */
#ifndef CACHECORE_CONFIG_LINE_H
#define CACHECORE_CONFIG_LINE_H

enum cc_config_line_kind {
	CC_CONFIG_LINE_EMPTY,
	CC_CONFIG_LINE_SETTING,
	CC_CONFIG_LINE_SECTION,
	CC_CONFIG_LINE_BAD_SECTION,	/* begins as one */
	CC_CONFIG_LINE_BAD,
};

struct cc_config_line {
	enum cc_config_line_kind kind;
	char *name;	/* of the setting, or of the section's program; of a bad line all of it */
	char *value;	/* of a setting, else NULL */
};

/* Splits a line without its end, in place: *ret points into it. */
void cc_config_line_split(char *line, struct cc_config_line *ret);

#endif
