/* SPDX-License-Identifier: MIT */
/*
 * recipes_build: what packs have for the devices that are here becomes recipes
 * of `ckcache replay`, pack by pack, each with its own time: a pack whose builds
 * hang does not keep the others from being built.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/file_memo.h"
#include "cachecore/key_options.h"
#include "cachecore/manifest.h"
#include "tools/json_output.h"
#include "tools/memory.h"
#include "tools/recipes/recipes.h"
#include "tools/replay/replay.h"
#include "tools/replay/waiting.h"
#include "tools/text.h"
#include "tools/tool.h"

enum {
	TIMEOUT_S = 60,		/* most programs take a second, the slowest known ones 30 */
	IDLE_TIMEOUT_S = 600,	/* at that priority, others make it take many times as long */
	BUDGET_S = 1800,	/* of one pack */
	/* At a time: the directory of recipes has twice as much room, also for applications' own. */
	MAX_RECIPES = CC_RECIPES_MAX_COUNT / 2,
};
#define MAX_BYTES (CC_RECIPES_MAX_BYTES / 2)

struct building {
	struct replay_settings settings;
	struct idle idle;
	size_t jobs;
	unsigned long budget_s;
	struct present present;
	struct cc_store *store;
	struct cmn_buffer environment;	/* of recipes */
	struct confine confine;		/* how workers run */
	bool unconfined;		/* the user wants it so */
	char *scratch;
	/*
	 * In which workers build: the recipes' own, where no header is. Not "/", which is the same
	 * directory by two names ("." and "/") then, as it is for no application.
	 */
	char *directory;
	struct json_object *packs;	/* NULL: text */
	struct cmn_buffer text;
	int signal;
	bool begun, failed;	/* failed: it was complained about */
};

/* What becomes of one pack. */
struct state {
	struct building *building;
	const struct packs_file *file;
	struct recipe_index index;
	struct objects objects;		/* of which links are made; empty until there are some */
	bool *settled;			/* of each recipe and device: it is not to be tried again */
	struct cc_file_memo *memo;	/* many recipes may have one header; NULL: no memory for it */
	unsigned long long built, failed, other;
	struct cc_recipes_names names;	/* to be built */
	uint64_t bytes;			/* of their recipes */
	unsigned long long there, refused, elsewhere, quarantined, left;
	const char *reason;	/* static: why the first one was refused */
	char example[256];
};

static void refuse(struct state *state, const char *reason, const char *example)
{
	if (!state->refused++) {
		state->reason = reason;
		(void)snprintf(state->example, sizeof(state->example), "%s", example);
	}
}

/*
 * The manifest of the recipe's headers, as the pack has them. NULL: none, or one
 * is not as the pack has it, and the recipe is refused then.
 */
static struct cc_manifest *manifest_of(struct state *state, const struct pack_recipe *recipe)
{
	struct cc_manifest *manifest = cc_manifest_new();
	struct cc_manifest_change change = { 0 };
	enum cmn_status status = manifest ? CMN_OK : CMN_ERR_NOMEM;

	for (uint32_t i = 0; status == CMN_OK && i < recipe->header_count; i++) {
		struct pack_header header = pack_header(state->file->pack, recipe, i);
		char *path = memory_copy_view(header.path);

		status = !portable_path(header.path) ? CMN_ERR_ACCESS :
			 cc_manifest_add_file(manifest, path, header.size, &header.hash);
		free(path);
	}
	if (status == CMN_OK)
		status = cc_manifest_compare(manifest, state->memo, &change);
	if (status == CMN_OK)
		return manifest;
	if (status == CMN_STALE)
		refuse(state, change.how == CC_MANIFEST_CHANGED ?
		       "a header is another one here" : "a header is missing", change.path);
	else
		refuse(state, "a header cannot be read, or is no package's", "");
	cc_manifest_free(manifest);
	return NULL;
}

