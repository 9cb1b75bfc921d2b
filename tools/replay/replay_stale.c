/* SPDX-License-Identifier: MIT */
/*
 * replay_stale: entries that nobody will ask for again, since the driver or a
 * compiler changed: each becomes a recipe for the same program with what is
 * there now. What is there now the layer itself says, by its keys for a small
 * program that a worker builds for each device into a cache of its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cachecore/key.h"
#include "tools/replay/replay.h"

/* Fields of one device in a key, from its platform.name to the next one's or the part's end. */
struct segment {
	struct cmn_view fields;		/* encoded */
	struct cmn_view platform, device;	/* names */
};

struct present {
	struct segment *segments;
	size_t count;
	char **keys;		/* that they point into */
	size_t key_count;
	bool failed;		/* out of memory */
};

static bool is_name(const struct cc_key_field *field, const char *name)
{
	return cmn_view_equal(field->name, cmn_view_of(name));
}

/* The segment at the reader, which moves past it; false: there is none. */
static bool next_segment(struct cmn_reader *reader, struct segment *ret)
{
	struct cmn_reader ahead = *reader;
	const uint8_t *start = reader->data;
	struct cc_key_field field;
	bool first = true;

	*ret = (struct segment){ 0 };
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

static void present_release(struct present *present)
{
	for (size_t i = 0; i < present->key_count; i++)
		free(present->keys[i]);
	free(present->keys);
	free(present->segments);
}

/* Room for one more of each; false: out of memory. */
static bool grow(struct present *present)
{
	struct segment *segments;
	char **keys;

	keys = reallocarray(present->keys, present->key_count + 1, sizeof(*keys));
	if (!keys)
		return false;
	present->keys = keys;
	segments = reallocarray(present->segments, present->count + 1, sizeof(*segments));
	if (!segments)
		return false;
	present->segments = segments;
	return true;
}

static bool add_present(void *ctx, const struct cc_store_item *item)
{
	struct present *present = ctx;
	struct cmn_reader reader;
	struct segment segment;
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
	    next_segment(&reader, &segment))
		present->segments[present->count++] = segment;
	return true;
}

/* What is there now of that platform and device: the very same if there is one. NULL: nothing. */
static const struct segment *find_present(const struct present *present,
					  const struct segment *segment)
{
	const struct segment *found = NULL;

	for (size_t i = 0; i < present->count; i++) {
		const struct segment *candidate = &present->segments[i];

		if (cmn_view_equal(candidate->fields, segment->fields))
			return candidate;
		if (!found && cmn_view_equal(candidate->platform, segment->platform) &&
		    cmn_view_equal(candidate->device, segment->device))
			found = candidate;
	}
	return found;
}

static void add_segment(struct cc_key *key, const struct segment *segment)
{
	cmn_buffer_append(&key->encoded, segment->fields.data, segment->fields.len);
}

/* The key of the same build now. false: the old one still is, or there is no such device. */
static bool renew_key(const struct present *present, struct cmn_view old, struct cc_key *ret)
{
	struct cmn_reader reader;
	struct segment segment;
	bool changed = false;

	if (cc_key_read(old, &reader) != CMN_OK)
		return false;
	while (next_segment(&reader, &segment)) {
		const struct segment *now = find_present(present, &segment);

		if (!now)
			return false;
		changed = changed || !cmn_view_equal(now->fields, segment.fields);
		add_segment(ret, now);
	}
	/* The other parts follow as they are. */
	cmn_buffer_append(&ret->encoded, reader.data, reader.left);
	return changed && cc_key_status(ret) == CMN_OK;
}

/* Whether a program can be made from its key alone, and is worth it. */
static bool is_repeatable(struct cmn_view key)
{
	struct cmn_view kind, part;

	return replay_key_field(key, "kind", 0, &kind) &&
	       (cmn_view_equal(kind, cmn_view_of("source")) ||
		cmn_view_equal(kind, cmn_view_of("il"))) &&
	       !replay_key_field(key, "device.partition", 0, &part);
}

