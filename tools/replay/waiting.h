/* SPDX-License-Identifier: MIT */
/*
 * waiting: what waits for `ckcache replay`, as far as it can be said without starting a driver:
 * recipes, and whether a driver, a compiler or recipes' packages changed since replay --stale looked.
 * The mark is an empty file of root's that packages leave (tools/service/watched); its time counts.
 */
#ifndef TOOLS_REPLAY_WAITING_H
#define TOOLS_REPLAY_WAITING_H

#include <stdbool.h>
#include <stdint.h>

#include "cachecore/config.h"

#define WAITING_MARK "/var/lib/ckcache/changed"

/* Whether the mark is newer than the last look for drivers with this root, and than its oldest entry. */
bool waiting_changed(const char *root, uint64_t oldest_ns);
/* Notes, in the recipes' directory, when replay --stale began to look; best effort. */
void waiting_note_look(int recipes_fd, uint64_t realtime_ns);
/* How many workers build at a time, if nobody says how many. */
unsigned long waiting_jobs(void);
/* How long replay takes for so many recipes on an idle machine, if each takes that. */
uint64_t waiting_time(uint64_t recipes, uint64_t build_ns);
/*
 * On a terminal, tells once for each change, on stderr, that entries wait for a new driver and how to
 * build them; unless a systemd service of the user will. Says nothing if there is any problem.
 */
void waiting_mention(void);

#endif
