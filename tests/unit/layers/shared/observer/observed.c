/* SPDX-License-Identifier: MIT */
/* observed: a library that looks for files in every way, as a compiler might; it does what its argument says. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
#include <wordexp.h>

#include "tests/support/words.h"

__attribute__((visibility("default"))) void observed_do(const char *how, const char *path);

/* A pointer in the data, beside the slots of calls; the compiler does not know that it stays. */
static int (*volatile look)(const char *path, int mode) = access;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif

/* As programs of before glibc 2.33 call it: nothing new is linked with it, but it is there. */
extern int __xstat(int version, const char *path, struct stat *ret) __attribute__((weak));
extern int __lxstat(int version, const char *path, struct stat *ret) __attribute__((weak));
extern int __fxstatat(int version, int directory, const char *path, struct stat *ret, int flags) __attribute__((weak));
#ifdef SANITIZED	/* whose runtime has functions of its own for them */
#define IF_OLD(function, old, now) (void)!(now)
#else
#define IF_OLD(function, old, now) (void)!((function) ? (old) : (now))
#endif

static void close_if(int fd)
{
	if (fd >= 0)
		(void)close(fd);
}

static void close_stream(FILE *stream)
{
	if (stream)
		(void)fclose(stream);
}

static void open_it(const char *path) { close_if(open(path, O_RDONLY)); }

/* What each word does; value is a path, or what the word says. */
WORD(open) { open_it(value); }
WORD(openat) { close_if(openat(AT_FDCWD, value, O_RDONLY)); }

WORD(openat_directory)
{
	int directory = open("sub", O_RDONLY | O_DIRECTORY);

	close_if(openat(directory, value, O_RDONLY));
	close_if(directory);
}

WORD(fopen) { close_stream(fopen(value, "r")); }
WORD(stat) { (void)!stat(value, &(struct stat){ 0 }); }

static struct stat ignored;
WORD(xstat) { IF_OLD(__xstat, __xstat(1, value, &ignored), stat(value, &ignored)); }
WORD(lxstat) { IF_OLD(__lxstat, __lxstat(1, value, &ignored), lstat(value, &ignored)); }
WORD(fxstatat)
{
	IF_OLD(__fxstatat, __fxstatat(1, AT_FDCWD, value, &ignored, 0), fstatat(AT_FDCWD, value, &ignored, 0));
}

WORD(lstat) { (void)!lstat(value, &(struct stat){ 0 }); }
WORD(fstatat) { (void)!fstatat(AT_FDCWD, value, &(struct stat){ 0 }, 0); }
WORD(statx) { (void)!statx(AT_FDCWD, value, 0, STATX_SIZE, &(struct statx){ 0 }); }
WORD(access) { (void)!look(value, R_OK); }
WORD(runnable) { (void)!look(value, R_OK | X_OK); }
WORD(faccessat) { (void)!faccessat(AT_FDCWD, value, R_OK, 0); }
WORD(realpath) { free(realpath(value, NULL)); }
WORD(readlink) { (void)!readlink(value, (char[256]){ 0 }, 256); }

/* What checked builds (_FORTIFY_SOURCE) call. */
int __open_2(const char *path, int flags);
int __openat_2(int directory, const char *path, int flags);

WORD(open_2) { close_if(__open_2(value, O_RDONLY)); }
WORD(openat_2) { close_if(__openat_2(AT_FDCWD, value, O_RDONLY)); }
WORD(euidaccess) { (void)!euidaccess(value, R_OK); }
WORD(eaccess) { (void)!eaccess(value, R_OK); }

WORD(freopen)
{
	/* Of any other stream it would keep the memory where it fails. */
	(void)!freopen(value, "r", stdin);
}

WORD(fstatat_link) { (void)!fstatat(AT_FDCWD, value, &(struct stat){ 0 }, AT_SYMLINK_NOFOLLOW); }
WORD(readlinkat) { (void)!readlinkat(AT_FDCWD, value, (char[256]){ 0 }, 256); }
WORD(canonicalize) { free(canonicalize_file_name(value)); }

