/* SPDX-License-Identifier: MIT */
/* test_store: look-up, publication, repair and refusal of entries on disk. */
#include "cachecore/entry.h"
#include "cachecore/disk/store.h"

#include <dirent.h>
#include <ftw.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/syscall.h>

#include "cachecore/disk/root.h"
#include "cachecore/disk/space/overhead.h"
#include "common/clock.h"
#include "common/file.h"
#include "tests/support/owned.h"
#include "tests/support/touch.h"
#include "tests/support/clock.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

OWNER(struct cc_entry, cc_entry_unref)

/* One store below unit_dir() with what it logged. */
#define NS_PER_S UINT64_C(1000000000)

struct bench {
	char root[4200];
	struct cc_config config;
	struct cmn_log log;
	unsigned int messages;
	struct cc_store *store;
	struct cc_key key;
	char entry_dir[4400];	/* of the key, absolute */
};

static void count_message(void *ctx, enum cmn_log_level level, const char *message)
{
	struct bench *bench = ctx;

	(void)level;
	(void)message;
	bench->messages++;
}

static void make_key(struct cc_key *key, const char *options)
{
	cc_key_init(key);
	cc_key_add_text(key, CC_PART_DEVICE, "device", "d");
	cc_key_add_text(key, CC_PART_IMAGE, "source", "kernel void f() {}");
	cc_key_add_text(key, CC_PART_OPTIONS, "options", options);
}

static void open_bench(struct bench *bench)
{
	char entry_dir[CC_ENTRY_DIR_PATH_SIZE];

	memset(bench, 0, sizeof(*bench));
	(void)snprintf(bench->root, sizeof(bench->root), "%s/a/root", unit_dir());
	bench->config.dir = bench->root;
	bench->config.persistent = true;
	bench->config.max_size = UINT64_C(8) << 30;
	bench->config.threshold_days = 90;
	bench->config.max_device_image_size = UINT64_C(1) << 30;
	bench->config.compression = CC_COMPRESSION_AUTO;
	bench->log = (struct cmn_log){ CMN_LOG_DEBUG, count_message, bench };
	make_key(&bench->key, "-O2");
	cc_entry_dir_path(cc_key_view(&bench->key), entry_dir);
	(void)snprintf(bench->entry_dir, sizeof(bench->entry_dir), "%s/%s", bench->root, entry_dir);
	CU_ASSERT_EQUAL_FATAL(cc_store_open(&bench->config, &bench->log, &bench->store), CMN_OK);
}

static void close_bench(struct bench *bench)
{
	cc_store_close(bench->store);
	cc_key_release(&bench->key);
}

static struct cc_entry *make_entry(const char *image, struct cc_manifest *manifest)
{
	struct cc_entry *entry = cc_entry_new(1000);

	CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
	cc_entry_add(entry, CC_TAG_IMAGE, 0, image, strlen(image));
	CU_ASSERT_EQUAL_FATAL(cc_entry_finish(entry, manifest), CMN_OK);
	return entry;
}

static enum cmn_status put(struct bench *bench, const struct cc_key *key, const char *image)
{
	OWNED(owned_cc_entry_unref) struct cc_entry *entry = make_entry(image, NULL);

	return cc_store_put(bench->store, key, entry);
}

/* What a look-up gives: the image's text, or "miss"; *ret_damaged may be NULL. */
static const char *get(struct bench *bench, const struct cc_key *key, unsigned int *ret_damaged)
{
	static char text[4096];
	struct cc_entry *entry = NULL;
	struct cc_store_report report = { .damaged = 99 };
	struct cmn_view view;
	enum cmn_status status = cc_store_get(bench->store, key, NULL, SIZE_MAX, &entry, &report);

	if (ret_damaged)
		*ret_damaged = report.damaged;
	if (status == CMN_MISS)
		return "miss";
	CU_ASSERT_EQUAL_FATAL(status, CMN_OK);
	CU_ASSERT_TRUE_FATAL(cc_entry_find(entry, CC_TAG_IMAGE, 0, &view));
	(void)snprintf(text, sizeof(text), "%.*s", (int)view.len, (const char *)view.data);
	cc_entry_unref(entry);
	return text;
}

static bool exists(const char *directory, const char *name)
{
	char path[8192];
	struct stat info;

	(void)snprintf(path, sizeof(path), "%s/%s", directory, name);
	return lstat(path, &info) == 0;
}

static struct cmn_buffer slurp(const char *directory, const char *name)
{
	char path[8192];
	struct cmn_buffer file;

	(void)snprintf(path, sizeof(path), "%s/%s", directory, name);
	CU_ASSERT_EQUAL_FATAL(cmn_file_read(-1, path, 1 << 20, false, &file), CMN_OK);
	return file;
}

static void spill(const char *directory, const char *name, const void *data, size_t len)
{
	char path[8192];

	(void)snprintf(path, sizeof(path), "%s/%s", directory, name);
	(void)unlink(path);	/* a new file: some file systems wait when an old one is cut */
	unit_write_bytes(path, data, len);
}

static unsigned long account(const struct bench *bench)
{
	OWNED(cmn_buffer_release) struct cmn_buffer file = slurp(bench->root, "cache_size.txt");

	cmn_buffer_append_u8(&file, 0);
	return strtoul((const char *)file.data, NULL, 10);
}

static unsigned long walked_bytes;
static unsigned int walked_files, walked_loose;

static int walk_file(const char *path, const struct stat *info, int kind, struct FTW *where)
{
	const char *name = path + where->base;
	char directory[4400];
	struct stat entry_dir;

	if (kind == FTW_D && (info->st_mode & 07777) != 0700)
		walked_loose++;
	if (kind != FTW_F)
		return 0;
	walked_files++;
	if ((info->st_mode & 07777) != 0600)
		walked_loose++;
	if (!strstr(name, ".src") && !strstr(name, ".bin"))
		return 0;
	/* What it takes on disk. Of each entry, its directories too. */
	if (info->st_blocks * 512 > info->st_size)
		walked_bytes += (unsigned long)info->st_blocks * 512;
	else
		walked_bytes += (unsigned long)info->st_size;
	if (!strstr(name, ".src"))
		return 0;
	(void)snprintf(directory, sizeof(directory), "%.*s", where->base, path);
	if (stat(directory, &entry_dir) == 0)
		walked_bytes += entry_dir.st_blocks ? 4 * 4096 : 0;
	return 0;
}

static void walk_files(const char *root)
{
	walked_bytes = 0;
	walked_files = walked_loose = 0;
	(void)nftw(root, walk_file, 16, FTW_PHYS);
}

static struct bench bench;
static bool has_no_locks;

static struct {
	int entry_dir;		/* the test's, with the lock; -1: none */
	unsigned int failed;	/* attempts to have it, too */
	void (*waits)(void);	/* at the third: somebody waits */
} held = { .entry_dir = -1 };

WRAPPED(int, flock, (int fd, int operation))
{
	struct stat info, entry_dir;
	int result;

	if (has_no_locks) {
		errno = ENOLCK;
		return -1;
	}
	result = __real_flock(fd, operation);
	if (result == 0 || held.entry_dir < 0 || fstat(fd, &info) < 0 || fstat(held.entry_dir, &entry_dir) < 0 ||
	    info.st_ino != entry_dir.st_ino)
		return result;
	if (++held.failed == 3)
		held.waits();
	errno = EWOULDBLOCK;
	return -1;
}

/* Steps, by a millisecond as a rule, with each look at it, while it is the test's. */
#define STEP 1000000
static uint64_t test_time, test_step = STEP;
uint64_t test_clock(clockid_t id)
{
	if (!test_time || id != CLOCK_MONOTONIC)
		return machine_clock(id);
	test_time += test_step;
	return test_time;
}

BEFORE_EACH
{
	open_bench(&bench);
}

AFTER_EACH
{
	close_bench(&bench);
}

TEST(what_was_put_is_found_by_another_store)
{
	struct bench other;

	open_bench(&other);
	CU_ASSERT_STRING_EQUAL(get(&other, &other.key, NULL), "miss");
	CU_ASSERT_FALSE(exists(bench.root, ""));
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_OK);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "image");
	CU_ASSERT_STRING_EQUAL(get(&other, &other.key, NULL), "image");
	CU_ASSERT_STRING_EQUAL(cc_store_root(bench.store), bench.root);
	close_bench(&other);
}

