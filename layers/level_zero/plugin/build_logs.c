/* SPDX-License-Identifier: MIT */
/* build_logs: a map of handles, guarded by lz_maps. */
#include "layers/level_zero/plugin/build_logs.h"

#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "layers/level_zero/plugin/native.h"

#undef uthash_nonfatal_oom
#define uthash_nonfatal_oom(element) (out_of_memory = true)

struct replayed_log {
	ze_module_build_log_handle_t handle;
	struct cc_entry *entry;		/* holds a reference; has a log */
	UT_hash_handle hh;
};

static struct replayed_log *logs;	/* guarded by lz_maps */

static void log_free(struct replayed_log *log)
{
	if (log)
		cc_entry_unref(log->entry);
	free(log);
}

static struct replayed_log *take_out(ze_module_build_log_handle_t handle)
{
	struct replayed_log *log;

	lz_maps_lock();
	HASH_FIND_PTR(logs, &handle, log);
	if (log)
		HASH_DEL(logs, log);
	lz_maps_unlock();
	return log;
}

static bool put_in(struct replayed_log *log)
{
	bool out_of_memory = false;

	lz_maps_lock();
	HASH_ADD_PTR(logs, handle, log);
	lz_maps_unlock();
	return !out_of_memory;
}

bool lz_build_log_replay(ze_module_build_log_handle_t handle, struct cc_entry *entry)
{
	struct replayed_log *log = calloc(1, sizeof(*log));
	struct cmn_view text;

	if (!log)
		return false;
	log->handle = handle;
	/* The log alone: what the driver made of the image is its own. */
	log->entry = cc_entry_without_images(entry);
	/* A handle that was another log's before, whose destruction passed the plugin by. */
	log_free(take_out(handle));
	/* Without a text in the entry the driver's own empty one is right. */
	if (!cc_entry_find(log->entry, LZ_TAG_LOG, 0, &text)) {
		log_free(log);
		return true;
	}
	if (put_in(log))
		return true;
	log_free(log);
	return false;
}

/* A new reference to the handle's entry; NULL: the log is the driver's. */
static struct cc_entry *entry_of(ze_module_build_log_handle_t handle)
{
	struct replayed_log *log;
	struct cc_entry *entry = NULL;

	lz_maps_lock();
	HASH_FIND_PTR(logs, &handle, log);
	if (log)
		entry = cc_entry_ref(log->entry);
	lz_maps_unlock();
	return entry;
}

ze_result_t lz_build_log_get_string(struct lz_next *next, ze_module_build_log_handle_t handle,
				    size_t *size, char *text)
{
	struct cc_entry *entry = entry_of(handle);
	struct cmn_view log;

	if (!entry || !size || !cc_entry_find(entry, LZ_TAG_LOG, 0, &log)) {
		cc_entry_unref(entry);
		return LZ_NEXT_FIND(next, log_get_string)(handle, size, text);
	}
	/* As NEO: where the log does not fit, nothing is written. */
	if (text && *size < log.len) {
		cc_entry_unref(entry);
		return ZE_RESULT_ERROR_INVALID_SIZE;
	}
	if (text)
		memcpy(text, log.data, log.len);
	*size = log.len;
	cc_entry_unref(entry);
	return ZE_RESULT_SUCCESS;
}

ze_result_t lz_build_log_destroy(struct lz_next *next, ze_module_build_log_handle_t handle)
{
	struct replayed_log *log = take_out(handle);
	ze_result_t result = LZ_NEXT_FIND(next, log_destroy)(handle);

	/* Refused: it lives on, and goes on answering. */
	if (result == ZE_RESULT_SUCCESS || !log || !put_in(log))
		log_free(log);
	return result;
}