/* Where it was built, as far as the result depends on it. */
static struct cmn_view directory_of(const struct cc_manifest *manifest)
{
	for (size_t i = 0; i < cc_manifest_count(manifest); i++) {
		struct cc_manifest_item item = cc_manifest_get(manifest, i);

		if (item.kind == CC_DEPENDENCY_DIRECTORY)
			return cmn_view_of(item.path);
	}
	return (struct cmn_view){ 0 };
}

struct recording {
	const struct present *present;
	const char *root;
	struct cmn_buffer environment;
	unsigned long long count;
	enum cmn_status status;
};

static enum cmn_status put_recipe(struct recording *recording, const struct cc_key *key,
				  const struct cc_manifest *manifest)
{
	struct cmn_buffer encoded_manifest = { 0 }, encoded = { 0 };
	struct cc_recipe recipe = {
		.key = cc_key_view(key),
		.directory = directory_of(manifest),
		.environment = cmn_buffer_view(&recording->environment),
	};
	enum cmn_status status;

	if (cc_manifest_count(manifest))
		cc_manifest_encode(manifest, &encoded_manifest);
	recipe.manifest = cmn_buffer_view(&encoded_manifest);
	status = encoded_manifest.failed ? CMN_ERR_NOMEM : CMN_OK;
	if (status == CMN_OK && !replay_entries_has(recording->root, &recipe)) {
		status = cc_recipe_encode(&recipe, &encoded);
		if (status == CMN_OK)
			status = cc_recipes_put(recording->root, cmn_buffer_view(&encoded));
		if (status == CMN_OK)
			recording->count++;
	}
	cmn_buffer_release(&encoded);
	cmn_buffer_release(&encoded_manifest);
	/* One that is too large is no reason to leave the others. */
	return status == CMN_ERR_TOO_LARGE ? CMN_OK : status;
}

static bool record_item(void *ctx, const struct cc_store_item *item)
{
	struct recording *recording = ctx;
	struct cc_key key;

	if (item->status != CMN_OK || !is_repeatable(item->key))
		return true;
	cc_key_init(&key);
	if (renew_key(recording->present, item->key, &key))
		recording->status = put_recipe(recording, &key, item->manifest);
	cc_key_release(&key);
	return recording->status == CMN_OK;
}

static enum cmn_status record_all(const struct present *present, const char *root,
				  struct cc_store *store, unsigned long long *ret_count)
{
	struct recording recording = { .present = present, .root = root, .status = CMN_OK };
	enum cmn_status status;

	for (size_t i = 0; environ && environ[i]; i++) {
		if (cc_recipe_carries(environ[i]))
			cmn_buffer_append(&recording.environment, environ[i],
					  strlen(environ[i]) + 1);
	}
	if (recording.environment.failed) {
		cmn_buffer_release(&recording.environment);
		return CMN_ERR_NOMEM;
	}
	status = cc_store_walk(store, false, record_item, &recording);
	cmn_buffer_release(&recording.environment);
	if (status == CMN_MISS)
		status = CMN_OK;
	*ret_count = recording.count;
	return recording.status != CMN_OK ? recording.status : status;
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

static enum cmn_status read_present(const char *directory, struct present *ret)
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

bool replay_stale_record(const struct replay_settings *settings, struct cc_store *store,
			 unsigned long long *ret_count, int *ret_signal)
{
	char *directory = tool_make_scratch();
	struct present present = { 0 };
	enum cmn_status status;
	bool done = false;

	if (!directory) {
		tool_complain("cannot create a temporary directory");
		return false;
	}
	if (run_probe(settings, directory, ret_signal)) {
		status = read_present(directory, &present);
		if (status == CMN_OK && !present.count)
			tool_complain("no OpenCL device builds programs that can be stored");
		if (status == CMN_OK)
			status = record_all(&present, settings->root, store, ret_count);
		done = status == CMN_OK;
		if (!done)
			tool_complain("%s: %s", settings->root, cmn_status_string(status));
	}
	present_release(&present);
	tool_remove_scratch(directory);
	return done;
}
