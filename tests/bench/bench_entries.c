/* SPDX-License-Identifier: MIT */
/* bench_entries: keys and images from a number. */
#include "tests/bench/bench_entries.h"

#include "tests/bench/bench_run.h"

#define OPTION_SETS 4
#define STAMP_LEN (2 * sizeof(uint64_t))	/* the number and the length, at an image's start */
#define BLOCK 64	/* of an image: a third of it chance, the rest as alike as instructions are */

uint64_t bench_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint64_t state_of(uint64_t number, uint64_t stream)
{
	uint64_t state = (number + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ (stream + 1) << 32;

	state = state ? state : 1;
	(void)bench_random(&state);
	return state;
}

/* As the OpenCL layer's: a dozen device fields, the text, some of the environment. */
static void add_device(struct cc_key *key, uint64_t device)
{
	static const char *const names[] = { "platform", "vendor", "name", "version", "driver",
					     "extensions", "profile", "c-version", "library",
					     "compiler", "runtime", "il" };
	char text[160];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(text, sizeof(text), "%s of device %llu, and what a driver has to say "
			       "about it: OpenCL 3.0 NEO 22.43.24595.41", names[i],
			       (unsigned long long)device);
		cc_key_add_text(key, CC_PART_DEVICE, names[i], text);
	}
}

static void add_source(struct cc_key *key, uint64_t image)
{
	struct cmn_buffer text = { 0 };
	uint64_t state = state_of(image, 1);
	unsigned int lines = 20 + (unsigned int)(bench_random(&state) % 80);

	cmn_buffer_printf(&text, "kernel void k%llu(global float *out, global const float *in)\n{\n",
			  (unsigned long long)image);
	for (unsigned int i = 0; i < lines; i++)
		cmn_buffer_printf(&text, "\tout[get_global_id(0)] += in[%llu] * %u.0f;\n",
				  (unsigned long long)(bench_random(&state) % 100000), i);
	cmn_buffer_append_text(&text, "}\n");
	if (text.failed)
		bench_fail("out of memory");
	cc_key_add(key, CC_PART_IMAGE, "source", text.data, text.len);
	cmn_buffer_release(&text);
}

void bench_make_key(uint64_t number, struct cc_key *ret)
{
	uint64_t image = number / OPTION_SETS;
	char options[96];

	cc_key_init(ret);
	add_device(ret, image % 20 == 19 ? 1 + image / 20 % 4 : 0);
	add_source(ret, image);
	(void)snprintf(options, sizeof(options), "-cl-std=CL2.0 -cl-mad-enable -DWIDTH=%llu",
		       (unsigned long long)(number % OPTION_SETS));
	cc_key_add_text(ret, CC_PART_OPTIONS, "options", options);
	cc_key_add_text(ret, CC_PART_OPTIONS, "environment", "LC_ALL=C");
	if (cc_key_status(ret) != CMN_OK)
		bench_fail("out of memory");
}

size_t bench_length(uint64_t number)
{
	uint64_t state = state_of(number, 2), dice = bench_random(&state) % 100;
	uint64_t chance = bench_random(&state);

	if (dice < 60)
		return 1000 + chance % 3000;
	if (dice < 90)
		return 4000 + chance % 12000;
	if (dice < 99)
		return 16000 + chance % 44000;
	return 60000 + chance % 140000;
}

static void fill(uint8_t *data, size_t len, uint64_t number)
{
	const uint64_t stamp[2] = { number, len };
	uint64_t state = state_of(number, 3);
	uint8_t block[BLOCK];

	memset(block, 0x5a, sizeof(block));
	for (size_t at = 0; at < len; at += sizeof(block)) {
		size_t part = len - at < sizeof(block) ? len - at : sizeof(block);
		uint64_t words[3] = { bench_random(&state), bench_random(&state), state >> 48 };

		memcpy(block + state % 5 * 8, words, sizeof(words));
		memcpy(data + at, block, part);
	}
	memcpy(data, stamp, len < sizeof(stamp) ? len : sizeof(stamp));
}

struct cc_entry *bench_make_entry(uint64_t number, size_t len)
{
	struct cc_entry *entry = cc_entry_new(300000000);
	void *room;

	len = len ? len : bench_length(number);
	room = entry ? cc_entry_add_room(entry, CC_TAG_IMAGE, 0, len) : NULL;
	if (!room)
		bench_fail("out of memory");
	fill(room, len, number);
	if (cc_entry_finish(entry, NULL) != CMN_OK)
		bench_fail("an entry of %zu bytes", len);
	return entry;
}

bool bench_is_entry(const struct cc_entry *entry, uint64_t number, size_t len, bool whole)
{
	uint8_t *expected;
	struct cmn_view view;
	bool same;

	len = len ? len : bench_length(number);
	if (!cc_entry_find(entry, CC_TAG_IMAGE, 0, &view) || view.len != len)
		return false;
	if (!whole) {
		const uint64_t stamp[2] = { number, len };

		return memcmp(view.data, stamp, STAMP_LEN) == 0;
	}
	expected = malloc(len);
	if (!expected)
		bench_fail("out of memory");
	fill(expected, len, number);
	same = memcmp(expected, view.data, len) == 0;
	free(expected);
	return same;
}
