/* SPDX-License-Identifier: MIT */
/* device: what is refused, what a library is told by, and a cache that is off or busy. */
#include "layers/shared/api/desc.h"

#include <stdatomic.h>

#include "tests/support/unit.h"
#include "tests/support/wrap.h"

static struct cc_cache *const cache = (struct cc_cache *)(void *)&cache;	/* of nobody's */
static struct {
	size_t id_len;		/* of each object's build-id; 0: the true one */
	bool busy;		/* the entry's directory */
	unsigned int put;
	bool no_memory;		/* for the bytes of blobs */
} state;

WRAPPED(bool, cmn_buffer_grow, (struct cmn_buffer *buf, size_t extra))
{
	if (!state.no_memory)
		return __real_cmn_buffer_grow(buf, extra);
	buf->failed = true;
	return false;
}

WRAPPED(struct cmn_view, drv_loaded_note, (const struct drv_loaded *object, const char *owner, uint32_t type))
{
	static const uint8_t id[1024];

	if (!state.id_len)
		return __real_drv_loaded_note(object, owner, type);
	return (struct cmn_view){ id, state.id_len };
}

WRAPPED(enum cmn_status, cc_cache_remove, (struct cc_cache *from, const struct cc_key *key))
{
	(void)key;
	CU_ASSERT_PTR_EQUAL(from, cache);
	return state.busy ? CMN_BUSY : CMN_OK;
}

WRAPPED(void, cc_cache_put, (struct cc_cache *to, const struct cc_key *key, struct cc_entry *entry))
{
	(void)key;
	(void)entry;
	CU_ASSERT_PTR_EQUAL(to, cache);
	state.put++;
}

WRAPPED(enum cmn_status, cc_cache_get, (struct cc_cache *from, const struct cc_key *key,
	struct cc_entry **ret_entry, enum cc_origin *ret_origin))
{
	(void)key;
	(void)ret_entry;
	(void)ret_origin;
	CU_ASSERT_PTR_EQUAL(from, cache);
	return CMN_MISS;
}

static unsigned int storage_calls;

static enum ckcache_status load_nothing(void *ctx, size_t id_size, const uint8_t *id, size_t *size, uint8_t *blob)
{
	(void)ctx;
	(void)id_size;
	(void)id;
	(void)size;
	(void)blob;
	storage_calls++;
	return CKCACHE_MISS;
}

static struct ckcache_desc *desc;

static enum ckcache_status make(struct cc_cache *of, const char *hash, const void *address)
{
	const struct ckcache_library library = {
		.struct_size = sizeof(library), .name = "library", .hash = hash,
		.hash_size = hash ? strlen(hash) : 0, .address = address,
	};
	struct cc_key identity;
	enum ckcache_status status;

	cc_key_init(&identity);
	cc_key_add_text(&identity, CC_PART_DEVICE, "device", "none");
	status = api_device_desc_new(of, &identity, &library, &desc);
	cc_key_release(&identity);
	return status;
}

BEFORE_EACH
{
	memset(&state, 0, sizeof(state));
	storage_calls = 0;
	desc = NULL;
}

AFTER_EACH
{
	if (desc)
		ckcache_desc_free(desc);
}

TEST(a_library_needs_no_version)
{
	CU_ASSERT_EQUAL(make(NULL, "hash", NULL), CKCACHE_OK);
}

TEST(a_library_without_a_hash_is_told_by_its_build_id)
{
	static const char constant = 'c';

	CU_ASSERT_EQUAL(make(NULL, NULL, NULL), CKCACHE_ERROR_INVALID_ARGUMENT);
	state.id_len = 20;
	CU_ASSERT_EQUAL(make(NULL, NULL, &constant), CKCACHE_OK);
	ckcache_desc_free(desc);
	desc = NULL;
	/* No linker makes such a long one. */
	state.id_len = 65;
	CU_ASSERT_EQUAL(make(NULL, NULL, &constant), CKCACHE_ERROR_INVALID_ARGUMENT);
}

TEST(refuses_data_without_bytes_and_sizes_without_room)
{
	/* That of 1.0 ends before load_batch. */
	const struct ckcache_storage old = {
		.struct_size = offsetof(struct ckcache_storage, load_batch) - 1, .load = load_nothing,
	};
	uint8_t bytes[4] = { 0 };
	size_t size = 0;

	CU_ASSERT_EQUAL_FATAL(make(NULL, "hash", NULL), CKCACHE_OK);
	CU_ASSERT_EQUAL(ckcache_device_get_blob(desc, 4, NULL, &size, NULL), CKCACHE_ERROR_INVALID_ARGUMENT);
	CU_ASSERT_EQUAL(ckcache_device_get_blob(desc, 4, bytes, NULL, NULL), CKCACHE_ERROR_INVALID_ARGUMENT);
	CU_ASSERT_EQUAL(ckcache_device_load(desc, NULL, NULL, NULL), CKCACHE_ERROR_INVALID_ARGUMENT);
	CU_ASSERT_EQUAL(ckcache_device_load(desc, &old, &size, NULL), CKCACHE_ERROR_INVALID_ARGUMENT);
	CU_ASSERT_EQUAL(ckcache_device_store(desc, &old, 4, bytes), CKCACHE_ERROR_INVALID_ARGUMENT);
	CU_ASSERT_EQUAL(storage_calls, 0);
}

