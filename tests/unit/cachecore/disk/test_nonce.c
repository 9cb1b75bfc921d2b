/* SPDX-License-Identifier: MIT */
/* nonce: which builds are recognised as never coming again. */
#include "cachecore/disk/space/account.h"
#include "cachecore/disk/nonce.h"
#include "cachecore/disk/root.h"
#include "cachecore/disk/store.h"
#include "common/clock.h"
#include "tests/support/unit.h"

#define NS_PER_S UINT64_C(1000000000)

static struct cc_store *store;
static struct cc_config config;
static const struct cmn_log no_log = { .level = CMN_LOG_NONE };
static char root[4096];
static char *no_tiers[] = { NULL };
static struct cc_key key;	/* of the last run */
static const unsigned long long chance = 0x9e3779b97f4a7c15;

BEFORE_EACH
{
	(void)snprintf(root, sizeof(root), "%s/root", unit_dir());
	config = (struct cc_config){ .dir = root, .read_only_dirs = no_tiers,
				     .max_device_image_size = 1 << 20 };
	CU_ASSERT_EQUAL_FATAL(cc_store_open(&config, &no_log, &store), CMN_OK);
}

AFTER_EACH
{
	cc_key_release(&key);
	cc_store_close(store);
}

/* One process that builds one program; whether it was stored. */
static bool run_with(const char *options, uint64_t run, uint64_t now_ns, const char *source)
{
	struct cc_entry *entry;
	bool admitted;

	cc_key_release(&key);
	cc_key_init(&key);
	cc_key_add_text(&key, CC_PART_DEVICE, "device.name", "device 12345678");
	cc_key_add_text(&key, CC_PART_IMAGE, "source", source);
	cc_key_add_text(&key, CC_PART_OPTIONS, "options", options);
	admitted = cc_nonce_admits(root, cc_key_view(&key), run, now_ns);
	if (!admitted)
		return false;
	entry = cc_entry_new(1);
	CU_ASSERT_FATAL(entry != NULL);
	cc_entry_add(entry, 1, 0, "binary", 6);
	CU_ASSERT_EQUAL(cc_entry_finish(entry, NULL), CMN_OK);
	CU_ASSERT_EQUAL(cc_store_put(store, &key, entry), CMN_OK);
	cc_entry_unref(entry);
	return true;
}

static bool run_once(uint64_t run, const char *source)
{
	return run_with("-DA=1", run, cmn_clock_realtime(), source);
}

/* kernel void f_<token>(), used twice. */
static bool run_token(uint64_t run, unsigned long long token)
{
	char source[256];

	(void)snprintf(source, sizeof(source),
		       "kernel void f_%016llx(global int *o) { *o = 5; } /* f_%016llx */", token,
		       token);
	return run_once(run, source);
}

static void gather_evidence(void)
{
	for (uint64_t i = 1; i <= CC_NONCE_RUNS; i++)
		CU_ASSERT(run_token(i, i * chance));
}

TEST(random_name_is_noticed)
{
	gather_evidence();
	CU_ASSERT(!run_token(100, 100 * chance));
	CU_ASSERT(!run_token(101, 101 * chance));
	/* Other programs are stored as ever. */
	CU_ASSERT(run_once(102, "kernel void g() {}"));
}

TEST(random_option_is_noticed)
{
	char options[64];

	for (uint64_t i = 1; i <= CC_NONCE_RUNS + 1; i++) {
		(void)snprintf(options, sizeof(options), "-DSEED=%llu",
			       (unsigned long long)(i * 104729 + 1700000000));
		CU_ASSERT_EQUAL(run_with(options, i, cmn_clock_realtime(), "kernel void f() {}"), i <= CC_NONCE_RUNS);
	}
}

TEST(one_run_proves_nothing)
{
	for (uint64_t i = 1; i <= 40; i++)
		CU_ASSERT(run_token(1, i * chance));
}

TEST(small_numbers_are_no_chance)
{
	char source[64];

	for (uint64_t i = 1; i <= 40; i++) {
		(void)snprintf(source, sizeof(source), "kernel void f() { x(%u); }", 1000 + (unsigned int)i);
		CU_ASSERT(run_once(i, source));
	}
}

