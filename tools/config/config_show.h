/* SPDX-License-Identifier: MIT */
/* config_show: settings as people and scripts read them, without passwords. */
#ifndef TOOLS_CONFIG_CONFIG_SHOW_H
#define TOOLS_CONFIG_CONFIG_SHOW_H

#include <stdbool.h>

struct config_show {
	const char *program;	/* as it would have them; NULL: as this command has them */
	const char *name;	/* only this one; NULL: all, and the files' sections */
	bool json;
};

/* The exit code. */
int config_show(const struct config_show *show);

#endif
