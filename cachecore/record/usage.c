/* SPDX-License-Identifier: MIT */
/* usage: two bounded tables, and their lines. */
#include "cachecore/record/usage.h"

#include <ctype.h>
#include <string.h>

#include "common/env.h"

#define COUNTS (sizeof(struct cc_usage_counts) / sizeof(uint64_t))

/* The members in their order. */
static void list_counts(const struct cc_usage_counts *counts, uint64_t ret[COUNTS])
{
	memcpy(ret, counts, sizeof(*counts));
}

void cc_usage_add_counts(struct cc_usage_counts *to, const struct cc_usage_counts *counts)
{
	uint64_t sums[COUNTS], more[COUNTS];

	list_counts(to, sums);
	list_counts(counts, more);
	for (size_t i = 0; i < COUNTS; i++)
		sums[i] = more[i] > UINT64_MAX - sums[i] ? UINT64_MAX : sums[i] + more[i];
	memcpy(to, sums, sizeof(sums));
}

static uint32_t distance(uint32_t a, uint32_t b)
{
	return a > b ? a - b : b - a;
}

/* The oldest, unless a clock once was wrong: then a day of the future. */
static void drop_farthest_day(struct cc_usage *usage, uint32_t day)
{
	const struct cc_usage_day *first = &usage->days[0];
	const struct cc_usage_day *last = &usage->days[usage->day_count - 1];

	usage->day_count--;
	if (distance(first->day, day) >= distance(last->day, day))
		memmove(usage->days, usage->days + 1, usage->day_count * sizeof(*usage->days));
}

static void add_day(struct cc_usage *usage, uint32_t day, const struct cc_usage_counts *counts)
{
	size_t i = usage->day_count;

	while (i > 0 && usage->days[i - 1].day >= day)
		i--;
	if (i == usage->day_count || usage->days[i].day != day) {
		if (usage->day_count == CC_USAGE_MAX_DAYS) {
			drop_farthest_day(usage, day);
			i = usage->day_count;
			while (i > 0 && usage->days[i - 1].day > day)
				i--;
		}
		memmove(usage->days + i + 1, usage->days + i,
			(usage->day_count - i) * sizeof(*usage->days));
		usage->days[i] = (struct cc_usage_day){ .day = day };
		usage->day_count++;
	}
	cc_usage_add_counts(&usage->days[i].counts, counts);
}

/* The one that was used longest ago becomes a part of the others. */
static struct cc_usage_program *make_room(struct cc_usage *usage)
{
	struct cc_usage_program *oldest = &usage->programs[0];

	if (usage->program_count < CC_USAGE_MAX_PROGRAMS)
		return &usage->programs[usage->program_count++];
	for (size_t i = 1; i < usage->program_count; i++) {
		if (usage->programs[i].last_day < oldest->last_day)
			oldest = &usage->programs[i];
	}
	cc_usage_add_counts(&usage->others, &oldest->counts);
	return oldest;
}

static void add_program(struct cc_usage *usage, uint32_t day, struct cmn_view name,
			const struct cc_usage_counts *counts)
{
	struct cc_usage_program *program = NULL;
	char cut[CC_USAGE_PROGRAM_SIZE] = "";
	size_t len = name.len ? strnlen(name.data, name.len) : 0;

	if (!len)
		name = cmn_view_of("?");
	memcpy(cut, name.data, !len ? 1 : len < sizeof(cut) ? len : sizeof(cut) - 1);
	for (size_t i = 0; i < usage->program_count && !program; i++) {
		if (strcmp(usage->programs[i].name, cut) == 0)
			program = &usage->programs[i];
	}
	if (!program) {
		program = make_room(usage);
		*program = (struct cc_usage_program){ 0 };
		memcpy(program->name, cut, sizeof(cut));
	}
	if (program->last_day < day)
		program->last_day = day;
	cc_usage_add_counts(&program->counts, counts);
}

