/* SPDX-License-Identifier: MIT */
/* log_file: what is appended, which files are refused, and what becomes of a full one. */
#include "common/log_file.h"

#include "tests/support/clock.h"
#include "tests/support/unit.h"

static char text[1 << 21];
static uint64_t now_ns;		/* 0: the machine's clock */

uint64_t test_clock(clockid_t id)
{
	return now_ns ? now_ns : machine_clock(id);
}

static const char *content(const char *name)
{
	FILE *file = fopen(unit_path(name), "r");
	size_t len = 0;

	CU_ASSERT_FATAL(file != NULL);
	len = fread(text, 1, sizeof(text) - 1, file);
	text[len] = '\0';
	(void)fclose(file);	/* only read */
	return text;
}

static enum cmn_status append(const char *message, const char **ret_reason)
{
	return cmn_log_file_append(unit_path("log"), "program", message, ret_reason);
}

static void append_well(const char *message)
{
	const char *reason;

	CU_ASSERT_EQUAL(append(message, &reason), CMN_OK);
	CU_ASSERT_PTR_NULL(reason);
}

/* One whole line is "TIME program[PID]: MESSAGE". */
static void expect_line(const char *line, const char *message)
{
	unsigned int parts[7], end = 0;
	long pid = 0;

	CU_ASSERT_EQUAL(sscanf(line, "%4u-%2u-%2uT%2u:%2u:%2u.%3uZ program[%ld]: %n", &parts[0], &parts[1],
			       &parts[2], &parts[3], &parts[4], &parts[5], &parts[6], &pid, &end), 8);
	CU_ASSERT_EQUAL(pid, getpid());
	CU_ASSERT_NSTRING_EQUAL(line + end, message, strlen(message));
	CU_ASSERT_EQUAL(line[end + strlen(message)], '\n');
}

TEST(the_name_of_a_program_is_no_command_for_a_terminal)
{
	const char *reason;

	CU_ASSERT_EQUAL(cmn_log_file_append(unit_path("log"), "a\033[2J\nb", "one\xc2\x9b", &reason), CMN_OK);
	CU_ASSERT_PTR_NOT_NULL(strstr(content("log"), " a?[2J?b["));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "]: one?\n"));
}

TEST(appends_lines_with_time_program_and_process)
{
	struct stat info;

	append_well("one");
	append_well("two");
	CU_ASSERT_EQUAL_FATAL(stat(unit_path("log"), &info), 0);
	CU_ASSERT_EQUAL(info.st_mode & 07777, 0600);
	(void)content("log");
	expect_line(text, "one");
	expect_line(strchr(text, '\n') + 1, "two");
	CU_ASSERT_PTR_NULL(strchr(strchr(strchr(text, '\n') + 1, '\n') + 1, '\n'));
}

