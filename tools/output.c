/* SPDX-License-Identifier: MIT */
/* output: a temporary in the same directory, renamed at the end. */
#include "tools/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file.h"
#include "tools/memory.h"
#include "tools/tool.h"

bool output_open(const char *file, const char *what, struct output *ret)
{
	struct output output = { .file = file, .fd = -1 };
	const char *slash = strrchr(file, '/');
	const char *problem = NULL;
	struct stat info;

	if (strcmp(file, "-") == 0) {
		output.fd = STDOUT_FILENO;
		if (isatty(STDOUT_FILENO)) {
			tool_complain("%s: %s is not for a terminal", file, what);
			return false;
		}
	} else if (lstat(file, &info) == 0 && !S_ISREG(info.st_mode)) {
		/* It would be replaced: a device, a link, a pipe. */
		problem = "it exists and is not a regular file (- is standard output)";
	} else {
		output.temporary = memory_printf("%.*s.ckcache-output-XXXXXX",
						 slash ? (int)(slash - file + 1) : 0, file);
		output.fd = cmn_file_make_unique(output.temporary);
		if (output.fd < 0) {
			problem = strerror(errno);
			free(output.temporary);
		}
	}
	if (problem)
		tool_complain("%s: %s", file, problem);
	else
		*ret = output;
	return !problem;
}

bool output_close(struct output *output, bool good)
{
	mode_t mask;

	if (!output->temporary)
		return good;
	mask = umask(0);
	(void)umask(mask);
	/* What other programs would have made it with; without it only the owner reads it. */
	if (good && fchmod(output->fd, 0666 & ~mask) == 0 && fsync(output->fd) == 0 &&
	    close(output->fd) == 0 && rename(output->temporary, output->file) == 0) {
		free(output->temporary);
		return true;
	}
	if (good)
		tool_complain("%s: %s", output->file, strerror(errno));
	else
		(void)close(output->fd);	/* what was written is removed */
	(void)unlink(output->temporary);
	free(output->temporary);
	return false;
}