/* By a descriptor of the working directory. */
WORD(openat_here)
{
	int directory = open(".", O_RDONLY | O_DIRECTORY);

	close_if(openat(directory, value, O_RDONLY));
	close_if(directory);
}

/* The working directory's name, from whom this can be had, and a file by that. */
static void open_below(char *directory, const char *name)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", directory ? directory : "", name);
	free(directory);
	open_it(path);
}

WORD(getcwd) { open_below(getcwd(NULL, 0), value); }
WORD(get_current_dir_name) { open_below(get_current_dir_name(), value); }
WORD(realpath_here) { open_below(realpath(".", NULL), value); }

/* Where offsets have 32 bits they are in pages of 4096 bytes. */
#ifdef SYS_mmap2
#define MMAP SYS_mmap2
#define SECOND_PAGE 1L
#else
#define MMAP SYS_mmap
#define SECOND_PAGE 4096L
#endif

/* All six arguments arrive. */
WORD(syscall_six)
{
	int fd = open(value, O_RDONLY);
	const char *second = (const char *)syscall(MMAP, NULL, 4096, PROT_READ, MAP_PRIVATE, fd, SECOND_PAGE);

	if (second == MAP_FAILED || *second != '2')
		abort();
	(void)munmap((void *)second, 4096);
	close_if(fd);
}

WORD(syscall_statx) { (void)syscall(SYS_statx, AT_FDCWD, value, 0, STATX_SIZE, &(struct statx){ 0 }); }
WORD(fopen_update) { close_stream(fopen(value, "r+")); }
WORD(open_update) { close_if(open(value, O_RDWR)); }

WORD(write_nowhere)
{
	close_if(open(value, O_WRONLY | O_CREAT, 0600));
	open_it(value);
}

WORD(rename_nothing)
{
	(void)!rename("no-such-file", value);
	open_it(value);
}

WORD(mkdir)
{
	if (mkdir(value, 0700) == 0 || errno == EEXIST)
		(void)!stat(value, &(struct stat){ 0 });
}

WORD(mkdtemp)
{
	char template[] = "temporary-XXXXXX";

	if (mkdtemp(template))
		(void)!stat(template, &(struct stat){ 0 });
}

WORD(link) { (void)!link(value, "another-name"); }
WORD(symlink) { (void)!symlink(value, "another-link"); }
WORD(swap) { (void)!renameat2(AT_FDCWD, value, AT_FDCWD, "link", RENAME_EXCHANGE); }

WORD(fdopendir)
{
	int fd = open(value, O_RDONLY | O_DIRECTORY);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);

	if (directory)
		(void)closedir(directory);
}

static void free_entries(struct dirent **entries, int count)
{
	for (int i = 0; i < count; i++)
		free(entries[i]);
	free(entries);
}

WORD(scandir)
{
	struct dirent **entries = NULL;
	int count = scandir(value, &entries, NULL, NULL);

	free_entries(entries, count);
}

WORD(fchdir)
{
	int fd = open(value, O_RDONLY | O_DIRECTORY);

	(void)!fchdir(fd);
	close_if(fd);
}

WORD(gmtime) { (void)gmtime_r(&(time_t){ time(NULL) }, &(struct tm){ 0 }); }

WORD(spawn_path)
{
	char *const arguments[] = { (char *)"true", NULL }, *const none[] = { NULL };
	pid_t child;

	(void)posix_spawn(NULL, "/absent", NULL, NULL, arguments, none);	/* it may not want to know which */
	if (posix_spawn(&child, "/bin/true", NULL, NULL, arguments, none) == 0)
		(void)waitpid(child, NULL, 0);
}

WORD(write)
{
	int fd = open(value, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd >= 0)
		(void)!write(fd, "x", 1);
	close_if(fd);
	open_it(value);
}

/* What a compiler says, in each way; to a pipe, or what is no more than a line end to the standard output. */
static const char *volatile format = "%s";	/* the compiler does not know it */

