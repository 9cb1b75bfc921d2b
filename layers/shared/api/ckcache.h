/* SPDX-License-Identifier: MIT */
/**
 * @file ckcache.h
 * The kernel cache for programs that call it directly (libckcache): settings at
 * run time; ids and blobs of programs, and programs from blobs; data that a
 * library learns about a device; a storage of the application's own. C11 and
 * C++17. It follows two proposals of oneDNN, "Persistent Cache in oneDNN" and
 * "Add Persistent Cache API for OpenCL Engine"
 * (rfcs/20210113-persistent-cache, rfcs/20211008-persistent-cache-engine).
 *
 * A program need not link the library. If the OpenCL layer is active,
 * clGetExtensionFunctionAddressForPlatform finds every function of this header
 * by its name, except those for Level Zero; the Level Zero plugin offers these
 * by zeDriverGetExtensionFunctionAddress (ckcache_ext.h has the types).
 *
 * **Threads.** Unless a function says otherwise, any thread may call it at any
 * time, and several threads may use one description. No function may be called
 * from a storage callback. No lock is held while a driver or a callback runs.
 *
 * **Sizes.** Functions that return bytes take `size` and a buffer. If the buffer
 * is NULL, *size becomes the size of the bytes. Otherwise *size is the size of
 * the buffer, and becomes the number of bytes written. If the buffer is too
 * small, nothing is written, *size becomes the size that is needed, and the
 * function returns CKCACHE_ERROR_BUFFER_TOO_SMALL. Something empty has the size 0.
 *
 * **Structures** that the caller fills begin with their own size, so that later
 * versions can add members. If a structure is larger than the library knows, no
 * description is made of it: CKCACHE_ERROR_INVALID_ARGUMENT. On failure, nothing
 * is written through output pointers unless the function says so.
 */
#ifndef CKCACHE_H
#define CKCACHE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Of this header. A new major version may change structures and functions. */
#define CKCACHE_VERSION_MAJOR 1
/** A new minor version may add some. */
#define CKCACHE_VERSION_MINOR 1
/** ckcache_version() of a library that fits this header is at least this. */
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

/** What functions return: 0 for success, a positive value for another expected outcome, a negative one for a failure. */
enum ckcache_status {
	CKCACHE_OK = 0,				/**< success */
	CKCACHE_MISS = 1,			/**< not found */
	CKCACHE_ERROR_OUT_OF_MEMORY = -1,	/**< out of the host's or the device's memory */
	CKCACHE_ERROR_INVALID_ARGUMENT = -2,	/**< an argument is invalid; nothing was done */
	CKCACHE_ERROR_BUFFER_TOO_SMALL = -3,	/**< see "Sizes" */
	CKCACHE_ERROR_DENIED = -4,		/**< the user's settings or permissions forbid it */
	CKCACHE_ERROR_DAMAGED = -5,		/**< a blob: its bytes have changed */
	CKCACHE_ERROR_STALE = -6,		/**< a blob: of another device, driver or compiler (also of another version), or files that its build read have changed */
	CKCACHE_ERROR_FOREIGN = -7,		/**< a blob: of another program or another library */
	CKCACHE_ERROR_VERSION = -8,		/**< a blob: of another version of this library */
	CKCACHE_ERROR_REFUSED = -9,		/**< the driver refused the binary in a sound blob */
	CKCACHE_ERROR_BUILD = -10,		/**< the driver could not build the program */
	CKCACHE_ERROR_CHANGED = -11,		/**< the environment or the compiler has changed since the description was made */
	CKCACHE_ERROR_UNAVAILABLE = -12,	/**< no OpenCL or Level Zero here, or not a driver's own handle */
	CKCACHE_ERROR_IO = -13,			/**< the cache's files or the application's storage failed */
	CKCACHE_ERROR_DRIVER = -14,		/**< another failure of the driver */
};

