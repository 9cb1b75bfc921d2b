/* SPDX-License-Identifier: MIT */
/* habits: one row an option; docs/COMPARISON.md has the same. */
#include "tools/habits.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const struct {
	const char *options;	/* with a blank between them */
	const char *meant;
} habits[] = {
	{ "-s --show-stats -sv", "did you mean ckcache stats?" },
	{ "-z --zero-stats", "did you mean ckcache stats --zero?" },
	{ "--print-stats --format --stats-format", "did you mean ckcache stats --json?" },
	{ "--show-adv-stats", "did you mean ckcache stats --verbose?" },
	{ "-v --verbose -vv -svv", "did you mean ckcache stats --verbose?" },
	{ "-C --clear", "did you mean ckcache clear?" },
	{ "-c --cleanup", "did you mean ckcache prune?" },
	{ "--evict-older-than", "did you mean ckcache prune --older-than 30d?" },
	{ "--evict-namespace", "did you mean ckcache clear --program NAME?" },
	{ "--trim-dir --trim-max-size --trim-method --trim-recompress", "did you mean ckcache prune --remote --max-size SIZE?" },
	{ "-M --max-size", "did you mean ckcache config set max_size SIZE?" },
	{ "-F --max-files", "there is no limit of the number of files; ckcache config set max_size SIZE limits the size" },
	{ "-p --show-config", "did you mean ckcache config?" },
	{ "-k --get-config", "did you mean ckcache config get KEY?" },
	{ "-o --set-config", "did you mean ckcache config set KEY VALUE?" },
	{ "-X --recompress", "did you mean ckcache recompress LEVEL?" },
	{ "-x --show-compression", "did you mean ckcache recompress --dry-run?" },
	{ "-d --dir", "verbs that use the cache have --dir, as in ckcache stats --dir DIR" },
	{ "--dry-run", "prune, clear and recompress have it, as in ckcache clear --dry-run" },
	{ "--config-path", "CKCACHE_... variables win over all files; see ckcache config" },
	{ "--inspect --extract-result", "did you mean ckcache show ENTRY?" },
	{ "--hash-file --checksum-file", "ckcache show ENTRY prints the hash of each field of a key" },
	{ "--show-log-stats --print-log-stats", "did you mean ckcache run --summary?" },
	{ "--print-version", "did you mean ckcache --version?" },
	{ "--start-server --stop-server --stop-storage-helpers", "no server has to be started or stopped" },
	{ "--dist-status", "did you mean ckcache stats? It shows the remote tier too" },
	{ "--dist-auth --package-toolchain", "compiles are not distributed: a driver compiles inside the program that asks" },
	{ "--threads", "replay and recipes have --jobs, as in ckcache replay --jobs N" },
};

static bool has(const char *options, const char *option, size_t len)
{
	for (const char *at = options; *at; at += strspn(at, " ")) {
		size_t one = strcspn(at, " ");

		if (one == len && strncmp(at, option, len) == 0)
			return true;
		at += one;
	}
	return false;
}

const char *habit_of(const char *option)
{
	size_t len = strcspn(option, "=");

	for (size_t i = 0; i < sizeof(habits) / sizeof(habits[0]); i++) {
		if (has(habits[i].options, option, len))
			return habits[i].meant;
	}
	return NULL;
}
