/* SPDX-License-Identifier: MIT */
/*
 * observer_owner: which copy of the observer observes. Each layer has one, and a process may have
 * several layers, but a slot leads to one stand-in: so all use the copy of the object that was
 * loaded first. They find each other by a note in the objects that have one (ELF, gABI chapter 5):
 * type 1, and as value a version in 8 bytes, and in 8 more the distance from these to the functions.
 */
#ifndef DRIVER_OBSERVER_OWNER_H
#define DRIVER_OBSERVER_OWNER_H

#include "layers/driver/loaded.h"
#include "layers/driver/observer.h"

/*
 * As observer.h has them. Structures go from one copy to another: to be raised with every change of
 * one that they reach. Copies of different versions do not use each other, and where both would
 * lead the same slots, the second one is blind.
 */
#define DRV_OBSERVER_VERSION 1

struct drv_observer_functions {
	struct drv_observation *(*begin)(const struct drv_observer_request *request);
	enum cmn_status (*end)(struct drv_observation *observation,
			       const struct drv_observer_text *text, struct cc_file_memo *memo,
			       struct cc_manifest **ret, const char **ret_reason);
	void (*drop)(struct drv_observation *observation);
};

/* observer.c: this copy's. */
extern const struct drv_observer_functions drv_observer_own;

/* Those of the copy that observes, always the same. Thread-safe. */
const struct drv_observer_functions *drv_observer_of_process(void);
/* Whether the object has a copy, of whatever version: its calls are no driver's. */
bool drv_observer_is_in(const struct drv_loaded *object);

#endif
