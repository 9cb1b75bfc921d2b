/* SPDX-License-Identifier: MIT */
/*
 * import: a bundle's entries into the root. The bundle is read twice: first to its end,
 * so that nothing is used of one that was cut or damaged, or has an entry that no given
 * key has signed; then entry by entry. The file may change in between, so each entry is
 * checked again, decoded as a look-up does it, and stored as if it had been built here:
 * its key alone says where.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "common/clock.h"
#include "tools/arguments.h"
#include "tools/bundle/bundle.h"
#include "tools/json_output.h"
#include "tools/key/key_file.h"
#include "tools/memory.h"
#include "tools/text.h"
#include "tools/tool.h"

#define NS_PER_S UINT64_C(1000000000)

struct importing {
	const struct tool_cache *cache;
	const char *file;		/* as given */
	const struct cc_trust *trust;	/* NULL: any signer's entries, and nobody's */
	uint64_t now;			/* in seconds */
	struct bundle_reader reader;
	uint64_t count;			/* of all entries */
	bool has_unsigned;
	unsigned long long stored, there;
	unsigned long long damaged, foreign, too_large;	/* refused */
};

static enum cmn_status next_value(struct importing *importing, struct cc_remote_value *ret)
{
	return bundle_reader_next(&importing->reader, importing->trust, importing->now, ret);
}

/* The first reading, to the end. false: it is not to be used, complained about. */
static bool examine(struct importing *importing, int fd, uint64_t size)
{
	const struct bundle_state *state = &importing->reader.state;
	struct cc_remote_value value = { 0 };
	enum cmn_status status = bundle_reader_begin(&importing->reader, fd, size);

	while (status == CMN_OK) {
		terminal_progress("import, reading", state->bytes, size);
		status = next_value(importing, &value);
		importing->has_unsigned |= status == CMN_OK && !value.key_id;
	}
	importing->count = state->count;
	if (status == CMN_ERR_CORRUPT)
		tool_complain("%s: not a bundle, or a damaged or incomplete one", importing->file);
	else if (status == CMN_ERR_VERSION)
		tool_complain("%s: a bundle of another format version", importing->file);
	else if (status == CMN_ERR_ACCESS)
		tool_complain("%s: entry %" PRIu64 ": %s; nothing was imported", importing->file,
			      state->count, cc_remote_refusal_string(value.refusal));
	else if (status != CMN_MISS)
		tool_complain("%s: %s", importing->file, cmn_status_string(status));
	else if (!importing->trust && importing->count)
		tool_complain("%s: %s: nobody vouches for its entries, which are code that will run",
			      importing->file, importing->has_unsigned ? "it is not signed"
			      : "its signatures were not checked (--verify)");
	return status == CMN_MISS;
}

static bool is_equal(int entry_dir_fd, unsigned int n, enum cmn_file_trust trust,
		     const struct cc_src *src, const struct cc_entry *entry)
{
	struct cmn_buffer file = { 0 };
	struct cc_entry *other = NULL;
	struct cc_src found;
	bool equal;

	equal = cc_entry_dir_read_src(entry_dir_fd, n, trust, &file, &found) == CMN_OK &&
		cmn_view_equal(found.key, src->key) &&
		cmn_hash_equal(&found.hash, &src->hash) &&
		cmn_view_equal(found.manifest, src->manifest) &&
		cc_entry_dir_read_bin(entry_dir_fd, NULL, n, trust, src, NULL, NULL, &other) == CMN_OK &&
		cmn_view_equal(cc_entry_payload(other), cc_entry_payload(entry));
	cc_entry_unref(other);
	cmn_buffer_release(&file);
	return equal;
}

