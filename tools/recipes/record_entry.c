/* SPDX-License-Identifier: MIT */
/*
 * record_entry: an entry becomes a recipe if its key says what the program
 * asked for and nothing of this machine: device and driver are left out, and
 * variables that were set before the command ran, which are this machine's.
 */
#include <envz.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachecore/disk/store.h"
#include "cachecore/manifest.h"
#include "tools/memory.h"
#include "tools/recipes/portable.h"
#include "tools/recipes/record.h"
#include "tools/recipes/recipe_key.h"
#include "tools/recipes/recipe_links.h"
#include "tools/tool.h"

struct walk {
	struct recording *recording;
	struct objects objects;		/* of which links are made */
	enum cmn_status status;
};

/* Counts an entry that is left out; the first one of a reason is its example. */
static void leave_out(struct recording *recording, const char *reason, struct cmn_view example)
{
	struct left_out *one = recording->left_out;

	while (one->reason && strcmp(one->reason, reason) != 0) {
		if (one == &recording->left_out[RECORD_REASONS - 1])
			return;		/* there are fewer reasons */
		one++;
	}
	one->reason = reason;
	if (!one->count++ && example.len)
		(void)snprintf(one->example, sizeof(one->example), "%.*s",
			       example.len < 4096 ? (int)example.len : 4096,
			       (const char *)example.data);	/* its beginning is enough */
}

/* Whether the environment that the command got has this variable. */
static bool was_set(const struct recording *recording, struct cmn_view name, struct cmn_view value)
{
	char *text = memory_copy_view(name);
	const char *found = envz_get(recording->environment, recording->environment_len, text);

	free(text);
	return found && cmn_view_equal(cmn_view_of(found), value);
}

/* A variable of the key that the program set itself; an empty view: there is none. */
static struct cmn_view own_variable(const struct recording *recording, struct cmn_view key)
{
	const size_t prefix = strlen("env.");
	struct cc_key_field field;
	struct cmn_reader reader;

	if (cc_key_read(key, &reader) != CMN_OK)
		return (struct cmn_view){ 0 };
	while (cc_key_next(&reader, &field) == CMN_OK) {
		struct cmn_view name;

		if (field.name.len <= prefix || memcmp(field.name.data, "env.", prefix) != 0)
			continue;
		name = (struct cmn_view){ (const char *)field.name.data + prefix,
					  field.name.len - prefix };
		if (!was_set(recording, name, field.value))
			return name;
	}
	return (struct cmn_view){ 0 };
}

static bool contains(struct cmn_view text, const char *directory)
{
	char path[4096];
	int len;

	if (!directory || directory[0] != '/' || !directory[1] || !text.len)
		return false;
	len = snprintf(path, sizeof(path), "%s/", directory);
	return len > 0 && (size_t)len < sizeof(path) &&
	       memmem(text.data, text.len, path, (size_t)len) != NULL;
}

/* Whether a text has a path of this user or run in it. */
static bool is_of_machine(const struct recording *recording, struct cmn_view text)
{
	return contains(text, getenv("HOME")) || contains(text, recording->scratch) ||
	       contains(text, getenv("TMPDIR"));
}

/* NULL: the key can be asked for elsewhere; else why not. */
static const char *refuse_key(const struct recording *recording, struct cmn_view key,
			      struct cmn_view *ret_example)
{
	struct cc_key_field field;
	struct cmn_reader reader;
	const char *reason = recipe_key_refuse(key);

	*ret_example = cc_key_find(key, "options", 0);
	if (reason)
		return reason;
	*ret_example = own_variable(recording, key);
	if (ret_example->len)
		return "the program sets a variable that the driver reads";
	*ret_example = (struct cmn_view){ 0 };
	if (recipe_key_devices(key) != 1)
		return "they are for several devices at once, or for a part of one";
	if (cc_key_read(key, &reader) != CMN_OK)
		return "their key cannot be read";
	while (cc_key_next(&reader, &field) == CMN_OK) {
		if (field.part != CC_PART_DEVICE && !(field.name.len > 4 &&
		    memcmp(field.name.data, "env.", 4) == 0) &&
		    is_of_machine(recording, field.value)) {
			*ret_example = field.name;
			return "a path of this user is in them";
		}
	}
	return NULL;
}