/* Takes the name into the list of what is to be built. */
static void add_name(struct cc_recipes_names *names, struct cmn_view key)
{
	char name[CC_RECIPE_NAME_SIZE];

	cc_recipe_name(key, name);
	memory_grow(names->names, names->count);
	names->names[names->count++] = memory_copy(name);
}

static enum cmn_status put(struct state *state, const struct cc_recipe *recipe)
{
	struct building *building = state->building;
	struct cmn_buffer encoded = { 0 };
	enum cmn_status status;

	if (replay_entries_has(building->settings.root, recipe)) {
		state->there++;
		return CMN_OK;
	}
	if (cc_recipes_is_quarantined(building->settings.root, recipe->key)) {
		state->quarantined++;
		return CMN_OK;
	}
	status = cc_recipe_encode(recipe, &encoded);
	if (status == CMN_OK && (state->names.count == MAX_RECIPES ||
				 encoded.len > MAX_BYTES - state->bytes ||
				 !idle_lets_begin(&building->idle))) {
		state->left++;
		cmn_buffer_release(&encoded);
		return CMN_OK;
	}
	state->bytes += encoded.len;
	if (status == CMN_OK)
		status = cc_recipes_put(building->settings.root, cmn_buffer_view(&encoded));
	if (status == CMN_OK)
		add_name(&state->names, recipe->key);
	cmn_buffer_release(&encoded);
	return status;
}

/* The i-th recipe for one device. CMN_MISS: a link of something that is not there, or not there yet. */
static enum cmn_status prepare(struct state *state, size_t i, const struct present_device *device,
			       const struct cc_manifest *headers)
{
	struct cc_manifest *manifest = cc_manifest_new();
	struct cmn_buffer encoded = { 0 };
	struct cc_recipe wanted = {
		.directory = cmn_view_of(state->building->directory),
		.environment = cmn_buffer_view(&state->building->environment),
	};
	const char *reason = NULL;
	enum cmn_status status;
	struct cc_key given, key = { 0 };
	char *options = NULL;

	cc_key_init(&given);
	status = recipe_links_make(&state->index, i, &state->objects, device, &given);
	if (status == CMN_OK) {
		reason = recipe_key_refuse(cc_key_view(&given));
		cc_key_take_options(cc_key_view(&given), &key, &options);
		status = !manifest ? CMN_ERR_NOMEM : cc_key_status(&key);
	}
	if (status == CMN_OK)
		status = cc_manifest_add_include_paths(manifest, &key.include_paths, false);
	if (status == CMN_OK)
		status = cc_manifest_add_all(manifest, headers);
	if (status == CMN_OK && cc_manifest_count(manifest))
		cc_manifest_encode(manifest, &encoded);
	if (encoded.failed)
		memory_end();
	wanted.key = cc_key_view(&key);
	wanted.manifest = cmn_buffer_view(&encoded);
	if (status == CMN_OK && !reason)
		status = put(state, &wanted);
	else if (status == CMN_OK)
		refuse(state, reason, "");
	cmn_buffer_release(&encoded);
	cc_manifest_free(manifest);
	cc_key_release(&given);
	cc_key_release(&key);
	free(options);
	return status;
}

/* For each device for which that was not done yet. */
static enum cmn_status prepare_recipe(struct state *state, size_t i, bool first)
{
	const struct present *present = &state->building->present;
	const struct pack_recipe *recipe = &state->index.recipes[i];
	bool *settled = state->settled + i * present->count;
	struct cc_manifest *manifest = NULL;
	enum cmn_status status = CMN_OK;
	bool met = false;

	for (size_t j = 0; status == CMN_OK && j < present->count; j++) {
		const struct present_device *device = &present->devices[j];

		if (present_is_again(present, j) || !recipe_key_is_for(state->file->pack, recipe, device))
			settled[j] = true;
		if (settled[j])
			continue;
		if (!idle_lets_begin(&state->building->idle)) {
			state->left++;
			settled[j] = true;
			continue;
		}
		if (!met)
			manifest = manifest_of(state, recipe);
		met = true;
		if (manifest)
			status = prepare(state, i, device, manifest);
		settled[j] = !manifest || status == CMN_OK;
		if (status == CMN_MISS)
			status = CMN_OK;
	}
	state->elsewhere += first && !met;
	cc_manifest_free(manifest);
	return status;
}

