/* SPDX-License-Identifier: MIT */
/* usage: sums by day and program, their bounds, and lines that anybody may have written. */
#include "cachecore/record/totals.h"

#include "tests/support/unit.h"

#define TODAY 20000

static struct cc_usage *new_usage(void)
{
	struct cc_usage *usage = calloc(1, sizeof(*usage));

	CU_ASSERT_PTR_NOT_NULL_FATAL(usage);
	return usage;
}

static struct cc_usage_counts misses(uint64_t count)
{
	return (struct cc_usage_counts){ .misses = count };
}

static void add(struct cc_usage *usage, uint32_t day, const char *program, uint64_t count)
{
	struct cc_usage_counts counts = misses(count);

	cc_usage_add(usage, day, cmn_view_of(program), &counts);
}

static uint64_t all_misses(const struct cc_usage *usage)
{
	uint64_t sum = usage->others.misses;

	for (size_t i = 0; i < usage->program_count; i++)
		sum += usage->programs[i].counts.misses;
	return sum;
}

static const struct cc_usage_program *find(const struct cc_usage *usage, const char *name)
{
	for (size_t i = 0; i < usage->program_count; i++) {
		if (strcmp(usage->programs[i].name, name) == 0)
			return &usage->programs[i];
	}
	return NULL;
}

