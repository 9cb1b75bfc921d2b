/* SPDX-License-Identifier: MIT */
/*
 * test_damage: whatever is wrong with an entry, with the directory or with
 * the driver's opinion of a binary, the application gets what it would have
 * got without the layer, and the entry is repaired or gone.
 */
#include "tests/opencl/driver.h"
#include "tests/support/unit.h"

static struct outcome reference;

BEFORE_EACH
{
	/* What that has is left to replay, and no entry is repaired. */
	driver_setenv("MESA_SHADER_CACHE_DISABLE", "true");
}

/* The reference, and a cache with the entry. */
static void fill(void)
{
	driver_begin();
	driver_setenv("MESA_SHADER_CACHE_DISABLE", "true");
	reference = GOOD_CLIENT(BARE, "vector");
	SAME_AS(&reference, "vector");
	CU_ASSERT_EQUAL_FATAL(driver_stats().entries, 1);
}

static void same_again(void)
{
	/* As Mesa's. */
	if (driver_is("pocl"))
		CU_ASSERT_EQUAL(system("rm -rf pocl pocl.bare pocl.layered"), 0);
	SAME_AS(&reference, "vector");
}

/* After the damage: no hit, the right result, and then a hit on the repaired entry. */
static void repaired(void)
{
	struct driver_stats before = driver_stats(), after, last;

	same_again();
	after = driver_stats();
	CU_ASSERT_EQUAL(after.hits_disk, before.hits_disk);
	CU_ASSERT_EQUAL(after.misses, before.misses + 1);
	same_again();
	last = driver_stats();
	CU_ASSERT_EQUAL(last.hits_disk, after.hits_disk + 1);
	CU_ASSERT_EQUAL(last.misses, after.misses);
	CU_ASSERT_EQUAL(last.entries, 1);
}

static void damage(const char *end, void (*how)(const char *path))
{
	char paths[1][4096];

	fill();
	CU_ASSERT_EQUAL_FATAL(driver_cache_files(end, paths, 1), 1);
	how(paths[0]);
	repaired();
}

static void cut_half(const char *path)
{
	struct stat info;

	CU_ASSERT_EQUAL_FATAL(stat(path, &info), 0);
	CU_ASSERT_EQUAL(truncate(path, info.st_size / 2), 0);
}

static void cut_all(const char *path)
{
	CU_ASSERT_EQUAL(truncate(path, 0), 0);
}

static void change_byte(const char *path, long from_end, long at, int bits)
{
	FILE *file = fopen(path, "r+");
	int byte;

	CU_ASSERT_FATAL(file != NULL);
	CU_ASSERT_EQUAL(fseek(file, from_end ? -from_end : at, from_end ? SEEK_END : SEEK_SET), 0);
	byte = fgetc(file);
	CU_ASSERT_EQUAL(fseek(file, -1, SEEK_CUR), 0);
	CU_ASSERT_EQUAL(fputc(byte ^ bits, file), byte ^ bits);
	CU_ASSERT_EQUAL(fclose(file), 0);
}

static void flip_bit(const char *path)
{
	change_byte(path, 9, 0, 0x10);
}

/* Both formats: eight bytes of magic, then the version. */
static void raise_version(const char *path)
{
	change_byte(path, 0, 8, 0x40);
}

static void append_garbage(const char *path)
{
	FILE *file = fopen(path, "a");

	CU_ASSERT_FATAL(file != NULL);
	CU_ASSERT(fputs("garbage", file) >= 0);
	CU_ASSERT_EQUAL(fclose(file), 0);
}

static void make_directory(const char *path)
{
	CU_ASSERT_EQUAL(unlink(path), 0);
	CU_ASSERT_EQUAL(mkdir(path, 0700), 0);
}

static void remove_file(const char *path)
{
	CU_ASSERT_EQUAL(unlink(path), 0);
}

TEST(truncated_binary) { damage(".bin", cut_half); }
TEST(truncated_key) { damage(".src", cut_half); }
TEST(empty_binary) { damage(".bin", cut_all); }
TEST(empty_key) { damage(".src", cut_all); }
TEST(flipped_bit_in_the_binary) { damage(".bin", flip_bit); }
TEST(flipped_bit_in_the_key) { damage(".src", flip_bit); }
TEST(foreign_version_of_the_binary) { damage(".bin", raise_version); }
TEST(foreign_version_of_the_key) { damage(".src", raise_version); }
TEST(longer_binary) { damage(".bin", append_garbage); }
TEST(missing_binary) { damage(".bin", remove_file); }

