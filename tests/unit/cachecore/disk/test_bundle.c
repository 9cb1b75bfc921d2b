/* SPDX-License-Identifier: MIT */
/* test_bundle: what was written is read; anything else is noticed before its end. */
#include "cachecore/disk/bundle.h"

#include "cachecore/entry.h"
#include "tests/support/unit.h"

#define RECORD_AT 16	/* behind the header */
#define SRC_LEN_AT (RECORD_AT + 8)
#define BIN_LEN_AT (RECORD_AT + 16)
#define SIGNATURE_SIZE 120

/* A bundle in memory, read and written. */
struct stream {
	struct cmn_buffer bytes;
	size_t at;
	size_t fail_at;		/* writing past it fails; 0: never */
	enum cmn_status failure;
};

static enum cmn_status write_stream(void *ctx, const void *data, size_t len)
{
	struct stream *stream = ctx;

	if (stream->fail_at && stream->bytes.len + len > stream->fail_at)
		return stream->failure;
	cmn_buffer_append(&stream->bytes, data, len);
	return CMN_OK;
}

static enum cmn_status read_stream(void *ctx, void *data, size_t len)
{
	struct stream *stream = ctx;

	if (stream->failure != CMN_OK && stream->at + len > stream->fail_at)
		return stream->failure;
	if (len > stream->bytes.len - stream->at)
		return CMN_ERR_CORRUPT;
	memcpy(data, stream->bytes.data + stream->at, len);
	stream->at += len;
	return CMN_OK;
}

/* The two files of an entry, as the store writes them. */
struct files {
	struct cmn_buffer src, bin;
};

static void make_key(struct cc_key *key, const char *options)
{
	cc_key_init(key);
	cc_key_add_text(key, CC_PART_DEVICE, "device", "d");
	cc_key_add_text(key, CC_PART_OPTIONS, "options", options);
}

static struct cc_manifest *make_manifest(void)
{
	const struct cmn_hash hash = cmn_hash_of("x", 1);
	struct cc_manifest *manifest = cc_manifest_new();

	CU_ASSERT_PTR_NOT_NULL_FATAL(manifest);
	CU_ASSERT_EQUAL(cc_manifest_add_file(manifest, "/a.h", 1, &hash), CMN_OK);
	return manifest;
}

/* cut: bytes that the key lacks at its end. */
static struct files make_files_of(const char *options, const char *image, int level, size_t cut)
{
	struct cc_entry *entry = cc_entry_new(1000);
	struct cmn_buffer stored = { 0 };
	struct files files = { 0 };
	struct cmn_view payload, view;
	struct cmn_hash hash;
	struct cc_key key;

	CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
	make_key(&key, options);
	cc_entry_add(entry, CC_TAG_IMAGE, 0, image, strlen(image));
	CU_ASSERT_EQUAL_FATAL(cc_entry_finish(entry, make_manifest()), CMN_OK);
	view = cc_key_view(&key);
	view.len -= cut;
	CU_ASSERT_EQUAL_FATAL(cc_src_file_encode(view, cc_entry_manifest(entry), &files.src, &hash),
			      CMN_OK);
	CU_ASSERT_FATAL(cmn_buffer_reserve(&files.bin, CC_ENTRY_HEADER_SIZE));
	CU_ASSERT_EQUAL_FATAL(cc_entry_encode(entry, level, &hash, files.bin.data, &stored), CMN_OK);
	files.bin.len = CC_ENTRY_HEADER_SIZE;
	payload = stored.len ? cmn_buffer_view(&stored) : cc_entry_payload(entry);
	cmn_buffer_append(&files.bin, payload.data, payload.len);
	cmn_buffer_release(&stored);
	cc_entry_unref(entry);
	cc_key_release(&key);
	return files;
}

static struct files make_files(const char *options, const char *image, int level)
{
	return make_files_of(options, image, level, 0);
}

static void release_files(struct files *files)
{
	cmn_buffer_release(&files->src);
	cmn_buffer_release(&files->bin);
}

static struct cc_bundle_signature make_signature(void)
{
	struct cc_bundle_signature signature;

	memset(signature.key_hash, 0x11, sizeof(signature.key_hash));
	memset(signature.bytes, 0x22, sizeof(signature.bytes));
	return signature;
}

/* Two entries, and a signature where one is asked for. */
static enum cmn_status write_bundle(struct stream *stream, enum cc_bundle_seal seal)
{
	struct files one = make_files("-O1", "first image", 0);
	struct files two = make_files("-O2", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 9);
	const struct cc_bundle_signature signature = make_signature();
	struct cc_bundle_writer writer;
	enum cmn_status status;

