/* SPDX-License-Identifier: MIT */
/* test_recipes: the format of recipes, and their directory. */
#include "cachecore/key.h"
#include "cachecore/disk/writer/recipes.h"
#include "cachecore/disk/root.h"
#include "common/file.h"
#include "tests/support/unit.h"

static struct cc_key key;
static struct cc_recipe recipe;
static struct cmn_buffer encoded;

/* A recipe whose key differs with the number. */
static void make(uint64_t number, const char *manifest)
{
	static const char environment[] = "OCL_ICD_VENDORS=/v\0LD_LIBRARY_PATH=/l";
	static const uint8_t places[] = { 1, 0, 0, 0, 0, 2, 0, 0 };

	cc_key_init(&key);
	cc_key_add_text(&key, CC_PART_DEVICE, "device.name", "a device");
	cc_key_add_u64(&key, CC_PART_IMAGE, "source", number);
	recipe = (struct cc_recipe){
		.key = cc_key_view(&key),
		.manifest = cmn_view_of(manifest),
		.directory = cmn_view_of("/somewhere"),
		.places = { places, sizeof(places) },
		.environment = { environment, sizeof(environment) },
	};
	CU_ASSERT_EQUAL_FATAL(cc_recipe_encode(&recipe, &encoded), CMN_OK);
}

static void drop(void)
{
	cmn_buffer_release(&encoded);
	cc_key_release(&key);
}

static const char *root(void)
{
	return unit_path("root");
}

static void put(uint64_t number, const char *manifest)
{
	make(number, manifest);
	CU_ASSERT_EQUAL(cc_recipes_put(root(), cmn_buffer_view(&encoded)), CMN_OK);
	drop();
}

static unsigned long long count(void)
{
	struct cc_recipes_count found = { 0 };

	CU_ASSERT_EQUAL(cc_recipes_count(root(), &found), CMN_OK);
	return found.recipes;
}

static int open_recipes(void)
{
	int fd = -1;

	CU_ASSERT_EQUAL_FATAL(cc_recipes_open(root(), &fd), CMN_OK);
	return fd;
}

static const char *name_of(uint64_t number)
{
	static char name[CC_RECIPE_NAME_SIZE];

	make(number, "");
	cc_recipe_name(recipe.key, name);
	drop();
	return name;
}

TEST(recipe_reads_back)
{
	struct cc_recipe read;
	uint32_t place = 0;
	size_t at = 0;

	make(1, "manifest");
	CU_ASSERT_EQUAL_FATAL(cc_recipe_decode(cmn_buffer_view(&encoded), &read), CMN_OK);
	CU_ASSERT(cmn_view_equal(read.key, recipe.key));
	CU_ASSERT(cmn_view_equal(read.manifest, recipe.manifest));
	CU_ASSERT(cmn_view_equal(read.directory, recipe.directory));
	CU_ASSERT(cc_recipe_place(&read, 0, &place) && place == 1);
	CU_ASSERT(cc_recipe_place(&read, 1, &place) && place == 512);
	CU_ASSERT(!cc_recipe_place(&read, 2, &place));
	CU_ASSERT_STRING_EQUAL(cc_recipe_variable(&read, &at), "OCL_ICD_VENDORS=/v");
	CU_ASSERT_STRING_EQUAL(cc_recipe_variable(&read, &at), "LD_LIBRARY_PATH=/l");
	CU_ASSERT(cc_recipe_variable(&read, &at) == NULL);
	drop();
}

