/* SPDX-License-Identifier: MIT */
/* test_bundle: what was written is read; anything else is noticed before its end. And bundles from pipes. */
#include "tools/bundle/bundle.h"

#include <sys/mman.h>

#include "common/file.h"
#include "tests/support/unit.h"
#include "tests/unit/cachecore/remote/values.h"

#define FIRST_AT 16	/* behind the header */
#define SRC_LEN_AT (FIRST_AT + 16)
#define BIN_LEN_AT (FIRST_AT + 24)

/* Where a writer's bytes go, until it fails. */
struct sink {
	struct cmn_buffer bytes;
	size_t fail_at;		/* 0: never */
};

static enum cmn_status append(void *ctx, const void *data, size_t len)
{
	struct sink *sink = ctx;

	if (sink->fail_at && sink->bytes.len + len > sink->fail_at)
		return CMN_ERR_NOSPACE;
	cmn_buffer_append(&sink->bytes, data, len);
	return CMN_OK;
}

static enum cmn_status add(struct bundle_writer *writer, const char *options, const struct cc_signer *signer)
{
	struct files files = values_make_files(options, "image", NULL);
	enum cmn_status status = bundle_writer_add(writer, cmn_buffer_view(&files.src),
						   cmn_buffer_view(&files.bin), signer);

	cmn_buffer_release(&files.src);
	cmn_buffer_release(&files.bin);
	return status;
}

/* Two entries by these signers; NULL: unsigned. */
static enum cmn_status write_bundle(struct sink *sink, const struct cc_signer *first,
				    const struct cc_signer *second)
{
	struct bundle_writer writer;
	enum cmn_status status = bundle_writer_begin(&writer, append, sink);

	if (status == CMN_OK)
		status = add(&writer, "-O1", first);
	if (status == CMN_OK)
		status = add(&writer, "-O2", second);
	return status == CMN_OK ? bundle_writer_end(&writer) : status;
}

static struct cmn_buffer make_bundle(const struct cc_signer *first, const struct cc_signer *second)
{
	struct sink sink = { 0 };

	CU_ASSERT_EQUAL_FATAL(write_bundle(&sink, first, second), CMN_OK);
	return sink.bytes;
}

static struct cc_trust *trust_of(enum who who)
{
	const struct cc_signer signer = values_signer(who);
	struct cc_trust_key key = { .end = UINT64_MAX };
	struct cc_trust *trust = NULL;

	memcpy(key.key, cc_signer_public(&signer), sizeof(key.key));
	CU_ASSERT_EQUAL_FATAL(cc_trust_of(&key, 1, &trust), CMN_OK);
	return trust;
}

/* Reads a file to its end: CMN_MISS, or what stopped it; the last value, and how many were good. */
static enum cmn_status read_file(int fd, uint64_t size, const struct cc_trust *trust,
				 struct cc_remote_value *ret, unsigned int *ret_count)
{
	struct bundle_reader reader;
	enum cmn_status status = bundle_reader_begin(&reader, fd, size);

	*ret = (struct cc_remote_value){ 0 };
	for (*ret_count = 0; status == CMN_OK; *ret_count += status == CMN_OK)
		status = bundle_reader_next(&reader, trust, 0, ret);
	bundle_reader_release(&reader);
	return status;
}

static enum cmn_status read_bundle(const struct cmn_buffer *bundle, const struct cc_trust *trust,
				   unsigned int *ret_count)
{
	struct cc_remote_value value;
	enum cmn_status status;
	int fd = memfd_create("bundle", MFD_CLOEXEC);

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL_FATAL(cmn_file_write_all(fd, bundle->data, bundle->len), CMN_OK);
	status = read_file(fd, bundle->len, trust, &value, ret_count);
	CU_ASSERT_EQUAL(close(fd), 0);
	CU_ASSERT_EQUAL(status == CMN_ERR_ACCESS, value.refusal != CC_REMOTE_NOT_REFUSED);
	return status;
}

static bool is_refused(const struct cmn_buffer *bundle)
{
	unsigned int count;
	enum cmn_status status = read_bundle(bundle, NULL, &count);

	return status == CMN_ERR_CORRUPT || status == CMN_ERR_VERSION;
}

