/* SPDX-License-Identifier: MIT */
/* recipe: writes and verifies recipes. */
#include "cachecore/disk/writer/recipe.h"

#include <stdio.h>
#include <string.h>

#include "cachecore/config.h"
#include "cachecore/key.h"
#include "cachecore/manifest.h"

static const uint8_t magic[8] = { 'c', 'k', 'c', 'r', 'c', 'p', '\r', '\n' };

#define PROGRAM_VARIABLE CC_CONFIG_BUILT_FOR "="
#define CACHED_AS_VARIABLE CC_CONFIG_CACHED_AS "="
#define STRANGER "CKCACHE_STRANGER=1"
#define HASH_AT (CC_RECIPE_HEADER_SIZE - CMN_HASH_SIZE)

static struct cmn_hash hash_file(const uint8_t *file, size_t len)
{
	return cmn_hash_fold(cmn_hash_of(file, HASH_AT),
			     cmn_hash_of(file + CC_RECIPE_HEADER_SIZE, len - CC_RECIPE_HEADER_SIZE));
}

static struct cmn_hash identity_of(const struct cc_recipe *recipe)
{
	return cmn_hash_fold(cmn_hash_of(recipe->key.data, recipe->key.len),
			     cmn_hash_of(recipe->manifest.data, recipe->manifest.len));
}

enum cmn_status cc_recipe_encode(const struct cc_recipe *recipe, struct cmn_buffer *ret)
{
	static const struct cmn_hash no_hash;
	const struct cmn_view *const texts[] = {
		&recipe->key,	 &recipe->manifest,    &recipe->directory,
		&recipe->places, &recipe->environment,
	};
	const size_t count = sizeof(texts) / sizeof(texts[0]);
	struct cmn_hash identity, hash;
	struct cmn_buffer file = { 0 };
	uint64_t len = 0;

	if (recipe->key.len == 0)
		return CMN_ERR_INVALID;
	for (size_t i = 0; i < count; i++) {
		if (texts[i]->len > CC_RECIPE_MAX_FILE)
			return CMN_ERR_TOO_LARGE;
		len += 8 + texts[i]->len;
	}
	if (len + CC_RECIPE_HEADER_SIZE > CC_RECIPE_MAX_FILE)
		return CMN_ERR_TOO_LARGE;
	identity = identity_of(recipe);
	(void)cmn_buffer_reserve(&file, CC_RECIPE_HEADER_SIZE + (size_t)len);
	cmn_buffer_append(&file, magic, sizeof(magic));
	cmn_buffer_append_u32(&file, CC_RECIPE_VERSION);
	cmn_buffer_append_u32(&file, 0);
	cmn_buffer_append_u64(&file, len);
	cmn_buffer_append(&file, identity.bytes, CMN_HASH_SIZE);
	cmn_buffer_append(&file, no_hash.bytes, CMN_HASH_SIZE);
	for (size_t i = 0; i < count; i++)
		cmn_buffer_append_sized(&file, texts[i]->data, texts[i]->len);
	if (file.failed) {
		cmn_buffer_release(&file);
		return CMN_ERR_NOMEM;
	}
	hash = hash_file(file.data, file.len);
	memcpy(file.data + HASH_AT, hash.bytes, CMN_HASH_SIZE);
	*ret = file;
	return CMN_OK;
}

/* The header up to the hash; CMN_ERR_CORRUPT, CMN_ERR_VERSION. */
static enum cmn_status read_header(struct cmn_reader *reader, uint64_t *ret_len,
				   struct cmn_hash *ret_identity)
{
	uint8_t mark[sizeof(magic)];
	uint32_t version;

	cmn_reader_copy(reader, mark, sizeof(mark));
	version = cmn_reader_u32(reader);
	if (reader->failed || memcmp(mark, magic, sizeof(magic)) != 0)
		return CMN_ERR_CORRUPT;
	if (version != CC_RECIPE_VERSION)
		return CMN_ERR_VERSION;
	(void)cmn_reader_u32(reader);	/* zero; the hash covers it */
	*ret_len = cmn_reader_u64(reader);
	*ret_identity = cmn_reader_hash(reader);
	return reader->failed ? CMN_ERR_CORRUPT : CMN_OK;
}

bool cc_recipe_identity(struct cmn_view file, struct cmn_hash *ret)
{
	struct cmn_reader reader = cmn_reader_of(file);
	uint64_t len;

	return read_header(&reader, &len, ret) == CMN_OK;
}

enum cmn_status cc_recipe_decode(struct cmn_view file, struct cc_recipe *ret)
{
	struct cmn_reader reader = cmn_reader_of(file);
	struct cmn_hash identity, hash, own;
	struct cc_recipe recipe;
	enum cmn_status status;
	uint64_t len;

