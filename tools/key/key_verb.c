/* SPDX-License-Identifier: MIT */
/*
 * key_verb: finds the action; makes a private key, in a file of its own, and shows public ones; trusts keys;
 * knows how a key gets its name.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cachecore/config.h"
#include "cachecore/disk/root.h"
#include "cachecore/remote/remote.h"
#include "cachecore/remote/trust.h"
#include "common/file.h"
#include "tools/arguments.h"
#include "tools/json_output.h"
#include "tools/key/key_file.h"
#include "tools/memory.h"
#include "tools/tool.h"

#define DAY_SECONDS 86400

struct key_request {
	const char *operand;	/* a file, or for trust a line; NULL: none */
	const char *name;	/* NULL: not given */
	const char *until;	/* the same */
	const char *remove;	/* the same */
	bool system, json;
};

/* Where the user's own private key is; the caller frees it. NULL: nowhere, complained about. */
static char *own_file(void)
{
	char *path = NULL;
	enum cmn_status status = cc_config_user_path("signing_key.pem", &path);

	if (status != CMN_OK)
		tool_complain("%s", cmn_status_string(status));
	else if (!path)
		tool_complain("neither XDG_CONFIG_HOME nor HOME names a directory of this user");
	return path;
}

/* Without what a line cannot have. */
static void name_user(struct cc_trust_key *key)
{
	const struct passwd *user = getpwuid(geteuid());
	char host[256] = "", name[CC_TRUST_MAX_NAME + 1];

	(void)gethostname(host, sizeof(host) - 1);	/* else without it */
	(void)snprintf(name, sizeof(name), "%s@%s", user ? user->pw_name : "user", host);
	if (cc_trust_key_set_name(key, cmn_view_of(name)) != CMN_OK)
		(void)snprintf(key->name, sizeof(key->name), "user");	/* it fits */
}

/* The key of 32 bytes as a line has it, with user@host if name is NULL. false: complained about. */
static bool key_of(const uint8_t bytes[CC_SODIUM_KEY_SIZE], const char *name, struct cc_trust_key *ret)
{
	struct cc_trust_key key = { .end = UINT64_MAX };

	memcpy(key.key, bytes, sizeof(key.key));
	if (!name) {
		name_user(&key);
	} else if (cc_trust_key_set_name(&key, cmn_view_of(name)) != CMN_OK) {
		tool_complain("\"%s\" is no name of a key: 1 to %d printable ASCII characters "
			      "without a blank (try --name)", name, CC_TRUST_MAX_NAME);
		return false;
	}
	*ret = key;
	return true;
}

/* site.pub: site */
static char *name_of_file(const char *file)
{
	const char *base = basename(file);
	size_t len = strcspn(base, ".");

	return memory_copy_view((struct cmn_view){ base, len ? len : strlen(base) });
}

/*
 * The key in a PEM file, private or public; its name: as asked for, else for a private key user@host and for
 * a public one the file's, without what follows a dot. false: complained about.
 */
static bool key_read(const char *file, const char *name, struct cc_trust_key *ret)
{
	bool private = false, good;
	uint8_t key[CC_SODIUM_KEY_SIZE];
	char *own = NULL;

	if (!key_file_read(file, key, &private))
		return false;
	if (!name && !private)
		name = own = name_of_file(file);
	good = key_of(key, name, ret);
	free(own);
	return good;
}

/* What trust is to do to the file of trusted keys. */
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

static void want(struct wanted *wanted, const struct cc_trust_key *key)
{
	if (wanted->count == CC_TRUST_MAX_KEYS)
		tool_die("more than %d keys", CC_TRUST_MAX_KEYS);
	wanted->keys[wanted->count++] = *key;
}

static void want_lines(struct wanted *wanted, const char *file, struct cmn_view text)
{
	struct cmn_view line;

	for (unsigned int number = 1; next_line(&text, &line); number++) {
		struct cc_trust_key key;
		const char *problem;
		enum cmn_status status = cc_trust_key_parse(line, &problem, &key);

		if (status == CMN_ERR_INVALID)
			tool_die("%s:%u: %s", file, number, problem);
		if (status == CMN_OK)
			want(wanted, &key);
	}
}