static FILE *open_pipe(void)
{
	int ends[2];

	if (pipe(ends) != 0)
		abort();
	ends[0] = dup2(ends[0], 200) < 0 ? -1 : close(ends[0]);	/* both stay until the stream is closed */
	return fdopen(ends[1], "w");
}

static void close_pipe(FILE *to)
{
	close_stream(to);
	close_if(200);
}

static void by_list(FILE *to, bool checked, const char *shape, ...);
int __overflow(FILE *stream, int byte);
int __printf_chk(int level, const char *shape, ...);
int __fprintf_chk(FILE *stream, int level, const char *shape, ...);
int __dprintf_chk(int fd, int level, const char *shape, ...);
int __vprintf_chk(int level, const char *shape, va_list values);
int __vfprintf_chk(FILE *stream, int level, const char *shape, va_list values);
int __vdprintf_chk(int fd, int level, const char *shape, va_list values);

#define SAY(name, call)                         \
	WORD(name)                              \
	{                                       \
		FILE *to = open_pipe();         \
						\
		(void)(call);                   \
		close_pipe(to);                 \
	}
SAY(say_write, !write(fileno(to), "x", 1))
SAY(say_writev, !writev(fileno(to), &(struct iovec){ (void *)"x", 1 }, 1))
SAY(say_send, send(STDERR_FILENO, "", 0, 0))
SAY(say_syscall, syscall(SYS_write, STDERR_FILENO, "", 0))
SAY(say_nothing, write(STDERR_FILENO, "", 0))
SAY(say_fwrite, fwrite("x", 1, 1, to))
SAY(say_fwrite_unlocked, fwrite_unlocked("x", 1, 1, to))
SAY(say_fputs, fputs(value, to))
SAY(say_fputs_unlocked, fputs_unlocked(value, to))
SAY(say_fputc, fputc('x', to))
SAY(say_putc, putc('x', to))
SAY(say_fputc_unlocked, (fputc_unlocked)('x', to))
SAY(say_putc_unlocked, (putc_unlocked)('x', to))
SAY(say_overflow, __overflow(to, 'x'))
SAY(say_putwc, putwc(L'x', to))
SAY(say_putchar, (putchar)('\n'))
SAY(say_putchar_unlocked, (putchar_unlocked)('\n'))
SAY(say_puts, puts(""))
SAY(say_printf, printf(format, value))
SAY(say_fprintf, fprintf(to, format, value))
SAY(say_dprintf, dprintf(fileno(to), format, value))
SAY(say_printf_chk, __printf_chk(1, format, value))
SAY(say_fprintf_chk, __fprintf_chk(to, 1, format, value))
SAY(say_dprintf_chk, __dprintf_chk(fileno(to), 1, format, value))
WORD(say_vprintf) { by_list(NULL, false, format, value); }
WORD(say_vprintf_chk) { by_list(NULL, true, format, value); }
WORD(say_vfprintf) { by_list(stderr, false, format, value); }
WORD(say_vfprintf_chk) { by_list(stderr, true, format, value); }

static void by_list(FILE *to, bool checked, const char *shape, ...)
{
	va_list values;

	va_start(values, shape);
	if (to)
		(void)(checked ? __vfprintf_chk(to, 1, shape, values) : vfprintf(to, shape, values));
	else
		(void)(checked ? __vprintf_chk(1, shape, values) : vprintf(shape, values));
	va_end(values);
}

static void by_list_to(int fd, bool checked, const char *shape, ...)
{
	va_list values;

	va_start(values, shape);
	(void)(checked ? __vdprintf_chk(fd, 1, shape, values) : vdprintf(fd, shape, values));
	va_end(values);
}

WORD(say_vdprintf) { by_list_to(STDERR_FILENO, false, format, value); }
WORD(say_vdprintf_chk) { by_list_to(STDERR_FILENO, true, format, value); }

WORD(say_perror)
{
	int saved = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY);

	(void)dup2(nowhere, STDERR_FILENO);
	perror(value);
	(void)dup2(saved, STDERR_FILENO);
	close_if(saved);
	close_if(nowhere);
}

