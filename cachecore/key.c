/* SPDX-License-Identifier: MIT */
/*
 * key: the encoding of a key's fields and its bounded reader. What the fields
 * are is the callers' business.
 */
#include "cachecore/key.h"

#include <string.h>

#define FIELD_HEAD_SIZE (1 + 1 + 8)	/* part, name length, value length */

void cc_key_init_copy(struct cc_key *key, const struct cc_key *from)
{
	*key = *from;
	key->encoded = (struct cmn_buffer){ 0 };
	key->local_len = 0;
	cmn_buffer_append(&key->encoded, from->encoded.data, from->encoded.len);
	if (from->encoded.failed)
		key->encoded.failed = true;
}

void cc_key_add_field(struct cc_key *key, const struct cc_key_field *field)
{
	const struct cmn_view *name = &field->name, *value = &field->value;

	if (name->len == 0 || name->len > UINT8_MAX || (unsigned int)field->part >= CC_PART_COUNT) {
		key->bad_name = true;
		return;
	}
	/* One reservation, so that a large source is not copied again by growing. */
	if (!cmn_buffer_reserve(&key->encoded, FIELD_HEAD_SIZE + name->len + value->len))
		return;
	cmn_buffer_append_u8(&key->encoded, (uint8_t)field->part);
	cmn_buffer_append_u8(&key->encoded, (uint8_t)name->len);
	cmn_buffer_append(&key->encoded, name->data, name->len);
	cmn_buffer_append_sized(&key->encoded, value->data, value->len);
}

void cc_key_add_fields(struct cc_key *key, const struct cc_key *from)
{
	const size_t head = sizeof(uint32_t);	/* the version, which key has already */

	if (from->encoded.failed || from->encoded.len < head) {
		key->encoded.failed = true;
		return;
	}
	key->bad_name = key->bad_name || from->bad_name;
	if (key->encoded.len == head) {
		memcpy(key->folded, from->folded, sizeof(key->folded));
		key->folded_len = from->folded_len;
	}
	cmn_buffer_append(&key->encoded, from->encoded.data + head, from->encoded.len - head);
}

bool cc_key_is_number(struct cmn_view value, uint64_t *ret)
{
	struct cmn_reader reader = cmn_reader_of(value);

	if (value.len != sizeof(*ret) || ((const uint8_t *)value.data)[value.len - 1])
		return false;
	*ret = cmn_reader_u64(&reader);
	return true;
}

/*
 * A part's fields may interleave with others', and a look-up must not fail
 * for memory here, so each field is hashed where it stands and folded into
 * its part: state = hash(state hash(field)). The field's bytes include its
 * lengths, so that no two lists of fields fold alike.
 */
static void fold(struct cmn_reader *reader, struct cmn_hash parts[CC_PART_COUNT])
{
	struct cc_key_field field;

	for (;;) {
		const uint8_t *start = reader->data;

		if (cc_key_next(reader, &field) != CMN_OK)
			return;
		parts[field.part] = cmn_hash_fold(parts[field.part],
						  cmn_hash_of(start, (size_t)(reader->data - start)));
	}
}

void cc_key_part_hashes(struct cmn_view encoded, struct cmn_hash ret[CC_PART_COUNT])
{
	struct cmn_reader reader;

	for (int i = 0; i < CC_PART_COUNT; i++)
		ret[i] = cmn_hash_of(NULL, 0);
	if (cc_key_read(encoded, &reader) == CMN_OK)
		fold(&reader, ret);
}

void cc_key_fold(struct cc_key *key)
{
	if (cc_key_status(key) != CMN_OK)
		return;
	cc_key_part_hashes(cc_key_view(key), key->folded);
	key->folded_len = key->encoded.len;
}

void cc_key_hashes(const struct cc_key *key, struct cmn_hash ret[CC_PART_COUNT])
{
	struct cmn_view rest = cc_key_view(key);
	struct cmn_reader reader;

	if (!key->folded_len || key->folded_len > rest.len) {
		cc_key_part_hashes(rest, ret);
		return;
	}
	memcpy(ret, key->folded, sizeof(key->folded));
	rest.data = (const uint8_t *)rest.data + key->folded_len;
	rest.len -= key->folded_len;
	reader = cmn_reader_of(rest);
	fold(&reader, ret);
}

enum cmn_status cc_key_read(struct cmn_view encoded, struct cmn_reader *ret_reader)
{
	struct cmn_reader reader = cmn_reader_of(encoded);
	uint32_t version = cmn_reader_u32(&reader);

	if (reader.failed)
		return CMN_ERR_CORRUPT;
	if (version != CC_KEY_VERSION)
		return CMN_ERR_VERSION;
	*ret_reader = reader;
	return CMN_OK;
}

enum cmn_status cc_key_next(struct cmn_reader *reader, struct cc_key_field *ret)
{
	struct cc_key_field field;
	uint8_t part, name_len;

	if (reader->failed)
		return CMN_ERR_CORRUPT;
	if (reader->left == 0)
		return CMN_MISS;
	part = cmn_reader_u8(reader);
	name_len = cmn_reader_u8(reader);
	field.name = cmn_reader_bytes(reader, name_len);
	field.value = cmn_reader_sized(reader);
	if (reader->failed || part >= CC_PART_COUNT || name_len == 0) {
		reader->failed = true;
		return CMN_ERR_CORRUPT;
	}
	field.part = (enum cc_part)part;
	*ret = field;
	return CMN_OK;
}

enum cmn_status cc_key_check(struct cmn_view encoded)
{
	struct cc_key_field field;
	struct cmn_reader reader;
	enum cmn_status status = cc_key_read(encoded, &reader);

	while (status == CMN_OK)
		status = cc_key_next(&reader, &field);
	return status == CMN_MISS ? CMN_OK : status;
}

struct cmn_view cc_key_find(struct cmn_view encoded, const char *name, unsigned int i)
{
	struct cc_key_field field;
	struct cmn_reader reader;

	if (cc_key_read(encoded, &reader) != CMN_OK)
		return (struct cmn_view){ 0 };
	while (cc_key_next(&reader, &field) == CMN_OK) {
		if (cmn_view_equal(field.name, cmn_view_of(name)) && i-- == 0)
			return field.value;
	}
	return (struct cmn_view){ 0 };
}
