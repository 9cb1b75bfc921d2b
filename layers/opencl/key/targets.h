/* SPDX-License-Identifier: MIT */
/*
 * targets: the devices that a build is for: all of the program's, or those that the application
 * lists, in the program's order. An object belongs to one thread.
 */
#ifndef OPENCL_KEY_TARGETS_H
#define OPENCL_KEY_TARGETS_H

#include <stdlib.h>

#include "layers/opencl/layer.h"

struct ocl_targets {
	cl_uint count;
	cl_device_id *devices;	/* what is allocated; the other two follow it */
	cl_uint *indices;	/* of each among the program's */
	cl_uint program_count;
	cl_device_id *all;	/* the program's */
};

/*
 * The targets of a program of the driver's. list, list_count: as the application gave them (NULL: all).
 * CMN_MISS: the list is empty, or has a device twice or one that is not the program's. CMN_ERR_DRIVER: the
 * driver does not tell its devices. Only after CMN_OK must *ret be released.
 */
CMN_CHECKED enum cmn_status ocl_targets_of_program(cl_program program, cl_uint list_count,
						   const cl_device_id *list,
						   struct ocl_targets *ret);
/* The same for a program that will be made in a context. */
CMN_CHECKED enum cmn_status ocl_targets_of_context(cl_context context, cl_uint list_count,
						   const cl_device_id *list,
						   struct ocl_targets *ret);
/* One device, for a program that will be made from source in a context, and so for all its devices. */
CMN_CHECKED enum cmn_status ocl_targets_of_device(cl_context context, cl_device_id device,
						  struct ocl_targets *ret);

static inline void ocl_targets_release(struct ocl_targets *targets)	/* leaves {0} */
{
	free(targets->devices);
	*targets = (struct ocl_targets){ 0 };
}

/* Whether a device is in a list. */
bool ocl_targets_among(cl_device_id device, cl_uint count, const cl_device_id *list);

#endif