/* A key in PEM, or lines. */
static void want_file(struct wanted *wanted, const char *file, const char *name)
{
	struct cmn_buffer text;
	struct cc_trust_key key;
	enum cmn_status status = cmn_file_read(AT_FDCWD, file, CC_TRUST_MAX_FILE, true, &text);

	if (status != CMN_OK)
		tool_die("%s: %s", file, cmn_status_string(status));
	if (!text.len || !memmem(text.data, text.len, "-----BEGIN", strlen("-----BEGIN")))
		want_lines(wanted, file, cmn_buffer_view(&text));
	else if (key_read(file, name, &key))
		want(wanted, &key);
	else
		tool_end(TOOL_FAILED);
	cmn_buffer_release(&text);
	if (!wanted->count)
		tool_die("%s: there is no key in it", file);
}

/* What is to be trusted: a line, or a file of either kind. */
static void read_wanted(struct wanted *wanted, const struct key_request *request)
{
	struct cc_trust_key key;
	const char *problem;
	enum cmn_status status = cc_trust_key_parse(cmn_view_of(request->operand), &problem, &key);

	if (status == CMN_OK)
		want(wanted, &key);
	else if (status == CMN_MISS || strncmp(request->operand, "ed25519 ", 8) != 0)
		want_file(wanted, request->operand, request->name);
	else
		tool_die("\"%s\": %s", request->operand, problem);
	if (request->name && wanted->count > 1)
		tool_die("%s has %zu keys: --name is for one", request->operand, wanted->count);
	if (request->name) {
		if (!key_of(wanted->keys[0].key, request->name, &key))
			tool_end(TOOL_FAILED);
		memcpy(wanted->keys[0].name, key.name, sizeof(key.name));
	}
	for (size_t i = 0; request->until && i < wanted->count; i++) {
		/* An empty date would be none. */
		if (!request->until[0] ||
		    cc_trust_key_set_until(&wanted->keys[i], cmn_view_of(request->until)) != CMN_OK)
			tool_die("--until: \"%s\" is no day: YYYY-MM-DD is expected", request->until);
	}
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

/* Under the lock. */
static void change_file(int dir_fd, const char *path, const char *name, struct edit *edit)
{
	struct cmn_buffer old = { 0 };
	enum cmn_status status = cmn_file_read_into(dir_fd, name, CC_TRUST_MAX_FILE, CMN_FILE_TRUSTED, NULL, &old);
	struct cmn_view view = cmn_buffer_view(&old), line;

	while (status == CMN_OK && next_line(&view, &line))
		edit_line(edit, line);
	cmn_buffer_release(&old);
	if (status == CMN_OK || status == CMN_MISS) {
		add_rest(edit);
		view = cmn_buffer_view(&edit->text);
		if (edit->text.failed)
			memory_end();
		status = edit->keys > CC_TRUST_MAX_KEYS || view.len > CC_TRUST_MAX_FILE ? CMN_ERR_TOO_LARGE :
			 edit->changed ? cmn_file_publish(dir_fd, name, &view, 1) : CMN_OK;
	}
	if (status == CMN_ERR_TOO_LARGE)
		tool_die("%s: it would have more than %d keys or %d bytes", path, CC_TRUST_MAX_KEYS,
			 CC_TRUST_MAX_FILE);
	if (status == CMN_ERR_ACCESS)
		tool_die("%s: it cannot be changed, or others may write to it", path);
	if (status != CMN_OK)
		tool_die("%s: %s", path, cmn_status_string(status));
}

/* With its lock; made if it is not there. */
static int open_directory(const char *directory, bool system)
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
	if (status == CMN_OK)
		status = cmn_file_lock(fd, tool_lock_until());
	if (status != CMN_OK)
		tool_die("%s: %s", directory, reason ? reason : cmn_status_string(status));
	return fd;
}

/*
 * One file of trusted keys, changed line by line under a lock on its directory and replaced as a whole.
 * Comments, and lines that are no key, stay. The exit code.
 */
