/* SPDX-License-Identifier: MIT */
/*
 * drivers: one table of the measured properties of particular drivers, for both
 * APIs. A driver without a row gets defaults that are safe for every driver.
 *
 * Some answers differ between a build and a program made from its binary. The
 * `losses` program (docs/TESTING.md) finds them; the driver's row says so, and
 * the layer stores these answers with the entry.
 *
 * The rule about questions: if a driver is known to crash on a question, or to
 * write where it should not, the layer never asks it by itself. If the
 * application asks, the driver gets the question as it would without the layer.
 * To forbid a question, add its flag of enum drv_question to the driver's row,
 * with the version that the fault was seen on.
 */
#ifndef SHARED_DRIVER_DRIVERS_H
#define SHARED_DRIVER_DRIVERS_H

#include <stdbool.h>

#include "cachecore/config.h"

#define DRV_LISTS 6
#define DRV_DRIVERS 11

/* Questions that the layer would ask by itself, as flags. */
enum drv_question {
	DRV_KERNEL_NAMES = 1,	/* CL_PROGRAM_KERNEL_NAMES */
};

/*
 * A program that a driver runs while it builds (tools.h). It reads the files that its arguments name and
 * its own executable and libraries, nothing else, and writes one file.
 */
struct drv_tool {
	const char *path;	/* pattern (glob, with braces) of absolute paths; without * it reads no large directory */
	const char *output;	/* the option before the name of the file that it writes */
};

