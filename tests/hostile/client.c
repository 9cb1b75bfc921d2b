/* SPDX-License-Identifier: MIT */
/*
 * client: an application of the cache, for tests that run it as other users.
 *
 *   client use [BYTES]     builds three programs, or finds them; BYTES: what
 *                          its compiler makes (right). Prints a line for each:
 *                          "built", "memory" or "disk", and the bytes
 *   client config FILE     the root that follows from the settings, with FILE
 *                          for the system's; "-" and why, where there is none
 *   client dir DIR         the program sets DIR and uses it; prints the status
 *                          of that, then as use does
 *   client secure          exit code 0 if the process is privileged (AT_SECURE)
 */
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "cachecore/cache.h"

static const char *compiled = "right";

static enum cmn_status build(void *ctx, struct cc_entry **ret)
{
	struct cc_entry *entry = cc_entry_new(1000);

	(void)ctx;
	if (!entry)
		return CMN_ERR_NOMEM;
	cc_entry_add(entry, CC_TAG_IMAGE, 0, compiled, strlen(compiled));
	if (cc_entry_finish(entry, NULL) != CMN_OK) {
		cc_entry_unref(entry);
		return CMN_MISS;
	}
	*ret = entry;
	return CMN_OK;
}

static int use_one(struct cc_cache *cache, uint64_t number)
{
	static const char *const origins[] = { "memory", "disk", "built" };
	struct cc_entry *entry = NULL;
	enum cc_origin origin;
	struct cmn_view image;
	struct cc_key key;
	int failed = 1;

	cc_key_init(&key);
	cc_key_add_text(&key, CC_PART_DEVICE, "device", "d");
	cc_key_add_u64(&key, CC_PART_IMAGE, "source", number);
	if (cc_cache_get_or_build(cache, &key, build, NULL, &entry, &origin) == CMN_OK &&
	    cc_entry_find(entry, CC_TAG_IMAGE, 0, &image)) {
		(void)printf("%s %.*s\n", origins[origin], (int)image.len, (const char *)image.data);
		cc_cache_count_miss(cache, &key, 1000);	/* so that there are statistics */
		failed = 0;
	}
	cc_entry_unref(entry);
	cc_key_release(&key);
	return failed;
}

/* dir: NULL: the configuration's. */
static int use(const char *dir)
{
	struct cc_cache *cache;
	int failed = 0;

	if (cc_cache_open(&cache) != CMN_OK)
		return 3;
	if (dir)
		(void)printf("%s\n", cmn_status_string(cc_cache_set_dir(cache, dir)));
	for (uint64_t i = 0; i < 3; i++)
		failed |= use_one(cache, i);
	cc_cache_flush(cache);
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

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "use") == 0)
		compiled = argv[2];
	if (argc > 1 && strcmp(argv[1], "use") == 0)
		return use(NULL);
	if (argc > 2 && strcmp(argv[1], "dir") == 0)
		return use(argv[2]);
	if (argc > 2 && strcmp(argv[1], "config") == 0)
		return show_config(argv[2]);
	if (argc > 1 && strcmp(argv[1], "secure") == 0)
		return getauxval(AT_SECURE) ? 0 : 1;
	return 2;
}
