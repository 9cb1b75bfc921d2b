/* SPDX-License-Identifier: MIT */
/*
 * client_storage: a storage of the application's own: the fifo, and ones that are worse.
 */
#include "tests/libckcache/client_fifo.h"

#define EVENTS 16

struct slot *fifo_find(struct fifo *fifo, size_t id_size, const uint8_t *id)
{
	for (size_t i = 0; i < FIFO_SLOTS; i++) {
		struct slot *slot = &fifo->slots[i];

		if (slot->id.size == id_size && !memcmp(slot->id.data, id, id_size))
			return slot;
	}
	return NULL;
}

static enum ckcache_status give(const struct bytes *blob, size_t *size, uint8_t *place)
{
	size_t room = *size;

	*size = blob->size;
	if (!place)
		return CKCACHE_OK;
	if (room < blob->size)
		return CKCACHE_ERROR_BUFFER_TOO_SMALL;
	memcpy(place, blob->data, blob->size);
	return CKCACHE_OK;
}

static enum ckcache_status lie_about(struct fifo *fifo, struct slot *slot, size_t *size, uint8_t *place)
{
	enum ckcache_status status = CKCACHE_OK;

	switch (fifo->lie) {
	case LIE_EMPTY:
		*size = 0;
		return CKCACHE_OK;
	case LIE_HUGE:
		if (place)
			return CKCACHE_ERROR_IO;
		*size = SIZE_MAX;
		return CKCACHE_OK;
	case LIE_GARBAGE:
		if (place)
			memset(place, 0x5a, *size);
		*size = 200;
		return CKCACHE_OK;
	case LIE_GROWS:
	case LIE_GROWS_ONCE:
		/* Another thread stores longer ones all the time. */
		if (place && fifo->loads % 2 == 0 && (fifo->lie == LIE_GROWS || fifo->loads < 3)) {
			*size = slot->blob.size + fifo->loads;
			return CKCACHE_ERROR_BUFFER_TOO_SMALL;
		}
		return give(&slot->blob, size, place);
	case LIE_SHRINKS:
		status = give(&slot->blob, size, place);
		*size -= place ? 1 : 0;
		return status;
	case LIE_OVERFILLED:
		status = give(&slot->blob, size, place);
		*size += place ? 1 : 0;
		return status;
	case LIE_OTHER:
		return give(&fifo->slots[slot == &fifo->slots[0]].blob, size, place);
	case LIE_DAMAGED:
		status = give(&slot->blob, size, place);
		if (place)
			place[slot->blob.size / 2] ^= 1;
		return status;
	case LIE_FAILS_LATE:
		*size = 300;
		return place ? CKCACHE_ERROR_IO : CKCACHE_OK;
	case LIE_STATUS:
		return (enum ckcache_status)12345;
	default:
		return CKCACHE_ERROR_IO;
	}
}

static enum ckcache_status load(void *ctx, size_t id_size, const uint8_t *id, size_t *size, uint8_t *blob)
{
	struct fifo *fifo = ctx;
	struct slot *slot = fifo_find(fifo, id_size, id);

	fifo->loads++;
	if (!slot)
		return CKCACHE_MISS;
	return fifo->lie ? lie_about(fifo, slot, size, blob) : give(&slot->blob, size, blob);
}

static void fill(struct bytes *ret, size_t size, const uint8_t *data)
{
	bytes_release(ret);
	ret->data = malloc(size);
	if (!ret->data)
		client_fail("malloc", CL_OUT_OF_HOST_MEMORY);
	memcpy(ret->data, data, size);
	ret->size = size;
}

static enum ckcache_status store(void *ctx, size_t id_size, const uint8_t *id, size_t size, const uint8_t *blob)
{
	struct fifo *fifo = ctx;
	struct slot *slot = fifo_find(fifo, id_size, id);

