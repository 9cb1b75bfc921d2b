/* SPDX-License-Identifier: MIT */
/**
 * @file cachecore.h
 * The kernel cache for runtimes that keep their own handles (libcachecore). C11 and C++17.
 *
 * What the SYCL KernelProgramCache document ("the document" below) describes, for any C or C++
 * runtime: the programs map, the kernels map, the fast kernel cache, BuildResult, eviction and the
 * flush when memory runs out (cachecore_programs, cachecore_build_result), and a persistent store
 * of device binaries (cachecore_store). Values are the runtime's own handles, as pointers that the
 * cache never looks into; keys are bytes, copied, and always compared in full.
 *
 * Threads: any number of threads may call any function at once, except those that free an object,
 * and unless a function says otherwise. No callback is called with a lock held, so a callback may
 * use the cache. A callback must not leave by a C++ exception or longjmp.
 *
 * A cache is never a reason to fail: if maps or a store are NULL, functions behave as with a cache
 * that keeps nothing. So a runtime runs the same code if its cache could not be made or is switched
 * off. If a look-up returns anything but CACHECORE_OK, do what you would do without a cache.
 * Arguments are borrowed for the call unless a function takes them. Outputs are untouched on
 * failure unless a function says otherwise.
 */
#ifndef CACHECORE_H
#define CACHECORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Of this header. A new major version may change structures and functions. */
#define CACHECORE_VERSION_MAJOR 1
/** A new minor version may add functions, and members of structures with a struct_size. */
#define CACHECORE_VERSION_MINOR 0
/** As cachecore_version() gives it. */
#define CACHECORE_VERSION (CACHECORE_VERSION_MAJOR * 1000 + CACHECORE_VERSION_MINOR)
/**
 * What the library exports. A runtime that is a shared library itself can hide it with a version
 * script, or with -Wl,--exclude-libs,libcachecore.a.
 */
#define CACHECORE_API __attribute__((visibility("default")))
/** Do not ignore the status. */
#define CACHECORE_CHECKED __attribute__((warn_unused_result))

/** CACHECORE_VERSION of the library that is linked. */
CACHECORE_API unsigned int cachecore_version(void);

/** 0 is success, positive values are expected outcomes, negative ones failures. */
enum cachecore_status {
	CACHECORE_OK = 0,
	CACHECORE_MISS = 1,		/**< looked for, not there */
	CACHECORE_BUSY = 2,		/**< another thread or process holds it */
	CACHECORE_STALE = 3,		/**< there, but no longer what was asked for */
	CACHECORE_ERR_NOMEM = -1,	/**< out of memory, also the device's; see cachecore_build_fn */
	CACHECORE_ERR_IO = -2,		/**< a system call failed */
	CACHECORE_ERR_CORRUPT = -3,	/**< bytes that are not what was written */
	CACHECORE_ERR_VERSION = -4,	/**< a format version that this library does not know */
	CACHECORE_ERR_INVALID = -5,	/**< an argument is invalid; nothing was done or taken */
	CACHECORE_ERR_ACCESS = -6,	/**< permission denied, or a directory that cannot be trusted */
	CACHECORE_ERR_NOSPACE = -7,	/**< disk or quota full, or a file may not grow so large */
	CACHECORE_ERR_TOO_LARGE = -8,	/**< over a bound */
	CACHECORE_ERR_BUILD = -9,	/**< for build callbacks: compiler or driver failed */
};

/** A short English phrase, never NULL, static storage; also for values that are none of these. */
CACHECORE_API const char *cachecore_status_string(enum cachecore_status status);

/** Borrowed bytes. */
struct cachecore_bytes {
	const void *data;	/**< may be NULL where size is 0 */
	size_t size;		/**< of data */
};

/**
 * @name Values and builds
 * @{ */

/**
 * What the cache does with a value (a program's or a kernel's handle). Each may be NULL: nothing
 * to do. Called without any lock held, from any thread that uses the cache. The cache keeps one
 * reference of each value, and retains another one for each taker.
 */
struct cachecore_value_ops {
	void (*retain)(void *value);	/**< one reference more */
	void (*release)(void *value);	/**< one less */
};

/** What a build gives back; all zero when the callback is called. */
struct cachecore_build_output {
	void *value;		/**< on CACHECORE_OK: not NULL, a reference that the cache takes */
	size_t size;		/**< bytes that the value counts for eviction; of a kernel: not used */
	bool transient;		/**< only for this thread and those that wait for it; do not keep it */
	int error_code;		/**< of a failure */
	char *error_message;	/**< of a failure: malloc'd, taken; NULL: no error, the failure may be spurious */
};

