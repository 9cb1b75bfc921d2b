/* SPDX-License-Identifier: MIT */
/* observed: a library that looks for files in every way, as a compiler might; it does what its argument says. */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

__attribute__((visibility("default"))) void observed_do(const char *how, const char *path);

/* A pointer in the data, beside the slots of calls. */
static int (*const look)(const char *path, int mode) = access;

static void close_if(int fd)
{
	if (fd >= 0)
		(void)close(fd);
}

static void do_open(const char *path) { close_if(open(path, O_RDONLY)); }
static void do_openat(const char *path) { close_if(openat(AT_FDCWD, path, O_RDONLY)); }

static void do_openat_directory(const char *path)
{
	int directory = open("sub", O_RDONLY | O_DIRECTORY);

	close_if(openat(directory, path, O_RDONLY));
	close_if(directory);
}

static void do_fopen(const char *path)
{
	FILE *file = fopen(path, "r");

	if (file)
		(void)fclose(file);
}

static void do_stat(const char *path)
{
	struct stat info;

	(void)!stat(path, &info);
}

static void do_lstat(const char *path)
{
	struct stat info;

	(void)!lstat(path, &info);
}

static void do_fstatat(const char *path)
{
	struct stat info;

	(void)!fstatat(AT_FDCWD, path, &info, 0);
}

static void do_statx(const char *path)
{
	struct statx info;

	(void)!statx(AT_FDCWD, path, 0, STATX_SIZE, &info);
}

static void do_access(const char *path) { (void)!look(path, R_OK); }
static void do_faccessat(const char *path) { (void)!faccessat(AT_FDCWD, path, R_OK, 0); }

static void do_realpath(const char *path)
{
	char *real = realpath(path, NULL);

	free(real);
}

static void do_readlink(const char *path)
{
	char target[256];

	(void)!readlink(path, target, sizeof(target));
}

static void do_write(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd >= 0)
		(void)!write(fd, "x", 1);
	close_if(fd);
	do_open(path);
}

static void do_temporary(const char *path)
{
	char template[] = "temporary-XXXXXX";
	int fd = mkstemp(template);

	do_open(template);
	do_open(path);
	close_if(fd);
	(void)unlink(template);
}

/* As a cache does: looks, finds nothing, writes another file and moves it there. */
static void do_cache(const char *path)
{
	do_open(path);
	close_if(open("cached.new", O_WRONLY | O_CREAT | O_EXCL, 0600));
	(void)!rename("cached.new", path);
	do_open(path);
}

static void do_list(const char *path)
{
	DIR *directory = opendir(path);

	if (directory)
		(void)closedir(directory);
}

static void do_time(const char *path)
{
	time_t now = time(NULL);
	struct tm date;

	(void)path;
	(void)localtime_r(&now, &date);
}

static void do_syscall(const char *path)
{
	close_if((int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY));
}

static void do_process(const char *path)
{
	pid_t child = fork();

	(void)path;
	if (child == 0)
		_exit(0);
	(void)waitpid(child, NULL, 0);
}

static void do_chdir(const char *path) { (void)!chdir(path); }

/* NEO 22.43 loads its compiler so; sanitizers' runtimes refuse it. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DEEPBIND 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DEEPBIND 0
#endif
#endif
#ifndef DEEPBIND
#define DEEPBIND RTLD_DEEPBIND
#endif

/* Loads a copy of this library and has it look, as drivers do with their compilers. */
static void do_load(const char *path)
{
	void *library = dlopen("./late.so", RTLD_NOW | RTLD_LOCAL | DEEPBIND);
	void (*other)(const char *, const char *) = NULL;

	if (library)
		other = (void (*)(const char *, const char *))dlsym(library, "observed_do");
	if (other)
		other("open", path);
	if (library)
		(void)dlclose(library);
}

void observed_do(const char *how, const char *path)
{
	static const struct {
		const char *how;
		void (*run)(const char *path);
	} ways[] = {
		{ "open", do_open }, { "openat", do_openat }, { "openat-directory", do_openat_directory },
		{ "fopen", do_fopen }, { "stat", do_stat }, { "lstat", do_lstat },
		{ "fstatat", do_fstatat }, { "statx", do_statx }, { "access", do_access },
		{ "faccessat", do_faccessat }, { "realpath", do_realpath },
		{ "readlink", do_readlink }, { "write", do_write }, { "temporary", do_temporary },
		{ "cache", do_cache }, { "list", do_list }, { "time", do_time },
		{ "syscall", do_syscall }, { "process", do_process }, { "chdir", do_chdir },
		{ "load", do_load },
	};

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(ways[i].how, how) == 0) {
			ways[i].run(path);
			return;
		}
	}
	abort();
}
