/* SPDX-License-Identifier: MIT */
/* hooked_objects: chooses objects, as libraries.c does for keys, and hooks their slots. */
#include "layers/shared/observer/hooked_objects.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/hash.h"
#include "common/mutex.h"
#include "layers/shared/observer/got_slots.h"

/* Another may come to lie where one is gone, which only its path tells. */
struct known_object {
	ElfW(Addr) base;
	struct cmn_hash path;
	uint64_t hooked_at;	/* monotonic: when a slot was last changed that may be bound late; 0: none was */
	bool settled;		/* what is hooked stays so */
};

/* A thread that binds a call has written it down by then. */
#define SETTLE_NS UINT64_C(200000000)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	bool incomplete;		/* some object's calls go past the hooks */
	bool unsettled;			/* some object is to be looked at again */
	bool unloaded;			/* since the last look objects were: one may have come again where it was */
	bool past;			/* in this look: calls went past the hooks until now */
	bool missed;			/* they once did: what a driver reads once may never be seen */
	struct drv_library_epoch epoch;
	struct known_object *before;	/* that were loaded before the first build */
	size_t before_count;
	struct known_object done[DRV_LOADED_MAX];	/* their calls go to the hooks, once they are settled for good */
	size_t done_count;
	struct drv_libraries_query queries[8];	/* for the drivers; more than any machine has */
	size_t query_count;
} hooked;	/* guarded by lock */
#define MAX_QUERIES (sizeof(hooked.queries) / sizeof(hooked.queries[0]))

/* Where libraries lie: those that the program itself is linked with, and drivers' own. */
struct ranges {
	const struct ranges *old;	/* which this took the place of; somebody may still look at it */
	size_t count;
	struct range {
		uintptr_t start, size;
		bool compiles;	/* has its compiler within itself */
	} items[];
};
static _Atomic(const struct ranges *) of_program;
static _Atomic(const struct ranges *) of_drivers;	/* their own libraries; likewise */

static bool is_c_library(const struct drv_loaded *object)
{
	return strncmp(object->name, "libc.so", 7) == 0;
}

/* libc calls itself otherwise; ld.so is not to be touched, nor is this object. */
static bool is_left_alone(const struct drv_loaded *object)
{
	return is_c_library(object) || strncmp(object->name, "ld-", 3) == 0 ||
	       !object->dynamic || drv_loaded_contains(object, &hooked);
}

static struct known_object known_object(const struct drv_loaded *object)
{
	return (struct known_object){ .base = object->base, .path = cmn_hash_of(object->path, strlen(object->path)) };
}

static void remember_objects(const struct drv_loaded_list *objects)
{
	struct known_object *before = calloc(objects->count + 1, sizeof(*before));

	for (size_t i = 0; before && i < objects->count; i++)
		before[i] = known_object(&objects->items[i]);
	hooked.before_count = before ? objects->count : 0;
	hooked.before = before;
}

static bool is_known_as(const struct known_object *known, const struct drv_loaded *object)
{
	struct known_object now;

	if (known->base != object->base)
		return false;
	now = known_object(object);
	return cmn_hash_equal(&known->path, &now.path);
}

/* NULL: it is not among them. */
static struct known_object *find_known(struct known_object *known, size_t count, const struct drv_loaded *object)
{
	for (size_t i = 0; i < count; i++) {
		if (is_known_as(&known[i], object))
			return &known[i];
	}
	return NULL;
}

/* What comes to lie where it was may be another one. Returns how many are left. */
static size_t forget_what_is_gone(struct known_object *known, size_t known_count,
				  const struct drv_loaded_list *objects)
{
	size_t count = 0;

	for (size_t i = 0; i < known_count; i++) {
		bool there = false;

		for (size_t j = 0; j < objects->count && !there; j++)
			there = is_known_as(&known[i], &objects->items[j]);
		if (there)
			known[count++] = known[i];
	}
	return count;
}

/* What was unloaded may have come again where it was, with its own calls: of what was settled that is all that may be. */
static void forget_what_is_settled(void)
{
	size_t count = 0;

	for (size_t i = 0; i < hooked.done_count; i++) {
		if (!hooked.done[i].settled)
			hooked.done[count++] = hooked.done[i];
	}
	hooked.done_count = count;
}

