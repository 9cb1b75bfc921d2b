/* SPDX-License-Identifier: MIT */
/* random_token: shapes of keys, and what became of the builds that had them. */
#include "cachecore/random_token.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/key.h"
#include "cachecore/leaf.h"
#include "cachecore/pair.h"
#include "cachecore/root.h"
#include "common/hash.h"

#define FILE_NAME "tokens.dat"

enum {
	SLOTS = 4096,
	SLOT_SIZE = 128,
	MAX_KEY = 1 << 20,	/* looking at a longer one takes longer than it is worth */
	MIN_DIGITS = 6,
	HIT_GRAIN_NS = 1000000000,
};

struct slot {
	uint32_t count;		/* of runs; 0: nothing known */
	struct cmn_hash shape;
	uint64_t run;
	uint64_t stored_ns;	/* the last run's */
	uint64_t since_ns;	/* nothing is stored since then; 0: it is */
	struct cmn_hash leaf[CC_PART_COUNT];
};

static bool is_word(uint8_t byte)
{
	return isalnum(byte) || byte == '_';
}

/* The word at data, and whether it has a digit. */
static size_t word_at(const uint8_t *data, size_t left, bool *ret_digit)
{
	size_t len = 0;

	*ret_digit = false;
	for (; len < left && is_word(data[len]); len++)
		*ret_digit |= isdigit(data[len]) != 0;
	return len;
}

/* The text without what may differ. */
static void append_shape(struct cmn_buffer *shape, struct cmn_view text)
{
	const uint8_t *data = text.data;

	for (size_t at = 0; at < text.len;) {
		bool digit;
		size_t len = word_at(data + at, text.len - at, &digit);

		if (!len)
			cmn_buffer_append_u8(shape, data[at]);
		else if (digit)
			cmn_buffer_append_u8(shape, '0');
		else
			cmn_buffer_append(shape, data + at, len);
		at += len ? len : 1;
	}
	cmn_buffer_append_u8(shape, 0);
}

/* Of these parts texts differ by chance; devices and constants are what they are. */
static bool is_text(const struct cc_key_field *field)
{
	return field->part == CC_PART_IMAGE || field->part == CC_PART_OPTIONS;
}

static bool shape_of(struct cmn_view key, struct cmn_hash *ret)
{
	struct cmn_buffer shape = { 0 };
	struct cc_key_field field;
	struct cmn_reader reader;
	bool done;

	if (cc_key_read(key, &reader) != CMN_OK)
		return false;
	while (cc_key_next(&reader, &field) == CMN_OK) {
		cmn_buffer_append(&shape, field.name.data, field.name.len);
		if (is_text(&field))
			append_shape(&shape, field.value);
		else
			cmn_buffer_append_sized(&shape, field.value.data, field.value.len);
	}
	done = !shape.failed;
	if (done)
		*ret = cmn_hash_of(shape.data, shape.len);
	cmn_buffer_release(&shape);
	return done;
}

/* Enough of it to be an address, a time or chance, rather than a size. */
static bool looks_random(struct cmn_view word)
{
	const uint8_t *data = word.data;
	size_t digits = 0;

	for (size_t i = 0; i < word.len; i++)
		digits += isxdigit(data[i]) != 0;
	return digits >= MIN_DIGITS;
}

/* One word for another. */
struct difference {
	struct cmn_view old, now;
};

/* Of texts of one shape. false: a second word differs, too. */
static bool compare_texts(struct cmn_view old, struct cmn_view now, struct difference *difference)
{
	const uint8_t *a = old.data, *b = now.data;
	size_t i = 0, j = 0;

	while (i < old.len && j < now.len) {
		bool digit;
		struct cmn_view one = { a + i, word_at(a + i, old.len - i, &digit) };
		struct cmn_view other = { b + j, word_at(b + j, now.len - j, &digit) };

		i += one.len ? one.len : 1;
		j += other.len ? other.len : 1;
		if (cmn_view_equal(one, other))
			continue;
		if (!difference->now.len)
			*difference = (struct difference){ one, other };
		else if (!cmn_view_equal(difference->old, one) ||
			 !cmn_view_equal(difference->now, other))
			return false;
	}
	return i == old.len && j == now.len;
}

static bool differ_by_a_random_word(struct cmn_view old, struct cmn_view now)
{
	struct difference difference = { 0 };
	struct cc_key_field one, other;
	struct cmn_reader a, b;

	if (cc_key_read(old, &a) != CMN_OK || cc_key_read(now, &b) != CMN_OK)
		return false;
	while (cc_key_next(&a, &one) == CMN_OK) {
		if (cc_key_next(&b, &other) != CMN_OK || !cmn_view_equal(one.name, other.name))
			return false;
		if (is_text(&one) && !compare_texts(one.value, other.value, &difference))
			return false;
	}
	return looks_random(difference.now) && looks_random(difference.old);
}

