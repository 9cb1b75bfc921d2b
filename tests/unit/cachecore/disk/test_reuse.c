/* SPDX-License-Identifier: MIT */
/* reuse: which builds are recognised as never coming again. */
#include "cachecore/disk/reuse.h"
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
static char words[CC_REUSE_WORDS_SIZE];	/* of the last run */
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

static void make_key(const char *options, struct cmn_view source)
{
	cc_key_release(&key);
	cc_key_init(&key);
	cc_key_add_text(&key, CC_PART_DEVICE, "device.name", "device 12345678");
	cc_key_add(&key, CC_PART_IMAGE, "source", source.data, source.len);
	cc_key_add_text(&key, CC_PART_OPTIONS, "options", options);
}

/* One process that builds one program; whether it was stored. */
static bool run_bytes(const char *options, uint64_t run, struct cmn_view source)
{
	struct cc_entry *entry;
	bool likely;

	make_key(options, source);
	likely = cc_reuse_is_likely(root, cc_key_view(&key), run, cmn_clock_realtime(), words);
	if (!likely)
		return false;
	entry = cc_entry_new(1);
	CU_ASSERT_FATAL(entry != NULL);
	cc_entry_add(entry, 1, 0, "binary", 6);
	CU_ASSERT_EQUAL(cc_entry_finish(entry, NULL), CMN_OK);
	CU_ASSERT_EQUAL(cc_store_put(store, &key, entry), CMN_OK);
	cc_entry_unref(entry);
	return true;
}

static bool run_with(const char *options, uint64_t run, const char *source)
{
	return run_bytes(options, run, cmn_view_of(source));
}

static bool run_once(uint64_t run, const char *source)
{
	return run_with("-DA=1", run, source);
}

struct token_source {
	char text[128];
};

/* kernel void f_<token>(), used twice. */
static struct token_source token_source(unsigned long long token)
{
	struct token_source source;

	(void)snprintf(source.text, sizeof(source.text),
		       "kernel void f_%016llx(global int *o) { *o = 5; } /* f_%016llx */", token, token);
	return source;
}

static bool run_token(uint64_t run, unsigned long long token)
{
	return run_once(run, token_source(token).text);
}

/* Of what run_token has stored. */
static void note_use(unsigned long long token, uint64_t used_ns)
{
	const struct token_source source = token_source(token);
	char path[CC_ENTRY_DIR_PATH_SIZE];
	int root_fd;

	make_key("-DA=1", cmn_view_of(source.text));
	cc_entry_dir_path(cc_key_view(&key), path);
	CU_ASSERT_EQUAL_FATAL(cc_root_open(root, &root_fd), CMN_OK);
	cc_entry_dir_note_use(root_fd, path, 0, used_ns);
	CU_ASSERT_EQUAL(close(root_fd), 0);
}

static void gather_evidence(void)
{
	for (uint64_t i = 1; i <= CC_REUSE_RUNS; i++)
		CU_ASSERT(run_token(i, i * chance));
}

TEST(random_name_is_noticed)
{
	char said[64];

	gather_evidence();
	CU_ASSERT_STRING_EQUAL(words, "");
	CU_ASSERT(!run_token(100, 100 * chance));
	(void)snprintf(said, sizeof(said), "f_%016llx -> f_%016llx", CC_REUSE_RUNS * chance, 100 * chance);
	CU_ASSERT_STRING_EQUAL(words, said);
	CU_ASSERT(!run_token(101, 101 * chance));
	/* Other programs are stored as ever. */
	CU_ASSERT(run_once(102, "kernel void g() {}"));
}

TEST(random_option_is_noticed)
{
	char options[64];

	for (uint64_t i = 1; i <= CC_REUSE_RUNS + 1; i++) {
		(void)snprintf(options, sizeof(options), "-DSEED=%llu",
			       (unsigned long long)(i * 104729 + 1700000000));
		CU_ASSERT_EQUAL(run_with(options, i, "kernel void f() {}"), i <= CC_REUSE_RUNS);
	}
}

TEST(one_run_proves_nothing)
{
	for (uint64_t i = 1; i <= 40; i++)
		CU_ASSERT(run_token(1, i * chance));
}

/* Each word is a program's in a run of its own; none is ever a hit. How many were stored before one was not. */
static unsigned int stored_of(const char *format, uint64_t first, uint64_t step)
{
	char source[128];

	CU_ASSERT_EQUAL(cc_reuse_clear(root), CMN_OK);	/* shapes may be equal */
	for (unsigned int i = 1; i <= 300; i++) {
		int at = snprintf(source, sizeof(source), "%s", "kernel void ");

		(void)snprintf(source + at, sizeof(source) - (size_t)at, format,
			       (unsigned long long)(first + i * step));
		if (!run_once(i, source))
			return i - 1;
	}
	return 300;
}

