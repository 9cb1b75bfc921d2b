/* SPDX-License-Identifier: MIT */
/*
 * key_trust: one file of trusted keys, changed line by line under a lock on its
 * directory and replaced as a whole. Comments, and lines that are no key, stay.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "common/file.h"
#include "tools/key/key_verb.h"
#include "tools/memory.h"
#include "tools/tool.h"

struct wanted {
	struct cc_trust_key keys[CC_TRUST_MAX_KEYS];	/* to be trusted */
	bool done[CC_TRUST_MAX_KEYS];
	size_t count;
	const char *remove;	/* a name or a key; NULL: nothing */
};

struct edit {
	struct wanted *wanted;
	struct cmn_buffer text;		/* of the new file */
	struct cmn_buffer said;
	size_t keys;			/* in the new file */
	bool changed, removed;
};

/* The next line, without its end, which text then begins behind. false: no more. */
static bool next_line(struct cmn_view *text, struct cmn_view *ret)
{
	const char *at = text->data, *stop;

	if (!text->len)
		return false;
	stop = memchr(at, '\n', text->len);
	*ret = (struct cmn_view){ at, stop ? (size_t)(stop - at) : text->len };
	*text = (struct cmn_view){ at + ret->len + (stop != NULL), text->len - ret->len - (stop != NULL) };
	return true;
}

/* false: complained about. */
static bool want(struct wanted *wanted, const struct cc_trust_key *key)
{
	if (wanted->count == CC_TRUST_MAX_KEYS) {
		tool_complain("more than %d keys", CC_TRUST_MAX_KEYS);
		return false;
	}
	wanted->keys[wanted->count++] = *key;
	return true;
}

static bool want_lines(struct wanted *wanted, const char *file, struct cmn_view text)
{
	struct cmn_view line;

	for (unsigned int number = 1; next_line(&text, &line); number++) {
		struct cc_trust_key key;
		const char *problem;
		enum cmn_status status = cc_trust_key_parse(line, &problem, &key);

		if (status == CMN_ERR_INVALID)
			tool_complain("%s:%u: %s", file, number, problem);
		if (status == CMN_OK ? !want(wanted, &key) : status != CMN_MISS)
			return false;
	}
	return true;
}

/* A key in PEM, or lines. false: complained about. */
static bool want_file(struct wanted *wanted, const char *file, const char *name)
{
	struct cmn_buffer text;
	struct cc_trust_key key;
	enum cmn_status status = cmn_file_read(AT_FDCWD, file, CC_TRUST_MAX_FILE, true, &text);
	bool good;

	if (status != CMN_OK) {
		tool_complain("%s: %s", file, cmn_status_string(status));
		return false;
	}
	if (text.len && memmem(text.data, text.len, "-----BEGIN", strlen("-----BEGIN")))
		good = key_read(file, name, &key) && want(wanted, &key);
	else
		good = want_lines(wanted, file, cmn_buffer_view(&text));
	cmn_buffer_release(&text);
	if (good && !wanted->count)
		tool_complain("%s: there is no key in it", file);
	return good && wanted->count;
}

/* A line, or a file of either kind. false: complained about. */
static bool want_operand(struct wanted *wanted, const struct key_request *request)
{
	struct cc_trust_key key;
	const char *problem;
	enum cmn_status status = cc_trust_key_parse(cmn_view_of(request->operand), &problem, &key);

	if (status == CMN_OK)
		return want(wanted, &key);
	if (status == CMN_MISS || strncmp(request->operand, "ed25519 ", 8) != 0)
		return want_file(wanted, request->operand, request->name);
	tool_complain("\"%s\": %s", request->operand, problem);
	return false;
}

/* What is to be trusted. false: complained about. */
static bool read_wanted(struct wanted *wanted, const struct key_request *request)
{
	struct cc_trust_key key;

	if (!want_operand(wanted, request))
		return false;
	if (request->name && wanted->count > 1) {
		tool_complain("%s has %zu keys: --name is for one", request->operand,
			      wanted->count);
		return false;
	}
	if (request->name) {
		if (!key_of(wanted->keys[0].key, request->name, &key))
			return false;
		memcpy(wanted->keys[0].name, key.name, sizeof(key.name));
	}
	for (size_t i = 0; request->until && i < wanted->count; i++) {
		/* An empty date would be none. */
		if (!request->until[0] || cc_trust_key_set_until(&wanted->keys[i],
						cmn_view_of(request->until)) != CMN_OK) {
			tool_complain("--until: \"%s\" is no day: YYYY-MM-DD is expected",
				      request->until);
			return false;
		}
	}
	return true;
}

static void append_line(struct cmn_buffer *buf, const char *before, const struct cc_trust_key *key)
{
	cmn_buffer_append_text(buf, before);
	cc_trust_key_append(buf, key);
	cmn_buffer_append_u8(buf, '\n');
}

static bool is_to_go(const struct wanted *wanted, const struct cc_trust_key *key)
{
	char text[CC_TRUST_BASE64_SIZE];

	cc_trust_key_base64(key, text);
	return wanted->remove &&
	       (strcmp(wanted->remove, key->name) == 0 || strcmp(wanted->remove, text) == 0);
}

/* The number of the wanted key that is this one; the count: none is. */
static size_t find_wanted(const struct wanted *wanted, const struct cc_trust_key *key)
{
	size_t i = 0;

	while (i < wanted->count &&
	       memcmp(wanted->keys[i].key, key->key, sizeof(key->key)) != 0)
		i++;
	return i;
}

