/* SPDX-License-Identifier: MIT */
/*
 * libc_hooks: each hook makes the same call as it was asked for, and notes the answer where a build
 * is being observed. Hooks never fail, block or answer otherwise than the function itself, except
 * that a file that was changed just now is looked at up to 20 ms later.
 */
#include "layers/shared/observer/libc_hooks.h"

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
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
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

/* After a function that only tells whether, or something of what, is there. */
static void note_name(int directory, const char *path, bool failed, bool link)
{
	int error = failed ? errno : 0, saved = errno;
	struct stat info = { .st_mode = 0 };

	if (!path)
		return;
	/* access may fail for want of rights to what is there. */
	if (!error && fstatat(directory, path, &info, link ? AT_SYMLINK_NOFOLLOW : 0) != 0)
		error = errno;
	/* What a link itself says is told by what it leads to, unless that is asked for. */
	if (!error && S_ISLNK(info.st_mode) && fstatat(directory, path, &info, 0) != 0)
		error = errno;
	drv_note_look(directory, path, error, error ? NULL : &info, -1);
	errno = saved;
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

/* A call by its name, whose answer is noted. */
#define NOTED(type, name, parameters, arguments, note)                          \
	static type watched_##name parameters                                   \
	{                                                                       \
		type result = name arguments;                                   \
										\
		if (DRV_NOTES_WANTED()) {                                       \
			note;                                                   \
		}                                                               \
		return result;                                                  \
	}

/* The same, noted before; its frame has nothing to undo: callbacks may throw or jump past it. */
#define NOTED_BEFORE(type, name, parameters, arguments, note)                   \
	static type watched_##name parameters                                   \
	{                                                                       \
		if (DRV_NOTES_WANTED()) {                                       \
			note;                                                   \
		}                                                               \
		return name arguments;                                          \
	}
#define UNSURE(type, name, reason, parameters, arguments)                       \
	NOTED_BEFORE(type, name, parameters, arguments, drv_note_unsure(reason))
/* Another name of a function that has a hook, for libc's own checks of the room that it gets. */
#define CHECKED(type, name, parameters, too_small, call)                        \
	static type watched_##name parameters                                   \
	{                                                                       \
		if (too_small)                                                  \
			abort();	/* as glibc's own */                    \
		return call;                                                    \
	}

NOTED(int, creat, (const char *path, mode_t mode), (path, mode),
      note_fd(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, result))

static void note_stream(const char *path, const char *mode, FILE *stream)
{
	bool reads = mode && mode[0] == 'r' && !strchr(mode, '+');

	note_fd(AT_FDCWD, path, reads ? O_RDONLY : O_RDWR | O_CREAT, stream ? fileno(stream) : -1);
}

NOTED(FILE *, fopen, (const char *path, const char *mode), (path, mode),
      note_stream(path, mode, result))
NOTED(FILE *, freopen, (const char *path, const char *mode, FILE *old), (path, mode, old),
      if (path) note_stream(path, mode, result))
NOTED(int, stat, (const char *path, struct stat *ret), (path, ret),
      note_name(AT_FDCWD, path, result != 0, false))
NOTED(int, lstat, (const char *path, struct stat *ret), (path, ret),
      note_name(AT_FDCWD, path, result != 0, true))
NOTED(int, fstatat, (int directory, const char *path, struct stat *ret, int flags),
      (directory, path, ret, flags),
      if (path && path[0]) note_name(directory, path, result != 0, flags & AT_SYMLINK_NOFOLLOW))

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

NOTED(int, statx,
      (int directory, const char *path, int flags, unsigned int mask, struct statx *ret),
      (directory, path, flags, mask, ret),
      if (path && path[0]) note_name(directory, path, result != 0, flags & AT_SYMLINK_NOFOLLOW))
NOTED(int, access, (const char *path, int mode), (path, mode),
      note_name(AT_FDCWD, path, result != 0, false))
NOTED(int, euidaccess, (const char *path, int mode), (path, mode),
      note_name(AT_FDCWD, path, result != 0, false))
NOTED(int, faccessat, (int directory, const char *path, int mode, int flags),
      (directory, path, mode, flags),
      note_name(directory, path, result != 0, flags & AT_SYMLINK_NOFOLLOW))
/* What tells of a file's place is told by its being there. */
NOTED(int, statfs, (const char *path, struct statfs *ret), (path, ret),
      note_name(AT_FDCWD, path, result != 0, false))
NOTED(int, statvfs, (const char *path, struct statvfs *ret), (path, ret),
      note_name(AT_FDCWD, path, result != 0, false))
NOTED(int, inotify_add_watch, (int fd, const char *path, uint32_t events), (fd, path, events),
      note_name(AT_FDCWD, path, result < 0, false))

/* Where a descriptor leads says nothing that its opening did not. */
static bool is_own_descriptor(const char *path)
{
	return path && strncmp(path, "/proc/self/", 11) == 0;
}

static void note_link(int directory, const char *path, bool failed)
{
	struct stat info;
	int saved = errno;

	if (is_own_descriptor(path))
		return;
	if (failed && saved == EINVAL)	/* there, and no link */
		note_name(directory, path, false, true);
	else if (failed)
		drv_note_look(directory, path, saved, NULL, -1);
	else if (path && fstatat(directory, path, &info, AT_SYMLINK_NOFOLLOW) == 0)
		drv_note_unsure("header-unreadable");
	errno = saved;
}

NOTED(ssize_t, readlink, (const char *path, char *ret, size_t size), (path, ret, size),
      note_link(AT_FDCWD, path, result < 0))
NOTED(ssize_t, readlinkat, (int directory, const char *path, char *ret, size_t size),
      (directory, path, ret, size), note_link(directory, path, result < 0))

CHECKED(ssize_t, readlink_checked, (const char *path, char *ret, size_t size, size_t room),
	size > room, watched_readlink(path, ret, size))
CHECKED(ssize_t, readlinkat_checked,
	(int directory, const char *path, char *ret, size_t size, size_t room), size > room,
	watched_readlinkat(directory, path, ret, size))

/* A relative one tells the working directory's name too. */
static void note_real(const char *path, bool failed)
{
	if (is_own_descriptor(path))
		return;
	if (path && path[0] != '/')
		drv_note_working_directory();
	note_name(AT_FDCWD, path, failed, false);
}

NOTED(char *, realpath, (const char *path, char *ret), (path, ret), note_real(path, !result))

CHECKED(char *, realpath_checked, (const char *path, char *ret, size_t room), room < PATH_MAX,
	watched_realpath(path, ret))

static char *watched_canonicalize(const char *path)
{
	return watched_realpath(path, NULL);
}

NOTED_BEFORE(char *, getcwd, (char *ret, size_t size), (ret, size), drv_note_working_directory())

CHECKED(char *, getcwd_checked, (char *ret, size_t size, size_t room), size > room,
	watched_getcwd(ret, size))
NOTED_BEFORE(char *, get_current_dir_name, (void), (), drv_note_working_directory())
UNSURE(int, chdir, "directory-changed", (const char *path), (path))
UNSURE(int, fchdir, "directory-changed", (int fd), (fd))

static DIR *watched_opendir(const char *path)
{
	DIR *result = opendir(path);
	int saved = errno;

	if (DRV_NOTES_WANTED()) {
		note_name(AT_FDCWD, path, !result, false);
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

NOTED_BEFORE(DIR *, fdopendir, (int fd), (fd), note_listing_of(fd))
NOTED_BEFORE(ssize_t, getdents64, (int fd, void *ret, size_t size), (fd, ret, size),
	     note_listing_of(fd))
NOTED_BEFORE(ssize_t, getdirentries, (int fd, char *ret, size_t size, off_t *base),
	     (fd, ret, size, base), note_listing_of(fd))

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
		note_name(AT_FDCWD, path, result < 0, false);
		if (result >= 0)
			drv_note_listing(path);
	}
	errno = saved;
	return result;
}

/* What is made, moved or removed. */

NOTED(int, rename, (const char *from, const char *to), (from, to),
      drv_note_write(AT_FDCWD, to, result ? errno : 0))
NOTED(int, renameat,
      (int from_directory, const char *from, int to_directory, const char *to),
      (from_directory, from, to_directory, to),
      drv_note_write(to_directory, to, result ? errno : 0))

static int watched_renameat2(int from_directory, const char *from, int to_directory, const char *to,
			     unsigned int flags)
{
	int result = renameat2(from_directory, from, to_directory, to, flags);

	if (DRV_NOTES_WANTED() && result == 0) {
		drv_note_write(to_directory, to, 0);
		if (flags & RENAME_EXCHANGE)
			drv_note_unsure("file-made");
	}
	return result;
}

/* The file itself may be somebody else's, and is looked at by its own name. */
NOTED(int, link, (const char *from, const char *to), (from, to),
      if (result == 0) drv_note_unsure("file-made"))
NOTED(int, symlink, (const char *target, const char *path), (target, path),
      if (result == 0) drv_note_unsure("file-made"))
/* Whether it was there makes no difference to whoever wants it to be there. */
NOTED(int, mkdirat, (int directory, const char *path, mode_t mode), (directory, path, mode),
      if (result == 0) drv_note_write(directory, path, 0))
NOTED(int, mkdir, (const char *path, mode_t mode), (path, mode),
      if (result == 0) drv_note_write(AT_FDCWD, path, 0))
NOTED(int, truncate, (const char *path, off_t size), (path, size),
      drv_note_write(AT_FDCWD, path, result ? errno : 0))
NOTED(int, mkstemp, (char *template), (template), if (result >= 0) drv_note_created(template))
NOTED(int, mkostemp, (char *template, int flags), (template, flags),
      if (result >= 0) drv_note_created(template))
NOTED(int, mkstemps, (char *template, int suffix), (template, suffix),
      if (result >= 0) drv_note_created(template))
NOTED(int, mkostemps, (char *template, int suffix, int flags), (template, suffix, flags),
      if (result >= 0) drv_note_created(template))
NOTED(char *, mkdtemp, (char *template), (template), if (result) drv_note_created(template))

/*
 * What cannot be followed: other processes, the time of day, trees of directories, what a file is
 * beside its name and content.
 */

typedef int visit_fn(const char *path, const struct stat *info, int type);
typedef int visit_more_fn(const char *path, const struct stat *info, int type, struct FTW *place);
typedef int glob_error_fn(const char *path, int error);
typedef int compare_fn(const FTSENT **a, const FTSENT **b);
typedef int filter_fn(const struct dirent *entry);
typedef int order_fn(const struct dirent **a, const struct dirent **b);

NOTED_BEFORE(int, posix_spawn,
       (pid_t *ret, const char *path, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[]),
       (ret, path, actions, attributes, arguments, environment), drv_note_run(path))
UNSURE(int, posix_spawnp, "other-process",
       (pid_t *ret, const char *file, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[]),
       (ret, file, actions, attributes, arguments, environment))
UNSURE(pid_t, fork, "other-process", (void), ())
#if __GLIBC_PREREQ(2, 34)
UNSURE(pid_t, _Fork, "other-process", (void), ())
#endif
/* NOLINTBEGIN(cert-env33-c): the driver's own calls */
UNSURE(int, system, "other-process", (const char *command), (command))
UNSURE(FILE *, popen, "other-process", (const char *command, const char *mode), (command, mode))
/* NOLINTEND(cert-env33-c) */
UNSURE(int, wordexp, "other-process", (const char *words, wordexp_t *ret, int flags),
       (words, ret, flags))
/* NOLINTBEGIN(concurrency-mt-unsafe): the driver's own calls */
UNSURE(struct tm *, localtime, "date", (const time_t *time), (time))
UNSURE(struct tm *, gmtime, "date", (const time_t *time), (time))
UNSURE(char *, ctime, "date", (const time_t *time), (time))
/* NOLINTEND(concurrency-mt-unsafe) */
UNSURE(struct tm *, localtime_r, "date", (const time_t *time, struct tm *ret), (time, ret))
UNSURE(struct tm *, gmtime_r, "date", (const time_t *time, struct tm *ret), (time, ret))
UNSURE(char *, ctime_r, "date", (const time_t *time, char *ret), (time, ret))
UNSURE(int, ftw, "directory-listed", (const char *path, visit_fn *visit, int fds),
       (path, visit, fds))
UNSURE(int, nftw, "directory-listed", (const char *path, visit_more_fn *visit, int fds, int flags),
       (path, visit, fds, flags))
UNSURE(FTS *, fts_open, "directory-listed",
       (char *const *paths, int options, compare_fn *compare), (paths, options, compare))
UNSURE(int, glob, "directory-listed",
       (const char *pattern, int flags, glob_error_fn *error, glob_t *ret),
       (pattern, flags, error, ret))
UNSURE(int, scandirat, "directory-listed",
       (int directory, const char *path, struct dirent ***ret, filter_fn *filter, order_fn *order),
       (directory, path, ret, filter, order))
UNSURE(ssize_t, getxattr, "header-unreadable",
       (const char *path, const char *name, void *ret, size_t size), (path, name, ret, size))
UNSURE(ssize_t, lgetxattr, "header-unreadable",
       (const char *path, const char *name, void *ret, size_t size), (path, name, ret, size))
UNSURE(int, name_to_handle_at, "header-unreadable",
       (int directory, const char *path, struct file_handle *ret, int *ret_mount, int flags),
       (directory, path, ret, ret_mount, flags))
UNSURE(int, open_by_handle_at, "header-unreadable",
       (int mount, struct file_handle *handle, int flags), (mount, handle, flags))
UNSURE(int, linkat, "file-made",
       (int from_directory, const char *from, int to_directory, const char *to, int flags),
       (from_directory, from, to_directory, to, flags))
UNSURE(int, symlinkat, "file-made", (const char *target, int directory, const char *path),
       (target, directory, path))

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
		drv_note_unsure("other-process");
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

#define SAME(name, hook) { #name, (void *)(hook), (void *)(name) }
/* With the name that is for files of any size, which is the same on 64-bit machines. */
#define BOTH(name) SAME(name, watched_##name), SAME(name##64, watched_##name)

static const struct drv_slot_function functions[] = {
	LOADING
	BOTH(open),
	{ "__open", (void *)watched_open, (void *)open },
	{ "__open64", (void *)watched_open, (void *)open },
	BOTH(openat),
	SAME(__open_2, watched_open_2),
	{ "__open64_2", (void *)watched_open_2, (void *)__open_2 },
	SAME(__openat_2, watched_openat_2),
	{ "__openat64_2", (void *)watched_openat_2, (void *)__openat_2 },
	BOTH(creat),
	BOTH(fopen),
	{ "_IO_fopen", (void *)watched_fopen, (void *)fopen },
	BOTH(freopen),
	BOTH(stat),
	BOTH(lstat),
	BOTH(fstatat),
	/* Of glibc before 2.33: nothing new can be linked with them. */
	{ "__xstat", (void *)watched_xstat, NULL },
	{ "__xstat64", (void *)watched_xstat, NULL },
	{ "__lxstat", (void *)watched_lxstat, NULL },
	{ "__lxstat64", (void *)watched_lxstat, NULL },
	{ "__fxstatat", (void *)watched_fxstatat, NULL },
	{ "__fxstatat64", (void *)watched_fxstatat, NULL },
	SAME(statx, watched_statx),
	SAME(access, watched_access),
	SAME(euidaccess, watched_euidaccess),
	SAME(eaccess, watched_euidaccess),
	SAME(faccessat, watched_faccessat),
	SAME(readlink, watched_readlink),
	SAME(__readlink_chk, watched_readlink_checked),
	SAME(readlinkat, watched_readlinkat),
	SAME(__readlinkat_chk, watched_readlinkat_checked),
	SAME(realpath, watched_realpath),
	SAME(__realpath_chk, watched_realpath_checked),
	SAME(canonicalize_file_name, watched_canonicalize),
	SAME(getcwd, watched_getcwd),
	SAME(__getcwd_chk, watched_getcwd_checked),
	SAME(get_current_dir_name, watched_get_current_dir_name),
	SAME(chdir, watched_chdir),
	SAME(fchdir, watched_fchdir),
	SAME(opendir, watched_opendir),
	SAME(fdopendir, watched_fdopendir),
	BOTH(scandir),
	BOTH(scandirat),
	SAME(getdents64, watched_getdents64),
	BOTH(getdirentries),
	BOTH(ftw),
	BOTH(nftw),
	SAME(fts_open, watched_fts_open),
	SAME(fts64_open, watched_fts_open),
	BOTH(glob),
	BOTH(statfs),
	BOTH(statvfs),
	SAME(inotify_add_watch, watched_inotify_add_watch),
	SAME(getxattr, watched_getxattr),
	SAME(lgetxattr, watched_lgetxattr),
	SAME(name_to_handle_at, watched_name_to_handle_at),
	SAME(open_by_handle_at, watched_open_by_handle_at),
	SAME(rename, watched_rename),
	SAME(renameat, watched_renameat),
	SAME(renameat2, watched_renameat2),
	SAME(link, watched_link),
	SAME(linkat, watched_linkat),
	SAME(symlink, watched_symlink),
	SAME(symlinkat, watched_symlinkat),
	SAME(mkdir, watched_mkdir),
	SAME(mkdirat, watched_mkdirat),
	BOTH(truncate),
	BOTH(mkstemp),
	BOTH(mkostemp),
	BOTH(mkstemps),
	BOTH(mkostemps),
	SAME(mkdtemp, watched_mkdtemp),
	SAME(posix_spawn, watched_posix_spawn),
	SAME(posix_spawnp, watched_posix_spawnp),
	SAME(fork, watched_fork),
	{ "__fork", (void *)watched_fork, (void *)fork },
#if __GLIBC_PREREQ(2, 34)
	SAME(_Fork, watched__Fork),
#endif
	SAME(clone, watched_clone),
	{ "__clone", (void *)watched_clone, (void *)clone },
	SAME(wordexp, watched_wordexp),
	SAME(system, watched_system),
	SAME(popen, watched_popen),
	SAME(localtime, watched_localtime),
	SAME(localtime_r, watched_localtime_r),
	SAME(gmtime, watched_gmtime),
	SAME(gmtime_r, watched_gmtime_r),
	SAME(ctime, watched_ctime),
	SAME(ctime_r, watched_ctime_r),
	SAME(syscall, watched_syscall),
};

const struct drv_slot_function *drv_libc_hooks(size_t *ret_count)
{
	*ret_count = sizeof(functions) / sizeof(functions[0]);
	return functions;
}