TEST(entries_come_back_as_they_were)
{
	struct files files = values_make_files("-O1", "image", NULL);
	const struct cc_signer one = values_signer(ONE);
	struct cmn_buffer bundle = make_bundle(&one, NULL);
	struct cc_remote_value value;
	struct bundle_reader reader;
	int fd;

	unit_write_bytes("bundle", bundle.data, bundle.len);
	fd = open("bundle", O_RDONLY | O_CLOEXEC);
	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL_FATAL(bundle_reader_begin(&reader, fd, bundle.len), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(bundle_reader_next(&reader, NULL, 0, &value), CMN_OK);
	CU_ASSERT(cmn_view_equal(value.src, cmn_buffer_view(&files.src)));
	CU_ASSERT(cmn_view_equal(value.bin, cmn_buffer_view(&files.bin)));
	CU_ASSERT_EQUAL(memcmp(value.key_id, one.key_id, sizeof(one.key_id)), 0);
	CU_ASSERT_EQUAL_FATAL(bundle_reader_next(&reader, NULL, 0, &value), CMN_OK);
	CU_ASSERT_PTR_NULL(value.key_id);
	CU_ASSERT_EQUAL(bundle_reader_next(&reader, NULL, 0, &value), CMN_MISS);
	bundle_reader_release(&reader);
	CU_ASSERT_EQUAL(close(fd), 0);
	cmn_buffer_release(&files.src);
	cmn_buffer_release(&files.bin);
	cmn_buffer_release(&bundle);
}

TEST(each_entry_counts_by_its_own_signature)
{
	const struct cc_signer one = values_signer(ONE), two = values_signer(TWO);
	struct cc_trust *trust = trust_of(TWO);
	const struct {
		const struct cc_signer *first, *second;
		enum cmn_status wanted;
		unsigned int count;
	} rows[] = {
		{ &two, &two, CMN_MISS, 2 }, { &two, &one, CMN_ERR_ACCESS, 1 },
		{ &two, NULL, CMN_ERR_ACCESS, 1 }, { &one, &two, CMN_ERR_ACCESS, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cmn_buffer bundle = make_bundle(rows[i].first, rows[i].second);
		unsigned int count;

		CU_ASSERT_EQUAL(read_bundle(&bundle, trust, &count), rows[i].wanted);
		CU_ASSERT_EQUAL(count, rows[i].count);
		CU_ASSERT_EQUAL(read_bundle(&bundle, NULL, &count), CMN_MISS);
		CU_ASSERT_EQUAL(count, 2);
		cmn_buffer_release(&bundle);
	}
	cc_trust_free(trust);
}

TEST(a_bundle_of_nothing_is_sound)
{
	struct bundle_writer writer;
	struct sink sink = { 0 };
	unsigned int count;

	CU_ASSERT_EQUAL(bundle_writer_begin(&writer, append, &sink), CMN_OK);
	CU_ASSERT_EQUAL(bundle_writer_end(&writer), CMN_OK);
	CU_ASSERT_EQUAL(read_bundle(&sink.bytes, NULL, &count), CMN_MISS);
	CU_ASSERT_EQUAL(count, 0);
	cmn_buffer_release(&sink.bytes);
}

TEST(every_cut_and_what_follows_is_noticed)
{
	struct cmn_buffer bundle = make_bundle(NULL, NULL);
	const size_t whole = bundle.len;
	size_t taken = 0;

	for (bundle.len = 0; bundle.len < whole; bundle.len++)
		taken += !is_refused(&bundle);
	CU_ASSERT_EQUAL(taken, 0);
	cmn_buffer_append_u8(&bundle, 0);
	CU_ASSERT(is_refused(&bundle));
	bundle.len = whole;
	CU_ASSERT_FATAL(cmn_buffer_reserve(&bundle, whole));
	cmn_buffer_append(&bundle, bundle.data, whole);
	CU_ASSERT(is_refused(&bundle));
	cmn_buffer_release(&bundle);
}

/* Also of what nobody has signed. */
TEST(every_flipped_bit_is_noticed)
{
	struct cmn_buffer bundle = make_bundle(NULL, NULL);
	size_t taken = 0;

	for (size_t bit = 0; bit < 8 * bundle.len; bit++) {
		bundle.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		taken += !is_refused(&bundle);
		bundle.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	CU_ASSERT_EQUAL(taken, 0);
	CU_ASSERT(!is_refused(&bundle));
	cmn_buffer_release(&bundle);
}

TEST(entries_that_change_places_are_noticed)
{
	struct cmn_buffer bundle = make_bundle(NULL, NULL), other = { 0 };
	const size_t len = (bundle.len - FIRST_AT - CMN_HASH_SIZE) / 2;	/* both are as long */
	static const int orders[][2] = { { 0, 1 }, { 1, 0 }, { 0, 0 } };

	for (int i = 0; i < 3; i++) {
		other.len = 0;
		cmn_buffer_append(&other, bundle.data, FIRST_AT);
		for (int k = 0; k < 2; k++)
			cmn_buffer_append(&other, bundle.data + FIRST_AT + (size_t)orders[i][k] * len, len);
		cmn_buffer_append(&other, bundle.data + FIRST_AT + 2 * len, CMN_HASH_SIZE);
		CU_ASSERT_EQUAL(is_refused(&other), i > 0);
	}
	cmn_buffer_release(&other);
	cmn_buffer_release(&bundle);
}

TEST(lengths_are_bounded_before_memory_is_asked_for)
{
	static const uint64_t lengths[] = {
		0, CC_SRC_HEADER_SIZE - 1, UINT64_C(1) << 20, CC_SRC_MAX_FILE, CC_SRC_MAX_FILE + 1,
		CC_ENTRY_MAX_PAYLOAD, CC_ENTRY_MAX_PAYLOAD + 89, UINT64_C(1) << 63, UINT64_MAX,
	};

	for (size_t i = 0; i < 2 * sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct cmn_buffer bundle = make_bundle(NULL, NULL);
		struct cc_remote_value value;
		struct bundle_reader reader;
		int fd;

		memcpy(bundle.data + (i & 1 ? SRC_LEN_AT : BIN_LEN_AT), &lengths[i / 2], 8);
		unit_write_bytes("bundle", bundle.data, bundle.len);
		fd = open("bundle", O_RDONLY | O_CLOEXEC);
		CU_ASSERT_EQUAL(bundle_reader_begin(&reader, fd, bundle.len), CMN_OK);
		CU_ASSERT_EQUAL(bundle_reader_next(&reader, NULL, 0, &value), CMN_ERR_CORRUPT);
		CU_ASSERT_EQUAL(reader.src.cap + reader.bin.cap, 0);
		bundle_reader_release(&reader);
		CU_ASSERT_EQUAL(close(fd), 0);
		cmn_buffer_release(&bundle);
	}
}

TEST(another_version_is_left_alone)
{
	struct cmn_buffer bundle = make_bundle(NULL, NULL);
	unsigned int count;

	bundle.data[8] = 1;
	CU_ASSERT_EQUAL(read_bundle(&bundle, NULL, &count), CMN_ERR_VERSION);
	cmn_buffer_release(&bundle);
}

TEST(behind_a_failure_nothing_is_written)
{
	struct cmn_buffer whole = make_bundle(NULL, NULL);
	size_t wrong = 0;

	for (size_t at = 1; at < whole.len; at += 7) {
		struct sink sink = { .fail_at = at };

		wrong += write_bundle(&sink, NULL, NULL) != CMN_ERR_NOSPACE;
		wrong += sink.bytes.len && memcmp(sink.bytes.data, whole.data, sink.bytes.len) != 0;
		cmn_buffer_release(&sink.bytes);
	}
	CU_ASSERT_EQUAL(wrong, 0);
	cmn_buffer_release(&whole);
}

TEST(a_file_that_replaces_it_is_not_looked_at)
{
	struct cmn_buffer bundle = make_bundle(NULL, NULL);
	struct cc_remote_value value;
	unsigned int count;
	uint64_t size = 0;
	int fd;

	unit_write_bytes("bundle", bundle.data, bundle.len);
	fd = bundle_file_open("bundle", &size);
	CU_ASSERT_FATAL(fd >= 0);
	unit_write("other", "text");
	CU_ASSERT_EQUAL(rename("other", "bundle"), 0);
	CU_ASSERT_EQUAL(read_file(fd, size, NULL, &value, &count), CMN_MISS);
	CU_ASSERT_EQUAL(count, 2);
	CU_ASSERT_EQUAL(close(fd), 0);
	cmn_buffer_release(&bundle);
}

TEST(a_pipe_is_copied_to_a_file_without_a_name)
{
	struct cmn_buffer bundle = make_bundle(NULL, NULL);
	struct cc_remote_value value;
	unsigned int count;
	struct stat info;
	uint64_t size = 0;
	char path[64];
	int ends[2], fd;

	CU_ASSERT_EQUAL(mkdir("temporary", 0700), 0);
	CU_ASSERT_EQUAL(setenv("TMPDIR", "temporary", 1), 0);
	CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
	CU_ASSERT_EQUAL(cmn_file_write_all(ends[1], bundle.data, bundle.len), CMN_OK);
	CU_ASSERT_EQUAL(close(ends[1]), 0);
	(void)snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
	fd = bundle_file_open(path, &size);
	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(close(ends[0]), 0);
	CU_ASSERT_EQUAL(size, bundle.len);
	CU_ASSERT_EQUAL(fstat(fd, &info), 0);
	CU_ASSERT(S_ISREG(info.st_mode));
	CU_ASSERT_EQUAL(info.st_nlink, 0);
	CU_ASSERT_EQUAL(info.st_mode & 07777, 0600);
	CU_ASSERT_EQUAL(rmdir("temporary"), 0);	/* it is empty */
	CU_ASSERT_EQUAL(read_file(fd, size, NULL, &value, &count), CMN_MISS);
	CU_ASSERT_EQUAL(count, 2);
	CU_ASSERT_EQUAL(close(fd), 0);
	cmn_buffer_release(&bundle);
	CU_ASSERT_EQUAL(unsetenv("TMPDIR"), 0);
}

TEST(what_is_no_file_is_not_opened_and_what_cannot_be_read_is_no_bundle)
{
	struct bundle_reader reader;
	uint64_t size;
	int fd = open("unread", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	CU_ASSERT_EQUAL(bundle_reader_begin(&reader, fd, 100), CMN_ERR_IO);
	CU_ASSERT_EQUAL(close(fd), 0);
	CU_ASSERT_EQUAL(bundle_file_open("no-such-file", &size), -1);
	CU_ASSERT_EQUAL(bundle_file_open(".", &size), -1);
	CU_ASSERT_EQUAL(mkfifo("fifo", 0600), 0);
	CU_ASSERT_EQUAL(bundle_file_open("fifo", &size), -1);
}
