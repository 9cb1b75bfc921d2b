/* SPDX-License-Identifier: MIT */
/*
 * recipe_key: a key's device part comes first, then what was asked for, then the environment; of links, from
 * their inputs' contents to identities, and back.
 */
#include "tools/recipes/recipes.h"

#include <stdlib.h>
#include <string.h>

#include "cachecore/key_device.h"
#include "tools/memory.h"
#include "tools/recipes/pack.h"

#define TYPE_DEFAULT UINT64_C(1)	/* CL_DEVICE_TYPE_DEFAULT: machines differ in it */

static const char *const kinds[] = { "source",     "il",     "compile", "compile-il",
				     "module", "program", "link" };
static const char *const of_il[] = { "il", "compile-il", "module", "program" };
/* Of Level Zero; the others are OpenCL's. */
static const char *const level_zero[] = { "module", "program" };

static bool is_one_of(struct cmn_view kind, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (cmn_view_equal(kind, cmn_view_of(list[i])))
			return true;
	}
	return false;
}

static bool is_level_zero(struct cmn_view kind)
{
	return is_one_of(kind, level_zero, sizeof(level_zero) / sizeof(level_zero[0]));
}

/* Intermediate language: drivers also take LLVM's bitcode for it, which no specification bounds. */
static bool is_spirv(struct cmn_view text)
{
	static const uint8_t magic[2][4] = { { 3, 2, 0x23, 7 }, { 7, 0x23, 2, 3 } };

	return text.len >= sizeof(magic[0]) &&
	       (memcmp(text.data, magic[0], sizeof(magic[0])) == 0 ||
		memcmp(text.data, magic[1], sizeof(magic[1])) == 0);
}

static const char *refuse_field(const struct cc_key_field *field, bool il)
{
	if (cmn_view_equal(field->name, cmn_view_of("options")) ||
	    cmn_view_equal(field->name, cmn_view_of("input.options")))
		return portable_options(field->value);
	if (cmn_view_equal(field->name, cmn_view_of("header.name")) && !portable_header(field->value))
		return "a header's name is no plain relative one";
	if (il && cmn_view_equal(field->name, cmn_view_of("source")) && !is_spirv(field->value))
		return "their intermediate language is not SPIR-V";
	return NULL;
}

const char *recipe_key_refuse(struct cmn_view key)
{
	const struct cmn_view kind = cc_key_find(key, "kind", 0);
	const bool il = is_one_of(kind, of_il, sizeof(of_il) / sizeof(of_il[0]));
	const char *reason = NULL;
	struct cc_key_field field;
	struct cmn_reader reader;

	if (!is_one_of(kind, kinds, sizeof(kinds) / sizeof(kinds[0])) ||
	    cc_key_find(key, "kind", 1).data)
		return "they are of an unknown kind";
	if (!cc_key_find(key, "source", 0).data && !cc_key_find(key, "input", 0).data)
		return "their key has neither source nor input";
	if (cc_key_read(key, &reader) != CMN_OK)
		return "their key cannot be read";
	while (!reason && cc_key_next(&reader, &field) == CMN_OK)
		reason = refuse_field(&field, il);
	return reason;
}

/* Those of a recipe: a key without a device. */
static void add_fields(const struct pack *pack, const struct pack_recipe *recipe, struct cc_key *ret)
{
	for (uint32_t i = 0; i < recipe->field_count; i++) {
		struct cc_key_field field = pack_field(pack, recipe, i);

		cc_key_add_field(ret, &field);
	}
}

const char *recipe_key_refuse_recipe(const struct pack *pack, const struct pack_recipe *recipe)
{
	const char *reason;
	struct cc_key key;

	cc_key_init(&key);
	add_fields(pack, recipe, &key);
	reason = recipe_key_refuse(cc_key_view(&key));
	cc_key_release(&key);
	return reason;
}

size_t recipe_key_devices(struct cmn_view key)
{
	struct cmn_reader reader;
	struct cmn_view device;
	size_t count = 0;

	if (cc_key_read(key, &reader) != CMN_OK || cc_key_find(key, "device.partition", 0).data)
		return 0;
	while (cc_key_device_next(&reader, &device))
		count++;
	return count;
}

static uint64_t number_of(struct cmn_view device, const char *name)
{
	uint64_t number;

	return cc_key_is_number(cc_key_device_find(device, name, 0), &number) ? number : 0;
}

static struct pack_target target_of(struct cmn_view device)
{
	uint64_t type = number_of(device, "device.type");

	return (struct pack_target){
		.vendor_id = number_of(device, "device.vendor_id"),
		.device_type = type == TYPE_DEFAULT ? type : type & ~TYPE_DEFAULT,
	};
}