/** A short English phrase; never NULL; static storage. */
CKCACHE_EXPORT const char *ckcache_status_string(enum ckcache_status status);
/** CKCACHE_VERSION of the library. */
CKCACHE_EXPORT int ckcache_version(void);

/**
 * @name Settings
 * Settings of the machine's cache in this process. The OpenCL layer and the
 * Level Zero layer use this cache if they are loaded, and so do
 * ckcache_opencl_build() and similar functions without a storage. A setting
 * lasts until the process ends. It overrides the environment and the
 * configuration files (docs/CONFIG.md), except where security is concerned:
 * CKCACHE_DISABLE=1, CKCACHE_PERSISTENT=0 and CKCACHE_READ_ONLY=1 cannot be
 * overridden, and a directory must belong to the user and be closed to others.
 * Otherwise the functions return CKCACHE_ERROR_DENIED and change nothing.
 * @{
 */
/** Whose programs. */
enum ckcache_api {
	CKCACHE_API_OPENCL = 1,		/**< OpenCL's */
	CKCACHE_API_LEVEL_ZERO = 2,	/**< Level Zero's */
};

/** Switches the level on disk on (1, the default) or off (0) for programs of one API. */
CKCACHE_EXPORT enum ckcache_status ckcache_set_persistent(enum ckcache_api api, int enable);
/** *ret_enabled: 1 or 0. */
CKCACHE_EXPORT enum ckcache_status ckcache_get_persistent(enum ckcache_api api, int *ret_enabled);
/** How many bytes the cache on disk may take; 0: no bound. When it is exceeded, the cache evicts down to half. */
CKCACHE_EXPORT enum ckcache_status ckcache_set_capacity(uint64_t bytes);
/** The value from ckcache_set_capacity() or from the configuration. */
CKCACHE_EXPORT enum ckcache_status ckcache_get_capacity(uint64_t *ret_bytes);
/**
 * Sets the cache's root, which is created with mode 0700 when something is
 * stored. A relative path starts at the current working directory; NULL: the
 * root from the configuration. The path is copied.
 */
CKCACHE_EXPORT enum ckcache_status ckcache_set_dir(const char *dir);
/** The root with its terminator, which counts in *size; empty if there is no cache on disk. */
CKCACHE_EXPORT enum ckcache_status ckcache_get_dir(size_t *size, char *dir);
/** Does nothing: what is stored is on disk when the call that built it returns. */
CKCACHE_EXPORT enum ckcache_status ckcache_flush(void);
/** @} */

/** What a blob has. Later versions may have others, which this one does not use. */
enum ckcache_kind {
	CKCACHE_KIND_PROGRAMS = 1,	/**< the binaries of programs or modules */
	CKCACHE_KIND_DEVICE = 2,	/**< what a library learned about a device */
};

/**
 * What kind of blob that is, after all its bytes were checked; it may be one that this header does not
 * have. CKCACHE_ERROR_DAMAGED; CKCACHE_ERROR_VERSION. Needs no description and no cache. Since 1.1.
 */
CKCACHE_EXPORT enum ckcache_status ckcache_blob_get_kind(size_t size, const uint8_t *blob,
						      enum ckcache_kind *ret_kind);

/** What happened between the library and a storage. */
enum ckcache_event {
	CKCACHE_EVENT_HIT = 1,		/**< a blob came from the storage and was sound */
	CKCACHE_EVENT_MISS = 2,		/**< it had none, or could not give it */
	CKCACHE_EVENT_UNUSABLE = 3,	/**< what it gave was damaged, stale, or refused by the driver */
	CKCACHE_EVENT_BUILT = 4,	/**< the driver built instead, successfully or not */
	CKCACHE_EVENT_STORED = 5,	/**< it took a blob */
	CKCACHE_EVENT_NOT_STORED = 6,	/**< it did not take it */
	CKCACHE_EVENT_EVICTED = 7,	/**< it was asked to remove a blob */
};

