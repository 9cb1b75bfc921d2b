/* SPDX-License-Identifier: MIT */
/* writer_task: made, freed. */
#include "cachecore/disk/writer_task.h"

#include <stdlib.h>

#include <utlist.h>

struct cc_writer_task *cc_writer_task_of_entry(const struct cc_key *key, struct cc_entry *entry)
{
	struct cc_writer_task *task = calloc(1, sizeof(*task));

	if (!task)
		return NULL;
	cc_key_init_copy(&task->key, key);
	if (cc_key_status(&task->key) != CMN_OK) {
		cc_key_release(&task->key);
		free(task);
		return NULL;
	}
	task->entry = cc_entry_ref(entry);
	task->size = cc_key_view(&task->key).len + cc_entry_payload_size(entry);
	return task;
}

struct cc_writer_task *cc_writer_task_of_recipe(struct cmn_buffer *encoded)
{
	struct cc_writer_task *task = calloc(1, sizeof(*task));

	if (!task) {
		cmn_buffer_release(encoded);
		return NULL;
	}
	cc_key_init(&task->key);
	task->recipe = *encoded;
	task->size = encoded->len;
	*encoded = (struct cmn_buffer){ 0 };
	return task;
}

void cc_writer_task_free(struct cc_writer_task *task)
{
	cc_flight_end(task->flight);
	cc_entry_unref(task->entry);
	cc_key_release(&task->key);
	cmn_buffer_release(&task->recipe);
	free(task);
}

void cc_writer_tasks_free(struct cc_writer_task **list)
{
	struct cc_writer_task *task, *next;

	DL_FOREACH_SAFE(*list, task, next)
		cc_writer_task_free(task);
	*list = NULL;
}
