/* SPDX-License-Identifier: MIT */
/*
 * test_children: a build may run a tool of its driver's row on files that are known; whatever else
 * runs in another process, and however, makes the build unsure. Each test in a process of its own.
 */
#include "tests/unit/layers/shared/observer/observing.h"

#include "layers/shared/driver/environment.h"
#include "layers/shared/driver/tools.h"
#include "tests/support/owned.h"
#include "tests/support/unit.h"

static char pattern[4200], program[4200];
static const char *const variables[] = { "TOOL_", NULL };
static struct drv_driver driver = { .library = "libtooled.so", .tools = { { pattern, "-o" } },
				    .variables = variables };

static void copy(const char *from, const char *to)
{
	char command[8192];

	(void)snprintf(command, sizeof(command), "cp '%s' '%s.new' && mv '%s.new' '%s'", from, to, to, to);
	CU_ASSERT_EQUAL(system(command), 0);
}

static struct cmn_hash key_hash(void)
{
	OWNED(cc_key_release) struct cc_key key;
	struct cc_contents contents = { 0 };
	struct cmn_view view;

	cc_key_init(&key);
	CU_ASSERT_TRUE(drv_tools_add(&driver, &contents, &key));
	cc_contents_release(&contents);
	view = cc_key_view(&key);
	return cmn_hash_of(view.data, view.len);
}

static const char *vforked(void)
{
	if (unit_vfork_shares())
		return "tool-vforked";
	(void)puts("SKIPPED: a tool after vfork, which is a fork here");
	return "tool-spawned";
}

/* The tool lies in bin/, and the key has it. */
BEFORE_EACH
{
	drv_environment_begin();
	CU_ASSERT_EQUAL_FATAL(mkdir("bin", 0700), 0);
	(void)snprintf(pattern, sizeof(pattern), "%s/bin/to*", unit_dir());
	(void)snprintf(program, sizeof(program), "%s/bin/tool", unit_dir());
	copy(TOOL, "bin/tool");
	copy(TOOL_LIBRARY, "bin/libtool_library.so");
	unit_write("header", "text");
	(void)key_hash();
}

/* A build that runs the program so, on files that it made itself. */
static enum cmn_status build(const char *how, const char *words)
{
	struct drv_observation *observation = begin_as(&driver, false);
	char line[8192];

	(void)snprintf(line, sizeof(line), "%s %s", program, words);
	observed_all("write made, write result");
	observed(how, line);
	observed("open", "result");
	return end_with(observation, NULL, false);
}

static bool holds(const char *path, const char *text)
{
	char found[256] = "";
	FILE *file = fopen(path, "r");

	if (file) {
		(void)fgets(found, sizeof(found), file);
		(void)fclose(file);	/* only read */
	}
	return strcmp(found, text) == 0;
}

/* But for variables: these may say where temporary files go. */
static size_t files_of_manifest(void)
{
	size_t count = 0;

	for (size_t i = 0; i < cc_manifest_count(manifest); i++)
		count += cc_manifest_get(manifest, i).kind != CC_DEPENDENCY_VARIABLE;
	return count;
}

TEST(a_tool_is_a_dependency_of_the_build_that_runs_it)
{
	const char *const ways[] = { "tool", "tool-spawned", vforked() };

	for (size_t i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(build(ways[i], "--quick -o result made"), CMN_OK);
		CU_ASSERT_EQUAL(files_of_manifest(), 1);
		CU_ASSERT(depends_on(CC_DEPENDENCY_FILE, program));
		CU_ASSERT(holds("result", "translated x"));
		CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
	}
}

/* In the manifest for this process, in the key for others. */
TEST(a_tool_that_is_replaced_is_another_one)
{
	struct cmn_hash before = key_hash(), after;

	CU_ASSERT_EQUAL(build("tool", "-o result made"), CMN_OK);
	copy("/bin/true", "bin/tool");
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
	after = key_hash();
	CU_ASSERT_FALSE(cmn_hash_equal(&before, &after));
	EXPECT_UNKNOWN(build("tool", "-o result made"), "other-process");
	copy(TOOL, "bin/tool");
	after = key_hash();
	CU_ASSERT_TRUE(cmn_hash_equal(&before, &after));
}

