/* SPDX-License-Identifier: MIT */
/* test_entry: building, encoding and decoding results; damaged files. */
#include "cachecore/config.h"
#include "cachecore/disk/compression.h"
#include "cachecore/entry.h"
#include "tests/support/owned.h"
#include "tests/support/unit.h"

OWNER(struct cc_entry, cc_entry_unref)

enum { TAG_LOG = 2 };

/* Two images and a log; the second image compresses well. */
static struct cc_entry *make_entry(void)
{
	struct cc_entry *entry = cc_entry_new(12345);
	void *room;

	CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
	cc_entry_add(entry, CC_TAG_IMAGE, 0, "image0", 6);
	cc_entry_add(entry, TAG_LOG, 0, NULL, 0);
	room = cc_entry_add_room(entry, CC_TAG_IMAGE, 1, 100);
	CU_ASSERT_PTR_NOT_NULL_FATAL(room);
	memset(room, 'z', 100);
	CU_ASSERT_EQUAL_FATAL(cc_entry_finish(entry, NULL), CMN_OK);
	return entry;
}

static void encode(const struct cc_entry *entry, int level, const struct cmn_hash *key_hash, struct cmn_buffer *ret)
{
	uint8_t header[CC_ENTRY_HEADER_SIZE];
	struct cmn_buffer stored = { 0 };
	struct cmn_view payload = cc_entry_payload(entry);

	*ret = (struct cmn_buffer){ 0 };
	CU_ASSERT_EQUAL_FATAL(cc_entry_encode(entry, level, key_hash, NULL, header, &stored), CMN_OK);
	cmn_buffer_append(ret, header, sizeof(header));
	if (stored.len)
		cmn_buffer_append(ret, stored.data, stored.len);
	else
		cmn_buffer_append(ret, payload.data, payload.len);
	cmn_buffer_release(&stored);
	CU_ASSERT_FALSE_FATAL(ret->failed);
}

/* Decodes a copy of exactly these bytes, so that a sanitizer sees a read past them. */
static enum cmn_status decode(const void *data, size_t len, const struct cmn_hash *key_hash, struct cc_entry **ret)
{
	struct cmn_buffer copy = { .data = malloc(len ? len : 1), .len = len, .cap = len };

	CU_ASSERT_PTR_NOT_NULL_FATAL(copy.data);
	memcpy(copy.data, data, len);
	return cc_entry_decode(&copy, key_hash, NULL, NULL, ret);
}

static void check_same(const struct cc_entry *entry)
{
	struct cmn_view view;
	char zs[100];

	memset(zs, 'z', sizeof(zs));
	CU_ASSERT_TRUE(cc_entry_find(entry, CC_TAG_IMAGE, 0, &view));
	CU_ASSERT_TRUE(cmn_view_equal(view, cmn_view_of("image0")));
	CU_ASSERT_TRUE(cc_entry_find(entry, CC_TAG_IMAGE, 1, &view));
	CU_ASSERT_TRUE(cmn_view_equal(view, (struct cmn_view){ zs, 100 }));
	CU_ASSERT_TRUE(cc_entry_find(entry, TAG_LOG, 0, &view));
	CU_ASSERT_EQUAL(view.len, 0);
	CU_ASSERT_FALSE(cc_entry_find(entry, TAG_LOG, 1, &view));
	CU_ASSERT_FALSE(cc_entry_find(entry, 99, 0, &view));
	CU_ASSERT_EQUAL(cc_entry_build_ns(entry), 12345);
	CU_ASSERT_EQUAL(cc_entry_image_size(entry), 106);
	CU_ASSERT_EQUAL(cc_entry_payload_size(entry), 3 * 16 + 106);
	CU_ASSERT_PTR_NULL(cc_entry_manifest(entry));
}

