/* SPDX-License-Identifier: MIT */
/*
 * test_import: bundles with what no export writes, and what happens between the
 * examination of a bundle and its import. The cache's directory is looked at there.
 */
#include "cachecore/disk/root.h"
#include "common/file.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"
#include "tests/unit/cachecore/remote/values.h"
#include "tools/arguments.h"
#include "tools/bundle/bundle.h"
#include "tools/json_output.h"
#include "tools/tool.h"

verb_function verb_import;

/* When the directory is looked at. */
static struct {
	const char *cut;	/* this bundle loses its end; NULL: none */
	bool refused;		/* it cannot be written, as the kernel says */
} look;

WRAPPED(int, faccessat, (int dir, const char *path, int mode, int flags))
{
	if (look.cut)
		CU_ASSERT_EQUAL(truncate(look.cut, 100), 0);
	if (look.refused && (mode & W_OK)) {
		errno = EACCES;
		return -1;
	}
	return __real_faccessat(dir, path, mode, flags);
}

static const char *verify;	/* the file of a key; NULL: none */
static bool plain;		/* without --json */

bool arguments_flag(const struct arguments *arguments, const char *name)
{
	(void)arguments;
	return strcmp(name, "json") == 0 && !plain;
}

const char *arguments_next(const struct arguments *arguments, const char *name, size_t *at)
{
	(void)arguments;
	(void)name;
	return verify && !(*at)++ ? verify : NULL;
}

/* What the command keeps until it ends, which it does after one import. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:tool_try_open\nleak:cc_trust_of\n";
}

static struct cmn_buffer slurp(const char *entry_dir, const char *name)
{
	struct cmn_buffer file;
	char path[4400];

	(void)snprintf(path, sizeof(path), "%s/filled/%s/%s", unit_dir(), entry_dir, name);
	CU_ASSERT_EQUAL_FATAL(cmn_file_read(-1, path, 1 << 20, false, &file), CMN_OK);
	return file;
}

/* The two files of an entry. */
static void make_files(struct cmn_buffer *src, struct cmn_buffer *bin)
{
	struct cc_entry *entry = cc_entry_new(1000);
	char dir[4300], entry_dir[CC_ENTRY_DIR_PATH_SIZE];
	struct cc_key key;

	CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
	cc_entry_add(entry, CC_TAG_IMAGE, 0, "image", 5);
	CU_ASSERT_EQUAL_FATAL(cc_entry_finish(entry, NULL), CMN_OK);
	cc_key_init(&key);
	cc_key_add_text(&key, CC_PART_IMAGE, "source", "kernel void f() {}");
	cc_entry_dir_path(cc_key_view(&key), entry_dir);
	(void)snprintf(dir, sizeof(dir), "%s/filled", unit_dir());
	CU_ASSERT_EQUAL_FATAL(setenv("CKCACHE_DIR", dir, 1), 0);
	CU_ASSERT_EQUAL_FATAL(cc_store_put(tool_open()->store, &key, entry), CMN_OK);
	cc_key_release(&key);
	cc_entry_unref(entry);
	*src = slurp(entry_dir, "0.src");
	*bin = slurp(entry_dir, "0.bin");
}

static enum cmn_status append(void *ctx, const void *data, size_t len)
{
	cmn_buffer_append(ctx, data, len);
	return CMN_OK;
}

/* Of an entry by each signer; of_another_version: its .src says so. */
static void write_bundle_of(bool of_another_version, const struct cc_signer *const *signers, size_t count)
{
	struct cmn_buffer src, bin, bundle = { 0 };
	struct bundle_writer writer;

	make_files(&src, &bin);
	src.data[8] += of_another_version;	/* behind eight bytes that all versions have */
	CU_ASSERT_EQUAL(bundle_writer_begin(&writer, append, &bundle), CMN_OK);
	for (size_t i = 0; i < count; i++)
		CU_ASSERT_EQUAL(bundle_writer_add(&writer, cmn_buffer_view(&src), cmn_buffer_view(&bin),
						  signers[i]), CMN_OK);
	CU_ASSERT_EQUAL(bundle_writer_end(&writer), CMN_OK);
	CU_ASSERT_FATAL(!bundle.failed);
	unit_write_bytes("bundle", bundle.data, bundle.len);
	cmn_buffer_release(&src);
	cmn_buffer_release(&bin);
	cmn_buffer_release(&bundle);
}

static void write_bundle(bool of_another_version)
{
	write_bundle_of(of_another_version, (const struct cc_signer *[]){ NULL }, 1);
}