static bool is_hooked_driver(const struct drv_loaded *object)
{
	for (size_t i = 0; i < hooked.query_count; i++) {
		if (drv_libraries_is_driver(&hooked.queries[i], object))
			return true;
	}
	return false;
}

static void choose(struct drv_loaded_list *objects)
{
	for (size_t i = 0; i < objects->count; i++) {
		struct drv_loaded *object = &objects->items[i];

		/* What came since the first build may be a compiler. */
		object->chosen |= !find_known(hooked.before, hooked.before_count, object);
		if (!is_hooked_driver(object))
			continue;
		object->chosen = true;
		for (size_t j = 0; j < objects->count; j++)
			objects->items[j].chosen |= drv_driver_has_compiler(drv_driver_of(object->name),
									    objects->items[j].name);
	}
	drv_loaded_choose_needed(objects);
}

static struct ranges *new_ranges(size_t most)
{
	return calloc(1, sizeof(struct ranges) + most * sizeof(struct range));
}

static void add_range(struct ranges *ranges, const struct drv_loaded *object)
{
	uintptr_t end = 0;

	for (unsigned int i = 0; i < object->header_count; i++) {
		const ElfW(Phdr) *header = &object->headers[i];

		if (header->p_type == PT_LOAD && header->p_vaddr + header->p_memsz > end)
			end = header->p_vaddr + header->p_memsz;
	}
	ranges->items[ranges->count].start = object->base;
	ranges->items[ranges->count++].size = end;
}

static const struct range *find_range(const struct ranges *ranges, const void *address)
{
	for (size_t i = 0; ranges && i < ranges->count; i++) {
		if ((uintptr_t)address - ranges->items[i].start < ranges->items[i].size)
			return &ranges->items[i];
	}
	return NULL;
}

static void note_program(struct drv_loaded_list *objects)
{
	struct ranges *ranges = new_ranges(objects->count);

	if (!ranges)
		return;
	objects->program.chosen = true;
	drv_loaded_choose_needed(objects);
	objects->program.chosen = false;
	for (size_t i = 0; i < objects->count; i++) {
		if (objects->items[i].chosen)
			add_range(ranges, &objects->items[i]);
		objects->items[i].chosen = false;
	}
	atomic_store_explicit(&of_program, ranges, memory_order_release);
}

/* Some builds of a driver have their compiler within, and then its code looks for headers. */
static bool has_no_compiler(const struct drv_loaded *object)
{
	const char *linked = drv_driver_of(object->name)->linked_compiler;
	const ElfW(Dyn) *entry = object->dynamic;

	while (linked && entry && entry->d_tag != DT_NULL &&
	       (entry->d_tag != DT_NEEDED ||
		strncmp(object->strings + entry->d_un.d_val, linked, strlen(linked)) != 0))
		entry++;
	return !linked || (entry && entry->d_tag == DT_NEEDED);
}

static bool is_same(const struct ranges *a, const struct ranges *b)
{
	return a && b && a->count == b->count &&
	       memcmp(a->items, b->items, a->count * sizeof(a->items[0])) == 0;
}

static void note_drivers(const struct drv_loaded_list *objects)
{
	struct ranges *ranges = new_ranges(MAX_QUERIES);

	for (size_t i = 0; ranges && i < objects->count && ranges->count < MAX_QUERIES; i++) {
		if (!is_hooked_driver(&objects->items[i]))
			continue;
		add_range(ranges, &objects->items[i]);
		ranges->items[ranges->count - 1].compiles = !has_no_compiler(&objects->items[i]);
	}
	if (!ranges || is_same(ranges, atomic_load_explicit(&of_drivers, memory_order_relaxed))) {
		free(ranges);
		return;
	}
	ranges->old = atomic_load_explicit(&of_drivers, memory_order_relaxed);
	atomic_store_explicit(&of_drivers, ranges, memory_order_release);
}

