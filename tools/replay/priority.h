/* SPDX-License-Identifier: MIT */
/* priority: puts this process below everybody else's. Best effort: all of it is allowed, as a rule. */
#ifndef TOOLS_REPLAY_PRIORITY_H
#define TOOLS_REPLAY_PRIORITY_H

/* For processors and disks; and whoever runs out of memory, this is to end first. */
void priority_lower(void);
/* The same for all of this process's session, for processors; it may take some tenths of a second. */
void priority_lower_session(void);

#endif
