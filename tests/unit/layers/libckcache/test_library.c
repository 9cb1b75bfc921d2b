/* SPDX-License-Identifier: MIT */
/* library: which API's cache is told what. */
#include "layers/libckcache/library.h"

#include "layers/shared/api/desc.h"
#include "layers/shared/driver/environment.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

#define NO_API ((enum ckcache_api)77)

/* What an API's cache was told. */
static struct told {
	uint64_t capacity;
	char dir[64];
	bool persistent;
} opencl, level_zero;
static bool opencl_is_off;
static unsigned int environment_begins;

const bool library_has_level_zero = true;

struct cc_cache *api_cache(enum ckcache_api api)
{
	if (api == CKCACHE_API_OPENCL)
		return opencl_is_off ? NULL : (struct cc_cache *)(void *)&opencl;
	return (struct cc_cache *)(void *)&level_zero;
}

static struct told *told(struct cc_cache *cache)
{
	return (struct told *)(void *)cache;
}

WRAPPED(enum cmn_status, cc_cache_set_persistent, (struct cc_cache *cache, bool on))
{
	told(cache)->persistent = on;
	pthread_testcancel();
	return CMN_OK;
}

WRAPPED(bool, cc_cache_persistent, (struct cc_cache *cache))
{
	return told(cache)->persistent;
}

WRAPPED(enum cmn_status, cc_cache_set_capacity, (struct cc_cache *cache, uint64_t bytes))
{
	told(cache)->capacity = bytes;
	return CMN_OK;
}

WRAPPED(uint64_t, cc_cache_capacity, (struct cc_cache *cache))
{
	return told(cache)->capacity;
}

WRAPPED(enum cmn_status, cc_cache_set_dir, (struct cc_cache *cache, const char *dir))
{
	if (!*dir)
		return CMN_ERR_INVALID;
	pthread_testcancel();
	(void)snprintf(told(cache)->dir, sizeof(told(cache)->dir), "%s", dir);
	return CMN_OK;
}

WRAPPED(char *, cc_cache_dir, (struct cc_cache *cache))
{
	return strdup(told(cache)->dir);
}

WRAPPED(void, drv_environment_begin, (void))
{
	environment_begins++;
}

BEFORE_EACH
{
	memset(&opencl, 0, sizeof(opencl));
	memset(&level_zero, 0, sizeof(level_zero));
	opencl_is_off = false;
}

TEST(the_environment_is_noted_when_it_is_loaded)
{
	CU_ASSERT_EQUAL(environment_begins, 1);
}

TEST(what_is_no_api_is_refused)
{
	int enabled = 77;

	CU_ASSERT_EQUAL(ckcache_set_persistent(NO_API, 1), CKCACHE_ERROR_INVALID_ARGUMENT);
	CU_ASSERT_EQUAL(ckcache_get_persistent(NO_API, &enabled), CKCACHE_ERROR_INVALID_ARGUMENT);
	CU_ASSERT_EQUAL(enabled, 77);
	CU_ASSERT_FALSE(opencl.persistent || level_zero.persistent);
	CU_ASSERT_EQUAL(ckcache_get_persistent(CKCACHE_API_OPENCL, &enabled), CKCACHE_OK);
	CU_ASSERT_EQUAL(enabled, 0);
}

/* Not cancelled while it has what others wait for. */
static void *set_while_cancelled(void *data)
{
	(void)pthread_cancel(pthread_self());
	CU_ASSERT_EQUAL(ckcache_set_persistent(CKCACHE_API_LEVEL_ZERO, 1), CKCACHE_OK);
	CU_ASSERT_EQUAL(ckcache_set_dir("/some/where"), CKCACHE_OK);
	return data;
}

TEST(one_api_is_switched_and_both_are_moved_and_bounded)
{
	pthread_t thread;
	char dir[64];
	size_t size = sizeof(dir);
	uint64_t bytes = 0;

	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, set_while_cancelled, NULL), 0);
	CU_ASSERT_EQUAL(pthread_join(thread, NULL), 0);
	CU_ASSERT(level_zero.persistent && !opencl.persistent);
	CU_ASSERT_EQUAL(ckcache_set_capacity(1234), CKCACHE_OK);
	CU_ASSERT(opencl.capacity == 1234 && level_zero.capacity == 1234);
	CU_ASSERT_EQUAL(ckcache_get_capacity(&bytes), CKCACHE_OK);
	CU_ASSERT_EQUAL(bytes, 1234);
	CU_ASSERT_STRING_EQUAL(opencl.dir, "/some/where");
	CU_ASSERT_STRING_EQUAL(level_zero.dir, "/some/where");
	CU_ASSERT_EQUAL(ckcache_get_dir(&size, dir), CKCACHE_OK);
	CU_ASSERT_STRING_EQUAL(dir, "/some/where");
	CU_ASSERT_EQUAL(ckcache_set_dir(""), CKCACHE_ERROR_INVALID_ARGUMENT);
}

TEST(what_is_switched_off_is_denied)
{
	uint64_t bytes = 77;
	int enabled = 77;

	opencl_is_off = true;
	CU_ASSERT_EQUAL(ckcache_set_persistent(CKCACHE_API_OPENCL, 1), CKCACHE_ERROR_DENIED);
	CU_ASSERT_EQUAL(ckcache_set_persistent(CKCACHE_API_OPENCL, 0), CKCACHE_OK);
	CU_ASSERT_EQUAL(ckcache_get_persistent(CKCACHE_API_OPENCL, &enabled), CKCACHE_OK);
	CU_ASSERT_EQUAL(enabled, 0);
	CU_ASSERT_EQUAL(ckcache_set_capacity(1), CKCACHE_ERROR_DENIED);
	CU_ASSERT_EQUAL(ckcache_get_capacity(&bytes), CKCACHE_ERROR_DENIED);
	CU_ASSERT_EQUAL(ckcache_set_dir("/some/where"), CKCACHE_ERROR_DENIED);
	CU_ASSERT_EQUAL(bytes, 77);
}
