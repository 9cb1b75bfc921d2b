/* SPDX-License-Identifier: MIT */
/* probe: the records' form, and which probe is run. */
#include "tools/doctor/probe.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"
#include "tools/tool.h"

static void append_field(struct cmn_buffer *line, const char *text)
{
	for (; *text; text++)
		cmn_buffer_append_u8(line, *text == '\t' || *text == '\n' ? ' ' : (uint8_t)*text);
}

void probe_say_texts(const char *const *texts)
{
	struct cmn_buffer line = { 0 };

	for (size_t i = 0; texts[i]; i++) {
		if (i)
			cmn_buffer_append_u8(&line, '\t');
		append_field(&line, texts[i]);
	}
	cmn_buffer_append_u8(&line, '\n');
	/* Nobody who reads it, or no memory: what is missing is missed there. */
	if (!line.failed)
		(void)!cmn_file_write_all(PROBE_RECORDS_FD, line.data, line.len);
	cmn_buffer_release(&line);
}

void probe_asking(const char *what)
{
	probe_say("asking", what);
}

static int say_layer(struct dl_phdr_info *info, size_t size, void *data)
{
	static const char *const names[] = { TOOL_OPENCL_LIBRARY, TOOL_LEVEL_ZERO_LIBRARY };
	/* The file itself: a loader may know it by a link. */
	char *path = info->dlpi_name ? realpath(info->dlpi_name, NULL) : NULL;
	const char *slash = path ? strrchr(path, '/') : NULL;

	(void)size;
	(void)data;
	for (size_t i = 0; slash && i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(slash + 1, names[i]) == 0)
			probe_say("layer", path);
	}
	free(path);
	return 0;
}

void probe_say_layers(void)
{
	(void)dl_iterate_phdr(say_layer, NULL);	/* its result is the callback's */
}

bool probe_read(char **text, struct probe_record *ret)
{
	char *line = *text, *end = strchr(line, '\n'), *tab;

	if (!end)
		return false;	/* nothing, or cut short */
	*end = '\0';
	*text = end + 1;
	*ret = (struct probe_record){ .word = line };
	for (size_t i = 0; i < PROBE_FIELDS; i++) {
		tab = strchr(line, '\t');
		if (tab)
			*tab = '\0';
		line = tab ? tab + 1 : line + strlen(line);
		ret->fields[i] = line;
	}
	return true;
}

int probe_main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv);
	} probes[] = {
		{ "opencl", probe_opencl },
		{ "opencl-build", probe_opencl_build },
#ifdef CKCACHE_LEVEL_ZERO
		{ "level-zero", probe_level_zero },
		{ "level-zero-build", probe_level_zero_build },
#endif
	};

	for (size_t i = 0; argc > 1 && i < sizeof(probes) / sizeof(probes[0]); i++) {
		if (strcmp(argv[1], probes[i].name) == 0) {
			int code = probes[i].run(argc - 1, argv + 1);

			probe_say("done");
			return code;
		}
	}
	return TOOL_USAGE;
}
