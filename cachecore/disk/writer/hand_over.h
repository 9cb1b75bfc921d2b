/* SPDX-License-Identifier: MIT */
/*
 * hand_over: after an update of a driver a program compiles its kernels one by
 * one, although the cache knows them all. Once in a process, after the first
 * entry that replaces one of an older driver, this has `ckcache replay --stale
 * --idle --program` compile the others, on cores that nobody needs (ckcache-remote
 * decides whether there can be any). The program finds them; it never waits for
 * one that is being compiled. Used by the writer's thread alone.
 */
#ifndef CACHECORE_DISK_WRITER_HAND_OVER_H
#define CACHECORE_DISK_WRITER_HAND_OVER_H

#include "cachecore/config.h"
#include "cachecore/key.h"
#include "common/status.h"

/* Other programs of the older driver that there must be: for fewer it is not worth a process. */
#define CC_HAND_OVER_LEAST 3

struct cc_hand_over;

/*
 * config, with its dir, must outlive *ret. Copies of the environment what drivers are found
 * by. *ret is NULL with CMN_OK: the setting, the process's processors or its privileges do not
 * allow it. CMN_ERR_NOMEM.
 */
CMN_CHECKED enum cmn_status cc_hand_over_new(const struct cc_config *config,
					     struct cc_hand_over **ret);
void cc_hand_over_free(struct cc_hand_over *hand_over);	/* NULL is fine */

/* An entry of that key was compiled and stored. hand_over: may be NULL. */
void cc_hand_over_stored(struct cc_hand_over *hand_over, const struct cc_key *key);

#endif
