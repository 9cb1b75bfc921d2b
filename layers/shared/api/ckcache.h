/* SPDX-License-Identifier: MIT */
/**
 * @file ckcache.h
 * The kernel cache for programs that want it in their own hands (libckcache):
 * settings at run time; of a program that is to be built, an id and a blob,
 * and the program from the blob; what a library learns of a device; storage of
 * the application's own. C11 and C++17. It follows two proposals of oneDNN,
 * "Persistent Cache in oneDNN" and "Add Persistent Cache API for OpenCL Engine"
 * (rfcs/20210113-persistent-cache, rfcs/20211008-persistent-cache-engine).
 *
 * A program need not link the library: where the OpenCL layer is active,
 * clGetExtensionFunctionAddressForPlatform gives every function here by its
 * name, but for those of Level Zero; and the Level Zero plugin its own by
 * zeDriverGetExtensionFunctionAddress (ckcache_ext.h has their types).
 *
 * **Threads.** Every function may be called from any thread at any time, also
 * with one description in several threads, unless it says otherwise; none may
 * be called from a storage callback. No lock is held while a driver or a
 * callback runs.
 *
 * **Sizes.** Functions that give bytes take `size` and a place for them. With
 * the place NULL, *size becomes the size of what there is; else *size is the
 * room in bytes, and becomes the size of what was written. Where the room is
 * too small nothing is written, *size becomes what is needed, and
 * CKCACHE_ERROR_BUFFER_TOO_SMALL is returned. What is empty has the size 0.
 *
 * **Structures** that the caller fills begin with their own size, so that later
 * versions can add to them. A description is not made of one that is larger
 * than the library knows: CKCACHE_ERROR_INVALID_ARGUMENT. On failure nothing
 * that is returned through pointers is touched, unless it says so.
 */
#ifndef CKCACHE_H
#define CKCACHE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Of this header: with another major version structures and functions may be others. */
#define CKCACHE_VERSION_MAJOR 1
/** With a later minor version there are more. */
#define CKCACHE_VERSION_MINOR 0
/** What ckcache_version() of a library that fits this header gives at least. */
#define CKCACHE_VERSION (CKCACHE_VERSION_MAJOR * 1000 + CKCACHE_VERSION_MINOR)

/** What the library exports. */
#define CKCACHE_EXPORT __attribute__((visibility("default")))

/* The handles of OpenCL (cl.h) and Level Zero (ze_api.h), whose headers are not needed here. */
struct _cl_context;
struct _cl_device_id;
struct _cl_program;
struct _ze_driver_handle_t;
struct _ze_context_handle_t;
struct _ze_device_handle_t;
struct _ze_module_handle_t;

/** What functions return: 0, a positive value where that is no failure, a negative one where it is. */
enum ckcache_status {
	CKCACHE_OK = 0,				/**< done */
	CKCACHE_MISS = 1,			/**< looked for, and not there */
	CKCACHE_ERROR_OUT_OF_MEMORY = -1,	/**< the host's, or the device's */
	CKCACHE_ERROR_INVALID_ARGUMENT = -2,	/**< one makes no sense; nothing was done */
	CKCACHE_ERROR_BUFFER_TOO_SMALL = -3,	/**< see "Sizes" */
	CKCACHE_ERROR_DENIED = -4,		/**< the user's settings, or permissions, forbid it */
	CKCACHE_ERROR_DAMAGED = -5,		/**< a blob: not the bytes that were given out */
	CKCACHE_ERROR_STALE = -6,		/**< a blob: of another device, driver or compiler, a later or earlier one, or of files that are others now */
	CKCACHE_ERROR_FOREIGN = -7,		/**< a blob: of another program, or what another library stored */
	CKCACHE_ERROR_VERSION = -8,		/**< a blob: of another version of this library */
	CKCACHE_ERROR_REFUSED = -9,		/**< the driver refused the binary in a sound blob */
	CKCACHE_ERROR_BUILD = -10,		/**< the driver could not build the program */
	CKCACHE_ERROR_CHANGED = -11,		/**< the environment or the compiler is not what it was when the description was made */
	CKCACHE_ERROR_UNAVAILABLE = -12,	/**< no OpenCL or Level Zero here, or no driver's own handle */
	CKCACHE_ERROR_IO = -13,			/**< the cache's files, or the application's storage */
	CKCACHE_ERROR_DRIVER = -14,		/**< another failure of the driver */
};

/** A short English phrase; never NULL; static storage. */
CKCACHE_EXPORT const char *ckcache_status_string(enum ckcache_status status);
/** CKCACHE_VERSION as the library was built with. */
CKCACHE_EXPORT int ckcache_version(void);

