/* SPDX-License-Identifier: MIT */
/* background: when a process is started that builds recipes, and with what. */
#include "cachecore/disk/writer/background.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "cachecore/disk/writer/recipes.h"
#include "cachecore/remote/launch.h"
#include "common/file.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

/* Instead of starting anything. */
static struct {
	unsigned int count;
	int kept_fd;
	char root[200];
	enum cmn_status answer;
} launched;
static bool privileged;
/* Of process 1, and of this one; NULL: the system's. */
static const char *first_status, *own_status;
static bool is_first;		/* process 1 runs this program */
static struct cc_background background;
static struct cc_config config;

WRAPPED(enum cmn_status, cc_launch, (char *const *directories, char *const *environment,
	const char *const *arguments, int keep_fd))
{
	CU_ASSERT_PTR_NULL(directories);
	CU_ASSERT_PTR_NOT_NULL(environment);
	CU_ASSERT_STRING_EQUAL(arguments[0], "replay");
	(void)snprintf(launched.root, sizeof(launched.root), "%s", arguments[1]);
	CU_ASSERT_PTR_NULL(arguments[2]);
	launched.count++;
	launched.kept_fd = dup(keep_fd);	/* as the program has it */
	return launched.answer;
}

WRAPPED(unsigned long, getauxval, (unsigned long what))
{
	return what == AT_SECURE ? privileged : __real_getauxval(what);
}

WRAPPED(enum cmn_status, cmn_file_read_shown, (const char *path, size_t max_len, struct cmn_buffer *ret))
{
	const char *status = strcmp(path, "/proc/1/status") == 0 ? first_status :
			     strcmp(path, "/proc/thread-self/status") == 0 ? own_status : NULL;

	if (!status)
		return __real_cmn_file_read_shown(path, max_len, ret);
	cmn_buffer_append_text(ret, status);
	return CMN_OK;
}

/* Another user's process 1 cannot be looked at. */
WRAPPED(int, stat, (const char *path, struct stat *ret))
{
	return __real_stat(strcmp(path, "/proc/1/exe") ? path : is_first ? "/proc/self/exe" : "/bin/sh", ret);
}

static char root[200];

BEFORE_EACH
{
	int fd = -1;

	memset(&launched, 0, sizeof(launched));
	launched.kept_fd = -1;
	privileged = false;
	first_status = own_status = NULL;
	background = (struct cc_background){ 0 };
	config = (struct cc_config){ .replay = true };
	(void)snprintf(root, sizeof(root), "%s/root", unit_dir());
	CU_ASSERT_EQUAL_FATAL(cc_recipes_make(root, &fd), CMN_OK);
	CU_ASSERT_EQUAL(close(fd), 0);
}

AFTER_EACH
{
	if (launched.kept_fd >= 0)
		(void)close(launched.kept_fd);
}

static enum cmn_status take_lock(void)
{
	enum cmn_status status;
	int fd = -1, lock = -1;

	CU_ASSERT_EQUAL_FATAL(cc_recipes_open(root, &fd), CMN_OK);
	status = cc_recipes_lock_background(fd, &lock);
	if (status == CMN_OK)
		cc_root_unlock(lock);
	CU_ASSERT_EQUAL(close(fd), 0);
	return status;
}

TEST(the_program_that_is_started_has_the_lock_and_nobody_else_starts_one)
{
	struct cc_background other = { 0 };
	int fd = -1;

	cc_background_start(&background, &config, root);
	CU_ASSERT_EQUAL(launched.count, 1);
	CU_ASSERT_STRING_EQUAL(launched.root, root);
	CU_ASSERT_EQUAL_FATAL(cc_recipes_open(root, &fd), CMN_OK);
	CU_ASSERT_TRUE(cc_recipes_is_background_lock(fd, launched.kept_fd));
	CU_ASSERT_FALSE(cc_recipes_is_background_lock(fd, fd));
	CU_ASSERT_EQUAL(close(fd), 0);
	CU_ASSERT_EQUAL(take_lock(), CMN_BUSY);
	cc_background_start(&other, &config, root);
	CU_ASSERT_EQUAL(launched.count, 1);
	/* It ends. */
	CU_ASSERT_EQUAL(close(launched.kept_fd), 0);
	launched.kept_fd = -1;
	CU_ASSERT_EQUAL(take_lock(), CMN_OK);
}

