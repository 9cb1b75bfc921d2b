/* SPDX-License-Identifier: MIT */
/*
 * fill_cache DIRECTORY: stores an entry for each line of standard input:
 *
 *   BUILD_NS ACCESS_NS SIZE DEVICE DRIVER SOURCE OPTIONS
 *
 * The last four are texts in hexadecimal digits, "-" for a field that the key
 * does not have. The image is SIZE bytes.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/disk/space/account.h"
#include "cachecore/disk/root.h"
#include "cachecore/disk/store.h"

#define MAX_LINE 1048576
#define MAX_SIZE 1048576

static void add_field(struct cc_key *key, enum cc_part part, const char *name, const char *hex)
{
	size_t len = strlen(hex) / 2;
	uint8_t *bytes;

	if (strcmp(hex, "-") == 0)
		return;
	bytes = malloc(len + 1);
	if (!bytes)
		exit(1);
	for (size_t i = 0; i < len; i++) {
		const char digits[] = { hex[2 * i], hex[2 * i + 1], '\0' };

		bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	cc_key_add(key, part, name, bytes, len);
	free(bytes);
}

static bool store(struct cc_store *to, const char *root, const struct cc_key *key,
		  struct cc_entry *entry, uint64_t access_ns)
{
	char entry_dir[CC_ENTRY_DIR_PATH_SIZE];
	int root_fd = -1, entry_dir_fd = -1;
	bool done = false;

	if (cc_store_put(to, key, entry) != CMN_OK || cc_root_open(root, &root_fd) != CMN_OK)
		return false;
	cc_entry_dir_path(cc_key_view(key), entry_dir);
	if (cc_entry_dir_find(root_fd, entry_dir, &entry_dir_fd) == CMN_OK) {
		cc_entry_dir_note_use(entry_dir_fd, NULL, 0, access_ns);
		done = cc_entry_dir_used_ns(entry_dir_fd, NULL, 0) == access_ns;
		(void)close(entry_dir_fd);
	}
	(void)close(root_fd);	/* nothing was written through it */
	return done;
}

static bool fill(struct cc_store *to, const char *root, char *line)
{
	static uint8_t image[MAX_SIZE];
	char *state = NULL, *words[7], *word = strtok_r(line, " \n", &state);
	struct cc_entry *entry;
	struct cc_key key;
	bool done = false;

	for (size_t i = 0; i < 7; i++, word = strtok_r(NULL, " \n", &state)) {
		if (!word)
			return false;
		words[i] = word;
	}
	cc_key_init(&key);
	add_field(&key, CC_PART_DEVICE, "device.name", words[3]);
	add_field(&key, CC_PART_DEVICE, "device.driver_version", words[4]);
	add_field(&key, CC_PART_IMAGE, "source", words[5]);
	add_field(&key, CC_PART_OPTIONS, "options", words[6]);
	entry = cc_entry_new(strtoull(words[0], NULL, 10));
	if (entry) {
		cc_entry_add(entry, CC_TAG_IMAGE, 0, image, strtoul(words[2], NULL, 10) % MAX_SIZE);
		done = cc_entry_finish(entry, NULL) == CMN_OK &&
		       store(to, root, &key, entry, strtoull(words[1], NULL, 10));
	}
	cc_entry_unref(entry);
	cc_key_release(&key);
	return done;
}

int main(int argc, char **argv)
{
	static char line[MAX_LINE];
	struct cmn_log log = { .level = CMN_LOG_NONE };
	struct cc_config config;
	struct cc_store *to = NULL;
	int code = 1;

	if (argc != 2 || setenv("CKCACHE_DIR", argv[1], 1) != 0)
		return 2;
	if (cc_config_load(&log, &config) != CMN_OK)
		return 1;
	config.compression = CC_COMPRESSION_NONE;
	if (cc_store_open(&config, &log, &to) == CMN_OK) {
		code = 0;
		while (code == 0 && fgets(line, sizeof(line), stdin)) {
			if (!fill(to, config.dir, line))
				code = 1;
		}
		cc_store_close(to);
	}
	cc_config_release(&config);
	return code;
}
