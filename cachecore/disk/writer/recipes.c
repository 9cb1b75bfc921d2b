/* SPDX-License-Identifier: MIT */
/* recipes: the directory of recipes. */
#include "cachecore/disk/writer/recipes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/disk/space/number_file.h"
#include "cachecore/disk/root.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/listing.h"

#define LOCK_NAME "replay.lock"
#define BACKGROUND_NAME "background.lock"
#define WANTED_NAME "wanted.lock"
/* It ends the build that it has in work first, at the lowest priority. */
#define GIVE_WAY_NS (UINT64_C(30) * 1000000000)
/* It looks whether anybody wants the lock, which takes that for a moment. */
#define LOOK_NS (UINT64_C(100) * 1000000)
#define RECIPE_SUFFIX ".recipe"
#define ATTEMPTS_SUFFIX ".attempts"
#define ROOM_EVERY 16	/* one of so many recipes, by its hash, makes room */
#define ROOM_SLACK 64	/* so many more than there may be are written between two looks, as a rule */
#define HEX_LEN (CMN_HASH_HEX_SIZE - 1)

/* false: not a name of ours; with any suffix but this one neither. */
static bool has_name(const char *name, const char *suffix)
{
	return strspn(name, "0123456789abcdef") == HEX_LEN && strcmp(name + HEX_LEN, suffix) == 0;
}

static void attempts_name(const char *name, char ret[CC_RECIPE_NAME_SIZE])
{
	(void)snprintf(ret, CC_RECIPE_NAME_SIZE, "%.*s" ATTEMPTS_SUFFIX, HEX_LEN, name);
}

enum cmn_status cc_recipes_open(const char *root, int *ret_fd)
{
	enum cmn_status status;
	int root_fd = -1;

	status = cc_root_open(root, &root_fd);
	if (status != CMN_OK)
		return status;
	status = cmn_file_open_dir(root_fd, CC_RECIPES_DIRECTORY, 0, ret_fd);
	(void)close(root_fd);	/* read only */
	return status;
}

enum cmn_status cc_recipes_make(const char *root, int *ret_fd)
{
	enum cmn_status status;
	int root_fd = -1;

	status = cc_root_make(root, &root_fd);
	if (status != CMN_OK)
		return status;
	status = cmn_file_open_dir(root_fd, CC_RECIPES_DIRECTORY, cc_root_dir_mode(root_fd), ret_fd);
	(void)close(root_fd);	/* nothing was written through it */
	return status;
}

