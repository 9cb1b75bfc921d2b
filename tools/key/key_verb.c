/* SPDX-License-Identifier: MIT */
/* key_verb: finds the action, and knows how a key gets its name. */
#include "tools/key/key_verb.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/config.h"
#include "tools/arguments.h"
#include "tools/key/key_file.h"
#include "tools/tool.h"

static void complain(void *ctx, enum cmn_log_level level, const char *message)
{
	(void)ctx;
	(void)level;
	tool_complain("%s", message);
}

const struct cmn_log key_log = { .level = CMN_LOG_WARNING, .sink = complain };

char *key_own_file(void)
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

	return strndup(base, len ? len : strlen(base));
}

bool key_read(const char *file, const char *name, struct cc_trust_key *ret)
{
	bool private = false, good = false;
	uint8_t key[CC_SODIUM_KEY_SIZE];
	char *own = NULL;

	if (!key_file_read(file, key, &private))
		return false;
	if (!name && !private)
		name = own = name_of_file(file);
	if (!private && !name)
		tool_complain("out of memory");
	else
		good = key_of(key, name, ret);
	free(own);
	return good;
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
		return key_new(&request);
	if (strcmp(arguments->action, "show") == 0)
		return key_show(&request);
	return key_trust(&request);
}
