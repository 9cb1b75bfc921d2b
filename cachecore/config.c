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

/* What a setting's value may be; the types of its field in struct cc_config are those of parse. */
enum type {
	ON_OR_OFF,
	ANY_VALUE,	/* set by whatever value, as the SYCL runtime's variable is */
	SIZE,
	BOUND,
	DAYS,
	SECONDS,
	COMPRESSION,
	WORD,		/* an enum's, whose words are in its order */
	TEXT,
	PATH,		/* in the environment it may be relative to the working directory */
	PATHS,		/* colon-separated; empty parts are skipped, so that an empty list is none */
};

struct setting {
	const char *name;
	size_t offset;
	enum type type;
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
	const char *expected;		/* of a word; NULL: as all of its type */
	const char *const *words;	/* NULL-terminated */
};

/* In the largest unit of which it is a whole number. */
static void format_bound(uint64_t size, struct cmn_buffer *ret)
{
	static const struct {
		const char *name;
		uint64_t bytes;
	} units[] = {
		{ "Ti", UINT64_C(1) << 40 }, { "T", UINT64_C(1000000000000) },
		{ "Gi", UINT64_C(1) << 30 }, { "G", 1000000000 },
		{ "Mi", 1 << 20 }, { "M", 1000000 }, { "Ki", 1 << 10 }, { "K", 1000 }, { "", 1 },
	};
	size_t i = 0;

	while (size ? size % units[i].bytes : units[i].bytes > 1)
		i++;
	cmn_buffer_printf(ret, "%" PRIu64 "%s", size / units[i].bytes, units[i].name);
	if (size && size < 1 << 20 && !units[i].name[0])
		cmn_buffer_append_u8(ret, 'B');
}

static enum cmn_status parse_compression(const char *text, int *ret)
{
	uint64_t level = 0;
	enum cmn_status status = CMN_OK;

	if (strcasecmp(text, "auto") == 0) {
		*ret = CC_COMPRESSION_AUTO;
	} else if (strcasecmp(text, "none") == 0) {
		*ret = CC_COMPRESSION_NONE;
	} else {
		status = cmn_env_parse_number(text, 1, 9, &level);
		if (status == CMN_OK)
			*ret = (int)level;
	}
	return status;
}

/* The position of text in a NULL-terminated list of words. */
static enum cmn_status parse_word(const char *const *words, const char *text, unsigned int *ret)
{
	for (unsigned int i = 0; words[i]; i++) {
		if (strcasecmp(words[i], text) == 0) {
			*ret = i;
			return CMN_OK;
		}
	}
	return CMN_ERR_INVALID;
}

static enum cmn_status parse_paths(const char *text, bool relative, char ***ret)
{
	enum cmn_status status = CMN_OK;
	size_t count = 0, capacity = 2;
	char **list;

