/* SPDX-License-Identifier: MIT */
/*
 * config: finds the text of each setting (system file, user's file, variable;
 * the later one wins), then parses it by the row of one table. A setting is
 * added by a field in struct cc_config, its default, and a row.
 */
#include "cachecore/config.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/disk/path.h"
#include "common/env.h"
#include "common/file.h"

#define READ_ONLY_DIRS "/usr/share/ckcache:/var/lib/ckcache"
#define MAX_FILE_SIZE 65536	/* some twenty lines are expected */
#define MAX_SECONDS 86400
#define MAX_MILLISECONDS 60000
#define MAX_DAYS 36500		/* a century, and far from overflow in nanoseconds */

/* Where a setting's text stands. */
struct origin {
	const char *text;	/* NULL: nowhere */
	const char *file;	/* NULL: the environment */
	unsigned int line;
};

/* field: in struct cc_config. A path in the environment may be relative to the working directory. */
typedef enum cmn_status (*parse_fn)(const struct origin *origin, void *field);

struct setting {
	const char *name;
	size_t offset;
	parse_fn parse;
	const char *expected;	/* for the complaint about a bad value */
};

static enum cmn_status parse_bool(const struct origin *origin, void *field)
{
	return cmn_env_parse_bool(origin->text, field);
}

/* Set by whatever value, as the SYCL runtime's variable is. */
static enum cmn_status parse_set(const struct origin *origin, void *field)
{
	bool *set = field;

	(void)origin;
	*set = true;
	return CMN_OK;
}

static enum cmn_status parse_size(const struct origin *origin, void *field)
{
	return cmn_env_parse_size(origin->text, field);
}

static enum cmn_status parse_days(const struct origin *origin, void *field)
{
	return cmn_env_parse_number(origin->text, 0, MAX_DAYS, field);
}

static enum cmn_status parse_seconds(const struct origin *origin, void *field)
{
	return cmn_env_parse_number(origin->text, 0, MAX_SECONDS, field);
}

static enum cmn_status parse_milliseconds(const struct origin *origin, void *field)
{
	return cmn_env_parse_number(origin->text, 0, MAX_MILLISECONDS, field);
}

static enum cmn_status parse_compression(const struct origin *origin, void *field)
{
	int *compression = field;
	uint64_t level;

	if (strcasecmp(origin->text, "auto") == 0) {
		*compression = CC_COMPRESSION_AUTO;
	} else if (strcasecmp(origin->text, "none") == 0) {
		*compression = CC_COMPRESSION_NONE;
	} else {
		if (cmn_env_parse_number(origin->text, 1, 9, &level) != CMN_OK)
			return CMN_ERR_INVALID;
		*compression = (int)level;
	}
	return CMN_OK;
}

/* The position of text in a NULL-terminated list of words. */
static enum cmn_status parse_word(const char *const *words, const char *text, int *ret)
{
	for (int i = 0; words[i]; i++) {
		if (strcasecmp(words[i], text) == 0) {
			*ret = i;
			return CMN_OK;
		}
	}
	return CMN_ERR_INVALID;
}

/* A parser of an enum whose words are in its order. */
#define PARSE_WORD(name, type, ...)							\
static enum cmn_status parse_##name(const struct origin *origin, void *field)		\
{											\
	static const char *const words[] = { __VA_ARGS__, NULL };			\
	type *value = field;								\
	int i;										\
											\
	if (parse_word(words, origin->text, &i) != CMN_OK)					\
		return CMN_ERR_INVALID;							\
	*value = (type)i;								\
	return CMN_OK;									\
}
PARSE_WORD(capture, enum cc_capture, "auto", "eager", "late", "deferred")
PARSE_WORD(log_level, enum cmn_log_level, "none", "error", "warning", "info", "debug")
PARSE_WORD(sharing, enum cc_sharing, "none", "group", "readers")
PARSE_WORD(eviction_order, enum cc_eviction_order, "lru", "cost", "none")

static enum cmn_status parse_text(const struct origin *origin, void *field)
{
	char **ret = field;
	char *copy = strdup(origin->text);

	if (!copy)
		return CMN_ERR_NOMEM;
	free(*ret);
	*ret = copy;
	return CMN_OK;
}

/* Absolute from now on, since the application may change its working directory. */
static enum cmn_status parse_path(const struct origin *origin, void *field)
{
	char **ret = field;
	char *path = NULL;
	enum cmn_status status = cc_path_absolute(origin->text, strlen(origin->text), !origin->file,
						   &path);

	if (status != CMN_OK)
		return status;
	free(*ret);
	*ret = path;
	return CMN_OK;
}

