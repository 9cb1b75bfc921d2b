/* SPDX-License-Identifier: MIT */
/* include_paths: options are read word by word; in doubt none of them is touched. */
#include "cachecore/include_paths.h"

#include <string.h>

#include "common/printable.h"

/* Where a directory stands in the options. */
struct place {
	uint32_t at, len;
	uint32_t root;	/* the one that it lies in, or is */
};

struct places {
	struct place items[2 * CC_INCLUDE_PATHS];
	uint32_t count;
};

static bool is_blank(char byte)
{
	return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

bool cc_include_path_leads_to(struct cmn_view directory, struct cmn_view path)
{
	return path.len >= directory.len && memcmp(path.data, directory.data, directory.len) == 0 &&
	       (path.len == directory.len || ((const char *)path.data)[directory.len] == '/');
}

/*
 * Compilers search some directories for themselves, and take no notice of an option that names one: it leads
 * nowhere then, and those of another machine are others.
 */
static bool may_be_default(const char *path, size_t len)
{
	static const char clang[] = "/lib/clang/";

	return cc_include_path_leads_to(cmn_view_of("/usr"), (struct cmn_view){ path, len }) ||
	       memmem(path, len, clang, sizeof(clang) - 1);
}

/*
 * In Latin letters. Bytes that are no UTF-8 a driver may refuse (rusticl 26), and for characters that clang does
 * not know to be printable its messages have others (AMD's logs).
 */
static bool is_printable(const char *path, size_t len)
{
	struct cmn_character one;

	for (size_t at = 0; (one = cmn_printable_next((struct cmn_view){ path + at, len - at })).len; at += one.len) {
		if (!one.shown || one.number == 0xa0 || one.number > 0x24f)
			return false;
	}
	return true;
}

/* An absolute path without empty parts, "." and "..": compilers look for what it has by it and a slash. */
static bool is_simple(const char *path, size_t len)
{
	if (len < 2 || path[0] != '/' || !is_printable(path, len))
		return false;
	for (size_t at = 0; at < len;) {
		const char *part = path + at + 1, *slash = memchr(part, '/', len - at - 1);
		size_t part_len = slash ? (size_t)(slash - part) : len - at - 1;

		if (part_len == 0 || (part[0] == '.' && (part_len == 1 || (part_len == 2 && part[1] == '.'))))
			return false;
		at += 1 + part_len;
	}
	return true;
}

/*
 * Reads the word at `at`, which may have one pair of double quotes around all that follows `name`. Where it ends;
 * NULL: it is spelled in another way.
 */
static const char *read_value(const char *at, const char **ret, size_t *ret_len)
{
	bool quoted = *at == '"';
	const char *begin = at + quoted;

	for (at = begin; *at && (quoted ? *at != '"' : !is_blank(*at)); at++) {
		if (!quoted && *at == '"')
			return NULL;
	}
	if (quoted && *at++ != '"')
		return NULL;
	if (*at && !is_blank(*at))
		return NULL;
	*ret = begin;
	*ret_len = (size_t)(at - begin) - quoted;
	return at;
}

/* How long the name is of an option that names a directory; 0: the word is another one. */
static size_t name_len(const char *word)
{
	static const char *const names[] = { "-isystem", "-iquote", "-idirafter", "-I" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strncmp(word, names[i], strlen(names[i])) == 0)
			return strlen(names[i]);
	}
	return 0;
}

/* Whether the word after it is its value. */
static bool takes_value(const char *word, size_t len)
{
	static const char *const names[] = { "-D", "-U", "-x", "-include", "-imacros" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (len == strlen(names[i]) && memcmp(word, names[i], len) == 0)
			return true;
	}
	return false;
}

static bool find_places(const char *options, struct places *ret)
{
	const char *at = options, *value;
	size_t len;

	ret->count = 0;
	while (true) {
		size_t name;

		while (is_blank(*at))
			at++;
		if (!*at)
			return true;
		name = name_len(at);
		if (!name) {
			const char *word = at;

			at = read_value(at, &value, &len);
			if (at && takes_value(word, (size_t)(at - word))) {
				while (is_blank(*at))
					at++;
				at = read_value(at, &value, &len);
			}
			if (!at)
				return false;
			continue;
		}
		at += name;
		while (is_blank(*at))
			at++;
		at = read_value(at, &value, &len);
		while (at && len > 1 && value[len - 1] == '/')
			len--;
		if (!at || ret->count == sizeof(ret->items) / sizeof(ret->items[0]))
			return false;
		if (is_simple(value, len) && !may_be_default(value, len)) {
			ret->items[ret->count] = (struct place){ (uint32_t)(value - options), (uint32_t)len, ret->count };
			ret->count++;
		}
	}
}

static struct cmn_view view_of(const char *options, const struct place *place)
{
	return (struct cmn_view){ options + place->at, place->len };
}

/* The shortest one that leads to each, and of several the first. */
static void find_roots(const char *options, struct places *places)
{
	for (uint32_t i = 0; i < places->count; i++) {
		for (uint32_t j = 0; j < places->count; j++) {
			const struct place *root = &places->items[places->items[i].root], *other = &places->items[j];

			if ((other->len < root->len || (other->len == root->len && other->at < root->at)) &&
			    cc_include_path_leads_to(view_of(options, other), view_of(options, &places->items[i])))
				places->items[i].root = j;
		}
	}
}

/* The number of a root's directory, which is counted when it is met first. CC_INCLUDE_PATHS: there is no room. */
static uint32_t number_of(const struct place *root, struct cc_include_paths *paths)
{
	uint32_t i = 0;

	while (i < paths->count && paths->in[i].at != root->at)
		i++;
	if (i == paths->count && i < CC_INCLUDE_PATHS) {
		paths->in[i].at = root->at;
		paths->in[i].len = root->len;
		paths->count++;
	}
	return i;
}

/* false: the options stay as they are. */
static bool replace(const char *options, size_t len, struct cmn_buffer *ret, struct cc_include_paths *paths)
{
	size_t begin = ret->len, done = 0;
	struct places places;

	/* The marks of a key, or of compilers that have ways of their own with what stands between quotes. */
	if (len > UINT32_MAX || strpbrk(options, "<'\\") || !find_places(options, &places))
		return false;
	find_roots(options, &places);
	for (uint32_t i = 0; i < places.count; i++) {
		const struct place *place = &places.items[i], *root = &places.items[place->root];
		uint32_t number = number_of(root, paths);

		if (number == CC_INCLUDE_PATHS)
			return false;
		cmn_buffer_append(ret, options + done, place->at - done);
		cmn_buffer_printf(ret, "<%u>", number + 1);
		done = place->at + root->len;
	}
	cmn_buffer_append(ret, options + done, len - done);
	for (uint32_t i = 0; i < paths->count && !ret->failed; i++) {
		if (memmem(ret->data + begin, ret->len - begin, options + paths->in[i].at, paths->in[i].len))
			return false;
	}
	return true;
}

void cc_include_paths_take(const char *options, struct cmn_buffer *ret, struct cc_include_paths *ret_paths)
{
	const size_t begin = ret->len, len = options ? strlen(options) : 0;

	*ret_paths = (struct cc_include_paths){ .options = options };
	if (options && !replace(options, len, ret, ret_paths))
		ret_paths->count = 0;
	if (!ret_paths->count)
		ret->len = begin;
}
