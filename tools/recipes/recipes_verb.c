/* SPDX-License-Identifier: MIT */
/* recipes_verb: the verb; finds packs, and decides which are read; the user's own packs; the packs of this machine, one line each. */
#include "tools/recipes/recipes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/config.h"
#include "cachecore/disk/root.h"
#include "common/file.h"
#include "common/listing.h"
#include "common/trusted.h"
#include "tools/arguments.h"
#include "tools/json_output.h"
#include "tools/memory.h"
#include "tools/text.h"
#include "tools/tool.h"

struct walk {
	bool (*visit)(void *ctx, const struct packs_file *file);
	void *ctx;
	bool stopped;		/* by a visit */
	bool complained;
};

/* The user's own directory, the caller's to free; NULL: complained about. */
static char *packs_own_directory(void)
{
	char *path = NULL;

	if (cc_config_xdg_path("XDG_DATA_HOME", ".local/share", PACKS_FOLDER, &path) == CMN_OK && !path)
		tool_complain("neither XDG_DATA_HOME nor HOME names a directory of this user");
	return path;
}

/* What a file that cannot be used is, in one line. */
static void complain_about(const char *path, enum cmn_status status)
{
	switch (status) {
	case CMN_ERR_ACCESS:
		tool_complain("%s: not read: it is no file of root's or yours that only its owner "
			      "may write to", path);
		break;
	case CMN_ERR_TOO_LARGE:
		tool_complain("%s: not used: it is over a bound (%zu MiB in all, %zu MiB for a text, "
			      "%d recipes)", path, PACK_MAX_FILE >> 20, PACK_MAX_TEXT >> 20,
			      PACK_MAX_RECIPES);
		break;
	case CMN_ERR_CORRUPT:
		tool_complain("%s: not used: it is damaged, or no pack", path);
		break;
	case CMN_ERR_VERSION:
		tool_complain("%s: not used: another version of ckcache wrote it", path);
		break;
	default:
		tool_complain("%s: %s", path, cmn_status_string(status));
	}
}

bool packs_read(const char *path, struct cmn_buffer *ret_file, struct pack *ret)
{
	struct cmn_buffer file = { 0 };
	enum cmn_status status = cmn_file_read(AT_FDCWD, path, PACK_MAX_FILE, true, &file);

	if (status == CMN_OK)
		status = pack_decode(cmn_buffer_view(&file), ret);
	if (status == CMN_OK) {
		*ret_file = file;
		return true;
	}
	if (status == CMN_ERR_ACCESS)
		tool_complain("%s: %s", path, cmn_status_string(status));
	else
		complain_about(path, status);
	cmn_buffer_release(&file);
	return false;
}

static bool is_name(const char *name)
{
	size_t len = strlen(name), suffix = strlen(PACKS_SUFFIX);

	return name[0] != '.' && len > suffix && strcmp(name + len - suffix, PACKS_SUFFIX) == 0;
}

