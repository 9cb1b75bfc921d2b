/* SPDX-License-Identifier: MIT */
/*
 * drivers: what is known of particular drivers, by measurement, in one table,
 * for both APIs. An unknown driver gets defaults that are safe for all.
 *
 * What a driver's binary loses is measured by `losses` (docs/TESTING.md): for
 * each question whose answer differs between a build and its own binary, the
 * row says so, and the answer is stored with the entry.
 *
 * The rule about questions: where a driver is known to crash on a question, or
 * to answer it by writing where it should not, the layer never asks it by
 * itself. When the application asks, the driver gets the question as it would
 * without the layer. To add a driver, give its row the question's flag of enum
 * drv_question, with the version that it was seen on.
 */
#ifndef SHARED_DRIVER_DRIVERS_H
#define SHARED_DRIVER_DRIVERS_H

#include <stdbool.h>

#include "cachecore/config.h"

#define DRV_LISTS 6
#define DRV_DRIVERS 10

/* Questions that the layer would ask by itself, as flags. */
enum drv_question {
	DRV_KERNEL_NAMES = 1,	/* CL_PROGRAM_KERNEL_NAMES */
};

struct drv_driver {
	const char *library;		/* how the driver library's file name starts; NULL: the default row */
	const char *since;		/* the first version that this row is for; NULL: all before the next row's */
	enum cc_capture capture;	/* what "auto" means for it */
	/*
	 * A kernel of a program that was loaded answers some questions otherwise than one of a build
	 * (CL_KERNEL_ATTRIBUTES, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE). The answers are read
	 * after a build, for which all its kernels are created.
	 */
	bool binaries_lose_answers;
	unsigned int unasked;		/* enum drv_question */
	/*
	 * A program made from a binary has the specialization constants of its build, seen by running
	 * it. Elsewhere it may have their defaults again (rusticl 25.0): nothing with constants is cached.
	 */
	bool binaries_keep_constants;
	/*
	 * Asked for kernels, a compiled object or a library gives the error of a program that was
	 * never built (CL_INVALID_PROGRAM_EXECUTABLE): nothing is compiled to know it.
	 */
	bool objects_as_unbuilt;
	/*
	 * It compiles in the thread that asks for it, and looks for some file for each source.
	 * What its other threads look for, which finish kernels, is no matter of a build's then.
	 */
	bool compiles_in_call;
	/* Threads that load binaries at the same time may end the process. */
	bool loads_race;
	/*
	 * How the name of a directory begins that stands in binaries, six letters of mkdtemp's behind it:
	 * each load unpacks there, and whoever releases its program first removes it. NULL: none.
	 */
	const char *private_directory;
	/* A program whose kernels live is compiled all the same, against the specification. */
	bool compiles_with_kernels;
	/* clCloneKernel is much faster than clCreateKernel. */
	bool clones_kernels;
	/* Building a linked program ends the process once its binary was read, or if it was loaded. */
	bool linked_builds_abort;
	/*
	 * What it takes at least to load an executable's binary and build it, in nanoseconds a
	 * byte, its own caches warm (docs/COMPRESSION.md); 0: unknown.
	 */
	unsigned int load_rate;
	/*
	 * Level Zero: a module may be asked for a function's or a variable's pointer by a name
	 * that it does not have, though the application did not ask: it answers with an error.
	 */
	bool stands_absent_names;
	/* File names (prefixes) of compilers that it loads itself, beside what it is linked with. */
	const char *compilers[DRV_LISTS];
	/* Those that some versions load only when they first compile, as they ask for them. */
	const char *late_compilers[DRV_LISTS];
	/*
	 * Patterns (fnmatch) of files and directories in its own cache, whose names tell what they
	 * hold, and which no header has: whether one is there makes no difference to a build in which
	 * the compiler ran.
	 */
	const char *cached[DRV_LISTS];
	/* Any other file that it leaves is a dump that a setting or an option asked for. */
	bool leaves_dumps;
	/* Patterns (glob) of files that it compiles into programs or runs. */
	const char *files[DRV_LISTS];
	/*
	 * How the names of the variables begin that it and its compilers read; ends with NULL. Which device
	 * a program gets is no matter: the device's own properties are in the key. The default row has all.
	 */
	const char *const *variables;
	/* With NEOReadDebugKeys set it reads some 480 more, all in CamelCase. */
	bool debug_keys;
	/* Files, up to NULL, that it reads once: when it is loaded, or (of absolute path) at its first build. */
	const char *const *settings;
};

/* The rows; the last one is the default. */
extern const struct drv_driver drv_drivers[DRV_DRIVERS];

/* The driver's first row. Never NULL. library: a path or file name. */
const struct drv_driver *drv_driver_of(const char *library);
/* Whether the driver loads such a file as its compiler, by its row. */
bool drv_driver_has_compiler(const struct drv_driver *driver, const char *file_name);
/* Whether a path is of some driver's files, by the rows. */
bool drv_drivers_have_file(const char *path);
/* Of the same driver, the row for a version as the driver reports it; NULL: the row itself. */
const struct drv_driver *drv_driver_at(const struct drv_driver *driver, const char *version);

#endif
