/* SPDX-License-Identifier: MIT */
/* env: a copy of variables that come and go; typed values from text. */
#include "common/env.h"

#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>

#include "tests/support/unit.h"
#include "tests/support/wrap.h"

static bool privileged;		/* as a program is whose user is another than its caller */
static bool is_filtered;		/* system calls are: a rare one kills */

WRAPPED(unsigned long, getauxval, (unsigned long type))
{
	return type == AT_SECURE ? privileged : __real_getauxval(type);
}

WRAPPED(ssize_t, process_vm_readv, (pid_t pid, const struct iovec *to, unsigned long to_count,
				    const struct iovec *from, unsigned long count, unsigned long flags))
{
	CU_ASSERT(!is_filtered);
	return __real_process_vm_readv(pid, to, to_count, from, count, flags);
}

int __real_prctl(int option, ...);
int __wrap_prctl(int option, ...);

int __wrap_prctl(int option, ...)
{
	CU_ASSERT_EQUAL(option, PR_GET_SECCOMP);
	return is_filtered ? 2 : __real_prctl(option);
}

static bool has_variable(const char *value)
{
	char *now = NULL;
	bool has = cmn_env_get("CKCACHE_TEST_VARIABLE", &now) != CMN_OK ? false : value ? now && strcmp(now, value) == 0 : !now;

	free(now);
	return has;
}

static bool elsewhere;		/* the kernel has other memory at this program's addresses */

WRAPPED(ssize_t, pread, (int fd, void *to, size_t size, off_t at))
{
	ssize_t got = __real_pread(fd, to, size, at);

	CU_ASSERT(got >= 0 || errno != EBADF || fd < 0);	/* a number that is closed may be anybody's */
	if (elsewhere && got > 0)
		memset(to, 0, (size_t)got);
	return got;
}

TEST(reads_a_variable_or_nothing)
{
	CU_ASSERT_EQUAL_FATAL(setenv("CKCACHE_TEST_VARIABLE", "value", 1), 0);
	CU_ASSERT(has_variable("value"));
	CU_ASSERT_EQUAL_FATAL(unsetenv("CKCACHE_TEST_VARIABLE"), 0);
	CU_ASSERT(has_variable(NULL));
}

/* Copied from this array: CMN_OK, and they are these; or the status. */
static enum cmn_status copied(char **variables, size_t count, const char *const *wanted)
{
	struct cmn_buffer copy = { 0 };
	char **before = environ;
	enum cmn_status status;
	const char *at = NULL;
	size_t same = 0;

	environ = variables;
	status = cmn_env_copy(&copy);
	environ = before;
	while (status == CMN_OK && (at = cmn_env_next(&copy, at)) && same < count && strcmp(at, wanted[same]) == 0)
		same++;
	CU_ASSERT(status != CMN_OK || (!at && same == count));
	cmn_buffer_release(&copy);
	return status;
}

/* Memory of so many pages, behind which there is none. */
static char *pages(size_t count)
{
	size_t size = count * 4096;
	char *start = mmap(NULL, size + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CU_ASSERT_PTR_NOT_EQUAL_FATAL(start, MAP_FAILED);
	CU_ASSERT_EQUAL(munmap(start + size, 4096), 0);
	return start;
}

static void copies_and_refuses(void)
{
	enum { COUNT = 300, LONG = 10000 };
	static char texts[COUNT][16], *many[COUNT + 1];
	char *page = pages(1), *three = pages(3), *end = page + 4096, *gone = pages(1);
	char *three_end = three + 3 * 4096, **at_end = (char **)(void *)end - 2;
	char first[] = "A=1";
	char *few[] = { first, end - sizeof("B=2"), three_end - LONG, NULL };
	char *dead[] = { first, gone, NULL };

	memcpy(end - sizeof("B=2"), "B=2", sizeof("B=2"));
	memset(three_end - LONG, 'x', LONG);
	three_end[-1] = '\0';
	CU_ASSERT_EQUAL(munmap(gone, 4096), 0);
	CU_ASSERT_EQUAL(copied(NULL, 0, NULL), CMN_OK);
	/* Short, at the end of what there is, and longer than a page. */
	CU_ASSERT_EQUAL(copied(few, 3, (const char *const *)few), CMN_OK);
	for (size_t i = 0; i < COUNT; i++) {
		(void)snprintf(texts[i], sizeof(texts[i]), "N%zu=%zu", i, i);
		many[i] = texts[i];
	}
	CU_ASSERT_EQUAL(copied(many, COUNT, (const char *const *)many), CMN_OK);
	/* A text without an end, one that is gone, and arrays of both kinds. */
	three_end[-1] = 'x';
	CU_ASSERT_EQUAL(copied(few, 0, NULL), CMN_BUSY);
	CU_ASSERT_EQUAL(copied(dead, 0, NULL), CMN_BUSY);
	CU_ASSERT_EQUAL(copied((char **)(void *)gone, 0, NULL), CMN_BUSY);
	at_end[0] = first;
	at_end[1] = NULL;
	CU_ASSERT_EQUAL(copied(at_end, 1, (const char *const *)at_end), CMN_OK);
	at_end[1] = first;
	CU_ASSERT_EQUAL(copied(at_end, 0, NULL), CMN_BUSY);
	CU_ASSERT_EQUAL(munmap(page, 4096) | munmap(three, 3 * 4096), 0);
}

TEST(a_text_that_is_gone_is_no_fault)
{
	copies_and_refuses();
}

TEST(nor_is_it_under_a_filter_of_system_calls)
{
	is_filtered = true;
	copies_and_refuses();
	is_filtered = false;
}

TEST(other_memory_is_not_taken_for_this)
{
	char text[] = "A=1", *few[] = { text, NULL };

	is_filtered = true;
	CU_ASSERT_EQUAL(copied(few, 1, (const char *const *)few), CMN_OK);
	elsewhere = true;
	CU_ASSERT_EQUAL(copied(few, 0, NULL), CMN_BUSY);
	is_filtered = elsewhere = false;
}

static atomic_bool copied_enough;

static void *change(void *unused)
{
	char name[32], value[300];

	(void)unused;
	memset(value, 'x', sizeof(value));
	value[sizeof(value) - 1] = '\0';
	for (unsigned int i = 0; !atomic_load(&copied_enough); i++) {
		(void)snprintf(name, sizeof(name), "CKCACHE_TEST_%u", i % 500);
		(void)setenv(name, value + i % 200, 1);		/* without memory there are fewer */
		if (i % 7 == 0)
			(void)unsetenv(name);	/* cannot fail */
	}
	return NULL;
}

TEST(another_thread_may_change_the_environment)
{
	pthread_t thread;
	unsigned int found = 0;

	CU_ASSERT_EQUAL_FATAL(setenv("CKCACHE_TEST_VARIABLE", "value", 1), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, change, NULL), 0);
	for (unsigned int i = 0; i < 2000; i++)
		found += has_variable("value");
	atomic_store(&copied_enough, true);
	CU_ASSERT_EQUAL(pthread_join(thread, NULL), 0);
	CU_ASSERT(found > 0);
	CU_ASSERT(has_variable("value"));
}

