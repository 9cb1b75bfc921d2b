/* SPDX-License-Identifier: MIT */
/* reuse: shapes of keys, and what became of the results that had them. */
#include "cachecore/disk/reuse.h"

#include <ctype.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "cachecore/key.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/hash.h"

enum {
	SLOTS = 512,
	SLOT_SIZE = 1024,
	REFUSED = 49,
	MAX_KEY = 1 << 20,	/* looking at a longer one takes longer than it is worth */
	EVIDENCE_NAME = 32,
	EVIDENCE_OTHER = 1,
	EVIDENCE_ENOUGH = EVIDENCE_NAME * CC_REUSE_RUNS,
	EVIDENCE_MOST = 1 << 30,
	MIN_NAME = 5,		/* bytes, of the six that mkstemp makes */
	MAX_SHOWN = CC_REUSE_WORDS_SIZE / 2 - 4,
	MIN_DECIMAL_DIGITS = 10,	/* as seconds since the epoch; dates and sizes have fewer */
	SPIRV_HEADER = 20,	/* bytes */
	HIT_GRAIN_NS = 1000000000,
};

#define SPIRV_MAGIC UINT32_C(0x07230203)

struct result {
	uint64_t stored_ns;
	struct cmn_hash entry_dir[CC_PART_COUNT];
};

/* reuse.h says what they are. All zero: nothing is known. */
struct slot {
	uint32_t evidence, enough, stored, refusals;
	struct cmn_hash shape;
	uint64_t run;
	struct result results[CC_REUSE_RUNS];
	uint64_t refused[REFUSED];
};

static void append_opcodes(struct cmn_buffer *shape, struct cmn_view module)
{
	const uint8_t *data = module.data;
	uint32_t word;

	for (size_t at = SPIRV_HEADER; at + sizeof(word) <= module.len;) {
		memcpy(&word, data + at, sizeof(word));
		word = le32toh(word);
		cmn_buffer_append_u32(shape, word & 0xffff);
		at += (word >> 16 ? word >> 16 : 1) * sizeof(word);
	}
}

static void append_words(struct cmn_buffer *shape, struct cmn_view text)
{
	const char *data = text.data;

	for (size_t at = 0; at < text.len; at++) {
		if (!cmn_is_word(data[at]))
			cmn_buffer_append_u8(shape, (uint8_t)data[at]);
		else if (at == 0 || !cmn_is_word(data[at - 1]))
			cmn_buffer_append_u8(shape, 'w');
	}
}

static bool is_spirv(struct cmn_view value)
{
	uint32_t word;

	if (value.len < SPIRV_HEADER)
		return false;
	memcpy(&word, value.data, sizeof(word));
	return le32toh(word) == SPIRV_MAGIC;
}

/* Of these parts programs differ by chance; devices and constants are what they are. */
static bool is_program(const struct cc_key_field *field)
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
		cmn_buffer_append_sized(&shape, field.name.data, field.name.len);
		if (!is_program(&field))
			cmn_buffer_append_sized(&shape, field.value.data, field.value.len);
		else if (is_spirv(field.value))
			append_opcodes(&shape, field.value);
		else if (!field.value.len || !memchr(field.value.data, 0, field.value.len))
			append_words(&shape, field.value);
	}
	done = !shape.failed;
	if (done)
		*ret = cmn_hash_of(shape.data, shape.len);
	cmn_buffer_release(&shape);
	return done;
}

/* The word that has the byte, or which the byte ends; as much of it as looks like one. */
static struct cmn_view word_around(struct cmn_view value, size_t at)
{
	const char *data = value.data;
	size_t start = at, end = at;

	while (start && cmn_is_word(data[start - 1]))
		start--;
	while (end < value.len && cmn_is_word(data[end]))
		end++;
	return (struct cmn_view){ data + start, end - start };
}

static struct cmn_view behind(struct cmn_view value, size_t at)
{
	return (struct cmn_view){ (const uint8_t *)value.data + at, value.len - at };
}

