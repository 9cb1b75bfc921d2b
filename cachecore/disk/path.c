/* SPDX-License-Identifier: MIT */
/* path: the working directory before a relative path, nothing is resolved; the program's own. */
#include "cachecore/disk/path.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "common/bytes.h"

enum cmn_status cc_path_absolute(const char *text, size_t len, bool relative, char **ret)
{
	struct cmn_buffer path = { 0 };
	char *cwd, *absolute;

	if (len == 0 || text[0] != '/') {
		/* A shell would have expanded "~": whoever wrote it does not mean a name here. */
		if (!relative || len == 0 || text[0] == '~')
			return CMN_ERR_INVALID;
		cwd = getcwd(NULL, 0);
		if (!cwd)
			return CMN_ERR_INVALID;
		cmn_buffer_append_text(&path, cwd);
		cmn_buffer_append_u8(&path, '/');
		free(cwd);
	}
	cmn_buffer_append(&path, text, len);
	absolute = cmn_buffer_take_string(&path);
	if (!absolute)
		return CMN_ERR_NOMEM;
	*ret = absolute;
	return CMN_OK;
}

const char *cc_path_program(void)
{
	/* Of the process's stack, and true for as long as it lives. Asking /proc for it takes 50 us. */
	const char *path = (const char *)(uintptr_t)getauxval(AT_EXECFN);
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}
