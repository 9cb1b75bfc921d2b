/* SPDX-License-Identifier: MIT */
/* address: parses the setting that names a remote tier. */
#include "cachecore/remote/address.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/env.h"

#define BLANKS " \t"

void cc_address_release(struct cc_address *address)
{
	free(address->url);
	for (size_t i = 0; i < address->attribute_count; i++)
		free(address->attributes[i]);
	*address = (struct cc_address){ 0 };
}

/* The scheme also names a program: nothing but these letters gets into a path. */
static bool take_scheme(struct cc_address *address)
{
	size_t len = strcspn(address->url, ":");

	if (!len || len >= sizeof(address->scheme) || address->url[len] != ':' ||
	    !isalpha((unsigned char)address->url[0]))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)address->url[i]) && !strchr("+-", address->url[i]))
			return false;
		address->scheme[i] = (char)tolower((unsigned char)address->url[i]);
	}
	return true;
}

enum cmn_status cc_address_add(struct cc_address *address, struct cmn_view attribute)
{
	char *copy;

	if (address->attribute_count == CC_ADDRESS_MAX_ATTRIBUTES)
		return CMN_ERR_TOO_LARGE;
	copy = strndup(attribute.data, attribute.len);
	if (!copy)
		return CMN_ERR_NOMEM;
	address->attributes[address->attribute_count++] = copy;
	return CMN_OK;
}

/* word: a terminated copy, changed in place. */
static enum cmn_status take_word(struct cc_address *address, char *word, const char **ret_problem)
{
	char *value = strchr(word, '=');
	enum cmn_status status;
	bool *flag = NULL;

	*ret_problem = "what follows the URL is not NAME=VALUE";
	if (!value || value == word || (*word == '@' && value == word + 1))
		return CMN_ERR_INVALID;
	*ret_problem = "a value has a % that stands for no byte";
	if (!cmn_percent_decode(value + 1))
		return CMN_ERR_INVALID;
	if (*word == '@') {
		*ret_problem = "it has too many attributes";
		status = cc_address_add(address, cmn_view_of(word + 1));
		return status == CMN_ERR_TOO_LARGE ? CMN_ERR_INVALID : status;
	}
	*value++ = '\0';
	if (!strcmp(word, "read-only"))
		flag = &address->read_only;
	else if (!strcmp(word, "write-only"))
		flag = &address->write_only;
	*ret_problem = flag ? "read-only and write-only are true or false"
			    : "it has an unknown property; a helper's attributes begin with @";
	return flag ? cmn_env_parse_bool(value, flag) : CMN_ERR_INVALID;
}

enum cmn_status cc_address_parse(const char *text, struct cc_address *ret,
				 const char **ret_problem)
{
	enum cmn_status status = CMN_OK;

	*ret = (struct cc_address){ 0 };
	for (text += strspn(text, BLANKS); *text && status == CMN_OK; text += strspn(text, BLANKS)) {
		size_t len = strcspn(text, BLANKS);
		char *word = strndup(text, len);

		if (!word) {
			status = CMN_ERR_NOMEM;
		} else if (!ret->url) {
			ret->url = word;
			word = NULL;
			*ret_problem = "it begins with no URL, such as redis://host or file:/directory";
			status = take_scheme(ret) ? CMN_OK : CMN_ERR_INVALID;
		} else {
			status = take_word(ret, word, ret_problem);
		}
		free(word);
		text += len;
	}
	if (status == CMN_OK && !ret->url) {
		*ret_problem = "it is empty";
		status = CMN_ERR_INVALID;
	}
	if (status == CMN_OK && ret->read_only && ret->write_only) {
		*ret_problem = "it is both read-only and write-only";
		status = CMN_ERR_INVALID;
	}
	if (status != CMN_OK)
		cc_address_release(ret);
	return status;
}

size_t cc_address_max_value(const struct cc_address *address)
{
	const char name[] = "max-value-size=";
	uint64_t size, max = CC_ADDRESS_MAX_VALUE;

	/* The last one counts, as for a helper. */
	for (size_t i = 0; i < address->attribute_count; i++) {
		const char *attribute = address->attributes[i];

		if (!strncmp(attribute, name, strlen(name)) &&
		    cmn_env_parse_size(attribute + strlen(name), &size) == CMN_OK)
			max = size;
	}
	return max < SIZE_MAX / 4 ? (size_t)max : SIZE_MAX / 4;
}

/* What is behind the scheme, and in it the "@" behind which the host begins; NULL: nobody is before it. */
static const char *find_user(const struct cc_address *address, const char **ret_rest)
{
	const char *rest = address->url + strlen(address->scheme) + 1;

	if (!strncmp(rest, "//", 2))
		rest += 2;
	*ret_rest = rest;
	/* A path of this machine, with nobody before it. */
	return !strcmp(address->scheme, "file") && (rest[0] == '/' || rest[-1] == ':')
		? NULL : strrchr(rest, '@');
}

bool cc_address_has_secret(const struct cc_address *address)
{
	static const char *const words[] = { "password", "token", "secret", "header", "credential" };
	const char *rest;

	if (find_user(address, &rest) || (strcmp(address->scheme, "file") != 0 && strchr(rest, '?')))
		return true;
	for (size_t i = 0; i < address->attribute_count; i++) {
		for (size_t j = 0; j < sizeof(words) / sizeof(words[0]); j++) {
			const char *value = strchr(address->attributes[i], '=');
			const char *found = strcasestr(address->attributes[i], words[j]);

			if (found && value && found < value)
				return true;
		}
	}
	return false;
}

void cc_address_show(const struct cc_address *address, struct cmn_buffer *ret)
{
	const char *url = address->url, *rest, *at = find_user(address, &rest);
	const char *end = url + strcspn(url, "?#");

	cmn_buffer_append(ret, url, (size_t)(rest - url));
	/*
	 * A password may contain "@", "/", "?" and "#", though it should not, and so may a query:
	 * where the one ends and the other begins is not to be known then.
	 */
	if (at && at > end)
		cmn_buffer_append_text(ret, "...");
	else if (at)
		cmn_buffer_append(ret, at + 1, (size_t)(end - at - 1));
	else if (end > rest)
		cmn_buffer_append(ret, rest, (size_t)(end - rest));
}
