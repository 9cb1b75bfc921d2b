/* SPDX-License-Identifier: MIT */
/* golden: the inputs, and the store that is made of them by today's code. */
#include "tests/golden/golden.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/disk/space/evict.h"
#include "cachecore/disk/space/account.h"
#include "cachecore/record/key_summary.h"
#include "cachecore/disk/reuse.h"
#include "cachecore/disk/writer/recipes.h"
#include "cachecore/disk/root.h"
#include "cachecore/record/totals.h"
#include "cachecore/disk/store.h"

#define IMAGE_SIZE 8192

void golden_key(enum golden_entry which, struct cc_key *ret)
{
	static const char *const options[] = { "-DN=4 -I .", "-cl-opt-disable", "" };
	static const uint8_t bytes[] = { 0, 1, 2, 255, 254, 13, 10, 26, 0 };

	cc_key_init(ret);
	cc_key_add_text(ret, CC_PART_DEVICE, "device.name", "a device");
	cc_key_add_text(ret, CC_PART_DEVICE, "driver.version", "1.2.3");
	cc_key_add(ret, CC_PART_IMAGE, "source", bytes, sizeof(bytes));
	cc_key_add_u64(ret, CC_PART_CONSTANTS, "constant.7", UINT64_C(0x8877665544332211));
	cc_key_add_text(ret, CC_PART_OPTIONS, "options", options[which]);
	cc_key_add(ret, CC_PART_OPTIONS, "empty", NULL, 0);
	cc_key_add_text(ret, CC_PART_DEVICE, "device.name", "the same name again");
}

void golden_entry_dir(enum golden_entry which, char ret[CC_ENTRY_DIR_PATH_SIZE])
{
	struct cc_key key;

	golden_key(which, &key);
	cc_entry_dir_path(cc_key_view(&key), ret);
	cc_key_release(&key);
}

static struct cc_manifest *make_manifest(enum golden_entry which)
{
	struct cmn_hash hash = cmn_hash_of(GOLDEN_HEADER, strlen(GOLDEN_HEADER));
	struct cc_manifest *manifest = which == GOLDEN_PLAIN ? NULL : cc_manifest_new();
	enum cmn_status status = CMN_OK;

	if (!manifest)
		return NULL;
	if (which == GOLDEN_COMPRESSED)
		status = cc_manifest_add_directory(manifest, "/");
	else
		status = cc_manifest_add_file(manifest, "golden.h", strlen(GOLDEN_HEADER), &hash);
	if (status == CMN_OK && which == GOLDEN_RAW)
		status = cc_manifest_add_absent(manifest, "absent.h");
	if (status == CMN_OK)
		return manifest;
	cc_manifest_free(manifest);
	return NULL;
}

struct cc_entry *golden_entry(enum golden_entry which)
{
	struct cc_entry *entry = cc_entry_new(GOLDEN_BUILD_NS + which);
	uint8_t image[IMAGE_SIZE];

	if (!entry)
		return NULL;
	for (size_t i = 0; i < sizeof(image); i++)
		image[i] = which == GOLDEN_COMPRESSED ? (uint8_t)(i / 64) : (uint8_t)(i * 7);
	cc_entry_add(entry, CC_TAG_IMAGE, 0, image, which == GOLDEN_COMPRESSED ? sizeof(image) : 256);
	cc_entry_add(entry, CC_TAG_IMAGE, 3, "second image", 12);
	cc_entry_add(entry, 2, 0, "a log\n", 6);
	cc_entry_add(entry, 0xfffffffe, 0xffffffff, NULL, 0);
	if (cc_entry_finish(entry, make_manifest(which)) == CMN_OK)
		return entry;
	cc_entry_unref(entry);
	return NULL;
}

struct cc_recipe golden_recipe(const struct cc_key *key)
{
	static const char environment[] = "OCL_ICD_VENDORS=/vendors\0LD_LIBRARY_PATH=/lib";
	static const uint8_t places[] = { 1, 0, 0, 0, 0, 2, 0, 0 };

	return (struct cc_recipe){
		.key = cc_key_view(key),
		.manifest = cmn_view_of("not looked into"),
		.directory = cmn_view_of("/somewhere"),
		.places = { places, sizeof(places) },
		.environment = { environment, sizeof(environment) },
	};
}

/* Its slot is the first one. */
void golden_token_key(struct cc_key *ret)
{
	cc_key_init(ret);
	cc_key_add_text(ret, CC_PART_IMAGE, "source", "kernel void f_0123456789ab(int dsr) { ; ;  ; ;   }");
}

static bool put(struct cc_store *store, struct cc_config *config, enum golden_entry which)
{
	struct cc_entry *entry = golden_entry(which);
	struct cc_key key;
	bool done;

	golden_key(which, &key);
	config->compression = which == GOLDEN_COMPRESSED ? 9 : CC_COMPRESSION_NONE;
	done = entry && cc_store_put(store, &key, entry) == CMN_OK;
	cc_entry_unref(entry);
	cc_key_release(&key);
	return done;
}

