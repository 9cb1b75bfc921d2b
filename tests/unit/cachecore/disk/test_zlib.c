/* SPDX-License-Identifier: MIT */
/* test_zlib: compressed entries are plain zlib streams: zlib itself reads ours, and an entry that zlib wrote is a hit. */
#include <zlib.h>

#include "cachecore/disk/root.h"
#include "cachecore/disk/store.h"
#include "cachecore/entry.h"
#include "common/bytes.h"
#include "common/file.h"
#include "common/hash.h"
#include "tests/support/unit.h"

/* Of a .bin, docs/FORMAT.md. */
enum { AT_CODEC = 12, AT_PAYLOAD_LEN = 16, AT_STORED_LEN = 24, AT_FILE_HASH = 72, HEADER = 88 };
#define IMAGE_LEN 40000

static struct cc_config config;
static struct cc_store *store;
static struct cc_key key;
static char root[4200], path[4400];
static uint8_t image[IMAGE_LEN];

static struct cmn_buffer read_bin(void)
{
	struct cmn_buffer file = { 0 };

	CU_ASSERT_EQUAL_FATAL(cmn_file_read(AT_FDCWD, path, 1 << 20, false, &file), CMN_OK);
	CU_ASSERT_TRUE_FATAL(file.len > HEADER);
	return file;
}

static uint64_t number_at(const struct cmn_buffer *file, size_t at)
{
	uint64_t number = 0;

	for (size_t i = 8; i; i--)
		number = number << 8 | file->data[at + i - 1];
	return number;
}

/* Stores an entry with that setting. */
static void put(int compression)
{
	struct cc_entry *entry = cc_entry_new(1);
	char entry_dir[CC_ENTRY_DIR_PATH_SIZE];

	for (size_t i = 0; i < IMAGE_LEN; i++)
		image[i] = (uint8_t)(i * i / 50);
	(void)snprintf(root, sizeof(root), "%s/root", unit_dir());
	config = (struct cc_config){ .dir = root, .max_device_image_size = 1 << 20,
				     .compression = compression };
	CU_ASSERT_EQUAL_FATAL(cc_store_open(&config, NULL, &store), CMN_OK);
	cc_key_init(&key);
	cc_key_add_text(&key, CC_PART_IMAGE, "source", "kernel void f() {}");
	cc_entry_add(entry, CC_TAG_IMAGE, 0, image, IMAGE_LEN);
	CU_ASSERT_EQUAL_FATAL(cc_entry_finish(entry, NULL), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(cc_store_put(store, &key, entry), CMN_OK);
	cc_entry_unref(entry);
	cc_entry_dir_path(cc_key_view(&key), entry_dir);
	(void)snprintf(path, sizeof(path), "%s/%s/0.bin", root, entry_dir);
}

static void close_store(void)
{
	cc_store_close(store);
	cc_key_release(&key);
}

/* Whether the entry is a hit with its image. */
static bool hits(void)
{
	struct cc_entry *entry;
	struct cmn_view found;
	bool same;

	if (cc_store_get(store, &key, NULL, SIZE_MAX, &entry, NULL) != CMN_OK)
		return false;
	same = cc_entry_find(entry, CC_TAG_IMAGE, 0, &found) && found.len == IMAGE_LEN &&
	       memcmp(found.data, image, IMAGE_LEN) == 0;
	cc_entry_unref(entry);
	return same;
}

/* The payload, as zlib decodes what is stored; the caller frees it. */
static uint8_t *inflate_stored(const struct cmn_buffer *file)
{
	uLongf len = number_at(file, AT_PAYLOAD_LEN);
	uint8_t *payload = malloc(len);

	CU_ASSERT_EQUAL(file->data[AT_CODEC], 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(payload);
	CU_ASSERT_EQUAL(uncompress(payload, &len, file->data + HEADER, file->len - HEADER), Z_OK);
	CU_ASSERT_EQUAL(len, number_at(file, AT_PAYLOAD_LEN));
	return payload;
}

TEST(zlib_inflates_what_is_stored)
{
	for (int level = 1; level <= 9; level++) {
		struct cmn_buffer file;
		uint8_t *payload;

		put(level);
		file = read_bin();
		payload = inflate_stored(&file);
		/* One field: its tag, index and length are before it. */
		CU_ASSERT_EQUAL(memcmp(payload + number_at(&file, AT_PAYLOAD_LEN) - IMAGE_LEN, image, IMAGE_LEN), 0);
		free(payload);
		cmn_buffer_release(&file);
		close_store();
		CU_ASSERT_EQUAL(unlink(path), 0);
	}
}

/* Puts another stream of the same payload in its place, as docs/FORMAT.md says. */
static void replace_stored(struct cmn_buffer *file, const uint8_t *stored, size_t len)
{
	uint8_t both[2 * CMN_HASH_SIZE];
	struct cmn_hash hash;

	file->len = HEADER;
	cmn_buffer_append(file, stored, len);
	CU_ASSERT_FALSE_FATAL(file->failed);
	for (unsigned int i = 0; i < 8; i++)
		file->data[AT_STORED_LEN + i] = (uint8_t)((uint64_t)len >> (8 * i));
	hash = cmn_hash_of(file->data, AT_FILE_HASH);
	memcpy(both, hash.bytes, CMN_HASH_SIZE);
	hash = cmn_hash_of(file->data + HEADER, len);
	memcpy(both + CMN_HASH_SIZE, hash.bytes, CMN_HASH_SIZE);
	hash = cmn_hash_of(both, sizeof(both));
	memcpy(file->data + AT_FILE_HASH, hash.bytes, CMN_HASH_SIZE);
	unit_write_bytes(path, file->data, file->len);
}

TEST(an_entry_that_zlib_wrote_is_a_hit)
{
	for (int level = 0; level <= 9; level++) {
		struct cmn_buffer file;
		uint8_t *payload, *stored;
		uLongf len;

		put(6);
		file = read_bin();
		payload = inflate_stored(&file);
		len = compressBound(number_at(&file, AT_PAYLOAD_LEN));
		stored = malloc(len);
		CU_ASSERT_PTR_NOT_NULL_FATAL(stored);
		CU_ASSERT_EQUAL(compress2(stored, &len, payload, number_at(&file, AT_PAYLOAD_LEN), level), Z_OK);
		replace_stored(&file, stored, len);
		/* A stream that grew is no entry's: that one would have been stored raw. */
		CU_ASSERT_EQUAL(hits(), level > 0);
		free(stored);
		free(payload);
		cmn_buffer_release(&file);
		close_store();
		(void)unlink(path);
	}
}

TEST(a_stream_of_other_bytes_is_none)
{
	uint8_t other[IMAGE_LEN] = { 0 }, stored[IMAGE_LEN];
	uLongf len = sizeof(stored);
	struct cmn_buffer file;

	put(6);
	file = read_bin();
	CU_ASSERT_TRUE(hits());
	CU_ASSERT_EQUAL(compress2(stored, &len, other, sizeof(other), 6), Z_OK);
	replace_stored(&file, stored, len);
	CU_ASSERT_FALSE(hits());
	cmn_buffer_release(&file);
	close_store();
}
