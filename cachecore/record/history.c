/* SPDX-License-Identifier: MIT */
/* history: records made of what happened. */
#include "cachecore/record/history.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/kernel_names.h"
#include "cachecore/record/key_summary.h"
#include "cachecore/disk/path.h"
#include "cachecore/disk/root.h"
#include "common/clock.h"

/* Of a text in an event. */
#define MAX_TEXT 512

/* Of the first kernel; cut, where it is no sensible name. */
static struct cmn_view name_in(struct cmn_view source)
{
	struct cc_kernel_names names = cc_kernel_names_of(source);

	return cc_kernel_names_next(&names);
}

static struct cmn_view cut(struct cmn_view text)
{
	text.len = text.len > MAX_TEXT ? MAX_TEXT : text.len;
	return text;
}

/* The fields of a part, unless this process has put them there already. */
static void add_part(struct cc_history *history, struct cmn_buffer *records, struct cmn_view key,
		     enum cc_part part, const struct cmn_hash *hash)
{
	struct cmn_buffer outline = { 0 };

	for (unsigned int i = 0; i < CC_HISTORY_KNOWN; i++) {
		if (cmn_hash_equal(&history->known[part][i], hash))
			return;
	}
	cc_key_summary_append_part(&outline, key, part);
	records->failed |= outline.failed;
	cc_history_add_part(records, hash, cmn_buffer_view(&outline));
	cmn_buffer_release(&outline);
	history->known[part][history->next_known[part]++ % CC_HISTORY_KNOWN] = *hash;
}

static void add_note(struct cc_history *history, struct cmn_buffer *records,
		     const struct cc_history_note *note)
{
	const struct cc_key *key = note->key && cc_key_status(note->key) == CMN_OK ? note->key : NULL;
	struct cmn_view encoded = { 0 };
	struct cc_history_event event = {
		.kind = note->kind, .pid = (uint32_t)getpid(), .start_ns = note->start_ns,
		.time_ns = cmn_clock_realtime(), .build_ns = note->build_ns,
		.program = cmn_view_of(history->program ? history->program : cc_path_program()),
		.reason = cut(cmn_view_of(note->reason)), .detail = cut(cmn_view_of(note->detail)),
	};

	if (key) {
		encoded = cc_key_view(key);
		cc_key_part_hashes(encoded, event.parts);
	}
	event.name = cut(key ? cc_kernel_names_of_key(encoded) : name_in(note->source));
	/* The others only say what became of an entry. */
	for (unsigned int i = 0; key && i < CC_PART_COUNT; i++) {
		if (note->kind == CC_HISTORY_MISS || note->kind == CC_HISTORY_BYPASS ||
		    note->kind == CC_HISTORY_REMOTE || note->kind == CC_HISTORY_UNATTENDED ||
		    note->kind == CC_HISTORY_FAILED)
			add_part(history, records, encoded, (enum cc_part)i, &event.parts[i]);
	}
	cc_history_add_event(records, &event);
}

void cc_history_write(struct cc_history *history, const char *root, const struct cc_history_note *note)
{
	struct cmn_buffer records = { 0 };
	int root_fd = -1, fd;
	struct stat info;
	uint64_t id;

	if (cc_root_make(root, &root_fd) == CMN_OK && cc_history_open(root_fd, &fd, &id) == CMN_OK) {
		/* One that is empty is new, and may have the inode of one that was removed. */
		if (history->id != id || fstat(fd, &info) < 0 || info.st_size == 0)
			memset(history->known, 0, sizeof(history->known));
		history->id = id;
		add_note(history, &records, note);
		if (records.failed || cc_history_append(fd, cmn_buffer_view(&records)) != CMN_OK)
			history->id = 0;	/* what is known did not arrive */
		cc_root_unlock(fd);
	}
	if (root_fd >= 0)
		(void)close(root_fd);	/* a directory: nothing to be lost */
	cmn_buffer_release(&records);
}

void cc_history_note_cleared(const char *root)
{
	const struct cc_history_note note = { .kind = CC_HISTORY_CLEARED };
	struct cc_history history = { 0 };
	int fd = -1;

	/* Writing would make it. */
	if (cc_root_open(root, &fd) != CMN_OK)
		return;
	(void)close(fd);	/* read only */
	cc_history_write(&history, root, &note);
}

void cc_history_add_removal(struct cc_history_evicted *evicted, enum cc_history_cause cause,
			    const char *path)
{
	uint64_t **leaves = &evicted->leaves[cause];

	if (!*leaves)
		*leaves = calloc(CC_HISTORY_EVICTED, sizeof(**leaves));
	if (*leaves)
		(*leaves)[evicted->counts[cause]++ % CC_HISTORY_EVICTED] = cc_history_leaf(path);
}

void cc_history_write_removals(struct cc_history_evicted *evicted, int root_fd)
{
	struct cmn_buffer records = { 0 };
	uint64_t id, now = cmn_clock_realtime();
	int fd;

	for (unsigned int cause = CC_HISTORY_BY_SIZE; cause < CC_HISTORY_CAUSE_COUNT; cause++) {
		size_t count = evicted->counts[cause] < CC_HISTORY_EVICTED ? evicted->counts[cause]
									   : CC_HISTORY_EVICTED;

		cc_history_add_evicted(&records, (enum cc_history_cause)cause, now,
				       evicted->leaves[cause], count);
		free(evicted->leaves[cause]);
	}
	if (records.len && !records.failed && root_fd >= 0 &&
	    cc_history_open(root_fd, &fd, &id) == CMN_OK) {
		(void)!cc_history_append(fd, cmn_buffer_view(&records));	/* nobody is told */
		cc_root_unlock(fd);
	}
	cmn_buffer_release(&records);
	*evicted = (struct cc_history_evicted){ 0 };
}
