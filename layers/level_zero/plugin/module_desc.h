/* SPDX-License-Identifier: MIT */
/*
 * module_desc: descriptions of modules (layers/shared/api/ckcache.h), their blobs, and
 * modules made from blobs. Calls go to the functions below the plugin in the
 * plugin's process, to the loader's own in a program that links the library.
 */
#ifndef LEVEL_ZERO_MODULE_DESC_H
#define LEVEL_ZERO_MODULE_DESC_H

#include "layers/shared/api/desc.h"
#include "layers/level_zero/plugin/driver_identity.h"

/* What one module is made from, in memory of its own. */
struct lz_desc_program {
	uint8_t *source;
	size_t source_size;
	char *options;			/* NULL: none */
	uint32_t *ids;
	uint64_t *values;		/* as the application gave them, and zeros behind */
	const void **pointers;		/* to values */
	ze_module_constants_t constants;	/* of these three */
};

struct lz_desc {
	struct ckcache_desc base;	/* first */
	struct lz_target target;	/* identified, unless base.empty */
	struct lz_desc_program *programs;	/* base.count */
};

/* Whether compiler and environment are what they were when it was made. */
bool lz_desc_holds(struct lz_desc *desc);
/* desc if it is of modules, else NULL. */
struct lz_desc *lz_desc_of(struct ckcache_desc *desc);
/* What zeModuleCreate is to be called with; lives as long as the description. */
ze_module_desc_t lz_desc_module(const struct lz_desc *desc, size_t i);

/* The functions of ckcache.h. */
ckcache_level_zero_desc_new_fn lz_ckcache_desc_new;
ckcache_level_zero_get_blob_fn lz_ckcache_get_blob;	/* this and the next two: module_desc_build.c */
ckcache_level_zero_create_from_blob_fn lz_ckcache_create_from_blob;
ckcache_level_zero_build_fn lz_ckcache_build;
ckcache_level_zero_device_desc_new_fn lz_ckcache_device_desc_new;

/* plugin_interface.c: the table of these and of those that are no API's own. */
const struct ckcache_functions *lz_ckcache_functions(void);
/* The hook: as zeDriverGetExtensionFunctionAddress (Level Zero core, Driver), also for names of ckcache_ext.h. */
ze_result_t lz_ckcache_get_function(struct lz_next *next, ze_driver_handle_t driver,
				    const char *name, void **ret);

#endif