TEST(goes_to_disk_and_back)
{
	static const int levels[] = { CC_COMPRESSION_AUTO, CC_COMPRESSION_NONE, 1, 9 };
	struct cmn_hash key_hash = cmn_hash_of("k", 1);
	struct cc_entry *entry = make_entry(), *again;
	struct cmn_buffer file;
	size_t raw_len;

	check_same(entry);
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		encode(entry, levels[i], &key_hash, &file);
		CU_ASSERT_EQUAL_FATAL(decode(file.data, file.len, &key_hash, &again), CMN_OK);
		check_same(again);
		raw_len = CC_ENTRY_HEADER_SIZE + cc_entry_payload_size(entry);
		CU_ASSERT_TRUE(levels[i] < 1 ? file.len == raw_len : file.len < raw_len);
		cc_entry_unref(again);
		cmn_buffer_release(&file);
	}
	cc_entry_unref(entry);
}

TEST(stores_raw_what_does_not_compress)
{
	uint8_t image[200];
	uint32_t noise = 1;
	struct cmn_hash key_hash = cmn_hash_of("k", 1);
	struct cc_entry *entry = cc_entry_new(1), *again;
	OWNED(cmn_buffer_release) struct cmn_buffer file;

	for (uint32_t i = 0; i < 200; i++) {
		noise = noise * 1664525 + 1013904223;
		image[i] = (uint8_t)(noise >> 24);
	}
	cc_entry_add(entry, CC_TAG_IMAGE, 0, image, sizeof(image));
	CU_ASSERT_EQUAL_FATAL(cc_entry_finish(entry, NULL), CMN_OK);
	encode(entry, 9, &key_hash, &file);
	CU_ASSERT_EQUAL(file.len, CC_ENTRY_HEADER_SIZE + cc_entry_payload_size(entry));
	CU_ASSERT_EQUAL(decode(file.data, file.len, &key_hash, &again), CMN_OK);
	cc_entry_unref(again);
	cc_entry_unref(entry);
}

/* The length of the file of one image. */
static size_t auto_len(size_t len, unsigned int load_rate)
{
	struct cmn_hash key_hash = cmn_hash_of("k", 1);
	struct cc_entry *entry = cc_entry_new(1), *again;
	void *room = cc_entry_add_room(entry, CC_TAG_IMAGE, 0, len);
	struct cmn_view image;
	OWNED(cmn_buffer_release) struct cmn_buffer file;
	size_t file_len;

	CU_ASSERT_PTR_NOT_NULL_FATAL(room);
	memset(room, 'z', len);
	cc_entry_set_load_rate(entry, load_rate);
	CU_ASSERT_EQUAL_FATAL(cc_entry_finish(entry, NULL), CMN_OK);
	encode(entry, CC_COMPRESSION_AUTO, &key_hash, &file);
	file_len = file.len;
	CU_ASSERT_EQUAL_FATAL(decode(file.data, file.len, &key_hash, &again), CMN_OK);
	CU_ASSERT_TRUE(cc_entry_find(again, CC_TAG_IMAGE, 0, &image));
	CU_ASSERT_EQUAL(image.len, len);
	cc_entry_unref(again);
	cc_entry_unref(entry);
	return file_len;
}

TEST(auto_compresses_what_loads_slowly_enough)
{
	CU_ASSERT_TRUE(auto_len(200000, 0) > 200000);
	CU_ASSERT_TRUE(auto_len(200000, 50) < 10000);
}

