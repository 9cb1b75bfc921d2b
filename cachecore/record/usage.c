/* SPDX-License-Identifier: MIT */
/* usage: two bounded tables, and their lines. */
#include "cachecore/record/usage.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/env.h"
#include "common/file.h"

/* 366 days of 140 + 70 bytes and 64 programs of 340 + 270 at most. */
#define MAX_FILE_SIZE 131072
#define COUNTS (sizeof(struct cc_usage_counts) / sizeof(uint64_t))
#define ATTENDED 6	/* of these, in lines of their own */
#define UNATTENDED_PREFIX "unattended-"
/* A name whose every byte is escaped. */
#define MAX_WORD (3 * CC_USAGE_PROGRAM_SIZE)

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

static void add_program(struct cc_usage *usage, uint32_t day, const char *name,
			const struct cc_usage_counts *counts)
{
	struct cc_usage_program *program = NULL;
	char cut[CC_USAGE_PROGRAM_SIZE] = "?";

	if (*name) {
		size_t len = strnlen(name, sizeof(cut) - 1);

		memcpy(cut, name, len);
		cut[len] = '\0';
	}
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

void cc_usage_add(struct cc_usage *usage, uint32_t day, const char *program,
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

/* ---- the file ---- */

static bool parse_u64(const char *word, uint64_t max, uint64_t *ret)
{
	return word && cmn_env_parse_number(word, 0, max, ret) == CMN_OK;
}

/* The rest of a line: those up to ATTENDED, or the others. */
static bool parse_counts(char **state, bool unattended, struct cc_usage_counts *ret)
{
	uint64_t counts[COUNTS] = { 0 };

	for (size_t i = unattended ? ATTENDED : 0; i < (unattended ? COUNTS : ATTENDED); i++) {
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

static int digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* false: it is no name that was written here. */
static bool parse_name(const char *word, char ret[CC_USAGE_PROGRAM_SIZE])
{
	size_t len = 0;

	for (; word && *word && len < CC_USAGE_PROGRAM_SIZE - 1; word++) {
		if (*word != '%') {
			if (!is_plain(*word))
				return false;
			ret[len++] = *word;
			continue;
		}
		if (digit(word[1]) < 0 || digit(word[2]) < 0 || (word[1] == '0' && word[2] == '0'))
			return false;
		ret[len++] = (char)(digit(word[1]) * 16 + digit(word[2]));
		word += 2;
	}
	ret[len] = '\0';
	return len && !*word;
}

static void parse_line(struct cc_usage *usage, char *line)
{
	char name[CC_USAGE_PROGRAM_SIZE], *state = NULL;
	const char *kind = strtok_r(line, " ", &state);
	struct cc_usage_counts counts;
	bool unattended;
	uint64_t day;

	if (!kind)
		return;
	unattended = strncmp(kind, UNATTENDED_PREFIX, strlen(UNATTENDED_PREFIX)) == 0;
	kind += unattended ? strlen(UNATTENDED_PREFIX) : 0;
	if (strcmp(kind, "others") == 0) {
		if (parse_counts(&state, unattended, &counts))
			cc_usage_add_counts(&usage->others, &counts);
	} else if (strcmp(kind, "day") == 0) {
		if (parse_u64(strtok_r(NULL, " ", &state), UINT32_MAX, &day) &&
		    parse_counts(&state, unattended, &counts))
			add_day(usage, (uint32_t)day, &counts);
	} else if (strcmp(kind, "program") == 0) {
		if (parse_name(strtok_r(NULL, " ", &state), name) &&
		    parse_u64(strtok_r(NULL, " ", &state), UINT32_MAX, &day) &&
		    parse_counts(&state, unattended, &counts))
			add_program(usage, (uint32_t)day, name, &counts);
	}
}

void cc_usage_parse(struct cc_usage *usage, struct cmn_view text)
{
	const char *at = text.data, *end = text.len ? at + text.len : at;
	char line[MAX_WORD + 256];

	while (at < end) {
		const char *next = memchr(at, '\n', (size_t)(end - at));

		/* The last line has an end too, or it was cut. */
		if (!next)
			return;
		if ((size_t)(next - at) < sizeof(line) && !memchr(at, '\0', (size_t)(next - at))) {
			memcpy(line, at, (size_t)(next - at));
			line[next - at] = '\0';
			parse_line(usage, line);
		}
		at = next + 1;
	}
}

enum cmn_status cc_usage_load(struct cc_usage *usage, int root_fd)
{
	struct cmn_buffer file;
	enum cmn_status status = cmn_file_read(root_fd, CC_USAGE_NAME, MAX_FILE_SIZE, false, &file);

	if (status != CMN_OK)
		return status;
	cc_usage_parse(usage, cmn_buffer_view(&file));
	cmn_buffer_release(&file);
	return CMN_OK;
}

/* One line, or two where something was built while nobody waited. head: what is before the counts. */
static void append_lines(struct cmn_buffer *text, struct cmn_view head,
			 const struct cc_usage_counts *counts)
{
	uint64_t all[COUNTS];

	list_counts(counts, all);
	cmn_buffer_append(text, head.data, head.len);
	for (size_t i = 0; i < COUNTS; i++) {
		if (i == ATTENDED) {
			if (!counts->unattended)
				break;
			cmn_buffer_append_text(text, "\n" UNATTENDED_PREFIX);
			cmn_buffer_append(text, head.data, head.len);
		}
		cmn_buffer_printf(text, " %llu", (unsigned long long)all[i]);
	}
	cmn_buffer_append_u8(text, '\n');
}

static void encode(const struct cc_usage *usage, struct cmn_buffer *ret)
{
	struct cmn_buffer head = { 0 };

	for (size_t i = 0; i < usage->day_count; i++) {
		head.len = 0;
		cmn_buffer_printf(&head, "day %u", (unsigned int)usage->days[i].day);
		append_lines(ret, cmn_buffer_view(&head), &usage->days[i].counts);
	}
	for (size_t i = 0; i < usage->program_count; i++) {
		head.len = 0;
		cmn_buffer_append_text(&head, "program ");
		for (const char *at = usage->programs[i].name; *at; at++)
			cmn_buffer_printf(&head, is_plain(*at) ? "%c" : "%%%02x", (unsigned char)*at);
		cmn_buffer_printf(&head, " %u", (unsigned int)usage->programs[i].last_day);
		append_lines(ret, cmn_buffer_view(&head), &usage->programs[i].counts);
	}
	append_lines(ret, cmn_view_of("others"), &usage->others);
	ret->failed |= head.failed;
	cmn_buffer_release(&head);
}

static void add_all(struct cc_usage *to, const struct cc_usage *from)
{
	for (size_t i = 0; i < from->day_count; i++)
		add_day(to, from->days[i].day, &from->days[i].counts);
	for (size_t i = 0; i < from->program_count; i++)
		add_program(to, from->programs[i].last_day, from->programs[i].name,
			    &from->programs[i].counts);
	cc_usage_add_counts(&to->others, &from->others);
}

enum cmn_status cc_usage_record(int root_fd, const struct cc_usage *more)
{
	struct cc_usage *usage;
	struct cmn_buffer text = { 0 };
	struct cmn_view view;
	enum cmn_status status;

	if (!more->day_count)
		return CMN_OK;
	usage = calloc(1, sizeof(*usage));
	if (!usage)
		return CMN_ERR_NOMEM;
	status = cc_usage_load(usage, root_fd);
	/* As for stats.txt: what is no such file is replaced by one. */
	if (status != CMN_OK && status != CMN_MISS && status != CMN_ERR_TOO_LARGE &&
	    status != CMN_ERR_ACCESS)
		goto out;
	add_all(usage, more);
	encode(usage, &text);
	view = cmn_buffer_view(&text);
	status = text.failed ? CMN_ERR_NOMEM : cmn_file_replace(root_fd, CC_USAGE_NAME, &view, 1);
	cmn_buffer_release(&text);
out:
	free(usage);
	return status;
}
