/* SPDX-License-Identifier: MIT */
/* config_show: values in force with their origins; then what sections of the files have. */
#include "tools/config/config_show.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cachecore/config.h"
#include "cachecore/remote/address.h"
#include "common/file.h"
#include "tools/json_output.h"
#include "tools/memory.h"
#include "tools/tool.h"

struct shown {
	const struct config_show *show;
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
		if (!shown->show->name && file)
			cmn_buffer_printf(text, "(%s:%u) %s = ", file, value->line, value->name);
		else if (!shown->show->name)
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

static int print(struct shown *shown, const struct cc_config_value *values)
{
	struct json_object *object = shown->show->json ? json_new_object() : NULL;

	if (object) {
		json_add_text(object, "user_file", shown->user_file);
		json_add_text(object, "system_file", CC_CONFIG_SYSTEM_FILE);
		json_add_text(object, "program", shown->show->program);
		shown->settings = json_add_array(object, "settings");
		shown->programs = json_add_array(object, "programs");
	}
	for (const struct cc_config_value *value = values; value->name; value++) {
		if (!shown->show->name || strcasecmp(value->name, shown->show->name) == 0)
			show_value(shown, value);
	}
	/* Those of one program are among the values. */
	if (!shown->show->name && !shown->show->program) {
		show_sections(shown, CC_CONFIG_SYSTEM_FILE);
		show_sections(shown, shown->user_file);
	}
	return object ? json_print(object) : tool_print(&shown->text);
}

int config_show(const struct config_show *show)
{
	struct shown shown = { .show = show };
	struct cc_config_value *values = NULL;
	int code;

	if (cc_config_user_file(&shown.user_file) != CMN_OK ||
	    cc_config_list(&tool_log, CC_CONFIG_SYSTEM_FILE, show->program, &values) != CMN_OK)
		memory_end();
	code = print(&shown, values);
	cc_config_list_free(values);
	free(shown.user_file);
	return code;
}
