/* SPDX-License-Identifier: MIT */
/*
 * fuzz_events: a log of any content, and outlines of any content.
 * Everything that is told lies within the file and within its bounds.
 */
#include <stdint.h>
#include <stdlib.h>

#include "cachecore/record/events.h"
#include "cachecore/record/key_summary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_outline(struct cmn_view view)
{
	struct cmn_reader reader = cmn_reader_of(view);
	struct cc_key_summary_field field, before = { 0 };
	uint64_t line, more;

	while (cc_key_summary_next(&reader, &field) == CMN_OK) {
		double alike = cc_key_summary_alike(&before, &field);

		if (!field.name.len || alike < 0 || alike > 1)
			abort();
		if (cc_key_summary_first_line(&before, &field, &line, &more) && !line)
			abort();
		before = field;
	}
}

static void see_part(void *ctx, const struct cmn_hash *hash, struct cmn_view outline)
{
	(void)ctx;
	(void)hash;
	read_outline(outline);
}

static void see_event(void *ctx, const struct cc_event_record *event)
{
	const struct cmn_view *file = ctx;

	if (event->kind < CC_EVENT_MISS || event->kind >= CC_EVENT_KIND_COUNT ||
	    event->name.len > file->len || event->reason.len > file->len)
		abort();
}

static void see_removed(void *ctx, enum cc_removal_cause cause, uint64_t time_ns, uint64_t entry_dir)
{
	(void)ctx;
	(void)time_ns;
	(void)entry_dir;
	if (cause < CC_REMOVED_BY_SIZE || cause >= CC_REMOVED_CAUSE_COUNT)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cmn_view file = { data, size };
	const struct cc_events_reader reader = { see_part, see_event, see_removed, &file };
	struct cmn_hash hash = { { 0 } };
	struct cmn_buffer record = { 0 };

	read_outline(file);
	cc_events_parse(file, &reader);
	/* The same as what a sound record holds. */
	cc_events_add_part(&record, &hash, file);
	if (!record.failed)
		cc_events_parse(cmn_buffer_view(&record), &reader);
	cmn_buffer_release(&record);
	return 0;
}
