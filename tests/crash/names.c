/* SPDX-License-Identifier: MIT */
/* names: an array; there are hundreds, not more. */
#include "tests/crash/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void names_release(struct names *names)
{
	free(names->all);
	*names = (struct names){ 0 };
}

static struct name *look_up(const struct names *names, unsigned int directory, const char *text)
{
	for (size_t i = 0; i < names->count; i++) {
		struct name *name = &names->all[i];

		if (name->directory == directory && strcmp(name->text, text) == 0)
			return name;
	}
	return NULL;
}

unsigned int names_find(const struct names *names, unsigned int directory, const char *text)
{
	const struct name *name = look_up(names, directory, text);

	return name ? name->inode : NAMES_NONE;
}

void names_set(struct names *names, unsigned int directory, const char *text, unsigned int inode)
{
	struct name *name = look_up(names, directory, text);

	if (!name) {
		if (names->count == names->cap) {
			names->cap = names->cap ? 2 * names->cap : 64;
			names->all = realloc(names->all, names->cap * sizeof(*names->all));
			if (!names->all)
				abort();
		}
		name = &names->all[names->count++];
		name->directory = directory;
		(void)snprintf(name->text, sizeof(name->text), "%s", text);
	}
	name->inode = inode;
}

void names_remove(struct names *names, unsigned int directory, const char *text,
		  unsigned int inode)
{
	struct name *name = look_up(names, directory, text);

	if (name && name->inode == inode)
		*name = names->all[--names->count];
}