void cc_usage_add(struct cc_usage *usage, uint32_t day, struct cmn_view program,
		  const struct cc_usage_counts *counts)
{
	add_day(usage, day, counts);
	add_program(usage, day, program, counts);
}

bool cc_usage_is_any(const struct cc_usage_counts *counts)
{
	return counts->hits_memory || counts->hits_disk || counts->misses || counts->bypasses ||
	       counts->unattended;
}

/* ---- lines ---- */

static bool parse_u64(const char *word, uint64_t max, uint64_t *ret)
{
	return word && cmn_env_parse_number(word, 0, max, ret) == CMN_OK;
}

/* The rest of a line. */
static bool parse_counts(char **state, struct cc_usage_counts *ret)
{
	uint64_t counts[COUNTS] = { 0 };

	for (size_t i = 0; i < COUNTS; i++) {
		if (!parse_u64(strtok_r(NULL, " ", state), UINT64_MAX, &counts[i]))
			return false;
	}
	memcpy(ret, counts, sizeof(counts));
	return !strtok_r(NULL, " ", state);
}

static bool is_plain(char c)
{
	return isascii((unsigned char)c) && (isalnum((unsigned char)c) || strchr("._+-", c));
}

/* Decoded in place; NULL: it is no name that was written here. */
static char *parse_name(char *word)
{
	for (const char *at = word; at && *at; at++) {
		if (*at != '%' && !is_plain(*at))
			return NULL;
	}
	return word && cmn_percent_decode(word) && strlen(word) < CC_USAGE_PROGRAM_SIZE ? word : NULL;
}

void cc_usage_parse_line(struct cc_usage *usage, char *line)
{
	char *name, *state = NULL;
	const char *kind = strtok_r(line, " ", &state);
	struct cc_usage_counts counts;
	uint64_t day;

	if (!kind)
		return;
	if (strcmp(kind, "others") == 0) {
		if (parse_counts(&state, &counts))
			cc_usage_add_counts(&usage->others, &counts);
	} else if (strcmp(kind, "day") == 0) {
		if (parse_u64(strtok_r(NULL, " ", &state), UINT32_MAX, &day) && parse_counts(&state, &counts))
			add_day(usage, (uint32_t)day, &counts);
	} else if (strcmp(kind, "program") == 0) {
		name = parse_name(strtok_r(NULL, " ", &state));
		if (name && parse_u64(strtok_r(NULL, " ", &state), UINT32_MAX, &day) &&
		    parse_counts(&state, &counts))
			add_program(usage, (uint32_t)day, cmn_view_of(name), &counts);
	}
}

static void append_counts(struct cmn_buffer *text, const struct cc_usage_counts *counts)
{
	uint64_t all[COUNTS];

	list_counts(counts, all);
	for (size_t i = 0; i < COUNTS; i++)
		cmn_buffer_printf(text, " %llu", (unsigned long long)all[i]);
	cmn_buffer_append_u8(text, '\n');
}

void cc_usage_encode(const struct cc_usage *usage, struct cmn_buffer *ret)
{
	for (size_t i = 0; i < usage->day_count; i++) {
		cmn_buffer_printf(ret, "day %u", (unsigned int)usage->days[i].day);
		append_counts(ret, &usage->days[i].counts);
	}
	for (size_t i = 0; i < usage->program_count; i++) {
		cmn_buffer_append_text(ret, "program ");
		for (const char *at = usage->programs[i].name; *at; at++)
			cmn_buffer_printf(ret, is_plain(*at) ? "%c" : "%%%02x", (unsigned char)*at);
		cmn_buffer_printf(ret, " %u", (unsigned int)usage->programs[i].last_day);
		append_counts(ret, &usage->programs[i].counts);
	}
	if (cc_usage_is_any(&usage->others)) {
		cmn_buffer_append_text(ret, "others");
		append_counts(ret, &usage->others);
	}
}
