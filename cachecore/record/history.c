/* SPDX-License-Identifier: MIT */
/* history: what waits, and records made of it. */
#include "cachecore/record/history.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <utlist.h>

#include "cachecore/kernel_names.h"
#include "cachecore/record/key_summary.h"
#include "cachecore/disk/path.h"
#include "cachecore/disk/root.h"
#include "common/clock.h"
#include "common/descriptor.h"

/* Waiting for a second at most, as a rule: more than this is a flood. */
#define MAX_TASKS 1024
#define MAX_BYTES ((size_t)16 << 20)
/* One write; a record is never cut by it. */
#define WRITE_SIZE ((size_t)64 << 10)
/* Of a text in an event. */
#define MAX_TEXT 512

struct cc_history_task {
	enum cc_history_kind kind;
	uint32_t pid;
	uint64_t start_ns, time_ns, build_ns;
	char *reason, *detail, *name;	/* NULL: none; name: only without a key */
	struct cc_key key;
	bool has_key;
	struct cc_history_task *prev, *next;	/* of a utlist */
};

static char *copy_text(const char *text, bool *failed)
{
	char *copy = text ? strndup(text, MAX_TEXT) : NULL;

	*failed |= text && !copy;
	return copy;
}

/* Of the first kernel. */
static char *copy_name(struct cmn_view source, bool *failed)
{
	struct cc_kernel_names names = cc_kernel_names_of(source);
	struct cmn_view name = cc_kernel_names_next(&names);
	char *copy = name.len ? strndup(name.data, name.len < MAX_TEXT ? name.len : MAX_TEXT) : NULL;

	*failed |= name.len && !copy;
	return copy;
}

struct cc_history_task *cc_history_task_new(const struct cc_history_note *note)
{
	struct cc_history_task *task = calloc(1, sizeof(*task));
	bool failed = false;

	if (!task)
		return NULL;
	task->kind = note->kind;
	task->pid = (uint32_t)getpid();
	task->start_ns = note->start_ns;
	task->time_ns = cmn_clock_realtime();
	task->build_ns = note->build_ns;
	task->reason = copy_text(note->reason, &failed);
	task->detail = copy_text(note->detail, &failed);
	task->has_key = note->key && cc_key_status(note->key) == CMN_OK;
	if (task->has_key)
		cc_key_init_copy(&task->key, note->key);
	else
		cc_key_init(&task->key);
	if (!task->has_key)
		task->name = copy_name(note->source, &failed);
	if (failed || cc_key_status(&task->key) != CMN_OK) {
		cc_history_task_free(task);
		return NULL;
	}
	return task;
}

void cc_history_task_free(struct cc_history_task *task)
{
	if (!task)
		return;
	cc_key_release(&task->key);
	free(task->reason);
	free(task->detail);
	free(task->name);
	free(task);
}

void cc_history_add(struct cc_history *history, struct cc_history_task *task)
{
	size_t bytes = task ? cc_key_view(&task->key).len : 0;

	if (!task)
		return;
	if (history->count >= MAX_TASKS || bytes > MAX_BYTES || history->bytes > MAX_BYTES - bytes) {
		cc_history_task_free(task);
		return;
	}
	DL_APPEND(history->tasks, task);
	history->count++;
	history->bytes += bytes;
}

struct cc_history cc_history_take(struct cc_history *history)
{
	struct cc_history taken = *history;

	history->tasks = NULL;
	history->count = history->bytes = 0;
	return taken;
}

void cc_history_learn(struct cc_history *history, const struct cc_history *written)
{
	history->id = written->id;
	memcpy(history->known, written->known, sizeof(history->known));
	memcpy(history->next_known, written->next_known, sizeof(history->next_known));
}

void cc_history_drop(struct cc_history *history)
{
	struct cc_history_task *task, *next;

	DL_FOREACH_SAFE(history->tasks, task, next)
		cc_history_task_free(task);
	history->tasks = NULL;
	history->count = history->bytes = 0;
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

/* Cut, where it is no sensible name. */
static struct cmn_view shown_name(struct cmn_view key)
{
	struct cmn_view name = cc_kernel_names_of_key(key);

	name.len = name.len > MAX_TEXT ? MAX_TEXT : name.len;
	return name;
}

static void add_task(struct cc_history *history, struct cmn_buffer *records,
		     const struct cc_history_task *task, struct cmn_view program)
{
	struct cmn_view key = cc_key_view(&task->key);
	struct cc_history_event event = {
		.kind = task->kind, .pid = task->pid, .start_ns = task->start_ns,
		.time_ns = task->time_ns, .build_ns = task->build_ns, .program = program,
		.reason = cmn_view_of(task->reason), .detail = cmn_view_of(task->detail),
		.name = cmn_view_of(task->name),
	};

	if (task->has_key) {
		cc_key_part_hashes(key, event.parts);
		event.name = shown_name(key);
	}
	/* The others only say what became of an entry. */
	for (unsigned int i = 0; task->has_key && i < CC_PART_COUNT; i++) {
		if (task->kind == CC_HISTORY_MISS || task->kind == CC_HISTORY_BYPASS ||
		    task->kind == CC_HISTORY_REMOTE || task->kind == CC_HISTORY_UNATTENDED ||
		    task->kind == CC_HISTORY_FAILED)
			add_part(history, records, key, (enum cc_part)i, &event.parts[i]);
	}
	cc_history_add_event(records, &event);
}

static void write_tasks(struct cc_history *history, int fd)
{
	struct cmn_view program = cmn_view_of(history->program ? history->program : cc_path_program());
	struct cmn_buffer records = { 0 };
	enum cmn_status status = CMN_OK;
	struct cc_history_task *task;

	DL_FOREACH(history->tasks, task) {
		add_task(history, &records, task, program);
		if (records.failed || status != CMN_OK)
			break;
		if (records.len < WRITE_SIZE && task->next)
			continue;
		status = cc_history_append(fd, cmn_buffer_view(&records));
		records.len = 0;
	}
	if (records.failed || status != CMN_OK)
		history->id = 0;	/* what is known did not arrive */
	cmn_buffer_release(&records);
}

void cc_history_write(struct cc_history *history, const char *root)
{
	int root_fd = -1, fd;
	struct stat info;
	uint64_t id;

	if (history->tasks && cc_root_make(root, &root_fd) == CMN_OK &&
	    cc_history_open(root_fd, &fd, &id) == CMN_OK) {
		/* One that is empty is new, and may have the inode of one that was removed. */
		if (history->id != id || fstat(fd, &info) < 0 || info.st_size == 0)
			memset(history->known, 0, sizeof(history->known));
		history->id = id;
		write_tasks(history, fd);
		cc_root_unlock(fd);
	}
	if (root_fd >= 0)
		(void)cmn_descriptor_close(root_fd);	/* a directory: nothing to be lost */
	cc_history_drop(history);
}

void cc_history_note_cleared(const char *root)
{
	const struct cc_history_note note = { .kind = CC_HISTORY_CLEARED };
	struct cc_history history = { 0 };
	int fd = -1;

	/* Writing would make it. */
	if (cc_root_open(root, &fd) != CMN_OK)
		return;
	(void)cmn_descriptor_close(fd);	/* read only */
	cc_history_add(&history, cc_history_task_new(&note));
	cc_history_write(&history, root);
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
