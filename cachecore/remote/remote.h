/* SPDX-License-Identifier: MIT */
/*
 * remote: the tier that several machines share, behind a storage helper
 * (helper.h). After a miss on disk it is asked before the driver compiles; what
 * the driver compiled is uploaded later, by another process (uploads.h).
 *
 * It never costs much more than it may save. A look-up ends after a share of
 * what this program's compiles take. After a time-out, or another failure that says
 * something of the tier, all processes of this user leave it alone for a minute, and so does a process whose
 * look-ups found nothing for longer than that. Nothing is used that no trusted
 * key has signed (value.h), except from a directory that the helper itself
 * finds trustworthy. No descriptor stays open and no thread is used. Thread-safe;
 * in a forked child it goes on.
 */
#ifndef CACHECORE_REMOTE_REMOTE_H
#define CACHECORE_REMOTE_REMOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "cachecore/config.h"
#include "cachecore/entry.h"
#include "cachecore/key.h"
#include "cachecore/remote/address.h"
#include "cachecore/remote/node.h"
#include "cachecore/remote/trust.h"
#include "common/log.h"
#include "common/status.h"

#define CC_REMOTE_TEXT_SIZE 256

/* An address and what goes with it, as the configuration has them. */
struct cc_remote_setup {
	struct cc_address address;
	struct cc_node node;
	struct cc_trust *trust;	/* NULL: unsigned entries, from a directory that is trusted */
	bool reads, writes;
};
/*
 * CMN_MISS: no tier is configured. CMN_ERR_INVALID, CMN_ERR_ACCESS: it cannot be used;
 * *ret_problem (static) says why. CMN_ERR_NOMEM. On failure *ret is {0}.
 */
CMN_CHECKED enum cmn_status cc_remote_setup(const struct cc_config *config,
					    const struct cmn_log *log, struct cc_remote_setup *ret,
					    const char **ret_problem);
void cc_remote_setup_release(struct cc_remote_setup *setup);

/* The keys that count by this configuration: of its files, else of the usual ones. As cc_trust_new. */
CMN_CHECKED enum cmn_status cc_remote_trust(const struct cc_config *config,
					    const struct cmn_log *log, struct cc_trust **ret);

struct cc_remote;
struct cc_helper;
/* *ret is NULL where there is no tier, or none that can be used: then log has one message. Borrows both. CMN_ERR_NOMEM. */
CMN_CHECKED enum cmn_status cc_remote_new(const struct cc_config *config,
					  const struct cmn_log *log, struct cc_remote **ret);
void cc_remote_free(struct cc_remote *remote);	/* NULL is fine */

/* What a look-up came across, for people. */
enum cc_remote_event {
	CC_REMOTE_NOTHING,	/* there was no entry, or the tier was not asked */
	CC_REMOTE_USED,
	CC_REMOTE_REFUSED,	/* there was one that may not be used, or was damaged */
	CC_REMOTE_AWAY,		/* it is left alone; said once a minute */
};
struct cc_remote_report {
	enum cc_remote_event event;
	char scheme[CC_ADDRESS_SCHEME_SIZE];
	char text[CC_REMOTE_TEXT_SIZE];	/* CC_REMOTE_USED: who signed it, or "": nobody; else why */
};

/*
 * The entry of that key, verified, whose dependencies hold now; the caller's. *ret_claimed: other
 * machines wait for what the caller builds now, until it is uploaded, or for cc_remote_release.
 * NULL: the caller builds nothing.
 * CMN_MISS: there is none, or it has not come in time (hashing and verifying what came follow, and
 * count too); or remote is NULL. *ret_report is set in any case.
 */
CMN_CHECKED enum cmn_status cc_remote_get(struct cc_remote *remote, const struct cc_key *key,
					  struct cc_file_memo *memo, struct cc_entry **ret,
					  bool *ret_claimed,
					  struct cc_remote_report *ret_report);
/*
 * A connection to the helper, which is started where it does not run. timeout_ns: for that.
 * As cc_helper_connect; CMN_ERR_ACCESS and CMN_ERR_INVALID also:
 * nothing can be started.
 */
CMN_CHECKED enum cmn_status cc_remote_connect(struct cc_remote *remote, uint64_t timeout_ns,
					      struct cc_helper *ret);
/* Nothing will come of a claim. Takes a tenth of a second at most, which counts as a look-up's time. */
void cc_remote_release(struct cc_remote *remote, const struct cc_key *key);
/* What a compile took here. NULL is fine. */
void cc_remote_note_build(struct cc_remote *remote, uint64_t build_ns);
/*
 * A root, by its absolute path, has stored an entry: it is noted there, and uploaded by another
 * process. NULL is fine.
 */
void cc_remote_stored(struct cc_remote *remote, const char *root, const struct cc_key *key);

#endif
