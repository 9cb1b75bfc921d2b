/* SPDX-License-Identifier: MIT */
/* objects: shards of uthash tables, each behind a spinning lock. */
#include "layers/opencl/program/objects.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <time.h>

#include "common/cancel.h"

/*
 * Adding to a table of objects must not end the application for want of
 * memory: uthash is told to report it, and the object's `handle` tells.
 */
#undef uthash_nonfatal_oom
#define uthash_nonfatal_oom(element) (out_of_memory = true)

#define SHARD_COUNT 32	/* many times the threads that launch kernels at once */
#define SPINS 100	/* before the processor goes to who may be holding the lock */
#define YIELDS 10	/* before it goes to one of a lower priority, too: a thread of real time yields to none */
#define PAUSE_NS 20000

struct shard {
	_Alignas(64) atomic_bool busy;
	struct ocl_object *maps[OCL_OBJECT_KINDS];	/* guarded by busy */
	/*
	 * In each map that was ever used, so that it is never empty: uthash
	 * gives an empty table back and makes the next one, which takes longer
	 * than all the rest.
	 */
	struct ocl_object anchors[OCL_OBJECT_KINDS];
};

static struct shard shards[SHARD_COUNT];
pthread_mutex_t ocl_objects_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

void ocl_objects_wait(void)
{
	(void)pthread_cond_wait(&changed, &ocl_objects_mutex);
}

void ocl_objects_unlock_and_wake(void)
{
	(void)pthread_cond_broadcast(&changed);
	ocl_objects_unlock();
}

/* Handles are aligned addresses: their low bits say nothing. */
static struct shard *shard_of(const void *handle, unsigned int *ret_hash)
{
	*ret_hash = (unsigned int)(((uintptr_t)handle * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
	/* uthash takes the low bits for its buckets. */
	return &shards[(*ret_hash >> 24) % SHARD_COUNT];
}

void ocl_spin_wait(atomic_bool *lock)
{
	CMN_NOT_CANCELLED;
	const struct timespec pause = { 0, PAUSE_NS };
	unsigned int spins = 0;

	do {
		while (atomic_load_explicit(lock, memory_order_relaxed)) {
			if (++spins % SPINS)
				continue;
			if (spins < YIELDS * SPINS)
				(void)sched_yield();	/* it may also do nothing */
			else
				(void)nanosleep(&pause, NULL);	/* a signal only makes it shorter */
		}
	} while (atomic_exchange_explicit(lock, true, memory_order_acquire));
}

void ocl_objects_fork_prepare(void)
{
	ocl_objects_lock();
	for (unsigned int i = 0; i < SHARD_COUNT; i++)
		ocl_spin_lock(&shards[i].busy);
}

static void unlock_shards(void)
{
	for (unsigned int i = 0; i < SHARD_COUNT; i++)
		ocl_spin_unlock(&shards[i].busy);
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
	(void)pthread_cond_init(&changed, NULL);	/* as it was initialised at first */
}

static bool add_to(struct shard *shard, enum ocl_object_kind kind, struct ocl_object *object,
		   unsigned int hash)
{
	bool out_of_memory = false;

	HASH_ADD_BYHASHVALUE(hh, shard->maps[kind], handle, sizeof(object->handle), hash, object);
	return !out_of_memory;
}

bool ocl_objects_add(enum ocl_object_kind kind, struct ocl_object *object)
{
	unsigned int hash;
	struct shard *shard = shard_of(object->handle, &hash);
	struct ocl_object *old;
	bool added;

	ocl_object_lock(object);
	/* No driver's handle is NULL. Without memory for the anchor there is none for the object. */
	if (!shard->maps[kind])
		(void)add_to(shard, kind, &shard->anchors[kind], 0);
	/* A handle that is already known was released behind our back; the new object is the true one. */
	HASH_FIND_BYHASHVALUE(hh, shard->maps[kind], &object->handle, sizeof(object->handle), hash,
			      old);
	if (old)
		HASH_DEL(shard->maps[kind], old);
	added = add_to(shard, kind, object, hash);
	ocl_object_unlock(object);
	ocl_object_unref(old);
	return added;
}

void ocl_objects_forget(void)
{
	for (unsigned int i = 0; i < SHARD_COUNT; i++) {
		ocl_spin_lock(&shards[i].busy);
		for (unsigned int kind = 0; kind < OCL_OBJECT_KINDS; kind++)
			HASH_CLEAR(hh, shards[i].maps[kind]);
		ocl_spin_unlock(&shards[i].busy);
	}
}

struct ocl_object *ocl_objects_find_and_lock(enum ocl_object_kind kind, void *handle)
{
	unsigned int hash;
	struct shard *shard = shard_of(handle, &hash);
	struct ocl_object *object = NULL;

	if (!handle)
		return NULL;
	ocl_spin_lock(&shard->busy);
	HASH_FIND_BYHASHVALUE(hh, shard->maps[kind], &handle, sizeof(handle), hash, object);
	if (!object)
		ocl_spin_unlock(&shard->busy);
	return object;
}

void ocl_objects_remove_and_unlock(enum ocl_object_kind kind, struct ocl_object *object)
{
	unsigned int hash;
	struct shard *shard = shard_of(object->handle, &hash);

	HASH_DEL(shard->maps[kind], object);
	ocl_object_unlock(object);
}

void ocl_objects_each(enum ocl_object_kind kind,
		      void (*visit)(struct ocl_object *object, void *ctx), void *ctx)
{
	for (unsigned int i = 0; i < SHARD_COUNT; i++) {
		struct ocl_object *object, *next;

		ocl_spin_lock(&shards[i].busy);
		HASH_ITER(hh, shards[i].maps[kind], object, next) {
			if (object != &shards[i].anchors[kind])
				visit(object, ctx);
		}
		ocl_spin_unlock(&shards[i].busy);
	}
}

void ocl_object_init(struct ocl_object *object, void *handle,
		     void (*destroy)(struct ocl_object *object))
{
	unsigned int hash;

	object->lock = &shard_of(handle, &hash)->busy;
	object->handle = handle;
	object->destroy = destroy;
	object->app_refs = 1;
	atomic_init(&object->refs, 1);
}
