/* SPDX-License-Identifier: MIT */
/* library: which API is told what, also of one whose layer comes later, and forks. */
#include "layers/libckcache/library.h"

#include "layers/shared/driver/environment.h"
#include "cachecore/cache.h"
#include "tests/support/unit.h"

#define NO_API ((enum ckcache_api)77)

/* What an API's functions were called with. */
struct told {
	unsigned int persistents, capacities, dirs, flushes;
	int persistent;
	uint64_t capacity;
	char dir[64];
};

static struct told opencl, level_zero, layer;
static unsigned int environment_begins;
static char caches[2];
static unsigned int opened;

#define FUNCTIONS(who) \
	static enum ckcache_status who##_set_persistent(enum ckcache_api api, int enable) \
	{ \
		(void)api; \
		who.persistents++; \
		who.persistent = enable; \
		return CKCACHE_OK; \
	} \
	static enum ckcache_status who##_get_persistent(enum ckcache_api api, int *ret) \
	{ \
		(void)api; \
		*ret = who.persistent; \
		return CKCACHE_OK; \
	} \
	static enum ckcache_status who##_set_capacity(uint64_t bytes) \
	{ \
		who.capacities++; \
		who.capacity = bytes; \
		return CKCACHE_OK; \
	} \
	static enum ckcache_status who##_set_dir(const char *dir) \
	{ \
		who.dirs++; \
		strncpy(who.dir, dir ? dir : "", sizeof(who.dir) - 1); \
		return CKCACHE_OK; \
	} \
	static enum ckcache_status who##_flush(void) \
	{ \
		who.flushes++; \
		return CKCACHE_OK; \
	} \
	static const struct ckcache_functions who##_functions = { \
		.struct_size = sizeof(struct ckcache_functions), \
		.set_persistent = who##_set_persistent, .get_persistent = who##_get_persistent, \
		.set_capacity = who##_set_capacity, .set_dir = who##_set_dir, .flush = who##_flush, \
	}
FUNCTIONS(opencl);
FUNCTIONS(level_zero);
FUNCTIONS(layer);

const struct ckcache_functions *library_opencl(struct _cl_device_id *handle)
{
	CU_ASSERT_PTR_NULL(handle);
	return &opencl_functions;
}

const struct ckcache_functions *library_level_zero(struct _ze_driver_handle_t *handle)
{
	CU_ASSERT_PTR_NULL(handle);
	return &level_zero_functions;
}

void drv_environment_begin(void)
{
	environment_begins++;
}

enum cmn_status cc_cache_open(struct cc_cache **ret)
{
	*ret = (struct cc_cache *)(void *)&caches[opened++];
	return CMN_OK;
}

void cc_cache_announce(struct cc_cache *cache, const char *name)
{
	(void)cache, (void)name;
}

void cc_cache_conclude(struct cc_cache *cache)
{
	(void)cache;
}

const struct cmn_log *cc_cache_log(const struct cc_cache *cache)
{
	(void)cache;
	return NULL;
}

void cc_cache_fork_prepare(struct cc_cache *cache)
{
	(void)cache;
}

void cc_cache_fork_parent(struct cc_cache *cache)
{
	(void)cache;
}

void cc_cache_fork_child(struct cc_cache *cache)
{
	(void)cache;
}

BEFORE_EACH
{
	memset(&opencl, 0, sizeof(opencl));
	memset(&level_zero, 0, sizeof(level_zero));
	memset(&layer, 0, sizeof(layer));
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
	CU_ASSERT_EQUAL(opencl.persistents + level_zero.persistents, 0);
	CU_ASSERT_EQUAL(ckcache_get_persistent(CKCACHE_API_OPENCL, &enabled), CKCACHE_OK);
	CU_ASSERT_EQUAL(enabled, 0);
}

TEST(both_apis_are_flushed)
{
	CU_ASSERT_EQUAL(ckcache_flush(), CKCACHE_OK);
	CU_ASSERT_EQUAL(opencl.flushes, 1);
	CU_ASSERT_EQUAL(level_zero.flushes, 1);
}

/* Each layer once, whichever comes first. */
TEST(later_layers_are_told_what_was_set)
{
	CU_ASSERT_EQUAL(ckcache_set_capacity(1234), CKCACHE_OK);
	CU_ASSERT_EQUAL(opencl.capacity, 1234);
	CU_ASSERT_EQUAL(level_zero.capacity, 1234);
	CU_ASSERT_EQUAL(ckcache_set_dir("/some/where"), CKCACHE_OK);
	CU_ASSERT_STRING_EQUAL(level_zero.dir, "/some/where");
	CU_ASSERT_EQUAL(ckcache_set_persistent(CKCACHE_API_LEVEL_ZERO, 1), CKCACHE_OK);
	CU_ASSERT_EQUAL(level_zero.persistents, 1);
	CU_ASSERT_EQUAL(opencl.persistents, 0);
	library_found(CKCACHE_API_OPENCL, &layer_functions);
	CU_ASSERT_EQUAL(layer.capacity, 1234);
	CU_ASSERT_STRING_EQUAL(layer.dir, "/some/where");
	CU_ASSERT_EQUAL(layer.persistents, 0);
	memset(&layer, 0, sizeof(layer));
	library_found(CKCACHE_API_LEVEL_ZERO, &layer_functions);
	CU_ASSERT_EQUAL(layer.capacity, 1234);
	CU_ASSERT_EQUAL(layer.persistent, 1);
	memset(&layer, 0, sizeof(layer));
	library_found(CKCACHE_API_LEVEL_ZERO, &layer_functions);
	library_found(CKCACHE_API_OPENCL, &layer_functions);
	CU_ASSERT_EQUAL(layer.capacities + layer.persistents + layer.dirs, 0);
	CU_ASSERT_EQUAL(ckcache_set_dir(NULL), CKCACHE_OK);
}

TEST(settings_go_on_in_a_parent_and_its_child)
{
	pid_t child;

	CU_ASSERT_PTR_NOT_NULL(library_cache(CKCACHE_API_OPENCL));
	CU_ASSERT_EQUAL(opened, 2);
	child = fork();
	CU_ASSERT_FATAL(child >= 0);
	if (child == 0)
		_exit(ckcache_set_capacity(1) == CKCACHE_OK ? 0 : 1);
	CU_ASSERT_EQUAL(ckcache_set_capacity(1), CKCACHE_OK);
	CU_ASSERT(unit_ended_well(child));
}
