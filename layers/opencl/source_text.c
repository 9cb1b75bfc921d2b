/* SPDX-License-Identifier: MIT */
/*
 * source_text: a single pass over the bytes. A table says which bytes can
 * matter; all others are stepped over, since most of a kernel's text is
 * neither directive, comment nor literal.
 */
#include "layers/opencl/source_text.h"

#include <stdlib.h>
#include <string.h>

#include "layers/opencl/directives.h"
#include "layers/opencl/tokens.h"
#include "layers/opencl/words.h"

struct reader {
	struct ocl_directives directives;
	const char *at, *start, *end;
	bool cplusplus;
	bool line_start;	/* only blanks and comments so far */
	/* The directive being read, until its line ends. */
	struct cmn_view word;	/* empty: none */
	const char *operand;
	bool comment_over_lines;
};

static void refuse(struct reader *reader, const char *reason)
{
	ocl_directives_add_word(&reader->directives, OCL_EVENT_REFUSE, reason);
}

/* An identifier that begins with '_', or with what can follow a pasted one. */
static void read_identifier(struct reader *reader)
{
	const char *from = reader->at, *reason;
	enum ocl_event_kind kind;

	while (reader->at < reader->end && ocl_token_is_identifier_byte((unsigned char)*reader->at))
		reader->at++;
	if (ocl_words_judge((struct cmn_view){ from, (size_t)(reader->at - from) }, &kind, &reason))
		ocl_directives_add_word(&reader->directives, kind, reason);
}

static bool at_identifier(const struct reader *reader)
{
	return reader->at == reader->start ||
	       !ocl_token_is_identifier_byte((unsigned char)reader->at[-1]);
}

static bool is_newline(char byte)
{
	return byte == '\n' || byte == '\r';
}

static bool is_line_blank(char byte)
{
	return byte == ' ' || byte == '\t' || byte == '\v' || byte == '\f' || byte == '\0';
}

static const char *line_end(const char *at, const char *end)
{
	while (at < end && !is_newline(*at))
		at++;
	return at;
}

static void read_literal(struct reader *reader)
{
	const char *at = reader->at, *from = at + 1;
	char quote = *at;

	if (reader->cplusplus && at > reader->start) {
		if (quote == '"' && at[-1] == 'R')
			refuse(reader, "raw-string");
		else if (quote == '\'' && ocl_token_is_identifier_byte((unsigned char)at[-1]))
			refuse(reader, "digit-separator");
	}
	for (at++; at < reader->end && *at != quote && !is_newline(*at); at++) {
		if (*at == '\\' && at + 1 < reader->end && !is_newline(at[1]))
			at++;
	}
	/* An assembler directive; .incbin is looked for everywhere. */
	if (quote == '"' && memmem(from, (size_t)(at - from), ".include", 8))
		refuse(reader, "incbin");
	reader->at = at < reader->end && *at == quote ? at + 1 : at;
}

/* Also decides whether '/' begins a comment; line_start survives one. */
static void read_slash(struct reader *reader)
{
	const char *at = reader->at;
	const char *close;

	if (at + 1 < reader->end && at[1] == '/') {
		reader->at = line_end(at, reader->end);
		return;
	}
	if (at + 1 >= reader->end || at[1] != '*') {
		reader->line_start = false;
		reader->at++;
		return;
	}
	close = memmem(at + 2, (size_t)(reader->end - at) - 2, "*/", 2);
	close = close ? close + 2 : reader->end;
	if (reader->word.len && line_end(at, close) < close)
		reader->comment_over_lines = true;
	reader->at = close;
}

/* Blanks and comments within one directive line. */
static void skip_to_word(struct reader *reader)
{
	while (reader->at < reader->end) {
		if (*reader->at == '/' && reader->at + 1 < reader->end &&
		    (reader->at[1] == '*' || reader->at[1] == '/'))
			read_slash(reader);
		else if (is_line_blank(*reader->at))
			reader->at++;
		else
			return;
	}
}

/* After '#' at the start of a line. */
static void begin_directive(struct reader *reader)
{
	const char *from;

	reader->comment_over_lines = false;
	skip_to_word(reader);
	from = reader->at;
	while (reader->at < reader->end && ocl_token_is_identifier_byte((unsigned char)*reader->at))
		reader->at++;
	reader->line_start = false;
	reader->word = (struct cmn_view){ from, (size_t)(reader->at - from) };
	reader->operand = reader->at;
	ocl_directives_begin(&reader->directives, reader->word);
}

static void read_hash(struct reader *reader, size_t len)
{
	bool directive = reader->line_start;

	reader->at += len;
	if (directive) {
		begin_directive(reader);
		return;
	}
	if (reader->at < reader->end && (*reader->at == '#' || *reader->at == '%'))
		ocl_directives_add_word(&reader->directives, OCL_EVENT_PASTE, NULL);
}

/* Also at the end of the text. */
static void end_line(struct reader *reader)
{
	struct cmn_view word = reader->word;

	if (!word.len)
		return;
	reader->word = (struct cmn_view){ 0 };
	ocl_directives_end(&reader->directives, word,
			   (struct cmn_view){ reader->operand, (size_t)(reader->at - reader->operand) },
			   reader->comment_over_lines);
}

