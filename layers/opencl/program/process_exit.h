/* SPDX-License-Identifier: MIT */
/*
 * process_exit: runs what is pending when the process ends, before anything of the
 * driver is torn down. A driver's threads may still work when the application
 * calls exit, and continue while destructors of its libraries run; every
 * millisecond spent after those is one in which these threads use freed objects.
 *
 * exit() first runs the destructors of its caller's thread-local objects, then
 * exit handlers, static objects' destructors among them (glibc's exit.c). So
 * one is registered for the main thread. Where another thread calls exit, the
 * layer's library destructor remains.
 */
#ifndef OPENCL_PROGRAM_PROCESS_EXIT_H
#define OPENCL_PROGRAM_PROCESS_EXIT_H

/* From hooks that the main thread may be in; costs a load once it was. */
void ocl_process_exit_watch(void);

#endif
