/* SPDX-License-Identifier: MIT */
/*
 * spirv_files: no table of what instructions mean is needed. Any word that equals an OpString's id counts
 * as a use, be it a number or an unknown instruction's, unless it is where OpLine and OpSource name a file.
 * Only of the most frequent ones with texts and numbers, those are passed over.
 */
#include "layers/shared/driver/spirv_files.h"

#include <endian.h>
#include <string.h>

#include "layers/shared/driver/environment.h"
#include "layers/shared/driver/harmless.h"

#define MAGIC 0x07230203
#define HEADER_WORDS 5
#define WORD sizeof(uint32_t)
/* Ids of strings are mostly consecutive; those that are further from the first stay as they are. */
#define SPAN 1024
#define ARGUMENTS "kernel_arg_"	/* how texts begin that are looked for by what they are */

enum opcode {	/* SPIR-V 1.6, 3.52 */
	OP_SOURCE_CONTINUED = 2,
	OP_SOURCE = 3,
	OP_SOURCE_EXTENSION = 4,
	OP_NAME = 5,
	OP_MEMBER_NAME = 6,
	OP_STRING = 7,
	OP_LINE = 8,
	OP_EXTENSION = 10,
	OP_EXT_INST_IMPORT = 11,
	OP_MEMORY_MODEL = 14,
	OP_ENTRY_POINT = 15,
	OP_EXECUTION_MODE = 16,
	OP_CAPABILITY = 17,
	OP_CONSTANT = 43,
	OP_DECORATE = 71,
	OP_MEMBER_DECORATE = 72,
	OP_EXECUTION_MODE_ID = 331,
};

/* What is known of an id, as flags. */
enum use {
	IS_STRING = 1,
	IS_FILE = 2,
	IS_USED = 4,
};

struct files {
	struct cmn_view module;
	size_t at;		/* the next instruction, in words */
	uint32_t first;		/* the first string's id */
	size_t left;		/* how many come from there on */
	uint8_t uses[SPAN];	/* by id, from the first on */
};

struct instruction {
	uint32_t opcode;
	size_t at, count;	/* in words */
};

static uint32_t word_at(const struct files *files, size_t at)
{
	uint32_t word;

	memcpy(&word, (const uint8_t *)files->module.data + at * WORD, sizeof(word));
	return le32toh(word);
}

/* 2.3: the first word has the count of words above the opcode. false: the end, or no instruction. */
static bool next(struct files *files, struct instruction *ret)
{
	size_t words = files->module.len / WORD;
	uint32_t word = files->at < words ? word_at(files, files->at) : 0;

	*ret = (struct instruction){ word & 0xffff, files->at, word >> 16 };
	if (!ret->count || ret->count > words - files->at)
		return false;
	files->at += ret->count;
	return true;
}

/* Its text, behind so many words, to the last one: drivers take what follows a terminator for instructions. */
static bool text_of(const struct files *files, const struct instruction *one, size_t behind,
		    struct cmn_view *ret)
{
	size_t words = one->count > behind ? one->count - behind : 0;
	const char *text = (const char *)files->module.data + (one->at + behind) * WORD;

	*ret = (struct cmn_view){ text, words ? strnlen(text, words * WORD) : 0 };
	return words && ret->len / WORD == words - 1;
}

static bool is_of_arguments(struct cmn_view text)
{
	return text.len >= sizeof(ARGUMENTS) - 1 && memcmp(text.data, ARGUMENTS, sizeof(ARGUMENTS) - 1) == 0;
}

/* 2.4: what may stand before and among the strings. Mostly there are none, and no more is looked at. */
static bool find_first(struct files *files)
{
	struct instruction one;
	struct cmn_view text;

	while (next(files, &one)) {
		switch (one.opcode) {
		case OP_STRING:
			if (!text_of(files, &one, 2, &text))
				return false;
			if (is_of_arguments(text))
				break;
			files->first = word_at(files, one.at + 1);
			return true;
		case OP_EXT_INST_IMPORT:
			if (!text_of(files, &one, 2, &text) || !cmn_view_equal(text, cmn_view_of("OpenCL.std")))
				return false;
			break;
		case OP_SOURCE:
		case OP_SOURCE_EXTENSION:
		case OP_EXTENSION:
		case OP_MEMORY_MODEL:
		case OP_ENTRY_POINT:
		case OP_EXECUTION_MODE:
		case OP_EXECUTION_MODE_ID:
		case OP_CAPABILITY:
			break;
		default:
			return false;
		}
	}
	return false;
}

