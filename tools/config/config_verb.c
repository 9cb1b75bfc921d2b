/* SPDX-License-Identifier: MIT */
/*
 * config_verb: the verb: shows values in force with their origins, then what sections of the files have; or
 * checks a change, and has a settings file with it. Comments, the order and every other line stay byte by
 * byte. The file is replaced as a whole, under a lock that all changes take: whoever reads it sees the old
 * text or the new one, also after a crash.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/config.h"
#include "cachecore/remote/address.h"
#include "common/file.h"
#include "tools/arguments.h"
#include "tools/json_output.h"
#include "tools/memory.h"
#include "tools/tool.h"

struct edit {
	const char *program;	/* in whose section; NULL: for all programs */
	const char *name;
	const char *value;	/* NULL: the setting goes, wherever it stands in that part */
	bool secret;		/* the value may hold a password */
};

struct line {
	struct cmn_view text;	/* with its end */
	bool is_setting;	/* of what is edited: */
	size_t value, value_end;	/* offsets of its value */
};

/* ret_behind: before which line a new one goes; SIZE_MAX: the section is not there. The caller frees the lines. */
static struct line *cut(struct cmn_view text, const struct edit *edit, size_t *ret_count, size_t *ret_behind)
{
	struct line *lines = NULL;
	bool inside = !edit->program;	/* the part that is edited */
	size_t count = 0, behind = SIZE_MAX;

	for (const char *at = text.len ? text.data : "", *end = at + text.len, *next; at < end; at = next, count++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		char *copy = memory_copy_view((struct cmn_view){ at, (size_t)((stop ? stop : end) - at) });
		struct cc_config_line split;

		next = stop ? stop + 1 : end;
		memory_grow(lines, count);
		lines[count] = (struct line){ .text = { at, (size_t)(next - at) } };
		cc_config_line_split(copy, &split);
		if (split.kind == CC_CONFIG_LINE_SECTION || split.kind == CC_CONFIG_LINE_BAD_SECTION) {
			/* For all, and nothing was there yet: before the first section. */
			if (!edit->program && behind == SIZE_MAX)
				behind = 0;
			inside = edit->program && split.kind == CC_CONFIG_LINE_SECTION &&
				 strcmp(split.name, edit->program) == 0;
			behind = inside ? count + 1 : behind;
		} else if (inside && split.kind == CC_CONFIG_LINE_SETTING) {
			behind = count + 1;
			lines[count].is_setting = strcasecmp(split.name, edit->name) == 0;
			lines[count].value = (size_t)(split.value - copy);
			lines[count].value_end = lines[count].value + strlen(split.value);
		}
		free(copy);
	}
	*ret_count = count;
	*ret_behind = !edit->program && behind == SIZE_MAX ? count : behind;
	return lines;
}

/* With another value: what is before and behind that stays, a comment too. */
static void append_changed(const struct line *line, const char *value, struct cmn_buffer *ret)
{
	const char *text = line->text.data;

	cmn_buffer_append(ret, text, line->value);
	/* No value was there: its place is right behind "=". */
	cmn_buffer_printf(ret, "%s%s", line->value == line->value_end ? " " : "", value);
	cmn_buffer_append(ret, text + line->value_end, line->text.len - line->value_end);
}

static void append_new(const struct edit *edit, bool section, struct cmn_buffer *ret)
{
	if (ret->len && ret->data[ret->len - 1] != '\n')
		cmn_buffer_append_u8(ret, '\n');
	if (section)
		cmn_buffer_printf(ret, "%s[program %s]\n", ret->len ? "\n" : "", edit->program);
	cmn_buffer_printf(ret, "%s = %s\n", edit->name, edit->value);
}

/*
 * Appends the new text to ret. The last line of the setting gets the value, because the last one
 * counts; a new line goes behind the last setting of its part, and a new section to the end.
 * false: nothing had to be changed.
 */
