/* SPDX-License-Identifier: MIT */
/* test_witness: what a build's files went through between two moments. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/witness.h"
#include "tests/support/unit.h"

static struct cc_manifest *manifest;
static struct cmn_hash witness;

static void add_file(const char *path, const char *text)
{
	struct cmn_hash hash;
	uint64_t size;

	unit_write(path, text);
	CU_ASSERT_EQUAL(cc_file_memo_hash(NULL, path, &size, &hash), CMN_OK);
	CU_ASSERT_EQUAL(cc_manifest_add_file(manifest, path, size, &hash), CMN_OK);
}

/* A header below two directories, and a place before it where there is none. */
static void begin(void)
{
	manifest = cc_manifest_new();
	CU_ASSERT_FATAL(manifest != NULL);
	add_file("inc/sub/a.h", "A");
	CU_ASSERT_EQUAL(mkdir("first", 0700), 0);
	CU_ASSERT_EQUAL(cc_manifest_add_absent(manifest, "first/sub/a.h"), CMN_OK);
	CU_ASSERT_EQUAL(cc_witness_take(manifest, NULL, &witness), CMN_OK);
}

static void expect(bool holds)
{
	CU_ASSERT_EQUAL(cc_witness_holds(manifest, &witness), holds);
	cc_manifest_free(manifest);
}

static void untouched_files_hold(void)
{
	begin();
	unit_write("elsewhere", "x");
	CU_ASSERT_EQUAL(access("inc/sub/a.h", R_OK), 0);
	expect(true);
}

static void rewritten_in_place_and_back(void)
{
	begin();
	unit_write("inc/sub/a.h", "B");
	unit_write("inc/sub/a.h", "A");
	expect(false);
}

static void rewritten_with_the_old_times(void)
{
	struct timespec times[2];
	struct stat info;

	begin();
	CU_ASSERT_EQUAL(stat("inc/sub/a.h", &info), 0);
	unit_write("inc/sub/a.h", "B");
	unit_write("inc/sub/a.h", "A");
	times[0] = info.st_atim;
	times[1] = info.st_mtim;
	CU_ASSERT_EQUAL(utimensat(AT_FDCWD, "inc/sub/a.h", times, 0), 0);
	expect(false);
}

static void replaced_and_put_back(void)
{
	begin();
	CU_ASSERT_EQUAL(rename("inc/sub/a.h", "kept"), 0);
	unit_write("inc/sub/a.h", "B");
	CU_ASSERT_EQUAL(rename("kept", "inc/sub/a.h"), 0);
	expect(false);
}

static void directory_moved_away_and_back(void)
{
	begin();
	CU_ASSERT_EQUAL(rename("inc/sub", "inc/kept"), 0);
	unit_write("inc/sub/a.h", "B");
	CU_ASSERT_EQUAL(unlink("inc/sub/a.h"), 0);
	CU_ASSERT_EQUAL(rmdir("inc/sub"), 0);
	CU_ASSERT_EQUAL(rename("inc/kept", "inc/sub"), 0);
	expect(false);
}

static void header_that_appeared_for_a_while(void)
{
	begin();
	unit_write("first/sub/a.h", "B");
	CU_ASSERT_EQUAL(unlink("first/sub/a.h"), 0);
	CU_ASSERT_EQUAL(rmdir("first/sub"), 0);
	expect(false);
}

static void other_files_beside_a_header_do_not_matter(void)
{
	begin();
	unit_write("inc/sub/other.h", "x");
	CU_ASSERT_EQUAL(unlink("inc/sub/other.h"), 0);
	expect(true);
}

static void files_that_are_not_as_recorded(void)
{
	begin();
	unit_write("inc/sub/a.h", "B");
	CU_ASSERT_EQUAL(cc_witness_take(manifest, NULL, &witness), CMN_STALE);
	unit_write("inc/sub/a.h", "A");
	CU_ASSERT_EQUAL(cc_witness_take(manifest, NULL, &witness), CMN_OK);
	unit_write("first/sub/a.h", "A");
	CU_ASSERT_EQUAL(cc_witness_take(manifest, NULL, &witness), CMN_STALE);
	expect(false);
}

/* Switches the link to a file that is another, and back to the first. */
static void switch_link(const char *link, const char *other, const char *first)
{
	CU_ASSERT_EQUAL(symlink(other, "new"), 0);
	CU_ASSERT_EQUAL(rename("new", link), 0);
	CU_ASSERT_EQUAL(symlink(first, "new"), 0);
	CU_ASSERT_EQUAL(rename("new", link), 0);
}

