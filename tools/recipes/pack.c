/* SPDX-License-Identifier: MIT */
/*
 * pack: reads packs, which may be of any origin: what is not as a maker writes it is refused. Makes packs: a
 * maker keeps each recipe with its texts in their places, and numbers the texts when it writes the file.
 */
#include "tools/recipes/pack.h"

#include <stdlib.h>
#include <string.h>

#include "tools/memory.h"

struct cmn_hash pack_hash(struct cmn_view file)
{
	const uint8_t *data = file.data;

	return cmn_hash_fold(cmn_hash_of(data, PACK_HASH_AT),
			     cmn_hash_of(data + PACK_HEADER_SIZE, file.len - PACK_HEADER_SIZE));
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

struct list {
	struct cmn_buffer *items;
	size_t count;
};

struct pack_maker {
	struct list origins;	/* as in the file */
	struct list recipes;	/* as in the file, but for texts instead of their numbers */
};

/* The texts of all recipes, sorted, each once. */
struct texts {
	struct cmn_view *views;
	size_t count;
};

struct pack_maker *pack_maker_new(void)
{
	return memory_new(1, sizeof(struct pack_maker));
}

static void list_release(struct list *list)
{
	for (size_t i = 0; i < list->count; i++)
		cmn_buffer_release(&list->items[i]);
	free(list->items);
}

void pack_maker_free(struct pack_maker *maker)
{
	if (!maker)
		return;
	list_release(&maker->origins);
	list_release(&maker->recipes);
	free(maker);
}

/* Takes the item. */
static void list_add(struct list *list, const struct cmn_buffer *item)
{
	if (item->failed)
		memory_end();
	memory_grow(list->items, list->count);
	list->items[list->count++] = *item;
}

static int compare_items(const void *a, const void *b)
{
	return pack_compare(cmn_buffer_view(a), cmn_buffer_view(b));
}

/* Appends the items, sorted, each once, behind their number. */
static void append_sorted(struct cmn_buffer *file, struct list *list)
{
	size_t at = file->len;
	uint32_t count = 0;

	cmn_buffer_append_u32(file, 0);
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), compare_items);
	for (size_t i = 0; i < list->count; i++) {
		if (i && compare_items(&list->items[i - 1], &list->items[i]) == 0)
			continue;
		cmn_buffer_append(file, list->items[i].data, list->items[i].len);
		count++;
	}
	for (unsigned int i = 0; !file->failed && i < 4; i++)
		file->data[at + i] = (uint8_t)(count >> (8 * i));
}

enum cmn_status pack_maker_add_origin(struct pack_maker *maker, const struct pack_origin *origin)
{
	struct cmn_buffer item = { 0 };

	if (!origin->name.len)
		return CMN_ERR_INVALID;
	if (origin->name.len > PACK_MAX_NAME || origin->licence.len > PACK_MAX_LICENCE)
		return CMN_ERR_TOO_LARGE;
	cmn_buffer_append_sized(&item, origin->name.data, origin->name.len);
	cmn_buffer_append_sized(&item, origin->licence.data, origin->licence.len);
	list_add(&maker->origins, &item);
	return CMN_OK;
}

static void append_target(struct cmn_buffer *item, const struct pack_target *target,
			  uint32_t field_count)
{
	cmn_buffer_append_u64(item, target->vendor_id);
	cmn_buffer_append_u64(item, target->device_type);
	cmn_buffer_append_u32(item, field_count);
}

static void append_field(struct cmn_buffer *item, const struct cc_key_field *field)
{
	cmn_buffer_append_u8(item, (uint8_t)field->part);
	cmn_buffer_append_sized(item, field->name.data, field->name.len);
	cmn_buffer_append_sized(item, field->value.data, field->value.len);
}

static void append_header(struct cmn_buffer *item, const struct pack_header *header)
{
	cmn_buffer_append_sized(item, header->path.data, header->path.len);
	cmn_buffer_append_u64(item, header->size);
	cmn_buffer_append(item, header->hash.bytes, CMN_HASH_SIZE);
}

