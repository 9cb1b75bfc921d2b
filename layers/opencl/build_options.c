/* SPDX-License-Identifier: MIT */
/*
 * build_options: cuts the string in up to three ways and sorts the words.
 * Words are accepted by name: an option that nobody here knows could read a
 * file.
 */
#include "layers/opencl/build_options.h"

#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "layers/opencl/tokens.h"

/* More than any program gives; each is compared with all before it. */
enum { MAX_LISTED = 4096 };

enum reading {
	READING_SHELL,		/* quotes group and go, a backslash takes the next byte */
	READING_QUOTES,		/* quotes group and go, a backslash is itself */
	READING_RAW,		/* blanks cut, quotes stay */
	READING_COUNT,
};

struct reader {
	struct ocl_build_options *options;
	enum reading reading;
	unsigned int bit;
	const char *at;
	char *word;		/* the current one, owned */
	bool impossible;	/* no driver could build in this reading */
	bool swallows;		/* a definition hides the next one */
};

static bool is_blank(char byte)
{
	return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* The next word into reader->word; CMN_MISS: no more. */
static enum cmn_status next_word(struct reader *reader)
{
	struct cmn_buffer word = { 0 };
	const char *at = reader->at;
	char quote = '\0';

	free(reader->word);
	reader->word = NULL;
	while (is_blank(*at))
		at++;
	if (!*at) {
		reader->at = at;
		return CMN_MISS;
	}
	for (; *at && (quote || !is_blank(*at)); at++) {
		bool mark = reader->reading != READING_RAW && (*at == '"' || *at == '\'');

		if (reader->reading == READING_SHELL && *at == '\\' && quote != '\'' && at[1])
			cmn_buffer_append_u8(&word, (uint8_t)*++at);
		else if (mark && !quote)
			quote = *at;
		else if (mark && quote == *at)
			quote = '\0';
		else
			cmn_buffer_append_u8(&word, (uint8_t)*at);
	}
	reader->at = at;
	reader->word = cmn_buffer_take_string(&word);
	return reader->word ? CMN_OK : CMN_ERR_NOMEM;
}

static enum cmn_status add_directory(struct reader *reader, const char *path)
{
	struct ocl_build_options *options = reader->options;
	char **directories;
	char *copy;

	/* Relative to a system root that we do not know. */
	if (path[0] == '=' || strncmp(path, "$SYSROOT", 8) == 0 || strcmp(path, "-") == 0)
		return CMN_MISS;
	for (size_t i = 0; i < options->directory_count; i++) {
		if (strcmp(options->directories[i], path) == 0)
			return CMN_OK;
	}
	if (options->directory_count == MAX_LISTED)
		return CMN_MISS;
	directories = realloc(options->directories,
			      (options->directory_count + 1) * sizeof(*directories));
	if (!directories)
		return CMN_ERR_NOMEM;
	options->directories = directories;
	copy = strdup(path);
	if (!copy)
		return CMN_ERR_NOMEM;
	directories[options->directory_count++] = copy;
	return CMN_OK;
}

static enum cmn_status add_macro_text(struct reader *reader, char *text, bool undefine)
{
	struct ocl_build_options *options = reader->options;
	struct ocl_option_macro *macros;

	for (size_t i = 0; i < options->macro_count; i++) {
		struct ocl_option_macro *macro = &options->macros[i];

		if (macro->undefine == undefine && strcmp(macro->text, text) == 0) {
			macro->readings |= reader->bit;
			free(text);
			return CMN_OK;
		}
	}
	macros = options->macro_count == MAX_LISTED ? NULL :
		realloc(options->macros, (options->macro_count + 1) * sizeof(*macros));
	if (!macros) {
		free(text);
		return options->macro_count == MAX_LISTED ? CMN_MISS : CMN_ERR_NOMEM;
	}
	options->macros = macros;
	macros[options->macro_count++] =
		(struct ocl_option_macro){ text, undefine, false, reader->bit };
	return CMN_OK;
}

/* NAME, NAME=BODY or NAME(PARAMETERS)=BODY, as compilers turn it into a line of its own. */
static enum cmn_status add_macro(struct reader *reader, const char *word, bool undefine)
{
	const char *equals = undefine ? NULL : strchr(word, '=');
	struct cmn_buffer text = { 0 };
	size_t len = strlen(word);
	char *string;

	/* No driver builds with such a name: this is not how it reads. */
	if (!ocl_token_is_identifier_byte((unsigned char)word[0])) {
		reader->impossible = true;
		return CMN_OK;
	}
	/* These would reach into the lines after it. */
	if (strpbrk(word, "\n\r") || strstr(word, "/*"))
		return CMN_MISS;
	if (len && word[len - 1] == '\\') {
		if (reader->reading == READING_SHELL)
			return CMN_MISS;
		reader->swallows = true;
	}
	if (equals) {
		cmn_buffer_append(&text, word, (size_t)(equals - word));
		cmn_buffer_append_u8(&text, ' ');
		cmn_buffer_append_text(&text, equals + 1);
	} else {
		cmn_buffer_append_text(&text, word);
		cmn_buffer_append_text(&text, undefine ? "" : " 1");
	}
	string = cmn_buffer_take_string(&text);
	return string ? add_macro_text(reader, string, undefine) : CMN_ERR_NOMEM;
}

static bool has_prefix(const char *word, const char *const *prefixes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strncmp(word, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	}
	return false;
}
#define HAS_PREFIX(word, list) has_prefix(word, list, sizeof(list) / sizeof((list)[0]))

/* Options that read no file: OpenCL's and vendors' own, warnings, code generation. */
static bool is_harmless(const char *word)
{
	static const char *const known[] = {
		"-cl-",	 "-w",	  "-W",	   "-O",   "-g",		"-m",
		"-f",	 "-nv-",  "-ze-",  "-q",   "-create-library",	"-enable-link-options",
		"-std=", "-spir", "-kernel-arg-info", "-pedantic", "-dump-opt-llvm", "-opt-",
		"-vc-",	 "-abi-ver", "-doubleGRF",
	};
	/* Of these families, those that read files or change how headers are searched. */
	static const char *const reading[] = {
		"-Wp,",	     "-Wa,",	   "-Wl,",	    "-working",	     "-mllvm",
		"-mlink",    "-fmod",	   "-fprebuilt",    "-fplugin",	     "-fpass-plugin",
		"-fprofile", "-fsanitize", "-fxray",	    "-finclude",     "-fembed",
		"-fauto-profile", "-fsample", "-fimplicit-module", "-fms", "-fsystem-module",
		"-fthinlto", "-fbuild-session", "-frewrite", "-fcs-profile", "-fapinotes",
		"-fvalidate", "-foverride-record-layout", "-fworking",	     "-fallow-pch",
		"-fpch",     "-fcxx-mod",  "-module",
	};

	return HAS_PREFIX(word, known) && !HAS_PREFIX(word, reading);
}

/* The operand of an option that is the word's rest or the next word; CMN_MISS: there is none. */
static enum cmn_status operand_of(struct reader *reader, size_t option_len, const char **ret)
{
	enum cmn_status status = CMN_OK;

	if (reader->word[option_len]) {
		*ret = reader->word + option_len;
		return CMN_OK;
	}
	status = next_word(reader);
	*ret = reader->word;
	return status;
}

/* Options of Intel's compiler whose operand is the next word and names no file. */
static bool takes_harmless_operand(const char *word)
{
	return strcmp(word, "-igc_opts") == 0 || strcmp(word, "-Xfinalizer") == 0;
}

static enum cmn_status read_word(struct reader *reader)
{
	static const char *const other_directories[] = { "-isystem", "-iquote", "-idirafter" };
	const char *word = reader->word, *operand;
	enum cmn_status status;
	bool undefine;

	if (strncmp(word, "-I", 2) == 0) {
		status = operand_of(reader, 2, &operand);
		return status == CMN_OK ? add_directory(reader, operand) : status;
	}
	for (size_t i = 0; i < 3; i++) {
		size_t len = strlen(other_directories[i]);

		if (strncmp(word, other_directories[i], len) != 0)
			continue;
		reader->options->ordered = false;
		status = operand_of(reader, len, &operand);
		return status == CMN_OK ? add_directory(reader, operand) : status;
	}
	undefine = strncmp(word, "-U", 2) == 0;
	if (undefine || strncmp(word, "-D", 2) == 0) {
		status = operand_of(reader, 2, &operand);
		return status == CMN_OK ? add_macro(reader, operand, undefine) : status;
	}
	if (takes_harmless_operand(word))
		return operand_of(reader, strlen(word), &operand);
	if (word[0] != '-')	/* a part of a quoted word, else a file */
		return reader->reading == READING_RAW ? CMN_OK : CMN_MISS;
	if (strncmp(word, "-g", 2) == 0)
		reader->options->debug = true;
	if (strncmp(word, "-cl-std=", 8) == 0 && strstr(word, "++"))
		reader->options->cplusplus = true;
	return is_harmless(word) ? CMN_OK : CMN_MISS;
}

static bool quotes_are_paired(const char *text)
{
	bool paired = true;

	for (; *text; text++)
		paired ^= *text == '"';
	return paired;
}

/* Text with quotes or backslashes has as many readings as drivers may have, unless this driver's is known. */
static void choose_readings(const char *text, bool quotes_group, unsigned int *ret_first,
			    unsigned int *ret_end)
{
	*ret_first = READING_QUOTES;
	*ret_end = READING_QUOTES + 1;
	if (!strpbrk(text, "\"'\\"))
		return;
	if (quotes_group && !strpbrk(text, "'\\") && quotes_are_paired(text))
		return;
	*ret_first = 0;
	*ret_end = READING_COUNT;
}

static enum cmn_status read_options(struct ocl_build_options *options, const char *text,
				    bool quotes_group, bool sure)
{
	enum cmn_status status = CMN_OK;
	unsigned int first, end, all;
	bool certain = sure;

	choose_readings(text, quotes_group, &first, &end);
	all = (1u << end) - (1u << first);
	options->ordered &= end - first == 1 && sure;
	for (unsigned int i = first; i < end && status == CMN_OK; i++) {
		struct reader reader = { .options = options, .reading = (enum reading)i,
					 .bit = 1u << i, .at = text };

		while (status == CMN_OK && (status = next_word(&reader)) == CMN_OK)
			status = read_word(&reader);
		/* No more words is the end; a refused one leaves some of its own. */
		if (status == CMN_MISS && !reader.word)
			status = CMN_OK;
		free(reader.word);
		if (reader.impossible)
			all &= ~reader.bit;
		certain &= !reader.swallows;
	}
	for (size_t i = 0; i < options->macro_count; i++)
		options->macros[i].certain |= certain && (options->macros[i].readings & all) == all;
	return status;
}

enum cmn_status ocl_build_options_read(struct ocl_build_options *ret, const char *options,
				       bool quotes_group)
{
	/* pocl, AMD and Mesa's clover append these; whether this driver does is not known here. */
	static const char *const variables[] = {
		"POCL_EXTRA_BUILD_FLAGS", "AMD_OCL_BUILD_OPTIONS", "AMD_OCL_BUILD_OPTIONS_APPEND",
		"CLOVER_EXTRA_BUILD_OPTIONS", "CLOVER_EXTRA_COMPILE_OPTIONS",
	};
	enum cmn_status status = CMN_OK;

	*ret = (struct ocl_build_options){ .ordered = true };
	if (options)
		status = read_options(ret, options, quotes_group, true);
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *text = getenv(variables[i]);

		if (status == CMN_OK && text && *text)
			status = read_options(ret, text, false, false);
	}
	return status;
}

void ocl_build_options_release(struct ocl_build_options *options)
{
	for (size_t i = 0; i < options->directory_count; i++)
		free(options->directories[i]);
	for (size_t i = 0; i < options->macro_count; i++)
		free(options->macros[i].text);
	free(options->directories);
	free(options->macros);
	*options = (struct ocl_build_options){ 0 };
}
