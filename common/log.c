/* SPDX-License-Identifier: MIT */
/* log: formats a message and hands it to its sink. */
#include "common/log.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/file.h"
#include "common/printable.h"

/* Longer messages are cut: they are for people. */
#define MESSAGE_SIZE 1024

/* Set once, when the process has no threads of ours. */
static struct {
	bool taken;
	dev_t device;
	ino_t inode;
	int access;
} taken;

static bool describe(int fd, struct stat *ret_info, int *ret_access)
{
	int flags = fcntl(fd, F_GETFL);

	*ret_access = flags & O_ACCMODE;
	return flags >= 0 && fstat(fd, ret_info) == 0;
}

void cmn_log_take_stderr(void)
{
	struct stat info;

	taken.taken = describe(STDERR_FILENO, &info, &taken.access) &&
		      !(S_ISREG(info.st_mode) && taken.access == O_RDWR);
	if (!taken.taken)
		return;
	taken.device = info.st_dev;
	taken.inode = info.st_ino;
}

static bool is_taken(int fd)
{
	struct stat info;
	int access;

	return taken.taken && describe(fd, &info, &access) && info.st_dev == taken.device &&
	       info.st_ino == taken.inode && access == taken.access;
}

/* Through a descriptor of our own, as the application may close stderr meanwhile. Nobody to tell on failure. */
static void write_stderr(const char *message)
{
	char line[MESSAGE_SIZE + 16];
	int len = snprintf(line, sizeof(line), "ckcache: %s\n", message);
	int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, CMN_FILE_FIRST_NUMBER);

	if (fd < 0 && is_taken(STDERR_FILENO) && len > 0)	/* no descriptor is left */
		(void)!cmn_file_write_at_once(STDERR_FILENO, line, (size_t)len);
	if (fd < 0)
		return;
	/* One write, so that lines of several processes do not mix. */
	if (len > 0 && is_taken(fd))
		(void)!cmn_file_write_at_once(fd, line, (size_t)len);
	(void)close(fd);	/* the application's is open */
}

static void write_message(const struct cmn_log *log, enum cmn_log_level level, const char *format,
			  va_list args)
{
	char message[MESSAGE_SIZE];

	if (!log || level > log->level)
		return;
	(void)cmn_format(message, sizeof(message), format, args);
	/* One line, in which names of files and kernels are no commands for a terminal. */
	cmn_printable_clean(message, '?');
	if (log->sink)
		log->sink(log->ctx, level, message);
	else
		write_stderr(message);
}

void cmn_log_write(const struct cmn_log *log, enum cmn_log_level level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	write_message(log, level, format, args);
	va_end(args);
}

void cmn_log_once(const struct cmn_log *log, atomic_flag *flag, enum cmn_log_level level,
		  const char *format, ...)
{
	va_list args;

	if (atomic_flag_test_and_set(flag))
		return;
	va_start(args, format);
	write_message(log, level, format, args);
	va_end(args);
}
