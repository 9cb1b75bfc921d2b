/* SPDX-License-Identifier: MIT */
/* tools: the files of each, which identify it for the key, and as they are in this process's time. */
#include "layers/shared/driver/tools.h"

#include <fcntl.h>
#include <glob.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cachecore/file_memo.h"
#include "common/file.h"
#include "layers/shared/driver/environment.h"
#include "layers/shared/driver/libraries.h"
#include "layers/shared/driver/library_files.h"

enum {
	MAX_TOOLS = 16,		/* that are installed, for all drivers of a process */
	MAX_PRELOADS = 4096,	/* bytes of /etc/ld.so.preload */
};

/* Which files a program consists of. */
struct files {
	struct cc_contents *contents;
	struct cc_key identity;		/* build-ids, or contents: equal for a copy */
	struct cmn_buffer state;	/* inodes and times: other ones after each change */
};

/* As it was first. Only grows, filled from the start, so that a child has it whole. */
struct known {
	const struct drv_tool *tool;
	struct cmn_hash state;
	char path[];
};
static _Atomic(struct known *) tools[MAX_TOOLS];

static enum cmn_status note_file(void *ctx, const struct drv_library_file *file)
{
	struct files *files = ctx;
	struct cc_file_identity identity;
	struct stat info;

	if (stat(file->path, &info) != 0)
		return CMN_MISS;
	identity = cc_file_identity_of(&info);
	cmn_buffer_append_text(&files->state, file->path);
	cmn_buffer_append(&files->state, &identity, sizeof(identity));
	if (files->contents)
		drv_libraries_add(&files->identity, files->contents, &(struct drv_loaded){
			.path = file->path, .name = file->name, .build_id = file->build_id });
	return CMN_OK;
}

/* Whether all that these lists have loaded into every program does nothing there: ckcache's own. */
static bool are_harmless(const char *list)
{
	static const char ours[] = "libckcache_preload.so";
	const size_t own_len = strlen(ours);

	for (size_t len; list && *list; list += len + (list[len] != '\0')) {
		len = strcspn(list, ": \t\n");
		if (len && (len < own_len || strncmp(list + len - own_len, ours, own_len) != 0 ||
			    (len > own_len && list[len - own_len - 1] != '/')))
			return false;
	}
	return true;
}

static bool has_preloads(void)
{
	struct cmn_buffer list = { 0 };
	enum cmn_status status;
	bool harmless;

	status = cmn_file_read(AT_FDCWD, "/etc/ld.so.preload", MAX_PRELOADS, true, &list);
	cmn_buffer_append_u8(&list, 0);
	harmless = status == CMN_MISS || (status == CMN_OK && !list.failed && are_harmless((char *)list.data));
	cmn_buffer_release(&list);
	return !harmless || !are_harmless(drv_environment_at_begin("LD_PRELOAD")) ||
	       drv_environment_at_begin("LD_AUDIT");
}

/* CMN_OK: its files are known. CMN_MISS, or a failure: not all of them. */
static enum cmn_status gather(const char *path, struct files *files, struct cmn_hash *ret_state)
{
	enum cmn_status status = has_preloads() ? CMN_MISS :
		drv_library_files_of_program(path, drv_environment_at_begin("LD_LIBRARY_PATH"),
					     note_file, files);

	if (status == CMN_OK && files->state.failed)
		status = CMN_ERR_NOMEM;
	if (status == CMN_OK)
		*ret_state = cmn_hash_of(files->state.data, files->state.len);
	return status;
}

static const struct known *known_of(const char *path)
{
	const struct known *known = NULL;

	for (size_t i = 0; i < MAX_TOOLS && (known = atomic_load(&tools[i])); i++) {
		if (strcmp(known->path, path) == 0)
			return known;
	}
	return NULL;
}

/* Without memory, or of too many, it is no known tool. */
static void remember(const struct drv_tool *tool, const char *path, const struct cmn_hash *state)
{
	size_t size = strlen(path) + 1;
	struct known *known = known_of(path) ? NULL : malloc(sizeof(*known) + size);

	if (!known)
		return;
	known->tool = tool;
	known->state = *state;
	memcpy(known->path, path, size);
	for (size_t i = 0; i < MAX_TOOLS; i++) {
		struct known *there = NULL;

		if (atomic_compare_exchange_strong(&tools[i], &there, known))
			return;
		if (strcmp(there->path, path) == 0)	/* another thread was faster */
			break;
	}
	free(known);
}

static void add(const struct drv_tool *tool, const char *path, struct cc_contents *contents,
		struct cc_key *key)
{
	struct files files = { .contents = contents };
	struct cmn_hash state, hash;
	enum cmn_status status;

	cc_key_init(&files.identity);
	cc_key_add_text(&files.identity, CC_PART_DEVICE, "driver.tool", path);
	status = gather(path, &files, &state);
	if (status == CMN_OK)
		status = cc_key_status(&files.identity);
	if (status == CMN_OK) {
		struct cmn_view view = cc_key_view(&files.identity);

		hash = cmn_hash_of(view.data, view.len);
		cc_key_add(key, CC_PART_DEVICE, "driver.tool", hash.bytes, CMN_HASH_SIZE);
		remember(tool, path, &state);
	}
	if (status == CMN_ERR_NOMEM)
		key->encoded.failed = true;
	cc_key_release(&files.identity);
	cmn_buffer_release(&files.state);
}

bool drv_tools_add(const struct drv_driver *driver, struct cc_contents *contents, struct cc_key *key)
{
	for (size_t i = 0; i < DRV_LISTS && driver->tools[i].path; i++) {
		glob_t found;

		if (glob(driver->tools[i].path, GLOB_BRACE, NULL, &found) != 0)
			continue;
		for (size_t j = 0; j < found.gl_pathc; j++)
			add(&driver->tools[i], found.gl_pathv[j], contents, key);
		globfree(&found);
	}
	return cc_key_status(key) == CMN_OK;
}

const struct drv_tool *drv_tools_find(const struct drv_driver *driver, const char *path)
{
	const struct known *known = known_of(path);

	for (size_t i = 0; known && i < DRV_LISTS; i++) {
		if (known->tool == &driver->tools[i])
			return known->tool;
	}
	return NULL;
}

bool drv_tools_hold(const char *path)
{
	const struct known *known = known_of(path);
	struct files files = { 0 };
	struct cmn_hash state;
	bool same = known && gather(path, &files, &state) == CMN_OK && cmn_hash_equal(&known->state, &state);

	cmn_buffer_release(&files.state);
	return same;
}
