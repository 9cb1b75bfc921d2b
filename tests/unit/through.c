/* SPDX-License-Identifier: MIT */
/* through: a library that looks for files by way of one that it is linked with. */

void observed_do(const char *how, const char *path);
__attribute__((visibility("default"))) void observed_through(const char *how, const char *path);

void observed_through(const char *how, const char *path)
{
	observed_do(how, path);
}
