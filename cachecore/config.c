/* SPDX-License-Identifier: MIT */
/*
 * config: finds the text of each setting (system file, user's file, variable;
 * the later one wins; in a file the program's section wins), then parses it by
 * the row of one table. A setting is added by a field in struct cc_config, its
 * default, and a row.
 */
#include "cachecore/config.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/config_line.h"
#include "cachecore/disk/path.h"
#include "common/env.h"
#include "common/file.h"
#include "common/trusted.h"

#define READ_ONLY_DIRS "/usr/share/ckcache:/var/lib/ckcache"
#define MAX_SECONDS 86400
#define MAX_DAYS 36500		/* a century, and far from overflow in nanoseconds */

/* Where a setting's text stands. */
struct origin {
	const char *text;	/* NULL: nowhere */
	const char *file;	/* NULL: the environment */
	unsigned int line;
	bool of_program;	/* in a section */
};

/* field: in struct cc_config. A path in the environment may be relative to the working directory. */
typedef enum cmn_status parse_fn(const struct origin *origin, void *field);
typedef void format_fn(const void *field, struct cmn_buffer *ret);

/* What a setting's value may be. */
struct kind {
	const char *expected;	/* for the complaint about a bad value */
	parse_fn *parse;
	format_fn *format;	/* what parse understands; NULL: of variables alone */
	void (*release)(void *field);	/* NULL: it owns nothing */
};

struct setting {
	const char *name;
	size_t offset;
	const struct kind *kind;
	enum {
		OF_PROGRAMS,
		/*
		 * It belongs to the root, which programs share, or decides whose entries and
		 * keys count: a program's name is nothing that could be relied on.
		 */
		FOR_ALL,
		/* No setting: no file and no list has it. */
		VARIABLE_ALONE,
	} scope;
};

static enum cmn_status parse_bool(const struct origin *origin, void *field)
{
	return cmn_env_parse_bool(origin->text, field);
}

static void format_bool(const void *field, struct cmn_buffer *ret)
{
	cmn_buffer_append_text(ret, *(const bool *)field ? "1" : "0");
}

static const struct kind kind_on_or_off = { "0 or 1", parse_bool, format_bool, NULL };

/* Set by whatever value, as the SYCL runtime's variable is. */
static enum cmn_status parse_set(const struct origin *origin, void *field)
{
	bool *set = field;

	(void)origin;
	*set = true;
	return CMN_OK;
}

static const struct kind kind_set = { "any value", parse_set, NULL, NULL };

static enum cmn_status parse_size(const struct origin *origin, void *field)
{
	return cmn_env_parse_size(origin->text, field);
}

/* In the largest unit of which it is a whole number. */
static void format_size(const void *field, struct cmn_buffer *ret)
{
	static const struct {
		const char *name;
		uint64_t bytes;
	} units[] = {
		{ "Ti", UINT64_C(1) << 40 }, { "T", UINT64_C(1000000000000) },
		{ "Gi", UINT64_C(1) << 30 }, { "G", 1000000000 },
		{ "Mi", 1 << 20 }, { "M", 1000000 }, { "Ki", 1 << 10 }, { "K", 1000 }, { "", 1 },
	};
	uint64_t size = *(const uint64_t *)field;
	size_t i = 0;

	while (size ? size % units[i].bytes : units[i].bytes > 1)
		i++;
	cmn_buffer_printf(ret, "%" PRIu64 "%s", size / units[i].bytes, units[i].name);
}

static const struct kind kind_size = { "a size, such as 8Gi", parse_size, NULL, NULL };

static enum cmn_status parse_bound(const struct origin *origin, void *field)
{
	return cmn_env_parse_bound(origin->text, field);
}

static void format_bound(const void *field, struct cmn_buffer *ret)
{
	uint64_t size = *(const uint64_t *)field;

	format_size(field, ret);
	if (size && size < 1 << 20 && size % 1000 && size % 1024)
		cmn_buffer_append_u8(ret, 'B');
}

static const struct kind kind_bound = { "a size with its unit, such as 8Gi", parse_bound, format_bound, NULL };

static enum cmn_status parse_days(const struct origin *origin, void *field)
{
	return cmn_env_parse_number(origin->text, 0, MAX_DAYS, field);
}

static enum cmn_status parse_seconds(const struct origin *origin, void *field)
{
	return cmn_env_parse_number(origin->text, 0, MAX_SECONDS, field);
}

static void format_number(const void *field, struct cmn_buffer *ret)
{
	cmn_buffer_printf(ret, "%" PRIu64, *(const uint64_t *)field);
}

