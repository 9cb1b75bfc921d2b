/* SPDX-License-Identifier: MIT */
/* limited: systemd bounds processes nearly everywhere, high; the other bounds are set by people. */
#include "tools/replay/limited.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/file.h"

#define MAX_TEXT 4096
#define FEW_PROCESSES 1000	/* a worker, its compilers, and their threads */

/* NULL: it cannot be read. For free. */
static char *read_text(const char *directory, const char *name)
{
	struct cmn_buffer buffer = { 0 };
	char path[PATH_MAX], *text = NULL;

	if (snprintf(path, sizeof(path), "%s%s", directory, name) < (int)sizeof(path) &&
	    cmn_file_read_shown(path, MAX_TEXT, &buffer) == CMN_OK)
		text = cmn_buffer_take_string(&buffer);
	cmn_buffer_release(&buffer);
	return text;
}

static bool is_limited(const char *group)
{
	static const struct {
		const char *bound, *used;	/* NULL: any bound counts */
	} rows[] = {
		{ "/cpu.max", NULL }, { "/memory.max", NULL }, { "/memory.high", NULL },
		{ "/pids.max", "/pids.current" },
	};
	bool limited = false;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *bound = read_text(group, rows[i].bound);
		char *used = rows[i].used ? read_text(group, rows[i].used) : NULL;

		if (bound && strncmp(bound, "max", strlen("max")) != 0)
			limited = limited || !rows[i].used ||
				  strtol(bound, NULL, 10) - strtol(used ? used : "0", NULL, 10) < FEW_PROCESSES;
		free(bound);
		free(used);
	}
	return limited;
}

bool limited_by_control_group(const char *own, const char *root)
{
	char group[PATH_MAX], *groups = read_text(own, "");
	const char *at = groups ? strstr(groups, "0::/") : NULL;
	bool limited = false;
	int len = at ? snprintf(group, sizeof(group), "%s%.*s", root, (int)strcspn(at + 3, "\n"), at + 3) : -1;

	free(groups);
	if (len < 0 || (size_t)len >= sizeof(group))
		return false;
	/* Up to the root, which a namespace or a container shows with bounds of its own. */
	for (char *end = group + len; end && end >= group + strlen(root) && !limited; end = strrchr(group, '/')) {
		*end = '\0';
		limited = is_limited(group);
	}
	return limited;
}