	status = cc_bundle_writer_begin(&writer, seal, write_stream, stream);
	if (status == CMN_OK)
		status = cc_bundle_writer_add(&writer, cmn_buffer_view(&one.src),
					      cmn_buffer_view(&one.bin));
	if (status == CMN_OK)
		status = cc_bundle_writer_add(&writer, cmn_buffer_view(&two.src),
					      cmn_buffer_view(&two.bin));
	if (status == CMN_OK)
		status = cc_bundle_writer_end(&writer);
	if (status == CMN_OK && seal == CC_BUNDLE_ED25519)
		status = cc_bundle_writer_sign(&writer, &signature);
	release_files(&one);
	release_files(&two);
	return status;
}

static struct stream make_bundle(enum cc_bundle_seal seal)
{
	struct stream stream = { 0 };

	CU_ASSERT_EQUAL_FATAL(write_bundle(&stream, seal), CMN_OK);
	return stream;
}

/*
 * Reads to the end. CMN_OK: sound, with a signature; CMN_MISS: sound, without
 * one; else what stopped it. *ret_count: entries that were given before.
 */
static enum cmn_status read_bundle(struct stream *stream, unsigned int *ret_count)
{
	struct cmn_buffer src = { 0 }, bin = { 0 };
	struct cc_bundle_signature signature;
	struct cc_bundle_reader reader;
	enum cmn_status status;

	stream->at = 0;
	*ret_count = 0;
	status = cc_bundle_reader_begin(&reader, stream->bytes.len, read_stream, stream);
	while (status == CMN_OK) {
		status = cc_bundle_reader_next(&reader, &src, &bin);
		*ret_count += status == CMN_OK;
	}
	cmn_buffer_release(&src);
	cmn_buffer_release(&bin);
	if (status != CMN_MISS)
		return status;
	return cc_bundle_reader_finish(&reader, &signature);
}

static bool is_refused(enum cmn_status status)
{
	return status == CMN_ERR_CORRUPT || status == CMN_ERR_VERSION;
}

TEST(entries_and_signature_come_back_as_they_were)
{
	struct stream stream = make_bundle(CC_BUNDLE_ED25519);
	const struct cc_bundle_signature wanted = make_signature();
	struct files one = make_files("-O1", "first image", 0);
	struct cmn_buffer src = { 0 }, bin = { 0 };
	struct cc_bundle_signature signature;
	struct cc_bundle_reader reader;

	CU_ASSERT_EQUAL_FATAL(cc_bundle_reader_begin(&reader, stream.bytes.len, read_stream,
						     &stream), CMN_OK);
	CU_ASSERT_EQUAL(cc_bundle_reader_next(&reader, &src, &bin), CMN_OK);
	CU_ASSERT(cmn_view_equal(cmn_buffer_view(&src), cmn_buffer_view(&one.src)));
	CU_ASSERT(cmn_view_equal(cmn_buffer_view(&bin), cmn_buffer_view(&one.bin)));
	CU_ASSERT_EQUAL(cc_bundle_reader_next(&reader, &src, &bin), CMN_OK);
	CU_ASSERT_EQUAL(cc_bundle_reader_next(&reader, &src, &bin), CMN_MISS);
	CU_ASSERT_EQUAL(stream.at, stream.bytes.len - SIGNATURE_SIZE);
	CU_ASSERT_EQUAL(cc_bundle_reader_finish(&reader, &signature), CMN_OK);
	CU_ASSERT_EQUAL(memcmp(&signature, &wanted, sizeof(wanted)), 0);
	cmn_buffer_release(&src);
	cmn_buffer_release(&bin);
	release_files(&one);
	cmn_buffer_release(&stream.bytes);
}

TEST(the_same_entries_give_the_same_bytes)
{
	struct stream one = make_bundle(CC_BUNDLE_UNSIGNED), two = make_bundle(CC_BUNDLE_UNSIGNED);

	CU_ASSERT(cmn_view_equal(cmn_buffer_view(&one.bytes), cmn_buffer_view(&two.bytes)));
	cmn_buffer_release(&one.bytes);
	cmn_buffer_release(&two.bytes);
}

TEST(a_bundle_of_nothing_is_sound)
{
	struct cc_bundle_writer writer;
	struct stream stream = { 0 };
	unsigned int count;

	CU_ASSERT_EQUAL(cc_bundle_writer_begin(&writer, CC_BUNDLE_UNSIGNED, write_stream, &stream),
			CMN_OK);
	CU_ASSERT_EQUAL(cc_bundle_writer_end(&writer), CMN_OK);
	CU_ASSERT_EQUAL(read_bundle(&stream, &count), CMN_MISS);
	CU_ASSERT_EQUAL(count, 0);
	cmn_buffer_release(&stream.bytes);
}