/**
 * Builds a value, in the thread that asked for it. CACHECORE_ERR_NOMEM: everything that is built
 * leaves the maps (the document, "In-memory cache eviction": out of memory), and the callback is
 * called once more. Every other status, and CACHECORE_OK without a value (which becomes
 * CACHECORE_ERR_INVALID), is a failure. A build may use the cache; of its own key it gets another
 * build's result, which is not kept.
 */
typedef enum cachecore_status (*cachecore_build_fn)(void *ctx, struct cachecore_build_output *ret);

/** The three ways of the document, "Thread-safety". */
enum cachecore_way {
	CACHECORE_WAY_BUILT = 0,	/**< A: this thread built it */
	CACHECORE_WAY_WAITED = 1,	/**< B: another thread was building it */
	CACHECORE_WAY_FOUND = 2,	/**< C: it was there */
};

/** What getOrBuild gives: set whatever the status, all zero where an argument is bad. */
struct cachecore_taken {
	void *value;		/**< on CACHECORE_OK a reference of the caller's own, else NULL */
	enum cachecore_way way;	/**< how the thread got it */
	int error_code;		/**< of a failed build, also of another thread's */
	char *error_message;	/**< of a failed build: the caller calls free(); or NULL */
};

/** @} */
/**
 * @name Programs map, kernels map, fast kernel cache
 * The document, "In-memory cache". One cachecore_programs holds the three maps; a runtime makes one
 * for each of its contexts. One lock guards the maps and is held for map access only; builds, waits
 * and callbacks run outside of it (the document, "Thread-safety"). A look into the fast kernel cache
 * does not take it. @{ */

/** The three maps and the eviction list. */
struct cachecore_programs;

/** For cachecore_programs_new. All zero but struct_size is fine. */
struct cachecore_programs_options {
	size_t struct_size;	/**< sizeof(struct cachecore_programs_options), for versions to come */
	/**
	 * Bytes; 0: no bound. When adding a program makes the total exceed it, the least recently used
	 * programs are evicted, with their kernels in both kernel maps, until the total does not exceed
	 * it. That includes the new program if it alone is larger, but no program in progress. Fetching
	 * a program, or a kernel with the program's key, counts as a use; a look-up in the fast kernel
	 * cache does not. The document, "In-memory cache eviction".
	 */
	uint64_t threshold;
	struct cachecore_value_ops program_ops;	/**< of the programs map's values */
	struct cachecore_value_ops kernel_ops;	/**< of the kernels map's */
};

/**
 * A key of the programs map (the document, "In-memory cache", with the build options of
 * "Persistent cache"). The lengths are part of the key, so two keys never become equal because their
 * bytes run together. The runtime chooses what identifies a device image within the process.
 */
struct cachecore_program_key {
	struct cachecore_bytes image_id;	/**< of the device image that holds the program */
	struct cachecore_bytes constants;	/**< values of the specialization constants */
	struct cachecore_bytes devices;		/**< the set of devices that it is built for: ids or handles */
	/**
	 * Bytes of each device in devices, such as sizeof(a handle). devices is then a set: order and
	 * repetitions do not matter. 0: devices is one string. CACHECORE_ERR_INVALID: the size of
	 * devices is not a multiple.
	 */
	size_t device_size;
	struct cachecore_bytes options;		/**< build options */
};

/** Empty maps. options NULL: no bound, nothing to call. CACHECORE_ERR_NOMEM, CACHECORE_ERR_INVALID. */
CACHECORE_API CACHECORE_CHECKED enum cachecore_status
cachecore_programs_new(const struct cachecore_programs_options *options,
		       struct cachecore_programs **ret);
/** Releases everything. No thread may be inside. NULL is fine. */
CACHECORE_API void cachecore_programs_free(struct cachecore_programs *programs);

/**
 * getOrBuild of the programs map (the document, "Core of caching mechanism"). The first thread
 * that asks for a key builds; others wait for it and get its value, or its status, error code and
 * message. If a failure carries no error, one of the waiting threads builds. If there is no memory
 * for the map, or programs is NULL, or the thread is in a build of that key already, or another one
 * is, and used no processor time for about a second, the function builds and keeps nothing.
 * @param remember_errors if this thread builds: a failure with an error stays in the map, and
 *	counts its message's bytes, until it is removed, flushed or evicted. Otherwise only threads
 *	that waited get it, and threads that come later build again.
 * @return the build's status
 */
