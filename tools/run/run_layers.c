/* SPDX-License-Identifier: MIT */
/* run_layers: one list in a variable for each loader; the search of execvp, and the first page of an ELF file (gABI chapters 4 and 5). */
#include "tools/run/run.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tools/memory.h"
#include "tools/tool.h"

/* A variable that holds a list, and what is to be in it. */
struct list {
	const char *variable;
	const char *separators;		/* the first one is written */
	const char *file;		/* how our file in it is called; NULL: it holds no files */
	bool last;			/* the item goes behind the others */
};

static const struct list opencl_layers = {
	/*
	 * First: ocl-icd up to 2.3.1 cuts the variable at its first colon, and
	 * what the command itself starts sees only that, where the preloaded
	 * library does not hand it a copy.
	 */
	"OPENCL_LAYERS", ":", TOOL_OPENCL_LIBRARY, false,
};
static const struct list preloads = { "LD_PRELOAD", ": ", "libckcache_preload.so", false };
static const struct list library_paths = { "LD_LIBRARY_PATH", ":;", NULL, false };
/* Behind the others, next to the driver, where a cache belongs. */
static const struct list level_zero_layers = { "ZE_ENABLE_LAYERS", ",:", TOOL_LEVEL_ZERO_LIBRARY,
					       true };
/* What the user set wins, since it comes later. */
static const struct list asan_options = { "ASAN_OPTIONS", ":", NULL, false };

/* Whether it is a path of our file, which somebody chose, from another installation perhaps. */
static bool is_our_file(const struct list *list, const char *item, size_t len)
{
	size_t name_len = list->file ? strlen(list->file) : 0;
	char *path;
	bool ours;

	if (!name_len || len <= name_len || item[len - name_len - 1] != '/' ||
	    strncmp(item + len - name_len, list->file, name_len) != 0)
		return false;
	path = memory_copy_view((struct cmn_view){ item, len });
	ours = access(path, R_OK) == 0;
	free(path);
	return ours;
}

/* Whether a list has this very item, or one that does the same. */
static bool has_item(const struct list *list, const char *text, const char *item)
{
	size_t item_len = strlen(item);

	while (text && *text) {
		size_t len = strcspn(text, list->separators);

		if ((len == item_len && strncmp(text, item, len) == 0) ||
		    is_our_file(list, text, len))
			return true;
		text += len;
		text += strspn(text, list->separators);
	}
	return false;
}

static void set(const char *name, const char *value)
{
	if (setenv(name, value, 1) < 0)
		memory_end();
}

static void add_item(const struct list *list, const char *item)
{
	const char *old = getenv(list->variable);
	char *value;

	if (old && has_item(list, old, item))
		return;
	if (!old || !*old) {
		set(list->variable, item);
		return;
	}
	value = memory_printf("%s%c%s", list->last ? old : item, list->separators[0], list->last ? item : old);
	set(list->variable, value);
	free(value);
}

/* Whether the path can be in such a list. */
static bool fits(const struct list *list, const char *path)
{
	return !path[strcspn(path, list->separators)];
}

static void complain_of_path(const struct list *list, const char *path)
{
	tool_complain("%s: %s cannot name a path with \"%s\"", path, list->variable, list->separators);
}

static bool enable_opencl(void)
{
	char *path = tool_find_library(TOOL_OPENCL_LIBRARY);
	bool done = path && fits(&opencl_layers, path);

	if (!path)
		tool_complain("%s is missing from this command's installation", TOOL_OPENCL_LIBRARY);
	else if (done)
		add_item(&opencl_layers, path);
	else
		complain_of_path(&opencl_layers, path);
	free(path);
	return done;
}

/*
 * A preloaded library answers the loader's question for its layers; nothing
 * else reaches programs that bring a loader of their own. The runtime of
 * gcc's address sanitizer would refuse to run behind one unless it is told
 * otherwise.
 */
static void enable_preload(const char *shim)
{
	add_item(&preloads, shim);
	add_item(&level_zero_layers, "ckcache");
	add_item(&asan_options, "verify_asan_link_order=0");
}

/*
 * For a path that LD_PRELOAD cannot name: the loader finds the slot before the
 * validation layer, which the slot then loads, too, where it is installed.
 */
static void enable_slot(const char *slot)
{
	char *directory = memory_printf("%.*s", (int)(strrchr(slot, '/') - slot), slot);

	add_item(&library_paths, directory);
	set("ZE_ENABLE_VALIDATION_LAYER", "1");
	add_item(&level_zero_layers, "ckcache");
	free(directory);
}

