/* SPDX-License-Identifier: MIT */
/* recorder: records made of what happened, each event's by one write. */
#include "cachecore/record/recorder.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/disk/path.h"
#include "cachecore/disk/root.h"
#include "cachecore/kernel_names.h"
#include "cachecore/record/key_summary.h"
#include "cachecore/record/totals.h"
#include "common/clock.h"

#define HITS_NS UINT64_C(1000000000)
/* A record of what is only counted, and another one of hits: no memory is asked for. */
#define SHORT_SIZE 384

/* A process's number has no more bits (PID_MAX_LIMIT); of a time these are 4 ms. */
#define PID_BITS ((UINT64_C(1) << 22) - 1)

/* The first thread of a child that asks begins it. */
static uint64_t process_of(struct cc_recorder *recorder)
{
	uint64_t process = atomic_load(&recorder->process), pid = (uint64_t)getpid(), begun;

	if ((process & PID_BITS) == pid)
		return process;
	begun = (cmn_clock_realtime() & ~PID_BITS) | pid;
	return atomic_compare_exchange_strong(&recorder->process, &process, begun) ? begun : process;
}

/* Whether the caller has what only one thread has at a time, until it drops it; what a parent left there is gone. */
static bool take(struct cc_recorder *recorder)
{
	uint64_t process = process_of(recorder), taken = atomic_load(&recorder->taken);

	if (taken == process || !atomic_compare_exchange_strong(&recorder->taken, &taken, process))
		return false;
	if (recorder->owner != process) {
		recorder->hits = 0;
		recorder->hits_ns = 0;
		recorder->known = (struct cc_recorder_known){ 0 };
		recorder->owner = process;
	}
	return true;
}

static void drop(struct cc_recorder *recorder)
{
	atomic_store(&recorder->taken, 0);
}

void cc_recorder_begin(struct cc_recorder *recorder, const char *program)
{
	recorder->program = program ? program : cc_path_program();
	(void)process_of(recorder);
}

static struct cmn_view cut(struct cmn_view text)
{
	text.len = text.len > CC_EVENT_MAX_TEXT ? CC_EVENT_MAX_TEXT : text.len;
	return text;
}

static struct cc_event_record record_of(struct cc_recorder *recorder, const struct cc_event *event)
{
	struct cmn_view program = cmn_view_of(recorder->program ? recorder->program : cc_path_program());
	uint64_t process = process_of(recorder);

	program.len = program.len < CC_USAGE_PROGRAM_SIZE ? program.len : CC_USAGE_PROGRAM_SIZE - 1;
	return (struct cc_event_record){
		.kind = event->kind, .unattended = event->unattended, .uncached = event->uncached,
		.count = 1, .pid = (uint32_t)(process & PID_BITS),
		.start_ns = process & ~PID_BITS, .time_ns = cmn_clock_realtime(),
		.build_ns = event->build_ns, .program = program,
	};
}

/* Of the first kernel. */
static struct cmn_view name_in(struct cmn_view source)
{
	struct cc_kernel_names names = cc_kernel_names_of(source);

	return cc_kernel_names_next(&names);
}

/* The fields of a part, unless they are there already. */
static void add_part(struct cc_recorder_known *known, struct cmn_buffer *records, struct cmn_view key,
		     enum cc_part part, const struct cmn_hash *hash)
{
	struct cmn_buffer outline = { 0 };

	for (unsigned int i = 0; i < CC_RECORDER_KNOWN; i++) {
		if (cmn_hash_equal(&known->hashes[part][i], hash))
			return;
	}
	cc_key_summary_append_part(&outline, key, part);
	records->failed |= outline.failed;
	cc_events_add_part(records, hash, cmn_buffer_view(&outline));
	cmn_buffer_release(&outline);
	known->hashes[part][known->next[part]++ % CC_RECORDER_KNOWN] = *hash;
}

/* Of a key these have all parts; the others only say what became of an entry. */
static bool has_parts(enum cc_event_kind kind)
{
	return kind == CC_EVENT_MISS || kind == CC_EVENT_BYPASS || kind == CC_EVENT_REMOTE ||
	       kind == CC_EVENT_UNATTENDED || kind == CC_EVENT_FAILED;
}