TEST(files_are_private_named_as_documented_and_accounted)
{
	OWNED(cc_key_release) struct cc_key key;

	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_OK);
	CU_ASSERT_TRUE(exists(bench.entry_dir, "0.src"));
	CU_ASSERT_TRUE(exists(bench.entry_dir, "0.bin"));
	CU_ASSERT_FALSE(exists(bench.entry_dir, "0_access_time.txt"));
	make_key(&key, "-O3");
	CU_ASSERT_EQUAL(put(&bench, &key, "another image"), CMN_OK);
	walk_files(bench.root);
	CU_ASSERT_EQUAL(walked_loose, 0);
	CU_ASSERT_EQUAL(walked_bytes, account(&bench));
	CU_ASSERT_EQUAL(cc_store_remove(bench.store, &key), CMN_OK);
	CU_ASSERT_STRING_EQUAL(get(&bench, &key, NULL), "miss");
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "image");
	walk_files(bench.root);
	CU_ASSERT_EQUAL(walked_bytes, account(&bench));
	CU_ASSERT_EQUAL(cc_store_remove(bench.store, &key), CMN_OK);
}

/* The hashes collide by force: another key's files are laid into this key's entry directory. */
TEST(colliding_keys_are_told_apart)
{
	char entry_dir[CC_ENTRY_DIR_PATH_SIZE], from[4400];
	struct cmn_buffer src, bin;
	OWNED(cc_key_release) struct cc_key key;

	make_key(&key, "-O3");
	cc_entry_dir_path(cc_key_view(&key), entry_dir);
	(void)snprintf(from, sizeof(from), "%s/%s", bench.root, entry_dir);
	CU_ASSERT_EQUAL(put(&bench, &key, "foreign"), CMN_OK);
	src = slurp(from, "0.src");
	bin = slurp(from, "0.bin");
	spill(bench.entry_dir, "0.src", src.data, src.len);
	spill(bench.entry_dir, "0.bin", bin.data, bin.len);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "miss");
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "mine"), CMN_OK);
	CU_ASSERT_TRUE(exists(bench.entry_dir, "1.src"));
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "mine");
	/* A .bin under another's .src is never taken, nor called damaged. */
	bin.len = 0;
	cmn_buffer_release(&src);
	cmn_buffer_release(&bin);
	bin = slurp(bench.entry_dir, "0.bin");
	spill(bench.entry_dir, "1.bin", bin.data, bin.len);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "miss");
	CU_ASSERT_EQUAL(bench.messages, 0);
	CU_ASSERT_EQUAL(cc_store_remove(bench.store, &bench.key), CMN_OK);
	CU_ASSERT_TRUE(exists(bench.entry_dir, "0.src"));
	CU_ASSERT_FALSE(exists(bench.entry_dir, "1.src"));
	cmn_buffer_release(&bin);
}

static struct cc_manifest *absent(const char *path)
{
	struct cc_manifest *manifest = cc_manifest_new();

	CU_ASSERT_PTR_NOT_NULL_FATAL(manifest);
	CU_ASSERT_EQUAL_FATAL(cc_manifest_add_absent(manifest, path), CMN_OK);
	return manifest;
}

static enum cmn_status put_with(const struct cc_key *key, const char *image, struct cc_manifest *manifest)
{
	OWNED(owned_cc_entry_unref) struct cc_entry *entry = make_entry(image, manifest);

	return cc_store_put(bench.store, key, entry);
}

TEST(states_of_the_dependencies_live_side_by_side)
{
	struct cc_manifest *present = cc_manifest_new();
	struct cmn_hash hash = cmn_hash_of("text", 4);

	CU_ASSERT_PTR_NOT_NULL_FATAL(present);
	CU_ASSERT_EQUAL(cc_manifest_add_file(present, "h.h", 4, &hash), CMN_OK);
	CU_ASSERT_EQUAL(put_with(&bench.key, "with", present), CMN_OK);
	CU_ASSERT_EQUAL(put_with(&bench.key, "without", absent("h.h")), CMN_OK);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "without");
	unit_write("h.h", "text");
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "with");
	unit_write("h.h", "teXt");
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "miss");
	CU_ASSERT_EQUAL(bench.messages, 0);
}

static int open_entry_dir(void)
{
	int fd = open(bench.entry_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	CU_ASSERT_TRUE_FATAL(fd >= 0);
	return fd;
}

static void use_at(unsigned int n, uint64_t used_ns)
{
	int fd = open_entry_dir();

	cc_entry_dir_note_use(fd, NULL, n, used_ns);
	(void)close(fd);
}

static uint64_t last_use(void)
{
	int fd = open_entry_dir();
	uint64_t used_ns = cc_entry_dir_used_ns(fd, NULL, 0);

	(void)close(fd);
	return used_ns;
}

TEST(a_full_entry_dir_replaces_the_least_recently_used)
{
	char name[64];

	for (unsigned int i = 0; i <= CC_ENTRY_DIR_VARIANTS; i++) {
		(void)snprintf(name, sizeof(name), "absent%u.h", i);
		CU_ASSERT_EQUAL(put_with(&bench.key, name, absent(name)), CMN_OK);
		if (i == 0)
			use_at(0, UINT64_C(2000000000000000000));
		if (i == 7)
			use_at(7, 1);
	}
	walk_files(bench.entry_dir);
	CU_ASSERT_EQUAL(walked_files, 2 * CC_ENTRY_DIR_VARIANTS);
	walk_files(bench.root);
	CU_ASSERT_EQUAL(walked_bytes, account(&bench));
	unit_write("absent0.h", "");
	CU_ASSERT_STRING_NOT_EQUAL(get(&bench, &bench.key, NULL), "miss");
	for (unsigned int i = 0; i < CC_ENTRY_DIR_VARIANTS; i++) {
		(void)snprintf(name, sizeof(name), "absent%u.h", i);
		unit_write(name, "");
	}
	/* Only the last still holds; it took the place of number 7. */
	(void)snprintf(name, sizeof(name), "absent%u.h", CC_ENTRY_DIR_VARIANTS);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), name);
	CU_ASSERT_TRUE(unlink("absent7.h") == 0);
	unit_write(name, "");
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "miss");
}

/* Every look-up with `name` replaced by these bytes: a miss, noticed and repaired. */
static void expect_damage(struct bench *of, const char *name, const void *data, size_t len, bool version)
{
	unsigned int damaged;

	spill(of->entry_dir, name, data, len);
	CU_ASSERT_STRING_EQUAL(get(of, &of->key, &damaged), "miss");
	CU_ASSERT_EQUAL(damaged, version ? 0 : 1);
	CU_ASSERT_EQUAL(exists(of->entry_dir, "0.src"), version);
	CU_ASSERT_EQUAL(exists(of->entry_dir, "0.bin"), version);
}

/* Each bit of the file flipped, each truncation, a byte more. The other file is put back too. */
static void check_damage(int compression, const char *name, const char *other)
{
	OWNED(cmn_buffer_release) struct cmn_buffer file, pair;
	char image[200];

	bench.config.compression = compression;
	memset(image, 'i', sizeof(image) - 1);
	image[sizeof(image) - 1] = '\0';
	CU_ASSERT_EQUAL(put(&bench, &bench.key, image), CMN_OK);
	file = slurp(bench.entry_dir, name);
	pair = slurp(bench.entry_dir, other);
	for (size_t bit = 0; bit < file.len * 8; bit++) {
		spill(bench.entry_dir, other, pair.data, pair.len);
		file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		expect_damage(&bench, name, file.data, file.len, bit / 8 >= 8 && bit / 8 < 12);
		file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t len = 0; len < file.len; len++) {
		spill(bench.entry_dir, other, pair.data, pair.len);
		expect_damage(&bench, name, file.data, len, false);
	}
	spill(bench.entry_dir, other, pair.data, pair.len);
	cmn_buffer_append_u8(&file, 0);
	expect_damage(&bench, name, file.data, file.len, false);
	CU_ASSERT_EQUAL(bench.messages, 1);
	CU_ASSERT_EQUAL(put(&bench, &bench.key, image), CMN_OK);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), image);
}

TEST(notices_every_flip_and_truncation_of_bin_raw)
{
	check_damage(CC_COMPRESSION_NONE, "0.bin", "0.src");
}

TEST(notices_every_flip_and_truncation_of_bin_compressed)
{
	check_damage(9, "0.bin", "0.src");
}

/* Which is never compressed. */
TEST(notices_every_flip_and_truncation_of_src)
{
	check_damage(CC_COMPRESSION_NONE, "0.src", "0.bin");
}

