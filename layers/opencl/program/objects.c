/* SPDX-License-Identifier: MIT */
/* objects: shards of hash tables, each behind a spinning lock. */
#include "layers/opencl/program/objects.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>

#define SHARD_COUNT 32	/* many times the threads that launch kernels at once */
#define SPINS 100	/* before the processor goes to who may be holding the lock */

/* A few chains cost no memory; without memory for more they only grow longer. */
#define FIRST_CHAINS 4
#define LONG_CHAIN 2	/* on the average */

struct map {
	struct ocl_object **chains;	/* NULL: first */
	size_t chain_count;		/* a power of two; of chains */
	size_t count;			/* of objects */
	struct ocl_object *first[FIRST_CHAINS];
};

struct shard {
	_Alignas(64) atomic_bool busy;
	struct map maps[OCL_OBJECT_KINDS];	/* guarded by busy */
};

static struct shard shards[SHARD_COUNT];
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
} layer = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

void ocl_objects_lock(void)
{
	(void)pthread_mutex_lock(&layer.lock);	/* a default mutex cannot fail here */
}

void ocl_objects_unlock(void)
{
	(void)pthread_mutex_unlock(&layer.lock);
}

void ocl_objects_wait(void)
{
	(void)pthread_cond_wait(&layer.changed, &layer.lock);
}

void ocl_objects_changed(void)
{
	(void)pthread_cond_broadcast(&layer.changed);
}

/* Handles are aligned addresses: their low bits say nothing. */
static unsigned int hash_of(const void *handle)
{
	return (unsigned int)(((uintptr_t)handle * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

static struct shard *shard_of(unsigned int hash)
{
	/* The low bits choose the chain. */
	return &shards[(hash >> 24) % SHARD_COUNT];
}

static void lock_shard(struct shard *shard)
{
	unsigned int spins = 0;

	while (atomic_exchange_explicit(&shard->busy, true, memory_order_acquire)) {
		while (atomic_load_explicit(&shard->busy, memory_order_relaxed)) {
			if (++spins % SPINS == 0)
				(void)sched_yield();	/* it may also do nothing */
		}
	}
}

static void unlock_shard(struct shard *shard)
{
	atomic_store_explicit(&shard->busy, false, memory_order_release);
}

void ocl_objects_fork_prepare(void)
{
	ocl_objects_lock();
	for (unsigned int i = 0; i < SHARD_COUNT; i++)
		lock_shard(&shards[i]);
}

static void unlock_shards(void)
{
	for (unsigned int i = 0; i < SHARD_COUNT; i++)
		unlock_shard(&shards[i]);
}

void ocl_objects_fork_parent(void)
{
	unlock_shards();
	ocl_objects_unlock();
}

void ocl_objects_fork_child(void)
{
	unlock_shards();
	/* Its waiters were threads of the parent; a broadcast would wait for them. */
	(void)pthread_cond_init(&layer.changed, NULL);	/* as it was initialised at first */
}

void ocl_object_lock(const struct ocl_object *object)
{
	lock_shard(shard_of(hash_of(object->handle)));
}

void ocl_object_unlock(const struct ocl_object *object)
{
	unlock_shard(shard_of(hash_of(object->handle)));
}

static size_t chains_of(const struct map *map)
{
	return map->chains ? map->chain_count : FIRST_CHAINS;
}

static struct ocl_object **chain_of(struct map *map, unsigned int hash)
{
	struct ocl_object **chains = map->chains ? map->chains : map->first;

	return &chains[hash & (chains_of(map) - 1)];
}

/* What points to the object of that handle, or ends its chain. */
static struct ocl_object **find_in(struct map *map, const void *handle, unsigned int hash)
{
	struct ocl_object **at = chain_of(map, hash);

	while (*at && (*at)->handle != handle)
		at = &(*at)->next;
	return at;
}

static void grow(struct map *map)
{
	size_t count = chains_of(map);
	struct map more = { .chain_count = 4 * count };
	struct ocl_object **from = map->chains ? map->chains : map->first, **to, *object;

	more.chains = calloc(more.chain_count, sizeof(struct ocl_object *));
	if (!more.chains)
		return;
	for (size_t i = 0; i < count; i++) {
		while ((object = from[i])) {
			from[i] = object->next;
			to = chain_of(&more, hash_of(object->handle));
			object->next = *to;
			*to = object;
		}
	}
	more.count = map->count;
	free(map->chains);
	*map = more;
}

void ocl_objects_add(enum ocl_object_kind kind, struct ocl_object *object)
{
	unsigned int hash = hash_of(object->handle);
	struct shard *shard = shard_of(hash);
	struct map *map = &shard->maps[kind];
	struct ocl_object **at, *old;

	lock_shard(shard);
	/* A handle that is already known was released behind our back; the new object is the true one. */
	at = find_in(map, object->handle, hash);
	old = *at;
	object->next = old ? old->next : NULL;
	*at = object;
	map->count += !old;
	if (map->count > LONG_CHAIN * chains_of(map))
		grow(map);
	unlock_shard(shard);
	ocl_object_unref(old);
}

struct ocl_object *ocl_objects_find_and_lock(enum ocl_object_kind kind, void *handle)
{
	unsigned int hash = hash_of(handle);
	struct shard *shard = shard_of(hash);
	struct ocl_object *object;

	lock_shard(shard);
	object = *find_in(&shard->maps[kind], handle, hash);
	if (!object)
		unlock_shard(shard);
	return object;
}

struct ocl_object *ocl_objects_find(enum ocl_object_kind kind, void *handle)
{
	struct ocl_object *object = ocl_objects_find_and_lock(kind, handle);

	if (object) {
		ocl_object_ref(object);
		ocl_object_unlock(object);
	}
	return object;
}

void ocl_objects_remove_and_unlock(enum ocl_object_kind kind, struct ocl_object *object)
{
	unsigned int hash = hash_of(object->handle);
	struct shard *shard = shard_of(hash);
	struct map *map = &shard->maps[kind];

	*find_in(map, object->handle, hash) = object->next;
	map->count--;
	unlock_shard(shard);
}

void ocl_objects_each(enum ocl_object_kind kind,
		      void (*visit)(struct ocl_object *object, void *ctx), void *ctx)
{
	for (unsigned int i = 0; i < SHARD_COUNT; i++) {
		struct map *map = &shards[i].maps[kind];

		lock_shard(&shards[i]);
		for (size_t j = 0; j < chains_of(map); j++) {
			for (struct ocl_object *object = *chain_of(map, (unsigned int)j); object;
			     object = object->next)
				visit(object, ctx);
		}
		unlock_shard(&shards[i]);
	}
}

void ocl_object_init(struct ocl_object *object, void *handle,
		     void (*destroy)(struct ocl_object *object))
{
	object->handle = handle;
	object->destroy = destroy;
	object->app_refs = 1;
	atomic_init(&object->refs, 1);
}

void ocl_object_ref(struct ocl_object *object)
{
	atomic_fetch_add_explicit(&object->refs, 1, memory_order_relaxed);
}

void ocl_object_unref(struct ocl_object *object)
{
	if (object && atomic_fetch_sub_explicit(&object->refs, 1, memory_order_acq_rel) == 1)
		object->destroy(object);
}
