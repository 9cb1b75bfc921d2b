/* SPDX-License-Identifier: MIT */
/*
 * event_text: the line of CKCACHE_LOG of an event: of each build at info, of what a look-up came
 * across at debug. Thread-safe.
 */
#ifndef CACHECORE_RECORD_EVENT_TEXT_H
#define CACHECORE_RECORD_EVENT_TEXT_H

#include "cachecore/record/event.h"
#include "common/log.h"

/* Says nothing of what the log (NULL: none) does not want. */
void cc_event_say(const struct cmn_log *log, const struct cc_event *event);

#endif
