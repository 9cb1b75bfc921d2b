/* SPDX-License-Identifier: MIT */
/* hand_over: looks whether the same program has an entry of an older driver, and starts the command. */
#include "cachecore/disk/writer/hand_over.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/key_device.h"
#include "cachecore/disk/path.h"
#include "cachecore/disk/root.h"
#include "cachecore/disk/writer/recipe.h"
#include "cachecore/remote/launch.h"
#include "common/bytes.h"
#include "common/descriptor.h"
#include "common/env.h"
#include "common/listing.h"

/* A root with more devices, or a device with more programs, is not searched through. */
#define MAX_NAMES 256
#define NAME_LEN (CMN_HASH_HEX_SIZE - 1)
/* The first entries may be of kernels that are new; after these it is another program by now. */
#define MAX_LOOKS 8
#define ENV_PREFIX "env."
#define ENV_LEN (sizeof(ENV_PREFIX) - 1)

struct cc_hand_over {
	const struct cc_config *config;
	char **environment;
	unsigned int looks;
};

/*
 * What the command needs, and what its workers find drivers by. Not LD_LIBRARY_PATH: the command
 * is no part of the application.
 */
static enum cmn_status copy_environment(const char *root, char ***ret)
{
	char **base, **all, *dir;
	struct cmn_buffer text = { 0 }, copy = { 0 };
	enum cmn_status status = cc_launch_environment(&base);
	size_t count = 0, total = 0;

	if (status == CMN_OK && (status = cmn_env_copy(&copy)) != CMN_OK)
		cc_launch_free_environment(base);
	if (status != CMN_OK) {
		cmn_buffer_release(&copy);
		return status;
	}
	while (base[count])
		count++;
	for (const char *at = NULL; (at = cmn_env_next(&copy, at));)
		total++;
	all = realloc(base, (count + total + 2) * sizeof(*all));
	if (!all) {
		cc_launch_free_environment(base);
		cmn_buffer_release(&copy);
		return CMN_ERR_NOMEM;
	}
	all[count] = NULL;
	for (const char *at = NULL; (at = cmn_env_next(&copy, at));) {
		if (!cc_recipe_carries(at) || strncmp(at, "LD_", 3) == 0)
			continue;
		all[count] = strdup(at);
		if (!all[count])
			goto failed;
		all[++count] = NULL;
	}
	cmn_buffer_append_text(&text, "CKCACHE_DIR=");
	cmn_buffer_append_text(&text, root);
	dir = cmn_buffer_take_string(&text);
	if (!dir)
		goto failed;
	for (size_t i = 0; i < count; i++) {
		if (strncmp(all[i], "CKCACHE_DIR=", strlen("CKCACHE_DIR=")) != 0)
			continue;
		free(all[i]);
		all[i] = all[--count];
		all[count] = NULL;
		break;
	}
	all[count] = dir;
	all[count + 1] = NULL;
	cmn_buffer_release(&copy);
	*ret = all;
	return CMN_OK;
failed:
	cmn_buffer_release(&copy);
	cc_launch_free_environment(all);
	return CMN_ERR_NOMEM;
}

static bool has_free_processor(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) < 0 || CPU_COUNT(&set) > 1;
}

enum cmn_status cc_hand_over_new(const struct cc_config *config, struct cc_hand_over **ret)
{
	struct cc_hand_over *hand_over;

	*ret = NULL;
	if (!config->hand_over || config->built_for || !config->dir || config->recache ||
	    getauxval(AT_SECURE) || !has_free_processor())
		return CMN_OK;
	hand_over = calloc(1, sizeof(*hand_over));
	if (!hand_over)
		return CMN_ERR_NOMEM;
	hand_over->config = config;
	if (copy_environment(config->dir, &hand_over->environment) != CMN_OK) {
		free(hand_over);
		return CMN_ERR_NOMEM;
	}
	*ret = hand_over;
	return CMN_OK;
}

void cc_hand_over_free(struct cc_hand_over *hand_over)
{
	if (!hand_over)
		return;
	cc_launch_free_environment(hand_over->environment);
	free(hand_over);
}

