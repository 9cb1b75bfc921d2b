/* SPDX-License-Identifier: MIT */
/*
 * intel: the variables with which Intel's driver (22.43 to 26.27) compiles for a
 * product that the machine does not have, as words of a shell; the product's name
 * follows. Kernels do not run. From 26 on it wants a shape of the device, and from
 * dg2 on no bindless mode; before, dg2 and pvc want a size of work-groups. Its own
 * cache, which is on from 24.13 on, is off.
 */
#ifndef TESTS_LEVEL_ZERO_INTEL_H
#define TESTS_LEVEL_ZERO_INTEL_H

#define INTEL_WITHOUT_HARDWARE                                                       \
	"NEOReadDebugKeys=1 SetCommandStreamReceiver=1 HardwareInfoOverride=1x6x16 " \
	"UseAubStream=0 UseBindlessMode=0 UseExternalAllocatorForSshAndDsh=0 "       \
	"OverrideMaxWorkgroupSize=1024 NEO_CACHE_PERSISTENT=0 ProductFamilyOverride="

#endif
