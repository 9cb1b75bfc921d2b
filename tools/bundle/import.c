/* SPDX-License-Identifier: MIT */
/*
 * import: a bundle's entries into the root, after the whole bundle was found
 * sound and, where keys are given, signed with one of them. Each entry is
 * decoded as a look-up does it and stored as if it had been built here: its
 * key alone says where.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "tools/arguments.h"
#include "tools/bundle/import_source.h"
#include "tools/bundle/seal.h"
#include "tools/json_output.h"
#include "tools/terminal.h"
#include "tools/tool.h"

struct keys {
	struct signature_key **list;
	size_t count;
};

struct importing {
	const struct tool_cache *cache;
	struct import_source source;
	unsigned long long stored, there;
	unsigned long long damaged, foreign, too_large;	/* refused */
};

/* Enough of a key's hash to know it by. */
static void format_key(const uint8_t hash[SIGNATURE_DIGEST_SIZE], struct cmn_buffer *text)
{
	for (size_t i = 0; i < 8; i++)
		cmn_buffer_printf(text, "%02x", hash[i]);
	cmn_buffer_append_u8(text, '\0');
}

static void complain_of_key(const char *file, const char *format_text,
			    const struct cc_bundle_signature *signature)
{
	struct cmn_buffer text = { 0 };

	format_key(signature->key_hash, &text);
	tool_complain("%s: signed with the key %s..., %s", file,
		      text.failed ? "?" : (const char *)text.data, format_text);
	cmn_buffer_release(&text);
}

/* false: none of the keys vouches for it, complained about. */
static bool check_seal(const char *file, const struct import_seal *seal, const struct keys *keys)
{
	if (!keys->count && !seal->is_signed) {
		tool_complain("%s: it is not signed: nobody vouches for its entries, which are "
			      "code that will run", file);
		return true;
	}
	if (!keys->count) {
		complain_of_key(file, "which was not checked: nobody vouches for its entries, "
				"which are code that will run", &seal->signature);
		return true;
	}
	if (!seal->is_signed) {
		tool_complain("%s: it is not signed; nothing was imported", file);
		return false;
	}
	for (size_t i = 0; i < keys->count; i++) {
		if (memcmp(signature_key_hash(keys->list[i]), seal->signature.key_hash,
			   sizeof(seal->signature.key_hash)) != 0)
			continue;
		if (seal_holds(keys->list[i], seal->digest, &seal->signature))
			return true;
		tool_complain("%s: the signature is wrong; nothing was imported", file);
		return false;
	}
	complain_of_key(file, "which is none of those given; nothing was imported",
			&seal->signature);
	return false;
}

static bool is_equal(int leaf_fd, unsigned int n, enum cmn_file_trust trust,
		     const struct cc_src *src, const struct cc_entry *entry)
{
	struct cmn_buffer file = { 0 };
	struct cc_entry *other = NULL;
	struct cc_src found;
	bool equal;

	equal = cc_leaf_read_src(leaf_fd, n, trust, &file, &found) == CMN_OK &&
		cmn_view_equal(found.key, src->key) &&
		cmn_hash_equal(&found.hash, &src->hash) &&
		cmn_view_equal(found.manifest, src->manifest) &&
		cc_leaf_read_bin(leaf_fd, NULL, n, trust, src, NULL, NULL, &other) == CMN_OK &&
		cmn_view_equal(cc_entry_payload(other), cc_entry_payload(entry));
	cc_entry_unref(other);
	cmn_buffer_release(&file);
	return equal;
}

/* Whether the root has this very entry; where it cannot tell it is stored again. */
static bool has_entry(const struct cc_store *store, struct cmn_view src_file,
		      const struct cc_entry *entry)
{
	char path[CC_LEAF_PATH_SIZE];
	struct cc_leaf_scan scan;
	int root_fd, leaf_fd;
	struct cc_src src;
	bool has = false;

	if (cc_src_file_decode(src_file, &src) != CMN_OK ||
	    cc_root_open(cc_store_root(store), &root_fd) != CMN_OK)
		return false;
	cc_leaf_path(src.key, path);
	if (cc_leaf_open(root_fd, path, &leaf_fd) == CMN_OK) {
		if (cc_leaf_scan(leaf_fd, &scan) != CMN_OK)
			scan = (struct cc_leaf_scan){ 0 };
		for (unsigned int n = 0; n < CC_LEAF_VARIANTS && !has; n++)
			has = scan.present[CC_LEAF_SRC] >> n & 1 &&
			      is_equal(leaf_fd, n, cc_store_trust(store), &src, entry);
		(void)close(leaf_fd);	/* read only */
	}
	(void)close(root_fd);	/* read only */
	return has;
}

/* Anything but CMN_OK ends the import: it would befall the others too. */
static enum cmn_status import_entry(struct importing *importing, struct cmn_view src,
				    struct cmn_buffer *bin)
{
	struct cc_entry *entry;
	struct cc_key key;
	enum cmn_status status = cc_bundle_decode(src, bin, &key, &entry);

