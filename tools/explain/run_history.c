/* SPDX-License-Identifier: MIT */
/* run_history: what the history's files hold, copied into arrays. */
#include "tools/explain/run_history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/memory.h"

static void note_part(void *ctx, const struct cmn_hash *hash, struct cmn_view summary)
{
	struct run_history *history = ctx;

	memory_grow(history->parts, history->part_count);
	history->parts[history->part_count++] = (struct run_history_part){
		*hash, memory_copy_bytes(summary),
	};
}

static void entry_dir_of(const struct cmn_hash parts[CC_PART_COUNT], char ret[CC_ENTRY_DIR_PATH_SIZE])
{
	static const struct cmn_hash none[CC_PART_COUNT];

	ret[0] = '\0';
	if (memcmp(parts, none, sizeof(none)) == 0)
		return;
	cc_entry_dir_path_by(parts, ret);
}

/* The last run is that of the last look-up. */
static void note_run(struct run_history *history, const struct cc_event_record *event)
{
	struct run_history_run *run = &history->last_run;

	if (run->pid != event->pid || run->start_ns != event->start_ns) {
		*run = (struct run_history_run){ .pid = event->pid, .start_ns = event->start_ns,
						 .time_ns = event->time_ns };
		(void)snprintf(run->program, sizeof(run->program), "%.*s", (int)event->program.len,
			       (const char *)event->program.data);	/* cut, if at all */
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
	struct run_history_event *copy;

	if (cc_event_is_hit(event->kind) || (is_compile(event->kind) && !event->unattended))
		note_run(history, event);
	if (cc_event_is_short(event->kind))
		return;
	memory_grow(history->events, history->event_count);
	copy = &history->events[history->event_count++];
	*copy = (struct run_history_event){
		.place = history->event_count + history->eviction_count,
		.kind = event->kind, .unattended = event->unattended,
		.pid = event->pid, .start_ns = event->start_ns,
		.time_ns = event->time_ns, .build_ns = event->build_ns,
		.program = memory_copy_view(event->program),
		.reason = memory_copy_view(event->reason),
		.detail = memory_copy_view(event->detail), .name = memory_copy_view(event->name),
	};
	memcpy(copy->parts, event->parts, sizeof(copy->parts));
	entry_dir_of(copy->parts, copy->entry_dir);
}

static void note_eviction(void *ctx, enum cc_removal_cause cause, uint64_t time_ns, uint64_t entry_dir)
{
	struct run_history *history = ctx;
	size_t place = history->event_count + history->eviction_count + 1;

	memory_grow(history->evictions, history->eviction_count);
	history->evictions[history->eviction_count++] = (struct run_history_eviction){
		place, cause, time_ns, entry_dir,
	};
}

static int compare_parts(const void *a, const void *b)
{
	const struct run_history_part *one = a, *two = b;

	return memcmp(one->hash.bytes, two->hash.bytes, CMN_HASH_SIZE);
}

/* Events of one entry directory stay in their order: they are of one array. */
static int compare_arrivals(const void *a, const void *b)
{
	const struct run_history_event *one = *(const struct run_history_event *const *)a;
	const struct run_history_event *two = *(const struct run_history_event *const *)b;
	int order = strcmp(one->entry_dir, two->entry_dir);

	return order ? order : one < two ? -1 : one > two;
}

static void sort_arrivals(struct run_history *history)
{
	history->arrivals = memory_new(history->event_count, sizeof(*history->arrivals));
	for (size_t i = 0; i < history->event_count; i++) {
		const struct run_history_event *one = &history->events[i];

		if (*one->program && *one->entry_dir &&
		    (one->kind == CC_EVENT_MISS || one->kind == CC_EVENT_REMOTE ||
		     one->kind == CC_EVENT_UNATTENDED))
			history->arrivals[history->arrival_count++] = one;
	}
	qsort(history->arrivals, history->arrival_count, sizeof(*history->arrivals), compare_arrivals);
}

enum cmn_status run_history_load(const struct cc_store *store, const struct run_history **ret)
{
	static struct run_history history;
	const struct cc_events_reader reader = { note_part, note_event, note_eviction, &history };
	enum cmn_status status = cc_events_read(cc_store_root(store), cc_store_trust(store), &reader);

	if (history.part_count)
		qsort(history.parts, history.part_count, sizeof(*history.parts), compare_parts);
	sort_arrivals(&history);
	*ret = &history;
	return status;
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

/* The first arrival behind those of lesser entry directories, and of that one too if after. */
static size_t find(const struct run_history *history, const char *path, bool after)
{
	size_t low = 0, high = history->arrival_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strncmp(history->arrivals[middle]->entry_dir, path, CC_ENTRY_DIR_PATH_SIZE - 1);

		if (order < 0 || (after && order == 0))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct run_history_event *run_history_find_arrival(const struct run_history *history,
							 const char *path)
{
	size_t end = find(history, path, true);

	return end > find(history, path, false) ? history->arrivals[end - 1] : NULL;
}

bool run_history_came_for(const struct run_history *history, const char *path, const char *program)
{
	size_t end = find(history, path, true);

	for (size_t i = find(history, path, false); i < end; i++) {
		if (strcmp(history->arrivals[i]->program, program) == 0)
			return true;
	}
	return false;
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