/* How many bytes two values have in common at their beginnings, or at their ends. */
static size_t common_bytes(struct cmn_view a, struct cmn_view b, bool at_end)
{
	const uint8_t *one = a.data, *other = b.data;
	size_t least = a.len < b.len ? a.len : b.len, count = 0;

	while (count < least && (at_end ? one[a.len - 1 - count] == other[b.len - 1 - count] :
				 one[count] == other[count]))
		count++;
	return count;
}

void cc_reuse_differing_words(struct cmn_view old, struct cmn_view now, struct cmn_view *ret_old,
			      struct cmn_view *ret_now)
{
	size_t at = common_bytes(old, now, false);

	/* An instruction's length differs where its text does. */
	if (is_spirv(old) && is_spirv(now) && at % 4 >= 2 && old.len >= at + 2 && now.len >= at + 2) {
		at = at / 4 * 4 + 4;
		at += common_bytes(behind(old, at), behind(now, at), false);
	}
	*ret_old = word_around(old, at);
	*ret_now = word_around(now, at);
}

static size_t decimal_digits(struct cmn_view word)
{
	const uint8_t *data = word.data;
	size_t most = 0, row = 0;

	for (size_t i = 0; i < word.len; i++) {
		row = isdigit(data[i]) ? row + 1 : 0;
		most = row > most ? row : most;
	}
	return most;
}

/* Whether both are what chance, a clock or an address makes, rather than members of a family. */
static bool may_be_chance(struct cmn_view old, struct cmn_view now)
{
	size_t same;

	if (decimal_digits(old) >= MIN_DECIMAL_DIGITS && decimal_digits(now) >= MIN_DECIMAL_DIGITS)
		return true;
	same = common_bytes(old, now, false);
	old = behind(old, same);
	now = behind(now, same);
	same = common_bytes(old, now, true);
	old.len -= same;
	now.len -= same;
	return old.len >= MIN_NAME && now.len >= MIN_NAME &&
	       (decimal_digits(old) < old.len || decimal_digits(now) < now.len);
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
	ret->evidence = cmn_reader_u32(&reader);
	ret->enough = cmn_reader_u32(&reader);
	ret->stored = cmn_reader_u32(&reader);
	ret->refusals = cmn_reader_u32(&reader);
	ret->shape = cmn_reader_hash(&reader);
	ret->run = cmn_reader_u64(&reader);
	for (size_t i = 0; i < CC_REUSE_RUNS; i++) {
		ret->results[i].stored_ns = cmn_reader_u64(&reader);
		cmn_reader_copy(&reader, ret->results[i].entry_dir, sizeof(ret->results[i].entry_dir));
	}
	for (size_t i = 0; i < REFUSED; i++)
		ret->refused[i] = cmn_reader_u64(&reader);
	return true;
}

/* What is lost is evidence: nobody needs to hear of it. */
static void write_slot(int fd, uint64_t number, const struct slot *slot)
{
	struct cmn_buffer bytes = { 0 };
	struct cmn_hash hash;

	cmn_buffer_append_u32(&bytes, slot->evidence);
	cmn_buffer_append_u32(&bytes, slot->enough);
	cmn_buffer_append_u32(&bytes, slot->stored);
	cmn_buffer_append_u32(&bytes, slot->refusals);
	cmn_buffer_append(&bytes, slot->shape.bytes, CMN_HASH_SIZE);
	cmn_buffer_append_u64(&bytes, slot->run);
	for (size_t i = 0; i < CC_REUSE_RUNS; i++) {
		cmn_buffer_append_u64(&bytes, slot->results[i].stored_ns);
		cmn_buffer_append(&bytes, slot->results[i].entry_dir, sizeof(slot->results[i].entry_dir));
	}
	for (size_t i = 0; i < REFUSED; i++)
		cmn_buffer_append_u64(&bytes, slot->refused[i]);
	if (!bytes.failed) {
		hash = cmn_hash_of(bytes.data, bytes.len);
		cmn_buffer_append(&bytes, hash.bytes, CMN_HASH_SIZE);
	}
	if (!bytes.failed)
		(void)!cmn_file_write_at(fd, bytes.data, bytes.len, (off_t)(number * SLOT_SIZE));
	cmn_buffer_release(&bytes);
}

