/* SPDX-License-Identifier: MIT */
/* run_program: the search of execvp, and the first page of an ELF file (gABI chapters 4 and 5). */
#include "tools/run/run_program.h"

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
	ElfW(Ehdr) header = { 0 };
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
