/* SPDX-License-Identifier: MIT */
/*
 * explain_nearest: one walk over the store (of a trace, whose lines do not say
 * where entries are, two), and one over the history, that keep for each question
 * the nearest key of those that were there when its run began: what the same run
 * compiled are other programs of one family.
 */
#include "tools/explain/explain.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "cachecore/kernel_names.h"
#include "tools/memory.h"
#include "tools/text.h"

/* A longer key is not kept to be shown by lines. */
#define MAX_KEPT_KEY ((size_t)1 << 20)
/* With less in common it is another program. */
#define LEAST_ALIKE 0.5
#define TICK_NS UINT64_C(10000000)	/* of the slowest clock, 100 Hz; a start is rounded down by less */

/* A key that may be the nearest. */
struct candidate {
	struct cmn_view summary;
	struct cmn_view key;	/* whole; empty: only the summary is known */
	const char *path;	/* below the root; "": of the history */
	const char *entry_dir;
	size_t place;		/* in the history; 0: it is stored */
	struct cmn_view name;	/* of its first kernel */
	uint64_t time_ns;
	struct key_fields fields;
};

struct walk {
	struct explanation *explanation;
	bool own_keys;		/* looking for the questions' own entries, not for others */
	struct question *only;	/* NULL: all are asked */
	uint64_t seen;
};

/* Whether it could be by what is known at once: the kernel. *ret_certain: so it is. */
static bool may_be_alike(const struct question *question, const struct candidate *candidate,
			 bool *ret_certain)
{
	struct cmn_view name = cmn_view_of(question->event.name);

	*ret_certain = name.len && candidate->name.len;
	return !*ret_certain || cmn_view_equal(name, candidate->name);
}

/* Whether it could be the same program: the same kernel, text, or most lines. */
static bool is_alike(const struct question *question, const struct candidate *candidate)
{
	const struct cc_key_summary_field *was, *is;
	bool certain, alike = may_be_alike(question, candidate, &certain);

	if (certain)
		return alike;
	was = key_fields_find(&candidate->fields, "source");
	is = key_fields_find(&question->fields, "source");
	if (!was || !is)
		return !was && !is;
	return cc_key_summary_equal(was, is) || cc_key_summary_alike(was, is) >= LEAST_ALIKE;
}

/* A trace does not say what the kernels are called; who has the same text does. */
static void learn_name(struct question *question, const struct candidate *candidate)
{
	if (question->of_trace && !*question->event.name && candidate->name.len)
		question->event.name = memory_copy_view(candidate->name);
}

/* The buffer then has a copy; of what is empty, nothing. */
static void copy_to(struct cmn_buffer *buf, struct cmn_view view)
{
	buf->len = 0;
	cmn_buffer_append(buf, view.data, view.len);
	if (buf->failed)
		memory_end();
}

static bool same_source(const struct question *question, const struct candidate *candidate)
{
	const struct cc_key_summary_field *was = key_fields_find(&candidate->fields, "source");
	const struct cc_key_summary_field *is = key_fields_find(&question->fields, "source");

	return was && is && cc_key_summary_equal(was, is);
}

static void keep(struct question *question, const struct candidate *candidate, double distance)
{
	const struct cmn_view none = { 0 };

	if (same_source(question, candidate))
		learn_name(question, candidate);
	question->has_nearest = true;
	question->distance = distance;
	question->nearest_ns = candidate->time_ns;
	(void)snprintf(question->nearest, sizeof(question->nearest), "%s", candidate->path);
	copy_to(&question->nearest_summary, candidate->summary);
	copy_to(&question->nearest_key, candidate->key.len <= MAX_KEPT_KEY ? candidate->key : none);
}

/* Of two at one distance: the one that can be shown, then the newer one. */
static bool is_better(const struct question *question, const struct candidate *candidate)
{
	if (!*candidate->path != !*question->nearest)
		return *candidate->path != '\0';
	return candidate->time_ns > question->nearest_ns;
}

/* What has that place or time came by the run itself, or later. Processes' clocks may differ: the place decides. */
static bool is_of_run_or_later(const struct question *question, size_t place, uint64_t time_ns)
{
	return question->run_place && place ? place >= question->run_place
					    : time_ns >= question->event.start_ns;
}

