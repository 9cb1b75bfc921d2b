/* SPDX-License-Identifier: MIT */
/* test_value: only what a trusted key has signed comes back, and as it was. */
#include "cachecore/remote/value.h"

#include <endian.h>

#include <dlfcn.h>

#include "cachecore/entry.h"
#include "cachecore/key.h"
#include "tests/support/owned.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"
#include "tests/unit/cachecore/remote/values.h"

#define ONE_LINE VALUES_LINE_ONE " until 2026-11-25\n"
#define TWO_LINE VALUES_LINE_TWO "\n"
#define NOW UINT64_C(1795651199)	/* the last second of that day */

#define SEAL_AT 12
#define SRC_LEN_AT 16
#define BIN_LEN_AT 24
#define SIGNATURE_AT 64

static struct cc_trust *trust;
static bool missing;

WRAPPED(void *, dlopen, (const char *name, int flags))
{
	return missing && strstr(name, "sodium") ? NULL : __real_dlopen(name, flags);
}

static void read_trust(void)
{
	char *const paths[] = { (char[]){ "keys/trusted" }, NULL };

	CU_ASSERT_EQUAL_FATAL(cc_trust_new(NULL, paths, &trust), CMN_OK);
}

BEFORE_EACH
{
	unit_write("keys/trusted", ONE_LINE TWO_LINE);
}

AFTER_EACH
{
	cc_trust_free(trust);
	trust = NULL;
}

static struct cmn_buffer make_signed(enum who who)
{
	return values_make(values_make_files("-O1", "image", NULL), true, who, who);
}

static struct cmn_buffer make_unsigned(void)
{
	return values_make(values_make_files("-O1", "image", NULL), false, ONE, ONE);
}

static enum cmn_status check(const struct cmn_buffer *bytes, struct cc_remote_value *ret)
{
	return cc_remote_value_check(cmn_buffer_view(bytes), trust, NOW, ret);
}

