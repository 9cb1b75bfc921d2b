/* SPDX-License-Identifier: MIT */
/* rebuild_cause: what a difference between two keys is called, for people. */
#ifndef TOOLS_EXPLAIN_REBUILD_CAUSE_H
#define TOOLS_EXPLAIN_REBUILD_CAUSE_H

#include <stddef.h>

#include "tools/explain/key_diff.h"

/* Of each compile the first one counts in the summary. In the order of their weight. */
enum rebuild_cause_kind {
	CAUSE_REMOTE,		/* it was not compiled at all */
	CAUSE_UNATTENDED,	/* nobody waited for it */
	CAUSE_FAILED,		/* it did not compile: there was nothing to be kept */
	CAUSE_BYPASS,
	CAUSE_NOT_STORED,
	CAUSE_READ_ONLY,
	CAUSE_REFUSED,
	CAUSE_DAMAGED,
	CAUSE_REMOTE_REFUSED,
	CAUSE_HEADER,
	CAUSE_EVICTED,
	CAUSE_CLEARED,
	CAUSE_DEFERRED,
	CAUSE_GONE,
	CAUSE_DEVICE,
	CAUSE_DRIVER,
	CAUSE_SOURCE,
	CAUSE_OPTION,
	CAUSE_ENVIRONMENT,
	CAUSE_CONSTANT,
	CAUSE_OTHER,
	CAUSE_FIRST_TIME,
	CAUSE_REMOTE_AWAY,
	CAUSE_KIND_COUNT,
};
const char *rebuild_cause_word(enum rebuild_cause_kind kind);	/* in JSON, as "not-stored" */
const char *rebuild_cause_phrase(enum rebuild_cause_kind kind);	/* in a summary, as "evicted" */

struct rebuild_cause {
	enum rebuild_cause_kind kind;
	char *text;
};
struct rebuild_causes {
	struct rebuild_cause *all;
	size_t count;
};
void rebuild_causes_add(struct rebuild_causes *causes, enum rebuild_cause_kind kind,
			const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The two whole keys' encodings, where they are at hand; empty: not. */
struct rebuild_causes_keys {
	struct cmn_view was, is;
};
/* What the differences come to, the weightiest first. */
void rebuild_causes_of_diff(struct rebuild_causes *causes, const struct key_diff *diff,
			    const struct key_fields *is, const struct rebuild_causes_keys *keys);

#endif
