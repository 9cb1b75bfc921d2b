/* SPDX-License-Identifier: MIT */
/*
 * portable: reads build options. Compilers split them at blanks, outside of
 * quotes; what is not understood is refused, because an option may name a file
 * to write or a library to load (clang's -o, -fplugin, -Xclang).
 */
#include "tools/recipes/portable.h"

#include <ctype.h>
#include <string.h>

#define MAX_OPTION 4096	/* a longer one is taken for none that is known */

static const char not_packages[] = "an option names a file or directory of this machine";
static const char unknown[] = "an option is not known";

bool portable_path(struct cmn_view path)
{
	static const char *const prefixes[] = {
		"/usr/", "/opt/", "/app/", "/snap/", "/nix/store/", "/gnu/store/",
	};
	const char *text = path.data;

	for (size_t i = 0; i + 2 < path.len; i++) {
		if (memcmp(text + i, "/..", 3) == 0 && (i + 3 == path.len || text[i + 3] == '/'))
			return false;
	}
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t len = strlen(prefixes[i]);

		if (path.len > len && memcmp(text, prefixes[i], len) == 0)
			return !memchr(text, '\0', path.len);
	}
	return false;
}

/* One that is longer, or cannot be read: it is none that is known. */
static bool give_up(char ret[MAX_OPTION])
{
	ret[0] = '?';
	ret[1] = '\0';
	return true;
}

/* The next option without its quotes; false: there are no more. */
static bool next_option(struct cmn_reader *reader, char ret[MAX_OPTION])
{
	uint8_t quote = 0;
	size_t len = 0;

	ret[0] = '\0';
	while (reader->left && isspace(*reader->data))
		(void)cmn_reader_u8(reader);
	if (!reader->left)
		return false;
	while (reader->left && (quote || !isspace(*reader->data))) {
		uint8_t c = cmn_reader_u8(reader);
		bool escaped = c == '\\' && quote != '\'' && reader->left;

		if (!escaped && (quote ? c == quote : c == '"' || c == '\'')) {
			quote = quote ? 0 : c;
			continue;
		}
		if (escaped)
			c = cmn_reader_u8(reader);
		if (!c || len + 1 == MAX_OPTION)
			return give_up(ret);
		memcpy(&ret[len++], &c, 1);
	}
	ret[len] = '\0';
	return quote ? give_up(ret) : true;
}

/* -I, -D and -U take their value behind them or as the next word. */
static bool takes_value(const char *option)
{
	return option[0] == '-' && option[1] && strchr("IDU", option[1]);
}

static bool is_made_of(const char *text, const char *extra)
{
	for (; *text; text++) {
		if (!isalnum((unsigned char)*text) && !strchr(extra, *text))
			return false;
	}
	return true;
}

/* What stands alone. -Wp,… and -Wl,… are other programs' options. */
static bool is_known(const char *option)
{
	static const char *const whole[] = { "-w", "-g", "-kernel-arg-info", "-create-library",
					     "-enable-link-options", "" };

	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
		if (strcmp(option, whole[i]) == 0)
			return true;
	}
	if (strncmp(option, "-cl-", 4) == 0 || strncmp(option, "-ze-", 4) == 0)
		return is_made_of(option, "-=.,:_+");
	if (strncmp(option, "-spir-std=", 10) == 0)
		return is_made_of(option + 10, ".");
	if (strncmp(option, "-W", 2) == 0 || strncmp(option, "-O", 2) == 0)
		return is_made_of(option + 2, "-");
	return false;
}

/* A value of -D: a path in it, as a whole or in quotes, is a package's. */
static bool is_portable_value(const char *option)
{
	const char *value = strchr(option, '=');
	size_t len;

	if (!value)
		return true;
	value += 1 + strspn(value + 1, "\"<");
	len = strcspn(value, "\">");
	/* "/2" divides. */
	return value[0] != '/' || !(isalpha((unsigned char)value[1]) || value[1] == '.') ||
	       portable_path((struct cmn_view){ value, len });
}

static bool is_portable_directory(const char *path)
{
	if (path[0] != '/')
		return strncmp(path, "~", 1) != 0;
	return portable_path(cmn_view_of(path));
}

const char *portable_options(struct cmn_view options)
{
	struct cmn_reader reader = cmn_reader_of(options);
	char option[MAX_OPTION] = "";

	while (next_option(&reader, option)) {
		bool directory = strncmp(option, "-I", 2) == 0;
		const char *value = option + 2;

		if (!takes_value(option)) {
			if (!is_known(option))
				return unknown;
			continue;
		}
		if (!*value) {
			if (!next_option(&reader, option))
				return unknown;
			value = option;
		}
		if (directory ? !is_portable_directory(value) : !is_portable_value(value))
			return not_packages;
	}
	return NULL;
}

bool portable_includes(struct cmn_view options, struct cmn_view path)
{
	struct cmn_reader reader = cmn_reader_of(options);
	char option[MAX_OPTION] = "";

	while (next_option(&reader, option)) {
		const char *directory = option + 2;
		size_t len;

		if (strncmp(option, "-I", 2) != 0)
			continue;
		if (!*directory) {
			if (!next_option(&reader, option))
				return false;
			directory = option;
		}
		len = strlen(directory);
		while (len && directory[len - 1] == '/')
			len--;
		if (len && directory[0] == '/' && path.len > len + 1 &&
		    memcmp(path.data, directory, len) == 0 && ((const char *)path.data)[len] == '/')
			return true;
	}
	return false;
}