	fifo->stores++;
	if (fifo->stores_with != CKCACHE_OK)
		return fifo->stores_with;
	if (!slot) {
		slot = &fifo->slots[fifo->next++ % FIFO_SLOTS];
		fifo->dropped += slot->id.size != 0;
		fill(&slot->id, id_size, id);
	}
	fill(&slot->blob, size, blob);
	return CKCACHE_OK;
}

static enum ckcache_status evict(void *ctx, size_t id_size, const uint8_t *id)
{
	struct fifo *fifo = ctx;
	struct slot *slot = fifo_find(fifo, id_size, id);

	fifo->evictions++;
	if (fifo->evicts_with != CKCACHE_OK)
		return fifo->evicts_with;
	if (!slot)
		return CKCACHE_MISS;
	bytes_release(&slot->id);
	bytes_release(&slot->blob);
	return CKCACHE_OK;
}

struct ckcache_storage fifo_storage(struct fifo *fifo)
{
	return (struct ckcache_storage){
		.struct_size = sizeof(struct ckcache_storage),
		.ctx = fifo, .load = load, .store = store, .evict = evict,
	};
}

void fifo_clear(struct fifo *fifo)
{
	for (size_t i = 0; i < FIFO_SLOTS; i++) {
		bytes_release(&fifo->slots[i].id);
		bytes_release(&fifo->slots[i].blob);
	}
	*fifo = (struct fifo){ .next = 0 };
}

static enum ckcache_origin build(struct client *client, const struct ckcache_storage *storage,
				 const char *options, int value)
{
	OWNED(api_free) struct ckcache_desc *desc = api_desc(client, api_text, options);

	return api_build(client, desc, storage, api_text, options, value);
}

/* Two places for three programs: what came first goes first, however often it is used. */
SCENARIO(storage)
{
	struct fifo fifo = { .next = 0 };
	const struct ckcache_storage storage = fifo_storage(&fifo);
	struct ckcache_desc *desc = api_desc(client, api_text, "-DVALUE=1");

	CHECK(build(client, &storage, "-DVALUE=1", 1) == CKCACHE_ORIGIN_BUILT);
	CHECK(build(client, &storage, "-DVALUE=2", 2) == CKCACHE_ORIGIN_BUILT);
	CHECK(fifo.stores == 2);
	CHECK(build(client, &storage, "-DVALUE=1", 1) == CKCACHE_ORIGIN_STORAGE);
	CHECK(build(client, &storage, "-DVALUE=2", 2) == CKCACHE_ORIGIN_STORAGE);
	CHECK(fifo.stores == 2 && fifo.evictions == 0 && fifo.dropped == 0);
	CHECK(build(client, &storage, "-DVALUE=3", 3) == CKCACHE_ORIGIN_BUILT);
	CHECK(fifo.dropped == 1);
	CHECK(build(client, &storage, "-DVALUE=2", 2) == CKCACHE_ORIGIN_STORAGE);
	CHECK(build(client, &storage, "-DVALUE=1", 1) == CKCACHE_ORIGIN_BUILT);
	CHECK(fifo.dropped == 2 && fifo.evictions == 0);
	/* By hand. */
	WANT(CKCACHE_OK, api->desc_evict(desc, &storage));
	CHECK(fifo.evictions == 1);
	WANT(CKCACHE_OK, api->desc_evict(desc, &storage));
	CHECK(build(client, &storage, "-DVALUE=1", 1) == CKCACHE_ORIGIN_BUILT);
	api->desc_free(desc);
	fifo_clear(&fifo);
}

