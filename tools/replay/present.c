/* SPDX-License-Identifier: MIT */
/*
 * present: what is there now the layer itself says, by its keys for a small
 * program that a worker builds for each device into a cache of its own.
 */
#include "tools/replay/present.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cachecore/disk/store.h"

static bool is_name(const struct cc_key_field *field, const char *name)
{
	return cmn_view_equal(field->name, cmn_view_of(name));
}

bool present_next_device(struct cmn_reader *reader, struct present_device *ret)
{
	struct cmn_reader ahead = *reader;
	const uint8_t *start = reader->data;
	struct cc_key_field field;
	bool first = true;

	*ret = (struct present_device){ 0 };
	while (cc_key_next(&ahead, &field) == CMN_OK && field.part == CC_PART_DEVICE) {
		if (is_name(&field, "platform.name") != first)
			break;
		if (first)
			ret->platform = field.value;
		if (is_name(&field, "device.name"))
			ret->device = field.value;
		first = false;
		*reader = ahead;
	}
	ret->fields = (struct cmn_view){ start, (size_t)(reader->data - start) };
	return ret->fields.len != 0;
}

void present_release(struct present *present)
{
	for (size_t i = 0; i < present->key_count; i++)
		free(present->keys[i]);
	free(present->keys);
	free(present->devices);
}

bool present_device_field(const struct present_device *device, const char *name, unsigned int i,
			  struct cmn_view *ret)
{
	struct cmn_reader reader = cmn_reader_of(device->fields);
	struct cc_key_field field;

	while (cc_key_next(&reader, &field) == CMN_OK) {
		if (!is_name(&field, name) || i--)
			continue;
		*ret = field.value;
		return true;
	}
	return false;
}

/* Room for one more of each; false: out of memory. */
static bool grow(struct present *present)
{
	struct present_device *devices;
	char **keys;

	keys = reallocarray(present->keys, present->key_count + 1, sizeof(*keys));
	if (!keys)
		return false;
	present->keys = keys;
	devices = reallocarray(present->devices, present->count + 1, sizeof(*devices));
	if (!devices)
		return false;
	present->devices = devices;
	return true;
}

static bool add_present(void *ctx, const struct cc_store_item *item)
{
	struct present *present = ctx;
	struct cmn_reader reader;
	struct present_device device;
	char *key;

	if (item->status != CMN_OK || !item->key.len)
		return true;
	key = grow(present) ? malloc(item->key.len) : NULL;
	if (!key) {
		present->failed = true;
		return false;
	}
	memcpy(key, item->key.data, item->key.len);
	present->keys[present->key_count++] = key;
	if (cc_key_read((struct cmn_view){ key, item->key.len }, &reader) == CMN_OK &&
	    present_next_device(&reader, &device))
		present->devices[present->count++] = device;
	return true;
}

const struct present_device *present_find(const struct present *present,
					  const struct present_device *device)
{
	const struct present_device *found = NULL;

	for (size_t i = 0; i < present->count; i++) {
		const struct present_device *candidate = &present->devices[i];

		if (cmn_view_equal(candidate->fields, device->fields))
			return candidate;
		if (!found && cmn_view_equal(candidate->platform, device->platform) &&
		    cmn_view_equal(candidate->device, device->device))
			found = candidate;
	}
	return found;
}

bool present_renew_key(const struct present *present, struct cmn_view old, struct cc_key *ret)
{
	struct present_device device;
	struct cmn_reader reader;
	bool changed = false;

	if (cc_key_read(old, &reader) != CMN_OK)
		return false;
	while (present_next_device(&reader, &device)) {
		const struct present_device *now = present_find(present, &device);

		if (!now)
			return false;
		changed = changed || !cmn_view_equal(now->fields, device.fields);
		cmn_buffer_append(&ret->encoded, now->fields.data, now->fields.len);
	}
	/* The other parts follow as they are. */
	cmn_buffer_append(&ret->encoded, reader.data, reader.left);
	return changed && cc_key_status(ret) == CMN_OK;
}

/* Runs the probe on a cache of its own. */
static bool run_probe(const struct replay_settings *settings, const char *directory,
		      int *ret_signal)
{
	struct replay_settings own = *settings;
	struct child worker = { .name = (char *)REPLAY_PROBE };

	own.root = directory;
	if (!replay_process_start(&worker, NULL, &own))
		return false;
	if (!replay_process_wait(&worker, 1, ret_signal)) {
		child_kill(&worker);
		(void)waitpid(worker.pid, NULL, 0);	/* it is dead */
		return false;
	}
	/* A driver that crashed leaves the others' answers. */
	if (WIFEXITED(worker.state) && WEXITSTATUS(worker.state) == WORKER_UNABLE) {
		tool_complain("the OpenCL loader libOpenCL.so.1 cannot be loaded");
		return false;
	}
	return true;
}

static enum cmn_status read_keys(const char *directory, struct present *ret)
{
	const struct cmn_log log = { .level = CMN_LOG_NONE };
	char *no_tiers[] = { NULL };
	struct cc_config config = { .dir = (char *)directory, .read_only_dirs = no_tiers };
	struct cc_store *store;
	enum cmn_status status = cc_store_open(&config, &log, &store);

	if (status != CMN_OK)
		return status;
	status = cc_store_walk(store, false, add_present, ret);
	cc_store_close(store);
	if (status == CMN_MISS)
		status = CMN_OK;
	return ret->failed ? CMN_ERR_NOMEM : status;
}

bool present_read(const struct replay_settings *settings, struct present *ret, int *ret_signal)
{
	char *directory = tool_make_scratch();
	enum cmn_status status;
	bool done = false;

	*ret = (struct present){ 0 };
	if (!directory) {
		tool_complain("cannot create a temporary directory");
		return false;
	}
	if (run_probe(settings, directory, ret_signal)) {
		status = read_keys(directory, ret);
		done = status == CMN_OK;
		if (!done)
			tool_complain("%s: %s", directory, cmn_status_string(status));
		else if (!ret->count)
			tool_complain("no OpenCL device builds programs that can be stored");
	}
	tool_remove_scratch(directory);
	return done;
}
