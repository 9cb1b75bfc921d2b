/* SPDX-License-Identifier: MIT */
/* stub_settings: where the settings and events are, events, and growing texts. */
#include <stdarg.h>

#include "tests/level_zero/stub/stub.h"

const char *stub_file_path(enum stub_file file, char room[STUB_PATH_SIZE])
{
	(void)room;	/* what the environment says is enough */
	return getenv(file == STUB_FILE_COUNTS ? "STUB_COUNTS" : "STUB_SETTINGS");
}

void stub_event(const char *format, ...)
{
	struct stub_text line = { 0 };
	va_list arguments;
	char event[256];

	va_start(arguments, format);
	(void)vsnprintf(event, sizeof(event), format, arguments);	/* cut, if too long */
	va_end(arguments);
	stub_text_print(&line, "%s%s\n", STUB_INDEX == 2 ? "stub2 " : "", event);
	stub_count_line(line.data, line.len);
	free(line.data);
}

void stub_text_add(struct stub_text *text, const void *data, size_t len)
{
	char *grown = realloc(text->data, text->len + len + 1);

	if (!grown)
		abort();	/* a test driver has nothing better to do */
	if (len)
		memcpy(grown + text->len, data, len);
	text->data = grown;
	text->len += len;
	grown[text->len] = '\0';
}

void stub_text_print(struct stub_text *text, const char *format, ...)
{
	va_list arguments;
	char *printed;
	int len;

	va_start(arguments, format);
	len = vasprintf(&printed, format, arguments);
	va_end(arguments);
	if (len < 0)
		abort();	/* as above */
	stub_text_add(text, printed, (size_t)len);
	free(printed);
}

uint64_t stub_hash(const void *data, size_t len)
{
	const unsigned char *bytes = data;
	uint64_t hash = 0xcbf29ce484222325;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3;
	return hash;
}
