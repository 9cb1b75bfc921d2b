/* SPDX-License-Identifier: MIT */
/*
 * record: the wrappers. Each makes the real call and notes what it did if it
 * worked. Descriptors are followed from open to close; what a closed stream
 * leaves in the table is overwritten by the next open of that number.
 */
#include "tests/crash/record.h"
#include "tests/support/posix.h"
#include "tests/support/wrap.h"

#include <linux/openat2.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define MAX_FD 1024

static struct {
	const char *base;
	struct tape *tape;	/* NULL: nothing is recorded */
	struct names names;	/* as they are now */
	unsigned int inode_of[MAX_FD];	/* and one; 0: not below base */
} recorder;

static void give_up(const char *what, const char *name)
{
	(void)fprintf(stderr, "record: %s: %s\n", what, name);
	abort();
}

void record_start(const char *directory, struct tape *tape)
{
	names_release(&recorder.names);
	memset(&recorder, 0, sizeof(recorder));
	*tape = (struct tape){ .inodes = 1 };
	recorder.base = directory;
	recorder.tape = tape;
}

void record_stop(void)
{
	recorder.tape = NULL;
	names_release(&recorder.names);
}

void tape_release(struct tape *tape)
{
	for (size_t i = 0; i < tape->count; i++)
		free(tape->operations[i].data);
	free(tape->operations);
	*tape = (struct tape){ 0 };
}

bool operation_names(const struct operation *operation)
{
	return operation->kind != OPERATION_WRITE && operation->kind != OPERATION_TRUNCATE &&
	       operation->kind != OPERATION_SYNC;
}

void operation_print(const struct operation *operation)
{
	static const char *const kinds[] = { "mkdir", "create", "write", "truncate", "rename",
					     "unlink", "rmdir", "sync" };

	(void)printf("%s #%u", kinds[operation->kind], operation->inode);
	if (operation_names(operation))
		(void)printf(" %s in #%u", operation->name, operation->directory);
	else
		(void)printf(" at %llu, %zu bytes", (unsigned long long)operation->offset,
			     operation->len);
	if (operation->kind == OPERATION_RENAME)
		(void)printf(" to %s in #%u", operation->to_name, operation->to_directory);
}

static struct operation *append(enum operation_kind kind, unsigned int inode)
{
	struct tape *tape = recorder.tape;
	struct operation *operation;

	if (tape->count == tape->cap) {
		tape->cap = tape->cap ? 2 * tape->cap : 256;
		tape->operations = realloc(tape->operations,
					   tape->cap * sizeof(*tape->operations));
		if (!tape->operations)
			abort();
	}
	operation = &tape->operations[tape->count++];
	*operation = (struct operation){ .kind = kind, .inode = inode };
	return operation;
}

/* A name below the base, and what it meant before the call. */
struct place {
	bool ours;
	unsigned int directory, inode;	/* NAMES_NONE: nothing of that name; of ".": the directory itself */
	char name[NAMES_SIZE];
};

static bool start_of(int dir_fd, const char **path, unsigned int *ret)
{
	size_t len = strlen(recorder.base);

	if ((*path)[0] == '/') {
		if (strncmp(*path, recorder.base, len) != 0 || ((*path)[len] && (*path)[len] != '/'))
			return false;
		*path += len;
		*ret = 0;
		return true;
	}
	if (dir_fd < 0 || dir_fd >= MAX_FD || !recorder.inode_of[dir_fd])
		return false;
	*ret = recorder.inode_of[dir_fd] - 1;
	return true;
}

static struct place place_of(int dir_fd, const char *path)
{
	struct place place = { 0 };
	unsigned int inode;

	if (!recorder.tape || !start_of(dir_fd, &path, &inode))
		return place;
	place.directory = inode;
	place.inode = inode;
	for (;;) {
		size_t len;

		path += strspn(path, "/");
		len = strcspn(path, "/");
		if (!len)
			break;
		if (len >= NAMES_SIZE || (len == 2 && memcmp(path, "..", 2) == 0))
			give_up("a name that it cannot follow", path);
		if (len == 1 && *path == '.') {
			path++;
			continue;
		}
		if (place.inode == NAMES_NONE)
			return place;	/* a level is missing: the call will fail */
		place.directory = place.inode;
		memcpy(place.name, path, len);
		place.name[len] = '\0';
		place.inode = names_find(&recorder.names, place.directory, place.name);
		path += len;
	}
	place.ours = true;
	return place;
}

static struct operation *append_name(enum operation_kind kind, const struct place *place)
{
	struct operation *operation = append(kind, place->inode);

	operation->directory = place->directory;
	memcpy(operation->name, place->name, sizeof(operation->name));
	return operation;
}

static void note_made(enum operation_kind kind, struct place *place)
{
	place->inode = recorder.tape->inodes++;
	names_set(&recorder.names, place->directory, place->name, place->inode);
	(void)append_name(kind, place);
}

