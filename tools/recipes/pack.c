/* SPDX-License-Identifier: MIT */
/* pack: reads packs, which may be of any origin: what is not as a maker writes it is refused. */
#include "tools/recipes/pack.h"

#include <stdlib.h>
#include <string.h>

#include "tools/memory.h"

struct cmn_hash pack_hash(struct cmn_view file)
{
	const uint8_t *data = file.data;
	struct cmn_hash fold[2] = {
		cmn_hash_of(data, PACK_HASH_AT),
		cmn_hash_of(data + PACK_HEADER_SIZE, file.len - PACK_HEADER_SIZE),
	};

	return cmn_hash_of(fold, sizeof(fold));
}

int pack_compare(struct cmn_view a, struct cmn_view b)
{
	size_t len = a.len < b.len ? a.len : b.len;
	int order = len ? memcmp(a.data, b.data, len) : 0;

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

bool pack_has_field(enum cc_part part, struct cmn_view name)
{
	return part > CC_PART_DEVICE && part < CC_PART_COUNT && name.len && name.len <= UINT8_MAX &&
	       !pack_is_environment(name);
}

bool pack_is_environment(struct cmn_view name)
{
	return name.len >= strlen("env.") && memcmp(name.data, "env.", strlen("env.")) == 0;
}

enum cmn_status pack_identity(struct cmn_view key, struct cmn_hash *ret)
{
	struct cmn_buffer fields = { 0 };
	struct cc_key_field field;
	struct cmn_reader reader;
	enum cmn_status status = cc_key_read(key, &reader);

	while (status == CMN_OK && (status = cc_key_next(&reader, &field)) == CMN_OK) {
		if (!pack_has_field(field.part, field.name))
			continue;
		cmn_buffer_append_u8(&fields, (uint8_t)field.part);
		cmn_buffer_append_sized(&fields, field.name.data, field.name.len);
		cmn_buffer_append_sized(&fields, field.value.data, field.value.len);
	}
	if (fields.failed)
		memory_end();
	status = status == CMN_MISS ? CMN_OK : CMN_ERR_INVALID;
	if (status == CMN_OK)
		*ret = cmn_hash_of(fields.data, fields.len);
	cmn_buffer_release(&fields);
	return status;
}

/* The header; what is behind it is the payload. */
static enum cmn_status read_header(struct cmn_view file, struct cmn_reader *ret)
{
	struct cmn_reader reader = cmn_reader_of(file);
	struct cmn_hash hash, own;
	uint8_t magic[8];
	uint32_t version;

	cmn_reader_copy(&reader, magic, sizeof(magic));
	version = cmn_reader_u32(&reader);
	if (reader.failed || memcmp(magic, PACK_MAGIC, sizeof(magic)) != 0)
		return CMN_ERR_CORRUPT;
	if (version != PACK_VERSION)
		return CMN_ERR_VERSION;
	if (cmn_reader_u32(&reader) != 0 || cmn_reader_u64(&reader) != file.len - PACK_HEADER_SIZE)
		return CMN_ERR_CORRUPT;
	cmn_reader_copy(&reader, hash.bytes, CMN_HASH_SIZE);
	if (reader.failed)
		return CMN_ERR_CORRUPT;
	own = pack_hash(file);
	if (!cmn_hash_equal(&own, &hash))
		return CMN_ERR_CORRUPT;
	*ret = reader;
	return CMN_OK;
}

/* What was read since start comes after the one before; previous becomes it. */
static bool is_in_order(const uint8_t *start, const struct cmn_reader *reader,
			struct cmn_view *previous)
{
	struct cmn_view now = { start, (size_t)(reader->data - start) };
	bool ordered = !previous->data || pack_compare(*previous, now) < 0;

	*previous = now;
	return ordered;
}

bool pack_next_origin(struct cmn_reader *reader, struct pack_origin *ret)
{
	struct pack_origin origin;

	origin.name = cmn_reader_sized(reader);
	origin.licence = cmn_reader_sized(reader);
	if (reader->failed)
		return false;
	*ret = origin;
	return true;
}

static enum cmn_status read_origins(struct cmn_reader *reader, struct pack *pack)
{
	struct cmn_view previous = { 0 };
	struct pack_origin origin;
	const uint8_t *begin;

	pack->origin_count = cmn_reader_u32(reader);
	if (pack->origin_count > PACK_MAX_ORIGINS)
		return CMN_ERR_TOO_LARGE;
	begin = reader->data;
	for (uint32_t i = 0; i < pack->origin_count; i++) {
		const uint8_t *start = reader->data;

		if (!pack_next_origin(reader, &origin) || !origin.name.len ||
		    !is_in_order(start, reader, &previous))
			return CMN_ERR_CORRUPT;
		if (origin.name.len > PACK_MAX_NAME || origin.licence.len > PACK_MAX_LICENCE)
			return CMN_ERR_TOO_LARGE;
	}
	pack->origins = (struct cmn_view){ begin, (size_t)(reader->data - begin) };
	return CMN_OK;
}

static enum cmn_status read_texts(struct cmn_reader *reader, struct pack *pack)
{
	uint32_t count = cmn_reader_u32(reader);

	if (count > PACK_MAX_TEXTS)
		return CMN_ERR_TOO_LARGE;
	/* Each has eight bytes at least: what is there bounds what is allocated. */
	if (count > reader->left / 8)
		return CMN_ERR_CORRUPT;
	pack->texts = memory_new(count, sizeof(*pack->texts));
	for (; pack->text_count < count; pack->text_count++) {
		struct cmn_view text = cmn_reader_sized(reader);

		if (reader->failed)
			return CMN_ERR_CORRUPT;
		if (text.len > PACK_MAX_TEXT)
			return CMN_ERR_TOO_LARGE;
		if (pack->text_count &&
		    pack_compare(pack->texts[pack->text_count - 1], text) >= 0)
			return CMN_ERR_CORRUPT;
		pack->texts[pack->text_count] = text;
	}
	return CMN_OK;
}

bool pack_next_recipe(struct cmn_reader *reader, struct pack_recipe *ret)
{
	struct pack_recipe recipe;

	if (!reader->left)
		return false;
	recipe.target.vendor_id = cmn_reader_u64(reader);
	recipe.target.device_type = cmn_reader_u64(reader);
	recipe.field_count = cmn_reader_u32(reader);
	recipe.fields = cmn_reader_bytes(reader, (uint64_t)recipe.field_count * PACK_FIELD_SIZE);
	recipe.header_count = cmn_reader_u32(reader);
	recipe.headers = cmn_reader_bytes(reader, (uint64_t)recipe.header_count * PACK_LINE_SIZE);
	if (reader->failed)
		return false;
	*ret = recipe;
	return true;
}

struct cc_key_field pack_field(const struct pack *pack, const struct pack_recipe *recipe, size_t i)
{
	struct cmn_reader reader = cmn_reader_of(recipe->fields);
	struct cc_key_field field;

	(void)cmn_reader_bytes(&reader, i * PACK_FIELD_SIZE);
	field.part = (enum cc_part)cmn_reader_u8(&reader);
	field.name = pack->texts[cmn_reader_u32(&reader)];
	field.value = pack->texts[cmn_reader_u32(&reader)];
	return field;
}

struct pack_header pack_header(const struct pack *pack, const struct pack_recipe *recipe, size_t i)
{
	struct cmn_reader reader = cmn_reader_of(recipe->headers);
	struct pack_header header = { .size = 0 };

	(void)cmn_reader_bytes(&reader, i * PACK_LINE_SIZE);
	header.path = pack->texts[cmn_reader_u32(&reader)];
	header.size = cmn_reader_u64(&reader);
	cmn_reader_copy(&reader, header.hash.bytes, CMN_HASH_SIZE);
	return header;
}

/* Marks the texts that it has. */
static enum cmn_status check_recipe(const struct pack *pack, const struct pack_recipe *recipe,
				    uint8_t *used, uint64_t *unpacked)
{
	struct cmn_reader fields = cmn_reader_of(recipe->fields);
	struct cmn_reader headers = cmn_reader_of(recipe->headers);

	if (recipe->field_count > PACK_MAX_FIELDS || recipe->header_count > PACK_MAX_HEADERS)
		return CMN_ERR_TOO_LARGE;
	for (uint32_t i = 0; i < recipe->field_count; i++) {
		enum cc_part part = (enum cc_part)cmn_reader_u8(&fields);
		uint32_t name = cmn_reader_u32(&fields), value = cmn_reader_u32(&fields);

		if (name >= pack->text_count || value >= pack->text_count ||
		    !pack_has_field(part, pack->texts[name]))
			return CMN_ERR_CORRUPT;
		used[name] = used[value] = 1;
		*unpacked += pack->texts[name].len + pack->texts[value].len;
	}
	for (uint32_t i = 0; i < recipe->header_count; i++) {
		uint32_t path = cmn_reader_u32(&headers);

		(void)cmn_reader_bytes(&headers, PACK_LINE_SIZE - 4);
		if (path >= pack->text_count)
			return CMN_ERR_CORRUPT;
		used[path] = 1;
		*unpacked += pack->texts[path].len;
	}
	return *unpacked > PACK_MAX_UNPACKED ? CMN_ERR_TOO_LARGE : CMN_OK;
}

/* To the end of the file; each text is some recipe's. */
static enum cmn_status check_recipes(const struct pack *pack, uint8_t *used)
{
	struct cmn_reader reader = pack_recipes(pack);
	struct cmn_view previous = { 0 };
	const uint8_t *start = reader.data;
	enum cmn_status status = CMN_OK;
	struct pack_recipe recipe;
	uint64_t unpacked = 0;
	uint32_t count = 0;

	while (status == CMN_OK && pack_next_recipe(&reader, &recipe)) {
		if (!is_in_order(start, &reader, &previous))
			return CMN_ERR_CORRUPT;
		status = check_recipe(pack, &recipe, used, &unpacked);
		start = reader.data;
		count++;
	}
	if (status != CMN_OK)
		return status;
	if (reader.failed || reader.left || count != pack->recipe_count)
		return CMN_ERR_CORRUPT;
	return pack->text_count && memchr(used, 0, pack->text_count) ? CMN_ERR_CORRUPT : CMN_OK;
}

static enum cmn_status read_recipes(struct cmn_reader *reader, struct pack *pack)
{
	enum cmn_status status;
	uint8_t *used;

	pack->recipe_count = cmn_reader_u32(reader);
	if (reader->failed)
		return CMN_ERR_CORRUPT;
	if (pack->recipe_count > PACK_MAX_RECIPES)
		return CMN_ERR_TOO_LARGE;
	pack->recipes = (struct cmn_view){ reader->data, reader->left };
	used = memory_new(pack->text_count, 1);
	status = check_recipes(pack, used);
	free(used);
	return status;
}

enum cmn_status pack_decode(struct cmn_view file, struct pack *ret)
{
	struct pack pack = { 0 };
	struct cmn_reader reader;
	enum cmn_status status;

	if (file.len > PACK_MAX_FILE)
		return CMN_ERR_TOO_LARGE;
	if (file.len < PACK_HEADER_SIZE)
		return CMN_ERR_CORRUPT;
	status = read_header(file, &reader);
	if (status == CMN_OK)
		status = read_origins(&reader, &pack);
	if (status == CMN_OK)
		status = read_texts(&reader, &pack);
	if (status == CMN_OK)
		status = read_recipes(&reader, &pack);
	if (status == CMN_OK)
		*ret = pack;
	else
		pack_release(&pack);
	return status;
}

void pack_release(struct pack *pack)
{
	free(pack->texts);
	*pack = (struct pack){ 0 };
}

struct cmn_reader pack_origins(const struct pack *pack)
{
	return cmn_reader_of(pack->origins);
}

struct cmn_reader pack_recipes(const struct pack *pack)
{
	return cmn_reader_of(pack->recipes);
}
