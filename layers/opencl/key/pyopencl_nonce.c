/* SPDX-License-Identifier: MIT */
/* pyopencl_nonce: the line that PyOpenCL writes, and what could refer to it. */
#include "layers/opencl/key/pyopencl_nonce.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "cachecore/file_memo.h"
#include "common/file.h"
#include "layers/opencl/key/options.h"

#define NAME "pyopencl_defeat_cache_"
#define DIGITS 32
#define SOME 6	/* so many in a row are in a text by chance once in a million times */

/* What makes a name of parts: ## in each spelling. */
static const char *const makers[] = { "##", "%:", "?\?=" };
/* Strings, which may be joined, as symbols. */
static const char *const symbols[] = {
	"asm", "_asm", "__asm", "__asm__", "alias", "__alias__", "weakref", "__weakref__", "ifunc",
	"__ifunc__",
};

/* Some of the digits in a row, from which ## could make the name. */
static bool has_some_digits(const char *text, size_t len, const char *digits)
{
	for (size_t at = 0, run = 0; at < len; at++) {
		bool digit = (text[at] >= '0' && text[at] <= '9') || (text[at] >= 'a' && text[at] <= 'f');

		run = digit ? run + 1 : 0;
		if (run >= SOME && memmem(digits, DIGITS, text + at + 1 - SOME, SOME))
			return true;
	}
	return false;
}

static bool text_may_refer(const char *text, size_t len, const char *digits)
{
	for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++) {
		if (ocl_text_has(text, len, makers[i]))
			return true;
	}
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		if (ocl_text_has_identifier(text, len, symbols[i]))
			return true;
	}
	return ocl_text_has(text, len, digits);
}

/* Also where quotes, which some drivers remove, divide the digits. */
static bool options_may_refer(const char *options, const char *digits)
{
	size_t len = strlen(options);

	/* A macro that pastes, trigraphs and digraphs of its ##, joined lines. */
	if (strpbrk(options, "#%?\\\n\r") || ocl_options_read_files(options) ||
	    ocl_options_ask_for_debugging(options))
		return true;
	for (size_t start = 0; start < len; start++) {
		size_t same = 0;

		for (size_t at = start; at < len && same < DIGITS; at++) {
			if (options[at] == '"' || options[at] == '\'')
				continue;
			if (options[at] != digits[same])
				break;
			same++;
		}
		if (same == DIGITS)
			return true;
	}
	return false;
}

bool ocl_pyopencl_nonce_find(struct cmn_view source, const char *options, struct cmn_view *ret)
{
	static const char before[] = "\n\n__constant int " NAME, after[] = " = 0;";
	const size_t before_len = sizeof(before) - 1, after_len = sizeof(after) - 1;
	const char *text = source.data, *token;
	char digits[DIGITS + 1];
	size_t len;

	if (source.len < before_len + DIGITS + after_len)
		return false;
	len = source.len - before_len - DIGITS - after_len;
	token = text + len + before_len;
	if (memcmp(text + len, before, before_len) != 0 ||
	    memcmp(token + DIGITS, after, after_len) != 0)
		return false;
	memcpy(digits, token, DIGITS);
	digits[DIGITS] = '\0';
	if (strspn(digits, "0123456789abcdef") != DIGITS)
		return false;
	if (!options)
		options = "";
	if (text_may_refer(text, len, digits) || options_may_refer(options, digits))
		return false;
	/* What a file may do with it is not known yet. */
	if (ocl_text_reads_files(text, len) &&
	    (has_some_digits(text, len, digits) || has_some_digits(options, strlen(options), digits)))
		return false;
	*ret = (struct cmn_view){ token, DIGITS };
	return true;
}

bool ocl_pyopencl_nonce_is_in_files(struct cmn_view token, const struct cc_manifest *manifest,
				    const struct cc_include_paths *paths)
{
	char *room = NULL;
	bool found = false;

	for (size_t i = 0; i < cc_manifest_count(manifest) && !found; i++) {
		const struct cc_manifest_item item = cc_manifest_get(manifest, i);
		struct cmn_buffer text;

		if (item.kind != CC_DEPENDENCY_FILE)
			continue;
		found = cmn_file_read(AT_FDCWD, cc_manifest_path_now(manifest, i, paths, &room), CC_MANIFEST_MAX_FILE, true,
				      &text) != CMN_OK ||
			has_some_digits((const char *)text.data, text.len, token.data);
		cmn_buffer_release(&text);
	}
	free(room);
	return found;
}

bool ocl_pyopencl_nonce_is_in_log(struct cmn_view log)
{
	return log.len && memmem(log.data, log.len, NAME, strlen(NAME)) != NULL;
}
