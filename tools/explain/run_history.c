/* SPDX-License-Identifier: MIT */
/* run_history: what the history's files hold, copied into arrays. */
#include "tools/explain/run_history.h"

#include <stdlib.h>
#include <string.h>

static void note_part(void *ctx, const struct cmn_hash *hash, struct cmn_view summary)
{
	struct run_history *history = ctx;
	struct run_history_part *parts = cmn_array_grow(history->parts, history->part_count,
							sizeof(*parts)), *part;

	history->failed |= !parts;
	if (!parts)
		return;
	history->parts = parts;
	part = &parts[history->part_count++];
	*part = (struct run_history_part){ .hash = *hash };
	cmn_buffer_append(&part->summary, summary.data, summary.len);
	history->failed |= part->summary.failed;
}

static char *copy_view(struct run_history *history, struct cmn_view view)
{
	char *copy = strndup(view.len ? view.data : "", view.len);

	history->failed |= !copy;
	return copy;
}

static void entry_dir_of(const struct cmn_hash parts[CC_PART_COUNT], char ret[CC_ENTRY_DIR_PATH_SIZE])
{
	static const struct cmn_hash none[CC_PART_COUNT];

	ret[0] = '\0';
	if (memcmp(parts, none, sizeof(none)) == 0)
		return;
	for (size_t i = 0; i < CC_PART_COUNT; i++) {
		cmn_hash_hex(&parts[i], ret + i * CMN_HASH_HEX_SIZE);
		ret[(i + 1) * CMN_HASH_HEX_SIZE - 1] = i + 1 < CC_PART_COUNT ? '/' : '\0';
	}
}

/* The last run is that of the last look-up. */
static void note_run(struct run_history *history, const struct cc_event_record *event)
{
	struct run_history_run *run = &history->last_run;

	if (run->pid != event->pid || run->start_ns != event->start_ns) {
		*run = (struct run_history_run){ .pid = event->pid, .start_ns = event->start_ns,
						 .time_ns = event->time_ns };
		memcpy(run->program, event->program.data,
		       event->program.len < sizeof(run->program) ? event->program.len : sizeof(run->program) - 1);
	}
	if (cc_event_is_hit(event->kind))
		run->hits += event->count;
	else
		run->compiled = true;
}

static bool is_compile(enum cc_event_kind kind)
{
	return kind == CC_EVENT_MISS || kind == CC_EVENT_BYPASS || kind == CC_EVENT_UNATTENDED ||
	       kind == CC_EVENT_FAILED;
}

static void note_event(void *ctx, const struct cc_event_record *event)
{
	struct run_history *history = ctx;
	struct run_history_event *events, *copy;

	if (cc_event_is_hit(event->kind) || (is_compile(event->kind) && !event->unattended))
		note_run(history, event);
	if (cc_event_is_short(event->kind))
		return;
	events = cmn_array_grow(history->events, history->event_count, sizeof(*events));
	history->failed |= !events;
	if (!events)
		return;
	history->events = events;
	copy = &events[history->event_count++];
	*copy = (struct run_history_event){
		.place = history->event_count + history->eviction_count,
		.kind = event->kind, .unattended = event->unattended,
		.pid = event->pid, .start_ns = event->start_ns,
		.time_ns = event->time_ns, .build_ns = event->build_ns,
		.program = copy_view(history, event->program),
		.reason = copy_view(history, event->reason),
		.detail = copy_view(history, event->detail), .name = copy_view(history,
									       event->name),
	};
	memcpy(copy->parts, event->parts, sizeof(copy->parts));
	entry_dir_of(copy->parts, copy->entry_dir);
}

static void note_eviction(void *ctx, enum cc_removal_cause cause, uint64_t time_ns, uint64_t entry_dir)
{
	struct run_history *history = ctx;
	struct run_history_eviction *evictions = cmn_array_grow(history->evictions,
								history->eviction_count,
							 sizeof(*evictions));

	history->failed |= !evictions;
	if (!evictions)
		return;
	history->evictions = evictions;
	evictions[history->eviction_count] = (struct run_history_eviction){
		history->event_count + history->eviction_count + 1, cause, time_ns, entry_dir,
	};
	history->eviction_count++;
}

static int compare_parts(const void *a, const void *b)
{
	const struct run_history_part *one = a, *two = b;

	return memcmp(one->hash.bytes, two->hash.bytes, CMN_HASH_SIZE);
}

enum cmn_status run_history_load(const char *root, enum cmn_file_trust trust,
				 struct run_history *ret)
{
	struct cc_events_reader reader = { note_part, note_event, note_eviction, ret };
	enum cmn_status status;

	*ret = (struct run_history){ 0 };
	status = cc_events_read(root, trust, &reader);
	if (ret->part_count)
		qsort(ret->parts, ret->part_count, sizeof(*ret->parts), compare_parts);
	return status == CMN_OK && ret->failed ? CMN_ERR_NOMEM : status;
}

void run_history_release(struct run_history *history)
{
	for (size_t i = 0; i < history->event_count; i++) {
		free(history->events[i].program);
		free(history->events[i].reason);
		free(history->events[i].detail);
		free(history->events[i].name);
	}
	for (size_t i = 0; i < history->part_count; i++)
		cmn_buffer_release(&history->parts[i].summary);
	free(history->events);
	free(history->parts);
	free(history->evictions);
	*history = (struct run_history){ 0 };
}

bool run_history_summary(const struct run_history *history, const struct run_history_event *event,
			 struct cmn_buffer *buf)
{
	bool complete = event->entry_dir[0] != '\0';

	for (size_t i = 0; complete && i < CC_PART_COUNT; i++) {
		const struct run_history_part wanted = { .hash = event->parts[i] };
		const struct run_history_part *part = history->part_count ?
			bsearch(&wanted, history->parts, history->part_count, sizeof(wanted),
				compare_parts) : NULL;

		complete = part != NULL;
		if (part)
			cmn_buffer_append(buf, part->summary.data, part->summary.len);
	}
	return complete && !buf->failed;
}

bool run_history_same_run(const struct run_history_event *a, const struct run_history_event *b)
{
	return a->pid == b->pid && a->start_ns == b->start_ns;
}

bool run_history_is_compile(const struct run_history_event *event)
{
	return is_compile(event->kind);
}

const struct run_history_event *run_history_find_arrival(const struct run_history *history,
							 const char *path)
{
	const struct run_history_event *found = NULL;

	for (size_t i = 0; i < history->event_count; i++) {
		const struct run_history_event *one = &history->events[i];

		if (*one->program && *one->entry_dir && strncmp(path, one->entry_dir, strlen(one->entry_dir)) == 0 &&
		    (one->kind == CC_EVENT_MISS || one->kind == CC_EVENT_REMOTE ||
		     one->kind == CC_EVENT_UNATTENDED))
			found = one;
	}
	return found;
}

const struct run_history_eviction *run_history_find_eviction(const struct run_history *history,
							     const struct run_history_event *event)
{
	const struct run_history_eviction *found = NULL;
	uint64_t number = cc_events_entry_dir(event->entry_dir);

	for (size_t i = 0; i < history->eviction_count; i++) {
		const struct run_history_eviction *one = &history->evictions[i];

		if (one->entry_dir == number && run_history_is_before(one->place, one->time_ns, event))
			found = one;
	}
	return found;
}
