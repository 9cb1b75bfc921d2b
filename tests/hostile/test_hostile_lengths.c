/* SPDX-License-Identifier: MIT */
/*
 * test_hostile_lengths: each number of a file that says how long something is,
 * replaced by others, with checksums that fit and without; compressed streams
 * that become much longer than they say, or say much.
 */
#include <sys/resource.h>

#include "cachecore/disk/compression.h"
#include "cachecore/disk/writer/recipe.h"
#include "cachecore/disk/writer/recipes.h"
#include "cachecore/entry.h"
#include "common/file.h"
#include "tests/hostile/hostile.h"
#include "tests/support/unit.h"

#define SRC_HASH_AT (CC_SRC_HEADER_SIZE - CMN_HASH_SIZE)
#define BIN_HASH_AT (CC_ENTRY_HEADER_SIZE - CMN_HASH_SIZE)
#define BIN_PAYLOAD_HASH_AT (BIN_HASH_AT - CMN_HASH_SIZE)
#define RECIPE_HASH_AT (CC_RECIPE_HEADER_SIZE - CMN_HASH_SIZE)

static struct cmn_buffer slurp(const struct hostile *hostile, const char *relative)
{
	struct cmn_buffer file;

	CU_ASSERT_EQUAL_FATAL(cmn_file_read(AT_FDCWD, hostile_path(hostile, relative), 1 << 24, false,
					    &file), CMN_OK);
	return file;
}

static void spill(const struct hostile *hostile, const char *relative, const void *data, size_t len)
{
	(void)unlink(hostile_path(hostile, relative));
	unit_write_bytes(hostile_path(hostile, relative), data, len);
}

/* The checksum that all kinds of files have: of what is before it, and of what is behind. */
static void seal(uint8_t *file, size_t len, size_t hash_at)
{
	size_t end = hash_at + CMN_HASH_SIZE;
	struct cmn_hash fold[2] = { cmn_hash_of(file, hash_at), cmn_hash_of(file + end, len - end) };
	struct cmn_hash hash = cmn_hash_of(fold, sizeof(fold));

	memcpy(file + hash_at, hash.bytes, CMN_HASH_SIZE);
}

static void seal_src(uint8_t *file, size_t len)
{
	seal(file, len, SRC_HASH_AT);
}

/* The payload as it is stored. */
static void seal_bin(uint8_t *file, size_t len)
{
	struct cmn_hash hash = cmn_hash_of(file + CC_ENTRY_HEADER_SIZE, len - CC_ENTRY_HEADER_SIZE);

	memcpy(file + BIN_PAYLOAD_HASH_AT, hash.bytes, CMN_HASH_SIZE);
	seal(file, len, BIN_HASH_AT);
}

static void seal_recipe(uint8_t *file, size_t len)
{
	seal(file, len, RECIPE_HASH_AT);
}

static uint64_t read_number(const uint8_t *at, unsigned int width)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < width; i++)
		value |= (uint64_t)at[i] << 8 * i;
	return value;
}

