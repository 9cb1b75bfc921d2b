/* SPDX-License-Identifier: MIT */
/*
 * stub_object: every handle that the stub driver ever gave out. An object's
 * memory is kept when it ends, so that its address never means another one.
 */
#include "tests/level_zero/stub/stub.h"

#include <uthash.h>

struct object {
	UT_hash_handle hh;
	const void *handle;	/* the bytes that follow this header */
	enum stub_kind kind;
	bool live;
};

/* Handles are aligned for anything: so is the header's size. */
#define HEADER ((sizeof(struct object) + _Alignof(max_align_t) - 1) & ~(_Alignof(max_align_t) - 1))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct object *objects;	/* guarded by lock */

static const char *const kind_names[] = { "driver", "device", "context", "module", "log" };

void *stub_object_new(enum stub_kind kind, size_t size)
{
	struct object *object = calloc(1, HEADER + size);

	if (!object)
		abort();	/* a test driver has nothing better to do */
	object->handle = (char *)object + HEADER;
	object->kind = kind;
	object->live = true;
	(void)pthread_mutex_lock(&lock);	/* a default mutex does not fail */
	HASH_ADD_PTR(objects, handle, object);
	(void)pthread_mutex_unlock(&lock);	/* as above */
	return (void *)object->handle;
}

static bool find(const void *handle, enum stub_kind kind, const char *call, bool end)
{
	struct object *object;
	bool good;

	(void)pthread_mutex_lock(&lock);	/* a default mutex does not fail */
	HASH_FIND_PTR(objects, &handle, object);
	good = object && object->live && object->kind == kind;
	if (good && end)
		object->live = false;
	(void)pthread_mutex_unlock(&lock);	/* as above */
	if (!good)
		stub_event("bad-handle %s %s", kind_names[kind], call);
	return good;
}

bool stub_object_check(const void *handle, enum stub_kind kind, const char *call)
{
	return find(handle, kind, call, false);
}

bool stub_object_end(const void *handle, enum stub_kind kind, const char *call)
{
	return find(handle, kind, call, true);
}
