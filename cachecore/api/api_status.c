/* SPDX-License-Identifier: MIT */
/*
 * api_status: the version, and the statuses: the public values are cachecore's own,
 * which is asserted here, so that none has to be translated.
 */
#include "cachecore/api/api_internal.h"

#include "cachecore/memory/build_result.h"

#define SAME(public, internal) \
	_Static_assert((int)(public) == (int)(internal), #public " is " #internal)

SAME(CACHECORE_OK, CMN_OK);
SAME(CACHECORE_MISS, CMN_MISS);
SAME(CACHECORE_BUSY, CMN_BUSY);
SAME(CACHECORE_STALE, CMN_STALE);
SAME(CACHECORE_ERR_NOMEM, CMN_ERR_NOMEM);
SAME(CACHECORE_ERR_IO, CMN_ERR_IO);
SAME(CACHECORE_ERR_CORRUPT, CMN_ERR_CORRUPT);
SAME(CACHECORE_ERR_VERSION, CMN_ERR_VERSION);
SAME(CACHECORE_ERR_INVALID, CMN_ERR_INVALID);
SAME(CACHECORE_ERR_ACCESS, CMN_ERR_ACCESS);
SAME(CACHECORE_ERR_NOSPACE, CMN_ERR_NOSPACE);
SAME(CACHECORE_ERR_TOO_LARGE, CMN_ERR_TOO_LARGE);
SAME(CACHECORE_ERR_BUILD, CMN_ERR_DRIVER);
SAME(CACHECORE_WAY_BUILT, CC_WAY_BUILT);
SAME(CACHECORE_WAY_WAITED, CC_WAY_WAITED);
SAME(CACHECORE_WAY_FOUND, CC_WAY_FOUND);
SAME(CACHECORE_BUILD_UNCLAIMED, BUILD_UNCLAIMED);
SAME(CACHECORE_BUILD_IN_PROGRESS, BUILD_IN_PROGRESS);
SAME(CACHECORE_BUILD_SUCCEEDED, BUILD_SUCCEEDED);
SAME(CACHECORE_BUILD_FAILED, BUILD_FAILED);

unsigned int cachecore_version(void)
{
	return CACHECORE_VERSION;
}

const char *cachecore_status_string(enum cachecore_status status)
{
	/* What only a runtime's build can mean. */
	if (status == CACHECORE_ERR_BUILD)
		return "the build failed";
	return cmn_status_string((enum cmn_status)status);
}