/* Whatever load says, the program is right, and what was of no use goes. */
SCENARIO(storage_lies)
{
	for (int lie = LIE_NONE + 1; lie < LIES; lie++) {
		struct fifo fifo = { .next = 0 };
		const struct ckcache_storage storage = fifo_storage(&fifo);
		bool evicted = lie == LIE_GARBAGE || lie == LIE_SHRINKS || lie == LIE_OTHER ||
			       lie == LIE_DAMAGED;
		enum ckcache_origin origin;
		unsigned int stores;

		(void)build(client, &storage, "-DVALUE=1", 1);
		(void)build(client, &storage, "-DVALUE=2", 2);
		fifo.lie = (enum lie)lie;
		fifo.loads = 0;
		stores = fifo.stores;
		origin = build(client, &storage, "-DVALUE=1", 1);
		if (lie == LIE_GROWS_ONCE) {
			CHECK(origin == CKCACHE_ORIGIN_STORAGE && fifo.loads == 4);
		} else if (!CHECK(origin == CKCACHE_ORIGIN_BUILT) || !CHECK(fifo.evictions == (evicted ? 1 : 0)) ||
			   !CHECK(fifo.stores == stores + 1) || !CHECK(fifo.loads < 20)) {
			(void)fprintf(stderr, "lie %d\n", lie);
		}
		fifo.lie = LIE_NONE;
		CHECK(build(client, &storage, "-DVALUE=1", 1) == CKCACHE_ORIGIN_STORAGE);
		fifo_clear(&fifo);
	}
}

/* A storage that cannot, or does not have, what it need not. */
SCENARIO(storage_fails)
{
	struct fifo fifo = { .stores_with = CKCACHE_ERROR_IO, .evicts_with = CKCACHE_ERROR_IO };
	struct ckcache_storage storage = fifo_storage(&fifo), bad;
	struct ckcache_desc *desc = api_desc(client, api_text, api_options);
	cl_program none = (cl_program)(void *)&fifo, program = none;

	CHECK(build(client, &storage, api_options, API_VALUE) == CKCACHE_ORIGIN_BUILT);
	CHECK(build(client, &storage, api_options, API_VALUE) == CKCACHE_ORIGIN_BUILT);
	CHECK(fifo.stores == 2);
	WANT(CKCACHE_ERROR_IO, api->desc_evict(desc, &storage));
	/* One that stores and does not let go: the damaged one is built anew each time. */
	fifo.stores_with = CKCACHE_OK;
	CHECK(build(client, &storage, api_options, API_VALUE) == CKCACHE_ORIGIN_BUILT);
	fifo.lie = LIE_DAMAGED;
	for (int i = 0; i < 3; i++)
		CHECK(build(client, &storage, api_options, API_VALUE) == CKCACHE_ORIGIN_BUILT);
	CHECK(fifo.evictions == 4);
	storage.evict = NULL;
	CHECK(build(client, &storage, api_options, API_VALUE) == CKCACHE_ORIGIN_BUILT);
	CHECK(fifo.evictions == 4);
	WANT(CKCACHE_ERROR_UNAVAILABLE, api->desc_evict(desc, &storage));
	fifo.lie = LIE_NONE;
	CHECK(build(client, &storage, api_options, API_VALUE) == CKCACHE_ORIGIN_STORAGE);
	fifo_clear(&fifo);
	storage.store = NULL;
	CHECK(build(client, &storage, api_options, API_VALUE) == CKCACHE_ORIGIN_BUILT);
	CHECK(build(client, &storage, api_options, API_VALUE) == CKCACHE_ORIGIN_BUILT);
	bad = storage;
	bad.load = NULL;
	INVALID(api->opencl_build(desc, &bad, &program, NULL));
	INVALID(api->desc_evict(desc, &bad));
	/* One of 1.0 ends before what later versions added, which may be anything. */
	storage.struct_size = offsetof(struct ckcache_storage, load_batch);
	memset((char *)&storage + storage.struct_size, 0x5a, sizeof(storage) - storage.struct_size);
	CHECK(build(client, &storage, api_options, API_VALUE) == CKCACHE_ORIGIN_BUILT);
	WANT(CKCACHE_OK, api->desc_load_batch(&storage, 1, &desc));
	bad = storage;
	bad.struct_size--;
	INVALID(api->opencl_build(desc, &bad, &program, NULL));
	INVALID(api->desc_evict(desc, &bad));
	CHECK(program == none);
	api->desc_free(desc);
	fifo_clear(&fifo);
}

