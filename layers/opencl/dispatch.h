/* SPDX-License-Identifier: MIT */
/*
 * dispatch: every call that the layer intercepts, in one table; the rest of
 * the layer's dispatch table stays NULL and goes straight to the driver.
 * Each hook behaves as the OpenCL 3.0 specification says of the call that it
 * is named after, and never fails where the driver alone would not.
 */
#ifndef OPENCL_DISPATCH_H
#define OPENCL_DISPATCH_H

#include "layers/opencl/layer.h"

/* Fills the slots of *ret that the layer intercepts and that the target has. */
void ocl_dispatch_fill(const cl_icd_dispatch *next, cl_icd_dispatch *ret);

/* The hooks, by the file that holds them. context.c */
cl_context CL_API_CALL ocl_clCreateContext(
	const cl_context_properties *properties, cl_uint num_devices, const cl_device_id *devices,
	void(CL_CALLBACK *pfn_notify)(const char *, const void *, size_t, void *), void *user_data,
	cl_int *errcode_ret);
cl_context CL_API_CALL ocl_clCreateContextFromType(
	const cl_context_properties *properties, cl_device_type device_type,
	void(CL_CALLBACK *pfn_notify)(const char *, const void *, size_t, void *), void *user_data,
	cl_int *errcode_ret);

/* program.c */
cl_program CL_API_CALL ocl_clCreateProgramWithSource(cl_context context, cl_uint count,
						     const char **strings, const size_t *lengths,
						     cl_int *errcode_ret);
cl_program CL_API_CALL ocl_clCreateProgramWithIL(cl_context context, const void *il, size_t length,
						 cl_int *errcode_ret);
cl_int CL_API_CALL ocl_clSetProgramSpecializationConstant(cl_program program, cl_uint spec_id,
							  size_t spec_size,
							  const void *spec_value);
cl_int CL_API_CALL ocl_clRetainProgram(cl_program program);
cl_int CL_API_CALL ocl_clReleaseProgram(cl_program program);

/* build.c */
cl_int CL_API_CALL ocl_clBuildProgram(cl_program program, cl_uint num_devices,
				      const cl_device_id *device_list, const char *options,
				      void(CL_CALLBACK *pfn_notify)(cl_program, void *),
				      void *user_data);

/* compile.c */
cl_int CL_API_CALL ocl_clCompileProgram(cl_program program, cl_uint num_devices,
					const cl_device_id *device_list, const char *options,
					cl_uint num_input_headers, const cl_program *input_headers,
					const char **header_include_names,
					void(CL_CALLBACK *pfn_notify)(cl_program, void *),
					void *user_data);
cl_program CL_API_CALL ocl_clLinkProgram(cl_context context, cl_uint num_devices,
					 const cl_device_id *device_list, const char *options,
					 cl_uint num_input_programs,
					 const cl_program *input_programs,
					 void(CL_CALLBACK *pfn_notify)(cl_program, void *),
					 void *user_data, cl_int *errcode_ret);

/* kernel.c */
cl_kernel CL_API_CALL ocl_clCreateKernel(cl_program program, const char *kernel_name,
					 cl_int *errcode_ret);
cl_int CL_API_CALL ocl_clCreateKernelsInProgram(cl_program program, cl_uint num_kernels,
						cl_kernel *kernels, cl_uint *num_kernels_ret);
cl_kernel CL_API_CALL ocl_clCloneKernel(cl_kernel source_kernel, cl_int *errcode_ret);
cl_int CL_API_CALL ocl_clRetainKernel(cl_kernel kernel);
cl_int CL_API_CALL ocl_clReleaseKernel(cl_kernel kernel);

/* query.c */
cl_int CL_API_CALL ocl_clGetProgramInfo(cl_program program, cl_program_info param_name,
					size_t param_value_size, void *param_value,
					size_t *param_value_size_ret);
cl_int CL_API_CALL ocl_clGetProgramBuildInfo(cl_program program, cl_device_id device,
					     cl_program_build_info param_name,
					     size_t param_value_size, void *param_value,
					     size_t *param_value_size_ret);
cl_int CL_API_CALL ocl_clGetKernelInfo(cl_kernel kernel, cl_kernel_info param_name,
				       size_t param_value_size, void *param_value,
				       size_t *param_value_size_ret);

cl_int CL_API_CALL ocl_clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device,
						cl_kernel_work_group_info param_name,
						size_t param_value_size, void *param_value,
						size_t *param_value_size_ret);

/* extension.c */
void *CL_API_CALL ocl_clGetExtensionFunctionAddress(const char *func_name);
void *CL_API_CALL ocl_clGetExtensionFunctionAddressForPlatform(cl_platform_id platform,
							       const char *func_name);

#endif
