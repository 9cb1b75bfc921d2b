/* SPDX-License-Identifier: MIT */
/*
 * pull: stores in the root what push has listed and the root does not have. Each
 * value is checked as a look-up checks it, its signature first; its own key says
 * where it belongs, and must be the one that was asked for.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachecore/record/recorder.h"
#include "cachecore/remote/helper.h"
#include "cachecore/remote/index.h"
#include "cachecore/remote/value.h"
#include "common/clock.h"
#include "tools/arguments.h"
#include "tools/json_output.h"
#include "tools/memory.h"
#include "tools/remote/tier.h"
#include "tools/remote/upload.h"
#include "tools/text.h"
#include "tools/tool.h"

#define NS_PER_S UINT64_C(1000000000)

struct pulling {
	const struct tool_cache *cache;
	const struct cc_remote_setup *setup;
	const char *address;
	const char *program;	/* NULL: all entries */
	struct upload link;
	/* Hashes of keys, CMN_HASH_SIZE bytes each: of the root's entries; what is listed. */
	struct cmn_buffer there, wanted;
	struct cc_recorder recorder;
	unsigned int lists;
	uint64_t stored, bytes, had, gone, refused, too_large;
};

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, CMN_HASH_SIZE);
}

static size_t count_of(const struct cmn_buffer *hashes)
{
	return hashes->len / CMN_HASH_SIZE;
}

static void sort(struct cmn_buffer *hashes)
{
	if (hashes->len)
		qsort(hashes->data, count_of(hashes), CMN_HASH_SIZE, compare);
}

/* Of sorted ones. */
static bool has(const struct cmn_buffer *hashes, const uint8_t *hash)
{
	return hashes->len &&
	       bsearch(hash, hashes->data, count_of(hashes), CMN_HASH_SIZE, compare);
}

static bool note_item(void *ctx, const struct cc_store_item *item)
{
	struct cmn_buffer *hashes = ctx;
	struct cmn_hash hash;

	/* One that is damaged may be replaced. */
	if (item->status == CMN_OK && !item->failed && item->key.len) {
		hash = cmn_hash_of(item->key.data, item->key.len);
		cmn_buffer_append(hashes, hash.bytes, CMN_HASH_SIZE);
	}
	return !hashes->failed;
}

static enum cmn_status find_there(struct pulling *pulling)
{
	enum cmn_status status = cc_store_walk(pulling->cache->store, false, note_item,
					       &pulling->there);

	if (pulling->there.failed)
		memory_end();
	sort(&pulling->there);
	return status == CMN_MISS ? CMN_OK : status;
}

/* Adds what one key has listed. key NULL: what nobody has signed. */
static enum cmn_status read_list(struct pulling *pulling, const struct cc_trust_key *key)
{
	struct cmn_buffer index = { 0 };
	uint8_t id[CC_SODIUM_HASH_SIZE];
	char name[CC_INDEX_NAME_SIZE];
	struct cmn_view hashes;
	enum cmn_status status = CMN_OK;

	if (key && cc_trust_key_id(key->key, id) != CMN_OK)
		return CMN_ERR_INVALID;	/* cc_remote_setup has seen libsodium */
	cc_index_name(key ? id : NULL, pulling->program, name);
	status = upload_get(&pulling->link, cmn_view_of(name), CC_INDEX_MAX_SIZE, &index);
	if (status == CMN_OK || status == CMN_ERR_TOO_LARGE) {
		if (status == CMN_OK)
			status = cc_index_check(cmn_buffer_view(&index), key ? key->key : NULL,
						&hashes);
		if (status == CMN_OK) {
			cmn_buffer_append(&pulling->wanted, hashes.data, hashes.len);
			pulling->lists++;
		} else {
			tool_complain("%s: the list of %s is not used: %s", pulling->address,
				      key ? key->name : "entries",
				      status == CMN_ERR_ACCESS ? "its signature is wrong"
							       : cmn_status_string(status));
			pulling->refused++;
			status = CMN_OK;
		}
	}
	cmn_buffer_release(&index);
	return status == CMN_MISS ? CMN_OK : status;
}

