/* SPDX-License-Identifier: MIT */
/* key_show: public keys alone, whatever the file has. */
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cachecore/remote/remote.h"
#include "tools/json_output.h"
#include "tools/key/key_verb.h"
#include "tools/tool.h"

#define DAY_SECONDS 86400

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
	const struct cmn_log silent = { .level = CMN_LOG_NONE };	/* other settings are not at issue */
	struct cc_trust *trust = NULL;
	struct cc_config config;
	enum cmn_status status = cc_config_load(&silent, &config);

	if (status == CMN_OK) {
		status = cc_remote_trust(&config, &key_log, &trust);
		cc_config_release(&config);
	}
	if (status != CMN_OK)
		tool_complain("%s", cmn_status_string(status));
	return trust;
}

int key_show(const struct key_request *request)
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
