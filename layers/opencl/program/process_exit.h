/* SPDX-License-Identifier: MIT */
/*
 * process_exit: what is left to do when the process ends is done before anything of
 * the driver is taken apart. A driver's threads may still be at work when the
 * application calls exit, and go on while destructors of its libraries run;
 * every millisecond spent after those is one in which they use what is gone.
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
