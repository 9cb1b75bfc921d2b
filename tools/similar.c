/* SPDX-License-Identifier: MIT */
/* similar: the distance of Damerau and Levenshtein (optimal string alignment), in three rows. */
#include "tools/similar.h"

#include <ctype.h>
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
