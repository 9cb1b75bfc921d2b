/* SPDX-License-Identifier: MIT */
/*
 * write: write and pwrite that fail where the plain calls would end the process:
 * by SIGXFSZ, where a file may not grow (RLIMIT_FSIZE), and by SIGPIPE. An
 * application that writes no file may not be ended for one of the cache's.
 * Thread-safe; the signals are kept from the calling thread alone, for the
 * length of the call.
 */
#ifndef COMMON_WRITE_H
#define COMMON_WRITE_H

#include <sys/types.h>

/* As write and pwrite: what was written, or -1 with errno. */
ssize_t cmn_write(int fd, const void *data, size_t len);
ssize_t cmn_write_at(int fd, const void *data, size_t len, off_t at);

#endif