TEST(every_changed_bit_is_noticed)
{
	struct cc_recipe read;

	make(1, "manifest");
	for (size_t i = 0; i < encoded.len * 8; i++) {
		encoded.data[i / 8] ^= (uint8_t)(1 << i % 8);
		CU_ASSERT(cc_recipe_decode(cmn_buffer_view(&encoded), &read) != CMN_OK);
		encoded.data[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	CU_ASSERT_EQUAL(cc_recipe_decode(cmn_buffer_view(&encoded), &read), CMN_OK);
	drop();
}

TEST(every_shorter_or_longer_file_is_noticed)
{
	struct cc_recipe read;
	struct cmn_view view;

	make(1, "manifest");
	for (size_t len = 0; len < encoded.len; len++) {
		view = (struct cmn_view){ encoded.data, len };
		CU_ASSERT_EQUAL(cc_recipe_decode(view, &read), CMN_ERR_CORRUPT);
	}
	cmn_buffer_append_u8(&encoded, 0);
	CU_ASSERT_EQUAL(cc_recipe_decode(cmn_buffer_view(&encoded), &read), CMN_ERR_CORRUPT);
	drop();
}

TEST(recipe_without_key_or_with_half_of_one_is_refused)
{
	struct cc_recipe half = { 0 }, read;
	struct cmn_buffer file;

	CU_ASSERT_EQUAL(cc_recipe_encode(&half, &file), CMN_ERR_INVALID);
	make(1, "");
	half.key = (struct cmn_view){ recipe.key.data, recipe.key.len - 1 };
	CU_ASSERT_EQUAL_FATAL(cc_recipe_encode(&half, &file), CMN_OK);
	CU_ASSERT_EQUAL(cc_recipe_decode(cmn_buffer_view(&file), &read), CMN_ERR_CORRUPT);
	cmn_buffer_release(&file);
	drop();
}

TEST(only_named_variables_are_carried)
{
	CU_ASSERT(cc_recipe_carries("OCL_ICD_VENDORS=/x"));
	CU_ASSERT(cc_recipe_carries("LD_LIBRARY_PATH="));
	CU_ASSERT(cc_recipe_carries("HWLOC_SYNTHETIC=core:2 1"));
	CU_ASSERT(cc_recipe_carries("ZE_AFFINITY_MASK=0.1"));
	CU_ASSERT(!cc_recipe_carries("LD_LIBRARY_PATHS=/x"));
	CU_ASSERT(!cc_recipe_carries("AWS_SECRET_ACCESS_KEY=x"));
	CU_ASSERT(!cc_recipe_carries("OCL_ICD_"));
}

TEST(a_recipe_says_whose_it_is_and_no_process_gets_that)
{
	struct cmn_buffer environment = { 0 };
	struct cc_recipe named = { 0 };
	size_t at = 0;

	CU_ASSERT_EQUAL(cc_recipe_program(&named).len, 0);
	cc_recipe_add_program(&environment, "a=b");
	cmn_buffer_append(&environment, "OCL_ICD_VENDORS=/x", sizeof("OCL_ICD_VENDORS=/x"));
	named.environment = cmn_buffer_view(&environment);
	CU_ASSERT(cmn_view_equal(cc_recipe_program(&named), cmn_view_of("a=b")));
	CU_ASSERT_FALSE(cc_recipe_is_strangers(&named));
	CU_ASSERT_PTR_NULL(cc_recipe_cached_as(&named));
	cc_recipe_add_cached_as(&environment, "AB/C");
	cc_recipe_add_stranger(&environment);
	named.environment = cmn_buffer_view(&environment);
	CU_ASSERT_STRING_EQUAL(cc_recipe_cached_as(&named), "AB/C");
	CU_ASSERT_TRUE(cc_recipe_is_strangers(&named));
	CU_ASSERT_STRING_EQUAL(cc_recipe_variable(&named, &at), "OCL_ICD_VENDORS=/x");
	CU_ASSERT_PTR_NULL(cc_recipe_variable(&named, &at));
	/* One that lost its end is none. */
	named.environment.len = sizeof("CKCACHE_BUILT_FOR=a");
	CU_ASSERT_EQUAL(cc_recipe_program(&named).len, 0);
	cmn_buffer_release(&environment);
}

TEST(one_recipe_for_each_key)
{
	put(1, "old");
	put(2, "");
	put(1, "old");
	CU_ASSERT_EQUAL(count(), 2);
}

TEST(newer_state_of_headers_replaces_the_older)
{
	const char *name = name_of(1);
	struct cmn_buffer file = { 0 };
	struct cc_recipe read;
	int fd;

	put(1, "old");
	fd = open_recipes();
	CU_ASSERT_EQUAL(count(), 1);
	CU_ASSERT_EQUAL(cc_recipes_set_attempts(fd, name, 1), CMN_OK);
	CU_ASSERT_EQUAL(cc_recipes_attempts(fd, name), 1);
	put(1, "new");
	CU_ASSERT_EQUAL(count(), 1);
	CU_ASSERT_EQUAL(cc_recipes_attempts(fd, name), 0);
	CU_ASSERT_EQUAL(cc_recipes_read(fd, name, &file, &read), CMN_OK);
	CU_ASSERT(cmn_view_equal(read.manifest, cmn_view_of("new")));
	cmn_buffer_release(&file);
	CU_ASSERT_EQUAL(close(fd), 0);
}

TEST(quarantined_key_is_not_recorded_again)
{
	const char *name = name_of(1);
	struct cc_recipes_count found;
	int fd;

	put(1, "");
	fd = open_recipes();
	CU_ASSERT_EQUAL(cc_recipes_set_attempts(fd, name, 2), CMN_OK);
	CU_ASSERT_EQUAL(cc_recipes_quarantine(fd, name), CMN_OK);
	CU_ASSERT_EQUAL(cc_recipes_attempts(fd, name), 0);
	put(1, "");
	CU_ASSERT_EQUAL(cc_recipes_count(root(), &found), CMN_OK);
	CU_ASSERT_EQUAL(found.recipes, 0);
	CU_ASSERT_EQUAL(found.quarantined, 1);
	CU_ASSERT_EQUAL(cc_recipes_set_attempts(fd, name, 2), CMN_OK);
	CU_ASSERT_EQUAL(cc_recipes_clear(root()), CMN_OK);
	CU_ASSERT_EQUAL(cc_recipes_attempts(fd, name), 0);
	put(1, "");
	CU_ASSERT_EQUAL(count(), 1);
	CU_ASSERT_EQUAL(close(fd), 0);
}

TEST(number_of_recipes_is_bounded)
{
	for (uint64_t i = 0; i < CC_RECIPES_MAX_COUNT + 400; i++)
		put(i, "");
	CU_ASSERT(count() <= CC_RECIPES_MAX_COUNT + 200);
	CU_ASSERT(count() >= CC_RECIPES_MAX_COUNT - 1);
}

/* What the directory of the root holds, of six recipes whose ages are not the order of their names. */
static void check_limit(uint64_t bytes, unsigned int left)
{
	struct cc_recipes_count found;
	int fd, root_fd;

	for (uint64_t i = 0; i < 6; i++) {
		const uint64_t age = (i + 3) % 6;	/* in no order of their names */
		const struct timespec times[2] = { { 0 }, { .tv_sec = 1000000000 + (time_t)age / 2,
							    .tv_nsec = age % 2 * 500000000 } };

		put(i, "");
		fd = open_recipes();
		CU_ASSERT_EQUAL(utimensat(fd, name_of(i), times, 0), 0);
		CU_ASSERT_EQUAL(close(fd), 0);
	}
	put(6, "");
	fd = open_recipes();
	CU_ASSERT_EQUAL(cc_recipes_quarantine(fd, name_of(6)), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(cc_root_open(root(), &root_fd), CMN_OK);
	cc_recipes_limit(root_fd, bytes);
	CU_ASSERT_EQUAL(close(root_fd), 0);
	CU_ASSERT_EQUAL(cc_recipes_count(root(), &found), CMN_OK);
	CU_ASSERT_EQUAL(found.quarantined, 0);
	for (uint64_t i = 0; i < 6; i++)
		CU_ASSERT_EQUAL(faccessat(fd, name_of(i), F_OK, 0) == 0, (i + 3) % 6 >= 6 - left);
	CU_ASSERT_EQUAL(close(fd), 0);
}

TEST(oldest_recipes_go_until_the_rest_has_room)
{
	check_limit(UINT64_MAX, 6);
	check_limit(3 * 8192, 3);
	check_limit(0, 0);
}

TEST(bytes_of_recipes_are_bounded)
{
	const char *name = name_of(1);
	struct cmn_buffer file = { 0 };
	struct cc_recipe read;
	int fd, large;

	put(1, "");
	fd = open_recipes();
	/* Large by its size alone, and so old as to go first. */
	large = openat(fd, name, O_WRONLY | O_CLOEXEC);
	CU_ASSERT_EQUAL(ftruncate(large, CC_RECIPES_MAX_BYTES), 0);
	CU_ASSERT_EQUAL(futimens(large, (const struct timespec[2]){ { 0 }, { 0 } }), 0);
	CU_ASSERT_EQUAL(close(large), 0);
	CU_ASSERT_EQUAL(cc_recipes_read(fd, name, &file, &read), CMN_ERR_CORRUPT);
	cmn_buffer_release(&file);
	for (uint64_t i = 2; i < 200; i++)
		put(i, "");
	CU_ASSERT_EQUAL(count(), 198);
	CU_ASSERT_EQUAL(close(fd), 0);
}

TEST(quarantine_is_bounded)
{
	struct cc_recipes_count found;
	int fd;

	put(0, "");
	fd = open_recipes();
	for (uint64_t i = 0; i < CC_RECIPES_MAX_QUARANTINED + 20; i++) {
		put(i, "");
		CU_ASSERT_EQUAL(cc_recipes_quarantine(fd, name_of(i)), CMN_OK);
	}
	CU_ASSERT_EQUAL(cc_recipes_count(root(), &found), CMN_OK);
	CU_ASSERT_EQUAL(found.quarantined, CC_RECIPES_MAX_QUARANTINED);
	CU_ASSERT_EQUAL(close(fd), 0);
}

/* Sixteen of them and more, so that one of them makes room. */
TEST(what_dead_writers_left_goes_when_it_is_old)
{
	const struct timespec old[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };

	put(0, "");
	unit_write("root/recipes/.tmp-1-1-1", "half a recipe");
	unit_write("root/recipes/.tmp-2-2-2", "one that is just being written");
	CU_ASSERT_EQUAL(utimensat(AT_FDCWD, "root/recipes/.tmp-1-1-1", old, 0), 0);
	for (uint64_t number = 1; number < 200; number++)
		put(number, "");
	CU_ASSERT(access("root/recipes/.tmp-1-1-1", F_OK) < 0);
	CU_ASSERT_EQUAL(access("root/recipes/.tmp-2-2-2", F_OK), 0);
	CU_ASSERT_EQUAL(count(), 200);
}

TEST(directory_with_a_recipes_name_does_no_harm)
{
	const char *name = name_of(CC_RECIPES_MAX_COUNT + 1);
	struct cc_recipes_names names;
	int fd;

	put(0, "");
	fd = open_recipes();
	CU_ASSERT_EQUAL(mkdirat(fd, name, 0700), 0);
	/* The oldest of all when there has to be room. */
	for (uint64_t i = 1; i < CC_RECIPES_MAX_COUNT + 1; i++)
		put(i, "");
	for (uint64_t i = CC_RECIPES_MAX_COUNT + 2; i < CC_RECIPES_MAX_COUNT + 100; i++)
		put(i, "");
	CU_ASSERT_EQUAL_FATAL(cc_recipes_list(fd, &names), CMN_OK);
	for (size_t i = 0; i < names.count; i++)
		CU_ASSERT(strcmp(names.names[i], name) != 0);
	cc_recipes_names_release(&names);
	CU_ASSERT_EQUAL(cc_recipes_clear(root()), CMN_OK);
	CU_ASSERT_EQUAL(count(), 0);
	CU_ASSERT_EQUAL(faccessat(fd, name, F_OK, 0), 0);
	CU_ASSERT_EQUAL(close(fd), 0);
}

TEST(variables_that_no_recipe_carries_are_not_read)
{
	static const char crafted[] = "LD_PRELOAD=/x\0OCL_ICD_VENDORS=/v\0LD_PRELOAD=/y\0=\0nothing";
	struct cmn_buffer file;
	struct cc_recipe read;
	size_t at = 0;

	make(1, "");
	recipe.environment = (struct cmn_view){ crafted, sizeof(crafted) };
	CU_ASSERT_EQUAL_FATAL(cc_recipe_encode(&recipe, &file), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(cc_recipe_decode(cmn_buffer_view(&file), &read), CMN_OK);
	CU_ASSERT_STRING_EQUAL(cc_recipe_variable(&read, &at), "OCL_ICD_VENDORS=/v");
	CU_ASSERT(cc_recipe_variable(&read, &at) == NULL);
	cmn_buffer_release(&file);
	drop();
}

TEST(damaged_file_is_told_from_a_missing_one)
{
	struct cmn_buffer file = { 0 };
	char name[CC_RECIPE_NAME_SIZE];
	struct cc_recipe read;
	int fd, other;

	put(1, "");
	fd = open_recipes();
	CU_ASSERT_EQUAL(cc_recipes_read(fd, "none", &file, &read), CMN_MISS);
	unit_write("root/recipes/bad", "damaged");
	CU_ASSERT_EQUAL(cc_recipes_read(fd, "bad", &file, &read), CMN_ERR_CORRUPT);
	cmn_buffer_release(&file);
	/* What lies in the place of one is replaced by a good one. */
	make(7, "");
	cc_recipe_name(recipe.key, name);
	CU_ASSERT_EQUAL(cc_recipes_put(root(), cmn_buffer_view(&encoded)), CMN_OK);
	CU_ASSERT_EQUAL(renameat(fd, name, fd, "aside"), 0);
	CU_ASSERT_EQUAL(symlinkat("aside", fd, name), 0);
	CU_ASSERT(cc_recipes_read(fd, name, &file, &read) != CMN_OK);
	cmn_buffer_release(&file);
	CU_ASSERT_EQUAL(cc_recipes_put(root(), cmn_buffer_view(&encoded)), CMN_OK);
	CU_ASSERT_EQUAL(cc_recipes_read(fd, name, &file, &read), CMN_OK);
	cmn_buffer_release(&file);
	/* A pipe is as good as nothing, and one of another version is for that to replay. */
	CU_ASSERT_EQUAL(unlinkat(fd, name, 0), 0);
	CU_ASSERT_EQUAL(mkfifoat(fd, name, 0600), 0);
	CU_ASSERT_EQUAL(cc_recipes_put(root(), cmn_buffer_view(&encoded)), CMN_OK);
	CU_ASSERT_EQUAL(cc_recipes_read(fd, name, &file, &read), CMN_OK);
	cmn_buffer_release(&file);
	other = openat(fd, name, O_WRONLY | O_CLOEXEC);
	CU_ASSERT_EQUAL(pwrite(other, "\xff", 1, 8), 1);
	CU_ASSERT_EQUAL(close(other), 0);
	CU_ASSERT_EQUAL(cc_recipes_put(root(), cmn_buffer_view(&encoded)), CMN_OK);
	CU_ASSERT_EQUAL(cc_recipes_read(fd, name, &file, &read), CMN_ERR_VERSION);
	cmn_buffer_release(&file);
	drop();
	CU_ASSERT_EQUAL(close(fd), 0);
}

TEST(directory_of_others_is_not_used)
{
	make(1, "");
	CU_ASSERT_EQUAL(mkdir(root(), 0777), 0);
	CU_ASSERT_EQUAL(chmod(root(), 0777), 0);
	CU_ASSERT_EQUAL(cc_recipes_put(root(), cmn_buffer_view(&encoded)), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(chmod(root(), 0700), 0);
	CU_ASSERT_EQUAL(symlink("/tmp", "root/recipes"), 0);
	CU_ASSERT(cc_recipes_put(root(), cmn_buffer_view(&encoded)) != CMN_OK);
	drop();
}

TEST(one_process_replays_at_a_time)
{
	int fd, first = -1, second = -1;

	put(1, "");
	fd = open_recipes();
	CU_ASSERT_EQUAL(cc_recipes_lock(fd, &first), CMN_OK);
	CU_ASSERT_EQUAL(cc_recipes_lock(fd, &second), CMN_BUSY);
	cc_root_unlock(first);
	CU_ASSERT_EQUAL(cc_recipes_lock(fd, &second), CMN_OK);
	cc_root_unlock(second);
	/* Nor does a backup by hard links (cp -al) end it for good. */
	CU_ASSERT_EQUAL(link("root/recipes/replay.lock", "backup"), 0);
	CU_ASSERT_EQUAL(cc_recipes_lock(fd, &second), CMN_OK);
	cc_root_unlock(second);
	CU_ASSERT_EQUAL(unlink("backup"), 0);
	CU_ASSERT_EQUAL(close(fd), 0);
}

TEST(a_process_in_the_background_is_asked_to_give_way)
{
	int fd, background = -1, lock = -1, person = -1;

	put(1, "");
	fd = open_recipes();
	CU_ASSERT_FALSE(cc_recipes_is_wanted(fd));
	/* Another replay is not waited for. */
	CU_ASSERT_EQUAL(cc_recipes_lock(fd, &lock), CMN_OK);
	CU_ASSERT_EQUAL(cc_recipes_lock_before_background(fd, &person), CMN_BUSY);
	CU_ASSERT_EQUAL(cc_recipes_lock_background(fd, &background), CMN_OK);
	CU_ASSERT_EQUAL(cc_recipes_lock_background(fd, &person), CMN_BUSY);
	cc_root_unlock(lock);
	CU_ASSERT_EQUAL(cc_recipes_lock_before_background(fd, &person), CMN_OK);
	CU_ASSERT_FALSE(cc_recipes_is_wanted(fd));
	lock = open("root/recipes/wanted.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CU_ASSERT_EQUAL(cmn_file_lock(lock, 0), CMN_OK);
	CU_ASSERT_TRUE(cc_recipes_is_wanted(fd));
	cc_root_unlock(lock);
	cc_root_unlock(person);
	cc_root_unlock(background);
	CU_ASSERT_EQUAL(close(fd), 0);
}

TEST(nothing_there_is_no_error)
{
	int fd;

	CU_ASSERT_EQUAL(count(), 0);
	CU_ASSERT_EQUAL(cc_recipes_clear(root()), CMN_OK);
	CU_ASSERT_EQUAL(cc_recipes_open(root(), &fd), CMN_MISS);
}