/* To a file of its own, which it leaves or not, and to nobody. */
static void say_to(const char *path)
{
	FILE *to = fopen(path, "w");

	if (to)
		(void)fprintf(to, format, "text");
	close_stream(to);
}

WORD(say_file) { say_to(value); }

WORD(say_temporary)
{
	say_to("temporary");
	(void)unlink("temporary");
}

WORD(say_null) { say_to("/dev/null"); }

WORD(temporary)
{
	char template[] = "temporary-XXXXXX";
	int fd = mkstemp(template);

	open_it(template);
	open_it(value);
	close_if(fd);
	(void)unlink(template);
}

/* As a cache does: looks, finds nothing, writes another file and moves it there. */
WORD(cache)
{
	open_it(value);
	close_if(open("cached.new", O_WRONLY | O_CREAT | O_EXCL, 0600));
	(void)!rename("cached.new", value);
	open_it(value);
}

WORD(list)
{
	DIR *directory = opendir(value);

	if (directory)
		(void)closedir(directory);
}

WORD(time) { (void)localtime_r(&(time_t){ time(NULL) }, &(struct tm){ 0 }); }
WORD(syscall) { close_if((int)syscall(SYS_openat, AT_FDCWD, value, O_RDONLY)); }

WORD(process)
{
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	(void)waitpid(child, NULL, 0);
}

static void wait_for(pid_t child)
{
	if (child > 0)
		(void)waitpid(child, NULL, 0);
}

WORD(vfork)
{
	pid_t child = vfork();

	if (child == 0)
		_exit(0);
	wait_for(child);
}

/* By a function that nobody follows, and without waiting. */
WORD(vfork_polled)
{
	char *const arguments[] = { "true", NULL };
	pid_t child = vfork();

	if (child == 0) {
		(void)execvp(arguments[0], arguments);
		_exit(127);
	}
	while (child > 0 && waitpid(child, NULL, WNOHANG) == 0)
		continue;
}

static int count_descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 4096; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* The end of a pipe, which has one byte more, by all the numbers from here on that are in use. */
static int replace_descriptors(void)
{
	int own[2];

	if (pipe(own) != 0 || write(own[1], "x", 1) != 1)
		abort();
	for (int fd = own[0]; fd < 4096; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			(void)dup2(own[0], fd);
	}
	return own[0];
}

/* A child that lives on has nothing open that its parent had not, and all that it opened itself. */
WORD(fork_own)
{
	for (int replaces = 0; replaces < 2; replaces++) {
		int before = count_descriptors(), status = 1, end = -1;
		pid_t child = fork();

		if (child == 0 && replaces) {
			end = replace_descriptors();
			before = count_descriptors();
		}
		if (child == 0) {
			close_if(open(value, O_RDONLY));
			_exit(count_descriptors() == before && (!replaces || read(end, &(char){ 0 }, 1) == 1) ? 0 : 1);
		}
		if (waitpid(child, &status, 0) != child || status != 0)
			abort();
	}
}

WORD(exec_nowhere) { (void)execv(value, (char *const[]){ (char *)value, NULL }); }

WORD(spawn)
{
	char *const arguments[] = { "true", NULL };
	pid_t child;

	if (posix_spawnp(&child, "true", NULL, NULL, arguments, environ) == 0)
		wait_for(child);
}

/* The linker, which says its version. */
WORD(linker)
{
	char *const arguments[] = { "ld", "-v", NULL };
	pid_t child;

	if (posix_spawn(&child, value, NULL, NULL, arguments, environ) == 0)
		wait_for(child);
}

enum tool_way {
	TOOL_FORKED, TOOL_VFORKED, TOOL_SPAWNED, TOOL_STRAYS, TOOL_WITH_LIBRARIES, TOOL_LEFT, TOOL_SECOND,
	TOOL_UNASKED, TOOL_REFUSED, TOOL_REFUSED_VFORKED, TOOL_SPAWNED_ELSEWHERE,
};

