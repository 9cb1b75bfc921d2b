/* SPDX-License-Identifier: MIT */
/* others: statistics, tokens and history, as a process leaves them. */
#include "tests/crash/others.h"

#include <stdio.h>

#include "cachecore/record/history.h"
#include "cachecore/key.h"
#include "cachecore/disk/nonce.h"
#include "cachecore/record/stats.h"
#include "common/clock.h"

bool others_count(const char *root, uint64_t misses, bool merges, struct cc_stats_place *place)
{
	struct cc_stats *stats = cc_stats_new();
	bool done;

	if (!stats)
		return false;
	cc_stats_add(stats, CC_MISSES, misses);
	cc_stats_add(stats, CC_HITS_REMOTE, merges);	/* the log has no place for it */
	cc_stats_bypass(stats, "crash");
	done = cc_stats_flush(stats, root, -1, place, UINT64_MAX) == CMN_OK;
	cc_stats_free(stats);
	return done;
}

bool others_admit(const char *root, unsigned int run)
{
	char source[64];
	struct cc_key key;
	bool admitted;

	(void)snprintf(source, sizeof(source), "kernel void f_%08xa1() {}", run * 2654435761u);
	cc_key_init(&key);
	cc_key_add_text(&key, CC_PART_IMAGE, "source", source);
	admitted = cc_nonce_admits(root, cc_key_view(&key), run + 1, cmn_clock_realtime());
	cc_key_release(&key);
	return admitted;
}

void others_note(const char *root, unsigned int number)
{
	struct cc_history_note note = { .kind = CC_HISTORY_MISS };
	struct cc_history history = { 0 };
	char reason[32];
	struct cc_key key;

	(void)snprintf(reason, sizeof(reason), "reason-%u-of-a-crash", number);
	note.reason = reason;
	cc_key_init(&key);
	cc_key_add_u64(&key, CC_PART_IMAGE, "number", number);
	note.key = &key;
	cc_history_write(&history, root, &note);
	cc_key_release(&key);
}

struct noted {
	unsigned int count;
	int found;
};

static void see_event(void *ctx, const struct cc_history_event *event)
{
	struct noted *noted = ctx;
	char reason[32];
	bool known = false;

	for (unsigned int i = 0; i < noted->count && !known; i++) {
		(void)snprintf(reason, sizeof(reason), "reason-%u-of-a-crash", i);
		known = cmn_view_equal(event->reason, cmn_view_of(reason));
	}
	noted->found = known && noted->found >= 0 ? noted->found + 1 : -1;
}

int others_noted(const char *root, unsigned int count)
{
	struct noted noted = { count, 0 };
	const struct cc_history_reader reader = { .event = see_event, .ctx = &noted };

	if (cc_history_read(root, CMN_FILE_TRUSTED, &reader) != CMN_OK)
		return -1;
	return noted.found;
}
