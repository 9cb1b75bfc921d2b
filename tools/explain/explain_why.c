/* SPDX-License-Identifier: MIT */
/*
 * explain_why: what happened to a key before it was compiled, and after; where
 * nothing did, what differs from the nearest one.
 */
#include "tools/explain/explain.h"

#include <stdlib.h>
#include <string.h>

#include "tools/explain/run_history.h"
#include "tools/memory.h"
#include "tools/text.h"

/* For so long the cache leaves a remote tier alone (cachecore/remote/node.h), and says so once. */
#define AWAY_NS (UINT64_C(60) * 1000000000)

static void add_loss(struct rebuild_causes *causes, const struct run_history_event *event,
		     const char *when)
{
	const char *sentence = reason_of_loss(event->reason);
	char size[TEXT_SIZE];

	if (strcmp(event->reason, "max_device_image_size") == 0)
		rebuild_causes_add(causes, CAUSE_NOT_STORED,
				   "not stored%s: image of %s is over CKCACHE_MAX_DEVICE_IMAGE_SIZE", when,
				   text_bytes(strtoull(event->detail, NULL, 10), size));
	else if (strcmp(event->reason, "min_device_image_size") == 0)
		rebuild_causes_add(causes, CAUSE_NOT_STORED,
				   "not stored%s: image of %s is under CKCACHE_MIN_DEVICE_IMAGE_SIZE", when,
				   text_bytes(strtoull(event->detail, NULL, 10), size));
	else
		rebuild_causes_add(causes, CAUSE_NOT_STORED, "not stored%s: %s", when,
				   sentence ? sentence : event->reason);
}

/* The last event that suits what is asked about; NULL: none. */
static const struct run_history_event *find_last(const struct run_history *history,
						 const struct run_history_event *event, enum cc_event_kind kind,
						 bool (*suits)(const struct run_history_event *one,
							       const struct run_history_event *event,
							       enum cc_event_kind kind))
{
	const struct run_history_event *found = NULL;

	for (size_t i = 0; i < history->event_count; i++) {
		if (suits(&history->events[i], event, kind))
			found = &history->events[i];
	}
	return found;
}

static bool is_before(const struct run_history_event *one, const struct run_history_event *event)
{
	return run_history_is_before(one->place, one->time_ns, event);
}

static bool is_of_key(const struct run_history_event *one, const struct run_history_event *event)
{
	return event->entry_dir[0] && strcmp(one->entry_dir, event->entry_dir) == 0;
}

/*
 * About the key in its own run: what its look-up found, before it was compiled; what became of the result, at
 * any time, since the writer may be through with it before the compile is counted.
 */
static bool is_own(const struct run_history_event *one, const struct run_history_event *event,
		   enum cc_event_kind kind)
{
	return one->kind == kind && run_history_same_run(one, event) && is_of_key(one, event) &&
	       (kind == CC_EVENT_NOT_STORED || is_before(one, event));
}

static const struct run_history_event *find_own(const struct run_history *history,
						const struct run_history_event *event, enum cc_event_kind kind)
{
	return find_last(history, event, kind, is_own);
}

/* The same was compiled, or came from the remote tier, by another run. */
static bool is_former(const struct run_history_event *one, const struct run_history_event *event,
		      enum cc_event_kind kind)
{
	(void)kind;
	return (one->kind == CC_EVENT_MISS || one->kind == CC_EVENT_REMOTE || one->kind == CC_EVENT_UNATTENDED) &&
	       is_before(one, event) && !run_history_same_run(one, event) && is_of_key(one, event);
}

/* Everything was removed. */
static bool is_clearing(const struct run_history_event *one, const struct run_history_event *event,
			enum cc_event_kind kind)
{
	return one->kind == kind && is_before(one, event);
}

/* The run left the remote tier alone when it looked this up. */
static bool is_absence(const struct run_history_event *one, const struct run_history_event *event,
		       enum cc_event_kind kind)
{
	return one->kind == kind && run_history_same_run(one, event) && one->time_ns <= event->time_ns &&
	       event->time_ns - one->time_ns <= AWAY_NS + event->build_ns;
}