TEST(what_is_no_regular_file_is_no_entry)
{
	static const char *const names[] = { "0.src", "0.bin" };
	char path[8192];

	for (int i = 0; i < 4; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", bench.entry_dir, names[i % 2]);
		CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_OK);
		CU_ASSERT_EQUAL_FATAL(unlink(path), 0);
		CU_ASSERT_EQUAL_FATAL(i < 2 ? symlink("/dev/zero", path) : mkfifo(path, 0600), 0);
		CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "miss");
		CU_ASSERT_FALSE(exists(bench.entry_dir, names[i % 2]));
	}
	/* A directory cannot be removed so: another number is taken. */
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_OK);
	(void)snprintf(path, sizeof(path), "%s/0.src", bench.entry_dir);
	CU_ASSERT_EQUAL_FATAL(unlink(path), 0);
	CU_ASSERT_EQUAL_FATAL(mkdir(path, 0700), 0);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "miss");
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_OK);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "image");
}

TEST(links_lead_to_no_entry)
{
	char path[8192];
	unsigned int damaged;

	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(rename(bench.entry_dir, "moved"), 0);
	CU_ASSERT_EQUAL_FATAL(symlink(unit_path("moved"), bench.entry_dir), 0);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, &damaged), "miss");
	CU_ASSERT_EQUAL(damaged, 0);
	CU_ASSERT_EQUAL(unlink(bench.entry_dir), 0);
	CU_ASSERT_EQUAL_FATAL(rename("moved", bench.entry_dir), 0);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "image");
	/* Of the entry, its own image, by another name. */
	(void)snprintf(path, sizeof(path), "%s/0.bin", bench.entry_dir);
	CU_ASSERT_EQUAL_FATAL(rename(path, "image"), 0);
	CU_ASSERT_EQUAL_FATAL(symlink("../../../../../../image", path), 0);
	CU_ASSERT_EQUAL(access(path, R_OK), 0);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "miss");
}

TEST(a_lone_src_is_a_miss_and_is_filled_again)
{
	unsigned int damaged;
	char path[8192];

	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_OK);
	(void)snprintf(path, sizeof(path), "%s/0.bin", bench.entry_dir);
	CU_ASSERT_EQUAL_FATAL(unlink(path), 0);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, &damaged), "miss");
	CU_ASSERT_EQUAL(damaged, 0);
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "again"), CMN_OK);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "again");
	CU_ASSERT_FALSE(exists(bench.entry_dir, "1.src"));
}

TEST(a_damaged_entry_behind_a_lock_is_left_to_its_holder)
{
	int fd;

	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_OK);
	spill(bench.entry_dir, "0.bin", "x", 1);
	fd = open_entry_dir();
	CU_ASSERT_EQUAL_FATAL(cc_entry_dir_lock(fd, 0), CMN_OK);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "miss");
	CU_ASSERT_TRUE(exists(bench.entry_dir, "0.src"));
	cc_entry_dir_unlock(fd);
	(void)close(fd);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "miss");
	CU_ASSERT_FALSE(exists(bench.entry_dir, ""));
}

TEST(image_and_entry_sizes_are_bounded)
{
	bench.config.min_device_image_size = 3;
	bench.config.max_device_image_size = 5;
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "12"), CMN_ERR_TOO_LARGE);
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "123456"), CMN_ERR_TOO_LARGE);
	CU_ASSERT_FALSE(exists(bench.root, ""));
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "123"), CMN_OK);
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "12345"), CMN_OK);
	bench.config.max_size = 200;
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "1234"), CMN_ERR_TOO_LARGE);
	bench.config.max_size = 0;
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "1234"), CMN_OK);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "1234");
}

TEST(read_only_never_writes)
{
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_OK);
	bench.config.read_only = true;
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "new"), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(cc_store_remove(bench.store, &bench.key), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_ERR_ACCESS);
	use_at(0, 5);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "image");
	CU_ASSERT_EQUAL(last_use(), 5);
	spill(bench.entry_dir, "0.bin", "x", 1);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "miss");
	CU_ASSERT_TRUE(exists(bench.entry_dir, "0.src"));
}

TEST(tiers_are_looked_up_in_order_and_left_alone)
{
	char *low = unit_path("low"), *tiers[] = { unit_path("none"), low, NULL };
	char root[4200];
	OWNED(cmn_buffer_release) struct cmn_buffer before, after;
	OWNED(cc_key_release) struct cc_key other;
	char entry_dir[CC_ENTRY_DIR_PATH_SIZE], at[4400];

	make_key(&other, "-O3");
	memcpy(root, bench.root, sizeof(root));
	(void)snprintf(bench.root, sizeof(bench.root), "%s", low);
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "low"), CMN_OK);
	CU_ASSERT_EQUAL(put(&bench, &other, "low other"), CMN_OK);
	memcpy(bench.root, root, sizeof(root));
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "miss");
	bench.config.read_only_dirs = tiers;
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "low");
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "high"), CMN_OK);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "high");
	CU_ASSERT_STRING_EQUAL(get(&bench, &other, NULL), "low other");
	cc_entry_dir_path(cc_key_view(&other), entry_dir);
	(void)snprintf(at, sizeof(at), "%s/%s", low, entry_dir);
	before = slurp(at, "0.bin");
	before.data[before.len - 1] ^= 1;
	spill(at, "0.bin", before.data, before.len);
	CU_ASSERT_STRING_EQUAL(get(&bench, &other, NULL), "miss");
	after = slurp(at, "0.bin");
	CU_ASSERT_TRUE(cmn_view_equal(cmn_buffer_view(&before), cmn_buffer_view(&after)));
	before.data[before.len - 1] ^= 1;
	spill(at, "0.bin", before.data, before.len);
	CU_ASSERT_STRING_EQUAL(get(&bench, &other, NULL), "low other");
	CU_ASSERT_EQUAL(chmod(low, 0777), 0);
	CU_ASSERT_STRING_EQUAL(get(&bench, &other, NULL), "miss");
}

TEST(a_root_that_others_can_write_is_refused)
{
	struct cc_store *store = NULL;

	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_OK);
	CU_ASSERT_EQUAL(chmod(bench.root, 0777), 0);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "miss");
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "miss");
	CU_ASSERT_EQUAL(bench.messages, 1);
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(cc_store_open(&bench.config, &bench.log, &store), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(bench.messages, 2);
	CU_ASSERT_EQUAL(chmod(bench.root, 0700), 0);
	if (geteuid() == 0) {
		CU_ASSERT_EQUAL(chown(bench.root, 12345, 12345), 0);
		CU_ASSERT_EQUAL(cc_store_open(&bench.config, &bench.log, &store), CMN_ERR_ACCESS);
		CU_ASSERT_EQUAL(chown(bench.root, 0, 0), 0);
	}
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "image");
	CU_ASSERT_PTR_NULL(store);
}

TEST(a_root_that_cannot_be_made_is_a_failure_of_put_alone)
{
	struct cc_store *store = NULL;

	unit_write("a", "a file where a directory should be");
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "miss");
	CU_ASSERT_TRUE(put(&bench, &bench.key, "image") < 0);
	CU_ASSERT_EQUAL(unlink("a"), 0);
	unit_write("a/root", "a file in the root's place");
	CU_ASSERT_EQUAL(cc_store_open(&bench.config, &bench.log, &store), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_ERR_ACCESS);
	CU_ASSERT_PTR_NULL(store);
}

TEST(a_root_that_is_too_long_or_missing_is_refused)
{
	struct cc_store *store = NULL;

	memset(bench.root, 'r', sizeof(bench.root) - 1);
	bench.root[0] = '/';
	CU_ASSERT_EQUAL(cc_store_open(&bench.config, &bench.log, &store), CMN_ERR_INVALID);
	CU_ASSERT_EQUAL(bench.messages, 1);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "miss");
	bench.config.dir = NULL;
	CU_ASSERT_EQUAL(cc_store_open(&bench.config, &bench.log, &store), CMN_ERR_INVALID);
	CU_ASSERT_PTR_NULL(store);
	bench.config.dir = bench.root;
}

/* A bound on file sizes fails a write midway, as a full disk does. */
TEST(a_failed_write_leaves_nothing_or_the_old)
{
	char image[3000];
	OWNED(cc_key_release) struct cc_key key;

	make_key(&key, "-O3");
	memset(image, 'i', sizeof(image) - 1);
	image[sizeof(image) - 1] = '\0';
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "old"), CMN_OK);
	unit_limit_files(1000);
	CU_ASSERT_EQUAL(put(&bench, &bench.key, image), CMN_ERR_NOSPACE);
	CU_ASSERT_EQUAL(put(&bench, &key, image), CMN_ERR_NOSPACE);
	unit_limit_files(RLIM_INFINITY);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "old");
	CU_ASSERT_STRING_EQUAL(get(&bench, &key, NULL), "miss");
	walk_files(bench.root);
	/* Two of the entry; the mark, cache_size.txt, the days of use. */
	CU_ASSERT_EQUAL(walked_files, 5);
	CU_ASSERT_EQUAL(walked_bytes, account(&bench));
	CU_ASSERT_EQUAL(put(&bench, &bench.key, image), CMN_OK);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), image);
}

