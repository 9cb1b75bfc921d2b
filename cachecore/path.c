/* SPDX-License-Identifier: MIT */
/* path: the working directory before a relative path; nothing is resolved. */
#include "cachecore/path.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/bytes.h"

enum cmn_status cc_path_absolute(const char *text, size_t len, bool relative, char **ret)
{
	struct cmn_buffer path = { 0 };
	char *cwd, *absolute;

	if (len == 0 || text[0] != '/') {
		if (!relative || len == 0)
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