enum fate { GONE, UNUSED, USED };

static enum fate fate_of(int root_fd, const struct result *result)
{
	char path[CC_ENTRY_DIR_PATH_SIZE];
	uint64_t used_ns;

	cc_entry_dir_path_by(result->entry_dir, path);
	used_ns = cc_entry_dir_used_ns(root_fd, path, 0);
	if (!used_ns)
		return GONE;
	/* Times that are not so exact have no mark. */
	if ((used_ns & CC_ENTRY_DIR_UNUSED || used_ns % 100 == 0) && used_ns <= result->stored_ns + HIT_GRAIN_NS &&
	    used_ns + HIT_GRAIN_NS >= result->stored_ns)
		return UNUSED;
	return USED;
}

static size_t count_results(int root_fd, const struct slot *slot, enum fate fate)
{
	size_t count = 0;

	for (size_t i = 0; i < CC_REUSE_RUNS && i < slot->stored; i++)
		count += fate_of(root_fd, &slot->results[i]) == fate;
	return count;
}

/* Where a key differs first from that of the last run's result. */
struct difference {
	struct cmn_buffer file;		/* has the former one */
	bool known;			/* it is still there */
	bool in_program;
	struct cmn_view was, is;	/* words, borrowed */
};

static void compare_keys(struct cmn_view old, struct cmn_view key, struct difference *ret)
{
	struct cc_key_field was, is;
	struct cmn_reader a, b;

	ret->known = cc_key_read(old, &a) == CMN_OK && cc_key_read(key, &b) == CMN_OK;
	while (ret->known && cc_key_next(&a, &was) == CMN_OK && cc_key_next(&b, &is) == CMN_OK) {
		if (cmn_view_equal(was.value, is.value))
			continue;
		ret->in_program = is_program(&is);
		cc_reuse_differing_words(was.value, is.value, &ret->was, &ret->is);
		return;
	}
}

/* Its file is the caller's. */
static struct difference difference_of(int root_fd, const struct slot *slot, struct cmn_view key)
{
	struct difference difference = { 0 };
	char path[CC_ENTRY_DIR_PATH_SIZE];
	struct cc_src src;
	int entry_dir_fd;

	if (!slot->stored)
		return difference;
	cc_entry_dir_path_by(slot->results[(slot->stored - 1) % CC_REUSE_RUNS].entry_dir, path);
	if (cc_entry_dir_open(root_fd, path, &entry_dir_fd) != CMN_OK)
		return difference;
	if (cc_entry_dir_read_src(entry_dir_fd, 0, CMN_FILE_ANY, &difference.file, &src) == CMN_OK)
		compare_keys(src.key, key, &difference);
	(void)close(entry_dir_fd);	/* read only */
	return difference;
}

static uint32_t evidence_of(const struct difference *difference)
{
	if (!difference->known)
		return 0;
	return difference->in_program && may_be_chance(difference->was, difference->is) ? EVIDENCE_NAME :
											  EVIDENCE_OTHER;
}

static void say_words(const struct difference *difference, char ret[CC_REUSE_WORDS_SIZE])
{
	struct cmn_view was = difference->was, is = difference->is;

	if (difference->known && was.len <= MAX_SHOWN && is.len <= MAX_SHOWN)
		(void)snprintf(ret, CC_REUSE_WORDS_SIZE, "%.*s -> %.*s", (int)was.len, (const char *)was.data,
			       (int)is.len, (const char *)is.data);	/* it fits */
}

static bool was_refused(const struct slot *slot, uint64_t key_hash)
{
	for (size_t i = 0; i < REFUSED && i < slot->refusals; i++) {
		if (slot->refused[i] == key_hash)
			return true;
	}
	return false;
}