TEST(decodes_into_the_room_given)
{
	struct cmn_room room = { cmn_slabs_new(), 100000 };
	struct cmn_hash key_hash = cmn_hash_of("k", 1);
	struct cc_entry *entry = cc_entry_new(1), *again;
	const void *place = NULL;
	struct cmn_view image;
	struct cmn_buffer file;
	void *bytes;

	CU_ASSERT_PTR_NOT_NULL_FATAL(room.slabs);
	bytes = cc_entry_add_room(entry, CC_TAG_IMAGE, 0, 200000);
	CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
	memset(bytes, 'z', 200000);
	CU_ASSERT_EQUAL_FATAL(cc_entry_finish(entry, NULL), CMN_OK);
	/* The same memory each time: it is the slabs'. */
	for (int i = 0; i < 3; i++) {
		encode(entry, 6, &key_hash, &file);
		CU_ASSERT_EQUAL_FATAL(cc_entry_decode(&file, &key_hash, &room, NULL, &again), CMN_OK);
		CU_ASSERT_TRUE(cc_entry_find(again, CC_TAG_IMAGE, 0, &image));
		CU_ASSERT_EQUAL(memcmp(image.data, bytes, 200000), 0);
		CU_ASSERT_TRUE(i == 0 || image.data == place);
		place = image.data;
		cc_entry_unref(again);
	}
	/* What is shorter than the room is for is malloc's. */
	room.from = SIZE_MAX;
	encode(entry, 6, &key_hash, &file);
	CU_ASSERT_EQUAL_FATAL(cc_entry_decode(&file, &key_hash, &room, NULL, &again), CMN_OK);
	CU_ASSERT_TRUE(cc_entry_find(again, CC_TAG_IMAGE, 0, &image));
	CU_ASSERT_PTR_NOT_EQUAL(image.data, place);
	cc_entry_unref(again);
	cc_entry_unref(entry);
	cmn_slabs_free(room.slabs);
}

TEST(an_entry_without_fields_is_one)
{
	struct cmn_hash key_hash = cmn_hash_of("k", 1);
	struct cc_entry *entry = cc_entry_new(1), *again;
	OWNED(cmn_buffer_release) struct cmn_buffer file;

	CU_ASSERT_EQUAL_FATAL(cc_entry_finish(entry, NULL), CMN_OK);
	encode(entry, 6, &key_hash, &file);
	CU_ASSERT_EQUAL(file.len, CC_ENTRY_HEADER_SIZE);
	CU_ASSERT_EQUAL_FATAL(decode(file.data, file.len, &key_hash, &again), CMN_OK);
	CU_ASSERT_EQUAL(cc_entry_payload_size(again), 0);
	cc_entry_unref(again);
	cc_entry_unref(entry);
}

TEST(another_keys_file_is_stale)
{
	struct cmn_hash mine = cmn_hash_of("k", 1), other = cmn_hash_of("l", 1);
	struct cc_entry *entry = make_entry(), *again = NULL;
	OWNED(cmn_buffer_release) struct cmn_buffer file;

	encode(entry, 0, &other, &file);
	CU_ASSERT_EQUAL(decode(file.data, file.len, &mine, &again), CMN_STALE);
	CU_ASSERT_PTR_NULL(again);
	cc_entry_unref(entry);
}

/* Corrects file_hash after a change, as a hostile writer would. */
static void seal(struct cmn_buffer *file)
{
	struct cmn_hash fold[2] = {
		cmn_hash_of(file->data, CC_ENTRY_HEADER_SIZE - CMN_HASH_SIZE),
		cmn_hash_of(file->data + CC_ENTRY_HEADER_SIZE, file->len - CC_ENTRY_HEADER_SIZE),
	};
	struct cmn_hash hash = cmn_hash_of(fold, sizeof(fold));

	memcpy(file->data + CC_ENTRY_HEADER_SIZE - CMN_HASH_SIZE, hash.bytes, CMN_HASH_SIZE);
}

