/* SPDX-License-Identifier: MIT */
/*
 * libc_hooks: each hook makes the same call as it was asked for, and notes the answer where a build
 * is being observed. Hooks never fail, block or answer otherwise than the function itself, except
 * that a file that was changed just now is looked at up to 20 ms later.
 */
#undef _FORTIFY_SOURCE	/* checks are the driver's affair: what it did not ask for might end its process */

#include "layers/shared/observer/got_slots.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
#include <wordexp.h>

#include "common/status.h"
#include "layers/shared/observer/observer_notes.h"

/* What a call has answered; keeps errno. */
static void note_fd(int directory, const char *path, int flags, int fd)
{
	int error = fd < 0 ? errno : 0, saved = errno;
	struct stat info;

	if ((flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC))) {
		drv_note_write(directory, path, error);
	} else if (fd < 0) {
		drv_note_look(directory, path, error, NULL, -1);
	} else if (fstat(fd, &info) == 0) {
		drv_note_look(directory, path, 0, &info, fd);
	} else {
		drv_note_unsure("header-unreadable");
	}
	errno = saved;
}

/* After a function that only tells whether, or something of what, is there. Changes errno, as those below do. */
static void note_name(int directory, const char *path, bool failed)
{
	int error = failed ? errno : 0;
	struct stat info = { .st_mode = 0 };

	if (!path)
		return;
	/* access may fail for want of rights to what is there. What a link itself says is told by what it leads to. */
	if (!error && fstatat(directory, path, &info, 0) != 0)
		error = errno;
	drv_note_look(directory, path, error, error ? NULL : &info, -1);
}

/* A program that the driver has within itself may be run: what comes next makes sure that it is a file. */
static _Thread_local bool found_within;

static void note_access(const char *path, int mode, bool failed)
{
	if ((mode & X_OK) && path && drv_note_is_within(path))
		found_within = !failed;
	else
		note_name(AT_FDCWD, path, failed);
}

static void note_stat(const char *path, bool failed)
{
	bool expected = found_within && path && drv_note_is_within(path);

	found_within = false;
	if (!expected)
		note_name(AT_FDCWD, path, failed);
}

/* NOLINTBEGIN(bugprone-macro-parentheses): mode is the name of what is declared */
#define OPEN_MODE(flags, mode)                                                  \
	mode_t mode = 0;                                                        \
	if ((flags) & (O_CREAT | O_TMPFILE)) {                                  \
		va_list arguments;                                              \
		va_start(arguments, flags);                                     \
		mode = (mode_t)va_arg(arguments, unsigned int);                 \
		va_end(arguments);                                              \
	}
/* NOLINTEND(bugprone-macro-parentheses) */

static int watched_openat(int directory, const char *path, int flags, ...)
{
	OPEN_MODE(flags, mode)
	int fd = openat(directory, path, flags, mode);

	if (DRV_NOTES_WANTED())
		note_fd(directory, path, flags, fd);
	return fd;
}

static int watched_open(const char *path, int flags, ...)
{
	OPEN_MODE(flags, mode)
	int fd = open(path, flags, mode);

	if (DRV_NOTES_WANTED())
		note_fd(AT_FDCWD, path, flags, fd);
	return fd;
}

/* Those that checked builds (_FORTIFY_SOURCE) call where no mode is given. */
static int watched_open_2(const char *path, int flags)
{
	return watched_open(path, flags);
}

static int watched_openat_2(int directory, const char *path, int flags)
{
	return watched_openat(directory, path, flags);
}

static void note_stream(const char *path, const char *mode, FILE *stream)
{
	bool reads = mode && mode[0] == 'r' && !strchr(mode, '+');

	note_fd(AT_FDCWD, path, reads ? O_RDONLY : O_RDWR | O_CREAT, stream ? fileno(stream) : -1);
}

/* Where a descriptor leads says nothing that its opening did not. */
static bool is_own_descriptor(const char *path)
{
	return path && strncmp(path, "/proc/self/", 11) == 0;
}

static void note_link(int directory, const char *path, bool failed)
{
	struct stat info;

	if (is_own_descriptor(path))
		return;
	if (failed && errno == EINVAL)	/* there, and no link */
		note_name(directory, path, false);
	else if (failed)
		drv_note_look(directory, path, errno, NULL, -1);
	else if (path && fstatat(directory, path, &info, AT_SYMLINK_NOFOLLOW) == 0)
		drv_note_unsure("header-unreadable");
}