/* The driver refuses binaries: argument: a file with the stub's settings, which is written here. */
SCENARIO(storage_refused)
{
	static const char *const refusals[] = {
		"STUB_REFUSE_BINARY=1\n", "STUB_REFUSE_BINARY_BUILD=1\n", "STUB_STATUS_ONLY=error\n",
		"STUB_STATUS_ONLY=status\n",
	};
	struct fifo fifo = { .next = 0 };
	const struct ckcache_storage storage = fifo_storage(&fifo);

	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		CHECK(build(client, &storage, api_options, API_VALUE) == CKCACHE_ORIGIN_BUILT);
		CHECK(build(client, &storage, api_options, API_VALUE) == CKCACHE_ORIGIN_STORAGE);
		api_write_text(client->arguments[0], refusals[i]);
		CHECK(build(client, &storage, api_options, API_VALUE) == CKCACHE_ORIGIN_BUILT);
		CHECK(fifo.evictions == 1 && fifo.stores == 2);
		api_write_text(client->arguments[0], "\n");
		CHECK(build(client, &storage, api_options, API_VALUE) == CKCACHE_ORIGIN_STORAGE);
		fifo_clear(&fifo);
	}
}

/*
 * A header that the driver looks for with every program, and that no id names: what was stored
 * without it is not loaded with it, nor the other way round. Argument: its path.
 */
SCENARIO(storage_files)
{
	static const char with_header[] = "#include \"value.h\"\nkernel void value(global int *out) { }\n";
	struct fifo fifo = { .next = 0 };
	const struct ckcache_storage storage = fifo_storage(&fifo);
	const char *path = client->arguments[0];
	struct ckcache_desc *desc;
	cl_program program;

	for (unsigned int i = 0; i < 4; i++) {
		if (i % 2)
			api_write_text(path, "/* of the user's */\n");
		else
			(void)unlink(path);	/* there may be none */
		CHECK(build(client, &storage, api_options, API_VALUE) == CKCACHE_ORIGIN_BUILT);
		CHECK(fifo.stores == i + 1 && fifo.evictions == i);
		CHECK(build(client, &storage, api_options, API_VALUE) == CKCACHE_ORIGIN_STORAGE);
	}
	/* By hand it is the same. */
	desc = api_desc(client, api_text, api_options);
	CHECK(unlink(path) == 0);
	for (size_t i = 0; i < FIFO_SLOTS; i++) {
		const struct bytes *blob = &fifo.slots[i].blob;

		program = NULL;
		if (blob->size)
			WANT(CKCACHE_ERROR_STALE, api->opencl_create_from_blob(desc, blob->size, blob->data, &program));
		CHECK(!program);
	}
	api->desc_free(desc);
	fifo_clear(&fifo);
	/* Without an id nothing is asked for or stored. */
	api_write_text("value.h", "\n");
	desc = api_desc(client, with_header, "");
	WANT(CKCACHE_OK, api->opencl_build(desc, &storage, &program, NULL));
	CHECK(clReleaseProgram(program) == CL_SUCCESS);
	WANT(CKCACHE_OK, api->desc_evict(desc, &storage));
	CHECK(fifo.loads == 0 && fifo.stores == 0 && fifo.evictions == 0);
	api->desc_free(desc);
}

/* What a build reads cannot be seen: it is right, and is not stored. */
SCENARIO(storage_unseen)
{
	struct fifo fifo = { .next = 0 };
	const struct ckcache_storage storage = fifo_storage(&fifo);

	for (int i = 0; i < 2; i++)
		CHECK(build(client, &storage, api_options, API_VALUE) == CKCACHE_ORIGIN_BUILT);
	CHECK(fifo.stores == 0);
	fifo_clear(&fifo);
}

/* A storage that also loads many at once, and is told what happens. */
struct traced {
	struct fifo fifo;	/* first: what is called knows either by its address */
	unsigned int batches, given;
	enum ckcache_status batch_with;
	struct ckcache_trace events[EVENTS];
	size_t count;
};

