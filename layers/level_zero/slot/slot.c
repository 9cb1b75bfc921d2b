/* SPDX-License-Identifier: MIT */
/*
 * slot: the entry points of libze_validation_layer.so.1, the one library that
 * Level Zero's loader lets in by name. The loader fills each of its tables and
 * hands it to the getter of that name; the slot hands it on to each plugin,
 * from the one nearest to the driver to the one nearest to the application,
 * and last to the genuine validation layer. It never touches a table itself,
 * nor knows its size, so that it serves loaders newer than itself.
 *
 * What a plugin's getter must keep to: it is called many times, also at once
 * from several threads, with one table refilled and with different tables, and
 * with any version 1.x; it replaces entries that this version has, and no
 * others; one that fails has left the table as it was. Its status is dropped:
 * no plugin makes zeInit fail.
 */
#include <level_zero/ze_api.h>
#include <pthread.h>
#include <stddef.h>

#include "layers/level_zero/slot/slot_libraries.h"

/* The version script decides what is exported; these must not be hidden before it. */
#define EXPORT __attribute__((visibility("default")))

typedef ze_result_t(ZE_APICALL *getter_fn)(ze_api_version_t version, void *table);

/* By this one slot knows another. */
EXPORT extern const char ckcache_level_zero_slot;
const char ckcache_level_zero_slot = 1;

EXPORT ze_result_t ZE_APICALL zelLoaderGetVersion(void *version);
EXPORT void ZE_APICALL zelLoaderSetLogger(void *logger);

/* Written once, by the first call of a loader, and then only read. */
static struct slot_libraries libraries;
static pthread_once_t libraries_once = PTHREAD_ONCE_INIT;

static void load_libraries(void)
{
	slot_libraries_load(&libraries);
}

static void *genuine_symbol(const char *name)
{
	(void)pthread_once(&libraries_once, load_libraries);
	return libraries.genuine ? slot_libraries_symbol(libraries.genuine, name) : NULL;
}

/*
 * The genuine layer's status is the loader's affair, as it would be without
 * the slot. A getter that nobody has succeeds: the table stays the driver's.
 */
static ze_result_t chain(const char *name, ze_api_version_t version, void *table)
{
	getter_fn genuine = (getter_fn)genuine_symbol(name);

	/* Plugins are written for 1.x; nothing is known of another major version. */
	for (size_t i = ZE_MAJOR_VERSION(version) == 1 ? libraries.count : 0; i > 0; i--) {
		getter_fn getter =
			(getter_fn)slot_libraries_symbol(libraries.plugins[i - 1], name);

		if (getter)
			(void)getter(version, table);
	}
	return genuine ? genuine(version, table) : ZE_RESULT_SUCCESS;
}

#define GETTER(name)                                                                     \
	EXPORT ze_result_t ZE_APICALL name(ze_api_version_t version, void *table);       \
	ze_result_t ZE_APICALL name(ze_api_version_t version, void *table)               \
	{                                                                                \
		return chain(#name, version, table);                                     \
	}
#include "layers/level_zero/slot/getters.def"
#undef GETTER

/* Loaders list the versions of their parts; a slot without the genuine layer is not one. */
ze_result_t ZE_APICALL zelLoaderGetVersion(void *version)
{
	ze_result_t(ZE_APICALL *genuine)(void *) =
		(ze_result_t(ZE_APICALL *)(void *))genuine_symbol("zelLoaderGetVersion");

	return genuine ? genuine(version) : ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
}

/* Newer than 1.8: without the loader's logger the genuine layer's messages are lost. */
void ZE_APICALL zelLoaderSetLogger(void *logger)
{
	void(ZE_APICALL *genuine)(void *) =
		(void(ZE_APICALL *)(void *))genuine_symbol("zelLoaderSetLogger");

	if (genuine)
		genuine(logger);
}
