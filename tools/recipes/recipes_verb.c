/* SPDX-License-Identifier: MIT */
/* recipes_verb: the verb; the user's own packs; the packs of this machine, one line each. */
#include "tools/recipes/recipes_verb.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "common/file.h"
#include "tools/arguments.h"
#include "tools/memory.h"
#include "tools/recipes/packs.h"
#include "tools/recipes/recipe_key.h"
#include "tools/text.h"
#include "tools/tool.h"

/* The user's own directory, which others cannot write to. false: complained about. */
static bool open_own(bool make, char **ret_path, int *ret_fd)
{
	char *path = packs_own_directory();
	enum cmn_status status = CMN_OK;

	if (!path)
		return false;
	/* The parents as XDG's specification has them. */
	if (make)
		status = cmn_file_make_dirs(path, 0700);
	if (status == CMN_OK)
		status = cc_root_open_as(path, CC_ROOT_TIER, ret_fd);
	if (status == CMN_OK) {
		*ret_path = path;
		return true;
	}
	tool_complain("%s: %s", path, status == CMN_MISS ? "there are no packs of yours" :
		      cmn_status_string(status));
	free(path);
	return false;
}

/* The name of a pack's file in a directory, from a path or name with or without its suffix. */
static char *file_name(const char *operand)
{
	const char *slash = strrchr(operand, '/');
	const char *base = slash ? slash + 1 : operand;
	size_t len = strlen(base), suffix = strlen(PACKS_SUFFIX);

	if (len > suffix && strcmp(base + len - suffix, PACKS_SUFFIX) == 0)
		len -= suffix;
	if (len && base[0] != '.' && len + suffix <= 255)
		return memory_printf("%.*s" PACKS_SUFFIX, (int)len, base);
	tool_complain("\"%s\" is no name of a pack", operand);
	return NULL;
}

/* One that nobody would build is not taken in at all. false: complained about. */
static bool is_acceptable(const char *path, const struct pack *pack)
{
	struct cmn_reader reader = pack_recipes(pack);
	const char *reason = NULL;
	struct pack_recipe recipe;

	while (!reason && pack_next_recipe(&reader, &recipe))
		reason = recipe_key_refuse_recipe(pack, &recipe);
	if (reason)
		tool_complain("%s: not added: it has programs that are not built, because %s", path,
			      reason);
	return !reason;
}

static int add(const char *operand)
{
	struct cmn_buffer file = { 0 };
	struct pack pack = { 0 };
	char *name = file_name(operand), *directory = NULL;
	enum cmn_status status = CMN_OK;
	bool done = false;
	int fd = -1;

	if (name && packs_read(operand, &file, &pack) && is_acceptable(operand, &pack) &&
	    open_own(true, &directory, &fd)) {
		const struct cmn_view view = cmn_buffer_view(&file);

		status = cmn_file_publish(fd, name, &view, 1);
		done = status == CMN_OK;
		if (!done)
			tool_complain("%s/%s: %s", directory, name, cmn_status_string(status));
		(void)close(fd);	/* nothing was written through it */
	}
	if (done)
		tool_complain("%s/%s: %u recipes; ckcache recipes build builds them", directory, name,
			      (unsigned int)pack.recipe_count);
	pack_release(&pack);
	cmn_buffer_release(&file);
	free(directory);
	free(name);
	return done ? TOOL_OK : TOOL_FAILED;
}

static int remove_pack(const char *operand)
{
	char *name = file_name(operand), *directory = NULL;
	bool done = false;
	int fd = -1;

	if (name && open_own(false, &directory, &fd)) {
		done = unlinkat(fd, name, 0) == 0;
		if (!done)
			tool_complain("%s/%s: %s", directory, name, strerror(errno));
		(void)close(fd);	/* nothing was written through it */
	}
	free(directory);
	free(name);
	return done ? TOOL_OK : TOOL_FAILED;
}

struct list {
	struct json_object *json;	/* NULL: text */
	struct cmn_buffer text;
};

struct json_object *recipes_add_pack(struct json_object *list, const struct packs_file *file)
{
	struct json_object *item = json_add_object(list, NULL);

