/* SPDX-License-Identifier: MIT */
/* usage: sums by day and program, their bounds, and a file that anybody may have written. */
#include "cachecore/record/usage.h"

#include "cachecore/record/stats.h"
#include "common/file.h"
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

	cc_usage_add(usage, day, program, &counts);
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

TEST(skips_what_is_no_line_of_its_own)
{
	static const char text[] =
		"day 20000 1 2 3 4 5 6\n"
		"day 20001 1 2 3 4 5\n"			/* too few */
		"day 20002 1 2 3 4 5 6 7\n"
		"day -1 1 2 3 4 5 6\n"
		"day 4294967296 1 2 3 4 5 6\n"
		"day\nprogram\nprogram a\nothers 1\n\n   \n"
		"program a/b 20000 1 2 3 4 5 6\n"
		"program %00 20000 1 2 3 4 5 6\n"
		"program %2 20000 1 2 3 4 5 6\n"
		"program a%4 20000 1 2 3 4 5 6\n"
		"program a%4z 20000 1 2 3 4 5 6\n"
		"program %3cb%3e 20000 1 2 3 4 5 18446744073709551615\n"
		"program %3cb%3e 20000 1 2 3 4 5 6\n"
		"rubbish 20000 1 2 3 4 5 6\n"
		"others 0 0 7 0 0 0\n"
		"day 20003 1 2 3 4 5 6";		/* no end */
	struct cc_usage *usage = new_usage();

	cc_usage_parse(usage, cmn_view_of(text));
	CU_ASSERT_EQUAL_FATAL(usage->day_count, 1);
	CU_ASSERT_EQUAL(usage->days[0].counts.hits_memory, 1);
	CU_ASSERT_EQUAL(usage->days[0].counts.saved_ns, 6);
	CU_ASSERT_EQUAL_FATAL(usage->program_count, 1);
	CU_ASSERT_STRING_EQUAL(usage->programs[0].name, "<b>");
	CU_ASSERT_EQUAL(usage->programs[0].counts.misses, 6);
	CU_ASSERT_EQUAL(usage->programs[0].counts.saved_ns, UINT64_MAX);
	CU_ASSERT_EQUAL(usage->others.misses, 7);
	free(usage);
}

