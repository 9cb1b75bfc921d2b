/* SPDX-License-Identifier: MIT */
/* loaded_program: a program from an entry's binaries, or what stands for one. */
#include "layers/opencl/program/loaded_program.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/disk/node_dir.h"
#include "cachecore/disk/root.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/mutex.h"
#include "layers/opencl/program/image_place.h"
#include "layers/opencl/program/objects.h"

static bool is_memory_error(cl_int error)
{
	return error == CL_OUT_OF_HOST_MEMORY || error == CL_OUT_OF_RESOURCES;
}

/* clCreateProgramWithBinary, believing the driver only if error and every status agree. */
static cl_int create(const struct ocl_load *load, bool stays, cl_program *ret)
{
	cl_uint count = load->num_devices;
	const unsigned char **images = calloc(count + 1, sizeof(*images) + sizeof(size_t) +
					      sizeof(unsigned char *) + sizeof(cl_int));
	unsigned char **copies;
	cl_int error, *statuses;
	size_t *lens;

	if (!images)
		return CL_OUT_OF_HOST_MEMORY;
	lens = (size_t *)(images + count);
	copies = (unsigned char **)(lens + count);
	statuses = (cl_int *)(copies + count);
	for (cl_uint i = 0; i < count; i++) {
		struct cmn_view image = load->image;

		error = CL_INVALID_BINARY;
		if (load->entry && !cc_entry_find(load->entry, CC_TAG_IMAGE, i, &image))
			goto out;
		if (!image.len)
			goto out;
		if (load->driver->private_directory)
			image = ocl_image_place(load->driver, stays, image, &copies[i]);
		images[i] = image.data;
		lens[i] = image.len;
	}
	error = CL_SUCCESS;
	*ret = OCL_NEXT.clCreateProgramWithBinary(load->context, count, load->devices, lens, images, statuses,
						  &error);
	for (cl_uint i = 0; i < count && error == CL_SUCCESS; i++)
		error = statuses[i];
	if (!*ret && error == CL_SUCCESS)
		error = CL_INVALID_BINARY;
out:
	for (cl_uint i = 0; i < count; i++)
		free(copies[i]);
	free(images);
	return error;
}

/*
 * One load at a time, of drivers that do not stand two. Nothing else is locked
 * with it, and the driver calls nobody back from here.
 */
static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;

void ocl_loaded_program_fork_child(void)
{
	/* Who held it is not here, and this is the only thread. */
	(void)pthread_mutex_init(&load_lock, NULL);	/* a default mutex does not fail */
}

/* Another process that loads takes milliseconds; this one can do without. */
#define UNPACK_NS UINT64_C(10000000)

/* Keeps other processes from unpacking where this one does. -1: it cannot. */
static int lock_unpacking(void)
{
	static atomic_bool waited;	/* in vain: the one that has it may be stopped */
	int dir_fd = cc_node_dir_open_mine(), fd = -1;

	if (dir_fd < 0)
		return -1;
	if (cmn_file_open_healed(dir_fd, "unpack.lock", &fd) == CMN_OK &&
	    cmn_file_lock(fd, atomic_load(&waited) ? 0 : cmn_clock_deadline(UNPACK_NS)) != CMN_OK) {
		atomic_store(&waited, true);
		(void)close(fd);	/* nothing was written through it */
		fd = -1;
	}
	(void)close(dir_fd);	/* a directory: nothing to be lost */
	return fd;
}

/* Whether building would add nothing: the driver has done it, and the entry answers for the options. */
static bool is_built(const struct ocl_load *load, cl_program program)
{
	bool built = load->driver->loads_built && load->entry;
	struct cmn_view options;
	cl_build_status status;

	for (cl_uint i = 0; built && i < load->num_devices; i++)
		built = cc_entry_find(load->entry, OCL_TAG_OPTIONS, i, &options) &&
			OCL_NEXT.clGetProgramBuildInfo(program, load->devices[i], CL_PROGRAM_BUILD_STATUS,
						       sizeof(status), &status, NULL) == CL_SUCCESS &&
			status == CL_BUILD_SUCCESS;
	return built;
}

enum cmn_status ocl_load(const struct ocl_load *load, cl_program *ret)
{
	bool stays = load->driver->private_directory && ocl_image_place_stays(load->driver);
	int unpacking = -1;
	bool alone = load->driver->loads_race;
	cl_program program = NULL;
	cl_int error;