/* What was prepared; nothing of it is left to be done. */
static void build_prepared(struct state *state)
{
	struct building *building = state->building;
	struct replay replay = { .fd = -1 };

	if (state->names.count && !replay_build(&building->settings, &building->idle, building->jobs,
						&state->names, &replay))
		building->failed = true;
	building->signal = replay.signal;
	state->built += replay.built;
	state->there += replay.there;
	state->failed += replay.wrong;
	state->left += replay.late;
	state->other += replay.outdated + replay.unwanted + replay.inputs + replay.damaged + replay.absent;
	cc_recipes_names_release(&state->names);
}

/*
 * First all but links, then the links whose inputs are there by now, until none is left or nothing
 * more is built.
 */
static enum cmn_status build_pack(struct state *state)
{
	struct building *building = state->building;
	enum cmn_status status = CMN_OK;
	bool more = true;

	for (unsigned int round = 0; more && status == CMN_OK && !building->signal; round++) {
		if (round) {
			objects_release(&state->objects);
			status = objects_read(building->store, &state->objects);
			if (status == CMN_MISS)	/* the root is gone */
				status = CMN_OK;
		}
		for (size_t i = 0; status == CMN_OK && i < state->index.count; i++) {
			if (recipe_index_is_link(&state->index, i) == (round > 0))
				status = prepare_recipe(state, i, round < 2);
		}
		more = round ? state->names.count && round < RECIPE_LINKS_DEPTH :
			       state->index.links != 0;
		build_prepared(state);
	}
	for (size_t i = 0; i < state->index.count * building->present.count; i++) {
		if (!state->settled[i] && status == CMN_OK && !building->signal)
			refuse(state, "what it is linked of is not there", "");
	}
	return status;
}

/* The reasons, in one line each. */
static void explain(const struct state *state)
{
	const char *path = state->file->path;

	if (state->refused)
		tool_complain("%s: %llu not built: %s%s%s", path, state->refused, state->reason,
			      *state->example ? ": " : "", state->example);
	if (state->quarantined)
		tool_complain("%s: %llu not built: they failed twice before", path,
			      state->quarantined);
	if (state->left)
		tool_complain("%s: %llu not built this time: %s", path, state->left,
			      state->building->idle.on_battery ? "on battery power" :
			      idle_is_spent(&state->building->idle) ?
			      "the time for one pack was over" : "they are too many at a time");
}

static void report(const struct state *state)
{
	const struct {
		const char *name, *text;
		unsigned long long count;
	} rows[] = {
		{ "built", "built", state->built },
		{ "there", "already there", state->there },
		{ "elsewhere", "for other devices", state->elsewhere },
		{ "refused", "refused", state->refused },
		{ "failed", "failed", state->failed },
		{ "quarantined", "failed twice before", state->quarantined },
		{ "left", "left for next time", state->left },
		{ "other", "not stored", state->other },
	};
	struct building *building = state->building;
	struct json_object *object = NULL;
	const char *comma = "";

	if (building->packs) {
		object = recipes_add_pack(building->packs, state->file);
	} else {
		text_append_clean(&building->text, cmn_view_of(state->file->path), PATH_MAX);
		cmn_buffer_append_text(&building->text, ": ");
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (object) {
			json_add_number(object, rows[i].name, rows[i].count);
		} else if (rows[i].count || i == 0) {
			cmn_buffer_printf(&building->text, "%s%llu %s", comma, rows[i].count,
					  rows[i].text);
			comma = ", ";
		}
	}
	if (!object)
		cmn_buffer_append_u8(&building->text, '\n');
}

/* How drivers are found here; nothing of it comes from packs. */
static void gather_environment(struct building *building)
{
	replay_carry_environment(&building->environment);
	cc_recipe_add_stranger(&building->environment);
	if (building->environment.failed)
		memory_end();
}

