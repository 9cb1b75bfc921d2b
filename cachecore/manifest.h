/* SPDX-License-Identifier: MIT */
/*
 * manifest: what a result depends on beside its key, checked again at every
 * look-up, so that a hit runs no front end (ccache's "direct mode"): each
 * file's content, each place where something was looked for and was absent, each
 * directory that was there, and the working directory where the result depends on it.
 * Compilers take two names of one file or directory as one (`#pragma once`,
 * directories that are searched once): which names are the same one counts as well.
 *
 *   manifest   = version:u32 count:u32 dependency*
 *   dependency = kind:u8 path_len:u64 path size:u64 hash[16]
 *
 * Paths are as the driver would spell them: a relative one means relative to
 * the working directory of whoever looks up. A manifest is built by one
 * thread; once in an entry it is read-only and shared.
 */
#ifndef CACHECORE_MANIFEST_H
#define CACHECORE_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>

#include "cachecore/file_memo.h"
#include "cachecore/include_paths.h"
#include "common/bytes.h"
#include "common/hash.h"
#include "common/status.h"

#define CC_MANIFEST_VERSION 1
#define CC_MANIFEST_VERSION_PATHS 2	/* with include paths, which readers of version 1 do not know */

enum cc_dependency {
	CC_DEPENDENCY_FILE = 1,		/* a regular file with this size and hash */
	CC_DEPENDENCY_ABSENT = 2,	/* nothing there */
	CC_DEPENDENCY_DIRECTORY = 3,	/* path is cc_manifest_working_directory */
	/* A directory, or nothing that this process can reach: its files are dependencies of their own. */
	CC_DEPENDENCY_PLACE = 4,
	/*
	 * A regular file with this size and, in the halves of hash, this mtime and ctime in ns
	 * (ctime 0: any). For a file that nobody read, or that is too large to read at each look-up.
	 */
	CC_DEPENDENCY_SEEN = 6,
	/*
	 * Encoded only, after the others: path, which is one that was seen, has this size and hash. It
	 * holds with other times as well then: a copy on another machine or in another image.
	 */
	CC_DEPENDENCY_CONTENT = 7,
	/*
	 * Encoded only, after the others: path, which has a dependency already, leads to the same file
	 * or directory as dependency number size, the first one that does. A size of UINT64_MAX says
	 * that the manifest records this: paths without such a line then lead to different ones.
	 */
	CC_DEPENDENCY_SAME = 5,
	/* The path is a variable's name after a '$': size 1 and the hash of its value, or size 0: it is not set. */
	CC_DEPENDENCY_VARIABLE = 8,
	/* A directory, its path with a slash at the end, by the names of what lies there: their number and hash. */
	CC_DEPENDENCY_NAMES = 9,
	/*
	 * Before all others: the include paths of the options, in their order, each after its number as the key
	 * has it ("<1>/usr/include"). What lies there is looked for where the options lead that are built now.
	 * size 1: but the result may name it, so that it must be the same.
	 */
	CC_DEPENDENCY_INCLUDE_PATH = 10,
};

struct cc_manifest;

struct cc_manifest *cc_manifest_new(void);	/* NULL: out of memory */
void cc_manifest_drop(struct cc_manifest *manifest);	/* cc_manifest_free's */

static inline void cc_manifest_free(struct cc_manifest *manifest)	/* NULL is fine */
{
	if (manifest)
		cc_manifest_drop(manifest);
}

size_t cc_manifest_count(const struct cc_manifest *manifest);	/* NULL counts 0 */

/*
 * A path may be added once; a second time is CMN_OK and changes nothing if
 * kind and hash agree, else CMN_STALE. CMN_ERR_INVALID: an empty path.
 */
CMN_CHECKED enum cmn_status cc_manifest_add_file(struct cc_manifest *manifest, const char *path,
						 uint64_t size, const struct cmn_hash *hash);
CMN_CHECKED enum cmn_status cc_manifest_add_seen(struct cc_manifest *manifest, const char *path,
						 const struct cc_file_identity *identity,
						 bool with_ctime);
/*
 * Those of a key, to an empty manifest. named: the result may name them, or hangs on them in another way.
 */
CMN_CHECKED enum cmn_status cc_manifest_add_include_paths(struct cc_manifest *manifest,
							  const struct cc_include_paths *paths, bool named);
/* The result does name them. */
void cc_manifest_name_include_paths(struct cc_manifest *manifest);
/* Whether they were these. manifest may be NULL. */
bool cc_manifest_has_include_paths(const struct cc_manifest *manifest, const struct cc_include_paths *paths);
/*
 * Where the i-th dependency lies for a build with these paths (NULL: where it lay), in *room, on the heap, if it is
 * elsewhere; *room is NULL at first. "": there is no room.
 */
const char *cc_manifest_path_now(const struct cc_manifest *manifest, size_t i, const struct cc_include_paths *paths,
				 char **room);