/* Whether the root has this very entry; where it cannot tell it is stored again. */
static bool has_entry(const struct cc_store *store, struct cmn_view src_file,
		      const struct cc_entry *entry)
{
	char path[CC_ENTRY_DIR_PATH_SIZE];
	int root_fd, entry_dir_fd;
	uint64_t entries;
	struct cc_src src;
	bool has = false;

	if (cc_src_file_decode(src_file, &src) != CMN_OK ||
	    cc_root_open(cc_store_root(store), &root_fd) != CMN_OK)
		return false;
	cc_entry_dir_path(src.key, path);
	if (cc_entry_dir_open(root_fd, path, &entry_dir_fd) == CMN_OK) {
		for (entries = tool_entries_in(entry_dir_fd); entries && !has;)
			has = is_equal(entry_dir_fd, tool_next_entry(&entries), cc_store_trust(store), &src,
				       entry);
		(void)close(entry_dir_fd);	/* read only */
	}
	(void)close(root_fd);	/* read only */
	return has;
}

/* Anything but CMN_OK ends the import: it would befall the others too. */
static enum cmn_status import_entry(struct importing *importing, struct cmn_view src)
{
	struct cc_entry *entry;
	struct cc_key key;
	enum cmn_status status = cc_remote_files_decode(src, &importing->reader.bin, &key, &entry);

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
	else if (status == CMN_ERR_VERSION || status == CMN_MISS)
		importing->foreign++;
	else if (status == CMN_ERR_TOO_LARGE)
		importing->too_large++;
	else
		return status;
	return CMN_OK;
}

/* The second reading. false: complained about. */
static bool import_entries(struct importing *importing, int fd, uint64_t size)
{
	enum cmn_status status = bundle_reader_begin(&importing->reader, fd, size), stored = CMN_OK;
	struct cc_remote_value value;

	while (status == CMN_OK && stored == CMN_OK) {
		terminal_progress("import", importing->reader.state.count, importing->count);
		status = next_value(importing, &value);
		if (status == CMN_OK)
			stored = import_entry(importing, value.src);
	}
	if (stored != CMN_OK)
		(void)tool_fail(importing->cache->config.dir, stored);
	else if (status == CMN_ERR_NOMEM || status == CMN_ERR_IO)
		tool_complain("%s: %s", importing->file, cmn_status_string(status));
	else if (status != CMN_MISS)
		tool_complain("%s: it changed during the import; the rest is not imported",
			      importing->file);
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

static int import_file(const struct tool_cache *cache, const char *file,
		       const struct cc_trust *trust, bool json)
{
	struct importing importing = {
		.cache = cache, .file = file, .trust = trust,
		.now = cmn_clock_realtime() / NS_PER_S,
	};
	int code = TOOL_FAILED;
	uint64_t size;
	int fd = bundle_file_open(file, &size);

	if (fd < 0)
		return TOOL_FAILED;
	if (examine(&importing, fd, size) && root_is_writable(cache)) {
		bundle_reader_release(&importing.reader);
		code = report(&importing, import_entries(&importing, fd, size), json);
	}
	bundle_reader_release(&importing.reader);
	(void)close(fd);	/* read only */
	return code;
}

/* The keys of --verify; *ret is NULL where there are none. false: complained about. */
static bool read_keys(const struct arguments *arguments, struct cc_trust **ret)
{
	struct cc_trust_key keys[CC_TRUST_MAX_KEYS];
	const char *file;
	size_t at = 0, count = 0;

	while ((file = arguments_next(arguments, "verify", &at))) {
		if (count == CC_TRUST_MAX_KEYS) {
			tool_complain("--verify: more than %d keys", CC_TRUST_MAX_KEYS);
			return false;
		}
		keys[count] = (struct cc_trust_key){ .end = UINT64_MAX };
		if (!key_file_read_public(file, keys[count++].key))
			return false;
	}
	*ret = NULL;
	if (count && cc_trust_of(keys, count, ret) != CMN_OK)
		memory_end();
	return true;
}

verb_function verb_import;

int verb_import(const struct arguments *arguments)
{
	static struct cc_trust *trust;	/* until the command ends */

	if (!read_keys(arguments, &trust))
		return TOOL_FAILED;
	return import_file(tool_open(), arguments->operand, trust, arguments_flag(arguments, "json"));
}