static void add_header_change(struct rebuild_causes *causes, const struct run_history_event *change)
{
	const char *path = change->detail, *name = basename(path);

	if (strcmp(change->reason, "appeared") == 0)
		rebuild_causes_add(causes, CAUSE_HEADER,
				   "header %s appeared where the compiler looks for it first (%s)", name, path);
	else if (strcmp(change->reason, "vanished") == 0)
		rebuild_causes_add(causes, CAUSE_HEADER, "header %s is gone (%s)", name, path);
	else if (strcmp(change->reason, "directory") == 0)
		rebuild_causes_add(causes, CAUSE_HEADER, "the working directory differs (was %s)", path);
	else
		rebuild_causes_add(causes, CAUSE_HEADER, "header %s changed (%s)", name, path);
}

/* What its own look-up came across. */
static void add_findings(const struct explanation *explanation, struct question *question)
{
	const struct run_history *history = explanation->history;
	const struct run_history_event *event = &question->event, *found;
	struct rebuild_causes *causes = &question->causes;

	if (find_own(history, event, CC_EVENT_REFUSED))
		rebuild_causes_add(causes, CAUSE_REFUSED,
				   "refused by the driver: the stored binary was removed");
	found = find_own(history, event, CC_EVENT_DAMAGED);
	if (found)
		rebuild_causes_add(causes, CAUSE_DAMAGED, "entry was %s, and removed",
				   strcmp(found->reason, "access") == 0 ? "one that others may write to, or could not be read" : "damaged");
	found = find_own(history, event, CC_EVENT_CHANGED);
	if (found)
		add_header_change(causes, found);
	found = find_own(history, event, CC_EVENT_REMOTE_REFUSED);
	if (found)
		rebuild_causes_add(causes, CAUSE_REMOTE_REFUSED, "the remote tier had an entry, but %s",
				   found->detail);
}

static void add_absence(const struct explanation *explanation, struct question *question)
{
	const struct run_history_event *found = find_last(explanation->history, &question->event,
							  CC_EVENT_REMOTE_AWAY, is_absence);

	if (found)
		rebuild_causes_add(&question->causes, CAUSE_REMOTE_AWAY, "the remote tier was left alone: %s",
				   found->detail);
}

/* It was not compiled here. */
static void add_source(struct question *question)
{
	const char *signer = question->event.detail;

	if (*signer)
		rebuild_causes_add(&question->causes, CAUSE_REMOTE, "came from %s, signed by %s",
				   question->event.reason, signer);
	else
		rebuild_causes_add(&question->causes, CAUSE_REMOTE, "came from %s, not signed",
				   question->event.reason);
}

/* The verb of a removal, and by what. */
static const struct {
	enum rebuild_cause_kind kind;
	const char *verb, *by;
} removals[CC_REMOVED_CAUSE_COUNT] = {
	[CC_REMOVED_BY_SIZE] = { CAUSE_EVICTED, "evicted", "size (CKCACHE_MAX_SIZE)" },
	[CC_REMOVED_BY_AGE] = { CAUSE_EVICTED, "evicted", "age (CKCACHE_THRESHOLD)" },
	[CC_REMOVED_BY_CLEAR] = { CAUSE_CLEARED, "removed", "ckcache clear" },
	[CC_REMOVED_BY_PRUNE] = { CAUSE_CLEARED, "removed", "ckcache prune" },
	[CC_REMOVED_BY_SUCCESSOR] = { CAUSE_CLEARED, "removed",
				   "ckcache replay --stale, since its driver was replaced" },
};

/* What became of an entry that there was. */
static void add_fate(const struct explanation *explanation, struct question *question)
{
	const struct run_history *history = explanation->history;
	const struct run_history_event *event = &question->event, *loss;
	const struct run_history_event *former = find_last(history, event, CC_EVENT_MISS, is_former);
	const struct run_history_eviction *eviction = event->entry_dir[0] ?
		run_history_find_eviction(history, event) : NULL;
	const struct run_history_event *cleared = find_last(history, event, CC_EVENT_CLEARED, is_clearing);
	struct rebuild_causes *causes = &question->causes;
	char date[TEXT_SIZE];

	/* Between the two. */
	if (!former || (cleared && cleared->place <= former->place))
		cleared = NULL;
	loss = former ? find_own(history, former, CC_EVENT_NOT_STORED) : NULL;
	if (eviction && (!cleared || eviction->place > cleared->place) &&
	    (!former || eviction->place > former->place))
		rebuild_causes_add(causes, removals[eviction->cause].kind, "%s %s by %s",
				   removals[eviction->cause].verb, text_date(eviction->time_ns, false, date),
				   removals[eviction->cause].by);
	else if (cleared)
		rebuild_causes_add(causes, CAUSE_CLEARED, "removed %s by ckcache clear",
				   text_date(cleared->time_ns, false, date));
	else if (loss)
		add_loss(causes, loss, " the last time");
	else if (former && strcmp(former->reason, "deferred") == 0)
		rebuild_causes_add(causes, CAUSE_DEFERRED, "ckcache replay has not built it yet");
	else if (former)
		rebuild_causes_add(causes, CAUSE_GONE, "the entry of %s is gone, or was never written",
				   text_date(former->time_ns, false, date));
}