	if (file.len > CC_RECIPE_MAX_FILE)
		return CMN_ERR_CORRUPT;
	status = read_header(&reader, &len, &identity);
	if (status != CMN_OK)
		return status;
	hash = cmn_reader_hash(&reader);
	if (reader.failed || reader.left != len)
		return CMN_ERR_CORRUPT;
	own = hash_file(file.data, file.len);
	if (!cmn_hash_equal(&own, &hash))
		return CMN_ERR_CORRUPT;
	recipe.key = cmn_reader_sized(&reader);
	recipe.manifest = cmn_reader_sized(&reader);
	recipe.directory = cmn_reader_sized(&reader);
	recipe.places = cmn_reader_sized(&reader);
	recipe.environment = cmn_reader_sized(&reader);
	if (reader.failed || reader.left != 0 || cc_key_check(recipe.key) != CMN_OK)
		return CMN_ERR_CORRUPT;
	own = identity_of(&recipe);
	if (!cmn_hash_equal(&own, &identity))
		return CMN_ERR_CORRUPT;
	*ret = recipe;
	return CMN_OK;
}

bool cc_recipe_carries(const char *variable)
{
	static const char *const starts[] = {
		"OCL_ICD_",		"OPENCL_VENDOR_PATH=",	"LD_LIBRARY_PATH=",
		"ZE_ENABLE_ALT_DRIVERS=", "ZEL_LIBRARY_PATH=",
		"LIBGL_DRIVERS_PATH=",	"VK_DRIVER_FILES=",	"VK_ICD_FILENAMES=",
		/* What machine pocl sees, and which devices drivers show. */
		"HWLOC_",		"CUDA_VISIBLE_DEVICES=", "CUDA_DEVICE_ORDER=",
		"GPU_DEVICE_ORDINAL=",	"HIP_VISIBLE_DEVICES=",	"ROCR_VISIBLE_DEVICES=",
		"ONEAPI_DEVICE_SELECTOR=", "ZE_AFFINITY_MASK=",	"ZE_FLAT_DEVICE_HIERARCHY=",
		"POCL_CACHE_DIR=",	"POCL_KERNEL_CACHE=",	"MESA_SHADER_CACHE",
		"MESA_DISK_CACHE",	"MESA_GLSL_CACHE",	"NEO_CACHE_",
		"CUDA_CACHE_",
	};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		if (strncmp(variable, starts[i], strlen(starts[i])) == 0)
			return strchr(variable, '=') != NULL;
	}
	return false;
}

void cc_recipe_name(struct cmn_view key, char ret[CC_RECIPE_NAME_SIZE])
{
	struct cmn_hash hash = cmn_hash_of(key.data, key.len);
	char hex[CMN_HASH_HEX_SIZE];

	cmn_hash_hex(&hash, hex);
	(void)snprintf(ret, CC_RECIPE_NAME_SIZE, "%s.recipe", hex);	/* it fits */
}

bool cc_recipe_place(const struct cc_recipe *recipe, size_t i, uint32_t *ret)
{
	struct cmn_reader reader = cmn_reader_of(recipe->places);

	if (i >= recipe->places.len / 4)
		return false;
	(void)cmn_reader_bytes(&reader, 4 * i);
	*ret = cmn_reader_u32(&reader);
	return true;
}

/* The one at *at, which moves on; NULL: no more. */
static const char *next_variable(const struct cc_recipe *recipe, size_t *at)
{
	const char *text = recipe->environment.data;
	const char *variable, *end;

	if (*at >= recipe->environment.len)
		return NULL;
	variable = text + *at;
	end = memchr(variable, '\0', recipe->environment.len - *at);
	if (!end)
		return NULL;
	*at = (size_t)(end - text) + 1;
	return variable;
}

const char *cc_recipe_variable(const struct cc_recipe *recipe, size_t *at)
{
	const char *variable;

	do
		variable = next_variable(recipe, at);
	while (variable && !cc_recipe_carries(variable));
	return variable;
}

void cc_recipe_add_program(struct cmn_buffer *environment, const char *program)
{
	cmn_buffer_append_text(environment, PROGRAM_VARIABLE);
	cmn_buffer_append(environment, program, strlen(program) + 1);
}

/* What follows these letters in the environment; NULL: nothing begins with them. */
static const char *find_variable(const struct cc_recipe *recipe, const char *begin)
{
	const char *variable;
	size_t at = 0;

	while ((variable = next_variable(recipe, &at))) {
		if (strncmp(variable, begin, strlen(begin)) == 0)
			return variable + strlen(begin);
	}
	return NULL;
}

struct cmn_view cc_recipe_program(const struct cc_recipe *recipe)
{
	return cmn_view_of(find_variable(recipe, PROGRAM_VARIABLE));
}

void cc_recipe_add_cached_as(struct cmn_buffer *environment, const char *name)
{
	cmn_buffer_append_text(environment, CACHED_AS_VARIABLE);
	cmn_buffer_append(environment, name, strlen(name) + 1);
}

const char *cc_recipe_cached_as(const struct cc_recipe *recipe)
{
	return find_variable(recipe, CACHED_AS_VARIABLE);
}

void cc_recipe_add_stranger(struct cmn_buffer *environment)
{
	cmn_buffer_append(environment, STRANGER, sizeof(STRANGER));
}

bool cc_recipe_is_strangers(const struct cc_recipe *recipe)
{
	return find_variable(recipe, STRANGER);
}
