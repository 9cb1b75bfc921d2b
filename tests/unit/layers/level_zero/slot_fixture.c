/* SPDX-License-Identifier: MIT */
/* slot_fixture: what slot_libraries finds: a plugin or a validation layer; LACKS: without a function that it calls; SLOT: the slot. */
#define EXPORT __attribute__((visibility("default")))
EXPORT int fixture_defined(void);
EXPORT int fixture_missing(void);
EXPORT int zeGetModuleProcAddrTable(void);
EXPORT int ckcache_level_zero_slot(void);

int fixture_defined(void)
{
#ifdef LACKS
	return fixture_missing();
#else
	return 0;
#endif
}

int zeGetModuleProcAddrTable(void)
{
	return 0;
}

#ifdef SLOT
int ckcache_level_zero_slot(void)
{
	return 0;
}
#endif
