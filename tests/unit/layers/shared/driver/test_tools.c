/* SPDX-License-Identifier: MIT */
/* tools: what was added is found, by all threads at once, and in a child that any of them forks. */
#include "layers/shared/driver/tools.h"

#include <stdatomic.h>

#include "tests/support/owned.h"
#include "tests/support/unit.h"

#define TOOL "/bin/sh"
#define THREADS 4
#define CHILDREN 60

static const struct drv_driver driver = { .tools = { { TOOL, "-o" } } }, other = { .tools = { { TOOL, "-o" } } };

static void add(void)
{
	struct cc_contents contents = { 0 };
	OWNED(cc_key_release) struct cc_key key;

	cc_key_init(&key);
	CU_ASSERT_TRUE(drv_tools_add(&driver, &contents, &key));
	cc_contents_release(&contents);
}

static atomic_bool looking;

static void *add_and_look(void *ctx)
{
	add();
	while (atomic_load(&looking)) {
		if (drv_tools_find(&driver, TOOL) != &driver.tools[0])
			return NULL;
	}
	return ctx;
}

TEST(what_was_added_is_found_by_threads_and_their_children)
{
	pthread_t threads[THREADS];
	void *found;

	CU_ASSERT_PTR_NULL(drv_tools_find(&driver, TOOL));
	CU_ASSERT_FALSE(drv_tools_hold(TOOL));
	atomic_store(&looking, true);
	for (int i = 0; i < THREADS; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, add_and_look, &looking), 0);
	add();
	/* Whichever thread is at it then, is not in the child. */
	for (int i = 0; i < CHILDREN; i++) {
		pid_t child = fork();

		if (child == 0) {
			(void)alarm(20);
			_exit(drv_tools_find(&driver, TOOL) == &driver.tools[0] ? 0 : 1);
		}
		CU_ASSERT_TRUE_FATAL(unit_ended_well(child));
	}
	atomic_store(&looking, false);
	for (int i = 0; i < THREADS; i++) {
		CU_ASSERT_EQUAL(pthread_join(threads[i], &found), 0);
		CU_ASSERT_PTR_EQUAL(found, &looking);
	}
	CU_ASSERT_TRUE(drv_tools_hold(TOOL));
	/* Of another row, and another program. */
	CU_ASSERT_PTR_NULL(drv_tools_find(&other, TOOL));
	CU_ASSERT_PTR_NULL(drv_tools_find(&driver, "/bin/true"));
}