static void hook_objects(void *ctx, struct drv_loaded_list *objects)
{
	const struct drv_slot_function *functions;
	const struct drv_loaded *c_library = NULL;
	uint64_t now = cmn_clock_monotonic();
	size_t count;

	(void)ctx;
	functions = drv_libc_hooks(&count);
	if (!hooked.before) {
		remember_objects(objects);
		note_program(objects);
	}
	hooked.before_count = forget_what_is_gone(hooked.before, hooked.before_count, objects);
	hooked.done_count = forget_what_is_gone(hooked.done, hooked.done_count, objects);
	hooked.incomplete = !hooked.before;
	hooked.unsettled = false;
	for (size_t i = 0; i < objects->count; i++) {
		if (is_c_library(&objects->items[i]))
			c_library = &objects->items[i];
	}
	choose(objects);
	note_drivers(objects);
	for (size_t i = 0; i < objects->count; i++) {
		const struct drv_loaded *object = &objects->items[i];
		struct known_object *known = find_known(hooked.done, hooked.done_count, object);
		enum cmn_status status;

		if (!object->chosen || (known && known->settled) || is_left_alone(object))
			continue;
		status = drv_slots_hook(object, c_library, functions, count);
		hooked.incomplete |= status == CMN_MISS;
		/* What was hooked already went past the hooks since, unless it came again. */
		hooked.past |= status == CMN_BUSY && known;
		hooked.missed |= status == CMN_BUSY && known && !hooked.unloaded;
		hooked.unsettled |= status == CMN_BUSY;
		if (status != CMN_MISS && !known && hooked.done_count < DRV_LOADED_MAX) {
			known = &hooked.done[hooked.done_count++];
			*known = known_object(object);
		}
		if (known && status == CMN_BUSY)
			known->hooked_at = now;
		if (known)
			known->settled = status == CMN_OK && now - known->hooked_at >= SETTLE_NS;
		hooked.unsettled |= known && !known->settled;
	}
}

static bool same_epoch(const struct drv_library_epoch *a, const struct drv_library_epoch *b)
{
	return a->loaded == b->loaded && a->unloaded == b->unloaded;
}

enum cmn_status drv_hooked_objects_update(const struct drv_libraries_query *query, bool again)
{
	struct drv_library_epoch epoch = drv_libraries_epoch();
	bool known = !query, room = true;
	enum cmn_status status;

	cmn_mutex_lock(&lock);
	for (size_t i = 0; i < hooked.query_count && !known; i++)
		known = hooked.queries[i].address == query->address &&
			hooked.queries[i].is_driver == query->is_driver;
	if (!known)
		room = hooked.query_count < MAX_QUERIES;
	if (!known && room)
		hooked.queries[hooked.query_count++] = *query;
	hooked.unloaded = epoch.unloaded != hooked.epoch.unloaded;
	if (hooked.unloaded)
		forget_what_is_settled();
	hooked.past = false;
	if (!known || hooked.incomplete || (again && hooked.unsettled) || !same_epoch(&epoch, &hooked.epoch)) {
		hooked.incomplete = !drv_loaded_visit(hook_objects, NULL) || hooked.incomplete;
		hooked.epoch = epoch;
	}
	status = hooked.past ? CMN_STALE : hooked.incomplete || hooked.missed || !room ? CMN_MISS : CMN_OK;
	cmn_mutex_unlock(&lock);
	return status;
}

bool drv_hooked_objects_is_of_program(const void *caller)
{
	return find_range(atomic_load_explicit(&of_program, memory_order_acquire), caller);
}

bool drv_hooked_objects_is_of_driver(const void *caller)
{
	const struct range *range = find_range(atomic_load_explicit(&of_drivers, memory_order_acquire), caller);

	return range && !range->compiles;
}

bool drv_hooked_objects_is_of_driver_or_within(const void *caller)
{
	return find_range(atomic_load_explicit(&of_drivers, memory_order_acquire), caller);
}

bool drv_hooked_objects_free_lock(pthread_mutex_t *mutex)
{
	if (pthread_mutex_trylock(mutex) == 0) {
		cmn_mutex_unlock(mutex);
		return true;
	}
	(void)pthread_mutex_init(mutex, NULL);	/* a default mutex does not fail */
	return false;
}

void drv_hooked_objects_after_fork(void)
{
	if (!drv_hooked_objects_free_lock(&lock))
		hooked.incomplete = true;	/* some slots may still be as they were */
}