static bool read_slot(int fd, uint64_t number, struct slot *ret)
{
	uint8_t bytes[SLOT_SIZE];
	struct cmn_reader reader = { .data = bytes, .left = sizeof(bytes) };
	struct cmn_hash hash;
	struct cmn_view view;

	if (pread(fd, bytes, sizeof(bytes), (off_t)(number * SLOT_SIZE)) != SLOT_SIZE)
		return false;
	hash = cmn_hash_of(bytes, SLOT_SIZE - CMN_HASH_SIZE);
	if (memcmp(hash.bytes, bytes + SLOT_SIZE - CMN_HASH_SIZE, CMN_HASH_SIZE) != 0)
		return false;
	ret->count = cmn_reader_u32(&reader);
	(void)cmn_reader_u32(&reader);	/* zero */
	view = cmn_reader_bytes(&reader, CMN_HASH_SIZE);
	memcpy(ret->shape.bytes, view.data, CMN_HASH_SIZE);
	ret->run = cmn_reader_u64(&reader);
	ret->stored_ns = cmn_reader_u64(&reader);
	ret->since_ns = cmn_reader_u64(&reader);
	view = cmn_reader_bytes(&reader, sizeof(ret->leaf));
	memcpy(ret->leaf, view.data, sizeof(ret->leaf));
	return true;
}

/* What is lost is evidence: nobody needs to hear of it. */
static void write_slot(int fd, uint64_t number, const struct slot *slot)
{
	struct cmn_buffer bytes = { 0 };
	struct cmn_hash hash;

	cmn_buffer_append_u32(&bytes, slot->count);
	cmn_buffer_append_u32(&bytes, 0);
	cmn_buffer_append(&bytes, slot->shape.bytes, CMN_HASH_SIZE);
	cmn_buffer_append_u64(&bytes, slot->run);
	cmn_buffer_append_u64(&bytes, slot->stored_ns);
	cmn_buffer_append_u64(&bytes, slot->since_ns);
	cmn_buffer_append(&bytes, slot->leaf, sizeof(slot->leaf));
	if (!bytes.failed) {
		hash = cmn_hash_of(bytes.data, bytes.len);
		cmn_buffer_append(&bytes, hash.bytes, CMN_HASH_SIZE);
	}
	if (!bytes.failed)
		(void)!pwrite(fd, bytes.data, bytes.len, (off_t)(number * SLOT_SIZE));
	cmn_buffer_release(&bytes);
}

static void leaf_path(const struct slot *slot, char ret[CC_LEAF_PATH_SIZE])
{
	for (size_t i = 0; i < CC_PART_COUNT; i++) {
		cmn_hash_hex(&slot->leaf[i], ret + i * CMN_HASH_HEX_SIZE);
		ret[(i + 1) * CMN_HASH_HEX_SIZE - 1] = i + 1 < CC_PART_COUNT ? '/' : '\0';
	}
}

/* Whether the last run's build is there, was never a hit, and differs from this one by a random word. */
static bool is_evidence(int root_fd, const struct slot *slot, struct cmn_view key, uint64_t now_ns)
{
	char path[CC_LEAF_PATH_SIZE];
	struct cmn_buffer file = { 0 };
	struct cc_src src;
	bool evidence = false;
	int leaf_fd;

	leaf_path(slot, path);
	if (cc_leaf_open(root_fd, path, &leaf_fd) != CMN_OK)
		return false;
	if (cc_leaf_access_ns(leaf_fd, 0, now_ns) <= slot->stored_ns + HIT_GRAIN_NS &&
	    cc_pair_read_src(leaf_fd, "", 0, &file, &src) == CMN_OK)
		evidence = differ_by_a_random_word(src.key, key);
	cmn_buffer_release(&file);
	(void)close(leaf_fd);	/* read only */
	return evidence;
}

static bool admits(int root_fd, int fd, struct cmn_view key, const struct cmn_hash *shape,
		   uint64_t run, uint64_t now_ns)
{
	uint64_t number = cmn_hash_u64(shape) % SLOTS;
	struct slot slot = { 0 };
	bool known = read_slot(fd, number, &slot) && cmn_hash_equal(&slot.shape, shape);
	bool paused = known && slot.since_ns && now_ns >= slot.since_ns &&
		      now_ns - slot.since_ns < CC_RANDOM_TOKEN_PAUSE_NS;

	if (paused)
		return false;
	/* Of each run the first build counts. */
	if (known && slot.run == run && !slot.since_ns)
		return true;
	if (known && !slot.since_ns && is_evidence(root_fd, &slot, key, now_ns))
		slot.count++;
	else
		slot.count = 1;
	slot.shape = *shape;
	slot.run = run;
	slot.stored_ns = now_ns;
	slot.since_ns = slot.count > CC_RANDOM_TOKEN_RUNS ? now_ns : 0;
	cc_key_part_hashes(key, slot.leaf);
	write_slot(fd, number, &slot);
	return !slot.since_ns;
}

bool cc_random_token_admits(const char *root, struct cmn_view key, uint64_t run, uint64_t now_ns)
{
	struct cmn_hash shape;
	bool result = true;
	int root_fd, fd;

	if (key.len > MAX_KEY || !shape_of(key, &shape) || cc_root_make(root, &root_fd) != CMN_OK)
		return true;
	fd = openat(root_fd, FILE_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		    0600);
	if (fd >= 0) {
		result = admits(root_fd, fd, key, &shape, run, now_ns);
		(void)close(fd);	/* as write_slot */
	}
	(void)close(root_fd);	/* nothing was written through it */
	return result;
}
