/* SPDX-License-Identifier: MIT */
/*
 * present: the devices and drivers that this machine has now, as the layers
 * name them in keys, and the key that an old one would be with them. One
 * thread.
 */
#ifndef TOOLS_REPLAY_PRESENT_H
#define TOOLS_REPLAY_PRESENT_H

#include <stdbool.h>
#include <stddef.h>

#include "cachecore/key.h"
#include "tools/replay/replay_process.h"

struct present_device {
	struct cmn_view fields;		/* in a copy of a key (cachecore/key_device.h) */
	struct cmn_view behind;		/* the other fields of the probe's key */
};

/* A file that drivers or compilers are made of, and when it came here, in ns since the epoch. */
struct present_library {
	char *path;
	const char *name;	/* in it, without directories */
	uint64_t changed_ns;
};

/* Read only, but for present.c; until the command ends. */
struct present {
	struct present_device *devices;
	size_t count;
	struct present_library *libraries;	/* that were loaded to build for them */
	size_t library_count;
};

/*
 * Has processes build a small program for each device of both APIs, in a cache of its own.
 * false: complained about, or a signal asked this process to end, *ret_signal
 * says which. Between child_begin and the end of this process.
 */
bool present_read(const struct replay_settings *settings, struct present *ret, int *ret_signal);

/*
 * What a worker needs that builds for them what strangers sent (confine.h), beside the system's: their
 * libraries, what this process's environment names, their own caches, the cache, and the scratch
 * directory. The caller releases *ret.
 */
void present_confine(const struct present *present, const char *root, const char *scratch,
		     struct confine *ret);

/*
 * What is there now of a key's device (cachecore/key_device.h): the very same if it is there, else of its
 * names the one that changed least, else the only one of its kind. NULL: nothing.
 */
const struct present_device *present_find(const struct present *present, struct cmn_view device);
/*
 * Appends to *ret, an empty key, the same build with what is there now. false:
 * the old key still is the one, or a device is gone; *ret is of no use then.
 */
bool present_renew_key(const struct present *present, struct cmn_view old, struct cc_key *ret);
/* Whether an earlier device is the same as that one: one device may have several keys. */
bool present_is_again(const struct present *present, size_t place);
/* Whether all devices of a key are still here, with whatever driver. */
bool present_has_devices(const struct present *present, struct cmn_view key);
/*
 * Whether nobody on this machine has the drivers and compilers of that key any
 * more, as far as can be known: other files stand in their places, and nobody
 * used an entry of the key since they do. last_use_ns: since the epoch.
 */
bool present_has_replaced(const struct present *present, struct cmn_view key, uint64_t last_use_ns);

#endif
