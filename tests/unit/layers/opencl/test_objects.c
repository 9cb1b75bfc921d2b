/* SPDX-License-Identifier: MIT */
/* objects: handles that are used again, want of memory, and threads that wait for each other. */
#include "layers/opencl/program/objects.h"

#include <sched.h>

#include "tests/support/unit.h"
#include "tests/support/wrap.h"

#define MANY 1000	/* objects: some in each shard */
#define THREADS 4
#define ROUNDS 20000

static bool no_memory;

WRAPPED(void *, malloc, (size_t size))
{
	return no_memory ? NULL : __real_malloc(size);
}

/* Compilers make one of malloc and memset. */
WRAPPED(void *, calloc, (size_t count, size_t size))
{
	return no_memory ? NULL : __real_calloc(count, size);
}

static struct ocl_object urgent;
static atomic_bool is_held;	/* by a thread that runs only while others sleep */

WRAPPED(int, nanosleep, (const struct timespec *time, struct timespec *left))
{
	if (atomic_exchange(&is_held, false))
		ocl_object_unlock(&urgent);
	return __real_nanosleep(time, left);
}

static unsigned int destroyed;

static void destroy(struct ocl_object *object)
{
	(void)object;
	destroyed++;
}

static void *handle_of(uintptr_t number)
{
	return (void *)(number * 64);	/* NOLINT(performance-no-int-to-ptr): as a driver's */
}

/* Where it is known the map has a reference, and nobody else has. */
static bool add(struct ocl_object *object, uintptr_t number)
{
	ocl_object_init(object, handle_of(number), destroy);
	return ocl_objects_add(OCL_PROGRAMS, object);
}

static void remove_object(uintptr_t number)
{
	struct ocl_object *object = ocl_objects_find_and_lock(OCL_PROGRAMS, handle_of(number));

	CU_ASSERT_PTR_NOT_NULL_FATAL(object);
	ocl_objects_remove_and_unlock(OCL_PROGRAMS, object);
	ocl_object_unref(object);
}

TEST(an_object_without_room_is_not_known)
{
	struct ocl_object object;

	no_memory = true;
	CU_ASSERT_FALSE(add(&object, 1));
	no_memory = false;
	CU_ASSERT_PTR_NULL(ocl_objects_find(OCL_PROGRAMS, handle_of(1)));
	CU_ASSERT_TRUE(add(&object, 1));
	remove_object(1);
}

TEST(a_handle_that_is_used_again_has_the_new_object)
{
	struct ocl_object first, second, *found;

	destroyed = 0;
	CU_ASSERT_TRUE(add(&first, 2));
	CU_ASSERT_TRUE(add(&second, 2));
	CU_ASSERT_EQUAL(destroyed, 1);
	found = ocl_objects_find(OCL_PROGRAMS, handle_of(2));
	CU_ASSERT_PTR_EQUAL(found, &second);
	ocl_object_unref(found);
	remove_object(2);
	CU_ASSERT_EQUAL(destroyed, 2);
	CU_ASSERT_PTR_NULL(ocl_objects_find(OCL_PROGRAMS, handle_of(2)));
}

static void count(struct ocl_object *object, void *ctx)
{
	unsigned int *visits = ctx;

	CU_ASSERT_PTR_NOT_NULL(object->handle);
	(*visits)++;
}

TEST(only_what_was_added_is_found_and_visited)
{
	struct ocl_object *objects = calloc(MANY, sizeof(*objects));
	unsigned int visits = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(objects);
	for (unsigned int i = 0; i < MANY; i++)
		CU_ASSERT_TRUE(add(&objects[i], i + 1));
	CU_ASSERT_PTR_NULL(ocl_objects_find(OCL_PROGRAMS, NULL));
	CU_ASSERT_PTR_NULL(ocl_objects_find(OCL_PROGRAMS, handle_of(MANY + 1)));
	CU_ASSERT_PTR_NULL(ocl_objects_find(OCL_KERNELS, handle_of(1)));
	ocl_objects_each(OCL_PROGRAMS, count, &visits);
	CU_ASSERT_EQUAL(visits, MANY);
	for (unsigned int i = 0; i < MANY; i++)
		remove_object(i + 1);
	free(objects);
}

static struct {
	struct ocl_object object;
	unsigned int sum;	/* guarded by the object's lock */
} shared;

static void *add_many(void *ctx)
{
	(void)ctx;
	for (unsigned int i = 0; i < ROUNDS; i++) {
		unsigned int sum;

		ocl_object_lock(&shared.object);
		sum = shared.sum;
		if (i % 64 == 0)
			(void)sched_yield();	/* others come while it is held */
		shared.sum = sum + 1;
		ocl_object_unlock(&shared.object);
	}
	return NULL;
}

TEST(one_thread_at_a_time_has_an_object)
{
	ocl_object_init(&shared.object, handle_of(3), destroy);
	unit_run_threads(THREADS, add_many, NULL, 0);
	CU_ASSERT_EQUAL(shared.sum, THREADS * ROUNDS);
}

/* As one of the lowest priority does beside one of the highest, which may yield for as long as it likes. */
TEST(a_thread_that_waits_lets_every_other_run)
{
	ocl_object_init(&urgent, handle_of(4), destroy);
	ocl_object_lock(&urgent);
	atomic_store(&is_held, true);
	(void)alarm(20);
	ocl_object_lock(&urgent);
	(void)alarm(0);
	ocl_object_unlock(&urgent);
}

static unsigned int waiting;	/* guarded by the layer's lock */
static bool changed;

static void *wait_for_change(void *ctx)
{
	(void)ctx;
	ocl_objects_lock();
	waiting++;
	while (!changed)
		ocl_objects_wait();
	ocl_objects_unlock();
	return NULL;
}

TEST(everybody_who_waits_sees_a_change)
{
	pthread_t threads[THREADS];
	bool all = false;

	for (int i = 0; i < THREADS; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, wait_for_change, NULL), 0);
	while (!all) {
		ocl_objects_lock();
		all = waiting == THREADS;
		changed = all;
		if (all)
			ocl_objects_unlock_and_wake();
		else
			ocl_objects_unlock();
		(void)sched_yield();
	}
	for (int i = 0; i < THREADS; i++)
		CU_ASSERT_EQUAL(pthread_join(threads[i], NULL), 0);
}
