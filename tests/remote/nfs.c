/* SPDX-License-Identifier: MIT */
/*
 * nfs: preloaded, it makes a directory look as if it were on a file server that this
 * process's host remembers things of. Each host has its own variables:
 *
 *   NFS_BELOW        the directory; what is elsewhere is as it is
 *   NFS_REMEMBER_MS  so long a name that was not there is not there, whatever others do, and
 *                    a listing lacks what others have made; unless it wanted to make it
 *                    itself, and was told that it is there (Linux does so)
 *   NFS_STALE_EVERY  of so many opens, reads, stats and renames, one fails: ESTALE
 *   NFS_EIO_EVERY    of so many of these, and of writes, syncs and closes, one fails: EIO
 *   NFS_SECONDS      set: files' times are whole seconds
 *   NFS_CLOCK_S      the host's clock of the day is so far ahead
 *
 * What fails with ESTALE was not done; of renames that fail each second one was, as when only
 * the server's reply is lost.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))
#define MAX_NAMES 2048
#define MAX_FDS 4096
#define ROOM (PATH_MAX + 512)

struct name {
	char *path;
	uint64_t until_ms;	/* 0: this host has made it */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct name names[MAX_NAMES];
static size_t name_count;
static atomic_bool is_below[MAX_FDS];
static atomic_ulong stale_count, eio_count, rename_count;

static unsigned long setting(const char *name)
{
	const char *value = getenv(name);

	return value ? strtoul(value, NULL, 10) : 0;
}

static uint64_t now_ms(void)
{
	struct timespec now = { 0 };

	(void)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool path_is_below(const char *path)
{
	const char *below = getenv("NFS_BELOW");
	size_t len = below ? strlen(below) : 0;

	return len && strncmp(path, below, len) == 0 && (path[len] == '/' || !path[len]);
}

/* Whether the name is in the directory; then ret_path is its path. */
static bool locate(int dir_fd, const char *name, char ret_path[ROOM])
{
	char link[64];
	ssize_t len = 0;

	if (name[0] != '/') {
		(void)snprintf(link, sizeof(link), dir_fd == AT_FDCWD ? "/proc/self/cwd"
								      : "/proc/self/fd/%d", dir_fd);
		len = readlink(link, ret_path, PATH_MAX);
		if (len <= 0 || (size_t)len + strlen(name) + 2 > ROOM)
			return false;
		ret_path[len++] = '/';
	}
	(void)snprintf(ret_path + len, ROOM - (size_t)len, "%s", name);
	return path_is_below(ret_path);
}

static bool fd_is_below(int fd)
{
	return fd >= 0 && fd < MAX_FDS && atomic_load(&is_below[fd]);
}

/* Which call of a kind it is decides; *problem is left alone where the call goes well. */
static bool fails(bool reads, int *problem)
{
	unsigned long stale = setting("NFS_STALE_EVERY"), eio = setting("NFS_EIO_EVERY");

	if (reads && stale && atomic_fetch_add(&stale_count, 1) % stale == stale - 1)
		*problem = ESTALE;
	else if (eio && atomic_fetch_add(&eio_count, 1) % eio == eio - 1)
		*problem = EIO;
	else
		return false;
	return true;
}

/* The lock is held. NULL: not known, and make was false or there is no room. */
static struct name *find(const char *path, bool make)
{
	for (size_t i = 0; i < name_count; i++)
		if (strcmp(names[i].path, path) == 0)
			return &names[i];
	if (!make || name_count == MAX_NAMES)
		return NULL;
	names[name_count] = (struct name){ strdup(path), UINT64_MAX };
	return names[name_count].path ? &names[name_count++] : NULL;
}

static bool is_remembered(const char *path)
{
	const struct name *name;
	bool result;

	(void)pthread_mutex_lock(&lock);
	name = find(path, false);
	result = name && name->until_ms != UINT64_MAX && now_ms() < name->until_ms;
	(void)pthread_mutex_unlock(&lock);
	return result;
}

static void remember(const char *path, bool is_there)
{
	unsigned long time = setting("NFS_REMEMBER_MS");
	struct name *name;

	if (!time)
		return;
	(void)pthread_mutex_lock(&lock);
	name = find(path, true);
	if (name)
		name->until_ms = is_there ? 0 : now_ms() + time;
	(void)pthread_mutex_unlock(&lock);
}

/* A client that was told that there is such a name asks again. */
static void forget(const char *path)
{
	struct name *name;

	(void)pthread_mutex_lock(&lock);
	name = find(path, false);
	if (name)
		name->until_ms = UINT64_MAX;
	(void)pthread_mutex_unlock(&lock);
	errno = EEXIST;
}

static bool is_own(const char *path)
{
	const struct name *name;
	bool result;

	(void)pthread_mutex_lock(&lock);
	name = find(path, false);
	result = name && !name->until_ms;
	(void)pthread_mutex_unlock(&lock);
	return result;
}

static int refuse(int problem)
{
	errno = problem;
	return -1;
}

static int open_any(int dir_fd, const char *name, int flags, mode_t mode)
{
	char path[ROOM];
	bool below = locate(dir_fd, name, path);
	int problem, fd;

	if (below && fails(true, &problem))
		return refuse(problem);
	if (below && !(flags & O_CREAT) && is_remembered(path))
		return refuse(ENOENT);
	fd = (int)syscall(SYS_openat, dir_fd, name, flags, mode);
	if (below && fd < 0 && errno == ENOENT) {
		remember(path, false);
		errno = ENOENT;
	} else if (below && fd >= 0 && (flags & O_CREAT)) {
		remember(path, true);
	} else if (below && fd < 0 && errno == EEXIST) {
		forget(path);
	}
	if (fd >= 0 && fd < MAX_FDS)
		atomic_store(&is_below[fd], below);
	return fd;
}

EXPORTED int openat(int dir_fd, const char *name, int flags, ...)
{
	va_list list;
	mode_t mode;

	va_start(list, flags);
	mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
	va_end(list);
	return open_any(dir_fd, name, flags, mode);
}

EXPORTED int open(const char *name, int flags, ...)
{
	va_list list;
	mode_t mode;

	va_start(list, flags);
	mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
	va_end(list);
	return open_any(AT_FDCWD, name, flags, mode);
}

EXPORTED int mkdirat(int dir_fd, const char *name, mode_t mode)
{
	char path[ROOM];
	bool below = locate(dir_fd, name, path);
	int problem, result;

	if (below && fails(false, &problem))
		return refuse(problem);
	result = (int)syscall(SYS_mkdirat, dir_fd, name, mode);
	if (below && result == 0)
		remember(path, true);
	else if (below && errno == EEXIST)
		forget(path);
	return result;
}

EXPORTED int unlinkat(int dir_fd, const char *name, int flags)
{
	char path[ROOM];
	bool below = locate(dir_fd, name, path);
	int problem;

	if (below && fails(false, &problem))
		return refuse(problem);
	if (below && is_remembered(path))
		return refuse(ENOENT);
	return (int)syscall(SYS_unlinkat, dir_fd, name, flags);
}

EXPORTED int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	char path[ROOM], old[ROOM];
	bool below = locate(to_fd, to, path), bad;
	int problem = 0, result = 0;

	bad = below && fails(true, &problem);
	if (locate(from_fd, from, old) && is_remembered(old))
		return refuse(ENOENT);
	if (!bad || atomic_fetch_add(&rename_count, 1) % 2)
		result = (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, 0);
	if (bad)
		return refuse(problem);
	if (below && result == 0)
		remember(path, true);
	return result;
}