TEST(families_may_be_large)
{
	static const char *const formats[] = {
		"reduce_%llu(global int *a) {}", "deadbeef_reduce_%llu_acc() {}",
		"k_9e3779b97f4a7c15_%llu_9e3779b97f4a7c15() {}", "f() { x(%lluu); }",
	};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		CU_ASSERT_EQUAL(stored_of(formats[i], 100, 1), 256);
	/* Dates, and sizes. */
	CU_ASSERT_EQUAL(stored_of("f() { y(%llu); }", 20251100, 1), 256);
	CU_ASSERT_EQUAL(stored_of("f() { z(%llu); }", 100000000, 1 << 20), 256);
	CU_ASSERT_EQUAL(stored_of("gemm_%llxf() {}", 0x10a0, 7), 256);
}

TEST(chance_is_noticed_in_any_dress)
{
	static const char *const formats[] = {
		"f() { p(0x%llx); }", "f() { q(0X%llX); }", "f() { p(0x%llxULL); }", "k_%llx_k() {}",
		"k_%016llx_9e3779b9() {}",
	};
	char source[64] = "#line 1 \"/tmp/tmp......../gen.cl\"";

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		CU_ASSERT_EQUAL(stored_of(formats[i], 0x10000000000, chance >> 16), CC_REUSE_RUNS);
	CU_ASSERT_EQUAL(stored_of("t_%llu() {}", 1763700000, 61), CC_REUSE_RUNS);
	/* As mkstemp's, without a digit. */
	for (unsigned int i = 1; i <= CC_REUSE_RUNS + 1; i++) {
		for (unsigned int j = 0; j < 8; j++)
			source[17 + j] = (char)('a' + (i * 7 + j * i) % 26);
		CU_ASSERT_EQUAL(run_once(i, source), i <= CC_REUSE_RUNS);
	}
}

/* What lies between is no evidence for it, and none against it. */
TEST(numbers_are_a_little_evidence)
{
	char source[64];
	unsigned int i = 0;

	for (bool stored = true; stored && i < 300; i++) {
		(void)snprintf(source, sizeof(source), "f_%016llx(%u)", i / 8 * chance, i);
		stored = run_once(i, source);
	}
	/* One in eight words is chance's: 39 for eight runs. */
	CU_ASSERT(i > 45 && i < 60);
}

/* Names of another length, and numbers, in the same instructions; bytes that are neither. */
TEST(spirv_has_the_shape_of_its_instructions)
{
	for (unsigned int i = 1; i <= CC_REUSE_RUNS + 1; i++) {
		const unsigned int longer = i % 2;
		char module[64];
		uint32_t words32[16] = { 0x07230203, 0x00010000, 0, 50, 0, (4 + longer) << 16 | 7, 1 };
		struct cmn_view view = { module, (5 + 4 + longer + 2) * 4 };

		(void)snprintf((char *)(words32 + 7), 12, "%06x", i * 0x9e3779);
		words32[9 + longer] = 2 << 16 | 17;
		words32[10 + longer] = i * 0x1010101;
		memcpy(module, words32, sizeof(module));
		CU_ASSERT_EQUAL(run_bytes("", i, view), i <= CC_REUSE_RUNS);
	}
	for (unsigned int i = 1; i <= CC_REUSE_RUNS + 1; i++) {
		char bytes[16] = "BC\xc0\xde";

		memcpy(bytes + 8, "andandan", 8);
		bytes[8] = bytes[15] = (char)('a' + i);
		CU_ASSERT_EQUAL(run_bytes("", i, (struct cmn_view){ bytes, sizeof(bytes) }), i <= CC_REUSE_RUNS);
	}
}

/* One of them is another one: half of the modules are of another shape. */
TEST(spirv_of_other_instructions_has_another_shape)
{
	for (unsigned int i = 1; i <= CC_REUSE_RUNS + 2; i++) {
		uint32_t module[] = { 0x07230203, 0x00010000, 0, 50, 0, 2 << 16 | 17, i, 3 << 16 | (20 + i % 2), i, 21 };

		CU_ASSERT(run_bytes("", i, (struct cmn_view){ module, sizeof(module) }));
	}
}

TEST(words_that_are_too_long_are_not_told)
{
	char source[200];

	for (uint64_t i = 1; i <= CC_REUSE_RUNS + 1; i++) {
		(void)snprintf(source, sizeof(source), "%0*llx_%016llx()", i == CC_REUSE_RUNS ? 60 : 8, i * chance, i * chance);
		CU_ASSERT_EQUAL(run_once(i, source), i <= CC_REUSE_RUNS);
	}
	CU_ASSERT_STRING_EQUAL(words, "");
}

/* An instruction of no length, and one that is cut off. */
TEST(damaged_spirv_has_a_shape)
{
	uint32_t module[8] = { 0x07230203, 0x00010000, 0, 50, 0, 7, 0xffff0011, 1 };

	for (size_t len = 1; len <= sizeof(module); len++)
		CU_ASSERT(run_bytes("", len, (struct cmn_view){ module, len }));
}

