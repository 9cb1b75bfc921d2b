/* SPDX-License-Identifier: MIT */

/* entries: what the verbs about entries share. */
#ifndef TOOLS_ENTRIES_ENTRIES_H
#define TOOLS_ENTRIES_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cachecore/disk/root.h"
#include "cachecore/disk/store.h"
#include "common/bytes.h"
#include "tools/explain/run_history.h"
#include "tools/tool.h"

/* Of entries: how many, and their bytes on disk. */
struct amount {
	uint64_t entries, bytes;
};

struct removed {
	struct amount gone;
	const struct amount *left;	/* NULL: it is of no interest */
	bool dry_run;			/* they would be */
};
/* What prune and clear say at their end. The exit code. */
int removed_print(const struct removed *removed, bool json);

/* entry_status: what is wrong with an entry, for people; of one that is not trusted, why. */

/*
 * Of the status that a walk or cc_store_judge gave. *ret_unsafe: its bytes may be what was written,
 * but another user may have written them. Static.
 */
const char *entry_status_text(struct cc_store *store, const struct cc_store_place *place,
			      enum cmn_status status, bool *ret_unsafe);

/*
 * entry_name: an entry as people write it: its path as `ckcache list` prints it, any part of that, a
 * kernel in it, or the program that had asked for it.
 */

/* How a text can mean an entry; a better way outdoes all that only match in a worse one. */
enum entry_match {
	ENTRY_MATCH_NONE,
	ENTRY_MATCH_PART,	/* any part of the path */
	ENTRY_MATCH_NAME,	/* a kernel, or the program */
	ENTRY_MATCH_PATH,	/* the beginnings of the path's parts, from the first one on */
};

/* Of those that match, so many are listed; one more is kept, to say that there are more. */
#define ENTRY_NAME_SHOWN 16

/* One search, until the command ends. */
struct entry_search {
	const char *text;	/* borrowed */
	const char **entry_dirs;	/* that the program of that name asked for, sorted; of the history */
	size_t entry_dir_count;
	enum entry_match best;
	size_t count;		/* of found: those that match so */
	struct {
		char path[CC_ENTRY_DIR_FILE_PATH_SIZE];
		char *what;	/* kernel and options */
	} found[ENTRY_NAME_SHOWN + 1];
};

/* A search for text, which may begin with the path of the root. All are borrowed. */
void entry_search_begin(struct entry_search *search, const char *text, const char *root,
			const struct run_history *history);
/* One that there is; each view may be empty: not known. */
struct entry_offer {
	const char *path;	/* below the root */
	struct cmn_view key;
	struct cmn_view kernel, options;	/* where there is no key: of the first kernel; of the build */
};
/* The same path twice is one. */
void entry_search_offer(struct entry_search *search, const struct entry_offer *offer);
/*
 * Calls visit, which offers, for the entries of the store: first for those whose paths begin as the
 * text does, which outdo all others, and only if none is one for all, with progress of that verb.
 */
enum cmn_status entry_search_store(struct entry_search *search, struct cc_store *store, const char *verb,
				   cc_store_visit_fn visit, void *ctx);
/* The path that was offered; NULL: there is none, or several, which was complained about. */
const char *entry_search_end(const struct entry_search *search);

/*
 * Appends the first kernels of a key's image, with ", " between, and "…" where there are more than
 * those (if they are several); a link is called by the number of its inputs; what has no kernel by the first line that says
 * something, what is no text by its hash. Of a key that has none of these, nothing is appended. Text
 * may be any bytes of the key's. first: comes before a kernel's name, as "kernel ".
 */
void entry_label_append(struct cmn_buffer *text, struct cmn_view key, const char *first,
			unsigned int kernels);

#endif
