/* SPDX-License-Identifier: MIT */
/*
 * suggest: the distance of Damerau and Levenshtein (optimal string alignment), in three rows; habits,
 * one row an option, of which docs/COMPARISON.md has the same.
 */
#include "tools/suggest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define MAX_LEN 40	/* of names and words; a longer one is like nothing */
#define MAX_DISTANCE 3

static size_t least(size_t a, size_t b, size_t c)
{
	size_t ab = a < b ? a : b;

	return ab < c ? ab : c;
}

static size_t distance_of(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t rows[3][MAX_LEN + 1] = { { 0 } };

	for (size_t j = 0; j <= b_len; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		const size_t *last = rows[(i - 1) % 3], *before = rows[(i + 1) % 3];
		size_t *row = rows[i % 3];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			int one = tolower((unsigned char)a[i - 1]), other = tolower((unsigned char)b[j - 1]);

			row[j] = least(last[j] + 1, row[j - 1] + 1, last[j - 1] + (one != other));
			if (i > 1 && j > 1 && tolower((unsigned char)a[i - 2]) == other &&
			    one == tolower((unsigned char)b[j - 2]) && before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}
	}
	return rows[a_len % 3][b_len];
}

void similar_offer(struct similar *best, const char *word, const char *name)
{
	size_t word_len = strlen(word), name_len = strlen(name), distance;
	size_t most = (word_len + 2) / 3 < MAX_DISTANCE ? (word_len + 2) / 3 : MAX_DISTANCE;

	if (!word_len || word_len > MAX_LEN || name_len > MAX_LEN)
		return;
	distance = distance_of(word, word_len, name, name_len);
	if (word_len > 1 && strncmp(word, name, word_len) == 0)
		distance = 1;
	if (distance <= most && distance < word_len && (!best->name || distance < best->distance))
		*best = (struct similar){ name, distance };
}

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
