/* SPDX-License-Identifier: MIT */
/*
 * stub_driver: an OpenCL driver for tests that compiles nothing and counts
 * everything. It is loaded through the ICD loader like any other.
 *
 * Its "image" is the build options, a newline, and the source with quoted and
 * angled includes put in place; its "binary" is a version line and the image.
 * A kernel's private memory size is a digest of the image (tests/opencl/digest.h),
 * so that a stale or foreign binary shows in a query.
 *
 * Events (stub_core.h): create-source,
 * create-binary, build-source, build-binary, compile, link, read-binary,
 * free-program, free-source (it was made from one), free-kernel, retain-device, release-device, and with
 * STUB_COUNT_QUERIES query (of a program or its build). Settings:
 *   STUB_DEVICES=n            number of devices, 1 to 8
 *   STUB_DEVICES_WANT=name    there are none without this variable of the environment
 *   STUB_DEVICE_NAME=text     CL_DEVICE_NAME
 *   STUB_DRIVER_VERSION=text  CL_DRIVER_VERSION
 *   STUB_EXTENSIONS=text      CL_DEVICE_EXTENSIONS
 *   STUB_CHANGED=property     that property of the device or platform is another than usual:
 *                             "vendor", "version", … (stub_driver.c)
 *   STUB_OBJECTS_UNBUILT=1    asked for kernels, what is no executable answers as what was never built
 *   STUB_OTHERS_HAVE_BINARY=1  after a build the devices that it is not for have a binary all the same
 *   STUB_OTHERS_FAIL=1        a build leaves devices that it is not for with an error
 *   STUB_PER_DEVICE=1         each device has an image and a log of its own, and refuses another's
 *   STUB_NO_ANSWER=name       a build's "log", "options", "status" or "type" cannot be told for want of memory
 *   STUB_NO_DEVICE_ANSWER=n   asked for that property of a device, it runs out of memory, once
 *   STUB_UNSEEN=1             nobody who watches its calls sees what it reads
 *   STUB_NO_OPTIONS=1         neither images nor logs have the options
 *   STUB_READS_LATE=1         who asks for binaries lets it look for stub_late.h
 *   STUB_CACHED=path          a build from source takes that one if the file is there, and reads no other
 *   STUB_LINK_CACHED=path     a link reads that one
 *   STUB_SAYS=text            a build from source says that on stderr
 *   STUB_LEAVES=path          one leaves a file there
 *   STUB_LATE_LIBRARY=path    a build from source loads it, once
 *   STUB_LATE_LINKER=path     a link does
 *   STUB_LINK_DATE=1          and asks for the date
 *   STUB_FAIL_LOG=text        a build from source fails with that log
 *   STUB_FAIL_ERROR=n         one that fails does so with that error
 *   STUB_LEFT_BINARY=1        one that fails leaves a binary (rusticl 26)
 *   STUB_NO_PLATFORM=1        devices do not say which platform they are of
 *   STUB_PARENT=1             the devices are sub-devices of another one
 *   STUB_PROCESSOR=1          the devices are processors
 *   STUB_ASYNC=1              builds with a callback run in another thread
 *   STUB_DELAY_MS=n           length of a build from source
 *   STUB_REFUSE_BINARY=1      create-with-binary fails
 *   STUB_REFUSE_BINARY=memory  the same for want of memory
 *   STUB_REFUSE_BINARY_BUILD=1  a program from a binary does not build
 *   STUB_BINARY_WANTS_OPTIONS=1  nor does it with other options than it was built with
 *   STUB_NO_BINARY=1          every program's binary is empty
 *   STUB_WHOLE_CONTEXT=devices  what is loaded for some devices answers for all of the context's (NVIDIA)
 *   STUB_WHOLE_CONTEXT=places the same for its binaries and their sizes alone
 *   STUB_NO_BINARY=error      its size is told, and asking for it is an error
 *   STUB_NO_MEMORY=n          the first n builds of a process run out of memory
 *   STUB_LINK_NO_MEMORY=n     and the first n links
 *   STUB_LOADS_BUILT=1        programs that are created from binaries are built
 *   STUB_REBUILD=1            programs that have kernels may be built again
 *   STUB_CRASH=1              a build from source ends the process by SIGABRT
 *   STUB_CRASH=-option        one with that option does
 *   STUB_MEMORY=50            a build from source maps that part of the memory, in percent, or aborts
 *   STUB_GATE=path            a build from source opens this FIFO and reads it to its end
 *   STUB_LINK_GATE=path       a link does, before it reads its inputs
 *   STUB_LOAD_GATE=path       a program's creation from a binary does
 *   STUB_SUPERSEDED=callback  a build with a callback is done at once, and called back for
 *                             in another thread after the program's next build
 *   STUB_SUPERSEDED=binary    the same, but called back for at once, and the binaries that
 *                             are asked for in the callback are given after the next build,
 *                             or after a second where that does not come
 *   STUB_STATUS_ONLY=error    create-with-binary: status good, error -42
 *   STUB_STATUS_ONLY=status   create-with-binary: error CL_SUCCESS, status bad
 *   STUB_REFUSE_LOADED_LINK=1  a link of a program from a binary is refused (rusticl 26)
 *   STUB_REFUSE_RELEASE=1     one of a program that has three references is refused, once
 *   STUB_REFUSE_EXECUTABLES=1  a link of what was built, not compiled
 *   STUB_STRICT_OBJECTS=1     what is no executable has no kernel by any name (pocl)
 *   STUB_LOSE_ANSWERS=1       kernels of a program from a binary have neither attributes nor a
 *                             preferred multiple (pocl 7.1)
 *   STUB_SETENV=NAME=VALUE    what a build from source does meanwhile, as any thread might
 *   STUB_LINK_SETENV=NAME=VALUE  the same of a link
 *   STUB_LOADED_BACKWARDS=1   a program from a binary has its kernels in the other order
 *   STUB_EACH_DEVICES_KERNELS=1  a program from binaries counts the kernels of each of its devices,
 *                             and creating them all ends the process (NEO with two devices)
 *   STUB_NAMES_ABORT=1        asking for the names of kernels ends the process (NVIDIA)
 *   STUB_NO_NAMES=1           asking a program without kernels for their names does not
 *   STUB_LOADS_ABORT=1        two threads that load binaries at a time end the process (pocl)
 * A source with #pragma stub_hang never gets done. One with #error fails to build (after #ifdef FAIL with -DFAIL), and a link of anything with the word "unresolved". Each successful build from source
 * leaves a warning in its log; one from a binary has neither log nor options.
 */