/* A storage with one place, for one id. */
static struct place {
	uint8_t id[128], blob[512];
	size_t id_size, size;
	unsigned int evicted;
} place;

static enum ckcache_status load_place(void *ctx, size_t id_size, const uint8_t *id, size_t *size, uint8_t *blob)
{
	CU_ASSERT_PTR_EQUAL(ctx, &place);
	if (!place.size || id_size != place.id_size || memcmp(id, place.id, id_size) != 0)
		return CKCACHE_MISS;
	if (blob && *size >= place.size)
		memcpy(blob, place.blob, place.size);
	*size = place.size;
	return CKCACHE_OK;
}

static enum ckcache_status store_place(void *ctx, size_t id_size, const uint8_t *id, size_t size, const uint8_t *blob)
{
	CU_ASSERT_PTR_EQUAL(ctx, &place);
	CU_ASSERT_FATAL(id_size <= sizeof(place.id) && size <= sizeof(place.blob));
	memcpy(place.id, id, id_size);
	memcpy(place.blob, blob, size);
	place.id_size = id_size;
	place.size = size;
	return CKCACHE_OK;
}

static enum ckcache_status evict_place(void *ctx, size_t id_size, const uint8_t *id)
{
	(void)id;
	CU_ASSERT_PTR_EQUAL(ctx, &place);
	CU_ASSERT_EQUAL(id_size, place.id_size);
	place.evicted++;
	place.size = 0;
	return CKCACHE_OK;
}

/* Of data of any length; what is damaged or another library's is none. */
TEST(what_a_storage_was_given_it_gives_back)
{
	const struct ckcache_storage storage = {
		.struct_size = sizeof(storage), .ctx = &place, .load = load_place, .store = store_place, .evict = evict_place,
	};
	uint8_t data[256], found[sizeof(data)];
	size_t size;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7);
	memset(&place, 0, sizeof(place));
	CU_ASSERT_EQUAL_FATAL(make(NULL, "hash", NULL), CKCACHE_OK);
	for (size_t len = 1; len <= sizeof(data); len *= 2) {
		CU_ASSERT_EQUAL(ckcache_device_store(desc, &storage, len, data), CKCACHE_OK);
		size = 0;
		CU_ASSERT_EQUAL(ckcache_device_load(desc, &storage, &size, NULL), CKCACHE_OK);
		CU_ASSERT_EQUAL(size, len);
		size = sizeof(found);
		memset(found, 0xee, sizeof(found));
		CU_ASSERT_EQUAL(ckcache_device_load(desc, &storage, &size, found), CKCACHE_OK);
		CU_ASSERT(size == len && memcmp(found, data, len) == 0);
	}
	CU_ASSERT_EQUAL(state.put, 0);
	/* Any bit of it. */
	for (size_t bit = 0; bit < 8 * place.size; bit += 13) {
		struct place whole = place;

		place.blob[bit / 8] ^= (uint8_t)(1 << bit % 8);
		size = sizeof(found);
		CU_ASSERT_NOT_EQUAL(ckcache_device_load(desc, &storage, &size, found), CKCACHE_OK);
		place = whole;
	}
	ckcache_desc_free(desc);
	CU_ASSERT_EQUAL_FATAL(make(NULL, "other", NULL), CKCACHE_OK);
	CU_ASSERT_EQUAL(ckcache_device_load(desc, &storage, &size, found), CKCACHE_MISS);
}

TEST(without_memory_nothing_is_stored_or_loaded)
{
	const struct ckcache_storage storage = {
		.struct_size = sizeof(storage), .ctx = &place, .load = load_place, .store = store_place,
	};
	uint8_t data[32] = { 1 };
	size_t size = sizeof(data);

	memset(&place, 0, sizeof(place));
	CU_ASSERT_EQUAL_FATAL(make(NULL, "hash", NULL), CKCACHE_OK);
	state.no_memory = true;
	CU_ASSERT_EQUAL(ckcache_device_store(desc, &storage, sizeof(data), data), CKCACHE_ERROR_OUT_OF_MEMORY);
	CU_ASSERT_EQUAL(place.size, 0);
	state.no_memory = false;
	CU_ASSERT_EQUAL(ckcache_device_store(desc, &storage, sizeof(data), data), CKCACHE_OK);
	state.no_memory = true;
	CU_ASSERT_EQUAL(ckcache_device_load(desc, &storage, &size, data), CKCACHE_ERROR_OUT_OF_MEMORY);
}

