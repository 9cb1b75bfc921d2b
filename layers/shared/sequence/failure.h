/* SPDX-License-Identifier: MIT */
/* failure: what a driver says of a build that failed, in one line for people. Pure; knows no API's types. */
#ifndef SHARED_SEQUENCE_FAILURE_H
#define SHARED_SEQUENCE_FAILURE_H

#include "common/bytes.h"

/*
 * "-11: error: use of undeclared identifier 'x' (1:36)": the code, and of the build log the first line
 * with an error, else the first one that is not blank, cut and without control characters. log may be
 * empty. On the heap; NULL: no memory.
 */
char *drv_failure_text(const char *code, struct cmn_view log);

#endif