static void free_list(char **list)
{
	for (size_t i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}

/* Colon-separated; empty parts are skipped, so that an empty list is none. */
static enum cmn_status parse_path_list(const struct origin *origin, void *field)
{
	char ***ret = field;
	enum cmn_status status = CMN_OK;
	size_t count = 0, capacity = 2;
	const char *text = origin->text;
	char **list;

	for (const char *at = text; *at; at++)
		capacity += *at == ':';
	list = calloc(capacity, sizeof(*list));
	if (!list)
		return CMN_ERR_NOMEM;
	while (*text && status == CMN_OK) {
		size_t len = strcspn(text, ":");

		if (len) {
			status = cc_path_absolute(text, len, !origin->file, &list[count]);
			count++;
		}
		text += len + (text[len] == ':');
	}
	if (status != CMN_OK) {
		free_list(list);
		return status;
	}
	free_list(*ret);
	*ret = list;
	return CMN_OK;
}

#define SETTING(name, parse, expected) { #name, offsetof(struct cc_config, name), parse, expected }
static const struct setting settings[] = {
	SETTING(dir, parse_path, "an absolute path"),
	SETTING(disable, parse_bool, "0 or 1"),
	SETTING(persistent, parse_bool, "0 or 1"),
	SETTING(in_mem, parse_bool, "0 or 1"),
	SETTING(in_mem_eviction_threshold, parse_size, "a size, such as 256Mi"),
	SETTING(eviction_disable, parse_set, "any value"),
	SETTING(max_size, parse_size, "a size, such as 8Gi"),
	{ "threshold", offsetof(struct cc_config, threshold_days), parse_days, "days, 0 to 36500" },
	SETTING(eviction_order, parse_eviction_order, "lru, cost or none"),
	SETTING(min_device_image_size, parse_size, "a size, such as 4Ki"),
	SETTING(max_device_image_size, parse_size, "a size, such as 1Gi"),
	SETTING(compression, parse_compression, "none, auto, or 1 to 9"),
	SETTING(read_only, parse_bool, "0 or 1"),
	SETTING(read_only_dirs, parse_path_list, "absolute paths separated by colons"),
	SETTING(promote, parse_bool, "0 or 1"),
	{ "shared", offsetof(struct cc_config, sharing), parse_sharing,
	  "none, group or readers" },
	SETTING(capture, parse_capture, "auto, eager, late or deferred"),
	SETTING(recache, parse_bool, "0 or 1"),
	SETTING(admit_all, parse_bool, "0 or 1"),
	SETTING(observe, parse_bool, "0 or 1"),
	SETTING(build_wait, parse_seconds, "seconds, 0 to 86400"),
	SETTING(hand_over, parse_bool, "0 or 1"),
	SETTING(exit_wait, parse_milliseconds, "milliseconds, 0 to 60000"),
	{ "log", offsetof(struct cc_config, log_level), parse_log_level,
	  "none, error, warning, info or debug" },
	SETTING(log_file, parse_path, "an absolute path"),
	SETTING(trace, parse_path, "an absolute path"),
	SETTING(remote, parse_text, "an address"),
	SETTING(remote_key, parse_path, "an absolute path"),
	SETTING(remote_trust, parse_path_list, "absolute paths separated by colons"),
	SETTING(remote_secrets, parse_path, "an absolute path"),
	SETTING(remote_helpers, parse_path_list, "absolute paths separated by colons"),
};
#define SETTING_COUNT (sizeof(settings) / sizeof(settings[0]))

static void variable_name(const char *name, char *ret, size_t size)
{
	(void)snprintf(ret, size, "CKCACHE_%s", name);
	for (char *at = ret; *at; at++)
		*at = (char)toupper((unsigned char)*at);
}

static size_t find_setting(const char *name)
{
	size_t i = 0;

	while (i < SETTING_COUNT && strcasecmp(settings[i].name, name) != 0)
		i++;
	return i;
}

/* Cuts blanks at both ends, in place. */
static char *trim(char *text)
{
	size_t len;

	while (isspace((unsigned char)*text))
		text++;
	len = strlen(text);
	while (len && isspace((unsigned char)text[len - 1]))
		text[--len] = '\0';
	return text;
}

/* A comment starts with '#' at the line's start or after a blank: paths may contain one. */
static void cut_comment(char *line)
{
	for (char *at = line; *at; at++) {
		if (*at == '#' && (at == line || isspace((unsigned char)at[-1]))) {
			*at = '\0';
			return;
		}
	}
}

static void scan_line(const struct cmn_log *log, const char *file, unsigned int number, char *line,
		      struct origin *origins)
{
	char *equals, *name;
	size_t i;

	cut_comment(line);
	name = trim(line);
	if (!*name)
		return;
	equals = strchr(name, '=');
	if (!equals) {
		cmn_log_write(log, CMN_LOG_ERROR, "%s:%u: not \"key = value\": \"%s\"", file, number,
			      name);
		return;
	}
	*equals = '\0';
	name = trim(name);
	i = find_setting(name);
	/* Not an error: a later version's file may serve an earlier version too. */
	if (i == SETTING_COUNT)
		cmn_log_write(log, CMN_LOG_WARNING, "%s:%u: unknown setting \"%s\"", file, number,
			      name);
	else
		origins[i] = (struct origin){ trim(equals + 1), file, number };
}

/* origins borrow from *ret_text, which the caller frees. */
static enum cmn_status scan_file(const struct cmn_log *log, const char *file,
				 struct origin *origins, char **ret_text)
{
	struct cmn_buffer content;
	unsigned int number = 1;
	enum cmn_status status;
	char *line;

	status = cmn_file_read(AT_FDCWD, file, MAX_FILE_SIZE, true, &content);
	if (status == CMN_MISS)
		return CMN_OK;
	if (status != CMN_OK) {
		cmn_log_write(log, CMN_LOG_WARNING, "%s: %s; it is ignored", file,
			      cmn_status_string(status));
		return status == CMN_ERR_NOMEM ? status : CMN_OK;
	}
	*ret_text = cmn_buffer_take_string(&content);
	if (!*ret_text)
		return CMN_ERR_NOMEM;
	line = *ret_text;
	while (line) {
		char *next = strchr(line, '\n');

		if (next)
			*next++ = '\0';
		scan_line(log, file, number++, line, origins);
		line = next;
	}
	return CMN_OK;
}

/* A HOME that su or sudo left as it was: what this user made there would be closed to its owner. */
static bool is_anothers(const char *path)
{
	struct stat info;

	return stat(path, &info) == 0 && info.st_uid != geteuid() && info.st_uid != 0;
}

/*
 * $variable/tail, or $HOME/home_tail/tail. The XDG base directory specification has
 * relative values ignored. NULL in *ret: neither is there, or HOME is not this user's.
 */
static enum cmn_status xdg_path(const char *variable, const char *home_tail, const char *tail,
				char **ret)
{
	const char *base = cmn_env_get(variable);
	struct cmn_buffer path = { 0 };

	*ret = NULL;
	if (base && base[0] == '/') {
		cmn_buffer_printf(&path, "%s/%s", base, tail);
	} else {
		base = cmn_env_get("HOME");
		if (!base || base[0] != '/' || is_anothers(base))
			return CMN_OK;
		cmn_buffer_printf(&path, "%s/%s/%s", base, home_tail, tail);
	}
	*ret = cmn_buffer_take_string(&path);
	return *ret ? CMN_OK : CMN_ERR_NOMEM;
}

enum cmn_status cc_config_user_path(const char *name, char **ret)
{
	struct cmn_buffer tail = { 0 };
	enum cmn_status status = CMN_ERR_NOMEM;

	cmn_buffer_printf(&tail, "ckcache/%s%c", name, '\0');
	if (!tail.failed)
		status = xdg_path("XDG_CONFIG_HOME", ".config", (const char *)tail.data, ret);
	cmn_buffer_release(&tail);
	return status;
}

enum cmn_status cc_config_user_file(char **ret)
{
	return cc_config_user_path("ckcache.conf", ret);
}

static void complain(const struct cmn_log *log, const struct setting *setting,
		     const struct origin *origin)
{
	char name[64];

	if (origin->file) {
		cmn_log_write(log, CMN_LOG_ERROR,
			      "%s:%u: %s: bad value \"%s\" (%s is expected); using the default",
			      origin->file, origin->line, setting->name, origin->text,
			      setting->expected);
		return;
	}
	variable_name(setting->name, name, sizeof(name));
	cmn_log_write(log, CMN_LOG_ERROR,
		      "%s: bad value \"%s\" (%s is expected); using the default", name,
		      origin->text, setting->expected);
}

static enum cmn_status apply(const struct cmn_log *log, const struct origin *origins,
			     struct cc_config *config)
{
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		const struct setting *setting = &settings[i];
		const struct origin *origin = &origins[i];
		enum cmn_status status;

		/* An empty value asks for the default, but an empty list is a list. */
		if (!origin->text || (!*origin->text && setting->parse != parse_path_list))
			continue;
		status = setting->parse(origin, (char *)config + setting->offset);
		if (status == CMN_ERR_NOMEM)
			return status;
		if (status != CMN_OK)
			complain(log, setting, origin);
	}
	return CMN_OK;
}

