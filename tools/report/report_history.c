/* SPDX-License-Identifier: MIT */
/* report_history: what the root's history has, counted by what and why. */
#include "tools/report/report_data.h"

#include <stdlib.h>
#include <string.h>

#include "cachecore/record/events.h"
#include "tools/memory.h"

/* In the order of cc_event_kind; NULL: its reason says more than it. */
static const char *const kinds[] = {
	[CC_EVENT_MISS] = "compiled",
	[CC_EVENT_BYPASS] = "not cached",
	[CC_EVENT_NOT_STORED] = "not stored",
	[CC_EVENT_REFUSED] = "the driver refused a stored binary",
	[CC_EVENT_DAMAGED] = "an entry was found damaged",
	[CC_EVENT_CHANGED] = "a header had changed",
	[CC_EVENT_CLEARED] = "the cache was cleared",
	[CC_EVENT_REMOTE] = "came from the remote tier",
	[CC_EVENT_REMOTE_REFUSED] = "an entry of the remote tier was refused",
	[CC_EVENT_REMOTE_AWAY] = "the remote tier was left alone",
	[CC_EVENT_UNATTENDED] = "compiled while nobody waited",
	[CC_EVENT_FAILED] = "did not compile",
};

static struct report_event *find_event(struct report_data *data, const char *what,
				       struct cmn_view word)
{
	struct report_event *found;

	for (size_t i = 0; i < data->event_count; i++) {
		if (data->events[i].what == what &&
		    cmn_view_equal(cmn_view_of(data->events[i].word), word))
			return &data->events[i];
	}
	memory_grow(data->events, data->event_count);
	found = &data->events[data->event_count++];
	*found = (struct report_event){ .what = what, .word = word.len ? memory_copy_view(word) : NULL };
	return found;
}

static void see_time(struct report_data *data, uint64_t time_ns)
{
	if (!data->history_ns || time_ns < data->history_ns)
		data->history_ns = time_ns;
}

static void add_event(void *ctx, const struct cc_event_record *event)
{
	const size_t max_words = 64;	/* there are some fifty; a damaged file has more */
	struct report_data *data = ctx;
	struct cmn_view word = event->reason;
	struct report_event *found;

	if (cc_event_is_short(event->kind))
		return;
	if (data->event_count >= max_words || word.len > 48)
		word = (struct cmn_view){ 0 };
	found = find_event(data, kinds[event->kind], word);
	found->count++;
	if (found->last_ns < event->time_ns)
		found->last_ns = event->time_ns;
	see_time(data, event->time_ns);
}

static void add_removed(void *ctx, enum cc_removal_cause cause, uint64_t time_ns, uint64_t entry_dir)
{
	struct report_data *data = ctx;

	(void)entry_dir;
	if ((cause == CC_REMOVED_BY_SIZE || cause == CC_REMOVED_BY_AGE) && data->last_eviction_ns < time_ns)
		data->last_eviction_ns = time_ns;
	data->evicted_by_size += cause == CC_REMOVED_BY_SIZE;
	data->evicted_by_age += cause == CC_REMOVED_BY_AGE;
	see_time(data, time_ns);
}

static int by_count(const void *a, const void *b)
{
	const struct report_event *one = a, *two = b;

	if (one->count != two->count)
		return one->count < two->count ? 1 : -1;
	return one->last_ns < two->last_ns ? 1 : one->last_ns > two->last_ns ? -1 : 0;
}

void report_history_add(struct report_data *data, enum cmn_file_trust trust)
{
	const struct cc_events_reader reader = {
		.event = add_event, .removed = add_removed, .ctx = data,
	};

	/* As far as it can be read; what is there was counted. */
	if (cc_events_read(data->config->dir, trust, &reader) != CMN_OK)
		return;
	if (data->event_count)
		qsort(data->events, data->event_count, sizeof(*data->events), by_count);
}
