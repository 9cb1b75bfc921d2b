/* SPDX-License-Identifier: MIT */
/* stub_settings: the stub driver's settings, its events, and growing texts. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/level_zero/stub/stub.h"

void stub_event(const char *format, ...)
{
	const char *path = getenv("STUB_COUNTS");
	struct stub_text line = { 0 };
	va_list arguments;
	char event[256];
	int fd;

	if (!path)
		return;
	va_start(arguments, format);
	(void)vsnprintf(event, sizeof(event), format, arguments);	/* cut, if too long */
	va_end(arguments);
	stub_text_print(&line, "%s%s\n", STUB_INDEX == 2 ? "stub2 " : "", event);
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	/* One write per line: threads and processes share the file. A test without counts fails by itself. */
	if (fd < 0 || write(fd, line.data, line.len) != (ssize_t)line.len)
		perror("stub: counts");
	if (fd >= 0)
		(void)close(fd);	/* one write was all */
	free(line.data);
}

static void setting_from_file(const char *name, char *text, size_t size)
{
	const char *path = getenv("STUB_SETTINGS");
	FILE *file = path ? fopen(path, "re") : NULL;
	size_t name_len = strlen(name);
	char line[256];

	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, name, name_len) && line[name_len] == '=')
			(void)snprintf(text, size, "%s", line + name_len + 1);
	}
	(void)fclose(file);	/* only read */
}

bool stub_setting(const char *name, char *text, size_t size)
{
	const char *value = getenv(name);

	(void)snprintf(text, size, "%s", value ? value : "");
	setting_from_file(name, text, size);
	return *text && strcmp(text, "0") != 0;
}

bool stub_is_set(const char *name)
{
	char text[64];

	return stub_setting(name, text, sizeof(text));
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
