/* SPDX-License-Identifier: MIT */
/*
 * bundle_file: opens a bundle for reading. A bundle is read twice, so input that is not a
 * regular file (standard input, a pipe) is first copied to an unnamed temporary file.
 */
#ifndef TOOLS_BUNDLE_BUNDLE_FILE_H
#define TOOLS_BUNDLE_BUNDLE_FILE_H

#include <stdint.h>

/* A regular file, for close, and its size. file: "-" is standard input. -1: complained about. */
int bundle_file_open(const char *file, uint64_t *ret_size);

#endif
