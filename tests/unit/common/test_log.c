/* SPDX-License-Identifier: MIT */
/* log: levels, sinks, once, and what goes to stderr. */
#include "common/log.h"

#include <locale.h>
#include <sys/socket.h>
#include <sys/prctl.h>

#include "common/bytes.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

static bool is_anothers;	/* the pipe, which may then not be opened again */
static bool is_filtered;	/* the program's system calls */

WRAPPED(int, open, (const char *path, int flags, ...))
{
	errno = EACCES;
	return is_anothers && strncmp(path, "/proc/", 6) == 0 ? -1 : __real_open(path, flags, 0600);
}

int __real_prctl(int option, ...);
int __wrap_prctl(int option, ...);

int __wrap_prctl(int option, ...)
{
	CU_ASSERT_EQUAL(option, PR_GET_SECCOMP);
	return is_filtered ? 2 : __real_prctl(option);
}

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

/* With the file as stderr: as the program began with it, or since later. */
static void say_to(int fd, bool from_the_beginning, const char *text)
{
	const struct cmn_log log = { .level = CMN_LOG_ERROR };
	int saved = dup(STDERR_FILENO);

	CU_ASSERT_TRUE_FATAL(saved >= 0 && dup2(fd, STDERR_FILENO) >= 0);
	if (from_the_beginning)
		cmn_log_take_stderr();
	cmn_log_write(&log, CMN_LOG_ERROR, "%s", text);
	CU_ASSERT_TRUE_FATAL(dup2(saved, STDERR_FILENO) >= 0);
	cmn_log_take_stderr();
	(void)close(saved);
}

/* What is in a file that was opened so. */
static ssize_t said_to(int flags, bool from_the_beginning, const char *text, char *ret, size_t size)
{
	int fd = open("stderr", flags | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), reader;
	ssize_t len;

	CU_ASSERT_TRUE_FATAL(fd >= 0);
	say_to(fd, from_the_beginning, text);
	(void)close(fd);
	reader = open("stderr", O_RDONLY | O_CLOEXEC);
	len = read(reader, ret, size);
	(void)close(reader);
	return len;
}

TEST(writes_prefixed_lines_to_stderr)
{
	char text[64] = { 0 };

	CU_ASSERT_TRUE(said_to(O_WRONLY, true, "hello", text, sizeof(text) - 1) > 0);
	CU_ASSERT_STRING_EQUAL(text, "ckcache: hello\n");
}

/* The application closed stderr, and a file of its own got the number; before the library was loaded, or later. */
TEST(writes_to_no_file_of_the_applications)
{
	char text[64];
	int saved = dup(STDERR_FILENO);
	const struct cmn_log log = { .level = CMN_LOG_ERROR };

	CU_ASSERT_EQUAL(said_to(O_WRONLY, false, "hello", text, sizeof(text)), 0);
	CU_ASSERT_EQUAL(said_to(O_RDWR, false, "hello", text, sizeof(text)), 0);
	CU_ASSERT_EQUAL(said_to(O_RDWR, true, "hello", text, sizeof(text)), 0);
	CU_ASSERT_TRUE_FATAL(saved >= 0 && close(STDERR_FILENO) == 0);
	cmn_log_take_stderr();
	cmn_log_write(&log, CMN_LOG_ERROR, "hello");
	CU_ASSERT_TRUE_FATAL(dup2(saved, STDERR_FILENO) >= 0);
	cmn_log_take_stderr();
	(void)close(saved);
}

TEST(a_long_line_has_its_end)
{
	char text[4000], line[2000];
	ssize_t len;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	len = said_to(O_WRONLY, true, text, line, sizeof(line));
	CU_ASSERT_EQUAL_FATAL(len, (ssize_t)strlen("ckcache: ") + 1023 + 1);
	CU_ASSERT_EQUAL(line[len - 1], '\n');
}

TEST(a_message_to_nobody_does_not_end_the_program)
{
	int ends[2];

	CU_ASSERT_TRUE_FATAL(pipe(ends) == 0);
	(void)close(ends[0]);
	say_to(ends[1], true, "hello");
	(void)close(ends[1]);
}

