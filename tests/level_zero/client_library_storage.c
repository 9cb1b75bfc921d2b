/* SPDX-License-Identifier: MIT */
/* client_library_storage: see client_library.h. */
#include <stdatomic.h>

#include "tests/level_zero/client_library.h"

static struct {
	const char *directory;
	atomic_uint loads, stores, evictions;
} storage;

static void path_of(size_t id_size, const uint8_t *id, char path[1024])
{
	int len = snprintf(path, 1024, "%s/", storage.directory);

	for (size_t i = 0; i < id_size; i++)
		len += snprintf(path + len, 1024 - (size_t)len, "%02x", id[i]);
}

static enum ckcache_status load(void *ctx, size_t id_size, const uint8_t *id, size_t *size,
				uint8_t *blob)
{
	char path[1024];
	struct stat info;
	FILE *file;
	size_t room = *size;

	if (ctx != &storage)
		client_give_up("ctx", 0);
	path_of(id_size, id, path);
	if (stat(path, &info) != 0)
		return CKCACHE_MISS;
	*size = (size_t)info.st_size;
	if (!blob)
		return CKCACHE_OK;
	storage.loads++;
	if (room < *size)
		return CKCACHE_ERROR_BUFFER_TOO_SMALL;
	file = fopen(path, "rb");
	if (!file || fread(blob, 1, *size, file) != *size)
		client_give_up(path, 0);
	(void)fclose(file);	/* only read */
	return CKCACHE_OK;
}

static enum ckcache_status store(void *ctx, size_t id_size, const uint8_t *id, size_t size,
				 const uint8_t *blob)
{
	char path[1024];

	(void)ctx;
	storage.stores++;
	path_of(id_size, id, path);
	client_write(path, blob, size);
	return CKCACHE_OK;
}

static enum ckcache_status evict(void *ctx, size_t id_size, const uint8_t *id)
{
	char path[1024];

	(void)ctx;
	storage.evictions++;
	path_of(id_size, id, path);
	return unlink(path) == 0 ? CKCACHE_OK : CKCACHE_MISS;
}

struct ckcache_storage *client_storage(const char *directory)
{
	static struct ckcache_storage callbacks = {
		.struct_size = sizeof(callbacks), .ctx = &storage, .load = load, .store = store, .evict = evict,
	};

	storage.directory = directory;
	(void)mkdir(directory, 0700);	/* it may be there */
	return &callbacks;
}

void client_storage_print(void)
{
	printf(" load %u store %u evict %u", atomic_exchange(&storage.loads, 0),
	       atomic_exchange(&storage.stores, 0), atomic_exchange(&storage.evictions, 0));
}