/* Sound checksums do not make a claim true: sizes are bounded all the same. */
static void check_sealed(int level)
{
	struct cmn_hash key_hash = cmn_hash_of("k", 1);
	struct cc_entry *entry = make_entry(), *again = NULL;
	OWNED(cmn_buffer_release) struct cmn_buffer file;

	encode(entry, level, &key_hash, &file);
	/* The mark; codec, payload_len, stored_len; then payload_hash. */
	for (size_t bit = 0; bit < 72 * 8; bit++) {
		if ((bit / 8 >= 8 && bit / 8 < 12) || (bit / 8 >= 32 && bit / 8 < 56))
			continue;	/* the version has its own answer; build_ns and key_hash may be anything */
		file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		seal(&file);
		CU_ASSERT_EQUAL(decode(file.data, file.len, &key_hash, &again), CMN_ERR_CORRUPT);
		file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	seal(&file);
	CU_ASSERT_EQUAL(decode(file.data, file.len, &key_hash, &again), CMN_OK);
	cc_entry_unref(again);
	cc_entry_unref(entry);
}

TEST(bounds_sizes_even_under_sound_checksums)
{
	check_sealed(CC_COMPRESSION_NONE);
	check_sealed(9);
}

static struct cc_entry *make_failure(const char *log, uint64_t run)
{
	struct cc_entry *entry = cc_entry_new(5);

	CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
	cc_entry_add(entry, 2, 0, log, strlen(log));
	cc_entry_set_failed(entry, false, 0);
	CU_ASSERT_EQUAL_FATAL(cc_entry_finish(entry, NULL), CMN_OK);
	entry->witnesses = (struct cc_witnesses){ run, run };
	return entry;
}

TEST(a_failure_names_its_witnesses)
{
	struct cmn_hash key_hash = cmn_hash_of("k", 1);
	char log[4096];
	struct cc_witnesses witnesses;
	struct cc_entry *first, *read;

	memset(log, 'x', sizeof(log));	/* of which compression makes nothing */
	log[sizeof(log) - 1] = '\0';
	first = make_failure(log, 7);
	for (int level = 0; level <= 9; level += 9) {
		OWNED(cmn_buffer_release) struct cmn_buffer file;

		encode(first, level, &key_hash, &file);
		CU_ASSERT_EQUAL(file.data[8], CC_ENTRY_VERSION_FAILED);
		CU_ASSERT_EQUAL_FATAL(decode(file.data, file.len, &key_hash, &read), CMN_OK);
		CU_ASSERT_TRUE(read->failed);
		CU_ASSERT_FALSE(read->in_memory_only);
		CU_ASSERT_FALSE(cc_entry_is_confirmed(read));
		CU_ASSERT_TRUE(cc_entry_confirm(first, read, &witnesses));
		CU_ASSERT_EQUAL(witnesses.former, witnesses.last);
		first->witnesses = (struct cc_witnesses){ 8, 8 };
		CU_ASSERT_TRUE(cc_entry_confirm(first, read, &witnesses));
		CU_ASSERT(witnesses.former == 7 && witnesses.last == 8);
		first->witnesses = (struct cc_witnesses){ 7, 7 };
		cc_entry_unref(read);
	}
	read = make_failure("y", 7);
	CU_ASSERT_FALSE(cc_entry_confirm(first, read, &witnesses));
	cc_entry_unref(read);
	cc_entry_unref(first);
}

/* Before memory is asked for, and by who reads the header alone. */
TEST(a_header_is_bounded)
{
	static const struct {
		size_t at;
		uint64_t value;
		enum cmn_status status;
	} rows[] = {
		{ 12, CC_CODEC_ZLIB, CMN_OK }, { 12, CC_CODEC_ZLIB + 1, CMN_ERR_CORRUPT },
		{ 16, CC_ENTRY_MAX_PAYLOAD, CMN_OK }, { 16, CC_ENTRY_MAX_PAYLOAD + 1, CMN_ERR_CORRUPT },
		{ 16, 1, CMN_ERR_CORRUPT }, { 8, CC_ENTRY_VERSION_FAILED, CMN_OK },
		{ 8, CC_ENTRY_VERSION_FAILED + 1, CMN_ERR_VERSION },
		{ 8, CC_ENTRY_VERSION - 1, CMN_ERR_VERSION },
	};
	struct cmn_hash key_hash = cmn_hash_of("k", 1);
	OWNED(owned_cc_entry_unref) struct cc_entry *entry = make_entry();
	struct cc_entry_header header;
	OWNED(cmn_buffer_release) struct cmn_buffer file;

	encode(entry, 9, &key_hash, &file);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t changed[CC_ENTRY_HEADER_SIZE];

		memcpy(changed, file.data, sizeof(changed));
		for (unsigned int j = 0; j < (rows[i].at < 16 ? 4 : 8); j++)
			changed[rows[i].at + j] = (uint8_t)(rows[i].value >> (8 * j));
		CU_ASSERT_EQUAL(cc_entry_read_header((struct cmn_view){ changed, sizeof(changed) },
						     &header), rows[i].status);
	}
}