TEST(a_library_of_a_tool_that_is_replaced_makes_another_one)
{
	struct cmn_hash before = key_hash(), after;

	copy(OTHER_LIBRARY, "bin/libtool_library.so");
	after = key_hash();
	CU_ASSERT_FALSE(cmn_hash_equal(&before, &after));
	copy(TOOL_LIBRARY, "bin/libtool_library.so");
	after = key_hash();
	CU_ASSERT_TRUE(cmn_hash_equal(&before, &after));
	/* It is another file than the key was made from: a build between may have used a third one. */
	EXPECT_UNKNOWN(build("tool", "-o result made"), "other-process");
}

TEST(a_tool_whose_libraries_are_uncertain_is_unknown)
{
	CU_ASSERT_EQUAL(unlink("bin/libtool_library.so"), 0);
	EXPECT_UNKNOWN(build("tool", "-o result made"), "other-process");
}

TEST(a_script_is_no_tool)
{
	unit_write("bin/tool", "#!/bin/sh\necho of another >result\n");
	CU_ASSERT_EQUAL(chmod("bin/tool", 0700), 0);
	(void)key_hash();
	EXPECT_UNKNOWN(build("tool", "-o result made"), "other-process");
	CU_ASSERT(holds("result", "of another\n"));
}

TEST(other_programs_are_unknown)
{
	copy(TOOL, "bin/another");
	(void)snprintf(program, sizeof(program), "%s/bin/another", unit_dir());
	EXPECT_UNKNOWN(build("tool", "-o result made"), "other-process");
	EXPECT_UNKNOWN(build("tool-spawned", "-o result made"), "other-process");
	EXPECT_UNKNOWN(build("tool-vforked", "-o result made"), "other-process");
	/* Installed after the key was made. */
	(void)snprintf(program, sizeof(program), "%s/bin/tool2", unit_dir());
	copy(TOOL, "bin/tool2");
	EXPECT_UNKNOWN(build("tool", "-o result made"), "other-process");
	(void)snprintf(program, sizeof(program), "bin/tool");
	EXPECT_UNKNOWN(build("tool", "-o result made"), "other-process");
}

TEST(a_file_that_a_tool_reads_is_a_dependency)
{
	CU_ASSERT_EQUAL(build("tool-spawned", "-o result header"), CMN_OK);
	CU_ASSERT_EQUAL(files_of_manifest(), 2);
	CU_ASSERT(depends_on(CC_DEPENDENCY_FILE, "header"));
	CU_ASSERT_EQUAL(build(vforked(), "-o result header"), CMN_OK);
	CU_ASSERT_EQUAL(files_of_manifest(), 2);
	CU_ASSERT(holds("result", "translated text"));
	unit_write("header", "another");
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
	/* A forked child tells afterwards: nobody knows what the file was when it read it. */
	EXPECT_UNKNOWN(build("tool", "-o result header"), "other-process");
}

TEST(arguments_that_may_name_other_files_are_unknown)
{
	static const char *const rows[] = {
		"made", "-o result", "-o result made made", "-o result -", "-o result @made",
		"-o result --with=/etc/passwd made", "-o result absent", "-o header made", "-o new/x made",
		"made -o", "-o result -o made made", "-o result .",
	};

	CU_ASSERT_EQUAL(build("tool", "-o result made"), CMN_OK);	/* it is observed on */
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		EXPECT_UNKNOWN(build("tool", rows[i]), "other-process");
		EXPECT_UNKNOWN(build("tool-spawned", rows[i]), "other-process");
	}
}

