/* SPDX-License-Identifier: MIT */
/*
 * stub_compile: the stub driver's compiler: puts includes in place, line by
 * line, and finds kernels by the words "kernel void". It evaluates nothing.
 */
#include <ctype.h>
#include <dlfcn.h>
#include <sys/mman.h>

#include "tests/opencl/stub_driver.h"

#define MAX_DEPTH 8	/* of includes: more is a loop */

static char *read_file(const char *path)
{
	struct stub_text text = { 0 };
	FILE *file = stub_is_set("STUB_UNSEEN") ? stub_unseen_fopen(path, "r") : fopen(path, "r");
	char part[4096];
	size_t len;

	if (!file)
		return NULL;
	stub_text_add(&text, "", 0);
	while ((len = fread(part, 1, sizeof(part), file)) > 0)
		stub_text_add(&text, part, len);
	(void)fclose(file);	/* only read */
	return text.data;
}

/* Opens name below the i-th -I directory of options; false in *ret_more: there is no i-th. */
static char *read_from_option(const char *options, unsigned int i, const char *name, bool *ret_more)
{
	const char *at = options;

	*ret_more = false;
	while (at && (at = strstr(at, "-I"))) {
		const char *start = at + 2 + strspn(at + 2, " ");
		int len = (int)strcspn(start, " ");
		char path[4096];

		at = start + len;
		if (i--)
			continue;
		*ret_more = true;
		(void)snprintf(path, sizeof(path), "%.*s/%s", len, start, name);
		return read_file(path);
	}
	return NULL;
}

/* The application's own headers, for builds of this thread. */
static _Thread_local struct {
	unsigned int count;
	const char *const *names;
	const cl_program *programs;
} embedded;

void stub_compile_headers(unsigned int count, const char *const *names, const cl_program *programs)
{
	embedded.count = count;
	embedded.names = names;
	embedded.programs = programs;
}

static char *find_embedded(const char *name)
{
	for (unsigned int i = 0; i < embedded.count; i++) {
		if (strcmp(embedded.names[i], name) == 0 && embedded.programs[i]->source)
			return strdup(embedded.programs[i]->source);
	}
	return NULL;
}

static char *find_include(const char *directory, const char *options, const char *name, bool quoted)
{
	char path[4096], *content = find_embedded(name);
	bool more = true;

	(void)snprintf(path, sizeof(path), "%s/%s", name[0] == '/' ? "" : directory, name + (name[0] == '/'));
	if (quoted && !content)
		content = read_file(path);
	for (unsigned int i = 0; !content && more; i++)
		content = read_from_option(options, i, name, &more);
	return content;
}

static bool expand(const char *source, const char *directory, const char *options,
		   unsigned int depth, struct stub_text *ret, struct stub_text *ret_log)
{
	for (const char *line = source; *line; ) {
		size_t len = strcspn(line, "\n");
		char name[256], open;
		char *content;
		bool good;

		len += line[len] == '\n';
		if (sscanf(line, " #include %c%255[^\">]", &open, name) != 2) {
			stub_text_add(ret, line, len);
			line += len;
			continue;
		}
		line += len;
		content = depth ? find_include(directory, options, name, open == '"') : NULL;
		if (!content) {
			stub_text_print(ret_log, "stub: error: %s: not found\n", name);
			return false;
		}
		good = expand(content, directory, options, depth - 1, ret, ret_log);
		free(content);
		if (!good)
			return false;
	}
	return true;
}

/* text: the options, then the source. */
static bool has_error(const char *text)
{
	const char *error = strstr(text, "#error"), *guard = strstr(text, "#ifdef FAIL");

	return error && (!guard || guard > error || strstr(text, "-DFAIL"));
}

static void leave_file(const char *path)
{
	FILE *file = fopen(path, "w");

	if (file)
		(void)fclose(file);	/* empty */
}

char *stub_compile(const char *source, const char *options, char **ret_log)
{
	struct stub_text image = { 0 }, log = { 0 };
	bool good;
	const char *told = stub_is_set("STUB_NO_OPTIONS") ? "" : options;
	char late[4096], *cached;

	stub_delay();
	while (strstr(source, "#pragma stub_hang"))
		(void)pause();
	if (stub_setting("STUB_CRASH", late, sizeof(late)) &&
	    (late[0] != '-' || (options && strstr(options, late))))
		abort();
	/* So much of a machine's memory, in percent; none of it is touched. */
	if (stub_setting("STUB_MEMORY", late, sizeof(late)) &&
	    mmap(NULL, (size_t)sysconf(_SC_PHYS_PAGES) / 100 * (size_t)atoi(late) *
			       (size_t)sysconf(_SC_PAGESIZE),
		 PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
		abort();
	if (stub_setting("STUB_SAYS", late, sizeof(late)))
		(void)fprintf(stderr, "%s\n", late);
	if (stub_setting("STUB_LEAVES", late, sizeof(late)))
		leave_file(late);
	if (stub_setting("STUB_LATE_LIBRARY", late, sizeof(late)) && !dlopen(late, RTLD_NOW | RTLD_LOCAL))
		abort();	/* a test driver has nothing better to do */
	cached = stub_setting("STUB_CACHED", late, sizeof(late)) ? read_file(late) : NULL;
	/* As real ones do: a header that no source names. */
	if (!cached && !stub_is_set("STUB_UNSEEN"))
		(void)!access("./stub_builtins.h", R_OK);
	if (stub_setting("STUB_FAIL_LOG", late, sizeof(late))) {
		*ret_log = strdup(late);
		free(cached);
		free(image.data);
		return NULL;
	}
	stub_text_print(&image, "%s\n", told);
	good = expand(cached ? cached : source, ".", options, MAX_DEPTH, &image, &log);
	free(cached);
	/* As a compiler does that puts the date in its place. */
	if (good && strstr(image.data, "__DATE__")) {
		time_t now = time(NULL);
		struct tm date;

		stub_text_add(&image, localtime_r(&now, &date) ? "\n" : "", 1);
	}
	if (good && has_error(image.data)) {
		stub_text_print(&log, "stub: error: the source says so: %s\n", strrchr(image.data, '\n') + 1);
		good = false;
	}
	if (!good) {
		free(image.data);
		*ret_log = log.data;
		return NULL;
	}
	stub_text_print(&log, "stub: warning: built with [%s]\n", told);
	*ret_log = log.data;
	return image.data;
}

static cl_uint count_arguments(const char *list)
{
	cl_uint count = 1;

	list += strspn(list, " ");
	if (*list == ')' || !strncmp(list, "void)", 5))
		return 0;
	for (; *list && *list != ')'; list++)
		count += *list == ',';
	return count;
}

bool stub_image_kernel(const char *image, unsigned int i, char *name, size_t size,
		       cl_uint *ret_arguments)
{
	static const char words[] = "kernel void ";
	const char *at = image;

	while ((at = strstr(at, words))) {
		size_t len;

		at += sizeof(words) - 1;
		len = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
		if (!len || at[len] != '(' || i--)
			continue;
		(void)snprintf(name, size, "%.*s", (int)len, at);
		*ret_arguments = count_arguments(at + len + 1);
		return true;
	}
	return false;
}