/* It would be read far beyond its end. */
TEST(a_file_has_as_much_as_it_claims)
{
	struct cmn_hash key_hash = cmn_hash_of("k", 1);
	struct cc_entry *entry = make_entry(), *again = NULL;
	OWNED(cmn_buffer_release) struct cmn_buffer file;

	encode(entry, CC_COMPRESSION_NONE, &key_hash, &file);
	for (unsigned int i = 0; i < 8; i++)
		file.data[16 + i] = file.data[24 + i] = (uint8_t)(CC_ENTRY_MAX_PAYLOAD >> (8 * i));
	CU_ASSERT_EQUAL(decode(file.data, file.len, &key_hash, &again), CMN_ERR_CORRUPT);
	CU_ASSERT_PTR_NULL(again);
	cc_entry_unref(entry);
}

TEST(refuses_fields_that_leave_the_payload)
{
	struct cmn_hash key_hash = cmn_hash_of("k", 1), hash;
	struct cc_entry *entry = cc_entry_new(1), *again = NULL;
	OWNED(cmn_buffer_release) struct cmn_buffer file;

	cc_entry_add(entry, CC_TAG_IMAGE, 0, "abcd", 4);
	CU_ASSERT_EQUAL_FATAL(cc_entry_finish(entry, NULL), CMN_OK);
	encode(entry, 0, &key_hash, &file);
	for (unsigned int i = 0; i < 64; i++) {
		file.data[CC_ENTRY_HEADER_SIZE + 8 + i / 8] ^= (uint8_t)(1 << i % 8);
		hash = cmn_hash_of(file.data + CC_ENTRY_HEADER_SIZE, file.len - CC_ENTRY_HEADER_SIZE);
		memcpy(file.data + 56, hash.bytes, CMN_HASH_SIZE);
		seal(&file);
		CU_ASSERT_EQUAL(decode(file.data, file.len, &key_hash, &again), CMN_ERR_CORRUPT);
		file.data[CC_ENTRY_HEADER_SIZE + 8 + i / 8] ^= (uint8_t)(1 << i % 8);
	}
	cc_entry_unref(entry);
}

TEST(refuses_more_than_a_file_may_hold)
{
	OWNED(owned_cc_entry_unref) struct cc_entry *entry = cc_entry_new(1);

	CU_ASSERT_PTR_NULL(cc_entry_add_room(entry, CC_TAG_IMAGE, 0, SIZE_MAX));
	CU_ASSERT_EQUAL(cc_entry_finish(entry, cc_manifest_new()), CMN_ERR_TOO_LARGE);
}

TEST(what_failed_on_the_way_is_no_entry)
{
	OWNED(owned_cc_entry_unref) struct cc_entry *entry = make_entry();

	cc_entry_fail(entry);
	cc_entry_add(entry, CC_TAG_IMAGE, 1, "more", 4);
	CU_ASSERT_EQUAL(cc_entry_finish(entry, NULL), CMN_ERR_NOMEM);
}

TEST(keeps_its_manifest_and_lives_until_the_last_reference)
{
	struct cc_manifest *manifest = cc_manifest_new();
	OWNED(owned_cc_entry_unref) struct cc_entry *entry = cc_entry_new(7);

	CU_ASSERT_PTR_NOT_NULL_FATAL(manifest);
	cc_entry_add(entry, CC_TAG_IMAGE, 0, "i", 1);
	CU_ASSERT_EQUAL_FATAL(cc_entry_finish(entry, manifest), CMN_OK);
	CU_ASSERT_PTR_EQUAL(cc_entry_manifest(entry), manifest);
	CU_ASSERT_PTR_EQUAL(cc_entry_ref(entry), entry);
	cc_entry_unref(entry);
	CU_ASSERT_EQUAL(cc_entry_image_size(entry), 1);
	cc_entry_unref(NULL);
}