static const struct kind kind_days = { "days, 0 to 36500", parse_days, format_number, NULL };
static const struct kind kind_seconds = { "seconds, 0 to 86400", parse_seconds, NULL, NULL };

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

static void format_compression(const void *field, struct cmn_buffer *ret)
{
	int compression = *(const int *)field;

	if (compression == CC_COMPRESSION_AUTO || compression == CC_COMPRESSION_NONE)
		cmn_buffer_append_text(ret, compression == CC_COMPRESSION_AUTO ? "auto" : "none");
	else
		cmn_buffer_printf(ret, "%d", compression);
}

static const struct kind kind_compression = { "none, auto, or 1 to 9", parse_compression, format_compression, NULL };

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

/* The kind of an enum whose words are in its order. */
#define WORDS(name, type, expected, ...)						\
static const char *const words_of_##name[] = { __VA_ARGS__, NULL };			\
static enum cmn_status parse_##name(const struct origin *origin, void *field)		\
{											\
	type *value = field;								\
	int i;										\
											\
	if (parse_word(words_of_##name, origin->text, &i) != CMN_OK)			\
		return CMN_ERR_INVALID;							\
	*value = (type)i;								\
	return CMN_OK;									\
}											\
static void format_##name(const void *field, struct cmn_buffer *ret)			\
{											\
	cmn_buffer_append_text(ret, words_of_##name[*(const type *)field]);		\
}											\
static const struct kind kind_##name = { expected, parse_##name, format_##name, NULL };
WORDS(capture, enum cc_capture, "auto, eager or deferred", "auto", "eager", "deferred")
WORDS(log_level, enum cmn_log_level, "none, error, warning, info or debug",
      "none", "error", "warning", "info", "debug")
WORDS(sharing, enum cc_sharing, "none, group or readers", "none", "group", "readers")
WORDS(eviction_order, enum cc_eviction_order, "lru, cost or none", "lru", "cost", "none")

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

static void format_text(const void *field, struct cmn_buffer *ret)
{
	const char *text = *(const char *const *)field;

	cmn_buffer_append_text(ret, text ? text : "");
}

static void release_text(void *field)
{
	free(*(char **)field);
}
static const struct kind kind_text = { "an address", parse_text, format_text, release_text };
static const struct kind kind_path = { "an absolute path", parse_path, format_text, release_text };

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
		cmn_strings_free(list);
		return status;
	}
	cmn_strings_free(*ret);
	*ret = list;
	return CMN_OK;
}

static void format_list(const void *field, struct cmn_buffer *ret)
{
	char **list = *(char **const *)field;

	for (size_t i = 0; list && list[i]; i++)
		cmn_buffer_printf(ret, "%s%s", i ? ":" : "", list[i]);
}

static void release_list(void *field)
{
	cmn_strings_free(*(char ***)field);
}
static const struct kind kind_path_list = { "absolute paths separated by colons", parse_path_list, format_list,
				       release_list };

#define SETTING(name, field, kind) { name, offsetof(struct cc_config, field), &kind_##kind, OF_PROGRAMS }
#define SETTING_FOR_ALL(name, field, kind) { name, offsetof(struct cc_config, field), &kind_##kind, FOR_ALL }
#define VARIABLE(name, field, kind) { name, offsetof(struct cc_config, field), &kind_##kind, VARIABLE_ALONE }
static const struct setting settings[] = {
	SETTING_FOR_ALL("dir", dir, path),
	SETTING("disable", disable, on_or_off),
	SETTING_FOR_ALL("max_size", max_size, bound),
	SETTING_FOR_ALL("threshold", threshold_days, days),
	SETTING_FOR_ALL("eviction_order", eviction_order, eviction_order),
	SETTING("compression", compression, compression),
	SETTING("read_only", read_only, on_or_off),
	SETTING_FOR_ALL("read_only_dirs", read_only_dirs, path_list),
	SETTING_FOR_ALL("shared", sharing, sharing),
	SETTING("capture", capture, capture),
	SETTING("replay", replay, on_or_off),
	SETTING("observe", observe, on_or_off),
	SETTING("remember_failures", remember_failures, on_or_off),
	SETTING("log", log_level, log_level),
	SETTING("log_file", log_file, path),
	SETTING("trace", trace, path),
	SETTING_FOR_ALL("remote", remote, text),
	SETTING_FOR_ALL("remote_key", remote_key, path),
	SETTING_FOR_ALL("remote_trust", remote_trust, path_list),
	SETTING_FOR_ALL("remote_secrets", remote_secrets, path),
	SETTING_FOR_ALL("remote_helpers", remote_helpers, path_list),
	VARIABLE("persistent", persistent, on_or_off),
	VARIABLE("in_mem", in_mem, on_or_off),
	VARIABLE("in_mem_eviction_threshold", in_mem_eviction_threshold, size),
	VARIABLE("eviction_disable", eviction_disable, set),
	VARIABLE("min_device_image_size", min_device_image_size, size),
	VARIABLE("max_device_image_size", max_device_image_size, size),
	VARIABLE("build_wait", build_wait, seconds),
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

	while (i < SETTING_COUNT && (settings[i].scope == VARIABLE_ALONE ||
				     strcasecmp(settings[i].name, name) != 0))
		i++;
	return i;
}

/* A file, while its lines are read. */
struct scan {
	const struct cmn_log *log;
	const char *file;
	const char *program;		/* whose section counts */
	unsigned int line;
	enum { IN_GENERAL, IN_PROGRAMS, IN_OTHERS } section;
	struct origin *origins;		/* for all programs */
	struct origin own[SETTING_COUNT];	/* for that program */
};

static void scan_setting(struct scan *scan, const struct cc_config_line *line)
{
	size_t i = find_setting(line->name);

	if (scan->section == IN_OTHERS)
		return;
	/* Not an error: a later version's file may serve an earlier version too. */
	if (i == SETTING_COUNT)
		cmn_log_write(scan->log, CMN_LOG_WARNING, "%s:%u: unknown setting \"%s\"",
			      scan->file, scan->line, line->name);
	else if (scan->section == IN_PROGRAMS && settings[i].scope == FOR_ALL)
		cmn_log_write(scan->log, CMN_LOG_ERROR,
			      "%s:%u: %s cannot be set for one program; it is ignored", scan->file,
			      scan->line, settings[i].name);
	else
		(scan->section == IN_PROGRAMS ? scan->own : scan->origins)[i] = (struct origin){
			line->value, scan->file, scan->line, scan->section == IN_PROGRAMS,
		};
}

static void scan_line(struct scan *scan, char *text)
{
	struct cc_config_line line;

	cc_config_line_split(text, &line);
	switch (line.kind) {
	case CC_CONFIG_LINE_EMPTY:
		break;
	case CC_CONFIG_LINE_SETTING:
		scan_setting(scan, &line);
		break;
	case CC_CONFIG_LINE_SECTION:
		scan->section = strcmp(line.name, scan->program) == 0 ? IN_PROGRAMS : IN_OTHERS;
		break;
	case CC_CONFIG_LINE_BAD_SECTION:
		scan->section = IN_OTHERS;
		cmn_log_write(scan->log, CMN_LOG_ERROR,
			      "%s:%u: not \"[program NAME]\" with the last part of a path: \"%s\"; "
			      "the lines up to the next section are ignored",
			      scan->file, scan->line, line.name);
		break;
	case CC_CONFIG_LINE_BAD:
		if (scan->section != IN_OTHERS)
			cmn_log_write(scan->log, CMN_LOG_ERROR, "%s:%u: not \"key = value\": \"%s\"",
				      scan->file, scan->line, line.name);
		break;
	}
}

/* origins borrow from *ret_text, which the caller frees. A file can name programs to run: it must be trusted. */
static enum cmn_status scan_file(const struct cmn_log *log, const char *file, bool is_system,
				 const char *program, struct origin *origins, char **ret_text)
{
	struct scan scan = { .log = log, .file = file, .program = program, .origins = origins };
	struct cmn_buffer content;
	enum cmn_status status;
	const char *reason;
	char *line;

	status = cmn_trusted_read(file, is_system, CC_CONFIG_MAX_FILE, &reason, &content);
	if (status == CMN_MISS)
		return CMN_OK;
	if (status != CMN_OK) {
		cmn_log_write(log, reason ? CMN_LOG_ERROR : CMN_LOG_WARNING, "%s: %s; the file is ignored",
			      file, reason ? reason : cmn_status_string(status));
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
		scan.line++;
		scan_line(&scan, line);
		line = next;
	}
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		if (scan.own[i].text)
			origins[i] = scan.own[i];
	}
	return CMN_OK;
}

