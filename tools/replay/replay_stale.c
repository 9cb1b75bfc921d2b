/* SPDX-License-Identifier: MIT */
/*
 * replay_stale: entries that nobody will ask for again, since the driver or a
 * compiler changed: each becomes a recipe for the same program with what is
 * there now (replay.h). A link's key names its inputs by their content, which
 * is known when these are built: links come last.
 */
#include "tools/replay/replay.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "cachecore/disk/space/days.h"
#include "cachecore/key.h"
#include "cachecore/record/recorder.h"
#include "common/clock.h"
#include "tools/memory.h"

enum {
	/* Recipes at a time: the directory of recipes has its bounds (recipes.h), and drops the oldest. */
	MAX_AT_ONCE = 1024,
};

bool replay_stale_begin(const struct replay_settings *settings, struct cc_store *store,
			struct replay_stale *ret, int *ret_signal)
{
	*ret = (struct replay_stale){ .settings = settings, .store = store };
	replay_carry_environment(&ret->environment);
	if (ret->environment.failed)
		memory_end();
	/* What cannot be read is not known. */
	(void)!run_history_load(store, &ret->history);
	return present_read(settings, &ret->present, ret_signal);
}

/* Whether it matters where it was built. */
static bool has_relative(const struct cc_manifest *manifest)
{
	bool relative = false;

	for (size_t i = 0; i < cc_manifest_count(manifest); i++) {
		struct cc_manifest_item item = cc_manifest_get(manifest, i);

		relative |= (item.kind == CC_DEPENDENCY_FILE || item.kind == CC_DEPENDENCY_SEEN) &&
			    item.path[0] != '/';
	}
	return relative;
}

/* Whether the files are where this command was called. */
static bool holds_at_caller(const struct replay_stale *stale, const struct cc_manifest *manifest)
{
	int back = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool holds = false;

	if (back < 0)
		return false;
	if (stale->settings->directory && chdir(stale->settings->directory) == 0) {
		holds = cc_manifest_verify(manifest, NULL) == CMN_OK;
		holds = fchdir(back) == 0 && holds;
	}
	(void)close(back);	/* only a name */
	return holds;
}

/* The recipe of an entry with its new key, all borrowed. CMN_ERR_INVALID: nobody knows where it was built. */
static enum cmn_status recipe_of(const struct replay_stale *stale, struct cmn_view key,
				 const struct cc_manifest *manifest, struct cmn_buffer *files,
				 struct cc_recipe *ret)
{
	struct cc_manifest *copy = cc_manifest_new();
	enum cmn_status status = copy ? cc_manifest_add_but_drivers(copy, manifest) : CMN_ERR_NOMEM;

	*ret = (struct cc_recipe){ .key = key, .environment = cmn_buffer_view(&stale->environment) };
	ret->directory = objects_directory(manifest);
	if (status == CMN_OK && !ret->directory.len && has_relative(copy)) {
		ret->directory = cmn_view_of(stale->settings->directory);
		status = holds_at_caller(stale, copy) ? CMN_OK : CMN_ERR_INVALID;
	}
	if (status == CMN_OK && cc_manifest_count(copy)) {
		cc_manifest_encode(copy, files);
		ret->manifest = cmn_buffer_view(files);
		status = files->failed ? CMN_ERR_NOMEM : CMN_OK;
	}
	cc_manifest_free(copy);
	return status;
}

/* CMN_OK: it is there now. CMN_MISS: no recipe is needed. CMN_ERR_TOO_LARGE; as recipe_of. */
static enum cmn_status put_recipe(struct replay_stale *stale, const char *program,
				  struct cmn_view key, const struct cc_manifest *manifest)
{
	struct cmn_buffer files = { 0 }, encoded = { 0 }, environment = { 0 };
	struct cc_recipe recipe;
	enum cmn_status status = recipe_of(stale, key, manifest, &files, &recipe);

