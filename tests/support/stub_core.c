/* SPDX-License-Identifier: MIT */
/* stub_core: settings read, counts written, texts that grow. */
#include "tests/support/stub_core.h"

#include <dlfcn.h>
#include <stdarg.h>

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

static int unseen_access(const char *path, int mode)
{
	int (*function)(const char *, int) = (int (*)(const char *, int))dlsym(RTLD_DEFAULT, "access");

	return function(path, mode);
}

/* Perhaps in room; NULL: there is none. */
static const char *file_path(const char *variable, const char *at_home, char room[4096])
{
	const char *path = getenv(variable), *home = getenv("HOME");

	if (path || !home)
		return path;
	(void)snprintf(room, 4096, "%s/%s", home, at_home);
	return unseen_access(room, F_OK) == 0 ? room : NULL;
}

/* The same beside the library, which a confined compiler may read too. */
static const char *settings_path(char room[4096])
{
	static const char here;	/* is in the library */
	const char *path = file_path("STUB_SETTINGS", "stub_settings", room), *end;
	Dl_info own;

	if (path || !dladdr(&here, &own) || !(end = strrchr(own.dli_fname, '/')))
		return path;
	(void)snprintf(room, 4096, "%.*s/stub_settings", (int)(end - own.dli_fname), own.dli_fname);
	return unseen_access(room, F_OK) == 0 ? room : NULL;
}

static void setting_from_file(const char *name, char *text, size_t size)
{
	char room[4096];
	const char *path = settings_path(room);
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

bool stub_says(const char *name, const char *wanted)
{
	char text[64];

	(void)stub_setting(name, text, sizeof(text));	/* "" and "0" are texts, too */
	return strcmp(text, wanted) == 0;
}

int stub_number(const char *name, int usual)
{
	char text[32];

	return stub_setting(name, text, sizeof(text)) ? (int)strtol(text, NULL, 10) : usual;
}

bool stub_is_among_first(const char *name, atomic_int *count)
{
	return stub_is_set(name) && atomic_fetch_add(count, 1) < stub_number(name, 0);
}

unsigned int stub_changed(const char *property)
{
	return stub_says("STUB_CHANGED", property);
}

static int count_compilations(void)
{
	char room[4096], line[512], wanted[64];
	const char *path = file_path("STUB_COUNTS", "stub_counts", room);
	FILE *file = path ? stub_unseen_fopen(path, "re") : NULL;
	int count = 0;

	(void)snprintf(wanted, sizeof(wanted), "%scompile\n", stub_event_prefix);
	while (file && fgets(line, sizeof(line), file))
		count += strcmp(line, wanted) == 0;
	if (file)
		(void)fclose(file);	/* only read */
	return count;
}

void stub_delay(void)
{
	long ms = stub_number("STUB_DELAY_MS", 0);
	struct timespec left = { ms / 1000, ms % 1000 * 1000000 };
	const int others = stub_number("STUB_MEET", 0);

	while (ms && nanosleep(&left, &left) != 0)
		;	/* a signal came */
	while (others && count_compilations() < others)
		(void)usleep(10000);
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

void stub_event(const char *format, ...)
{
	char room[4096], line[512];
	const char *path = file_path("STUB_COUNTS", "stub_counts", room);
	va_list arguments;
	int fd, len, more;

	if (!path)
		return;
	len = snprintf(line, 256, "%s", stub_event_prefix);
	va_start(arguments, format);
	more = vsnprintf(line + len, 254, format, arguments);	/* cut, if too long */
	va_end(arguments);
	len += more < 254 ? more : 253;
	line[len++] = '\n';
	fd = stub_unseen_open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	/* Threads and processes share the file. A test without counts fails by itself. */
	if (fd < 0 || write(fd, line, (size_t)len) != len)
		perror("stub: counts");
	if (fd >= 0)
		(void)close(fd);	/* one write was all */
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
