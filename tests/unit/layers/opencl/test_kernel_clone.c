/* SPDX-License-Identifier: MIT */
/* kernel_clone: which creations the driver sees, and what becomes of the kernel that others are clones of. */
#include "layers/opencl/program/kernel_clone.h"

#include "layers/opencl/layer.h"
#include "layers/opencl/program/objects.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

#define MOST 64		/* handles of a test */
#define PROGRAM ((cl_program)(uintptr_t)7)

struct ocl_layer ocl_layer;

/* A driver whose kernels are numbers from 1. */
static struct {
	unsigned int made, creations, clones;
	unsigned int refs[MOST];
	unsigned int cloned_from[MOST];		/* 0: created */
	bool refuses_clones;
	bool no_memory;
} driver;

pthread_mutex_t ocl_objects_mutex = PTHREAD_MUTEX_INITIALIZER;

/* The driver is never called with the layer's lock. */
static bool is_unlocked(void)
{
	bool unlocked = pthread_mutex_trylock(&ocl_objects_mutex) == 0;

	if (unlocked)
		CU_ASSERT_EQUAL(pthread_mutex_unlock(&ocl_objects_mutex), 0);
	return unlocked;
}

WRAPPED(void *, calloc, (size_t count, size_t size))
{
	return driver.no_memory ? NULL : __real_calloc(count, size);
}

static unsigned int number_of(cl_kernel kernel)
{
	unsigned int number = (unsigned int)(uintptr_t)kernel;

	CU_ASSERT_FATAL(number < MOST);
	return number;
}

static cl_kernel make(unsigned int from)
{
	CU_ASSERT_FATAL(driver.made + 1 < MOST);
	driver.made++;
	driver.refs[driver.made] = 1;
	driver.cloned_from[driver.made] = from;
	return (cl_kernel)(uintptr_t)driver.made;
}

static cl_kernel CL_API_CALL create_kernel(cl_program program, const char *name, cl_int *error)
{
	bool there = strcmp(name, "none") != 0;

	CU_ASSERT_PTR_EQUAL(program, PROGRAM);
	CU_ASSERT(is_unlocked());
	driver.creations++;
	if (error)
		*error = there ? CL_SUCCESS : CL_INVALID_KERNEL_NAME;
	return there ? make(0) : NULL;
}

static cl_kernel CL_API_CALL clone_kernel(cl_kernel from, cl_int *error)
{
	CU_ASSERT(is_unlocked());
	CU_ASSERT_PTR_NOT_NULL(from);
	driver.clones++;
	if (error)
		*error = driver.refuses_clones ? CL_OUT_OF_RESOURCES : CL_SUCCESS;
	return driver.refuses_clones ? NULL : make(number_of(from));
}

static cl_int CL_API_CALL release_kernel(cl_kernel kernel)
{
	CU_ASSERT_TRUE(driver.refs[number_of(kernel)] > 0);
	driver.refs[number_of(kernel)]--;
	return CL_SUCCESS;
}

static struct ocl_kernel_clones clones;

BEFORE_EACH
{
	memset(&driver, 0, sizeof(driver));
	clones = (struct ocl_kernel_clones){ 0 };
	ocl_layer.next.clCreateKernel = create_kernel;
	ocl_layer.next.clCloneKernel = clone_kernel;
	ocl_layer.next.clReleaseKernel = release_kernel;
}

AFTER_EACH
{
	ocl_kernel_clones_release(&clones);
}

static cl_kernel create(const char *name)
{
	cl_int error = 77;
	cl_kernel kernel = ocl_kernel_clone_create_kernel(&clones, PROGRAM, name, &error);

	CU_ASSERT_EQUAL(error, CL_SUCCESS);
	CU_ASSERT_PTR_NOT_NULL_FATAL(kernel);
	CU_ASSERT(is_unlocked());
	return kernel;
}

TEST(the_third_kernel_of_a_name_and_all_later_ones_are_clones)
{
	unsigned int first = number_of(create("name")), second, kept, third, fourth;

	CU_ASSERT_EQUAL(driver.clones, 0);
	CU_ASSERT_EQUAL(ocl_kernel_clones_count(&clones), 0);
	second = number_of(create("name"));
	CU_ASSERT_EQUAL(driver.creations, 2);
	CU_ASSERT_EQUAL_FATAL(driver.clones, 1);
	CU_ASSERT_EQUAL(ocl_kernel_clones_count(&clones), 1);
	kept = driver.made;
	CU_ASSERT_TRUE(kept != first && kept != second);
	CU_ASSERT_EQUAL(driver.cloned_from[kept], second);
	third = number_of(create("name"));
	fourth = number_of(ocl_kernel_clone_create_kernel(&clones, PROGRAM, "name", NULL));
	CU_ASSERT_EQUAL(driver.creations, 2);
	/* None is one that the application may have set arguments of. */
	CU_ASSERT_EQUAL(driver.cloned_from[third], kept);
	CU_ASSERT_EQUAL(driver.cloned_from[fourth], kept);
	CU_ASSERT_EQUAL(driver.refs[kept], 1);
	CU_ASSERT_EQUAL(ocl_kernel_clones_count(&clones), 1);
	ocl_kernel_clones_release(&clones);
	CU_ASSERT_EQUAL(driver.refs[kept], 0);
	CU_ASSERT_EQUAL(driver.refs[third], 1);
}

TEST(kernels_of_other_names_are_others)
{
	(void)create("name");
	(void)create("names");
	(void)create("nam");
	CU_ASSERT_EQUAL(driver.clones, 0);
	(void)create("names");
	CU_ASSERT_EQUAL(driver.clones, 1);
	(void)create("name");
	CU_ASSERT_EQUAL(driver.creations, 5);
	CU_ASSERT_EQUAL(ocl_kernel_clones_count(&clones), 2);
}

TEST(where_the_driver_refuses_to_clone_it_creates)
{
	driver.refuses_clones = true;
	(void)create("name");
	(void)create("name");
	CU_ASSERT_EQUAL(ocl_kernel_clones_count(&clones), 0);
	(void)create("name");
	CU_ASSERT_EQUAL(driver.creations, 3);
	driver.refuses_clones = false;
	(void)create("other");
	(void)create("other");
	CU_ASSERT_EQUAL(ocl_kernel_clones_count(&clones), 1);
	driver.refuses_clones = true;
	(void)create("other");
	CU_ASSERT_EQUAL(driver.creations, 6);
}

TEST(a_kernel_that_is_not_there_is_not_cloned)
{
	cl_int error = 77;

	for (int i = 0; i < 4; i++) {
		CU_ASSERT_PTR_NULL(ocl_kernel_clone_create_kernel(&clones, PROGRAM, "none", &error));
		CU_ASSERT_EQUAL(error, CL_INVALID_KERNEL_NAME);
	}
	CU_ASSERT_EQUAL(driver.creations, 4);
	CU_ASSERT_EQUAL(driver.clones, 0);
}

TEST(without_memory_the_driver_creates)
{
	driver.no_memory = true;
	for (int i = 0; i < 4; i++)
		(void)create("name");
	driver.no_memory = false;
	CU_ASSERT_EQUAL(driver.creations, 4);
	CU_ASSERT_EQUAL(ocl_kernel_clones_count(&clones), 0);
}