TEST(directory_in_place_of_the_binary)
{
	char paths[1][4096];

	fill();
	CU_ASSERT_EQUAL_FATAL(driver_cache_files(".bin", paths, 1), 1);
	make_directory(paths[0]);
	/* It cannot be removed, so the next number is taken, and that is found. */
	same_again();
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 0);
	same_again();
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 1);
}

TEST(unreadable_entry)
{
	char paths[2][4096];

	(void)driver_as_nobody();
	reference = GOOD_CLIENT(BARE, "vector");
	same_again();
	CU_ASSERT_EQUAL_FATAL(driver_cache_files(".bin", paths, 1), 1);
	CU_ASSERT_EQUAL_FATAL(driver_cache_files(".src", paths + 1, 1), 1);
	for (int i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(chmod(paths[i], 0), 0);
		same_again();
		/* Replaced, removed, or left alone: it did no harm. */
		(void)chmod(paths[i], 0600);
	}
}

TEST(damaged_size_account)
{
	fill();
	unit_write("cache/cache_size.txt", "99999999999999999999999 bananas");
	same_again();
	unit_write("cache/stats.txt", "hits_disk\n\n-5 misses -7\n");
	same_again();
}

static void bare_and_layered(void)
{
	reference = GOOD_CLIENT(BARE, "vector");
	same_again();
	same_again();
}

TEST(directory_below_a_file)
{
	char path[4096];

	unit_write("file", "not a directory");
	(void)snprintf(path, sizeof(path), "%s/file/cache", unit_dir());
	driver_setenv("CKCACHE_DIR", path);
	bare_and_layered();
}

TEST(no_home)
{
	driver_setenv("CKCACHE_DIR", NULL);
	driver_setenv("HOME", NULL);
	bare_and_layered();
}

TEST(read_only_directory)
{
	unit_write("cache/stats.txt", "");
	if (!driver_as_nobody())
		(void)printf("(not root) ");
	CU_ASSERT_EQUAL(chmod("cache", 0500), 0);
	reference = GOOD_CLIENT(BARE, "vector");
	same_again();
}

TEST(others_may_write_the_directory)
{
	struct driver_stats stats;

	unit_write("cache/stats.txt", "");
	CU_ASSERT_EQUAL(chmod("cache", 0777), 0);
	bare_and_layered();
	CU_ASSERT_EQUAL(chmod("cache", 0700), 0);
	stats = driver_stats();
	CU_ASSERT_EQUAL(stats.entries, 0);
}

/* A file system of one page: neither the key nor the binary fits, nor do the directories. */
TEST(full_disk)
{
	struct outcome probe;

	reference = CLIENT(BARE, "vector");
	unit_write("cache/x", "");
	driver_shell("exec unshare -rm true");
	probe = CLIENT(BARE, "vector");
	if (probe.code) {
		(void)printf("SKIPPED: no user namespaces here; ");
	} else {
		driver_shell("exec unshare -rm sh -c 'mount -t tmpfs -o size=4k none \"$CKCACHE_DIR\" "
			     "&& \"$@\" && exec \"$@\"' sh \"$@\"");
		probe = GOOD_CLIENT(LAYERED, "vector");
		/* Twice the same output. */
		CU_ASSERT_EQUAL(strlen(probe.output), 2 * strlen(reference.output));
		CU_ASSERT_EQUAL(strncmp(probe.output, reference.output, strlen(reference.output)), 0);
		CU_ASSERT_STRING_EQUAL(probe.output + strlen(reference.output), reference.output);
	}
}

TEST(settings_that_make_no_sense)
{
	driver_setenv("CKCACHE_MAX_SIZE", "lots");
	driver_setenv("CKCACHE_COMPRESSION", "99");
	driver_setenv("CKCACHE_THRESHOLD", "-3");
	driver_setenv("CKCACHE_IN_MEM", "maybe");
	driver_setenv("CKCACHE_TRACE", "/no/such/directory/trace");
	bare_and_layered();
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 1);
}
