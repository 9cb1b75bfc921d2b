/* SPDX-License-Identifier: MIT */
/*
 * client_files: the files of a driver that no test may touch are elsewhere for this
 * program: with CLIENT_DRIVER_FILES a directory, what the layer asks of the one below
 * is answered from that.
 */
#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INSTALLED "/usr/local/share/pocl/"	/* layers/shared/driver/drivers.c */

__attribute__((visibility("default"))) int glob(const char *pattern, int flags,
						int (*error)(const char *path, int number),
						glob_t *ret)
{
	__typeof__(glob) *next = (__typeof__(glob) *)dlsym(RTLD_NEXT, "glob");
	const char *directory = getenv("CLIENT_DRIVER_FILES");
	char path[4096];

	if (!directory || strncmp(pattern, INSTALLED, strlen(INSTALLED)) != 0)
		return next(pattern, flags, error, ret);
	(void)snprintf(path, sizeof(path), "%s/%s", directory, pattern + strlen(INSTALLED));
	return next(path, flags, error, ret);
}
