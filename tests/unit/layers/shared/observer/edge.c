/* SPDX-License-Identifier: MIT */
/*
 * edge: a library with one call that is bound when it is first made. Linkers put the first slot of such
 * calls where the part ends that is read-only once it is relocated, at the start of the next page.
 */
#include <stdbool.h>
#include <unistd.h>

__attribute__((visibility("default"))) bool edge_look(const char *path);

bool edge_look(const char *path)
{
	return access(path, F_OK) == 0;
}
