/* SPDX-License-Identifier: MIT */
/*
 * stub_files: the two files by which a test and a stub driver talk: settings,
 * NAME=value lines that the driver reads at each use, so that a test can change
 * them without changing the environment; and counts, one line for each event.
 */
#ifndef TESTS_SUPPORT_STUB_FILES_H
#define TESTS_SUPPORT_STUB_FILES_H

#include "tests/support/posix.h"

enum stub_file { STUB_FILE_SETTINGS, STUB_FILE_COUNTS };
enum { STUB_PATH_SIZE = 4096 };

/*
 * open, fopen and access, which a layer that watches the stub's calls does not
 * see: what a test tells it is no file that it compiles.
 */
int stub_unseen_open(const char *path, int flags, unsigned int mode);
void *stub_unseen_fopen(const char *path, const char *mode);
int stub_unseen_access(const char *path, int mode);

/* Each stub's own: where the file is, perhaps in room; NULL: there is none. */
const char *stub_file_path(enum stub_file file, char room[STUB_PATH_SIZE]);

/*
 * The setting's value copied to text, cut if need be: of the file's last line of
 * that name, else of the environment, else "". true if it is neither "" nor "0".
 */
bool stub_setting(const char *name, char *text, size_t size);
bool stub_is_set(const char *name);
/* Where the setting is NAME=VALUE, sets that variable of the process, the first time. */
void stub_set_variable(const char *name);

/* Appends the line to the counts, in one write, if there is such a file or it can be made. */
void stub_count_line(const char *line, size_t len);

#endif