/** One event, valid during the call. Later versions can add members at the end. */
struct ckcache_trace {
	size_t struct_size;		/**< bytes that are there */
	enum ckcache_event event;	/**< what happened */
	enum ckcache_status status;	/**< what the callback, the check or the build returned */
	size_t id_size;			/**< bytes */
	const uint8_t *id;		/**< the description's */
	size_t size;			/**< of the blob in bytes; 0: there is none */
	uint64_t ns;			/**< how long it took, in nanoseconds; 0: not measured, or loaded in a batch */
};

/** Hands over the i-th blob of a batch, from inside ckcache_storage.load_batch; the bytes are copied. */
typedef void ckcache_give_fn(void *batch, size_t i, size_t size, const uint8_t *blob);

/**
 * A storage of the application's own, instead of the machine's cache: the
 * application decides where blobs are, which ones to remove and when, and who
 * else can read them. Callbacks run in the thread that calls the library,
 * without locks; if several threads call, several callbacks run at a time. They
 * return CKCACHE_OK, CKCACHE_MISS or a failure; a failure only means that the
 * storage did not help. The library checks all of what load returns before
 * using it.
 */
struct ckcache_storage {
	size_t struct_size;	/**< sizeof(struct ckcache_storage); that of 1.0, up to evict, is fine too */
	void *ctx;		/**< passed to each callback */
	/** Returns the blob for that id, like every function that returns bytes (see "Sizes"). CKCACHE_MISS: there is none. */
	enum ckcache_status (*load)(void *ctx, size_t id_size, const uint8_t *id, size_t *size,
				    uint8_t *blob);
	/** Stores a copy of the blob, replacing an older one; need not store it. NULL: nothing is stored. */
	enum ckcache_status (*store)(void *ctx, size_t id_size, const uint8_t *id, size_t size,
				     const uint8_t *blob);
	/** The blob is useless: damaged, refused by the driver, or no longer wanted. NULL: it stays. */
	enum ckcache_status (*evict)(void *ctx, size_t id_size, const uint8_t *id);
	/**
	 * Several blobs at once, for ckcache_desc_load_batch(): ids has count ids of id_size bytes, one
	 * after the other. Calls give(batch, i, size, blob) for each blob that there is, in any order,
	 * in this thread, before it returns. What it returns only says whether to believe that the
	 * others are not there (CKCACHE_OK). NULL: load is called for each. Since 1.1.
	 */
	enum ckcache_status (*load_batch)(void *ctx, size_t count, size_t id_size, const uint8_t *ids,
					  ckcache_give_fn *give, void *batch);
	/** Told of everything that happens with this storage, in the thread where it happens. NULL: nothing is told. Since 1.1. */
	void (*trace)(void *ctx, const struct ckcache_trace *trace);
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
 * A description of one or several programs that belong together and will be
 * built for a device, or of a library and a device. It copies everything that
 * it is made from. It has references to OpenCL's handles; Level Zero's handles
 * must outlive it.
 */
struct ckcache_desc;

/** NULL is fine. No thread may be using it. */
CKCACHE_EXPORT void ckcache_desc_free(struct ckcache_desc *desc);

/**
 * The id of a description. Ids differ if any of these differ: device, driver,
 * compiler, source, options, constants, environment variables that compilers
 * read. Apart from that the bytes have no meaning; they are the same for every
 * process and user of a machine, and can name a file (88 bytes now). The id is
 * made when the description is made.
 *
 * The id is empty if source or options may ask for more: a file (`#include`,
 * `-include`, `asm`), the date, the file's name, debug information. Such words
 * count wherever they are, also in a comment. Then there is no blob, and a
 * storage is not used; the machine's cache stores the result, with all files
 * that its build looked for. The id is also empty if the program has changed a
 * variable that compilers read since the driver, or this library, was loaded,
 * because compilers read variables only once.
 *
 * An id does not cover files that a driver reads for every program (its settings,
 * a header of its own that it looks for in the working directory).
 * ckcache_opencl_build() records them in the blob; if one of them changes, the
 * blob is refused.
 *
 * Limitation: a driver need not report a device's stepping (OpenCL). If it does
 * not, devices that differ only in their stepping have the same id.
 */
CKCACHE_EXPORT enum ckcache_status ckcache_desc_get_id(const struct ckcache_desc *desc, size_t *size,
						    uint8_t *id);

/**
 * Removes everything stored for the description, from the storage or (NULL) from
 * the machine's cache. CKCACHE_OK also if there was nothing.
 */
CKCACHE_EXPORT enum ckcache_status ckcache_desc_evict(struct ckcache_desc *desc,
						   const struct ckcache_storage *storage);

/**
 * Asks the storage once for the blobs of several descriptions, of programs or of devices: the next
 * build or load of each, with the same storage (load and ctx), uses what came, and does not ask again.
 * A description without an id is left out. CKCACHE_OK also if nothing was there. Since 1.1.
 */
CKCACHE_EXPORT enum ckcache_status ckcache_desc_load_batch(const struct ckcache_storage *storage,
							size_t count,
							struct ckcache_desc *const *descs);

/**
 * @name OpenCL programs
 * Make the description before you build the programs, so that ckcache notices if a compiler is
 * loaded or the environment changes in between.
 * @{
 */
/**
 * Describes programs to build for one device of the context, each by
 * clBuildProgram with only this device and the given options. Reads no files.
 * CKCACHE_ERROR_INVALID_ARGUMENT: also if the device is not in the context.
 */
CKCACHE_EXPORT enum ckcache_status ckcache_opencl_desc_new(struct _cl_context *context,
							struct _cl_device_id *device, size_t count,
							const struct ckcache_program *programs,
							struct ckcache_desc **ret_desc);
/**
 * The blob of programs that the application has built as the description says,
 * in the same order. It is empty if the id is empty or the driver gives no
 * binary. On pocl this takes as long as a build. CKCACHE_ERROR_CHANGED: make a
 * new description and build again.
 *
 * CKCACHE_ERROR_INVALID_ARGUMENT: a program is not built, not built by
 * clBuildProgram, or has another source, other options or constants. The OpenCL
 * layer knows this; without it, the driver is asked for source and options. A
 * program whose source the driver does not tell (from a binary or IL) must have
 * been built or loaded by this description.
 *
 * Such a blob does not record what the driver read by itself when the application
 * built the programs (see ckcache_desc_get_id()). If users change a driver's
 * settings, build with a storage instead.
 */
CKCACHE_EXPORT enum ckcache_status ckcache_opencl_get_blob(struct ckcache_desc *desc,
							struct _cl_program *const *programs,
							size_t *size, uint8_t *blob);
/**
 * Makes the described programs from their blob, built and ready for
 * clCreateKernel, without a compiler. ret_programs has room for all programs of
 * the description; the caller releases them. They are made by
 * clCreateProgramWithBinary, so they have no source and no build log.
 *
 * A blob that does not belong to the description, or whose build read files that
 * have changed, never reaches the driver: CKCACHE_ERROR_DAMAGED, _STALE, _FOREIGN,
 * _VERSION. An empty blob, or a blob for an empty id, is
 * CKCACHE_ERROR_INVALID_ARGUMENT. The blob is not changed, and not needed afterwards.
 */
CKCACHE_EXPORT enum ckcache_status ckcache_opencl_create_from_blob(struct ckcache_desc *desc,
								size_t size, const uint8_t *blob,
								struct _cl_program **ret_programs);
/**
 * Gets the described programs from the storage (NULL: the machine's cache), or
 * lets the driver build them and stores them; ret_origin may be NULL. A build
 * whose files could not be observed is not stored (docs/CONFIG.md, reasons of a
 * bypass). Something stored that is damaged, stale or refused is evicted and
 * built again, so only the driver's own failures are returned.
 * CKCACHE_ERROR_BUILD: ret_programs[0] is the program that the driver could not
 * build; the caller may ask for its log, and releases it. The others are NULL.
 * With the machine's cache, threads and processes that want the same programs at
 * the same time build them once.
 */
CKCACHE_EXPORT enum ckcache_status ckcache_opencl_build(struct ckcache_desc *desc,
						     const struct ckcache_storage *storage,
						     struct _cl_program **ret_programs,
						     enum ckcache_origin *ret_origin);
/** @} */

/**
 * @name Level Zero modules
 * As for OpenCL programs. The only language is SPIR-V.
 * @{
 */
/** driver: the context's driver. zeModuleCreate makes each module, with the options as its build flags. */
CKCACHE_EXPORT enum ckcache_status ckcache_level_zero_desc_new(struct _ze_driver_handle_t *driver,
							    struct _ze_context_handle_t *context,
							    struct _ze_device_handle_t *device,
							    size_t count,
							    const struct ckcache_program *programs,
							    struct ckcache_desc **ret_desc);
/** As ckcache_opencl_get_blob(). Nobody can ask what a module was made from, so that is not checked. */
CKCACHE_EXPORT enum ckcache_status ckcache_level_zero_get_blob(struct ckcache_desc *desc,
							    struct _ze_module_handle_t *const *modules,
							    size_t *size, uint8_t *blob);
/** As ckcache_opencl_create_from_blob(). CKCACHE_ERROR_REFUSED also if the driver would compile the binary again. */
CKCACHE_EXPORT enum ckcache_status
ckcache_level_zero_create_from_blob(struct ckcache_desc *desc, size_t size, const uint8_t *blob,
				    struct _ze_module_handle_t **ret_modules);
/** As ckcache_opencl_build(); if a module cannot be built, nothing is returned. */
CKCACHE_EXPORT enum ckcache_status ckcache_level_zero_build(struct ckcache_desc *desc,
							 const struct ckcache_storage *storage,
							 struct _ze_module_handle_t **ret_modules,
							 enum ckcache_origin *ret_origin);
/** @} */

/**
 * @name What a library learns about a device
 *
 * For instance by compiling a trial kernel. The data is stored, and found again until the driver,
 * the compiler, the device or the library changes. Such a description has an id and blobs like a
 * program's, for libraries that offer both to their users, as oneDNN's engine does.
 * @{
 */
/** The library that stores something. */
struct ckcache_library {
	size_t struct_size;	/**< sizeof(struct ckcache_library) */
	const char *name;	/**< not empty */
	const char *version;	/**< NULL: none */
	const void *hash;	/**< of its code (a commit, for instance); NULL: the build-id of the object that has address */
	size_t hash_size;	/**< bytes */
	const void *address;	/**< with hash NULL: any function or constant of the library */
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
/** The data as a blob, with the id of its description and a checksum. */
CKCACHE_EXPORT enum ckcache_status ckcache_device_get_blob(struct ckcache_desc *desc, size_t data_size,
							const void *data, size_t *size,
							uint8_t *blob);
/** The data in a blob; refuses blobs like ckcache_opencl_create_from_blob(). */
CKCACHE_EXPORT enum ckcache_status ckcache_device_get_data(struct ckcache_desc *desc, size_t blob_size,
							const uint8_t *blob, size_t *size,
							void *data);
/** Stores the data, in the storage or (NULL) in the machine's cache; replaces older data. */
CKCACHE_EXPORT enum ckcache_status ckcache_device_store(struct ckcache_desc *desc,
						     const struct ckcache_storage *storage,
						     size_t size, const void *data);
/** The stored data; CKCACHE_MISS: there is none, or it is damaged. */
CKCACHE_EXPORT enum ckcache_status ckcache_device_load(struct ckcache_desc *desc,
						    const struct ckcache_storage *storage,
						    size_t *size, void *data);
/** @} */

#ifdef __cplusplus
}
#endif

#endif