/* A relative one tells the working directory's name too. */
static void note_real(const char *path, bool failed)
{
	if (is_own_descriptor(path))
		return;
	if (path && path[0] != '/')
		drv_note_working_directory();
	note_name(AT_FDCWD, path, failed);
}

static DIR *watched_opendir(const char *path)
{
	DIR *result = opendir(path);
	int saved = errno;

	if (DRV_NOTES_WANTED()) {
		note_name(AT_FDCWD, path, !result);
		if (result)
			drv_note_listing(path);
	}
	errno = saved;
	return result;
}

static void note_listing_of(int fd)
{
	char link[64], path[PATH_MAX];
	ssize_t len;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (len > 0) {
		path[len] = '\0';
		drv_note_listing(path);
	} else {
		drv_note_unsure("directory-listed");
	}
}

static int watched_scandir(const char *path, struct dirent ***ret,
			   int (*filter)(const struct dirent *),
			   int (*compare)(const struct dirent **, const struct dirent **))
{
	bool wanted = DRV_NOTES_WANTED();
	int result, saved;

	/* The filter may never come back. */
	if (wanted && filter && path && access(path, F_OK) == 0)
		drv_note_listing(path);
	/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): whatever the driver gives */
	result = scandir(path, ret, filter, compare);
	saved = errno;
	if (wanted) {
		note_name(AT_FDCWD, path, result < 0);
		if (result >= 0)
			drv_note_listing(path);
	}
	errno = saved;
	return result;
}

static int watched_renameat2(int from_directory, const char *from, int to_directory, const char *to,
			     unsigned int flags)
{
	int result = renameat2(from_directory, from, to_directory, to, flags);

	if (DRV_NOTES_WANTED()) {
		drv_note_write(to_directory, to, result ? errno : 0);
		if (result == 0 && (flags & RENAME_EXCHANGE))
			drv_note_unsure("file-made");
	}
	return result;
}

static int watched_posix_spawn(pid_t *ret, const char *path, const posix_spawn_file_actions_t *actions,
			       const posix_spawnattr_t *attributes, char *const arguments[],
			       char *const environment[])
{
	bool wanted = DRV_NOTES_WANTED();
	bool is_plain = !actions || !actions->__used;	/* else it may have another directory, and files */
	int result;

	if (wanted)
		drv_note_run(&(struct drv_run){ path, is_plain ? arguments : NULL }, environment);
	result = posix_spawn(ret, path, actions, attributes, arguments, environment);
	if (wanted && result == 0 && ret)
		drv_note_spawned(*ret);
	return result;
}

static int watched_execve(const char *path, char *const arguments[], char *const environment[])
{
	int result;

	drv_note_exec(&(struct drv_run){ path, arguments }, environment);
	result = execve(path, arguments, environment);
	drv_note_exec_failed();
	return result;
}

static int watched_execv(const char *path, char *const arguments[])
{
	return watched_execve(path, arguments, environ);
}

static pid_t watched_fork(void)
{
	int ends[2];
	const struct drv_driver *driver = DRV_NOTES_WANTED() ? drv_note_fork(ends) : NULL;
	pid_t result = fork();

	if (driver)
		drv_note_forked(driver, ends, result);
	return result;
}

static void note_said(FILE *stream)
{
	int saved = errno;

	if (stream)	/* as where nothing is to be written */
		drv_note_output(fileno(stream));
	errno = saved;
}

static void watched_perror(const char *text)
{
	if (DRV_NOTES_WANTED())
		note_said(stderr);
	perror(text);
}

/* What checked builds (_FORTIFY_SOURCE) call. */
int __vprintf_chk(int level, const char *format, va_list values);
int __vfprintf_chk(FILE *stream, int level, const char *format, va_list values);
int __vdprintf_chk(int fd, int level, const char *format, va_list values);

/* The types of the callbacks in libc_hooks.def. */
typedef int visit_fn(const char *path, const struct stat *info, int type);
typedef int visit_more_fn(const char *path, const struct stat *info, int type, struct FTW *place);
typedef int glob_error_fn(const char *path, int error);
typedef int compare_fn(const FTSENT **a, const FTSENT **b);
typedef int filter_fn(const struct dirent *entry);
typedef int order_fn(const struct dirent **a, const struct dirent **b);