	cmn_buffer_append(&environment, stale->environment.data, stale->environment.len);
	if (program)
		cc_recipe_add_program(&environment, program);
	else if (stale->settings->confine)	/* a pack may have asked for it, or whoever exported it */
		cc_recipe_add_stranger(&environment);
	recipe.environment = cmn_buffer_view(&environment);
	if (environment.failed)
		status = CMN_ERR_NOMEM;
	if (status == CMN_OK && replay_entries_has(stale->settings->root, &recipe))
		status = CMN_MISS;
	if (status == CMN_OK)
		status = cc_recipe_encode(&recipe, &encoded);
	if (status == CMN_OK)
		status = cc_recipes_put(stale->settings->root, cmn_buffer_view(&encoded));
	cmn_buffer_release(&encoded);
	cmn_buffer_release(&environment);
	cmn_buffer_release(&files);
	return status;
}

/*
 * For one program, which may be running: what it asked for last is the first, so that the two do not
 * want the same at the same time, until they meet. What replay itself has built was in no such order.
 */
static double worth_of(const struct cc_store_item *item, const struct run_history_event *arrival)
{
	if (arrival)
		return (double)arrival->time_ns;
	return replay_worth_of(item->build_ns, item->access_ns, cmn_clock_realtime());
}

/* The same, counted; false: this cannot go on. */
static bool record(struct replay_stale *stale, const struct cc_store_item *item, struct cmn_view key,
		   const struct cc_manifest *manifest, enum cmn_status *ret_status)
{
	const struct run_history_event *arrival = run_history_find_arrival(stale->history, item->path);
	const char *wanted = stale->settings->program;
	char name[CC_RECIPE_NAME_SIZE];

	*ret_status = CMN_MISS;
	cc_recipe_name(key, name);
	if (replay_worths_has(&stale->worths, name))
		return true;
	if (!wanted || (arrival && strcmp(arrival->program, wanted) == 0))
		*ret_status = put_recipe(stale, arrival ? arrival->program : NULL, key, manifest);
	stale->left[REPLAY_LEFT_SIZE] += *ret_status == CMN_ERR_TOO_LARGE;
	stale->left[REPLAY_LEFT_DIRECTORY] += *ret_status == CMN_ERR_INVALID;
	if (*ret_status == CMN_ERR_TOO_LARGE || *ret_status == CMN_ERR_INVALID ||
	    *ret_status == CMN_MISS)
		return true;
	if (*ret_status == CMN_OK)
		replay_worths_add(&stale->worths, name, worth_of(item, wanted ? arrival : NULL));
	stale->recorded += *ret_status == CMN_OK;
	return *ret_status == CMN_OK;
}

/* Whether a program can be made from its key alone. */
static bool is_repeatable(struct cmn_view key)
{
	static const char *const kinds[] = { "source",     "il",     "compile",
					     "compile-il", "module", "program" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (replay_key_has(key, "kind", kinds[i]))
			return true;
	}
	return false;
}

/* Whether it is of a layer: others' keys have what they like. */
static bool is_of_layer(struct cmn_view key)
{
	struct cmn_view field;

	return replay_key_field(key, "driver.path", 0, &field);
}

/* The key of the same build now. false: the old one still is, or cannot be replaced, which is counted. */
static bool renew(struct replay_stale *stale, struct cmn_view old, struct cc_key *ret)
{
	struct cmn_view part;

	if (!is_of_layer(old))
		return false;
	if (!present_has_devices(&stale->present, old))
		stale->left[REPLAY_LEFT_DEVICE]++;
	else if (!present_renew_key(&stale->present, old, ret))
		return false;
	else if (replay_key_field(old, "device.partition", 0, &part))
		stale->left[REPLAY_LEFT_SUB_DEVICE]++;
	else if (!is_repeatable(old) && !objects_is_link(old))
		stale->left[REPLAY_LEFT_KIND]++;
	else
		return true;
	return false;
}

struct recording {
	struct replay_stale *stale;
	unsigned long long before;	/* how many there were */
	enum cmn_status status;
};