static enum cmn_status read_lists(struct pulling *pulling)
{
	const struct cc_trust *trust = pulling->setup->trust;
	uint64_t now = cmn_clock_realtime() / NS_PER_S;
	enum cmn_status status = CMN_OK;
	const struct cc_trust_key *key;
	struct cc_trust_place place;

	if (!trust)
		status = read_list(pulling, NULL);
	for (size_t i = 0; trust && status == CMN_OK && (key = cc_trust_at(trust, i, &place)); i++) {
		if (cc_trust_decides(trust, i, &place) == key && now < key->end)
			status = read_list(pulling, key);
	}
	if (pulling->wanted.failed)
		memory_end();
	sort(&pulling->wanted);
	return status;
}

/* As where an application takes an entry from the tier. */
static void note_origin(struct pulling *pulling, const struct cc_key *key, const char *signer)
{
	const struct cc_event event = {
		.kind = CC_EVENT_REMOTE, .key = key, .reason = pulling->setup->address.scheme,
		.detail = signer ? signer : "",
	};

	cc_recorder_write(&pulling->recorder, pulling->cache->config.dir, &event);
}

/* Anything but CMN_OK and what refuse knows would befall the others too. */
static enum cmn_status store(struct pulling *pulling, const struct cc_remote_value *value,
			     const uint8_t *wanted)
{
	struct cmn_buffer bin = { 0 };
	struct cc_entry *entry;
	struct cmn_hash hash;
	struct cc_key key;
	enum cmn_status status = CMN_ERR_NOMEM;

	cmn_buffer_append(&bin, value->bin.data, value->bin.len);
	if (bin.failed)
		return status;
	status = cc_remote_files_decode(value->src, &bin, &key, &entry);
	if (status != CMN_OK)
		return status == CMN_MISS ? CMN_ERR_VERSION : status;	/* a build that failed elsewhere */
	hash = cmn_hash_of(cc_key_view(&key).data, cc_key_view(&key).len);
	/* The entry of another key under this name. */
	status = memcmp(hash.bytes, wanted, CMN_HASH_SIZE) == 0 ? CMN_OK : CMN_ERR_CORRUPT;
	if (status == CMN_OK)
		status = cc_store_put(pulling->cache->store, &key, entry);
	if (status == CMN_OK)
		note_origin(pulling, &key, value->signer ? value->signer->name : NULL);
	cc_entry_unref(entry);
	cc_key_release(&key);
	return status;
}

static enum cmn_status pull_one(struct pulling *pulling, const uint8_t *wanted)
{
	struct cmn_buffer bytes = { 0 };
	char name[CC_REMOTE_NAME_SIZE];
	struct cc_remote_value value;
	struct cmn_hash hash;
	enum cmn_status status;

	memcpy(hash.bytes, wanted, CMN_HASH_SIZE);
	cc_remote_name_of(&hash, name);
	status = upload_get(&pulling->link, cmn_view_of(name), cc_address_max_value(&pulling->setup->address),
			    &bytes);
	if (status == CMN_MISS) {
		pulling->gone++;
		status = CMN_OK;
	} else if (status == CMN_OK || status == CMN_ERR_TOO_LARGE) {
		if (status == CMN_OK)
			status = cc_remote_value_check(cmn_buffer_view(&bytes), pulling->setup->trust,
						       cmn_clock_realtime() / NS_PER_S, &value);
		if (status == CMN_OK)
			status = store(pulling, &value, wanted);
		else if (status == CMN_ERR_ACCESS)
			status = CMN_ERR_CORRUPT;	/* not of the root, which it means below */
		pulling->stored += status == CMN_OK;
		pulling->bytes += status == CMN_OK ? bytes.len : 0;
		pulling->refused += status == CMN_ERR_CORRUPT || status == CMN_ERR_VERSION;
		pulling->too_large += status == CMN_ERR_TOO_LARGE;
		if (status == CMN_ERR_CORRUPT || status == CMN_ERR_VERSION ||
		    status == CMN_ERR_TOO_LARGE)
			status = CMN_OK;
	}
	cmn_buffer_release(&bytes);
	return status;
}

