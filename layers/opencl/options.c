/* SPDX-License-Identifier: MIT */
/* options: words by name; one that nobody here knows is not harmless. */
#include "layers/opencl/options.h"

#include <stddef.h>
#include <string.h>

static bool is_blank(char byte)
{
	return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* Quotes and backslashes mean nothing in some reading. */
static bool is_mark(char byte)
{
	return byte == '"' || byte == '\'' || byte == '\\';
}

static const char *const harmless[] = {
	/* OpenCL's and its extensions' */
	"-D", "-I", "-U", "-cl-", "-w", "-create-library", "-enable-link-options", "-spir-std=",
	"-x", "-kernel-arg-info", "-nv-", "-ze-", "-q", "-igc_opts", "-Xfinalizer", "-vc-", "-opt-",
	"-abi-ver", "-doubleGRF",
	/* clang's */
	"-W", "-O", "-g", "-m", "-std=", "-pedantic", "-isystem", "-iquote", "-idirafter",
	"-include", "-imacros", "-fno-", "-ffast-math", "-ffp-", "-ffinite-math", "-fapprox-func",
	"-fassociative-math", "-freciprocal-math", "-fsigned-", "-funsigned-", "-fmath-errno",
	"-fdenormal-fp-math", "-ftrapping-math", "-frounding-math", "-fstrict-", "-fwrapv",
	"-funroll-loops", "-finline", "-fvectorize", "-fslp-vectorize", "-fblocks",
	"-fdeclspec", "-fgnu", "-fcolor-diagnostics", "-fdiagnostics-", "-fcaret-diagnostics",
	"-fshow-", "-fmacro-backtrace-limit", "-ferror-limit", "-fcommon", "-fpack-struct",
	"-fshort-enums", "-fshort-wchar", "-fvisibility", "-fms-extensions",
};

/* Of these, those that write, or hand words on to what does. */
static const char *const harmful[] = {
	"-Wp,", "-Wa,", "-Wl,", "-mllvm", "-gsplit-dwarf", "-fdiagnostics-format", "-g/",
	"-fdiagnostics-add-output", "-fdiagnostics-set-output", "-opt-bisect",
};

static bool is_listed(const char *word, size_t len, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t size = strlen(list[i]);

		if (len >= size && memcmp(word, list[i], size) == 0)
			return true;
	}
	return false;
}
#define IS_LISTED(word, len, list) is_listed(word, len, list, sizeof(list) / sizeof((list)[0]))

/* The longest entry that has to be told apart. */
enum { WORD = 64 };

/* Calls judge for the beginning of each word, without marks. false: it said so. */
static bool each_word(const char *options, bool (*judge)(const char *word, size_t len))
{
	const char *at = options ? options : "";

	while (*at) {
		char word[WORD];
		size_t len = 0;

		while (is_blank(*at) || is_mark(*at))
			at++;
		for (; *at && !is_blank(*at); at++) {
			if (!is_mark(*at) && len < WORD)
				word[len++] = *at;
		}
		if (len && word[0] == '-' && !judge(word, len))
			return false;
	}
	return true;
}

static bool judge_harm(const char *word, size_t len)
{
	return IS_LISTED(word, len, harmless) && !IS_LISTED(word, len, harmful);
}

bool ocl_options_are_harmless(const char *options)
{
	return each_word(options, judge_harm);
}

static bool judge_reading(const char *word, size_t len)
{
	static const char *const reading[] = { "-include", "-imacros" };

	return !IS_LISTED(word, len, reading);
}

static bool judge_debugging(const char *word, size_t len)
{
	static const char *const debugging[] = { "-g" };

	return !IS_LISTED(word, len, debugging);
}

bool ocl_options_ask_for_debugging(const char *options)
{
	return !each_word(options, judge_debugging);
}

bool ocl_options_read_files(const char *options)
{
	return !each_word(options, judge_reading);
}

/* Where the next byte is that is not a backslash (or its trigraph) with the line's end. */
static size_t skip_joints(const char *text, size_t len, size_t at)
{
	for (;;) {
		size_t mark = at;

		if (len - at >= 3 && text[at] == '?' && text[at + 1] == '?' && text[at + 2] == '/')
			mark = at + 3;
		else if (at < len && text[at] == '\\')
			mark = at + 1;
		if (mark == at)
			return at;
		while (mark < len && text[mark] != '\n' && is_blank(text[mark]))
			mark++;
		if (mark == len || text[mark] != '\n')
			return at;
		at = mark + 1;
	}
}

static bool stands_at(const char *text, size_t len, size_t at, const char *word)
{
	for (; *word; word++) {
		at = skip_joints(text, len, at);
		if (at >= len || text[at] != *word)
			return false;
		at++;
	}
	return true;
}

bool ocl_text_has(const char *text, size_t len, const char *word)
{
	for (size_t at = 0; at < len; at++) {
		if (text[at] == *word && stands_at(text, len, at, word))
			return true;
	}
	return false;
}

bool ocl_text_reads_files(const char *text, size_t len)
{
	for (size_t at = 0; at < len; at++) {
		if ((text[at] == 'i' && (stands_at(text, len, at, "include") ||
					 stands_at(text, len, at, "incbin") ||
					 stands_at(text, len, at, "import"))) ||
		    (text[at] == 'e' && stands_at(text, len, at, "embed")))
			return true;
	}
	return false;
}
