/* SPDX-License-Identifier: MIT */
/* getters: all of libckcache_level_zero.so, which loaders and the slot open; the plugin is in libckcache. */
#include "layers/level_zero/plugin/getters.h"

#define GETTER(name)                                                                  \
	__attribute__((visibility("default")))                                        \
	ze_result_t ZE_APICALL name(ze_api_version_t version, void *table);           \
	ze_result_t ZE_APICALL name(ze_api_version_t version, void *table)            \
	{                                                                             \
		return ckcache_##name(version, table);                                \
	}
LZ_GETTERS(GETTER)