static void visit_file(struct walk *walk, const char *directory, int fd, const char *name)
{
	struct cmn_buffer file = { 0 };
	struct pack pack = { 0 };
	enum cmn_status status;
	char *path = memory_printf("%s/%s", directory, name);

	status = cmn_file_read_into(fd, name, PACK_MAX_FILE, CMN_FILE_TRUSTED, NULL, &file);
	if (status == CMN_OK)
		status = pack_decode(cmn_buffer_view(&file), &pack);
	if (status == CMN_OK) {
		const struct packs_file found = {
			.path = path, .bytes = file.len, .pack = &pack,
			.name = { path + strlen(directory) + 1, strlen(name) - strlen(PACKS_SUFFIX) },
		};

		walk->stopped = !walk->visit(walk->ctx, &found);
	} else if (status != CMN_MISS) {	/* gone meanwhile */
		complain_about(path, status);
		walk->complained = true;
	}
	pack_release(&pack);
	cmn_buffer_release(&file);
	free(path);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names of packs, sorted; how many. */
static size_t list_names(int fd, char *ret[PACKS_MAX_OF_DIRECTORY], bool *ret_more)
{
	struct cmn_listing listing = { 0 };
	const struct dirent64 *item;
	size_t count = 0;

	if (!cmn_listing_open(&listing, fd, "."))
		return 0;
	while ((item = cmn_listing_next(&listing))) {
		if (!is_name(item->d_name))
			continue;
		*ret_more = count == PACKS_MAX_OF_DIRECTORY;
		if (*ret_more)
			break;
		ret[count++] = memory_copy(item->d_name);
	}
	cmn_listing_close(&listing);
	if (count)
		qsort(ret, count, sizeof(*ret), compare_names);
	return count;
}

static void walk_directory(struct walk *walk, const char *directory)
{
	char *names[PACKS_MAX_OF_DIRECTORY];
	enum cmn_status status;
	bool more = false;
	size_t count;
	int fd = -1;

	if (walk->stopped)
		return;
	status = cc_root_open_as(directory, CC_ROOT_TIER, &fd);
	if (status == CMN_MISS)
		return;
	if (status != CMN_OK || !cmn_trusted_owners(directory)) {
		if (status == CMN_OK)
			(void)close(fd);	/* read only */
		tool_complain("%s: not read: it is no directory of root's or yours that only its "
			      "owner may write to", directory);
		walk->complained = true;
		return;
	}
	count = list_names(fd, names, &more);
	if (more) {
		tool_complain("%s: it has more than %d packs; the others are not read", directory,
			      PACKS_MAX_OF_DIRECTORY);
		walk->complained = true;
	}
	for (size_t i = 0; i < count; i++) {
		if (!walk->stopped)
			visit_file(walk, directory, fd, names[i]);
		free(names[i]);
	}
	(void)close(fd);	/* read only */
}

bool packs_walk(bool (*visit)(void *ctx, const struct packs_file *file), void *ctx)
{
	struct walk walk = { .visit = visit, .ctx = ctx };
	const char *dirs = getenv("XDG_DATA_DIRS");
	char *own = packs_own_directory();

	if (own)
		walk_directory(&walk, own);
	free(own);
	if (!dirs || !*dirs)
		dirs = "/usr/local/share:/usr/share";
	while (*dirs) {
		size_t len = strcspn(dirs, ":");
		char *path;

		/* Relative ones do not count, by the XDG specification. */
		if (dirs[0] == '/') {
			path = memory_printf("%.*s/" PACKS_FOLDER, (int)len, dirs);
			walk_directory(&walk, path);
			free(path);
		}
		dirs += len + (dirs[len] == ':');
	}
	return !walk.complained;
}

/* The user's own directory, which others cannot write to; its path is the caller's to free. */
static int open_own(bool make, char **ret_path)
{
	char *path = packs_own_directory();
	enum cmn_status status = CMN_OK;
	int fd;

	if (!path)
		tool_end(TOOL_FAILED);
	/* The parents as XDG's specification has them. */
	if (make)
		status = cmn_file_make_dirs(path, 0700);
	if (status == CMN_OK)
		status = cc_root_open_as(path, CC_ROOT_TIER, &fd);
	if (status != CMN_OK)
		tool_die("%s: %s", path, status == CMN_MISS ? "there are no packs of yours" : cmn_status_string(status));
	*ret_path = path;
	return fd;
}

/* The name of a pack's file in a directory, from a path or name with or without its suffix; for free. */
static char *file_name(const char *operand)
{
	const char *base = basename(operand);
	size_t len = strlen(base), suffix = strlen(PACKS_SUFFIX);

	if (len > suffix && strcmp(base + len - suffix, PACKS_SUFFIX) == 0)
		len -= suffix;
	if (!len || base[0] == '.' || len + suffix > 255)
		tool_die("\"%s\" is no name of a pack", operand);
	return memory_printf("%.*s" PACKS_SUFFIX, (int)len, base);
}

static int add(const char *operand)
{
	char *name = file_name(operand), *directory;
	struct cmn_buffer file = { 0 };
	struct pack_recipe recipe;
	struct cmn_reader reader;
	struct pack pack = { 0 };
	struct cmn_view view;
	enum cmn_status status;
	int fd;

	if (!packs_read(operand, &file, &pack))
		tool_end(TOOL_FAILED);
	/* One that nobody would build is not taken in at all. */
	reader = pack_recipes(&pack);
	while (pack_next_recipe(&reader, &recipe)) {
		const char *reason = recipe_key_refuse_recipe(&pack, &recipe);

		if (reason)
			tool_die("%s: not added: it has programs that are not built, because %s", operand, reason);
	}
	fd = open_own(true, &directory);
	view = cmn_buffer_view(&file);
	status = cmn_file_publish(fd, name, &view, 1);
	if (status != CMN_OK)
		tool_die("%s/%s: %s", directory, name, cmn_status_string(status));
	(void)close(fd);	/* nothing was written through it */
	tool_complain("%s/%s: %u recipes; ckcache recipes build builds them", directory, name,
		      (unsigned int)pack.recipe_count);
	pack_release(&pack);
	cmn_buffer_release(&file);
	free(directory);
	free(name);
	return TOOL_OK;
}

static int remove_pack(const char *operand)
{
	char *name = file_name(operand), *directory;
	int fd = open_own(false, &directory);

	if (unlinkat(fd, name, 0) < 0)
		tool_die("%s/%s: %s", directory, name, strerror(errno));
	(void)close(fd);	/* nothing was written through it */
	free(directory);
	free(name);
	return TOOL_OK;
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
	if (wrong)
		tool_refuse("%s (try ckcache recipes --help)", wrong);
	if (build)
		return recipes_build(&request);
	if (list)
		return print_list(request.json);
	return adds ? add(operand) : remove_pack(operand);
}