struct drv_driver {
	const char *library;		/* how the driver library's file name starts; NULL: the default row */
	const char *since;		/* the first version that this row is for; NULL: all before the next row's */
	enum cc_capture capture;	/* what "auto" means for it */
	unsigned int eager_vendor;	/* but eager for this vendor's GPUs (CL_DEVICE_VENDOR_ID); 0: none */
	/*
	 * A kernel of a loaded program answers some questions differently from a kernel of a build
	 * (CL_KERNEL_ATTRIBUTES, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE). After a build, the
	 * layer creates all kernels and reads these answers.
	 */
	bool binaries_lose_answers;
	unsigned int unasked;		/* questions that the layer must not ask; enum drv_question */
	/*
	 * A program made from a binary still has the specialization constants of its build (checked by
	 * running it). If false, it may have their defaults again (rusticl 25.0), and no build with
	 * constants is cached.
	 */
	bool binaries_keep_constants;
	/*
	 * Creating kernels of a compiled object or a library gives the error of a program that was
	 * never built (CL_INVALID_PROGRAM_EXECUTABLE), so the layer need not compile to find it out.
	 */
	bool objects_as_unbuilt;
	/*
	 * It compiles in the thread that asks for it. Its other threads only finish kernels, so files
	 * that they look for do not belong to a build.
	 */
	bool compiles_in_call;
	/* For each source in OpenCL C its compiler looks for some file or directory. */
	bool compiler_looks;
	/* A program that is created from an executable's binary is built: building it would do the same once more. */
	bool loads_built;
	/* Threads that load binaries at the same time may end the process. */
	bool loads_race;
	/* So may processes, while the files of a binary are not yet unpacked. */
	bool unpacking_races;
	/*
	 * Binaries contain the name of a directory below its own cache, where each load unpacks what is not there:
	 * as the cache names programs (drv_is_cached_as), or, if they were made with that cache off, this
	 * prefix and six letters from mkdtemp. With the cache off, the first release of such a program
	 * removes the directory. NULL: none.
	 */
	const char *private_directory;
	const char *own_cache;	/* with that: the variable that has the cache on, by a 1 or unset */
	/* It compiles a program that has live kernels, against the specification. */
	bool compiles_with_kernels;
	/*
	 * Asked for the kernels of a program that was never built, it ends the process; after a build that
	 * failed it answers, and of a library that it linked itself. So a failure is no answer for another
	 * program, and no library is cached.
	 */
	bool unbuilt_ends_process;
	/* clCloneKernel is much faster than clCreateKernel. */
	bool clones_kernels;
	/* Building a linked program ends the process if its binary was read before, or if it was loaded. */
	bool linked_builds_abort;
	/*
	 * A link's result and log tell nothing of the options by which its inputs were compiled. Otherwise it may do
	 * again what they say: AMD's logs name them.
	 */
	bool links_forget_options;
	/* The name of the program that it runs to link (environment.h); NULL: none. */
	const char *linker;
	/*
	 * Patterns of programs that its compiler has within itself, though it asks whether they may be run
	 * (access with X_OK): no result depends on that.
	 */
	const char *within[DRV_LISTS];
	/* Other programs that it runs; a build that runs any but these is not stored. */
	struct drv_tool tools[DRV_LISTS];
	/*
	 * A part of a processor (a sub-device) is its device with fewer cores: the driver's own cache
	 * has the same binaries for both, and kernels answer alike (test_ways, "part").
	 */
	bool parts_share_code;
	/*
	 * What it gives as a binary has no code for a processor yet, and is the same on each: keys have no
	 * features of a processor. What else depends on these, its devices' names tell.
	 */
	bool portable_binaries;
	/*
	 * The least time that it takes to load an executable's binary and build it, in nanoseconds per
	 * byte, with its own caches warm (docs/COMPRESSION.md); 0: unknown.
	 */
	unsigned int load_rate;
	/* Prefixes of the file names of compilers that it loads itself, besides what it is linked with. */
	const char *compilers[DRV_LISTS];
	/* Compilers that some versions load only when they first compile, by the names that they use, the first choice first. */
	const char *late_compilers[DRV_LISTS];
	/*
	 * Patterns (fnmatch) of files and directories in its own cache, for which the code of its own
	 * library looks, never that of its compilers. No result depends on them.
	 */
	const char *cached[DRV_LISTS];
	/* Of these, those with names that no compiler looks for, for a library that has its compiler within itself. */
	const char *cached_alone[DRV_LISTS];
	/* Patterns of the directory that its own cache makes: no result depends on it unless the application names it. */
	const char *cache_directories[DRV_LISTS];
	/*
	 * Its compilers ask where they lie themselves (/proc/self/maps), and look for files from there:
	 * the key has that place.
	 */
	bool compilers_by_place;
	/* How the name of the compiler's library starts that the driver's is linked with; NULL: it loads them. */
	const char *linked_compiler;
	/* What its cache has is what it gives as a binary: if it was read, no compiler made the result. */
	bool caches_binaries;
	/* Any other file that it leaves is a dump that a setting or an option asked for. */
	bool leaves_dumps;
	/* Patterns (glob) of files that it compiles into programs or runs. */
	const char *files[DRV_LISTS];
	/*
	 * Prefixes of the names of the variables that it and its compilers read; ends with NULL, and each row has it. Not
	 * variables that select devices: the key has the device's own properties. The default row has
	 * the variables of all drivers.
	 */
	const char *const *variables;
	/* Caching ends while one of these is set, but to 0: its modules are instrumented by a tool. NULL: none. */
	const char *const *instrumented;
	/*
	 * The names of files that only OpLine and OpSource of SPIR-V refer to are nowhere in what it makes, but in
	 * copies and hashes of the whole module in binaries (docs/architecture/drivers.md).
	 */
	bool skips_file_names;
	const char *const *options;	/* harmless options of its own (harmless.h); NULL: none */
	/* With NEOReadDebugKeys set it reads some 480 more, all in CamelCase. */
	bool debug_keys;
	/* Files, up to NULL, that it reads once: when it is loaded, or (absolute paths) at its first build. */
	const char *const *settings;
};

/* The rows; the last one is the default. */
extern const struct drv_driver drv_drivers[DRV_DRIVERS];

/* The driver's first row. Never NULL. library: a path or file name. */
const struct drv_driver *drv_driver_of(const char *library);
/* Whether the driver loads such a file as its compiler, by its row. */
bool drv_driver_has_compiler(const struct drv_driver *driver, const char *file_name);
/* Whether one of a row's patterns of files matches the path; flags: fnmatch's. */
bool drv_matches(const char *const patterns[DRV_LISTS], const char *path, int flags);
/* Whether the path leads to one of its files. Asks the file system. */
bool drv_driver_has_file(const struct drv_driver *driver, const char *path);
/* Whether a text begins with what pocl's cache calls a program: letters from A to P, of which the third is a slash. */
#define DRV_CACHED_AS_SIZE 41	/* with a NUL */
bool drv_is_cached_as(const char *text);
/* Of the same driver, the row for a version as the driver reports it; NULL: the row itself. */
const struct drv_driver *drv_driver_at(const struct drv_driver *driver, const char *version);

#endif
