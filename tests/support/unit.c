/* SPDX-License-Identifier: MIT */
/* unit: CUnit's basic runner with a temporary directory for each test. */
#include "tests/support/unit.h"

#include <dirent.h>
#include <stdatomic.h>

#include <CUnit/Basic.h>

#include "tests/support/remove_tree.h"

static char directory[4096];
static unsigned int descriptors;			/* when the test began */
static bool counts_descriptors;
static struct unit_test *added;		/* by line */
static void (*begin_each)(void), (*before_each)(void), (*after_each)(void), (*end_each)(void);

void unit_remove(const char *path)
{
	remove_tree(path);
}

unsigned int unit_count_in(const char *path)
{
	DIR *all = opendir(path);
	unsigned int count = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(all);
	while (readdir(all))
		count++;
	(void)closedir(all);
	return count;
}

static void set_up(void)
{
	const char *base = getenv("TMPDIR");

	descriptors = unit_count_in("/proc/self/fd");

	(void)snprintf(directory, sizeof(directory), "%s/ckcache-test-XXXXXX", base ? base : "/tmp");
	if (!mkdtemp(directory) || chdir(directory) < 0) {
		perror("unit: temporary directory");
		exit(2);
	}
	if (begin_each)
		begin_each();
	if (before_each)
		before_each();
}

static void tear_down(void)
{
	if (after_each)
		after_each();
	if (end_each)
		end_each();
	if (counts_descriptors)
		CU_ASSERT_TRUE(unit_count_in("/proc/self/fd") <= descriptors);
	if (chdir("/") < 0)
		perror("unit: chdir");
	unit_remove(directory);
}

bool unit_ended_well(pid_t child)
{
	int status = 0;

	if (waitpid(child, &status, 0) == child && status == 0)
		return true;
	(void)printf("\n    child %d: status %#x\n", (int)child, (unsigned int)status);
	return false;
}

void unit_repeat_last_slot(const char *path, size_t size, unsigned int count, int at)
{
	char last[1024];
	FILE *file = fopen(path, "r+b");

	CU_ASSERT_FATAL(file != NULL && size <= sizeof(last));
	CU_ASSERT_EQUAL(fseek(file, -(long)size, SEEK_END), 0);
	CU_ASSERT_EQUAL(fread(last, size, 1, file), 1);
	if (at >= 0)
		last[at] ^= 1;
	rewind(file);
	for (unsigned int i = 0; i < count; i++)
		CU_ASSERT_EQUAL(fwrite(last, size, 1, file), 1);
	CU_ASSERT_EQUAL(fclose(file), 0);
}

bool unit_vfork_shares(void)
{
	static volatile bool shared;
	pid_t child = vfork();

	if (child == 0) {
		shared = true;
		_exit(0);
	}
	CU_ASSERT_FATAL(child > 0 && waitpid(child, NULL, 0) == child);
	return shared;
}

void unit_run_threads(unsigned int count, void *(*run)(void *), void *first, size_t size)
{
	pthread_t threads[64];

	CU_ASSERT_FATAL(count <= sizeof(threads) / sizeof(threads[0]));
	for (unsigned int i = 0; i < count; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, run, (char *)first + i * size), 0);
	for (unsigned int i = 0; i < count; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_join(threads[i], NULL), 0);
}