static void note(struct files *files, size_t at, enum use use)
{
	uint32_t place = word_at(files, at) - files->first;

	if (place < SPAN)
		files->uses[place] |= (uint8_t)use;
}

/* false: with such an instruction, nothing is known about the module. */
static bool see(struct files *files, const struct instruction *one)
{
	size_t ids = one->count;
	struct cmn_view text;
	uint32_t place;

	switch (one->opcode) {
	case OP_STRING:
		if (!text_of(files, one, 2, &text))
			return false;
		place = word_at(files, one->at + 1) - files->first;
		if (place < SPAN && files->uses[place] & IS_STRING)
			return false;
		note(files, one->at + 1, IS_STRING);
		if (!text.len || is_of_arguments(text))
			note(files, one->at + 1, IS_USED);
		return true;
	case OP_LINE:
		if (one->count != 4)
			return false;
		note(files, one->at + 1, IS_FILE);
		return true;
	case OP_SOURCE:	/* a source behind the file's id is read as instructions by IGC and llvm-spirv */
		if (one->count != 3 && one->count != 4)
			return false;
		if (one->count == 4)
			note(files, one->at + 3, IS_FILE);
		return true;
	case OP_SOURCE_CONTINUED:
		return false;
	case OP_EXT_INST_IMPORT:
		return text_of(files, one, 2, &text) && cmn_view_equal(text, cmn_view_of("OpenCL.std"));
	case OP_NAME:
	case OP_MEMBER_NAME:
	case OP_DECORATE:
	case OP_MEMBER_DECORATE:
		ids = 2;
		break;
	case OP_CONSTANT:
		ids = 3;
		break;
	default:
		break;
	}
	for (size_t i = 1; i < ids && i < one->count; i++)
		note(files, one->at + i, IS_USED);
	return true;
}

/* The next name of a file; empty: no more. */
static struct cmn_view next_file(struct files *files)
{
	struct instruction one;

	while (files->left && next(files, &one)) {
		uint32_t place = one.opcode == OP_STRING ? word_at(files, one.at + 1) - files->first : SPAN;
		struct cmn_view text;

		if (place >= SPAN || files->uses[place] != (IS_STRING | IS_FILE))
			continue;
		files->left--;
		if (text_of(files, &one, 2, &text))
			return text;
	}
	return (struct cmn_view){ 0 };
}

/* As -g may be one of them. */
static bool adds_options(void)
{
	const char *at = NULL;

	while ((at = drv_environment_next(at)) && !drv_variable_adds_options(at))
		;
	return at;
}

static struct files find_files(const struct drv_driver *driver, const char *options,
			       struct cmn_view module)
{
	struct files ret = { .module = module, .at = HEADER_WORDS };
	struct instruction one;

	if (!driver->skips_file_names || module.len % WORD || module.len / WORD < HEADER_WORDS ||
	    word_at(&ret, 0) != MAGIC || drv_options_have(options, "-g") || !find_first(&ret) || adds_options())
		return ret;
	ret.at = HEADER_WORDS;
	while (next(&ret, &one)) {
		if (!see(&ret, &one))
			return ret;
	}
	for (size_t i = 0; ret.at == module.len / WORD && i < SPAN; i++)
		ret.left += ret.uses[i] == (IS_STRING | IS_FILE);
	ret.at = HEADER_WORDS;
	return ret;
}

void drv_spirv_add(struct cc_key *key, const struct drv_driver *driver, const char *options,
		   struct cmn_view module)
{
	struct files files = find_files(driver, options, module);
	struct cmn_view text;

	cc_key_add(key, CC_PART_IMAGE, "source", module.data, module.len);
	/* The field's value is the last thing in the key so far. */
	while (cc_key_status(key) == CMN_OK && (text = next_file(&files)).len)
		memset(key->encoded.data + key->encoded.len - module.len +
			       ((const char *)text.data - (const char *)module.data), '0', text.len);
}

bool drv_spirv_is_in_log(const struct drv_driver *driver, const char *options, struct cmn_view module,
			 struct cmn_view log)
{
	struct files files;
	struct cmn_view text;

	if (log.len <= 1)	/* mostly: a terminator */
		return false;
	files = find_files(driver, options, module);
	while ((text = next_file(&files)).len) {
		if (memmem(log.data, log.len, text.data, text.len))
			return true;
	}
	return false;
}
