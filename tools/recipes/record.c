/* SPDX-License-Identifier: MIT */
/*
 * record: runs a command in a cache of its own, and makes a pack of what it asked for. An entry becomes a
 * recipe if its key says what the program asked for and nothing of this machine: device and driver are left
 * out, and variables that were set before the command ran, which are this machine's.
 */
#include <argz.h>
#include <envz.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cachecore/disk/store.h"
#include "cachecore/key_options.h"
#include "cachecore/manifest.h"
#include "cachecore/record/totals.h"
#include "common/file.h"
#include "tools/arguments.h"
#include "tools/memory.h"
#include "tools/recipes/pack.h"
#include "tools/recipes/recipes.h"
#include "tools/run/run.h"
#include "tools/text.h"
#include "tools/tool.h"
#include "tools/worker/worker_process.h"

/* The cache has each program that the command builds, whatever is set for others. */
static const struct worker_variable settings[] = {
	WORKER_STORES_ALL, { "CKCACHE_REMOTE", "" }, { "CKCACHE_OBSERVE", "1" }, { 0 },
};

#define RECORD_REASONS 16

struct recording {
	struct pack_maker *maker;
	bool any_device;	/* recipes are for all */
	char *environment;	/* of this process, before the cache's variables (argz_add(3)) */
	size_t environment_len;
	const char *scratch;	/* the cache directory; borrowed */
	unsigned long long seen;	/* builds */
	struct left_out {
		const char *reason;	/* static; NULL: no more */
		unsigned long long count;
		char example[80];
	} left_out[RECORD_REASONS];
};

struct walk {
	struct recording *recording;
	struct objects objects;		/* of which links are made; but for those that are left out */
	/* What is left out is left out of links, too: so all but these come first, and then libraries. */
	enum { OF_NO_LINKS, OF_LIBRARIES, OF_LINKS, WALKS } walk;
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

