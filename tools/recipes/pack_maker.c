/* SPDX-License-Identifier: MIT */
/*
 * pack_maker: makes packs. It keeps each recipe with its texts in their places,
 * and numbers the texts when it writes the file.
 */
#include "tools/recipes/pack.h"

#include <stdlib.h>
#include <string.h>

#include "tools/memory.h"

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

enum cmn_status pack_maker_add_recipe(struct pack_maker *maker, const struct pack_target *target,
				      struct cmn_view key, const struct pack_header *headers,
				      size_t count)
{
	struct cmn_buffer item = { 0 };
	uint32_t field_count;
	enum cmn_status status = append_fields(NULL, key, &field_count);

	if (status != CMN_OK)
		return status;
	if (count > PACK_MAX_HEADERS)
		return CMN_ERR_TOO_LARGE;
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