TEST(a_storage_may_store_nothing)
{
	const struct ckcache_storage storage = { .struct_size = sizeof(storage), .load = load_nothing };
	uint8_t bytes[4] = { 0 };
	size_t size = 0;

	CU_ASSERT_EQUAL_FATAL(make(NULL, "hash", NULL), CKCACHE_OK);
	CU_ASSERT_EQUAL(ckcache_device_store(desc, &storage, 4, bytes), CKCACHE_ERROR_UNAVAILABLE);
	CU_ASSERT_EQUAL(ckcache_device_load(desc, &storage, &size, NULL), CKCACHE_MISS);
	CU_ASSERT_EQUAL(storage_calls, 1);
}

TEST(switched_off_nothing_is_there_and_nothing_is_stored)
{
	uint8_t bytes[4] = { 0 };
	size_t size = 0;

	CU_ASSERT_EQUAL_FATAL(make(NULL, "hash", NULL), CKCACHE_OK);
	CU_ASSERT_EQUAL(ckcache_device_store(desc, NULL, 4, bytes), CKCACHE_ERROR_DENIED);
	CU_ASSERT_EQUAL(ckcache_device_load(desc, NULL, &size, NULL), CKCACHE_MISS);
	CU_ASSERT_EQUAL(state.put, 0);
}

TEST(what_is_busy_is_replaced_when_it_is_stored)
{
	uint8_t bytes[4] = { 0 };
	size_t size = 0;

	CU_ASSERT_EQUAL_FATAL(make(cache, "hash", NULL), CKCACHE_OK);
	state.busy = true;
	CU_ASSERT_EQUAL(ckcache_device_store(desc, NULL, 4, bytes), CKCACHE_OK);
	CU_ASSERT_EQUAL(state.put, 1);
	CU_ASSERT_EQUAL(ckcache_device_load(desc, NULL, &size, NULL), CKCACHE_MISS);
}

/* Gives a blob that is as good as any, or nothing. */
static enum ckcache_status give_one(void *ctx, size_t count, size_t id_size, const uint8_t *ids,
				    ckcache_give_fn *give, void *batch)
{
	const uint8_t *blob = ctx;

	(void)id_size;
	(void)ids;
	CU_ASSERT_EQUAL(count, 1);
	if (*blob)
		give(batch, 0, 1, blob);
	return CKCACHE_OK;
}

TEST(what_a_batch_has_no_memory_for_is_asked_for_again)
{
	uint8_t blob = 1;
	const struct ckcache_storage storage = {
		.struct_size = sizeof(storage), .ctx = &blob, .load = load_nothing, .load_batch = give_one,
	};
	size_t size = 0;

	CU_ASSERT_EQUAL_FATAL(make(NULL, "hash", NULL), CKCACHE_OK);
	state.no_memory = true;
	CU_ASSERT_EQUAL(ckcache_desc_load_batch(&storage, 1, &desc), CKCACHE_OK);
	state.no_memory = false;
	CU_ASSERT_EQUAL(ckcache_device_load(desc, &storage, &size, NULL), CKCACHE_MISS);
	CU_ASSERT_EQUAL(storage_calls, 1);
	/* What it does not give is not there. */
	blob = 0;
	CU_ASSERT_EQUAL(ckcache_desc_load_batch(&storage, 1, &desc), CKCACHE_OK);
	CU_ASSERT_EQUAL(ckcache_device_load(desc, &storage, &size, NULL), CKCACHE_MISS);
	CU_ASSERT_EQUAL(storage_calls, 1);
}

/* gcc 12's runtime leaves its allocator locked in a child of a process with threads. */
#ifndef __SANITIZE_ADDRESS__
#define CHILDREN 60

static atomic_bool loading;

/* Gives nothing. */
static enum ckcache_status give_none(void *ctx, size_t count, size_t id_size, const uint8_t *ids,
				     ckcache_give_fn *give, void *batch)
{
	(void)ctx;
	(void)count;
	(void)id_size;
	(void)ids;
	(void)give;
	(void)batch;
	return CKCACHE_OK;
}

static const struct ckcache_storage empty = {
	.struct_size = sizeof(empty), .load = load_nothing, .load_batch = give_none,
};

static void *load_all_the_time(void *ctx)
{
	while (atomic_load(&loading)) {
		if (ckcache_desc_load_batch(&empty, 1, &desc) != CKCACHE_OK)
			return NULL;
	}
	return ctx;
}

/* Which may have the description, and is not in the child. */
TEST(a_child_waits_for_no_thread_of_its_parent)
{
	pthread_t thread;
	size_t size = 0;
	void *done;

	CU_ASSERT_EQUAL_FATAL(make(NULL, "hash", NULL), CKCACHE_OK);
	atomic_store(&loading, true);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, load_all_the_time, &loading), 0);
	for (int i = 0; i < CHILDREN; i++) {
		pid_t child = fork();

		if (child == 0) {
			(void)alarm(20);
			_exit(ckcache_device_load(desc, &empty, &size, NULL) == CKCACHE_MISS ? 0 : 1);
		}
		CU_ASSERT_TRUE_FATAL(unit_ended_well(child));
	}
	atomic_store(&loading, false);
	CU_ASSERT_EQUAL(pthread_join(thread, &done), 0);
	CU_ASSERT_PTR_EQUAL(done, &loading);
}
#endif
