/* SPDX-License-Identifier: MIT */
/*
 * upload: signs entries of a root and stores them in the remote tier, and gets values from it. One
 * connection, which is made again where it broke. Belongs to one thread.
 */
#ifndef TOOLS_REMOTE_UPLOAD_H
#define TOOLS_REMOTE_UPLOAD_H

#include <stdint.h>

#include "cachecore/config.h"
#include "cachecore/remote/helper.h"
#include "cachecore/remote/remote.h"
#include "cachecore/remote/seal.h"
#include "common/file.h"
#include "common/hash.h"

struct upload {
	const struct cc_remote_setup *setup;
	enum cmn_file_trust trust;	/* in files of the root */
	struct cc_signer own;
	const struct cc_signer *signer;	/* own; NULL: unsigned, into a trusted directory */
	struct cc_remote *remote;	/* by which the helper is reached */
	struct cc_helper helper;
	uint64_t count, bytes;		/* that were stored */
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

#endif