	for (const char *at = text; *at; at++)
		capacity += *at == ':';
	list = calloc(capacity, sizeof(*list));
	if (!list)
		return CMN_ERR_NOMEM;
	while (*text && status == CMN_OK) {
		size_t len = strcspn(text, ":");

		if (len)
			status = cc_path_absolute(text, len, relative, &list[count++]);
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

/* A path is absolute from now on, since the application may change its working directory. */
static enum cmn_status parse(const struct setting *setting, const struct origin *origin, struct cc_config *config)
{
	void *field = (char *)config + setting->offset;
	const char *text = origin->text;
	enum cmn_status status = CMN_ERR_NOMEM;
	char *copy = NULL;

	switch (setting->type) {
	case ON_OR_OFF:
		return cmn_env_parse_bool(text, field);
	case ANY_VALUE:
		*(bool *)field = true;
		return CMN_OK;
	case SIZE:
		return cmn_env_parse_size(text, field);
	case BOUND:
		return cmn_env_parse_bound(text, field);
	case DAYS:
		return cmn_env_parse_number(text, 0, MAX_DAYS, field);
	case SECONDS:
		return cmn_env_parse_number(text, 0, MAX_SECONDS, field);
	case COMPRESSION:
		return parse_compression(text, field);
	case WORD:
		return parse_word(setting->words, text, field);
	case PATHS:
		return parse_paths(text, !origin->file, field);
	case PATH:
		status = cc_path_absolute(text, strlen(text), !origin->file, &copy);
		break;
	case TEXT:
		copy = strdup(text);
		status = copy ? CMN_OK : CMN_ERR_NOMEM;
		break;
	}
	if (status == CMN_OK) {
		free(*(char **)field);
		*(char **)field = copy;
	}
	return status;
}

/* What parse understands; of a setting that files may have. */
static void format(const struct setting *setting, const struct cc_config *config, struct cmn_buffer *ret)
{
	const void *field = (const char *)config + setting->offset;
	const char *text;
	char **list;
	int level;

	switch (setting->type) {
	case ON_OR_OFF:
		cmn_buffer_append_text(ret, *(const bool *)field ? "1" : "0");
		break;
	case BOUND:
		format_bound(*(const uint64_t *)field, ret);
		break;
	case COMPRESSION:
		level = *(const int *)field;
		if (level == CC_COMPRESSION_AUTO || level == CC_COMPRESSION_NONE)
			cmn_buffer_append_text(ret, level == CC_COMPRESSION_AUTO ? "auto" : "none");
		else
			cmn_buffer_printf(ret, "%d", level);
		break;
	case WORD:
		cmn_buffer_append_text(ret, setting->words[*(const unsigned int *)field]);
		break;
	case TEXT:
	case PATH:
		text = *(const char *const *)field;
		cmn_buffer_append_text(ret, text ? text : "");
		break;
	case PATHS:
		list = *(char **const *)field;
		for (size_t i = 0; list && list[i]; i++)
			cmn_buffer_printf(ret, "%s%s", i ? ":" : "", list[i]);
		break;
	case SIZE:
	case DAYS:
	case SECONDS:
		cmn_buffer_printf(ret, "%" PRIu64, *(const uint64_t *)field);
		break;
	case ANY_VALUE:	/* of no file */
		break;
	}
}

/* What of each type is expected, for the complaint about a bad value; of words see there. */
static const char *const expected[] = {
	[ON_OR_OFF] = "0 or 1",
	[ANY_VALUE] = "any value",
	[SIZE] = "a size, such as 8Gi",
	[BOUND] = "a size with its unit, such as 8Gi",
	[DAYS] = "days, 0 to 36500",
	[SECONDS] = "seconds, 0 to 86400",
	[COMPRESSION] = "none, auto, or 1 to 9",
	[TEXT] = "an address",
	[PATH] = "an absolute path",
	[PATHS] = "absolute paths separated by colons",
};

static const char *const capture_words[] = { "auto", "eager", "deferred", NULL };
static const char *const log_words[] = { "none", "error", "warning", "info", "debug", NULL };
static const char *const sharing_words[] = { "none", "group", "readers", NULL };
static const char *const eviction_words[] = { "lru", "cost", "none", NULL };

#define SETTING(name, field, type) { name, offsetof(struct cc_config, field), type, OF_PROGRAMS, NULL, NULL }
#define SETTING_FOR_ALL(name, field, type) { name, offsetof(struct cc_config, field), type, FOR_ALL, NULL, NULL }
#define VARIABLE(name, field, type) { name, offsetof(struct cc_config, field), type, VARIABLE_ALONE, NULL, NULL }
#define WORDS(name, field, scope, words, expected) \
	{ name, offsetof(struct cc_config, field), WORD, scope, expected, words }
static const struct setting settings[] = {
	SETTING_FOR_ALL("dir", dir, PATH),
	SETTING("disable", disable, ON_OR_OFF),
	SETTING_FOR_ALL("max_size", max_size, BOUND),
	SETTING_FOR_ALL("threshold", threshold_days, DAYS),
	WORDS("eviction_order", eviction_order, FOR_ALL, eviction_words, "lru, cost or none"),
	SETTING("compression", compression, COMPRESSION),
	SETTING("read_only", read_only, ON_OR_OFF),
	SETTING_FOR_ALL("read_only_dirs", read_only_dirs, PATHS),
	WORDS("shared", sharing, FOR_ALL, sharing_words, "none, group or readers"),
	WORDS("capture", capture, OF_PROGRAMS, capture_words, "auto, eager or deferred"),
	SETTING("replay", replay, ON_OR_OFF),
	SETTING("observe", observe, ON_OR_OFF),
	SETTING("remember_failures", remember_failures, ON_OR_OFF),
	WORDS("log", log_level, OF_PROGRAMS, log_words, "none, error, warning, info or debug"),
	SETTING("log_file", log_file, PATH),
	SETTING("trace", trace, PATH),
	SETTING_FOR_ALL("remote", remote, TEXT),
	SETTING_FOR_ALL("remote_key", remote_key, PATH),
	SETTING_FOR_ALL("remote_trust", remote_trust, PATHS),
	SETTING_FOR_ALL("remote_secrets", remote_secrets, PATH),
	SETTING_FOR_ALL("remote_helpers", remote_helpers, PATHS),
	VARIABLE("persistent", persistent, ON_OR_OFF),
	VARIABLE("in_mem", in_mem, ON_OR_OFF),
	VARIABLE("in_mem_eviction_threshold", in_mem_eviction_threshold, SIZE),
	VARIABLE("eviction_disable", eviction_disable, ANY_VALUE),
	VARIABLE("min_device_image_size", min_device_image_size, SIZE),
	VARIABLE("max_device_image_size", max_device_image_size, SIZE),
	VARIABLE("build_wait", build_wait, SECONDS),
};
#define SETTING_COUNT (sizeof(settings) / sizeof(settings[0]))

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

/* The program of "[program NAME]"; NULL: it is something else. A name with a slash would never be one. */
static char *section_program(char *text)
{
	static const char word[] = "program";
	size_t len = strlen(text);
	char *name;

	if (text[len - 1] != ']' || strncmp(text + 1, word, sizeof(word) - 1) != 0 ||
	    !isspace((unsigned char)text[sizeof(word)]))
		return NULL;
	text[len - 1] = '\0';
	name = trim(text + sizeof(word));
	if (*name && !strchr(name, '/'))
		return name;
	text[len - 1] = ']';	/* for the message, as far as it still is what it was */
	return NULL;
}

void cc_config_line_split(char *line, struct cc_config_line *ret)
{
	char *equals, *name;

	cut_comment(line);
	name = trim(line);
	*ret = (struct cc_config_line){ .kind = CC_CONFIG_LINE_EMPTY, .name = name };
	if (!*name)
		return;
	if (*name == '[') {
		char *program = section_program(name);

		ret->kind = program ? CC_CONFIG_LINE_SECTION : CC_CONFIG_LINE_BAD_SECTION;
		ret->name = program ? program : name;
		return;
	}
	equals = strchr(name, '=');
	ret->kind = equals ? CC_CONFIG_LINE_SETTING : CC_CONFIG_LINE_BAD;
	if (!equals)
		return;
	*equals = '\0';
	ret->name = trim(name);
	ret->value = trim(equals + 1);
}

static const char *expected_of(const struct setting *setting)
{
	return setting->expected ? setting->expected : expected[setting->type];
}

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
			      expected_of(setting));
		return;
	}
	variable_name(setting->name, name, sizeof(name));
	cmn_log_write(log, CMN_LOG_ERROR,
		      "%s: bad value \"%s\" (%s is expected); using the default", name,
		      origin->text, expected_of(setting));
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
		if (!origin->text || (!*origin->text && setting->type != PATHS)) {
			origin->text = NULL;
			continue;
		}
		status = parse(setting, origin, config);
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
	status = parse_paths(READ_ONLY_DIRS, false, &config.read_only_dirs);
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
	format(&settings[i], config, &text);
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
	*ret = (struct cc_config_rule){ settings[i].name, expected_of(&settings[i]) };
	if (of_program && settings[i].scope == FOR_ALL)
		return CMN_ERR_ACCESS;
	if (*value)
		status = parse(&settings[i], &origin, &config);
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
		void *field = (char *)config + settings[i].offset;

		if (settings[i].type == TEXT || settings[i].type == PATH)
			free(*(char **)field);
		else if (settings[i].type == PATHS)
			cmn_strings_free(*(char ***)field);
	}
	free(config->dir_problem);
	free(config->built_for);
	*config = (struct cc_config){ 0 };
}
