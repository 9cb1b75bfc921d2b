/* SPDX-License-Identifier: MIT */
/*
 * client: an application of the cache, for tests that run it as other users.
 *
 *   client use [BYTES [FIRST [COUNT [SIZE]]]]
 *                          builds three programs, or finds them; BYTES: what
 *                          its compiler makes (right), followed by as much as
 *                          SIZE says, by which the program is known again.
 *                          Prints a line for each: "built", "memory" or
 *                          "disk", and the bytes
 *   client slow BYTES NUMBER   builds that program, or finds it; its compiler
 *                          says "building" and waits for a line on stdin
 *   client config FILE     the root that follows from the settings, with FILE
 *                          for the system's; "-" and why, where there is none
 *   client dir DIR         the program sets DIR and uses it; prints the status
 *                          of that, then as use does
 *   client secure          exit code 0 if the process is privileged (AT_SECURE)
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "cachecore/cache.h"

#define MAX_SIZE (4 << 20)

static const char *compiled = "right";
static size_t size;		/* of an image; 0: just the bytes */
static bool slow;

/* What follows the bytes: nothing that a compression makes smaller. */
static void fill(uint8_t *at, size_t len, uint64_t number)
{
	uint64_t state = number + 1;

	for (size_t i = 0; i < len; i++) {
		state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		at[i] = (uint8_t)(state >> 56);
	}
}

/* The image of that program, if bytes of that length begin it; static. */
static struct cmn_view image_of(uint64_t number, const void *bytes, size_t len)
{
	static uint8_t image[MAX_SIZE];
	size_t whole = size > len ? size : len;

	memcpy(image, bytes, len);
	fill(image + len, whole - len, number);
	return (struct cmn_view){ image, whole };
}

static enum cmn_status build(void *ctx, struct cc_entry **ret)
{
	const struct cmn_view image = image_of(*(uint64_t *)ctx, compiled, strlen(compiled));
	struct cc_entry *entry = cc_entry_new(1000);

	if (!entry)
		return CMN_ERR_NOMEM;
	if (slow) {
		(void)puts("building");
		(void)fflush(stdout);
		(void)getchar();
	}
	cc_entry_add(entry, CC_TAG_IMAGE, 0, image.data, image.len);
	if (cc_entry_finish(entry, NULL) != CMN_OK) {
		cc_entry_unref(entry);
		return CMN_MISS;
	}
	*ret = entry;
	return CMN_OK;
}

static int use_one(struct cc_cache *cache, uint64_t number)
{
	static const char *const origins[] = {
		[CC_ORIGIN_MEMORY] = "memory", [CC_ORIGIN_DISK] = "disk",
		[CC_ORIGIN_REMOTE] = "remote", [CC_ORIGIN_BUILT] = "built",
	};
	struct cc_entry *entry = NULL;
	enum cc_origin origin;
	struct cmn_view image;
	struct cc_key key;
	int failed = 1;
	bool right;
	size_t len;

	cc_key_init(&key);
	cc_key_add_text(&key, CC_PART_DEVICE, "device", "d");
	cc_key_add_u64(&key, CC_PART_IMAGE, "source", number);
	if (cc_cache_get_or_build(cache, &key, build, &number, &entry, &origin) == CMN_OK &&
	    cc_entry_find(entry, CC_TAG_IMAGE, 0, &image)) {
		len = size ? strlen(compiled) : image.len;
		right = len <= image.len && image.len <= MAX_SIZE &&
			cmn_view_equal(image, image_of(number, image.data, len));
		(void)printf("%s %.*s\n", origins[origin], right ? (int)len : 5,
			     right ? (const char *)image.data : "wrong");
		cc_cache_count_miss(cache, &key, 1000);	/* so that there are statistics */
		failed = 0;
	}
	cc_entry_unref(entry);
	cc_key_release(&key);
	return failed;
}

/* dir: NULL: the configuration's. */
static int use(const char *dir, uint64_t first, uint64_t count)
{
	struct cc_cache *cache;
	int failed = 0;

	if (cc_cache_open(&cache) != CMN_OK)
		return 3;
	if (dir)
		(void)printf("%s\n", cmn_status_string(cc_cache_set_dir(cache, dir)));
	for (uint64_t i = 0; i < count; i++)
		failed |= use_one(cache, first + i);
	cc_cache_close(cache);
	return failed;
}

static int show_config(const char *system_file)
{
	static const struct cmn_log log = { .level = CMN_LOG_ERROR };
	struct cc_config config;

	if (cc_config_load_from(&log, system_file, &config) != CMN_OK)
		return 3;
	(void)printf("%s %s\n", config.dir ? config.dir : "-",
		     config.dir_problem ? config.dir_problem : "");
	cc_config_release(&config);
	return 0;
}

static size_t number_of(const char *text)
{
	return (size_t)strtoul(text, NULL, 10);
}

int main(int argc, char **argv)
{
	slow = argc > 1 && strcmp(argv[1], "slow") == 0;
	if (argc > 2 && (slow || strcmp(argv[1], "use") == 0))
		compiled = argv[2];
	if (argc > 5)
		size = number_of(argv[5]);
	if (argc > 1 && (slow || strcmp(argv[1], "use") == 0) && size <= MAX_SIZE)
		return use(NULL, argc > 3 ? number_of(argv[3]) : 0,
			   argc > 4 ? number_of(argv[4]) : slow ? 1 : 3);
	if (argc > 2 && strcmp(argv[1], "dir") == 0)
		return use(argv[2], 0, 3);
	if (argc > 2 && strcmp(argv[1], "config") == 0)
		return show_config(argv[2]);
	if (argc > 1 && strcmp(argv[1], "secure") == 0)
		return getauxval(AT_SECURE) ? 0 : 1;
	return 2;
}
