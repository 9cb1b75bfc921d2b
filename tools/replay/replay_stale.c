/* SPDX-License-Identifier: MIT */
/*
 * replay_stale: entries that nobody will ask for again, since the driver or a
 * compiler changed: each becomes a recipe for the same program with what is
 * there now (present.h).
 */
#include <string.h>
#include <unistd.h>

#include "cachecore/key.h"
#include "tools/replay/present.h"
#include "tools/replay/replay.h"

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
	if (present_renew_key(recording->present, item->key, &key))
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

bool replay_stale_record(const struct replay_settings *settings, struct cc_store *store,
			 unsigned long long *ret_count, int *ret_signal)
{
	struct present present;
	enum cmn_status status;
	bool done = present_read(settings, &present, ret_signal);

	if (done) {
		status = record_all(&present, settings->root, store, ret_count);
		done = status == CMN_OK;
		if (!done)
			tool_complain("%s: %s", settings->root, cmn_status_string(status));
	}
	present_release(&present);
	return done;
}