CACHECORE_API CACHECORE_CHECKED enum cachecore_status
cachecore_programs_get_or_build(struct cachecore_programs *programs,
				const struct cachecore_program_key *key, cachecore_build_fn build,
				void *ctx, bool remember_errors, struct cachecore_taken *ret);
/**
 * The program, with a reference of the caller's own, if it is there and built; never waits.
 * @return CACHECORE_OK, CACHECORE_MISS; CACHECORE_ERR_NOMEM: a key of over a kilobyte needs memory
 */
CACHECORE_API CACHECORE_CHECKED enum cachecore_status
cachecore_programs_get(struct cachecore_programs *programs, const struct cachecore_program_key *key,
		       void **ret_value);
/**
 * Adds a program that was built elsewhere. Takes the reference value with any status except
 * CACHECORE_ERR_INVALID (no value, programs NULL, a bad key). If the map has the program already, it
 * stays, and value is released. value replaces an error or a build in progress; threads that wait
 * still get what they wait for. CACHECORE_ERR_NOMEM, CACHECORE_ERR_TOO_LARGE (a key of 4 GiB): not kept.
 */
CACHECORE_API CACHECORE_CHECKED enum cachecore_status
cachecore_programs_put(struct cachecore_programs *programs, const struct cachecore_program_key *key,
		       void *value, size_t size);
/**
 * Removes the program, or its error, with its kernels in both kernel maps. Cannot fail: without
 * memory to encode a long key, everything is flushed.
 * @param value remove it only if this is the program's value; NULL: in any case
 */
CACHECORE_API void cachecore_programs_remove(struct cachecore_programs *programs,
					     const struct cachecore_program_key *key,
					     const void *value);
/** Empties the maps. Builds in progress continue; waiting threads get their results, which are not kept. */
CACHECORE_API void cachecore_programs_flush(struct cachecore_programs *programs);

/** What may run out of memory; its status. */
typedef enum cachecore_status (*cachecore_attempt_fn)(void *ctx);
/**
 * For memory that runs out elsewhere than in a build (the document, "In-memory cache eviction":
 * "if the application runs out-of-memory"): calls attempt; if it returns CACHECORE_ERR_NOMEM, all
 * programs and kernels that are built leave the maps and are released, and it is called once more.
 * Builds in progress, which hold nothing yet, stay. The status is the last call's.
 */
CACHECORE_API CACHECORE_CHECKED enum cachecore_status
cachecore_programs_attempt(struct cachecore_programs *programs, cachecore_attempt_fn attempt,
			   void *ctx);

/** What the maps hold. */
struct cachecore_usage {
	size_t programs;	/**< also those in progress, and remembered errors */
	size_t kernels;		/**< of all programs */
	size_t fast_kernels;	/**< keys of the fast kernel cache */
	uint64_t bytes;		/**< what counts for the threshold */
};
/** Counts what is there now. programs NULL: all zero. */
CACHECORE_API void cachecore_programs_usage(struct cachecore_programs *programs,
					    struct cachecore_usage *ret);

/**
 * For the runtime's handlers of pthread_atfork, which call it for each context, in any order: no
 * other thread is inside the maps from here until one of the next two functions.
 */
CACHECORE_API void cachecore_programs_fork_prepare(struct cachecore_programs *programs);
/** In the parent, after the fork. */
CACHECORE_API void cachecore_programs_fork_parent(struct cachecore_programs *programs);
/**
 * In the child: it forgets the builds of the parent's threads, which would never end there. It has
 * the parent's values, without references of its own.
 */
CACHECORE_API void cachecore_programs_fork_child(struct cachecore_programs *programs);

/**
 * getOrBuild of the kernels map: by program and kernel name (the document, "In-memory cache").
 * If the program is not in the map or not built, the kernel is built and not kept. Failures are not
 * remembered. A kernel leaves the map with its program, and is released before it. Everything else
 * as for cachecore_programs_get_or_build.
 */
CACHECORE_API CACHECORE_CHECKED enum cachecore_status
cachecore_kernels_get_or_build(struct cachecore_programs *programs,
			       const struct cachecore_program_key *program,
			       struct cachecore_bytes name, cachecore_build_fn build, void *ctx,
			       struct cachecore_taken *ret);