/* The files that belong to the program. NULL: *ret has them; else why the entry is left out. */
static const char *gather_headers(const struct cc_manifest *manifest, struct cmn_view options,
				  struct pack_header *ret, size_t *ret_count,
				  struct cmn_view *ret_example)
{
	*ret_count = 0;
	for (size_t i = 0; i < cc_manifest_count(manifest); i++) {
		struct cc_manifest_item item = cc_manifest_get(manifest, i);
		struct cmn_view path = cmn_view_of(item.path);

		*ret_example = path;
		if (item.kind == CC_DEPENDENCY_DIRECTORY)
			return "they depend on the working directory";
		if (item.kind != CC_DEPENDENCY_FILE)
			continue;
		if (!portable_path(path))
			return "they read a file that no package has";
		/* Others are the compiler's own. */
		if (portable_includes(options, path))
			ret[(*ret_count)++] = (struct pack_header){ path, item.size, item.hash };
	}
	*ret_example = (struct cmn_view){ 0 };
	return NULL;
}

static int compare_headers(const void *a, const void *b)
{
	const struct cmn_view x = ((const struct pack_header *)a)->path;
	const struct cmn_view y = ((const struct pack_header *)b)->path;

	return strcmp(x.data, y.data);	/* a manifest's paths are terminated */
}

/* Adds a recipe of a key that other machines can use. NULL: it is there; else why it is left out. */
static const char *add_recipe(struct walk *walk, const struct cc_store_item *item,
			      struct cmn_view key, struct cmn_view *ret_example)
{
	struct cmn_view options = cc_key_find(key, "options", 0);
	struct pack_target target = { 0 };
	struct pack_header *headers = memory_new(cc_manifest_count(item->manifest), sizeof(*headers));
	const char *reason;
	size_t count = 0;

	reason = refuse_key(walk->recording, key, ret_example);
	if (!reason)
		reason = gather_headers(item->manifest, options, headers, &count, ret_example);
	if (!reason) {
		if (count)
			qsort(headers, count, sizeof(*headers), compare_headers);
		if (!walk->recording->any_device)
			recipe_key_target(key, &target);
		walk->status = pack_maker_add_recipe(walk->recording->maker, &target, key, headers,
						     count);
	}
	free(headers);
	if (walk->status != CMN_ERR_TOO_LARGE)
		return reason;
	walk->status = CMN_OK;
	return "they are too large for a pack";
}

static bool record_item(void *ctx, const struct cc_store_item *item)
{
	struct walk *walk = ctx;
	struct cmn_view example = { 0 };
	const char *reason = NULL;
	struct cc_key key;

	if (item->status != CMN_OK)
		return true;
	cc_key_init(&key);
	if (objects_is_link(item->key)) {
		walk->status = recipe_links_record(&walk->objects, item->key, &key);
		if (walk->status == CMN_MISS) {
			reason = "they are linked of something that was not built from source";
			walk->status = CMN_OK;
		} else if (walk->status == CMN_OK) {
			reason = add_recipe(walk, item, cc_key_view(&key), &example);
		}
	} else {
		reason = add_recipe(walk, item, item->key, &example);
	}
	if (reason)
		leave_out(walk->recording, reason, example);
	cc_key_release(&key);
	return walk->status == CMN_OK;
}

bool record_entries(struct recording *recording, const char *root)
{
	const struct cmn_log log = { .level = CMN_LOG_NONE };
	char *no_tiers[] = { NULL };
	struct cc_config config = { .dir = (char *)root, .read_only_dirs = no_tiers };
	struct walk walk = { .recording = recording, .status = CMN_OK };
	struct cc_store *store;
	enum cmn_status status = cc_store_open(&config, &log, &store);

	if (status == CMN_OK) {
		status = objects_read(store, &walk.objects);
		if (status == CMN_OK)
			status = cc_store_walk(store, false, record_item, &walk);
		cc_store_close(store);
	}
	objects_release(&walk.objects);
	if (status == CMN_MISS)		/* nothing was stored */
		status = CMN_OK;
	if (status == CMN_OK)
		status = walk.status;
	if (status != CMN_OK)
		(void)tool_fail(root, status);
	return status == CMN_OK;
}
