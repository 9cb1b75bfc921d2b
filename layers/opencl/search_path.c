/* SPDX-License-Identifier: MIT */
/* search_path: variables first, then what is on this system. */
#include "layers/opencl/search_path.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"

static enum cmn_status add(struct ocl_search_path *path, const char *directory, size_t len)
{
	char **directories = realloc(path->directories, (path->count + 1) * sizeof(*directories));

	if (!directories)
		return CMN_ERR_NOMEM;
	path->directories = directories;
	directories[path->count] = strndup(directory, len);
	if (!directories[path->count])
		return CMN_ERR_NOMEM;
	path->count++;
	return CMN_OK;
}

/* Directories separated by colons; an empty one is the working directory. */
static enum cmn_status add_list(struct ocl_search_path *path, const char *list)
{
	enum cmn_status status;
	size_t len;

	do {
		len = strcspn(list, ":");
		status = add(path, list, len);
		list += len + 1;
	} while (status == CMN_OK && list[-1]);
	return status;
}

static enum cmn_status add_pattern(struct ocl_search_path *path, const char *pattern)
{
	enum cmn_status status = CMN_OK;
	glob_t found = { 0 };
	int result = glob(pattern, GLOB_ONLYDIR, NULL, &found);

	if (result == GLOB_NOSPACE)
		status = CMN_ERR_NOMEM;
	for (size_t i = 0; result == 0 && i < found.gl_pathc && status == CMN_OK; i++)
		status = add(path, found.gl_pathv[i], strlen(found.gl_pathv[i]));
	globfree(&found);
	return status;
}

enum cmn_status ocl_search_path_init(struct ocl_search_path *ret)
{
	static const char *const variables[] = { "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH",
						 "OPENCL_INCLUDE_PATH" };
	static const char *const patterns[] = {
		"/usr/lib/llvm-*/lib/clang/*/include",
		"/usr/lib/clang/*/include",
		"/usr/local/lib/clang/*/include",
	};
	/* The multiarch directory has the architecture's name, as x86_64-linux-gnu. */
	static const char *const fixed[] = { "/usr/local/include", "/usr/include",
#if defined(__x86_64__)
					     "/usr/include/x86_64-linux-gnu",
#elif defined(__aarch64__)
					     "/usr/include/aarch64-linux-gnu",
#endif
	};
	enum cmn_status status = CMN_OK;

	*ret = (struct ocl_search_path){ 0 };
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *list = getenv(variables[i]);

		if (status == CMN_OK && list && *list)
			status = add_list(ret, list);
	}
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]) && status == CMN_OK; i++)
		status = add(ret, fixed[i], strlen(fixed[i]));
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]) && status == CMN_OK; i++)
		status = add_pattern(ret, patterns[i]);
	return status;
}

void ocl_search_path_release(struct ocl_search_path *path)
{
	for (size_t i = 0; i < path->count; i++)
		free(path->directories[i]);
	free(path->directories);
	*path = (struct ocl_search_path){ 0 };
}

char *ocl_search_path_join(const char *directory, const char *name)
{
	struct cmn_buffer path = { 0 };
	size_t len = strlen(directory);

	cmn_buffer_append(&path, directory, len);
	if (len && directory[len - 1] != '/')
		cmn_buffer_append_u8(&path, '/');
	cmn_buffer_append_text(&path, name);
	return cmn_buffer_take_string(&path);
}

char *ocl_search_path_parent(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup("");
	return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}
