/* SPDX-License-Identifier: MIT */
/*
 * portable: reads build options. Each compiler splits and unquotes them by rules of its own, and
 * some hand parts of them on to others, or look for an option's name anywhere in the text (IGC's
 * -igc_opts); an option may name a file to write or a library to load. So an option text is
 * accepted only if all of them find the same words in it, and each word is one that is listed here.
 */
#include "tools/recipes/recipes.h"

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

/* Of a word there is nothing but these, so that nobody unquotes, expands or splits it. */
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define NAME LETTERS "_0123456789"
#define VALUE NAME ".+-*/(),=:#"
#define PATH NAME ".+-/"

/* The next word. false: there are no more. */
static bool next_word(struct cmn_reader *reader, char ret[MAX_OPTION])
{
	size_t len = 0;

	ret[0] = '\0';
	while (reader->left && *reader->data == ' ')
		(void)cmn_reader_u8(reader);
	if (!reader->left)
		return false;
	while (reader->left && *reader->data != ' ') {
		uint8_t c = cmn_reader_u8(reader);

		/* What is longer, or has a NUL, is no word that is known. */
		if (!c || len + 1 == MAX_OPTION) {
			c = '?';
			len = 0;
		}
		memcpy(&ret[len++], &c, 1);
	}
	ret[len] = '\0';
	return true;
}

static bool is_made_of(const char *text, const char *characters)
{
	return *text && !text[strspn(text, characters)];
}

static bool is_one_of(const char *word, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(word, list[i]) == 0)
			return true;
	}
	return false;
}

/* What stands alone, by OpenCL's and Level Zero's specifications and the drivers' documents. */
static bool is_known(const char *word)
{
	static const char *const whole[] = {
		"-w", "-g", "-O", "-O0", "-O1", "-O2", "-O3", "-Os", "-Wall", "-Wextra", "-Werror",
		"-Wno-error", "-Wno-unused", "-Wno-unused-variable", "-Wno-unused-function",
		"-Wno-unused-parameter", "-Wno-unused-value", "-Wno-unknown-pragmas",
		"-Wno-gcc-compat", "-Wno-deprecated-declarations", "-Wno-implicit-function-declaration",
		"-kernel-arg-info", "-create-library", "-enable-link-options",
		"-cl-single-precision-constant", "-cl-denorms-are-zero", "-cl-opt-disable",
		"-cl-fp32-correctly-rounded-divide-sqrt", "-cl-strict-aliasing", "-cl-mad-enable",
		"-cl-uniform-work-group-size", "-cl-no-subgroup-ifp", "-cl-no-signed-zeros",
		"-cl-unsafe-math-optimizations", "-cl-finite-math-only", "-cl-fast-relaxed-math",
		"-cl-kernel-arg-info", "-cl-nv-verbose", "-cl-intel-gtpin-rera",
		"-cl-intel-no-prera-scheduling", "-cl-intel-greater-than-4GB-buffer-required",
		"-cl-intel-128-GRF-per-thread", "-cl-intel-256-GRF-per-thread",
		"-cl-intel-enable-auto-large-GRF-mode", "-cl-intel-has-buffer-offset-arg",
		"-ze-opt-disable", "-ze-opt-greater-than-4GB-buffer-required",
		"-ze-opt-large-register-file", "-ze-opt-has-buffer-offset-arg",
		"-ze-take-global-address", "-ze-intel-has-buffer-offset-arg",
		"-ze-intel-greater-than-4GB-buffer-required", "-ze-intel-128-GRF-per-thread",
		"-ze-intel-256-GRF-per-thread", "-ze-intel-enable-auto-large-GRF-mode",
	};
	static const char *const with_value[] = {
		"-cl-std", "-cl-ext", "-cl-nv-maxrregcount", "-cl-nv-opt-level",
		"-cl-intel-reqd-eu-thread-count", "-ze-opt-level", "-ze-exp-register-file-size",
		"-spir-std",
	};
	const char *value = strchr(word, '=');
	char name[MAX_OPTION];

	if (!value)
		return is_one_of(word, whole, sizeof(whole) / sizeof(whole[0]));
	memcpy(name, word, (size_t)(value - word));
	name[value - word] = '\0';
	return is_one_of(name, with_value, sizeof(with_value) / sizeof(with_value[0])) &&
	       is_made_of(value + 1, NAME ".+,");
}