#define NOTED(names, type, name, parameters, arguments, note)                   \
	static type watched_##name parameters                                   \
	{                                                                       \
		type result = name arguments;                                   \
		int saved = errno;                                              \
										\
		if (DRV_NOTES_WANTED()) {                                       \
			note;                                                   \
		}                                                               \
		errno = saved;                                                  \
		return result;                                                  \
	}
#define BEFORE(names, type, name, parameters, arguments, note)                  \
	static type watched_##name parameters                                   \
	{                                                                       \
		int saved = errno;                                              \
										\
		if (DRV_NOTES_WANTED()) {                                       \
			note;                                                   \
		}                                                               \
		errno = saved;                                                  \
		return name arguments;                                          \
	}
#define UNSURE(names, type, name, reason, parameters, arguments)                \
	BEFORE(names, type, name, parameters, arguments, drv_note_unsure(reason))
#include "layers/shared/observer/libc_hooks.def"

/* Other names of functions that have hooks: for libc's own checks of the room that it gets. */
#define CHECKED(type, name, parameters, too_small, call)                        \
	static type watched_##name parameters                                   \
	{                                                                       \
		if (too_small)                                                  \
			abort();	/* as glibc's own */                    \
		return call;                                                    \
	}

CHECKED(ssize_t, readlink_checked, (const char *path, char *ret, size_t size, size_t room),
	size > room, watched_readlink(path, ret, size))
CHECKED(ssize_t, readlinkat_checked,
	(int directory, const char *path, char *ret, size_t size, size_t room), size > room,
	watched_readlinkat(directory, path, ret, size))
CHECKED(char *, realpath_checked, (const char *path, char *ret, size_t room), room < PATH_MAX,
	watched_realpath(path, ret))
CHECKED(char *, getcwd_checked, (char *ret, size_t size, size_t room), size > room,
	watched_getcwd(ret, size))

static char *watched_canonicalize(const char *path)
{
	return watched_realpath(path, NULL);
}

/* Those that take values after a format. */
#define PRINTING(name, parameters, call)                                        \
	static int watched_##name parameters                                    \
	{                                                                       \
		va_list values;                                                 \
		int result;                                                     \
										\
		va_start(values, format);                                       \
		result = call;                                                  \
		va_end(values);                                                 \
		return result;                                                  \
	}

PRINTING(printf, (const char *format, ...), watched_vprintf(format, values))
PRINTING(fprintf, (FILE *stream, const char *format, ...), watched_vfprintf(stream, format, values))
PRINTING(dprintf, (int fd, const char *format, ...), watched_vdprintf(fd, format, values))
PRINTING(__printf_chk, (int level, const char *format, ...), watched___vprintf_chk(level, format, values))
PRINTING(__fprintf_chk, (FILE *stream, int level, const char *format, ...),
	 watched___vfprintf_chk(stream, level, format, values))
PRINTING(__dprintf_chk, (int fd, int level, const char *format, ...),
	 watched___vdprintf_chk(fd, level, format, values))

/* As programs that were linked with glibc before 2.33 have them. */
static int watched_xstat(int version, const char *path, struct stat *ret)
{
	(void)version;	/* one, on 64-bit machines */
	return watched_stat(path, ret);
}

static int watched_lxstat(int version, const char *path, struct stat *ret)
{
	(void)version;
	return watched_lstat(path, ret);
}

static int watched_fxstatat(int version, int directory, const char *path, struct stat *ret, int flags)
{
	(void)version;
	return watched_fstatat(directory, path, ret, flags);
}

/* It passes on as many arguments as there may be, and so reads beyond those that there are. */
#define READS_ALL __attribute__((no_sanitize_address))

READS_ALL
static int watched_clone(int (*run)(void *), void *stack, int flags, void *argument, ...)
{
	void *more[3];
	va_list arguments;

	va_start(arguments, argument);
	for (int i = 0; i < 3; i++)
		more[i] = va_arg(arguments, void *);
	va_end(arguments);
	if (DRV_NOTES_WANTED() && !(flags & CLONE_THREAD))
		drv_note_unsure("other-process");
	return clone(run, stack, flags, argument, more[0], more[1], more[2]);
}

