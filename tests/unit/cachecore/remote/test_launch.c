/* SPDX-License-Identifier: MIT */
/* launch: where the program is looked for, and what it is told. */
#include "cachecore/remote/launch.h"

#include "common/bytes.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

#define MOST_TRIES 8

/* Instead of starting anything: what was to be started, and what each try ends with. */
static struct {
	char path[600];
	char *const *argv, *const *envp;
	size_t count;
	int keep_fd;
} tries[MOST_TRIES];
static size_t try_count;
static enum cmn_status answers[MOST_TRIES];

WRAPPED(enum cmn_status, cmn_spawn_detached, (const char *path, char *const argv[], char *const envp[], int keep_fd))
{
	size_t i = try_count++, count = 0;

	CU_ASSERT_FATAL(i < MOST_TRIES);
	while (argv[count])
		count++;
	(void)snprintf(tries[i].path, sizeof(tries[i].path), "%s", path);
	tries[i].argv = argv;
	tries[i].envp = envp;
	tries[i].count = count;
	tries[i].keep_fd = keep_fd;
	if (i == 0) {
		CU_ASSERT_STRING_EQUAL(argv[0], CC_LAUNCH_PROGRAM);
		for (size_t j = 1; j < count; j++)
			CU_ASSERT_EQUAL(argv[j][0], (char)('0' + j));
	}
	return answers[i];
}

/* This thread's next copies of text, after so many. */
static unsigned int copies_left;
WRAPPED(char *, strdup, (const char *text))
{
	if (copies_left && !--copies_left)
		return NULL;
	return __real_strdup(text);
}

static bool has_no_array;
WRAPPED(void *, calloc, (size_t count, size_t size))
{
	return has_no_array ? NULL : __real_calloc(count, size);
}

static char **process_environment;

BEFORE_EACH
{
	process_environment = environ;
	try_count = 0;
	memset(answers, 0, sizeof(answers));
}

AFTER_EACH
{
	environ = process_environment;
	copies_left = 0;
	has_no_array = false;
}

static char *const no_environment[] = { NULL };

static enum cmn_status launch(char *const *directories)
{
	static const char *const arguments[] = { "1", "2", NULL };

	return cc_launch(directories, no_environment, arguments, 17);
}

TEST(the_settings_directories_come_first)
{
	char *const directories[] = { (char[]){ "/one" }, (char[]){ "/two/" }, NULL };
	char installed[600];

	answers[0] = answers[1] = CMN_MISS;
	CU_ASSERT_EQUAL(launch(directories), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(try_count, 3);
	CU_ASSERT_STRING_EQUAL(tries[0].path, "/one/ckcache-remote");
	CU_ASSERT_STRING_EQUAL(tries[1].path, "/two//ckcache-remote");
	(void)snprintf(installed, sizeof(installed), "%s/ckcache-remote", cc_launch_directory);
	CU_ASSERT_STRING_EQUAL(tries[2].path, installed);
	CU_ASSERT_EQUAL(cc_launch_directory[0], '/');
	for (size_t i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(tries[i].count, 3);
		CU_ASSERT_EQUAL(tries[i].keep_fd, 17);
		CU_ASSERT_PTR_EQUAL(tries[i].envp, no_environment);
	}
}

TEST(the_first_that_is_there_is_run)
{
	char *const directories[] = { (char[]){ "/one" }, (char[]){ "/two" }, NULL };

	CU_ASSERT_EQUAL(launch(directories), CMN_OK);
	CU_ASSERT_EQUAL(try_count, 1);
	try_count = 0;
	answers[0] = CMN_MISS;
	CU_ASSERT_EQUAL(launch(directories), CMN_OK);
	CU_ASSERT_EQUAL(try_count, 2);
	/* One that cannot be run is not passed over. */
	try_count = 0;
	answers[0] = CMN_ERR_ACCESS;
	CU_ASSERT_EQUAL(launch(directories), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(try_count, 1);
}

/* The program, its directory and the one above, as others might change them; a link to it. */
TEST(what_others_could_change_is_not_run)
{
	static const struct {
		const char *path;
		mode_t mode;
		uid_t owner;
	} rows[] = {
		{ "way/bin/ckcache-remote", 0757, 0 }, { "way/bin/ckcache-remote", 0755, 12345 },
		{ "way/bin", 0775, 0 }, { "way/bin", 0755, 12345 }, { "way", 0777, 0 }, { "way", 0755, 12345 },
	};
	char *const directories[] = { unit_path("way/bin"), NULL };

	unit_write("way/bin/ckcache-remote", "");
	CU_ASSERT_EQUAL(chmod("way/bin/ckcache-remote", 0755), 0);
	CU_ASSERT_EQUAL(launch(directories), CMN_OK);
	CU_ASSERT_EQUAL(try_count, 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].owner && geteuid() != 0)
			continue;
		CU_ASSERT_EQUAL(chmod(rows[i].path, rows[i].mode), 0);
		CU_ASSERT(!rows[i].owner || chown(rows[i].path, rows[i].owner, (gid_t)-1) == 0);
		CU_ASSERT_EQUAL(launch(directories), CMN_ERR_CORRUPT);
		CU_ASSERT(!rows[i].owner || chown(rows[i].path, geteuid(), (gid_t)-1) == 0);
		CU_ASSERT_EQUAL(chmod(rows[i].path, 0755), 0);
	}
	CU_ASSERT(rename("way", "kept") == 0 && symlink("kept", "way") == 0);
	CU_ASSERT_EQUAL(launch(directories), CMN_OK);
	if (geteuid() == 0) {
		CU_ASSERT_EQUAL(lchown("way", 12345, 12345), 0);
		CU_ASSERT_EQUAL(launch(directories), CMN_ERR_CORRUPT);
	}
	CU_ASSERT_EQUAL(try_count, 2);
}

