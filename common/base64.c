/* SPDX-License-Identifier: MIT */
/* base64: three bytes are four digits; the last ones may be "=", of no byte. */
#include "common/base64.h"

#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void cmn_base64_encode(const uint8_t *bytes, size_t len, char *ret)
{
	for (size_t at = 0; at < len; at += 3, ret += 4) {
		size_t count = len - at < 3 ? len - at : 3;
		uint32_t group = 0;

		for (size_t i = 0; i < 3; i++)
			group = group << 8 | (i < count ? bytes[at + i] : 0);
		memcpy(ret, "====", 4);
		for (size_t i = 0; i <= count; i++)
			ret[i] = digits[group >> (18 - 6 * i) & 63];
	}
	*ret = '\0';
}

bool cmn_base64_decode(struct cmn_view text, uint8_t *ret, size_t len)
{
	const char *at = text.data;
	unsigned int bits = 0;
	uint32_t value = 0;
	size_t count = 0;

	if (text.len != CMN_BASE64_SIZE(len) - 1)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		const char *digit = memchr(digits, at[i], sizeof(digits) - 1);

		if (count == len) {
			if (at[i] != '=')
				return false;
			continue;
		}
		if (!digit)
			return false;
		value = value << 6 | (uint32_t)(digit - digits);
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			ret[count++] = (uint8_t)(value >> bits);
		}
	}
	return (value & ((1U << bits) - 1)) == 0;	/* these bits are of no byte */
}