void recipe_key_target(struct cmn_view key, struct pack_target *ret)
{
	struct cmn_view device = { 0 };
	struct cmn_reader reader;

	if (cc_key_read(key, &reader) == CMN_OK)
		(void)cc_key_device_next(&reader, &device);	/* none: a target of any */
	*ret = target_of(device);
}

/* The API for which the recipe is. */
static bool is_level_zeros(const struct pack *pack, const struct pack_recipe *recipe)
{
	for (uint32_t i = 0; i < recipe->field_count; i++) {
		struct cc_key_field field = pack_field(pack, recipe, i);

		if (cmn_view_equal(field.name, cmn_view_of("kind")))
			return is_level_zero(field.value);
	}
	return false;
}

bool recipe_key_is_for(const struct pack *pack, const struct pack_recipe *recipe,
		       const struct present_device *device)
{
	const struct pack_target *target = &recipe->target;
	struct pack_target own = target_of(device->fields);

	if (!cc_key_device_find(device->fields, "api", 0).data == is_level_zeros(pack, recipe))
		return false;
	return (!target->vendor_id || target->vendor_id == own.vendor_id) &&
	       (!target->device_type || target->device_type == own.device_type);
}

/*
 * Appends to *ret, an empty key, what a program here has that asks a device of
 * this machine for the recipe: with the variables of this environment.
 * inputs: of a link, by their contents, else NULL. Failures show in cc_key_status.
 */
static void make_key(const struct pack *pack, const struct pack_recipe *recipe,
		     const struct present_device *device, const struct cmn_hash *inputs,
		     struct cc_key *ret)
{
	struct cmn_reader reader = cmn_reader_of(device->behind);
	struct cc_key_field field;

	cmn_buffer_append(&ret->encoded, device->fields.data, device->fields.len);
	for (uint32_t i = 0; i < recipe->field_count; i++) {
		field = pack_field(pack, recipe, i);
		if (inputs && cmn_view_equal(field.name, cmn_view_of("input")))
			field.value = (struct cmn_view){ (inputs++)->bytes, CMN_HASH_SIZE };
		cc_key_add_field(ret, &field);
	}
	while (cc_key_next(&reader, &field) == CMN_OK) {
		if (pack_is_environment(field.name))
			cc_key_add_field(ret, &field);
	}
}

enum {
	MAX_INPUTS = 1024,	/* of a link: as many as a recipe's fields */
	MAX_WORK = 1 << 20,	/* some seconds; 4096 recipes for a few devices take a tenth of it */
};

static bool is_input(const struct cc_key_field *field)
{
	return cmn_view_equal(field->name, cmn_view_of("input"));
}

static enum cmn_status record(const struct objects *objects, struct cmn_view key,
			      unsigned int depth, struct cc_key *ret);

/* How the object is made. CMN_MISS: it is a library of which nobody knows it. */
static enum cmn_status identify(const struct objects *objects, const struct object *object,
				unsigned int depth, struct cmn_hash *ret)
{
	enum cmn_status status = CMN_OK;
	struct cc_key key;

	if (!objects_is_link(object->key))
		return pack_identity(object->key, ret);
	cc_key_init(&key);
	status = record(objects, object->key, depth, &key);
	if (status == CMN_OK)
		status = pack_identity(cc_key_view(&key), ret);
	cc_key_release(&key);
	return status;
}

/* Several may have one content: the smallest identity, whatever order they are found in. */
static enum cmn_status identify_content(const struct objects *objects, struct cmn_view content,
					const struct cmn_hash *devices, unsigned int depth,
					struct cmn_hash *ret)
{
	struct cmn_hash hash, found, best = { { 0 } };
	const struct object *object;
	bool any = false;

	if (content.len != sizeof(hash.bytes))
		return CMN_MISS;
	memcpy(hash.bytes, content.data, sizeof(hash.bytes));
	for (size_t i = 0; (object = objects_find(objects, &hash, devices, i)); i++) {
		enum cmn_status status = identify(objects, object, depth, &found);

		if (status != CMN_OK && status != CMN_MISS)
			return status;
		if (status == CMN_OK &&
		    (!any || memcmp(found.bytes, best.bytes, sizeof(best.bytes)) < 0)) {
			best = found;
			any = true;
		}
	}
	if (any)
		*ret = best;
	return any ? CMN_OK : CMN_MISS;
}