/* Whether the result is to be stored. is_first: of its run. */
static bool judge(int root_fd, struct slot *slot, const struct difference *difference, uint64_t key_hash, bool is_first)
{
	if (slot->refusals) {
		if (!was_refused(slot, key_hash) && !(is_first && count_results(root_fd, slot, USED)))
			return false;
		slot->refusals = slot->evidence = 0;
		slot->enough = slot->enough < EVIDENCE_MOST ? slot->enough * 2 : EVIDENCE_MOST;
		return true;
	}
	slot->evidence += evidence_of(difference);
	if (slot->evidence < slot->enough || slot->stored < CC_REUSE_RUNS)
		return true;
	slot->evidence = slot->enough;
	if (count_results(root_fd, slot, UNUSED) == CC_REUSE_RUNS)
		return false;
	slot->evidence = 0;
	return true;
}

static bool is_likely(int root_fd, int fd, struct cmn_view key, const struct cmn_hash *shape,
		      uint64_t run, uint64_t now_ns, char ret_words[CC_REUSE_WORDS_SIZE])
{
	uint64_t number = cmn_hash_u64(shape) % SLOTS, key_hash;
	struct slot slot = { 0 };
	struct difference difference;
	struct cmn_hash hash;
	bool is_first, likely;

	if (!read_slot(fd, number, &slot) || !cmn_hash_equal(&slot.shape, shape))
		slot = (struct slot){ .shape = *shape, .enough = EVIDENCE_ENOUGH, .run = ~run };
	is_first = slot.run != run;
	if (!is_first && !slot.refusals)
		return true;
	hash = cmn_hash_of(key.data, key.len);
	key_hash = cmn_hash_u64(&hash);
	difference = difference_of(root_fd, &slot, key);
	likely = judge(root_fd, &slot, &difference, key_hash, is_first);
	if (!likely)
		say_words(&difference, ret_words);
	cmn_buffer_release(&difference.file);
	if (!likely && !is_first)
		return false;
	slot.run = run;
	if (likely) {
		struct result *oldest = &slot.results[slot.stored++ % CC_REUSE_RUNS];

		oldest->stored_ns = now_ns;
		cc_key_part_hashes(key, oldest->entry_dir);
	} else {
		slot.refused[slot.refusals++ % REFUSED] = key_hash;
	}
	write_slot(fd, number, &slot);
	return likely;
}

uint64_t cc_reuse_run(void)
{
	static atomic_uint_least64_t run;
	uint_least64_t none = 0;

	(void)atomic_compare_exchange_strong(&run, &none, cmn_clock_realtime() ^ (uint64_t)getpid() << 32);
	return atomic_load(&run);
}

bool cc_reuse_is_likely(const char *root, struct cmn_view key, uint64_t run, uint64_t now_ns,
			char ret_words[CC_REUSE_WORDS_SIZE])
{
	struct cmn_hash shape;
	enum cmn_status status;
	bool result = true;
	int root_fd, fd;

	ret_words[0] = '\0';
	if (key.len > MAX_KEY || !shape_of(key, &shape) || cc_root_make(root, &root_fd) != CMN_OK)
		return true;
	status = cmn_file_open_healed(root_fd, CC_REUSE_NAME, &fd);
	if (status == CMN_OK) {
		result = is_likely(root_fd, fd, key, &shape, run, now_ns, ret_words);
		(void)close(fd);	/* as write_slot */
	}
	(void)close(root_fd);	/* nothing was written through it */
	return result;
}

enum cmn_status cc_reuse_clear(const char *root)
{
	enum cmn_status status;
	int root_fd = -1;

	status = cc_root_open(root, &root_fd);
	if (status == CMN_MISS)
		return CMN_OK;
	if (status != CMN_OK)
		return status;
	status = cmn_file_remove(root_fd, CC_REUSE_NAME);
	(void)close(root_fd);	/* nothing was written through it */
	return status;
}
