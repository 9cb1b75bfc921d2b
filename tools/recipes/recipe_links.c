/* SPDX-License-Identifier: MIT */
/* recipe_links: from contents to identities, and back. */
#include "tools/recipes/recipe_links.h"

#include <stdlib.h>
#include <string.h>

#include "tools/memory.h"
#include "tools/recipes/pack.h"
#include "tools/recipes/recipe_key.h"

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
		recipe_key_add_field(ret, &field);
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
		recipe_key_add_fields(pack, &ret->recipes[ret->count], &key);
		status = cc_key_status(&key);
		/* Fields that no key has: they are refused when their turn comes. */
		if (status == CMN_OK)
			status = pack_identity(cc_key_view(&key),
						     &ret->identities[ret->count]);
		if (status == CMN_ERR_INVALID)
			status = CMN_OK;
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
		recipe_key_make(index->pack, recipe, device, contents, ret);
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