TEST(every_cut_is_noticed)
{
	for (int seal = CC_BUNDLE_UNSIGNED; seal <= CC_BUNDLE_ED25519; seal++) {
		struct stream stream = make_bundle((enum cc_bundle_seal)seal);
		size_t whole = stream.bytes.len, wrong = 0;
		unsigned int count;

		for (size_t len = 0; len < whole; len++) {
			stream.bytes.len = len;
			wrong += !is_refused(read_bundle(&stream, &count));
		}
		CU_ASSERT_EQUAL(wrong, 0);
		stream.bytes.len = whole;
		CU_ASSERT_EQUAL(read_bundle(&stream, &count),
				seal == CC_BUNDLE_ED25519 ? CMN_OK : CMN_MISS);
		CU_ASSERT_EQUAL(count, 2);
		cmn_buffer_release(&stream.bytes);
	}
}

TEST(every_flipped_bit_is_noticed)
{
	for (int seal = CC_BUNDLE_UNSIGNED; seal <= CC_BUNDLE_ED25519; seal++) {
		struct stream stream = make_bundle((enum cc_bundle_seal)seal);
		size_t wrong = 0;
		unsigned int count;

		for (size_t bit = 0; bit < 8 * stream.bytes.len; bit++) {
			stream.bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
			wrong += !is_refused(read_bundle(&stream, &count));
			stream.bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		CU_ASSERT_EQUAL(wrong, 0);
		cmn_buffer_release(&stream.bytes);
	}
}

TEST(what_follows_the_end_is_noticed)
{
	for (int seal = CC_BUNDLE_UNSIGNED; seal <= CC_BUNDLE_ED25519; seal++) {
		struct stream stream = make_bundle((enum cc_bundle_seal)seal);
		unsigned int count;

		cmn_buffer_append_u8(&stream.bytes, 0);
		CU_ASSERT_EQUAL(read_bundle(&stream, &count), CMN_ERR_CORRUPT);
		stream.bytes.len--;
		CU_ASSERT_FATAL(cmn_buffer_reserve(&stream.bytes, stream.bytes.len));
		cmn_buffer_append(&stream.bytes, stream.bytes.data, stream.bytes.len);
		CU_ASSERT_EQUAL(read_bundle(&stream, &count), CMN_ERR_CORRUPT);
		cmn_buffer_release(&stream.bytes);
	}
}

/* The length of the record at that place. */
static size_t record_size(const struct stream *stream, size_t at)
{
	uint64_t src_len, bin_len;

	memcpy(&src_len, stream->bytes.data + at + 8, sizeof(src_len));
	memcpy(&bin_len, stream->bytes.data + at + 16, sizeof(bin_len));
	return (size_t)(40 + src_len + bin_len);
}

TEST(entries_that_change_places_are_noticed)
{
	struct stream stream = make_bundle(CC_BUNDLE_UNSIGNED), other = { 0 };
	size_t first = record_size(&stream, RECORD_AT);
	size_t second = record_size(&stream, RECORD_AT + first);
	const uint8_t *bytes = stream.bytes.data;
	size_t end = RECORD_AT + first + second;
	unsigned int count;

	cmn_buffer_append(&other.bytes, bytes, RECORD_AT);
	cmn_buffer_append(&other.bytes, bytes + RECORD_AT + first, second);
	cmn_buffer_append(&other.bytes, bytes + RECORD_AT, first);
	cmn_buffer_append(&other.bytes, bytes + end, stream.bytes.len - end);
	CU_ASSERT_EQUAL(other.bytes.len, stream.bytes.len);
	CU_ASSERT_EQUAL(read_bundle(&other, &count), CMN_ERR_CORRUPT);
	CU_ASSERT_EQUAL(count, 2);
	other.bytes.len = 0;
	other.at = 0;
	/* One of them twice, the other not at all. */
	cmn_buffer_append(&other.bytes, bytes, RECORD_AT + first);
	cmn_buffer_append(&other.bytes, bytes + RECORD_AT, first);
	cmn_buffer_append(&other.bytes, bytes + end, stream.bytes.len - end);
	CU_ASSERT_EQUAL(read_bundle(&other, &count), CMN_ERR_CORRUPT);
	cmn_buffer_release(&other.bytes);
	cmn_buffer_release(&stream.bytes);
}

TEST(lengths_are_bounded_before_memory_is_asked_for)
{
	static const uint64_t lengths[] = {
		0, 1, CC_SRC_HEADER_SIZE - 1, UINT64_C(1) << 20, CC_SRC_MAX_FILE,
		CC_SRC_MAX_FILE + 1, CC_ENTRY_MAX_PAYLOAD, CC_ENTRY_MAX_PAYLOAD + 89,
		UINT64_C(1) << 62, UINT64_C(1) << 63, UINT64_MAX - 39, UINT64_MAX,
	};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		for (size_t at = SRC_LEN_AT; at <= BIN_LEN_AT; at += BIN_LEN_AT - SRC_LEN_AT) {
			struct stream stream = make_bundle(CC_BUNDLE_UNSIGNED);
			struct cmn_buffer src = { 0 }, bin = { 0 };
			struct cc_bundle_reader reader;

			memcpy(stream.bytes.data + at, &lengths[i], sizeof(lengths[i]));
			CU_ASSERT_EQUAL(cc_bundle_reader_begin(&reader, stream.bytes.len,
							       read_stream, &stream), CMN_OK);
			CU_ASSERT_EQUAL(cc_bundle_reader_next(&reader, &src, &bin),
					CMN_ERR_CORRUPT);
			CU_ASSERT_EQUAL(src.cap, 0);
			CU_ASSERT_EQUAL(bin.cap, 0);
			cmn_buffer_release(&stream.bytes);
		}
	}
}