static void compare(struct question *question)
{
	const struct rebuild_causes_keys keys = {
		cmn_buffer_view(&question->nearest_key), cmn_buffer_view(&question->key),
	};

	if (!question->has_nearest) {
		rebuild_causes_add(&question->causes, CAUSE_FIRST_TIME,
				   question->has_summary ? "first time: nothing similar is stored" : "first time, as far as is known");
		return;
	}
	key_fields_read(cmn_buffer_view(&question->nearest_summary), &question->nearest_fields);
	key_diff_make(&question->nearest_fields, &question->fields, &question->diff);
	rebuild_causes_of_diff(&question->causes, &question->diff, &question->fields, &keys);
}

static void add_bypass(struct question *question)
{
	const char *word = question->event.reason, *sentence = reason_of_bypass(word);

	rebuild_causes_add(&question->causes, CAUSE_BYPASS, "not cached: %s%s%s%s", sentence ? sentence : word,
			   sentence ? " (" : "", sentence ? word : "", sentence ? ")" : "");
}

/* detail: the driver's code, and behind a colon what it says. Why it would not have been kept either is no news. */
static void add_failure(struct question *question)
{
	const char *detail = question->event.detail;
	int code = (int)strcspn(detail, ":");

	rebuild_causes_add(&question->causes, CAUSE_FAILED, "did not compile%s%.*s%s%s", *detail ? " (" : "",
			   code, detail, *detail ? ")" : "", detail + code);
	if (question->remembered)
		rebuild_causes_add(&question->causes, CAUSE_FAILED,
				   "a remembered failure: once two processes have seen it, others get it from the cache for a day");
}

static void answer(const struct explanation *explanation, struct question *question)
{
	const struct run_history_event *event = &question->event, *loss;
	struct rebuild_causes *causes = &question->causes;
	size_t before;

	if (event->kind == CC_EVENT_BYPASS) {
		add_bypass(question);
		return;
	}
	if (event->kind == CC_EVENT_FAILED) {
		add_failure(question);
		return;
	}
	if (event->kind == CC_EVENT_REMOTE) {
		add_source(question);
		return;
	}
	loss = find_own(explanation->history, event, CC_EVENT_NOT_STORED);
	if (loss)
		add_loss(causes, loss, "");
	if (event->kind == CC_EVENT_UNATTENDED) {
		rebuild_causes_add(causes, CAUSE_UNATTENDED, "compiled while nobody waited, by ckcache replay");
		return;
	}
	if (strcmp(event->reason, "read-only") == 0)
		rebuild_causes_add(causes, CAUSE_READ_ONLY,
				   "read-only: CKCACHE_READ_ONLY=1, nothing is stored");
	before = causes->count;
	add_findings(explanation, question);
	if (causes->count == before)
		add_fate(explanation, question);
	if (causes->count == before)
		compare(question);
	add_absence(explanation, question);
	if (strcmp(event->reason, "deferred") == 0)
		rebuild_causes_add(causes, CAUSE_DEFERRED,
				   "left to ckcache replay: the driver's own cache had it, or gives binaries late");
}

static void find_device(struct question *question)
{
	const struct cc_key_summary_field *name = key_fields_find(&question->fields, "device.name");
	struct cmn_buffer text = { 0 };

	if (!name)
		return;
	key_field_append_value(&text, name, 64);
	question->device = memory_string(&text);
}

void explain_why(struct explanation *explanation)
{
	for (size_t i = 0; i < explanation->count; i++) {
		find_device(&explanation->questions[i]);
		answer(explanation, &explanation->questions[i]);
	}
}
