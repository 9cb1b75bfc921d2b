/* SPDX-License-Identifier: MIT */
/*
 * push_pull: push uploads the root's entries now, and stores a list of their names; who pushes with the same key
 * adds to one list. pull stores in the root what push has listed and the root does not have. Each value is
 * checked as a look-up checks it, its signature first; its own key says where it belongs, and must be the one
 * that was asked for.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/disk/entry_dir_walk.h"
#include "cachecore/disk/root.h"
#include "cachecore/record/recorder.h"
#include "cachecore/remote/helper.h"
#include "cachecore/remote/index.h"
#include "cachecore/remote/uploads.h"
#include "cachecore/remote/value.h"
#include "common/clock.h"
#include "tools/arguments.h"
#include "tools/explain/run_history.h"
#include "tools/json_output.h"
#include "tools/memory.h"
#include "tools/remote/remote.h"
#include "tools/text.h"
#include "tools/tool.h"

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, CMN_HASH_SIZE);
}

/* So many that the server refuses one after the other say that it is not about them. */
#define MOST_REFUSED 3

/* Whether only this one was refused, with a reason; counts those in a row. */
static bool may_go_on(const struct upload *upload, enum cmn_status status, unsigned int *row)
{
	*row = status == CMN_ERR_IO && upload->helper.message[0] ? *row + 1 : 0;
	return *row && *row < MOST_REFUSED;
}

/* ---- pull ---- */

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
	unsigned int row = 0;

	for (size_t i = 0; i < count && status == CMN_OK; i++, hash += CMN_HASH_SIZE) {
		terminal_progress("pull", i, count);
		if (i && compare(hash - CMN_HASH_SIZE, hash) == 0)
			continue;	/* two keys have listed it */
		if (has(&pulling->there, hash)) {
			pulling->had++;
			continue;
		}
		status = pull_one(pulling, hash);
		if (may_go_on(&pulling->link, status, &row)) {
			pulling->refused++;
			status = CMN_OK;
		}
	}
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
		tool_complain("%s: %" PRIu64 " values were refused: not signed with a trusted key, "
			      "damaged, or not given by the server", pulling->address, pulling->refused);
	code = (json ? print_json : print_plain)(pulling);
	return status == CMN_OK && !refused ? code : TOOL_FAILED;
}

verb_function verb_pull;

int verb_pull(const struct arguments *arguments)
{
	static struct pulling pulling;	/* until the command ends, as all */
	static struct cc_remote_setup setup;
	struct tool_cache *cache = tool_open();
	int code = TOOL_FAILED;

	if (!tool_may_write(cache))
		return TOOL_FAILED;
	pulling.program = arguments_text(arguments, "program");
	pulling.cache = cache;
	pulling.setup = &setup;
	pulling.address = tier_begin(cache, &setup);
	if (setup.reads) {
		upload_begin_to_get(&cache->config, &pulling.link);
		code = pull(&pulling, arguments_flag(arguments, "json"));
		upload_release(&pulling.link);
	} else {
		tool_complain("%s: this machine only writes there", pulling.address);
	}
	cc_remote_setup_release(&setup);
	return code;
}

/* ---- push ---- */

typedef char entry_dir_path[CC_ENTRY_DIR_PATH_SIZE];

struct pushing {
	struct upload upload;
	const char *address;
	entry_dir_path *entry_dirs;
	size_t count;
	const char *program;	/* NULL: all entries */
	const struct run_history *history;
	struct cmn_buffer hashes;	/* of what was uploaded, then of what was listed before */
	uint64_t left_out;
};

static enum cmn_status add_entry_dir(void *ctx, int root_fd, const char *path, int entry_dir_fd)
{
	struct pushing *pushing = ctx;