/*
 * Stored by the run itself, or later. File systems stamp files with a time
 * that is up to a tick old, and a run began up to 5 ms after its start, so
 * that history decides of what is so near: it has all since the run.
 */
static bool is_later(const struct explanation *explanation, const struct question *question,
		     const struct candidate *candidate)
{
	uint64_t start = question->event.start_ns;
	const struct run_history_event *arrival;

	if (!candidate->place && candidate->time_ns < start + TICK_NS && candidate->time_ns + TICK_NS >= start) {
		arrival = run_history_find_arrival(explanation->history, candidate->entry_dir);
		return arrival && is_of_run_or_later(question, arrival->place, arrival->time_ns);
	}
	return is_of_run_or_later(question, candidate->place, candidate->time_ns);
}

static void try_candidate(const struct explanation *explanation, struct question *question,
			  const struct candidate *candidate)
{
	struct key_diff diff;
	double distance;

	if (!question->has_summary || is_later(explanation, question, candidate) ||
	    strcmp(candidate->entry_dir, question->event.entry_dir) == 0 || !is_alike(question, candidate))
		return;
	key_diff_make(&candidate->fields, &question->fields, &diff);
	distance = key_diff_distance(&diff);
	/* 0: it is the very key. */
	if (diff.count &&
	    (!question->has_nearest || distance < question->distance ||
	     (distance <= question->distance && is_better(question, candidate))))
		keep(question, candidate, distance);
	key_diff_release(&diff);
}

/* What a trace does not say of a key, its entry does. */
static void learn_own(struct question *question, const struct candidate *candidate)
{
	const struct cmn_view none = { 0 };
	struct key_diff diff;
	bool same = strcmp(question->event.entry_dir, candidate->entry_dir) == 0;

	if (!same && question->of_trace && question->has_summary && !question->event.entry_dir[0]) {
		key_diff_make(&candidate->fields, &question->fields, &diff);
		same = diff.count == 0;
		key_diff_release(&diff);
	}
	if (!same)
		return;
	(void)snprintf(question->event.entry_dir, sizeof(question->event.entry_dir), "%s", candidate->entry_dir);
	copy_to(&question->key, candidate->key.len <= MAX_KEPT_KEY ? candidate->key : none);
	copy_to(&question->summary, candidate->summary);
	question->has_summary = true;
	key_fields_release(&question->fields);
	key_fields_read(cmn_buffer_view(&question->summary), &question->fields);
	learn_name(question, candidate);
}

static void ask_all(const struct walk *walk, const struct candidate *candidate)
{
	struct explanation *explanation = walk->explanation;

	for (size_t i = 0; i < explanation->count; i++) {
		struct question *question = &explanation->questions[i];

		if (walk->only && walk->only != question)
			continue;
		if (walk->own_keys)
			learn_own(question, candidate);
		else
			try_candidate(explanation, question, candidate);
	}
}

/* Most entries are other programs, whose keys need no summary. */
static bool may_matter(const struct walk *walk, const struct candidate *candidate)
{
	const struct explanation *explanation = walk->explanation;
	bool matters = walk->own_keys, certain;

	for (size_t i = 0; i < explanation->count && !matters; i++)
		matters = explanation->questions[i].has_summary &&
			  may_be_alike(&explanation->questions[i], candidate, &certain);
	return matters;
}

static bool visit_entry(void *ctx, const struct cc_store_item *item)
{
	struct walk *walk = ctx;
	struct cmn_buffer summary = { 0 };
	struct candidate candidate = {
		.key = item->key, .path = item->path, .entry_dir = item->place->entry_dir,
		.time_ns = item->stored_ns, .name = cc_kernel_names_of_key(item->key),
	};

	terminal_progress_count("explain", ++walk->seen);
	if (walk->own_keys && walk->only && item->failed && item->status == CMN_OK)
		walk->only->remembered = true;
	if (candidate.name.len > CC_EVENT_MAX_TEXT)
		candidate.name.len = CC_EVENT_MAX_TEXT;	/* as the history has it */
	if (!item->key.len || item->failed || !may_matter(walk, &candidate))
		return true;
	cc_key_summary_append(&summary, item->key);
	candidate.summary = cmn_buffer_view(&summary);
	if (summary.failed)
		memory_end();
	key_fields_read(candidate.summary, &candidate.fields);
	ask_all(walk, &candidate);
	key_fields_release(&candidate.fields);
	cmn_buffer_release(&summary);
	return true;
}