/* Refused for that reason; releases the value. */
static void check_refused(struct cmn_buffer bytes, uint64_t now, enum cc_remote_refusal refusal, const char *signer)
{
	struct cc_remote_value value;

	CU_ASSERT_EQUAL(cc_remote_value_check(cmn_buffer_view(&bytes), trust, now, &value), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(value.refusal, refusal);
	CU_ASSERT_EQUAL(value.src.len + value.bin.len, 0);
	CU_ASSERT_EQUAL(!value.key_id, refusal == CC_REMOTE_NOT_SIGNED);
	CU_ASSERT_FATAL(!signer == !value.signer);
	if (signer)
		CU_ASSERT_STRING_EQUAL(value.signer->name, signer);
	cmn_buffer_release(&bytes);
}

/* In a child, as the answer is remembered by the process. The first test, before anything has loaded it. */
TEST(without_libsodium_nothing_signed_is_taken_where_trust_is_asked_for)
{
	OWNED(cmn_buffer_release) struct cmn_buffer bytes = make_unsigned();
	struct cc_remote_value value;
	int good;
	pid_t child = fork();

	CU_ASSERT_FATAL(child >= 0);
	if (!child) {
		missing = true;
		read_trust();
		good = check(&bytes, &value) == CMN_ERR_ACCESS &&
		       value.refusal == CC_REMOTE_NOT_SIGNED;
		memcpy(bytes.data + SEAL_AT, "\1\0\0", 4);
		good = good && check(&bytes, &value) == CMN_ERR_ACCESS &&
		       value.refusal == CC_REMOTE_NO_LIBSODIUM && value.key_id && !value.signer;
		good = good && cc_remote_value_begin(bytes.data, bytes.len, trust, NOW, &value) == CMN_ERR_ACCESS &&
		       value.refusal == CC_REMOTE_NO_LIBSODIUM;
		good = good && cc_remote_value_check(cmn_buffer_view(&bytes), NULL, 0, &value) == CMN_OK;
		_exit(good ? 0 : 1);
	}
	CU_ASSERT(unit_ended_well(child));
}

TEST(a_signed_value_comes_back_as_it_was)
{
	struct files files = values_make_files("-O1", "image", NULL);
	OWNED(cmn_buffer_release) struct cmn_buffer bytes = make_signed(TWO);
	struct cc_remote_value value;
	const struct cc_signer two = values_signer(TWO);

	read_trust();
	CU_ASSERT_EQUAL_FATAL(check(&bytes, &value), CMN_OK);
	CU_ASSERT(cmn_view_equal(value.src, cmn_buffer_view(&files.src)));
	CU_ASSERT(cmn_view_equal(value.bin, cmn_buffer_view(&files.bin)));
	CU_ASSERT_STRING_EQUAL(value.signer->name, "two");
	CU_ASSERT_EQUAL(memcmp(value.key_id, two.key_id, sizeof(two.key_id)), 0);
	CU_ASSERT_EQUAL(value.refusal, CC_REMOTE_NOT_REFUSED);
	cmn_buffer_release(&files.src);
	cmn_buffer_release(&files.bin);
}

/* Made by Python's hashlib and `openssl pkeyutl -sign -rawin`, from docs/FORMAT.md alone. */
TEST(a_value_that_other_programs_have_made_is_taken)
{
	OWNED(cmn_buffer_release) struct cmn_buffer bytes = { 0 };
	struct cc_remote_value value;
	uint8_t id[CC_SODIUM_HASH_SIZE], signature[CC_SODIUM_SIGNATURE_SIZE];

	values_from_hex("7849ac3049680be1ef762efe0d36e01733c3464eb0c7c558138acf24bb263bd3", id, sizeof(id));
	values_from_hex("ed5139d97b9ab3008dc225786c44ec304f5a12355a4b3f4cebd4ae9c263ff61b"
		 "62633d9f462cae0c53f370a8862ec06da2c75937d64c4d94cb18737275a57c0e", signature,
		 sizeof(signature));
	cmn_buffer_append_text(&bytes, "ckcrem\r\n");
	cmn_buffer_append_u32(&bytes, 1);
	cmn_buffer_append_u32(&bytes, 1);
	cmn_buffer_append_u64(&bytes, CC_SRC_HEADER_SIZE);
	cmn_buffer_append_u64(&bytes, CC_ENTRY_HEADER_SIZE);
	cmn_buffer_append(&bytes, id, sizeof(id));
	cmn_buffer_append(&bytes, signature, sizeof(signature));
	for (int i = 0; i < CC_SRC_HEADER_SIZE; i++)
		cmn_buffer_append_u8(&bytes, 's');
	for (int i = 0; i < CC_ENTRY_HEADER_SIZE; i++)
		cmn_buffer_append_u8(&bytes, 'b');
	read_trust();
	CU_ASSERT_EQUAL_FATAL(check(&bytes, &value), CMN_OK);
	CU_ASSERT_STRING_EQUAL(value.signer->name, "one");
}

TEST(every_flipped_bit_of_a_signed_value_is_refused)
{
	OWNED(cmn_buffer_release) struct cmn_buffer bytes = make_signed(TWO);
	struct cc_remote_value value;
	size_t wrong = 0;

	read_trust();
	for (size_t bit = 0; bit < 8 * bytes.len; bit++) {
		bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		wrong += check(&bytes, &value) >= CMN_OK;
		bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_EQUAL(check(&bytes, &value), CMN_OK);
}

/* What is behind the header has hashes of its own (cc_remote_value_take). */
TEST(an_unsigned_value_has_one_header)
{
	OWNED(cmn_buffer_release) struct cmn_buffer bytes = make_unsigned();
	struct cc_remote_value value;
	size_t taken = 0;

	CU_ASSERT_EQUAL(check(&bytes, &value), CMN_OK);
	CU_ASSERT_PTR_NULL(value.key_id);
	CU_ASSERT_PTR_NULL(value.signer);
	for (size_t bit = 0; bit < 8 * CC_SEAL_HEADER_SIZE; bit++) {
		bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		taken += check(&bytes, &value) >= CMN_OK;
		bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	CU_ASSERT_EQUAL(taken, 1);	/* as a signed one, which nobody looks at here */
}

TEST(every_cut_and_what_follows_is_corrupt)
{
	for (int is_signed = 0; is_signed < 2; is_signed++) {
		struct cmn_buffer bytes = is_signed ? make_signed(TWO) : make_unsigned();
		struct cc_remote_value value;
		size_t whole = bytes.len, wrong = 0;

		for (size_t len = 0; len < whole; len++) {
			/* Of its own, so that AddressSanitizer sees a byte too many. */
			uint8_t *copy = malloc(len ? len : 1);

			CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
			memcpy(copy, bytes.data, len);
			wrong += cc_remote_value_check((struct cmn_view){ copy, len }, NULL, NOW,
						       &value) != CMN_ERR_CORRUPT;
			free(copy);
		}
		CU_ASSERT_EQUAL(wrong, 0);
		cmn_buffer_append_u8(&bytes, 0);
		CU_ASSERT_EQUAL(check(&bytes, &value), CMN_ERR_CORRUPT);
		cmn_buffer_release(&bytes);
	}
}

TEST(lengths_are_bounded_and_do_not_overflow)
{
	static const uint64_t lengths[] = {
		0, 1, CC_SRC_HEADER_SIZE - 1, UINT64_C(1) << 20, CC_SRC_MAX_FILE,
		CC_SRC_MAX_FILE + 1, CC_ENTRY_MAX_PAYLOAD, CC_ENTRY_MAX_PAYLOAD + 89,
		UINT64_C(1) << 62, UINT64_C(1) << 63, UINT64_MAX - 127, UINT64_MAX,
	};
	struct cc_remote_value value;

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		OWNED(cmn_buffer_release) struct cmn_buffer bytes = make_unsigned();
		uint64_t src_len, bin_len, sum, len = htole64(lengths[i]);

		memcpy(&src_len, bytes.data + SRC_LEN_AT, 8);
		memcpy(&bin_len, bytes.data + BIN_LEN_AT, 8);
		sum = le64toh(src_len) + le64toh(bin_len);
		memcpy(bytes.data + SRC_LEN_AT, &len, 8);
		CU_ASSERT_EQUAL(check(&bytes, &value), CMN_ERR_CORRUPT);
		/* With a sum that is right, if numbers wrapped around. */
		bin_len = htole64(sum - lengths[i]);
		memcpy(bytes.data + BIN_LEN_AT, &bin_len, 8);
		CU_ASSERT_EQUAL(check(&bytes, &value), CMN_ERR_CORRUPT);
		memcpy(bytes.data + BIN_LEN_AT, &len, 8);
		src_len = htole64(sum - lengths[i]);
		memcpy(bytes.data + SRC_LEN_AT, &src_len, 8);
		CU_ASSERT_EQUAL(check(&bytes, &value), CMN_ERR_CORRUPT);
	}
	for (int i = 0; i < 4; i++) {
		OWNED(cmn_buffer_release) struct cmn_buffer bytes = make_unsigned();
		const uint64_t lens[] = { htole64(CC_SRC_MAX_FILE + i % 2),
					  htole64(CC_ENTRY_MAX_PAYLOAD + CC_ENTRY_HEADER_SIZE + i / 2) };

		memcpy(bytes.data + SRC_LEN_AT, lens, sizeof(lens));
		CU_ASSERT_EQUAL(cc_remote_value_begin(bytes.data, UINT64_MAX, NULL, NOW, &value),
				i ? CMN_ERR_CORRUPT : CMN_OK);
	}
}

TEST(another_version_is_left_alone)
{
	OWNED(cmn_buffer_release) struct cmn_buffer bytes = make_signed(TWO);
	struct cc_remote_value value;

	read_trust();
	bytes.data[8]++;
	CU_ASSERT_EQUAL(check(&bytes, &value), CMN_ERR_VERSION);
	bytes.len = CC_SEAL_HEADER_SIZE;
	CU_ASSERT_EQUAL(check(&bytes, &value), CMN_ERR_VERSION);
	bytes.data[8]--;
	bytes.data[SEAL_AT]++;
	CU_ASSERT_EQUAL(check(&bytes, &value), CMN_ERR_CORRUPT);
}

TEST(only_what_a_trusted_key_signed_is_taken)
{
	struct files files = values_make_files("-O1", "image", NULL);

	read_trust();
	check_refused(make_unsigned(), NOW, CC_REMOTE_NOT_SIGNED, NULL);
	check_refused(make_signed(NOBODY), NOW, CC_REMOTE_UNKNOWN_KEY, NULL);
	check_refused(values_make(files, true, NOBODY, TWO), NOW, CC_REMOTE_WRONG_SIGNATURE, "two");
	check_refused(make_signed(ONE), NOW + 1, CC_REMOTE_EXPIRED_KEY, "one");
	check_refused(values_make(values_make_files("-O1", "image", NULL), true, ONE, TWO), NOW,
		      CC_REMOTE_WRONG_SIGNATURE, "two");
}

/* Releases the value. */
static enum cc_remote_refusal refusal_of(struct cmn_buffer bytes, const struct cc_trust *by, uint64_t now)
{
	struct cc_remote_value value = { 0 };
	enum cmn_status status = cc_remote_value_begin(bytes.data, bytes.len, by, now, &value);

	cmn_buffer_release(&bytes);
	CU_ASSERT_EQUAL(status, value.refusal == CC_REMOTE_NOT_REFUSED ? CMN_OK : CMN_ERR_ACCESS);
	return value.refusal;
}

TEST(a_header_says_what_will_be_refused)
{
	read_trust();
	CU_ASSERT_EQUAL(refusal_of(make_signed(TWO), trust, NOW), CC_REMOTE_NOT_REFUSED);
	CU_ASSERT_EQUAL(refusal_of(make_signed(ONE), trust, NOW), CC_REMOTE_NOT_REFUSED);
	CU_ASSERT_EQUAL(refusal_of(make_signed(ONE), trust, NOW + 1), CC_REMOTE_EXPIRED_KEY);
	CU_ASSERT_EQUAL(refusal_of(make_signed(NOBODY), trust, NOW), CC_REMOTE_UNKNOWN_KEY);
	CU_ASSERT_EQUAL(refusal_of(make_unsigned(), trust, NOW), CC_REMOTE_NOT_SIGNED);
	/* What only the rest of it says. */
	CU_ASSERT_EQUAL(refusal_of(values_make(values_make_files("-O1", "image", NULL), true, NOBODY, TWO),
				   trust, NOW), CC_REMOTE_NOT_REFUSED);
	CU_ASSERT_EQUAL(refusal_of(make_unsigned(), NULL, NOW), CC_REMOTE_NOT_REFUSED);
	CU_ASSERT_EQUAL(refusal_of(make_signed(NOBODY), NULL, NOW), CC_REMOTE_NOT_REFUSED);
}

/* A signed value's, with another signature: of what its message becomes. */
static struct cmn_buffer sign_again(const char *purpose, size_t skipped)
{
	const struct cc_signer two = values_signer(TWO);
	struct cmn_buffer bytes = make_signed(TWO);
	struct cmn_view rest = { bytes.data + CC_SEAL_HEADER_SIZE, bytes.len - CC_SEAL_HEADER_SIZE };
	uint8_t message[64] = { 0 };

	memcpy(message, purpose, strlen(purpose));
	CU_ASSERT_EQUAL_FATAL(cc_seal_hash(bytes.data, &rest, 1, message + 32), CMN_OK);
	CU_ASSERT_EQUAL(cc_sodium_sign(two.secret, (struct cmn_view){ message + skipped,
				       sizeof(message) - skipped }, bytes.data + SIGNATURE_AT), CMN_OK);
	return bytes;
}

TEST(a_signature_for_another_purpose_is_wrong)
{
	struct cmn_buffer right;
	struct cc_remote_value value;

	read_trust();
	right = sign_again("ckcache remote entry, 1", 0);
	CU_ASSERT_EQUAL(check(&right, &value), CMN_OK);
	cmn_buffer_release(&right);
	check_refused(sign_again("ckcache remote index, 1", 0), NOW, CC_REMOTE_WRONG_SIGNATURE, "two");
	check_refused(sign_again("", 0), NOW, CC_REMOTE_WRONG_SIGNATURE, "two");
	check_refused(sign_again("", 32), NOW, CC_REMOTE_WRONG_SIGNATURE, "two");
}

/* As a look-up receives it. */
TEST(parts_are_as_long_as_the_header_says)
{
	OWNED(cmn_buffer_release) struct cmn_buffer bytes = make_signed(TWO);
	const uint8_t *rest = bytes.data + CC_SEAL_HEADER_SIZE;
	size_t rest_len = bytes.len - CC_SEAL_HEADER_SIZE;
	struct cc_remote_value value;

	read_trust();
	for (size_t max = 0; max < bytes.len + 2; max++) {
		CU_ASSERT_EQUAL(cc_remote_value_begin(bytes.data, max, trust, NOW, &value),
				max >= bytes.len ? CMN_OK : CMN_ERR_CORRUPT);
	}
	CU_ASSERT_EQUAL_FATAL(value.src_len + value.bin_len, rest_len);
	for (size_t at = 0; at <= rest_len; at++) {
		CU_ASSERT_EQUAL(cc_remote_value_finish(&value, bytes.data, (struct cmn_view){ rest, at },
						       (struct cmn_view){ rest + at, rest_len - at }, NOW),
				at == value.src_len ? CMN_OK : CMN_ERR_CORRUPT);
	}
	CU_ASSERT_EQUAL(cc_remote_value_finish(&value, bytes.data, (struct cmn_view){ rest, value.src_len - 1 },
					       value.bin, NOW), CMN_ERR_CORRUPT);
}

/* Opens the value, which it takes, as the entry of a key with these options. */
static enum cmn_status open_as(struct cmn_buffer bytes, const char *options, bool *ret_right)
{
	struct cmn_buffer bin = { 0 };
	struct cc_remote_value value;
	struct cc_entry *entry = NULL;
	struct cmn_view image;
	enum cmn_status status;
	struct cc_key key;

	values_make_key(&key, options);
	CU_ASSERT_EQUAL_FATAL(check(&bytes, &value), CMN_OK);
	cmn_buffer_append(&bin, value.bin.data, value.bin.len);
	status = cc_remote_value_take(&value, &bin, cc_key_view(&key), &entry);
	cmn_buffer_release(&bytes);
	cc_key_release(&key);
	CU_ASSERT_EQUAL(!entry, status != CMN_OK);
	*ret_right = entry && cc_entry_find(entry, CC_TAG_IMAGE, 0, &image) &&
		     cmn_view_equal(image, cmn_view_of("image"));
	cc_entry_unref(entry);
	return status;
}

TEST(a_value_is_the_entry_of_its_own_key_alone)
{
	bool right;

	read_trust();
	CU_ASSERT_EQUAL(open_as(make_signed(TWO), "-O1", &right), CMN_OK);
	CU_ASSERT_TRUE(right);
	/* Signed and sound, and stored under the name of another key. */
	CU_ASSERT_EQUAL(open_as(make_signed(TWO), "-O2", &right), CMN_ERR_CORRUPT);
	CU_ASSERT_EQUAL(open_as(make_signed(TWO), "-O11", &right), CMN_ERR_CORRUPT);
	CU_ASSERT_EQUAL(open_as(make_signed(TWO), "", &right), CMN_ERR_CORRUPT);
}

TEST(damage_behind_the_header_is_found_without_a_signature)
{
	OWNED(cmn_buffer_release) struct cmn_buffer whole = make_unsigned();
	size_t wrong = 0;
	bool right;

	CU_ASSERT_EQUAL(open_as(make_unsigned(), "-O1", &right), CMN_OK);
	CU_ASSERT_TRUE(right);
	for (size_t at = CC_SEAL_HEADER_SIZE; at < whole.len; at++) {
		struct cmn_buffer bytes = make_unsigned();

		bytes.data[at] ^= 4;
		wrong += open_as(bytes, "-O1", &right) >= CMN_OK;
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

TEST(a_result_of_another_key_is_no_entry)
{
	struct files one = values_make_files("-O1", "image", NULL), two = values_make_files("-O2", "image", NULL);
	struct files mixed = { one.src, two.bin };
	bool right;

	cmn_buffer_release(&one.bin);
	cmn_buffer_release(&two.src);
	CU_ASSERT_EQUAL(open_as(values_make(mixed, false, ONE, ONE), "-O1", &right), CMN_ERR_CORRUPT);
}

/* What decoding says of these files, which it takes. */
static enum cmn_status decode(struct files files, size_t *ret_dependencies)
{
	struct cc_entry *entry = NULL;
	struct cc_key key;
	enum cmn_status status = cc_remote_files_decode(cmn_buffer_view(&files.src), &files.bin, &key, &entry);

	if (status == CMN_OK) {
		CU_ASSERT_EQUAL(cc_key_status(&key), CMN_OK);
		*ret_dependencies = cc_manifest_count(cc_entry_manifest(entry));
		cc_entry_unref(entry);
		cc_key_release(&key);
	}
	CU_ASSERT_PTR_NULL(files.bin.data);
	cmn_buffer_release(&files.src);
	return status;
}

TEST(an_entry_is_decoded_with_its_manifest)
{
	const struct cmn_hash hash = cmn_hash_of("x", 1);
	struct cc_manifest *manifest = cc_manifest_new();
	size_t dependencies = 7;

	CU_ASSERT_PTR_NOT_NULL_FATAL(manifest);
	CU_ASSERT_EQUAL(cc_manifest_add_file(manifest, "/a.h", 1, &hash), CMN_OK);
	CU_ASSERT_EQUAL(decode(values_make_files("-O1", "image", manifest), &dependencies), CMN_OK);
	CU_ASSERT_EQUAL(dependencies, 1);
	cc_manifest_free(manifest);
}

/* Its file is sound: the key alone is none, though a look-up would only compare it. */
TEST(a_key_that_cannot_be_read_to_its_end_is_no_entry)
{
	static const uint8_t keys[][8] = {
		{ 1, 0, 0, 0, 9, 1, 'a', 0 },	/* no such part, and cut */
		{ 2, 0, 0, 0 },			/* another version */
	};
	size_t count;
	struct cmn_view cut;
	struct cc_key key;

	CU_ASSERT_EQUAL(decode(values_make_files_of((struct cmn_view){ keys[0], 8 }, "image", NULL),
			       &count), CMN_ERR_CORRUPT);
	CU_ASSERT_EQUAL(decode(values_make_files_of((struct cmn_view){ keys[1], 8 }, "image", NULL),
			       &count), CMN_ERR_VERSION);
	values_make_key(&key, "-O1");
	cut = cc_key_view(&key);
	cut.len--;
	CU_ASSERT_EQUAL(decode(values_make_files_of(cut, "image", NULL), &count), CMN_ERR_CORRUPT);
	cc_key_release(&key);
}

TEST(files_of_no_possible_length_have_no_header)
{
	uint8_t header[CC_SEAL_HEADER_SIZE] = { 7 };
	const struct cmn_view src = { "", CC_SRC_HEADER_SIZE }, bin = { "", CC_ENTRY_HEADER_SIZE };

	CU_ASSERT_EQUAL(cc_remote_value_make((struct cmn_view){ "", src.len - 1 }, bin, NULL,
					       header), CMN_ERR_INVALID);
	CU_ASSERT_EQUAL(cc_remote_value_make(src, (struct cmn_view){ "", bin.len - 1 }, NULL,
					       header), CMN_ERR_INVALID);
	CU_ASSERT_EQUAL(cc_remote_value_make((struct cmn_view){ "", CC_SRC_MAX_FILE + 1 }, bin,
					       NULL, header), CMN_ERR_INVALID);
	CU_ASSERT_EQUAL(header[0], 7);
	CU_ASSERT_EQUAL(cc_remote_value_make(src, bin, NULL, header), CMN_OK);
}

TEST(a_name_says_format_and_key)
{
	char one[CC_REMOTE_NAME_SIZE], two[CC_REMOTE_NAME_SIZE];
	const struct cmn_hash hash = cmn_hash_of("abc", 3);
	char hex[CMN_HASH_HEX_SIZE];

	cc_remote_name(cmn_view_of("abc"), one);
	cc_remote_name(cmn_view_of("abd"), two);
	cmn_hash_hex(&hash, hex);
	CU_ASSERT_EQUAL(strncmp(one, hex, strlen(hex)), 0);
	CU_ASSERT_STRING_EQUAL(one + strlen(hex), "-ckcache-1");
	CU_ASSERT_STRING_NOT_EQUAL(one, two);
	CU_ASSERT_EQUAL(strlen(one), CC_REMOTE_NAME_SIZE - 1);
}

TEST(each_refusal_has_its_own_words)
{
	for (int i = CC_REMOTE_NOT_REFUSED; i <= CC_REMOTE_NO_LIBSODIUM; i++) {
		for (int j = CC_REMOTE_NOT_REFUSED; j < i; j++) {
			CU_ASSERT_STRING_NOT_EQUAL(
				cc_remote_refusal_string((enum cc_remote_refusal)i),
				cc_remote_refusal_string((enum cc_remote_refusal)j));
		}
	}
}
