/* SPDX-License-Identifier: MIT */
/* replay_worker: what runs in a worker's process. */
#ifndef TOOLS_REPLAY_REPLAY_WORKER_H
#define TOOLS_REPLAY_REPLAY_WORKER_H

/*
 * The verb that is run in a process of its own; not for people: which kind of
 * worker, its slot, and the descriptors of its commands and answers. Ends with one of WORKER_….
 */
int replay_worker(int argc, char **argv);

#endif