/* Each word is a program's in a run of its own; none is ever a hit. Whether all were stored. */
static bool family_is_stored(const char *format, uint64_t first, uint64_t step)
{
	char source[128];
	bool all = true;

	for (uint64_t i = 1; i <= 3 * CC_NONCE_RUNS; i++) {
		int at = snprintf(source, sizeof(source), "%s", "kernel void ");

		(void)snprintf(source + at, sizeof(source) - (size_t)at, format,
			       (unsigned long long)(first + i * step));
		all = run_once(i, source) && all;
	}
	return all;
}

TEST(families_are_no_chance)
{
	static const char *const formats[] = {
		"reduce_%llu(global int *a) {}", "reduce%llu(global int *a) {}",
		"deadbeef_reduce_%llu_acc() {}",
		"k_9e3779b97f4a7c15_%llu_9e3779b97f4a7c15() {}", "decode_facade%llu() {}",
	};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		CU_ASSERT(family_is_stored(formats[i], 100, 1));
	/* Dates and sizes. */
	CU_ASSERT(family_is_stored("f() { x(%llu); }", 20251100, 1));
	CU_ASSERT(family_is_stored("f() { x(%lluu); }", 1 << 20, 1 << 20));
	CU_ASSERT(family_is_stored("f() { x(%llu); }", 100000000, 1 << 20));
	/* In words whose letters happen to be hexadecimal digits. */
	CU_ASSERT(family_is_stored("feedback_%llu() {}", 1000, 7));
	CU_ASSERT(family_is_stored("gemm_%llxf() {}", 0x10a0, 7));
}

TEST(chance_is_noticed_in_any_dress)
{
	static const char *const formats[] = {
		"f() { p(0x%llx); }", "f() { q(0X%llX); }", "f() { p(0x%llxULL); }", "k_%llx_k() {}",
		"kernel%llu() {}",
		"k_%016llx_9e3779b9() {}",
	};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		CU_ASSERT(!family_is_stored(formats[i], 0x10000000000, chance >> 16));
	/* Seconds, and addresses of 32 bits without a letter every now and then. */
	CU_ASSERT(!family_is_stored("t_%llu() {}", 1763700000, 61));
	CU_ASSERT(!family_is_stored("t_%08llx() {}", 0x8a000000, 0x1003));
	for (uint64_t i = 1; i <= CC_NONCE_RUNS; i++)
		CU_ASSERT(run_once(i, i % 2 ? "t_12345678() {}" : "u_9a3b5c7d() {}"));
	CU_ASSERT(!run_once(100, "t_12345678() {}"));
}

TEST(two_words_are_two_programs)
{
	char source[128];

	for (uint64_t i = 1; i <= 40; i++) {
		(void)snprintf(source, sizeof(source), "f_%016llx g_%016llx",
			       (unsigned long long)(i * chance),
			       (unsigned long long)(i * 7 * chance));
		CU_ASSERT(run_once(i, source));
	}
}