static enum ckcache_status load_batch(void *ctx, size_t count, size_t id_size, const uint8_t *ids,
				      ckcache_give_fn *give_one, void *batch)
{
	struct traced *traced = ctx;

	traced->batches++;
	/* Nonsense first: it is no harm. */
	give_one(batch, count, id_size, ids);
	give_one(batch, SIZE_MAX, id_size, ids);
	give_one(batch, 0, 0, ids);
	give_one(batch, 0, SIZE_MAX, ids);
	give_one(batch, 0, 10, NULL);
	give_one(batch, count - 1, id_size, ids);
	for (size_t i = count; i > 0; i--) {
		struct slot *slot = fifo_find(&traced->fifo, id_size, ids + (i - 1) * id_size);

		if (!slot)
			continue;
		give_one(batch, i - 1, slot->blob.size, slot->blob.data);
		traced->given++;
	}
	return traced->batch_with;
}

static void trace(void *ctx, const struct ckcache_trace *event)
{
	struct traced *traced = ctx;
	struct timespec now;

	/* Nothing takes longer than the machine has been running. */
	CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0 && event->ns / 1000000000 <= (uint64_t)now.tv_sec);
	CHECK(event->struct_size >= sizeof(*event) && event->id_size && event->id);
	if (traced->count < EVENTS)
		traced->events[traced->count] = *event;
	traced->count++;
}

static struct ckcache_storage storage_of_traced(struct traced *traced)
{
	struct ckcache_storage storage = fifo_storage(&traced->fifo);

	storage.load_batch = load_batch;
	storage.trace = trace;
	return storage;
}

/* The events since the last call, as one letter each; then there are none. */
static bool happened(struct traced *traced, const char *letters)
{
	static const char names[] = "?HMUBSNE";
	bool same = traced->count == strlen(letters);

	for (size_t i = 0; same && i < traced->count && i < EVENTS; i++)
		same = names[traced->events[i].event] == letters[i];
	if (!same) {
		(void)fprintf(stderr, "wanted %s, got ", letters);
		for (size_t i = 0; i < traced->count && i < EVENTS; i++)
			(void)fprintf(stderr, "%c", names[traced->events[i].event]);
		(void)fprintf(stderr, "\n");
	}
	traced->count = 0;
	return same;
}

SCENARIO(storage_traced)
{
	struct traced traced = { .count = 0 };
	const struct ckcache_storage storage = storage_of_traced(&traced);

	CHECK(build(client, &storage, api_options, API_VALUE) == CKCACHE_ORIGIN_BUILT);
	CHECK(traced.events[0].status == CKCACHE_MISS && !traced.events[0].size);
	CHECK(traced.events[1].status == CKCACHE_OK && traced.events[1].ns);
	CHECK(traced.events[2].size == traced.fifo.slots[0].blob.size);
	CHECK(happened(&traced, "MBS"));
	CHECK(build(client, &storage, api_options, API_VALUE) == CKCACHE_ORIGIN_STORAGE);
	CHECK(traced.events[0].size == traced.fifo.slots[0].blob.size);
	CHECK(happened(&traced, "H"));
	traced.fifo.lie = LIE_DAMAGED;
	CHECK(build(client, &storage, api_options, API_VALUE) == CKCACHE_ORIGIN_BUILT);
	CHECK(traced.events[0].status == CKCACHE_ERROR_DAMAGED && !traced.events[1].size);
	CHECK(happened(&traced, "UEBS"));
	traced.fifo.lie = LIE_FAILS;
	traced.fifo.stores_with = CKCACHE_ERROR_IO;
	CHECK(build(client, &storage, api_options, API_VALUE) == CKCACHE_ORIGIN_BUILT);
	CHECK(traced.events[0].status == CKCACHE_ERROR_IO && traced.events[2].status == CKCACHE_ERROR_IO);
	CHECK(happened(&traced, "MBN"));
	fifo_clear(&traced.fifo);
}