	if (status == CMN_OK) {
		if (has_entry(importing->cache->store, src, entry)) {
			importing->there++;
		} else {
			status = cc_store_put(importing->cache->store, &key, entry);
			importing->stored += status == CMN_OK;
		}
		cc_entry_unref(entry);
		cc_key_release(&key);
	}
	if (status == CMN_ERR_CORRUPT)
		importing->damaged++;
	else if (status == CMN_ERR_VERSION)
		importing->foreign++;
	else if (status == CMN_ERR_TOO_LARGE)
		importing->too_large++;
	else
		return status;
	return CMN_OK;
}

/* false: complained about. */
static bool import_entries(struct importing *importing)
{
	struct cmn_buffer src = { 0 }, bin = { 0 };
	enum cmn_status status, stored = CMN_OK;

	do {
		terminal_progress("import", importing->source.next, importing->source.count);
		status = import_source_next(&importing->source, &src, &bin);
		if (status == CMN_OK)
			stored = import_entry(importing, cmn_buffer_view(&src), &bin);
	} while (status == CMN_OK && stored == CMN_OK);
	terminal_progress_hide();
	cmn_buffer_release(&src);
	cmn_buffer_release(&bin);
	if (stored != CMN_OK)
		tool_complain("%s: %s", importing->cache->config.dir, cmn_status_string(stored));
	else if (status == CMN_STALE)
		tool_complain("%s: it changed during the import; the rest is not imported",
			      importing->source.file);
	else if (status != CMN_MISS)
		tool_complain("%s: %s", importing->source.file, cmn_status_string(status));
	return stored == CMN_OK && status == CMN_MISS;
}

static void append_reason(struct cmn_buffer *text, const char *reason, unsigned long long count,
			  const char **separator)
{
	if (!count)
		return;
	cmn_buffer_printf(text, "%s%llu %s", *separator, count, reason);
	*separator = ", ";
}

static void append_plain(struct cmn_buffer *text, const struct importing *importing,
			 unsigned long long refused)
{
	const char *separator = " (";

	cmn_buffer_printf(text, "%llu entries imported, %llu there already, %llu refused",
			  importing->stored, importing->there, refused);
	append_reason(text, "damaged", importing->damaged, &separator);
	append_reason(text, "of another version", importing->foreign, &separator);
	append_reason(text, "over a size limit", importing->too_large, &separator);
	cmn_buffer_append_text(text, refused ? ")\n" : "\n");
}

/* The exit code: an import that leaves out something has failed. */
static int report(const struct importing *importing, bool complete, bool json)
{
	unsigned long long refused = importing->damaged + importing->foreign +
				     importing->too_large;
	struct cmn_buffer text = { 0 };
	int code;

	if (json) {
		struct json_object *object = json_new_object();

		json_add_number(object, "imported", importing->stored);
		json_add_number(object, "there", importing->there);
		json_add_number(object, "damaged", importing->damaged);
		json_add_number(object, "foreign", importing->foreign);
		json_add_number(object, "too_large", importing->too_large);
		code = json_print(object);
	} else {
		append_plain(&text, importing, refused);
		code = tool_print(&text);
	}
	return complete && !refused ? code : TOOL_FAILED;
}

/* So that what keeps us out of it is said clearly, before the first entry. One that is not there the store makes. */
static bool root_is_writable(const struct tool_cache *cache)
{
	const char *dir = cache->config.dir;
	enum cmn_status status;
	int fd = -1;

	if (!tool_may_write(cache))
		return false;
	status = cc_root_open(dir, &fd);
	if (status == CMN_OK) {
		if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
			status = CMN_ERR_ACCESS;
		(void)close(fd);	/* a directory: nothing to be lost */
	}
	if (status == CMN_OK || status == CMN_MISS)
		return true;
	tool_complain("%s: it cannot be written: %s", dir, cmn_status_string(status));
	return false;
}

static int import_file(const struct tool_cache *cache, const char *file, const struct keys *keys,
		       bool json)
{
	struct importing importing = { .cache = cache };
	struct import_seal seal;
	int code = TOOL_FAILED;

	if (!import_source_open(file, &importing.source))
		return TOOL_FAILED;
	if (import_source_examine(&importing.source, &seal) && check_seal(file, &seal, keys) &&
	    root_is_writable(cache))
		code = report(&importing, import_entries(&importing), json);
	import_source_close(&importing.source);
	return code;
}

/* false: complained about. */
static bool add_key(struct keys *keys, const char *path)
{
	struct signature_key **list = reallocarray(keys->list, keys->count + 1, sizeof(*list));

	if (!list) {
		tool_complain("out of memory");
		return false;
	}
	keys->list = list;
	list[keys->count] = signature_key_read_public(path);
	if (!list[keys->count])
		return false;
	keys->count++;
	return true;
}

verb_function verb_import;

int verb_import(const struct arguments *arguments)
{
	struct keys keys = { 0 };
	struct tool_cache cache;
	const char *file;
	size_t at = 0;
	int code = TOOL_FAILED;

	while ((file = arguments_next(arguments, "verify", &at))) {
		if (!add_key(&keys, file))
			goto out;
	}
	if (tool_open(&cache)) {
		code = import_file(&cache, arguments->operand, &keys,
				   arguments_flag(arguments, "json"));
		tool_close(&cache);
	}
out:
	for (size_t i = 0; i < keys.count; i++)
		signature_key_free(keys.list[i]);
	free(keys.list);
	return code;
}
