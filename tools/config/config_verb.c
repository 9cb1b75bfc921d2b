/* SPDX-License-Identifier: MIT */
/* config_verb: the verb: shows settings, or checks a change and has it written. */
#include "cachecore/config.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "cachecore/remote/address.h"
#include "tools/arguments.h"
#include "tools/config/config_edit.h"
#include "tools/config/config_show.h"
#include "tools/memory.h"
#include "tools/suggest.h"
#include "tools/tool.h"

/* false: complained about, with the name that may have been meant. */
static bool know(const char *name, struct cc_config_rule *ret)
{
	struct cc_config_value *values = NULL;
	struct similar similar = { 0 };

	if (cc_config_check(name, "", false, ret) == CMN_OK)
		return true;
	if (cc_config_list(&tool_silent, CC_CONFIG_SYSTEM_FILE, NULL, &values) == CMN_OK) {
		for (const struct cc_config_value *value = values; value->name; value++)
			similar_offer(&similar, strncasecmp(name, "CKCACHE_", 8) ? name : name + 8,
				      value->name);
	}
	if (similar.name)
		tool_complain("there is no setting \"%s\": did you mean %s?", name, similar.name);
	else
		tool_complain("there is no setting \"%s\" (ckcache config lists all)", name);
	cc_config_list_free(values);
	return false;
}

/*
 * Of what is read where the tier is used. false: complained about, without what may be a password.
 * *ret_secret: it may have one.
 */
static bool check_address(const char *name, const char *value, bool *ret_secret)
{
	const char *problem = cmn_status_string(CMN_ERR_NOMEM);
	struct cc_address address;

	if (strcmp(name, "remote") != 0 || !value || !*value)
		return true;
	if (cc_address_parse(value, &address, &problem) != CMN_OK) {
		tool_complain("%s: %s", name, problem);
		return false;
	}
	*ret_secret = cc_address_has_secret(&address);
	cc_address_release(&address);
	return true;
}

/* false: complained about. */
static bool check(struct config_edit *edit, const struct cc_config_rule *rule)
{
	struct cc_config_rule same;
	enum cmn_status status = cc_config_check(edit->name, edit->value ? edit->value : "",
						 edit->program != NULL, &same);

	if (status == CMN_ERR_ACCESS)
		tool_complain("%s cannot be set for one program: programs share it", rule->name);
	else if (status == CMN_ERR_INVALID)
		tool_complain("%s: \"%s\" is no such value: %s is expected", rule->name,
			      edit->value, rule->expected);
	else if (status != CMN_OK)
		tool_complain("%s", cmn_status_string(status));
	else if (edit->value && !config_edit_fits(rule->name, edit->value))
		tool_complain("%s: a settings file cannot hold \"%s\": there is a line end, a \"#\" "
			      "behind a blank, or a blank at an end", rule->name, edit->value);
	else
		return check_address(rule->name, edit->value, &edit->secret);
	return false;
}

/* What all users' programs have to read, all users can read. */
static int change_for_all(struct config_edit *edit)
{
	bool secret = edit->secret;
	struct stat info;
	int code;

	edit->secret = false;
	code = config_write(CC_CONFIG_SYSTEM_FILE, edit, 0755, 0644);
	if (code == TOOL_OK && secret && stat(CC_CONFIG_SYSTEM_FILE, &info) == 0 &&
	    (info.st_mode & (S_IRGRP | S_IROTH)))
		tool_complain("warning: others can read the password in " CC_CONFIG_SYSTEM_FILE
			      ": better put it into a file with mode 0600, and name that in remote_secrets");
	return code;
}

static int change(struct config_edit *edit, const struct cc_config_rule *rule, bool system)
{
	char *file = NULL;
	struct cc_config_value *values = NULL;
	int code = TOOL_FAILED;

	if (cc_config_user_file(&file) != CMN_OK)
		memory_end();
	if (system)
		code = change_for_all(edit);
	else if (!file)
		tool_complain("neither XDG_CONFIG_HOME nor HOME names a directory of this user");
	else
		code = config_write(file, edit, 0700, 0600);
	free(file);
	if (code == TOOL_OK && cc_config_list(&tool_silent, CC_CONFIG_SYSTEM_FILE, NULL, &values) == CMN_OK) {
		for (const struct cc_config_value *value = values; value->name; value++) {
			if (strcmp(value->name, rule->name) == 0 && getenv(value->variable))
				tool_complain("note: %s is set in this environment, and wins over files",
					      value->variable);
		}
	}
	cc_config_list_free(values);
	return code;
}

/* KEY VALUE, or KEY=VALUE as ccache has it. The caller frees *ret_key. false: complained about. */
static bool split_operands(const struct arguments *arguments, char **ret_key, const char **ret_value)
{
	const char *key = arguments->operand, *equals = key ? strchr(key, '=') : NULL;
	bool set = arguments->action && strcmp(arguments->action, "set") == 0;

	*ret_value = arguments->second;
	if (set && !arguments->second && equals)
		*ret_value = equals + 1;
	else
		equals = NULL;
	if ((arguments->action != NULL) != (key != NULL) || set != (*ret_value != NULL)) {
		tool_complain("config: these are the ways: config; config get KEY; config set KEY VALUE; "
			      "config unset KEY (try ckcache config --help)");
		return false;
	}
	if (key)
		*ret_key = equals ? memory_printf("%.*s", (int)(equals - key), key) : memory_copy(key);
	return true;
}

/* The exit code. */
static int edit_setting(const struct arguments *arguments, const struct cc_config_rule *rule,
			const char *program, const char *value)
{
	struct config_edit edit = { .program = program, .name = rule->name, .value = value };

	if (arguments_flag(arguments, "json")) {
		tool_complain("config: --json is for what is shown");
		return TOOL_USAGE;
	}
	return check(&edit, rule) ? change(&edit, rule, arguments_flag(arguments, "system")) : TOOL_USAGE;
}

verb_function verb_config;

int verb_config(const struct arguments *arguments)
{
	const char *program = arguments_text(arguments, "program"), *value;
	bool shows = !arguments->action || strcmp(arguments->action, "get") == 0;
	struct config_show show = { .program = program, .json = arguments_flag(arguments, "json") };
	struct cc_config_rule rule = { 0 };
	int code = TOOL_USAGE;
	char *key = NULL;

	if (program && !config_edit_names_program(program)) {
		tool_complain("--program: \"%s\" is no name of a program: the last part of its path",
			      program);
		return TOOL_USAGE;
	}
	if (shows && arguments_flag(arguments, "system")) {
		tool_complain("config: --system is for set and unset");
		return TOOL_USAGE;
	}
	if (!split_operands(arguments, &key, &value) || (key && !know(key, &rule)))
		goto out;
	show.name = rule.name;
	code = shows || !key ? config_show(&show) : edit_setting(arguments, &rule, program, value);
out:
	free(key);
	return code;
}