	(void)root_fd;
	if (!tool_entries_in(entry_dir_fd))
		return CMN_OK;	/* removed meanwhile, or empty */
	if (pushing->program && !run_history_came_for(pushing->history, path, pushing->program))
		return CMN_OK;
	memory_grow(pushing->entry_dirs, pushing->count);
	memcpy(pushing->entry_dirs[pushing->count++], path, CC_ENTRY_DIR_PATH_SIZE);
	return CMN_OK;
}

/* However often it was refused before. */
static void forget_note(int uploads_fd, const char *entry_dir)
{
	for (int i = CC_UPLOADS_FRESH; i <= CC_UPLOADS_MAX_REFUSALS; i++)
		(void)!cc_uploads_remove(uploads_fd, entry_dir, i);	/* then it is uploaded once more */
}

static enum cmn_status push_entry_dirs(struct pushing *pushing, int root_fd)
{
	enum cmn_status status = CMN_OK;
	unsigned int row = 0;
	int uploads_fd = -1;

	if (cc_uploads_open(root_fd, &uploads_fd) != CMN_OK)
		uploads_fd = -1;
	for (size_t i = 0; i < pushing->count && status == CMN_OK; i++) {
		terminal_progress("push", i, pushing->count);
		status = upload_entry_dir(&pushing->upload, root_fd, pushing->entry_dirs[i]);
		if (status == CMN_OK) {
			cmn_buffer_append(&pushing->hashes, pushing->upload.last.bytes, CMN_HASH_SIZE);
			if (uploads_fd >= 0)
				forget_note(uploads_fd, pushing->entry_dirs[i]);
		}
		if (may_go_on(&pushing->upload, status, &row) || status == CMN_MISS) {
			pushing->left_out++;
			status = CMN_OK;
		}
	}
	/* A server that has taken nothing may be away. */
	if (status == CMN_OK && row && !pushing->upload.count)
		status = CMN_ERR_IO;
	if (uploads_fd >= 0)
		(void)close(uploads_fd);	/* a directory: nothing to be lost */
	cc_uploads_tidy(root_fd);
	return status;
}

/* Adds the old list's hashes that are not among the new ones, up to the bound. */
static void add_old(struct cmn_buffer *hashes, struct cmn_view old)
{
	const size_t count = count_of(hashes);
	const uint8_t *at = old.data;

	sort(hashes);
	for (size_t i = 0; i < old.len / CMN_HASH_SIZE; i++, at += CMN_HASH_SIZE) {
		if (count_of(hashes) < CC_INDEX_MAX_COUNT &&
		    !bsearch(at, hashes->data, count, CMN_HASH_SIZE, compare))
			cmn_buffer_append(hashes, at, CMN_HASH_SIZE);
	}
}

/* A copy of the new hashes, and those of the list that this key has signed before. */
static enum cmn_status merge(struct pushing *pushing, struct cmn_view name,
			     struct cmn_buffer *ret_hashes)
{
	const struct cc_signer *signer = pushing->upload.signer;
	struct cmn_buffer old = { 0 };
	struct cmn_view hashes;
	enum cmn_status status;
	size_t len = pushing->hashes.len;

	if (len > (size_t)CC_INDEX_MAX_COUNT * CMN_HASH_SIZE)
		len = (size_t)CC_INDEX_MAX_COUNT * CMN_HASH_SIZE;
	cmn_buffer_append(ret_hashes, pushing->hashes.data, len);
	status = upload_get(&pushing->upload, name, CC_INDEX_MAX_SIZE, &old);
	/* What is no list of this key's is replaced. */
	if (status == CMN_OK &&
	    cc_index_check(cmn_buffer_view(&old), signer ? cc_signer_public(signer) : NULL,
			   &hashes) == CMN_OK)
		add_old(ret_hashes, hashes);
	if (ret_hashes->failed)
		memory_end();
	cmn_buffer_release(&old);
	return status == CMN_MISS || status == CMN_ERR_TOO_LARGE ? CMN_OK : status;
}

