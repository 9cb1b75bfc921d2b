/* SPDX-License-Identifier: MIT */
/*
 * observer_notes: what the hooks (libc_hooks.c) tell the observer. All leave errno alone.
 * Thread-safe. In a signal handler a note may be lost, which makes the observation unsure.
 */
#ifndef SHARED_OBSERVER_OBSERVER_NOTES_H
#define SHARED_OBSERVER_OBSERVER_NOTES_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "layers/shared/observer/children.h"

/* Whether what this thread does now, called from there, is being observed. */
bool drv_notes_wanted(const void *from);
#define DRV_NOTES_WANTED() drv_notes_wanted(__builtin_return_address(0))

/*
 * The answer to a look at path, by the name that was given, relative to directory (a
 * descriptor, or AT_FDCWD). error: 0 or an errno value; info: of what is there. fd: it was
 * opened, else -1; then the note may sleep for 20 ms until a change of the file would be seen.
 */
void drv_note_look(int directory, const char *path, int error, struct stat *info, int fd);
/* Whether whoever builds has that program within itself (drivers.h): then it does not matter whether it is there. */
bool drv_note_is_within(const char *path);
/* The driver made or wrote what path names, if error is 0. */
void drv_note_write(int directory, const char *path, int error);
/* The driver made a directory, and nothing was there before, if error is 0. */
void drv_note_made(int directory, const char *path, int error);
/* Something is about to be written to a descriptor, whichever it is. */
void drv_note_output(int fd);
/* What lies in a directory was listed. */
void drv_note_listing(const char *path);
/* The name of the working directory was asked for. */
void drv_note_working_directory(void);
/*
 * A program is about to be run in a process of its own: the driver's linker (what was looked at since the
 * last file was made says which one, and how), one of its tools (drivers.h), or another. spawned: that the
 * last one runs.
 */
void drv_note_run(const struct drv_run *run, char *const environment[]);
void drv_note_spawned(pid_t pid);
/* Before a fork: the driver that builds, or NULL if there is nothing to note after it; and then, in both processes. */
const struct drv_driver *drv_note_fork(int ret_ends[2]);
void drv_note_forked(const struct drv_driver *driver, const int ends[2], pid_t pid);
/* Before a vfork, whose child has its parent's memory. */
void drv_note_vfork(void);
/* This process is about to become the program. */
void drv_note_exec(const struct drv_run *run, char *const environment[]);
/* It did not. */
void drv_note_exec_failed(void);
/* A child ended; status is as waitpid gives it, or NULL. */
void drv_note_ended(pid_t pid, const int *status);
/* The observation cannot be relied on; reason is static. */
void drv_note_unsure(const char *reason);
/* Objects may have been loaded. */
void drv_note_loading(void);

#endif
