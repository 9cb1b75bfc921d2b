/* SPDX-License-Identifier: MIT */
/* key_summary: fields in short, and how two of them compare. */
#include "cachecore/record/key_summary.h"

#include <stdlib.h>
#include <string.h>

#include "common/json.h"

/* Build options are compared word by word, so that they are kept longer than other values. */
#define MAX_VALUE 256
#define MAX_OPTIONS 2048

enum { FORM_WHOLE = 0, FORM_HASHED = 1 };

static uint32_t short_hash(const void *data, size_t len)
{
	struct cmn_hash hash = cmn_hash_of(data, len);

	return (uint32_t)cmn_hash_u64(&hash);
}

/* The length of the next line with its end. */
static size_t line_len(const uint8_t *data, size_t left)
{
	const uint8_t *end = memchr(data, '\n', left);

	return end ? (size_t)(end - data) + 1 : left;
}

static size_t count_units(struct cmn_view value, bool lines)
{
	size_t count = 0;

	if (!lines)
		return value.len;
	for (size_t at = 0; at < value.len; count++)
		at += line_len((const uint8_t *)value.data + at, value.len - at);
	return count;
}

static void append_hashes(struct cmn_buffer *buf, struct cmn_view value)
{
	bool lines = cmn_json_is_text(value);
	size_t units = count_units(value, lines), per = 1;
	const uint8_t *data = value.data;

	/* A power of two: texts of about one length are cut alike. */
	while (units > per * CC_KEY_SUMMARY_MAX_HASHES)
		per *= 2;

	cmn_buffer_append_u32(buf, lines);
	cmn_buffer_append_u32(buf, (uint32_t)per);
	cmn_buffer_append_u32(buf, (uint32_t)((units + per - 1) / per));
	for (size_t at = 0; at < value.len;) {
		size_t start = at;

		if (lines) {
			for (size_t i = 0; i < per && at < value.len; i++)
				at += line_len(data + at, value.len - at);
		} else {
			at += value.len - at < per ? value.len - at : per;
		}
		cmn_buffer_append_u32(buf, short_hash(data + start, at - start));
	}
}

static void append_head(struct cmn_buffer *buf, enum cc_part part, unsigned int form,
			struct cmn_view name)
{
	cmn_buffer_append_u8(buf, (uint8_t)part);
	cmn_buffer_append_u8(buf, (uint8_t)form);
	cmn_buffer_append_u8(buf, (uint8_t)name.len);
	cmn_buffer_append(buf, name.data, name.len);
}

void cc_key_summary_append_value(struct cmn_buffer *buf, enum cc_part part, struct cmn_view name,
			     struct cmn_view value)
{
	struct cmn_hash hash;

	if (value.len <= (part == CC_PART_OPTIONS ? MAX_OPTIONS : MAX_VALUE)) {
		append_head(buf, part, FORM_WHOLE, name);
		cmn_buffer_append_sized(buf, value.data, value.len);
		return;
	}
	hash = cmn_hash_of(value.data, value.len);
	append_head(buf, part, FORM_HASHED, name);
	cmn_buffer_append_u64(buf, value.len);
	cmn_buffer_append(buf, hash.bytes, CMN_HASH_SIZE);
	append_hashes(buf, value);
}

void cc_key_summary_append_hashed(struct cmn_buffer *buf, enum cc_part part, struct cmn_view name,
			      uint64_t len, const struct cmn_hash *hash)
{
	append_head(buf, part, FORM_HASHED, name);
	cmn_buffer_append_u64(buf, len);
	cmn_buffer_append(buf, hash->bytes, CMN_HASH_SIZE);
	for (int i = 0; i < 3; i++)
		cmn_buffer_append_u32(buf, 0);	/* no lines, none of them */
}

void cc_key_summary_append_part(struct cmn_buffer *buf, struct cmn_view key, enum cc_part part)
{
	struct cc_key_field field;
	struct cmn_reader reader;

	if (cc_key_read(key, &reader) != CMN_OK)
		return;
	while (cc_key_next(&reader, &field) == CMN_OK) {
		if (field.part == part)
			cc_key_summary_append_value(buf, part, field.name, field.value);
	}
}