/** As cachecore_programs_get, for a kernel; counts as a use of its program. */
CACHECORE_API CACHECORE_CHECKED enum cachecore_status
cachecore_kernels_get(struct cachecore_programs *programs,
		      const struct cachecore_program_key *program, struct cachecore_bytes name,
		      void **ret_kernel);
/** As cachecore_programs_put. CACHECORE_MISS: the map has no such program that is built; not kept. */
CACHECORE_API CACHECORE_CHECKED enum cachecore_status
cachecore_kernels_put(struct cachecore_programs *programs,
		      const struct cachecore_program_key *program, struct cachecore_bytes name,
		      void *kernel);
/** As cachecore_programs_remove, of a kernel. */
CACHECORE_API void cachecore_kernels_remove(struct cachecore_programs *programs,
					    const struct cachecore_program_key *program,
					    struct cachecore_bytes name, const void *kernel);

/**
 * The fast kernel cache (the document, "In-memory cache", and "Thread-safety": GetCache), for
 * launches in a loop: finds a kernel by the values of specialization constants, the device and the
 * kernel's name. The runtime makes sure that these three mean one program. Takes no lock of the
 * maps, only one that belongs to the current processor.
 * @param device any number or pointer that tells the devices of this context apart
 * @return CACHECORE_OK, with a reference of the caller's own, or CACHECORE_MISS
 */
CACHECORE_API CACHECORE_CHECKED enum cachecore_status
cachecore_fast_kernel_get(struct cachecore_programs *programs, struct cachecore_bytes constants,
			  const void *device, struct cachecore_bytes name, void **ret_kernel);
/**
 * Makes these three lead to a kernel of the kernels map, instead of what they led to before. The
 * entry is removed with the kernel. You may ignore the status: the next look-up is then a miss.
 * @param program the key under which the kernel's program is in the map
 * @param kernel as got from the kernels map; stays the caller's
 * @return CACHECORE_MISS: the kernels map does not have this kernel under this program and name;
 *	CACHECORE_ERR_NOMEM
 */
CACHECORE_API enum cachecore_status
cachecore_fast_kernel_put(struct cachecore_programs *programs,
			  const struct cachecore_program_key *program,
			  struct cachecore_bytes constants, const void *device,
			  struct cachecore_bytes name, void *kernel);

/** @} */
/**
 * @name BuildResult
 * One result that one thread builds and others wait for (the document, "Thread-safety"), for
 * runtimes with maps of their own. It has a reference count: after it was taken out of a map, it
 * stays valid for threads that wait for it. @{ */

/** A value that is built, was built or could not be built. */
struct cachecore_build_result;

/** The state of a build; only one thread moves it from UNCLAIMED to IN_PROGRESS. */
enum cachecore_build_state {
	CACHECORE_BUILD_UNCLAIMED = 0,		/**< new, or the last build failed without an error */
	CACHECORE_BUILD_IN_PROGRESS = 1,	/**< some thread builds */
	CACHECORE_BUILD_SUCCEEDED = 2,		/**< final */
	CACHECORE_BUILD_FAILED = 3,		/**< final, with an error */
};

/** Unclaimed, with one reference. ops (may be NULL) is copied. CACHECORE_ERR_NOMEM. */
CACHECORE_API CACHECORE_CHECKED enum cachecore_status
cachecore_build_result_new(const struct cachecore_value_ops *ops,
			   struct cachecore_build_result **ret);
/** Another reference to a result that the caller has one to; returns it. */
CACHECORE_API struct cachecore_build_result *
cachecore_build_result_ref(struct cachecore_build_result *result);
/** The last one releases the value. NULL is fine. */
CACHECORE_API void cachecore_build_result_unref(struct cachecore_build_result *result);
/** Takes no lock; a build in progress may be further by now. */
CACHECORE_API enum cachecore_build_state
cachecore_build_result_state(const struct cachecore_build_result *result);
/** A reference to the value, without any lock. CACHECORE_MISS: it has not succeeded. */
CACHECORE_API CACHECORE_CHECKED enum cachecore_status
cachecore_build_result_take(struct cachecore_build_result *result, void **ret_value);
/**
 * The ways A, B and C of the document: the first thread builds, others wait for it, and a finished
 * result is taken without a lock. transient has no meaning here. Statuses and ret as for
 * cachecore_programs_get_or_build; FAILED is final, and every later caller gets that error.
 * @param flushed the maps to flush when the build runs out of memory; may be NULL
 */