/*
 * A minus before a letter could begin the name of an option, for who looks for it anywhere. In
 * words: also behind a letter or digit, where paths have one.
 */
static bool hides_option(const char *text, bool in_words)
{
	for (const char *at = text; (at = strchr(at, '-')); at++) {
		if (at[1] && strchr(LETTERS "_-", at[1]) &&
		    (in_words || at == text || !strchr(NAME, at[-1])))
			return true;
	}
	return strstr(text, "-igc_opts") != NULL;
}

/* NAME, NAME=VALUE or NAME(PARAMETERS)=VALUE. */
static const char *refuse_macro(const char *word)
{
	const char *value = word + strspn(word, NAME);

	if (value == word || !strchr(LETTERS "_", *word) || !is_made_of(word, VALUE))
		return unknown;
	if (*value == '(') {
		value += 1 + strspn(value + 1, NAME ",.");
		if (*value++ != ')')
			return unknown;
	}
	if ((*value && *value != '=') || hides_option(value, true))
		return unknown;
	/* "/2" divides. */
	if (*value && value[1] == '/' && value[2] && strchr(LETTERS "_./", value[2]) &&
	    !portable_path(cmn_view_of(value + 1)))
		return not_packages;
	return NULL;
}

/* A directory without its quotes, into the word itself. */
static char *unquote(char *word)
{
	size_t len = strlen(word);

	if (len < 2 || word[0] != '"' || word[len - 1] != '"')
		return word;
	word[len - 1] = '\0';
	return word + 1;
}

/*
 * Below a package's directory, or the one where the compiler runs. Quotes around it all make no
 * other word of it, for whoever keeps them: they name a directory that is not there.
 */
static const char *refuse_directory(char *word)
{
	const char *path = unquote(word);

	if (!is_made_of(path, PATH "~") || hides_option(path, false))
		return unknown;
	if (*path == '/' ? !portable_path(cmn_view_of(path)) : *path == '-' || strstr(path, ".."))
		return not_packages;
	return strchr(path, '~') ? not_packages : NULL;
}

const char *portable_options(struct cmn_view options)
{
	struct cmn_reader reader = cmn_reader_of(options);
	char word[MAX_OPTION] = "";
	const char *reason = NULL;

	while (!reason && next_word(&reader, word)) {
		int kind = word[0] == '-' && word[1] && strchr("IDU", word[1]) ? word[1] : 0;
		char *value = word + 2;

		if (kind && !*value) {
			if (!next_word(&reader, word))
				return unknown;
			value = word;
		}
		if (!kind)
			reason = is_known(word) ? NULL : unknown;
		else if (kind == 'I')
			reason = refuse_directory(value);
		else
			reason = refuse_macro(value);
	}
	return reason;
}

bool portable_header(struct cmn_view name)
{
	char text[MAX_OPTION];

	if (name.len >= sizeof(text) || memchr(name.data, '\0', name.len))
		return false;
	memcpy(text, name.data, name.len);
	text[name.len] = '\0';
	return is_made_of(text, PATH) && text[0] != '/' && text[0] != '-' && !strstr(text, "..");
}

bool portable_includes(struct cmn_view options, struct cmn_view path)
{
	struct cmn_reader reader = cmn_reader_of(options);
	char option[MAX_OPTION] = "";

	while (next_word(&reader, option)) {
		char *directory = option + 2;
		size_t len;

		if (strncmp(option, "-I", 2) != 0)
			continue;
		if (!*directory) {
			if (!next_word(&reader, option))
				return false;
			directory = option;
		}
		directory = unquote(directory);
		len = strlen(directory);
		while (len && directory[len - 1] == '/')
			len--;
		if (len && directory[0] == '/' && path.len > len + 1 &&
		    memcmp(path.data, directory, len) == 0 && ((const char *)path.data)[len] == '/')
			return true;
	}
	return false;
}