/**
 * @name Settings
 * Of the machine's cache in this process, which the OpenCL layer and the Level
 * Zero layer use where they are loaded, and ckcache_opencl_build() and others
 * without a storage of their own. They hold until the process ends, and go
 * before what the environment and the configuration files say (docs/CONFIG.md),
 * except for the user's word about security: CKCACHE_DISABLE=1,
 * CKCACHE_PERSISTENT=0 and CKCACHE_READ_ONLY=1 stand, and a directory must
 * belong to the user and be closed to others. Then they return
 * CKCACHE_ERROR_DENIED, and all stays as it was.
 * @{
 */
/** Whose programs. */
enum ckcache_api {
	CKCACHE_API_OPENCL = 1,		/**< OpenCL's */
	CKCACHE_API_LEVEL_ZERO = 2,	/**< Level Zero's */
};

/** Switches the level on disk on (1, as at first) or off (0) for programs of one API. */
CKCACHE_EXPORT enum ckcache_status ckcache_set_persistent(enum ckcache_api api, int enable);
/** *ret_enabled: 1 or 0. */
CKCACHE_EXPORT enum ckcache_status ckcache_get_persistent(enum ckcache_api api, int *ret_enabled);
/** How many bytes the cache on disk may grow to; 0: no bound. Once over it, it is made to shrink to half. */
CKCACHE_EXPORT enum ckcache_status ckcache_set_capacity(uint64_t bytes);
/** What ckcache_set_capacity() or the configuration has said. */
CKCACHE_EXPORT enum ckcache_status ckcache_get_capacity(uint64_t *ret_bytes);
/**
 * The cache's root, made with mode 0700 when something is stored. A relative
 * path is taken from the working directory of now; NULL: what the
 * configuration says. The path is copied.
 */
CKCACHE_EXPORT enum ckcache_status ckcache_set_dir(const char *dir);
/** The root with its terminator, which counts in *size; empty where there is no cache on disk. */
CKCACHE_EXPORT enum ckcache_status ckcache_get_dir(size_t *size, char *dir);
/** Waits, within some seconds, until what was to be stored is. Not needed before a process ends. */
CKCACHE_EXPORT enum ckcache_status ckcache_flush(void);
/** @} */

/**
 * A storage of the application's own, in the place of the machine's cache: it
 * alone decides where blobs lie, which ones go and when, and who else sees
 * them. Callbacks run in the thread that calls the library, without locks, and
 * several at a time where several threads do. They return CKCACHE_OK,
 * CKCACHE_MISS, or a failure, which only means that the storage did not help.
 * What load gives is checked in full before it is used.
 */
struct ckcache_storage {
	size_t struct_size;	/**< sizeof(struct ckcache_storage) */
	void *ctx;		/**< handed to each callback */
	/** The blob of that id; as every function that gives bytes (see "Sizes"). CKCACHE_MISS: there is none. */
	enum ckcache_status (*load)(void *ctx, size_t id_size, const uint8_t *id, size_t *size,
				    uint8_t *blob);
	/** Keeps a copy of the blob, in the place of an older one; or does not. NULL: nothing is stored. */
	enum ckcache_status (*store)(void *ctx, size_t id_size, const uint8_t *id, size_t size,
				     const uint8_t *blob);
	/** The blob is of no use: damaged, refused by the driver, or not wanted any more. NULL: it stays. */
	enum ckcache_status (*evict)(void *ctx, size_t id_size, const uint8_t *id);
};

/** Where a program came from. */
enum ckcache_origin {
	CKCACHE_ORIGIN_BUILT = 0,	/**< the driver built it */
	CKCACHE_ORIGIN_MEMORY = 1,	/**< the machine's cache, this process's part in memory */
	CKCACHE_ORIGIN_DISK = 2,	/**< the machine's cache, on disk */
	CKCACHE_ORIGIN_STORAGE = 3,	/**< the application's storage */
};

/** A specialization constant (SPIR-V 2.12). */
struct ckcache_constant {
	uint32_t id;		/**< SpecId */
	uint32_t size;		/**< bytes of the value, 1 to 8 */
	const void *value;	/**< in the host's byte order */
};

/** What a program is written in. */
enum ckcache_language {
	CKCACHE_LANGUAGE_OPENCL_C = 1,	/**< text, as for clCreateProgramWithSource */
	CKCACHE_LANGUAGE_SPIRV = 2,	/**< as for clCreateProgramWithIL and zeModuleCreate */
};

/** What one program is built from. */
struct ckcache_program {
	size_t struct_size;	/**< sizeof(struct ckcache_program) */
	enum ckcache_language language;	/**< of the source */
	const void *source;	/**< text needs no terminator */
	size_t source_size;	/**< bytes */
	const char *options;	/**< build options or flags; NULL: none */
	size_t constant_count;	/**< 0 for text */
	const struct ckcache_constant *constants;	/**< each id once, in any order */
};