static void add_told(struct cc_recorder *recorder, struct cc_recorder_known *known, struct cmn_buffer *records,
		     const struct cc_event *event)
{
	const struct cc_key *key = event->key && cc_key_status(event->key) == CMN_OK ? event->key : NULL;
	struct cc_event_record record = record_of(recorder, event);
	struct cmn_view encoded = { 0 };

	record.reason = cut(cmn_view_of(event->reason));
	record.detail = cut(cmn_view_of(event->detail));
	if (key) {
		encoded = cc_key_view(key);
		cc_key_part_hashes(encoded, record.parts);
	}
	record.name = cut(key ? cc_kernel_names_of_key(encoded) : name_in(event->source));
	/* It has a time; parts are alike in several logs, which their first record tells from each other. */
	cc_events_add(records, &record);
	for (unsigned int i = 0; key && i < CC_PART_COUNT && has_parts(event->kind); i++)
		add_part(known, records, encoded, (enum cc_part)i, &record.parts[i]);
}

/* Instead of a log that is full, or has lost its beginning. *ret_id: NULL: nobody looks at that. */
static enum cmn_status open_next_log(struct cc_recorder *recorder, const char *root, int root_fd,
				     struct cc_events_log *ret, uint64_t *ret_id)
{
	enum cmn_status status;
	int fd;

	/* To be locked, without waiting: it may be another's turn. On a full disk not at each event. */
	if (cmn_clock_monotonic() >= atomic_load(&recorder->next_fold) && cc_root_open(root, &fd) == CMN_OK) {
		if (cc_totals_fold(fd, 0) < 0)
			atomic_store(&recorder->next_fold, cmn_clock_deadline(HITS_NS));
		(void)close(fd);	/* a directory: nothing to be lost */
	}
	(void)cc_events_append(ret, (struct cmn_view){ 0 });
	status = cc_events_open(root_fd, ret);
	if (status == CMN_OK && ret_id)
		*ret_id = cc_events_log_id(ret);
	if (status != CMN_OK || ret->size < CC_EVENTS_MAX)
		return status;
	(void)cc_events_append(ret, (struct cmn_view){ 0 });
	return CMN_ERR_NOSPACE;
}

/* Those that wait. */
static void add_hits(struct cc_recorder *recorder, struct cmn_buffer *records)
{
	const struct cc_event hits = { .kind = CC_EVENT_HIT_MEMORY };
	struct cc_event_record record;

	if (!recorder->hits)
		return;
	record = record_of(recorder, &hits);
	record.count = recorder->hits;
	record.build_ns = recorder->hits_ns;
	recorder->hits = 0;
	recorder->hits_ns = 0;
	cc_events_add(records, &record);
}

/* With what this process knows of the log, unless another thread is at it. */
static void append_told(struct cc_recorder *recorder, const struct cc_events_log *log, uint64_t id,
			const struct cc_event *event)
{
	bool taken = take(recorder);
	struct cc_recorder_known own = { 0 }, *known = taken ? &recorder->known : &own;
	struct cmn_buffer records = { 0 };

	if (!id || known->id != id)
		*known = (struct cc_recorder_known){ .id = id };
	if (taken)
		add_hits(recorder, &records);
	add_told(recorder, known, &records, event);
	if (!id)
		known->id = cc_events_id(cmn_buffer_view(&records));	/* unless another's come first */
	if (records.failed)
		records.len = 0;
	if (!cc_events_append(log, cmn_buffer_view(&records)))
		*known = (struct cc_recorder_known){ 0 };	/* what is known did not arrive */
	cmn_buffer_release(&records);
	if (taken)
		drop(recorder);
}

static void append_short(struct cc_recorder *recorder, const struct cc_events_log *log, const struct cc_event *event)
{
	uint8_t bytes[SHORT_SIZE];
	struct cmn_buffer records = { .data = bytes, .cap = sizeof(bytes) };
	struct cc_event_record record = record_of(recorder, event);

	cc_events_add(&records, &record);
	if (atomic_load(&recorder->next_hits) && take(recorder)) {
		add_hits(recorder, &records);
		drop(recorder);
	}
	(void)cc_events_append(log, cmn_buffer_view(&records));
}