TEST(a_process_tries_once_in_a_while)
{
	launched.answer = CMN_MISS;
	for (int i = 0; i < 5; i++) {
		cc_background_start(&background, &config, root);
		CU_ASSERT_EQUAL(launched.count, 1);
		(void)close(launched.kept_fd);	/* of the first time */
		launched.kept_fd = -1;
	}
	CU_ASSERT_EQUAL(take_lock(), CMN_OK);
	background.started -= UINT64_C(1000000000) * CC_BACKGROUND_LINGER_S;
	cc_background_start(&background, &config, root);
	CU_ASSERT_EQUAL(launched.count, 2);
}

TEST(where_it_is_off_nothing_is_started_or_locked)
{
	config.replay = false;
	cc_background_start(&background, &config, root);
	config.replay = true;
	config.built_for = (char[]){ "program" };
	cc_background_start(&background, &config, root);
	config.built_for = NULL;
	privileged = true;
	cc_background_start(&background, &config, root);
	CU_ASSERT_EQUAL(launched.count, 0);
	CU_ASSERT_EQUAL(access("root/recipes/background.lock", F_OK), -1);
	privileged = false;
	cc_background_start(&background, &config, root);
	CU_ASSERT_EQUAL(launched.count, 1);
}

TEST(without_recipes_nothing_is_started)
{
	cc_background_start(&background, &config, "/nonexistent");
	CU_ASSERT_EQUAL(launched.count, 0);
}

/* 0: nothing was started; 1: something was; 77: this process may set no filter. child: a child of that one tries it. */
static int in_sandbox(bool child)
{
	struct sock_filter all[] = { { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW } };
	const struct sock_fprog program = { 1, all };
	int state = -1;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return 77;
	if (!child || fork() == 0) {
		cc_background_start(&background, &config, root);
		_exit((int)launched.count);
	}
	while (wait(&state) < 0 && errno == EINTR)
		continue;
	return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

static void starts_in_sandbox(bool child, int expected)
{
	int state = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(in_sandbox(child));
	CU_ASSERT_FATAL(pid > 0);
	while (waitpid(pid, &state, 0) < 0 && errno == EINTR)
		continue;
	CU_ASSERT(WIFEXITED(state));
	CU_ASSERT(WEXITSTATUS(state) == expected || WEXITSTATUS(state) == 77);
}

TEST(a_program_that_forbids_itself_or_its_workers_calls_starts_nothing)
{
	first_status = "Name:\tinit\nSeccomp:\t0\nSeccomp_filters:\t0\n";
	starts_in_sandbox(false, 0);
	starts_in_sandbox(true, 0);
}

#define FILTERED(mode, filters) "Name:\tx\nSeccomp:\t" #mode "\nSeccomp_filters:\t" #filters "\n"

TEST(only_filters_that_process_1_has_too_are_believed)
{
	static const struct {
		const char *own, *first;
		bool is_first, starts;
	} rows[] = {
		{ FILTERED(2, 1), FILTERED(2, 1), false, true }, { FILTERED(2, 3), FILTERED(2, 3), false, true },
		{ FILTERED(2, 1), FILTERED(2, 1), true, false },
		/* Another mode, others beside it, and a kernel before 5.9. */
		{ FILTERED(2, 1), FILTERED(0, 0), false, false }, { FILTERED(2, 1), FILTERED(1, 1), false, false },
		{ FILTERED(2, 2), FILTERED(2, 1), false, false }, { FILTERED(2, 1), "Name:\tx\n", false, false },
		{ "Name:\tx\nSeccomp:\t2\n", "Name:\tx\nSeccomp:\t2\n", false, false },
		{ "Name:\tx\nSeccomp:\t0\n", "Name:\tx\nSeccomp:\t0\n", false, true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cc_background another = { 0 };

		launched.count = 0;
		own_status = rows[i].own;
		first_status = rows[i].first;
		is_first = rows[i].is_first;
		cc_background_start(&another, &config, root);
		CU_ASSERT_EQUAL(launched.count, rows[i].starts);
		if (rows[i].starts)
			CU_ASSERT_EQUAL(close(launched.kept_fd), 0);
		launched.kept_fd = -1;
	}
	is_first = false;
}

TEST(where_the_user_may_have_few_processes_nothing_is_started)
{
	struct rlimit before, few;

	CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_NPROC, &before), 0);
	few = before;
	few.rlim_cur = 500;
	CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_NPROC, &few), 0);
	cc_background_start(&background, &config, root);
	CU_ASSERT_EQUAL(setrlimit(RLIMIT_NPROC, &before), 0);
	CU_ASSERT_EQUAL(launched.count, 0);
}
