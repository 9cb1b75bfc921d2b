/* SPDX-License-Identifier: MIT */
/*
 * packs: the packs of this machine: <dir>/ckcache/recipes.d/<name>.ckrecipes,
 * first in the user's own directory of data (XDG_DATA_HOME), then in those of
 * all users (XDG_DATA_DIRS; /usr/local/share and /usr/share if that is unset).
 * A directory or file that somebody else than root and this user may write to
 * is not read. One thread.
 */
#ifndef TOOLS_RECIPES_PACKS_H
#define TOOLS_RECIPES_PACKS_H

#include "tools/recipes/pack.h"

#define PACKS_FOLDER "ckcache/recipes.d"
#define PACKS_SUFFIX ".ckrecipes"
#define PACKS_MAX_OF_DIRECTORY 256

struct packs_file {
	const char *path;	/* of the file */
	struct cmn_view name;	/* without the suffix, a view into path */
	size_t bytes;
	const struct pack *pack;
};

/*
 * Visits each pack that can be read, in the order of directories and names,
 * until a visit returns false. Others are complained about, in one line each. false: so was one.
 */
bool packs_walk(bool (*visit)(void *ctx, const struct packs_file *file), void *ctx);

/* Reads a file of any owner. false: complained about; else the caller releases both. */
bool packs_read(const char *path, struct cmn_buffer *ret_file, struct pack *ret);

/* The user's own directory, the caller's to free; NULL: complained about. */
char *packs_own_directory(void);

#endif
