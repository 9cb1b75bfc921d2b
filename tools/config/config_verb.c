/* SPDX-License-Identifier: MIT */
/* config_verb: the verb: shows values in force with their origins, then what sections of the files have; or checks a change and has it written. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "cachecore/config.h"
#include "cachecore/config_line.h"
#include "cachecore/remote/address.h"
#include "common/file.h"
#include "tools/arguments.h"
#include "tools/config/config_edit.h"
#include "tools/json_output.h"
#include "tools/memory.h"
#include "tools/tool.h"

struct shown {
	const char *program;	/* as it would have them; NULL: as this command has them */
	const char *name;	/* only this one; NULL: all, and the files' sections */
	char *user_file;	/* NULL: nowhere */
	struct cmn_buffer text;
	struct json_object *settings, *programs;	/* NULL: for people */
};

/* What is printed gets into reports and logs: the address of a tier without what may be a password. */
static void append_value(const char *name, const char *value, struct cmn_buffer *ret)
{
	struct cc_address address;
	const char *problem;

	if (strcmp(name, "remote") != 0 || !*value) {
		cmn_buffer_append_text(ret, value);
	} else if (cc_address_parse(value, &address, &problem) == CMN_OK) {
		cc_address_show(&address, ret);
		cc_address_release(&address);
	} else {
		cmn_buffer_append_text(ret, "...");
	}
}

static const char *file_of(const struct shown *shown, enum cc_config_place place)
{
	return place == CC_CONFIG_USER ? shown->user_file :
	       place == CC_CONFIG_SYSTEM ? CC_CONFIG_SYSTEM_FILE : NULL;
}

static void add_view(struct json_object *to, const char *name, struct cmn_buffer *value)
{
	json_add_view(to, name, cmn_buffer_view(value));
}

static void add_place(struct json_object *to, const char *file, unsigned int line)
{
	json_add_text(to, "file", file);
	if (file)
		json_add_number(to, "line", line);
	else
		json_add_null(to, "line");
}

static void show_value(struct shown *shown, const struct cc_config_value *value)
{
	static const char *const places[] = { "default", "system", "user", "environment" };
	const char *file = file_of(shown, value->place);
	struct cmn_buffer *text = &shown->text, plain = { 0 };
	struct json_object *one;

	append_value(value->name, value->text, &plain);
	if (shown->settings) {
		one = json_add_object(shown->settings, NULL);
		json_add_text(one, "name", value->name);
		add_view(one, "value", &plain);
		json_add_text(one, "origin", places[value->place]);
		add_place(one, file, value->line);
		json_add_bool(one, "of_program", value->of_program);
	} else {
		if (!shown->name && file)
			cmn_buffer_printf(text, "(%s:%u) %s = ", file, value->line, value->name);
		else if (!shown->name)
			cmn_buffer_printf(text, "(%s) %s = ", places[value->place], value->name);
		cmn_buffer_append(text, plain.data, plain.len);
		cmn_buffer_append_u8(text, '\n');
	}
	cmn_buffer_release(&plain);
}

/* Why a line in a section is of no use; NULL: it is. *ret_text is to be freed. */
static const char *problem_of(const struct cc_config_line *line, char **ret_text)
{
	struct cc_config_rule rule;

	switch (cc_config_check(line->name, line->value, true, &rule)) {
	case CMN_OK:
		return NULL;
	case CMN_MISS:
		return "there is no such setting";
	case CMN_ERR_ACCESS:
		return "it cannot be set for one program";
	default:
		*ret_text = memory_printf("%s is expected", rule.expected);
		return *ret_text;
	}
}

/* The object of the list that the settings of a section go to. */
static struct json_object *add_program(struct shown *shown, const char *name)
{
	struct json_object *program;

	if (!shown->programs) {
		cmn_buffer_printf(&shown->text, "\n[program %s]\n", name);
		return NULL;
	}
	program = json_add_object(shown->programs, NULL);
	json_add_text(program, "program", name);
	return json_add_array(program, "settings");
}

