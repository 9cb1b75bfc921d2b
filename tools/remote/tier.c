/* SPDX-License-Identifier: MIT */
/*
 * tier: the setting, the notes of this machine, and what the root has for uploading. Prunes in two walks, so
 * that a directory of a million values takes 16 MB: the first one finds out up to which time of use values
 * have to go; the second one looks at each value again and removes those.
 */
#include "tools/remote/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "cachecore/remote/address.h"
#include "cachecore/remote/uploads.h"
#include "common/env.h"
#include "common/file.h"
#include "common/listing.h"
#include "tools/entries/entries.h"
#include "tools/memory.h"
#include "tools/text.h"

char *tier_show_address(const struct cc_address *address)
{
	struct cmn_buffer text = { 0 };

	cc_address_show(address, &text);
	return memory_string(&text);
}

/* What cannot be used has an address all the same, if it is one. */
static void look_at_unusable(const struct cc_config *config, const char *problem, struct tier *tier)
{
	struct cc_address address;
	const char *unread;

	tier->state = TIER_OFF;
	(void)snprintf(tier->problem, sizeof(tier->problem), "%s", problem);	/* it fits */
	if (cc_address_parse(config->remote, &address, &unread) != CMN_OK)
		return;
	tier->address = tier_show_address(&address);
	cc_address_release(&address);
}

static bool count_one(void *ctx, const char *entry_dir, int refusals)
{
	(void)entry_dir;
	(void)refusals;
	++*(uint64_t *)ctx;
	return true;
}