static void write_number(uint8_t *at, unsigned int width, uint64_t value)
{
	for (unsigned int i = 0; i < width; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

struct field {
	const char *name;
	size_t at;
	unsigned int width;
};

static void try_value(struct hostile *hostile, const char *relative, const struct cmn_buffer *good,
		      const struct field *field, uint64_t value, void (*seal_file)(uint8_t *, size_t))
{
	uint8_t *file = malloc(good->len);
	const char *got;
	char what[256];
	int code;

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	/* What was healed behind an entry that seemed to be another key's. */
	(void)snprintf(what, sizeof(what), "%s/1.src", hostile->entry_dir);
	(void)unlink(hostile_path(hostile, what));
	(void)snprintf(what, sizeof(what), "%s of %.60s: %llu, %s", field->name, relative,
		       (unsigned long long)value, seal_file ? "sealed" : "unsealed");
	memcpy(file, good->data, good->len);
	write_number(file + field->at, field->width, value);
	if (seal_file)
		seal_file(file, good->len);
	spill(hostile, relative, file, good->len);
	free(file);
	hostile_time_limit(30, what);
	code = hostile_tool(hostile, "verify", NULL);
	HOSTILE_ASSERT(what, code == 0 || code == 1);
	code = hostile_tool(hostile, "list", NULL);
	HOSTILE_ASSERT(what, code == 0 || code == 1);
	got = hostile_get(hostile);
	HOSTILE_ASSERT(what, strcmp(got, "miss") == 0);
	hostile_expect_healed(hostile, what);
	hostile_time_limit(0, "");
}

static void try_field(struct hostile *hostile, const char *relative, const struct cmn_buffer *good,
		      const struct field *field, void (*seal_file)(uint8_t *, size_t))
{
	uint64_t was = read_number(good->data + field->at, field->width);
	const uint64_t values[] = {
		0,
		1,
		was - 1,
		was + 1,
		good->len,
		0x7fffffff,
		0x80000000,
		0xffffffff,
		UINT64_C(1) << 30,
		UINT64_C(1) << 32,
		(UINT64_C(1) << 32) + was,
		UINT64_C(1) << 62,
		INT64_MAX,
		UINT64_C(1) << 63,
		(UINT64_C(1) << 63) + was,
		UINT64_MAX - good->len,
		UINT64_MAX - was + 1,
		UINT64_MAX - 15,
		UINT64_MAX,
	};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		uint64_t value = values[i];

		if (field->width < 8)
			value &= (UINT64_C(1) << 8 * field->width) - 1;
		if (value != was)
			try_value(hostile, relative, good, field, value, seal_file);
	}
}

static void try_file(const char *name, const struct field *fields, size_t count,
		     void (*seal_file)(uint8_t *, size_t))
{
	char relative[CC_ENTRY_DIR_PATH_SIZE + CC_ENTRY_DIR_NAME_SIZE];
	struct cmn_buffer good;
	struct hostile hostile;

	hostile_open(&hostile, "lengths");
	hostile.config.compression = CC_COMPRESSION_NONE;
	CU_ASSERT_EQUAL_FATAL(hostile_put(&hostile), CMN_OK);
	(void)snprintf(relative, sizeof(relative), "%s/%s", hostile.entry_dir, name);
	good = slurp(&hostile, relative);
	for (size_t i = 0; i < count; i++) {
		try_field(&hostile, relative, &good, &fields[i], NULL);
		try_field(&hostile, relative, &good, &fields[i], seal_file);
	}
	cmn_buffer_release(&good);
	hostile_close(&hostile);
}

TEST(lengths_of_src)
{
	struct field fields[] = {
		{ "key_len", 16, 8 },
		{ "manifest_len", 24, 8 },
		{ "the first value_len", CC_SRC_HEADER_SIZE + 4 + 2 + strlen("device"), 8 },
		{ "the first name_len", CC_SRC_HEADER_SIZE + 4 + 1, 1 },
		{ "count", 0, 4 },
		{ "path_len", 0, 8 },
	};
	struct hostile hostile;
	size_t manifest;

	hostile_open(&hostile, "measure");
	manifest = CC_SRC_HEADER_SIZE + cc_key_view(&hostile.key).len;
	hostile_close(&hostile);
	fields[4].at = manifest + 4;
	fields[5].at = manifest + 4 + 4 + 1;
	try_file("0.src", fields, sizeof(fields) / sizeof(fields[0]), seal_src);
}

TEST(lengths_of_bin)
{
	static const struct field fields[] = {
		{ "codec", 12, 4 },
		{ "payload_len", 16, 8 },
		{ "stored_len", 24, 8 },
		{ "the first len", CC_ENTRY_HEADER_SIZE + 8, 8 },
	};

	try_file("0.bin", fields, sizeof(fields) / sizeof(fields[0]), seal_bin);
}

/* Of recipes nothing is a hit: they are read, or they are not. */
TEST(lengths_of_recipes)
{
	struct cc_recipe recipe;
	struct cmn_buffer good;
	struct hostile hostile;
	size_t at[6] = { 16, CC_RECIPE_HEADER_SIZE };

	hostile_open(&hostile, "recipes");
	good = slurp(&hostile, hostile.recipe);
	CU_ASSERT_EQUAL_FATAL(cc_recipe_decode(cmn_buffer_view(&good), &recipe), CMN_OK);
	for (size_t i = 2; i < 6; i++)
		at[i] = at[i - 1] + 8 + (size_t)read_number(good.data + at[i - 1], 8);
	for (size_t i = 0; i < 6; i++) {
		uint64_t was = read_number(good.data + at[i], 8);
		const uint64_t values[] = { was + 1, was - 1, good.len, UINT64_C(1) << 32,
					    UINT64_C(1) << 63, UINT64_MAX - 7, UINT64_MAX - was + 1,
					    UINT64_MAX };

		for (size_t j = 0; j < 2 * sizeof(values) / sizeof(values[0]); j++) {
			if (values[j / 2] == was)
				continue;
			write_number(good.data + at[i], 8, values[j / 2]);
			if (j % 2)
				seal_recipe(good.data, good.len);
			CU_ASSERT_EQUAL(cc_recipe_decode(cmn_buffer_view(&good), &recipe),
					CMN_ERR_CORRUPT);
		}
		spill(&hostile, hostile.recipe, good.data, good.len);
		CU_ASSERT_TRUE(hostile_tool(&hostile, "replay", NULL) <= 1);
		write_number(good.data + at[i], 8, was);
		seal_recipe(good.data, good.len);
		CU_ASSERT_EQUAL(cc_recipe_decode(cmn_buffer_view(&good), &recipe), CMN_OK);
	}
	cmn_buffer_release(&good);
	hostile_close(&hostile);
}

/* The entry's .bin with another payload, and what it says of its length. */
static void spill_compressed(struct hostile *hostile, const char *relative, struct cmn_view stored,
			     uint64_t payload_len)
{
	struct cmn_buffer file = slurp(hostile, relative);

	file.len = CC_ENTRY_HEADER_SIZE;
	write_number(file.data + 12, 4, CC_CODEC_ZLIB);
	write_number(file.data + 16, 8, payload_len);
	write_number(file.data + 24, 8, stored.len);
	cmn_buffer_append(&file, stored.data, stored.len);
	CU_ASSERT_FALSE_FATAL(file.failed);
	seal(file.data, file.len, BIN_HASH_AT);
	spill(hostile, relative, file.data, file.len);
	cmn_buffer_release(&file);
}

/* A look-up in a process of its own: how many KiB it took beyond what there was. */
static long memory_of_get(struct hostile *hostile, const char *what)
{
	struct rusage before, after;
	int pipe_fds[2], status;
	long grown = -1;
	pid_t pid;

	CU_ASSERT_EQUAL_FATAL(pipe(pipe_fds), 0);
	hostile_time_limit(60, what);
	pid = fork();
	CU_ASSERT_TRUE_FATAL(pid >= 0);
	if (pid == 0) {
		(void)getrusage(RUSAGE_SELF, &before);
		if (strcmp(hostile_get(hostile), "miss") != 0)
			_exit(1);
		(void)getrusage(RUSAGE_SELF, &after);
		grown = after.ru_maxrss - before.ru_maxrss;
		(void)!write(pipe_fds[1], &grown, sizeof(grown));
		_exit(0);
	}
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	HOSTILE_ASSERT(what, WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CU_ASSERT_EQUAL(read(pipe_fds[0], &grown, sizeof(grown)), (ssize_t)sizeof(grown));
	(void)close(pipe_fds[0]);
	(void)close(pipe_fds[1]);
	hostile_time_limit(0, "");
	return grown;
}

TEST(bombs_end_where_they_said_they_would)
{
	const size_t long_len = (size_t)64 << 20;
	char relative[CC_ENTRY_DIR_PATH_SIZE + CC_ENTRY_DIR_NAME_SIZE];
	struct cmn_buffer stream = { 0 };
	struct hostile hostile;
	uint8_t *bytes = malloc(long_len);
	long grown;

	CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
	memset(bytes, 'i', long_len);
	CU_ASSERT_EQUAL_FATAL(cc_codec_compress((struct cmn_view){ bytes, long_len }, 9, &stream), CMN_OK);
	free(bytes);
	hostile_open(&hostile, "bombs");
	(void)snprintf(relative, sizeof(relative), "%s/0.bin", hostile.entry_dir);
	/* It goes on behind what it says. */
	spill_compressed(&hostile, relative, cmn_buffer_view(&stream), stream.len + 1000);
	grown = memory_of_get(&hostile, "a stream that is longer than it says");
	CU_ASSERT_TRUE(UNIT_IS_SANITIZED || grown < 8 << 10);
	hostile_expect_healed(&hostile, "a long stream");
	/* It says what no stream of its length can become: nothing is allocated for it. */
	spill_compressed(&hostile, relative, (struct cmn_view){ stream.data, 1000 }, UINT64_C(1) << 32);
	grown = memory_of_get(&hostile, "a short stream that says it is long");
	CU_ASSERT_TRUE(UNIT_IS_SANITIZED || grown < 8 << 10);
	hostile_expect_healed(&hostile, "a short stream");
	/* As long as it says, and no payload. */
	spill_compressed(&hostile, relative, cmn_buffer_view(&stream), long_len);
	grown = memory_of_get(&hostile, "a stream as long as it says");
	CU_ASSERT_TRUE(UNIT_IS_SANITIZED || grown < (long)(long_len >> 10) + (16 << 10));
	hostile_expect_healed(&hostile, "a true stream");
	/* More behind its end. */
	cmn_buffer_append_u8(&stream, 0);
	spill_compressed(&hostile, relative, cmn_buffer_view(&stream), long_len);
	CU_ASSERT_STRING_EQUAL(hostile_get(&hostile), "miss");
	hostile_expect_healed(&hostile, "a stream with a tail");
	cmn_buffer_release(&stream);
	hostile_close(&hostile);
}

/* As long as a file may be, but the first bytes are not those of one. */
TEST(large_files_of_nothing_take_no_memory)
{
	static const char *const names[] = { "0.src", "0.bin" };
	static const off_t sizes[] = { (off_t)1 << 30, ((off_t)1 << 32) + CC_ENTRY_HEADER_SIZE };
	char relative[CC_ENTRY_DIR_PATH_SIZE + CC_ENTRY_DIR_NAME_SIZE];
	struct hostile hostile;
	long grown;

	hostile_open(&hostile, "large");
	for (int i = 0; i < 4; i++) {
		(void)snprintf(relative, sizeof(relative), "%s/%s", hostile.entry_dir, names[i / 2]);
		/* Even with a head that was one, of another length. */
		if (i % 2 == 0)
			spill(&hostile, relative, "x", 1);
		CU_ASSERT_EQUAL(truncate(hostile_path(&hostile, relative), sizes[i / 2]), 0);
		grown = memory_of_get(&hostile, names[i / 2]);
		CU_ASSERT_TRUE(UNIT_IS_SANITIZED || grown < 8 << 10);
		hostile_expect_healed(&hostile, names[i / 2]);
	}
	hostile_close(&hostile);
}
