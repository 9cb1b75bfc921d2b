/* SPDX-License-Identifier: MIT */
/* run_history: what the history's files hold, copied into arrays. */
#include "tools/explain/run_history.h"

#include <stdlib.h>
#include <string.h>

static void note_part(void *ctx, const struct cmn_hash *hash, struct cmn_view outline)
{
	struct past *past = ctx;
	struct run_history_part *parts = cmn_array_grow(past->parts, past->part_count, sizeof(*parts)), *part;

	past->failed |= !parts;
	if (!parts)
		return;
	past->parts = parts;
	part = &parts[past->part_count++];
	*part = (struct run_history_part){ .hash = *hash };
	cmn_buffer_append(&part->outline, outline.data, outline.len);
	past->failed |= part->outline.failed;
}

static char *copy_view(struct past *past, struct cmn_view view)
{
	char *copy = strndup(view.len ? view.data : "", view.len);

	past->failed |= !copy;
	return copy;
}

static void leaf_of(const struct cmn_hash parts[CC_PART_COUNT], char ret[CC_LEAF_PATH_SIZE])
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

static void note_event(void *ctx, const struct cc_history_event *event)
{
	struct past *past = ctx;
	struct run_history_event *events = cmn_array_grow(past->events, past->event_count, sizeof(*events));
	struct run_history_event *copy;

	past->failed |= !events;
	if (!events)
		return;
	past->events = events;
	copy = &events[past->event_count++];
	*copy = (struct run_history_event){
		.kind = event->kind, .pid = event->pid, .start_ns = event->start_ns,
		.time_ns = event->time_ns, .build_ns = event->build_ns,
		.program = copy_view(past, event->program),
		.reason = copy_view(past, event->reason),
		.detail = copy_view(past, event->detail), .name = copy_view(past, event->name),
	};
	memcpy(copy->parts, event->parts, sizeof(copy->parts));
	leaf_of(copy->parts, copy->leaf);
}

static void note_eviction(void *ctx, enum cc_history_cause cause, uint64_t time_ns, uint64_t leaf)
{
	struct past *past = ctx;
	struct run_history_eviction *evictions = cmn_array_grow(past->evictions, past->eviction_count,
							 sizeof(*evictions));

	past->failed |= !evictions;
	if (!evictions)
		return;
	past->evictions = evictions;
	evictions[past->eviction_count++] = (struct run_history_eviction){ cause, time_ns, leaf };
}

static int compare_parts(const void *a, const void *b)
{
	const struct run_history_part *one = a, *two = b;

	return memcmp(one->hash.bytes, two->hash.bytes, CMN_HASH_SIZE);
}

enum cmn_status run_history_load(const char *root, enum cmn_file_trust trust, struct past *ret)
{
	struct cc_history_reader reader = { note_part, note_event, note_eviction, ret };
	enum cmn_status status;

	*ret = (struct past){ 0 };
	status = cc_history_read(root, trust, &reader);
	if (ret->part_count)
		qsort(ret->parts, ret->part_count, sizeof(*ret->parts), compare_parts);
	return status == CMN_OK && ret->failed ? CMN_ERR_NOMEM : status;
}

void run_history_release(struct past *past)
{
	for (size_t i = 0; i < past->event_count; i++) {
		free(past->events[i].program);
		free(past->events[i].reason);
		free(past->events[i].detail);
		free(past->events[i].name);
	}
	for (size_t i = 0; i < past->part_count; i++)
		cmn_buffer_release(&past->parts[i].outline);
	free(past->events);
	free(past->parts);
	free(past->evictions);
	*past = (struct past){ 0 };
}

bool run_history_outline(const struct past *past, const struct run_history_event *event, struct cmn_buffer *buf)
{
	bool complete = event->leaf[0] != '\0';

	for (size_t i = 0; complete && i < CC_PART_COUNT; i++) {
		const struct run_history_part wanted = { .hash = event->parts[i] };
		const struct run_history_part *part = past->part_count ?
			bsearch(&wanted, past->parts, past->part_count, sizeof(wanted),
				compare_parts) : NULL;

		complete = part != NULL;
		if (part)
			cmn_buffer_append(buf, part->outline.data, part->outline.len);
	}
	return complete && !buf->failed;
}

bool run_history_same_run(const struct run_history_event *a, const struct run_history_event *b)
{
	return a->pid == b->pid && a->start_ns == b->start_ns;
}

bool run_history_is_compile(const struct run_history_event *event)
{
	return event->kind == CC_HISTORY_MISS || event->kind == CC_HISTORY_BYPASS;
}

const struct run_history_eviction *run_history_find_eviction(const struct past *past, const char *leaf,
					       uint64_t before_ns)
{
	const struct run_history_eviction *found = NULL;
	uint64_t number = cc_history_leaf(leaf);

	for (size_t i = 0; i < past->eviction_count; i++) {
		const struct run_history_eviction *one = &past->evictions[i];

		if (one->leaf == number && one->time_ns <= before_ns &&
		    (!found || found->time_ns <= one->time_ns))
			found = one;
	}
	return found;
}
