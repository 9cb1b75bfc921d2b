/* SPDX-License-Identifier: MIT */
/* wrap_files: libc's functions on files, each of which may fail where the product calls it. */
#include <dirent.h>
#include <glob.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>

#include "tests/fault/interposer.h"
#include "tests/support/posix.h"

#pragma GCC visibility push(default)

/* Returns that, as the call that is to fail. */
#define FAIL_IF_DUE(kind, result)					\
	do {								\
		if ((kind) > 0) {					\
			errno = kind;					\
			return result;					\
		}							\
	} while (0)

/* A function that returns -1 or what it did. */
#define PLAIN(name, flags, parameters, arguments)			\
	int name parameters						\
	{								\
		int kind = NEXT(name, flags), result;			\
									\
		FAIL_IF_DUE(kind, -1);					\
		result = REAL(name) arguments;				\
		if (kind == FAULT_DONE && result == 0) {		\
			errno = EIO;					\
			return -1;					\
		}							\
		return result;						\
	}

PLAIN(fstat, 0, (int fd, struct stat *info), (fd, info))
PLAIN(stat, 0, (const char *path, struct stat *info), (path, info))
PLAIN(lstat, 0, (const char *path, struct stat *info), (path, info))
PLAIN(fstatat, 0, (int dir, const char *path, struct stat *info, int how), (dir, path, info, how))
PLAIN(fstatfs, 0, (int fd, struct statfs *info), (fd, info))
PLAIN(access, 0, (const char *path, int mode), (path, mode))
PLAIN(faccessat, 0, (int dir, const char *path, int mode, int how), (dir, path, mode, how))
PLAIN(mkdir, 0, (const char *path, mode_t mode), (path, mode))
PLAIN(mkdirat, 0, (int dir, const char *path, mode_t mode), (dir, path, mode))
PLAIN(unlink, 0, (const char *path), (path))
PLAIN(rmdir, 0, (const char *path), (path))
PLAIN(unlinkat, 0, (int dir, const char *path, int how), (dir, path, how))
PLAIN(renameat, 0, (int a, const char *from, int b, const char *to), (a, from, b, to))
PLAIN(fchmod, 0, (int fd, mode_t mode), (fd, mode))
PLAIN(futimens, 0, (int fd, const struct timespec times[2]), (fd, times))
PLAIN(fchmodat, 0, (int dir, const char *path, mode_t mode, int how), (dir, path, mode, how))
PLAIN(ftruncate, 0, (int fd, off_t len), (fd, len))
PLAIN(poll, 0, (struct pollfd *all, nfds_t count, int wait), (all, count, wait))
PLAIN(flock, how & LOCK_NB ? FAULT_NONBLOCKING : 0, (int fd, int how), (fd, how))

int openat(int dir, const char *path, int flags, ...)
{
	int kind = NEXT(openat, flags & O_CREAT ? FAULT_CREATES : 0);
	va_list more;
	mode_t mode;

	va_start(more, flags);
	mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
	va_end(more);
	FAIL_IF_DUE(kind, -1);
	return interposer_note_file(REAL(openat)(dir, path, flags, mode), CALLER);
}

int open(const char *path, int flags, ...)
{
	int kind = NEXT(open, flags & O_CREAT ? FAULT_CREATES : 0);
	va_list more;
	mode_t mode;
	int fd;

	va_start(more, flags);
	mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
	va_end(more);
	FAIL_IF_DUE(kind, -1);
	fd = REAL(open)(path, flags, mode);
	/* In the place of a thread's standard streams : they go with the thread. */
	return strcmp(path, "/") == 0 ? fd : interposer_note_file(fd, CALLER);
}

/* openat2, and others that are called by their numbers. */
long syscall(long number, ...)
{
	int kind = number == SYS_openat2 ? NEXT(syscall, 0) : 0;
	long words[6], result;
	va_list more;

	va_start(more, number);
	for (int i = 0; i < 6; i++)
		words[i] = va_arg(more, long);
	va_end(more);
	FAIL_IF_DUE(kind, -1);
	result = REAL(syscall)(number, words[0], words[1], words[2], words[3], words[4], words[5]);
	return number == SYS_openat2 ? interposer_note_file((int)result, CALLER) : result;
}

/* Another number for a file, which is what the product asks it for. */
int fcntl(int fd, int command, ...)
{
	int kind = command == F_DUPFD_CLOEXEC ? NEXT(fcntl, 0) : 0, result;
	va_list more;
	void *word;

	va_start(more, command);
	word = va_arg(more, void *);
	va_end(more);
	FAIL_IF_DUE(kind, -1);
	result = REAL(fcntl)(fd, command, word);
	return command == F_DUPFD_CLOEXEC ? interposer_note_file(result, CALLER) : result;
}