	if (alone)
		cmn_mutex_lock(&load_lock);
	if (stays && load->driver->unpacking_races) {
		unpacking = lock_unpacking();
		stays = unpacking >= 0;
	}
	error = create(load, stays, &program);
	if (error == CL_SUCCESS && load->kind == OCL_LOADED_EXECUTABLE && !is_built(load, program))
		error = OCL_NEXT.clBuildProgram(program, load->num_devices, load->devices, load->options,
						NULL, NULL);
	if (unpacking >= 0)
		cc_root_unlock(unpacking);
	if (alone)
		cmn_mutex_unlock(&load_lock);
	if (error == CL_SUCCESS) {
		*ret = program;
		return CMN_OK;
	}
	if (program)
		(void)OCL_NEXT.clReleaseProgram(program);	/* nobody to tell */
	return is_memory_error(error) ? CMN_ERR_NOMEM : CMN_ERR_DRIVER;
}

enum cmn_status ocl_loaded_program_new(const struct ocl_load *load, struct ocl_loaded_program **ret)
{
	cl_uint count = load->num_devices;
	struct ocl_loaded_program *loaded;
	enum cmn_status status = CMN_OK;

	loaded = calloc(1, sizeof(*loaded) + count * sizeof(load->devices[0]));
	if (!loaded)
		return CMN_ERR_NOMEM;
	atomic_init(&loaded->refs, 1);
	loaded->kind = load->kind;
	loaded->entry = cc_entry_ref(load->entry);
	loaded->num_devices = count;
	loaded->driver = load->driver;
	for (cl_uint i = 0; i < count; i++)
		loaded->devices[i] = load->devices[i];
	if (load->options) {
		loaded->options = strdup(load->options);
		if (!loaded->options)
			status = CMN_ERR_NOMEM;
	}
	if (status == CMN_OK && loaded->kind != OCL_LOADED_FAILURE)
		status = ocl_load(load, &loaded->handle);
	if (status != CMN_OK) {
		ocl_loaded_program_unref(loaded);
		return status;
	}
	if (loaded->kind == OCL_LOADED_EXECUTABLE) {
		loaded->entry = cc_entry_without_images(load->entry);
		cc_entry_unref(load->entry);
	}
	*ret = loaded;
	return CMN_OK;
}

struct ocl_loaded_program *ocl_loaded_program_ref(struct ocl_loaded_program *loaded)
{
	if (loaded)
		atomic_fetch_add_explicit(&loaded->refs, 1, memory_order_relaxed);
	return loaded;
}

void ocl_loaded_program_unref(struct ocl_loaded_program *loaded)
{
	if (!loaded ||
	    atomic_fetch_sub_explicit(&loaded->refs, 1, memory_order_acq_rel) != 1)
		return;
	ocl_kernel_clones_release(&loaded->clones);
	if (loaded->stand_in)
		(void)OCL_NEXT.clReleaseProgram(loaded->stand_in);	/* nobody to tell */
	if (loaded->handle && !loaded->own)
		(void)OCL_NEXT.clReleaseProgram(loaded->handle);	/* nobody to tell */
	cc_entry_unref(loaded->entry);
	free(loaded->options);
	free(loaded);
}

cl_program ocl_loaded_program_stand_in(struct ocl_loaded_program *loaded,
				  const struct ocl_original *original, cl_context context)
{
	cl_program stand_in, made;

	ocl_objects_lock();
	stand_in = loaded->stand_in;
	ocl_objects_unlock();
	if (stand_in)
		return stand_in;
	made = ocl_original_make(original, context);
	ocl_objects_lock();
	stand_in = loaded->stand_in;
	if (!stand_in)
		stand_in = loaded->stand_in = made;
	ocl_objects_unlock();
	if (made && made != stand_in)
		(void)OCL_NEXT.clReleaseProgram(made);	/* another thread was faster */
	return stand_in;
}

cl_program ocl_loaded_program_target(const struct ocl_loaded_program *loaded, cl_program handle)
{
	return loaded && loaded->handle ? loaded->handle : handle;
}

bool ocl_loaded_program_has_kernels(const struct ocl_loaded_program *loaded)
{
	return loaded && loaded->kind == OCL_LOADED_EXECUTABLE && !loaded->own;
}

cl_uint ocl_loaded_program_place(const struct ocl_loaded_program *loaded, cl_device_id device)
{
	cl_uint i = 0;

	while (i < loaded->num_devices && loaded->devices[i] != device)
		i++;
	return i;
}

cl_uint ocl_loaded_program_kernel_names(const struct ocl_loaded_program *loaded, struct cmn_view *ret)
{
	const char *names;
	cl_uint count = 1;

	if (!cc_entry_find(loaded->entry, OCL_TAG_KERNEL_NAMES, 0, ret))
		return 0;
	names = ret->data;
	/* A driver may have left it without its end (pocl's, where there are none). */
	if (!ret->len || !names[0] || names[ret->len - 1])
		return 0;
	for (size_t i = 0; i < ret->len; i++)
		count += names[i] == ';';
	return count;
}