/**
 * A description: of one or several programs that belong together and are to be
 * built for a device, or of a library and a device. Everything that it is made
 * from is copied; it holds references to OpenCL's handles, and Level Zero's
 * must outlive it.
 */
struct ckcache_desc;

/** NULL is fine. No thread may be using it. */
CKCACHE_EXPORT void ckcache_desc_free(struct ckcache_desc *desc);

/**
 * The id of what the description describes, different wherever what it is made
 * from differs: device, driver, compiler, source, options, constants, variables
 * of the environment that compilers read. Its bytes mean nothing else, but are
 * the same for every process and user of a machine, and can name a file (88
 * bytes now). It is made from what is there when the description is made.
 *
 * Empty: source and options may ask for more than that: a file (`#include`,
 * `-include`, `asm`), the date, the file's name, debug information. Words are
 * looked for wherever they stand, so that one in a comment counts as well. There
 * is no blob then, and a storage is not asked; the machine's cache keeps such a
 * program with all files that its build was seen to look for. Also empty: the program
 * changed a variable that compilers read after the driver, or this library, was
 * loaded: they read them once.
 *
 * What a driver reads for every program (its settings, a header of its own that it
 * looks for in the working directory) is in no id. ckcache_opencl_build() puts it
 * into the blob, by which the blob is refused once that has changed.
 *
 * Limitation: where a driver does not tell a device's stepping, as OpenCL
 * drivers need not, devices that differ in that alone have one id.
 */
CKCACHE_EXPORT enum ckcache_status ckcache_desc_get_id(const struct ckcache_desc *desc, size_t *size,
						    uint8_t *id);

/**
 * Removes what is stored under the description: from the storage, or for NULL
 * from the machine's cache. CKCACHE_OK also where there was nothing.
 */
CKCACHE_EXPORT enum ckcache_status ckcache_desc_evict(struct ckcache_desc *desc,
						   const struct ckcache_storage *storage);

/**
 * @name OpenCL programs
 * Made before the programs are built, so that a compiler that comes or an environment that changes meanwhile is noticed.
 * @{
 */
/**
 * Describes programs to be built for one device of the context, each by
 * clBuildProgram with this device alone and the options given here. Reads no files.
 * CKCACHE_ERROR_INVALID_ARGUMENT: also a device that is not the context's.
 */
CKCACHE_EXPORT enum ckcache_status ckcache_opencl_desc_new(struct _cl_context *context,
							struct _cl_device_id *device, size_t count,
							const struct ckcache_program *programs,
							struct ckcache_desc **ret_desc);
/**
 * The blob of the programs, which are built as the description says, in its
 * order. Empty: the id is, or the driver has no binary to give. On pocl this
 * takes as long as a build. CKCACHE_ERROR_CHANGED: make a new description
 * and build again.
 *
 * CKCACHE_ERROR_INVALID_ARGUMENT: a program is not built, not by clBuildProgram, or
 * of another source, with other options or constants. The OpenCL layer has seen that; where there is
 * none, the driver is asked for source and options. A program of which it tells no source
 * (from a binary or IL) must be one that was built or loaded by this description.
 *
 * Not in such a blob is what the driver read by itself when the application had it build the
 * programs (see ckcache_desc_get_id()): where users change a driver's settings, build with a storage.
 */
CKCACHE_EXPORT enum ckcache_status ckcache_opencl_get_blob(struct ckcache_desc *desc,
							struct _cl_program *const *programs,
							size_t *size, uint8_t *blob);
/**
 * The described programs from a blob of theirs, built and ready for
 * clCreateKernel, without a compiler; ret_programs has room for as many as the
 * description has, and the caller releases them. They are the driver's own,
 * made by clCreateProgramWithBinary: they have no source and no build log.
 *
 * A blob that is not the description's, or whose build read files that are others now, is never
 * handed to the driver: CKCACHE_ERROR_DAMAGED, _STALE, _FOREIGN, _VERSION; an empty one, or one for an
 * empty id, is CKCACHE_ERROR_INVALID_ARGUMENT. The blob is not changed, and not needed afterwards.
 */
CKCACHE_EXPORT enum ckcache_status ckcache_opencl_create_from_blob(struct ckcache_desc *desc,
								size_t size, const uint8_t *blob,
								struct _cl_program **ret_programs);