/* Whether there are any, and the result does not name them. manifest may be NULL. */
bool cc_manifest_moves(const struct cc_manifest *manifest);
/* So many there are; ret has room for CC_INCLUDE_PATHS. manifest may be NULL. Borrowed. */
uint32_t cc_manifest_include_paths(const struct cc_manifest *manifest, struct cmn_view *ret);

/* Says what the file has that was added last, by cc_manifest_add_seen. */
void cc_manifest_set_content(struct cc_manifest *manifest, const struct cmn_hash *hash);
CMN_CHECKED enum cmn_status cc_manifest_add_place(struct cc_manifest *manifest, const char *path);
CMN_CHECKED enum cmn_status cc_manifest_add_absent(struct cc_manifest *manifest, const char *path);
/*
 * The names in a directory and what kind each of them is, in whatever order. false: they cannot be
 * read, or are more than anybody wants to read at each look-up.
 */
struct cc_manifest_names {
	uint64_t count;
	struct cmn_hash hash;
};
bool cc_manifest_read_names(const char *path, struct cc_manifest_names *ret);
bool cc_manifest_names_equal(const struct cc_manifest_names *a, const struct cc_manifest_names *b);
CMN_CHECKED enum cmn_status cc_manifest_add_names(struct cc_manifest *manifest, const char *path,
						  const struct cc_manifest_names *names);
/* value: NULL where it is not set. */
CMN_CHECKED enum cmn_status cc_manifest_add_variable(struct cc_manifest *manifest, const char *name,
						     const char *value);
CMN_CHECKED enum cmn_status cc_manifest_add_directory(struct cc_manifest *manifest,
						      const char *path);
/*
 * Adds what another manifest has (NULL: nothing), but for files that were seen
 * with their ctime, which are a driver's own, and without which names lead to the same file.
 */
CMN_CHECKED enum cmn_status cc_manifest_add_but_drivers(struct cc_manifest *manifest,
							const struct cc_manifest *from);

/* The build made what is at that path. Not encoded: only for later steps of the same build. */
CMN_CHECKED enum cmn_status cc_manifest_add_made(struct cc_manifest *manifest, const char *path);
bool cc_manifest_was_made(const struct cc_manifest *manifest, const char *path);
/*
 * Adds what another one has, of a later step of the same build in this process, but for what the
 * build had made before. CMN_STALE: they contradict each other.
 */
CMN_CHECKED enum cmn_status cc_manifest_add_all(struct cc_manifest *manifest,
						const struct cc_manifest *from);

/*
 * Says which file or directory the path that was added last leads to, so that
 * other names of it are recognized.
 */
void cc_manifest_identify(struct cc_manifest *manifest, const struct cc_file_identity *identity);

/* Walks the dependencies; i < count. Borrowed. */
struct cc_manifest_item {
	enum cc_dependency kind;
	const char *path;
	uint64_t size;
	struct cmn_hash hash;
	size_t same;
};
struct cc_manifest_item cc_manifest_get(const struct cc_manifest *manifest, size_t i);

void cc_manifest_encode(const struct cc_manifest *manifest, struct cmn_buffer *ret);
/* CMN_ERR_CORRUPT, CMN_ERR_VERSION, CMN_ERR_NOMEM; *ret is freed by the caller. */
CMN_CHECKED enum cmn_status cc_manifest_decode(struct cmn_view encoded, struct cc_manifest **ret);

/*
 * The absolute name of the working directory as compilers spell it (PWD where
 * that is one), on the heap; NULL: it has no name, or out of memory.
 */
char *cc_manifest_working_directory(void);

/* The first dependency that is not as it was. */
struct cc_manifest_change {
	enum cc_manifest_how {
		CC_MANIFEST_SAME,	/* there is none */
		CC_MANIFEST_CHANGED,
		CC_MANIFEST_VANISHED,	/* or cannot be read */
		CC_MANIFEST_APPEARED,
		CC_MANIFEST_ANOTHER,	/* two names were one file or directory, or are one now */
		CC_MANIFEST_DIRECTORY,	/* the working directory is another */
		CC_MANIFEST_INCLUDE_PATH,	/* that, which the result may name, is another */
	} how;
	char path[256];		/* the end of it where it is longer */
};

/*
 * CMN_OK: all is as it was. CMN_STALE: something differs or cannot be read, and *ret,
 * which is set in any case, says what. paths: where the options lead now; NULL: where they led. All may be NULL.
 */
CMN_CHECKED enum cmn_status cc_manifest_compare_at(const struct cc_manifest *manifest,
						   const struct cc_include_paths *paths,
						   struct cc_file_memo *memo,
						   struct cc_manifest_change *ret);

static inline CMN_CHECKED enum cmn_status cc_manifest_compare(const struct cc_manifest *manifest,
							      struct cc_file_memo *memo,
							      struct cc_manifest_change *ret)
{
	return cc_manifest_compare_at(manifest, NULL, memo, ret);
}

static inline CMN_CHECKED enum cmn_status cc_manifest_verify(const struct cc_manifest *manifest,
							     struct cc_file_memo *memo)
{
	return cc_manifest_compare(manifest, memo, NULL);
}

#endif