/* Runs what the words say. */
static void run_tool(const char *words, enum tool_way way)
{
	static const char *const libraries[] = { "LD_LIBRARY_PATH=/nowhere", NULL };
	static char large[1 << 18] = "LARGE=";	/* more than the kernel takes */
	char *const refused[] = { large, NULL };
	char *text = strdup(words), *rest = text, *arguments[8] = { NULL };
	bool is_refused = way == TOOL_REFUSED || way == TOOL_REFUSED_VFORKED;
	posix_spawn_file_actions_t actions;
	pid_t child = -1;
	int status;

	for (size_t i = 0; i < 7; i++)
		arguments[i] = strtok_r(rest, " ", &rest);
	memset(large + strlen(large), 'x', sizeof(large) - 1 - strlen(large));
	if (way == TOOL_SPAWNED || way == TOOL_SPAWNED_ELSEWHERE) {
		(void)posix_spawn_file_actions_init(&actions);	/* allocates nothing */
		if (way == TOOL_SPAWNED_ELSEWHERE && posix_spawn_file_actions_addchdir_np(&actions, ".") != 0)
			abort();
		if (posix_spawn(&child, arguments[0], &actions, NULL, arguments, environ) != 0)
			child = -1;
		(void)posix_spawn_file_actions_destroy(&actions);
	} else {
		child = way == TOOL_VFORKED || way == TOOL_REFUSED_VFORKED ? vfork() : fork();
		if (child == 0 && way == TOOL_STRAYS)
			close_if(open("/dev/null", O_RDONLY));
		if (child == 0 && way == TOOL_WITH_LIBRARIES)
			(void)execve(arguments[0], arguments, (char *const *)libraries);
		else if (child == 0 && is_refused)
			(void)execve(arguments[0], arguments, refused);
		else if (child == 0)
			(void)execv(arguments[0], arguments);
		if (child == 0)
			_exit(is_refused ? 0 : 127);
	}
	if (way == TOOL_SECOND)
		word_process(NULL);
	if (way == TOOL_UNASKED)
		wait_for(child);
	else if (way != TOOL_LEFT)
		(void)waitpid(child, &status, 0);
	free(text);
}

WORD(tool) { run_tool(value, TOOL_FORKED); }
WORD(tool_vforked) { run_tool(value, TOOL_VFORKED); }
WORD(tool_spawned) { run_tool(value, TOOL_SPAWNED); }
WORD(tool_strays) { run_tool(value, TOOL_STRAYS); }
WORD(tool_with_libraries) { run_tool(value, TOOL_WITH_LIBRARIES); }
WORD(tool_left) { run_tool(value, TOOL_LEFT); }
WORD(tool_refused) { run_tool(value, TOOL_REFUSED); }
WORD(tool_refused_vforked) { run_tool(value, TOOL_REFUSED_VFORKED); }
WORD(tool_spawned_elsewhere) { run_tool(value, TOOL_SPAWNED_ELSEWHERE); }
WORD(tool_unasked) { run_tool(value, TOOL_UNASKED); }
WORD(tool_second) { run_tool(value, TOOL_SECOND); }
WORD(system) { (void)!system("true"); }

WORD(popen)
{
	FILE *stream = popen("true", "r");

	if (stream)
		(void)pclose(stream);
}

static int leave(void *told)
{
	return *(const pid_t *)told == getpid() ? 0 : 1;
}

WORD(clone)
{
	static _Alignas(16) char stack[65536];
	pid_t told = 0, child;
	int status = 0;

	/* Not CLONE_PARENT_SETTID, which qemu-user does not do for processes. */
	child = clone(leave, stack + sizeof(stack), SIGCHLD | CLONE_CHILD_SETTID, &told, NULL, NULL, &told);
	if (child > 0 && waitpid(child, &status, 0) == child && status != 0)
		abort();	/* what follows the usual arguments is passed on, too */
}

WORD(words)
{
	wordexp_t words;

	if (wordexp(value, &words, 0) == 0)
		wordfree(&words);
}

