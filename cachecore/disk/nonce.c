/* SPDX-License-Identifier: MIT */
/* nonce: shapes of keys, and what became of the builds that had them. */
#include "cachecore/disk/nonce.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/key.h"
#include "cachecore/disk/root.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/hash.h"

enum {
	SLOTS = 4096,
	SLOT_SIZE = 128,
	MAX_KEY = 1 << 20,	/* looking at a longer one takes longer than it is worth */
	MIN_HEX_DIGITS = 8,	/* of 32 bits; families of kernels count with fewer */
	MIN_DECIMAL_DIGITS = 10,	/* as seconds since the epoch; dates and sizes have fewer */
	HIT_GRAIN_NS = 1000000000,
};

struct slot {
	uint32_t count;		/* of runs; 0: nothing known */
	struct cmn_hash shape;
	uint64_t run;
	uint64_t stored_ns;	/* the last run's */
	uint64_t since_ns;	/* nothing is stored since then; 0: it is */
	struct cmn_hash entry_dir[CC_PART_COUNT];
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

/* Digits in a row that chance, a clock or an address may have given a word. */
struct digits {
	size_t hex;		/* the longest part that is nothing else */
	bool marked;		/* one such part has a letter behind a digit, or 0x: it is no name with a number */
	size_t decimal;		/* the longest row of decimal ones anywhere */
};

/* A part between underscores. */
static void count_part(const uint8_t *data, size_t len, struct digits *digits)
{
	bool prefixed = len > 2 && data[0] == '0' && (data[1] == 'x' || data[1] == 'X');
	size_t i = prefixed ? 2 : 0, start = i;
	bool has_digit = false, mixed = false;

	for (; i < len && isxdigit(data[i]); i++) {
		has_digit |= isdigit(data[i]) != 0;
		mixed |= has_digit && !isdigit(data[i]);
	}
	len -= i;
	/* What C puts behind a number. */
	while (len && strchr("uUlL", data[i + len - 1]))
		len--;
	if (len || !has_digit || i - start < MIN_HEX_DIGITS)
		return;
	digits->hex = i - start > digits->hex ? i - start : digits->hex;
	digits->marked |= prefixed || mixed;
}

static struct digits count_digits(struct cmn_view word)
{
	const uint8_t *data = word.data;
	struct digits digits = { 0 };
	size_t row = 0, start = 0;

