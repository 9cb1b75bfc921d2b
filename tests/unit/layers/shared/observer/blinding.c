/* SPDX-License-Identifier: MIT */
/* blinding: a library with a function of libc's name, as a driver might bring one. */

__attribute__((visibility("default"))) int eaccess(const char *path, int mode);
__attribute__((visibility("default"))) int blinding_calls;

int eaccess(const char *path, int mode)
{
	(void)path;
	(void)mode;
	return ++blinding_calls;
}
