/* SPDX-License-Identifier: MIT */
/* other_opencl: all that libckcache needs of an OpenCL loader, and no more; each fails. LACKS: but for one. */
#define FUNCTION(name) \
	__attribute__((visibility("default"))) int name(void); \
	int name(void) \
	{ \
		return -1; \
	}

FUNCTION(clGetPlatformIDs)
FUNCTION(clGetPlatformInfo)
FUNCTION(clGetDeviceInfo)
FUNCTION(clRetainContext)
FUNCTION(clReleaseContext)
FUNCTION(clGetContextInfo)
FUNCTION(clRetainDevice)
FUNCTION(clReleaseDevice)
FUNCTION(clCreateProgramWithSource)
FUNCTION(clCreateProgramWithBinary)
FUNCTION(clRetainProgram)
FUNCTION(clReleaseProgram)
FUNCTION(clBuildProgram)
FUNCTION(clGetProgramInfo)
FUNCTION(clGetProgramBuildInfo)
FUNCTION(clCreateKernel)
FUNCTION(clCreateKernelsInProgram)
FUNCTION(clReleaseKernel)
FUNCTION(clGetKernelInfo)
#ifndef LACKS
FUNCTION(clGetKernelWorkGroupInfo)
#endif
FUNCTION(clGetExtensionFunctionAddressForPlatform)
