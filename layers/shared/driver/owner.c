/* SPDX-License-Identifier: MIT */
/* owner: the search for notes. */
#include "layers/shared/driver/owner.h"

#include <string.h>

struct search {
	uint32_t type;
	size_t left;		/* to be passed over */
	uint64_t version;
	void *shared;		/* NULL: not found */
};

static int look_at(struct dl_phdr_info *info, size_t size, void *ctx)
{
	const struct drv_loaded object = {
		.base = info->dlpi_addr, .headers = info->dlpi_phdr, .header_count = info->dlpi_phnum,
	};
	struct search *search = ctx;
	struct cmn_view note = drv_loaded_note(&object, DRV_OWNER_NAME, search->type);
	uint64_t value[2];

	(void)size;
	if (note.len != sizeof(value) || search->left--)
		return 0;
	memcpy(value, note.data, sizeof(value));
	search->version = value[0];
	search->shared = (void *)((uintptr_t)note.data + sizeof(value[0]) + (uintptr_t)value[1]);
	return 1;
}

void *drv_owner_copy(uint32_t type, size_t n, uint64_t *ret_version)
{
	struct search search = { .type = type, .left = n };

	(void)drv_loaded_iterate(look_at, &search);	/* gives what look_at gave */
	*ret_version = search.version;
	return search.shared;
}

void *drv_owner_of(uint32_t type, uint64_t version)
{
	uint64_t found;
	void *copy;

	for (size_t i = 0; (copy = drv_owner_copy(type, i, &found)) && found != version; i++)
		continue;
	return copy;
}