enum cmn_status cc_config_xdg_path(const char *variable, const char *home_tail, const char *tail,
				   char **ret)
{
	struct cmn_buffer path = { 0 };
	struct stat info;
	char *base;
	enum cmn_status status = cmn_env_get(variable, &base);

	*ret = NULL;
	if (status != CMN_OK)
		return status;
	if (base && cmn_trusted_owners(base)) {
		cmn_buffer_printf(&path, "%s/%s", base, tail);
	} else {
		free(base);
		status = cmn_env_get("HOME", &base);
		if (status != CMN_OK)
			return status;
		if (base && cmn_trusted_owners(base) && stat(base, &info) == 0 && S_ISDIR(info.st_mode))
			cmn_buffer_printf(&path, "%s/%s/%s", base, home_tail, tail);
	}
	free(base);
	if (!path.len && !path.failed)
		return CMN_OK;
	*ret = cmn_buffer_take_string(&path);
	return *ret ? CMN_OK : CMN_ERR_NOMEM;
}

enum cmn_status cc_config_user_path(const char *name, char **ret)
{
	enum cmn_status status;
	char *tail;

	if (asprintf(&tail, "ckcache/%s", name) < 0)
		return CMN_ERR_NOMEM;
	status = cc_config_xdg_path("XDG_CONFIG_HOME", ".config", tail, ret);
	free(tail);
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
			      setting->kind->expected);
		return;
	}
	variable_name(setting->name, name, sizeof(name));
	cmn_log_write(log, CMN_LOG_ERROR,
		      "%s: bad value \"%s\" (%s is expected); using the default", name,
		      origin->text, setting->kind->expected);
}

