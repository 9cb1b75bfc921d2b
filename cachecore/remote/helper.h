/* SPDX-License-Identifier: MIT */
/*
 * helper: a connection to a storage helper, a process on this machine that talks
 * to a remote storage server. It speaks version 1 of ccache's protocol
 * (ccache's doc/remote_storage_helper_spec.md), with one capability more that
 * ckcache's own helpers have, for claims:
 *
 *   get or claim  0x80 key ttl:u64  ->  ok value | noop claimed:bool | err
 *   release       0x81 key          ->  ok | noop | err
 *
 * A claim says that its owner computes the value. It ends by itself ttl
 * milliseconds later. Each function ends by the deadline that was set last.
 * After any status but CMN_OK and CMN_MISS the connection is of no use. A
 * connection belongs to one thread; an application that closes descriptors it
 * does not know, or forks, does no harm.
 */
#ifndef CACHECORE_REMOTE_HELPER_H
#define CACHECORE_REMOTE_HELPER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"
#include "common/status.h"

#define CC_HELPER_MESSAGE_SIZE 256

struct cc_helper {
	int fd;			/* -1: not connected */
	uint64_t deadline;	/* of cmn_clock_monotonic */
	bool has_info, has_claims;
	bool lost;		/* the application closed it; or the helper was just ending */
	char message[CC_HELPER_MESSAGE_SIZE];	/* what the helper said of its last failure, printable, or "" */
};

/*
 * CMN_MISS: nobody listens there. CMN_BUSY: no answer in time. CMN_ERR_VERSION:
 * it speaks another protocol. CMN_ERR_ACCESS: another user's process.
 * CMN_ERR_IO. path: shorter than a socket's address.
 */
CMN_CHECKED enum cmn_status cc_helper_connect(const char *path, uint64_t deadline,
					      struct cc_helper *ret);
void cc_helper_close(struct cc_helper *helper);	/* not connected is fine */

/*
 * All of these: CMN_BUSY: not in time. CMN_ERR_IO: the helper reports a failure
 * (message), or went away. CMN_ERR_CORRUPT: it answers what no helper would.
 * key: 1 to 255 bytes.
 *
 * Gets a value into an empty buffer, which the caller releases in any case.
 * CMN_MISS: there is none. CMN_ERR_TOO_LARGE: more than max bytes; CMN_ERR_NOMEM.
 */
CMN_CHECKED enum cmn_status cc_helper_get(struct cc_helper *helper, struct cmn_view key, size_t max,
					  struct cmn_buffer *ret);
/*
 * The same in two steps: after CMN_OK the caller reads *ret_len bytes. _claim is for a helper that
 * has_claims. CMN_MISS: there is none; *ret_claimed: the caller has the claim now, else another.
 */
CMN_CHECKED enum cmn_status cc_helper_ask(struct cc_helper *helper, struct cmn_view key,
					  uint64_t *ret_len);
CMN_CHECKED enum cmn_status cc_helper_ask_or_claim(struct cc_helper *helper, struct cmn_view key,
						   uint64_t ttl_ms, uint64_t *ret_len,
						   bool *ret_claimed);
/*
 * Appends the next len bytes of a value. The buffer grows by what has come, not by what was
 * announced. CMN_ERR_NOMEM.
 */
CMN_CHECKED enum cmn_status cc_helper_read(struct cc_helper *helper, size_t len,
					   struct cmn_buffer *ret);
CMN_CHECKED enum cmn_status cc_helper_release(struct cc_helper *helper, struct cmn_view key);
/* Stores the views' bytes in order, in place of what is there. CMN_MISS: the server did not want it. */
CMN_CHECKED enum cmn_status cc_helper_put(struct cc_helper *helper, struct cmn_view key,
					  const struct cmn_view *views, size_t count);
/* CMN_MISS: it was not there. */
CMN_CHECKED enum cmn_status cc_helper_remove(struct cc_helper *helper, struct cmn_view key);
/* What the helper says of itself: its identity, then its diagnostics, a line each. For one that has_info. */
CMN_CHECKED enum cmn_status cc_helper_info(struct cc_helper *helper, struct cmn_buffer *ret);

#endif
