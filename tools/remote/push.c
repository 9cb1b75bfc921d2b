/* SPDX-License-Identifier: MIT */
/*
 * push: uploads the root's entries now, and stores a list of their names, which
 * pull reads. Who pushes with the same key adds to one list.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/disk/entry_dir_walk.h"
#include "cachecore/disk/root.h"
#include "cachecore/remote/index.h"
#include "cachecore/remote/uploads.h"
#include "tools/arguments.h"
#include "tools/explain/run_history.h"
#include "tools/json_output.h"
#include "tools/memory.h"
#include "tools/remote/tier.h"
#include "tools/remote/upload.h"
#include "tools/text.h"
#include "tools/tool.h"

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
		} else if (status == CMN_MISS) {
			pushing->left_out++;
			status = CMN_OK;
		}
	}
	terminal_progress_hide();
	if (uploads_fd >= 0)
		(void)close(uploads_fd);	/* a directory: nothing to be lost */
	return status;
}

static int compare_hashes(const void *a, const void *b)
{
	return memcmp(a, b, CMN_HASH_SIZE);
}

/* Adds the old list's hashes that are not among the new ones, up to the bound. */
static void add_old(struct cmn_buffer *hashes, struct cmn_view old)
{
	const size_t count = hashes->len / CMN_HASH_SIZE;
	void *sorted = (void *)memory_copy_bytes(cmn_buffer_view(hashes)).data;
	const uint8_t *at = old.data;

	qsort(sorted, count, CMN_HASH_SIZE, compare_hashes);
	for (size_t i = 0; i < old.len / CMN_HASH_SIZE; i++, at += CMN_HASH_SIZE) {
		if (hashes->len / CMN_HASH_SIZE < CC_INDEX_MAX_COUNT &&
		    !bsearch(at, sorted, count, CMN_HASH_SIZE, compare_hashes))
			cmn_buffer_append(hashes, at, CMN_HASH_SIZE);
	}
	free(sorted);
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
	struct pushing pushing = { .program = arguments_text(arguments, "program"),
				   .upload.helper.fd = -1 };
	struct cc_remote_setup setup;
	struct tool_cache *cache = tool_open();
	char *address;
	int code;

	pushing.address = address = tier_begin(cache, &setup);
	code = push(cache, &setup, &pushing, arguments_flag(arguments, "json"));
	upload_release(&pushing.upload);
	cc_remote_setup_release(&setup);
	free(address);
	cmn_buffer_release(&pushing.hashes);
	free(pushing.entry_dirs);
	return code;
}
