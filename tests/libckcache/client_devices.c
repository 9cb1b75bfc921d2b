/* SPDX-License-Identifier: MIT */
/* client_devices: what a library learns of a device. */
#include <dlfcn.h>

#include "tests/libckcache/client_fifo.h"

static const char data[] = "118 bytes or so of what a trial kernel told";

static struct ckcache_library library_of(const char *name, const char *version, const char *hash)
{
	return (struct ckcache_library){
		.struct_size = sizeof(struct ckcache_library),
		.name = name, .version = version, .hash = hash,
		.hash_size = hash ? strlen(hash) : 0,
	};
}

static struct ckcache_desc *describe(struct client *client, const struct ckcache_library *library)
{
	struct ckcache_desc *desc = NULL;
	enum ckcache_status status = api->opencl_device_desc_new(client->devices[0], library, &desc);

	if (status != CKCACHE_OK)
		client_fail("ckcache_opencl_device_desc_new", (cl_int)status);
	return desc;
}

static bool has(struct ckcache_desc *desc, const struct ckcache_storage *storage, const char *wanted)
{
	char found[128] = "";
	size_t size = sizeof(found);

	return api->device_load(desc, storage, &size, found) == CKCACHE_OK &&
	       size == strlen(wanted) + 1 && !strcmp(found, wanted);
}

static enum ckcache_status has_none(void *ctx, size_t count, size_t id_size, const uint8_t *ids,
				    ckcache_give_fn *give_one, void *batch)
{
	(void)ctx, (void)count, (void)id_size, (void)ids, (void)give_one, (void)batch;
	return CKCACHE_OK;
}

/* A batch found nothing, and then it is stored. */
static void store_after_batch(struct ckcache_desc *desc, const struct ckcache_storage *storage)
{
	struct ckcache_storage batched = *storage;

	batched.load_batch = has_none;
	WANT(CKCACHE_OK, api->desc_load_batch(&batched, 1, &desc));
	WANT(CKCACHE_OK, api->device_store(desc, &batched, sizeof(data), data));
	CHECK(has(desc, &batched, data));
}

/* Stored, found, replaced, evicted, in both places. */
static void live(struct ckcache_desc *desc, const struct ckcache_storage *storage)
{
	char room[128] = "unchanged";
	size_t size = 128;

	WANT(CKCACHE_MISS, api->device_load(desc, storage, &size, room));
	WANT(CKCACHE_MISS, api->device_load(desc, storage, &size, NULL));
	CHECK(size == 128 && !strcmp(room, "unchanged"));
	WANT(CKCACHE_OK, api->device_store(desc, storage, sizeof(data), data));
	CHECK(has(desc, storage, data));
	WANT(CKCACHE_OK, api->device_load(desc, storage, &size, NULL));
	CHECK(size == sizeof(data));
	size--;
	WANT(CKCACHE_ERROR_BUFFER_TOO_SMALL, api->device_load(desc, storage, &size, room));
	CHECK(size == sizeof(data) && !strcmp(room, "unchanged"));
	for (int i = 0; i < 3; i++) {
		WANT(CKCACHE_OK, api->device_store(desc, storage, 6, i % 2 ? "first" : "later"));
		CHECK(has(desc, storage, i % 2 ? "first" : "later"));
	}
	WANT(CKCACHE_OK, api->desc_evict(desc, storage));
	WANT(CKCACHE_MISS, api->device_load(desc, storage, &size, room));
	WANT(CKCACHE_OK, api->desc_evict(desc, storage));
	if (storage)
		store_after_batch(desc, storage);
	INVALID(api->device_store(desc, storage, 0, data));
	INVALID(api->device_store(desc, storage, 5, NULL));
	WANT(CKCACHE_OK, api->device_store(desc, storage, sizeof(data), data));
}

/* A blob around the data, and every way to damage it. */
static void wrap(struct client *client, struct ckcache_desc *desc)
{
	const struct ckcache_library other = library_of("library", "1.0", "another");
	OWNED(api_free) struct ckcache_desc *foreign = describe(client, &other);
	uint8_t blob[512], room[128] = "unchanged";
	size_t size = 0, room_size = sizeof(room);

	WANT(CKCACHE_OK, api->device_get_blob(desc, 0, NULL, &size, NULL));
	CHECK(size == 0);
	WANT(CKCACHE_OK, api->device_get_blob(desc, sizeof(data), data, &size, NULL));
	CHECK(size > sizeof(data) && size < sizeof(blob));
	memset(blob, 0x33, sizeof(blob));
	size--;
	WANT(CKCACHE_ERROR_BUFFER_TOO_SMALL, api->device_get_blob(desc, sizeof(data), data, &size, blob));
	CHECK(blob[0] == 0x33);
	WANT(CKCACHE_OK, api->device_get_blob(desc, sizeof(data), data, &size, blob));
	CHECK(blob[size] == 0x33);
	for (size_t bit = 0; bit < 8 * size; bit++) {
		enum ckcache_status status;

		blob[bit / 8] ^= (uint8_t)(1u << (bit % 8));
		status = api->device_get_data(desc, size, blob, &room_size, room);
		CHECK(status == (bit / 32 == 2 ? CKCACHE_ERROR_VERSION : CKCACHE_ERROR_DAMAGED));
		blob[bit / 8] ^= (uint8_t)(1u << (bit % 8));
	}
	for (size_t cut = 1; cut < size; cut++)
		WANT(CKCACHE_ERROR_DAMAGED, api->device_get_data(desc, cut, blob, &room_size, room));
	WANT(CKCACHE_ERROR_FOREIGN, api->device_get_data(foreign, size, blob, &room_size, room));
	INVALID(api->device_get_data(desc, 0, blob, &room_size, room));
	INVALID(api->device_get_data(desc, size, NULL, &room_size, room));
	CHECK(room_size == sizeof(room) && !strcmp((char *)room, "unchanged"));
	WANT(CKCACHE_OK, api->device_get_data(desc, size, blob, &room_size, room));
	CHECK(room_size == sizeof(data) && !memcmp(room, data, sizeof(data)));
}