/* cc_store_walk */
static bool record_item(void *ctx, const struct cc_store_item *item)
{
	struct recording *recording = ctx;
	struct cc_key key;
	bool more = true;

	if (item->status != CMN_OK || item->failed)
		return true;
	cc_key_init(&key);
	if (renew(recording->stale, item->key, &key) && !objects_is_link(item->key))
		more = record(recording->stale, item, cc_key_view(&key), item->manifest,
			      &recording->status);
	cc_key_release(&key);
	if (more)
		recording->status = CMN_OK;
	return more && recording->stale->recorded - recording->before < MAX_AT_ONCE;
}

/* false: complained about. */
static bool walk(struct replay_stale *stale, bool (*visit)(void *ctx, const struct cc_store_item *item),
		 void *ctx, const enum cmn_status *status)
{
	enum cmn_status walked = cc_store_walk(stale->store, false, visit, ctx);

	if (*status != CMN_OK)
		walked = *status;
	if (walked == CMN_OK || walked == CMN_MISS)
		return true;
	(void)tool_fail(stale->settings->root, walked);
	return false;
}

bool replay_stale_record(struct replay_stale *stale, size_t *ret_count)
{
	struct recording recording = { stale, stale->recorded, CMN_OK };
	bool done;

	memset(stale->left, 0, sizeof(stale->left));
	done = walk(stale, record_item, &recording, &recording.status);
	*ret_count = (size_t)(stale->recorded - recording.before);
	return done;
}

/* Links. */

struct linking {
	struct replay_stale *stale;
	struct stale_links links;
	unsigned long long before;	/* how many recipes there were */
	size_t lacking;
	enum cmn_status status;
};

struct link_item {
	struct linking *linking;
	const struct cc_store_item *item;
};

static bool record_link(void *ctx, struct cmn_view key)
{
	const struct link_item *link = ctx;
	struct linking *linking = link->linking;
	enum cmn_status status;
	bool more = record(linking->stale, link->item, key, NULL, &status);

	linking->status = more ? CMN_OK : status;
	return more;
}

/* Whether it is a link that was renewed by what is there now. */
static bool is_stale_link(const struct replay_stale *stale, const struct cc_store_item *item)
{
	struct cmn_view part;
	struct cc_key key;
	bool stale_link;

	if (item->status != CMN_OK || !objects_is_link(item->key) || !is_of_layer(item->key) ||
	    replay_key_field(item->key, "device.partition", 0, &part))
		return false;
	cc_key_init(&key);
	stale_link = present_renew_key(&stale->present, item->key, &key);
	cc_key_release(&key);
	return stale_link;
}

/* cc_store_walk */
static bool record_link_item(void *ctx, const struct cc_store_item *item)
{
	struct linking *linking = ctx;
	struct link_item link = { linking, item };
	enum cmn_status status;

	if (!is_stale_link(linking->stale, item))
		return true;
	status = stale_links_renew(&linking->links, item->key, record_link, &link);
	linking->lacking += status == CMN_MISS;
	if (status != CMN_OK && status != CMN_MISS && status != CMN_STALE)
		linking->status = status;
	return linking->status == CMN_OK && linking->stale->recorded - linking->before < MAX_AT_ONCE;
}

bool replay_stale_record_links(struct replay_stale *stale, size_t *ret_count)
{
	struct linking linking = { .stale = stale, .links.present = &stale->present, .before = stale->recorded };
	bool done;

	linking.status = objects_read(stale->store, &linking.links.objects);
	done = walk(stale, record_link_item, &linking, &linking.status);
	objects_release(&linking.links.objects);
	stale->left[REPLAY_LEFT_INPUT] = linking.lacking;
	*ret_count = (size_t)(stale->recorded - linking.before);
	return done;
}

/* Removal. */

/*
 * First the links that make programs, then the rest: a link can be repeated
 * only while the old objects of its inputs are there.
 */
struct removal {
	struct replay_stale *stale;
	struct stale_links links;
	bool first;			/* the walk that is for links */
	size_t waiting;			/* links without a successor */
	struct cc_days days;		/* of use */
	struct cc_removals removed;
	struct cc_key key;		/* of the entries that are looked at */
	bool holds;			/* all of them can go */
};

struct successors {
	struct removal *removal;
	const struct cc_store_item *item;
	size_t there, lacking;
};

