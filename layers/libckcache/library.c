/* SPDX-License-Identifier: MIT */
/* library: settings of both APIs, the library's own caches, and which copy does what. */
#include "layers/libckcache/library.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/mutex.h"
#include "layers/shared/api/desc.h"
#include "layers/shared/api/device.h"
#include "layers/shared/api/settings.h"
#include "layers/shared/driver/environment.h"

#define APIS 2

/* What the program has set, for layers that come later. */
struct wishes {
	bool has_persistent[APIS], has_capacity, has_dir;
	int persistent[APIS];
	uint64_t capacity;
	char *dir;		/* NULL with has_dir: the configuration's */
};

static struct {
	pthread_once_t once;
	struct cc_cache *caches[APIS];	/* written by once */
	pthread_mutex_t lock;
	struct wishes wishes;		/* guarded by lock */
	bool found[APIS];		/* likewise: the layer was told */
} library = { .once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER };

static const enum ckcache_api apis[APIS] = { CKCACHE_API_OPENCL, CKCACHE_API_LEVEL_ZERO };

static bool is_api(enum ckcache_api api)
{
	return api == CKCACHE_API_OPENCL || api == CKCACHE_API_LEVEL_ZERO;
}

static size_t place_of(enum ckcache_api api)
{
	return api == CKCACHE_API_OPENCL ? 0 : 1;
}

static void lock(void)
{
	cmn_mutex_lock(&library.lock);
}

static void unlock(void)
{
	cmn_mutex_unlock(&library.lock);
}

static void before_fork(void)
{
	lock();
	for (size_t i = 0; i < APIS; i++) {
		if (library.caches[i])
			cc_cache_fork_prepare(library.caches[i]);
	}
}

static void after_fork_parent(void)
{
	for (size_t i = APIS; i-- > 0;) {
		if (library.caches[i])
			cc_cache_fork_parent(library.caches[i]);
	}
	unlock();
}

static void after_fork_child(void)
{
	for (size_t i = APIS; i-- > 0;) {
		if (library.caches[i])
			cc_cache_fork_child(library.caches[i]);
	}
	unlock();
}

static void open_caches(void)
{
	struct cc_cache *cache;

	for (size_t i = 0; i < APIS; i++) {
		/* Switched off, or without memory for a cache: the driver does all. */
		if (cc_cache_open(&cache) == CMN_OK)
			library.caches[i] = cache;
	}
	for (size_t i = 0; i < APIS; i++) {
		if (!library.caches[i])
			continue;
		if (pthread_atfork(before_fork, after_fork_parent, after_fork_child) != 0)
			cmn_log_write(cc_cache_log(library.caches[i]), CMN_LOG_WARNING,
				      "no memory for fork handlers: do not fork while kernels are built");
		break;
	}
}

struct cc_cache *library_cache(enum ckcache_api api)
{
	struct cc_cache *cache;

	(void)pthread_once(&library.once, open_caches);
	cache = library.caches[place_of(api)];
	if (cache)
		cc_cache_announce(cache, api == CKCACHE_API_OPENCL ? "libckcache for OpenCL" :
								     "libckcache for Level Zero");
	return cache;
}

/* When the program's drivers are loaded is not known; they are not before this library. */
__attribute__((constructor)) static void note_environment(void)
{
	drv_environment_begin();
}

/* After the program's exit handlers: the log's last line. */
__attribute__((destructor)) static void conclude_at_exit(void)
{
	for (size_t i = 0; i < APIS; i++)
		cc_cache_conclude(library.caches[i]);
}

void library_found(enum ckcache_api api, const struct ckcache_functions *layer)
{
	size_t place = place_of(api);
	struct wishes wishes = { 0 };
	bool first, failed;

	lock();
	first = !library.found[place];
	library.found[place] = true;
	if (first)
		wishes = library.wishes;
	wishes.dir = wishes.dir ? strdup(wishes.dir) : NULL;
	failed = wishes.has_dir && library.wishes.dir && !wishes.dir;
	unlock();
	/* What the user forbids there he forbade here. */
	if (wishes.has_persistent[place])
		(void)layer->set_persistent(api, wishes.persistent[place]);
	if (wishes.has_capacity)
		(void)layer->set_capacity(wishes.capacity);
	if (wishes.has_dir && !failed)
		(void)layer->set_dir(wishes.dir);
	free(wishes.dir);
}

/* The layer's or this library's functions for settings. NULL: the API is not built in. */
static const struct ckcache_functions *functions_of(enum ckcache_api api)
{
	return api == CKCACHE_API_OPENCL ? library_opencl(NULL) : library_level_zero(NULL);
}

CKCACHE_EXPORT enum ckcache_status ckcache_set_persistent(enum ckcache_api api, int enable)
{
	enum ckcache_status status;

	if (!is_api(api))
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	status = functions_of(api) ? functions_of(api)->set_persistent(api, enable) :
				     CKCACHE_ERROR_UNAVAILABLE;
	if (status != CKCACHE_OK)
		return status;
	lock();
	library.wishes.has_persistent[place_of(api)] = true;
	library.wishes.persistent[place_of(api)] = enable;
	unlock();
	return CKCACHE_OK;
}

CKCACHE_EXPORT enum ckcache_status ckcache_get_persistent(enum ckcache_api api, int *ret_enabled)
{
	const struct ckcache_functions *functions;

	if (!is_api(api))
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	functions = functions_of(api);
	return functions ? functions->get_persistent(api, ret_enabled) :
			   CKCACHE_ERROR_UNAVAILABLE;
}

CKCACHE_EXPORT enum ckcache_status ckcache_set_capacity(uint64_t bytes)
{
	for (size_t i = 0; i < APIS; i++) {
		const struct ckcache_functions *functions = functions_of(apis[i]);
		enum ckcache_status status = functions ? functions->set_capacity(bytes) :
							 CKCACHE_OK;

		if (status != CKCACHE_OK)
			return status;
	}
	lock();
	library.wishes.has_capacity = true;
	library.wishes.capacity = bytes;
	unlock();
	return CKCACHE_OK;
}

CKCACHE_EXPORT enum ckcache_status ckcache_get_capacity(uint64_t *ret_bytes)
{
	return library_opencl(NULL)->get_capacity(ret_bytes);
}

CKCACHE_EXPORT enum ckcache_status ckcache_set_dir(const char *dir)
{
	char *copy = dir ? strdup(dir) : NULL, *old;

	if (dir && !copy)
		return CKCACHE_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < APIS; i++) {
		const struct ckcache_functions *functions = functions_of(apis[i]);
		enum ckcache_status status = functions ? functions->set_dir(dir) : CKCACHE_OK;

		if (status != CKCACHE_OK) {
			free(copy);
			return status;
		}
	}
	lock();
	old = library.wishes.dir;
	library.wishes.has_dir = true;
	library.wishes.dir = copy;
	unlock();
	free(old);
	return CKCACHE_OK;
}

CKCACHE_EXPORT enum ckcache_status ckcache_get_dir(size_t *size, char *dir)
{
	return library_opencl(NULL)->get_dir(size, dir);
}

CKCACHE_EXPORT enum ckcache_status ckcache_flush(void)
{
	enum ckcache_status status = CKCACHE_OK;

	for (size_t i = 0; i < APIS; i++) {
		const struct ckcache_functions *functions = functions_of(apis[i]);
		enum ckcache_status one = functions ? functions->flush() : CKCACHE_OK;

		status = status == CKCACHE_OK ? one : status;
	}
	return status;
}
