/* SPDX-License-Identifier: MIT */
/* user_status: what internal statuses mean to users of ckcache.h. Pure. */
#ifndef SHARED_API_USER_STATUS_H
#define SHARED_API_USER_STATUS_H

#include "common/status.h"
#include "layers/shared/api/ckcache.h"

/* Of files, settings and memory. */
enum ckcache_status api_status_of(enum cmn_status status);
/* Of api_blob_check. */
enum ckcache_status api_status_of_blob(enum cmn_status status);

#endif