/* The root that follows from the settings: none where the level is off or there is no place. */
static enum cmn_status settle_dir(struct cc_config *config)
{
	enum cmn_status status;

	if (!config->persistent) {
		free(config->dir);
		config->dir = NULL;
		return CMN_OK;
	}
	if (config->dir)
		return CMN_OK;
	status = xdg_path("XDG_CACHE_HOME", ".cache", "ckcache", &config->dir);
	if (status != CMN_OK || config->dir)
		return status;
	config->dir_problem =
		strdup("none of CKCACHE_DIR, XDG_CACHE_HOME and HOME names a directory of this user");
	return config->dir_problem ? CMN_OK : CMN_ERR_NOMEM;
}

static bool has_text(const struct origin *origins, const char *setting)
{
	const char *text = origins[find_setting(setting)].text;

	return text && *text;
}

/* A file is there to have something in it. A privileged program writes to none that it is told of. */
static void settle_log(struct cc_config *config, bool has_level)
{
	if (config->log_file && getauxval(AT_SECURE)) {
		free(config->log_file);
		config->log_file = NULL;
	}
	if (config->log_file && !has_level)
		config->log_level = CMN_LOG_INFO;
}

enum cmn_status cc_config_load_from(const struct cmn_log *log, const char *system_file,
				    struct cc_config *ret)
{
	static const struct origin usual_dirs = { READ_ONLY_DIRS, "", 0 };
	struct origin origins[SETTING_COUNT] = { { 0 } };
	char *user_file = NULL, *system_text = NULL, *user_text = NULL;
	const char *built_for;
	struct cc_config config = {
		.persistent = true,
		.in_mem = true,
		.observe = true,
		.in_mem_eviction_threshold = UINT64_C(256) << 20,
		.max_size = UINT64_C(8) << 30,
		.threshold_days = 90,
		.build_wait = 300,
		.exit_wait = 300,
		.max_device_image_size = UINT64_C(1) << 30,
		.compression = CC_COMPRESSION_AUTO,
		.capture = CC_CAPTURE_AUTO,
		.log_level = CMN_LOG_ERROR,
	};
	enum cmn_status status;

