/* SPDX-License-Identifier: MIT */
/*
 * background: threads of the cache's own in an application. They take no
 * signals, follow no real-time policy of the application, and have descriptors
 * of their own (descriptor.h), so that they neither see the application's files
 * nor keep them open, and it cannot close theirs. Where the kernel does not
 * allow that, their descriptors are the process's.
 */
#ifndef COMMON_BACKGROUND_H
#define COMMON_BACKGROUND_H

#include <pthread.h>
#include <stdbool.h>

/*
 * Starts a thread that calls work(arg). *ret is to be joined or detached, by work itself or
 * another; it may be another thread than the one that works, which ends after that. false: no
 * thread can be created.
 */
bool cmn_background_start(void (*work)(void *arg), void *arg, pthread_t *ret);

#endif
