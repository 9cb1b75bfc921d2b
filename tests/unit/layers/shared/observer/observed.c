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
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <wordexp.h>

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

static void do_xstat(const char *path)
{
	struct stat info;

#ifndef SANITIZED	/* whose runtime has a function of its own for it */
	if (__xstat)
		(void)!__xstat(1, path, &info);
	else
#endif
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

/* What checked builds (_FORTIFY_SOURCE) call. */
int __open_2(const char *path, int flags);
int __openat_2(int directory, const char *path, int flags);

static void do_open_2(const char *path) { close_if(__open_2(path, O_RDONLY)); }
static void do_openat_2(const char *path) { close_if(__openat_2(AT_FDCWD, path, O_RDONLY)); }
static void do_euidaccess(const char *path) { (void)!euidaccess(path, R_OK); }
static void do_eaccess(const char *path) { (void)!eaccess(path, R_OK); }

static void do_freopen(const char *path)
{
	/* Of any other stream it would keep the memory where it fails. */
	(void)!freopen(path, "r", stdin);
}

static void do_fstatat_link(const char *path)
{
	struct stat info;

	(void)!fstatat(AT_FDCWD, path, &info, AT_SYMLINK_NOFOLLOW);
}

static void do_readlinkat(const char *path)
{
	char target[256];

	(void)!readlinkat(AT_FDCWD, path, target, sizeof(target));
}

static void do_canonicalize(const char *path)
{
	char *real = canonicalize_file_name(path);

	free(real);
}

/* By a descriptor of the working directory. */
static void do_openat_here(const char *path)
{
	int directory = open(".", O_RDONLY | O_DIRECTORY);

	close_if(openat(directory, path, O_RDONLY));
	close_if(directory);
}

/* The working directory's name, from whom this can be had, and a file by that. */
static void open_below(char *directory, const char *name)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", directory ? directory : "", name);
	free(directory);
	do_open(path);
}

static void do_getcwd(const char *path) { open_below(getcwd(NULL, 0), path); }
static void do_current_directory(const char *path) { open_below(get_current_dir_name(), path); }
static void do_realpath_here(const char *path) { open_below(realpath(".", NULL), path); }

/* Where offsets have 32 bits they are in pages of 4096 bytes. */
#ifdef SYS_mmap2
#define MMAP SYS_mmap2
#define SECOND_PAGE 1L
#else
#define MMAP SYS_mmap
#define SECOND_PAGE 4096L
#endif

/* All six arguments arrive. */
static void do_syscall_six(const char *path)
{
	int fd = open(path, O_RDONLY);
	const char *second = (const char *)syscall(MMAP, NULL, 4096, PROT_READ, MAP_PRIVATE, fd,
						   SECOND_PAGE);

	if (second == MAP_FAILED || *second != '2')
		abort();
	(void)munmap((void *)second, 4096);
	close_if(fd);
}

static void do_syscall_statx(const char *path)
{
	struct statx info;

	(void)syscall(SYS_statx, AT_FDCWD, path, 0, STATX_SIZE, &info);
}

static void do_fopen_update(const char *path)
{
	FILE *file = fopen(path, "r+");

	if (file)
		(void)fclose(file);
}

static void do_open_update(const char *path) { close_if(open(path, O_RDWR)); }

static void do_write_nowhere(const char *path)
{
	close_if(open(path, O_WRONLY | O_CREAT, 0600));
	do_open(path);
}

static void do_rename_nothing(const char *path)
{
	(void)!rename("no-such-file", path);
	do_open(path);
}

static void do_mkdir(const char *path)
{
	if (mkdir(path, 0700) == 0 || errno == EEXIST)
		do_stat(path);
}

static void do_mkdtemp(const char *path)
{
	char template[] = "temporary-XXXXXX";

	(void)path;
	if (mkdtemp(template))
		do_stat(template);
}

static void do_link(const char *path) { (void)!link(path, "another-name"); }
static void do_symlink(const char *path) { (void)!symlink(path, "another-link"); }

static void do_fdopendir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);

	if (directory)
		(void)closedir(directory);
}

static void do_scandir(const char *path)
{
	struct dirent **entries;
	int count = scandir(path, &entries, NULL, NULL);

	for (int i = 0; i < count; i++)
		free(entries[i]);
	if (count >= 0)
		free(entries);
}

static void do_fchdir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY);

	(void)!fchdir(fd);
	close_if(fd);
}

static void do_gmtime(const char *path)
{
	time_t now = time(NULL);
	struct tm date;

	(void)path;
	(void)gmtime_r(&now, &date);
}

