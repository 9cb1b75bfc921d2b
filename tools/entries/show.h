/* SPDX-License-Identifier: MIT */
/* show: what the two files of `ckcache show` share: show.c finds and reads the entry, show_print.c shows it. */
#ifndef TOOLS_ENTRIES_SHOW_H
#define TOOLS_ENTRIES_SHOW_H

#include "cachecore/entry.h"
#include "cachecore/disk/store.h"
#include "common/bytes.h"

struct shown_entry {
	char path[CC_ENTRY_DIR_PATH_SIZE + CC_ENTRY_DIR_NAME_SIZE];	/* of the .src, below the root */
	struct cc_store_place place;
	const char *root;
	uint64_t bytes, stored_ns, access_ns;
	struct cmn_buffer file;		/* the .src */
	struct cc_src src;		/* views into it */
	struct cc_manifest *manifest;	/* NULL: none */
	bool has_header;
	struct cc_entry_header header;	/* of the .bin */
	enum cmn_status status;		/* of the pair, every byte of it */
	const char *status_text;	/* static */
};

/* For people, and as docs/JSON.md has it; the exit code. */
int show_print(const struct shown_entry *entry);
int show_print_json(const struct shown_entry *entry);

#endif
