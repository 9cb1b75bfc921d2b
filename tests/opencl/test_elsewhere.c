/* SPDX-License-Identifier: MIT */
/*
 * test_elsewhere: the same headers below another path are a hit, which answers as the driver does for
 * that path; unless the result may tell where they lie.
 */
#include "tests/opencl/driver.h"
#include "tests/support/unit.h"

enum answer { MISS, HIT };

static char directory[2048];	/* in which clients run */

/* Two directories with that header, and a source that begins so. */
static void begin(const char *source, const char *header)
{
	char *path;

	driver_begin();
	driver_stub_setting("STUB_NO_OPTIONS", "1");
	/* pocl's own cache does not see every header. */
	driver_setenv("POCL_KERNEL_CACHE", "0");
	unit_write("work/one/value.h", header);
	unit_write("work/two/value.h", header);
	path = realpath("work", NULL);
	if (!path || (size_t)snprintf(directory, sizeof(directory), "%s", path) >= sizeof(directory))
		abort();
	free(path);
	path = NULL;
	if (asprintf(&path, "%s#include <value.h>\n"
		     "kernel void value(global int *out) { out[get_global_id(0)] = VALUE; }\n", source) < 0)
		abort();
	unit_write("work/main.cl", path);
	free(path);
}

static void expect(const char *folder, const char *more, enum answer answer)
{
	struct driver_stats before = driver_stats(), after;
	struct outcome layered, bare;
	char options[3 * sizeof(directory)];

	(void)snprintf(options, sizeof(options), "-I%s/%s%s%s", directory, folder, *more ? " " : "", more);
	layered = GOOD_CLIENT(LAYERED, "header", "main.cl", options);
	after = driver_stats();
	bare = GOOD_CLIENT(BARE, "header", "main.cl", options);
	CU_ASSERT(outcome_same(&bare, &layered));
	CU_ASSERT_EQUAL(after.hits_disk - before.hits_disk, (uint64_t)(answer == HIT));
	CU_ASSERT_EQUAL(after.misses - before.misses, (uint64_t)(answer == MISS));
}

/* A build is one of its path alone. */
static void expect_apart(const char *more)
{
	expect("one", more, MISS);
	expect("two", more, MISS);
	expect("one", more, HIT);
	expect("two", more, HIT);
}

TEST(same_headers)
{
	begin("", "#define VALUE 1\n");
	expect("one", "", MISS);
	expect("two", "", HIT);
	expect("one", "", HIT);
	unit_write("work/two/value.h", "#define VALUE 2\n");
	expect("two", "", MISS);
	expect("two", "", HIT);
	expect("one", "", HIT);
	unit_write("work/three/none", "");
	unit_write("work/three/deep/value.h", "#define VALUE 3\n");
	expect("three/deep", "", MISS);
	CU_ASSERT_EQUAL(symlink("../../one/value.h", "work/three/deep/link.h"), 0);
	CU_ASSERT_EQUAL(rename("work/three/deep/link.h", "work/three/deep/value.h"), 0);
	expect("three/deep", "", HIT);
}

TEST(header_that_asks_for_its_name)
{
	begin("", "#define VALUE (sizeof(__FILE__) > 1)\n");
	expect_apart("");
}

TEST(header_that_pastes_its_name)
{
	begin("", "#define PASTE_(a, b) a##b\n#define PASTE(a, b) PASTE_(a, b)\n#define VALUE (sizeof(PASTE(__FI, LE__)) > 1)\n");
	expect_apart("");
}

TEST(option_that_asks_for_the_name)
{
	begin("", "constant int told = sizeof(NAME);\n#define VALUE told\n");
	expect_apart("-DNAME=__FILE__");
}

TEST(option_that_pastes_the_name)
{
	begin("", "constant int told = sizeof(PASTE(__FI, LE__));\n#define VALUE told\n");
	expect_apart("-DPASTE(a,b)=a##b");
}

TEST(function_that_tells_its_parameter)
{
	begin("", "static int told(struct { int a; } *p) { return sizeof(__PRETTY_FUNCTION__); }\n#define VALUE told(0)\n");
	expect_apart("");
}