TEST(a_tool_that_fails_leaves_the_build_unknown)
{
	EXPECT_UNKNOWN(build("tool", "--fail -o result made"), "other-process");
	EXPECT_UNKNOWN(build("tool", "--kill -o result made"), "other-process");
	EXPECT_UNKNOWN(build("tool-spawned", "--fail -o result made"), "other-process");
	EXPECT_UNKNOWN(build("tool-vforked", "--kill -o result made"), "other-process");
}

TEST(a_child_that_does_more_is_unknown)
{
	CU_ASSERT_EQUAL(build("tool", "-o result made"), CMN_OK);	/* it is observed on */
	EXPECT_UNKNOWN(build("tool-strays", "-o result made"), "other-process");
	EXPECT_UNKNOWN(build("tool-with-libraries", "-o result made"), "other-process");
	EXPECT_UNKNOWN(build("tool-second", "-o result made"), "other-process");
	EXPECT_UNKNOWN(build("tool-refused", "-o result made"), "other-process");
	EXPECT_UNKNOWN(build("tool-refused-vforked", "-o result made"), "other-process");
	EXPECT_UNKNOWN(build("tool-spawned-elsewhere", "-o result made"), "other-process");
	EXPECT_UNKNOWN(build("tool-unasked", "-o result made"), "other-process");
	EXPECT_UNKNOWN(build("tool-left", "-o result made"), "other-process");
	CU_ASSERT(wait(NULL) > 0);
	CU_ASSERT_EQUAL(build("tool", "-o result made"), CMN_OK);
}

TEST(a_child_that_lives_on_has_nothing_of_ckcaches)
{
	EXPECT_UNKNOWN(build("fork-own", "made"), "other-process");
}

TEST(standard_input_is_never_read)
{
	char text[8] = "";
	int ends[2];

	CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
	CU_ASSERT_EQUAL_FATAL(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
	CU_ASSERT_EQUAL(write(ends[1], "text", 5), 5);
	EXPECT_UNKNOWN(build("vfork-polled", ""), "other-process");
	CU_ASSERT_EQUAL(read(STDIN_FILENO, text, sizeof(text)), 5);
	CU_ASSERT_STRING_EQUAL(text, "text");
}

TEST(a_child_of_a_build_observes_for_itself)
{
	struct drv_observation *observation = begin_as(&driver, false);
	pid_t child = fork();

	if (child == 0)
		_exit(build("tool", "-o result made") == CMN_OK ? 0 : 1);
	CU_ASSERT(unit_ended_well(child));
	CU_ASSERT_EQUAL(end_with(observation, NULL, false), CMN_OK);
}

TEST(another_environment_than_the_keys_makes_all_tools_unknown)
{
	CU_ASSERT_TRUE(drv_environment_passes(&driver, environ));
	CU_ASSERT_EQUAL(setenv("TOOL_LEVEL", "2", 1), 0);
	CU_ASSERT_FALSE(drv_environment_passes(&driver, environ));
	CU_ASSERT_EQUAL(unsetenv("TOOL_LEVEL"), 0);
	CU_ASSERT_TRUE(drv_environment_passes(&driver, environ));
	CU_ASSERT_EQUAL(setenv("LD_PRELOAD", TOOL_LIBRARY, 1), 0);
	CU_ASSERT_FALSE(drv_environment_passes(&driver, environ));
	EXPECT_UNKNOWN(build("tool", "-o result made"), "other-process");
}

/* For a process that was started with a library that is not ckcache's. */
static void no_tool_is_known_beside_a_preloaded_library(void)
{
	CU_ASSERT_TRUE(drv_environment_passes(&driver, environ));
	EXPECT_UNKNOWN(build("tool", "-o result made"), "other-process");
	EXPECT_UNKNOWN(build("tool-spawned", "-o result made"), "other-process");
}

static const struct unit_test preloaded[] = { UNIT_TEST(no_tool_is_known_beside_a_preloaded_library) };

int main(int argc, char **argv)
{
	if (argc < 2 || !observing_load(argv[1]) || !observing_fork())
		return 2;
	if (argc == 3)
		return UNIT_MAIN("preloaded", preloaded);
	return unit_run_apart();
}
