/* SPDX-License-Identifier: MIT */
/* stub_files: settings read, counts written. */
#include "tests/support/stub_files.h"

#include <dlfcn.h>

int stub_unseen_open(const char *path, int flags, unsigned int mode)
{
	int (*function)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_DEFAULT, "open");

	return function(path, flags, mode);
}

void *stub_unseen_fopen(const char *path, const char *mode)
{
	void *(*function)(const char *, const char *) = (void *(*)(const char *, const char *))dlsym(RTLD_DEFAULT, "fopen");

	return function(path, mode);
}

int stub_unseen_access(const char *path, int mode)
{
	int (*function)(const char *, int) = (int (*)(const char *, int))dlsym(RTLD_DEFAULT, "access");

	return function(path, mode);
}

static void setting_from_file(const char *name, char *text, size_t size)
{
	char room[STUB_PATH_SIZE];
	const char *path = stub_file_path(STUB_FILE_SETTINGS, room);
	FILE *file = path ? stub_unseen_fopen(path, "re") : NULL;
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

void stub_set_variable(const char *name)
{
	static bool done;	/* by a test of one thread */
	char text[256], *value;

	if (done || !stub_setting(name, text, sizeof(text)))
		return;
	done = true;
	value = strchr(text, '=');
	if (!value)
		abort();
	*value = '\0';
	if (setenv(text, value + 1, 1) != 0)
		abort();
}

void stub_count_line(const char *line, size_t len)
{
	char room[STUB_PATH_SIZE];
	const char *path = stub_file_path(STUB_FILE_COUNTS, room);
	int fd;

	if (!path)
		return;
	fd = stub_unseen_open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	/* Threads and processes share the file. A test without counts fails by itself. */
	if (fd < 0 || write(fd, line, len) != (ssize_t)len)
		perror("stub: counts");
	if (fd >= 0)
		(void)close(fd);	/* one write was all */
}