		if (!pack_is_environment(field.name) || field.name.len == prefix)
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
		if (field.part != CC_PART_DEVICE && !pack_is_environment(field.name) &&
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

/* No link has that content, which is no hash of anything. */
static void forget(struct objects *objects, const struct cc_store_item *item, struct cmn_view key)
{
	for (size_t i = 0; i < objects->count; i++) {
		if (cmn_view_equal(objects->items[i].key, key) &&
		    cmn_hash_equal(&objects->items[i].content, &item->payload_hash))
			objects->items[i].content = (struct cmn_hash){ 0 };
	}
}

static bool record_item(void *ctx, const struct cc_store_item *item)
{
	struct walk *walk = ctx;
	struct cmn_view example = { 0 };
	const char *reason = NULL;
	bool link = objects_is_link(item->key);
	struct cc_key key, given;

	if (item->status != CMN_OK || item->failed ||
	    walk->walk != (objects_is_library(item->key) ? OF_LIBRARIES : link ? OF_LINKS : OF_NO_LINKS))
		return true;
	cc_key_put_options_back(item->key, item->manifest, &given);
	cc_key_init(&key);
	walk->status = cc_key_status(&given);
	if (link && walk->status == CMN_OK)
		walk->status = recipe_links_record(&walk->objects, cc_key_view(&given), &key);
	if (walk->status == CMN_OK)
		reason = add_recipe(walk, item, cc_key_view(link ? &key : &given), &example);
	if (walk->status == CMN_MISS) {
		reason = "they are linked of something that is not in the pack";
		walk->status = CMN_OK;
	}
	if (reason) {
		leave_out(walk->recording, reason, example);
		forget(&walk->objects, item, cc_key_view(&given));
	}
	cc_key_release(&key);
	cc_key_release(&given);
	return walk->status == CMN_OK;
}

/* Adds a recipe for each entry of a root that another machine can use. false: complained about. */
static bool record_entries(struct recording *recording, const char *root)
{
	char *no_tiers[] = { NULL };
	struct cc_config config = { .dir = (char *)root, .read_only_dirs = no_tiers };
	struct walk walk = { .recording = recording, .status = CMN_OK };
	struct cc_store *store;
	enum cmn_status status = cc_store_open(&config, &tool_silent, &store);

	if (status == CMN_OK) {
		status = objects_read(store, &walk.objects);
		for (; walk.walk < WALKS && status == CMN_OK && walk.status == CMN_OK; walk.walk++)
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

/* false: complained about. */
static bool set_up(const char *scratch)
{
	if (!tool_set_path("CKCACHE_DIR", scratch))
		return false;
	memory_end_with(TOOL_CANNOT_RUN);
	worker_set_variables(settings);
	return run_layers_enable();
}

/* The name of the program, and the licence that was given. false: complained about. */
static bool add_origin(struct recording *recording, const struct arguments *arguments)
{
	const char *name = arguments_text(arguments, "name"), *licence = arguments_text(arguments, "licence");
	const char *licence_file = arguments_text(arguments, "licence-file");
	struct cmn_buffer file = { 0 };
	struct pack_origin origin;
	enum cmn_status status = CMN_OK;

	origin = (struct pack_origin){ cmn_view_of(name ? name : basename(arguments->command[0])), cmn_view_of(licence) };
	if (licence_file) {
		status = cmn_file_read(AT_FDCWD, licence_file, PACK_MAX_LICENCE, true, &file);
		if (status != CMN_OK)
			tool_complain("%s: %s", licence_file, cmn_status_string(status));
		origin.licence = cmn_buffer_view(&file);
	}
	if (status == CMN_OK) {
		status = pack_maker_add_origin(recording->maker, &origin);
		if (status != CMN_OK)
			tool_complain("--name, --licence: %s", cmn_status_string(status));
	}
	cmn_buffer_release(&file);
	return status == CMN_OK;
}

/* false: complained about. */
static bool merge(struct recording *recording, const struct arguments *arguments)
{
	const char *path;
	size_t at = 0;

	while ((path = arguments_next(arguments, "merge", &at))) {
		struct cmn_buffer file = { 0 };
		struct pack pack;
		enum cmn_status status;

		if (!packs_read(path, &file, &pack))
			return false;
		status = pack_maker_add_pack(recording->maker, &pack);
		pack_release(&pack);
		cmn_buffer_release(&file);
		if (status != CMN_OK) {
			tool_complain("%s: %s", path, cmn_status_string(status));
			return false;
		}
	}
	return true;
}

/* What the layers did not store, and so nobody knows here. */
static void count_bypasses(struct recording *recording, const char *root)
{
	struct cc_totals *stats;

	if (cc_totals_load(root, &stats) == CMN_OK) {
		for (size_t i = 0; i < stats->bypass_count; i++) {
			tool_complain("left out: %" PRIu64 ", which ckcache does not cache (%s)",
				      stats->bypasses[i].count, stats->bypasses[i].reason);
		}
	}
	recording->seen += stats ? stats->counters[CC_MISSES] : 0;
	free(stats);
}

static void print_left_out(const struct recording *recording)
{
	for (size_t i = 0; i < RECORD_REASONS && recording->left_out[i].reason; i++) {
		const struct left_out *one = &recording->left_out[i];

		tool_complain("left out: %llu, because %s%s%s%s", one->count, one->reason,
			      *one->example ? " (" : "", one->example, *one->example ? ")" : "");
	}
}

/* The exit code. */
static int write_pack(struct recording *recording, const char *path)
{
	struct cmn_buffer file = { 0 };
	struct pack pack = { 0 };
	char size[TEXT_SIZE];
	struct output output;
	enum cmn_status status = pack_maker_encode(recording->maker, &file);
	bool done = false;

	if (status == CMN_OK)
		status = pack_decode(cmn_buffer_view(&file), &pack);
	if (status != CMN_OK) {
		tool_complain("%s: %s", path, cmn_status_string(status));
	} else if (!pack.recipe_count) {
		tool_complain("%s was not written: %s", path, recording->seen ?
			      "nothing that was built can be packed" :
			      "nothing was built from source (did the program have its own cache?)");
	} else if (output_open(path, "a pack", &output)) {
		status = cmn_file_write_all(output.fd, file.data, file.len);
		if (status != CMN_OK)
			tool_complain("%s: %s", path, cmn_status_string(status));
		done = output_close(&output, status == CMN_OK);
	}
	if (done)
		tool_complain("%s: %u recipes, %s", path, (unsigned int)pack.recipe_count,
			      text_bytes(file.len, size));
	pack_release(&pack);
	cmn_buffer_release(&file);
	return done ? TOOL_OK : TOOL_FAILED;
}

/* Runs the command and gathers what it built. false: complained about. */
static bool run_command(struct recording *recording, char **command, int *ret_code)
{
	char *scratch = tool_make_scratch();
	bool done = false;
	int state;

	if (!scratch)
		return false;
	recording->scratch = scratch;
	*ret_code = TOOL_CANNOT_RUN;
	if (argz_create(environ, &recording->environment, &recording->environment_len))
		memory_end();
	if (set_up(scratch) && run_wait(command, false, false, &state)) {
		memory_end_with(EXIT_FAILURE);
		*ret_code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
		if (*ret_code)
			tool_complain("%s ended with exit code %d: what it had not built by then is "
				      "not in the pack", command[0], *ret_code);
		done = record_entries(recording, scratch);
		count_bypasses(recording, scratch);
	}
	tool_remove_scratch(scratch);
	recording->scratch = NULL;
	return done;
}

/* Whether the file can be written there, before minutes pass; complained about. */
static bool check_output(const char *path)
{
	struct output output;

	if (strcmp(path, "-") == 0) {
		tool_complain("record: standard output is the command's; --output names a file");
		return false;
	}
	if (!output_open(path, "a pack", &output))
		return false;
	(void)output_close(&output, false);	/* it was only tried */
	return true;
}

static int record(const struct arguments *arguments, const char *output)
{
	struct recording recording = {
		.maker = pack_maker_new(), .any_device = arguments_flag(arguments, "any-device"),
	};
	char **command = arguments->command;
	int code = TOOL_OK, written = TOOL_FAILED;

	if (merge(&recording, arguments) &&
	    (!command || (add_origin(&recording, arguments) && run_command(&recording, command, &code)))) {
		print_left_out(&recording);
		written = write_pack(&recording, output);
	}
	pack_maker_free(recording.maker);
	free(recording.environment);
	return code ? code : written;
}

verb_function verb_record;

int verb_record(const struct arguments *arguments)
{
	const char *output = arguments_text(arguments, "output"), *name = arguments_text(arguments, "name");
	const char *licence = arguments_text(arguments, "licence"), *licence_file = arguments_text(arguments, "licence-file");
	const char *wrong = NULL;
	size_t at = 0;

	if (!output)
		output = "";
	if (arguments->operand)
		wrong = "the command comes behind \"--\"";
	else if (!*output)
		wrong = "--output FILE is missing";
	else if (!arguments->command && !arguments_next(arguments, "merge", &at))
		wrong = "-- COMMAND or --merge is missing";
	else if (!arguments->command && (name || licence || licence_file))
		wrong = "--name and --licence are for the programs of a COMMAND";
	else if (licence && licence_file)
		wrong = "--licence and --licence-file exclude each other";
	else if (name && (!*name || strlen(name) > PACK_MAX_NAME))
		wrong = "--name has 1 to 255 bytes";
	if (wrong)
		tool_refuse("record: %s (try ckcache record --help)", wrong);
	return check_output(output) ? record(arguments, output) : TOOL_FAILED;
}