/* false: complained about. */
static bool make_directory(const struct building *building)
{
	int fd;
	enum cmn_status status = cc_recipes_make(building->settings.root, &fd);

	if (status == CMN_OK)
		(void)close(fd);	/* nothing was written through it */
	else
		tool_complain("%s: %s", building->settings.root, cmn_status_string(status));
	return status == CMN_OK;
}

/* With what the probes have found. false: complained about. */
static bool confine_workers(struct building *building)
{
	building->scratch = tool_make_scratch();
	if (!building->scratch)
		return false;
	present_confine(&building->present, building->settings.root, building->scratch, &building->confine);
	building->confine.any_file = building->unconfined;
	building->settings.confine = &building->confine;
	building->settings.scratch = building->scratch;
	return true;
}

/* Before the first pack: without one nobody asks drivers anything. false: complained about. */
static bool begin(struct building *building)
{
	if (building->begun)
		return true;
	building->begun = true;
	if (!building->unconfined && !confine_is_possible()) {
		tool_complain("no pack is built: this kernel cannot confine compilers (it has no Landlock); "
			      "--unconfined builds packs all the same");
		return false;
	}
	child_begin(CHILD_WORKERS);
	child_over();	/* nothing is to be cleared up */
	building->directory = memory_printf("%s/" CC_RECIPES_DIRECTORY, building->settings.root);
	gather_environment(building);
	return make_directory(building) &&
	       present_read(&building->settings, &building->present, &building->signal) &&
	       confine_workers(building);
}

static bool visit(void *ctx, const struct packs_file *file)
{
	struct building *building = ctx;
	struct state state = { .building = building, .file = file };
	enum cmn_status status;

	if (!begin(building)) {
		building->failed = true;
		return false;
	}
	idle_begin(&building->idle, building->budget_s);
	state.memo = cc_file_memo_new();
	status = recipe_index_read(file->pack, &state.index);
	if (status == CMN_OK) {
		state.settled = memory_new(state.index.count * building->present.count,
					   sizeof(*state.settled));
		status = build_pack(&state);
	}
	if (status != CMN_OK) {
		tool_complain("%s: %s", file->path, cmn_status_string(status));
		building->failed = true;
	}
	explain(&state);
	building->failed = building->failed || state.failed || state.refused || state.left;
	report(&state);
	objects_release(&state.objects);
	recipe_index_release(&state.index);
	cc_file_memo_free(state.memo);
	free(state.settled);
	return !building->signal;
}

int recipes_build(const struct recipes_request *request)
{
	const uint64_t second = UINT64_C(1000000000);
	static struct building building;	/* until the command ends */
	struct tool_cache *cache;
	int code;

	building.settings.layer = replay_find_layer();
	building.budget_s = request->budget_s ? request->budget_s : BUDGET_S;
	building.unconfined = request->unconfined;
	building.settings.idle = request->idle;
	building.settings.timeout_ns = (request->timeout_s ? request->timeout_s : request->idle ?
					IDLE_TIMEOUT_S : TIMEOUT_S) * second;
	idle_init(&building.idle, request->idle, 0);
	building.jobs = request->jobs ? request->jobs : waiting_jobs();
	cache = tool_open();
	building.settings.root = cache->config.dir;
	building.store = cache->store;
	if (!tool_may_write(cache))
		return TOOL_FAILED;
	building.packs = request->json ? json_new_array() : NULL;
	if (building.idle.on_battery)
		tool_complain("on battery power: nothing is built");
	else if (!packs_walk(visit, &building))
		building.failed = true;
	else if (!request->json && !building.begun)
		cmn_buffer_append_text(&building.text, "no packs\n");
	/* Without text it was complained about; that there was no time is no failure. */
	code = request->json ? json_print(building.packs) : tool_print(&building.text);
	tool_remove_scratch(building.scratch);
	building.scratch = NULL;
	if (building.signal) {
		child_end_by(building.signal);
		return 128 + building.signal;
	}
	return building.failed ? TOOL_FAILED : code;
}