/* An image of that many bytes between other fields, and a manifest. */
static struct cc_entry *make_entry_with_image(size_t len)
{
	struct cc_manifest *manifest = cc_manifest_new();
	struct cc_entry *entry = cc_entry_new(12345);
	void *room;

	CU_ASSERT_PTR_NOT_NULL_FATAL(manifest);
	CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
	cc_entry_add(entry, TAG_LOG, 0, "log", 3);
	room = cc_entry_add_room(entry, CC_TAG_IMAGE, 0, len);
	CU_ASSERT_PTR_NOT_NULL_FATAL(room);
	memset(room, 'z', len);
	cc_entry_add(entry, TAG_LOG, 1, NULL, 0);
	cc_entry_add(entry, CC_TAG_IMAGE, 1, "image1", 6);
	cc_entry_add(entry, 99, 0, "last", 4);
	CU_ASSERT_EQUAL_FATAL(cc_entry_finish(entry, manifest), CMN_OK);
	return entry;
}

static void check_without_images(const struct cc_entry *entry)
{
	struct cmn_view view;

	CU_ASSERT_TRUE(cc_entry_find(entry, TAG_LOG, 0, &view));
	CU_ASSERT_TRUE(cmn_view_equal(view, cmn_view_of("log")));
	CU_ASSERT_TRUE(cc_entry_find(entry, TAG_LOG, 1, &view));
	CU_ASSERT_EQUAL(view.len, 0);
	CU_ASSERT_TRUE(cc_entry_find(entry, 99, 0, &view));
	CU_ASSERT_TRUE(cmn_view_equal(view, cmn_view_of("last")));
	CU_ASSERT_FALSE(cc_entry_find(entry, CC_TAG_IMAGE, 0, &view));
	CU_ASSERT_FALSE(cc_entry_find(entry, CC_TAG_IMAGE, 1, &view));
	CU_ASSERT_EQUAL(cc_entry_image_size(entry), 0);
	CU_ASSERT_EQUAL(cc_entry_payload_size(entry), 3 * 16 + 7);
	CU_ASSERT_EQUAL(cc_entry_build_ns(entry), 12345);
	CU_ASSERT_PTR_NULL(cc_entry_manifest(entry));
}

TEST(goes_on_without_its_large_images)
{
	struct cc_entry *entry = make_entry_with_image(100000);
	OWNED(owned_cc_entry_unref) struct cc_entry *copy = cc_entry_without_images(entry);

	CU_ASSERT_PTR_NOT_EQUAL_FATAL(copy, entry);
	/* What it was made from stays as it was. */
	CU_ASSERT_EQUAL(cc_entry_image_size(entry), 100006);
	CU_ASSERT_PTR_NOT_NULL(cc_entry_manifest(entry));
	cc_entry_unref(entry);
	check_without_images(copy);
}

TEST(what_was_read_goes_on_without_its_large_images)
{
	struct cmn_hash key_hash = cmn_hash_of("k", 1);
	struct cc_entry *entry = make_entry_with_image(100000), *again, *copy;
	OWNED(cmn_buffer_release) struct cmn_buffer file;

	encode(entry, 9, &key_hash, &file);
	CU_ASSERT_EQUAL_FATAL(decode(file.data, file.len, &key_hash, &again), CMN_OK);
	copy = cc_entry_without_images(again);
	CU_ASSERT_PTR_NOT_EQUAL_FATAL(copy, again);
	cc_entry_unref(again);
	check_without_images(copy);
	cc_entry_unref(copy);
	cc_entry_unref(entry);
}

TEST(small_images_are_not_worth_a_copy)
{
	struct cc_entry *entry = make_entry_with_image(10);
	OWNED(owned_cc_entry_unref) struct cc_entry *same = cc_entry_without_images(entry);

	CU_ASSERT_PTR_EQUAL(same, entry);
	/* A reference of its own. */
	cc_entry_unref(entry);
	CU_ASSERT_EQUAL(cc_entry_image_size(same), 16);
}