	for (size_t i = 0; i <= word.len; i++) {
		row = i < word.len && isdigit(data[i]) ? row + 1 : 0;
		digits.decimal = row > digits.decimal ? row : digits.decimal;
		if (i < word.len && data[i] != '_')
			continue;
		count_part(data + start, i - start, &digits);
		start = i + 1;
	}
	return digits;
}

/* How many bytes the words have in common at one end, in whole parts. */
static size_t common_parts(struct cmn_view old, struct cmn_view now, bool at_end)
{
	const uint8_t *a = old.data, *b = now.data;
	size_t least = old.len < now.len ? old.len : now.len, common = 0;

	for (size_t i = 0; i < least; i++) {
		uint8_t one = at_end ? a[old.len - 1 - i] : a[i];

		if (one != (at_end ? b[now.len - 1 - i] : b[i]))
			break;
		if (one == '_')
			common = i + 1;
	}
	return common;
}

/* The words from the first part in which they differ to the last one: what they share says nothing. */
static void strip_common(struct cmn_view *old, struct cmn_view *now)
{
	size_t len = common_parts(*old, *now, false);

	*old = (struct cmn_view){ (const uint8_t *)old->data + len, old->len - len };
	*now = (struct cmn_view){ (const uint8_t *)now->data + len, now->len - len };
	len = common_parts(*old, *now, true);
	old->len -= len;
	now->len -= len;
}

/* Whether both are what an address, a time or chance makes, rather than members of a family. */
static bool look_random(struct cmn_view old, struct cmn_view now)
{
	struct digits a, b;

	strip_common(&old, &now);
	a = count_digits(old);
	b = count_digits(now);
	if (a.decimal >= MIN_DECIMAL_DIGITS && b.decimal >= MIN_DECIMAL_DIGITS)
		return true;
	/* One in twenty random ones of eight digits has no letter behind a digit. */
	return a.hex && b.hex && (a.marked || b.marked);
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

bool cc_nonce_differs(struct cmn_view old, struct cmn_view now, struct cmn_view *ret_old,
			     struct cmn_view *ret_now)
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
	*ret_old = difference.old;
	*ret_now = difference.now;
	return difference.now.len && look_random(difference.old, difference.now);
}

static bool read_slot(int fd, uint64_t number, struct slot *ret)
{
	uint8_t bytes[SLOT_SIZE];
	struct cmn_reader reader = { .data = bytes, .left = sizeof(bytes) };
	struct cmn_hash hash;

	if (pread(fd, bytes, sizeof(bytes), (off_t)(number * SLOT_SIZE)) != SLOT_SIZE)
		return false;
	hash = cmn_hash_of(bytes, SLOT_SIZE - CMN_HASH_SIZE);
	if (memcmp(hash.bytes, bytes + SLOT_SIZE - CMN_HASH_SIZE, CMN_HASH_SIZE) != 0)
		return false;
	ret->count = cmn_reader_u32(&reader);
	(void)cmn_reader_u32(&reader);	/* zero */
	ret->shape = cmn_reader_hash(&reader);
	ret->run = cmn_reader_u64(&reader);
	ret->stored_ns = cmn_reader_u64(&reader);
	ret->since_ns = cmn_reader_u64(&reader);
	cmn_reader_copy(&reader, ret->entry_dir, sizeof(ret->entry_dir));
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
	cmn_buffer_append(&bytes, slot->entry_dir, sizeof(slot->entry_dir));
	if (!bytes.failed) {
		hash = cmn_hash_of(bytes.data, bytes.len);
		cmn_buffer_append(&bytes, hash.bytes, CMN_HASH_SIZE);
	}
	if (!bytes.failed)
		(void)!cmn_file_write_at(fd, bytes.data, bytes.len, (off_t)(number * SLOT_SIZE));
	cmn_buffer_release(&bytes);
}

/* Whether the last run's build is there, was never a hit, and differs from this one by a random word. */
static bool is_evidence(int root_fd, const struct slot *slot, struct cmn_view key)
{
	char path[CC_ENTRY_DIR_PATH_SIZE];
	struct cmn_buffer file = { 0 };
	struct cmn_view one, other;
	struct cc_src src;
	bool evidence = false;
	uint64_t used_ns;
	int entry_dir_fd;

	cc_entry_dir_path_by(slot->entry_dir, path);
	if (cc_entry_dir_open(root_fd, path, &entry_dir_fd) != CMN_OK)
		return false;
	used_ns = cc_entry_dir_used_ns(entry_dir_fd, NULL, 0);
	/* Times that are not so exact have no mark. */
	if ((used_ns & CC_ENTRY_DIR_UNUSED || used_ns % 100 == 0) && used_ns <= slot->stored_ns + HIT_GRAIN_NS &&
	    used_ns + HIT_GRAIN_NS >= slot->stored_ns &&
	    cc_entry_dir_read_src(entry_dir_fd, 0, CMN_FILE_ANY, &file, &src) == CMN_OK)
		evidence = cc_nonce_differs(src.key, key, &one, &other);
	cmn_buffer_release(&file);
	(void)close(entry_dir_fd);	/* read only */
	return evidence;
}

static bool admits(int root_fd, int fd, struct cmn_view key, const struct cmn_hash *shape,
		   uint64_t run, uint64_t now_ns)
{
	uint64_t number = cmn_hash_u64(shape) % SLOTS;
	struct slot slot = { 0 };
	bool known = read_slot(fd, number, &slot) && cmn_hash_equal(&slot.shape, shape);
	bool paused = known && slot.since_ns && now_ns >= slot.since_ns &&
		      now_ns - slot.since_ns < CC_NONCE_PAUSE_NS;

	if (paused)
		return false;
	/* Of each run the first build counts. */
	if (known && slot.run == run && !slot.since_ns)
		return true;
	if (known && !slot.since_ns && is_evidence(root_fd, &slot, key))
		slot.count++;
	else
		slot.count = 1;
	slot.shape = *shape;
	slot.run = run;
	slot.stored_ns = now_ns;
	slot.since_ns = slot.count > CC_NONCE_RUNS ? now_ns : 0;
	cc_key_part_hashes(key, slot.entry_dir);
	write_slot(fd, number, &slot);
	return !slot.since_ns;
}

uint64_t cc_nonce_run(void)
{
	static atomic_uint_least64_t run;
	uint_least64_t none = 0;

	(void)atomic_compare_exchange_strong(&run, &none, cmn_clock_realtime() ^ (uint64_t)getpid() << 32);
	return atomic_load(&run);
}

bool cc_nonce_admits(const char *root, struct cmn_view key, uint64_t run, uint64_t now_ns)
{
	struct cmn_hash shape;
	enum cmn_status status;
	bool result = true;
	int root_fd, fd;

	if (key.len > MAX_KEY || !shape_of(key, &shape) || cc_root_make(root, &root_fd) != CMN_OK)
		return true;
	status = cmn_file_open_healed(root_fd, CC_NONCE_NAME, &fd);
	if (status == CMN_OK) {
		result = admits(root_fd, fd, key, &shape, run, now_ns);
		(void)close(fd);	/* as write_slot */
	}
	(void)close(root_fd);	/* nothing was written through it */
	return result;
}

enum cmn_status cc_nonce_clear(const char *root)
{
	enum cmn_status status;
	int root_fd = -1;

	status = cc_root_open(root, &root_fd);
	if (status == CMN_MISS)
		return CMN_OK;
	if (status != CMN_OK)
		return status;
	status = cmn_file_remove(root_fd, CC_NONCE_NAME);
	(void)close(root_fd);	/* nothing was written through it */
	return status;
}
