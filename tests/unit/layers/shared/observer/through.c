/* SPDX-License-Identifier: MIT */
/* through: a library that looks for files by way of one that it is linked with; also (DEEPEST) one that does nothing. */

void observed_do(const char *how, const char *path);
__attribute__((visibility("default"))) void observed_through(const char *how, const char *path);

#ifdef DEEPEST
void observed_do(const char *how, const char *path)
{
	(void)how;
	(void)path;
}
#endif

void observed_through(const char *how, const char *path)
{
	observed_do(how, path);
}