static bool edit_text(struct cmn_view text, const struct edit *edit, struct cmn_buffer *ret)
{
	size_t count, behind, last = SIZE_MAX;
	struct line *lines = cut(text, edit, &count, &behind);

	for (size_t i = 0; i < count; i++)
		last = lines[i].is_setting ? i : last;
	for (size_t i = 0; i <= count; i++) {
		if (edit->value && last == SIZE_MAX && i == (behind < count ? behind : count))
			append_new(edit, behind == SIZE_MAX, ret);
		if (i == count)
			break;
		if (!lines[i].is_setting || (edit->value && i != last))
			cmn_buffer_append(ret, lines[i].text.data, lines[i].text.len);
		else if (edit->value)
			append_changed(&lines[i], edit->value, ret);
	}
	free(lines);
	if (ret->failed)
		memory_end();
	return edit->value || last != SIZE_MAX;
}

/* Whether a line is read as that, and as nothing more. Takes the line. */
static bool reads_as(char *line, enum cc_config_line_kind kind, const char *name, const char *value)
{
	struct cc_config_line split;
	bool same = false;

	if (!strchr(line, '\n')) {
		cc_config_line_split(line, &split);
		same = split.kind == kind && strcmp(split.name, name) == 0 &&
		       (!value || strcmp(split.value, value) == 0);
	}
	free(line);
	return same;
}

/* Whether a line of a file can hold that value. */
static bool fits(const char *name, const char *value)
{
	return reads_as(memory_printf("%s = %s", name, value), CC_CONFIG_LINE_SETTING, name, value);
}

/* Whether a section's head can hold that program's name. */
static bool names_program(const char *name)
{
	return reads_as(memory_printf("[program %s]", name), CC_CONFIG_LINE_SECTION, name, NULL);
}

/* One name is enough, since there is a lock: what a killed command left goes before. */
#define NEW_NAME ".ckcache.conf.new"

static enum cmn_status from_errno(void)
{
	return cmn_status_from_errno(errno);
}

/* As the old file (NULL: there was none), with that text. secret: but its owner's alone. */
static enum cmn_status fill(int fd, const struct stat *old, mode_t mode, bool secret,
			    struct cmn_view text)
{
	bool kept = !old || fchown(fd, old->st_uid, old->st_gid) == 0;
	enum cmn_status status = kept || geteuid() != 0 ? CMN_OK : from_errno();

	if (old)
		mode = old->st_mode & 0777;
	/* Of another group: it and everybody else get what both had. */
	if (!kept)
		mode = (mode & 0700) | (mode & mode >> 3 & 0007) * 0011;
	if (secret)
		mode &= 0700;
	/* What only its owner may read holds passwords: permissions come before the text. */
	if (status == CMN_OK && fchmod(fd, mode) < 0)
		status = from_errno();
	if (status == CMN_OK)
		status = cmn_file_write_all(fd, text.data, text.len);
	if (status == CMN_OK && fsync(fd) < 0)
		status = from_errno();
	return status;
}

static enum cmn_status replace(int dir_fd, const char *name, const struct stat *old, mode_t mode,
			       bool secret, struct cmn_view text)
{
	enum cmn_status status;
	int fd;

	/* Whatever has that name, nobody else may have it open: the file is a new one. */
	if (unlinkat(dir_fd, NEW_NAME, 0) < 0 && errno != ENOENT)
		return from_errno();
	fd = cmn_file_open_to_write(dir_fd, NEW_NAME, O_WRONLY | O_CREAT | O_EXCL, 0600, CMN_FILE_ANY, NULL,
				    NULL);
	if (fd < 0)
		return from_errno();
	status = fill(fd, old, mode, secret, text);
	if (close(fd) < 0 && status == CMN_OK)
		status = from_errno();
	if (status == CMN_OK && renameat(dir_fd, NEW_NAME, dir_fd, name) < 0)
		status = from_errno();
	if (status != CMN_OK)
		(void)unlinkat(dir_fd, NEW_NAME, 0);	/* what stays goes the next time */
	return status;
}