#ifndef TESTS_OPENCL_STUB_DRIVER_H
#define TESTS_OPENCL_STUB_DRIVER_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_icd.h>

#include "tests/support/stub_core.h"

#define STUB_MAX_DEVICES 8
#define STUB_MAX_CONSTANTS 8
#define STUB_BINARY_MAGIC "stub binary 1\n"

/* Word 0 of every handle is the dispatch table: the ICD contract. */
struct _cl_platform_id {
	const cl_icd_dispatch *dispatch;
};

struct _cl_device_id {
	const cl_icd_dispatch *dispatch;
	unsigned int index;
};

struct _cl_context {
	const cl_icd_dispatch *dispatch;
	atomic_uint references;
	cl_uint device_count;
	cl_device_id devices[STUB_MAX_DEVICES];
};

struct _cl_command_queue {
	const cl_icd_dispatch *dispatch;
	atomic_uint references;
	cl_context context;
	cl_device_id device;
};

/*
 * What a program is on one device; all text is owned.
 * Guarded by stub_program_lock where builds and questions meet.
 */
struct stub_build {
	atomic_int status;		/* cl_build_status */
	cl_program_binary_type type;
	char *options;
	char *log;
	char *image;
};

struct _cl_program {
	const cl_icd_dispatch *dispatch;
	atomic_uint references;		/* the application's and the kernels' */
	atomic_uint kernels;
	cl_context context;
	char *source;			/* NULL: from binaries, or linked */
	char *il;			/* a text for what it was made of; then source has its constants too */
	char *constants[STUB_MAX_CONSTANTS];	/* a line for each, by its id in the order of the first calls */
	bool loaded;			/* from binaries */
	cl_uint device_count;
	cl_device_id devices[STUB_MAX_DEVICES];
	struct stub_build builds[STUB_MAX_DEVICES];
	bool tells_loaded_only;	/* CL_PROGRAM_DEVICES has those with a binary, whatever places there are */
	unsigned int builds_done;	/* guarded by stub_wait's lock */
	bool callback_waits;		/* likewise */
};