static int trust(const struct key_request *request)
{
	static struct wanted wanted;	/* until the command ends, as all */
	static struct edit edit = { .wanted = &wanted };
	static char *path;
	const char *slash;
	char *directory;
	int dir_fd;

	wanted.remove = request->remove;
	if (!request->remove)
		read_wanted(&wanted, request);
	if (request->system)
		path = memory_copy(CC_TRUST_SYSTEM_FILE);
	else if (cc_trust_user_file(&path) != CMN_OK)
		memory_end();
	if (!path)
		tool_die("neither XDG_CONFIG_HOME nor HOME names a directory of this user");
	slash = strrchr(path, '/');
	directory = memory_copy_view((struct cmn_view){ path, (size_t)(slash - path) });
	dir_fd = open_directory(directory, request->system);
	free(directory);
	change_file(dir_fd, path, slash + 1, &edit);
	cc_root_unlock(dir_fd);
	if (wanted.remove && !edit.removed)
		tool_die("%s: no key in it is \"%s\"", path, wanted.remove);
	cmn_buffer_release(&edit.text);
	cmn_buffer_printf(&edit.said, "in %s\n", path);
	return tool_print(&edit.said);
}

/* The user's directory for settings, which may not be there yet. false: complained about. */
static bool make_directory_of(const char *path)
{
	char *directory = memory_copy_view((struct cmn_view){ path, (size_t)(strrchr(path, '/') - path) });
	enum cmn_status status = cmn_file_make_dirs(directory, 0700);

	if (status != CMN_OK)
		tool_complain("%s: %s", directory, cmn_status_string(status));
	free(directory);
	return status == CMN_OK;
}

static int make(const struct key_request *request)
{
	struct cc_signer signer = { 0 };
	struct cmn_buffer text = { 0 };
	struct cc_trust_key line;
	char *own = NULL;
	const char *path = request->operand;
	int code = TOOL_FAILED;

	if (!path)
		path = own = own_file();
	if (!path || (own && !make_directory_of(own)))
		goto out;
	/* The line first: no key is kept whose name is none. */
	if (!key_file_make(&signer) || !key_of(cc_signer_public(&signer), request->name, &line) ||
	    !key_file_write(path, &signer))
		goto out;
	tool_complain("%s is the private key: keep it. This line is for those who are to trust it:",
		      path);
	cc_trust_key_append(&text, &line);
	cmn_buffer_append_u8(&text, '\n');
	code = tool_print(&text);
out:
	explicit_bzero(&signer, sizeof(signer));
	free(own);
	return code;
}

struct shown {
	const char *file;	/* of the own key; NULL: there is none */
	struct cc_trust_key own;
	const struct cc_trust *trust;
	uint64_t now;
};

static void append_state(struct cmn_buffer *text, const struct cc_trust *trust, size_t i, uint64_t now)
{
	struct cc_trust_place place;
	const struct cc_trust_key *key = cc_trust_at(trust, i, &place);
	const struct cc_trust_key *decides = cc_trust_decides(trust, i, &place);
	uint64_t days = now < key->end ? (key->end - now - 1) / DAY_SECONDS
				       : (now - key->end) / DAY_SECONDS + 1;
	const char *unit = days == 1 ? "day" : "days";

	if (decides != key)
		cmn_buffer_printf(text, "does not count, since %s, line %u lists the key, too", place.file,
				  place.line);
	else if (key->end == UINT64_MAX)
		cmn_buffer_append_text(text, "does not expire");
	else if (now >= key->end)
		cmn_buffer_printf(text, "expired %" PRIu64 " %s ago", days, unit);
	else if (days)
		cmn_buffer_printf(text, "expires in %" PRIu64 " %s", days, unit);
	else
		cmn_buffer_append_text(text, "expires today");
}

static int show_text(const struct shown *shown)
{
	struct cmn_buffer text = { 0 };
	const struct cc_trust_key *key;
	struct cc_trust_place place;

	if (shown->file) {
		cmn_buffer_append_text(&text, "Your key:\n  ");
		cc_trust_key_append(&text, &shown->own);
		cmn_buffer_printf(&text, "\n    %s\n", shown->file);
	} else {
		cmn_buffer_append_text(&text, "You have no key (ckcache key new makes one).\n");
	}
	if (!cc_trust_at(shown->trust, 0, &place))
		cmn_buffer_append_text(&text, "No key is trusted here.\n");
	for (size_t i = 0; (key = cc_trust_at(shown->trust, i, &place)); i++) {
		cmn_buffer_append_text(&text, i ? "  " : "Trusted keys:\n  ");
		cc_trust_key_append(&text, key);
		cmn_buffer_printf(&text, "\n    %s, line %u: ", place.file, place.line);
		append_state(&text, shown->trust, i, shown->now);
		cmn_buffer_append_u8(&text, '\n');
	}
	return tool_print(&text);
}