/* The exit code of an import into an empty directory; what it prints is in the file "printed". */
static int import_bundle(void)
{
	const struct arguments arguments = { .operand = "bundle" };
	int saved = dup(STDOUT_FILENO), code;
	char dir[4300];
	int file;

	(void)snprintf(dir, sizeof(dir), "%s/empty", unit_dir());
	CU_ASSERT_EQUAL_FATAL(mkdir(dir, 0700), 0);
	CU_ASSERT_EQUAL_FATAL(setenv("CKCACHE_DIR", dir, 1), 0);
	file = open("printed", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CU_ASSERT_FATAL(saved >= 0 && file >= 0);
	(void)fflush(stdout);
	CU_ASSERT_FATAL(dup2(file, STDOUT_FILENO) >= 0);
	code = verb_import(&arguments);
	(void)fflush(stdout);
	CU_ASSERT_FATAL(dup2(saved, STDOUT_FILENO) >= 0);
	(void)close(saved);
	(void)close(file);
	return code;
}

static void expect_printed(unsigned int imported, unsigned int damaged, unsigned int foreign)
{
	struct json_object *printed = json_object_from_file("printed"), *value = NULL;
	const struct {
		const char *name;
		unsigned int count;
	} wanted[] = { { "imported", imported }, { "damaged", damaged }, { "foreign", foreign } };

	CU_ASSERT_PTR_NOT_NULL_FATAL(printed);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		CU_ASSERT_TRUE(json_object_object_get_ex(printed, wanted[i].name, &value));
		CU_ASSERT_EQUAL(json_object_get_int(value), (int)wanted[i].count);
	}
	(void)json_object_put(printed);
}

TEST(a_sound_entry_is_imported)
{
	write_bundle(false);
	CU_ASSERT_EQUAL(import_bundle(), TOOL_OK);
	expect_printed(1, 0, 0);
}

TEST(an_entry_of_another_version_is_no_damage)
{
	struct cmn_buffer said;

	write_bundle(true);
	CU_ASSERT_EQUAL(import_bundle(), TOOL_FAILED);
	expect_printed(0, 0, 1);
	CU_ASSERT_EQUAL(rename("empty", "before"), 0);
	plain = true;
	CU_ASSERT_EQUAL(import_bundle(), TOOL_FAILED);
	plain = false;
	CU_ASSERT_EQUAL_FATAL(cmn_file_read(AT_FDCWD, "printed", 1000, false, &said), CMN_OK);
	CU_ASSERT(cmn_view_equal(cmn_buffer_view(&said), cmn_view_of(
		"0 entries imported, 0 there already, 1 refused (1 of another version)\n")));
	cmn_buffer_release(&said);
}

TEST(a_bundle_that_changes_during_the_import_is_not_imported)
{
	write_bundle(false);
	look.cut = "bundle";
	CU_ASSERT_EQUAL(import_bundle(), TOOL_FAILED);
	look.cut = NULL;
	expect_printed(0, 0, 0);
}

/* Whichever it is, and though the others are good. */
TEST(an_entry_that_the_key_has_not_signed_leaves_all_out)
{
	const struct cc_signer two = values_signer(TWO), liar = values_liar(NOBODY, TWO);
	const struct cc_signer other = values_signer(ONE);
	const struct cc_signer *const bad[] = { NULL, &liar, &other };
	struct stat info;
	char dir[4300];

	/* Of RFC 8032's TEST 2. */
	unit_write("two.pub", "-----BEGIN PUBLIC KEY-----\n"
		   "MCowBQYDK2VwAyEAPUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=\n"
		   "-----END PUBLIC KEY-----\n");
	verify = "two.pub";
	(void)snprintf(dir, sizeof(dir), "%s/empty", unit_dir());
	for (size_t i = 0; i < 15; i++) {
		const struct cc_signer *signers[] = { &two, &two, &two, &two, &two };

		signers[i % 5] = bad[i / 5];
		write_bundle_of(false, signers, 5);
		CU_ASSERT_EQUAL(import_bundle(), TOOL_FAILED);
		CU_ASSERT_EQUAL(stat("printed", &info), 0);
		CU_ASSERT_EQUAL(info.st_size, 0);
		CU_ASSERT_EQUAL(rmdir(dir), 0);	/* it is empty */
	}
	write_bundle_of(false, (const struct cc_signer *[]){ &two, &two }, 2);
	CU_ASSERT_EQUAL(import_bundle(), TOOL_OK);
	expect_printed(1, 0, 0);
	verify = NULL;
}

/* Before anything of it, so there is nothing to count. */
TEST(nothing_is_imported_where_nothing_can_be_written)
{
	struct stat info;

	write_bundle(false);
	look.refused = true;
	CU_ASSERT_EQUAL(import_bundle(), TOOL_FAILED);
	look.refused = false;
	CU_ASSERT_EQUAL(stat("printed", &info), 0);
	CU_ASSERT_EQUAL(info.st_size, 0);
}
