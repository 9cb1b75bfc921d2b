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
#include "tools/replay/replay.h"

/* The fields of one device in a key, from its platform.name to the next one's or the part's end. */
struct present_device {
	struct cmn_view fields;			/* encoded; no whole key: no version before them */
	struct cmn_view platform, device;	/* names; empty if it has none */
};

/* Read only, but for present.c. */
struct present {
	struct present_device *devices;
	size_t count;
	char **keys;		/* into which they point */
	size_t key_count;
	bool failed;		/* out of memory */
};

/*
 * Has a process build a small program for each device, in a cache of its own.
 * false: complained about, or a signal asked this process to end, *ret_signal
 * says which; the caller releases *ret in any case. Between child_begin and the
 * end of this process.
 */
bool present_read(const struct replay_settings *settings, struct present *ret, int *ret_signal);
void present_release(struct present *present);

/*
 * The device at the reader, which cc_key_read gave and which moves behind it;
 * its views are the key's. false: there are no more, the reader stays.
 */
bool present_next_device(struct cmn_reader *reader, struct present_device *ret);
/* The value of the i-th field of that name; false: there is none. */
bool present_device_field(const struct present_device *device, const char *name, unsigned int i,
			  struct cmn_view *ret);
/* What is there now of a key's device: the very same if it is there, else one of its names. NULL: nothing. */
const struct present_device *present_find(const struct present *present,
					  const struct present_device *device);
/*
 * Appends to *ret, an empty key, the same build with what is there now. false:
 * the old key still is the one, or a device is gone; *ret is of no use then.
 */
bool present_renew_key(const struct present *present, struct cmn_view old, struct cc_key *ret);

#endif