TEST(nowhere_is_a_miss)
{
	char *const directories[] = { (char[]){ "/one" }, NULL }, *const none[] = { NULL };

	for (size_t i = 0; i < MOST_TRIES; i++)
		answers[i] = CMN_MISS;
	CU_ASSERT_EQUAL(launch(directories), CMN_MISS);
	CU_ASSERT_EQUAL(try_count, 2);
	CU_ASSERT_EQUAL(launch(NULL), CMN_MISS);
	CU_ASSERT_EQUAL(launch(none), CMN_MISS);
	CU_ASSERT_EQUAL(try_count, 4);
	answers[4] = CMN_ERR_NOMEM;
	CU_ASSERT_EQUAL(launch(NULL), CMN_ERR_NOMEM);
}

TEST(a_directory_too_long_for_a_path_is_passed_over)
{
	static char longest[5000];
	char *const directories[] = { longest, NULL };

	memset(longest, 'x', sizeof(longest) - 1);
	longest[0] = '/';
	CU_ASSERT_EQUAL(launch(directories), CMN_OK);
	CU_ASSERT_EQUAL(try_count, 1);
	CU_ASSERT_NOT_EQUAL(strncmp(tries[0].path, "/x", 2), 0);
	/* The longest that is a path: PATH_MAX with its end. */
	longest[4096 - sizeof("/" CC_LAUNCH_PROGRAM)] = '\0';
	CU_ASSERT_EQUAL(launch(directories), CMN_OK);
	CU_ASSERT_EQUAL(strncmp(tries[1].path, "/x", 2), 0);
	longest[4096 - sizeof("/" CC_LAUNCH_PROGRAM)] = 'x';
	longest[4097 - sizeof("/" CC_LAUNCH_PROGRAM)] = '\0';
	CU_ASSERT_EQUAL(launch(directories), CMN_OK);
	CU_ASSERT_NOT_EQUAL(strncmp(tries[2].path, "/x", 2), 0);
}

TEST(arguments_are_bounded)
{
	const char *const eight[] = { "1", "2", "3", "4", "5", "6", "7", "8", NULL };
	const char *const nine[] = { "1", "2", "3", "4", "5", "6", "7", "8", "9", NULL };
	const char *const none[] = { NULL };

	CU_ASSERT_EQUAL(cc_launch(NULL, no_environment, eight, -1), CMN_OK);
	CU_ASSERT_EQUAL(tries[0].count, 9);
	CU_ASSERT_EQUAL(tries[0].keep_fd, -1);
	CU_ASSERT_EQUAL(cc_launch(NULL, no_environment, nine, -1), CMN_ERR_INVALID);
	CU_ASSERT_EQUAL(try_count, 1);
	try_count = 0;
	CU_ASSERT_EQUAL(cc_launch(NULL, no_environment, none, -1), CMN_OK);
	CU_ASSERT_EQUAL(tries[0].count, 1);
}