SCENARIO(device)
{
	const struct ckcache_library library = library_of("library", "1.0", "0123abcd");
	OWNED(api_free) struct ckcache_desc *desc = describe(client, &library);
	struct fifo fifo = { .next = 0 };
	const struct ckcache_storage storage = fifo_storage(&fifo);
	struct slot *slot;
	struct bytes id = api_id(desc);
	size_t size;

	CHECK(id.size == 88);
	live(desc, NULL);
	live(desc, &storage);
	slot = fifo_find(&fifo, id.size, id.data);
	CHECK(slot && fifo.evictions == 2);
	wrap(client, desc);
	/* What the storage gives is checked, and goes if it is of no use. */
	slot->blob.data[slot->blob.size - 1] ^= 1;
	WANT(CKCACHE_MISS, api->device_load(desc, &storage, &size, NULL));
	CHECK(fifo.evictions == 3);
	bytes_release(&id);
	fifo_clear(&fifo);
}

/* Other names, versions, hashes, builds: other ids. */
SCENARIO(device_identity)
{
	struct ckcache_library libraries[9] = {
		library_of("library", "1.0", "0123abcd"), library_of("Library", "1.0", "0123abcd"),
		library_of("library", "1.1", "0123abcd"), library_of("library", NULL, "0123abcd"),
		library_of("library", "1.0", "0123abce"), library_of("library", "1.0", "0123abc"),
		library_of("library1", ".0", "0123abcd"), library_of("library", "1.0", NULL),
		library_of("library", "1.0", NULL),
	};
	struct ckcache_library bad;
	struct ckcache_desc *none = NULL;
	struct bytes ids[9];

	/* This program, and the C library. */
	libraries[7].address = data;
	libraries[8].address = dlsym(RTLD_DEFAULT, "strlen");
	for (size_t i = 0; i < 9; i++) {
		struct ckcache_desc *desc = describe(client, &libraries[i]), *again;
		struct bytes id;

		ids[i] = api_id(desc);
		again = describe(client, &libraries[i]);
		id = api_id(again);
		CHECK(bytes_equal(&id, &ids[i]));
		bytes_release(&id);
		api->desc_free(again);
		api->desc_free(desc);
		for (size_t j = 0; j < i; j++)
			CHECK(!bytes_equal(&ids[i], &ids[j]));
	}
	for (size_t i = 0; i < 9; i++)
		bytes_release(&ids[i]);
	bad = library_of("", "1.0", "0");
	INVALID(api->opencl_device_desc_new(client->devices[0], &bad, &none));
	bad = library_of(NULL, "1.0", "0");
	INVALID(api->opencl_device_desc_new(client->devices[0], &bad, &none));
	bad = library_of("library", "1.0", "");
	INVALID(api->opencl_device_desc_new(client->devices[0], &bad, &none));
	bad = library_of("library", "1.0", NULL);
	INVALID(api->opencl_device_desc_new(client->devices[0], &bad, &none));
	bad.address = &bad;	/* on the stack: in no object */
	INVALID(api->opencl_device_desc_new(client->devices[0], &bad, &none));
	bad = library_of("library", "1.0", "0");
	bad.struct_size--;
	INVALID(api->opencl_device_desc_new(client->devices[0], &bad, &none));
	bad.struct_size = sizeof(bad) + 8;
	INVALID(api->opencl_device_desc_new(client->devices[0], &bad, &none));
	INVALID(api->opencl_device_desc_new(client->devices[0], NULL, &none));
	INVALID(api->opencl_device_desc_new(NULL, &libraries[0], &none));
	INVALID(api->opencl_device_desc_new(client->devices[0], &libraries[0], NULL));
	CHECK(!none);
}

/* Prints the id and the data, or nothing. With arguments: stores the first of them. */
SCENARIO(device_load)
{
	const struct ckcache_library library = library_of("library", "1.0", "0123abcd");
	OWNED(api_free) struct ckcache_desc *desc = describe(client, &library);
	OWNED(bytes_release) struct bytes id = api_id(desc);
	char found[128];
	size_t size = sizeof(found);

	api_print(&id);
	if (client->arguments[0])
		WANT(CKCACHE_OK, api->device_store(desc, NULL, strlen(client->arguments[0]) + 1, client->arguments[0]));
	else if (api->device_load(desc, NULL, &size, found) == CKCACHE_OK)
		printf("%s\n", found);
}

SCENARIO(device_unknown)
{
	const struct ckcache_library library = library_of("library", "1.0", "0123abcd");
	struct ckcache_desc *desc = NULL;

	WANT(CKCACHE_ERROR_UNAVAILABLE, api->opencl_device_desc_new(client->devices[0], &library, &desc));
}