WORD(glob)
{
	glob_t found;

	if (glob(value, 0, NULL, &found) == 0)
		globfree(&found);
}

static int visit(const char *path, const struct stat *info, int type)
{
	(void)path, (void)info, (void)type;
	return 1;
}

static int visit_more(const char *path, const struct stat *info, int type, struct FTW *place)
{
	(void)place;
	return visit(path, info, type);
}

WORD(ftw) { (void)!ftw(value, visit, 4); }
WORD(nftw) { (void)!nftw(value, visit_more, 4, 0); }

WORD(fts)
{
	char *paths[] = { (char *)value, NULL };
	FTS *tree = fts_open(paths, FTS_PHYSICAL, NULL);

	while (tree && fts_read(tree))
		continue;
	if (tree)
		(void)fts_close(tree);
}

static int end_thread(const struct dirent *entry)
{
	(void)entry;
	pthread_exit(NULL);
}

static void *list_in_thread(void *path)
{
	struct dirent **entries = NULL;

	(void)!scandir(path, &entries, end_thread, NULL);
	return NULL;
}

/* Past the frames of the function that was called, as exceptions go. */
WORD(unwind)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, list_in_thread, (void *)value) == 0)
		(void)pthread_join(thread, NULL);
}

WORD(scandirat)
{
	struct dirent **entries = NULL;
	int count = scandirat(AT_FDCWD, value, &entries, NULL, NULL);

	free_entries(entries, count);
}

WORD(getdents)
{
	int directory = open(value, O_RDONLY | O_DIRECTORY);
	char entries[4096];

	(void)!getdents64(directory, entries, sizeof(entries));
	close_if(directory);
}

WORD(statfs) { (void)!statfs(value, &(struct statfs){ 0 }); }
WORD(statvfs) { (void)!statvfs(value, &(struct statvfs){ 0 }); }

WORD(inotify)
{
	int fd = inotify_init1(IN_CLOEXEC);

	(void)inotify_add_watch(fd, value, IN_MODIFY);
	close_if(fd);
}

WORD(xattr) { (void)!getxattr(value, "user.any", NULL, 0); }

WORD(handle)
{
	struct file_handle handle = { .handle_bytes = 0 };
	int mount;

	(void)!name_to_handle_at(AT_FDCWD, value, &handle, &mount, 0);
}

WORD(linkat)
{
	(void)!linkat(AT_FDCWD, value, AT_FDCWD, "linked", 0);
	(void)unlink("linked");
}

WORD(symlinkat)
{
	(void)!symlinkat(value, AT_FDCWD, "linked");
	(void)unlink("linked");
}

WORD(ctime) { (void)ctime_r(&(time_t){ time(NULL) }, (char[32]){ 0 }); }

/* As the word "cache", by the functions that take directories. */
WORD(exchange)
{
	(void)mkdirat(AT_FDCWD, "made", 0700);
	close_if(open("made/new", O_WRONLY | O_CREAT | O_EXCL, 0600));
	(void)renameat2(AT_FDCWD, "made/new", AT_FDCWD, value, 0);
	open_it(value);
	(void)!stat("made", &(struct stat){ 0 });
}

WORD(chdir) { (void)!chdir(value); }

/* NEO 22.43 loads its compiler so; sanitizers' runtimes refuse it. */
#ifdef SANITIZED
#define DEEPBIND 0
#else
#define DEEPBIND RTLD_DEEPBIND
#endif

/* Loads a copy of this library and has it look, as drivers do with their compilers. */
WORD(load)
{
	void *library = dlopen("./late.so", RTLD_NOW | RTLD_LOCAL | DEEPBIND);
	void (*other)(const char *, const char *) = NULL;

	errno = ERANGE;
	if (library)
		other = (void (*)(const char *, const char *))dlsym(library, "observed_do");
	if (errno != ERANGE)	/* whatever is hooked only now */
		abort();
	if (other)
		other("open", value);
	if (library)
		(void)dlclose(library);
}

void observed_do(const char *how, const char *path)
{
	if (!words_run(how, (char *)path))
		abort();
}
