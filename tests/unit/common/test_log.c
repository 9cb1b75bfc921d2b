/* SPDX-License-Identifier: MIT */
/* log: levels, sinks, once, and what goes to stderr. */
#include "common/log.h"

#include "tests/support/unit.h"

struct record {
	unsigned int count;
	enum cmn_log_level level;
	char message[2048];
};

static void keep(void *ctx, enum cmn_log_level level, const char *message)
{
	struct record *record = ctx;

	record->count++;
	record->level = level;
	(void)snprintf(record->message, sizeof(record->message), "%s", message);
}

TEST(drops_what_is_above_its_level)
{
	struct record record = { 0 };
	struct cmn_log log = { CMN_LOG_WARNING, keep, &record };

	cmn_log_write(&log, CMN_LOG_INFO, "no");
	CU_ASSERT_EQUAL(record.count, 0);
	cmn_log_write(&log, CMN_LOG_WARNING, "yes %d", 7);
	CU_ASSERT_EQUAL(record.count, 1);
	CU_ASSERT_EQUAL(record.level, CMN_LOG_WARNING);
	CU_ASSERT_STRING_EQUAL(record.message, "yes 7");
	cmn_log_write(&log, CMN_LOG_ERROR, "also");
	CU_ASSERT_EQUAL(record.count, 2);
	CU_ASSERT_EQUAL(record.level, CMN_LOG_ERROR);
}

TEST(a_message_is_one_line_and_no_command)
{
	struct record record = { 0 };
	struct cmn_log log = { CMN_LOG_ERROR, keep, &record };

	cmn_log_write(&log, CMN_LOG_ERROR, "%s", "a\nb\033[2J\xc2\x9b\xe2\x80\xae\xff \xc3\xa4");
	CU_ASSERT_STRING_EQUAL(record.message, "a?b?[2J??? \xc3\xa4");
}

TEST(swallows_all_without_a_log)
{
	atomic_flag once = ATOMIC_FLAG_INIT;

	cmn_log_write(NULL, CMN_LOG_ERROR, "nowhere");
	cmn_log_once(NULL, &once, CMN_LOG_ERROR, "nowhere");
	CU_PASS("did not crash");
}

TEST(says_once_what_repeats)
{
	struct record record = { 0 };
	struct cmn_log log = { CMN_LOG_ERROR, keep, &record };
	atomic_flag once = ATOMIC_FLAG_INIT;

	for (int i = 0; i < 3; i++)
		cmn_log_once(&log, &once, CMN_LOG_ERROR, "number %d", i);
	CU_ASSERT_EQUAL(record.count, 1);
	CU_ASSERT_STRING_EQUAL(record.message, "number 0");
}

TEST(cuts_a_long_message)
{
	struct record record = { 0 };
	struct cmn_log log = { CMN_LOG_ERROR, keep, &record };
	char text[4000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	cmn_log_write(&log, CMN_LOG_ERROR, "%s", text);
	CU_ASSERT_EQUAL(strlen(record.message), 1023);
}

TEST(writes_prefixed_lines_to_stderr)
{
	struct cmn_log log = { .level = CMN_LOG_ERROR };
	char text[64] = { 0 };
	int saved = dup(STDERR_FILENO);
	int file = open("stderr", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	CU_ASSERT_TRUE_FATAL(saved >= 0 && file >= 0);
	CU_ASSERT_TRUE_FATAL(dup2(file, STDERR_FILENO) >= 0);
	cmn_log_write(&log, CMN_LOG_ERROR, "hello");
	CU_ASSERT_TRUE_FATAL(dup2(saved, STDERR_FILENO) >= 0);
	CU_ASSERT_TRUE(pread(file, text, sizeof(text) - 1, 0) > 0);
	CU_ASSERT_STRING_EQUAL(text, "ckcache: hello\n");
	(void)close(file);
	(void)close(saved);
}

TEST(a_long_line_has_its_end)
{
	struct cmn_log log = { .level = CMN_LOG_ERROR };
	int saved = dup(STDERR_FILENO);
	int file = open("stderr", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	char text[4000], line[2000];
	ssize_t len;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	CU_ASSERT_TRUE_FATAL(saved >= 0 && file >= 0);
	CU_ASSERT_TRUE_FATAL(dup2(file, STDERR_FILENO) >= 0);
	cmn_log_write(&log, CMN_LOG_ERROR, "%s", text);
	CU_ASSERT_TRUE_FATAL(dup2(saved, STDERR_FILENO) >= 0);
	len = pread(file, line, sizeof(line), 0);
	CU_ASSERT_EQUAL_FATAL(len, (ssize_t)strlen("ckcache: ") + 1023 + 1);
	CU_ASSERT_EQUAL(line[len - 1], '\n');
	(void)close(file);
	(void)close(saved);
}

TEST(a_message_to_nobody_does_not_end_the_program)
{
	struct cmn_log log = { .level = CMN_LOG_ERROR };
	int saved = dup(STDERR_FILENO), ends[2];

	CU_ASSERT_TRUE_FATAL(saved >= 0 && pipe(ends) == 0);
	(void)close(ends[0]);
	CU_ASSERT_TRUE_FATAL(dup2(ends[1], STDERR_FILENO) >= 0);
	cmn_log_write(&log, CMN_LOG_ERROR, "hello");
	CU_ASSERT_TRUE_FATAL(dup2(saved, STDERR_FILENO) >= 0);
	(void)close(ends[1]);
	(void)close(saved);
}
