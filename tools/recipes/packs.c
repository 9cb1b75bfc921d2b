/* SPDX-License-Identifier: MIT */
/* packs: finds packs, and decides which are read. */
#include "tools/recipes/packs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/config.h"
#include "cachecore/disk/root.h"
#include "common/file.h"
#include "common/listing.h"
#include "common/trusted.h"
#include "tools/memory.h"
#include "tools/tool.h"

struct walk {
	bool (*visit)(void *ctx, const struct packs_file *file);
	void *ctx;
	bool stopped;		/* by a visit */
	bool complained;
};

char *packs_own_directory(void)
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
