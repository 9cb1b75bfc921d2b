/* SPDX-License-Identifier: MIT */
/* pack_format: the checksum, the order, which fields there are. */
#include "tools/recipes/pack_format.h"

#include "tools/memory.h"

#include <string.h>

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
