/* SPDX-License-Identifier: MIT */
/*
 * test_import_source: a bundle that changes between its two readings, in ways
 * that its own checksums cannot show; and bundles that come through a pipe.
 */
#include "tools/bundle/import_source.h"

#include "cachecore/entry.h"
#include "common/file.h"
#include "tests/support/unit.h"

static enum cmn_status append(void *ctx, const void *data, size_t len)
{
	cmn_buffer_append(ctx, data, len);
	return CMN_OK;
}

/* Three entries that the reader takes, each filled with a letter of the name. */
static struct cmn_buffer make_bundle(const char *name)
{
	uint8_t src[CC_SRC_HEADER_SIZE], bin[CC_ENTRY_HEADER_SIZE];
	struct cmn_buffer bundle = { 0 };
	struct cc_bundle_writer writer;

	CU_ASSERT_EQUAL_FATAL(cc_bundle_writer_begin(&writer, CC_BUNDLE_UNSIGNED, append, &bundle),
			      CMN_OK);
	for (int i = 0; i < 3; i++) {
		memset(src, name[i], sizeof(src));
		memset(bin, name[i], sizeof(bin));
		CU_ASSERT_EQUAL_FATAL(
			cc_bundle_writer_add(&writer, (struct cmn_view){ src, sizeof(src) },
					     (struct cmn_view){ bin, sizeof(bin) }), CMN_OK);
	}
	CU_ASSERT_EQUAL_FATAL(cc_bundle_writer_end(&writer), CMN_OK);
	CU_ASSERT_FATAL(!bundle.failed);
	return bundle;
}

static void write_bundle(const char *name, const char *path)
{
	struct cmn_buffer bundle = make_bundle(name);

	unit_write_bytes(path, bundle.data, bundle.len);
	cmn_buffer_release(&bundle);
}

/* The letters of the entries that come until something else does, and that. */
static const char *read_rest(struct import_source *source, enum cmn_status *ret_status)
{
	static char letters[8];
	struct cmn_buffer src = { 0 }, bin = { 0 };
	size_t count = 0;

	while ((*ret_status = import_source_next(source, &src, &bin)) == CMN_OK && count < 7)
		letters[count++] = (char)src.data[0];
	letters[count] = '\0';
	cmn_buffer_release(&src);
	cmn_buffer_release(&bin);
	return letters;
}

static void begin(const char *path, struct import_source *source)
{
	struct import_seal seal;

	CU_ASSERT_FATAL(import_source_open(path, source));
	CU_ASSERT_FATAL(import_source_examine(source, &seal));
	CU_ASSERT_FALSE(seal.is_signed);
}

static void a_file_that_stays_as_it_is_is_read_twice(void)
{
	struct import_source source;
	enum cmn_status status;

	write_bundle("abc", "bundle");
	begin("bundle", &source);
	CU_ASSERT_STRING_EQUAL(read_rest(&source, &status), "abc");
	CU_ASSERT_EQUAL(status, CMN_MISS);
	import_source_close(&source);
}

/* What is written in its place is as sound a bundle as the first. */
static void after_the_examination(const char *name, const char *wanted)
{
	struct import_source source;
	enum cmn_status status;

	write_bundle("abc", "bundle");
	begin("bundle", &source);
	write_bundle(name, "bundle");	/* the same file, cut and written anew */
	CU_ASSERT_STRING_EQUAL(read_rest(&source, &status), wanted);
	CU_ASSERT_EQUAL(status, CMN_STALE);
	import_source_close(&source);
}

static void another_entry_is_not_given(void)
{
	after_the_examination("abx", "ab");
	after_the_examination("axc", "a");
	after_the_examination("xbc", "");
	after_the_examination("bac", "");
}

static void what_is_cut_off_is_not_given(void)
{
	struct import_source source;
	enum cmn_status status;

	write_bundle("abc", "bundle");
	begin("bundle", &source);
	CU_ASSERT_EQUAL(truncate("bundle", 400), 0);
	CU_ASSERT_STRING_EQUAL(read_rest(&source, &status), "ab");
	CU_ASSERT_EQUAL(status, CMN_STALE);
	import_source_close(&source);
}