CACHECORE_API CACHECORE_CHECKED enum cachecore_status
cachecore_build_result_obtain(struct cachecore_build_result *result, cachecore_build_fn build,
			      void *ctx, struct cachecore_programs *flushed,
			      struct cachecore_taken *ret);

/** @} */
/**
 * @name Persistent store
 * The document, "Persistent cache": device binaries on disk, for all processes of the machine that
 * use the same root. Entries appear whole or not at all. They have checksums, and their keys are
 * compared in full; damaged or foreign entries are misses. NULL stands for a store that is always
 * empty. @{ */

/** A root on disk, as one runtime sees it. */
struct cachecore_store;
/** An entry's bytes: device binaries and a build log. Immutable, shared by reference counts. */
struct cachecore_blob;

/** The value of CKCACHE_MAX_SIZE or of the configuration files. */
#define CACHECORE_CAPACITY_DEFAULT UINT64_C(0)
/** Nothing is evicted for its size. */
#define CACHECORE_CAPACITY_UNBOUNDED UINT64_MAX

/** For cachecore_store_open. */
struct cachecore_store_options {
	size_t struct_size;	/**< sizeof(struct cachecore_store_options), for versions to come */
	/** Part of each key, so that a runtime never gets what another one stored in the same root. Not empty. */
	const char *runtime;
	/**
	 * The root directory; created with mode 0700 at the first store. A relative path starts at the
	 * current working directory. NULL: from CKCACHE_DIR or the configuration files (docs/CONFIG.md).
	 */
	const char *dir;
	/** Bytes on disk; when exceeded, the least recently used entries are evicted down to half. */
	uint64_t capacity;
};

/**
 * Opens the store. The user's environment and configuration files apply (CKCACHE_*, docs/CONFIG.md),
 * except for the directory and the capacity if the options set them. The options cannot override
 * CKCACHE_DISABLE, CKCACHE_PERSISTENT=0 and CKCACHE_READ_ONLY. Messages go to stderr (CKCACHE_LOG).
 * @param ret NULL unless CACHECORE_OK
 * @return CACHECORE_MISS: the user switched it off, or there is no directory for it;
 *	CACHECORE_ERR_ACCESS: the directory cannot be trusted (it belongs to another user, or others
 *	may write to it); CACHECORE_ERR_INVALID, CACHECORE_ERR_NOMEM
 */
CACHECORE_API CACHECORE_CHECKED enum cachecore_status
cachecore_store_open(const struct cachecore_store_options *options, struct cachecore_store **ret);
/** Frees the store. No thread may be inside. Blobs stay valid. */
CACHECORE_API void cachecore_store_close(struct cachecore_store *store);
/** Does nothing: whatever was put is written when cachecore_store_put returns. */
CACHECORE_API void cachecore_store_flush(struct cachecore_store *store);

/**
 * The four levels of the document's "Persistent cache storage structure". Everything that the binary
 * depends on must be in one of them, and nothing that differs from run to run without need.
 */
struct cachecore_store_key {
	/** Platform, device, and versions of device, driver and compiler: a new driver is a new device. */
	struct cachecore_bytes device;
	struct cachecore_bytes image;		/**< the device image (source, IL) that is built */
	struct cachecore_bytes constants;	/**< values of the specialization constants */
	struct cachecore_bytes options;		/**< all build options, also from the environment */
};

/** What is stored. */
struct cachecore_store_value {
	const struct cachecore_bytes *images;	/**< device binaries, such as one for each device */
	size_t image_count;			/**< at least 1 */
	struct cachecore_bytes log;		/**< build log; data NULL: none */
	uint64_t build_ns;			/**< what it cost to build: statistics, and eviction by cost */
};

/** Image i as it was stored, of no particular alignment, valid as long as the blob; data NULL: none. */
CACHECORE_API struct cachecore_bytes cachecore_blob_image(const struct cachecore_blob *blob, size_t i);
/** How many images were stored. */
CACHECORE_API size_t cachecore_blob_image_count(const struct cachecore_blob *blob);
/** The build log as it was stored; data NULL: none. */
CACHECORE_API struct cachecore_bytes cachecore_blob_log(const struct cachecore_blob *blob);
/** What the build took once. */
CACHECORE_API uint64_t cachecore_blob_build_ns(const struct cachecore_blob *blob);
/** Another reference to a blob that the caller has one to; returns it. */
CACHECORE_API struct cachecore_blob *cachecore_blob_ref(struct cachecore_blob *blob);
/** The last one frees the bytes. NULL is fine. */
CACHECORE_API void cachecore_blob_unref(struct cachecore_blob *blob);

