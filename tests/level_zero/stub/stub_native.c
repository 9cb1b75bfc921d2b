/* SPDX-License-Identifier: MIT */
/*
 * stub_native: the stub driver's native binary, lines of text:
 *   stub-native 1
 *   product <STUB_PRODUCT>
 *   epoch <STUB_EPOCH>
 *   entry <name>					of each kernel
 *   <body>						see stub_translate.c
 *   checksum <16 hexadecimal digits>			of all before this line
 */
#include <inttypes.h>

#include "tests/level_zero/stub/stub.h"

const char *const stub_event_prefix = STUB_INDEX == 2 ? "stub2 " : "";

uint64_t stub_hash(const void *data, size_t len)
{
	const unsigned char *bytes = data;
	uint64_t hash = 0xcbf29ce484222325;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3;
	return hash;
}

#define MAGIC "stub-native 1\n"
#define CHECKSUM_LINE (sizeof("checksum 0123456789abcdef\n") - 1)

void stub_native_write(const char *body, const struct stub_image *image, struct stub_text *ret)
{
	struct stub_text native = { 0 };
	char epoch[64];

	(void)stub_setting("STUB_EPOCH", epoch, sizeof(epoch));	/* empty is one too */
	stub_text_print(&native, MAGIC "product %s\nepoch %s\n", STUB_PRODUCT, epoch);
	for (size_t i = 0; i < image->count; i++)
		stub_text_print(&native, "entry %s\n", image->kernels[i]);
	stub_text_print(&native, "%s", body);
	stub_text_print(&native, "checksum %016" PRIx64 "\n", stub_hash(native.data, native.len));
	*ret = native;
}

static bool checksum_is_right(const char *text, size_t len)
{
	char line[CHECKSUM_LINE + 1];

	if (len < CHECKSUM_LINE)
		return false;
	len -= CHECKSUM_LINE;
	(void)snprintf(line, sizeof(line), "checksum %016" PRIx64 "\n", stub_hash(text, len));
	return !memcmp(text + len, line, CHECKSUM_LINE);
}

static bool line_is(const char *line, size_t len, const char *word, const char *value)
{
	size_t word_len = strlen(word);

	return len == word_len + 1 + strlen(value) && !memcmp(line, word, word_len) &&
	       !memcmp(line + word_len + 1, value, strlen(value));
}

enum stub_verdict stub_native_read(const uint8_t *data, size_t len, bool any_product,
				   struct stub_native *ret)
{
	const char *text = (const char *)data, *line;
	struct stub_native native = { .stale = true };
	bool product = false;
	char epoch[64];

	if (!data || len < sizeof(MAGIC) - 1 || memcmp(text, MAGIC, sizeof(MAGIC) - 1) != 0)
		return STUB_NATIVE_FOREIGN;
	if (!checksum_is_right(text, len))
		return STUB_NATIVE_CORRUPT;
	(void)stub_setting("STUB_EPOCH", epoch, sizeof(epoch));	/* empty is one too */
	line = text + sizeof(MAGIC) - 1;
	/* From here on it is as it was written; the body, which may hold any text, begins so. */
	while (strncmp(line, "compiler ", 9) != 0) {
		size_t line_len = strcspn(line, "\n");

		product = product || line_is(line, line_len, "product", STUB_PRODUCT);
		if (line_is(line, line_len, "epoch", epoch))
			native.stale = false;
		if (strncmp(line, "entry ", 6) == 0)
			stub_image_add(&native.image, line + 6, line_len - 6);
		line += line_len + 1;
	}
	if (!product && !any_product) {
		stub_image_release(&native.image);
		return STUB_NATIVE_FOREIGN;
	}
	stub_text_add(&native.body, line, len - CHECKSUM_LINE - (size_t)(line - text));
	*ret = native;
	return STUB_NATIVE_GOOD;
}