static enum cmn_status record(const struct objects *objects, struct cmn_view key,
			      unsigned int depth, struct cc_key *ret)
{
	const struct cmn_hash devices = objects_devices(key);
	struct cc_key_field field;
	struct cmn_reader reader;
	enum cmn_status status = cc_key_read(key, &reader);

	if (!depth)
		return CMN_MISS;
	while (status == CMN_OK && (status = cc_key_next(&reader, &field)) == CMN_OK) {
		struct cmn_hash identity;

		if (is_input(&field)) {
			status = identify_content(objects, field.value, &devices, depth - 1,
						  &identity);
			if (status != CMN_OK)
				return status;
			field.value = (struct cmn_view){ identity.bytes, sizeof(identity.bytes) };
		}
		cc_key_add_field(ret, &field);
	}
	return status == CMN_MISS ? cc_key_status(ret) : status;
}

enum cmn_status recipe_links_record(const struct objects *objects, struct cmn_view key,
				    struct cc_key *ret)
{
	return record(objects, key, RECIPE_LINKS_DEPTH, ret);
}

enum cmn_status recipe_index_read(const struct pack *pack, struct recipe_index *ret)
{
	struct cmn_reader reader = pack_recipes(pack);
	enum cmn_status status = CMN_OK;

	*ret = (struct recipe_index){ .pack = pack, .work = MAX_WORK };
	ret->recipes = memory_new(pack->recipe_count, sizeof(*ret->recipes));
	ret->identities = memory_new(pack->recipe_count, sizeof(*ret->identities));
	while (status == CMN_OK && ret->count < pack->recipe_count &&
	       pack_next_recipe(&reader, &ret->recipes[ret->count])) {
		struct cc_key key;

		cc_key_init(&key);
		add_fields(pack, &ret->recipes[ret->count], &key);
		status = cc_key_status(&key);
		if (status == CMN_OK)
			status = pack_identity(cc_key_view(&key), &ret->identities[ret->count]);
		cc_key_release(&key);
		ret->count++;
		ret->links += recipe_index_is_link(ret, ret->count - 1);
	}
	return status;
}

void recipe_index_release(struct recipe_index *index)
{
	free(index->recipes);
	free(index->identities);
}

bool recipe_index_is_link(const struct recipe_index *index, size_t i)
{
	for (uint32_t j = 0; j < index->recipes[i].field_count; j++) {
		struct cc_key_field field = pack_field(index->pack, &index->recipes[i], j);

		if (cmn_view_equal(field.name, cmn_view_of("kind")))
			return cmn_view_equal(field.value, cmn_view_of("link"));
	}
	return false;
}

static enum cmn_status make(struct recipe_index *index, size_t i,
			    const struct objects *objects, const struct present_device *device,
			    unsigned int depth, struct cc_key *ret);

/* The content of what a recipe with that identity made for the device. */
static enum cmn_status find_content(struct recipe_index *index, struct cmn_view identity,
				    const struct objects *objects,
				    const struct present_device *device, unsigned int depth,
				    struct cmn_hash *ret)
{
	for (size_t i = 0; i < index->count; i++) {
		const struct cmn_hash *own = &index->identities[i];
		const struct object *object = NULL;
		enum cmn_status status;
		struct cc_key key;

		if (!cmn_view_equal((struct cmn_view){ own->bytes, sizeof(own->bytes) }, identity))
			continue;
		cc_key_init(&key);
		status = make(index, i, objects, device, depth, &key);
		if (status == CMN_OK)
			object = objects_find_key(objects, cc_key_view(&key), 0);
		if (object)
			*ret = object->content;
		cc_key_release(&key);
		if (object || (status != CMN_OK && status != CMN_MISS))
			return status;
	}
	return CMN_MISS;
}

static enum cmn_status make(struct recipe_index *index, size_t i,
			    const struct objects *objects, const struct present_device *device,
			    unsigned int depth, struct cc_key *ret)
{
	const struct pack_recipe *recipe = &index->recipes[i];
	struct cmn_hash *contents;
	enum cmn_status status = CMN_OK;
	bool link = recipe_index_is_link(index, i);
	size_t count = 0;

	if (!depth || !index->work)
		return CMN_MISS;
	index->work--;
	contents = link ? memory_new(MAX_INPUTS, sizeof(*contents)) : NULL;
	for (uint32_t j = 0; link && status == CMN_OK && j < recipe->field_count; j++) {
		struct cc_key_field field = pack_field(index->pack, recipe, j);

		if (is_input(&field))
			status = count == MAX_INPUTS ? CMN_MISS :
				 find_content(index, field.value, objects, device, depth - 1,
					      &contents[count++]);
	}
	if (status == CMN_OK) {
		make_key(index->pack, recipe, device, contents, ret);
		status = cc_key_status(ret);
	}
	free(contents);
	return status;
}

enum cmn_status recipe_links_make(struct recipe_index *index, size_t i,
				  const struct objects *objects,
				  const struct present_device *device, struct cc_key *ret)
{
	return make(index, i, objects, device, RECIPE_LINKS_DEPTH, ret);
}