struct _cl_kernel {
	const cl_icd_dispatch *dispatch;
	atomic_uint references;
	cl_program program;
	char *name;
	cl_uint arguments;
	cl_ulong digest;
};

extern const cl_icd_dispatch stub_dispatch;
extern struct _cl_platform_id stub_platform;

/* The usual answer to a clGet…Info query. */
cl_int stub_answer(const void *value, size_t value_size, size_t size, void *ret, size_t *ret_size);
cl_int stub_answer_text(const char *text, size_t size, void *ret, size_t *ret_size);

/* Waits at the gate that the setting names, if it is set; one that is not there is open. */
void stub_wait_gate(const char *setting);
/* STUB_SUPERSEDED: whether it is set; a build is done; calls end in a thread when it is time; before binaries are given. */
bool stub_wait_is_set(void);
void stub_wait_note_build(cl_program program);
void stub_wait_start(cl_program program, void (*end)(void *data), void *data);
void stub_wait_read(cl_program program);

/*
 * Options and source to an image. NULL: failed; *ret_log (malloc'd) says why,
 * or carries a warning.
 */
char *stub_compile(const char *source, const char *options, char **ret_log);

/* Headers that the application gives for the builds of this thread from now on; 0: none. Borrowed. */
void stub_compile_headers(unsigned int count, const char *const *names, const cl_program *programs);

/* The i-th kernel of an image: its name into name, its argument count; false: no more. */
bool stub_image_kernel(const char *image, unsigned int i, char *name, size_t size,
		       cl_uint *ret_arguments);
/* The build of a program that is done, or NULL; the first built device's if device is NULL. */
struct stub_build *stub_program_build(cl_program program, cl_device_id device);
/* While a program is asked about or changed: an application may do both at once. */
void stub_program_lock(void);
void stub_program_unlock(void);

/* Entry points by object; the table is in stub_driver.c. */
#define STUB_ENTRY_POINT(name) extern __typeof__(name) stub_##name
STUB_ENTRY_POINT(clCreateProgramWithSource);
STUB_ENTRY_POINT(clCreateProgramWithBinary);
/* Any bytes will do. What it makes of them tells them, and their constants, apart. */
STUB_ENTRY_POINT(clCreateProgramWithIL);
STUB_ENTRY_POINT(clSetProgramSpecializationConstant);
STUB_ENTRY_POINT(clRetainProgram);
STUB_ENTRY_POINT(clReleaseProgram);
STUB_ENTRY_POINT(clBuildProgram);
STUB_ENTRY_POINT(clCompileProgram);
STUB_ENTRY_POINT(clLinkProgram);
STUB_ENTRY_POINT(clGetProgramInfo);
STUB_ENTRY_POINT(clGetProgramBuildInfo);
STUB_ENTRY_POINT(clCreateKernel);
STUB_ENTRY_POINT(clCreateKernelsInProgram);
STUB_ENTRY_POINT(clCloneKernel);
STUB_ENTRY_POINT(clRetainKernel);
STUB_ENTRY_POINT(clReleaseKernel);
STUB_ENTRY_POINT(clSetKernelArg);
STUB_ENTRY_POINT(clGetKernelInfo);
STUB_ENTRY_POINT(clGetKernelArgInfo);
STUB_ENTRY_POINT(clGetKernelWorkGroupInfo);

#endif