/* An origin whose text is not used, because it is empty or bad, becomes none. */
static enum cmn_status apply(const struct cmn_log *log, struct origin *origins,
			     struct cc_config *config)
{
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		const struct setting *setting = &settings[i];
		struct origin *origin = &origins[i];
		enum cmn_status status;

		/* An empty value asks for the default, but an empty list is a list. */
		if (!origin->text || (!*origin->text && setting->kind != &kind_path_list)) {
			origin->text = NULL;
			continue;
		}
		status = setting->kind->parse(origin, (char *)config + setting->offset);
		if (status == CMN_ERR_NOMEM)
			return status;
		if (status != CMN_OK) {
			complain(log, setting, origin);
			origin->text = NULL;
		}
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
	status = cc_config_xdg_path("XDG_CACHE_HOME", ".cache", "ckcache", &config->dir);
	if (status != CMN_OK || config->dir)
		return status;
	config->dir_problem =
		strdup("none of CKCACHE_DIR, XDG_CACHE_HOME and HOME names a directory of this user");
	return config->dir_problem ? CMN_OK : CMN_ERR_NOMEM;
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

/* What the texts are parts of, and where they were found. */
struct sources {
	struct origin origins[SETTING_COUNT];
	char *user_file, *system_text, *user_text;
	struct cmn_buffer environment;	/* empty in a privileged program */
};

static void release_sources(struct sources *sources)
{
	free(sources->user_file);
	free(sources->system_text);
	free(sources->user_text);
	cmn_buffer_release(&sources->environment);
}

/* To be released in any case. */
static enum cmn_status find_sources(const struct cmn_log *log, const char *system_file,
				    const char *program, struct sources *ret)
{
	enum cmn_status status;

	status = scan_file(log, system_file, true, program, ret->origins, &ret->system_text);
	if (status == CMN_OK)
		status = cc_config_user_file(&ret->user_file);
	if (status == CMN_OK && ret->user_file)
		status = scan_file(log, ret->user_file, false, program, ret->origins, &ret->user_text);
	if (status != CMN_OK)
		return status;
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		const char *text;
		char name[64];

		variable_name(settings[i].name, name, sizeof(name));
		text = cmn_env_find(&ret->environment, name);
		if (text)
			ret->origins[i] = (struct origin){ .text = text };
	}
	return CMN_OK;
}

/* program NULL: this process's. The caller releases the sources in any case. */
static enum cmn_status load(const struct cmn_log *log, const char *system_file, const char *program,
			    struct sources *sources, struct cc_config *ret)
{
	static const struct origin usual_dirs = { READ_ONLY_DIRS, "", 0, false };
	const char *built_for;
	struct cc_config config = {
		.persistent = true,
		.in_mem = true,
		.observe = true,
		.replay = true,
		.remember_failures = true,
		.in_mem_eviction_threshold = UINT64_C(256) << 20,
		.max_size = UINT64_C(8) << 30,
		.threshold_days = 90,
		.build_wait = 300,
		.max_device_image_size = UINT64_C(1) << 30,
		.compression = CC_COMPRESSION_AUTO,
		.capture = CC_CAPTURE_AUTO,
		.log_level = CMN_LOG_ERROR,
	};
	enum cmn_status status = getauxval(AT_SECURE) ? CMN_OK : cmn_env_copy(&sources->environment);