	status = parse_path_list(&usual_dirs, &config.read_only_dirs);
	if (status == CMN_OK)
		status = scan_file(log, system_file, origins, &system_text);
	if (status == CMN_OK)
		status = cc_config_user_file(&user_file);
	if (status == CMN_OK && user_file)
		status = scan_file(log, user_file, origins, &user_text);
	if (status != CMN_OK)
		goto out;
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		const char *text;
		char name[64];

		variable_name(settings[i].name, name, sizeof(name));
		text = cmn_env_get(name);
		if (text)
			origins[i] = (struct origin){ .text = text };
	}
	status = apply(log, origins, &config);
	if (status == CMN_OK)
		status = settle_dir(&config);
	if (status == CMN_OK)
		settle_log(&config, has_text(origins, "log"));
	built_for = cmn_env_get(CC_CONFIG_BUILT_FOR);
	if (status == CMN_OK && built_for) {
		config.built_for = strndup(built_for, NAME_MAX);
		status = config.built_for ? CMN_OK : CMN_ERR_NOMEM;
	}
	if (status != CMN_OK)
		goto out;
	*ret = config;
	config = (struct cc_config){ 0 };
out:
	cc_config_release(&config);
	free(user_file);
	free(system_text);
	free(user_text);
	return status;
}

enum cmn_status cc_config_load(const struct cmn_log *log, struct cc_config *ret)
{
	return cc_config_load_from(log, CC_CONFIG_SYSTEM_FILE, ret);
}

bool cc_config_knows(const char *variable)
{
	char name[64];

	for (size_t i = 0; i < SETTING_COUNT; i++) {
		variable_name(settings[i].name, name, sizeof(name));
		if (strcmp(name, variable) == 0)
			return true;
	}
	return false;
}

void cc_config_release(struct cc_config *config)
{
	free(config->dir);
	free(config->dir_problem);
	free(config->built_for);
	free_list(config->read_only_dirs);
	free(config->log_file);
	free(config->trace);
	free(config->remote);
	free(config->remote_key);
	free_list(config->remote_trust);
	free(config->remote_secrets);
	free_list(config->remote_helpers);
	*config = (struct cc_config){ 0 };
}