/* A header at path, reached through what stands there already. */
static void begin_at(const char *path)
{
	struct cmn_hash hash;
	uint64_t size;

	manifest = cc_manifest_new();
	CU_ASSERT_FATAL(manifest != NULL);
	CU_ASSERT_EQUAL(cc_file_memo_hash(NULL, path, &size, &hash), CMN_OK);
	CU_ASSERT_EQUAL(cc_manifest_add_file(manifest, path, size, &hash), CMN_OK);
	CU_ASSERT_EQUAL(cc_witness_take(manifest, NULL, &witness), CMN_OK);
	CU_ASSERT(cc_witness_holds(manifest, &witness));
}

static void link_to_a_header_switched_and_back(void)
{
	unit_write("one.h", "A");
	unit_write("two.h", "B");
	unit_write("inc/other.h", "x");
	CU_ASSERT_EQUAL(symlink("../one.h", "inc/a.h"), 0);
	begin_at("inc/a.h");
	switch_link("inc/a.h", "../two.h", "../one.h");
	expect(false);
}

static void second_link_switched_and_back(void)
{
	unit_write("one.h", "A");
	unit_write("two.h", "B");
	unit_write("inc/other.h", "x");
	CU_ASSERT_EQUAL(symlink("one.h", "middle.h"), 0);
	CU_ASSERT_EQUAL(symlink("../middle.h", "inc/a.h"), 0);
	begin_at("inc/a.h");
	switch_link("middle.h", "two.h", "one.h");
	expect(false);
}

static void link_to_a_directory_switched_and_back(void)
{
	unit_write("v1/sub/a.h", "A");
	unit_write("v2/sub/a.h", "B");
	CU_ASSERT_EQUAL(symlink("v1", "inc"), 0);
	begin_at("inc/sub/a.h");
	switch_link("inc", "v2", "v1");
	expect(false);
}

static void link_to_a_place_without_the_header_switched_and_back(void)
{
	unit_write("none/other.h", "x");
	unit_write("some/a.h", "B");
	unit_write("inc/a.h", "A");
	CU_ASSERT_EQUAL(symlink("none", "first"), 0);
	manifest = cc_manifest_new();
	CU_ASSERT_FATAL(manifest != NULL);
	CU_ASSERT_EQUAL(cc_manifest_add_absent(manifest, "first/a.h"), CMN_OK);
	CU_ASSERT_EQUAL(cc_witness_take(manifest, NULL, &witness), CMN_OK);
	switch_link("first", "some", "none");
	expect(false);
}

static void links_in_a_circle_do_no_harm(void)
{
	CU_ASSERT_EQUAL(symlink("b.h", "a.h"), 0);
	CU_ASSERT_EQUAL(symlink("a.h", "b.h"), 0);
	manifest = cc_manifest_new();
	CU_ASSERT_FATAL(manifest != NULL);
	CU_ASSERT_EQUAL(cc_manifest_add_absent(manifest, "a.h/c.h"), CMN_OK);
	/* Nobody can tell what would be found there. */
	CU_ASSERT_EQUAL(cc_witness_take(manifest, NULL, &witness), CMN_STALE);
	cc_manifest_free(manifest);
}

static void nothing_always_holds(void)
{
	manifest = NULL;
	CU_ASSERT_EQUAL(cc_witness_take(NULL, NULL, &witness), CMN_OK);
	expect(true);
}

int main(void)
{
	static const struct unit_test tests[] = {
		UNIT_TEST(untouched_files_hold),
		UNIT_TEST(rewritten_in_place_and_back),
		UNIT_TEST(rewritten_with_the_old_times),
		UNIT_TEST(replaced_and_put_back),
		UNIT_TEST(directory_moved_away_and_back),
		UNIT_TEST(header_that_appeared_for_a_while),
		UNIT_TEST(other_files_beside_a_header_do_not_matter),
		UNIT_TEST(files_that_are_not_as_recorded),
		UNIT_TEST(link_to_a_header_switched_and_back),
		UNIT_TEST(second_link_switched_and_back),
		UNIT_TEST(link_to_a_directory_switched_and_back),
		UNIT_TEST(link_to_a_place_without_the_header_switched_and_back),
		UNIT_TEST(links_in_a_circle_do_no_harm),
		UNIT_TEST(nothing_always_holds),
	};

	return UNIT_MAIN("witness", tests);
}
