/* SPDX-License-Identifier: MIT */
/* trace: the shape of a line, and where no line may go. */
#include "cachecore/record/trace.h"

#include <sys/resource.h>

#include "common/file.h"
#include "tests/support/unit.h"

static void count_message(void *ctx, enum cmn_log_level level, const char *message)
{
	unsigned int *count = ctx;

	(void)level;
	(void)message;
	(*count)++;
}

/* The trace's file as a string; the caller frees. */
static char *content(void)
{
	struct cmn_buffer buf;
	char *text;

	CU_ASSERT_EQUAL_FATAL(cmn_file_read(AT_FDCWD, "trace", 1 << 20, false, &buf), CMN_OK);
	text = cmn_buffer_take_string(&buf);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	return text;
}

static void check_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		(void)fprintf(stderr, "no %s in %s\n", part, text);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, part));
}

TEST(writes_one_object_per_line)
{
	struct cc_event event = { .kind = CC_EVENT_MISS, .build_ns = 12, .lookup_ns = 3, .bytes = 7 };
	struct cc_trace *trace = cc_trace_open("trace", NULL);
	char *text, *end;

	CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
	cc_trace_write(trace, &event);
	event.kind = CC_EVENT_BYPASS;
	event.reason = "has \"include\"";
	cc_trace_write(trace, &event);
	cc_trace_close(trace);
	text = content();
	end = strchr(text, '\n');
	CU_ASSERT_PTR_NOT_NULL_FATAL(end);
	CU_ASSERT_EQUAL(end[-1], '}');
	CU_ASSERT_EQUAL(end[1], '{');
	*end = '\0';
	check_has(text, "\"event\":\"miss\",\"lookup_ns\":3,\"build_ns\":12,\"bytes\":7}");
	CU_ASSERT_PTR_NULL(strstr(text, "reason"));
	check_has(end + 1, "\"event\":\"bypass\",\"reason\":\"has \\\"include\\\"\"");
	free(text);
}

