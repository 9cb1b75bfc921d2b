/* SPDX-License-Identifier: MIT */
/*
 * objects: from a driver's handle to what the layer knows of it: two maps,
 * programs and kernels, and two kinds of locks.
 *
 * An object's lock is taken in calls that an application makes once a launch:
 * a spinning one, shared by the objects of a shard, held for a few
 * instructions without any call. It guards the object's place in its map and
 * the fields marked so.
 *
 * The layer's lock guards what changes with builds (fields marked so), and is
 * one that threads can wait on. Order: the layer's lock, then an object's;
 * never two objects'. Neither is held across a call to the driver or to
 * cachecore.
 *
 * An object lives as long as somebody holds a reference; being in a map is
 * one. Leave the map before the driver's final release of the handle: drivers
 * use addresses again.
 */
#ifndef OPENCL_PROGRAM_OBJECTS_H
#define OPENCL_PROGRAM_OBJECTS_H

#include <stdatomic.h>
#include <stdbool.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "common/mutex.h"

struct ocl_object {
	UT_hash_handle hh;	/* guarded by the object's lock, as app_refs is */
	atomic_bool *lock;	/* its shard's; immutable, as handle is */
	void *handle;		/* the driver's */
	atomic_uint refs;
	unsigned int app_refs;	/* of the application to the handle */
	void (*destroy)(struct ocl_object *object);	/* called without a lock */
};

enum ocl_object_kind {
	OCL_PROGRAMS,
	OCL_KERNELS,
	OCL_OBJECT_KINDS,
};

/* The layer's lock, through these alone. */
extern pthread_mutex_t ocl_objects_mutex;

static inline void ocl_objects_lock(void)
{
	cmn_mutex_lock(&ocl_objects_mutex);
}

static inline void ocl_objects_unlock(void)
{
	cmn_mutex_unlock(&ocl_objects_mutex);
}

/* The driver that they were of is gone. What was of it stays allocated: it may not be asked any more. */
void ocl_objects_forget(void);
void ocl_objects_unlock_and_wake(void);	/* who waits */
/* Waits until that is called; the lock is held before and after. */
void ocl_objects_wait(void);

/* fork: all locks, in the parent before; given back in both. */
void ocl_objects_fork_prepare(void);
void ocl_objects_fork_parent(void);
void ocl_objects_fork_child(void);	/* the layer's lock stays held: for who has more to put in order */

/* A spinning lock: ocl_spin_wait, which yields the processor now and then, and sleeps, takes one that is not free at once. */
void ocl_spin_wait(atomic_bool *lock);

static inline void ocl_spin_lock(atomic_bool *lock)
{
	if (atomic_exchange_explicit(lock, true, memory_order_acquire))
		ocl_spin_wait(lock);
}

static inline void ocl_spin_unlock(atomic_bool *lock)
{
	atomic_store_explicit(lock, false, memory_order_release);
}

static inline void ocl_object_lock(const struct ocl_object *object)
{
	ocl_spin_lock(object->lock);
}

static inline void ocl_object_unlock(const struct ocl_object *object)
{
	ocl_spin_unlock(object->lock);
}

/* Takes over the caller's reference. false: out of memory; the caller keeps it. */
bool ocl_objects_add(enum ocl_object_kind kind, struct ocl_object *object);
/* No reference, but the object's lock is held; NULL: unknown, and no lock is. */
struct ocl_object *ocl_objects_find_and_lock(enum ocl_object_kind kind, void *handle);
/* With the object's lock, which is given back: the map's reference goes to the caller. It must be in the map. */
void ocl_objects_remove_and_unlock(enum ocl_object_kind kind, struct ocl_object *object);
/* Calls visit for each object of the kind, with the object's lock. */
void ocl_objects_each(enum ocl_object_kind kind,
		      void (*visit)(struct ocl_object *object, void *ctx), void *ctx);

/* One reference, and one of the application. */
void ocl_object_init(struct ocl_object *object, void *handle,
		     void (*destroy)(struct ocl_object *object));
static inline void ocl_object_ref(struct ocl_object *object)
{
	atomic_fetch_add_explicit(&object->refs, 1, memory_order_relaxed);
}

static inline void ocl_object_unref(struct ocl_object *object)	/* NULL is fine; without a lock */
{
	if (object && atomic_fetch_sub_explicit(&object->refs, 1, memory_order_acq_rel) == 1)
		object->destroy(object);
}

/* A new reference, or NULL for an unknown handle. */
static inline struct ocl_object *ocl_objects_find(enum ocl_object_kind kind, void *handle)
{
	struct ocl_object *object = ocl_objects_find_and_lock(kind, handle);

	if (object) {
		ocl_object_ref(object);
		ocl_object_unlock(object);
	}
	return object;
}

#endif
