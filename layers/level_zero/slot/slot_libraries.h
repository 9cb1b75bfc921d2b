/* SPDX-License-Identifier: MIT */
/*
 * slot_libraries: which libraries the slot chains, and where they lie: the
 * plugins that ZE_ENABLE_LAYERS lists, and the genuine validation layer, which
 * the loader would have found had the slot not been in its place. Knows
 * nothing of what their functions do.
 */
#ifndef LAYERS_LEVEL_ZERO_SLOT_LIBRARIES_H
#define LAYERS_LEVEL_ZERO_SLOT_LIBRARIES_H

#include <stddef.h>

/* Handles of dlopen; they are never closed. */
struct slot_libraries {
	void **plugins;		/* as listed: the one nearest to the application first */
	size_t count;
	void *genuine;		/* NULL: not wanted, or none is there */
};

/*
 * Loads what the environment names. What cannot be loaded is named in one line
 * on stderr and left out, and so are the slot itself and, without a line, what
 * is in the process already. Commas or colons separate the parts of the list.
 * A plugin is a path (it has a '/'), taken as it is, or a name: then
 * lib<name>_level_zero.so in the slot's own directory or in that one's parent,
 * or libze_<name>_layer.so.1 (docs/upstream/README.md) or lib<name>_level_zero.so
 * where the dynamic linker finds them. With AT_SECURE there are no plugins.
 */
void slot_libraries_load(struct slot_libraries *ret_libraries);

/*
 * The function or object of that name which the library itself defines; NULL
 * if it has none. One that it merely depends on is not its own: a library
 * linked to a loader would otherwise offer the loader's getters.
 */
void *slot_libraries_symbol(void *library, const char *name);

#endif