static void read_newline(struct reader *reader)
{
	end_line(reader);
	reader->line_start = true;
	reader->at++;
}

/*
 * Bytes that can begin something of interest. D, T and h (1) begin the ends of
 * refused words, which hardly any text has.
 */
static const unsigned char interesting[256] = {
	['\n'] = 2, ['\r'] = 2, ['/'] = 2, ['"'] = 2, ['\''] = 2, ['#'] = 2,
	['%'] = 2,  ['_'] = 2,	['D'] = 1, ['T'] = 1, ['h'] = 1,
};

static void read_one(struct reader *reader)
{
	switch (*reader->at) {
	case '\n':
	case '\r':
		read_newline(reader);
		return;
	case '/':
		read_slash(reader);
		return;
	case '#':
		read_hash(reader, 1);
		return;
	case '%':
		if (reader->at + 1 < reader->end && reader->at[1] == ':') {
			read_hash(reader, 2);
			return;
		}
		break;
	case '"':
	case '\'':
		reader->line_start = false;
		read_literal(reader);
		return;
	default:
		if (at_identifier(reader)) {
			reader->line_start = false;
			read_identifier(reader);
			return;
		}
		break;
	}
	reader->line_start = false;
	reader->at++;
}

/* least: of what is interesting. */
static void read_all(struct reader *reader, unsigned char least)
{
	while (reader->at < reader->end && !reader->directives.failed) {
		const char *at = reader->at;

		if (reader->line_start) {
			while (at < reader->end && is_line_blank(*at))
				at++;
			if (at < reader->end && interesting[(unsigned char)*at] < least)
				reader->line_start = false;
		}
		while (at < reader->end && interesting[(unsigned char)*at] < least)
			at++;
		reader->at = at;
		if (at < reader->end)
			read_one(reader);
	}
	if (!reader->directives.failed)
		end_line(reader);
}

/* Length of the splice at a backslash: with the blanks and the newline after it; 0: none. */
static size_t splice_len(const char *at, const char *end)
{
	const char *next = at + 1;

	while (next < end && is_line_blank(*next) && *next)
		next++;
	if (next == end || !is_newline(*next))
		return 0;
	if (next + 1 < end && is_newline(next[1]) && next[1] != next[0])
		next++;
	return (size_t)(next + 1 - at);
}

/* Copies the text without its splices into storage; leaves it empty where there are none. */
static enum cmn_status join_lines(struct cmn_view bytes, struct cmn_buffer *storage)
{
	const char *at = bytes.data, *end = at + bytes.len, *copied = at;

	while (at < end && (at = memchr(at, '\\', (size_t)(end - at)))) {
		size_t len = splice_len(at, end);

		if (len) {
			if (!cmn_buffer_reserve(storage, bytes.len))
				return CMN_ERR_NOMEM;
			cmn_buffer_append(storage, copied, (size_t)(at - copied));
			copied = at + len;
		}
		at += len ? len : 1;
	}
	if (copied != bytes.data)
		cmn_buffer_append(storage, copied, (size_t)(end - copied));
	return storage->failed ? CMN_ERR_NOMEM : CMN_OK;
}

/* Those trigraphs that make directives, splices or quotes; whether they count depends on options. */
static bool has_trigraph(struct cmn_view bytes)
{
	const char *at = bytes.data, *end = at + bytes.len;

	while (at < end && (at = memchr(at, '?', (size_t)(end - at)))) {
		if (end - at >= 3 && at[1] == '?' && strchr("=/'", at[2]) && at[2])
			return true;
		at++;
	}
	return false;
}

enum cmn_status ocl_source_text_init(struct ocl_source_text *ret, struct cmn_view bytes,
				     bool cplusplus)
{
	struct reader reader = { .directives = { .text = ret, .branch = -1 },
				 .cplusplus = cplusplus, .line_start = true };
	unsigned int rare;

	*ret = (struct ocl_source_text){ 0 };
	if (bytes.len == 0)
		return CMN_OK;
	if (join_lines(bytes, &ret->storage) != CMN_OK)
		return CMN_ERR_NOMEM;
	if (has_trigraph(bytes))
		refuse(&reader, "trigraph");
	if (ret->storage.data)
		bytes = cmn_buffer_view(&ret->storage);
	rare = ocl_words_find_rare(bytes);
	if (rare & OCL_WORDS_INCBIN)
		refuse(&reader, "incbin");
	if (rare & OCL_WORDS_DEPENDENCY)
		ocl_directives_add_word(&reader.directives, OCL_EVENT_DEPENDENCY, NULL);
	reader.start = reader.at = bytes.data;
	reader.end = reader.start + bytes.len;
	/* A byte order mark is no token. */
	if (bytes.len >= 3 && memcmp(reader.start, "\xef\xbb\xbf", 3) == 0)
		reader.at += 3;
	read_all(&reader, rare & OCL_WORDS_ENDING ? 1 : 2);
	ocl_directives_release(&reader.directives);
	return reader.directives.failed ? CMN_ERR_NOMEM : CMN_OK;
}

void ocl_source_text_release(struct ocl_source_text *text)
{
	cmn_buffer_release(&text->storage);
	free(text->events);
	free(text->branches);
	*text = (struct ocl_source_text){ 0 };
}