/* Keys whose entries are gone, or never came. */
static void ask_history(const struct walk *walk)
{
	const struct run_history *history = walk->explanation->history;

	for (size_t i = 0; i < history->event_count; i++) {
		const struct run_history_event *event = &history->events[i];
		struct cmn_buffer summary = { 0 };
		struct candidate candidate = {
			.path = "", .entry_dir = event->entry_dir, .place = event->place, .time_ns = event->time_ns,
			.name = cmn_view_of(event->name),
		};

		if (event->kind == CC_EVENT_MISS &&
		    run_history_summary(history, event, &summary)) {
			candidate.summary = cmn_buffer_view(&summary);
			key_fields_read(candidate.summary, &candidate.fields);
			ask_all(walk, &candidate);
			key_fields_release(&candidate.fields);
		}
		cmn_buffer_release(&summary);
	}
}

/* The place of the run's first event; 0: it is a trace's. */
static size_t place_of_run(const struct run_history *history, const struct run_history_event *event)
{
	size_t first = 0;

	while (event->place && first < history->event_count &&
	       !run_history_same_run(&history->events[first], event))
		first++;
	return event->place && first < history->event_count ? history->events[first].place : 0;
}

static void read_summaries(struct explanation *explanation)
{
	for (size_t i = 0; i < explanation->count; i++) {
		struct question *question = &explanation->questions[i];

		/* Mostly all are of one run, and its first event may be far back. */
		if (i && run_history_same_run(&question[-1].event, &question->event))
			question->run_place = question[-1].run_place;
		else
			question->run_place = place_of_run(explanation->history, &question->event);
		if (!question->has_summary)
			question->has_summary = run_history_summary(explanation->history, &question->event,
								    &question->summary);
		if (question->has_summary)
			key_fields_read(cmn_buffer_view(&question->summary), &question->fields);
	}
}

/* What is stored where the question's own entry would be. */
static void look_at_own(struct walk *walk, int root_fd)
{
	struct cc_store_place place = { .n = 0 };
	uint64_t entries;
	int entry_dir_fd;

	memcpy(place.entry_dir, walk->only->event.entry_dir, sizeof(place.entry_dir));
	if (cc_entry_dir_open(root_fd, place.entry_dir, &entry_dir_fd) != CMN_OK)
		return;
	entries = tool_entries_in(entry_dir_fd);
	(void)close(entry_dir_fd);	/* read only */
	while (entries) {
		place.n = tool_next_entry(&entries);
		/* What is gone by now tells nothing. */
		(void)!cc_store_look(walk->explanation->cache->store, root_fd, &place, visit_entry, walk);
	}
}

/* The keys of what is asked about, as far as they are stored. */
static enum cmn_status find_own(struct explanation *explanation)
{
	struct cc_store *store = explanation->cache->store;
	struct walk walk = { .explanation = explanation, .own_keys = true };
	bool searched = false;
	enum cmn_status status;
	int root_fd;

	status = cc_store_open_root(store, &root_fd);
	if (status != CMN_OK)
		return status == CMN_MISS ? CMN_OK : status;
	for (size_t i = 0; i < explanation->count; i++) {
		walk.only = &explanation->questions[i];
		searched |= walk.only->of_trace && !walk.only->event.entry_dir[0];
		if (walk.only->event.entry_dir[0])
			look_at_own(&walk, root_fd);
	}
	(void)close(root_fd);	/* read only */
	walk.only = NULL;
	return searched ? cc_store_walk(store, false, visit_entry, &walk) : CMN_OK;
}

enum cmn_status explain_find_nearest(struct explanation *explanation)
{
	struct walk walk = { .explanation = explanation };
	enum cmn_status status;
	bool asked = false;

	read_summaries(explanation);
	if (!explanation->count)
		return CMN_OK;
	status = find_own(explanation);
	for (size_t i = 0; i < explanation->count; i++)
		asked |= explanation->questions[i].has_summary;
	if (status == CMN_OK && asked)
		status = cc_store_walk(explanation->cache->store, false, visit_entry, &walk);
	if (status == CMN_OK)
		ask_history(&walk);
	return status;
}