/* The variables of an application that are kept, each followed by ";". */
static void copy_of(char **variables, char *ret, size_t size)
{
	char **copy = NULL;
	size_t len = 0;

	environ = variables;
	CU_ASSERT_EQUAL_FATAL(cc_launch_environment(&copy), CMN_OK);
	environ = process_environment;
	ret[0] = '\0';
	for (size_t i = 0; copy[i]; i++)
		len += (size_t)snprintf(ret + len, size - len, "%s;", copy[i]);
	cmn_strings_free(copy);
}

TEST(only_what_the_programs_need_is_passed_on)
{
	char *kept[] = {
		(char[]){ "PATH=/bin" }, (char[]){ "HOME=/root" }, (char[]){ "USER=me" },
		(char[]){ "LOGNAME=me" }, (char[]){ "TMPDIR=/tmp" }, (char[]){ "LANG=C" },
		(char[]){ "LC_ALL=C" }, (char[]){ "LC_=" }, (char[]){ "XDG_RUNTIME_DIR=/run" },
		(char[]){ "CKCACHE_REMOTE=a:b" }, (char[]){ "CKCACHE_=x" },
		(char[]){ "SSL_CERT_FILE=f" }, (char[]){ "SSL_CERT_DIR=d" },
		(char[]){ "CURL_CA_BUNDLE=b" }, (char[]){ "http_proxy=p" }, (char[]){ "HTTPS_PROXY=p" },
		(char[]){ "All_Proxy=p" }, (char[]){ "no_proxy=" }, NULL,
	};
	char *others[] = {
		(char[]){ "LD_PRELOAD=x" }, (char[]){ "LD_LIBRARY_PATH=x" }, (char[]){ "PATHS=x" },
		(char[]){ "PAT=x" }, (char[]){ "HOMES=x" }, (char[]){ "LC=x" }, (char[]){ "LCX=x" },
		(char[]){ "XDG=x" }, (char[]){ "CKCACHE=x" }, (char[]){ "MY_CKCACHE_REMOTE=x" },
		(char[]){ "PASSWORD=x" }, (char[]){ "=x" }, (char[]){ "" }, (char[]){ "LANGUAGE=x" },
		(char[]){ "OPENCL_LAYERS=x" }, (char[]){ "GCONV_PATH=x" }, (char[]){ "PASSWORD=PATH=" },
		(char[]){ "ckcache_remote=x" }, NULL,
	};
	char *none[] = { NULL };
	char text[1000], wanted[1000] = "";
	size_t len = 0;

	copy_of(kept, text, sizeof(text));
	for (size_t i = 0; kept[i]; i++)
		len += (size_t)snprintf(wanted + len, sizeof(wanted) - len, "%s;", kept[i]);
	CU_ASSERT_STRING_EQUAL(text, wanted);
	copy_of(others, text, sizeof(text));
	CU_ASSERT_STRING_EQUAL(text, "");
	copy_of(none, text, sizeof(text));
	CU_ASSERT_STRING_EQUAL(text, "");
	copy_of(NULL, text, sizeof(text));
	CU_ASSERT_STRING_EQUAL(text, "");
	cmn_strings_free(NULL);
}

TEST(without_memory_there_is_no_environment)
{
	char *variables[] = { (char[]){ "PATH=/bin" }, (char[]){ "x=y" },
				     (char[]){ "HOME=/root" }, NULL };
	char **copy = variables;

	environ = variables;
	copies_left = 1;
	CU_ASSERT_EQUAL(cc_launch_environment(&copy), CMN_ERR_NOMEM);
	copies_left = 2;
	CU_ASSERT_EQUAL(cc_launch_environment(&copy), CMN_ERR_NOMEM);
	has_no_array = true;
	CU_ASSERT_EQUAL(cc_launch_environment(&copy), CMN_ERR_NOMEM);
	CU_ASSERT_PTR_EQUAL(copy, variables);
	has_no_array = false;
	environ = process_environment;
}