void unit_limit_files(rlim_t bytes)
{
	struct rlimit limit;

	CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

bool unit_is_root(void)
{
	if (geteuid() == 0)
		return true;
	(void)printf("SKIPPED: not root; ");
	return false;
}

const char *unit_dir(void)
{
	return directory;
}

char *unit_path(const char *name)
{
	static _Thread_local char paths[8][sizeof(directory) + 256];
	static _Thread_local unsigned int turn;
	char *path = paths[turn++ % 8];

	CU_ASSERT_FATAL(snprintf(path, sizeof(paths[0]), "%s/%s", directory, name) < (int)sizeof(paths[0]));
	return path;
}

void unit_write_bytes(const char *path, const void *data, size_t len)
{
	char full[8192];
	FILE *file;

	(void)snprintf(full, sizeof(full), "%s%s%s", path[0] == '/' ? "" : directory,
		       path[0] == '/' ? "" : "/", path);
	for (char *slash = strchr(full + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(full, 0700);
		*slash = '/';
	}
	file = fopen(full, "wb");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	CU_ASSERT_EQUAL_FATAL(fwrite(data, 1, len, file), len);
	CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
}

void unit_write(const char *path, const char *text)
{
	unit_write_bytes(path, text, strlen(text));
}

void unit_mark(const char *root)
{
	char path[4200];

	(void)snprintf(path, sizeof(path), "%s/CACHEDIR.TAG", root);
	unit_write(path, "Signature: 8a477f597d28d172789f06886806bc55\n"
		   "# A cache of ckcache: compiled compute kernels. Removing it costs time only.\n");
}

/* A forked program goes on with threads of its own, and none waits at its exit. */
const char *unit_tsan_options(void)
{
	const char *options = getenv("TSAN_OPTIONS");

	return options ? options : "die_after_fork=0:atexit_sleep_ms=0";
}

void unit_add(struct unit_test *test)
{
	struct unit_test **at = &added;

	while (*at && (*at)->line < test->line)
		at = &(*at)->next;
	test->next = *at;
	*at = test;
}

void unit_each(void (*begin)(void), void (*end)(void))
{
	begin_each = begin;
	end_each = end;
}

void unit_before_each(void (*act)(void))
{
	before_each = act;
}

void unit_after_each(void (*act)(void))
{
	after_each = act;
}

static CU_pSuite begin_suite(const char *suite)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE };

	/* As in a terminal, wherever this was started from: in the background some are ignored. */
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		(void)signal(signals[i], SIG_DFL);
	(void)umask(022);	/* what others may write is not trusted */
	if (CU_initialize_registry() != CUE_SUCCESS)
		return NULL;
	return CU_add_suite_with_setup_and_teardown(suite, NULL, NULL, set_up, tear_down);
}

static int run(void)
{
	unsigned int failures;

	CU_basic_set_mode(CU_BRM_VERBOSE);
	(void)CU_basic_run_tests();
	failures = CU_get_number_of_failures() + CU_get_number_of_tests_failed();
	CU_cleanup_registry();
	return failures ? 1 : 0;
}

static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; at && (at = strstr(at, word)) != NULL; at += len) {
		if ((at == list || at[-1] == ' ') && (!at[len] || at[len] == ' '))
			return true;
	}
	return false;
}

static bool is_due(const struct unit_test *test, const char *where)
{
	const char *only = getenv("CKCACHE_TEST_ONLY");

	if (only && !has_word(only, test->name))
		return false;
	if (!test->where)
		return true;
	return test->where[0] == '!' ? strcmp(test->where + 1, where) != 0 : has_word(test->where, where);
}

void unit_count_descriptors(void)
{
	/* A sanitizer may have some. */
	counts_descriptors = !UNIT_IS_SANITIZED;
}

int unit_run(const char *where)
{
	CU_pSuite suite = begin_suite(program_invocation_short_name);
	bool any = false;

	for (const struct unit_test *test = added; test; test = test->next) {
		if (!suite || (is_due(test, where) && !CU_add_test(suite, test->name, test->run)))
			return 2;
		any |= is_due(test, where);
	}
	return any ? run() : 2;
}

int unit_run_apart(void)
{
	int failed = !added, status;
	pid_t child;

	for (struct unit_test *test = added; test; test = test->next) {
		(void)fflush(stdout);
		child = fork();
		if (child == 0)
			exit(unit_main(test->name, test, 1));
		failed |= child < 0 || waitpid(child, &status, 0) != child || status != 0;
	}
	return failed;
}

int unit_main(const char *name, const struct unit_test *tests, size_t count)
{
	CU_pSuite suite = begin_suite(name);

	for (size_t i = 0; i < count; i++) {
		if (!suite || !CU_add_test(suite, tests[i].name, tests[i].run))
			return 2;
	}
	return run();
}

bool unit_driver_required(const char *name)
{
	return has_word(getenv("CKCACHE_TEST_REQUIRE_DRIVERS"), name);
}

bool unit_in_valgrind(const char *reason)
{
	static atomic_flag told = ATOMIC_FLAG_INIT;
	const char *preloaded = getenv("LD_PRELOAD");

	if (!preloaded || !strstr(preloaded, "/vgpreload_"))
		return false;
	if (!atomic_flag_test_and_set(&told))
		(void)fprintf(stderr, "\nunder valgrind: %s\n", reason);
	return true;
}
