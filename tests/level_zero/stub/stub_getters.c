/* SPDX-License-Identifier: MIT */
/*
 * stub_getters: what the stub driver's library exports: every getter that a
 * loader may ask for. One that is missing would make zeInit fail.
 */
#include "tests/level_zero/stub/stub.h"

static ze_result_t get(const char *getter, ze_api_version_t version, void *table)
{
	if (ZE_MAJOR_VERSION(version) != 1)
		return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
	if (!table)
		return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
	stub_tables_fill(getter, (uint32_t)version, table);
	return ZE_RESULT_SUCCESS;
}

#define GETTER(name)                                                                     \
	__attribute__((visibility("default"))) ze_result_t ZE_APICALL                    \
	name(ze_api_version_t version, void *table);                                     \
	ze_result_t ZE_APICALL name(ze_api_version_t version, void *table)               \
	{                                                                                \
		return get(#name, version, table);                                       \
	}
#include "layers/level_zero/slot/getters.def"
#undef GETTER
