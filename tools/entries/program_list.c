/* SPDX-License-Identifier: MIT */
/* program_list: the history's arrivals, sorted, so that a look-up does not read all of it. */
#include "tools/entries/program_list.h"

#include <stdlib.h>
#include <string.h>

static bool is_arrival(const struct run_history_event *event)
{
	return *event->program && *event->entry_dir &&
	       (event->kind == CC_EVENT_MISS || event->kind == CC_EVENT_REMOTE ||
		event->kind == CC_EVENT_UNATTENDED);
}

/* Events of one entry directory stay in their order: they are of one array. */
static int by_entry_dir(const void *a, const void *b)
{
	const struct run_history_event *one = *(const struct run_history_event *const *)a;
	const struct run_history_event *two = *(const struct run_history_event *const *)b;
	int order = strcmp(one->entry_dir, two->entry_dir);

	return order ? order : one < two ? -1 : one > two;
}

enum cmn_status programs_load(const char *root, enum cmn_file_trust trust, struct programs *ret)
{
	enum cmn_status status;

	*ret = (struct programs){ 0 };
	status = run_history_load(root, trust, &ret->history);
	if (status != CMN_OK || !ret->history.event_count)
		return status;
	ret->arrivals = calloc(ret->history.event_count, sizeof(struct run_history_event *));
	if (!ret->arrivals)
		return CMN_ERR_NOMEM;
	for (size_t i = 0; i < ret->history.event_count; i++) {
		if (is_arrival(&ret->history.events[i]))
			ret->arrivals[ret->count++] = &ret->history.events[i];
	}
	if (ret->count)
		qsort(ret->arrivals, ret->count, sizeof(struct run_history_event *), by_entry_dir);
	return CMN_OK;
}

void programs_release(struct programs *programs)
{
	free(programs->arrivals);
	run_history_release(&programs->history);
	*programs = (struct programs){ 0 };
}

/* The first arrival behind those of lesser entry directories, and of that entry directory too if after. */
static size_t find(const struct programs *programs, const char *entry_dir, bool after)
{
	size_t low = 0, high = programs->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(programs->arrivals[middle]->entry_dir, entry_dir);

		if (order < 0 || (after && order == 0))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool programs_have(const struct programs *programs, const char *entry_dir, const char *program)
{
	size_t end = find(programs, entry_dir, true);

	for (size_t i = find(programs, entry_dir, false); i < end; i++) {
		if (strcmp(programs->arrivals[i]->program, program) == 0)
			return true;
	}
	return false;
}

const char *programs_of(const struct programs *programs, const char *entry_dir)
{
	size_t end = find(programs, entry_dir, true);

	return end && strcmp(programs->arrivals[end - 1]->entry_dir, entry_dir) == 0
	       ? programs->arrivals[end - 1]->program : NULL;
}