TEST(a_lost_or_wrong_account_is_counted_anew)
{
	static const char *const texts[] = { "", "12", "x\n", "-5\n", "123456789012345678901234\n" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		CU_ASSERT_EQUAL(put(&bench, &bench.key, texts[i][0] ? texts[i] : "image"), CMN_OK);
		walk_files(bench.root);
		CU_ASSERT_EQUAL(walked_bytes, account(&bench));
		spill(bench.root, "cache_size.txt", texts[i], strlen(texts[i]));
	}
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "last"), CMN_OK);
	walk_files(bench.root);
	CU_ASSERT_EQUAL(walked_bytes, account(&bench));
}

TEST(a_removed_root_is_made_again)
{
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_OK);
	CU_ASSERT_EQUAL(rename(bench.root, "gone"), 0);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "miss");
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "new"), CMN_OK);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "new");
}

TEST(puts_sweep_dead_writers_files)
{
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_OK);
	spill(bench.entry_dir, ".tmp-1-1", "half", 4);
	spill(bench.entry_dir, "unknown", "kept", 4);
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_OK);
	CU_ASSERT_FALSE(exists(bench.entry_dir, ".tmp-1-1"));
	CU_ASSERT_TRUE(exists(bench.entry_dir, "unknown"));
}

TEST(a_use_is_noted_when_none_was_for_an_hour)
{
	uint64_t begin = cmn_clock_realtime() & ~CC_ENTRY_DIR_UNUSED;
	const uint64_t long_ago = begin - 3610 * NS_PER_S, recent = begin - 3550 * NS_PER_S;

	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_OK);
	CU_ASSERT_TRUE(last_use() >= begin);
	CU_ASSERT_TRUE(last_use() & CC_ENTRY_DIR_UNUSED);
	use_at(0, recent | CC_ENTRY_DIR_UNUSED);	/* the first one */
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "image");
	CU_ASSERT_EQUAL(last_use(), recent);
	use_at(0, recent);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "image");
	CU_ASSERT_EQUAL(last_use(), recent);
	use_at(0, long_ago);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "image");
	CU_ASSERT_TRUE(last_use() >= begin);
	/* By a clock that was ahead. */
	use_at(0, begin + 3700 * NS_PER_S);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "image");
	CU_ASSERT_TRUE(last_use() <= cmn_clock_realtime());
}

TEST(a_use_changes_nothing_but_its_time)
{
	struct stat before, after;
	char path[8192];

	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_OK);
	(void)snprintf(path, sizeof(path), "%s/0.src", bench.entry_dir);
	CU_ASSERT_EQUAL(stat(path, &before), 0);
	use_at(0, 5);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "image");
	CU_ASSERT_EQUAL(stat(path, &after), 0);
	CU_ASSERT_EQUAL(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
	CU_ASSERT_EQUAL(before.st_ctim.tv_nsec, after.st_ctim.tv_nsec);
	CU_ASSERT_EQUAL(before.st_ino, after.st_ino);
}

/* A former version's time of last use. */
TEST(a_file_of_a_former_version_goes_with_its_entry)
{
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_OK);
	spill(bench.entry_dir, "0_access_time.txt", "5\n", 2);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "image");
	CU_ASSERT_TRUE(last_use() > 5);
	CU_ASSERT_EQUAL(cc_store_remove(bench.store, &bench.key), CMN_OK);
	CU_ASSERT_FALSE(exists(bench.entry_dir, "0_access_time.txt"));
	CU_ASSERT_NOT_EQUAL(access(bench.entry_dir, F_OK), 0);
}

struct seen {
	unsigned int count, numbers;	/* numbers: a bit for each */
	unsigned long bytes;
	enum cmn_status status;
	bool key;
	uint64_t payload_len;
};

static bool see(void *ctx, const struct cc_store_item *item)
{
	struct seen *seen = ctx;

	seen->count++;
	seen->numbers |= 1U << item->place->n;
	seen->bytes += item->bytes;
	/* In whatever order the file system lists them. */
	if (seen->count == 1 || item->status != CMN_OK)
		seen->status = item->status;
	seen->key = item->key.len > 0;
	seen->payload_len = item->payload_len;
	return seen->count < 2;
}

static struct seen walk(struct bench *of, bool deep)
{
	struct seen seen = { 0 };

	CU_ASSERT_EQUAL(cc_store_walk(of->store, deep, see, &seen), CMN_OK);
	return seen;
}

/* Corrects the hash of a .src after a change, as a hostile writer would. */
static void seal_src(struct cmn_buffer *file)
{
	const size_t hash_at = CC_SRC_HEADER_SIZE - CMN_HASH_SIZE;
	struct cmn_hash fold[2] = {
		cmn_hash_of(file->data, hash_at),
		cmn_hash_of(file->data + CC_SRC_HEADER_SIZE, file->len - CC_SRC_HEADER_SIZE),
	};
	struct cmn_hash hash = cmn_hash_of(fold, sizeof(fold));

	memcpy(file->data + hash_at, hash.bytes, CMN_HASH_SIZE);
}

/* The same for a .bin, which belongs to the .src with that hash from now on. */
static void seal_bin(struct cmn_buffer *file, const uint8_t *src_hash)
{
	const size_t hash_at = CC_ENTRY_HEADER_SIZE - CMN_HASH_SIZE;
	struct cmn_hash fold[2], hash;

	memcpy(file->data + hash_at - 2 * CMN_HASH_SIZE, src_hash, CMN_HASH_SIZE);
	fold[0] = cmn_hash_of(file->data, hash_at);
	fold[1] = cmn_hash_of(file->data + CC_ENTRY_HEADER_SIZE, file->len - CC_ENTRY_HEADER_SIZE);
	hash = cmn_hash_of(fold, sizeof(fold));
	memcpy(file->data + hash_at, hash.bytes, CMN_HASH_SIZE);
}

static bool encoding_fails;
WRAPPED(void, cc_manifest_encode, (const struct cc_manifest *manifest, struct cmn_buffer *ret))
{
	if (encoding_fails)
		ret->failed = true;
	else
		__real_cc_manifest_encode(manifest, ret);
}

/* Without its dependencies an entry would be good for ever. */
TEST(without_memory_for_its_manifest_nothing_is_stored)
{
	OWNED(owned_cc_entry_unref) struct cc_entry *entry;

	entry = make_entry("image", absent("/nowhere/absent.h"));
	encoding_fails = true;
	CU_ASSERT_EQUAL(cc_store_put(bench.store, &bench.key, entry), CMN_ERR_NOMEM);
	encoding_fails = false;
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "miss");
	CU_ASSERT_EQUAL(cc_store_put(bench.store, &bench.key, entry), CMN_OK);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "image");
}

static enum cmn_status judge(struct bench *of)
{
	struct cc_store_place place = { .n = 0 };

	cc_entry_dir_path(cc_key_view(&of->key), place.entry_dir);
	return cc_store_judge(of->store, &place);
}

TEST(half_an_entry_is_damaged)
{
	OWNED(cmn_buffer_release) struct cmn_buffer src, bin, other;
	char path[8192];
	OWNED(cc_key_release) struct cc_key key;

	CU_ASSERT_EQUAL(put_with(&bench.key, "image", absent("/nowhere/absent.h")), CMN_OK);
	CU_ASSERT_EQUAL(judge(&bench), CMN_OK);
	src = slurp(bench.entry_dir, "0.src");
	bin = slurp(bench.entry_dir, "0.bin");
	/* Another entry's half. */
	make_key(&key, "-O1");
	CU_ASSERT_EQUAL(put(&bench, &key, "other"), CMN_OK);
	cc_entry_dir_path(cc_key_view(&key), path);
	(void)snprintf(path + strlen(path), sizeof(path) - strlen(path), "/0.bin");
	other = slurp(bench.root, path);
	spill(bench.entry_dir, "0.bin", other.data, other.len);
	CU_ASSERT_EQUAL(judge(&bench), CMN_ERR_CORRUPT);
	CU_ASSERT_EQUAL(walk(&bench, false).status, CMN_STALE);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "miss");
	/* None. */
	spill(bench.entry_dir, "0.bin", bin.data, bin.len);
	CU_ASSERT_EQUAL(judge(&bench), CMN_OK);
	(void)snprintf(path, sizeof(path), "%s/0.bin", bench.entry_dir);
	CU_ASSERT_EQUAL(unlink(path), 0);
	CU_ASSERT_EQUAL(judge(&bench), CMN_ERR_CORRUPT);
	/* What another version says of its files is no damage, whatever they are. */
	src.data[CC_SRC_HEADER_SIZE + cc_key_view(&bench.key).len] += CC_MANIFEST_VERSION_PATHS;
	seal_src(&src);
	spill(bench.entry_dir, "0.src", src.data, src.len);
	CU_ASSERT_EQUAL(walk(&bench, false).status, CMN_ERR_VERSION);
	src.data[CC_SRC_HEADER_SIZE + cc_key_view(&bench.key).len] -= CC_MANIFEST_VERSION_PATHS;
	seal_src(&src);
	spill(bench.entry_dir, "0.src", src.data, src.len);
	/* A manifest that is none, under sound checksums: its first kind is not known. */
	spill(bench.entry_dir, "0.bin", bin.data, bin.len);
	CU_ASSERT_EQUAL(judge(&bench), CMN_OK);
	src.data[CC_SRC_HEADER_SIZE + cc_key_view(&bench.key).len + 8] = 99;
	seal_src(&src);
	seal_bin(&bin, src.data + CC_SRC_HEADER_SIZE - CMN_HASH_SIZE);
	spill(bench.entry_dir, "0.src", src.data, src.len);
	spill(bench.entry_dir, "0.bin", bin.data, bin.len);
	CU_ASSERT_EQUAL(judge(&bench), CMN_ERR_CORRUPT);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "miss");
}