/* Of any of the last eight: then evidence is gathered anew. */
TEST(hit_speaks_for_the_program)
{
	gather_evidence();
	note_use(3 * chance, cmn_clock_realtime() + 100 * NS_PER_S);
	for (uint64_t i = 100; i <= 100 + CC_REUSE_RUNS; i++)
		CU_ASSERT_EQUAL(run_token(i, i * chance), i < 100 + CC_REUSE_RUNS);
}

TEST(a_hit_resumes)
{
	gather_evidence();
	CU_ASSERT(!run_token(100, 100 * chance));
	note_use(3 * chance, cmn_clock_realtime() + 100 * NS_PER_S);
	/* A run's first build finds it out. */
	CU_ASSERT(!run_token(100, 101 * chance));
	CU_ASSERT(run_token(101, 101 * chance));
	CU_ASSERT(run_token(102, 102 * chance));
}

/* Asked for once more, in the same run or another; from then on twice as many are stored. */
TEST(what_is_built_again_is_stored_again)
{
	gather_evidence();
	for (uint64_t i = 100; i < 120; i++)
		CU_ASSERT(!run_token(i, i * chance));
	CU_ASSERT(run_token(120, 103 * chance));
	CU_ASSERT(run_token(120, 121 * chance));
	for (uint64_t i = 201; i < 200 + 2 * CC_REUSE_RUNS; i++)
		CU_ASSERT(run_token(i, i * chance));
	CU_ASSERT(!run_token(300, 300 * chance));
	/* Those from before are forgotten. */
	CU_ASSERT(!run_token(301, 104 * chance));
	CU_ASSERT(run_token(301, 104 * chance));
}

TEST(so_many_that_were_refused_are_remembered)
{
	gather_evidence();
	CU_ASSERT(!run_token(99, 99 * chance));
	CU_ASSERT(run_token(99, 99 * chance));
	for (uint64_t i = 1; i < 2 * CC_REUSE_RUNS; i++)
		CU_ASSERT(run_token(200 + i, (200 + i) * chance));
	for (uint64_t i = 0; i < 50; i++)
		CU_ASSERT(!run_token(100 + i, (100 + i) * chance));
	CU_ASSERT(!run_token(300, 100 * chance));
	CU_ASSERT(run_token(301, 102 * chance));
}

/* As where each commit's hash is an option, and its kernels are used before the next one. */
TEST(a_hit_of_the_same_second_is_one)
{
	struct cc_entry *entry;

	for (uint64_t i = 1; i <= 3 * CC_REUSE_RUNS; i++) {
		CU_ASSERT(run_token(i, i * chance));
		CU_ASSERT_EQUAL_FATAL(cc_store_get(store, &key, NULL, SIZE_MAX, &entry, NULL), CMN_OK);
		cc_entry_unref(entry);
	}
}

/* Lustre has whole seconds. */
TEST(chance_is_noticed_where_times_are_coarse)
{
	for (uint64_t i = 1; i <= CC_REUSE_RUNS; i++) {
		CU_ASSERT(run_token(i, i * chance));
		note_use(i * chance, cmn_clock_realtime() / NS_PER_S * NS_PER_S);
	}
	CU_ASSERT(!run_token(100, 100 * chance));
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
	unit_write("root/reuse.dat", "damaged");
	CU_ASSERT(run_token(100, 100 * chance));
	CU_ASSERT_EQUAL(unlink("root/reuse.dat"), 0);
	CU_ASSERT_EQUAL(symlink("/etc/passwd", "root/reuse.dat"), 0);
	CU_ASSERT(run_token(101, 101 * chance));
}

TEST(slot_that_is_damaged_or_anothers_counts_for_nothing)
{
	enum { SLOT = 1024, SLOTS = 512 };

	gather_evidence();
	CU_ASSERT(!run_token(100, 100 * chance));
	unit_repeat_last_slot("root/reuse.dat", SLOT, SLOTS, -1);
	CU_ASSERT(run_once(101, "kernel void g() {}"));
	CU_ASSERT(!run_token(102, 102 * chance));
	unit_repeat_last_slot("root/reuse.dat", SLOT, SLOTS, SLOT - 1);
	CU_ASSERT(run_token(103, 103 * chance));
}

TEST(nothing_is_left_when_cleared)
{
	CU_ASSERT_EQUAL(cc_reuse_clear(root), CMN_OK);
	gather_evidence();
	CU_ASSERT(!run_token(100, 100 * chance));
	CU_ASSERT_EQUAL(cc_reuse_clear(root), CMN_OK);
	CU_ASSERT(access("root/reuse.dat", F_OK) < 0);
	CU_ASSERT_EQUAL(cc_reuse_clear(root), CMN_OK);
	CU_ASSERT(run_token(101, 101 * chance));
}
