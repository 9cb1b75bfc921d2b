/* SPDX-License-Identifier: MIT */
/*
 * confine: what a process may still do that has a stranger's program compiled: read what compilers
 * and drivers are made of, write where it is told, use the devices that compute, and start others
 * that may do no more. It reaches no other file, no network, no other process.
 *
 * Landlock (Linux 5.13, where it is enabled) keeps it to these files; what the kernel's version of
 * it leaves out, a filter of system calls does: sockets, modes and owners of files, other processes.
 * Neither needs privileges, and neither can be undone. One thread: threads that run already would
 * not be confined.
 */
#ifndef TOOLS_WORKER_CONFINE_H
#define TOOLS_WORKER_CONFINE_H

#include <stdbool.h>

#include "common/bytes.h"

/* Beside what every compiler needs; paths, each with its NUL. What is not there is passed over. */
struct confine {
	struct cmn_buffer reads;	/* files, or directories with all below */
	struct cmn_buffer writes;	/* directories with all below; they may be read, too */
	bool any_file;			/* without Landlock: all that the user may read and write */
};
void confine_release(struct confine *confine);

/* Whether this kernel can keep a process to files. */
bool confine_is_possible(void);
/* Confines this process, for good, and what it executes. false: it could not, and is to end. */
bool confine_enter(const struct confine *confine);

#endif