TEST(sums_by_day_and_program)
{
	struct cc_usage *usage = new_usage();

	add(usage, TODAY, "a", 1);
	add(usage, TODAY - 2, "b", 2);
	add(usage, TODAY - 1, "a", 4);
	add(usage, TODAY, "b", 8);
	CU_ASSERT_EQUAL_FATAL(usage->day_count, 3);
	for (uint32_t i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(usage->days[i].day, TODAY - 2 + i);
	CU_ASSERT_EQUAL(usage->days[0].counts.misses, 2);
	CU_ASSERT_EQUAL(usage->days[2].counts.misses, 9);
	CU_ASSERT_PTR_NOT_NULL_FATAL(find(usage, "a"));
	CU_ASSERT_EQUAL(find(usage, "a")->counts.misses, 5);
	CU_ASSERT_EQUAL(find(usage, "a")->last_day, TODAY);
	free(usage);
}

TEST(keeps_a_year)
{
	struct cc_usage *usage = new_usage();

	for (uint32_t day = TODAY - 500; day <= TODAY; day++)
		add(usage, day, "a", 1);
	CU_ASSERT_EQUAL_FATAL(usage->day_count, CC_USAGE_MAX_DAYS);
	for (uint32_t i = 0; i < CC_USAGE_MAX_DAYS; i++)
		CU_ASSERT_EQUAL(usage->days[i].day, TODAY - CC_USAGE_MAX_DAYS + 1 + i);
	/* A day of a wrong clock is the first one to go. */
	add(usage, 40000, "b", 1);
	add(usage, TODAY + 1, "a", 1);
	for (uint32_t i = 0; i < CC_USAGE_MAX_DAYS; i++)
		CU_ASSERT_EQUAL(usage->days[i].day, TODAY - CC_USAGE_MAX_DAYS + 2 + i);
	free(usage);
}

TEST(days_of_a_wrong_clock_go_first)
{
	struct cc_usage *usage = new_usage();

	for (uint32_t i = 0; i < CC_USAGE_MAX_DAYS; i++)
		add(usage, 40000 + i, "a", 1);
	add(usage, TODAY, "a", 1);
	CU_ASSERT_EQUAL(usage->day_count, CC_USAGE_MAX_DAYS);
	CU_ASSERT_EQUAL(usage->days[0].day, TODAY);
	CU_ASSERT_EQUAL(usage->days[CC_USAGE_MAX_DAYS - 1].day, 40000 + CC_USAGE_MAX_DAYS - 2);
	free(usage);
}

TEST(what_was_used_long_ago_becomes_others)
{
	struct cc_usage *usage = new_usage();
	char name[16];

	for (uint32_t i = 0; i < 100; i++) {
		(void)snprintf(name, sizeof(name), "program-%u", (unsigned int)i);
		add(usage, TODAY + i, name, 1);
	}
	CU_ASSERT_EQUAL(usage->program_count, CC_USAGE_MAX_PROGRAMS);
	CU_ASSERT_EQUAL(usage->others.misses, 100 - CC_USAGE_MAX_PROGRAMS);
	CU_ASSERT_PTR_NOT_NULL(find(usage, "program-99"));
	CU_ASSERT_PTR_NULL(find(usage, "program-0"));
	CU_ASSERT_EQUAL(all_misses(usage), 100);
	free(usage);
}

static void parse(struct cc_usage *usage, const char *text)
{
	char *copy = strdup(text), *state = NULL;

	CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
	for (char *line = strtok_r(copy, "\n", &state); line; line = strtok_r(NULL, "\n", &state))
		cc_usage_parse_line(usage, line);
	free(copy);
}

TEST(skips_what_is_no_line_of_its_own)
{
	static const char text[] =
		"day 20000 1 2 3 4 5 6 7 8\n"
		"day 20001 1 2 3 4 5 6 7\n"			/* too few */
		"day 20002 1 2 3 4 5 6 7 8 9\n"
		"day -1 1 2 3 4 5 6 7 8\n"
		"day 4294967296 1 2 3 4 5 6 7 8\n"
		"day\nprogram\nprogram a\nothers 1\n\n   \n"
		"program a/b 20000 1 2 3 4 5 6 7 8\n"
		"program %00 20000 1 2 3 4 5 6 7 8\n"
		"program %2 20000 1 2 3 4 5 6 7 8\n"
		"program a%4 20000 1 2 3 4 5 6 7 8\n"
		"program a%4z 20000 1 2 3 4 5 6 7 8\n"
		"program %3cb%3e 20000 1 2 3 4 5 18446744073709551615 7 8\n"
		"program %3cb%3e 20000 1 2 3 4 5 6 7 8\n"
		"rubbish 20000 1 2 3 4 5 6 7 8\n"
		"others 0 0 7 0 0 0 0 0\n";
	struct cc_usage *usage = new_usage();

	parse(usage, text);
	CU_ASSERT_EQUAL_FATAL(usage->day_count, 1);
	CU_ASSERT_EQUAL(usage->days[0].counts.hits_memory, 1);
	CU_ASSERT_EQUAL(usage->days[0].counts.saved_ns, 6);
	CU_ASSERT_EQUAL(usage->days[0].counts.unattended_ns, 8);
	CU_ASSERT_EQUAL_FATAL(usage->program_count, 1);
	CU_ASSERT_STRING_EQUAL(usage->programs[0].name, "<b>");
	CU_ASSERT_EQUAL(usage->programs[0].counts.misses, 6);
	CU_ASSERT_EQUAL(usage->programs[0].counts.saved_ns, UINT64_MAX);
	CU_ASSERT_EQUAL(usage->others.misses, 7);
	free(usage);
}

/* The longest lines that there can be. */
TEST(what_is_written_is_read_back)
{
	struct cc_usage *usage = new_usage(), *again = new_usage();
	const struct cc_usage_counts most = { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX,
					      UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX };
	char name[CC_USAGE_PROGRAM_SIZE + 10] = "";
	struct cmn_buffer text = { 0 };

	for (unsigned int i = 0; i < CC_USAGE_MAX_DAYS; i++) {
		for (size_t c = 0; c < sizeof(name) - 1; c++)
			name[c] = (char)(1 + (i % CC_USAGE_MAX_PROGRAMS + (unsigned int)c) % 255);
		cc_usage_add(usage, TODAY + i, cmn_view_of(name), &most);
	}
	add(usage, TODAY, "", 1);
	cc_usage_encode(usage, &text);
	CU_ASSERT(text.len < 131072 - 16384);	/* what stats.txt has room for */
	cmn_buffer_append_u8(&text, '\0');
	parse(again, (const char *)text.data);
	CU_ASSERT_EQUAL(memcmp(usage, again, sizeof(*usage)), 0);
	CU_ASSERT_PTR_NOT_NULL(find(again, "?"));
	CU_ASSERT_EQUAL(again->others.misses, UINT64_MAX);
	cmn_buffer_release(&text);
	free(usage);
	free(again);
}

TEST(a_bypass_alone_is_something)
{
	CU_ASSERT_TRUE(cc_usage_is_any(&(struct cc_usage_counts){ .bypasses = 1 }));
	CU_ASSERT_TRUE(cc_usage_is_any(&(struct cc_usage_counts){ .unattended = 1 }));
	CU_ASSERT_FALSE(cc_usage_is_any(&(struct cc_usage_counts){ .saved_ns = 1 }));
}
