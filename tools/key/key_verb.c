/* SPDX-License-Identifier: MIT */
/*
 * key_verb: finds the action; makes a private key, in a file of its own, and shows public ones; knows how a
 * key gets its name.
 */
#include "tools/key/key_verb.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cachecore/config.h"
#include "cachecore/remote/remote.h"
#include "common/file.h"
#include "tools/arguments.h"
#include "tools/json_output.h"
#include "tools/key/key_file.h"
#include "tools/memory.h"
#include "tools/tool.h"

#define DAY_SECONDS 86400

/* Where the user's own private key is; the caller frees it. NULL: nowhere, complained about. */
static char *key_own_file(void)
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

bool key_of(const uint8_t bytes[CC_SODIUM_KEY_SIZE], const char *name, struct cc_trust_key *ret)
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
	const char *slash = strrchr(file, '/');
	const char *base = slash ? slash + 1 : file;
	size_t len = strcspn(base, ".");

	return memory_copy_view((struct cmn_view){ base, len ? len : strlen(base) });
}

bool key_read(const char *file, const char *name, struct cc_trust_key *ret)
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
		path = own = key_own_file();
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
		tool_complain("%s", cmn_status_string(status));
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
	trust = read_trust();
	if (!trust)
		return TOOL_FAILED;
	shown.trust = trust;
	/* One that cannot be used is complained about, and the others are shown. */
	own = key_own_file();
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

/* false: complained about; the action would do nothing with it. */
static bool check_request(const char *action, const struct key_request *request)
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
		tool_complain("%s", wrong);
	return !wrong;
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

	if (!check_request(arguments->action, &request))
		return TOOL_USAGE;
	if (strcmp(arguments->action, "new") == 0)
		return make(&request);
	if (strcmp(arguments->action, "show") == 0)
		return show(&request);
	return key_trust(&request);
}