/* The fields that a pack has of a key: how many, and appends them. */
static enum cmn_status append_fields(struct cmn_buffer *item, struct cmn_view key,
				     uint32_t *ret_count)
{
	struct cc_key_field field;
	struct cmn_reader reader;
	uint32_t count = 0;
	enum cmn_status status = cc_key_read(key, &reader);

	while (status == CMN_OK && (status = cc_key_next(&reader, &field)) == CMN_OK) {
		if (!pack_has_field(field.part, field.name))
			continue;
		if (field.value.len > PACK_MAX_TEXT || ++count > PACK_MAX_FIELDS)
			return CMN_ERR_TOO_LARGE;
		if (item)
			append_field(item, &field);
	}
	*ret_count = count;
	return status == CMN_MISS ? CMN_OK : CMN_ERR_INVALID;
}

static int compare_headers(const void *a, const void *b)
{
	return pack_compare(((const struct pack_header *)a)->path, ((const struct pack_header *)b)->path);
}

enum cmn_status pack_maker_add_recipe(struct pack_maker *maker, const struct pack_target *target,
				      struct cmn_view key, struct pack_header *headers, size_t count)
{
	struct cmn_buffer item = { 0 };
	uint32_t field_count;
	enum cmn_status status = append_fields(NULL, key, &field_count);

	if (status != CMN_OK)
		return status;
	if (count > PACK_MAX_HEADERS)
		return CMN_ERR_TOO_LARGE;
	if (count)
		qsort(headers, count, sizeof(*headers), compare_headers);
	append_target(&item, target, field_count);
	status = append_fields(&item, key, &field_count);	/* the same once more */
	cmn_buffer_append_u32(&item, (uint32_t)count);
	for (size_t i = 0; i < count; i++)
		append_header(&item, &headers[i]);
	list_add(&maker->recipes, &item);
	return status;
}

static void add_recipe_of(struct pack_maker *maker, const struct pack *pack, const struct pack_recipe *recipe)
{
	struct cmn_buffer item = { 0 };

	append_target(&item, &recipe->target, recipe->field_count);
	for (uint32_t i = 0; i < recipe->field_count; i++) {
		struct cc_key_field field = pack_field(pack, recipe, i);

		append_field(&item, &field);
	}
	cmn_buffer_append_u32(&item, recipe->header_count);
	for (uint32_t i = 0; i < recipe->header_count; i++) {
		struct pack_header header = pack_header(pack, recipe, i);

		append_header(&item, &header);
	}
	list_add(&maker->recipes, &item);
}

enum cmn_status pack_maker_add_pack(struct pack_maker *maker, const struct pack *pack)
{
	struct cmn_reader origins = pack_origins(pack), recipes = pack_recipes(pack);
	enum cmn_status status = CMN_OK;
	struct pack_origin origin;
	struct pack_recipe recipe;

	while (status == CMN_OK && pack_next_origin(&origins, &origin))
		status = pack_maker_add_origin(maker, &origin);
	while (status == CMN_OK && pack_next_recipe(&recipes, &recipe))
		add_recipe_of(maker, pack, &recipe);
	return status;
}

static void add_text(struct texts *texts, struct cmn_view text)
{
	memory_grow(texts->views, texts->count);
	texts->views[texts->count++] = text;
}

/* The number of a text that is there. */
static uint32_t number_of(const struct texts *texts, struct cmn_view text)
{
	size_t low = 0, high = texts->count;

	while (low + 1 < high) {
		size_t middle = low + (high - low) / 2;

		if (pack_compare(texts->views[middle], text) <= 0)
			low = middle;
		else
			high = middle;
	}
	return (uint32_t)low;
}

/*
 * One recipe, read once to gather its texts, and once more to write it with their numbers (ret,
 * else NULL).
 */
struct walk {
	struct cmn_reader reader;
	struct texts *texts;
	struct cmn_buffer *ret;
};

static void pass_bytes(struct walk *walk, size_t len)
{
	struct cmn_view bytes = cmn_reader_bytes(&walk->reader, len);

	if (walk->ret)
		cmn_buffer_append(walk->ret, bytes.data, bytes.len);
}