static void note_open(int fd, int flags, struct place *place)
{
	if (fd < 0 || !recorder.tape)
		return;
	if (fd >= MAX_FD)
		give_up("too many descriptors", place->name);
	recorder.inode_of[fd] = 0;
	if (!place->ours)
		return;
	if (place->inode == NAMES_NONE && !(flags & O_CREAT))
		give_up("something made this without being seen", place->name);
	if (place->inode == NAMES_NONE)
		note_made(OPERATION_CREATE, place);
	else if (flags & O_TRUNC)
		(void)append(OPERATION_TRUNCATE, place->inode);
	recorder.inode_of[fd] = place->inode + 1;
}

static void note_mkdir(int result, struct place *place)
{
	if (result == 0 && place->ours)
		note_made(OPERATION_MAKE_DIRECTORY, place);
}

static void note_unlink(int result, bool directory, const struct place *place)
{
	if (result < 0 || !place->ours)
		return;
	(void)append_name(directory ? OPERATION_REMOVE_DIRECTORY : OPERATION_UNLINK, place);
	names_remove(&recorder.names, place->directory, place->name, place->inode);
}

static void note_rename(int result, const struct place *from, const struct place *to)
{
	struct operation *operation;

	if (result < 0 || (!from->ours && !to->ours))
		return;
	if (!from->ours || !to->ours)
		give_up("a rename into or out of the directory", from->name);
	operation = append_name(OPERATION_RENAME, from);
	operation->to_directory = to->directory;
	memcpy(operation->to_name, to->name, sizeof(operation->to_name));
	names_remove(&recorder.names, from->directory, from->name, from->inode);
	names_set(&recorder.names, to->directory, to->name, from->inode);
}

/* The number of the open file, or NAMES_NONE. */
static unsigned int inode_of(int fd)
{
	if (!recorder.tape || fd < 0 || fd >= MAX_FD || !recorder.inode_of[fd])
		return NAMES_NONE;
	return recorder.inode_of[fd] - 1;
}

static void note_write(int fd, const void *data, ssize_t len, off_t offset)
{
	unsigned int inode = inode_of(fd);
	struct operation *operation;

	if (inode == NAMES_NONE || len <= 0)
		return;
	operation = append(OPERATION_WRITE, inode);
	operation->offset = (uint64_t)offset;
	operation->len = (size_t)len;
	operation->data = malloc((size_t)len);
	if (!operation->data)
		abort();
	memcpy(operation->data, data, (size_t)len);
}

static void note_sync(int fd, int result)
{
	unsigned int inode = inode_of(fd);

	if (result == 0 && inode != NAMES_NONE)
		(void)append(OPERATION_SYNC, inode);
}

static mode_t mode_of(int flags, va_list *arguments)
{
	return flags & O_CREAT ? va_arg(*arguments, mode_t) : 0;
}

WRAPPED(int, open, (const char *path, int flags, ...))
{
	struct place place = place_of(AT_FDCWD, path);
	va_list arguments;
	int fd;

	va_start(arguments, flags);
	fd = __real_open(path, flags, mode_of(flags, &arguments));
	va_end(arguments);
	note_open(fd, flags, &place);
	return fd;
}

WRAPPED(int, openat, (int dir_fd, const char *path, int flags, ...))
{
	struct place place = place_of(dir_fd, path);
	va_list arguments;
	int fd;

	va_start(arguments, flags);
	fd = __real_openat(dir_fd, path, flags, mode_of(flags, &arguments));
	va_end(arguments);
	note_open(fd, flags, &place);
	return fd;
}

/*
 * Of system calls that are made by their number: openat2; and close_range, refused as by an old
 * kernel, since a file is known here by its number, of which each thread would have its own.
 */
WRAPPED(long, syscall, (long number, ...))
{
	const struct open_how *how;
	struct place place;
	const char *path;
	va_list arguments;
	int dir_fd, fd;
	size_t size;

	if (number == SYS_close_range) {
		errno = ENOSYS;
		return -1;
	}
	if (number != SYS_openat2)
		give_up("a system call that it does not know", "syscall");
	va_start(arguments, number);
	dir_fd = va_arg(arguments, int);
	path = va_arg(arguments, const char *);
	how = va_arg(arguments, const struct open_how *);
	size = va_arg(arguments, size_t);
	va_end(arguments);
	place = place_of(dir_fd, path);
	fd = (int)__real_syscall(number, dir_fd, path, how, size);
	note_open(fd, (int)how->flags, &place);
	return fd;
}

/* Of what it can do with a descriptor: another number, and what changes no file. No lock outlives the process. */
WRAPPED(int, fcntl, (int fd, int command, ...))
{
	bool locks = command == F_SETLK || command == F_GETLK;
	int from = 0, copy, locked = 0;
	va_list arguments;

	va_start(arguments, command);
	if (locks)
		locked = __real_fcntl(fd, command, va_arg(arguments, void *));
	else if (command != F_GETFL)
		from = va_arg(arguments, int);
	va_end(arguments);
	if (locks)
		return locked;
	copy = __real_fcntl(fd, command, from);
	if (command == F_GETFL || command == F_SETSIG || command == F_SETLEASE)
		return copy;
	if (command != F_DUPFD_CLOEXEC)
		give_up("a command that it does not know", "fcntl");
	if (copy >= MAX_FD)
		give_up("too many descriptors", "fcntl");
	if (copy >= 0)
		recorder.inode_of[copy] = recorder.inode_of[fd];
	return copy;
}