static void add_key(struct json_object *object, const struct cc_trust_key *key)
{
	char text[CC_TRUST_BASE64_SIZE];

	cc_trust_key_base64(key, text);
	json_add_text(object, "key", text);
	json_add_text(object, "name", key->name);
}

static int show_json(const struct shown *shown)
{
	struct json_object *root = json_new_object(), *object, *array;
	const struct cc_trust_key *key;
	struct cc_trust_place place, decides;

	if (shown->file) {
		object = json_add_object(root, "own");
		add_key(object, &shown->own);
		json_add_text(object, "file", shown->file);
	} else {
		json_add_null(root, "own");
	}
	array = json_add_array(root, "trusted");
	for (size_t i = 0; (key = cc_trust_at(shown->trust, i, &place)); i++) {
		object = json_add_object(array, NULL);
		add_key(object, key);
		json_add_text(object, "until", key->until[0] ? key->until : NULL);
		json_add_bool(object, "expired",
			      shown->now >= cc_trust_decides(shown->trust, i, &decides)->end);
		json_add_text(object, "file", place.file);
		json_add_number(object, "line", place.line);
	}
	return json_print(root);
}

/* One line, for scripts and for people. */
static int show_file(const struct key_request *request)
{
	struct cmn_buffer text = { 0 };
	struct cc_trust_key key;

	if (!key_read(request->operand, request->name, &key))
		return TOOL_FAILED;
	cc_trust_key_append(&text, &key);
	cmn_buffer_append_u8(&text, '\n');
	return tool_print(&text);
}

static struct cc_trust *read_trust(void)
{
	struct cc_trust *trust = NULL;
	struct cc_config config;
	enum cmn_status status;

	tool_load_config(&config);
	status = cc_remote_trust(&config, &tool_log, &trust);
	cc_config_release(&config);
	if (status != CMN_OK)
		tool_die("%s", cmn_status_string(status));
	return trust;
}

static int show(const struct key_request *request)
{
	struct shown shown = { .now = (uint64_t)time(NULL) };
	struct cc_trust *trust;
	char *own;
	int code;

	if (request->operand)
		return show_file(request);
	shown.trust = trust = read_trust();
	/* One that cannot be used is complained about, and the others are shown. */
	own = own_file();
	if (own && access(own, F_OK) == 0 && key_read(own, NULL, &shown.own))
		shown.file = own;
	code = request->json ? show_json(&shown) : show_text(&shown);
	if (!cc_sodium_available())
		tool_complain("libsodium is not installed: no signature of a remote entry can be "
			      "checked");
	free(own);
	cc_trust_free(trust);
	return code;
}

/* What the action would do nothing with is refused. */
static void check_request(const char *action, const struct key_request *request)
{
	bool trust = strcmp(action, "trust") == 0, show = strcmp(action, "show") == 0;
	const char *wrong = NULL;

	if (request->json && (!show || request->operand))
		wrong = "--json is for \"key show\" without FILE";
	else if (!trust && (request->until || request->remove || request->system))
		wrong = "--until, --remove and --system are for \"key trust\"";
	else if (show && request->name && !request->operand)
		wrong = "--name is for the key of a FILE";
	else if (request->remove && (request->operand || request->name || request->until))
		wrong = "--remove names what to remove, and takes nothing else";
	else if (trust && !request->remove && !request->operand)
		wrong = "key trust: FILE or LINE is missing (try ckcache key --help)";
	if (wrong)
		tool_refuse("%s", wrong);
}

verb_function verb_key;

int verb_key(const struct arguments *arguments)
{
	const struct key_request request = {
		.operand = arguments->operand,
		.name = arguments_text(arguments, "name"),
		.until = arguments_text(arguments, "until"),
		.remove = arguments_text(arguments, "remove"),
		.system = arguments_flag(arguments, "system"),
		.json = arguments_flag(arguments, "json"),
	};

	check_request(arguments->action, &request);
	if (strcmp(arguments->action, "new") == 0)
		return make(&request);
	if (strcmp(arguments->action, "show") == 0)
		return show(&request);
	return trust(&request);
}