TEST(another_version_is_left_alone)
{
	struct stream stream = make_bundle(CC_BUNDLE_UNSIGNED);
	unsigned int count;

	stream.bytes.data[8]++;
	CU_ASSERT_EQUAL(read_bundle(&stream, &count), CMN_ERR_VERSION);
	cmn_buffer_release(&stream.bytes);
}

TEST(failures_of_reading_and_writing_come_through)
{
	struct stream whole = make_bundle(CC_BUNDLE_ED25519);
	size_t wrong = 0;
	unsigned int count;

	for (size_t at = 1; at < whole.bytes.len; at += 7) {
		struct stream stream = { .fail_at = at, .failure = CMN_ERR_NOSPACE };

		wrong += write_bundle(&stream, CC_BUNDLE_ED25519) != CMN_ERR_NOSPACE;
		cmn_buffer_release(&stream.bytes);
		whole.fail_at = at;
		whole.failure = CMN_ERR_IO;
		wrong += read_bundle(&whole, &count) != CMN_ERR_IO;
	}
	CU_ASSERT_EQUAL(wrong, 0);
	cmn_buffer_release(&whole.bytes);
}

TEST(files_of_no_possible_length_are_not_written)
{
	struct files files = make_files("-O1", "image", 0);
	struct cc_bundle_writer writer;
	struct stream stream = { 0 };
	size_t before;

	CU_ASSERT_EQUAL(cc_bundle_writer_begin(&writer, CC_BUNDLE_UNSIGNED, write_stream, &stream),
			CMN_OK);
	before = stream.bytes.len;
	CU_ASSERT_EQUAL(cc_bundle_writer_add(&writer, (struct cmn_view){ 0 },
					     cmn_buffer_view(&files.bin)), CMN_ERR_INVALID);
	CU_ASSERT_EQUAL(cc_bundle_writer_add(&writer, cmn_buffer_view(&files.src),
					     (struct cmn_view){ files.bin.data, 87 }),
			CMN_ERR_INVALID);
	CU_ASSERT_EQUAL(stream.bytes.len, before);
	cmn_buffer_release(&stream.bytes);
	release_files(&files);
}

/* What decoding says; takes the files. */
static enum cmn_status decode(struct files files, struct cmn_view *ret_image)
{
	static char image[64];
	struct cc_entry *entry = NULL;
	struct cc_key key;
	enum cmn_status status = cc_bundle_decode(cmn_buffer_view(&files.src), &files.bin, &key,
						  &entry);

	if (status == CMN_OK) {
		CU_ASSERT_EQUAL(cc_key_status(&key), CMN_OK);
		CU_ASSERT_EQUAL(cc_manifest_count(cc_entry_manifest(entry)), 1);
		CU_ASSERT_FATAL(cc_entry_find(entry, CC_TAG_IMAGE, 0, ret_image));
		CU_ASSERT_FATAL(ret_image->len <= sizeof(image));
		memcpy(image, ret_image->data, ret_image->len);
		ret_image->data = image;
		cc_entry_unref(entry);
		cc_key_release(&key);
	}
	CU_ASSERT_PTR_NULL(files.bin.data);
	cmn_buffer_release(&files.src);
	return status;
}