WRAPPED(int, close, (int fd))
{
	if (recorder.tape && fd >= 0 && fd < MAX_FD)
		recorder.inode_of[fd] = 0;
	return __real_close(fd);
}

WRAPPED(int, mkdir, (const char *path, mode_t mode))
{
	struct place place = place_of(AT_FDCWD, path);
	int result = __real_mkdir(path, mode);

	note_mkdir(result, &place);
	return result;
}

WRAPPED(int, mkdirat, (int dir_fd, const char *path, mode_t mode))
{
	struct place place = place_of(dir_fd, path);
	int result = __real_mkdirat(dir_fd, path, mode);

	note_mkdir(result, &place);
	return result;
}

WRAPPED(int, unlink, (const char *path))
{
	struct place place = place_of(AT_FDCWD, path);
	int result = __real_unlink(path);

	note_unlink(result, false, &place);
	return result;
}

WRAPPED(int, rmdir, (const char *path))
{
	struct place place = place_of(AT_FDCWD, path);
	int result = __real_rmdir(path);

	note_unlink(result, true, &place);
	return result;
}

WRAPPED(int, unlinkat, (int dir_fd, const char *path, int flags))
{
	struct place place = place_of(dir_fd, path);
	int result = __real_unlinkat(dir_fd, path, flags);

	note_unlink(result, flags & AT_REMOVEDIR, &place);
	return result;
}

WRAPPED(int, rename, (const char *old_path, const char *new_path))
{
	struct place from = place_of(AT_FDCWD, old_path), to = place_of(AT_FDCWD, new_path);
	int result = __real_rename(old_path, new_path);

	note_rename(result, &from, &to);
	return result;
}

WRAPPED(int, renameat, (int old_fd, const char *old_path, int new_fd, const char *new_path))
{
	struct place from = place_of(old_fd, old_path), to = place_of(new_fd, new_path);
	int result = __real_renameat(old_fd, old_path, new_fd, new_path);

	note_rename(result, &from, &to);
	return result;
}

/* Where write will put it: never at the end of a file that others grow, nobody else writes. */
static off_t position_of(int fd)
{
	int flags = __real_fcntl(fd, F_GETFL);

	return lseek(fd, 0, flags >= 0 && flags & O_APPEND ? SEEK_END : SEEK_CUR);
}

WRAPPED(ssize_t, write, (int fd, const void *data, size_t len))
{
	off_t offset = inode_of(fd) == NAMES_NONE ? 0 : position_of(fd);
	ssize_t put = __real_write(fd, data, len);

	note_write(fd, data, put, offset);
	return put;
}

WRAPPED(ssize_t, pwrite, (int fd, const void *data, size_t len, off_t offset))
{
	ssize_t put = __real_pwrite(fd, data, len, offset);

	note_write(fd, data, put, offset);
	return put;
}

WRAPPED(ssize_t, writev, (int fd, const struct iovec *parts, int count))
{
	off_t offset = inode_of(fd) == NAMES_NONE ? 0 : position_of(fd);
	ssize_t put = __real_writev(fd, parts, count), left = put;

	for (int i = 0; i < count && left > 0; i++) {
		ssize_t len = left < (ssize_t)parts[i].iov_len ? left : (ssize_t)parts[i].iov_len;

		note_write(fd, parts[i].iov_base, len, offset);
		offset += len;
		left -= len;
	}
	return put;
}

/* To a stream that is no file: messages go so. */
WRAPPED(ssize_t, pwritev2, (int fd, const struct iovec *parts, int count, off_t offset, int flags))
{
	if (inode_of(fd) != NAMES_NONE)
		give_up("not recorded", "pwritev2");
	return __real_pwritev2(fd, parts, count, offset, flags);
}

/* Of other directories than the cache's, which none of these tests has. */
WRAPPED(char *, mkdtemp, (char *path))
{
	if (recorder.tape)
		give_up("not recorded", "mkdtemp");
	return __real_mkdtemp(path);
}

WRAPPED(int, mkostemp, (char *path, int flags))
{
	if (recorder.tape)
		give_up("not recorded", "mkostemp");
	return __real_mkostemp(path, flags);
}

WRAPPED(int, ftruncate, (int fd, off_t len))
{
	int result = __real_ftruncate(fd, len);
	unsigned int inode = inode_of(fd);

	if (result == 0 && inode != NAMES_NONE)
		append(OPERATION_TRUNCATE, inode)->offset = (uint64_t)len;
	return result;
}

WRAPPED(int, fsync, (int fd))
{
	int result = __real_fsync(fd);

	note_sync(fd, result);
	return result;
}

WRAPPED(int, fdatasync, (int fd))
{
	int result = __real_fdatasync(fd);

	note_sync(fd, result);
	return result;
}