static enum cmn_status change_locked(int dir_fd, const char *name, const struct edit *edit,
				     mode_t mode)
{
	struct cmn_buffer old = { 0 }, new = { 0 };
	struct stat info;
	bool there = fstatat(dir_fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0;
	enum cmn_status status = cmn_file_read(dir_fd, name, CC_CONFIG_MAX_FILE, false, &old);

	if (status == CMN_MISS && !there)
		status = CMN_OK;
	/* Nobody would read what stands behind a NUL. */
	if (status == CMN_OK && old.len && memchr(old.data, 0, old.len))
		status = CMN_ERR_CORRUPT;
	if (status == CMN_OK && !edit_text(cmn_buffer_view(&old), edit, &new))
		status = CMN_MISS;
	if (status == CMN_OK && new.len > CC_CONFIG_MAX_FILE)
		status = CMN_ERR_TOO_LARGE;
	if (status == CMN_OK)
		status = replace(dir_fd, name, there ? &info : NULL, mode, edit->secret,
				 cmn_buffer_view(&new));
	cmn_buffer_release(&old);
	cmn_buffer_release(&new);
	return status == CMN_MISS ? CMN_OK : status;
}

/* The directory is made; the lock need not be had where the file system has none. */
static enum cmn_status change_in(const char *directory, const char *name,
				 const struct edit *edit, mode_t directory_mode, mode_t file_mode)
{
	enum cmn_status status = cmn_file_make_dirs(directory, directory_mode);
	int dir_fd;

	if (status != CMN_OK)
		return status;
	dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return from_errno();
	status = cmn_file_lock(dir_fd, tool_lock_until());
	if (status == CMN_OK || status == CMN_ERR_IO)
		status = change_locked(dir_fd, name, edit, file_mode);
	(void)close(dir_fd);	/* a directory: nothing to be lost */
	return status;
}

/*
 * Makes the file and its directories (with directory_mode) where they are missing. A link is
 * followed, so that what it leads to changes. Owner and permissions stay, as far as this user can
 * keep them: in another group's file, that group and others get what both had. A new file has
 * file_mode. Where the value is a secret, only the owner can read the file from then on. Where it
 * fails, the command ends.
 */
static void write_file(const char *path, const struct edit *edit, mode_t directory_mode, mode_t file_mode)
{
	struct stat info;
	char *file = realpath(path, NULL), *slash;
	enum cmn_status status;

	if (!file && errno == ENOENT && lstat(path, &info) < 0)
		file = memory_copy(path);
	if (!file)
		tool_die("%s: %s", path, strerror(errno));
	slash = strrchr(file, '/');
	*slash = '\0';
	status = change_in(slash == file ? "/" : file, slash + 1, edit, directory_mode, file_mode);
	free(file);
	if (status != CMN_OK)
		tool_die("%s: %s", path, status == CMN_BUSY ? "another process is changing it" :
			 cmn_status_string(status));
}

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

static int show_settings(const char *program, const char *name, bool json)
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

static void check(struct edit *edit, const struct cc_config_rule *rule)
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
	if (edit->value && !fits(rule->name, edit->value))
		tool_refuse("%s: a settings file cannot hold \"%s\": there is a line end, a \"#\" "
			    "behind a blank, or a blank at an end", rule->name, edit->value);
	edit->secret = check_address(rule->name, edit->value);
}

/* What all users' programs have to read, all users can read. */
static void change_for_all(struct edit *edit)
{
	bool secret = edit->secret;
	struct stat info;

	edit->secret = false;
	write_file(CC_CONFIG_SYSTEM_FILE, edit, 0755, 0644);
	if (secret && stat(CC_CONFIG_SYSTEM_FILE, &info) == 0 && (info.st_mode & (S_IRGRP | S_IROTH)))
		tool_complain("warning: others can read the password in " CC_CONFIG_SYSTEM_FILE
			      ": better put it into a file with mode 0600, and name that in remote_secrets");
}

static void change(struct edit *edit, const struct cc_config_rule *rule, bool system)
{
	char *file = NULL;
	struct cc_config_value *values = NULL;

	if (cc_config_user_file(&file) != CMN_OK)
		memory_end();
	if (system)
		change_for_all(edit);
	else if (file)
		write_file(file, edit, 0700, 0600);
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
	struct edit edit = { .program = program };
	struct cc_config_rule rule = { 0 };
	char *key;

	if (program && !names_program(program))
		tool_refuse("--program: \"%s\" is no name of a program: the last part of its path", program);
	if (shows && system)
		tool_refuse("config: --system is for set and unset");
	key = split_operands(arguments, &edit.value);
	if (!key)
		return show_settings(program, NULL, json);
	find_rule(key, &rule);
	free(key);
	if (shows)
		return show_settings(program, rule.name, json);
	if (json)
		tool_refuse("config: --json is for what is shown");
	edit.name = rule.name;
	check(&edit, &rule);
	change(&edit, &rule, system);
	return TOOL_OK;
}