static bool put_recipe(const char *root)
{
	char name[CC_RECIPE_NAME_SIZE];
	struct cmn_buffer encoded = { 0 };
	struct cc_recipe recipe;
	struct cc_key key;
	int fd = -1;
	bool done;

	golden_key(GOLDEN_PLAIN, &key);
	recipe = golden_recipe(&key);
	cc_recipe_name(recipe.key, name);
	done = cc_recipe_encode(&recipe, &encoded) == CMN_OK &&
	       cc_recipes_put(root, cmn_buffer_view(&encoded)) == CMN_OK &&
	       cc_recipes_open(root, &fd) == CMN_OK &&
	       cc_recipes_set_attempts(fd, name, 2) == CMN_OK;
	if (fd >= 0)
		(void)close(fd);
	cmn_buffer_release(&encoded);
	cc_key_release(&key);
	return done;
}

static bool append(int root_fd, const struct cmn_buffer *records)
{
	struct cc_events_log log;

	return !records->failed && cc_events_open(root_fd, &log) == CMN_OK &&
	       cc_events_append(&log, cmn_buffer_view(records));
}

uint64_t golden_counter(unsigned int counter)
{
	return counter == CC_FAILED ? 0 : (uint64_t)(counter - (counter > CC_FAILED)) << 33;
}

/* As adding up a log of one event leaves it. */
static bool put_stats(int root_fd)
{
	const struct cc_event_record event = { .kind = CC_EVENT_STORED, .count = 1, .pid = 4711,
					       .start_ns = GOLDEN_TIME_NS, .time_ns = GOLDEN_TIME_NS + 1,
					       .program = cmn_view_of("golden") };
	struct cmn_buffer text = { 0 }, records = { 0 };
	struct cmn_view view;
	bool done;

	for (unsigned int i = 0; i < CC_COUNTER_COUNT; i++)
		cmn_buffer_printf(&text, "%s %llu\n", cc_counter_name((enum cc_counter)i),
				  (unsigned long long)golden_counter(i));
	cmn_buffer_append_text(&text, "bypass.has-include 1\nday 20000 1 2 3 4 5 6 7 8\n"
			       "program go%20lden 20000 1 2 3 4 5 6 7 8\nothers 1 2 3 4 5 6 7 8\n");
	view = cmn_buffer_view(&text);
	cc_events_add(&records, &event);
	done = !text.failed && cmn_file_replace(root_fd, CC_STATS_NAME, view) == CMN_OK &&
	       append(root_fd, &records) && cc_totals_fold(root_fd, UINT64_MAX) == CMN_OK;
	cmn_buffer_release(&text);
	cmn_buffer_release(&records);
	return done;
}

static bool put_events(int root_fd)
{
	const uint64_t entry_dirs[] = { 1, UINT64_C(0x0123456789abcdef) };
	struct cc_event_record event = {
		.kind = CC_EVENT_MISS, .pid = 4711, .start_ns = GOLDEN_TIME_NS,
		.time_ns = GOLDEN_TIME_NS + 1, .build_ns = GOLDEN_BUILD_NS,
		.program = cmn_view_of("golden"), .reason = cmn_view_of("recache"),
		.detail = cmn_view_of("of old"), .name = cmn_view_of("f"),
	};
	struct cmn_buffer records = { 0 }, outline = { 0 };
	char text[3000];
	bool done;

	/* Fifty lines, which is more than is kept whole. */
	memset(text, 'x', sizeof(text));
	for (size_t i = 59; i < sizeof(text); i += 60)
		text[i] = '\n';
	memset(event.parts, 7, sizeof(event.parts));
	cc_key_summary_append_value(&outline, CC_PART_DEVICE, cmn_view_of("device.name"),
				cmn_view_of("golden device"));
	cc_key_summary_append_value(&outline, CC_PART_IMAGE, cmn_view_of("source"),
				(struct cmn_view){ text, sizeof(text) });
	cc_events_add_part(&records, &event.parts[0], cmn_buffer_view(&outline));
	cc_events_add(&records, &event);
	cc_events_add_removed(&records, CC_REMOVED_BY_AGE, GOLDEN_TIME_NS + 2, entry_dirs, 2);
	event.kind = CC_EVENT_HIT_DISK;
	event.count = 3;
	cc_events_add(&records, &event);
	done = !outline.failed && append(root_fd, &records);
	cmn_buffer_release(&records);
	cmn_buffer_release(&outline);
	return done;
}

int golden_make(const char *root)
{
	struct cc_config config = { .dir = (char *)(uintptr_t)root,
				    .max_device_image_size = UINT64_C(1) << 30 };
	struct cc_store *store = NULL;
	char words[CC_REUSE_WORDS_SIZE];
	struct cc_key token;
	int root_fd = -1, failed = 0;

	if (cc_root_make(root, &root_fd) != CMN_OK)
		return __LINE__;
	if (cc_store_open(&config, NULL, &store) != CMN_OK)
		failed = __LINE__;
	for (unsigned int i = 0; i < GOLDEN_ENTRY_COUNT && !failed; i++) {
		if (!put(store, &config, (enum golden_entry)i))
			failed = __LINE__;
	}
	cc_store_close(store);
	golden_token_key(&token);
	if (!failed && !cc_reuse_is_likely(root, cc_key_view(&token), GOLDEN_RUN, GOLDEN_TIME_NS, words))
		failed = __LINE__;
	cc_key_release(&token);
	if (!failed && (!put_recipe(root) || !put_stats(root_fd) || !put_events(root_fd)))
		failed = __LINE__;
	(void)close(root_fd);
	return failed;
}
