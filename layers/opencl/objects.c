/* SPDX-License-Identifier: MIT */
/* objects: two uthash tables behind one lock. */
#include "layers/opencl/objects.h"

#include <pthread.h>

/*
 * Adding to a table of objects must not end the application for want of
 * memory: uthash is told to report it, and the object's `handle` tells.
 */
#undef uthash_nonfatal_oom
#define uthash_nonfatal_oom(element) (out_of_memory = true)

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct ocl_object *maps[OCL_OBJECT_KINDS];	/* guarded by lock */
} objects = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

void ocl_objects_lock(void)
{
	(void)pthread_mutex_lock(&objects.lock);	/* a default mutex cannot fail here */
}

void ocl_objects_unlock(void)
{
	(void)pthread_mutex_unlock(&objects.lock);
}

void ocl_objects_wait(void)
{
	(void)pthread_cond_wait(&objects.changed, &objects.lock);
}

void ocl_objects_changed(void)
{
	(void)pthread_cond_broadcast(&objects.changed);
}

void ocl_objects_forked_locked(void)
{
	/* Its waiters were threads of the parent; a broadcast would wait for them. */
	(void)pthread_cond_init(&objects.changed, NULL);	/* as it was initialised at first */
}

bool ocl_objects_add(enum ocl_object_kind kind, struct ocl_object *object)
{
	bool out_of_memory = false;
	struct ocl_object *old;

	ocl_objects_lock();
	/* A handle that is already known was released behind our back; the new object is the true one. */
	HASH_FIND_PTR(objects.maps[kind], &object->handle, old);
	if (old)
		HASH_DEL(objects.maps[kind], old);
	HASH_ADD_PTR(objects.maps[kind], handle, object);
	ocl_objects_unlock();
	ocl_object_unref(old);
	return !out_of_memory;
}

struct ocl_object *ocl_objects_find_locked(enum ocl_object_kind kind, void *handle)
{
	struct ocl_object *object;

	HASH_FIND_PTR(objects.maps[kind], &handle, object);
	if (object)
		ocl_object_ref(object);
	return object;
}

struct ocl_object *ocl_objects_find(enum ocl_object_kind kind, void *handle)
{
	struct ocl_object *object;

	ocl_objects_lock();
	object = ocl_objects_find_locked(kind, handle);
	ocl_objects_unlock();
	return object;
}

void ocl_objects_remove_locked(enum ocl_object_kind kind, struct ocl_object *object)
{
	HASH_DEL(objects.maps[kind], object);
}

void ocl_objects_each_locked(enum ocl_object_kind kind,
			     void (*visit)(struct ocl_object *object, void *ctx), void *ctx)
{
	struct ocl_object *object, *next;

	HASH_ITER(hh, objects.maps[kind], object, next)
		visit(object, ctx);
}

void ocl_object_init(struct ocl_object *object, void *handle,
		     void (*destroy)(struct ocl_object *object))
{
	object->handle = handle;
	object->destroy = destroy;
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
