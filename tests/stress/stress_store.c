/* SPDX-License-Identifier: MIT */
/* stress_store: images from chance, and their proof. */
#include "tests/stress/stress_store.h"
#include "tests/support/touch.h"

#include <stdarg.h>

void stress_fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)fputs("FAILED: ", stderr);
	(void)vfprintf(stderr, format, args);
	(void)fputc('\n', stderr);
	va_end(args);
	_exit(1);
}

uint64_t stress_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

uint64_t stress_state_of(uint64_t seed, uint64_t stream)
{
	uint64_t state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ (stream + 1) << 20;

	state = state ? state : 1;
	(void)stress_random(&state);
	return state;
}

struct cc_store *stress_open(char *root, uint64_t max_image, uint64_t max_size, const struct cmn_log *log,
			     struct cc_config *config)
{
	struct cc_store *store;

	*config = (struct cc_config){
		.dir = root,
		.max_device_image_size = max_image,
		.max_size = max_size,
		.threshold_days = 90,
		.compression = CC_COMPRESSION_AUTO,
	};
	if (cc_store_open(config, log, &store) != CMN_OK)
		stress_fail("open");
	return store;
}

void stress_make_key(struct cc_key *key, unsigned int id)
{
	cc_key_init(key);
	cc_key_add_text(key, CC_PART_DEVICE, "device", "stress");
	cc_key_add_u64(key, CC_PART_IMAGE, "source", id);
	if (cc_key_status(key) != CMN_OK)
		stress_fail("memory");
}

/* An image says whose it is, and every byte follows from what it says. */
struct stamp {
	uint32_t id;
	uint32_t len;
	uint64_t pattern;
};

static void fill(uint8_t *data, const struct stamp *stamp)
{
	uint64_t state = stress_state_of(stamp->pattern, stamp->id);

	memcpy(data, stamp, sizeof(*stamp));
	for (uint32_t i = sizeof(*stamp); i < stamp->len; i++)
		data[i] = (uint8_t)stress_random(&state);
}

enum cmn_status stress_put(struct cc_store *store, unsigned int id, uint32_t max_image,
			   uint64_t *random)
{
	struct stamp stamp = { .id = id, .pattern = stress_random(random) };
	struct cc_entry *entry = cc_entry_new(1);
	enum cmn_status status;
	struct cc_key key;
	void *room;

	/* Mostly small, some large: a kill finds both the short and the long writes. */
	stamp.len = (uint32_t)(sizeof(stamp) + stress_random(random) % (stress_random(random) % 4 ? 3000 : max_image));
	room = entry ? cc_entry_add_room(entry, CC_TAG_IMAGE, 0, stamp.len) : NULL;
	if (!room)
		stress_fail("memory");
	fill(room, &stamp);
	if (cc_entry_finish(entry, NULL) != CMN_OK)
		stress_fail("finish");
	stress_make_key(&key, id);
	status = cc_store_put(store, &key, entry);
	cc_key_release(&key);
	cc_entry_unref(entry);
	return status;
}

bool stress_get(struct cc_store *store, unsigned int id, unsigned int *ret_damaged)
{
	static _Thread_local uint8_t expected[STRESS_MAX_IMAGE + 4096];
	struct cc_entry *entry;
	struct cc_store_report report;
	enum cmn_status status;
	struct cmn_view view;
	struct stamp stamp;
	struct cc_key key;

	stress_make_key(&key, id);
	status = cc_store_get(store, &key, NULL, SIZE_MAX, &entry, &report);
	cc_key_release(&key);
	*ret_damaged = report.damaged;
	if (status == CMN_MISS)
		return false;
	if (status != CMN_OK || !cc_entry_find(entry, CC_TAG_IMAGE, 0, &view))
		stress_fail("key %u: status %d", id, status);
	if (view.len < sizeof(stamp))
		stress_fail("key %u: %zu bytes", id, view.len);
	memcpy(&stamp, view.data, sizeof(stamp));
	if (stamp.id != id || stamp.len != view.len || view.len > sizeof(expected))
		stress_fail("key %u got %u, %u of %zu bytes", id, stamp.id, stamp.len, view.len);
	fill(expected, &stamp);
	if (memcmp(expected, view.data, view.len) != 0)
		stress_fail("key %u: other bytes", id);
	cc_entry_unref(entry);
	return true;
}

void stress_remove(struct cc_store *store, unsigned int id)
{
	enum cmn_status status;
	struct cc_key key;

	stress_make_key(&key, id);
	status = cc_store_remove(store, &key);
	/* It waits for some ms only: what somebody held for longer stays. */
	if (status != CMN_OK && status != CMN_BUSY)
		stress_fail("remove %u: status %d", id, status);
	cc_key_release(&key);
}

void stress_touch(struct cc_store *store, unsigned int id)
{
	struct cc_store_place place = { .n = 0 };
	struct cc_key key;

	stress_make_key(&key, id);
	cc_entry_dir_path(cc_key_view(&key), place.entry_dir);
	touch_place(store, &place);
	cc_key_release(&key);
}