/**
 * Looks in the root, then in CKCACHE_READ_ONLY_DIRS. *ret is a reference: nothing is copied.
 * @return CACHECORE_OK, CACHECORE_MISS, CACHECORE_ERR_INVALID, CACHECORE_ERR_NOMEM
 */
CACHECORE_API CACHECORE_CHECKED enum cachecore_status
cachecore_store_get(struct cachecore_store *store, const struct cachecore_store_key *key,
		    struct cachecore_blob **ret);
/**
 * Writes value before it returns. A value that could not be written (a full disk, a lock that somebody
 * else holds, a size outside CKCACHE_MIN_ and CKCACHE_MAX_DEVICE_IMAGE_SIZE, a read-only cache) is a
 * miss later, so you may ignore the status.
 * @return CACHECORE_OK: taken, or store is NULL; CACHECORE_ERR_INVALID, CACHECORE_ERR_NOMEM,
 *	CACHECORE_ERR_TOO_LARGE (over 4 GiB)
 */
CACHECORE_API enum cachecore_status
cachecore_store_put(struct cachecore_store *store, const struct cachecore_store_key *key,
		    const struct cachecore_store_value *value);

/**
 * Builds, in the calling thread, and fills ret, which is all zero before. ctx owns what ret points
 * to; it must stay until cachecore_store_get_or_build returns. build_ns 0: the time that the
 * callback took is stored. Any status but CACHECORE_OK is a failure, and the build is not repeated.
 */
typedef enum cachecore_status (*cachecore_store_build_fn)(void *ctx,
							  struct cachecore_store_value *ret);
/**
 * Finds the entry, or else builds it and stores it. Only one process or thread of
 * the machine builds a key at a time; others wait for its entry, for at most CKCACHE_BUILD_WAIT
 * seconds. If the builder dies or fails, they continue at once, and each builds for itself. On
 * network file systems nobody waits. Without a store, or without memory for the key, it only builds.
 * @param ret_built (may be NULL) whether build was called, set whatever the status; what it built
 *	is the caller's, through ctx, also where no blob could be made of it
 * @param ret a reference to what was found or built; untouched unless CACHECORE_OK
 * @return CACHECORE_OK; the build's status; CACHECORE_ERR_INVALID (an argument, or what build put
 *	into ret), CACHECORE_ERR_NOMEM, CACHECORE_ERR_TOO_LARGE (no blob could be made)
 */
CACHECORE_API CACHECORE_CHECKED enum cachecore_status
cachecore_store_get_or_build(struct cachecore_store *store, const struct cachecore_store_key *key,
			     cachecore_store_build_fn build, void *ctx, bool *ret_built,
			     struct cachecore_blob **ret);
/**
 * The driver refused this key's binary: removes the entry from the root and counts an error. The
 * caller builds again, and puts the result. An entry that cannot be removed (a read-only cache) stays.
 */
CACHECORE_API void cachecore_store_reject(struct cachecore_store *store,
					  const struct cachecore_store_key *key);

/** Of this store since it was opened. `ckcache stats` shows the root's, of all processes. */
struct cachecore_store_stats {
	uint64_t hits;			/**< of get and get_or_build */
	uint64_t misses;		/**< likewise */
	uint64_t rejected;		/**< by cachecore_store_reject */
	uint64_t build_ns_saved;	/**< build times of the hits, minus the look-ups */
	uint64_t build_ns_spent;	/**< in the callbacks of cachecore_store_get_or_build */
};
/** The counts of all threads. store NULL: all zero. */
CACHECORE_API void cachecore_store_stats(const struct cachecore_store *store,
					 struct cachecore_store_stats *ret);

/** As cachecore_programs_fork_prepare. */
CACHECORE_API void cachecore_store_fork_prepare(struct cachecore_store *store);
/** As cachecore_programs_fork_parent. */
CACHECORE_API void cachecore_store_fork_parent(struct cachecore_store *store);
/** As cachecore_programs_fork_child; the parent writes what was put before. */
CACHECORE_API void cachecore_store_fork_child(struct cachecore_store *store);

/** @} */

#ifdef __cplusplus
}
#endif

#endif