static bool has_driver(struct cmn_view device, struct cmn_view path)
{
	struct cmn_view own;

	for (unsigned int i = 0; (own = cc_key_device_find(device, "driver.path", i)).data; i++) {
		if (cmn_view_equal(own, path))
			return true;
	}
	return false;
}

/* Whether the old device has a driver, still there, that the other one has not. */
static bool has_another_driver(struct cmn_view old, struct cmn_view now)
{
	struct cmn_view path;
	char name[PATH_MAX];

	for (unsigned int i = 0; (path = cc_key_device_find(old, "driver.path", i)).data; i++) {
		(void)snprintf(name, sizeof(name), "%.*s",
			       path.len < sizeof(name) ? (int)path.len : 0, (const char *)path.data);
		if (!has_driver(now, path) && access(name, F_OK) == 0)
			return true;
	}
	return false;
}

/* Whether an update makes the one device of the other, as far as can be told without the driver. */
static bool is_successor(struct cmn_view old, struct cmn_view now)
{
	switch (cc_key_device_compare(old, now)) {
	case CC_KEY_DEVICE_OF_NAME:
		return true;
	case CC_KEY_DEVICE_OF_KIND:
		return !has_another_driver(old, now);
	case CC_KEY_DEVICE_ANOTHER:
		break;
	}
	return false;
}

/* Whether the keys are of as many devices, each of them the successor of the other's; and a layer's. */
static bool have_same_devices(struct cmn_view old, struct cmn_view now)
{
	struct cmn_reader old_reader, now_reader;
	struct cmn_view old_device, now_device;
	bool more;

	if (!cc_key_find(now, "driver.path", 0).data ||
	    cc_key_read(old, &old_reader) != CMN_OK || cc_key_read(now, &now_reader) != CMN_OK)
		return false;
	do {
		more = cc_key_device_next(&now_reader, &now_device);
		if (cc_key_device_next(&old_reader, &old_device) != more)
			return false;
	} while (more && is_successor(old_device, now_device));
	return !more;
}

/* Whether that leaf is there, and of the same devices, and so of another driver or compiler. */
static bool is_same_device(int root_fd, const char *leaf, struct cmn_view key)
{
	struct cmn_buffer file = { 0 };
	struct cc_leaf_scan scan;
	struct cc_src src;
	bool same = false;
	int fd;

	if (cc_leaf_open(root_fd, leaf, &fd) != CMN_OK)
		return false;
	if (cc_leaf_scan(fd, &scan) == CMN_OK && scan.present[CC_LEAF_SRC] &&
	    cc_leaf_read_src(fd, (unsigned int)__builtin_ctzll(scan.present[CC_LEAF_SRC]),
				    CMN_FILE_ANY, &file, &src) == CMN_OK)
		same = have_same_devices(src.key, key);
	cmn_buffer_release(&file);
	(void)cmn_descriptor_close(fd);	/* read only */
	return same;
}

static bool is_there(int dir_fd, const char *path)
{
	struct stat info;

	return fstatat(dir_fd, path, &info, AT_SYMLINK_NOFOLLOW) == 0;
}

struct search {
	int root_fd;
	const char *leaf;	/* its device is the one that may lack leaves */
	unsigned int seen, lacking;
};

/* Counts leaves below a directory of another device that this one does not have, up to what is asked for. */
static void count_lacking(struct search *search, const char *directory, unsigned int depth)
{
	struct cmn_listing listing = { 0 };
	const struct dirent64 *entry;
	char path[CC_LEAF_PATH_SIZE];

	if (!cmn_listing_open(&listing, search->root_fd, directory))
		return;
	while (search->lacking < CC_HAND_OVER_LEAST && search->seen < MAX_NAMES &&
	       (entry = cmn_listing_next(&listing))) {
		search->seen++;
		if (strlen(entry->d_name) != NAME_LEN)
			continue;
		(void)snprintf(path, sizeof(path), "%s/%.*s", directory, (int)NAME_LEN, entry->d_name);
		if (depth + 1 < CC_PART_COUNT) {
			count_lacking(search, path, depth + 1);
			continue;
		}
		memcpy(path, search->leaf, NAME_LEN);
		search->lacking += !is_there(search->root_fd, path);
	}
	cmn_listing_close(&listing);
}

