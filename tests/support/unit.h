/* SPDX-License-Identifier: MIT */
/*
 * unit: what every CUnit program of the suite shares: one suite per program,
 * tests named by behaviour, and a fresh temporary directory for each test.
 *
 *	TEST(evicts_the_oldest_first)
 *	{
 *		CU_ASSERT(...);
 *	}
 *
 * A program without a main of its own runs its tests in their order in the source,
 * and none of them may leave a descriptor open.
 */
#ifndef TESTS_SUPPORT_UNIT_H
#define TESTS_SUPPORT_UNIT_H

#include <CUnit/CUnit.h>
#include <sys/resource.h>

#include "tests/support/posix.h"

struct unit_test {
	const char *name;
	void (*run)(void);
	const char *where;
	int line;
	struct unit_test *next;
};
#define TEST(test) TEST_ON(NULL, test)
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNIT_IS_SANITIZED 1
#else
#define UNIT_IS_SANITIZED 0
#endif

/* BEFORE_EACH { ... } and AFTER_EACH { ... }: what each test of the file begins and ends with. */
#define BEFORE_EACH UNIT_EACH(before_each)
#define AFTER_EACH UNIT_EACH(after_each)
#define UNIT_EACH(when) \
	static void when(void); \
	__attribute__((constructor)) static void add_##when(void) { unit_##when(when); } \
	static void when(void)
void unit_before_each(void (*act)(void));
void unit_after_each(void (*act)(void));
/* Only where the driver, or whatever else unit_run is told, is "that", one of "that other", or not: "!that". */
#define TEST_ON(where, test) \
	static void test(void); \
	__attribute__((constructor)) static void add_##test(void) \
	{ \
		static struct unit_test of_##test = { #test, test, where, __LINE__, NULL }; \
		unit_add(&of_##test); \
	} \
	static void test(void)
void unit_add(struct unit_test *test);
/* Runs them, and prints CUnit's summary; the exit code for main. where: NULL where it is one for all. */
int unit_run(const char *where);
/* Of those that unit_run runs from now on, each is to leave no more descriptors open than it found. */
void unit_count_descriptors(void);
/* Runs each in a process of its own. */
int unit_run_apart(void);
/* What each test of the program begins with, in its directory, and ends with; before and after the file's own. */
void unit_each(void (*begin)(void), void (*end)(void));

/* For programs that choose among several lists: no TEST is run. */
#define UNIT_TEST(function) { .name = #function, .run = function }

/* Runs the tests as one suite and prints CUnit's summary; the exit code for main. */
int unit_main(const char *suite, const struct unit_test *tests, size_t count);
#define UNIT_MAIN(suite, tests) unit_main(suite, tests, sizeof(tests) / sizeof((tests)[0]))

/* Whether this is root; where not, says that the test, or what follows of it, is skipped. */
bool unit_is_root(void);

/*
 * The running test's own directory, made empty before it and removed after
 * it; absolute. The working directory is this one too.
 */
const char *unit_dir(void);

/* The absolute name of what is called so below it; good until the thread has asked for seven others. */
char *unit_path(const char *name);

/* Writes text to a file below unit_dir (directories are made); fails the test if it cannot. */
void unit_write(const char *path, const char *text);
void unit_write_bytes(const char *path, const void *data, size_t len);
/* Marks a directory as a cache (cachecore/disk/mark.h): what else is in it is then the cache's. */
void unit_mark(const char *root);

/* Of a directory, with . and ..; of /proc/self/fd, with the descriptor that it is read by. */
unsigned int unit_count_in(const char *path);

/* Whether CKCACHE_TEST_REQUIRE_DRIVERS, a list of words, names it: a test that does not find it has failed. */
bool unit_driver_required(const char *name);

/* Whether the program runs under valgrind, where something cannot be tested: prints the reason, once. */
bool unit_in_valgrind(const char *reason);

/* The file, or the directory with all that is below. */
void unit_remove(const char *path);

/* Fills the file with copies of its last slot, of which byte `at` (less than 0: none) is another one. */
void unit_repeat_last_slot(const char *path, size_t size, unsigned int count, int at);

/* Waits for the child: whether its exit code is 0; says what it is if not. */
bool unit_ended_well(pid_t child);
/* Whether a vforked child has the memory of its parent: not under qemu-user and ThreadSanitizer, which fork. */
bool unit_vfork_shares(void);

/* So many threads run it to its end, each with its own argument of that size from first on (0: all with the same). */
void unit_run_threads(unsigned int count, void *(*run)(void *), void *first, size_t size);

/* No file that this process writes becomes larger; RLIM_INFINITY: as before. */
void unit_limit_files(rlim_t bytes);

/* TSAN_OPTIONS for a program with an environment of its own: the caller's, or what suits all. */
const char *unit_tsan_options(void);

#endif
