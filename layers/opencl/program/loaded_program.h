/* SPDX-License-Identifier: MIT */
/*
 * loaded_program: what answers for the application's program after a hit. As a
 * rule it is another program of the driver, made from the entry's binaries. Two
 * programs of the application never share one, because they would then share
 * program-scope variables. The application's program and each kernel created
 * from the loaded program keep it alive.
 */
#ifndef OPENCL_PROGRAM_LOADED_PROGRAM_H
#define OPENCL_PROGRAM_LOADED_PROGRAM_H

#include <stdatomic.h>

#include "layers/shared/driver/drivers.h"
#include "layers/opencl/layer.h"
#include "layers/opencl/program/kernel_clone.h"
#include "layers/opencl/program/original.h"

/*
 * Fields of an entry beside CC_TAG_IMAGE. index: the device's place, or a
 * kernel's, or 0. Answers that the loaded program gives correctly are not stored.
 */
enum {
	OCL_TAG_LOG = 2,		/* build log as the driver gave it, with its terminator */
	OCL_TAG_OPTIONS = 3,		/* build options as the driver reports them */
	OCL_TAG_KERNEL_NAME = 4,	/* of the kernel whose answers have the same index */
	OCL_TAG_KERNEL_ATTRIBUTES = 5,
	OCL_TAG_KERNEL_NAMES = 6,	/* CL_PROGRAM_KERNEL_NAMES, since rusticl's order changes with each load */
	/* Of what is not an executable: the driver answers as of a program that was only loaded. */
	OCL_TAG_STATUS = 7,		/* cl_build_status */
	OCL_TAG_BINARY_TYPE = 8,	/* cl_program_binary_type */
	OCL_TAG_NUM_KERNELS = 9,	/* cl_int error, then the value if there is none */
	/* Of a program built for some of its devices: a binary that the driver has for another; index: its place. */
	OCL_TAG_OTHER_IMAGE = 11,
	/* CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE: a u64 for each device. */
	OCL_TAG_KERNEL_MULTIPLE = 12,
	/* CL_PROGRAM_BUILD_STATUS for another of the program's devices (pocl 6: built, too); index: its place. */
	OCL_TAG_OTHER_STATUS = 13,
	OCL_TAG_ERROR = 10,		/* of a failed build: the cl_int that the call returned */
	OCL_TAG_LEFT_IMAGES = 14,	/* of a failed build, which left the driver a binary all the same: nothing */
};

enum ocl_loaded_program_kind {
	OCL_LOADED_EXECUTABLE,	/* built: kernels come from it */
	OCL_LOADED_OBJECT,	/* a compiled object or a library, only loaded: an input of links */
	OCL_LOADED_FAILURE,	/* nothing is loaded: the entry says how the build failed */
};

struct ocl_loaded_program {
	atomic_uint refs;
	enum ocl_loaded_program_kind kind;
	bool own;	/* the handle is the application's program itself, which a link's hit made */
	const struct drv_driver *driver;
	cl_program handle;		/* NULL: a failure */
	struct ocl_kernel_clones clones;
	cl_program stand_in;		/* made of the original for what this cannot answer; guarded by the layer's lock */
	struct cc_entry *entry;		/* what the handle does not answer; with the images where it is an object */
	char *options;			/* of the build, or NULL */
	cl_uint num_devices;		/* that it was built for, of the program's */
	cl_device_id devices[];
};

/* Binaries to make a program of, one for each device. Borrowed. */
struct ocl_load {
	cl_context context;
	enum ocl_loaded_program_kind kind;
	const struct drv_driver *driver;
	cl_uint num_devices;
	const cl_device_id *devices;
	struct cc_entry *entry;	/* its images; NULL: image, of one device */
	struct cmn_view image;
	const char *options;	/* by which an executable is built; may be NULL */
};

/* A program of the driver's. CMN_ERR_DRIVER: it refuses the binaries; CMN_ERR_NOMEM: too little memory. */
CMN_CHECKED enum cmn_status ocl_load(const struct ocl_load *load, cl_program *ret);

/*
 * Loads the program from an entry and, for an executable, builds it. CMN_OK: *ret has one
 * reference. CMN_ERR_DRIVER: the driver refused the binaries. CMN_ERR_NOMEM:
 * it or we ran out of memory.
 */
CMN_CHECKED enum cmn_status ocl_loaded_program_new(const struct ocl_load *load,
						    struct ocl_loaded_program **ret);
/* In a forked child: a thread of the parent may have been loading. */
void ocl_loaded_program_fork_child(void);
struct ocl_loaded_program *ocl_loaded_program_ref(struct ocl_loaded_program *loaded);	/* NULL is fine */
void ocl_loaded_program_unref(struct ocl_loaded_program *loaded);	/* NULL is fine; may call the driver */

/* The program to ask in place of handle: the loaded one, or handle itself where there is none; loaded may be NULL. */
cl_program ocl_loaded_program_target(const struct ocl_loaded_program *loaded, cl_program handle);
/*
 * Of an object: a program that the driver compiled or linked, to be asked in its
 * place; made at the first call. NULL: there is no original, or the driver would
 * not. Borrowed: it lives as long as loaded. Calls the driver.
 */
cl_program ocl_loaded_program_stand_in(struct ocl_loaded_program *loaded,
				  const struct ocl_original *original, cl_context context);
/* Whether kernels come from a program that is not the application's. */
bool ocl_loaded_program_has_kernels(const struct ocl_loaded_program *loaded);
/* The stored names of its kernels, separated by semicolons, and their number; 0: they are not known, or there are none. */
cl_uint ocl_loaded_program_kernel_names(const struct ocl_loaded_program *loaded, struct cmn_view *ret);
/* The place of a device among those it was built for, or num_devices. */
cl_uint ocl_loaded_program_place(const struct ocl_loaded_program *loaded, cl_device_id device);

#endif