TEST(headers_of_src_files_are_bounded)
{
	OWNED(cmn_buffer_release) struct cmn_buffer file = { 0 };
	struct cc_src_header header;
	struct cmn_hash hash;
	struct cc_src src;
	uint64_t key_len;

	CU_ASSERT_EQUAL_FATAL(cc_src_file_encode(cc_key_view(&bench.key), NULL, &file, &hash), CMN_OK);
	key_len = cc_key_view(&bench.key).len;
	CU_ASSERT_EQUAL(cc_src_file_read_header(cmn_buffer_view(&file), file.len, &header), CMN_OK);
	CU_ASSERT_EQUAL(header.key_len, key_len);
	/* Of a file that is longer, or shorter, than it says. */
	CU_ASSERT_EQUAL(cc_src_file_read_header(cmn_buffer_view(&file), file.len + 1, &header), CMN_ERR_CORRUPT);
	CU_ASSERT_EQUAL(cc_src_file_read_header(cmn_buffer_view(&file), file.len - 1, &header), CMN_ERR_CORRUPT);
	/* Of which the sum is right, by wrapping around. */
	for (int i = 0; i < 8; i++) {
		file.data[16 + i] = (uint8_t)((key_len + 1) >> (8 * i));
		file.data[24 + i] = 0xff;
	}
	CU_ASSERT_EQUAL(cc_src_file_read_header(cmn_buffer_view(&file), file.len, &header), CMN_ERR_CORRUPT);
	for (int i = 0; i < 8; i++) {
		file.data[16 + i] = (uint8_t)(key_len >> (8 * i));
		file.data[24 + i] = 0;
	}
	/* And its mark, under a sound checksum. */
	CU_ASSERT_EQUAL(cc_src_file_decode(cmn_buffer_view(&file), &src), CMN_OK);
	file.data[0] ^= 1;
	seal_src(&file);
	CU_ASSERT_EQUAL(cc_src_file_decode(cmn_buffer_view(&file), &src), CMN_ERR_CORRUPT);
}

static bool bin_is_another;	/* once */
WRAPPED(enum cmn_status, cc_entry_decode, (struct cmn_buffer *file, const struct cmn_hash *key_hash,
	const struct cmn_room *room, struct cc_manifest *manifest, struct cc_entry **ret))
{
	const struct cmn_hash other = { { 0 } };
	bool another = bin_is_another;

	bin_is_another = false;
	return __real_cc_entry_decode(file, another ? &other : key_hash, room, manifest, ret);
}

/* Replaced between the looks at its two files. */
TEST(an_entry_that_is_replaced_is_read_again)
{
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_OK);
	bin_is_another = true;
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "image");
	CU_ASSERT_FALSE(bin_is_another);
}

TEST(a_key_that_went_wrong_is_not_looked_for)
{
	struct cc_entry *entry = NULL;

	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_OK);
	bench.key.encoded.failed = true;
	CU_ASSERT_EQUAL(cc_store_get(bench.store, &bench.key, NULL, SIZE_MAX, &entry, NULL), CMN_ERR_NOMEM);
	CU_ASSERT_PTR_NULL(entry);
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "another image"), CMN_ERR_NOMEM);
}

TEST(a_walk_lists_and_judges_entries)
{
	OWNED(cmn_buffer_release) struct cmn_buffer file;
	struct cc_key key;

	CU_ASSERT_EQUAL(walk(&bench, true).count, 0);
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_OK);
	unit_write("a/root/README/0.src", "not ours");
	CU_ASSERT_EQUAL(walk(&bench, true).count, 1);
	CU_ASSERT_EQUAL(walk(&bench, true).status, CMN_OK);
	CU_ASSERT_EQUAL(walk(&bench, false).bytes, account(&bench));
	CU_ASSERT_EQUAL(walk(&bench, false).payload_len, 16 + 5);
	CU_ASSERT_TRUE(walk(&bench, false).key);
	file = slurp(bench.entry_dir, "0.bin");
	file.data[file.len - 1] ^= 1;
	spill(bench.entry_dir, "0.bin", file.data, file.len);
	CU_ASSERT_EQUAL(walk(&bench, false).status, CMN_OK);
	CU_ASSERT_EQUAL(walk(&bench, true).status, CMN_ERR_CORRUPT);
	spill(bench.entry_dir, "0.bin", file.data, file.len - 1);
	CU_ASSERT_EQUAL(walk(&bench, false).status, CMN_ERR_CORRUPT);
	spill(bench.entry_dir, "0.src", "x", 1);
	CU_ASSERT_EQUAL(walk(&bench, false).status, CMN_ERR_CORRUPT);
	CU_ASSERT_FALSE(walk(&bench, false).key);
	for (int i = 0; i < 3; i++) {
		make_key(&key, i == 0 ? "0" : i == 1 ? "1" : "2");
		CU_ASSERT_EQUAL(put(&bench, &key, "image"), CMN_OK);
		cc_key_release(&key);
	}
	/* The visitor says when it has enough. */
	CU_ASSERT_EQUAL(walk(&bench, false).count, 2);
}

#define LONG_SOURCE ((size_t)200 << 10)

static void make_long_key(struct cc_key *key, char end)
{
	char *source = malloc(LONG_SOURCE);

	CU_ASSERT_PTR_NOT_NULL_FATAL(source);
	memset(source, 's', LONG_SOURCE);
	source[LONG_SOURCE - 1] = end;
	cc_key_init(key);
	cc_key_add_text(key, CC_PART_DEVICE, "device", "d");
	cc_key_add(key, CC_PART_IMAGE, "source", source, LONG_SOURCE);
	free(source);
}

/* Such a key's file is never read whole, unless something about it is odd. */
TEST(dependencies_of_long_keys_count)
{
	struct cc_store_report report;
	struct cc_entry *entry;
	OWNED(cc_key_release) struct cc_key key;

	make_long_key(&key, '1');
	CU_ASSERT_EQUAL(put_with(&key, "image", absent("absent.h")), CMN_OK);
	CU_ASSERT_STRING_EQUAL(get(&bench, &key, NULL), "image");
	unit_write("absent.h", "");
	CU_ASSERT_EQUAL(cc_store_get(bench.store, &key, NULL, SIZE_MAX, &entry, &report), CMN_MISS);
	/* What has changed is told. */
	CU_ASSERT_EQUAL(report.change.how, CC_MANIFEST_APPEARED);
	CU_ASSERT_STRING_EQUAL(report.change.path, "absent.h");
}

/* Of a tier's root the group need not be the one that shares the own one. */
TEST(a_tier_is_no_groups_root)
{
	char *tiers[2] = { NULL, NULL };

	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_OK);
	cc_store_close(bench.store);
	tiers[0] = bench.root;
	bench.config.dir = NULL;
	bench.config.sharing = CC_SHARING_GROUP;
	bench.config.read_only_dirs = tiers;
	CU_ASSERT_EQUAL_FATAL(cc_store_open(&bench.config, &bench.log, &bench.store), CMN_OK);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "image");
}