TEST(hit_speaks_for_the_program)
{
	char path[CC_ENTRY_DIR_PATH_SIZE];
	uint64_t later = cmn_clock_realtime() + 100 * NS_PER_S;
	int root_fd, entry_dir_fd;

	gather_evidence();
	cc_entry_dir_path(cc_key_view(&key), path);
	CU_ASSERT_EQUAL_FATAL(cc_root_open(root, &root_fd), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(cc_entry_dir_open(root_fd, path, &entry_dir_fd), CMN_OK);
	cc_entry_dir_note_use(entry_dir_fd, NULL, 0, later - NS_PER_S);
	CU_ASSERT(run_with("-DA=1", 100, later,
			   "kernel void f_0123456789abcdef(global int *o) { *o = 5; } "
			   "/* f_0123456789abcdef */"));
	CU_ASSERT_EQUAL(close(entry_dir_fd), 0);
	CU_ASSERT_EQUAL(close(root_fd), 0);
}

/* As where each commit's hash is an option, and its kernels are used before the next one. */
TEST(a_hit_of_the_same_second_is_one)
{
	struct cc_entry *entry;

	for (uint64_t i = 1; i <= 3 * CC_NONCE_RUNS; i++) {
		CU_ASSERT(run_token(i, i * chance));
		CU_ASSERT_EQUAL_FATAL(cc_store_get(store, &key, NULL, SIZE_MAX, &entry, NULL), CMN_OK);
		cc_entry_unref(entry);
	}
}

/* Lustre has whole seconds. */
TEST(chance_is_noticed_where_times_are_coarse)
{
	char path[CC_ENTRY_DIR_PATH_SIZE];
	int root_fd;

	for (uint64_t i = 1; i <= CC_NONCE_RUNS; i++) {
		CU_ASSERT(run_token(i, i * chance));
		cc_entry_dir_path(cc_key_view(&key), path);
		CU_ASSERT_EQUAL_FATAL(cc_root_open(root, &root_fd), CMN_OK);
		cc_entry_dir_note_use(root_fd, path, 0, cmn_clock_realtime() / NS_PER_S * NS_PER_S);
		CU_ASSERT_EQUAL(close(root_fd), 0);
	}
	CU_ASSERT(!run_token(100, 100 * chance));
}

TEST(after_a_week_there_is_another_chance)
{
	uint64_t now = cmn_clock_realtime();
	char source[128];

	gather_evidence();
	CU_ASSERT(!run_token(100, 100 * chance));
	(void)snprintf(source, sizeof(source),
		       "kernel void f_%016x(global int *o) { *o = 5; } /* f_%016x */", 17, 17);
	CU_ASSERT(!run_with("-DA=1", 101, now + CC_NONCE_PAUSE_NS - NS_PER_S, source));
	CU_ASSERT(run_with("-DA=1", 102, now + CC_NONCE_PAUSE_NS + 100 * NS_PER_S, source));
}

TEST(evicted_builds_are_no_evidence)
{
	for (uint64_t i = 1; i <= 40; i++) {
		CU_ASSERT(run_token(i, i * chance));
		CU_ASSERT_EQUAL(cc_store_remove(store, &key), CMN_OK);
	}
}

TEST(damaged_or_foreign_file_admits)
{
	gather_evidence();
	unit_write("root/tokens.dat", "damaged");
	CU_ASSERT(run_token(100, 100 * chance));
	CU_ASSERT_EQUAL(unlink("root/tokens.dat"), 0);
	CU_ASSERT_EQUAL(symlink("/etc/passwd", "root/tokens.dat"), 0);
	CU_ASSERT(run_token(101, 101 * chance));
}

TEST(slot_that_is_damaged_or_anothers_counts_for_nothing)
{
	enum { SLOT = 128, SLOTS = 4096 };
	char used[SLOT], slot[SLOT];
	FILE *file;

	gather_evidence();
	CU_ASSERT(!run_token(100, 100 * chance));
	file = fopen("root/tokens.dat", "r+b");
	CU_ASSERT_FATAL(file != NULL);
	while (fread(slot, SLOT, 1, file) == 1)
		memcpy(used, slot, SLOT);	/* the file ends with it */
	rewind(file);
	for (int i = 0; i < SLOTS; i++)
		CU_ASSERT_EQUAL(fwrite(used, SLOT, 1, file), 1);
	CU_ASSERT_EQUAL(fflush(file), 0);
	CU_ASSERT(run_once(101, "kernel void g() {}"));
	CU_ASSERT(!run_token(102, 102 * chance));
	memset(used + SLOT - CMN_HASH_SIZE, 0, CMN_HASH_SIZE);
	rewind(file);
	for (int i = 0; i < SLOTS; i++)
		CU_ASSERT_EQUAL(fwrite(used, SLOT, 1, file), 1);
	CU_ASSERT_EQUAL(fclose(file), 0);
	CU_ASSERT(run_token(103, 103 * chance));
}

TEST(nothing_is_left_when_cleared)
{
	CU_ASSERT_EQUAL(cc_nonce_clear(root), CMN_OK);
	gather_evidence();
	CU_ASSERT(!run_token(100, 100 * chance));
	CU_ASSERT_EQUAL(cc_nonce_clear(root), CMN_OK);
	CU_ASSERT(access("root/tokens.dat", F_OK) < 0);
	CU_ASSERT_EQUAL(cc_nonce_clear(root), CMN_OK);
	CU_ASSERT(run_token(101, 101 * chance));
}
