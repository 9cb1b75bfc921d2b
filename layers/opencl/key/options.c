/* SPDX-License-Identifier: MIT */
/* options: in words, as a compiler might read them. */
#include "layers/opencl/key/options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/env.h"
#include "layers/shared/driver/harmless.h"
#include "layers/shared/observer/observer_text.h"

bool ocl_options_ask_for_debugging(const char *options)
{
	return drv_options_have(options, "-g");
}

bool ocl_options_read_files(const char *options)
{
	return drv_options_have(options, "-include") || drv_options_have(options, "-imacros");
}

static bool is_line_end(char byte)
{
	return byte == '\n' || byte == '\r';
}

/* Where the next byte is that is no backslash (or its trigraph) with the line's end, as clang has it. */
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
		while (mark < len && !is_line_end(text[mark]) && drv_options_is_blank(text[mark]))
			mark++;
		if (mark == len || !is_line_end(text[mark]))
			return at;
		at = mark + 1;
		if (at < len && is_line_end(text[at]) && text[at] != text[mark])
			at++;
	}
}

static bool stands_at(const char *text, size_t len, size_t at, const char *wanted)
{
	for (; *wanted; wanted++) {
		at = skip_joints(text, len, at);
		if (at >= len || text[at] != *wanted)
			return false;
		at++;
	}
	return true;
}

bool ocl_text_has(const char *text, size_t len, const char *wanted)
{
	for (size_t at = 0; at < len; at++) {
		if (text[at] == *wanted && stands_at(text, len, at, wanted))
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

/* Identifiers by which a text reads files, or says when and where it is compiled. */
static const char *const telling[] = {
	"include", "include_next", "__include_macros", "import", "embed", "dependency", "module",
	"asm", "_asm", "__asm", "__asm__", "__pragma", "__has_include_next", "__builtin_FILE",
	"__builtin_FILE_NAME", "__builtin_source_location",
};

/* Of all these, those by which a text gets the name of its file, or what hangs on that, or another file by pieces of a name. */
static bool gets_name(const char *identifier)
{
	return strstr(identifier, "FILE") || strstr(identifier, "location") || strstr(identifier, "FUNC") ||
	       strstr(identifier, "TIMESTAMP") || strcmp(identifier, "dependency") == 0;
}

/* Those that can also be pasted together; the last one takes such an identifier as its argument. */
static const char *const pasted[] = {
	"__DATE__", "__TIME__", "__TIMESTAMP__", "__FILE__", "__FILE_NAME__", "__BASE_FILE__",
	"__PRETTY_FUNCTION__", "__FUNCSIG__", "__has_include", "__has_embed", "_Pragma",
};

/* What was found in all texts that make up a program. */
struct findings {
	bool tells;	/* a telling identifier */
	bool names;	/* one of these that asks for the file's name */
	bool pastes;	/* the operator ## */
	bool part;	/* the beginning of one that can be pasted */
};

/* How much of `whole` the identifier there is: 2 all, 1 a beginning, 0 it is another. */
static int share_of(const char *text, size_t len, size_t at, const char *whole)
{
	bool ends;

	for (; *whole && at < len && text[at] == *whole; whole++)
		at = skip_joints(text, len, at + 1);
	ends = at >= len || !cmn_is_word(text[at]);
	return !ends ? 0 : *whole ? 1 : 2;
}

bool ocl_text_has_identifier(const char *text, size_t len, const char *wanted)
{
	bool in_identifier = false;

	for (size_t at = skip_joints(text, len, 0); at < len; at = skip_joints(text, len, at + 1)) {
		if (!in_identifier && share_of(text, len, at, wanted) == 2)
			return true;
		in_identifier = cmn_is_word(text[at]);
	}
	return false;
}

static void look_at_identifier(const char *text, size_t len, size_t at, struct findings *findings)
{
	const size_t last = sizeof(pasted) / sizeof(pasted[0]) - 1;

	for (size_t i = 0; i < sizeof(telling) / sizeof(telling[0]); i++) {
		if (share_of(text, len, at, telling[i]) != 2)
			continue;
		findings->tells = true;
		findings->names |= gets_name(telling[i]);
	}
	for (size_t i = 0; text[at] == '_' && i <= last; i++) {
		int share = share_of(text, len, at, pasted[i]);

		findings->tells |= share == 2 && i < last;
		findings->names |= share == 2 && gets_name(pasted[i]);
		findings->part |= share == 1 || (share == 2 && i == last);
	}
}

static void look(const char *text, size_t len, struct findings *findings)
{
	bool in_identifier = false;

	for (size_t at = skip_joints(text, len, 0); at < len; at = skip_joints(text, len, at + 1)) {
		/* An assembler's directive, which stands in a string; letters by their numbers. */
		findings->names |= stands_at(text, len, at, "incbin");
		findings->tells |= stands_at(text, len, at, "incbin") ||
				   stands_at(text, len, at, "\\u") ||
				   stands_at(text, len, at, "\\U");
		findings->pastes |= stands_at(text, len, at, "##") ||
				    stands_at(text, len, at, "%:%:") ||
				    stands_at(text, len, at, "?\?=");
		if (!in_identifier && cmn_is_word(text[at]))
			look_at_identifier(text, len, at, findings);
		in_identifier = cmn_is_word(text[at]);
	}
}

/* clang skips a NUL as well. */
static bool is_blank_in_line(char byte)
{
	return byte == '\0' || (drv_options_is_blank(byte) && !is_line_end(byte));
}

/* Whether the line before this one, which begins there, may go on here. */
static bool hides_joint(const char *text, size_t begin)
{
	if (!begin || !is_line_end(text[begin - 1]))
		return false;
	while (begin && (is_line_end(text[begin - 1]) || is_blank_in_line(text[begin - 1])))
		begin--;
	return begin && (text[begin - 1] == '\\' || text[begin - 1] == '/');
}

/* Where the operand of a directive begins, or of __has_include (asks); len: it is no directive. */
static size_t operand_of(const char *text, size_t len, size_t at, size_t name_len, bool asks)
{
	size_t before = at, after = at;

	while (before && is_blank_in_line(text[before - 1]))
		before--;
	/* A joint may hide the mark of a directive. */
	if (!asks && !(before && (strchr("#:=", text[before - 1]) || hides_joint(text, before) || (before > 1 && memcmp(text + before - 2, "*/", 2) == 0))))
		return len;
	for (size_t i = 0; i < name_len && after < len; i++)
		after = skip_joints(text, len, after) + 1;
	while ((after = skip_joints(text, len, after)) < len && (is_blank_in_line(text[after]) || (asks && text[after] == '(')))
		after++;
	return after;
}

/* Whether a file's name leads through one of the directories. */
static bool has_part(struct cmn_view name, const struct drv_text_findings *findings)
{
	const char *data = name.data;

	for (size_t at = 0; at < name.len; at++) {
		for (size_t i = 0; i < findings->part_count && (at == 0 || data[at - 1] == '/'); i++) {
			size_t len = findings->parts[i].len;

			if (len < name.len - at && memcmp(data + at, findings->parts[i].data, len) == 0 &&
			    data[at + len] == '/')
				return true;
		}
	}
	return false;
}

/* Whether the directive that stands there, if one does, has its file's name in one piece, without one of the parts. */
static bool names_plainly(const char *text, size_t len, size_t at, const struct drv_text_findings *findings)
{
	static const char *const names[] = {
		"include", "include_next", "__include_macros", "import", "embed", "__has_include", "__has_include_next", "__has_embed",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t operand = len, begin;
		char end;

		if (share_of(text, len, at, names[i]) == 2)
			operand = operand_of(text, len, at, strlen(names[i]), names[i][2] == 'h');
		if (operand >= len)
			continue;
		end = text[operand] == '<' ? '>' : '"';
		if (text[operand] != '<' && text[operand] != '"')
			return false;
		for (begin = ++operand; operand < len && text[operand] != end && !is_line_end(text[operand]); operand++) {
			if (skip_joints(text, len, operand) != operand)
				return false;
		}
		return operand < len && text[operand] == end &&
		       !has_part((struct cmn_view){ text + begin, operand - begin }, findings);
	}
	return true;
}

bool ocl_text_tells_file(struct cmn_view view, struct drv_text_findings *findings)
{
	struct findings found = { .tells = false };
	bool in_identifier = false, plain = true;
	const char *text = view.data;

	look(text, view.len, &found);
	for (size_t at = 0; at < view.len && plain; at++) {
		if (!in_identifier && (text[at] == 'i' || text[at] == 'e' || text[at] == '_'))
			plain = names_plainly(text, view.len, at, findings);
		in_identifier = cmn_is_word(text[at]);
	}
	findings->pastes |= found.pastes;
	findings->part |= found.part;
	return found.names || !plain || (findings->pastes && findings->part);
}

/* As they stand, and without the marks that some drivers take away. */
static bool look_at_options(const char *options, struct findings *findings)
{
	size_t len = strlen(options), count = 0;
	char *bare = malloc(len + 1);

	if (!bare)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!drv_options_is_mark(options[i]))
			bare[count++] = options[i];
	}
	look(options, len, findings);
	look(bare, count, findings);
	free(bare);
	return true;
}

