/* SPDX-License-Identifier: MIT */
/*
 * trace: one JSON object per line and event, appended to the file that
 * CKCACHE_TRACE names, for people and scripts that ask why. Each line is one
 * O_APPEND write, so that processes may share the file, which is open for that
 * write alone. Thread-safe. A trace that cannot be written says so once and
 * stays silent.
 */
#ifndef CACHECORE_RECORD_TRACE_H
#define CACHECORE_RECORD_TRACE_H

#include "cachecore/record/event.h"
#include "common/log.h"

struct cc_trace;

/* path: absolute. NULL on any failure, which goes to log: the functions below take NULL and do nothing. */
struct cc_trace *cc_trace_open(const char *path, const struct cmn_log *log);
void cc_trace_close(struct cc_trace *trace);

/* Hits, builds, and binaries that the driver refused; of other events there is no line. */
void cc_trace_write(struct cc_trace *trace, const struct cc_event *event);

#endif