	json_add_view(item, "name", file->name);
	json_add_text(item, "file", file->path);
	json_add_number(item, "bytes", file->bytes);
	json_add_number(item, "recipes", file->pack->recipe_count);
	return item;
}

static void add_json(struct json_object *list, const struct packs_file *file)
{
	struct json_object *item = recipes_add_pack(list, file), *origins;
	struct cmn_reader reader = pack_origins(file->pack);
	struct pack_origin origin;

	origins = json_add_array(item, "programs");
	while (pack_next_origin(&reader, &origin)) {
		struct json_object *one = json_add_object(origins, NULL);

		json_add_view(one, "name", origin.name);
		json_add_view(one, "licence", origin.licence);
	}
}

/* Name, recipes, size, what the programs and the first lines of their licences are. */
static void add_text(struct cmn_buffer *text, const struct packs_file *file)
{
	struct cmn_reader reader = pack_origins(file->pack);
	struct cmn_buffer programs = { 0 };
	struct pack_origin origin;
	char size[TEXT_SIZE];

	while (pack_next_origin(&reader, &origin)) {
		if (programs.len)
			cmn_buffer_append_text(&programs, ", ");
		text_append_clean(&programs, origin.name, 60);
		cmn_buffer_append_text(&programs, " (");
		if (origin.licence.len)
			text_append_clean(&programs, text_first_line(origin.licence), 40);
		else
			cmn_buffer_append_text(&programs, "licence not stated");
		cmn_buffer_append_u8(&programs, ')');
	}
	text_append_clean(text, file->name, 200);
	cmn_buffer_printf(text, "  %u recipes, %s, ", (unsigned int)file->pack->recipe_count,
			  text_bytes(file->bytes, size));
	cmn_buffer_append(text, programs.data, programs.len);
	cmn_buffer_append_text(text, "\n    ");
	text_append_clean(text, cmn_view_of(file->path), PATH_MAX);
	cmn_buffer_append_u8(text, '\n');
	cmn_buffer_release(&programs);
}

static bool list_pack(void *ctx, const struct packs_file *file)
{
	struct list *list = ctx;

	if (list->json)
		add_json(list->json, file);
	else
		add_text(&list->text, file);
	return true;
}

static int print_list(bool json)
{
	struct list list = { .json = json ? json_new_array() : NULL };
	bool complained = !packs_walk(list_pack, &list);
	int code;

	if (!json && !list.text.len)
		cmn_buffer_append_text(&list.text, "no packs\n");
	code = json ? json_print(list.json) : tool_print(&list.text);
	return complained ? TOOL_FAILED : code;
}

verb_function verb_recipes;

int verb_recipes(const struct arguments *arguments)
{
	const char *action = arguments->action, *operand = arguments->operand, *wrong = NULL;
	bool build = strcmp(action, "build") == 0, list = strcmp(action, "list") == 0;
	bool adds = strcmp(action, "add") == 0;
	const struct recipes_request request = {
		.json = arguments_flag(arguments, "json"),
		.idle = arguments_flag(arguments, "idle"),
		.unconfined = arguments_flag(arguments, "unconfined"),
		.jobs = arguments_number(arguments, "jobs", 0),
		.timeout_s = arguments_number(arguments, "timeout", 0),
		.budget_s = arguments_number(arguments, "budget", 0),
	};

	if ((build || list) && operand)
		wrong = "\"recipes list\" and \"recipes build\" take no argument";
	else if (!build && !list && !operand)
		wrong = adds ? "recipes add: FILE is missing" : "recipes remove: NAME is missing";
	else if (!build && (request.jobs || request.timeout_s || request.budget_s || request.idle ||
			    request.unconfined))
		wrong = "--jobs, --timeout, --budget, --idle and --unconfined are for \"recipes build\"";
	else if (!build && !list && request.json)
		wrong = "--json is for \"recipes list\" and \"recipes build\"";
	if (wrong) {
		tool_complain("%s (try ckcache recipes --help)", wrong);
		return TOOL_USAGE;
	}
	if (build)
		return recipes_build(&request);
	if (list)
		return print_list(request.json);
	return adds ? add(operand) : remove_pack(operand);
}