/* Somebody's directory; what cannot be looked at is taken for a file. */
static bool is_directory(int fd, const char *name)
{
	struct stat info;

	return fstatat(fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
}

/* Calls visit for each file of that suffix; anything but CMN_OK ends it. */
static enum cmn_status each(int fd, const char *suffix,
			    enum cmn_status (*visit)(void *ctx, int fd, const char *name), void *ctx)
{
	enum cmn_status status = CMN_OK;
	const struct dirent64 *item;
	struct cmn_listing listing;

	if (!cmn_listing_open(&listing, fd, ".")) {
		status = cmn_status_from_errno(errno);
		return status == CMN_MISS ? CMN_ERR_IO : status;
	}
	while (status == CMN_OK && (item = cmn_listing_next(&listing))) {
		if (has_name(item->d_name, suffix) &&
		    (item->d_type == DT_REG || !is_directory(fd, item->d_name)))
			status = visit(ctx, fd, item->d_name);
	}
	cmn_listing_close(&listing);
	return status;
}

struct sum {
	unsigned long long count;
	uint64_t bytes;
};

static enum cmn_status count_one(void *ctx, int fd, const char *name)
{
	struct sum *sum = ctx;
	struct stat info;

	if (fstatat(fd, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
		return CMN_OK;	/* gone meanwhile */
	sum->count++;
	sum->bytes += info.st_size > 0 ? (uint64_t)info.st_size : 0;
	return CMN_OK;
}

struct candidate {
	char name[CC_RECIPE_NAME_SIZE];
	struct timespec time;
	uint64_t size;
};

/* What may have to go. Of a flood, which is nobody's recipes, what does not fit goes at once. */
struct selection {
	struct candidate *all;
	size_t count, max;
};

static enum cmn_status select_one(void *ctx, int fd, const char *name)
{
	struct selection *selection = ctx;
	struct candidate *one = &selection->all[selection->count];
	struct stat info;

	if (selection->count == selection->max)
		return cc_recipes_remove(fd, name);
	if (fstatat(fd, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
		return CMN_OK;	/* gone meanwhile */
	(void)snprintf(one->name, sizeof(one->name), "%.*s", CC_RECIPE_NAME_SIZE - 1,
		       name);	/* it is of that form */
	one->time = info.st_mtim;
	one->size = info.st_size > 0 ? (uint64_t)info.st_size : 0;
	selection->count++;
	return CMN_OK;
}

static int compare_times(const void *a, const void *b)
{
	const struct timespec *x = &((const struct candidate *)a)->time;
	const struct timespec *y = &((const struct candidate *)b)->time;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? -1 : 1;
	return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

static bool has_room(const struct sum *sum, unsigned long long max_count, size_t len)
{
	return sum->count < max_count && sum->bytes <= CC_RECIPES_MAX_BYTES &&
	       len <= CC_RECIPES_MAX_BYTES - sum->bytes;
}

/* Lets the oldest go until there are fewer than max_count and one of len more bytes fits. */
static enum cmn_status make_room(int fd, unsigned long long max_count, size_t len)
{
	struct selection selection = { .max = (size_t)max_count + ROOM_SLACK };
	struct sum sum = { 0 };
	enum cmn_status status = each(fd, RECIPE_SUFFIX, count_one, &sum);

	if (status != CMN_OK || has_room(&sum, max_count, len))
		return status;
	selection.all = malloc(selection.max * sizeof(*selection.all));
	if (!selection.all)
		return CMN_ERR_NOMEM;
	status = each(fd, RECIPE_SUFFIX, select_one, &selection);
	qsort(selection.all, selection.count, sizeof(*selection.all), compare_times);
	sum = (struct sum){ .count = selection.count };
	for (size_t i = 0; i < selection.count; i++)
		sum.bytes += selection.all[i].size;
	for (size_t i = 0; i < selection.count && status == CMN_OK; i++) {
		if (has_room(&sum, max_count, len))
			break;
		status = cc_recipes_remove(fd, selection.all[i].name);
		sum.count--;
		sum.bytes -= selection.all[i].size;
	}
	free(selection.all);
	return status;
}

void cc_recipes_limit(int root_fd, uint64_t bytes)
{
	/* Each takes a block of some KiB, and another one for its attempts. */
	uint64_t count = bytes / 8192 + 1;
	size_t len = bytes < CC_RECIPES_MAX_BYTES ? (size_t)(CC_RECIPES_MAX_BYTES - bytes) : 0;
	int fd = -1, quarantine = -1;

	if (cmn_file_open_dir(root_fd, CC_RECIPES_DIRECTORY, 0, &fd) != CMN_OK)
		return;
	if (cmn_file_open_dir(fd, CC_RECIPES_QUARANTINE, 0, &quarantine) == CMN_OK) {
		(void)!make_room(quarantine, 1, len);	/* the next store in a full root tries again */
		(void)close(quarantine);	/* read only */
	}
	(void)!make_room(fd, count < CC_RECIPES_MAX_COUNT ? count : CC_RECIPES_MAX_COUNT, len);
	(void)close(fd);	/* read only */
}

/* Whether the file has a recipe of this identity, as far as its header says, or one that must stay. */
static bool is_there(int fd, const char *name, const struct cmn_hash *identity)
{
	uint8_t header[CC_RECIPE_HEADER_SIZE];
	const struct cmn_view view = { header, sizeof(header) };
	struct cc_recipe recipe;
	struct cmn_hash found;
	int file = cmn_file_open(fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
	ssize_t got;

	if (file < 0)
		return false;
	got = read(file, header, sizeof(header));
	(void)close(file);	/* read only */
	if (got != (ssize_t)sizeof(header))
		return false;
	/* One of another version is for its own programs to replay. */
	if (cc_recipe_decode(view, &recipe) == CMN_ERR_VERSION)
		return true;
	return cc_recipe_identity(view, &found) && cmn_hash_equal(&found, identity);
}

static bool is_quarantined(int fd, const char *name)
{
	char path[sizeof(CC_RECIPES_QUARANTINE) + CC_RECIPE_NAME_SIZE];

	(void)snprintf(path, sizeof(path), CC_RECIPES_QUARANTINE "/%s", name);
	return faccessat(fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool cc_recipes_is_quarantined(const char *root, struct cmn_view key)
{
	char name[CC_RECIPE_NAME_SIZE];
	bool quarantined;
	int fd = -1;

	if (cc_recipes_open(root, &fd) != CMN_OK)
		return false;
	cc_recipe_name(key, name);
	quarantined = is_quarantined(fd, name);
	(void)close(fd);	/* read only */
	return quarantined;
}

enum cmn_status cc_recipes_put(const char *root, struct cmn_view encoded)
{
	char name[CC_RECIPE_NAME_SIZE];
	struct cc_recipe recipe;
	struct cmn_hash identity;
	enum cmn_status status;
	int fd = -1;

	status = cc_recipe_decode(encoded, &recipe);
	if (status != CMN_OK)
		return status;
	if (!cc_recipe_identity(encoded, &identity))
		return CMN_ERR_INVALID;
	cc_recipe_name(recipe.key, name);
	status = cc_recipes_make(root, &fd);
	if (status != CMN_OK)
		return status;
	if (!is_quarantined(fd, name) && !is_there(fd, name, &identity)) {
		/* Looking at all of them for each would cost more than the bounds are worth. */
		if (identity.bytes[0] % ROOM_EVERY == 0) {
			cc_entry_dir_sweep(fd, false);	/* no lock here: those of living writers are young */
			status = make_room(fd, CC_RECIPES_MAX_COUNT, encoded.len);
		}
		/* Another state of the headers is another build: its chances are its own. */
		if (status == CMN_OK)
			status = cc_recipes_set_attempts(fd, name, 0);
		if (status == CMN_OK)
			status = cmn_file_publish(fd, name, &encoded, 1);
	}
	(void)close(fd);	/* nothing was written through it */
	return status;
}

static enum cmn_status gather_one(void *ctx, int fd, const char *name)
{
	struct cc_recipes_names *names = ctx;
	char **grown = cmn_array_grow(names->names, names->count, sizeof(*grown));

	(void)fd;
	if (!grown)
		return CMN_ERR_NOMEM;
	names->names = grown;
	names->names[names->count] = strdup(name);
	if (!names->names[names->count])
		return CMN_ERR_NOMEM;
	names->count++;
	return CMN_OK;
}

enum cmn_status cc_recipes_list(int fd, struct cc_recipes_names *ret)
{
	*ret = (struct cc_recipes_names){ 0 };
	return each(fd, RECIPE_SUFFIX, gather_one, ret);
}

void cc_recipes_names_release(struct cc_recipes_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->names[i]);
	free(names->names);
	*names = (struct cc_recipes_names){ 0 };
}

enum cmn_status cc_recipes_read(int fd, const char *name, struct cmn_buffer *file,
				struct cc_recipe *ret)
{
	enum cmn_status status = cmn_file_read(fd, name, CC_RECIPE_MAX_FILE, false, file);

	if (status == CMN_ERR_TOO_LARGE)
		return CMN_ERR_CORRUPT;
	if (status != CMN_OK)
		return status;
	return cc_recipe_decode(cmn_buffer_view(file), ret);
}

enum cmn_status cc_recipes_remove(int fd, const char *name)
{
	(void)!cc_recipes_set_attempts(fd, name, 0);	/* who puts another one does that, too */
	return cmn_file_remove(fd, name);
}

unsigned int cc_recipes_attempts(int fd, const char *name)
{
	char attempts[CC_RECIPE_NAME_SIZE];
	uint64_t count;

	attempts_name(name, attempts);
	if (cc_number_file_read(fd, attempts, &count) != CMN_OK)
		return 0;
	return count < 1000 ? (unsigned int)count : 1000;
}

enum cmn_status cc_recipes_set_attempts(int fd, const char *name, unsigned int count)
{
	char attempts[CC_RECIPE_NAME_SIZE];

	attempts_name(name, attempts);
	return count ? cc_number_file_write(fd, attempts, count) : cmn_file_remove(fd, attempts);
}

enum cmn_status cc_recipes_quarantine(int fd, const char *name)
{
	enum cmn_status status;
	struct stat info;
	int to = -1;

	status = cmn_file_open_dir(fd, CC_RECIPES_QUARANTINE, cc_root_dir_mode(fd), &to);
	if (status != CMN_OK)
		return status;
	if (fstatat(fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && info.st_size > 0)
		status = make_room(to, CC_RECIPES_MAX_QUARANTINED, (size_t)info.st_size);
	if (status == CMN_OK && renameat(fd, name, to, name) < 0 && errno != ENOENT)
		status = cmn_status_from_errno(errno);
	(void)close(to);	/* nothing was written through it */
	return status == CMN_OK ? cc_recipes_set_attempts(fd, name, 0) : status;
}

enum cmn_status cc_recipes_count(const char *root, struct cc_recipes_count *ret)
{
	struct cc_recipes_count found = { 0 };
	struct sum sum = { 0 };
	enum cmn_status status;
	int fd = -1, inner = -1;

	status = cc_recipes_open(root, &fd);
	if (status == CMN_OK) {
		status = each(fd, RECIPE_SUFFIX, count_one, &sum);
		found.recipes = sum.count;
		if (status == CMN_OK && cmn_file_open_dir(fd, CC_RECIPES_QUARANTINE, 0, &inner) == CMN_OK) {
			sum = (struct sum){ 0 };
			status = each(inner, RECIPE_SUFFIX, count_one, &sum);
			found.quarantined = sum.count;
			(void)close(inner);	/* read only */
		}
		(void)close(fd);	/* read only */
	}
	if (status == CMN_OK || status == CMN_MISS)
		*ret = found;
	return status == CMN_MISS ? CMN_OK : status;
}

static enum cmn_status remove_one(void *ctx, int fd, const char *name)
{
	(void)ctx;
	return cmn_file_remove(fd, name);
}

static enum cmn_status clear_directory(int fd)
{
	enum cmn_status status = each(fd, RECIPE_SUFFIX, remove_one, NULL);

	if (status == CMN_OK)
		status = each(fd, ATTEMPTS_SUFFIX, remove_one, NULL);
	cc_entry_dir_sweep(fd, false);
	return status;
}

enum cmn_status cc_recipes_clear(const char *root)
{
	enum cmn_status status;
	int fd = -1, inner = -1;

	status = cc_recipes_open(root, &fd);
	if (status == CMN_MISS)
		return CMN_OK;
	if (status != CMN_OK)
		return status;
	status = clear_directory(fd);
	if (status == CMN_OK && cmn_file_open_dir(fd, CC_RECIPES_QUARANTINE, 0, &inner) == CMN_OK) {
		status = clear_directory(inner);
		(void)close(inner);	/* nothing was written through it */
	}
	(void)close(fd);	/* likewise */
	return status;
}

/* until: as for cmn_file_lock. */
static enum cmn_status take_lock(int fd, const char *name, uint64_t until, int *ret_fd)
{
	enum cmn_status status;
	int lock;

	status = cmn_file_open_healed(fd, name, &lock);
	if (status != CMN_OK)
		return status;
	status = cmn_file_lock(lock, until);
	if (status == CMN_OK)
		*ret_fd = lock;
	else
		(void)close(lock);	/* nothing was written through it */
	return status;
}

enum cmn_status cc_recipes_lock(int fd, int *ret_fd)
{
	return take_lock(fd, LOCK_NAME, 0, ret_fd);
}

enum cmn_status cc_recipes_lock_background(int fd, int *ret_fd)
{
	return take_lock(fd, BACKGROUND_NAME, 0, ret_fd);
}

bool cc_recipes_is_background_lock(int fd, int lock_fd)
{
	return cmn_file_is_named(fd, BACKGROUND_NAME, lock_fd);
}

/* Whether another process has it, as far as can be known. */
static bool is_taken(int fd, const char *name)
{
	int lock = -1;
	enum cmn_status status = take_lock(fd, name, 0, &lock);

	if (status == CMN_OK)
		cc_root_unlock(lock);
	return status == CMN_BUSY;
}

bool cc_recipes_is_wanted(int fd)
{
	return is_taken(fd, WANTED_NAME);
}

enum cmn_status cc_recipes_lock_before_background(int fd, int *ret_fd)
{
	enum cmn_status status = cc_recipes_lock(fd, ret_fd);
	int wanted = -1;

	if (status != CMN_BUSY || !is_taken(fd, BACKGROUND_NAME) ||
	    take_lock(fd, WANTED_NAME, cmn_clock_deadline(LOOK_NS), &wanted) != CMN_OK)
		return status;
	status = take_lock(fd, LOCK_NAME, cmn_clock_deadline(GIVE_WAY_NS), ret_fd);
	cc_root_unlock(wanted);
	return status;
}