static void do_spawn_path(const char *path)
{
	char *const arguments[] = { (char *)"true", NULL }, *const none[] = { NULL };
	pid_t child;

	(void)path;
	if (posix_spawn(&child, "/bin/true", NULL, NULL, arguments, none) == 0)
		(void)waitpid(child, NULL, 0);
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

static void wait_for(pid_t child)
{
	if (child > 0)
		(void)waitpid(child, NULL, 0);
}

static void do_vfork(const char *path)
{
	pid_t child = vfork();

	(void)path;
	if (child == 0)
		_exit(0);
	wait_for(child);
}

/* By a function that nobody follows, and without waiting. */
static void do_vfork_polled(const char *path)
{
	char *const arguments[] = { "true", NULL };
	pid_t child = vfork();

	(void)path;
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

/* A child that lives on has nothing open that its parent had not. */
static void do_fork_own(const char *path)
{
	int before = count_descriptors(), status = 1;
	pid_t child = fork();

	if (child == 0) {
		close_if(open(path, O_RDONLY));
		_exit(count_descriptors() == before ? 0 : 1);
	}
	if (waitpid(child, &status, 0) != child || status != 0)
		abort();
}

static void do_spawn(const char *path)
{
	char *const arguments[] = { "true", NULL };
	pid_t child;

	(void)path;
	if (posix_spawnp(&child, "true", NULL, NULL, arguments, environ) == 0)
		wait_for(child);
}

/* The linker, which says its version. */
static void do_spawn_linker(const char *path)
{
	char *const arguments[] = { "ld", "-v", NULL };
	pid_t child;

	if (posix_spawn(&child, path, NULL, NULL, arguments, environ) == 0)
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
		do_process(NULL);
	if (way == TOOL_UNASKED)
		wait_for(child);
	else if (way != TOOL_LEFT)
		(void)waitpid(child, &status, 0);
	free(text);
}

static void do_tool(const char *words) { run_tool(words, TOOL_FORKED); }
static void do_tool_vforked(const char *words) { run_tool(words, TOOL_VFORKED); }
static void do_tool_spawned(const char *words) { run_tool(words, TOOL_SPAWNED); }
static void do_tool_strays(const char *words) { run_tool(words, TOOL_STRAYS); }
static void do_tool_with_libraries(const char *words) { run_tool(words, TOOL_WITH_LIBRARIES); }
static void do_tool_left(const char *words) { run_tool(words, TOOL_LEFT); }
static void do_tool_refused(const char *words) { run_tool(words, TOOL_REFUSED); }
static void do_tool_refused_vforked(const char *words) { run_tool(words, TOOL_REFUSED_VFORKED); }
static void do_tool_spawned_elsewhere(const char *words) { run_tool(words, TOOL_SPAWNED_ELSEWHERE); }
static void do_tool_unasked(const char *words) { run_tool(words, TOOL_UNASKED); }
static void do_tool_second(const char *words) { run_tool(words, TOOL_SECOND); }

static void do_system(const char *path)
{
	(void)path;
	(void)!system("true");
}

static void do_popen(const char *path)
{
	FILE *stream = popen("true", "r");

	(void)path;
	if (stream)
		(void)pclose(stream);
}

static int leave(void *told)
{
	return *(const pid_t *)told == getpid() ? 0 : 1;
}

static void do_clone(const char *path)
{
	static _Alignas(16) char stack[65536];
	pid_t told = 0, child;
	int status = 0;

	(void)path;
	/* Not CLONE_PARENT_SETTID, which qemu-user does not do for processes. */
	child = clone(leave, stack + sizeof(stack), SIGCHLD | CLONE_CHILD_SETTID, &told, NULL, NULL, &told);
	if (child > 0 && waitpid(child, &status, 0) == child && status != 0)
		abort();	/* what follows the usual arguments is passed on, too */
}

static void do_words(const char *path)
{
	wordexp_t words;

	if (wordexp(path, &words, 0) == 0)
		wordfree(&words);
}

static void do_glob(const char *path)
{
	glob_t found;

	if (glob(path, 0, NULL, &found) == 0)
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

static void do_ftw(const char *path) { (void)!ftw(path, visit, 4); }
static void do_nftw(const char *path) { (void)!nftw(path, visit_more, 4, 0); }

static void do_fts(const char *path)
{
	char *paths[] = { (char *)path, NULL };
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
static void do_unwind(const char *path)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, list_in_thread, (void *)path) == 0)
		(void)pthread_join(thread, NULL);
}

static void do_scandirat(const char *path)
{
	struct dirent **entries = NULL;
	int count = scandirat(AT_FDCWD, path, &entries, NULL, NULL);

	for (int i = 0; i < count; i++)
		free(entries[i]);
	free(entries);
}

static void do_getdents(const char *path)
{
	int directory = open(path, O_RDONLY | O_DIRECTORY);
	char entries[4096];

	(void)!getdents64(directory, entries, sizeof(entries));
	close_if(directory);
}

static void do_statfs(const char *path)
{
	struct statfs info;

	(void)!statfs(path, &info);
}

static void do_statvfs(const char *path)
{
	struct statvfs info;

	(void)!statvfs(path, &info);
}

static void do_inotify(const char *path)
{
	int fd = inotify_init1(IN_CLOEXEC);

	(void)inotify_add_watch(fd, path, IN_MODIFY);
	close_if(fd);
}

static void do_xattr(const char *path) { (void)!getxattr(path, "user.any", NULL, 0); }

static void do_handle(const char *path)
{
	struct file_handle handle = { .handle_bytes = 0 };
	int mount;

	(void)!name_to_handle_at(AT_FDCWD, path, &handle, &mount, 0);
}

static void do_linkat(const char *path)
{
	(void)!linkat(AT_FDCWD, path, AT_FDCWD, "linked", 0);
	(void)unlink("linked");
}

static void do_symlinkat(const char *path)
{
	(void)!symlinkat(path, AT_FDCWD, "linked");
	(void)unlink("linked");
}

static void do_ctime(const char *path)
{
	time_t now = time(NULL);
	char text[32];

	(void)path;
	(void)ctime_r(&now, text);
}

/* As do_cache, by the functions that take directories. */
static void do_exchange(const char *path)
{
	(void)mkdirat(AT_FDCWD, "made", 0700);
	close_if(open("made/new", O_WRONLY | O_CREAT | O_EXCL, 0600));
	(void)renameat2(AT_FDCWD, "made/new", AT_FDCWD, path, 0);
	do_open(path);
	do_stat("made");
}

static void do_chdir(const char *path) { (void)!chdir(path); }

/* NEO 22.43 loads its compiler so; sanitizers' runtimes refuse it. */
#ifdef SANITIZED
#define DEEPBIND 0
#else
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
		{ "load", do_load }, { "vfork", do_vfork }, { "spawn", do_spawn }, { "linker", do_spawn_linker },
		{ "system", do_system }, { "popen", do_popen }, { "clone", do_clone },
		{ "words", do_words }, { "glob", do_glob }, { "ftw", do_ftw }, { "nftw", do_nftw },
		{ "fts", do_fts }, { "scandirat", do_scandirat }, { "getdents", do_getdents },
		{ "statfs", do_statfs }, { "statvfs", do_statvfs }, { "inotify", do_inotify },
		{ "xattr", do_xattr }, { "handle", do_handle }, { "linkat", do_linkat },
		{ "symlinkat", do_symlinkat }, { "ctime", do_ctime }, { "exchange", do_exchange },
		{ "unwind", do_unwind },
		{ "open_2", do_open_2 }, { "openat_2", do_openat_2 },
		{ "xstat", do_xstat },
		{ "euidaccess", do_euidaccess }, { "eaccess", do_eaccess }, { "freopen", do_freopen },
		{ "fstatat-link", do_fstatat_link }, { "readlinkat", do_readlinkat },
		{ "canonicalize", do_canonicalize }, { "openat-here", do_openat_here },
		{ "getcwd", do_getcwd }, { "get_current_dir_name", do_current_directory },
		{ "realpath-here", do_realpath_here },
		{ "syscall-six", do_syscall_six }, { "syscall-statx", do_syscall_statx },
		{ "fopen-update", do_fopen_update }, { "open-update", do_open_update },
		{ "write-nowhere", do_write_nowhere }, { "rename-nothing", do_rename_nothing },
		{ "mkdir", do_mkdir }, { "mkdtemp", do_mkdtemp }, { "link", do_link },
		{ "symlink", do_symlink }, { "fdopendir", do_fdopendir }, { "scandir", do_scandir },
		{ "fchdir", do_fchdir }, { "gmtime", do_gmtime }, { "spawn-path", do_spawn_path },
		{ "tool", do_tool }, { "tool-vforked", do_tool_vforked }, { "tool-spawned", do_tool_spawned },
		{ "tool-strays", do_tool_strays }, { "tool-with-libraries", do_tool_with_libraries },
		{ "tool-left", do_tool_left }, { "tool-second", do_tool_second },
		{ "tool-unasked", do_tool_unasked }, { "tool-refused", do_tool_refused },
		{ "tool-refused-vforked", do_tool_refused_vforked },
		{ "tool-spawned-elsewhere", do_tool_spawned_elsewhere },
		{ "vfork-polled", do_vfork_polled }, { "fork-own", do_fork_own },
	};

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(ways[i].how, how) == 0) {
			ways[i].run(path);
			return;
		}
	}
	abort();
}