/* Whether it waits for another event. */
static bool hit_waits(struct cc_recorder *recorder, const struct cc_event *event)
{
	uint64_t next = atomic_load(&recorder->next_hits);

	if (!next || cmn_clock_monotonic() >= next || !take(recorder))
		return false;
	recorder->hits++;
	recorder->hits_ns += event->build_ns;
	drop(recorder);
	return true;
}

void cc_recorder_write(struct cc_recorder *recorder, const char *root, const struct cc_event *event)
{
	struct cc_events_log log;
	const char *reason;
	enum cmn_status status;
	bool is_short = cc_event_is_short(event->kind);
	uint64_t id = 0;
	int root_fd = -1;

	if (event->kind == CC_EVENT_HIT_MEMORY && hit_waits(recorder, event))
		return;
	status = cc_root_find(root, CC_ROOT_GROUP, &root_fd, &reason);
	if (status == CMN_MISS && !recorder->makes_no_root && cc_root_make(root, &root_fd) == CMN_OK) {
		(void)close(root_fd);	/* a directory: nothing to be lost */
		status = cc_root_find(root, CC_ROOT_GROUP, &root_fd, &reason);
	}
	if (status != CMN_OK)
		return;
	if (event->kind == CC_EVENT_HIT_MEMORY && cmn_file_is_remote(root_fd))
		atomic_store(&recorder->next_hits, cmn_clock_deadline(HITS_NS));
	status = cc_events_open(root_fd, &log);
	if (status == CMN_OK && !is_short)
		id = cc_events_log_id(&log);
	if (status == CMN_OK && (log.size >= CC_EVENTS_FULL || (!is_short && log.size && !id)))
		status = open_next_log(recorder, root, root_fd, &log, is_short ? NULL : &id);
	if (status == CMN_OK && is_short)
		append_short(recorder, &log, event);
	else if (status == CMN_OK)
		append_told(recorder, &log, id, event);
	(void)close(root_fd);	/* likewise */
}

void cc_recorder_note_cleared(const char *root)
{
	const struct cc_event event = { .kind = CC_EVENT_CLEARED };
	struct cc_recorder recorder = { 0 };
	int fd = -1;

	/* Writing would make it. */
	if (cc_root_open(root, &fd) != CMN_OK)
		return;
	(void)close(fd);	/* read only */
	cc_recorder_write(&recorder, root, &event);
}

void cc_removals_add(struct cc_removals *removals, enum cc_removal_cause cause, const char *path)
{
	uint64_t **entry_dirs = &removals->entry_dirs[cause];

	if (!*entry_dirs)
		*entry_dirs = calloc(CC_REMOVALS_MAX, sizeof(**entry_dirs));
	if (*entry_dirs)
		(*entry_dirs)[removals->counts[cause]++ % CC_REMOVALS_MAX] = cc_events_entry_dir(path);
}

void cc_removals_write(struct cc_removals *removals, int root_fd)
{
	struct cmn_buffer records = { 0 };
	uint64_t now = cmn_clock_realtime();
	struct cc_events_log log;

	for (unsigned int cause = CC_REMOVED_BY_SIZE; cause < CC_REMOVED_CAUSE_COUNT; cause++) {
		size_t count = removals->counts[cause] < CC_REMOVALS_MAX ? removals->counts[cause] : CC_REMOVALS_MAX;

		cc_events_add_removed(&records, (enum cc_removal_cause)cause, now, removals->entry_dirs[cause], count);
		free(removals->entry_dirs[cause]);
	}
	if (records.len && !records.failed && root_fd >= 0 && cc_events_open(root_fd, &log) == CMN_OK) {
		if (log.size >= CC_EVENTS_MAX)
			records.len = 0;
		(void)cc_events_append(&log, cmn_buffer_view(&records));
	}
	cmn_buffer_release(&records);
	*removals = (struct cc_removals){ 0 };
}
