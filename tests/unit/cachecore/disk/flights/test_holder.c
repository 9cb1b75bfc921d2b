/* SPDX-License-Identifier: MIT */
/* holder: what a process looks like that holds a lock, by a /proc of the test's own. */
#include "cachecore/disk/flights/holder.h"

#include <inttypes.h>

#include "common/descriptor.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

#define START 77
#define TICKS 12	/* in both modes */

static struct {
	const char *stat;	/* of any process; NULL: the true one; "": it cannot be read */
	int signal_error;	/* of a signal to anybody */
	const char *number;	/* of this process, in the namespace of /proc; NULL: the true one */
} proc;

WRAPPED(ssize_t, read, (int fd, void *data, size_t len))
{
	size_t there;

	if (!proc.stat)
		return __real_read(fd, data, len);
	there = strlen(proc.stat);
	CU_ASSERT_FATAL(there < len);
	memcpy(data, proc.stat, there);
	return (ssize_t)there;
}

/* Of this process's own file: any other need not be there. */
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, mode_t mode)
{
	return proc.stat && strncmp(path, "/proc/", 6) == 0 ? __real_open("/dev/null", O_RDONLY | O_CLOEXEC)
							    : __real_open(path, flags, mode);
}

WRAPPED(int, kill, (pid_t pid, int signal))
{
	(void)pid;
	CU_ASSERT_EQUAL(signal, 0);
	errno = proc.signal_error;
	return proc.signal_error ? -1 : 0;
}

WRAPPED(ssize_t, readlink, (const char *path, char *data, size_t size))
{
	if (!proc.number || strcmp(path, "/proc/self") != 0)
		return __real_readlink(path, data, size);
	memcpy(data, proc.number, strlen(proc.number));
	return (ssize_t)strlen(proc.number);
}

AFTER_EACH
{
	memset(&proc, 0, sizeof(proc));
}

static char text[512];

/* A stat of proc(5) with 22 fields. */
static const char *stat_of(const char *name, char state, unsigned int threads, unsigned int start)
{
	(void)snprintf(text, sizeof(text), "4242 (%s) %c 1 2 3 4 -1 6 7 8 9 10 5 7 -1 0 20 0 %u 0 %u 99\n",
		       name, state, threads, start);
	return text;
}

/* The state of who signed a file, as such a process. */
static enum cc_holder_state look(const char *stat_text, struct cc_holder *ret)
{
	const struct cc_holder self = { .pid = 1, .start = 2, .space = 3 };
	enum cc_holder_state state;
	int fd;

	unit_write("lock", "4242 77 3 5\n");
	fd = open("lock", O_RDWR | O_CLOEXEC);
	CU_ASSERT_FATAL(fd >= 0);
	proc.stat = stat_text;
	state = cc_holder_look(fd, &self, ret);
	proc.stat = NULL;
	(void)close(fd);
	return state;
}

TEST(a_process_is_known_by_its_start)
{
	struct cc_holder holder;

	CU_ASSERT_EQUAL(look(stat_of("name", 'S', 1, START), &holder), CC_HOLDER_UNKNOWN);
	CU_ASSERT_EQUAL(holder.pid, 4242);
	CU_ASSERT_EQUAL(holder.beat, 5);
	CU_ASSERT_EQUAL(holder.ticks, TICKS);
	/* Another one that has its number. */
	CU_ASSERT_EQUAL(look(stat_of("name", 'S', 1, START + 1), &holder), CC_HOLDER_GONE);
}

TEST(a_name_may_have_brackets)
{
	struct cc_holder holder;

	proc.signal_error = ESRCH;
	CU_ASSERT_EQUAL(look(stat_of("a) T 1 (b", 'S', 1, START), &holder), CC_HOLDER_UNKNOWN);
	CU_ASSERT_EQUAL(holder.ticks, TICKS);
}

TEST(states_tell_who_works_and_who_does_not)
{
	static const struct {
		char state;
		unsigned int threads;
		enum cc_holder_state expected;
	} cases[] = {
		{ 'R', 1, CC_HOLDER_UNKNOWN }, { 'D', 1, CC_HOLDER_UNKNOWN },
		{ 'T', 1, CC_HOLDER_STOPPED }, { 't', 1, CC_HOLDER_STOPPED },
		{ 'X', 1, CC_HOLDER_GONE },    { 'x', 1, CC_HOLDER_GONE },
		{ 'Z', 1, CC_HOLDER_GONE },    { 'Z', 3, CC_HOLDER_UNKNOWN },
	};
	struct cc_holder holder;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CU_ASSERT_EQUAL(look(stat_of("name", cases[i].state, cases[i].threads, START), &holder),
				cases[i].expected);
}

TEST(who_is_hidden_is_not_gone)
{
	struct cc_holder holder;

	proc.signal_error = EPERM;
	CU_ASSERT_EQUAL(look("", &holder), CC_HOLDER_UNKNOWN);
	proc.signal_error = ESRCH;
	CU_ASSERT_EQUAL(look("", &holder), CC_HOLDER_GONE);
}

TEST(a_proc_of_another_namespace_tells_nothing)
{
	CU_ASSERT_EQUAL(cc_holder_self().pid, (uint64_t)getpid());
	proc.number = "1";
	CU_ASSERT_EQUAL(cc_holder_self().pid, 0);
	CU_ASSERT_EQUAL(cc_holder_self().start, 0);
}

TEST(the_applications_file_is_not_signed)
{
	const struct cc_holder self = { .pid = 1, .start = 2, .space = 3 };
	struct stat info;
	int ours, theirs;

	unit_write("ours", "");
	ours = cmn_descriptor_open(AT_FDCWD, "ours", O_RDWR);
	theirs = open("theirs", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CU_ASSERT_FATAL(ours >= 0 && theirs >= 0);
	cc_holder_note(ours, &self);
	CU_ASSERT_EQUAL(fstat(ours, &info), 0);
	CU_ASSERT_EQUAL(info.st_size, (off_t)strlen("1 2 3 0\n"));
	CU_ASSERT_EQUAL(dup2(theirs, ours), ours);
	cc_holder_note(ours, &self);
	CU_ASSERT_EQUAL(fstat(theirs, &info), 0);
	CU_ASSERT_EQUAL(info.st_size, 0);
	(void)cmn_descriptor_close(ours);
	(void)close(ours);
	(void)close(theirs);
}

TEST(a_thread_runs_or_waits)
{
	CU_ASSERT(cc_holder_thread_runs(gettid()));
	proc.stat = stat_of("name", 'R', 1, START);
	CU_ASSERT(cc_holder_thread_runs(1));
	proc.stat = stat_of("name", 'D', 1, START);
	CU_ASSERT_FALSE(cc_holder_thread_runs(1));
	proc.stat = stat_of("name", 'S', 1, START);
	CU_ASSERT_FALSE(cc_holder_thread_runs(1));
	proc.stat = "";
	CU_ASSERT_FALSE(cc_holder_thread_runs(1));
}