TEST(each_kind_has_its_word)
{
	static const struct {
		struct cc_event event;
		const char *words;	/* NULL: no line */
	} rows[] = {
		{ { .kind = CC_EVENT_HIT_MEMORY }, "\"hit-memory\",\"lookup_ns\"" },
		{ { .kind = CC_EVENT_HIT_DISK }, "\"hit-disk\",\"lookup_ns\"" },
		{ { .kind = CC_EVENT_HIT_REMOTE }, "\"hit-remote\",\"lookup_ns\"" },
		{ { .kind = CC_EVENT_MISS, .reason = "deferred" }, "\"miss\",\"reason\":\"deferred\",\"lookup_ns\"" },
		{ { .kind = CC_EVENT_UNATTENDED, .unattended = true }, "\"miss\",\"reason\":\"unattended\"" },
		{ { .kind = CC_EVENT_FAILED, .detail = "-11: x" }, "\"miss\",\"failure\":\"-11: x\"" },
		{ { .kind = CC_EVENT_FAILED, .detail = "-11", .unattended = true },
		  "\"miss\",\"reason\":\"unattended\",\"failure\":\"-11\"" },
		{ { .kind = CC_EVENT_FAILED, .detail = "-11", .reason = "date", .uncached = true, .unattended = true },
		  "\"bypass\",\"reason\":\"date\",\"failure\":\"-11\"" },
		{ { .kind = CC_EVENT_BYPASS, .reason = "date", .unattended = true }, "\"bypass\",\"reason\":\"date\",\"l" },
		{ { .kind = CC_EVENT_REFUSED }, "\"error\",\"reason\":\"driver-refused\"" },
		{ { .kind = CC_EVENT_STORED }, NULL },
		{ { .kind = CC_EVENT_REMOTE, .reason = "http" }, NULL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cc_trace *trace = cc_trace_open("trace", NULL);
		char *text;

		CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
		cc_trace_write(trace, &rows[i].event);
		cc_trace_close(trace);
		text = content();
		if (rows[i].words)
			check_has(text, rows[i].words);
		else
			CU_ASSERT_STRING_EQUAL(text, "");
		free(text);
		CU_ASSERT_EQUAL(unlink("trace"), 0);
	}
}

TEST(shows_key_fields_by_name)
{
	struct cc_trace *trace = cc_trace_open("trace", NULL);
	struct cc_event event = { .kind = CC_EVENT_HIT_DISK };
	char source[2000];
	struct cc_key key;
	char *text;

	CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
	memset(source, 's', sizeof(source));
	cc_key_init(&key);
	cc_key_add_text(&key, CC_PART_DEVICE, "device.name", "A\tGPU");
	cc_key_add_u64(&key, CC_PART_DEVICE, "number", 513);
	cc_key_add(&key, CC_PART_IMAGE, "source", source, sizeof(source));
	cc_key_add(&key, CC_PART_IMAGE, "bytes", "\xff\x00", 2);
	cc_key_add_u64(&key, CC_PART_IMAGE, "seven letters", UINT64_C(0x0067666564636261));
	cc_key_add_text(&key, CC_PART_IMAGE, "eight letters", "abcdefgh");
	cc_key_add_text(&key, CC_PART_IMAGE, "eight bytes", "\xe9" "bcdefgh");
	cc_key_add_text(&key, CC_PART_OPTIONS, "options", "-DX=\"1\"");
	cc_key_add_text(&key, CC_PART_OPTIONS, "number", "again");
	CU_ASSERT_EQUAL_FATAL(cc_key_status(&key), CMN_OK);
	event.key = &key;
	cc_trace_write(trace, &event);
	cc_trace_close(trace);
	cc_key_release(&key);
	text = content();
	check_has(text, "\"key\":{\"device.name\":\"A\\tGPU\",\"number\":513,");
	check_has(text, "\"source\":{\"size\":2000,\"hash\":\"");
	check_has(text, "\"bytes\":{\"size\":2,\"hash\":\"");
	check_has(text, "\"seven letters\":29104508263162465,\"eight letters\":\"abcdefgh\",");
	check_has(text, "\"eight bytes\":{\"size\":8,\"hash\":\"");
	check_has(text, "\"options\":\"-DX=\\\"1\\\"\",\"number#2\":\"again\"}}\n");
	free(text);
}

TEST(appends_to_what_is_there)
{
	struct cc_event event = { .kind = CC_EVENT_MISS };
	struct cc_trace *trace;
	char *text;

	unit_write("trace", "before\n");
	trace = cc_trace_open("trace", NULL);
	cc_trace_write(trace, &event);
	cc_trace_close(trace);
	text = content();
	CU_ASSERT_EQUAL(strncmp(text, "before\n{", 8), 0);
	free(text);
}

TEST(makes_a_file_for_its_owner_alone)
{
	struct cc_trace *trace = cc_trace_open("trace", NULL);
	struct stat info;

	cc_trace_close(trace);
	CU_ASSERT_EQUAL_FATAL(stat("trace", &info), 0);
	CU_ASSERT_EQUAL(info.st_mode & 077, 0);
}

TEST(refuses_pipes_and_missing_folders)
{
	unsigned int messages = 0;
	struct cmn_log log = { CMN_LOG_ERROR, count_message, &messages };
	struct cc_event event = { .kind = CC_EVENT_MISS };
	int reader;

	CU_ASSERT_PTR_NULL(cc_trace_open("none/trace", &log));
	CU_ASSERT_EQUAL(messages, 1);
	CU_ASSERT_EQUAL_FATAL(mkfifo("fifo", 0600), 0);
	CU_ASSERT_PTR_NULL(cc_trace_open("fifo", &log));
	CU_ASSERT_EQUAL(messages, 2);
	reader = open("fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	CU_ASSERT_PTR_NULL(cc_trace_open("fifo", &log));
	CU_ASSERT_EQUAL(messages, 3);
	(void)close(reader);
	cc_trace_write(NULL, &event);
	cc_trace_close(NULL);
}

TEST(refuses_what_is_not_the_users_alone)
{
	static const char *const names[] = { "link", "second", "open", "anothers", "/dev/full" };
	const size_t count = sizeof(names) / sizeof(names[0]);
	unsigned int messages = 0;
	struct cmn_log log = { CMN_LOG_ERROR, count_message, &messages };

	unit_write("target", "");
	unit_write("open", "");
	unit_write("anothers", "");
	CU_ASSERT(symlink("target", "link") == 0 && link("target", "second") == 0);
	CU_ASSERT_EQUAL(chmod("open", 0622), 0);
	/* Only the superuser can give one away. */
	CU_ASSERT(chown("anothers", 54321, 54321) == 0 || chmod("anothers", 0664) == 0);
	for (size_t i = 0; i < count; i++)
		CU_ASSERT_PTR_NULL(cc_trace_open(names[i], &log));
	CU_ASSERT_EQUAL(messages, count);
}

TEST(complains_once_when_it_cannot_write)
{
	unsigned int messages = 0;
	struct cmn_log log = { CMN_LOG_ERROR, count_message, &messages };
	struct cc_event event = { .kind = CC_EVENT_MISS };
	struct cc_trace *trace = cc_trace_open("trace", &log);

	CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
	unit_limit_files(0);
	for (int i = 0; i < 3; i++)
		cc_trace_write(trace, &event);
	unit_limit_files(RLIM_INFINITY);
	CU_ASSERT_EQUAL(messages, 1);
	cc_trace_close(trace);
}

TEST(between_two_lines_nothing_is_open)
{
	struct cc_event event = { .kind = CC_EVENT_MISS };
	unsigned int before = unit_count_in("/proc/self/fd");
	struct cc_trace *trace = cc_trace_open("trace", NULL);

	CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
	cc_trace_write(trace, &event);
	CU_ASSERT_EQUAL(unit_count_in("/proc/self/fd"), before);
	cc_trace_close(trace);
}

TEST(a_cut_line_is_the_last)
{
	struct cc_event event = { .kind = CC_EVENT_MISS };
	unsigned int complaints = 0;
	struct cmn_log log = { CMN_LOG_ERROR, count_message, &complaints };
	struct cc_trace *trace = cc_trace_open("trace", &log);
	struct stat info;

	CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
	unit_limit_files(20);
	cc_trace_write(trace, &event);
	unit_limit_files(RLIM_INFINITY);
	cc_trace_write(trace, &event);
	CU_ASSERT_EQUAL(complaints, 1);
	cc_trace_close(trace);
	CU_ASSERT_EQUAL_FATAL(stat("trace", &info), 0);
	CU_ASSERT_EQUAL(info.st_size, 20);
}

static void *write_some(void *ctx)
{
	struct cc_event event = { .kind = CC_EVENT_MISS, .reason = "because" };

	for (int i = 0; i < 100; i++)
		cc_trace_write(ctx, &event);
	return NULL;
}

TEST(lines_of_threads_do_not_mix)
{
	struct cc_trace *trace = cc_trace_open("trace", NULL);
	unsigned int lines = 0;
	char *text, *line;

	CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
	unit_run_threads(4, write_some, trace, 0);
	cc_trace_close(trace);
	text = content();
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		lines++;
		CU_ASSERT_EQUAL(strncmp(line, "{\"time_ns\":", 11), 0);
		CU_ASSERT_EQUAL(line[strlen(line) - 1], '}');
	}
	CU_ASSERT_EQUAL(lines, 400);
	free(text);
}