/* Lists what was uploaded, for all or for a program. Another push with the same key waits meanwhile. */
static enum cmn_status push_index(struct pushing *pushing, const char *program)
{
	const struct cc_signer *signer = pushing->upload.signer;
	uint8_t header[CC_SEAL_HEADER_SIZE];
	struct cmn_buffer hashes = { 0 };
	char name[CC_INDEX_NAME_SIZE];
	enum cmn_status status;

	cc_index_name(signer ? signer->key_id : NULL, program, name);
	upload_lock(&pushing->upload, name);
	status = merge(pushing, cmn_view_of(name), &hashes);
	if (status == CMN_OK)
		status = cc_index_make(cmn_buffer_view(&hashes), signer, header);
	if (status == CMN_OK) {
		const struct cmn_view views[] = {
			{ header, sizeof(header) }, cmn_buffer_view(&hashes),
		};

		status = upload_value(&pushing->upload, cmn_view_of(name), views, 2);
	}
	upload_unlock(&pushing->upload, name);
	cmn_buffer_release(&hashes);
	return status;
}

static enum cmn_status push_root(struct pushing *pushing, const char *root)
{
	enum cmn_status status;
	int root_fd;

	status = cc_root_open(root, &root_fd);
	if (status != CMN_OK)
		return status == CMN_MISS ? CMN_OK : status;	/* nothing was stored in it yet */
	status = cc_entry_dir_walk(root_fd, false, add_entry_dir, pushing);
	if (status == CMN_OK)
		status = push_entry_dirs(pushing, root_fd);
	(void)close(root_fd);	/* read only */
	if (pushing->hashes.failed)
		memory_end();
	/* What was uploaded before a failure is found by look-ups, not by pull. */
	if (status == CMN_OK && pushing->hashes.len)
		status = push_index(pushing, NULL);
	if (status == CMN_OK && pushing->hashes.len && pushing->program)
		status = push_index(pushing, pushing->program);
	return status;
}

static int report(const struct pushing *pushing, bool complete, bool json)
{
	const struct upload *upload = &pushing->upload;
	struct cmn_buffer text = { 0 };
	char size[TEXT_SIZE];
	int code;

	if (pushing->left_out)
		tool_complain("left out: %" PRIu64 " entries that are damaged or of another version, "
			      "tell of builds that failed, or that the server did not want", pushing->left_out);
	if (json) {
		struct json_object *object = json_new_object();

		json_add_number(object, "uploaded", upload->count);
		json_add_number(object, "bytes", upload->bytes);
		json_add_number(object, "left_out", pushing->left_out);
		code = json_print(object);
	} else {
		cmn_buffer_printf(&text, "%" PRIu64 " entries, %s uploaded\n", upload->count,
				  text_bytes(upload->bytes, size));
		code = tool_print(&text);
	}
	return complete ? code : TOOL_FAILED;
}

static int push(const struct tool_cache *cache, const struct cc_remote_setup *setup,
		struct pushing *pushing, bool json)
{
	enum cmn_status status = CMN_OK;
	const char *problem;

	if (!upload_begin(&cache->config, setup, &pushing->upload))
		return TOOL_FAILED;
	if (pushing->program)
		status = run_history_load(cache->store, &pushing->history);
	if (status == CMN_OK)
		status = push_root(pushing, cache->config.dir);
	problem = pushing->upload.problem[0] ? pushing->upload.problem : cmn_status_string(status);
	if (status != CMN_OK)
		tool_complain("%s: %s", pushing->address, problem);
	return report(pushing, status == CMN_OK, json);
}

verb_function verb_push;

int verb_push(const struct arguments *arguments)
{
	static struct pushing pushing = { .upload.helper.fd = -1 };	/* until the command ends, as all */
	struct cc_remote_setup setup;
	struct tool_cache *cache = tool_open();
	int code;

	pushing.program = arguments_text(arguments, "program");
	pushing.address = tier_begin(cache, &setup);
	code = push(cache, &setup, &pushing, arguments_flag(arguments, "json"));
	upload_release(&pushing.upload);
	cc_remote_setup_release(&setup);
	return code;
}
