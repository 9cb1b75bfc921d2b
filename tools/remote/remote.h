/* SPDX-License-Identifier: MIT */

/*
 * remote: what the verbs of the remote tier, `ckcache doctor` and `ckcache-remote` share: which programs the
 * tier needs, where they are, and the secrets that they get; what there is to say about the tier without asking
 * it; entries that are signed and stored in it.
 */
#ifndef TOOLS_REMOTE_REMOTE_H
#define TOOLS_REMOTE_REMOTE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "cachecore/config.h"
#include "cachecore/remote/helper.h"
#include "cachecore/remote/remote.h"
#include "cachecore/remote/seal.h"
#include "common/file.h"
#include "common/hash.h"
#include "tools/tool.h"

/* remote_program: which programs the remote tier needs, where they are, and the secrets that they get. */

/* ckcache-remote, as the cache looks for it. false: it is nowhere. */
bool remote_find_starter(const struct cc_config *config, char ret[PATH_MAX]);
/*
 * The storage helper: ckcache's own, or else ccache's; for unsigned entries ckcache's own, which
 * then is not looked for in $PATH. false: it is nowhere.
 */
bool remote_find_helper(const struct cc_config *config, const struct cc_remote_setup *setup,
			char ret[PATH_MAX]);
/*
 * Adds a helper's secrets to its attributes, from a file of lines "NAME=VALUE". NULL, or why they
 * cannot be used (static), without any part of them.
 */
const char *remote_read_secrets(const char *path, struct cc_address *address);

/*
 * upload: signs entries of a root and stores them in the remote tier, and gets values from it. One
 * connection, which is made again where it broke. Belongs to one thread.
 */
struct upload {
	const struct cc_remote_setup *setup;
	enum cmn_file_trust trust;	/* in files of the root */
	struct cc_signer own;
	const struct cc_signer *signer;	/* own; NULL: unsigned, into a trusted directory */
	struct cc_remote *remote;	/* by which the helper is reached */
	struct cc_helper helper;
	uint64_t count, bytes;		/* that were stored */
	uint64_t counted;		/* count, when refusals were counted last */
	struct cmn_hash last;		/* of the key of the entry that was stored last */
	char problem[CC_HELPER_MESSAGE_SIZE];	/* of what failed last; "": nothing */
};

/* To get values alone. To be released. */
void upload_begin_to_get(const struct cc_config *config, struct upload *ret);
/* false: complained about. In any case to be released. */
bool upload_begin(const struct cc_config *config, const struct cc_remote_setup *setup,
		  struct upload *ret);
void upload_release(struct upload *upload);
/* The connection for what follows, as cc_remote_connect, for as long as one value may take. */
CMN_CHECKED enum cmn_status upload_connect(struct upload *upload);
/*
 * Stores the newest entry of an entry directory. CMN_MISS: there is none that is sound, or the server
 * does not want it. CMN_BUSY, CMN_ERR_IO, …: the tier cannot be reached now (problem).
 */
CMN_CHECKED enum cmn_status upload_entry_dir(struct upload *upload, int root_fd, const char *entry_dir);
/*
 * For other values: stores the views' bytes in order, as upload_entry_dir; gets a value into an empty
 * buffer. CMN_MISS: there is none.
 */
CMN_CHECKED enum cmn_status upload_value(struct upload *upload, struct cmn_view name,
					 const struct cmn_view *views, size_t count);
CMN_CHECKED enum cmn_status upload_get(struct upload *upload, struct cmn_view name, size_t max,
				       struct cmn_buffer *ret);
/*
 * Keeps others out who lock the same name, for a minute at most: a claim on another name. Waits
 * as long; goes on without where the helper has no claims or makes none now.
 */
void upload_lock(struct upload *upload, const char *name);
void upload_unlock(struct upload *upload, const char *name);

/* tier: what there is to say about the remote tier without asking it; what verbs begin with that use it; its directory, kept below a size. */
enum tier_state {
	TIER_NONE,		/* not configured */
	TIER_OFF,		/* it cannot be used: problem */
	TIER_AWAY,		/* left alone until then: problem */
	TIER_IN_USE,
};

struct tier {
	enum tier_state state;
	char *address;		/* as people may see it; NULL: it has none */
	char problem[CC_REMOTE_TEXT_SIZE];
	uint64_t until_s;	/* since the epoch */
	uint64_t waiting;	/* entries that are still to be uploaded */
};

/* As people may see it; the caller frees it. */
char *tier_show_address(const struct cc_address *address);
/* To be released. */
void tier_look(const struct cc_config *config, struct tier *ret);
void tier_release(struct tier *tier);
/* "left alone until 12:05:30: …", "off: …", or "": it is in use. Appends. */
void tier_append_problem(const struct tier *tier, struct cmn_buffer *text);

/*
 * The tier of the configuration, and its address as people may see it, which the caller frees. Where there is
 * none, or it cannot be used, the command ends.
 */
char *tier_begin(const struct tool_cache *cache, struct cc_remote_setup *ret_setup);

/*
 * tier_prune: keeps the directory of a file: tier below a size. It knows how
 * storage/storage_file.c lays out a directory and nothing of what the values are, except
 * that lists of entries (index.h) stay. Safe beside readers and writers on any
 * node: it only unlinks, never what it has not just looked at. A reader that has
 * a value open may lose it, which is a miss.
 */

/*
 * Removes the least recently used values of the configured tier until so much is left, and what processes
 * left behind that died. given: --max-size, or NULL: as the address says. Needs no cache. The exit code.
 */
int tier_prune(const char *given, bool json);

#endif
