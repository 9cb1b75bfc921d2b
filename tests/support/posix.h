/* SPDX-License-Identifier: MIT */
/* posix: the headers of C and POSIX that most tests need; a test names only those that are special to it. */
#ifndef TESTS_SUPPORT_POSIX_H
#define TESTS_SUPPORT_POSIX_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#endif