/* In the place of a line that has the same key; a second one is left out. */
static void replace_line(struct edit *edit, size_t i, const struct cc_trust_key *old)
{
	const struct cc_trust_key *key = &edit->wanted->keys[i];
	bool same = strcmp(old->name, key->name) == 0 && strcmp(old->until, key->until) == 0;

	edit->changed |= !same || edit->wanted->done[i];
	if (edit->wanted->done[i])
		return;
	edit->wanted->done[i] = true;
	edit->keys++;
	append_line(&edit->text, "", key);
	append_line(&edit->said, same ? "trusted already: " : "changed: ", key);
}

static void edit_line(struct edit *edit, struct cmn_view line)
{
	struct cc_trust_key key;
	const char *problem;
	bool is_key = cc_trust_key_parse(line, &problem, &key) == CMN_OK;
	size_t i = is_key ? find_wanted(edit->wanted, &key) : edit->wanted->count;

	if (is_key && is_to_go(edit->wanted, &key)) {
		edit->changed = edit->removed = true;
		append_line(&edit->said, "removed: ", &key);
	} else if (i < edit->wanted->count) {
		replace_line(edit, i, &key);
	} else {
		edit->keys += is_key;
		cmn_buffer_append(&edit->text, line.data, line.len);
		cmn_buffer_append_u8(&edit->text, '\n');
	}
}

static void add_rest(struct edit *edit)
{
	for (size_t i = 0; i < edit->wanted->count; i++) {
		const struct cc_trust_key *key = &edit->wanted->keys[i];

		/* A key that was given twice is wanted once. */
		if (edit->wanted->done[i] || find_wanted(edit->wanted, key) < i)
			continue;
		edit->changed = true;
		edit->keys++;
		append_line(&edit->text, "", key);
		append_line(&edit->said, "trusted: ", key);
	}
}

/* Under the lock. false: complained about. */
static bool change_file(int dir_fd, const char *path, const char *name, struct edit *edit)
{
	struct cmn_buffer old = { 0 };
	enum cmn_status status = cmn_file_read_into(dir_fd, name, CC_TRUST_MAX_FILE,
						    CMN_FILE_TRUSTED, NULL, &old);
	struct cmn_view view = cmn_buffer_view(&old), line;

	while (status == CMN_OK && next_line(&view, &line))
		edit_line(edit, line);
	cmn_buffer_release(&old);
	if (status == CMN_OK || status == CMN_MISS) {
		add_rest(edit);
		view = cmn_buffer_view(&edit->text);
		if (edit->text.failed)
			status = CMN_ERR_NOMEM;
		else if (edit->keys > CC_TRUST_MAX_KEYS || view.len > CC_TRUST_MAX_FILE)
			status = CMN_ERR_TOO_LARGE;
		else
			status = edit->changed ? cmn_file_publish(dir_fd, name, &view, 1) : CMN_OK;
	}
	if (status == CMN_ERR_TOO_LARGE)
		tool_complain("%s: it would have more than %d keys or %d bytes", path,
			      CC_TRUST_MAX_KEYS, CC_TRUST_MAX_FILE);
	else if (status == CMN_ERR_ACCESS)
		tool_complain("%s: it cannot be changed, or others may write to it", path);
	else if (status != CMN_OK)
		tool_complain("%s: %s", path, cmn_status_string(status));
	return status == CMN_OK;
}

/* Made if it is not there. false: complained about. */
static bool open_directory(const char *directory, bool system, int *ret_fd)
{
	const char *reason = NULL;
	int fd = -1;
	enum cmn_status status = system ? cmn_file_make_dir(AT_FDCWD, directory, 0755)
					: cmn_file_make_dirs(directory, 0700);

	if (status == CMN_OK)
		status = cc_root_check(directory, CC_ROOT_TIER, &reason);
	if (status == CMN_OK) {
		reason = NULL;
		status = cc_root_open_as(directory, CC_ROOT_TIER, &fd);
	}
	if (status == CMN_OK) {
		status = cmn_file_lock(fd, tool_lock_until());
		if (status == CMN_OK) {
			*ret_fd = fd;
			return true;
		}
		(void)close(fd);	/* a directory: nothing to be lost */
	}
	tool_complain("%s: %s", directory, reason ? reason : cmn_status_string(status));
	return false;
}

/* The exit code. */
static int change(const char *path, bool system, struct wanted *wanted)
{
	struct edit edit = { .wanted = wanted };
	const char *slash = strrchr(path, '/');
	char *directory = memory_copy_view((struct cmn_view){ path, (size_t)(slash - path) });
	int dir_fd, code = TOOL_FAILED;
	bool changed;

	if (!open_directory(directory, system, &dir_fd))
		goto out;
	changed = change_file(dir_fd, path, slash + 1, &edit);
	cc_root_unlock(dir_fd);
	if (!changed)
		goto out;
	if (wanted->remove && !edit.removed) {
		tool_complain("%s: no key in it is \"%s\"", path, wanted->remove);
		goto out;
	}
	cmn_buffer_printf(&edit.said, "in %s\n", path);
	code = tool_print(&edit.said);
out:
	cmn_buffer_release(&edit.text);
	cmn_buffer_release(&edit.said);
	free(directory);
	return code;
}

int key_trust(const struct key_request *request)
{
	struct wanted wanted = { .remove = request->remove };
	char *path = NULL;
	int code = TOOL_FAILED;

	if (!request->remove && !read_wanted(&wanted, request))
		return TOOL_FAILED;
	if (!request->system && cc_trust_user_file(&path) != CMN_OK)
		memory_end();
	if (request->system || path)
		code = change(path ? path : CC_TRUST_SYSTEM_FILE, request->system, &wanted);
	else
		tool_complain("neither XDG_CONFIG_HOME nor HOME names a directory of this user");
	free(path);
	return code;
}