/* System calls past libc: those that look at files. */
READS_ALL
static long watched_syscall(long number, ...)
{
	long a[6];
	va_list arguments;

	va_start(arguments, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(arguments, long);
	va_end(arguments);
	if (DRV_NOTES_WANTED()) {
		switch (number) {
#ifdef SYS_open
		case SYS_open:
		case SYS_stat:
		case SYS_lstat:
		case SYS_access:
		case SYS_readlink:
		case SYS_creat:
		case SYS_fork:
		case SYS_vfork:
		case SYS_getdents:
#endif
		case SYS_getdents64:
		case SYS_statfs:
		case SYS_chdir:
		case SYS_fchdir:
		case SYS_name_to_handle_at:
		case SYS_open_by_handle_at:
		case SYS_getxattr:
		case SYS_lgetxattr:
		case SYS_openat:
#ifdef SYS_openat2
		case SYS_openat2:
#endif
#ifdef SYS_newfstatat
		case SYS_newfstatat:
#endif
		case SYS_statx:
		case SYS_faccessat:
#ifdef SYS_faccessat2
		case SYS_faccessat2:
#endif
		case SYS_readlinkat:
#ifdef SYS_io_uring_enter
		case SYS_io_uring_enter:
#endif
		case SYS_execve:
			drv_note_unsure("system-call");
			break;
		case SYS_write:
		case SYS_writev:
			drv_note_output((int)a[0]);
			break;
		default:
			break;
		}
	}
	return syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/*
 * dlsym looks at its caller (RTLD_NEXT, the namespace): the hook looks for new objects, and
 * goes on to dlsym with everything as it came, the return address too. vfork returns twice, and
 * after the first time nothing may stand on the stack that was not there before.
 */
__attribute__((visibility("hidden"), used)) void *drv_watched_dlsym_next = (void *)dlsym;
__attribute__((visibility("hidden"), used)) void *drv_watched_dlvsym_next = (void *)dlvsym;
__attribute__((visibility("hidden"), used)) void *drv_watched_vfork_next = (void *)vfork;
__attribute__((visibility("hidden"), used)) void drv_watched_loading(const void *caller);
__attribute__((visibility("hidden"), used)) void drv_watched_child(const void *caller);

void drv_watched_loading(const void *caller)
{
	(void)caller;
	drv_note_loading();
}

void drv_watched_child(const void *caller)
{
	if (drv_notes_wanted(caller))
		drv_note_vfork();
}

#if defined(__x86_64__)
#define STAND_IN(name, note, next)                                                 \
	__asm__(".pushsection .text\n"                                          \
		".globl " name "\n.hidden " name "\n.type " name ", @function\n"   \
		name ":\n"                                                      \
		".cfi_startproc\n"                                              \
		"endbr64\n"                                                     \
		"pushq %rdi\n.cfi_adjust_cfa_offset 8\n"                        \
		"pushq %rsi\n.cfi_adjust_cfa_offset 8\n"                        \
		"pushq %rdx\n.cfi_adjust_cfa_offset 8\n"                        \
		"movq 24(%rsp), %rdi\n"                                         \
		"call " note "\n"                                               \
		"popq %rdx\n.cfi_adjust_cfa_offset -8\n"                        \
		"popq %rsi\n.cfi_adjust_cfa_offset -8\n"                        \
		"popq %rdi\n.cfi_adjust_cfa_offset -8\n"                        \
		"jmp *" next "(%rip)\n"                                         \
		".cfi_endproc\n"                                                \
		".size " name ", . - " name "\n"                                \
		".popsection\n")
#elif defined(__aarch64__)
#define STAND_IN(name, note, next)                                                 \
	__asm__(".pushsection .text\n"                                          \
		".globl " name "\n.hidden " name "\n.type " name ", %function\n"   \
		name ":\n"                                                      \
		".cfi_startproc\n"                                              \
		"hint #34\n"	/* bti c */                                     \
		"stp x29, x30, [sp, #-48]!\n"                                   \
		".cfi_def_cfa_offset 48\n.cfi_offset 29, -48\n.cfi_offset 30, -40\n"   \
		"stp x0, x1, [sp, #16]\n"                                       \
		"str x2, [sp, #32]\n"                                           \
		"mov x0, x30\n"                                                 \
		"bl " note "\n"                                                 \
		"ldr x2, [sp, #32]\n"                                           \
		"ldp x0, x1, [sp, #16]\n"                                       \
		"ldp x29, x30, [sp], #48\n"                                     \
		".cfi_def_cfa_offset 0\n.cfi_restore 29\n.cfi_restore 30\n"      \
		"adrp x16, " next "\n"                                          \
		"ldr x16, [x16, :lo12:" next "]\n"                              \
		"br x16\n"                                                      \
		".cfi_endproc\n"                                                \
		".size " name ", . - " name "\n"                                \
		".popsection\n")
#endif

#ifdef STAND_IN
STAND_IN("drv_watched_dlsym", "drv_watched_loading", "drv_watched_dlsym_next");
STAND_IN("drv_watched_dlvsym", "drv_watched_loading", "drv_watched_dlvsym_next");
STAND_IN("drv_watched_vfork", "drv_watched_child", "drv_watched_vfork_next");
__attribute__((visibility("hidden"))) void drv_watched_dlsym(void);
__attribute__((visibility("hidden"))) void drv_watched_dlvsym(void);
__attribute__((visibility("hidden"))) void drv_watched_vfork(void);
#define LOADING                                                                 \
	{ "dlsym", (void *)drv_watched_dlsym, (void *)dlsym },                  \
	{ "dlvsym", (void *)drv_watched_dlvsym, (void *)dlvsym },               \
	{ "vfork", (void *)drv_watched_vfork, (void *)vfork },                  \
	{ "__vfork", (void *)drv_watched_vfork, (void *)vfork },
#else
#define LOADING
#endif

/* What checked builds call. */
int __open_2(const char *path, int flags);
int __openat_2(int directory, const char *path, int flags);
ssize_t __readlinkat_chk(int directory, const char *path, char *ret, size_t size, size_t room);
ssize_t __readlink_chk(const char *path, char *ret, size_t size, size_t room);
char *__realpath_chk(const char *path, char *ret, size_t room);
char *__getcwd_chk(char *ret, size_t size, size_t room);
int __printf_chk(int level, const char *format, ...);
int __fprintf_chk(FILE *stream, int level, const char *format, ...);
int __dprintf_chk(int fd, int level, const char *format, ...);

#define SAME(name, hook) { #name, (void *)(hook), (void *)(name) }
#define ONE(name) SAME(name, watched_##name)
#define BOTH(name) ONE(name), SAME(name##64, watched_##name)
#define NOTED(names, type, name, ...) names(name),
#define BEFORE NOTED
#define UNSURE NOTED

static const struct drv_slot_function functions[] = {
	LOADING
#include "layers/shared/observer/libc_hooks.def"
	ONE(posix_spawn),
	ONE(fork),
	ONE(execv),
	ONE(execve),
	ONE(perror),
	ONE(printf),
	ONE(fprintf),
	ONE(dprintf),
	ONE(__printf_chk),
	ONE(__fprintf_chk),
	ONE(__dprintf_chk),
	{ "_IO_putc", (void *)watched_putc, (void *)putc },
	{ "_IO_puts", (void *)watched_puts, (void *)puts },
	BOTH(open),
	{ "__open", (void *)watched_open, (void *)open },
	{ "__open64", (void *)watched_open, (void *)open },
	BOTH(openat),
	SAME(__open_2, watched_open_2),
	{ "__open64_2", (void *)watched_open_2, (void *)__open_2 },
	SAME(__openat_2, watched_openat_2),
	{ "__openat64_2", (void *)watched_openat_2, (void *)__openat_2 },
	{ "_IO_fopen", (void *)watched_fopen, (void *)fopen },
	/* Of glibc before 2.33: nothing new can be linked with them. */
	{ "__xstat", (void *)watched_xstat, NULL },
	{ "__xstat64", (void *)watched_xstat, NULL },
	{ "__lxstat", (void *)watched_lxstat, NULL },
	{ "__lxstat64", (void *)watched_lxstat, NULL },
	{ "__fxstatat", (void *)watched_fxstatat, NULL },
	{ "__fxstatat64", (void *)watched_fxstatat, NULL },
	SAME(eaccess, watched_euidaccess),
	SAME(__readlink_chk, watched_readlink_checked),
	SAME(__readlinkat_chk, watched_readlinkat_checked),
	SAME(__realpath_chk, watched_realpath_checked),
	SAME(canonicalize_file_name, watched_canonicalize),
	SAME(__getcwd_chk, watched_getcwd_checked),
	ONE(opendir),
	BOTH(scandir),
	SAME(fts64_open, watched_fts_open),
	ONE(renameat2),
	{ "__fork", (void *)watched_fork, (void *)fork },
	ONE(clone),
	{ "__clone", (void *)watched_clone, (void *)clone },
	ONE(syscall),
};

const struct drv_slot_function *drv_libc_hooks(size_t *ret_count)
{
	*ret_count = sizeof(functions) / sizeof(functions[0]);
	return functions;
}
