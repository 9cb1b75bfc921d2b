/* SPDX-License-Identifier: MIT */
/* linker: looks in the directories that the variables list, as clang does. */
#include "layers/shared/driver/linker.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/file_memo.h"

/* The next directory of a list, and name in it. false: there are no more. */
static bool next_path(const char **list, const char *name, char ret[PATH_MAX])
{
	size_t len = *list ? strcspn(*list, ":") : 0;
	int written;

	if (!*list)
		return false;
	/* An empty one is the working directory. */
	written = snprintf(ret, PATH_MAX, "%.*s%s%s", (int)(len < PATH_MAX ? len : PATH_MAX), *list,
			   len ? "/" : "", name);
	if (written < 0 || written >= PATH_MAX)
		ret[0] = '\0';
	*list = (*list)[len] ? *list + len + 1 : NULL;
	return true;
}

static bool has_content(const char *path, struct cmn_hash *ret)
{
	struct cc_file_identity identity;
	struct stat info;

	if (!path[0] || stat(path, &info) != 0 || !S_ISREG(info.st_mode))
		return false;
	identity = cc_file_identity_of(&info);
	return cc_file_memo_hash_same(NULL, path, &identity, ret) == CMN_OK;
}

static bool find(const struct drv_driver *driver, const struct drv_linker_variables *variables,
		 struct cmn_hash *ret)
{
	const char *lists[] = { variables->compiler_path, variables->path };
	char path[PATH_MAX];

	for (size_t i = 0; i < 2; i++) {
		while (next_path(&lists[i], driver->linker, path)) {
			if (access(path, X_OK) == 0 && has_content(path, ret))
				return true;
		}
	}
	return false;
}

bool drv_linker_add(const struct drv_driver *driver, const struct drv_linker_variables *variables,
		    struct cc_key *key)
{
	/* What clang has linked with everything, as the linker looks for it. */
	static const char *const libraries[] = {
		"libgcc.so", "libgcc.a", "libgcc_s.so", "libgcc_s.a", "libc.so", "libc.a", "libm.so", "libm.a",
	};
	char path[PATH_MAX];
	struct cmn_hash hash;

	if (!driver->linker)
		return true;
	if (find(driver, variables, &hash))
		cc_key_add(key, CC_PART_DEVICE, "driver.linker", hash.bytes, CMN_HASH_SIZE);
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		const char *list = variables->library_path;

		while (next_path(&list, libraries[i], path)) {
			if (has_content(path, &hash))
				cc_key_add(key, CC_PART_DEVICE, "driver.linker", hash.bytes, CMN_HASH_SIZE);
		}
	}
	return cc_key_status(key) == CMN_OK;
}

bool drv_linker_is(const struct drv_driver *driver, const struct drv_linker_variables *variables,
		   const char *program)
{
	struct cmn_hash named, found;

	return driver->linker && find(driver, variables, &named) && has_content(program, &found) &&
	       cmn_hash_equal(&named, &found);
}

bool drv_linker_is_in_path(const struct drv_linker_variables *variables, const char *program)
{
	const char *list = variables->path, *slash = strrchr(program, '/');
	char path[PATH_MAX];

	while (slash && next_path(&list, slash + 1, path)) {
		if (strcmp(path, program) == 0)
			return true;
	}
	return false;
}