/* Whoever they are of: what is in them may be anybody's. */
TEST(files_that_others_may_write_are_no_entries)
{
	static const char *const names[] = { "0.src", "0.bin" };
	unsigned int damaged;
	struct cc_key keys[2];
	char path[8192];

	make_long_key(&keys[0], '1');
	make_key(&keys[1], "-O1");
	for (size_t i = 0; i < 4; i++) {
		const struct cc_key *key = &keys[i / 2];

		cc_entry_dir_path(cc_key_view(key), bench.entry_dir + strlen(bench.root) + 1);
		(void)snprintf(path, sizeof(path), "%s/%s", bench.entry_dir, names[i % 2]);
		CU_ASSERT_EQUAL(put(&bench, key, "image"), CMN_OK);
		CU_ASSERT_STRING_EQUAL(get(&bench, key, &damaged), "image");
		CU_ASSERT_EQUAL(chmod(path, 0622), 0);
		CU_ASSERT_STRING_EQUAL(get(&bench, key, &damaged), "miss");
		CU_ASSERT_EQUAL(damaged, 1);
	}
	cc_key_release(&keys[0]);
	cc_key_release(&keys[1]);
}

TEST(long_keys_are_compared_in_full_and_their_damage_is_noticed)
{
	OWNED(cmn_buffer_release) struct cmn_buffer file, other_file;
	OWNED(cc_key_release) struct cc_key key, other;
	unsigned int damaged;

	make_long_key(&key, '1');
	make_long_key(&other, '2');
	cc_entry_dir_path(cc_key_view(&other), bench.entry_dir + strlen(bench.root) + 1);
	CU_ASSERT_EQUAL(put(&bench, &other, "other"), CMN_OK);
	other_file = slurp(bench.entry_dir, "0.src");
	cc_entry_dir_path(cc_key_view(&key), bench.entry_dir + strlen(bench.root) + 1);
	CU_ASSERT_EQUAL(put_with(&key, "image", absent("/nowhere/absent.h")), CMN_OK);
	CU_ASSERT_STRING_EQUAL(get(&bench, &key, &damaged), "image");
	CU_ASSERT_STRING_EQUAL(get(&bench, &other, &damaged), "other");
	file = slurp(bench.entry_dir, "0.src");
	CU_ASSERT(file.len > LONG_SOURCE);
	for (size_t at = 0; at < file.len; at += at < 64 ? 1 : file.len / 40) {
		if (at >= 8 && at < 12)		/* another version is not ours to judge */
			continue;
		file.data[at] ^= 4;
		spill(bench.entry_dir, "0.src", file.data, file.len);
		CU_ASSERT_STRING_EQUAL(get(&bench, &key, &damaged), "miss");
		CU_ASSERT_EQUAL(damaged, 1);
		file.data[at] ^= 4;
		CU_ASSERT_EQUAL(put(&bench, &key, "image"), CMN_OK);
	}
	for (size_t len = 0; len < file.len; len += file.len / 20) {
		spill(bench.entry_dir, "0.src", file.data, len);
		CU_ASSERT_STRING_EQUAL(get(&bench, &key, &damaged), "miss");
		CU_ASSERT_EQUAL(damaged, 1);
		CU_ASSERT_EQUAL(put(&bench, &key, "image"), CMN_OK);
	}
	/* Another key of equal length where this one's is looked for: no damage. */
	spill(bench.entry_dir, "0.src", other_file.data, other_file.len);
	CU_ASSERT_STRING_EQUAL(get(&bench, &key, &damaged), "miss");
	CU_ASSERT_EQUAL(damaged, 0);
}

/*
 * The application, at a moment: closes every descriptor, and opens a file of its own several times,
 * which gets the lowest numbers.
 */
#define APPLICATION_FILES 8
static struct {
	unsigned int at, calls;	/* at: before which call, or after which write; 0: never */
	int own;
	bool replaced[128];
} application;

static void let_application_close(void)
{
	if (!application.at || ++application.calls != application.at)
		return;
	for (int fd = application.own + 1; fd < 128; fd++)
		(void)close(fd);	/* most are none */
	for (int i = 0; i < APPLICATION_FILES; i++)
		application.replaced[dup(application.own)] = true;
}

#define BEFORE(name, parameters, arguments)		\
	int __real_##name parameters;			\
	int __wrap_##name parameters;			\
	int __wrap_##name parameters			\
	{						\
		let_application_close();		\
		return __real_##name arguments;		\
	}

BEFORE(openat, (int dir, const char *path, int flags, mode_t mode), (dir, path, flags, mode))
BEFORE(unlinkat, (int dir, const char *path, int flags), (dir, path, flags))
BEFORE(mkdirat, (int dir, const char *path, mode_t mode), (dir, path, mode))

/* After it, too: what it tells of a file holds for that file, whatever its number is by now. */
WRAPPED(int, fstatat, (int dir, const char *path, struct stat *info, int flags))
{
	int result;

	let_application_close();
	result = __real_fstatat(dir, path, info, flags);
	let_application_close();
	return result;
}

#define AFTER(name, parameters, arguments)		\
	ssize_t __real_##name parameters;		\
	ssize_t __wrap_##name parameters;		\
	ssize_t __wrap_##name parameters		\
	{						\
		ssize_t put = __real_##name arguments;	\
		let_application_close();		\
		return put;				\
	}

AFTER(write, (int fd, const void *data, size_t len), (fd, data, len))
AFTER(pwrite, (int fd, const void *data, size_t len, off_t at), (fd, data, len, at))

/* Whether its file was left alone, and it is still open by each number. */
static void check_application(void)
{
	int other = open("own", O_RDWR | O_CLOEXEC);
	struct stat info;

	CU_ASSERT_EQUAL(fstat(application.own, &info), 0);
	CU_ASSERT_EQUAL(info.st_size, 0);
	CU_ASSERT_EQUAL(info.st_mode & 0777, 0600);
	CU_ASSERT_EQUAL(flock(other, LOCK_EX | LOCK_NB), 0);
	(void)close(other);
	for (int fd = 0; fd < 128; fd++) {
		if (!application.replaced[fd])
			continue;
		CU_ASSERT_TRUE(fcntl(fd, F_GETFD) >= 0);
		(void)close(fd);
		application.replaced[fd] = false;
	}
}

/* A kernel before 5.6, or a sandbox, that does not know openat2. */
static bool is_old_kernel;

WRAPPED(long, syscall, (long number, ...))
{
	long words[6];
	va_list more;

	va_start(more, number);
	for (int i = 0; i < 6; i++)
		words[i] = va_arg(more, long);
	va_end(more);
	if (is_old_kernel && number == SYS_openat2) {
		errno = ENOSYS;
		return -1;
	}
	return __real_syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

static void close_everything_at_any_time(void)
{
	const struct cc_store_place place = { .n = 0 };
	unsigned int calls;
	bool more = true;

	application.own = open("own", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CU_ASSERT_FATAL(application.own >= 0);
	for (unsigned int at = 1; more && at < 1000; at++) {
		struct cc_store_place used = place;

		cc_entry_dir_path(cc_key_view(&bench.key), used.entry_dir);
		unit_remove("a");
		application.at = at;
		application.calls = 0;
		(void)put(&bench, &bench.key, "image");
		touch_place(bench.store, &used);
		(void)!cc_store_clean(bench.store, NULL);
		(void)!cc_store_remove(bench.store, &bench.key);
		calls = application.calls;
		application.at = 0;
		more = calls >= at;
		check_application();
		CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_OK);
		CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "image");
	}
	CU_ASSERT_TRUE(calls > 50);
	(void)close(application.own);
}

TEST(a_program_may_close_everything_at_any_time)
{
	close_everything_at_any_time();
}

TEST(a_program_may_close_everything_at_any_time_on_an_old_kernel)
{
	is_old_kernel = true;
	close_everything_at_any_time();
	is_old_kernel = false;
}

TEST(stores_where_there_are_no_locks)
{
	has_no_locks = true;
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_OK);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "image");
	has_no_locks = false;
}

TEST(what_another_version_wrote_stays_beside)
{
	OWNED(cmn_buffer_release) struct cmn_buffer before, after;

	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_OK);
	before = slurp(bench.entry_dir, "0.bin");
	before.data[8] = 9;	/* its version, behind eight bytes that all have */
	spill(bench.entry_dir, "0.bin", before.data, before.len);
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_OK);
	after = slurp(bench.entry_dir, "0.bin");
	CU_ASSERT_TRUE(cmn_view_equal(cmn_buffer_view(&before), cmn_buffer_view(&after)));
	CU_ASSERT_TRUE(exists(bench.entry_dir, "1.bin"));
}

