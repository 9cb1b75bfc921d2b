/* SPDX-License-Identifier: MIT */
/* Tests of cachecore/manifest.h: what makes a manifest stale, its encoding, the memo of hashes. */
#include "cachecore/manifest.h"

#include <limits.h>
#include <stdatomic.h>

#include "tests/support/file_hash.h"
#include "tests/support/no_memory.h"
#include "tests/support/owned.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

OWNER(struct cc_manifest, cc_manifest_free)

static struct cc_manifest *manifest_of(const char *present, const char *absent)
{
	struct cc_manifest *manifest = cc_manifest_new();
	struct cmn_hash hash;
	uint64_t size;

	CU_ASSERT_PTR_NOT_NULL_FATAL(manifest);
	if (present) {
		CU_ASSERT_EQUAL_FATAL(file_hash(NULL, present, &size, &hash), CMN_OK);
		CU_ASSERT_EQUAL(cc_manifest_add_file(manifest, present, size, &hash), CMN_OK);
	}
	if (absent)
		CU_ASSERT_EQUAL(cc_manifest_add_absent(manifest, absent), CMN_OK);
	return manifest;
}

/* As long ago as the memo wants, without waiting: ctime cannot be set, so only mtime is. */
static void age(const char *path)
{
	struct timespec times[2] = { { 1000, 0 }, { 1000, 0 } };

	CU_ASSERT_EQUAL_FATAL(utimensat(AT_FDCWD, path, times, 0), 0);
}

TEST(untouched_files_verify)
{
	struct cc_file_memo *memo = cc_file_memo_new();
	OWNED(owned_cc_manifest_free) struct cc_manifest *manifest;

	unit_write("a.h", "text");
	manifest = manifest_of("a.h", "b.h");
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, memo), CMN_OK);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, memo), CMN_OK);
	CU_ASSERT_EQUAL(cc_manifest_verify(NULL, memo), CMN_OK);
	cc_file_memo_free(memo);
}

TEST(changed_content_of_the_same_size_and_time_is_stale)
{
	struct cc_file_memo *memo = cc_file_memo_new();
	OWNED(owned_cc_manifest_free) struct cc_manifest *manifest;

	unit_write("a.h", "one");
	age("a.h");
	manifest = manifest_of("a.h", NULL);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, memo), CMN_OK);
	unit_write("a.h", "two");
	age("a.h");
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, memo), CMN_STALE);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
	unit_write("a.h", "one");
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, memo), CMN_OK);
	cc_file_memo_free(memo);
}