static void pass_text(struct walk *walk)
{
	struct cmn_view text = cmn_reader_sized(&walk->reader);

	if (walk->ret)
		cmn_buffer_append_u32(walk->ret, number_of(walk->texts, text));
	else
		add_text(walk->texts, text);
}

static uint32_t pass_count(struct walk *walk)
{
	uint32_t count = cmn_reader_u32(&walk->reader);

	if (walk->ret)
		cmn_buffer_append_u32(walk->ret, count);
	return count;
}

static void walk_recipe(const struct cmn_buffer *item, struct texts *texts, struct cmn_buffer *ret)
{
	struct walk walk = { cmn_reader_of(cmn_buffer_view(item)), texts, ret };

	pass_bytes(&walk, 16);	/* the target */
	for (uint32_t count = pass_count(&walk); count; count--) {
		pass_bytes(&walk, 1);	/* the part */
		pass_text(&walk);
		pass_text(&walk);
	}
	for (uint32_t count = pass_count(&walk); count; count--) {
		pass_text(&walk);
		pass_bytes(&walk, 8 + CMN_HASH_SIZE);
	}
}

static int compare_views(const void *a, const void *b)
{
	return pack_compare(*(const struct cmn_view *)a, *(const struct cmn_view *)b);
}

static void gather_texts(const struct pack_maker *maker, struct texts *texts)
{
	size_t kept = 0;

	for (size_t i = 0; i < maker->recipes.count; i++)
		walk_recipe(&maker->recipes.items[i], texts, NULL);
	if (!texts->count)
		return;
	qsort(texts->views, texts->count, sizeof(*texts->views), compare_views);
	for (size_t i = 1; i < texts->count; i++) {
		if (!cmn_view_equal(texts->views[kept], texts->views[i]))
			texts->views[++kept] = texts->views[i];
	}
	texts->count = kept + 1;
}

/* The recipes with numbers. */
static void number_recipes(const struct pack_maker *maker, struct texts *texts, struct list *ret)
{
	for (size_t i = 0; i < maker->recipes.count; i++) {
		struct cmn_buffer item = { 0 };

		walk_recipe(&maker->recipes.items[i], texts, &item);
		list_add(ret, &item);
	}
}

static void append_texts(struct cmn_buffer *file, const struct texts *texts)
{
	cmn_buffer_append_u32(file, (uint32_t)texts->count);
	for (size_t i = 0; i < texts->count; i++)
		cmn_buffer_append_sized(file, texts->views[i].data, texts->views[i].len);
}

static void seal(struct cmn_buffer *file)
{
	struct cmn_hash hash;

	for (unsigned int i = 0; i < 8; i++)
		file->data[PACK_LEN_AT + i] = (uint8_t)((file->len - PACK_HEADER_SIZE) >> (8 * i));
	hash = pack_hash(cmn_buffer_view(file));
	memcpy(file->data + PACK_HASH_AT, hash.bytes, CMN_HASH_SIZE);
}

enum cmn_status pack_maker_encode(struct pack_maker *maker, struct cmn_buffer *ret)
{
	static const uint8_t zeros[PACK_HEADER_SIZE];
	struct cmn_buffer file = { 0 };
	struct list recipes = { 0 };
	struct texts texts = { 0 };
	struct pack pack = { 0 };
	enum cmn_status status;

	gather_texts(maker, &texts);
	number_recipes(maker, &texts, &recipes);
	cmn_buffer_append_text(&file, PACK_MAGIC);
	cmn_buffer_append_u32(&file, PACK_VERSION);
	cmn_buffer_append(&file, zeros, PACK_HEADER_SIZE - file.len);
	append_sorted(&file, &maker->origins);
	append_texts(&file, &texts);
	append_sorted(&file, &recipes);
	if (file.failed)
		memory_end();
	seal(&file);
	/* The bounds are the reader's. */
	status = pack_decode(cmn_buffer_view(&file), &pack);
	pack_release(&pack);
	if (status == CMN_OK) {
		*ret = file;
		file = (struct cmn_buffer){ 0 };
	}
	list_release(&recipes);
	free(texts.views);
	cmn_buffer_release(&file);
	return status;
}