void cc_key_summary_append(struct cmn_buffer *buf, struct cmn_view key)
{
	for (unsigned int part = 0; part < CC_PART_COUNT; part++)
		cc_key_summary_append_part(buf, key, (enum cc_part)part);
}

enum cmn_status cc_key_summary_next(struct cmn_reader *reader, struct cc_key_summary_field *ret)
{
	struct cc_key_summary_field field = { 0 };
	struct cmn_view view;
	uint8_t part, form;

	if (!reader->left && !reader->failed)
		return CMN_MISS;
	part = cmn_reader_u8(reader);
	form = cmn_reader_u8(reader);
	field.name = cmn_reader_bytes(reader, cmn_reader_u8(reader));
	if (part >= CC_PART_COUNT || form > FORM_HASHED)
		return CMN_ERR_CORRUPT;
	field.part = (enum cc_part)part;
	field.whole = form == FORM_WHOLE;
	if (field.whole) {
		field.value = cmn_reader_sized(reader);
		field.len = field.value.len;
		field.hash = cmn_hash_of(field.value.data, field.value.len);
	} else {
		field.len = cmn_reader_u64(reader);
		view = cmn_reader_bytes(reader, CMN_HASH_SIZE);
		if (view.len == CMN_HASH_SIZE)
			memcpy(field.hash.bytes, view.data, CMN_HASH_SIZE);
		field.lines = cmn_reader_u32(reader) == 1;
		field.per = cmn_reader_u32(reader);
		field.count = cmn_reader_u32(reader);
		view = cmn_reader_bytes(reader, (uint64_t)field.count * sizeof(uint32_t));
		field.hashes = view.data;
		if (field.count > CC_KEY_SUMMARY_MAX_HASHES || (field.count && !field.per))
			return CMN_ERR_CORRUPT;
	}
	if (reader->failed || !field.name.len)
		return CMN_ERR_CORRUPT;
	*ret = field;
	return CMN_OK;
}

bool cc_key_summary_equal(const struct cc_key_summary_field *a, const struct cc_key_summary_field *b)
{
	return a->len == b->len && cmn_hash_equal(&a->hash, &b->hash);
}

/* The first line of two whole texts that differs. */
static uint64_t line_of_whole(struct cmn_view a, struct cmn_view b)
{
	const char *x = a.data, *y = b.data;
	uint64_t line = 1;

	for (size_t i = 0; i < a.len && i < b.len && x[i] == y[i]; i++)
		line += y[i] == '\n';
	return line;
}

bool cc_key_summary_first_line(const struct cc_key_summary_field *a, const struct cc_key_summary_field *b,
			   uint64_t *ret_line, uint64_t *ret_more)
{
	uint32_t i = 0, least = a->count < b->count ? a->count : b->count;

	*ret_more = 0;
	if (a->whole && b->whole) {
		*ret_line = line_of_whole(a->value, b->value);
		return cmn_json_is_text(a->value) && cmn_json_is_text(b->value);
	}
	if (!a->lines || !b->lines || a->per != b->per || !least)
		return false;
	while (i < least && memcmp(a->hashes + 4 * (size_t)i, b->hashes + 4 * (size_t)i, 4) == 0)
		i++;
	*ret_line = (uint64_t)i * b->per + 1;
	*ret_more = b->per - 1;
	return true;
}

static int compare_hashes(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(uint32_t));
}

double cc_key_summary_alike(const struct cc_key_summary_field *a, const struct cc_key_summary_field *b)
{
	uint32_t known[CC_KEY_SUMMARY_MAX_HASHES], found = 0;

	if (a->lines != b->lines || !a->count || !b->count || a->per != b->per)
		return 0;
	memcpy(known, a->hashes, a->count * sizeof(*known));
	qsort(known, a->count, sizeof(*known), compare_hashes);
	for (uint32_t i = 0; i < b->count; i++)
		found += bsearch(b->hashes + 4 * (size_t)i, known, a->count, sizeof(*known),
				 compare_hashes) != NULL;
	return (double)found / b->count;
}
