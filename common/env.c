/* SPDX-License-Identifier: MIT */
/* env: typed values from text. */
#include "common/env.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *cmn_env_get(const char *name)
{
	return secure_getenv(name);
}

enum cmn_status cmn_env_parse_bool(const char *text, bool *ret)
{
	static const char *const yes[] = { "1", "true", "yes", "on" };
	static const char *const no[] = { "0", "false", "no", "off" };

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		if (strcasecmp(text, yes[i]) == 0) {
			*ret = true;
			return CMN_OK;
		}
		if (strcasecmp(text, no[i]) == 0) {
			*ret = false;
			return CMN_OK;
		}
	}
	return CMN_ERR_INVALID;
}

/* strtoull takes signs and leading blanks; a setting may have neither. */
static enum cmn_status parse_digits(const char *text, const char **ret_end, uint64_t *ret)
{
	char *end;
	unsigned long long value;

	if (!isdigit((unsigned char)text[0]))
		return CMN_ERR_INVALID;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno)
		return CMN_ERR_INVALID;
	*ret_end = end;
	*ret = value;
	return CMN_OK;
}

enum cmn_status cmn_env_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret)
{
	const char *end;
	uint64_t value;

	if (parse_digits(text, &end, &value) != CMN_OK || *end || value < min || value > max)
		return CMN_ERR_INVALID;
	*ret = value;
	return CMN_OK;
}

enum cmn_status cmn_env_parse_size(const char *text, uint64_t *ret)
{
	static const char letters[] = "KMGT";
	const char *end, *letter;
	uint64_t value, factor = 1;

	if (parse_digits(text, &end, &value) != CMN_OK)
		return CMN_ERR_INVALID;
	letter = *end ? strchr(letters, toupper((unsigned char)*end)) : NULL;
	if (letter) {
		uint64_t base = 1000;

		end++;
		if (*end == 'i' || *end == 'I') {
			base = 1024;
			end++;
		}
		for (const char *step = letters; step <= letter; step++)
			factor *= base;
	}
	if (*end == 'B' || *end == 'b')
		end++;
	if (*end || (value && factor > UINT64_MAX / value))
		return CMN_ERR_INVALID;
	*ret = value * factor;
	return CMN_OK;
}

enum cmn_status cmn_env_parse_bound(const char *text, uint64_t *ret)
{
	uint64_t value;

	if (cmn_env_parse_size(text, &value) != CMN_OK ||
	    (value && value < 1 << 20 && isdigit((unsigned char)text[strlen(text) - 1])))
		return CMN_ERR_INVALID;
	*ret = value;
	return CMN_OK;
}