static void show_line(struct shown *shown, const struct cc_config_line *line, const char *file,
		      unsigned int number, struct json_object *list)
{
	struct cmn_buffer plain = { 0 };
	char *own = NULL;
	const char *problem = problem_of(line, &own);
	struct json_object *one;

	append_value(line->name, line->value, &plain);
	if (list) {
		one = json_add_object(list, NULL);
		json_add_text(one, "name", line->name);
		add_view(one, "value", &plain);
		add_place(one, file, number);
		json_add_text(one, "problem", problem);
	} else {
		cmn_buffer_printf(&shown->text, "(%s:%u) %s = ", file, number, line->name);
		cmn_buffer_append(&shown->text, plain.data, plain.len);
		if (problem)
			cmn_buffer_printf(&shown->text, "  # ignored: %s", problem);
		cmn_buffer_append_u8(&shown->text, '\n');
	}
	cmn_buffer_release(&plain);
	free(own);
}

static void show_sections(struct shown *shown, const char *file)
{
	struct cmn_buffer content = { 0 };
	struct json_object *list = NULL;
	unsigned int number = 0;
	bool inside = false;
	char *text, *next;

	/* What cannot be read was complained about. */
	if (!file || cmn_file_read(AT_FDCWD, file, CC_CONFIG_MAX_FILE, true, &content) != CMN_OK)
		return;
	text = memory_string(&content);
	for (char *at = text; at; at = next) {
		struct cc_config_line line;

		next = strchr(at, '\n');
		if (next)
			*next++ = '\0';
		number++;
		cc_config_line_split(at, &line);
		if (line.kind == CC_CONFIG_LINE_SECTION)
			list = add_program(shown, line.name);
		if (line.kind == CC_CONFIG_LINE_SECTION || line.kind == CC_CONFIG_LINE_BAD_SECTION)
			inside = line.kind == CC_CONFIG_LINE_SECTION;
		else if (inside && line.kind == CC_CONFIG_LINE_SETTING)
			show_line(shown, &line, file, number, list);
	}
	free(text);
}

static int print(struct shown *shown, const struct cc_config_value *values, bool json)
{
	struct json_object *object = json ? json_new_object() : NULL;

	if (object) {
		json_add_text(object, "user_file", shown->user_file);
		json_add_text(object, "system_file", CC_CONFIG_SYSTEM_FILE);
		json_add_text(object, "program", shown->program);
		shown->settings = json_add_array(object, "settings");
		shown->programs = json_add_array(object, "programs");
	}
	for (const struct cc_config_value *value = values; value->name; value++) {
		if (!shown->name || strcasecmp(value->name, shown->name) == 0)
			show_value(shown, value);
	}
	/* Those of one program are among the values. */
	if (!shown->name && !shown->program) {
		show_sections(shown, CC_CONFIG_SYSTEM_FILE);
		show_sections(shown, shown->user_file);
	}
	return object ? json_print(object) : tool_print(&shown->text);
}

static int config_show(const char *program, const char *name, bool json)
{
	struct shown shown = { .program = program, .name = name };
	struct cc_config_value *values = NULL;
	int code;

	if (cc_config_user_file(&shown.user_file) != CMN_OK ||
	    cc_config_list(&tool_log, CC_CONFIG_SYSTEM_FILE, program, &values) != CMN_OK)
		memory_end();
	code = print(&shown, values, json);
	cc_config_list_free(values);
	free(shown.user_file);
	return code;
}

/* The rule of a setting's name. */
static void find_rule(const char *name, struct cc_config_rule *ret)
{
	struct cc_config_value *values = NULL;
	struct similar similar = { 0 };

	if (cc_config_check(name, "", false, ret) == CMN_OK)
		return;
	if (cc_config_list(&tool_silent, CC_CONFIG_SYSTEM_FILE, NULL, &values) == CMN_OK) {
		for (const struct cc_config_value *value = values; value->name; value++)
			similar_offer(&similar, strncasecmp(name, "CKCACHE_", 8) ? name : name + 8,
				      value->name);
	}
	if (similar.name)
		tool_refuse("there is no setting \"%s\": did you mean %s?", name, similar.name);
	tool_refuse("there is no setting \"%s\" (ckcache config lists all)", name);
}

/*
 * Of what is read where the tier is used. Whether it may have a password, without which it is complained
 * about.
 */
static bool check_address(const char *name, const char *value)
{
	const char *problem = cmn_status_string(CMN_ERR_NOMEM);
	struct cc_address address;
	bool secret;

	if (strcmp(name, "remote") != 0 || !value || !*value)
		return false;
	if (cc_address_parse(value, &address, &problem) != CMN_OK)
		tool_refuse("%s: %s", name, problem);
	secret = cc_address_has_secret(&address);
	cc_address_release(&address);
	return secret;
}

