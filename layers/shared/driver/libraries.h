/* SPDX-License-Identifier: MIT */
/*
 * libraries: which shared objects make up a driver and its compiler, and what identifies each: the
 * GNU build-id if it has one, else path and content. Only the driver, the compilers that its row
 * names and what these are linked with (transitively) count, never the application's own libraries,
 * so that two applications on one driver share entries. Linux, ELF (gABI chapter 5).
 */
#ifndef SHARED_DRIVER_LIBRARIES_H
#define SHARED_DRIVER_LIBRARIES_H

#include <stdbool.h>

#include "cachecore/disk/contents.h"
#include "cachecore/key.h"
#include "layers/shared/driver/drivers.h"
#include "layers/shared/driver/loaded.h"

/* Which loaded objects are drivers: the one that holds an address, or those that a predicate chooses. */
struct drv_libraries_query {
	const void *address;			/* any function of the driver; NULL: none */
	bool (*is_driver)(const char *path);	/* may be NULL */
};

/* Whether the query chooses the object. */
bool drv_libraries_is_driver(const struct drv_libraries_query *query,
			     const struct drv_loaded *object);

/*
 * Adds a "driver.path" field for each driver and a "library.<file name>" field for each object,
 * sorted by name. A compiler that the driver loads later is read from its file (library_files.h), so
 * that the fields are the same before and after. *ret_driver: the row that all drivers have, else
 * the default. CMN_MISS: no driver was found.
 * Takes about 20 µs, and as much again for each file.
 */
CMN_CHECKED enum cmn_status drv_libraries_identify(const struct drv_libraries_query *query,
						   struct cc_contents *contents,
						   struct cc_key *key,
						   const struct drv_driver **ret_driver);

/* Adds one object's "library.<file name>" field: its build-id, or else as drv_libraries_add_content. */
void drv_libraries_add(struct cc_key *key, struct cc_contents *contents,
		       const struct drv_loaded *object);
/*
 * Adds a file's path and the hash of its content as a field, which a copy on another machine has as
 * well; where it cannot be read, its path, size and mtime.
 */
void drv_libraries_add_content(struct cc_key *key, struct cc_contents *contents,
			       const char *field, const char *path);

/* How many objects the process has ever loaded and unloaded, and how many names of compilers were learned from that. */
struct drv_library_epoch {
	unsigned long long loaded, unloaded;
	unsigned int learned;
};
struct drv_library_epoch drv_libraries_epoch(void);
/*
 * Whether any object was loaded since then. To be called after a build: what was identified before
 * may not be true any more. From now on these objects count as compilers of drivers that no row
 * knows.
 */
bool drv_libraries_came(const struct drv_library_epoch *before);

/*
 * To be called before a build that the layer lets pass, whose end it may not see: whatever the
 * process loads from now on counts as a compiler of a driver that no row knows, and what a driver is
 * known to load late may be there.
 */
void drv_libraries_note_unseen(void);
/*
 * Whether what drv_libraries_identify found for the driver, after since, is still so after such builds, and after
 * those on other devices.
 */
bool drv_libraries_hold(const struct drv_driver *driver, const struct drv_library_epoch *since);

#endif
