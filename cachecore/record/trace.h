/* SPDX-License-Identifier: MIT */
/*
 * trace: one JSON object per line and event, appended to the file that
 * CKCACHE_TRACE names, for people and scripts that ask why. Each line is one
 * O_APPEND write, so that processes may share the file. Thread-safe. A trace
 * that cannot be written, or was closed by the application, says so once and
 * stays silent.
 */
#ifndef CACHECORE_RECORD_TRACE_H
#define CACHECORE_RECORD_TRACE_H

#include <stdint.h>

#include "cachecore/key.h"
#include "common/log.h"
#include "common/status.h"

struct cc_trace;

/* NULL on any failure, which goes to log: every function below takes NULL and does nothing. */
struct cc_trace *cc_trace_open(const char *path, const struct cmn_log *log);
void cc_trace_close(struct cc_trace *trace);

struct cc_trace_event {
	const char *what;	/* "hit-memory", "hit-disk", "miss", "bypass", "store", "error" */
	const char *reason;	/* NULL: none */
	const char *failure;	/* what the driver said of a build that failed; NULL: none did */
	const struct cc_key *key;	/* NULL: none; long values are shown as size and hash */
	uint64_t lookup_ns;	/* time in the cache */
	uint64_t build_ns;	/* time in the driver, or saved */
	uint64_t bytes;		/* of the result */
};
void cc_trace_write(struct cc_trace *trace, const struct cc_trace_event *event);

#endif