void run_layers_enable_level_zero(void)
{
	char *plugin = tool_find_library(TOOL_LEVEL_ZERO_LIBRARY);
	char *shim = tool_find_library(TOOL_PRELOAD_LIBRARY);
	char *slot = tool_find_library(TOOL_SLOT_LIBRARY);

	if (plugin && shim && fits(&preloads, shim))
		enable_preload(shim);
	else if (plugin && slot && fits(&library_paths, slot))
		enable_slot(slot);
	else if (plugin && shim)
		complain_of_path(&preloads, shim);	/* OpenCL does without it */
	free(plugin);
	free(shim);
	free(slot);
}

bool run_layers_enable(void)
{
	if (!enable_opencl())
		return false;
	run_layers_enable_level_zero();
	return true;
}

/* confstr(_CS_PATH)'s value, which execvp takes where there is no PATH. */
#define DEFAULT_PATH "/bin:/usr/bin"
#define MAX_HEADERS 64

static bool is_executable(const char *path)
{
	struct stat info;

	return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

/* On the heap; NULL: not found. */
static char *find(const char *command)
{
	const char *path = getenv("PATH");
	char *found = NULL;

	if (strchr(command, '/'))
		return access(command, F_OK) == 0 ? strdup(command) : NULL;
	path = path ? path : DEFAULT_PATH;
	while (*command && !found) {
		size_t len = strcspn(path, ":");

		/* An empty part is the working directory. */
		if (asprintf(&found, "%.*s%s%s", (int)len, path, len ? "/" : "./", command) < 0)
			return NULL;
		if (!is_executable(found)) {
			free(found);
			found = NULL;
		}
		if (!path[len])
			break;
		path += len + 1;
	}
	return found;
}

static bool read_at(int fd, void *ret, size_t len, uint64_t offset)
{
	return pread(fd, ret, len, (off_t)offset) == (ssize_t)len;
}

static enum program_kind look_at_elf(int fd, const ElfW(Ehdr) *header)
{
	ElfW(Ehdr) own;
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	bool known = self >= 0 && read_at(self, &own, sizeof(own), 0);

	if (self >= 0)
		(void)close(self);	/* read only */
	if (known && (header->e_ident[EI_CLASS] != own.e_ident[EI_CLASS] ||
		      header->e_machine != own.e_machine))
		return PROGRAM_FOREIGN;
	if (header->e_phentsize != sizeof(ElfW(Phdr)) || header->e_phnum > MAX_HEADERS)
		return PROGRAM_USUAL;
	for (unsigned int i = 0; i < header->e_phnum; i++) {
		ElfW(Phdr) segment;

		if (!read_at(fd, &segment, sizeof(segment), header->e_phoff + i * sizeof(segment)) ||
		    segment.p_type == PT_INTERP)
			return PROGRAM_USUAL;
	}
	return PROGRAM_STATIC;
}

static bool is_privileged(int fd)
{
	struct stat info;

	if (fstat(fd, &info) < 0)
		return false;
	/* The superuser's own set-user-ID program gains nothing, and is not told to be careful. */
	return ((info.st_mode & S_ISUID) && info.st_uid != getuid()) ||
	       ((info.st_mode & S_ISGID) && (info.st_mode & S_IXGRP) &&
		info.st_gid != getgid()) ||
	       (getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0);
}

static enum program_kind look_at_file(const char *path)
{
	ElfW(Ehdr) header;
	enum program_kind kind = PROGRAM_USUAL;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t got;

	if (fd < 0)
		return PROGRAM_USUAL;
	got = pread(fd, &header, sizeof(header), 0);
	if (got >= 2 && memcmp(&header, "#!", 2) == 0)
		kind = PROGRAM_SCRIPT;	/* its own mode counts for nothing */
	else if (is_privileged(fd))
		kind = PROGRAM_PRIVILEGED;
	else if (got == sizeof(header) && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0)
		kind = look_at_elf(fd, &header);
	(void)close(fd);	/* read only */
	return kind;
}

enum program_kind program_look(const char *command, char **ret_path)
{
	char *path = find(command);
	enum program_kind kind = path ? look_at_file(path) : PROGRAM_ABSENT;

	if (ret_path)
		*ret_path = path;
	else
		free(path);
	return kind;
}

const char *program_obstacle(enum program_kind kind)
{
	switch (kind) {
	case PROGRAM_STATIC:
		return "it is linked statically, so it cannot load layers";
	case PROGRAM_PRIVILEGED:
		return "it runs with other privileges, so loaders load no layers";
	case PROGRAM_FOREIGN:
		return "it is for another architecture than the layers";
	default:
		return NULL;
	}
}
