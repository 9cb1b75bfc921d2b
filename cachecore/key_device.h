/* SPDX-License-Identifier: MIT */
/*
 * key_device: the devices in a key, and which of them a driver update leaves the same. Knows the names
 * of fields that the layers write, no more. Pure functions, thread-safe; bounds are checked.
 */
#ifndef CACHECORE_KEY_DEVICE_H
#define CACHECORE_KEY_DEVICE_H

#include "cachecore/key.h"

/*
 * The fields of the device at the reader, which cc_key_read gave and which moves behind them;
 * encoded, borrowed from the key. false: there are no more, the reader stays.
 */
bool cc_key_device_next(struct cmn_reader *reader, struct cmn_view *ret_fields);
/* The value of the i-th field of that name; its data is NULL if there is none. */
struct cmn_view cc_key_device_find(struct cmn_view fields, const char *name, unsigned int i);

/* Whether two keys may mean one device, before and after an update. */
enum cc_key_device_likeness {
	CC_KEY_DEVICE_ANOTHER,
	/* Other names, but the same API, vendor, type and ids: drivers rename platforms and devices now and then. */
	CC_KEY_DEVICE_OF_KIND,
	CC_KEY_DEVICE_OF_NAME,	/* also the very same */
};
enum cc_key_device_likeness cc_key_device_compare(struct cmn_view a, struct cmn_view b);
/*
 * Whether both are of one API, vendor and type. A weaker likeness than those above: the hardware may
 * be another. Drivers that run without hardware call it differently from version to version.
 */
bool cc_key_device_same_maker(struct cmn_view a, struct cmn_view b);
/* Whether the same files are their drivers, whatever is in them. */
bool cc_key_device_same_drivers(struct cmn_view a, struct cmn_view b);

#endif
