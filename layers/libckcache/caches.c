/* SPDX-License-Identifier: MIT */
/*
 * caches: one for each API of the process. Around a fork all locks that another thread may hold are
 * taken, in their order (docs/architecture/locks.md), so that no map is half changed in the child.
 */
#include "layers/shared/api/desc.h"

#include <pthread.h>
#include <string.h>

#include "common/mutex.h"
#include "layers/libckcache/library.h"
#include "layers/opencl/program/loaded_program.h"
#include "layers/opencl/program/program.h"
#include "layers/shared/driver/loaded.h"
#include "layers/shared/observer/observer.h"

#define APIS 2
/* The names that this library is loaded by. */
#define LIBRARY "/libckcache.so"
#define LAYER "/libckcache_opencl.so"

static struct {
	pthread_mutex_t lock;
	struct cc_cache *items[APIS];	/* each written once, and not around a fork: with lock */
	bool usable;			/* written by once */
} caches = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void before_fork(void)
{
	drv_loaded_fork_prepare();	/* first: it may wait for a thread that reads files */
	cmn_mutex_lock(&caches.lock);
	ocl_objects_fork_prepare();
	library_level_zero_lock();
	for (size_t i = 0; i < APIS; i++) {
		if (caches.items[i])
			cc_cache_fork_prepare(caches.items[i]);
	}
}

static void after_fork_parent(void)
{
	for (size_t i = APIS; i-- > 0;) {
		if (caches.items[i])
			cc_cache_fork_parent(caches.items[i]);
	}
	library_level_zero_unlock();
	ocl_objects_fork_parent();
	cmn_mutex_unlock(&caches.lock);
	drv_loaded_fork_parent();
}

static void after_fork_child(void)
{
	drv_loaded_fork_child();
	drv_observer_fork_child();
	for (size_t i = APIS; i-- > 0;) {
		if (caches.items[i])
			cc_cache_fork_child(caches.items[i]);
	}
	library_level_zero_unlock();
	ocl_objects_fork_child();
	ocl_programs_forked_locked();
	ocl_loaded_program_fork_child();
	ocl_objects_unlock();
	cmn_mutex_unlock(&caches.lock);
}

/* dl_iterate_phdr, in the order of loading: stops at the first copy; *data: it is another file's. */
static int note_first_copy(struct dl_phdr_info *info, size_t size, void *data)
{
	const char *name = strrchr(info->dlpi_name, '/');
	bool own = drv_loaded_holds(info, &caches);

	(void)size;
	if (!own && (!name || (strncmp(name, LIBRARY, strlen(LIBRARY)) != 0 && strcmp(name, LAYER) != 0)))
		return 0;
	*(bool *)data = !own;
	return 1;
}

/*
 * A program may be linked with one installation's library, and the user list another's layer. Of two
 * active copies the inner one would look up and store once more what the outer one does, and wait for
 * it; and neither would know in which environment the other one let a driver build.
 */
static void prepare(void)
{
	/* If another thread forks meanwhile, this begins again in the child. */
	static bool registered;
	bool second = false;

	registered = registered || pthread_atfork(before_fork, after_fork_parent, after_fork_child) == 0;
	caches.usable = registered;
	(void)drv_loaded_iterate(note_first_copy, &second);	/* 0: not found, so not before */
	caches.usable = caches.usable && !second;
}

static void open_cache(size_t place, const char *name)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct cc_cache *cache;

	(void)pthread_once(&once, prepare);
	if (!caches.usable || cc_cache_open(&cache) != CMN_OK)
		return;
	cmn_mutex_lock(&caches.lock);
	caches.items[place] = cache;
	cmn_mutex_unlock(&caches.lock);
	cc_cache_announce(cache, name);
}

static void open_opencl(void)
{
	open_cache(0, "OpenCL");
}

static void open_level_zero(void)
{
	open_cache(1, "Level Zero");
}

struct cc_cache *api_cache(enum ckcache_api api)
{
	static pthread_once_t opencl = PTHREAD_ONCE_INIT, level_zero = PTHREAD_ONCE_INIT;

	if (api == CKCACHE_API_OPENCL)
		(void)pthread_once(&opencl, open_opencl);
	else
		(void)pthread_once(&level_zero, open_level_zero);
	return caches.items[api == CKCACHE_API_OPENCL ? 0 : 1];
}