static void a_file_that_replaces_it_is_not_looked_at(void)
{
	struct import_source source;
	enum cmn_status status;

	write_bundle("abc", "bundle");
	begin("bundle", &source);
	write_bundle("xyz", "other");
	CU_ASSERT_EQUAL(rename("other", "bundle"), 0);
	CU_ASSERT_STRING_EQUAL(read_rest(&source, &status), "abc");
	CU_ASSERT_EQUAL(status, CMN_MISS);
	import_source_close(&source);
}

static void a_pipe_is_copied_to_a_file_without_a_name(void)
{
	struct cmn_buffer bundle = make_bundle("abc");
	struct import_source source;
	enum cmn_status status;
	struct stat info;
	char path[64];
	int ends[2];

	CU_ASSERT_EQUAL(mkdir("temporary", 0700), 0);
	CU_ASSERT_EQUAL(setenv("TMPDIR", "temporary", 1), 0);
	CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
	CU_ASSERT_EQUAL(cmn_file_write_all(ends[1], bundle.data, bundle.len), CMN_OK);
	CU_ASSERT_EQUAL(close(ends[1]), 0);
	(void)snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
	begin(path, &source);
	CU_ASSERT_EQUAL(close(ends[0]), 0);
	CU_ASSERT_EQUAL(fstat(source.fd, &info), 0);
	CU_ASSERT(S_ISREG(info.st_mode));
	CU_ASSERT_EQUAL(info.st_nlink, 0);
	CU_ASSERT_EQUAL(info.st_mode & 07777, 0600);
	CU_ASSERT_EQUAL(rmdir("temporary"), 0);	/* it is empty */
	CU_ASSERT_STRING_EQUAL(read_rest(&source, &status), "abc");
	CU_ASSERT_EQUAL(status, CMN_MISS);
	import_source_close(&source);
	cmn_buffer_release(&bundle);
	CU_ASSERT_EQUAL(unsetenv("TMPDIR"), 0);
}

static void what_is_no_bundle_is_refused(void)
{
	struct import_source source;
	struct import_seal seal;

	unit_write("text", "this is not a bundle, but longer than a header");
	CU_ASSERT_FATAL(import_source_open("text", &source));
	CU_ASSERT_FALSE(import_source_examine(&source, &seal));
	import_source_close(&source);
	unit_write("empty", "");
	CU_ASSERT_FATAL(import_source_open("empty", &source));
	CU_ASSERT_FALSE(import_source_examine(&source, &seal));
	import_source_close(&source);
	CU_ASSERT_FALSE(import_source_open("no-such-file", &source));
	CU_ASSERT_FALSE(import_source_open(".", &source));
}

/* Behind the last entry, where nothing would be missing. */
static void a_damaged_end_is_damage(void)
{
	struct cmn_buffer bundle = make_bundle("abc");
	struct import_source source;
	struct import_seal seal;

	bundle.data[bundle.len - 1] ^= 1;
	unit_write_bytes("bundle", bundle.data, bundle.len);
	cmn_buffer_release(&bundle);
	CU_ASSERT_FATAL(import_source_open("bundle", &source));
	CU_ASSERT_FALSE(import_source_examine(&source, &seal));
	import_source_close(&source);
}

int main(void)
{
	static const struct unit_test tests[] = {
		UNIT_TEST(a_file_that_stays_as_it_is_is_read_twice),
		UNIT_TEST(another_entry_is_not_given),
		UNIT_TEST(what_is_cut_off_is_not_given),
		UNIT_TEST(a_file_that_replaces_it_is_not_looked_at),
		UNIT_TEST(a_pipe_is_copied_to_a_file_without_a_name),
		UNIT_TEST(what_is_no_bundle_is_refused),
		UNIT_TEST(a_damaged_end_is_damage),
	};

	return UNIT_MAIN("import_source", tests);
}