/* Of the years 1999 to 2005: the calendar repeats itself from March 2000 on. */
TEST(each_day_has_its_date)
{
	char date[32];

	for (time_t day = 10592; day < 10592 + 7 * 366; day++) {
		const time_t seconds = day * 86400 + 86399;

		now_ns = (uint64_t)seconds * 1000000000 + 7000000;
		append_well("one");
		(void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S.007Z", gmtime(&seconds));
		CU_ASSERT_NSTRING_EQUAL(content("log"), date, strlen(date));
		CU_ASSERT_EQUAL(unlink("log"), 0);
	}
	now_ns = 0;
}

static void expect_refused(const char *why)
{
	const char *reason = NULL;

	CU_ASSERT_NOT_EQUAL(append("no", &reason), CMN_OK);
	CU_ASSERT_PTR_NOT_NULL_FATAL(reason);
	if (why)
		CU_ASSERT_STRING_EQUAL(reason, why);
}

TEST(refuses_links)
{
	unit_write("target", "mine\n");
	CU_ASSERT_EQUAL(symlink("target", unit_path("log")), 0);
	expect_refused("it is a symbolic link");
	CU_ASSERT_STRING_EQUAL(content("target"), "mine\n");
	CU_ASSERT_EQUAL(unlink(unit_path("log")), 0);
	CU_ASSERT_EQUAL(link("target", "log"), 0);
	expect_refused("it has a second name");
	CU_ASSERT_STRING_EQUAL(content("target"), "mine\n");
}

TEST(refuses_what_others_may_write_to_or_read_from)
{
	unit_write("log", "");
	CU_ASSERT_EQUAL(chmod("log", 0622), 0);
	expect_refused("others may write to it");
	CU_ASSERT_EQUAL(unlink("log"), 0);
	CU_ASSERT_EQUAL(mkfifo("log", 0600), 0);
	expect_refused(NULL);	/* there is no reader */
	CU_ASSERT_EQUAL(unlink("log"), 0);
	CU_ASSERT_EQUAL(mkdir("log", 0700), 0);
	expect_refused("it is a directory");
}

TEST(refuses_another_users)
{
	unit_write("log", "");
	if (!unit_is_root())
		return;
	CU_ASSERT_EQUAL_FATAL(chown("log", 54321, (gid_t)-1), 0);
	expect_refused("it belongs to another user");
}

TEST(a_place_that_is_not_there_is_an_error)
{
	const char *reason;

	CU_ASSERT_EQUAL(cmn_log_file_append(unit_path("none/log"), "program", "no", &reason), CMN_MISS);
	CU_ASSERT_PTR_NOT_NULL(reason);
}

static void fill(size_t len)
{
	memset(text, 'x', len);
	text[len] = '\0';
	unit_write("log", text);
	CU_ASSERT_EQUAL(chmod("log", 0600), 0);
}

TEST(a_full_one_is_kept_once)
{
	fill(CMN_LOG_FILE_MAX);
	append_well("first");
	CU_ASSERT_EQUAL(strlen(content("log.old")), CMN_LOG_FILE_MAX);
	expect_line(content("log"), "first");
	fill(CMN_LOG_FILE_MAX - 10);
	append_well("second");
	CU_ASSERT_EQUAL(strlen(content("log.old")), CMN_LOG_FILE_MAX - 10);
	expect_line(content("log"), "second");
}

TEST(a_full_one_that_cannot_be_moved_begins_anew)
{
	CU_ASSERT_EQUAL(mkdir("log.old", 0700), 0);
	unit_write("log.old/theirs", "");
	fill(CMN_LOG_FILE_MAX);
	append_well("first");
	expect_line(content("log"), "first");
}

TEST(a_long_message_is_cut)
{
	char long_one[4096];

	memset(long_one, 'y', sizeof(long_one) - 1);
	long_one[sizeof(long_one) - 1] = '\0';
	append_well(long_one);
	CU_ASSERT_EQUAL(strcspn(content("log"), "\n"), strlen(text) - 1);
	CU_ASSERT(strlen(text) > 1000 && strlen(text) < 1400);
}

/* Every line is whole, and only what was moved away twice is lost. */
TEST(many_processes_rotate_it_together)
{
	enum { PROCESSES = 4, LINES = 2000 };
	char message[700];
	pid_t pids[PROCESSES];
	size_t whole = 0;

	memset(message, 'z', sizeof(message) - 1);
	message[sizeof(message) - 1] = '\0';
	for (int i = 0; i < PROCESSES; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			const char *reason;
			int failed = 0;

			for (int line = 0; line < LINES; line++)
				failed |= append(message, &reason) != CMN_OK;
			_exit(failed);
		}
	}
	for (int i = 0; i < PROCESSES; i++) {
		CU_ASSERT(unit_ended_well(pids[i]));
	}
	for (int old = 0; old < 2; old++) {
		const char *line = content(old ? "log.old" : "log");

		/* Some may find it full while another process is at it. */
		CU_ASSERT(strlen(line) < CMN_LOG_FILE_MAX + PROCESSES * (size_t)64 * 1024);
		for (; *line; line += strcspn(line, "\n") + 1) {
			CU_ASSERT_EQUAL(strcspn(line, "\n") - strcspn(line, "z"), strlen(message));
			whole++;
		}
	}
	CU_ASSERT(whole > CMN_LOG_FILE_MAX / 1024);
}