/* A close that fails has closed all the same, as on Linux. */
int close(int fd)
{
	int kind = NEXT(close, 0), result = REAL(close)(fd);

	if (result == 0)
		interposer_drop_file(CALLER);
	FAIL_IF_DUE(kind, -1);
	return result;
}

/* How much is asked for; 0: the call has failed, or is at an end. */
static size_t cut(int kind, size_t len, ssize_t *ret)
{
	if (kind == FAULT_SHORT)
		return len > 1 ? len / 2 : len;
	if (kind == 0)
		return len;
	errno = kind > 0 ? kind : errno;
	*ret = kind > 0 ? -1 : 0;
	return 0;
}

/* ret is what read would give at an end. */
#define TRANSFER(name, parameters, call)				\
	ssize_t name parameters						\
	{								\
		ssize_t result = 0;					\
		size_t asked = len;					\
		int kind = NEXT(name, 0);				\
									\
		len = cut(kind, len, &result);				\
		return asked && !len ? result : REAL(name) call;	\
	}

TRANSFER(read, (int fd, void *data, size_t len), (fd, data, len))
TRANSFER(write, (int fd, const void *data, size_t len), (fd, data, len))
TRANSFER(pread, (int fd, void *data, size_t len, off_t at), (fd, data, len, at))
TRANSFER(pwrite, (int fd, const void *data, size_t len, off_t at), (fd, data, len, at))

/* What is not cut. */
#define WHOLE(name, parameters, call)					\
	ssize_t name parameters						\
	{								\
		int kind = NEXT(name, 0);				\
									\
		FAIL_IF_DUE(kind, -1);					\
		return REAL(name) call;					\
	}

WHOLE(pwritev2, (int fd, const struct iovec *parts, int count, off_t at, int how), (fd, parts, count, at, how))
WHOLE(send, (int fd, const void *data, size_t len, int how), (fd, data, len, how))
WHOLE(process_vm_readv, (pid_t pid, const struct iovec *to, unsigned long places, const struct iovec *from,
			 unsigned long count, unsigned long how), (pid, to, places, from, count, how))

int pipe2(int ends[2], int flags)
{
	int kind = NEXT(pipe2, 0), result;

	FAIL_IF_DUE(kind, -1);
	result = REAL(pipe2)(ends, flags);
	for (int i = 0; i < 2 && result == 0; i++)
		(void)interposer_note_file(ends[i], CALLER);
	return result;
}

/* A function that returns NULL or what it found. */
#define POINTER(type, name, parameters, arguments)			\
	type name parameters						\
	{								\
		int kind = NEXT(name, 0);				\
									\
		FAIL_IF_DUE(kind, NULL);					\
		return REAL(name) arguments;				\
	}

POINTER(DIR *, fdopendir, (int fd), (fd))
POINTER(struct dirent *, readdir, (DIR *dir), (dir))

ssize_t getdents64(int fd, void *block, size_t len)
{
	int kind = NEXT(getdents64, 0);

	FAIL_IF_DUE(kind, -1);
	return REAL(getdents64)(fd, block, len);
}

int closedir(DIR *dir)
{
	int kind = NEXT(closedir, 0), result = REAL(closedir)(dir);

	interposer_drop_file(CALLER);
	FAIL_IF_DUE(kind, -1);
	return result;
}

char *realpath(const char *path, char *resolved)
{
	int kind = NEXT(realpath, 0);
	char *result;

	FAIL_IF_DUE(kind, NULL);
	result = REAL(realpath)(path, resolved);
	return resolved ? result : interposer_note_block(result, CALLER);
}

char *getcwd(char *path, size_t size)
{
	int kind = NEXT(getcwd, 0);
	char *result;

	FAIL_IF_DUE(kind, NULL);
	result = REAL(getcwd)(path, size);
	return path ? result : interposer_note_block(result, CALLER);
}

char *get_current_dir_name(void)
{
	int kind = NEXT(get_current_dir_name, 0);

	FAIL_IF_DUE(kind, NULL);
	return interposer_note_block(REAL(get_current_dir_name)(), CALLER);
}

ssize_t readlink(const char *path, char *text, size_t size)
{
	int kind = NEXT(readlink, 0);

	FAIL_IF_DUE(kind, -1);
	return REAL(readlink)(path, text, size);
}

int glob(const char *pattern, int flags, int (*on_error)(const char *, int), glob_t *ret)
{
	int kind = NEXT(glob, 0);

	if (kind > 0)
		return kind == ENOMEM ? GLOB_NOSPACE : GLOB_ABORTED;
	return REAL(glob)(pattern, flags, on_error, ret);
}
#pragma GCC visibility pop
