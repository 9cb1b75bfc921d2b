/* SPDX-License-Identifier: MIT */
/*
 * getters: those by which a loader lets the plugin into its tables, in libckcache under names of its
 * own. Under a loader's names a program that is linked with libckcache would have them where the loader
 * looks for its own, which it calls by these names (libze_loader.so, R_X86_64_JUMP_SLOT). So these are
 * in libckcache_level_zero.so alone (getters.c), which nobody is linked with.
 */
#ifndef LEVEL_ZERO_GETTERS_H
#define LEVEL_ZERO_GETTERS_H

#include <level_zero/ze_api.h>

/* Each table that the plugin touches. */
#define LZ_GETTERS(_)                       \
	_(zeGetContextProcAddrTable)        \
	_(zeGetDeviceProcAddrTable)         \
	_(zeGetDriverProcAddrTable)         \
	_(zeGetModuleBuildLogProcAddrTable) \
	_(zeGetModuleProcAddrTable)

/* table: of the type that the getter's name says, as far as the version has it; slot.c has the contract. */
#define LZ_DECLARE_GETTER(name)                    \
	__attribute__((visibility("default")))     \
	ze_result_t ckcache_##name(ze_api_version_t version, void *table);
LZ_GETTERS(LZ_DECLARE_GETTER)

#endif