static bool look_for_successor(void *ctx, struct cmn_view key)
{
	struct successors *successors = ctx;
	struct replay_stale *stale = successors->removal->stale;
	struct cmn_buffer files = { 0 };
	struct cc_recipe recipe;

	if (recipe_of(stale, key, successors->item->manifest, &files, &recipe) == CMN_OK &&
	    replay_entries_has(stale->settings->root, &recipe))
		successors->there++;
	else
		successors->lacking++;
	cmn_buffer_release(&files);
	return true;
}

/* Whether what the entry is of has an entry with what is there now. */
static bool has_successor(struct removal *removal, const struct cc_store_item *item)
{
	struct replay_stale *stale = removal->stale;
	struct successors successors = { .removal = removal, .item = item };
	struct cc_key key;

	if (is_stale_link(stale, item)) {
		if (stale_links_renew(&removal->links, item->key, look_for_successor,
				      &successors) != CMN_OK)
			return false;
	} else {
		cc_key_init(&key);
		if (is_repeatable(item->key) &&
		    present_renew_key(&stale->present, item->key, &key))
			(void)look_for_successor(&successors, cc_key_view(&key));	/* it is true */
		cc_key_release(&key);
	}
	return successors.there && !successors.lacking;
}

/* All entries of a key were looked at: those of one key lie together. */
static void end_key(struct removal *removal)
{
	struct replay_stale *stale = removal->stale;
	char entry_dir[CC_ENTRY_DIR_PATH_SIZE];

	if (removal->holds && removal->key.encoded.len &&
	    cc_store_remove(stale->store, &removal->key) == CMN_OK) {
		stale->removed++;
		cc_entry_dir_path_of(&removal->key, entry_dir);
		cc_removals_add(&removal->removed, CC_REMOVED_BY_SUCCESSOR, entry_dir);
	}
	removal->key.encoded.len = 0;
	removal->key.encoded.failed = false;
}

/* Whether an entry can go, as far as links need it. */
static bool may_go(struct removal *removal, const struct cc_store_item *item)
{
	struct replay_stale *stale = removal->stale;
	bool link = item->status == CMN_OK && objects_is_link(item->key);
	bool library = link && objects_is_library(item->key);
	bool there;

	if (item->status != CMN_OK || !is_of_layer(item->key) ||
	    (removal->first ? !link : link && !library))
		return false;
	there = has_successor(removal, item);
	if (removal->first && !there && is_stale_link(stale, item))
		removal->waiting++;
	if (removal->first ? library : removal->waiting && objects_is_object(item->key))
		return false;
	return there && present_has_replaced(&stale->present, item->key,
					     cc_days_date(&removal->days, item->access_ns, cmn_clock_realtime()));
}

/* cc_store_walk */
static bool look_at_old(void *ctx, const struct cc_store_item *item)
{
	struct removal *removal = ctx;
	bool goes = may_go(removal, item);

	if (!item->key.len || !cmn_view_equal(cc_key_view(&removal->key), item->key)) {
		end_key(removal);
		cmn_buffer_append(&removal->key.encoded, item->key.data, item->key.len);
		removal->holds = !removal->key.encoded.failed;
	}
	removal->holds = removal->holds && goes;
	return true;
}

void replay_stale_remove(struct replay_stale *stale)
{
	struct removal removal = { .stale = stale, .links.present = &stale->present };
	enum cmn_status status = objects_read(stale->store, &removal.links.objects);
	int root_fd = -1;

	if (cc_store_open_root(stale->store, &root_fd) == CMN_OK)
		cc_days_load(&removal.days, root_fd);
	else
		root_fd = -1;
	/* What is not removed is evicted one day. */
	for (unsigned int i = 0; i < 2 && status == CMN_OK; i++) {
		removal.first = i == 0;
		status = cc_store_walk(stale->store, false, look_at_old, &removal);
		end_key(&removal);
	}
	cc_removals_write(&removal.removed, root_fd);
	if (root_fd >= 0)
		(void)close(root_fd);	/* only a name */
	cc_key_release(&removal.key);
	objects_release(&removal.links.objects);
}