TEST(takes_the_words_for_yes_and_no)
{
	static const char *const yes[] = { "1", "true", "YES", "On" };
	static const char *const no[] = { "0", "False", "no", "off" };

	for (size_t i = 0; i < 4; i++) {
		bool value = false;

		CU_ASSERT_EQUAL(cmn_env_parse_bool(yes[i], &value), CMN_OK);
		CU_ASSERT_TRUE(value);
		CU_ASSERT_EQUAL(cmn_env_parse_bool(no[i], &value), CMN_OK);
		CU_ASSERT_FALSE(value);
	}
}

TEST(refuses_other_words_and_keeps_the_value)
{
	static const char *const bad[] = { "", "2", "yes ", " 1", "maybe", "nothing", "0x0", "only" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		bool value = true;

		CU_ASSERT_EQUAL(cmn_env_parse_bool(bad[i], &value), CMN_ERR_INVALID);
		CU_ASSERT_TRUE(value);
	}
}

TEST(bounds_a_number)
{
	uint64_t value = 77;

	CU_ASSERT_EQUAL(cmn_env_parse_number("5", 5, 9, &value), CMN_OK);
	CU_ASSERT_EQUAL(value, 5);
	CU_ASSERT_EQUAL(cmn_env_parse_number("18446744073709551615", 0, UINT64_MAX, &value), CMN_OK);
	CU_ASSERT_EQUAL(value, UINT64_MAX);
	value = 77;
	CU_ASSERT_EQUAL(cmn_env_parse_number("4", 5, 9, &value), CMN_ERR_INVALID);
	CU_ASSERT_EQUAL(cmn_env_parse_number("10", 5, 9, &value), CMN_ERR_INVALID);
	CU_ASSERT_EQUAL(cmn_env_parse_number("18446744073709551616", 0, UINT64_MAX, &value), CMN_ERR_INVALID);
	CU_ASSERT_EQUAL(value, 77);
}

TEST(refuses_what_is_no_number)
{
	static const char *const bad[] = { "", "-1", "+1", " 1", "1 ", "0x10", "1e3", "one" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint64_t value = 77;

		CU_ASSERT_EQUAL(cmn_env_parse_number(bad[i], 0, UINT64_MAX, &value), CMN_ERR_INVALID);
		CU_ASSERT_EQUAL(value, 77);
	}
}

TEST(scales_a_size_by_its_suffix)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} cases[] = {
		{ "0", 0 },
		{ "512", 512 },
		{ "512B", 512 },
		{ "1K", 1000 },
		{ "1Ki", 1024 },
		{ "3kib", 3072 },
		{ "2MB", 2000000 },
		{ "256Mi", UINT64_C(256) << 20 },
		{ "8G", UINT64_C(8000000000) },
		{ "8Gi", UINT64_C(8) << 30 },
		{ "1T", UINT64_C(1000000000000) },
		{ "1Ti", UINT64_C(1) << 40 },
		{ "16777215Ti", UINT64_C(16777215) << 40 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t value = 77;

		CU_ASSERT_EQUAL(cmn_env_parse_size(cases[i].text, &value), CMN_OK);
		CU_ASSERT_EQUAL(value, cases[i].bytes);
	}
}

TEST(refuses_what_is_no_size)
{
	static const char *const bad[] = { "",	  "K",	 "1X",	  "1KK",  "1 K",  "1iK",
					   "-1K", "1.5G", "1Gi ", "1i",   "16777216Ti" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint64_t value = 77;

		CU_ASSERT_EQUAL(cmn_env_parse_size(bad[i], &value), CMN_ERR_INVALID);
		CU_ASSERT_EQUAL(value, 77);
	}
}

TEST(a_privileged_program_reads_nothing)
{
	CU_ASSERT_EQUAL_FATAL(setenv("CKCACHE_TEST_VARIABLE", "value", 1), 0);
	privileged = true;
	CU_ASSERT(has_variable(NULL));
	privileged = false;
	CU_ASSERT(has_variable("value"));
}
