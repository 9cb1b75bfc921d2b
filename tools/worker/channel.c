/* SPDX-License-Identifier: MIT */
/* channel: the form of records. */
#include "tools/worker/worker_process.h"

#include <string.h>

#include "common/bytes.h"
#include "common/file.h"

static void append_field(struct cmn_buffer *line, const char *text)
{
	for (; *text; text++)
		cmn_buffer_append_u8(line, *text == '\t' || *text == '\n' ? ' ' : (uint8_t)*text);
}

bool channel_say_texts(const char *const *texts)
{
	struct cmn_buffer line = { 0 };
	bool said;

	for (size_t i = 0; texts[i]; i++) {
		if (i)
			cmn_buffer_append_u8(&line, '\t');
		append_field(&line, texts[i]);
	}
	cmn_buffer_append_u8(&line, '\n');
	said = !line.failed && cmn_file_write_all(WORKER_CHANNEL, line.data, line.len) == CMN_OK;
	cmn_buffer_release(&line);
	return said;
}

void channel_asking(const char *what)
{
	(void)channel_say("asking", what);	/* what is missing is missed by who reads */
}

bool channel_next(char **text, struct channel_record *ret)
{
	char *line = *text, *end = strchr(line, '\n'), *tab;

	if (!end)
		return false;	/* nothing, or cut short */
	*end = '\0';
	*text = end + 1;
	*ret = (struct channel_record){ .word = line };
	for (size_t i = 0; i < CHANNEL_FIELDS; i++) {
		tab = strchr(line, '\t');
		if (tab)
			*tab = '\0';
		line = tab ? tab + 1 : line + strlen(line);
		ret->fields[i] = line;
	}
	return true;
}