/* Only looks: cc_uploads_open would make the directory. */
static uint64_t count_waiting(const struct cc_config *config)
{
	uint64_t count = 0;
	int root_fd, fd;

	if (!config->dir || cc_root_open(config->dir, &root_fd) != CMN_OK)
		return 0;
	fd = cmn_file_open(root_fd, CC_UPLOADS_DIRECTORY, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	if (fd >= 0) {
		if (cc_uploads_walk(fd, count_one, &count) < 0)
			count = 0;	/* what cannot be read is not uploaded either */
		(void)close(fd);	/* a directory: nothing to be lost */
	}
	(void)close(root_fd);	/* likewise */
	return count;
}

static void look_at_node(const struct cc_node *node, struct tier *tier)
{
	int dir_fd = cc_node_open(node, NULL);

	if (dir_fd < 0)
		return;
	tier->until_s = cc_node_down_until(node, dir_fd, tier->problem, sizeof(tier->problem));
	if (tier->until_s)
		tier->state = TIER_AWAY;
	(void)close(dir_fd);	/* a directory: nothing to be lost */
}

void tier_look(const struct cc_config *config, struct tier *ret)
{
	struct cc_remote_setup setup;
	const char *problem = "";
	enum cmn_status status;

	*ret = (struct tier){ .waiting = count_waiting(config) };
	status = cc_remote_setup(config, &tool_silent, &setup, &problem);
	if (status == CMN_ERR_NOMEM)
		memory_end();
	if (status != CMN_OK && status != CMN_MISS)
		look_at_unusable(config, problem, ret);
	if (status != CMN_OK)
		return;
	ret->state = TIER_IN_USE;
	ret->address = tier_show_address(&setup.address);
	look_at_node(&setup.node, ret);
	cc_remote_setup_release(&setup);
}

void tier_release(struct tier *tier)
{
	free(tier->address);
}

void tier_append_problem(const struct tier *tier, struct cmn_buffer *text)
{
	time_t until = (time_t)tier->until_s;
	char clock[16];
	struct tm local;

	if (tier->state == TIER_OFF)
		cmn_buffer_printf(text, "off: %s", tier->problem);
	if (tier->state != TIER_AWAY)
		return;
	if (!localtime_r(&until, &local) || !strftime(clock, sizeof(clock), "%T", &local))
		clock[0] = '\0';
	cmn_buffer_printf(text, "left alone until %s: %s", clock, tier->problem);
}

char *tier_begin(const struct tool_cache *cache, struct cc_remote_setup *ret_setup)
{
	const char *problem = "out of memory";
	enum cmn_status status = cc_remote_setup(&cache->config, &tool_log, ret_setup, &problem);

	if (status == CMN_MISS)
		tool_die("no remote tier is set (CKCACHE_REMOTE)");
	if (status != CMN_OK)
		tool_die("the remote tier cannot be used: %s", problem);
	return tier_show_address(&ret_setup->address);
}

#define NS_PER_S UINT64_C(1000000000)
#define TEMPORARY_PREFIX ".tmp-"
#define CLAIM_SUFFIX ".claim"
/* No writer takes a day (storage/storage_file.c has the same time). */
#define TEMPORARY_NS (UINT64_C(24) * 3600 * NS_PER_S)
/* A claim holds for a minute at most (cachecore/remote/remote.c); clocks of nodes may differ. */
#define CLAIM_NS (3600 * NS_PER_S)
/* A key has at most 255 bytes: two digits, then up to 200 a level. */
#define MAX_DEPTH 4
#define DIGITS "0123456789abcdef"
/* "63/" and this: "ckcache-1-index" in hexadecimal digits. */
#define INDEX_DIRECTORY "63"
#define INDEX_NAME "6b63616368652d312d696e646578"

struct pruned {
	struct amount removed, left;	/* values */
};

struct use {
	uint64_t time_ns, bytes;
};

struct pruning {
	struct use *uses;
	size_t count;
	uint64_t now_ns;	/* by the file system's clock */
	uint64_t to_free;	/* bytes; 0 in the first walk */
	uint64_t until_ns;	/* values that were used later stay */
	uint64_t seen;
	uint64_t unremoved;
	int problem;		/* errno of the last one that could not be removed */
	struct pruned *result;
};

/* The directory of a file: address, which the caller frees; NULL: it names none. */
static char *directory_of(const struct cc_address *address)
{
	const char *path = address->url + strcspn(address->url, ":");
	char *copy;

	path += *path == ':';
	if (strncmp(path, "//", 2) == 0) {
		path += 2;
		if (strncmp(path, "localhost/", strlen("localhost/")) == 0)
			path += strlen("localhost");
	}
	if (*path != '/' || path[strcspn(path, "?#")])
		return NULL;
	copy = memory_copy(path);
	if (cmn_percent_decode(copy))
		return copy;
	free(copy);
	return NULL;
}

static bool is_digits(const char *name, size_t len)
{
	return len && strspn(name, DIGITS) >= len;
}

/* A directory that storage/storage_file.c has made: "xx" or "_", and below it names that go on. */
static bool is_level(const char *name, unsigned int depth)
{
	size_t len = strlen(name);

	if (depth == 0)
		return (len == 2 && is_digits(name, 2)) || strcmp(name, "_") == 0;
	return len > 1 && name[len - 1] == '+' && is_digits(name, len - 1);
}

static bool is_value(const char *name)
{
	const char *digits = name + (*name == '_');

	return is_digits(digits, strlen(digits));
}

static uint64_t ns_of(const struct timespec *time)
{
	return time->tv_sec < 0 ? 0 : (uint64_t)time->tv_sec * NS_PER_S + (uint64_t)time->tv_nsec;
}

/* File systems that note no reads, or only some, at least know when it was written. */
static uint64_t time_of(const struct stat *info)
{
	uint64_t read = ns_of(&info->st_atim), written = ns_of(&info->st_mtim);

	return read > written ? read : written;
}

static uint64_t bytes_of(const struct stat *info)
{
	uint64_t blocks = cmn_file_blocks(info), size = (uint64_t)info->st_size;

	return blocks > size ? blocks : size;
}

/* true: it is gone, by this. */
static bool remove_file(struct pruning *pruning, int dir_fd, const char *name)
{
	if (unlinkat(dir_fd, name, 0) == 0)
		return true;
	/* Another node was faster, or a name was remembered that is no more. */
	if (errno != ENOENT && errno != ESTALE) {
		pruning->unremoved++;
		pruning->problem = errno;
	}
	return false;
}

/* What a process left behind that died, or forgot. */
static void look_at_leftover(struct pruning *pruning, int dir_fd, const char *name, uint64_t age)
{
	struct stat info;

	if (pruning->to_free || fstatat(dir_fd, name, &info, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(info.st_mode) || ns_of(&info.st_mtim) + age >= pruning->now_ns)
		return;
	(void)remove_file(pruning, dir_fd, name);	/* counts what could not be removed */
}

static void note_value(struct pruning *pruning, const struct stat *info, bool stays)
{
	pruning->result->left.entries++;
	pruning->result->left.bytes += bytes_of(info);
	if (stays)
		return;
	memory_grow(pruning->uses, pruning->count);
	pruning->uses[pruning->count++] = (struct use){ time_of(info), bytes_of(info) };
}

static void look_at_value(struct pruning *pruning, int dir_fd, const char *name, bool stays)
{
	struct pruned *result = pruning->result;
	struct stat info;

	if (fstatat(dir_fd, name, &info, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(info.st_mode))
		return;
	terminal_progress("prune", ++pruning->seen, 0);
	if (!pruning->to_free) {
		note_value(pruning, &info, stays);
		return;
	}
	/* One that was written or read meanwhile is a new one. */
	if (stays || result->removed.bytes >= pruning->to_free ||
	    time_of(&info) > pruning->until_ns || !remove_file(pruning, dir_fd, name))
		return;
	result->removed.entries++;
	result->removed.bytes += bytes_of(&info);
}

static void look_at_name(struct pruning *pruning, int dir_fd, const char *name, unsigned int depth,
			 bool has_lists)
{
	if (strncmp(name, TEMPORARY_PREFIX, strlen(TEMPORARY_PREFIX)) == 0)
		look_at_leftover(pruning, dir_fd, name, TEMPORARY_NS);
	else if (depth && strcmp(name + strcspn(name, "."), CLAIM_SUFFIX) == 0)
		look_at_leftover(pruning, dir_fd, name, CLAIM_NS);
	else if (depth && is_value(name))
		look_at_value(pruning, dir_fd, name, has_lists &&
			      strncmp(name, INDEX_NAME, strlen(INDEX_NAME)) == 0);
}

static void walk(struct pruning *pruning, int dir_fd, unsigned int depth, bool has_lists)
{
	struct cmn_listing listing = { 0 };
	const struct dirent64 *item;

	if (!cmn_listing_open(&listing, dir_fd, "."))
		return;	/* another node has removed it */
	while ((item = cmn_listing_next(&listing))) {
		const char *name = item->d_name;
		int fd;

		if (!is_level(name, depth)) {
			look_at_name(pruning, dir_fd, name, depth, has_lists);
			continue;
		}
		if (depth == MAX_DEPTH)
			continue;
		fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue;
		walk(pruning, fd, depth + 1, depth == 0 && strcmp(name, INDEX_DIRECTORY) == 0);
		(void)close(fd);	/* a directory */
	}
	cmn_listing_close(&listing);
}

static int compare_uses(const void *a, const void *b)
{
	const struct use *one = a, *two = b;

	return (one->time_ns > two->time_ns) - (one->time_ns < two->time_ns);
}

/* Up to which time values go, so that so many bytes are freed. */
static uint64_t find_until(struct pruning *pruning)
{
	uint64_t freed = 0;
	size_t i = 0;

	if (!pruning->count)
		return 0;
	qsort(pruning->uses, pruning->count, sizeof(*pruning->uses), compare_uses);
	while (i < pruning->count && freed < pruning->to_free)
		freed += pruning->uses[i++].bytes;
	return pruning->uses[i - 1].time_ns;
}

static uint64_t less(uint64_t before, uint64_t by)
{
	return before > by ? before - by : 0;
}

/* false: not all of that could be done, complained about. */
static bool prune(const char *directory, uint64_t max_size, struct pruned *ret)
{
	struct pruning pruning = { .result = ret };
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	*ret = (struct pruned){ 0 };
	if (fd < 0)
		tool_die("%s: %s", directory, strerror(errno));
	pruning.now_ns = cmn_file_clock(fd);	/* 0: nothing is removed that age alone decides */
	walk(&pruning, fd, 0, false);
	if (ret->left.bytes > max_size) {
		pruning.to_free = ret->left.bytes - max_size;
		pruning.until_ns = find_until(&pruning);
		walk(&pruning, fd, 0, false);
		ret->left.entries = less(ret->left.entries, ret->removed.entries);
		ret->left.bytes = less(ret->left.bytes, ret->removed.bytes);
	}
	(void)close(fd);	/* a directory */
	free(pruning.uses);
	if (pruning.unremoved)
		tool_complain("%s: %" PRIu64 " files cannot be removed: %s", directory, pruning.unremoved,
			      strerror(pruning.problem));
	return !pruning.unremoved;
}

/* The size that a tier's directory may have: as given, else by the attribute of its address. */
static uint64_t tier_bound(const struct cc_address *address, const char *given)
{
	static const char attribute[] = "max-size=";
	uint64_t size;

	for (size_t i = 0; !given && i < address->attribute_count; i++) {
		if (strncmp(address->attributes[i], attribute, sizeof(attribute) - 1) == 0)
			given = address->attributes[i] + sizeof(attribute) - 1;
	}
	if (!given)
		tool_refuse("prune: --max-size says which size may be left, or @max-size=SIZE in "
			    "CKCACHE_REMOTE");
	if (cmn_env_parse_bound(given, &size) != CMN_OK || !size)
		tool_refuse("prune: %s is no size with its unit, such as 50G", given);
	return size;
}

static int prune_directory(const struct cc_address *address, const char *given, bool json)
{
	uint64_t bound = tier_bound(address, given);
	char *directory = directory_of(address);
	struct removed removed;
	struct pruned pruned;
	int code;
	bool done;

	if (!directory)
		tool_die("prune: the URL must be file:/absolute/directory");
	done = prune(directory, bound, &pruned);
	free(directory);
	removed = (struct removed){ pruned.removed, &pruned.left, false };
	code = removed_print(&removed, json);
	return done ? code : TOOL_FAILED;
}

int tier_prune(const char *given, bool json)
{
	const char *problem = "no remote tier is set (CKCACHE_REMOTE)";
	static struct cc_address address;	/* until the command ends, as all */
	static struct cc_config config;

	tool_load_config(&config);
	if (!config.remote || cc_address_parse(config.remote, &address, &problem) != CMN_OK)
		tool_die("%s", problem);
	/* Others evict by themselves. */
	if (strcmp(address.scheme, "file") != 0)
		tool_die("%s: this server evicts by itself: %s", tier_show_address(&address),
			 strncmp(address.scheme, "redis", 5) == 0
			 ? "set maxmemory and maxmemory-policy allkeys-lru there, or the attribute @ttl here"
			 : "bound its storage there");
	if (address.read_only || config.read_only)
		tool_die("the remote tier is read-only");
	return prune_directory(&address, given, json);
}
