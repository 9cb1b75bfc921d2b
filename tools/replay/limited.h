/* SPDX-License-Identifier: MIT */
/* limited: whether the control group has a bound that what the background takes counts against. Thread-safe. */
#ifndef TOOLS_REPLAY_LIMITED_H
#define TOOLS_REPLAY_LIMITED_H

#include <stdbool.h>

/*
 * Whether the group, or one above it, has a bound of memory or processor time, or room for only few more
 * processes (version 2). What cannot be read has none. own: as /proc/self/cgroup; root: as /sys/fs/cgroup.
 */
bool limited_by_control_group(const char *own, const char *root);

#endif