/* A build that began so long ago and failed with that log, as the process of that number saw it. */
static void put_failure_of(const char *log, uint64_t run, uint64_t took_ns)
{
	OWNED(owned_cc_entry_unref) struct cc_entry *entry = cc_entry_new(1000);

	CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
	cc_entry_add(entry, 2, 0, log, strlen(log));
	cc_entry_set_failed(entry, false, cmn_clock_realtime() - took_ns);
	CU_ASSERT_EQUAL_FATAL(cc_entry_finish(entry, NULL), CMN_OK);
	entry->witnesses = (struct cc_witnesses){ run, run };
	CU_ASSERT_EQUAL(cc_store_put(bench.store, &bench.key, entry), CMN_OK);
}

static void put_failure(const char *log, uint64_t run)
{
	put_failure_of(log, run, 1000);
}

/* The failure's log that a look-up gives; "": it gives none. */
static const char *failure(void)
{
	static char text[64];
	struct cc_entry *entry = NULL;
	struct cmn_view log;

	if (cc_store_get(bench.store, &bench.key, NULL, SIZE_MAX, &entry, NULL) != CMN_OK)
		return "";
	CU_ASSERT_TRUE(entry->failed);
	CU_ASSERT_TRUE_FATAL(cc_entry_find(entry, 2, 0, &log));
	(void)snprintf(text, sizeof(text), "%.*s", (int)log.len, (const char *)log.data);
	cc_entry_unref(entry);
	return text;
}

/* That the entry was stored so long ago, or so long from now. */
static void age(int64_t s)
{
	const time_t then = (time_t)(cmn_clock_realtime() / NS_PER_S) - s;
	const struct timespec times[2] = { { then, 0 }, { then, 0 } };
	char path[8192];

	(void)snprintf(path, sizeof(path), "%s/0.bin", bench.entry_dir);
	CU_ASSERT_EQUAL(utimensat(AT_FDCWD, path, times, 0), 0);
}

TEST(a_failure_is_believed_once_two_processes_saw_it)
{
	bench.config.remember_failures = true;
	put_failure("x.c:1", 1);
	CU_ASSERT_STRING_EQUAL(failure(), "");
	age(10);
	put_failure("x.c:1", 1);	/* the same one again */
	CU_ASSERT_STRING_EQUAL(failure(), "");
	age(10);
	put_failure("x.c:2", 2);	/* in another way */
	CU_ASSERT_STRING_EQUAL(failure(), "");
	age(10);
	put_failure("x.c:2", 3);
	CU_ASSERT_STRING_EQUAL(failure(), "x.c:2");
	age(10);
	put_failure("x.c:2", 3);	/* who has seen it already takes nothing back */
	CU_ASSERT_STRING_EQUAL(failure(), "x.c:2");
	bench.config.remember_failures = false;
	CU_ASSERT_STRING_EQUAL(failure(), "");
	CU_ASSERT_FALSE(exists(bench.entry_dir, "1.bin"));
}

TEST(builds_that_fail_at_the_same_time_are_one_witness)
{
	bench.config.remember_failures = true;
	put_failure("x.c:1", 1);
	age(10);
	put_failure_of("x.c:1", 2, 20 * NS_PER_S);
	CU_ASSERT_STRING_EQUAL(failure(), "");
	age(-3600);
	put_failure("x.c:1", 3);
	age(10);
	CU_ASSERT_STRING_EQUAL(failure(), "");
}

TEST(a_failure_is_believed_for_a_day)
{
	bench.config.remember_failures = true;
	put_failure("x.c:1", 1);
	age(24 * 3600 + 1);
	put_failure("x.c:1", 2);	/* the first one is forgotten */
	CU_ASSERT_STRING_EQUAL(failure(), "");
	age(10);
	put_failure("x.c:1", 3);
	age(24 * 3600 - 600);
	CU_ASSERT_STRING_EQUAL(failure(), "x.c:1");
	age(24 * 3600 + 1);
	CU_ASSERT_STRING_EQUAL(failure(), "");
	age(-3600);
	CU_ASSERT_STRING_EQUAL(failure(), "");
}

TEST(what_was_built_outranks_a_failure)
{
	bench.config.remember_failures = true;
	put_failure("x.c:1", 1);
	age(10);
	put_failure("x.c:1", 2);
	CU_ASSERT_STRING_EQUAL(failure(), "x.c:1");
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_OK);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "image");
	put_failure("x.c:1", 3);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "image");
}

/* Whoever saw it, as long as what it depends on holds. */
TEST(a_failure_can_be_found_before_it_is_believed)
{
	struct cc_entry *entry;

	CU_ASSERT_EQUAL(cc_store_get_failure(bench.store, &bench.key, NULL, &entry), CMN_MISS);
	put_failure("x.c:1", 1);
	CU_ASSERT_EQUAL_FATAL(cc_store_get_failure(bench.store, &bench.key, NULL, &entry), CMN_OK);
	CU_ASSERT_FALSE(cc_entry_is_confirmed(entry));
	cc_entry_unref(entry);
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_OK);
	CU_ASSERT_EQUAL(cc_store_get_failure(bench.store, &bench.key, NULL, &entry), CMN_MISS);
}

/* What others' machines could not compile. */
TEST(a_failure_in_another_directory_counts_for_nothing)
{
	char *tiers[] = { bench.root, NULL };
	struct cc_config config = { .read_only_dirs = tiers, .remember_failures = true };
	struct cc_store *store;
	struct cc_entry *entry;

	bench.config.remember_failures = true;
	put_failure("x.c:1", 1);
	age(10);
	put_failure("x.c:1", 2);
	CU_ASSERT_EQUAL_FATAL(cc_store_open(&config, &bench.log, &store), CMN_OK);
	CU_ASSERT_EQUAL(cc_store_get(store, &bench.key, NULL, SIZE_MAX, &entry, NULL), CMN_MISS);
	cc_store_close(store);
}

/* A key that is larger than its image, where files must be small. */
TEST(without_its_key_no_image_stays)
{
	char options[20001];
	OWNED(cc_key_release) struct cc_key key;

	for (size_t i = 0; i < sizeof(options) - 1; i++)
		options[i] = (char)('!' + (i * i * 7919 >> 5) % 90);
	options[sizeof(options) - 1] = '\0';
	make_key(&key, options);
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "old"), CMN_OK);
	unit_limit_files(1000);
	CU_ASSERT_TRUE(put(&bench, &key, "image") < 0);
	unit_limit_files(RLIM_INFINITY);
	walk_files(bench.root);
	CU_ASSERT_EQUAL(walked_bytes, account(&bench));
	CU_ASSERT_EQUAL(cc_store_remove(bench.store, &bench.key), CMN_OK);
	walk_files(bench.root);
	CU_ASSERT_EQUAL(walked_bytes, 0);
}

TEST(each_state_of_a_removed_key_goes)
{
	CU_ASSERT_EQUAL(put_with(&bench.key, "one", absent("a.h")), CMN_OK);
	CU_ASSERT_EQUAL(put_with(&bench.key, "other", absent("b.h")), CMN_OK);
	CU_ASSERT_EQUAL(walk(&bench, false).numbers, 3);
	CU_ASSERT_EQUAL(cc_store_remove(bench.store, &bench.key), CMN_OK);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "miss");
}