TEST(what_nobody_waited_for_has_lines_of_its_own)
{
	static const char text[] =
		"day 20000 1 2 3 4 5 6\n"
		"unattended-day 20000 7 8\n"
		"unattended-day 20001 7 8 9 10 11 12\n"
		"unattended-day 20002 7\n"
		"unattended-program a 20000 9 10\n"
		"unattended-others 11 12\n"
		"unattended- 20000 7 8\n"
		"unattended-rubbish 20000 7 8\n";
	static const char written[] =
		"day 20000 1 2 3 4 5 6\n"
		"unattended-day 20000 7 8\n"
		"program a 20000 0 0 0 0 0 0\n"
		"unattended-program a 20000 9 10\n"
		"others 0 0 0 0 0 0\n"
		"unattended-others 11 12\n";
	int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct cc_usage *usage = new_usage();
	struct cmn_buffer file;

	CU_ASSERT_FATAL(fd >= 0);
	cc_usage_parse(usage, cmn_view_of(text));
	CU_ASSERT_EQUAL_FATAL(usage->day_count, 1);
	CU_ASSERT_EQUAL(usage->days[0].counts.saved_ns, 6);
	CU_ASSERT_EQUAL(usage->days[0].counts.unattended, 7);
	CU_ASSERT_EQUAL(usage->days[0].counts.unattended_ns, 8);
	CU_ASSERT_EQUAL(cc_usage_record(fd, usage), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(cmn_file_read(fd, "usage.txt", 4096, false, &file), CMN_OK);
	CU_ASSERT(cmn_view_equal(cmn_buffer_view(&file), cmn_view_of(written)));
	cmn_buffer_release(&file);
	(void)close(fd);
	free(usage);
}

static void record(uint64_t count)
{
	struct cc_usage_counts counts = misses(count);
	struct cc_usage *more = new_usage();
	int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	CU_ASSERT_FATAL(fd >= 0);
	cc_usage_add(more, TODAY, "a program", &counts);
	CU_ASSERT_EQUAL(cc_usage_record(fd, more), CMN_OK);
	free(more);
	(void)close(fd);
}

static void check_record(uint64_t count)
{
	struct cc_usage *usage = new_usage();
	int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(cc_usage_load(usage, fd), CMN_OK);
	CU_ASSERT_EQUAL(all_misses(usage), count);
	CU_ASSERT_EQUAL(usage->day_count, 1);
	CU_ASSERT_PTR_NOT_NULL(find(usage, "a program"));
	(void)close(fd);
	free(usage);
}

TEST(adds_to_the_file)
{
	record(3);
	record(4);
	check_record(7);
}

TEST(replaces_what_is_no_such_file)
{
	unit_write("usage.txt", "");
	record(1);
	check_record(1);
	unit_write_bytes("usage.txt", "\0\xff\n\0", 4);
	record(2);
	check_record(2);
	CU_ASSERT_EQUAL_FATAL(unlink("usage.txt"), 0);
	CU_ASSERT_EQUAL_FATAL(symlink("elsewhere", "usage.txt"), 0);
	unit_write("elsewhere", "day 1 1 1 1 1 1 1\n");
	record(3);
	check_record(3);
}

TEST(a_full_file_is_read_back)
{
	struct cc_usage *usage = new_usage();
	struct cmn_buffer text = { 0 };
	char name[CC_USAGE_PROGRAM_SIZE];

	for (unsigned int i = 0; i < CC_USAGE_MAX_DAYS; i++)
		cmn_buffer_printf(&text, "day %u %llu %llu %llu 0 0 0\n", TODAY + i, ~0ULL, ~0ULL, ~0ULL);
	for (unsigned int i = 0; i < CC_USAGE_MAX_PROGRAMS; i++) {
		cmn_buffer_append_text(&text, "program ");
		for (size_t c = 0; c < sizeof(name) - 1; c++)
			cmn_buffer_printf(&text, "%%%02x", 1 + (i + (unsigned int)c) % 255);
		cmn_buffer_printf(&text, " 1 0 0 0 0 0 %llu\n", ~0ULL);
	}
	cmn_buffer_append_text(&text, "others 0 0 0 0 0 0\n");
	cc_usage_parse(usage, cmn_buffer_view(&text));
	CU_ASSERT_EQUAL(usage->day_count, CC_USAGE_MAX_DAYS);
	CU_ASSERT_EQUAL(usage->program_count, CC_USAGE_MAX_PROGRAMS);
	unit_write_bytes("usage.txt", text.data, text.len);
	record(1);
	memset(usage, 0, sizeof(*usage));
	{
		int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		CU_ASSERT_FATAL(fd >= 0);
		CU_ASSERT_EQUAL(cc_usage_load(usage, fd), CMN_OK);
		(void)close(fd);
	}
	CU_ASSERT_EQUAL(usage->day_count, CC_USAGE_MAX_DAYS);
	CU_ASSERT_EQUAL(usage->program_count, CC_USAGE_MAX_PROGRAMS);
	cmn_buffer_release(&text);
	free(usage);
}

/* Through the statistics: each count once, also where a flush fails first; --zero forgets it. */
TEST(statistics_are_recorded_once)
{
	struct cc_stats *stats = cc_stats_new();
	struct cc_usage *usage = new_usage();
	int fd;

	CU_ASSERT_PTR_NOT_NULL_FATAL(stats);
	cc_stats_add(stats, CC_MISSES, 2);
	cc_stats_add(stats, CC_HITS_DISK, 2);
	cc_stats_add(stats, CC_HITS_REMOTE, 1);	/* not for the log */
	cc_stats_add(stats, CC_COMPILE_NS_SAVED, 30);
	cc_stats_bypass(stats, "time");
	cc_stats_bypass(stats, "no word");
	unit_write("root", "not a directory");
	CU_ASSERT_NOT_EQUAL(cc_stats_flush(stats, "root", -1, NULL, UINT64_MAX), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(unlink("root"), 0);
	CU_ASSERT_EQUAL(cc_stats_flush(stats, "root", -1, NULL, UINT64_MAX), CMN_OK);
	CU_ASSERT_EQUAL(cc_stats_flush(stats, "root", -1, NULL, UINT64_MAX), CMN_OK);
	fd = open("root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(cc_usage_load(usage, fd), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(usage->day_count, 1);
	CU_ASSERT_EQUAL(usage->days[0].counts.misses, 2);
	CU_ASSERT_EQUAL(usage->days[0].counts.hits_disk, 3);
	CU_ASSERT_EQUAL(usage->days[0].counts.bypasses, 2);
	CU_ASSERT_EQUAL(usage->days[0].counts.saved_ns, 30);
	CU_ASSERT_PTR_NOT_NULL(find(usage, "test_usage"));
	CU_ASSERT_EQUAL(cc_stats_zero("root"), CMN_OK);
	CU_ASSERT_EQUAL(cc_usage_load(usage, fd), CMN_MISS);
	(void)close(fd);
	free(usage);
	cc_stats_free(stats);
}

/* A record of the log has no place for these. */
TEST(what_nobody_waited_for_counts_for_its_program)
{
	struct cc_stats *stats = cc_stats_new();
	struct cc_usage *usage = new_usage();
	int fd;

	CU_ASSERT_PTR_NOT_NULL_FATAL(stats);
	cc_stats_set_program(stats, "blender");
	for (int i = 0; i < 2; i++) {
		cc_stats_add(stats, CC_UNATTENDED, 1);
		cc_stats_add(stats, CC_UNATTENDED_NS, 20);
		CU_ASSERT_EQUAL(cc_stats_flush(stats, "root", -1, NULL, UINT64_MAX), CMN_OK);
	}
	fd = open("root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(cc_usage_load(usage, fd), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(usage->program_count, 1);
	CU_ASSERT_STRING_EQUAL(usage->programs[0].name, "blender");
	CU_ASSERT_EQUAL(usage->programs[0].counts.unattended, 2);
	CU_ASSERT_EQUAL(usage->programs[0].counts.unattended_ns, 40);
	CU_ASSERT_EQUAL(usage->programs[0].counts.misses, 0);
	CU_ASSERT_EQUAL_FATAL(usage->day_count, 1);
	CU_ASSERT_EQUAL(usage->days[0].counts.unattended, 2);
	(void)close(fd);
	free(usage);
	cc_stats_free(stats);
}

TEST(a_file_that_is_too_large_is_replaced)
{
	char *text = malloc(200001);

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	memset(text, '\n', 200000);
	text[200000] = '\0';
	unit_write("usage.txt", text);
	free(text);
	record(2);
	check_record(2);
}

TEST(all_that_was_counted_is_in_the_file)
{
	struct cc_usage *usage = new_usage();
	char name[16];
	int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	CU_ASSERT_FATAL(fd >= 0);
	for (uint32_t i = 0; i < 70; i++) {
		(void)snprintf(name, sizeof(name), "program-%u", (unsigned int)i);
		add(usage, TODAY + i % 3, i < 69 ? name : "", 1);
	}
	CU_ASSERT_PTR_NOT_NULL(find(usage, "?"));
	CU_ASSERT_EQUAL(cc_usage_record(fd, usage), CMN_OK);
	memset(usage, 0, sizeof(*usage));
	CU_ASSERT_EQUAL(cc_usage_load(usage, fd), CMN_OK);
	CU_ASSERT_EQUAL(usage->day_count, 3);
	CU_ASSERT_EQUAL(usage->program_count, CC_USAGE_MAX_PROGRAMS);
	CU_ASSERT_EQUAL(all_misses(usage), 70);
	(void)close(fd);
	free(usage);
}

TEST(a_bypass_alone_is_something)
{
	CU_ASSERT_TRUE(cc_usage_is_any(&(struct cc_usage_counts){ .bypasses = 1 }));
	CU_ASSERT_TRUE(cc_usage_is_any(&(struct cc_usage_counts){ .unattended = 1 }));
	CU_ASSERT_FALSE(cc_usage_is_any(&(struct cc_usage_counts){ .saved_ns = 1 }));
}