/**
 * The described programs from the storage (NULL: the machine's cache), or
 * built by the driver and stored; ret_origin may be NULL. Not stored is a build of which it could not
 * be seen what it read (docs/CONFIG.md, reasons of a bypass). What is stored but
 * damaged, stale or refused is evicted and built anew: only the driver's own
 * failures are returned. CKCACHE_ERROR_BUILD: ret_programs[0] is the program that the driver
 * could not build, to be asked for its log and released; the others are NULL.
 * With the machine's cache, threads and processes that want the same at the same time build it once.
 */
CKCACHE_EXPORT enum ckcache_status ckcache_opencl_build(struct ckcache_desc *desc,
						     const struct ckcache_storage *storage,
						     struct _cl_program **ret_programs,
						     enum ckcache_origin *ret_origin);
/** @} */

/**
 * @name Level Zero modules
 * As for OpenCL programs. The language is SPIR-V alone.
 * @{
 */
/** driver: the context's. A module is made by zeModuleCreate with the options as its build flags. */
CKCACHE_EXPORT enum ckcache_status ckcache_level_zero_desc_new(struct _ze_driver_handle_t *driver,
							    struct _ze_context_handle_t *context,
							    struct _ze_device_handle_t *device,
							    size_t count,
							    const struct ckcache_program *programs,
							    struct ckcache_desc **ret_desc);
/** As ckcache_opencl_get_blob(); what a module was made from cannot be asked for, and is not checked. */
CKCACHE_EXPORT enum ckcache_status ckcache_level_zero_get_blob(struct ckcache_desc *desc,
							    struct _ze_module_handle_t *const *modules,
							    size_t *size, uint8_t *blob);
/** As ckcache_opencl_create_from_blob(). A binary that the driver only compiled again is CKCACHE_ERROR_REFUSED. */
CKCACHE_EXPORT enum ckcache_status
ckcache_level_zero_create_from_blob(struct ckcache_desc *desc, size_t size, const uint8_t *blob,
				    struct _ze_module_handle_t **ret_modules);
/** As ckcache_opencl_build(); of a module that cannot be built nothing is returned. */
CKCACHE_EXPORT enum ckcache_status ckcache_level_zero_build(struct ckcache_desc *desc,
							 const struct ckcache_storage *storage,
							 struct _ze_module_handle_t **ret_modules,
							 enum ckcache_origin *ret_origin);
/** @} */

/**
 * @name What a library learns of a device
 *
 * By compiling a trial kernel, say: stored, and found again until the driver, the compiler, the
 * device or the library is another. Such a description has an id and blobs like a program's, for
 * libraries that give their users both, as oneDNN's engine does.
 * @{
 */
/** Who stores something. */
struct ckcache_library {
	size_t struct_size;	/**< sizeof(struct ckcache_library) */
	const char *name;	/**< not empty */
	const char *version;	/**< NULL: none */
	const void *hash;	/**< of its code (a commit, say); NULL: that of the object that address is in */
	size_t hash_size;	/**< bytes */
	const void *address;	/**< any function or constant of the library, with hash NULL; its build-id is taken */
};

/**
 * The id has the driver's version and libraries, the device's name, the platform's name, the
 * library's name, version and hash. Limitation: see ckcache_desc_get_id().
 */
CKCACHE_EXPORT enum ckcache_status
ckcache_opencl_device_desc_new(struct _cl_device_id *device, const struct ckcache_library *library,
			       struct ckcache_desc **ret_desc);
/** The same for a device of Level Zero. */
CKCACHE_EXPORT enum ckcache_status
ckcache_level_zero_device_desc_new(struct _ze_driver_handle_t *driver,
				   struct _ze_device_handle_t *device,
				   const struct ckcache_library *library,
				   struct ckcache_desc **ret_desc);
/** The data as a blob, which says whose it is and can be checked. */
CKCACHE_EXPORT enum ckcache_status ckcache_device_get_blob(struct ckcache_desc *desc, size_t data_size,
							const void *data, size_t *size,
							uint8_t *blob);
/** The data in a blob; refusals as ckcache_opencl_create_from_blob(). */
CKCACHE_EXPORT enum ckcache_status ckcache_device_get_data(struct ckcache_desc *desc, size_t blob_size,
							const uint8_t *blob, size_t *size,
							void *data);
/** Stores the data, in the storage or for NULL in the machine's cache, in the place of older ones. */
CKCACHE_EXPORT enum ckcache_status ckcache_device_store(struct ckcache_desc *desc,
						     const struct ckcache_storage *storage,
						     size_t size, const void *data);
/** The data stored; CKCACHE_MISS: none, or none that is sound. */
CKCACHE_EXPORT enum ckcache_status ckcache_device_load(struct ckcache_desc *desc,
						    const struct ckcache_storage *storage,
						    size_t *size, void *data);
/** @} */

#ifdef __cplusplus
}
#endif

#endif