/* Whether the key's file there is matched with the key that it is expected to have. */
static bool matches(const char *entry_dir, unsigned int n, struct cmn_view key)
{
	OWNED(cmn_buffer_release) struct cmn_buffer file = { 0 };
	int fd = open(bench.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct cc_src src = { .key = { NULL, 0 } };
	bool is_so;

	CU_ASSERT_FATAL(fd >= 0);
	is_so = cc_entry_dir_match_src(fd, entry_dir, n, CMN_FILE_TRUSTED, key, &file, &src);
	(void)close(fd);
	CU_ASSERT(!is_so || cmn_view_equal(src.key, key));
	CU_ASSERT_EQUAL(is_so && src.manifest.len > 0, is_so && n == 1);
	return is_so;
}

/* Without being read whole: with a manifest or not, cut short anywhere, and of another key that is as long. */
TEST(a_long_key_is_compared_piece_by_piece)
{
	static char options[3 * CC_ENTRY_DIR_LONG_KEY];
	char entry_dir[CC_ENTRY_DIR_PATH_SIZE], whole_dir[sizeof(bench.root) + sizeof(entry_dir)];
	OWNED(cmn_buffer_release) struct cmn_buffer src = { 0 };
	OWNED(cc_key_release) struct cc_key key, other;

	memset(options, 'x', sizeof(options) - 1);
	make_key(&key, options);
	options[sizeof(options) - 2] = 'y';
	make_key(&other, options);
	cc_entry_dir_path(cc_key_view(&key), entry_dir);
	(void)snprintf(whole_dir, sizeof(whole_dir), "%s/%s", bench.root, entry_dir);
	CU_ASSERT_EQUAL(put(&bench, &key, "image"), CMN_OK);
	CU_ASSERT_EQUAL(put_with(&key, "other image", absent("a.h")), CMN_OK);
	for (unsigned int n = 0; n < 2; n++) {
		char name[] = "0.src";

		name[0] = (char)('0' + n);
		CU_ASSERT_TRUE(matches(entry_dir, n, cc_key_view(&key)));
		CU_ASSERT_FALSE(matches(entry_dir, n, cc_key_view(&other)));
		src = slurp(whole_dir, name);
		for (size_t len = 0; len < src.len; len += len < 200 ? 1 : 997) {
			spill(whole_dir, name, src.data, len);
			CU_ASSERT_FALSE(matches(entry_dir, n, cc_key_view(&key)));
		}
		/* Any other byte of the header, of either end of the key, of what follows. */
		for (size_t at = 0; at < src.len; at += at < 200 || at + 200 > src.len ? 1 : 997) {
			src.data[at] ^= 1;
			spill(whole_dir, name, src.data, src.len);
			CU_ASSERT_FALSE(matches(entry_dir, n, cc_key_view(&key)));
			src.data[at] ^= 1;
		}
		spill(whole_dir, name, src.data, src.len);
		CU_ASSERT_TRUE(matches(entry_dir, n, cc_key_view(&key)));
		cmn_buffer_release(&src);
	}
}

/* Its number may be that of any file of the cache. */
TEST(a_program_may_have_no_standard_input)
{
	static char image[17 << 20];	/* such a file is looked at before it is read */
	OWNED(cmn_buffer_release) struct cmn_buffer src_file = { 0 }, bin_file = { 0 };
	int input = dup(0), fd;
	struct cc_src src;

	memset(image, 'x', sizeof(image) - 1);
	bench.config.compression = CC_COMPRESSION_NONE;
	CU_ASSERT_EQUAL(put(&bench, &bench.key, image), CMN_OK);
	fd = cmn_file_open(AT_FDCWD, bench.entry_dir, O_RDONLY | O_DIRECTORY);
	(void)close(0);
	CU_ASSERT_TRUE(cc_entry_dir_match_src(fd, NULL, 0, CMN_FILE_TRUSTED, cc_key_view(&bench.key), &src_file, &src));
	CU_ASSERT_EQUAL(cc_entry_dir_read_file(fd, NULL, CC_ENTRY_DIR_BIN, 0, CMN_FILE_TRUSTED, NULL, &bin_file, NULL),
			CMN_OK);
	CU_ASSERT(fcntl(0, F_GETFD) < 0);
	(void)close(fd);
	CU_ASSERT(input < 0 || dup2(input, 0) == 0);
	(void)close(input);
}

TEST(is_full_where_its_bound_is_passed)
{
	char text[32];
	int root_fd;

	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_OK);
	CU_ASSERT_FALSE(cc_store_is_full(bench.store, 100));
	CU_ASSERT_EQUAL_FATAL(cc_root_open(bench.root, &root_fd), CMN_OK);
	bench.config.max_size = 4 * (cc_overhead_bytes(root_fd) + 4096);
	(void)close(root_fd);
	(void)snprintf(text, sizeof(text), "%07llu\n", (unsigned long long)bench.config.max_size / 4 * 3);
	spill(bench.root, "cache_size.txt", text, 8);
	CU_ASSERT_TRUE(!cc_store_is_full(bench.store, 4096) && cc_store_is_full(bench.store, 4097));
	bench.config.max_size = 1 << 20;
	CU_ASSERT_TRUE(cc_store_is_full(bench.store, 2 << 20));
	spill(bench.root, "cache_size.txt", "0500000\n", 8);
	CU_ASSERT_FALSE(cc_store_is_full(bench.store, 100));
	CU_ASSERT_TRUE(cc_store_is_full(bench.store, 600000));
	spill(bench.root, "cache_size.txt", "1000000\n", 8);
	CU_ASSERT_TRUE(cc_store_is_full(bench.store, 100));
	spill(bench.root, "cache_size.txt", "2000000\n", 8);
	CU_ASSERT_TRUE(cc_store_is_full(bench.store, 0));
	/* Nor where there is no bound, or nothing goes for it. */
	bench.config.eviction_disable = true;
	CU_ASSERT_FALSE(cc_store_is_full(bench.store, 2 << 20));
	bench.config.eviction_disable = false;
	bench.config.max_size = 0;
	CU_ASSERT_FALSE(cc_store_is_full(bench.store, 2 << 20));
}

static void hold_entry_dir(void (*waits)(void))
{
	held.failed = 0;
	held.waits = waits;
	held.entry_dir = open_entry_dir();
	CU_ASSERT_EQUAL_FATAL(__real_flock(held.entry_dir, LOCK_EX | LOCK_NB), 0);
}

static void let_go_of_entry_dir(void)
{
	(void)close(held.entry_dir);
	held.entry_dir = -1;
}

static bool is_free(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool is = __real_flock(fd, LOCK_EX | LOCK_NB) == 0;

	(void)close(fd);
	return is;
}

static bool root_was_free;

static void look_at_root(void)
{
	root_was_free = is_free(bench.root);
	let_go_of_entry_dir();
}

TEST(others_have_the_root_while_an_entry_dir_is_waited_for)
{
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_OK);
	hold_entry_dir(look_at_root);
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "another image"), CMN_OK);
	CU_ASSERT_EQUAL(held.failed, 3);
	CU_ASSERT_TRUE(root_was_free);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "another image");
	CU_ASSERT_FALSE(exists(bench.entry_dir, "1.src"));
	walk_files(bench.root);
	CU_ASSERT_EQUAL(walked_bytes, account(&bench));
}

/* Another process's entries, meanwhile. */
static void fill_root(void)
{
	spill(bench.root, "cache_size.txt", "9000000000\n", 11);
	let_go_of_entry_dir();
}

TEST(the_entry_dir_of_what_does_not_fit_is_free_again)
{
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_OK);
	bench.config.eviction_order = CC_EVICTION_NONE;
	hold_entry_dir(fill_root);
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "another image"), CMN_ERR_TOO_LARGE);
	CU_ASSERT_EQUAL(held.failed, 3);
	CU_ASSERT_TRUE(is_free(bench.entry_dir));
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "image");
}

static void let_go_late(void)
{
	(void)usleep(50000);
	let_go_of_entry_dir();
}

/* However long that takes: when its build began decides. */
TEST(a_witness_may_wait_for_the_entry_dir)
{
	bench.config.remember_failures = true;
	put_failure("x.c:1", 1);
	hold_entry_dir(let_go_late);
	put_failure("x.c:1", 2);
	CU_ASSERT_EQUAL(held.failed, 3);
	CU_ASSERT_STRING_EQUAL(failure(), "x.c:1");
}

static bool waits_long(void)
{
	return cc_store_lock_until(bench.store) > cmn_clock_monotonic() + 1800 * NS_PER_S;
}

TEST(a_lock_that_was_had_is_waited_for_the_next_time)
{
	int root;

	cc_store_set_patience(bench.store, 3600 * NS_PER_S);
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_OK);
	CU_ASSERT_TRUE(waits_long());
	root = open(bench.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CU_ASSERT_EQUAL_FATAL(__real_flock(root, LOCK_EX | LOCK_NB), 0);
	cc_store_set_patience(bench.store, 1);
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_BUSY);
	cc_store_set_patience(bench.store, 3600 * NS_PER_S);
	CU_ASSERT_FALSE(waits_long());
	(void)close(root);
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_OK);
	CU_ASSERT_TRUE(waits_long());
}

/* What the directories of an entry take, as the store sees it; 0: what they do. */
static uint64_t bytes_of_directories;
WRAPPED(uint64_t, cc_entry_dir_directories, (int dir_fd))
{
	return bytes_of_directories ? bytes_of_directories : __real_cc_entry_dir_directories(dir_fd);
}

TEST(directories_need_room_too)
{
	bytes_of_directories = bench.config.max_size;
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_ERR_TOO_LARGE);
	bytes_of_directories = 0;
	CU_ASSERT_EQUAL(put(&bench, &bench.key, "image"), CMN_OK);
	CU_ASSERT_STRING_EQUAL(get(&bench, &bench.key, NULL), "image");
}

/* Its builders' locks. One that is in use has something in it. */
TEST(an_eviction_removes_a_former_versions_directory)
{
	unit_write("a/root/flights/0123456789abcdef0123456789abcdef.lock", "");
	CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
	CU_ASSERT_EQUAL(unlink("a/root/flights/0123456789abcdef0123456789abcdef.lock"), 0);
	CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
	CU_ASSERT_TRUE(access("a/root/flights", F_OK) < 0);
}
