/* SPDX-License-Identifier: MIT */

/*
 * recipes: what the files of `ckcache recipes` and `ckcache record` share: packs, which are files of recipes
 * for other machines (pack.h), on this one. One thread.
 */
#ifndef TOOLS_RECIPES_RECIPES_H
#define TOOLS_RECIPES_RECIPES_H

#include <stdbool.h>

#include "common/bytes.h"
#include "tools/recipes/pack.h"
#include "tools/replay/replay.h"

/*
 * packs: the packs of this machine: <dir>/ckcache/recipes.d/<name>.ckrecipes,
 * first in the user's own directory of data (XDG_DATA_HOME), then in those of
 * all users (XDG_DATA_DIRS; /usr/local/share and /usr/share if that is unset).
 * A directory or file that somebody else than root and this user may write to
 * is not read. One thread.
 */
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

/*
 * portable: which programs can be asked for in the same words on another
 * machine, and which options a pack may hand to a compiler. Whoever records and
 * whoever builds ask the same questions, so what was recorded is not refused
 * later. Pure functions, thread-safe.
 */

/*
 * Whether a path is a package's: absolute, without "..", and below a directory
 * that package managers fill (/usr, /opt, /app, /snap, /nix/store, /gnu/store).
 */
bool portable_path(struct cmn_view path);
/* Whether a header that comes with a program has a plain relative name: compilers may write it to a file. */
bool portable_header(struct cmn_view name);
/*
 * NULL: however a compiler splits and unquotes the text, it finds options that are known, name no
 * file, and whose include directories are packages' or below the working directory. Else why not,
 * in static words that follow "because".
 */
const char *portable_options(struct cmn_view options);
/* Whether a path lies below an absolute include directory of the options. */
bool portable_includes(struct cmn_view options, struct cmn_view path);

/*
 * recipe_key: keys of programs as packs see them: which of them a recipe can
 * be of, for which devices, and the key of a recipe on a device of this
 * machine. Pure functions, thread-safe.
 */

/*
 * NULL: `ckcache replay` can repeat such a build, its options and the names of its headers are
 * portable, and its intermediate language is SPIR-V. Else why not, in static words that follow "because".
 */
const char *recipe_key_refuse(struct cmn_view key);
/* The same of a pack's, whatever the device. */
const char *recipe_key_refuse_recipe(const struct pack *pack, const struct pack_recipe *recipe);
/* How many devices the key is for; 0: for a part of one. */
size_t recipe_key_devices(struct cmn_view key);
/* Of the key's first device. */
void recipe_key_target(struct cmn_view key, struct pack_target *ret);
bool recipe_key_is_for(const struct pack *pack, const struct pack_recipe *recipe,
		       const struct present_device *device);

/*
 * recipe_links: links in packs. A link's key names its inputs by the content of
 * their binaries, which differs from machine to machine. In a pack, a link names
 * each input by the identity of the recipe that makes it (pack_identity). One thread.
 */

/* Links of libraries that are linked of libraries, … so deep. */
#define RECIPE_LINKS_DEPTH 8

/*
 * Appends to *ret, an empty key, the key of a link with the identities of its
 * inputs. CMN_MISS: nobody knows how one of them was made; others as cc_key_status.
 */
CMN_CHECKED enum cmn_status recipe_links_record(const struct objects *objects, struct cmn_view key,
						struct cc_key *ret);

/* The recipes of a pack by their identities. */
struct recipe_index {
	const struct pack *pack;
	struct pack_recipe *recipes;
	struct cmn_hash *identities;
	size_t count, links;
	unsigned int work;	/* how many keys may still be made */
};
/* As cc_key_status; the caller releases *ret in any case. */
CMN_CHECKED enum cmn_status recipe_index_read(const struct pack *pack, struct recipe_index *ret);
void recipe_index_release(struct recipe_index *index);
bool recipe_index_is_link(const struct recipe_index *index, size_t i);

/*
 * Appends to *ret, an empty key, that of the i-th recipe, a link or not, on a
 * device. CMN_MISS: an input is not in the pack, or not among the objects, or the pack takes too
 * much work: links of links of links may be many.
 */
CMN_CHECKED enum cmn_status recipe_links_make(struct recipe_index *index, size_t i,
					      const struct objects *objects,
					      const struct present_device *device,
					      struct cc_key *ret);

/*
 * recipes_verb: what the files of `ckcache recipes` share. recipes_verb.c adds, removes and prints packs;
 * recipes_build.c builds what they have for the devices of this machine.
 */

struct json_object;

/* What was asked for; 0: the default. */
struct recipes_request {
	bool json, idle, unconfined;
	unsigned long jobs, timeout_s, budget_s;
};

/* An action: the exit code. */
int recipes_build(const struct recipes_request *request);

/* Adds an object that says which pack it is of. */
struct json_object *recipes_add_pack(struct json_object *list, const struct packs_file *file);

#endif