/* Fills it, and nobody reads; the open file stays one that blocks. */
static void does_not_wait(int fd, int reader)
{
	static char block[4096];
	char text[64] = { 0 };
	int flags = fcntl(fd, F_GETFL);

	(void)alarm(20);	/* a test that hangs is killed, and fails */
	say_to(fd, true, "hello");
	/* Old kernels can write to another's pipe in no such way. */
	if (!is_anothers) {
		CU_ASSERT_TRUE(read(reader, text, sizeof(text) - 1) > 0);
		CU_ASSERT_STRING_EQUAL(text, "ckcache: hello\n");
	}
	CU_ASSERT_EQUAL_FATAL(fcntl(fd, F_SETFL, flags | O_NONBLOCK), 0);
	while (write(fd, block, sizeof(block)) > 0)
		continue;
	CU_ASSERT_EQUAL(errno, EAGAIN);
	CU_ASSERT_EQUAL_FATAL(fcntl(fd, F_SETFL, flags), 0);
	say_to(fd, true, "lost");
	CU_ASSERT_EQUAL(fcntl(fd, F_GETFL), flags);
	(void)alarm(0);
	(void)close(fd);
	(void)close(reader);
}

static void waits_for_no_reader(void)
{
	int ends[2];

	CU_ASSERT_TRUE_FATAL(pipe(ends) == 0);
	does_not_wait(ends[1], ends[0]);
	CU_ASSERT_TRUE_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	does_not_wait(ends[1], ends[0]);
	CU_ASSERT_TRUE_FATAL(mkfifo("fifo", 0600) == 0);
	ends[0] = open("fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ends[1] = open("fifo", O_WRONLY | O_CLOEXEC);
	CU_ASSERT_TRUE_FATAL(ends[0] >= 0 && ends[1] >= 0);
	does_not_wait(ends[1], ends[0]);
	CU_ASSERT_EQUAL(unlink("fifo"), 0);
}

TEST(a_full_stderr_is_not_waited_for) { waits_for_no_reader(); }

TEST(nor_another_users)
{
	is_anothers = true;
	waits_for_no_reader();
	is_anothers = false;
}

TEST(nor_under_a_filter_of_system_calls)
{
	is_filtered = true;
	waits_for_no_reader();
	is_filtered = false;
}

/* A leak checker's, where one is linked: newlocale forgets what it made of LOCPATH. */
__attribute__((weak, visibility("default"))) void __lsan_disable(void), __lsan_enable(void);

TEST(numbers_are_written_as_in_c)
{
	static const char *const names[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "comma" };
	struct record record = { 0 };
	struct cmn_log log = { CMN_LOG_ERROR, keep, &record };
	struct cmn_buffer text = { 0 };
	locale_t locale = 0, before;
	FILE *source = fopen("comma.src", "w");
	char path[4096];

	/* Whether the machine has one with a comma or not. */
	CU_ASSERT_PTR_NOT_NULL_FATAL(source);
	(void)fputs("LC_NUMERIC\ndecimal_point \"<U002C>\"\nthousands_sep \"\"\ngrouping -1\nEND LC_NUMERIC\n", source);
	CU_ASSERT_EQUAL(fclose(source), 0);
	(void)!system("localedef -c -i ./comma.src -f UTF-8 ./comma >/dev/null 2>&1");
	CU_ASSERT_PTR_NOT_NULL_FATAL(getcwd(path, sizeof(path)));
	CU_ASSERT_EQUAL(setenv("LOCPATH", path, 1), 0);
	if (__lsan_disable)
		__lsan_disable();
	for (size_t i = 0; i < 4 && !locale; i++)
		locale = newlocale(LC_NUMERIC_MASK, names[i], (locale_t)0);
	if (__lsan_enable)
		__lsan_enable();
	CU_ASSERT_EQUAL(unsetenv("LOCPATH"), 0);
	if (!locale) {
		(void)fprintf(stderr, "  not tried: no locale with a comma\n");
		return;
	}
	before = uselocale(locale);
	(void)snprintf(path, sizeof(path), "%.1f", 0.5);
	cmn_log_write(&log, CMN_LOG_ERROR, "%.1f ms", 0.5);
	cmn_buffer_printf(&text, "%.1f ms%c", 0.5, '\0');
	CU_ASSERT_EQUAL(uselocale(before), locale);
	CU_ASSERT_STRING_EQUAL(path, "0,5");
	CU_ASSERT_STRING_EQUAL(record.message, "0.5 ms");
	CU_ASSERT_STRING_EQUAL((const char *)text.data, "0.5 ms");
	cmn_buffer_release(&text);
	freelocale(locale);
}