TEST(longer_removed_or_replaced_file_is_stale)
{
	OWNED(owned_cc_manifest_free) struct cc_manifest *manifest;

	unit_write("a.h", "one");
	manifest = manifest_of("a.h", NULL);
	unit_write("a.h", "one ");
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
	CU_ASSERT_EQUAL_FATAL(unlink("a.h"), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
	CU_ASSERT_EQUAL_FATAL(mkdir("a.h", 0700), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
	CU_ASSERT_EQUAL_FATAL(rmdir("a.h"), 0);
	CU_ASSERT_EQUAL_FATAL(mkfifo("a.h", 0600), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
}

TEST(what_appears_is_stale_be_it_a_directory)
{
	OWNED(owned_cc_manifest_free) struct cc_manifest *manifest = manifest_of(NULL, "a.h");

	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(mkdir("a.h", 0700), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
	CU_ASSERT_EQUAL_FATAL(rmdir("a.h"), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
	unit_write("a.h", "");
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
	cc_manifest_free(manifest);
	manifest = manifest_of(NULL, "a.h/b.h");	/* below a file: not there */
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
}

TEST(retargeted_symbolic_link_is_stale)
{
	struct cc_file_memo *memo = cc_file_memo_new();
	OWNED(owned_cc_manifest_free) struct cc_manifest *manifest;

	unit_write("one/a.h", "one");
	unit_write("two/a.h", "two");
	CU_ASSERT_EQUAL_FATAL(symlink("one", "dir"), 0);
	manifest = manifest_of("dir/a.h", NULL);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, memo), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(unlink("dir"), 0);
	CU_ASSERT_EQUAL_FATAL(symlink("two", "dir"), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, memo), CMN_STALE);
	cc_file_memo_free(memo);
}

TEST(working_directory_is_compared)
{
	OWNED(owned_cc_manifest_free) struct cc_manifest *manifest = cc_manifest_new();
	char *current = cc_manifest_working_directory();

	CU_ASSERT_PTR_NOT_NULL_FATAL(current);
	CU_ASSERT_EQUAL(cc_manifest_add_directory(manifest, current), CMN_OK);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(chdir("/"), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
	CU_ASSERT_EQUAL_FATAL(chdir(current), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(mkdir("sub", 0700), 0);
	CU_ASSERT_EQUAL_FATAL(chdir("sub"), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
	/* One without a name. */
	CU_ASSERT_EQUAL_FATAL(rmdir("../sub"), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
	CU_ASSERT_EQUAL_FATAL(chdir(current), 0);
	free(current);
}

/* As compilers name it in debug information: PWD may only say which of its absolute names. */
TEST(the_working_directory_has_an_absolute_name)
{
	static const char *const others[] = { ".", "", "./", "../here", "/", "/nowhere", "here" };
	char *directory = cc_manifest_working_directory(), *name, *at;

	CU_ASSERT_PTR_NOT_NULL_FATAL(directory);
	CU_ASSERT_EQUAL_FATAL(mkdir("here", 0700) | symlink("here", "there") | chdir("here"), 0);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		CU_ASSERT_EQUAL(setenv("PWD", others[i], 1), 0);
		name = cc_manifest_working_directory();
		at = getcwd(NULL, 0);
		CU_ASSERT_STRING_EQUAL(name, at);
		free(at);
		free(name);
	}
	CU_ASSERT(asprintf(&name, "%s/there", directory) > 0);
	CU_ASSERT_EQUAL(setenv("PWD", name, 1), 0);
	at = cc_manifest_working_directory();
	CU_ASSERT_STRING_EQUAL(at, name);
	free(at);
	free(name);
	CU_ASSERT_EQUAL(setenv("PWD", directory, 1), 0);
	CU_ASSERT_EQUAL(chdir(directory), 0);
	free(directory);
}

TEST(without_memory_nothing_holds)
{
	OWNED(owned_cc_manifest_free) struct cc_manifest *manifest = manifest_of(NULL, "a.h");
	char path[32];

	/* More than need none, and which are the same file is to be compared. */
	cc_manifest_identify(manifest, &(struct cc_file_identity){ 0 });
	for (int i = 0; i < 40; i++) {
		(void)snprintf(path, sizeof(path), "absent-%d", i);
		CU_ASSERT_EQUAL(cc_manifest_add_absent(manifest, path), CMN_OK);
	}
	calloc_fails = true;
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
}

TEST(relative_paths_are_the_lookers)
{
	OWNED(owned_cc_manifest_free) struct cc_manifest *manifest;

	unit_write("a.h", "one");
	unit_write("sub/a.h", "two");
	manifest = manifest_of("a.h", NULL);
	CU_ASSERT_EQUAL_FATAL(chdir("sub"), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
}

TEST(contradiction_is_noticed)
{
	OWNED(owned_cc_manifest_free) struct cc_manifest *manifest = cc_manifest_new();
	struct cmn_hash one = cmn_hash_of("1", 1), two = cmn_hash_of("2", 1);

	CU_ASSERT_EQUAL(cc_manifest_add_file(manifest, "a", 1, &one), CMN_OK);
	CU_ASSERT_EQUAL(cc_manifest_add_file(manifest, "a", 1, &one), CMN_OK);
	CU_ASSERT_EQUAL(cc_manifest_add_file(manifest, "a", 1, &two), CMN_STALE);
	CU_ASSERT_EQUAL(cc_manifest_add_file(manifest, "a", 2, &one), CMN_STALE);
	CU_ASSERT_EQUAL(cc_manifest_add_absent(manifest, "a"), CMN_STALE);
	/* Of equal numbers: another kind all the same. */
	CU_ASSERT_EQUAL(cc_manifest_add_absent(manifest, "b"), CMN_OK);
	CU_ASSERT_EQUAL(cc_manifest_add_place(manifest, "b"), CMN_STALE);
	CU_ASSERT_EQUAL(cc_manifest_add_absent(manifest, ""), CMN_ERR_INVALID);
	CU_ASSERT_EQUAL(cc_manifest_count(manifest), 2);
	CU_ASSERT_EQUAL(cc_manifest_count(NULL), 0);
	cc_manifest_free(NULL);
}

TEST(each_name_is_its_own_though_it_begins_another)
{
	OWNED(owned_cc_manifest_free) struct cc_manifest *manifest = cc_manifest_new();
	char path[256];

	memset(path, 'a', sizeof(path));
	for (size_t len = sizeof(path); len-- > 1;) {
		path[len] = '\0';
		CU_ASSERT_EQUAL(cc_manifest_add_absent(manifest, path), CMN_OK);
	}
	CU_ASSERT_EQUAL(cc_manifest_count(manifest), sizeof(path) - 1);
}

TEST(encoding_round_trips_and_every_truncation_is_corrupt)
{
	static const char unset[2 + sizeof(uint64_t) + CMN_HASH_SIZE] = "$X";	/* all versions compare the hash */
	OWNED(cmn_buffer_release) struct cmn_buffer encoded = { 0 };
	struct cc_manifest *manifest, *decoded = NULL;
	struct cc_manifest_item item;

	unit_write("a.h", "text");
	manifest = manifest_of("a.h", "b.h");
	CU_ASSERT_EQUAL(cc_manifest_add_directory(manifest, "/c"), CMN_OK);
	CU_ASSERT_EQUAL(cc_manifest_add_variable(manifest, "X", NULL), CMN_OK);
	cc_manifest_encode(manifest, &encoded);
	CU_ASSERT_FALSE_FATAL(encoded.failed);
	CU_ASSERT_PTR_NOT_NULL(memmem(encoded.data, encoded.len, unset, sizeof(unset)));
	CU_ASSERT_EQUAL_FATAL(cc_manifest_decode(cmn_buffer_view(&encoded), &decoded), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(cc_manifest_count(decoded), 4);
	item = cc_manifest_get(decoded, 0);
	CU_ASSERT_EQUAL(item.kind, CC_DEPENDENCY_FILE);
	CU_ASSERT_STRING_EQUAL(item.path, "a.h");
	CU_ASSERT_EQUAL(item.size, 4);
	CU_ASSERT_EQUAL(cc_manifest_get(decoded, 1).kind, CC_DEPENDENCY_ABSENT);
	CU_ASSERT_STRING_EQUAL(cc_manifest_get(decoded, 2).path, "/c");
	cc_manifest_free(decoded);
	for (size_t len = 0; len < encoded.len; len++) {
		decoded = NULL;
		CU_ASSERT_EQUAL(cc_manifest_decode((struct cmn_view){ encoded.data, len }, &decoded),
				CMN_ERR_CORRUPT);
		CU_ASSERT_PTR_NULL(decoded);
	}
	/* Any one bit: an error or another manifest, never a crash. */
	for (size_t bit = 0; bit < 8 * encoded.len; bit++) {
		encoded.data[bit / 8] ^= (uint8_t)(1 << (bit % 8));
		if (cc_manifest_decode(cmn_buffer_view(&encoded), &decoded) == CMN_OK)
			cc_manifest_free(decoded);
		encoded.data[bit / 8] ^= (uint8_t)(1 << (bit % 8));
	}
	for (int version = 0; version <= CC_MANIFEST_VERSION_PATHS + 1; version += CC_MANIFEST_VERSION_PATHS + 1) {
		encoded.data[0] = (uint8_t)version;
		CU_ASSERT_EQUAL(cc_manifest_decode(cmn_buffer_view(&encoded), &decoded), CMN_ERR_VERSION);
	}
	cc_manifest_free(manifest);
}

/* What stat says of this file, for the calls of the manifest and of its memo, too. */
static const char *faked;	/* NULL: all is as it is */
static void (*fake)(struct stat *info);	/* NULL: that it may not be looked at */

WRAPPED(int, stat, (const char *path, struct stat *ret))
{
	int result = __real_stat(path, ret);

	if (!faked || strcmp(path, faked) != 0)
		return result;
	if (fake && result == 0)
		fake(ret);
	if (!fake)
		errno = EACCES;
	return fake ? result : -1;
}

static struct cc_file_identity identity_of(const char *path)
{
	struct stat info;

	CU_ASSERT_EQUAL_FATAL(stat(path, &info), 0);
	return cc_file_identity_of(&info);
}

static void with_other_size(struct stat *info) { info->st_size++; }
static void with_other_mtime(struct stat *info) { info->st_mtim.tv_nsec ^= 1; }
static void with_other_ctime(struct stat *info) { info->st_ctim.tv_nsec ^= 1; }
static void as_directory(struct stat *info) { info->st_mode = S_IFDIR | 0700; }
static void on_other_device(struct stat *info) { info->st_dev++; }

static struct { uint64_t device, inode; } distance;
static void elsewhere(struct stat *info)
{
	info->st_dev += distance.device;
	info->st_ino += distance.inode;
}

static enum cmn_status verify_with(const struct cc_manifest *manifest, const char *path,
				   void (*how)(struct stat *info))
{
	enum cmn_status status;

	faked = path;
	fake = how;
	status = cc_manifest_verify(manifest, NULL);
	faked = NULL;
	return status;
}

/* Until what is changed has a later time: file systems take that of the kernel's last tick. */
static void wait_for_a_tick(void)
{
	const struct timespec pause = { 0, 20000000 };

	CU_ASSERT_EQUAL(nanosleep(&pause, NULL), 0);
}

/* What nobody read: by its size and times. */
TEST(what_was_seen_is_compared)
{
	for (int with_ctime = 0; with_ctime < 2; with_ctime++) {
		struct cc_manifest *manifest = cc_manifest_new(), *decoded = NULL;
		OWNED(cmn_buffer_release) struct cmn_buffer encoded = { 0 };
		struct cc_file_identity identity;

		unit_write("a.h", "text");
		identity = identity_of("a.h");
		CU_ASSERT_EQUAL(cc_manifest_add_seen(manifest, "a.h", &identity, with_ctime), CMN_OK);
		cc_manifest_encode(manifest, &encoded);
		CU_ASSERT_EQUAL_FATAL(cc_manifest_decode(cmn_buffer_view(&encoded), &decoded), CMN_OK);
		CU_ASSERT_EQUAL(cc_manifest_get(decoded, 0).kind, CC_DEPENDENCY_SEEN);
		CU_ASSERT_EQUAL(cc_manifest_verify(decoded, NULL), CMN_OK);
		CU_ASSERT_EQUAL(verify_with(decoded, "a.h", with_other_size), CMN_STALE);
		CU_ASSERT_EQUAL(verify_with(decoded, "a.h", with_other_mtime), CMN_STALE);
		CU_ASSERT_EQUAL(verify_with(decoded, "a.h", as_directory), CMN_STALE);
		CU_ASSERT_EQUAL(verify_with(decoded, "a.h", with_other_ctime), with_ctime ? CMN_STALE : CMN_OK);
		CU_ASSERT_EQUAL(verify_with(decoded, "a.h", NULL), CMN_STALE);
		/* By whichever name it is reached. */
		wait_for_a_tick();
		CU_ASSERT_EQUAL(rename("a.h", "b.h"), 0);
		CU_ASSERT_EQUAL(cc_manifest_verify(decoded, NULL), CMN_STALE);
		CU_ASSERT_EQUAL(symlink("b.h", "a.h"), 0);
		CU_ASSERT_EQUAL(cc_manifest_verify(decoded, NULL), with_ctime ? CMN_STALE : CMN_OK);
		CU_ASSERT_EQUAL(unlink("a.h"), 0);
		cc_manifest_free(decoded);
		cc_manifest_free(manifest);
	}
}

/* As a driver's own files in another image, or on another machine. */
TEST(a_copy_of_what_was_seen_holds_by_its_content)
{
	const struct cmn_hash hash = cmn_hash_of("text", 4);
	struct cc_manifest *manifest = cc_manifest_new(), *decoded = NULL;
	OWNED(cmn_buffer_release) struct cmn_buffer encoded = { 0 };
	struct cc_file_identity identity;

	unit_write("a.h", "text");
	unit_write("b.h", "text");
	identity = identity_of("b.h");
	CU_ASSERT_EQUAL(cc_manifest_add_seen(manifest, "b.h", &identity, true), CMN_OK);
	identity = identity_of("a.h");
	CU_ASSERT_EQUAL(cc_manifest_add_seen(manifest, "a.h", &identity, true), CMN_OK);
	cc_manifest_identify(manifest, &identity);
	cc_manifest_set_content(manifest, &hash);
	cc_manifest_encode(manifest, &encoded);
	CU_ASSERT_EQUAL_FATAL(cc_manifest_decode(cmn_buffer_view(&encoded), &decoded), CMN_OK);
	CU_ASSERT_EQUAL(cc_manifest_count(decoded), 2);
	CU_ASSERT_EQUAL(cc_manifest_verify(decoded, NULL), CMN_OK);
	CU_ASSERT_EQUAL(verify_with(decoded, "a.h", with_other_ctime), CMN_OK);
	CU_ASSERT_EQUAL(verify_with(decoded, "b.h", with_other_ctime), CMN_STALE);
	wait_for_a_tick();
	unit_write("copy.h", "text");
	CU_ASSERT_EQUAL(rename("copy.h", "a.h"), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(decoded, NULL), CMN_OK);
	unit_write("a.h", "Text");
	CU_ASSERT_EQUAL(cc_manifest_verify(decoded, NULL), CMN_STALE);
	unit_write("a.h", "text and more");
	CU_ASSERT_EQUAL(cc_manifest_verify(decoded, NULL), CMN_STALE);
	CU_ASSERT_EQUAL(unlink("a.h"), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(decoded, NULL), CMN_STALE);
	cc_manifest_free(decoded);
	cc_manifest_free(manifest);
}

TEST(a_directory_may_vanish_and_be_nothing_else)
{
	OWNED(owned_cc_manifest_free) struct cc_manifest *manifest = cc_manifest_new();

	CU_ASSERT_EQUAL(mkdir("d", 0700), 0);
	CU_ASSERT_EQUAL(cc_manifest_add_place(manifest, "d"), CMN_OK);
	CU_ASSERT_EQUAL(cc_manifest_get(manifest, 0).size, 0);
	CU_ASSERT_EQUAL(cc_manifest_add_made(manifest, "d/a"), CMN_OK);
	CU_ASSERT_TRUE(cc_manifest_was_made(manifest, "d/a") && !cc_manifest_was_made(manifest, "d"));
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
	CU_ASSERT_EQUAL(verify_with(manifest, "d", NULL), CMN_OK);	/* EACCES */
	CU_ASSERT_EQUAL(rmdir("d"), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
	unit_write("d", "");
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
}

/* As the cache of a driver in the home of the user who compiled. */
TEST(a_directory_of_another_user_holds_and_nothing_in_it_does)
{
	struct cc_manifest *manifest = cc_manifest_new(), *inside = manifest_of(NULL, "home/d/a.h");
	uid_t user = geteuid();

	CU_ASSERT_EQUAL(mkdir("home", 0700), 0);
	CU_ASSERT_EQUAL(mkdir("home/d", 0700), 0);
	CU_ASSERT_EQUAL(cc_manifest_add_place(manifest, "home/d"), CMN_OK);
	CU_ASSERT_EQUAL(cc_manifest_verify(inside, NULL), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(user == 0 ? seteuid(12345) : chmod("home", 0), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
	CU_ASSERT_EQUAL(cc_manifest_verify(inside, NULL), CMN_STALE);
	CU_ASSERT_EQUAL_FATAL(user == 0 ? seteuid(user) : chmod("home", 0700), 0);
	CU_ASSERT_EQUAL(rmdir("home/d"), 0);
	CU_ASSERT_EQUAL(symlink("d", "home/d"), 0);	/* leads nowhere, which is an error of its own */
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
	cc_manifest_free(inside);
	cc_manifest_free(manifest);
}

TEST(an_absence_is_known_or_it_is_none)
{
	OWNED(owned_cc_manifest_free) struct cc_manifest *manifest = manifest_of(NULL, "a.h");

	CU_ASSERT_EQUAL(verify_with(manifest, "a.h", NULL), CMN_STALE);
	CU_ASSERT_EQUAL(symlink("nothing", "a.h"), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
	CU_ASSERT_EQUAL(unlink("a.h"), 0);
	CU_ASSERT_EQUAL(symlink("a.h", "a.h"), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
}

static void expect_change(const struct cc_manifest *manifest, enum cc_manifest_how how, const char *path)
{
	struct cc_manifest_change change = { CC_MANIFEST_SAME, "" };

	CU_ASSERT_EQUAL(cc_manifest_compare(manifest, NULL, &change), CMN_STALE);
	CU_ASSERT_EQUAL(change.how, how);
	CU_ASSERT_STRING_EQUAL(change.path, path);
}

static void unit_link(const char *from, const char *to)
{
	CU_ASSERT_EQUAL_FATAL(link(from, to), 0);
}

static void add_identified(struct cc_manifest *manifest, const char *path, enum cc_dependency kind)
{
	struct cc_file_identity identity = identity_of(path);
	const struct cmn_hash hash = cmn_hash_of("text", 4);
	enum cmn_status status;

	if (kind == CC_DEPENDENCY_FILE)
		status = cc_manifest_add_file(manifest, path, 4, &hash);
	else if (kind == CC_DEPENDENCY_SEEN)
		status = cc_manifest_add_seen(manifest, path, &identity, false);
	else
		status = cc_manifest_add_place(manifest, path);
	CU_ASSERT_EQUAL(status, CMN_OK);
	cc_manifest_identify(manifest, &identity);
}

/* Three names of which two are one: in the manifest, encoded and read again. */
static struct cc_manifest *two_names_and_one(enum cc_dependency kind)
{
	static const char *const names[] = { "a", "b", "c" };
	struct cc_manifest *manifest = cc_manifest_new(), *decoded = NULL;
	OWNED(cmn_buffer_release) struct cmn_buffer encoded = { 0 };

	for (size_t i = 0; i < 3; i++)
		add_identified(manifest, names[i], kind);
	CU_ASSERT_EQUAL(cc_manifest_get(manifest, 2).same, 0);
	cc_manifest_encode(manifest, &encoded);
	CU_ASSERT_EQUAL_FATAL(cc_manifest_decode(cmn_buffer_view(&encoded), &decoded), CMN_OK);
	CU_ASSERT_EQUAL(cc_manifest_get(decoded, 1).same, 1);
	CU_ASSERT_EQUAL(cc_manifest_get(decoded, 2).same, 0);
	cc_manifest_free(manifest);
	return decoded;
}

static bool names_equal(const char *a, const char *b)
{
	struct cc_manifest_names names[2];

	CU_ASSERT_FATAL(cc_manifest_read_names(a, &names[0]) && cc_manifest_read_names(b, &names[1]));
	return cc_manifest_names_equal(&names[0], &names[1]);
}

TEST(a_directory_is_compared_by_the_names_in_it)
{
	OWNED(owned_cc_manifest_free) struct cc_manifest *manifest = cc_manifest_new();
	struct cc_manifest *decoded = NULL;
	OWNED(cmn_buffer_release) struct cmn_buffer encoded = { 0 };
	struct cc_manifest_names names;

	unit_write("d/one", "text");
	unit_write("d/two", "text");
	unit_write("e/two", "other");
	unit_write("e/one", "other");
	CU_ASSERT(names_equal("d/", "e/"));
	CU_ASSERT_FATAL(cc_manifest_read_names("d/", &names));
	CU_ASSERT_EQUAL(names.count, 2);
	CU_ASSERT_EQUAL(cc_manifest_add_names(manifest, "d/", &names), CMN_OK);
	cc_manifest_encode(manifest, &encoded);
	CU_ASSERT_EQUAL_FATAL(cc_manifest_decode(cmn_buffer_view(&encoded), &decoded), CMN_OK);
	CU_ASSERT_EQUAL(cc_manifest_verify(decoded, NULL), CMN_OK);
	/* A directory where a file was; a link; another name; one more; none. */
	CU_ASSERT_EQUAL(system("rm e/one && mkdir e/one"), 0);
	CU_ASSERT_FALSE(names_equal("d/", "e/"));
	CU_ASSERT_EQUAL(system("rmdir e/one && ln -s two e/one"), 0);
	CU_ASSERT_FALSE(names_equal("d/", "e/"));
	CU_ASSERT_EQUAL(system("mv d/one d/neo"), 0);
	expect_change(decoded, CC_MANIFEST_CHANGED, "d/");
	CU_ASSERT_EQUAL(system("cp d/neo d/one"), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(decoded, NULL), CMN_STALE);
	CU_ASSERT_EQUAL(system("rm d/neo"), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(decoded, NULL), CMN_OK);
	CU_ASSERT_EQUAL(system("rm -r d"), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(decoded, NULL), CMN_STALE);
	cc_manifest_free(decoded);
	/* No directory. */
	CU_ASSERT_FALSE(cc_manifest_read_names("e/two", &names));
}

TEST(which_names_are_one_is_compared)
{
	static const enum cc_dependency kinds[] = { CC_DEPENDENCY_FILE, CC_DEPENDENCY_SEEN };

	for (size_t i = 0; i < 2; i++) {
		OWNED(owned_cc_manifest_free) struct cc_manifest *manifest;

		unit_write("a", "text");
		unit_write("b", "text");
		CU_ASSERT_EQUAL(system("touch -r a b"), 0);
		unit_link("a", "c");
		manifest = two_names_and_one(kinds[i]);
		CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
		/* Numbers of inodes say nothing without their device. */
		CU_ASSERT_EQUAL(verify_with(manifest, "c", on_other_device), CMN_STALE);
		/* Two that are one now. */
		CU_ASSERT_EQUAL(unlink("b"), 0);
		unit_link("a", "b");
		expect_change(manifest, CC_MANIFEST_ANOTHER, "b");
		/* One that is two now. */
		CU_ASSERT_EQUAL(system("cp -p a d && mv d b && cp -p a d && mv d c"), 0);
		expect_change(manifest, CC_MANIFEST_ANOTHER, "c");
		CU_ASSERT_EQUAL(system("rm a b c"), 0);
	}
}

TEST(which_directories_are_one_is_compared)
{
	OWNED(owned_cc_manifest_free) struct cc_manifest *manifest;

	CU_ASSERT_EQUAL(system("mkdir a b && ln -s a c"), 0);
	manifest = two_names_and_one(CC_DEPENDENCY_PLACE);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
	CU_ASSERT_EQUAL(system("rm c && ln -s b c"), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
	/* Nobody looked into one of the two, which may be the one that is left: whichever that is. */
	CU_ASSERT_EQUAL(system("rm c"), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
	CU_ASSERT_EQUAL(system("mkdir c"), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
	CU_ASSERT_EQUAL(system("rmdir c && mv a c"), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
	CU_ASSERT_EQUAL(system("mv c a && ln -s a c"), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
}

/* Of two devices one number of an inode is two files. */
TEST(inodes_are_of_a_device)
{
	OWNED(owned_cc_manifest_free) struct cc_manifest *manifest = cc_manifest_new();
	const struct cmn_hash hash = cmn_hash_of("text", 4);
	struct cc_file_identity identity;

	unit_write("a", "text");
	unit_link("a", "b");
	unit_link("a", "c");
	identity = identity_of("a");
	CU_ASSERT_EQUAL(cc_manifest_add_file(manifest, "a", 4, &hash), CMN_OK);
	cc_manifest_identify(manifest, &identity);
	identity.device++;
	CU_ASSERT_EQUAL(cc_manifest_add_file(manifest, "b", 4, &hash), CMN_OK);
	cc_manifest_identify(manifest, &identity);
	identity.device--;
	CU_ASSERT_EQUAL(cc_manifest_add_file(manifest, "c", 4, &hash), CMN_OK);
	cc_manifest_identify(manifest, &identity);
	CU_ASSERT_EQUAL(cc_manifest_get(manifest, 1).same, 1);
	CU_ASSERT_EQUAL(cc_manifest_get(manifest, 2).same, 0);
	CU_ASSERT_EQUAL(verify_with(manifest, "b", on_other_device), CMN_OK);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
	/* Also where the table has a place for one of them where it has one for the other. */
	for (uint64_t i = 1; i < 300; i++) {
		distance.device = i;
		distance.inode = 0;
		CU_ASSERT_EQUAL(verify_with(manifest, "b", elsewhere), CMN_OK);
		distance.device = 0;
		distance.inode = i << 8;
		CU_ASSERT_EQUAL(verify_with(manifest, "b", elsewhere), CMN_OK);
		distance.inode = i << 32;
		CU_ASSERT_EQUAL(verify_with(manifest, "b", elsewhere), CMN_OK);
	}
}

/* As entries of earlier versions have it. */
TEST(where_no_names_were_compared_none_are)
{
	OWNED(owned_cc_manifest_free) struct cc_manifest *manifest;
	struct cmn_hash hash;

	unit_write("a", "text");
	manifest = manifest_of("a", NULL);
	unit_link("a", "b");
	hash = cmn_hash_of("text", 4);
	CU_ASSERT_EQUAL(cc_manifest_add_file(manifest, "b", 4, &hash), CMN_OK);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
}

static void append(struct cmn_buffer *encoded, enum cc_dependency kind, const char *path, uint64_t size)
{
	static const struct cmn_hash none;

	cmn_buffer_append_u8(encoded, (uint8_t)kind);
	cmn_buffer_append_sized(encoded, path, strlen(path));
	cmn_buffer_append_u64(encoded, size);
	cmn_buffer_append(encoded, none.bytes, CMN_HASH_SIZE);
}

/* Sound checksums do not make a manifest true. */
TEST(what_no_manifest_says_is_corrupt)
{
	static const struct {
		uint32_t count;
		struct { enum cc_dependency kind; const char *path; uint64_t size; } items[5];
		enum cmn_status status;
	} rows[] = {
		{ 2, { { 2, "a", 0 }, { 2, "b", 0 } }, CMN_OK },
		{ 1, { { 2, "a", 0 }, { 2, "b", 0 } }, CMN_ERR_CORRUPT },	/* bytes follow */
		{ 3, { { 2, "a", 0 }, { 2, "b", 0 } }, CMN_ERR_CORRUPT },
		{ UINT32_MAX, { { 2, "a", 0 }, { 2, "b", 0 } }, CMN_ERR_CORRUPT },
		{ 2, { { 2, "a", 0 }, { 2, "a", 0 } }, CMN_ERR_CORRUPT },	/* twice */
		{ 2, { { 2, "a", 0 }, { 4, "a", 0 } }, CMN_ERR_CORRUPT },	/* and otherwise */
		{ 2, { { 0, "a", 0 }, { 2, "b", 0 } }, CMN_ERR_CORRUPT },
		{ 2, { { 2, "a", 0 }, { 8, "b", 0 } }, CMN_ERR_CORRUPT },	/* no variable's name */
		{ 2, { { 2, "a", 0 }, { 8, "$b", 0 } }, CMN_OK },
		{ 2, { { 2, "a", 0 }, { 9, "b/", 0 } }, CMN_OK },
		{ 2, { { 2, "a", 0 }, { 10, "b", 0 } }, CMN_ERR_CORRUPT },
		{ 2, { { 6, "a", 4 }, { 7, "a", 4 } }, CMN_OK },
		{ 2, { { 6, "a", 4 }, { 7, "b", 4 } }, CMN_ERR_CORRUPT },
		{ 2, { { 6, "a", 4 }, { 7, "a", 5 } }, CMN_ERR_CORRUPT },	/* of another size */
		{ 2, { { 1, "a", 4 }, { 7, "a", 4 } }, CMN_ERR_CORRUPT },	/* not seen */
		{ 3, { { 6, "a", 4 }, { 7, "a", 4 }, { 7, "a", 4 } }, CMN_ERR_CORRUPT },
		{ 2, { { 2, "", 0 }, { 2, "b", 0 } }, CMN_ERR_CORRUPT },
		{ 3, { { 4, "a", 0 }, { 4, "b", 0 }, { 5, "b", 0 } }, CMN_OK },
		{ 3, { { 4, "a", 0 }, { 4, "b", 0 }, { 5, "a", 1 } }, CMN_ERR_CORRUPT },	/* a later one */
		{ 3, { { 4, "a", 0 }, { 4, "b", 0 }, { 5, "a", 9 } }, CMN_ERR_CORRUPT },
		{ 3, { { 4, "a", 0 }, { 4, "b", 0 }, { 5, "c", 0 } }, CMN_ERR_CORRUPT },	/* no such path */
		{ 3, { { 4, "a", 0 }, { 4, "b", 0 }, { 5, "a", UINT64_MAX } }, CMN_OK },
		/* The third is the second, which is itself the first. */
		{ 5, { { 4, "a", 0 }, { 4, "b", 0 }, { 4, "c", 0 }, { 5, "b", 0 }, { 5, "c", 1 } }, CMN_ERR_CORRUPT },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		OWNED(cmn_buffer_release) struct cmn_buffer encoded = { 0 };
		struct cc_manifest *decoded = NULL;

		cmn_buffer_append_u32(&encoded, CC_MANIFEST_VERSION);
		cmn_buffer_append_u32(&encoded, rows[i].count);
		for (size_t j = 0; j < 5 && rows[i].items[j].path; j++)
			append(&encoded, rows[i].items[j].kind, rows[i].items[j].path, rows[i].items[j].size);
		CU_ASSERT_EQUAL(cc_manifest_decode(cmn_buffer_view(&encoded), &decoded), rows[i].status);
		if (rows[i].status == CMN_OK)
			cc_manifest_free(decoded);
	}
}

TEST(path_with_a_nul_is_corrupt)
{
	struct cc_manifest *manifest = manifest_of(NULL, "abc"), *decoded = NULL;
	OWNED(cmn_buffer_release) struct cmn_buffer encoded = { 0 };
	uint8_t *at;

	cc_manifest_encode(manifest, &encoded);
	at = memmem(encoded.data, encoded.len, "abc", 3);
	CU_ASSERT_PTR_NOT_NULL_FATAL(at);
	at[1] = 0;
	CU_ASSERT_EQUAL(cc_manifest_decode(cmn_buffer_view(&encoded), &decoded), CMN_ERR_CORRUPT);
	cc_manifest_free(manifest);
}

static atomic_uint failures;

static void *verify_many_times(void *ctx)
{
	void **args = ctx;

	for (int i = 0; i < 300; i++)
		atomic_fetch_add(&failures, cc_manifest_verify(args[0], args[1]) != CMN_OK);
	return NULL;
}

TEST(threads_share_a_memo)
{
	void *args[2] = { cc_manifest_new(), cc_file_memo_new() };
	struct cmn_hash hash;
	uint64_t size;

	/* Some old enough for the memo, one too young. */
	static const char *const paths[] = { "/etc/passwd", "/etc/group", "a.h" };

	unit_write("a.h", "text");
	for (size_t i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL_FATAL(file_hash(args[1], paths[i], &size, &hash), CMN_OK);
		CU_ASSERT_EQUAL(cc_manifest_add_file(args[0], paths[i], size, &hash), CMN_OK);
	}
	unit_run_threads(4, verify_many_times, args, 0);
	CU_ASSERT_EQUAL(atomic_load(&failures), 0);
	cc_manifest_free(args[0]);
	cc_file_memo_free(args[1]);
}

TEST(what_changed_is_told)
{
	OWNED(owned_cc_manifest_free) struct cc_manifest *manifest = cc_manifest_new();
	struct cc_manifest_change change = { CC_MANIFEST_VANISHED, "x" };
	struct cmn_hash hash = cmn_hash_of("one", 3);
	char far[600];

	CU_ASSERT_PTR_NOT_NULL_FATAL(manifest);
	CU_ASSERT_EQUAL(cc_manifest_compare(NULL, NULL, &change), CMN_OK);
	CU_ASSERT_EQUAL(change.how, CC_MANIFEST_SAME);
	unit_write("a.h", "one");
	CU_ASSERT_EQUAL(cc_manifest_add_file(manifest, "a.h", 3, &hash), CMN_OK);
	CU_ASSERT_EQUAL(cc_manifest_add_absent(manifest, "b.h"), CMN_OK);
	CU_ASSERT_EQUAL(cc_manifest_compare(manifest, NULL, &change), CMN_OK);
	unit_write("b.h", "");
	expect_change(manifest, CC_MANIFEST_APPEARED, "b.h");
	unit_write("a.h", "two");
	expect_change(manifest, CC_MANIFEST_CHANGED, "a.h");
	CU_ASSERT_EQUAL(unlink("a.h"), 0);
	CU_ASSERT_EQUAL(cc_manifest_compare(manifest, NULL, &change), CMN_STALE);
	CU_ASSERT_EQUAL(change.how, CC_MANIFEST_VANISHED);
	cc_manifest_free(manifest);
	manifest = cc_manifest_new();
	CU_ASSERT_PTR_NOT_NULL_FATAL(manifest);
	memset(far, 'd', sizeof(far));
	memcpy(far + sizeof(far) - 5, "/end", 5);
	CU_ASSERT_EQUAL(cc_manifest_add_directory(manifest, far), CMN_OK);
	expect_change(manifest, CC_MANIFEST_DIRECTORY, far + sizeof(far) - sizeof(change.path));
}

/* More than fit on a stack, and so many that some share a place in a table; each by two names. */
TEST(names_of_one_file_among_many)
{
	enum { FILES = 200 };
	OWNED(owned_cc_manifest_free) struct cc_manifest *manifest = cc_manifest_new();
	struct cmn_hash hash = cmn_hash_of("text", 4);
	char first[64], path[64];

	CU_ASSERT_PTR_NOT_NULL_FATAL(manifest);
	for (int i = 0; i < 2 * FILES; i++) {
		struct cc_file_identity identity;

		(void)snprintf(path, sizeof(path), "many/%d", i);
		(void)snprintf(first, sizeof(first), "many/%d", i - FILES);
		if (i < FILES)
			unit_write(path, "text");
		else
			CU_ASSERT_EQUAL(link(first, path), 0);
		identity = identity_of(path);
		CU_ASSERT_EQUAL(cc_manifest_add_file(manifest, path, 4, &hash), CMN_OK);
		cc_manifest_identify(manifest, &identity);
	}
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
	for (int i = FILES; i < 2 * FILES; i += 7) {
		(void)snprintf(path, sizeof(path), "many/%d", i);
		(void)snprintf(first, sizeof(first), "many/%d", i - FILES);
		/* Another file with the same text. */
		CU_ASSERT_EQUAL(unlink(path), 0);
		unit_write(path, "text");
		CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
		/* Another one's. */
		CU_ASSERT_EQUAL(unlink(path), 0);
		CU_ASSERT_EQUAL(link(i == FILES ? "many/1" : "many/0", path), 0);
		CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
		CU_ASSERT_EQUAL(unlink(path), 0);
		CU_ASSERT_EQUAL(link(first, path), 0);
	}
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
}

static struct cc_include_paths paths_of(const char *options)
{
	struct cmn_buffer text = { 0 };
	struct cc_include_paths ret;

	cc_include_paths_take(options, &text, &ret);
	cmn_buffer_release(&text);
	return ret;
}

/* A header, an absence and a directory below the first of two include paths, and one of neither. */
static struct cc_manifest *below(const struct cc_include_paths *paths, const char *first, bool named)
{
	struct cc_manifest *manifest = cc_manifest_new(), *more = cc_manifest_new();
	char path[512];
	struct cmn_hash hash;
	uint64_t size;

	CU_ASSERT_EQUAL(cc_manifest_add_include_paths(manifest, paths, named), CMN_OK);
	(void)snprintf(path, sizeof(path), "%s/h.h", first);
	CU_ASSERT_EQUAL_FATAL(file_hash(NULL, path, &size, &hash), CMN_OK);
	CU_ASSERT_EQUAL(cc_manifest_add_file(more, path, size, &hash), CMN_OK);
	(void)snprintf(path, sizeof(path), "%s/absent.h", first);
	CU_ASSERT_EQUAL(cc_manifest_add_absent(more, path), CMN_OK);
	CU_ASSERT_EQUAL(cc_manifest_add_place(more, first), CMN_OK);
	CU_ASSERT_EQUAL(cc_manifest_add_absent(more, "elsewhere.h"), CMN_OK);
	CU_ASSERT_EQUAL(cc_manifest_add_all(manifest, more), CMN_OK);
	cc_manifest_free(more);
	return manifest;
}

/* What a look-up with these options says, of a manifest that was stored. */
static enum cc_manifest_how with(const struct cc_manifest *manifest, const char *options)
{
	struct cc_include_paths paths = paths_of(options);
	struct cmn_buffer encoded = { 0 };
	struct cc_manifest_change change;
	struct cc_manifest *decoded;
	enum cmn_status status;

	cc_manifest_encode(manifest, &encoded);
	CU_ASSERT_EQUAL_FATAL(cc_manifest_decode(cmn_buffer_view(&encoded), &decoded), CMN_OK);
	status = cc_manifest_compare_at(decoded, &paths, NULL, &change);
	CU_ASSERT_EQUAL(status, cc_manifest_compare_at(manifest, &paths, NULL, NULL));
	CU_ASSERT_EQUAL(status == CMN_OK, change.how == CC_MANIFEST_SAME);
	cc_manifest_free(decoded);
	cmn_buffer_release(&encoded);
	return change.how;
}

TEST(what_lies_below_an_include_path_is_looked_for_below_the_present_one)
{
	char here[300], options[1024], others[1024], first[400];
	struct cmn_view found[CC_INCLUDE_PATHS];
	struct cc_include_paths paths;

	CU_ASSERT_PTR_NOT_NULL_FATAL(getcwd(here, sizeof(here)));
	(void)snprintf(first, sizeof(first), "%s/a", here);
	(void)snprintf(options, sizeof(options), "-I%s/a -I%s/b", here, here);
	(void)snprintf(others, sizeof(others), "-I%s/much/longer -I%s/b", here, here);
	paths = paths_of(options);
	for (int named = 0; named < 2; named++) {
		OWNED(owned_cc_manifest_free) struct cc_manifest *manifest;

		CU_ASSERT_EQUAL(system("rm -rf a much elsewhere.h"), 0);
		unit_write("a/h.h", "text");
		unit_write("much/longer/h.h", "text");
		manifest = below(&paths, first, named);
		CU_ASSERT_EQUAL(cc_manifest_moves(manifest), !named);
		CU_ASSERT_EQUAL(cc_manifest_include_paths(manifest, found), 2);
		CU_ASSERT(cmn_view_equal(found[0], cmn_view_of(first)));
		CU_ASSERT_EQUAL(with(manifest, options), CC_MANIFEST_SAME);
		CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
		CU_ASSERT_EQUAL(with(manifest, others), named ? CC_MANIFEST_INCLUDE_PATH : CC_MANIFEST_SAME);
		/* Fewer than there were: the key would tell. */
		CU_ASSERT_EQUAL(with(manifest, "-I/a"), CC_MANIFEST_INCLUDE_PATH);
		if (named)
			continue;
		/* Where the first build was, nothing is left. */
		CU_ASSERT_EQUAL(system("rm -r a"), 0);
		CU_ASSERT_EQUAL(with(manifest, others), CC_MANIFEST_SAME);
		CU_ASSERT_EQUAL(with(manifest, options), CC_MANIFEST_VANISHED);
		unit_write("much/longer/absent.h", "");
		CU_ASSERT_EQUAL(with(manifest, others), CC_MANIFEST_APPEARED);
		CU_ASSERT_EQUAL(unlink("much/longer/absent.h"), 0);
		unit_write("much/longer/h.h", "next");
		CU_ASSERT_EQUAL(with(manifest, others), CC_MANIFEST_CHANGED);
		unit_write("much/longer/h.h", "text");
		unit_write("elsewhere.h", "");
		CU_ASSERT_EQUAL(with(manifest, others), CC_MANIFEST_APPEARED);
		cc_manifest_name_include_paths(manifest);
		CU_ASSERT_FALSE(cc_manifest_moves(manifest));
		CU_ASSERT_EQUAL(with(manifest, others), CC_MANIFEST_INCLUDE_PATH);
	}
	CU_ASSERT_FALSE(cc_manifest_moves(NULL));
	CU_ASSERT_EQUAL(cc_manifest_include_paths(NULL, found), 0);
}

/* Together they would be longer than any path. */
TEST(what_cannot_be_looked_for_does_not_hold)
{
	OWNED(owned_cc_manifest_free) struct cc_manifest *manifest = cc_manifest_new();
	struct cc_include_paths paths = paths_of("-I/a");
	char path[PATH_MAX], options[PATH_MAX];

	(void)snprintf(path, sizeof(path), "/a/%0*d", PATH_MAX - 100, 0);
	(void)snprintf(options, sizeof(options), "-I/%0*d", 200, 0);
	CU_ASSERT_EQUAL(cc_manifest_add_include_paths(manifest, &paths, false), CMN_OK);
	CU_ASSERT_EQUAL(cc_manifest_add_absent(manifest, path), CMN_OK);
	CU_ASSERT_EQUAL(with(manifest, options), CC_MANIFEST_APPEARED);
}

/* As for replay after an update. */
TEST(include_paths_go_with_the_dependencies_that_are_not_the_drivers)
{
	OWNED(owned_cc_manifest_free) struct cc_manifest *manifest = cc_manifest_new();
	struct cc_manifest *copy = cc_manifest_new();
	struct cc_include_paths paths = paths_of("-I/a");

	CU_ASSERT_EQUAL(cc_manifest_add_include_paths(manifest, &paths, false), CMN_OK);
	CU_ASSERT_EQUAL(cc_manifest_add_absent(manifest, "/a/none"), CMN_OK);
	CU_ASSERT_EQUAL(cc_manifest_add_but_drivers(copy, manifest), CMN_OK);
	CU_ASSERT(cc_manifest_moves(copy));
	unit_write("none", "");
	CU_ASSERT_EQUAL(with(copy, "-I/b"), CC_MANIFEST_SAME);
	cc_manifest_free(copy);
}

/* In another order, of another form, after others, or too many. */
TEST(include_paths_that_no_build_leaves_are_damage)
{
	static const char *const cases[] = {
		"<1>/a", "<2>/a", "<1>a", "<1>/", "1>/a", "<1>/a <2>/b", "<1>/a <1>/b", "<1>/a x <2>/b", "x <1>/a",
		"<1>/a <2>/b <3>/c <4>/d <5>/e <6>/f <7>/g <8>/h", "<1>/a <2>/b <3>/c <4>/d <5>/e <6>/f <7>/g <8>/h <9>/i",
	};
	static const bool sound[] = { true, false, false, false, false, true, false, false, false, true, false };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cmn_buffer encoded = { 0 };
		struct cc_manifest *decoded = NULL;
		const char *at = cases[i];
		uint32_t count = 1;

		for (; *at; at++)
			count += *at == ' ';
		cmn_buffer_append_u32(&encoded, CC_MANIFEST_VERSION_PATHS);
		cmn_buffer_append_u32(&encoded, count);
		for (at = cases[i]; *at; at += strspn(at, " ")) {
			size_t len = strcspn(at, " ");

			cmn_buffer_append_u8(&encoded, *at == 'x' ? CC_DEPENDENCY_ABSENT : CC_DEPENDENCY_INCLUDE_PATH);
			cmn_buffer_append_sized(&encoded, at, len);
			for (int j = 0; j < 8 + CMN_HASH_SIZE; j++)
				cmn_buffer_append_u8(&encoded, 0);
			at += len;
		}
		CU_ASSERT_EQUAL(cc_manifest_decode(cmn_buffer_view(&encoded), &decoded), sound[i] ? CMN_OK : CMN_ERR_CORRUPT);
		cc_manifest_free(decoded);
		cmn_buffer_release(&encoded);
	}
}