TEST(an_entry_is_decoded_with_its_key_and_manifest)
{
	struct cmn_view image;

	CU_ASSERT_EQUAL(decode(make_files("-O1", "image", 0), &image), CMN_OK);
	CU_ASSERT(cmn_view_equal(image, cmn_view_of("image")));
	CU_ASSERT_EQUAL(decode(make_files("-O1", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 9), &image),
			CMN_OK);
	CU_ASSERT_EQUAL(image.len, 35);
}

TEST(a_result_of_another_key_is_no_entry)
{
	struct files one = make_files("-O1", "image", 0), two = make_files("-O2", "image", 0);
	struct cmn_view image;

	cmn_buffer_release(&one.bin);
	one.bin = two.bin;
	cmn_buffer_release(&two.src);
	CU_ASSERT_EQUAL(decode(one, &image), CMN_ERR_CORRUPT);
}

/* Its file is sound: the key alone is none. */
TEST(a_key_that_cannot_be_read_is_no_entry)
{
	static const uint8_t keys[][8] = {
		{ 1, 0, 0, 0, 9, 1, 'a', 0 },	/* no such part, and cut */
		{ 2, 0, 0, 0 },			/* another version */
	};
	static const enum cmn_status wanted[] = { CMN_ERR_CORRUPT, CMN_ERR_VERSION };

	for (size_t i = 0; i < 2; i++) {
		struct files files = make_files("-O1", "image", 0);
		struct cmn_view image;
		struct cmn_hash hash;

		cmn_buffer_release(&files.src);
		CU_ASSERT_EQUAL_FATAL(cc_src_file_encode((struct cmn_view){ keys[i], 8 }, NULL,
							 &files.src, &hash), CMN_OK);
		CU_ASSERT_EQUAL(decode(files, &image), wanted[i]);
	}
}

TEST(every_flipped_bit_of_an_entry_is_noticed)
{
	struct files whole = make_files("-O1", "image", 0);
	size_t bits = 8 * (whole.src.len + whole.bin.len), wrong = 0;

	for (size_t bit = 0; bit < bits; bit++) {
		struct files files = make_files("-O1", "image", 0);
		size_t at = bit / 8;
		uint8_t *byte = at < files.src.len ? files.src.data + at
						   : files.bin.data + at - files.src.len;
		struct cmn_view image;

		*byte ^= (uint8_t)(1 << bit % 8);
		wrong += !is_refused(decode(files, &image));
	}
	CU_ASSERT_EQUAL(wrong, 0);
	release_files(&whole);
}

TEST(behind_a_failure_nothing_is_written)
{
	char options[4001];
	struct stream stream = { .failure = CMN_ERR_NOSPACE };
	struct cc_bundle_writer writer;
	struct files files;
	size_t before;

	memset(options, 'o', sizeof(options) - 1);
	options[sizeof(options) - 1] = '\0';
	files = make_files(options, "image", 0);
	CU_ASSERT_TRUE_FATAL(files.src.len > files.bin.len);
	CU_ASSERT_EQUAL(cc_bundle_writer_begin(&writer, CC_BUNDLE_UNSIGNED, write_stream, &stream), CMN_OK);
	before = stream.bytes.len;
	/* The head fits, and the source does not; what comes behind it would. */
	stream.fail_at = before + 48 + files.bin.len;
	CU_ASSERT_EQUAL(cc_bundle_writer_add(&writer, cmn_buffer_view(&files.src),
					     cmn_buffer_view(&files.bin)), CMN_ERR_NOSPACE);
	CU_ASSERT_TRUE(stream.bytes.len <= before + 48);
	cmn_buffer_release(&files.src);
	cmn_buffer_release(&files.bin);
	cmn_buffer_release(&stream.bytes);
}

TEST(each_field_of_a_key_is_read)
{
	for (size_t cut = 0; cut < 2; cut++) {
		struct files files = make_files_of("-O1", "image", 0, cut);
		struct cc_entry *entry = NULL;
		struct cc_key key = { 0 };
		enum cmn_status status;

		status = cc_bundle_decode(cmn_buffer_view(&files.src), &files.bin, &key, &entry);
		CU_ASSERT_EQUAL(status, cut ? CMN_ERR_CORRUPT : CMN_OK);
		if (status == CMN_OK) {
			cc_entry_unref(entry);
			cc_key_release(&key);
		}
		release_files(&files);
	}
}