/* What is neither an option nor the value of one may be a file. */
static bool judge_file_name(const char *option, size_t len, bool value, const void *ctx)
{
	(void)len;
	(void)ctx;
	return option[0] == '-' || value;
}

bool ocl_source_tells_all(struct cmn_view source, const char *options)
{
	/* pocl, AMD and Mesa's clover append these; whether this driver does is not known here. */
	static const char *const variables[] = {
		"POCL_EXTRA_BUILD_FLAGS", "AMD_OCL_BUILD_OPTIONS", "AMD_OCL_BUILD_OPTIONS_APPEND",
		"CLOVER_EXTRA_BUILD_OPTIONS", "CLOVER_EXTRA_COMPILE_OPTIONS",
	};
	struct findings findings = { .tells = false };
	struct cmn_buffer environment = { 0 };
	bool appends = cmn_env_copy(&environment) != CMN_OK;

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]) && !appends; i++) {
		const char *text = cmn_env_find(&environment, variables[i]);

		appends = text && *text;
	}
	cmn_buffer_release(&environment);
	if (appends)
		return false;
	if (options && (ocl_options_ask_for_debugging(options) || ocl_options_read_files(options) ||
			!drv_options_each(options, judge_file_name, NULL) || !look_at_options(options, &findings)))
		return false;
	if (source.len)
		look(source.data, source.len, &findings);
	return !findings.tells && !(findings.pastes && findings.part);
}