SCENARIO(storage_batch)
{
	static const char *const options[] = { "-DVALUE=1", "-DVALUE=2", "-DVALUE=3" };
	struct traced traced = { .count = 0 }, other = { .count = 0 };
	const struct ckcache_storage storage = storage_of_traced(&traced), another = storage_of_traced(&other);
	struct ckcache_storage alone = storage;
	struct ckcache_desc *descs[4];

	/* The third has no id: it includes something. */
	for (size_t i = 0; i < 3; i++)
		descs[i < 2 ? i : 3] = api_desc(client, api_text, options[i]);
	descs[2] = api_desc(client, "#include \"x.h\"\nkernel void value(global int *out) { }\n", "");
	for (size_t i = 0; i < 2; i++)
		CHECK(api_build(client, descs[i], &storage, NULL, NULL, 0) == CKCACHE_ORIGIN_BUILT);
	traced.count = traced.fifo.loads = 0;
	/* One question for all; what is not there is not asked for again. */
	WANT(CKCACHE_OK, api->desc_load_batch(&storage, 4, descs));
	CHECK(traced.batches == 1 && traced.given == 2 && !traced.fifo.loads);
	CHECK(api_build(client, descs[0], &storage, NULL, NULL, 0) == CKCACHE_ORIGIN_STORAGE);
	CHECK(api_build(client, descs[1], &storage, NULL, NULL, 0) == CKCACHE_ORIGIN_STORAGE);
	CHECK(!traced.fifo.loads);
	traced.count = 0;
	CHECK(api_build(client, descs[3], &storage, NULL, NULL, 0) == CKCACHE_ORIGIN_BUILT);
	/* The nonsense that came for it was found out. */
	CHECK(!traced.fifo.loads && happened(&traced, "UEBS"));
	/* Once only: then the storage is asked as ever. The third one took the first one's place. */
	CHECK(api_build(client, descs[3], &storage, NULL, NULL, 0) == CKCACHE_ORIGIN_STORAGE && traced.fifo.loads == 2);
	/* For that storage only. */
	WANT(CKCACHE_OK, api->desc_load_batch(&storage, 4, descs));
	CHECK(api_build(client, descs[1], &another, NULL, NULL, 0) == CKCACHE_ORIGIN_BUILT && other.fifo.loads == 1);
	/* A batch that failed: the absent ones are asked for alone, and what came is used. */
	traced.batch_with = CKCACHE_ERROR_IO;
	traced.fifo.loads = 0;
	WANT(CKCACHE_OK, api->desc_load_batch(&storage, 4, descs));
	CHECK(api_build(client, descs[0], &storage, NULL, NULL, 0) == CKCACHE_ORIGIN_BUILT && traced.fifo.loads == 1);
	CHECK(api_build(client, descs[3], &storage, NULL, NULL, 0) == CKCACHE_ORIGIN_STORAGE && traced.fifo.loads == 1);
	/* One that cannot is asked one by one. */
	alone.load_batch = NULL;
	WANT(CKCACHE_OK, api->desc_load_batch(&alone, 4, descs));
	CHECK(api_build(client, descs[3], &alone, NULL, NULL, 0) == CKCACHE_ORIGIN_STORAGE && traced.fifo.loads == 3);
	/* What was evicted since it came is not used. */
	WANT(CKCACHE_OK, api->desc_load_batch(&storage, 4, descs));
	WANT(CKCACHE_OK, api->desc_evict(descs[3], &storage));
	CHECK(api_build(client, descs[3], &storage, NULL, NULL, 0) == CKCACHE_ORIGIN_BUILT);
	WANT(CKCACHE_OK, api->desc_load_batch(&storage, 0, NULL));
	INVALID(api->desc_load_batch(NULL, 4, descs));
	INVALID(api->desc_load_batch(&storage, 4, NULL));
	for (size_t i = 0; i < 4; i++)
		api->desc_free(descs[i]);
	fifo_clear(&traced.fifo);
	fifo_clear(&other.fifo);
}