/* As in one directory, whatever the options name. */
static void expect_include_of_one(const char *include)
{
	char source[4096];

	begin("", "#define VALUE 1\n");
	(void)snprintf(source, sizeof(source), include, directory);
	begin(source, "#define VALUE 1\n");
	expect("one", "", MISS);
	unit_write("work/one/value.h", "#define VALUE 2\n");
	expect("two", "", MISS);
}

TEST_ON("!stub", path_in_parts)
{
	expect_include_of_one("#define TEXT_(a) #a\n#define TEXT(a) TEXT_(a)\n#define PLACE %s\n"
			      "#include TEXT(PLACE/one/value.h)\n");
	expect_include_of_one("#include \"%s/o\\\nne/value.h\"\n");
}

/* Debian 12's rusticl has no log of what compiles, and refuses -g. */
TEST_ON("!rusticl", header_that_tells_where_it_is)
{
	if (driver_is("stub"))
		return;
	begin("", "#warning careful\n#define VALUE 1\n");
	expect_apart("");
}

TEST_ON("!rusticl", debugging)
{
	if (driver_is("stub"))
		return;
	begin("", "#define VALUE 1\n");
	expect_apart("-g");
}

TEST(source_that_names_the_path)
{
	char source[4096];

	begin("", "#define VALUE 1\n");
	(void)snprintf(source, sizeof(source), "#define WHERE %s/one\n", directory);
	begin(source, "#define VALUE 1\n");
	expect_apart("");
}

TEST_ON("stub", log_that_names_the_path)
{
	begin("", "#define VALUE 1\n");
	driver_stub_setting(NULL, NULL);
	expect_apart("");
}

/* Of two names of one directory compilers look into the first alone: the second counts when that is gone. */
TEST_ON("!stub", one_directory_by_two_names)
{
	char options[2 * sizeof(directory) + 32];

	begin("", "#define VALUE 1\n");
	unit_write("work/none/other.h", "");
	CU_ASSERT_EQUAL(symlink("none", "work/link"), 0);
	(void)snprintf(options, sizeof(options), "-I%s/link -I%s/one", directory, directory);
	expect("none", options, MISS);
	expect("none", options, HIT);
	unit_remove("work/none");
	CU_ASSERT_EQUAL(unlink("work/link"), 0);
	unit_write("work/link/value.h", "#define VALUE 2\n");
	expect("none", options, MISS);
}

/* Whatever a path is made of, and however long it is: what the driver makes of it, of today's header. */
TEST(strange_paths)
{
	static const char *const names[] = { "h\xc3\xa9", "h\xe9", "a\tb", "a\nb", "<1>", "a,b;c" };
	char folder[3500] = "", path[3600], options[4096];

	begin("", "#define VALUE 1\n");
	for (size_t i = 0; i <= sizeof(names) / sizeof(names[0]); i++) {
		if (i > 0)
			(void)snprintf(folder, sizeof(folder), "%s", names[i - 1]);
		/* Just below PATH_MAX. */
		for (size_t at = 0; i == 0 && at + 130 + strlen(directory) < sizeof(folder); at = strlen(folder))
			(void)snprintf(folder + at, sizeof(folder) - at, "%s%0120d", at ? "/" : "", (int)at);
		(void)snprintf(path, sizeof(path), "work/%s/value.h", folder);
		(void)snprintf(options, sizeof(options), "-I%s/%s", directory, folder);
		for (int value = 1; value <= 2; value++) {
			struct outcome layered, again, bare;

			unit_write(path, value == 1 ? "#define VALUE 1\n" : "#define VALUE 2\n");
			layered = CLIENT(LAYERED, "header", "main.cl", options);
			again = CLIENT(LAYERED, "header", "main.cl", options);
			bare = CLIENT(BARE, "header", "main.cl", options);
			CU_ASSERT(outcome_same(&bare, &layered));
			CU_ASSERT(outcome_same(&bare, &again));
		}
	}
}
