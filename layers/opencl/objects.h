/* SPDX-License-Identifier: MIT */
/*
 * objects: from a driver's handle to what the layer knows of it. Two maps,
 * programs and kernels, share one lock, which also guards the state of both
 * kinds of objects (fields marked so); it is never held across a call to the
 * driver or to cachecore.
 *
 * An object lives as long as somebody holds a reference; being in a map is
 * one. Leave the map before the driver's final release of the handle: drivers
 * use addresses again.
 */
#ifndef OPENCL_OBJECTS_H
#define OPENCL_OBJECTS_H

#include <stdatomic.h>
#include <stdbool.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct ocl_object {
	UT_hash_handle hh;	/* guarded by the lock */
	void *handle;		/* the driver's; immutable */
	atomic_uint refs;
	void (*destroy)(struct ocl_object *object);	/* called without the lock */
};

enum ocl_object_kind {
	OCL_PROGRAMS,
	OCL_KERNELS,
	OCL_OBJECT_KINDS,
};

void ocl_objects_lock(void);
void ocl_objects_unlock(void);
/* Waits for a change that ocl_objects_changed tells of; the lock is held before and after. */
void ocl_objects_wait(void);
void ocl_objects_changed(void);	/* with the lock */

/* In a forked child, with the lock: no thread waits here any more. */
void ocl_objects_forked_locked(void);

/* Takes over the caller's reference. false: out of memory; the caller keeps it. Takes the lock. */
bool ocl_objects_add(enum ocl_object_kind kind, struct ocl_object *object);
/* A new reference, or NULL for an unknown handle. Takes the lock. */
struct ocl_object *ocl_objects_find(enum ocl_object_kind kind, void *handle);
/* The same with the lock held. */
struct ocl_object *ocl_objects_find_locked(enum ocl_object_kind kind, void *handle);
/* The map's reference goes to the caller. With the lock; the object must be in the map. */
void ocl_objects_remove_locked(enum ocl_object_kind kind, struct ocl_object *object);
/* Calls visit for each object of the kind, with the lock; visit must not add or remove. */
void ocl_objects_each_locked(enum ocl_object_kind kind,
			     void (*visit)(struct ocl_object *object, void *ctx), void *ctx);

void ocl_object_init(struct ocl_object *object, void *handle,
		     void (*destroy)(struct ocl_object *object));	/* one reference */
void ocl_object_ref(struct ocl_object *object);
void ocl_object_unref(struct ocl_object *object);	/* NULL is fine; without the lock */

#endif
