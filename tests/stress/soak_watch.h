/* SPDX-License-Identifier: MIT */
/*
 * soak_watch: what libsoak_watch.so, preloaded into a process of soak.py, gives
 * to its program. It measures for how long the layer asks to wait on a thread
 * of the application: by flock, fcntl and nanosleep, where the layer calls
 * them. A mutex or a slow disk is not seen.
 *
 * SOAK_RECORD names a FIFO, which no full disk or limit holds up, that gets a
 * line for each event; times are nanoseconds of CLOCK_MONOTONIC.
 *   call PID ASKED              waits in one call, but for others' builds
 *   build PID OWNER START END   for one owner of a build lock, without the time by
 *                               which the machine woke up the thread too late
 *   exit PID ASKED WALL         waits in exit(), and how long that took
 *   held PID PATH               the process stops or kills itself: it has that lock
 *   thread PID                  the layer starts a thread
 * Others say what the process does: SOAK_STOP_AT=n, SOAK_KILL_AT=n at its n-th
 * lock; SOAK_SLOW=MS: the layer takes so long after each lock and unlock, as on a slow
 * disk; SOAK_CLOCK=FIRST:N:SECOND, seconds that are added to the wall clock for N readings, and afterwards.
 */
#ifndef TESTS_STRESS_SOAK_WATCH_H
#define TESTS_STRESS_SOAK_WATCH_H

/* Around each call into OpenCL, on the calling thread. Missing where nothing is preloaded. */
extern void soak_call(void) __attribute__((weak));
extern void soak_called(void) __attribute__((weak));
/* The thread is about to end the process by exit(). */
extern void soak_exit(void) __attribute__((weak));

#endif
