/* SPDX-License-Identifier: MIT */
/* module_log: a map of handles, guarded by lz_maps. */
#include "layers/level_zero/plugin/module_log.h"

#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#undef uthash_nonfatal_oom
#define uthash_nonfatal_oom(element) (out_of_memory = true)

struct replayed {
	void *handle;
	struct cc_entry *entry;		/* holds a reference */
	UT_hash_handle hh;
};

static struct replayed *logs;	/* guarded by lz_maps */

static void replayed_free(struct replayed *replayed)
{
	if (replayed)
		cc_entry_unref(replayed->entry);
	free(replayed);
}

static struct replayed *take_out(const void *handle)
{
	struct replayed *replayed;

	lz_maps_lock();
	HASH_FIND_PTR(logs, &handle, replayed);
	if (replayed)
		HASH_DEL(logs, replayed);
	lz_maps_unlock();
	return replayed;
}

/* Takes it; without memory it is gone. */
static void put_in(struct replayed *replayed)
{
	bool out_of_memory = false;

	lz_maps_lock();
	HASH_ADD_PTR(logs, handle, replayed);
	lz_maps_unlock();
	if (out_of_memory)
		replayed_free(replayed);
}

void lz_module_log_of(ze_module_build_log_handle_t handle, struct cc_entry *entry)
{
	struct replayed *replayed;
	struct cmn_view text;

	/* A handle that was another log's before, whose destruction passed the plugin by. */
	replayed_free(take_out(handle));
	/* Without a text in the entry the driver's own empty one is right. */
	replayed = cc_entry_find(entry, LZ_TAG_LOG, 0, &text) ? calloc(1, sizeof(*replayed)) : NULL;
	if (!replayed)
		return;
	replayed->handle = handle;
	/* What the driver made of the image is its own. */
	replayed->entry = cc_entry_without_images(entry);
	put_in(replayed);
}

ze_result_t lz_module_log_get(struct lz_next *next, ze_module_build_log_handle_t handle, size_t *size,
			      char *text)
{
	struct cc_entry *entry = NULL;
	struct replayed *replayed;
	struct cmn_view log;
	ze_result_t result = ZE_RESULT_SUCCESS;

	lz_maps_lock();
	HASH_FIND_PTR(logs, &handle, replayed);
	if (replayed)
		entry = cc_entry_ref(replayed->entry);
	lz_maps_unlock();
	if (!entry || !size || !cc_entry_find(entry, LZ_TAG_LOG, 0, &log)) {
		result = LZ_NEXT_FIND(next, log_get_string)(handle, size, text);
	} else if (text && *size < log.len) {
		result = ZE_RESULT_ERROR_INVALID_SIZE;	/* as NEO: nothing is written */
	} else {
		if (text)
			memcpy(text, log.data, log.len);
		*size = log.len;
	}
	cc_entry_unref(entry);
	return result;
}

ze_result_t lz_module_log_destroy(struct lz_next *next, ze_module_build_log_handle_t handle)
{
	/* Before the driver may give the handle to somebody else. */
	struct replayed *log = take_out(handle);
	ze_result_t result = LZ_NEXT_FIND(next, log_destroy)(handle);

	/* Refused: it lives on, and goes on answering. */
	if (log && result != ZE_RESULT_SUCCESS)
		put_in(log);
	else
		replayed_free(log);
	return result;
}