	if (status != CMN_OK)
		return status;
	built_for = cmn_env_find(&sources->environment, CC_CONFIG_BUILT_FOR);
	/* A worker of ckcache replay stores as the program would. */
	if (!program)
		program = built_for && *built_for ? built_for : cc_path_program();
	status = parse_path_list(&usual_dirs, &config.read_only_dirs);
	if (status == CMN_OK)
		status = find_sources(log, system_file, program, sources);
	if (status == CMN_OK)
		status = apply(log, sources->origins, &config);
	if (status == CMN_OK)
		status = settle_dir(&config);
	/* What is empty or bad is none by now. */
	if (status == CMN_OK)
		settle_log(&config, sources->origins[find_setting("log")].text);
	if (status == CMN_OK && built_for) {
		config.built_for = strndup(built_for, NAME_MAX);
		config.remember_failures = false;	/* what fails there need not fail in the program */
		config.makes_no_root = config.dir && access(config.dir, F_OK) == 0;
		status = config.built_for ? CMN_OK : CMN_ERR_NOMEM;
	}
	if (status == CMN_OK)
		*ret = config;
	else
		cc_config_release(&config);
	return status;
}

enum cmn_status cc_config_load_from(const struct cmn_log *log, const char *system_file,
				    struct cc_config *ret)
{
	struct sources sources = { 0 };
	enum cmn_status status = load(log, system_file, NULL, &sources, ret);

	release_sources(&sources);
	return status;
}

enum cmn_status cc_config_load(const struct cmn_log *log, struct cc_config *ret)
{
	return cc_config_load_from(log, CC_CONFIG_SYSTEM_FILE, ret);
}

/* Whose text it is; the caller frees the rest on failure. */
static enum cmn_status describe(size_t i, const struct sources *sources,
				const struct cc_config *config, struct cc_config_value *ret)
{
	const struct origin *origin = &sources->origins[i];
	struct cmn_buffer text = { 0 };

	ret->name = settings[i].name;
	variable_name(ret->name, ret->variable, sizeof(ret->variable));
	if (origin->text && !origin->file)
		ret->place = CC_CONFIG_ENVIRONMENT;
	else if (origin->text)
		ret->place = origin->file == sources->user_file ? CC_CONFIG_USER : CC_CONFIG_SYSTEM;
	ret->line = origin->text ? origin->line : 0;
	ret->of_program = origin->text && origin->of_program;
	settings[i].kind->format((const char *)config + settings[i].offset, &text);
	ret->text = cmn_buffer_take_string(&text);
	return ret->text ? CMN_OK : CMN_ERR_NOMEM;
}

enum cmn_status cc_config_list(const struct cmn_log *log, const char *system_file,
			       const char *program, struct cc_config_value **ret)
{
	struct cc_config_value *values = calloc(SETTING_COUNT + 1, sizeof(*values));
	struct cc_config config = { 0 };
	struct sources sources = { 0 };
	enum cmn_status status = CMN_ERR_NOMEM;
	size_t count = 0;

	if (values)
		status = load(log, system_file, program, &sources, &config);
	for (size_t i = 0; i < SETTING_COUNT && status == CMN_OK; i++) {
		if (settings[i].scope != VARIABLE_ALONE)
			status = describe(i, &sources, &config, &values[count++]);
	}
	cc_config_release(&config);
	release_sources(&sources);
	if (status == CMN_OK)
		*ret = values;
	else
		cc_config_list_free(values);
	return status;
}

void cc_config_list_free(struct cc_config_value *values)
{
	for (size_t i = 0; values && values[i].name; i++)
		free(values[i].text);
	free(values);
}

enum cmn_status cc_config_check(const char *name, const char *value, bool of_program,
				struct cc_config_rule *ret)
{
	const struct origin origin = { .text = value, .file = "" };
	size_t i = find_setting(name);
	struct cc_config config = { 0 };
	enum cmn_status status = CMN_OK;

	if (i == SETTING_COUNT)
		return CMN_MISS;
	*ret = (struct cc_config_rule){ settings[i].name, settings[i].kind->expected };
	if (of_program && settings[i].scope == FOR_ALL)
		return CMN_ERR_ACCESS;
	if (*value)
		status = settings[i].kind->parse(&origin, (char *)&config + settings[i].offset);
	cc_config_release(&config);
	return status;
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
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		if (settings[i].kind->release)
			settings[i].kind->release((char *)config + settings[i].offset);
	}
	free(config->dir_problem);
	free(config->built_for);
	*config = (struct cc_config){ 0 };
}
