/* SPDX-License-Identifier: MIT */
/* others: statistics, tokens and events, as a process leaves them. */
#include "tests/crash/others.h"

#include <stdio.h>

#include "cachecore/record/recorder.h"
#include "cachecore/key.h"
#include "cachecore/disk/reuse.h"
#include "cachecore/record/totals.h"
#include "cachecore/disk/root.h"
#include "common/clock.h"

bool others_begin(const char *root, uint64_t spent_ns)
{
	char text[64];
	struct cmn_view view = { text, 0 };
	bool done;
	int fd;

	view.len = (size_t)snprintf(text, sizeof(text), "%s %llu\n", cc_counter_name(CC_COMPILE_NS_SPENT),
				    (unsigned long long)spent_ns);
	if (cc_root_make(root, &fd) != CMN_OK)
		return false;
	done = cmn_file_replace(fd, CC_STATS_NAME, view) == CMN_OK;
	(void)close(fd);
	return done;
}

bool others_count(const char *root, uint64_t spent_ns, bool folds)
{
	const struct cc_event miss = { .kind = CC_EVENT_MISS, .reason = "counted", .build_ns = spent_ns };
	struct cc_recorder recorder = { 0 };
	bool done = true;
	int fd;

	cc_recorder_write(&recorder, root, &miss);
	if (!folds)
		return true;
	if (cc_root_open(root, &fd) != CMN_OK)
		return false;
	done = cc_totals_fold(fd, UINT64_MAX) == CMN_OK;
	(void)close(fd);
	return done;
}

bool others_admit(const char *root, unsigned int run)
{
	char source[64], words[CC_REUSE_WORDS_SIZE];
	struct cc_key key;
	bool admitted;

	(void)snprintf(source, sizeof(source), "kernel void f_%08xa1() {}", run * 2654435761u);
	cc_key_init(&key);
	cc_key_add_text(&key, CC_PART_IMAGE, "source", source);
	admitted = cc_reuse_is_likely(root, cc_key_view(&key), run + 1, cmn_clock_realtime(), words);
	cc_key_release(&key);
	return admitted;
}

void others_note(const char *root, unsigned int number)
{
	struct cc_event event = { .kind = CC_EVENT_MISS };
	struct cc_recorder recorder = { 0 };
	char reason[32];
	struct cc_key key;

	(void)snprintf(reason, sizeof(reason), "reason-%u-of-a-crash", number);
	event.reason = reason;
	cc_key_init(&key);
	cc_key_add_u64(&key, CC_PART_IMAGE, "number", number);
	event.key = &key;
	cc_recorder_write(&recorder, root, &event);
	cc_key_release(&key);
}

struct noted {
	unsigned int count;
	int found;
};

static void see_event(void *ctx, const struct cc_event_record *event)
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
	const struct cc_events_reader reader = { .event = see_event, .ctx = &noted };

	if (cc_events_read(root, CMN_FILE_TRUSTED, &reader) != CMN_OK)
		return -1;
	return noted.found;
}