static bool lacks_several(int root_fd, const char *old, const char *leaf)
{
	struct search search = { .root_fd = root_fd, .leaf = leaf };

	count_lacking(&search, old, 1);
	return search.lacking >= CC_HAND_OVER_LEAST;
}

/* Whether another device directory has the same program, of the same device before an update. */
static bool is_after_update(int root_fd, const struct cc_key *key)
{
	char leaf[CC_LEAF_PATH_SIZE], other[CC_LEAF_PATH_SIZE];
	struct cmn_listing listing = { 0 };
	const struct dirent64 *entry;
	unsigned int seen = 0;
	bool found = false;

	cc_leaf_path_of(key, leaf);
	if (!cmn_listing_open(&listing, root_fd, "."))
		return false;
	while (!found && seen++ < MAX_NAMES && (entry = cmn_listing_next(&listing))) {
		if (strlen(entry->d_name) != NAME_LEN || strncmp(entry->d_name, leaf, NAME_LEN) == 0)
			continue;
		(void)snprintf(other, sizeof(other), "%.*s%s", (int)NAME_LEN, entry->d_name,
			       leaf + NAME_LEN);
		found = is_same_device(root_fd, other, cc_key_view(key)) &&
			lacks_several(root_fd, entry->d_name, leaf);
	}
	cmn_listing_close(&listing);
	return found;
}

/*
 * The environment with the variables that the key has: by those the driver shows its devices and
 * compiles. Whole, or as far as there is memory; its array alone is the caller's to free, with *ret_own.
 */
static char **add_variables(char **environment, struct cmn_view key, struct cmn_buffer *ret_own)
{
	char **all = NULL;
	struct cc_key_field field;
	struct cmn_reader reader;
	size_t count = 0, added = 0, at = 0;

	if (cc_key_read(key, &reader) != CMN_OK)
		return NULL;
	while (cc_key_next(&reader, &field) == CMN_OK) {
		const char *name = field.name.data;

		if (field.name.len <= ENV_LEN || memcmp(name, ENV_PREFIX, ENV_LEN) != 0 ||
		    strncmp(name + ENV_LEN, "LD_", 3) == 0 ||
		    memchr(field.value.data, '\0', field.value.len))
			continue;
		cmn_buffer_append(ret_own, name + ENV_LEN, field.name.len - ENV_LEN);
		cmn_buffer_append_u8(ret_own, '=');
		cmn_buffer_append(ret_own, field.value.data, field.value.len);
		cmn_buffer_append_u8(ret_own, '\0');
		added++;
	}
	while (environment[count])
		count++;
	all = ret_own->failed ? NULL : calloc(count + added + 1, sizeof(*all));
	if (!all)
		return NULL;
	memcpy(all, environment, count * sizeof(*all));
	for (size_t i = 0; i < added; i++) {
		all[count + i] = (char *)ret_own->data + at;
		at += strlen(all[count + i]) + 1;
	}
	return all;
}

static void launch(struct cc_hand_over *hand_over, const struct cc_key *key)
{
	const char *const arguments[] = { "replay", cc_path_program(), NULL };
	struct cmn_buffer own = { 0 };
	char **environment = add_variables(hand_over->environment, cc_key_view(key), &own);

	/* Without it the program compiles by itself, as ever. */
	if (environment)
		(void)!cc_launch(hand_over->config->remote_helpers, environment, arguments, -1);
	free(environment);
	cmn_buffer_release(&own);
}

void cc_hand_over_stored(struct cc_hand_over *hand_over, const struct cc_key *key)
{
	bool wanted = false;
	int root_fd = -1;

	if (!hand_over || hand_over->looks == MAX_LOOKS)
		return;
	hand_over->looks++;
	if (cc_root_open(hand_over->config->dir, &root_fd) == CMN_OK)
		wanted = is_after_update(root_fd, key);
	if (root_fd >= 0)
		(void)cmn_descriptor_close(root_fd);	/* read only */
	if (wanted) {
		hand_over->looks = MAX_LOOKS;
		launch(hand_over, key);
	}
}
