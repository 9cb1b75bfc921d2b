/* SPDX-License-Identifier: MIT */
/* test_kernel: kernels of a loaded program, without memory, and with a handle that is used again, on the stub driver. */
#include "tests/unit/layers/opencl/stub_layer.h"

#include "tests/support/unit.h"
#include "tests/support/wrap.h"

static cl_program program;	/* of the application; loaded */
static size_t failing;		/* the next malloc of so many bytes fails */
static cl_kernel given_back, came;	/* which the driver has free for the next one; which that is */

WRAPPED(void *, malloc, (size_t size))
{
	if (size != failing)
		return __real_malloc(size);
	failing = 0;
	return NULL;
}

static cl_kernel CL_API_CALL create_kernel(cl_program of, const char *name, cl_int *ret_error)
{
	cl_kernel again = given_back;

	given_back = NULL;
	return again ? again : driver.clCreateKernel(of, name, ret_error);
}

/* By when it has returned another thread may have got the same handle. */
static cl_int CL_API_CALL release_kernel(cl_kernel kernel)
{
	given_back = kernel;
	came = ocl_clCreateKernel(program, "k", NULL);
	return CL_SUCCESS;
}

BEFORE_EACH
{
	stub_layer_begin();
	program = stub_layer_load("kernel void k(global int *a) {}\n");
}

static cl_program program_of(cl_kernel kernel)
{
	cl_program of = NULL;

	CU_ASSERT_EQUAL(driver.clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof(of), &of, NULL), CL_SUCCESS);
	return of;
}

TEST(a_kernel_that_cannot_be_remembered_is_of_the_applications_program)
{
	cl_kernel kernel = ocl_clCreateKernel(program, "k", NULL);

	if (!stub_layer_loads())
		return;
	CU_ASSERT_PTR_NOT_EQUAL(program_of(kernel), program);	/* it was loaded */
	CU_ASSERT_EQUAL(ocl_clReleaseKernel(kernel), CL_SUCCESS);
	failing = sizeof(struct ocl_kernel);
	kernel = ocl_clCreateKernel(program, "k", NULL);
	CU_ASSERT_EQUAL(failing, 0);
	CU_ASSERT_PTR_EQUAL(program_of(kernel), program);
	CU_ASSERT_EQUAL(ocl_clReleaseKernel(kernel), CL_SUCCESS);
	/* Which can be built again. */
	CU_ASSERT_EQUAL(ocl_clBuildProgram(program, 0, NULL, "-DK=2", NULL, NULL), CL_SUCCESS);
	CU_ASSERT_EQUAL(ocl_clReleaseProgram(program), CL_SUCCESS);
}

static cl_int CL_API_CALL refuse_build(cl_program of, cl_uint count, const cl_device_id *list, const char *options,
				       ocl_notify_fn notify, void *data)
{
	(void)of, (void)count, (void)list, (void)options, (void)notify, (void)data;
	return CL_OUT_OF_RESOURCES;
}

/* And where that cannot be built there is none, nor a clone of one that there is. */
TEST(without_memory_there_is_no_kernel_of_what_was_loaded)
{
	cl_kernel kernel = ocl_clCreateKernel(program, "k", NULL);
	cl_int errors[] = { CL_SUCCESS, CL_SUCCESS };

	if (!stub_layer_loads())
		return;
	ocl_layer.next.clBuildProgram = refuse_build;
	for (int i = 0; i < 2; i++) {
		failing = sizeof(struct ocl_kernel);
		CU_ASSERT_PTR_NULL(ocl_clCreateKernel(program, "k", i ? NULL : &errors[0]));
		failing = sizeof(struct ocl_kernel);
		CU_ASSERT_PTR_NULL(ocl_clCloneKernel(kernel, i ? NULL : &errors[1]));
		CU_ASSERT_EQUAL(errors[i], CL_OUT_OF_HOST_MEMORY);
	}
	ocl_layer.next = driver;
	CU_ASSERT_EQUAL(ocl_clReleaseKernel(kernel), CL_SUCCESS);
	CU_ASSERT_EQUAL(ocl_clReleaseProgram(program), CL_SUCCESS);
}

TEST(a_handle_that_is_used_again_is_the_later_kernel)
{
	cl_kernel kernel = ocl_clCreateKernel(program, "k", NULL);
	struct ocl_kernel *known;

	ocl_layer.next.clCreateKernel = create_kernel;
	ocl_layer.next.clReleaseKernel = release_kernel;
	CU_ASSERT_EQUAL(ocl_clReleaseKernel(kernel), CL_SUCCESS);
	CU_ASSERT_PTR_EQUAL(came, kernel);
	known = ocl_kernel_find(came);
	CU_ASSERT_PTR_NOT_NULL(known);
	ocl_kernel_unref(known);
	ocl_layer.next = driver;
	CU_ASSERT_EQUAL(ocl_clReleaseKernel(came), CL_SUCCESS);
	CU_ASSERT_EQUAL(ocl_clReleaseProgram(program), CL_SUCCESS);
}

int main(void)
{
	return unit_run_apart();
}