EXPORTED int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
	char path[ROOM];
	int result = (int)syscall(SYS_linkat, from_fd, from, to_fd, to, flags);

	if (result == 0 && locate(to_fd, to, path))
		remember(path, true);
	return result;
}

static int finish_stat(int result, struct stat *info)
{
	if (result == 0 && getenv("NFS_SECONDS"))
		info->st_atim.tv_nsec = info->st_mtim.tv_nsec = info->st_ctim.tv_nsec = 0;
	return result;
}

EXPORTED int fstatat(int dir_fd, const char *restrict name, struct stat *restrict info, int flags)
{
	int (*real)(int, const char *, struct stat *, int);
	char path[ROOM];
	bool below = locate(dir_fd, name, path);
	int problem, result;

	if (below && fails(true, &problem))
		return refuse(problem);
	if (below && is_remembered(path))
		return refuse(ENOENT);
	*(void **)&real = dlsym(RTLD_NEXT, "fstatat");
	result = real(dir_fd, name, info, flags);
	if (below && result < 0 && errno == ENOENT) {
		remember(path, false);
		errno = ENOENT;
	}
	return below ? finish_stat(result, info) : result;
}

EXPORTED int fstat(int fd, struct stat *info)
{
	int (*real)(int, struct stat *);
	int problem;

	if (fd_is_below(fd) && fails(true, &problem))
		return refuse(problem);
	*(void **)&real = dlsym(RTLD_NEXT, "fstat");
	return fd_is_below(fd) ? finish_stat(real(fd, info), info) : real(fd, info);
}

EXPORTED ssize_t read(int fd, void *data, size_t len)
{
	int problem;

	if (fd_is_below(fd) && fails(true, &problem))
		return refuse(problem);
	return syscall(SYS_read, fd, data, len);
}

/* Half of what fails has been written. */
EXPORTED ssize_t write(int fd, const void *data, size_t len)
{
	int problem;

	if (!fd_is_below(fd) || !fails(false, &problem))
		return syscall(SYS_write, fd, data, len);
	(void)syscall(SYS_write, fd, data, len / 2);
	return refuse(problem);
}

EXPORTED int fsync(int fd)
{
	int problem;

	if (fd_is_below(fd) && fails(false, &problem))
		return refuse(problem);
	return (int)syscall(SYS_fsync, fd);
}

EXPORTED int close(int fd)
{
	bool below = fd_is_below(fd);
	int problem, result;

	if (below)
		atomic_store(&is_below[fd], false);
	result = (int)syscall(SYS_close, fd);
	return below && result == 0 && fails(false, &problem) ? refuse(problem) : result;
}

EXPORTED struct dirent *readdir(DIR *listing)
{
	struct dirent *(*real)(DIR *), *entry;
	struct timespec now = { 0 };
	struct stat info;
	char path[ROOM];

	*(void **)&real = dlsym(RTLD_NEXT, "readdir");
	(void)syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
	do {
		entry = real(listing);
	} while (entry && locate(dirfd(listing), entry->d_name, path) && !is_own(path) &&
		 lstat(path, &info) == 0 &&
		 (now.tv_sec - info.st_ctim.tv_sec) * 1000 < (long)setting("NFS_REMEMBER_MS"));
	return entry;
}

EXPORTED int clock_gettime(clockid_t id, struct timespec *now)
{
	int result = (int)syscall(SYS_clock_gettime, id, now);
	const char *ahead = getenv("NFS_CLOCK_S");

	if (result == 0 && id == CLOCK_REALTIME && ahead)
		now->tv_sec += strtol(ahead, NULL, 10);
	return result;
}