static enum cmn_status pull_entries(struct pulling *pulling)
{
	const size_t count = count_of(&pulling->wanted);
	const uint8_t *hash = pulling->wanted.data;
	enum cmn_status status = CMN_OK;

	for (size_t i = 0; i < count && status == CMN_OK; i++, hash += CMN_HASH_SIZE) {
		terminal_progress("pull", i, count);
		if (i && compare(hash - CMN_HASH_SIZE, hash) == 0)
			continue;	/* two keys have listed it */
		if (has(&pulling->there, hash))
			pulling->had++;
		else
			status = pull_one(pulling, hash);
	}
	terminal_progress_hide();
	return status;
}

static int print_json(const struct pulling *pulling)
{
	struct json_object *object = json_new_object();

	json_add_number(object, "pulled", pulling->stored);
	json_add_number(object, "bytes", pulling->bytes);
	json_add_number(object, "there", pulling->had);
	json_add_number(object, "gone", pulling->gone);
	json_add_number(object, "refused", pulling->refused);
	json_add_number(object, "too_large", pulling->too_large);
	return json_print(object);
}

static int print_plain(const struct pulling *pulling)
{
	struct cmn_buffer text = { 0 };
	char size[TEXT_SIZE];

	cmn_buffer_printf(&text, "%" PRIu64 " entries, %s pulled; %" PRIu64 " there already",
			  pulling->stored, text_bytes(pulling->bytes, size), pulling->had);
	if (pulling->gone)
		cmn_buffer_printf(&text, ", %" PRIu64 " no longer on the server", pulling->gone);
	if (pulling->refused)
		cmn_buffer_printf(&text, ", %" PRIu64 " refused", pulling->refused);
	if (pulling->too_large)
		cmn_buffer_printf(&text, ", %" PRIu64 " over a size limit", pulling->too_large);
	cmn_buffer_append_u8(&text, '\n');
	return tool_print(&text);
}

static int pull(struct pulling *pulling, bool json)
{
	enum cmn_status status = find_there(pulling);
	bool refused;
	int code;

	if (status == CMN_OK)
		status = read_lists(pulling);
	if (status == CMN_OK)
		status = pull_entries(pulling);
	if (status != CMN_OK && pulling->link.problem[0])
		tool_complain("%s: %s", pulling->address, pulling->link.problem);
	else if (status != CMN_OK)
		(void)tool_fail(pulling->cache->config.dir, status);
	else if (!pulling->lists && !pulling->refused)
		tool_complain("%s: nobody whose entries are trusted here has pushed anything%s%s",
			      pulling->address, pulling->program ? " for " : "",
			      pulling->program ? pulling->program : "");
	refused = pulling->refused || pulling->too_large;
	if (pulling->refused)
		tool_complain("%s: %" PRIu64 " values were refused: not signed with a trusted key, or "
			      "damaged", pulling->address, pulling->refused);
	code = (json ? print_json : print_plain)(pulling);
	return status == CMN_OK && !refused ? code : TOOL_FAILED;
}

verb_function verb_pull;

int verb_pull(const struct arguments *arguments)
{
	struct pulling pulling = { .program = arguments_text(arguments, "program") };
	struct cc_remote_setup setup;
	struct tool_cache *cache = tool_open();
	int code = TOOL_FAILED;
	char *address;

	if (!tool_may_write(cache))
		return TOOL_FAILED;
	pulling.cache = cache;
	pulling.setup = &setup;
	pulling.address = address = tier_begin(cache, &setup);
	if (setup.reads) {
		upload_begin_to_get(&cache->config, &pulling.link);
		code = pull(&pulling, arguments_flag(arguments, "json"));
		upload_release(&pulling.link);
	} else {
		tool_complain("%s: this machine only writes there", address);
	}
	cmn_buffer_release(&pulling.there);
	cmn_buffer_release(&pulling.wanted);
	cc_remote_setup_release(&setup);
	free(address);
	return code;
}
