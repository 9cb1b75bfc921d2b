/* SPDX-License-Identifier: MIT */
/* write: files that may not grow and pipes that nobody reads fail, and end nobody. */
#include <sys/resource.h>

#include "common/file.h"
#include "tests/support/unit.h"

static bool is_waiting(int number)
{
	sigset_t waiting;

	return sigpending(&waiting) == 0 && sigismember(&waiting, number);
}

/* Exit code 0: both calls failed as they should, and the signal went nowhere. */
static int write_too_much(void)
{
	const struct rlimit small = { 4, 4 };
	int fd = open("file", O_WRONLY | O_CREAT, 0600);

	if (fd < 0 || setrlimit(RLIMIT_FSIZE, &small))
		return 1;
	if (cmn_file_write(fd, "123456", 6) != 4)
		return 2;
	if (cmn_file_write(fd, "56", 2) != -1 || errno != EFBIG)
		return 3;
	if (cmn_file_write_at(fd, "56", 2, 10) != -1 || errno != EFBIG)
		return 4;
	return is_waiting(SIGXFSZ) ? 5 : 0;
}

static int write_to_nobody(void)
{
	int ends[2];

	if (pipe(ends) || close(ends[0]))
		return 1;
	if (cmn_file_write(ends[1], "1", 1) != -1 || errno != EPIPE)
		return 2;
	return is_waiting(SIGPIPE) ? 3 : 0;
}

/* The application has blocked the signal and one is waiting already: it is the application's. */
static int write_beside_a_waiting_signal(void)
{
	sigset_t one;
	int ends[2];

	(void)sigemptyset(&one);
	(void)sigaddset(&one, SIGPIPE);
	if (pipe(ends) || close(ends[0]) || pthread_sigmask(SIG_BLOCK, &one, NULL))
		return 1;
	if (cmn_file_write(ends[1], "1", 1) != -1 || is_waiting(SIGPIPE))
		return 2;
	if (raise(SIGPIPE) || cmn_file_write(ends[1], "1", 1) != -1)
		return 3;
	return is_waiting(SIGPIPE) ? 0 : 4;
}

static void expect(int (*in_child)(void))
{
	pid_t child = fork();

	if (child == 0)
		_exit(in_child());
	CU_ASSERT(unit_ended_well(child));
}

TEST(a_file_that_may_not_grow_is_an_error)
{
	expect(write_too_much);
}

TEST(a_pipe_that_nobody_reads_is_an_error)
{
	expect(write_to_nobody);
}

TEST(a_signal_that_waited_before_stays)
{
	expect(write_beside_a_waiting_signal);
}