static void check(struct config_edit *edit, const struct cc_config_rule *rule)
{
	struct cc_config_rule same;
	enum cmn_status status = cc_config_check(edit->name, edit->value ? edit->value : "",
						 edit->program != NULL, &same);

	if (status == CMN_ERR_ACCESS)
		tool_refuse("%s cannot be set for one program: programs share it", rule->name);
	if (status == CMN_ERR_INVALID)
		tool_refuse("%s: \"%s\" is no such value: %s is expected", rule->name, edit->value,
			    rule->expected);
	if (status != CMN_OK)
		tool_refuse("%s", cmn_status_string(status));
	if (edit->value && !config_edit_fits(rule->name, edit->value))
		tool_refuse("%s: a settings file cannot hold \"%s\": there is a line end, a \"#\" "
			    "behind a blank, or a blank at an end", rule->name, edit->value);
	edit->secret = check_address(rule->name, edit->value);
}

/* What all users' programs have to read, all users can read. */
static void change_for_all(struct config_edit *edit)
{
	bool secret = edit->secret;
	struct stat info;

	edit->secret = false;
	config_write(CC_CONFIG_SYSTEM_FILE, edit, 0755, 0644);
	if (secret && stat(CC_CONFIG_SYSTEM_FILE, &info) == 0 && (info.st_mode & (S_IRGRP | S_IROTH)))
		tool_complain("warning: others can read the password in " CC_CONFIG_SYSTEM_FILE
			      ": better put it into a file with mode 0600, and name that in remote_secrets");
}

static void change(struct config_edit *edit, const struct cc_config_rule *rule, bool system)
{
	char *file = NULL;
	struct cc_config_value *values = NULL;

	if (cc_config_user_file(&file) != CMN_OK)
		memory_end();
	if (system)
		change_for_all(edit);
	else if (file)
		config_write(file, edit, 0700, 0600);
	else
		tool_die("neither XDG_CONFIG_HOME nor HOME names a directory of this user");
	free(file);
	if (cc_config_list(&tool_silent, CC_CONFIG_SYSTEM_FILE, NULL, &values) != CMN_OK)
		return;
	for (const struct cc_config_value *value = values; value->name; value++) {
		if (strcmp(value->name, rule->name) == 0 && getenv(value->variable))
			tool_complain("note: %s is set in this environment, and wins over files",
				      value->variable);
	}
	cc_config_list_free(values);
}

/* KEY VALUE, or KEY=VALUE as ccache has it; NULL: not given. The caller frees the key. */
static char *split_operands(const struct arguments *arguments, const char **ret_value)
{
	const char *key = arguments->operand, *equals = key ? strchr(key, '=') : NULL;
	bool set = arguments->action && strcmp(arguments->action, "set") == 0;

	*ret_value = arguments->second;
	if (set && !arguments->second && equals)
		*ret_value = equals + 1;
	else
		equals = NULL;
	if ((arguments->action != NULL) != (key != NULL) || set != (*ret_value != NULL))
		tool_refuse("config: these are the ways: config; config get KEY; config set KEY VALUE; "
			    "config unset KEY (try ckcache config --help)");
	return !key ? NULL : memory_printf("%.*s", (int)(equals ? equals - key : (long)strlen(key)), key);
}

verb_function verb_config;

int verb_config(const struct arguments *arguments)
{
	const char *program = arguments_text(arguments, "program");
	bool shows = !arguments->action || strcmp(arguments->action, "get") == 0;
	bool json = arguments_flag(arguments, "json"), system = arguments_flag(arguments, "system");
	struct config_edit edit = { .program = program };
	struct cc_config_rule rule = { 0 };
	char *key;

	if (program && !config_edit_names_program(program))
		tool_refuse("--program: \"%s\" is no name of a program: the last part of its path", program);
	if (shows && system)
		tool_refuse("config: --system is for set and unset");
	key = split_operands(arguments, &edit.value);
	if (key)
		find_rule(key, &rule);
	free(key);
	if (shows)
		return config_show(program, rule.name, json);
	if (json)
		tool_refuse("config: --json is for what is shown");
	edit.name = rule.name;
	check(&edit, &rule);
	change(&edit, &rule, system);
	return TOOL_OK;
}
